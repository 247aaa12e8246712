// What a provider sends for itself belongs to a run and to its provider: it goes back as it came when
// another daemon goes on with the run, and never to another server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/odd_model.h"
#include "tests/support/rows/function_tools.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* reasoning = "I \\u0022look\\u0022 \\ud83d\\ude00.\\n";
constexpr const char* extra =
    R"({"google":{"thought_signature":"c2ln/+==","n":12345678901234567890,"a":[null,{}]}})";

class OwnData : public testing::Test {
 protected:
  // Calls weather with data of its own, and answers when it has a result.
  static std::string call_or_answer(const Json& body, size_t) {
    bool has_result = body.dump().find(R"("role":"tool")") != std::string::npos;
    if (has_result) return odd_text("Sunny.");
    return odd_event(fmt::format(R"({{"reasoning_content":"{}","tool_calls":[{{"index":0,)"
                                 R"("id":"x","extra_content":{},"function":{{"name":"weather",)"
                                 R"("arguments":"{{\"city\":\"Rome\"}}"}}}}]}})",
                                 reasoning, extra),
                     "tool_calls") +
           done_event;
  }
  // A run of the model that waits for the weather.
  AskingRun waiting(const OddModel& model) {
    std::string further = fmt::format(R"("route_id":"{}")", model.route_id());
    return asking_run(user_.client, start_output(user_.client, "Weather?",
                                                 run_with_tools({city_tool("weather")}, further)));
  }
  void move_provider(const OddModel& from, const OddModel& to) {
    TestUser admin = register_admin(stack_);
    Answer moved =
        admin.client.patch("/v1/llm-providers/" + from.provider_id(),
                           fmt::format(R"({{"base_url":"{}","api_key":null}})", to.url()));
    EXPECT_EQ(moved.status, 200) << moved.body;
  }

  ApiStack stack_{ApiStackOptions{{}, true}};
  TestUser user_ = register_user(stack_);
};

TEST_F(OwnData, GoesBackFromAnotherDaemonAsItCame) {
  OddModel model(call_or_answer, stack_);
  AskingRun asking = waiting(model);
  stack_.kill_runner();
  EXPECT_EQ(asking.give(0, R"("sun")").status, 200);
  stack_.start_runner();
  EXPECT_EQ(asking.end().status, "completed");
  std::vector<Json> requests = model.requests();
  ASSERT_EQ(requests.size(), 2u);
  std::string sent = requests[1].find("messages")->dump();
  EXPECT_THAT(sent, HasSubstr(std::string(R"("extra_content":)") + extra));
  EXPECT_THAT(sent, HasSubstr("\"reasoning_content\":\"I \\\"look\\\" \U0001F600.\\n\""));
}

TEST_F(OwnData, StaysWithItsServerWhenTheProviderGetsAnotherAddress) {
  OddModel model(call_or_answer, stack_);
  OddModel other(call_or_answer, stack_);
  AskingRun asking = waiting(model);
  move_provider(model, other);
  EXPECT_EQ(asking.give(0, R"("sun")").status, 200);
  EXPECT_EQ(asking.end().status, "completed");
  EXPECT_EQ(model.requests().size(), 1u);
  std::vector<Json> requests = other.requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_THAT(requests[0].dump(), Not(HasSubstr("thought_signature")));
  EXPECT_THAT(requests[0].dump(), Not(HasSubstr("reasoning_content")));
  EXPECT_THAT(requests[0].dump(), HasSubstr("Rome"));
}

// Such as Gemini, which refuses calls of others in a history.
TEST_F(OwnData, ThatAnotherServerMissesEndsTheRunInItsWords) {
  OddModel model(call_or_answer, stack_);
  OddModel other(
      [](const Json& body, size_t) {
        bool has_call = body.dump().find("\"tool_calls\"") != std::string::npos;
        return has_call ? odd_refusal(R"({"error":{"message":"Function call is missing a )"
                                      R"(thought_signature in functionCall parts."}})")
                        : odd_text("Sunny.");
      },
      stack_);
  AskingRun asking = waiting(model);
  move_provider(model, other);
  EXPECT_EQ(asking.give(0, R"("sun")").status, 200);
  RunStory story = asking.end();
  EXPECT_EQ(story.status, "failed");
  EXPECT_THAT(story.only("run.failed").text_or("message"), HasSubstr("thought_signature"));
  std::string thread_id =
      sql_value(stack_, fmt::format("SELECT thread_id FROM runs WHERE id = '{}'", asking.run_id));
  post_message(user_.client, thread_id, "And now?");
  std::string run_id = start_run(user_.client, thread_id, model.run_body());
  EXPECT_EQ(wait_for_status(user_.client, run_id, "completed"), "completed");
}

}  // namespace
}  // namespace hostler::testing_support
