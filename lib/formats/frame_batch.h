// Events of a run as bytes of one format, made once and shared by all who follow the run in it, and
// where the frames of each event begin, so that nobody reads a number back from the wire's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/events/event_batch.h"
#include "lib/formats/encoder.h"

namespace hostler::formats {

// How the head of an answer that is held back begins.
struct HeldStatus {
  int code = 200;
  bool may_be_repeated = false;  // as Encoder says
};

class FrameBatch {
 public:
  // Frames of the events after the one with this number. `before` is the state at that event.
  FrameBatch(const EncoderState& before, const events::EventBatch& events, int64_t after);

  int64_t first_seq() const { return first_seq_; }
  int64_t last_seq() const { return last_seq_; }
  // The stream ends with them.
  bool is_final() const { return is_final_; }
  // The state behind the last event.
  const EncoderState& state() const { return state_; }
  HeldStatus status() const { return {state_->status(), state_->may_be_repeated()}; }
  // All frames as they stand on the wire. May be empty: not every event is a frame everywhere.
  const std::string& frames() const { return frames_; }
  // Frames of the events after the one with this number.
  std::string_view frames_after(int64_t seq) const;

 private:
  struct Begin {
    int64_t seq;
    size_t offset;
  };

  int64_t first_seq_ = 0;
  int64_t last_seq_ = 0;
  bool is_final_ = false;
  EncoderState state_;
  std::string frames_;
  std::vector<Begin> begins_;  // of all but the first: most batches are one event
};

using SharedFrames = std::shared_ptr<const FrameBatch>;

}  // namespace hostler::formats
