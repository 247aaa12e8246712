// Waits in the form of the AI SDK that ask nothing of its client: servers of webhook and remote
// tools answer them. The others: ui_messages_test.cpp.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "lib/formats/ui_messages.h"
#include "tests/support/clients/ui_client.h"
#include "tests/unit/formats/agui_story.h"

namespace hostler {
namespace {

using namespace agui_story;  // NOLINT(google-build-using-namespace)

std::string parts_of(const Story& story) {
  formats::UiMessage message({run_id, ""});
  events::EventBatch events = events_of(story);
  for (size_t i = 0; i < events.size(); ++i) message.take(events[i]);
  return parse_json_or_nothing(message.json())->find("parts")->dump();
}

// Nobody would take the stream up again: the client has nothing to answer.
TEST(UiWaits, ForServersEndNoStream) {
  for (std::string by : {"webhook", "server"}) {
    Story story{started,           call("w", "hook"), awaiting({{"w", by}}), result("w"), provided,
                delta("At last."), completed};
    formats::FrameBatch waiting =
        stream_behind("ui_chat", Story(story.begin(), story.begin() + 3), 0);
    EXPECT_FALSE(waiting.is_final());
    // From its beginning, and taken up while it waits.
    for (const auto& [name, seq] : {std::pair{"ui_chat", 0}, std::pair{"ui_chat_replay", 3}}) {
      formats::FrameBatch frames = stream_behind(name, story, seq);
      UiClient client;
      EXPECT_EQ(client.read(frames.frames()), "stop");
      EXPECT_EQ(client.parts(), parts_of(story)) << name;
      size_t first = frames.frames().find(R"({"type":"start",)");
      EXPECT_EQ(frames.frames().find(R"({"type":"start",)", first + 1), std::string_view::npos);
    }
  }
}

TEST(UiWaits, ForServersBehindAnApprovalEndNoStreamEither) {
  Story story{started,
              call("w", "hook"),
              asking("tool_confirmation", "w", "hook"),
              provided,
              awaiting({{"w", "webhook"}}),
              result("w"),
              provided,
              delta("At last."),
              completed};
  UiClient client;
  EXPECT_EQ(client.read(stream_behind("ui_chat", story, 0).frames()), "tool-calls");
  EXPECT_EQ(client.read(stream_behind("ui_chat_go_on", story, 4).frames()), "stop");
  EXPECT_NE(client.parts().find("At last."), std::string::npos);
}

TEST(UiWaits, ForTheClientAndServersEndTheStream) {
  Story story{started,
              call("w", "hook"),
              call("c", "weather"),
              awaiting({{"w", "webhook"}, {"c"}}),
              result("c"),
              result("w"),
              provided,
              delta("At last."),
              completed};
  UiClient client;
  EXPECT_EQ(client.read(stream_behind("ui_chat", story, 0).frames()), "tool-calls");
  EXPECT_EQ(client.read(stream_behind("ui_chat_go_on", story, 5).frames()), "stop");
  EXPECT_NE(client.parts().find("At last."), std::string::npos);
}

}  // namespace
}  // namespace hostler
