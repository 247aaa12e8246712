// Which calls a chat's history answers.
#include "fcgi/api/openai/chat_messages.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace hostler {
namespace {

TEST(AnsweredCalls, AreThoseOfAllResultsTheNewestLast) {
  std::string text = R"({"messages":[{"role":"user","content":"a"})";
  for (int i = 0; i < 205; ++i) {
    text += fmt::format(R"(,{{"role":"assistant","tool_calls":[{{"id":"c{0}","function":)"
                        R"({{"name":"f","arguments":""}}}}]}},)"
                        R"({{"role":"tool","tool_call_id":"c{0}","content":"r"}})",
                        i);
  }
  std::optional<Json> body = parse_json_or_nothing(text + "]}");
  ASSERT_TRUE(body);
  Fields fields(*body, "", std::make_shared<Faults>());
  ChatMessages chat = read_chat_messages(fields);
  EXPECT_NO_THROW(fields.check());
  EXPECT_TRUE(chat.missing_calls.empty());
  ASSERT_EQ(chat.answered_calls.size(), 205u);
  EXPECT_EQ(chat.answered_calls.front(), "c0");
  EXPECT_EQ(chat.answered_calls.back(), "c204");
}

}  // namespace
}  // namespace hostler
