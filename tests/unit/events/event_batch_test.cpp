// Events of a run on their way to those who follow it: each comes out as it was put in, and batches
// are joined without a seam.
#include "lib/events/event_batch.h"

#include <gtest/gtest.h>

#include <string>

namespace hostler {
namespace {

constexpr const char* now = "2026-11-20T15:04:05.123Z";

events::EventBatch deltas(int64_t first, int64_t last) {
  events::EventBatch batch("run");
  for (int64_t seq = first; seq <= last; ++seq) {
    batch.append(seq, "message.delta", R"({"content":")" + std::to_string(seq) + "\"}", now);
  }
  return batch;
}

std::string text_of(const events::EventBatch& batch) {
  std::string text;
  for (size_t i = 0; i < batch.size(); ++i) {
    events::EventView event = batch[i];
    text += std::to_string(event.seq) + "|" + std::string(event.type) + "|" +
            std::string(event.data_json) + "|" + std::string(event.created_at) + "\n";
  }
  return text;
}

TEST(EventBatch, HoldsNothingAtFirst) {
  events::EventBatch batch("run");
  EXPECT_TRUE(batch.is_empty());
  EXPECT_EQ(batch.first_seq(), 0);
  EXPECT_EQ(batch.last_seq(), 0);
  EXPECT_EQ(batch.bytes(), 0U);
}

TEST(EventBatch, HoldsItsEventsInTheirOrder) {
  events::EventBatch batch("run");
  batch.append(9, "run.resumed", "{}", "then");
  batch.append(10, "", R"({"a":1})", "");
  batch.append(12, "run.completed", "", now);
  EXPECT_EQ(batch.run_id(), "run");
  EXPECT_EQ(batch.first_seq(), 9);
  EXPECT_EQ(batch.last_seq(), 12);
  EXPECT_EQ(text_of(batch),
            "9|run.resumed|{}|then\n"
            "10||{\"a\":1}|\n"
            "12|run.completed||2026-11-20T15:04:05.123Z\n");
}

TEST(EventBatch, JoinsAnotherBehindItself) {
  events::EventBatch batch("run");
  batch.append(deltas(1, 2));
  batch.append(deltas(3, 3));
  batch.append(deltas(4, 5));
  events::EventBatch whole = deltas(1, 5);
  EXPECT_EQ(text_of(batch), text_of(whole));
  EXPECT_EQ(batch.first_seq(), 1);
  EXPECT_EQ(batch.last_seq(), 5);
  EXPECT_EQ(batch.bytes(), whole.bytes());
}

TEST(EventBatch, KnowsTheNewestResumptionInIt) {
  events::EventBatch batch = deltas(1, 2);
  EXPECT_EQ(batch.resumed_seq(), 0);
  events::EventBatch resumed("run");
  resumed.append(3, "run.resumed", "{}", now);
  resumed.append(4, "run.resumed", "{}", now);
  batch.append(resumed);
  batch.append(deltas(5, 6));
  EXPECT_EQ(batch.resumed_seq(), 4);
}

TEST(TerminalEvent, IsOneOfThree) {
  EXPECT_TRUE(events::is_terminal_event("run.completed"));
  EXPECT_TRUE(events::is_terminal_event("run.failed"));
  EXPECT_TRUE(events::is_terminal_event("run.cancelled"));
  EXPECT_FALSE(events::is_terminal_event("run.waiting_for_input"));
  EXPECT_FALSE(events::is_terminal_event("message.delta"));
}

}  // namespace
}  // namespace hostler
