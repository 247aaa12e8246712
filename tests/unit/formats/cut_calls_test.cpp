// Calls that the model did not finish, and tools that were left out: the protocols of other clients
// have no word for either. A call that was cut is one that failed.
#include <gtest/gtest.h>

#include <string>

#include "lib/json.h"
#include "tests/support/rigs/response_story.h"

namespace hostler {
namespace {

using namespace testing_support;

constexpr const char* formats_of_others[] = {"openai_chat",     "openai_chat_whole",
                                             "openai_response", "openai_response_whole",
                                             "ui_chat",         "agui"};

// left_out and cut: the events at their places, or others that say nothing.
Story story_with(const Told& left_out, const Told& cut) {
  Told failed_result = {"tool.result", R"({"tool_call_id":"c","tool_name":"web_search",)"
                                       R"("error":{"code":"tool.args_cut","message":"Cut off."}})"};
  return {started, left_out, call, cut, failed_result, delta("Smaller."), completed};
}

TEST(CutCallsOfFormats, AreCallsThatFailed) {
  Told left_out = {"tool.left_out", R"({"tool_name":"odd","reason":"No."})"};
  Told cut = {"tool.cut", R"({"tool_call_id":"c","reason":"length"})"};
  Told nothing = {"run.retrying", R"({"attempt":2,"delay_ms":1,"reason":"reset"})"};
  for (const char* format : formats_of_others) {
    std::string frames = told_as(format, story_with(left_out, cut)).frames();
    EXPECT_EQ(frames, told_as(format, story_with(nothing, nothing)).frames()) << format;
    EXPECT_NE(frames.find("Smaller."), std::string::npos) << format;
  }
  for (const char* format : {"ui_chat", "agui"}) {
    std::string frames = told_as(format, story_with(left_out, cut)).frames();
    EXPECT_NE(frames.find("Cut off."), std::string::npos) << format << ": " << frames;
  }
}

}  // namespace
}  // namespace hostler
