// The lines of an event stream (WHATWG HTML, section 9.2), from bytes cut anywhere. Model servers
// put one JSON text in one data line, and not all of them send the blank line after it: so a line
// is handed out as soon as it ends, and the turn reader joins a JSON text that goes on in the next
// line. Comments, id: and retry: are skipped.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hostler {

struct SseLine {
  enum class Kind {
    data,   // of a data line, without its name
    error,  // likewise within an event of the name error, or of a line `error: …`
    bare,   // a line of JSON without a name, as servers write whose stream fails
    end,    // the blank line after an event that had lines
  };
  Kind kind = Kind::data;
  std::string_view text = {};

  bool operator==(const SseLine&) const = default;
};

class SseReader {
 public:
  explicit SseReader(size_t line_bytes_max = default_line_bytes_max)
      : line_bytes_max_(line_bytes_max) {}

  void feed(std::string_view bytes);
  // The body has ended: what is left is a line, too.
  void end();
  // The next line, until feed() or end() is called again.
  std::optional<SseLine> next();
  // A line is over the limit; nothing more is handed out.
  bool is_too_long() const { return is_too_long_; }

 private:
  // 4 MiB of data, with its name.
  static constexpr size_t default_line_bytes_max = (size_t{4} << 20) + 64;
  std::optional<SseLine> read_line(std::string_view line);

  size_t line_bytes_max_;
  std::string buffer_;
  size_t read_to_ = 0;     // everything before was handed out
  size_t scanned_to_ = 0;  // no line ends between read_to_ and here
  bool at_start_ = true;
  bool is_behind_cr_ = false;  // a line feed now belongs to the line before
  bool is_error_event_ = false;
  bool has_lines_ = false;  // this event handed out some
  bool is_too_long_ = false;
};

}  // namespace hostler
