// The bytes of the event stream.
#include "lib/formats/native.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "lib/formats/formats.h"
#include "lib/formats/frame_batch.h"
#include "lib/json.h"

namespace hostler {
namespace {

constexpr const char* now = "2026-11-20T15:04:05.123Z";

formats::FrameBatch frames_of(const events::EventBatch& events, int64_t after = 0) {
  return formats::FrameBatch(formats::native_format().begin({"run", ""}), events, after);
}

std::string frame(int64_t seq, std::string_view data_json,
                  std::string_view type = "message.delta") {
  events::EventBatch events("run");
  events.append(seq, type, data_json, now);
  return frames_of(events).frames();
}

TEST(NativeFormat, IsAnIdLineADataLineAndAnEmptyLine) {
  EXPECT_EQ(frame(17, R"({"content":"Hi"})"),
            "id: 17\n"
            R"(data: {"seq":17,"type":"message.delta","data":{"content":"Hi"},)"
            R"("created_at":"2026-11-20T15:04:05.123Z"})"
            "\n\n");
}

TEST(NativeFormat, IsTheSameBehindEachCursor) {
  events::EventBatch events("run");
  std::string all;
  for (int64_t seq = 1; seq <= 5; ++seq) {
    events.append(seq, "message.delta", R"({"content":"id: 99"})", now);
    all += frame(seq, R"({"content":"id: 99"})");
  }
  EXPECT_EQ(frames_of(events).frames(), all);
  for (int64_t after = 1; after < 5; ++after) {
    EXPECT_EQ(frames_of(events, after).frames(), frames_of(events).frames_after(after));
  }
}

TEST(NativeFormat, KeepsStoredLineEndsFromBreakingTheFrame) {
  std::string out = frame(3, "{\r\n\n  \"content\": \"a\\nb\"\n}");
  EXPECT_EQ(out.find('\r'), std::string::npos);
  EXPECT_EQ(out.find("\n\n"), out.size() - 2);
  size_t from = out.find("data: ") + 6;
  std::optional<Json> event = parse_json_or_nothing(out.substr(from, out.size() - 2 - from));
  ASSERT_TRUE(event);
  EXPECT_EQ(event->find("data")->text_or("content"), "a\nb");
}

TEST(NativeFormat, WritesTheLargestSequenceNumber) {
  std::string out = frame(std::numeric_limits<int64_t>::max(), "{}");
  EXPECT_TRUE(out.starts_with("id: 9223372036854775807\n"));
}

TEST(NativeFormat, EndsWithTheRun) {
  for (const char* type : {"run.completed", "run.failed", "run.cancelled"}) {
    events::EventBatch events("run");
    events.append(1, type, "{}", now);
    EXPECT_TRUE(frames_of(events).is_final()) << type;
  }
  events::EventBatch waiting("run");
  waiting.append(1, "run.waiting_for_input", "{}", now);
  EXPECT_FALSE(frames_of(waiting).is_final());
}

}  // namespace
}  // namespace hostler
