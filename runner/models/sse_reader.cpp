// Lines end at CR, LF or both. See runner/models/sse_reader.h.
#include "runner/models/sse_reader.h"

#include <algorithm>
#include <utility>

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

std::optional<SseLine> SseReader::next() {
  while (!is_too_long_) {
    if (is_behind_cr_ && scanned_to_ < buffer_.size()) {
      is_behind_cr_ = false;
      if (buffer_[scanned_to_] == '\n') read_to_ = ++scanned_to_;
    }
    scanned_to_ = line_end_in(buffer_, scanned_to_);
    bool is_whole = scanned_to_ < buffer_.size();
    std::string_view line(buffer_);
    line = line.substr(read_to_, scanned_to_ - read_to_);
    is_too_long_ = line.size() > line_bytes_max_;
    if (!is_whole || is_too_long_) return std::nullopt;
    is_behind_cr_ = buffer_[scanned_to_] == '\r';
    read_to_ = ++scanned_to_;
    if (at_start_ && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    at_start_ = false;
    if (std::optional<SseLine> read = read_line(line)) return read;
  }
  return std::nullopt;
}

std::optional<SseLine> SseReader::read_line(std::string_view line) {
  if (line.empty()) {
    bool is_wordless = std::exchange(is_error_event_, false) && !has_lines_;
    if (is_wordless) return SseLine{SseLine::Kind::error};
    if (!std::exchange(has_lines_, false)) return std::nullopt;
    return SseLine{SseLine::Kind::end};
  }
  SseLine read{is_error_event_ ? SseLine::Kind::error : SseLine::Kind::data, line};
  if (line.starts_with("data:")) {
    read.text.remove_prefix(5);
  } else if (line.starts_with("error:")) {
    read = {SseLine::Kind::error, line.substr(6)};
  } else if (line.starts_with("event:")) {
    std::string_view name = line.substr(6);
    if (name.starts_with(' ')) name.remove_prefix(1);
    is_error_event_ = name == "error";
    return std::nullopt;
  } else if (line.front() == '{' || line.front() == '[') {
    read.kind = SseLine::Kind::bare;
  } else {
    return std::nullopt;
  }
  if (read.text.starts_with(' ')) read.text.remove_prefix(1);
  bool says_nothing =
      read.kind == SseLine::Kind::error && read.text.find_first_not_of(" \t") == read.text.npos;
  if (says_nothing) return std::nullopt;
  has_lines_ = true;
  return read;
}

}  // namespace hostler
