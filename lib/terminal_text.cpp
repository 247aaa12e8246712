// See lib/terminal_text.h.
#include "lib/terminal_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/utf8.h"

namespace hostler {
namespace {

// Code point of a valid sequence of one to three bytes. Longer ones cannot be one of those below.
unsigned code_point(std::string_view character) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  if (character.size() == 2) return (byte(0) & 0x1FU) << 6 | (byte(1) & 0x3FU);
  if (character.size() == 3) {
    return (byte(0) & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
  }
  return 0xFFFF;
}

bool is_dangerous(unsigned point) {
  bool is_control = (point < 0x20 && point != '\n' && point != '\t') ||
                    (point >= 0x7F && point <= 0x9F) || point == 0x2028 || point == 0x2029;
  // Bidi_Control of Unicode's PropList.txt.
  bool is_bidi = point == 0x061C || point == 0x200E || point == 0x200F ||
                 (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
  return is_control || is_bidi;
}

}  // namespace

std::string terminal_text(std::string_view text) {
  std::string valid = utf8_lossy(text);
  std::string_view rest = valid;
  std::string shown;
  shown.reserve(valid.size());
  while (!rest.empty()) {
    size_t length = std::max<size_t>(utf8_sequence(rest), 1);
    std::string_view character = rest.substr(0, length);
    unsigned point = code_point(character);
    if (is_dangerous(point)) {
      shown += fmt::format("\\u{:04x}", point);
    } else {
      shown += character;
    }
    rest.remove_prefix(length);
  }
  return shown;
}

}  // namespace hostler
