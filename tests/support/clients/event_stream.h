// Events that a subscriber of a run got, read like a client: the one reader of event streams for
// tests, for any source of the bytes (StreamClient a socket, read_stream HTTPS, a plain answer).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/json.h"

namespace hostler::testing_support {

struct EventStream {
  std::string text;  // the body's bytes so far
  int status = 0;
  bool has_ended_cleanly = false;
  std::string failure = {};  // what broke the connection, or kept it from being made

  // Counts only whole frames with a number, not half a frame and not a comment.
  std::string frames() const;  // as they came
  std::vector<int64_t> seqs() const;
  std::vector<Json> events() const;  // a failure of the test where seq is not the number
  std::string types() const;         // without deltas, parted by spaces
  int64_t last_seq() const;          // 0: none yet
  bool has_ended() const;            // the last event is the run's last
  // Appends the events of a later connection.
  void add(const EventStream& later) { text += later.frames(); }

 private:
  std::vector<std::string_view> each() const;
};

}  // namespace hostler::testing_support
