// See lib/json_mend.h.
#include "lib/json_mend.h"

#include <algorithm>

#include "lib/ascii.h"
#include "lib/utf8.h"

namespace hostler {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr size_t escape_bytes = 6;  // \uXXXX
constexpr size_t first_low = 0xDC00;
constexpr size_t first_high = 0xD800;
constexpr size_t behind_low = 0xE000;
constexpr size_t no_unit = SIZE_MAX;

// Returns the UTF-16 unit of the escape that begins here, or no_unit if none does.
size_t escaped_unit(std::string_view text, size_t at) {
  if (text.size() - at < escape_bytes || text[at] != '\\' || text[at + 1] != 'u') return no_unit;
  size_t unit = 0;
  for (char digit : text.substr(at + 2, 4)) {
    int value = ascii::hex_value(digit);
    if (value < 0) return no_unit;
    unit = unit * 16 + static_cast<size_t>(value);
  }
  return unit;
}

bool is_high(size_t unit) { return unit >= first_high && unit < first_low; }
bool is_low(size_t unit) { return unit >= first_low && unit < behind_low; }

// How many bytes of the escape that begins here stay, and how many are read.
struct Escape {
  size_t kept;
  size_t read;
};

Escape read_escape(std::string_view text, size_t at) {
  size_t unit = escaped_unit(text, at);
  if (unit == no_unit) {
    size_t bytes = std::min<size_t>(2, text.size() - at);
    return {bytes, bytes};
  }
  if (is_high(unit) && is_low(escaped_unit(text, at + escape_bytes))) {
    return {2 * escape_bytes, 2 * escape_bytes};
  }
  bool is_lost = unit == 0 || is_high(unit) || is_low(unit);
  return {is_lost ? 0 : escape_bytes, escape_bytes};
}

}  // namespace

std::string mended_json(std::string_view text) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const std::string whole = utf8_lossy(text);
  std::string mended;
  mended.reserve(whole.size());
  bool is_in_string = false;
  for (size_t at = 0; at < whole.size();) {
    char c = whole[at];
    if (c == '"') is_in_string = !is_in_string;
    if (is_in_string && c == '\\') {
      Escape escape = read_escape(whole, at);
      mended.append(whole, at, escape.kept);
      at += escape.read;
      continue;
    }
    bool is_lost = is_in_string && c == '\0';
    if (!is_lost) mended += c;
    ++at;
  }
  return mended;
}

std::string mended_text(std::string_view text) {
  std::string mended = utf8_lossy(text);
  std::erase(mended, '\0');
  return mended;
}

}  // namespace hostler
