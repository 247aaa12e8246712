// Events of a run on their way to the socket: what is newer than a cursor is found among them,
// whatever their texts say, and batches are joined without a seam.
#include "lib/events/event_batch.h"

#include <gtest/gtest.h>

#include <string>

#include "lib/events/sse_frame.h"

namespace hostler {
namespace {

constexpr const char* now = "2026-11-20T15:04:05.123Z";

std::string frame(int64_t seq, std::string_view type, std::string_view data_json) {
  std::string out;
  events::append_frame(out, seq, type, data_json, now);
  return out;
}
std::string delta(int64_t seq) { return frame(seq, "message.delta", R"({"content":"id: 99"})"); }

events::EventBatch deltas(int64_t first, int64_t last) {
  events::EventBatch batch("run");
  for (int64_t seq = first; seq <= last; ++seq) {
    batch.append(seq, "message.delta", R"({"content":"id: 99"})", now);
  }
  return batch;
}

TEST(EventBatch, HoldsNothingAtFirst) {
  events::EventBatch batch("run");
  EXPECT_TRUE(batch.is_empty());
  EXPECT_FALSE(batch.is_final());
  EXPECT_EQ(batch.frames_after(0), "");
}

TEST(EventBatch, HoldsTheFramesOfItsEventsInTheirOrder) {
  events::EventBatch batch = deltas(9, 11);
  EXPECT_EQ(batch.run_id(), "run");
  EXPECT_EQ(batch.first_seq(), 9);
  EXPECT_EQ(batch.last_seq(), 11);
  EXPECT_EQ(batch.frames(), delta(9) + delta(10) + delta(11));
}

TEST(EventBatch, AnswersWhatIsBehindACursor) {
  events::EventBatch batch = deltas(9, 11);
  EXPECT_EQ(batch.frames_after(0), batch.frames());
  EXPECT_EQ(batch.frames_after(8), batch.frames());
  EXPECT_EQ(batch.frames_after(9), delta(10) + delta(11));
  EXPECT_EQ(batch.frames_after(10), delta(11));
  EXPECT_EQ(batch.frames_after(11), "");
}

TEST(EventBatch, AnswersWhatIsBehindACursorThatIsInAGap) {
  events::EventBatch batch = deltas(3, 4);
  batch.append(deltas(8, 9));
  EXPECT_EQ(batch.frames_after(4), delta(8) + delta(9));
  EXPECT_EQ(batch.frames_after(6), delta(8) + delta(9));
  EXPECT_EQ(batch.frames_after(8), delta(9));
}

TEST(EventBatch, JoinsAnotherBehindItself) {
  events::EventBatch batch("run");
  batch.append(deltas(1, 2));
  batch.append(deltas(3, 3));
  batch.append(deltas(4, 5));
  events::EventBatch whole = deltas(1, 5);
  EXPECT_EQ(batch.frames(), whole.frames());
  EXPECT_EQ(batch.first_seq(), 1);
  EXPECT_EQ(batch.last_seq(), 5);
  for (int64_t seq = 0; seq <= 5; ++seq) {
    EXPECT_EQ(batch.frames_after(seq), whole.frames_after(seq));
  }
}

TEST(EventBatch, IsFinalWhenItsLastEventEndsTheRun) {
  events::EventBatch batch = deltas(1, 2);
  EXPECT_FALSE(batch.is_final());
  events::EventBatch outcome("run");
  outcome.append(3, "run.cancelled", "{}", now);
  EXPECT_TRUE(outcome.is_final());
  batch.append(outcome);
  EXPECT_TRUE(batch.is_final());
}

}  // namespace
}  // namespace hostler
