// The history and the sampling that a run was given, as they are read of their rows.
#include "runner/agent/given_history.h"

#include <gtest/gtest.h>

namespace hostler::runner {
namespace {

TEST(GivenHistory, IsReadInItsOrderWithTheSystemsFirstTextsApart) {
  GivenHistory history = read_given_history(
      R"([{"role":"system","content":"One."},{"role":"system","content":"And one."},)"
      R"({"role":"user","name":"eve","content":"hello"},)"
      R"({"role":"assistant","content":"","tool_calls":[{"id":"c1","name":"f",)"
      R"("arguments":"{\"a\":1}"},{"id":"c2","name":"g","arguments":"oops"}]},)"
      R"({"role":"tool","content":"found","tool_call_id":"c1"},)"
      R"({"role":"tool","content":"","tool_call_id":"c2"},{"role":"system","content":"Two."},)"
      R"({"role":"assistant","content":"well"},{"role":"user","content":"and?"}])");
  EXPECT_EQ(history.system_text, "One.\n\nAnd one.");
  ASSERT_EQ(history.messages.size(), 7u);
  const std::vector<ChatMessage>& messages = history.messages;
  EXPECT_EQ(messages[0].role, ChatRole::user);
  EXPECT_EQ(messages[0].text(), "hello");
  EXPECT_EQ(messages[0].name, "eve");
  ASSERT_EQ(messages[1].calls().size(), 2u);
  EXPECT_EQ(messages[1].role, ChatRole::assistant);
  EXPECT_EQ(messages[1].calls()[0].id, "c1");
  EXPECT_EQ(messages[1].calls()[0].arguments, R"({"a":1})");
  EXPECT_EQ(messages[1].calls()[1].name, "g");
  EXPECT_EQ(messages[2].role, ChatRole::tool);
  EXPECT_EQ(messages[2].tool_call_id, "c1");
  EXPECT_EQ(messages[2].text(), "found");
  EXPECT_EQ(messages[3].tool_call_id, "c2");
  EXPECT_EQ(messages[4].role, ChatRole::system);
  EXPECT_EQ(messages[4].text(), "Two.");
  EXPECT_EQ(messages[5].text(), "well");
  EXPECT_EQ(messages[6].text(), "and?");
}

TEST(GivenHistory, HasAnObjectWhereACallHasNoArguments) {
  GivenHistory history = read_given_history(
      R"([{"role":"assistant","content":"","tool_calls":[{"id":"c1","name":"f","arguments":""},)"
      R"({"id":"c2","name":"f","arguments":" "}]}])");
  ASSERT_EQ(history.messages.size(), 1u);
  ASSERT_EQ(history.messages[0].calls().size(), 2u);
  EXPECT_EQ(history.messages[0].calls()[0].arguments, "{}");
  EXPECT_EQ(history.messages[0].calls()[1].arguments, "{}");
}

TEST(GivenHistory, LeavesOutSystemTextsThatAreEmpty) {
  EXPECT_EQ(
      read_given_history(R"([{"role":"system","content":""},{"role":"system","content":"One."},)"
                         R"({"role":"system","content":""}])")
          .system_text,
      "One.");
  EXPECT_EQ(read_given_history(R"([{"role":"user","content":"a"},{"role":"system","content":""}])")
                .messages.size(),
            1u);
}

// There is no other place for the name.
TEST(GivenHistory, KeepsASystemsTextThatNamesItsSpeakerAsAMessage) {
  GivenHistory history =
      read_given_history(R"([{"role":"system","name":"example_user","content":"One."}])");
  EXPECT_EQ(history.system_text, "");
  ASSERT_EQ(history.messages.size(), 1u);
  EXPECT_EQ(history.messages[0].name, "example_user");
}

TEST(GivenSampling, StandsAboveWhatTheRequestHas) {
  ModelRequest request;
  request.temperature = 0.7;
  add_sampling(request, R"({"temperature":1,"top_p":0.5,"max_tokens":64,"stop":["a","b"],)"
                        R"("presence_penalty":-2,"frequency_penalty":0.5,"seed":-3})");
  EXPECT_EQ(request.temperature, 1.0);
  EXPECT_EQ(request.output_tokens_max, 64);
  EXPECT_EQ(request.sampling.top_p, 0.5);
  EXPECT_EQ(request.sampling.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.sampling.presence_penalty, -2.0);
  EXPECT_EQ(request.sampling.frequency_penalty, 0.5);
  EXPECT_EQ(request.sampling.seed, -3);
}

TEST(GivenSampling, SaysWhichToolIsToBeCalled) {
  using Kind = ToolChoice::Kind;
  auto choice = [](const char* json) {
    ModelRequest request;
    add_sampling(request, json);
    return request.sampling.tool_choice;
  };
  EXPECT_EQ(choice(R"({"tool_choice":"none"})")->kind, Kind::none);
  EXPECT_EQ(choice(R"({"tool_choice":"auto"})")->kind, Kind::automatic);
  EXPECT_EQ(choice(R"({"tool_choice":"required"})")->kind, Kind::required);
  EXPECT_EQ(choice(R"({"tool_choice":{"name":"f"}})")->kind, Kind::named);
  EXPECT_EQ(choice(R"({"tool_choice":{"name":"f"}})")->name, "f");
  EXPECT_FALSE(choice(R"({"seed":1})"));
  ModelRequest request;
  add_sampling(request, R"({"parallel_tool_calls":false})");
  EXPECT_EQ(request.sampling.parallel_tool_calls, false);
}

TEST(GivenSampling, LeavesWhatItDoesNotName) {
  ModelRequest request;
  request.temperature = 0.7;
  add_sampling(request, R"({"seed":1})");
  EXPECT_EQ(request.temperature, 0.7);
  EXPECT_FALSE(request.output_tokens_max);
  EXPECT_FALSE(request.sampling.top_p);
  EXPECT_TRUE(request.sampling.stop.empty());
}

}  // namespace
}  // namespace hostler::runner
