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
  ChatMessages chat = read_chat_messages(fields, UploadLimits());
  EXPECT_NO_THROW(fields.check());
  EXPECT_TRUE(chat.missing_calls.empty());
  ASSERT_EQ(chat.answered_calls.size(), 205u);
  EXPECT_EQ(chat.answered_calls.front(), "c0");
  EXPECT_EQ(chat.answered_calls.back(), "c204");
}

std::string history_of(std::string_view messages) {
  std::optional<Json> body = parse_json_or_nothing(fmt::format(R"({{"messages":[{}]}})", messages));
  EXPECT_TRUE(body) << messages;
  Fields fields(*body, "", std::make_shared<Faults>());
  std::string history = read_chat_messages(fields, UploadLimits()).history;
  EXPECT_NO_THROW(fields.check());
  return history;
}

TEST(ChatHistory, KeepsWhatAProviderSentForItself) {
  EXPECT_EQ(
      history_of(R"({"role":"assistant","content":"a","reasoning_content":"b\n","reasoning":"c",)"
                 R"("reasoning_details":[{"type":"x","n":1.50}],"extra_content":{"g":{"s":"=="}},)"
                 R"("other":1})"),
      R"([{"role":"assistant","content":"a","opaque":{"reasoning_content":"b\n","reasoning":"c",)"
      R"("reasoning_details":[{"type":"x","n":1.50}],"extra_content":{"g":{"s":"=="}}}}])");
  EXPECT_EQ(
      history_of(
          R"({"role":"assistant","reasoning_content":"b","tool_calls":[{"id":"c","type":)"
          R"("function","extra_content":{"s":"=="},"function":{"name":"f","arguments":"{}"}}]},)"
          R"({"role":"tool","tool_call_id":"c","content":"r"})"),
      R"([{"role":"assistant","content":"","opaque":{"reasoning_content":"b"},"tool_calls":[{"id":)"
      R"("c","name":"f","arguments":"{}","extra_content":{"s":"=="}}]},)"
      R"({"role":"tool","content":"r","tool_call_id":"c"}])");
}

TEST(ChatHistory, LeavesOutThoughtsThatAreNone) {
  for (const char* further :
       {R"("reasoning_content":null)", R"("reasoning_content":5)", R"("reasoning":[1])",
        R"("reasoning_details":{"a":1})", R"("extra_content":"x")"}) {
    EXPECT_EQ(history_of(fmt::format(R"({{"role":"assistant","content":"a",{}}})", further)),
              R"([{"role":"assistant","content":"a"}])")
        << further;
  }
  // Only an assistant has thoughts.
  EXPECT_EQ(history_of(R"({"role":"user","content":"a","reasoning_content":"b"})"),
            R"([{"role":"user","content":"a"}])");
}

}  // namespace
}  // namespace hostler
