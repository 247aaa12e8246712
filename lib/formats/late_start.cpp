// Streams that begin in the middle; see begin_behind() of lib/formats/formats.h.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lib/formats/formats.h"

namespace hostler::formats {
namespace {

// Takes the first frame away.
void drop_first(std::string_view& frames) {
  constexpr std::string_view frame_end = "\n\n";
  size_t end = frames.find(frame_end);
  frames.remove_prefix(end == frames.npos ? frames.size() : end + frame_end.size());
}

class LateStart final : public Encoder {
 public:
  LateStart(const EncoderState& inner, int64_t frame) : inner_(inner->copy()), frame_(frame) {}

  bool append(const events::EventView& event, std::string& out) override {
    is_past_ = is_past_ || numbers_.peek(event.seq) > frame_;
    if (is_past_) return inner_->append(event, out);
    std::string frames;
    bool ends = inner_->append(event, frames);
    std::string_view left = frames;
    while (!left.empty() && numbers_.peek(event.seq) <= frame_) {
      numbers_.next(event.seq);
      drop_first(left);
    }
    out += left;
    is_past_ = !left.empty();
    return is_past_ ? ends : events::is_terminal_event(event.type);
  }
  std::shared_ptr<Encoder> copy() const override {
    auto copied = std::make_shared<LateStart>(*this);
    copied->inner_ = inner_->copy();
    return copied;
  }
  int status() const override { return inner_->status(); }
  bool may_be_repeated() const override { return inner_->may_be_repeated(); }
  size_t kept_bytes() const override { return inner_->kept_bytes(); }

 private:
  std::shared_ptr<Encoder> inner_;
  int64_t frame_;  // the last that is left out
  FrameNumbers numbers_;
  bool is_past_ = false;
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
