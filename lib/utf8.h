// Text in UTF-8: whether bytes are one, where its characters begin, and how many there are. A
// character is a code point here, as Postgres and JSON Schema count them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hostler {

constexpr bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

// Length of the valid sequence at the start of text, which is not empty; 0: none is there. Overlong
// forms, surrogates and code points above U+10FFFF are not valid.
constexpr size_t utf8_sequence(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  auto follows = [&](size_t i) { return i < text.size() && !begins_character(text[i]); };
  unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!follows(1) || !follows(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

bool is_utf8(std::string_view text);
// The text with every byte sequence that is not UTF-8 replaced by U+FFFD.
std::string utf8_lossy(std::string_view text);
// The longest prefix of at most bytes_max bytes that ends at a character's end.
std::string_view utf8_prefix(std::string_view text, size_t bytes_max);

size_t character_count(std::string_view utf8);
// True: it was longer, and lost what stood behind so many characters.
bool cut_to_characters(std::string& utf8, size_t characters_max);

}  // namespace hostler
