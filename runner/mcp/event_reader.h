// The events of a server's stream (WHATWG HTML, section 9.2), from bytes cut anywhere: data, id and
// when to come back. Bounded; used by runner/mcp/rpc_exchange.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace hostler::runner {

class EventReader {
 public:
  explicit EventReader(size_t event_bytes_max) : event_bytes_max_(event_bytes_max) {}

  void feed(std::string_view bytes);
  // Another stream goes on where this one broke: what was cut is void.
  void begin_again();
  // The data of the next event that has some.
  std::optional<std::string> next();
  // Id of the last event that ended, with or without data; empty if none had one.
  const std::string& last_id() const { return last_id_; }
  std::optional<int64_t> retry_ms() const { return retry_ms_; }
  bool is_too_long() const { return is_too_long_; }

 private:
  void take_line(std::string_view line);

  size_t event_bytes_max_;
  std::string line_;
  bool after_return_ = false;  // a line feed behind it belongs to it
  bool at_start_ = true;
  std::string data_;
  bool has_data_ = false;
  std::string id_;
  std::string last_id_;
  std::optional<int64_t> retry_ms_;
  std::deque<std::string> events_;
  bool is_too_long_ = false;
};

}  // namespace hostler::runner
