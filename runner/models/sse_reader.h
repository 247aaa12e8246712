// The data lines of an event stream (WHATWG HTML, section 9.2), from bytes cut anywhere. Model
// servers put one JSON text in one data line, and not all of them send the blank line after it: so
// a line is handed out as soon as it ends. Everything else (comments, event:, id:) is skipped.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hostler {

class SseReader {
 public:
  explicit SseReader(size_t line_bytes_max = size_t{1} << 20) : line_bytes_max_(line_bytes_max) {}

  void feed(std::string_view bytes);
  // The body has ended: what is left is a line, too.
  void end();
  // The next data line without its name, until feed() or end() is called again.
  std::optional<std::string_view> next();
  // A line is over the limit; nothing more is handed out.
  bool is_too_long() const { return is_too_long_; }

 private:
  size_t line_bytes_max_;
  std::string buffer_;
  size_t read_to_ = 0;     // everything before was handed out
  size_t scanned_to_ = 0;  // no line ends between read_to_ and here
  bool at_start_ = true;
  bool is_too_long_ = false;
};

}  // namespace hostler
