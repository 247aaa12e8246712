// Bytes checked, cut and counted as UTF-8. See lib/utf8.h.
#include "lib/utf8.h"

#include <algorithm>

namespace hostler {

std::string utf8_lossy(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    size_t length = utf8_sequence(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      length = 1;
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    size_t length = utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string_view utf8_prefix(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  size_t end = bytes_max;
  while (end > 0 && !begins_character(text[end])) --end;
  return text.substr(0, end);
}

size_t character_count(std::string_view utf8) {
  return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), begins_character));
}

bool cut_to_characters(std::string& utf8, size_t characters_max) {
  size_t characters = 0;
  for (size_t i = 0; i < utf8.size(); ++i) {
    if (!begins_character(utf8[i]) || ++characters <= characters_max) continue;
    utf8.resize(i);
    return true;
  }
  return false;
}

}  // namespace hostler
