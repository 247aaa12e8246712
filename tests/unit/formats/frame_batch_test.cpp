// The frames of a batch of events: what is newer than a cursor is found among them, whatever their
// texts say, and wherever the events are parted the bytes are the same.
#include "lib/formats/frame_batch.h"

#include <gtest/gtest.h>

#include <string>

namespace hostler {
namespace {

constexpr const char* now = "2026-11-20T15:04:05.123Z";

// Needs a state: each frame says how many events came before, and events of the type "silent" have
// none.
class Counting final : public formats::Encoder {
 public:
  bool append(const events::EventView& event, std::string& out) override {
    ++count_;
    if (event.type == "silent") return false;
    out += std::to_string(event.seq) + "=" + std::to_string(count_) + ";";
    return event.type == "last";
  }
  std::shared_ptr<Encoder> copy() const override { return std::make_shared<Counting>(*this); }

 private:
  int count_ = 0;
};

formats::EncoderState begin() { return std::make_shared<const Counting>(); }

events::EventBatch events_of(int64_t first, int64_t last, const char* type = "any") {
  events::EventBatch batch("run");
  for (int64_t seq = first; seq <= last; ++seq) batch.append(seq, type, "{}", now);
  return batch;
}

TEST(FrameBatch, HoldsTheFramesOfItsEventsInTheirOrder) {
  formats::FrameBatch batch(begin(), events_of(9, 11), 0);
  EXPECT_EQ(batch.first_seq(), 9);
  EXPECT_EQ(batch.last_seq(), 11);
  EXPECT_EQ(batch.frames(), "9=1;10=2;11=3;");
  EXPECT_FALSE(batch.is_final());
}

TEST(FrameBatch, LeavesOutWhatTheStateKnows) {
  formats::FrameBatch first(begin(), events_of(1, 2), 0);
  formats::FrameBatch batch(first.state(), events_of(1, 4), 2);
  EXPECT_EQ(batch.first_seq(), 3);
  EXPECT_EQ(batch.frames(), "3=3;4=4;");
}

TEST(FrameBatch, LeavesTheStateBeforeItAsItWas) {
  formats::EncoderState before = begin();
  formats::FrameBatch once(before, events_of(1, 3), 0);
  formats::FrameBatch again(before, events_of(1, 3), 0);
  EXPECT_EQ(once.frames(), again.frames());
}

TEST(FrameBatch, AnswersWhatIsBehindACursor) {
  formats::FrameBatch batch(begin(), events_of(9, 11), 0);
  EXPECT_EQ(batch.frames_after(0), batch.frames());
  EXPECT_EQ(batch.frames_after(8), batch.frames());
  EXPECT_EQ(batch.frames_after(9), "10=2;11=3;");
  EXPECT_EQ(batch.frames_after(10), "11=3;");
  EXPECT_EQ(batch.frames_after(11), "");
}

TEST(FrameBatch, AnswersWhatIsBehindACursorThatIsInAGap) {
  events::EventBatch events = events_of(3, 4);
  events.append(events_of(8, 9));
  formats::FrameBatch batch(begin(), events, 0);
  EXPECT_EQ(batch.frames_after(4), "8=3;9=4;");
  EXPECT_EQ(batch.frames_after(6), "8=3;9=4;");
  EXPECT_EQ(batch.frames_after(8), "9=4;");
}

TEST(FrameBatch, CountsEventsThatHaveNoFrame) {
  events::EventBatch events = events_of(1, 2, "silent");
  events.append(events_of(3, 3));
  events.append(events_of(4, 4, "silent"));
  formats::FrameBatch batch(begin(), events, 0);
  EXPECT_EQ(batch.first_seq(), 1);
  EXPECT_EQ(batch.last_seq(), 4);
  EXPECT_EQ(batch.frames(), "3=3;");
  EXPECT_EQ(batch.frames_after(1), "3=3;");
  EXPECT_EQ(batch.frames_after(3), "");
}

TEST(FrameBatch, EndsWithTheEventThatEndsTheStream) {
  events::EventBatch events = events_of(1, 1);
  events.append(events_of(2, 2, "last"));
  events.append(events_of(3, 3));
  formats::FrameBatch batch(begin(), events, 0);
  EXPECT_TRUE(batch.is_final());
  EXPECT_EQ(batch.last_seq(), 2);
  EXPECT_EQ(batch.frames(), "1=1;2=2;");
}

}  // namespace
}  // namespace hostler
