// Identifiers as clients see them. Ids are UUIDv7, made by the database; a path id that has not
// this form does not exist (contract section 1).
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace hostler {

// True for 36 characters of lower-case hex in the 8-4-4-4-12 form. Upper case is refused: ids are
// printed in lower case and compared as text.
constexpr bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (c != '-') return false;
    } else if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
      return false;
    }
  }
  return true;
}

// An id in the form it has inside Postgres, for what keeps or sends many of them. The text is_uuid.
using UuidBytes = std::array<char, 16>;

constexpr UuidBytes uuid_bytes(std::string_view text) {
  UuidBytes bytes{};
  size_t digits = 0;
  for (char c : text) {
    if (c == '-') continue;
    int value = c <= '9' ? c - '0' : c - 'a' + 10;
    size_t index = digits / 2;
    bytes[index] = static_cast<char>(static_cast<unsigned char>(bytes[index]) * 16 + value);
    ++digits;
  }
  return bytes;
}

// A W3C trace-id: 32 lower-case hex characters.
constexpr bool is_trace_id(std::string_view text) {
  if (text.size() != 32) return false;
  for (char c : text) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

}  // namespace hostler
