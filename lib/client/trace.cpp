// traceparent read; see lib/client/trace.h.
#include "lib/client/trace.h"

#include "lib/crypto.h"

#include <algorithm>

namespace hostler::client {
namespace {

// 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
constexpr size_t version_00_size = 55;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_all_zero(std::string_view text) { return text.find_first_not_of('0') == text.npos; }

}  // namespace

std::optional<std::string> trace_id_of(std::string_view traceparent) {
  if (traceparent.size() < version_00_size) return std::nullopt;
  std::string_view version = traceparent.substr(0, 2);
  std::string_view trace_id = traceparent.substr(3, 32);
  std::string_view parent_id = traceparent.substr(36, 16);
  std::string_view flags = traceparent.substr(53, 2);
  bool has_dashes = traceparent[2] == '-' && traceparent[35] == '-' && traceparent[52] == '-';
  bool ends_well = traceparent.size() == version_00_size ||
                   (version != "00" && traceparent[version_00_size] == '-');
  bool is_hexadecimal = is_hex(version) && is_hex(trace_id) && is_hex(parent_id) && is_hex(flags);
  if (!has_dashes || !ends_well || !is_hexadecimal || version == "ff") return std::nullopt;
  if (is_all_zero(trace_id) || is_all_zero(parent_id)) return std::nullopt;
  return std::string(trace_id);
}

std::string traceparent_of(std::string_view trace_id) {
  constexpr size_t parent_id_bytes = 8;
  return "00-" + std::string(trace_id) + "-" + to_hex(random_bytes(parent_id_bytes)) + "-01";
}

}  // namespace hostler::client
