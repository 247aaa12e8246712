// See lib/host_name.h.
#include "lib/host_name.h"

#include <arpa/inet.h>

#include <algorithm>

#include "lib/ascii.h"
#include "lib/idna.h"

namespace hostler {
namespace {

constexpr size_t host_bytes_max = 253;  // RFC 1035, section 2.3.4, less the root's dot

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

std::optional<std::string> a_label_host(std::string_view host) {
  if (is_ascii(host)) return std::string(host);
  std::optional<std::string> made = a_labels(host);
  return made && is_ascii(*made) ? made : std::nullopt;
}

bool is_address_literal(std::string_view host) {
  std::string text(host);
  unsigned char bytes[16];
  return inet_pton(AF_INET, text.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

bool has_host_form(std::string_view host) {
  if (is_address_literal(host)) return true;
  std::optional<std::string> name = a_label_host(host);
  if (!name || name->empty() || name->size() > host_bytes_max) return false;
  return std::all_of(name->begin(), name->end(), [](char c) {
    return ascii::is_letter_or_digit(c) || c == '.' || c == '-' || c == '_';
  });
}

}  // namespace hostler
