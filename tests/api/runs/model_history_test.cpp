// Tests what the model is told of what was before, through the whole stack (POST
// /v1/threads/{thread_id}/runs, POST /v1/threads/{thread_id}:retry): in both wire forms tool calls
// and results stay together whatever became of earlier runs, and inside the model's budget. The
// fake model refuses with 400 what OpenAI and Anthropic refuse.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/tool_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

class ModelHistory : public ::testing::TestWithParam<const char*> {
 protected:
  ModelHistory() { use_tool_provider("web_search.alpha"); }

  // The body that starts a run with a model of this test's form. It is the platform's, since an
  // organization's provider may not be on loopback.
  std::string route(int64_t context_tokens) {
    bool is_openai = std::string(GetParam()) == "openai";
    Answer provider = tool_admin().client.post(
        "/v1/llm-providers",
        fmt::format(R"({{"name":"{}","provider_kind":"{}","base_url":"{}{}"}})", new_name(),
                    GetParam(), tool_stack().model_url(), is_openai ? "/v1" : ""));
    EXPECT_EQ(provider.status, 201) << provider.body;
    Answer model = tool_admin().client.post(
        "/v1/llm-providers/" + provider.member("id") + "/models",
        fmt::format(R"({{"model":"{}","context_tokens":{}}})", new_name("m"), context_tokens));
    EXPECT_EQ(model.status, 201) << model.body;
    return fmt::format(R"({{"route_id":"{}"}})", model.member("id"));
  }
  std::string start(const std::string& message, const std::string& run_body) {
    post_message(user_.client, thread_id_, message);
    return start_run(user_.client, thread_id_, run_body);
  }
  void cancel(const std::string& run_id) {
    EXPECT_EQ(user_.client.post("/v1/runs/" + run_id + ":cancel").status, 200);
    EXPECT_EQ(wait_for_status(user_.client, run_id, "cancelled"), "cancelled");
  }
  // The run has come so far.
  void wait_for_event(const std::string& run_id, std::string_view type) {
    ASSERT_TRUE(eventually(15'000, [&] {
      return !story_of(user_.client, run_id).all(type).empty();
    })) << type;
  }
  void expect_completed(const std::string& run_id) {
    EXPECT_EQ(wait_for_status(user_.client, run_id, "completed"), "completed")
        << story_of(user_.client, run_id).text();
  }

  TestUser user_ = register_user(tool_stack());
  std::string thread_id_ = make_thread(user_.client);
};

TEST_P(ModelHistory, IsTakenAfterRunsThatEndedBetweenACallAndItsResult) {
  std::string body = route(100'000);
  const std::string slow = R"([say first][tools web_search {"query":"slow 30000"} | no_tool {}])";
  std::string cancelled = start(slow, body);
  wait_for_event(cancelled, "tool.call");
  cancel(cancelled);
  expect_completed(start("[tool no_tool {}][say well]", body));

  // Cancelled while it waits for a human, behind a result that is there already.
  std::string waiting = start(R"([say so][tool no_tool {}][ask Which?])", body);
  EXPECT_EQ(wait_for_status(user_.client, waiting, "waiting_for_input"), "waiting_for_input");
  cancel(waiting);
  // Failed in the turn behind a result.
  std::string failed = start("[tool no_tool {}][say half][cut]", body);
  EXPECT_EQ(wait_for_status(user_.client, failed, "failed"), "failed");
  expect_completed(start(R"([tool web_search {"query":"x"}][say well])", body));

  // Retried: the answer with its calls is gone, and what replaces it calls again.
  Answer again = user_.client.post("/v1/threads/" + thread_id_ + ":retry");
  ASSERT_EQ(again.status, 201) << again.body;
  expect_completed(again.member("run_id"));
  expect_completed(start("[say end]", body));
}

TEST_P(ModelHistory, IsTakenWhenNothingWasAskedSinceTheLastAnswer) {
  std::string body = route(100'000);
  expect_completed(start("[say one]", body));
  expect_completed(start_run(user_.client, thread_id_, body));
}

// Five results of four thousand characters, and as many small ones, for a model that takes two
// thousand tokens: three bytes each, less a quarter for the answer.
TEST_P(ModelHistory, StaysInsideTheModelsBudget) {
  std::string body = route(2'000);
  for (int i = 0; i < 3; ++i) expect_completed(start("[words 2000]", body));
  std::string many;
  for (int i = 0; i < 5; ++i) {
    many += fmt::format(
        R"([tools web_search {{"query":"huge {0}"}} | web_search {{"query":"{0}"}}])", i);
  }
  std::string run_id = start(many + "[say found] [echo-history]", body);
  expect_completed(run_id);
  RunStory story = story_of(user_.client, run_id);
  EXPECT_EQ(story.all("tool.result").size(), 10u);
  std::string reported;
  for (const Json& delta : story.all("message.delta")) reported += delta.text_or("content");
  EXPECT_NE(reported.find("(cut: it is too long"), std::string::npos) << reported.substr(0, 2000);
  EXPECT_NE(reported.find("left out"), std::string::npos);
  EXPECT_LT(reported.size(), 12'000u) << "4,500 bytes, and what JSON adds";
}

// The part that a claim brings along, and the part that is read by itself.
TEST_P(ModelHistory, IsWholeHoweverLongTheThreadIs) {
  std::string body = route(100'000);
  for (int messages : {40, 120}) {
    thread_id_ = make_thread(user_.client);
    for (int i = 1; i < messages; ++i) {
      post_message(user_.client, thread_id_, fmt::format("number {}.", i));
    }
    std::string run_id = start("[echo-history]", body);
    expect_completed(run_id);
    std::string reported;
    RunStory story = story_of(user_.client, run_id);
    for (const Json& delta : story.all("message.delta")) reported += delta.text_or("content");
    for (int i = 1; i < messages; ++i) {
      EXPECT_NE(reported.find(fmt::format("number {}.", i)), std::string::npos) << i;
    }
  }
}

TEST_P(ModelHistory, IsTakenWithCallsThatWereNone) {
  std::string body = route(100'000);
  expect_completed(
      start("[bad-tool-json web_search][say \\n][tool no-such_tool {}][say ok]", body));
}

INSTANTIATE_TEST_SUITE_P(Forms, ModelHistory, ::testing::Values("openai", "anthropic"));

}  // namespace
}  // namespace hostler::testing_support
