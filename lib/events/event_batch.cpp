// See lib/events/event_batch.h.
#include "lib/events/event_batch.h"

#include <algorithm>
#include <cassert>

#include "lib/events/sse_frame.h"

namespace hostler::events {

void EventBatch::append(int64_t seq, std::string_view type, std::string_view data_json,
                        std::string_view created_at) {
  assert(seq > last_seq_);
  if (is_empty()) {
    first_seq_ = seq;
  } else {
    begins_.push_back({seq, frames_.size()});
  }
  last_seq_ = seq;
  is_final_ = is_terminal_event(type);
  if (type == "run.resumed") resumed_seq_ = seq;
  append_frame(frames_, seq, type, data_json, created_at);
}

void EventBatch::append(const EventBatch& next) {
  assert(next.first_seq_ > last_seq_);
  size_t offset = frames_.size();
  if (is_empty()) {
    first_seq_ = next.first_seq_;
  } else {
    begins_.push_back({next.first_seq_, offset});
  }
  for (const Begin& begin : next.begins_) begins_.push_back({begin.seq, offset + begin.offset});
  last_seq_ = next.last_seq_;
  is_final_ = next.is_final_;
  if (next.resumed_seq_ != 0) resumed_seq_ = next.resumed_seq_;
  frames_ += next.frames_;
}

std::string_view EventBatch::frames_after(int64_t seq) const {
  std::string_view frames = frames_;
  if (seq < first_seq_) return frames;
  auto next =
      std::upper_bound(begins_.begin(), begins_.end(), seq,
                       [](int64_t wanted, const Begin& begin) { return wanted < begin.seq; });
  return next == begins_.end() ? std::string_view() : frames.substr(next->offset);
}

}  // namespace hostler::events
