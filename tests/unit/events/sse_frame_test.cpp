// The bytes of one event on the wire.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "lib/events/sse_frame.h"
#include "lib/json.h"

namespace hostler {
namespace {

std::string frame(int64_t seq, std::string_view data_json) {
  std::string out;
  events::append_frame(out, seq, "message.delta", data_json, "2026-11-20T15:04:05.123Z");
  return out;
}

TEST(SseFrame, IsAnIdLineADataLineAndAnEmptyLine) {
  EXPECT_EQ(frame(17, R"({"content":"Hi"})"),
            "id: 17\n"
            R"(data: {"seq":17,"type":"message.delta","data":{"content":"Hi"},)"
            R"("created_at":"2026-11-20T15:04:05.123Z"})"
            "\n\n");
}

TEST(SseFrame, AppendsBehindWhatIsThere) {
  std::string out = frame(1, "{}");
  size_t before = out.size();
  events::append_frame(out, 2, "run.completed", "{}", "2026-11-20T15:04:05.123Z");
  EXPECT_EQ(out.substr(0, before), frame(1, "{}"));
  EXPECT_TRUE(out.substr(before).starts_with("id: 2\n"));
}

TEST(SseFrame, KeepsStoredLineEndsFromBreakingTheFrame) {
  std::string out = frame(3, "{\r\n\n  \"content\": \"a\\nb\"\n}");
  EXPECT_EQ(out.find('\r'), std::string::npos);
  EXPECT_EQ(out.find("\n\n"), out.size() - 2);
  size_t from = out.find("data: ") + 6;
  std::optional<Json> event = parse_json_or_nothing(out.substr(from, out.size() - 2 - from));
  ASSERT_TRUE(event);
  EXPECT_EQ(event->find("data")->text_or("content"), "a\nb");
}

TEST(SseFrame, WritesTheLargestSequenceNumber) {
  std::string out = frame(std::numeric_limits<int64_t>::max(), "{}");
  EXPECT_TRUE(out.starts_with("id: 9223372036854775807\n"));
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
