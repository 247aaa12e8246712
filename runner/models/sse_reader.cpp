// Lines end at CR, LF or both: CRLF ends one line and an empty one, which says nothing.
// See runner/models/sse_reader.h.
#include "runner/models/sse_reader.h"

#include <algorithm>

namespace hostler {
namespace {

// Where the line ends that has no end before `from`; the text's end, when it does not. (A call of
// find_first_of for each character of each token was a twentieth of what a daemon did.)
size_t line_end_in(std::string_view text, size_t from) {
  auto ends_line = [](char c) { return c == '\n' || c == '\r'; };
  auto end = std::find_if(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), ends_line);
  return static_cast<size_t>(end - text.begin());
}

}  // namespace

void SseReader::feed(std::string_view bytes) {
  buffer_.erase(0, read_to_);
  scanned_to_ -= read_to_;
  read_to_ = 0;
  buffer_.append(bytes);
}

void SseReader::end() { feed("\n"); }

std::optional<std::string_view> SseReader::next() {
  while (!is_too_long_) {
    scanned_to_ = line_end_in(buffer_, scanned_to_);
    bool is_whole = scanned_to_ < buffer_.size();
    std::string_view line(buffer_);
    line = line.substr(read_to_, scanned_to_ - read_to_);
    is_too_long_ = line.size() > line_bytes_max_;
    if (!is_whole || is_too_long_) return std::nullopt;
    read_to_ = ++scanned_to_;
    if (at_start_ && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    at_start_ = false;
    if (!line.starts_with("data:")) continue;
    line.remove_prefix(5);
    if (line.starts_with(' ')) line.remove_prefix(1);
    return line;
  }
  return std::nullopt;
}

}  // namespace hostler
