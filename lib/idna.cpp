// The only includer of libidn2. See lib/idna.h.
#include "lib/idna.h"

#include <idn2.h>

#include <cstdint>
#include <memory>

#include "lib/ascii.h"
#include "lib/utf8.h"

namespace hostler {
namespace {

constexpr size_t domain_bytes_max = 253;  // RFC 1035, section 2.3.4, as text
constexpr size_t label_bytes_max = 63;

using Converted = std::unique_ptr<char, void (*)(void*)>;

std::optional<std::string> converted(std::string_view domain, int rules) {
  // Refuse long texts early, because libidn2 takes its time for them. Four bytes of UTF-8 make at
  // least one byte of an A-label.
  if (domain.empty() || domain.size() > 4 * domain_bytes_max) return std::nullopt;
  if (!is_utf8(domain) || domain.find('\0') != domain.npos) return std::nullopt;
  char* out = nullptr;
  int status = idn2_to_ascii_8z(std::string(domain).c_str(), &out,
                                IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT | rules);
  Converted owned(out, idn2_free);
  if (status != IDN2_OK) return std::nullopt;
  return ascii::lower_case(owned.get());
}

bool has_host_form(std::string_view domain) {
  for (std::string_view rest = domain;;) {
    std::string_view label = rest.substr(0, rest.find('.'));
    if (label.empty() || label.size() > label_bytes_max) return false;
    if (label.front() == '-' || label.back() == '-') return false;
    for (char c : label) {
      if (!ascii::is_letter_or_digit(c) && c != '-') return false;
    }
    if (label.size() == rest.size()) return true;
    rest.remove_prefix(label.size() + 1);
  }
}

}  // namespace

std::optional<std::string> ascii_domain(std::string_view domain) {
  std::optional<std::string> made = converted(domain, IDN2_USE_STD3_ASCII_RULES);
  if (!made || made->size() > domain_bytes_max || !has_host_form(*made)) return std::nullopt;
  return made;
}

std::optional<std::string> a_labels(std::string_view host) { return converted(host, 0); }

std::optional<std::string> unicode_domain(std::string_view domain) {
  if (domain.empty() || domain.size() > domain_bytes_max) return std::nullopt;
  char* out = nullptr;
  int status = idn2_to_unicode_8z8z(std::string(domain).c_str(), &out, IDN2_NONTRANSITIONAL);
  Converted converted(out, idn2_free);
  if (status != IDN2_OK) return std::nullopt;
  return std::string(converted.get());
}

}  // namespace hostler
