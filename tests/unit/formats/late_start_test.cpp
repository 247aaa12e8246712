// Streams that begin in the middle: the frames are those of the whole stream, less those up to the
// number, wherever they are asked for.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/formats/formats.h"
#include "lib/formats/frame_batch.h"

namespace hostler {
namespace {

constexpr const char* now = "2026-11-20T15:04:05.123Z";

// The nth event has n - 1 frames, each with its number; ends with every "pause" too.
class Numbered final : public formats::Encoder {
 public:
  bool append(const events::EventView& event, std::string& out) override {
    for (int64_t nth = 0; nth < event.seq - 1; ++nth) {
      out += fmt::format("data: {}\n\n", formats::frame_number(event.seq, nth));
    }
    return event.type == "pause" || events::is_terminal_event(event.type);
  }
  std::shared_ptr<Encoder> copy() const override { return std::make_shared<Numbered>(*this); }
  int status() const override { return 207; }
  bool may_be_repeated() const override { return true; }
};

formats::EncoderState begin(const formats::RunFacts&) { return std::make_shared<const Numbered>(); }

formats::Format numbered() {
  formats::Format format = formats::native_format();
  format.begin = begin;
  return format;
}

events::EventBatch events_of(int64_t last, int64_t pause_seq = 0) {
  events::EventBatch batch("run");
  for (int64_t seq = 1; seq <= last; ++seq) {
    const char* type = seq == last ? "run.completed" : seq == pause_seq ? "pause" : "any";
    batch.append(seq, type, "{}", now);
  }
  return batch;
}

std::string frames_behind(int64_t frame, const events::EventBatch& events) {
  formats::EncoderState state = formats::begin_behind(numbered(), {"run", ""}, frame);
  return formats::FrameBatch(state, events, 0).frames();
}

TEST(LateStart, LeavesOutTheFramesUpToTheNumberAndNoOther) {
  events::EventBatch events = events_of(16);
  for (int64_t frame = 0; frame <= formats::frame_number(17, 3); ++frame) {
    std::string wanted;
    for (int64_t seq = 1; seq <= 16; ++seq) {
      for (int64_t nth = 0; nth < seq - 1; ++nth) {
        int64_t number = formats::frame_number(seq, nth);
        if (frame == 0 || number > frame) wanted += fmt::format("data: {}\n\n", number);
      }
    }
    ASSERT_EQ(frames_behind(frame, events), wanted) << "behind " << frame;
  }
}

TEST(LateStart, GoesOnWhereverTheEventsAreParted) {
  events::EventBatch events = events_of(12);
  for (int64_t parted = 1; parted < 12; ++parted) {
    formats::EncoderState state = formats::begin_behind(numbered(), {"run", ""}, 16 * 7 + 2);
    formats::FrameBatch before(state, events, 0);
    events::EventBatch head("run");
    for (int64_t seq = 1; seq <= parted; ++seq) head.append(seq, "any", "{}", now);
    formats::FrameBatch begun(state, head, 0);
    formats::FrameBatch rest(begun.state(), events, parted);
    EXPECT_EQ(begun.frames() + rest.frames(), before.frames()) << "parted behind " << parted;
    EXPECT_EQ(rest.status().code, 207);
    EXPECT_TRUE(rest.status().may_be_repeated);
    EXPECT_TRUE(rest.is_final());
  }
}

TEST(LateStart, EndsWithNothingThatIsLeftOutButTheRun) {
  formats::EncoderState state = formats::begin_behind(numbered(), {"run", ""}, 16 * 6 + 15);
  formats::FrameBatch over_a_pause(state, events_of(8, 5), 0);
  EXPECT_EQ(over_a_pause.last_seq(), 8);
  formats::FrameBatch at_a_pause(state, events_of(8, 7), 0);
  EXPECT_EQ(at_a_pause.last_seq(), 7);
  EXPECT_TRUE(at_a_pause.is_final());
  formats::FrameBatch behind_the_end(formats::begin_behind(numbered(), {"run", ""}, INT64_MAX),
                                     events_of(8), 0);
  EXPECT_EQ(behind_the_end.frames(), "");
  EXPECT_TRUE(behind_the_end.is_final());
}

}  // namespace
}  // namespace hostler
