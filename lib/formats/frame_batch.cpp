// See lib/formats/frame_batch.h.
#include "lib/formats/frame_batch.h"

#include <algorithm>

namespace hostler::formats {

FrameBatch::FrameBatch(const EncoderState& before, const events::EventBatch& events,
                       int64_t after) {
  std::shared_ptr<Encoder> encoder = before->copy();
  for (size_t i = 0; i < events.size() && !is_final_; ++i) {
    events::EventView event = events[i];
    if (event.seq <= after) continue;
    if (first_seq_ == 0) {
      first_seq_ = event.seq;
    } else {
      begins_.push_back({event.seq, frames_.size()});
    }
    last_seq_ = event.seq;
    is_final_ = encoder->append(event, frames_);
  }
  state_ = std::move(encoder);
}

std::string_view FrameBatch::frames_after(int64_t seq) const {
  std::string_view frames = frames_;
  if (seq < first_seq_) return frames;
  auto next =
      std::upper_bound(begins_.begin(), begins_.end(), seq,
                       [](int64_t wanted, const Begin& begin) { return wanted < begin.seq; });
  return next == begins_.end() ? std::string_view() : frames.substr(next->offset);
}

}  // namespace hostler::formats
