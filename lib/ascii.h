// Letters, digits and blanks of ASCII, in whatever locale: what header fields, hosts, settings and
// the words of protocols are made of. Text of people is more than that: see lib/blank_text.h,
// lib/search_words.h and lib/utf8.h.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace hostler::ascii {

// RFC 9110, section 5.6.3: what may stand around the value of a header field.
inline constexpr std::string_view blanks = " \t";
inline constexpr std::string_view white_space = " \t\n\v\f\r";

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_letter(char c) { return is_lower(c) || is_upper(c); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }
// C0 and DEL; no byte of UTF-8 beyond ASCII is one.
constexpr bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7F; }

constexpr char lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }
std::string lower_case(std::string_view text);
std::string upper_case(std::string_view text);

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

// Without those characters at both ends.
constexpr std::string_view trimmed(std::string_view text, std::string_view characters) {
  size_t begin = text.find_first_not_of(characters);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(characters) + 1 - begin);
}

// Value of a hexadecimal digit in either case, or -1 for any other character.
constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  char small = lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

// RFC 9110, section 5.6.2: what names of methods and header fields are.
constexpr bool is_token_character(char c) {
  return is_letter_or_digit(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
constexpr bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

}  // namespace hostler::ascii
