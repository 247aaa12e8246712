// Of which calls that a chat's history answers the runs are looked up.
#include "fcgi/api/openai/chat_messages.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace hostler {
namespace {

TEST(AnsweredCalls, AreLookedUpFromTheSameOneOnWhileAHundredCome) {
  for (size_t count : {0, 1, 100, 199, 200}) EXPECT_EQ(first_looked_up(count), 0u) << count;
  EXPECT_EQ(first_looked_up(201), 100u);
  EXPECT_EQ(first_looked_up(300), 100u);
  EXPECT_EQ(first_looked_up(301), 200u);
  for (size_t count = 201; count < 20'000; ++count) {
    size_t looked_up = count - first_looked_up(count);
    EXPECT_GT(looked_up, 100u) << count;
    EXPECT_LE(looked_up, 200u) << count;
  }
}

TEST(AnsweredCalls, AreThoseOfTheResultsTheNewestLast) {
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
  ASSERT_EQ(chat.answered_calls.size(), 105u);
  EXPECT_EQ(chat.answered_calls.front(), "c100");
  EXPECT_EQ(chat.answered_calls.back(), "c204");
  EXPECT_NE(chat.history.find(R"("tool_call_id":"c0")"), std::string::npos) << "given all the same";
}

}  // namespace
}  // namespace hostler
