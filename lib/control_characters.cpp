// See lib/control_characters.h.
#include "lib/control_characters.h"

#include <cstddef>

namespace hostler {
namespace {

unsigned char byte_at(std::string_view text, size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

}  // namespace

bool has_control(std::string_view utf8) {
  for (size_t i = 0; i < utf8.size(); ++i) {
    unsigned char first = byte_at(utf8, i);
    unsigned char second = byte_at(utf8, i + 1);
    unsigned char third = byte_at(utf8, i + 2);
    if (first < ' ' || first == 0x7F) return true;
    if (first == 0xC2 && second >= 0x80 && second < 0xA0) return true;
    if (first != 0xE2) continue;
    if (second == 0x80 && third >= 0xAA && third <= 0xAE) return true;
    if (second == 0x81 && third >= 0xA6 && third <= 0xA9) return true;
  }
  return false;
}

}  // namespace hostler
