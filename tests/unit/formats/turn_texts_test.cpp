// The blank line between the texts of two turns: a part of the one answer of chat completions, and
// of no item where each turn's text is one.
#include <gtest/gtest.h>

#include <string>

#include "lib/json.h"
#include "tests/support/rigs/response_story.h"

namespace hostler {
namespace {

using namespace testing_support;

Story two_turns() {
  return {started, delta("One."), call, result, delta("\n\n"), delta("Two."), completed};
}

TEST(TurnTexts, ArePartedByABlankLineInAChatCompletion) {
  std::string whole = told_as("openai_chat_whole", two_turns()).frames();
  EXPECT_NE(whole.find(R"("content":"One.\n\nTwo.")"), std::string::npos) << whole;
}

TEST(TurnTexts, AreItemsOfTheirOwnElsewhere) {
  for (const char* format : {"openai_response", "openai_response_whole", "ui_chat", "agui"}) {
    std::string frames = told_as(format, two_turns()).frames();
    EXPECT_NE(frames.find("One."), std::string::npos) << format;
    EXPECT_NE(frames.find("Two."), std::string::npos) << format;
    EXPECT_EQ(frames.find(R"(\n\n)"), std::string::npos) << format << ": " << frames;
  }
}

}  // namespace
}  // namespace hostler
