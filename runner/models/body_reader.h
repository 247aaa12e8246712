// The body of a model's answer on its way to the turn reader. Used by the model client.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runner/models/sse_reader.h"
#include "runner/models/turn_reader.h"

namespace hostler {

// Bytes of the body to the reader, as a stream or, from servers that do not stream, as one JSON
// document.
class BodyReader {
 public:
  BodyReader(TurnReader& reader, const ModelObserver& observer)
      : reader_(reader), observer_(observer) {}

  void feed(std::string_view bytes) {
    if (form_ == Form::unknown && bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
    listen(bytes);
    size_t first = bytes.find_first_not_of(" \t\r\n");
    if (form_ == Form::unknown && first == std::string_view::npos) return;
    if (form_ == Form::unknown) {
      bool is_json = bytes[first] == '{' || bytes[first] == '[';
      form_ = is_json ? Form::document : Form::stream;
    }
    if (form_ == Form::document) {
      if (document_.size() + bytes.size() <= document_bytes_max) document_ += bytes;
      return;
    }
    lines_.feed(bytes);
    read_lines();
  }
  // Whether more than comments and blank lines came since the last call.
  bool take_heard() { return std::exchange(was_heard_, false); }
  // Rests of a line or document that a broken connection left are not read.
  void end(bool is_broken) {
    if (form_ == Form::document && !is_broken) reader_.read_document(document_);
    if (form_ == Form::stream && !is_broken) {
      lines_.end();
      read_lines();
    }
    reader_.end();
  }
  bool is_over() const { return is_failed() || reader_.saw_last_event(); }
  // Behind the last event some servers send the usage.
  bool may_have_usage() const {
    return reader_.saw_last_event() && !is_failed() && !reader_.has_usage();
  }
  bool is_too_long() const { return lines_.is_too_long(); }
  // There was something, and no line of it is an event.
  bool is_no_stream() const { return form_ == Form::stream && !has_events_; }

 private:
  static constexpr size_t document_bytes_max = size_t{8} << 20;
  bool is_failed() const { return lines_.is_too_long() || reader_.fault() || observer_.is_full(); }
  enum class Form { unknown, stream, document };
  void listen(std::string_view bytes) {
    for (char c : bytes) {
      if (c == '\n' || c == '\r') {
        at_line_start_ = true;
        is_in_comment_ = false;
        continue;
      }
      if (std::exchange(at_line_start_, false)) is_in_comment_ = c == ':';
      was_heard_ = was_heard_ || !is_in_comment_;
    }
  }
  void read_lines() {
    while (std::optional<SseLine> line = lines_.next()) {
      has_events_ = true;
      reader_.read_line(*line);
      if (observer_.is_full()) return;
    }
  }
  TurnReader& reader_;
  const ModelObserver& observer_;
  SseReader lines_;
  std::string document_;
  Form form_ = Form::unknown;
  bool has_events_ = false;
  bool at_line_start_ = true;
  bool is_in_comment_ = false;
  bool was_heard_ = false;
};

}  // namespace hostler
