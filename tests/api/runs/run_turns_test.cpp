// GET /v1/runs/{run_id}/turns.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return runner_stack(); }

// An input token costs a credit, which is a thousandth of a dollar.
std::string priced_route() {
  TestUser admin = register_admin(stack());
  Answer provider = admin.client.post(
      "/v1/llm-providers",
      fmt::format(R"({{"name":"{}","provider_kind":"openai","base_url":"{}/v1"}})",
                  new_name("priced"), stack().model_url()));
  Answer model = admin.client.post("/v1/llm-providers/" + provider.member("id") + "/models",
                                   R"({"model":"priced","input_usd_per_mtok":1000})");
  EXPECT_EQ(model.status, 201) << model.body;
  return fmt::format(R"({{"route_id":"{}"}})", model.member("id"));
}

std::string turns_of(const std::string& run_id) { return "/v1/runs/" + run_id + "/turns"; }

// "turn: input+output, cached, dollars, credits" of each.
std::string turns_in(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  std::string text;
  Json list = answer.json();
  for (const Json& row : *list.as_array()) {
    text += fmt::format(
        "{}: {}+{}, {}, {}, {}; ", row.integer_or("turn", 0), row.integer_or("input_tokens", 0),
        row.integer_or("output_tokens", 0), row.integer_or("cache_read_tokens", 0),
        row.find("cost_usd")->as_number().value_or(-1), row.integer_or("credits", 0));
  }
  return text;
}

TEST(RunTurns, TellWhatEachTurnTookNewestFirstAndPageByPage) {
  TestUser user = register_user(stack());
  RunStory story =
      run_story(user.client,
                R"([usage in=100 out=9 cached=60][say a][tool web_search {"query":"x"}])"
                R"([usage in=120 out=4][tool web_search {"query":"y"}][usage in=7 out=1][say c])",
                priced_route());
  EXPECT_EQ(story.status, "completed");
  std::string path = turns_of(story.run_id);
  EXPECT_EQ(turns_in(user.client.get(path)),
            "3: 7+1, 0, 0.007, 7; 2: 120+4, 0, 0.12, 120; 1: 100+9, 60, 0.04, 40; ");
  Json run = user.client.get("/v1/runs/" + story.run_id).json();
  EXPECT_EQ(run.integer_or("total_input_tokens", 0), 227);
  EXPECT_EQ(run.integer_or("credits_used", 0), 167);
  Answer page = user.client.get(path + "?limit=2");
  EXPECT_EQ(turns_in(page), "3: 7+1, 0, 0.007, 7; 2: 120+4, 0, 0.12, 120; ");
  page = user.client.get(page.next_path());
  EXPECT_EQ(turns_in(page), "1: 100+9, 60, 0.04, 40; ");
  EXPECT_FALSE(page.has_header("link"));
  EXPECT_TRUE(has_fault(user.client.get(path + "?limit=0"), "limit", "out_of_range"));
}

TEST(RunTurns, HaveTheOneWithWhichARunFailed) {
  TestUser user = register_user(stack());
  RunStory story =
      run_story(user.client, R"([usage in=100 out=9][tool web_search {"query":"x"}][status 400])");
  EXPECT_EQ(story.status, "failed");
  EXPECT_EQ(turns_in(user.client.get(turns_of(story.run_id))), "1: 100+9, 0, 0, 0; ");
}

TEST(RunTurns, AreSeenByWhoeverMayReadTheRun) {
  TestUser user = register_user(stack());
  RunStory story = run_story(user.client, "[say a]");
  EXPECT_EQ(story.status, "completed");
  std::string path = turns_of(story.run_id);
  EXPECT_EQ(user.client.get(path).json().as_array()->size(), 1u);
  EXPECT_EQ(register_admin(stack()).client.get(path).json().as_array()->size(), 1u);
  TestUser stranger = register_user(stack());
  EXPECT_TRUE(is_problem(stranger.client.get(path), 404, "runs.not_found"));
  Client key =
      stack().client().with_token(make_api_key(stack(), user, user.org_id, "data.threads.read"));
  EXPECT_TRUE(is_problem(key.get(path), 403, "auth.forbidden"));
}

}  // namespace
}  // namespace hostler::testing_support
