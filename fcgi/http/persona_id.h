// The form of persona keys and versions, for handlers that create or name personas.
#pragma once

#include <algorithm>
#include <string_view>

#include "lib/ascii.h"

namespace hostler {

constexpr size_t persona_key_max = 64;
constexpr size_t persona_version_max = 32;

namespace persona_id_detail {
constexpr bool is_key_char(char c) {
  return ascii::is_lower(c) || ascii::is_digit(c) || c == '_' || c == '-';
}
constexpr bool is_version_char(char c) { return is_key_char(c) || ascii::is_upper(c) || c == '.'; }
}  // namespace persona_id_detail

constexpr bool is_persona_key(std::string_view text) {
  return !text.empty() && text.size() <= persona_key_max &&
         std::all_of(text.begin(), text.end(), persona_id_detail::is_key_char);
}

constexpr bool is_persona_version(std::string_view text) {
  return !text.empty() && text.size() <= persona_version_max &&
         std::all_of(text.begin(), text.end(), persona_id_detail::is_version_char);
}

// persona_key, or persona_key@version.
constexpr bool is_persona_id(std::string_view text) {
  size_t at = text.find('@');
  bool has_version = at != std::string_view::npos;
  return is_persona_key(text.substr(0, at)) &&
         (!has_version || is_persona_version(text.substr(at + 1)));
}

}  // namespace hostler
