// How each protocol says that the model did not end its answer by itself (output.cut): as a
// reason of its own, or as a state.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "lib/json.h"
#include "tests/support/rigs/response_story.h"

namespace hostler {
namespace {

using namespace testing_support;

Told stopped_by(const std::string& reason) {
  return {"output.cut", fmt::format(R"({{"finish_reason":"{}"}})", reason)};
}
std::string frames_of_stopped(const char* format, const std::string& reason) {
  return told_as(format, {started, delta("Hi"), stopped_by(reason), completed}).frames();
}

TEST(StoppedAnswer, IsAChatCompletionWithTheReason) {
  for (const char* reason : {"length", "content_filter"}) {
    for (const char* format : {"openai_chat", "openai_chat_usage", "openai_chat_whole"}) {
      std::string frames = frames_of_stopped(format, reason);
      std::string shown = fmt::format(R"("finish_reason":"{}")", reason);
      EXPECT_NE(frames.find(shown), std::string::npos) << frames;
      EXPECT_EQ(frames.find("\"stop\""), std::string::npos) << frames;
    }
  }
}

TEST(StoppedAnswer, IsAMessageOfTheAiSdkWithTheReason) {
  EXPECT_NE(frames_of_stopped("ui_chat", "length").find(R"("finishReason":"length")"),
            std::string::npos);
  EXPECT_NE(
      frames_of_stopped("ui_chat", "content_filter").find(R"("finishReason":"content-filter")"),
      std::string::npos);
}

TEST(StoppedAnswer, IsAResponseThatIsIncomplete) {
  struct Case {
    const char* finish_reason;
    const char* shown;
  };
  for (const Case& each :
       {Case{"length", "max_output_tokens"}, Case{"content_filter", "content_filter"}}) {
    Story story = {started, delta("Hi"), stopped_by(each.finish_reason), completed};
    std::vector<Json> objects = objects_of(told_as("openai_response", story).frames());
    EXPECT_EQ(objects.back().text_or("type"), "response.incomplete");
    Json whole = final_response(objects);
    EXPECT_EQ(whole.text_or("status"), "incomplete");
    EXPECT_EQ(whole.find("incomplete_details")->text_or("reason"), each.shown);
    EXPECT_TRUE(whole.find("completed_at")->is_null());
    EXPECT_EQ(whole.find("output")->as_array()->at(0).text_or("status"), "incomplete");
    EXPECT_EQ(output_text(whole), "Hi");
    for (const char* name : {"openai_response_whole", "openai_response_stored"}) {
      EXPECT_EQ(told_as(name, story).frames(), whole.dump());
      EXPECT_EQ(told_as(name, story).status().code, 200);
    }
  }
}

}  // namespace
}  // namespace hostler
