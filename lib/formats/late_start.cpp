// Streams that begin in the middle; see begin_behind() of lib/formats/formats.h.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lib/formats/formats.h"

namespace hostler::formats {
namespace {

// The frames behind the first `count`.
std::string_view without_first(std::string_view frames, int64_t count) {
  constexpr std::string_view frame_end = "\n\n";
  for (; count > 0 && !frames.empty(); --count) {
    size_t end = frames.find(frame_end);
    if (end == std::string_view::npos) return {};
    frames.remove_prefix(end + frame_end.size());
  }
  return frames;
}

class LateStart final : public Encoder {
 public:
  LateStart(const EncoderState& inner, int64_t frame) : inner_(inner->copy()), frame_(frame) {}

  bool append(const events::EventView& event, std::string& out) override {
    int64_t seq = frame_ / frames_of_event;
    if (event.seq > seq) return inner_->append(event, out);
    std::string frames;
    bool ends = inner_->append(event, frames);
    bool is_left_out = event.seq < seq || frame_ % frames_of_event == frames_of_event - 1;
    if (is_left_out) return events::is_terminal_event(event.type);
    out += without_first(frames, frame_ % frames_of_event + 1);
    return ends;
  }
  std::shared_ptr<Encoder> copy() const override {
    return std::make_shared<LateStart>(inner_, frame_);
  }
  int status() const override { return inner_->status(); }

 private:
  std::shared_ptr<Encoder> inner_;
  int64_t frame_;  // the last that is left out
};

}  // namespace

EncoderState begin_behind(const Format& format, const RunFacts& run, int64_t frame) {
  if (format.start == Start::stored) {
    RunFacts facts = run;
    facts.stored_seq = frame / frames_of_event;
    return format.begin(facts);
  }
  EncoderState state = format.begin(run);
  return frame <= 0 ? state : std::make_shared<const LateStart>(state, frame);
}

}  // namespace hostler::formats
