// How runs fail and are tried again, as their streams tell it (POST
// /v1/threads/{thread_id}/runs, GET /v1/runs/{run_id}/events): the codes of contract section 4,
// run.retrying, the bound in time, and what is kept of the text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// Impatient with its models.
ApiStack& stack() {
  static ApiStack made(
      ApiStackOptions{{"HOSTLER_MODEL_FIRST_BYTE_TIMEOUT_MS=600",
                       "HOSTLER_MODEL_IDLE_TIMEOUT_MS=600", "HOSTLER_LIMIT_RUN_EVENT_BYTES=60000"},
                      true});
  static const bool is_ready = [] {
    add_fake_model(made);
    return true;
  }();
  EXPECT_TRUE(is_ready);
  return made;
}

struct Failure {
  const char* script;
  const char* code;
  size_t retries;
  bool has_text;
};

TEST(RunFailures, AreNamedByTheirCauseAndTriedAgainWhereThatMayHelp) {
  const std::vector<Failure> failures{
      {"[status 400]", "model.rejected", 0, false},
      {"[status 401]", "model.rejected", 0, false},
      {"[status 429]", "model.rate_limited", 2, false},
      {"[status 500]", "model.unavailable", 2, false},
      {"[silence]", "model.unavailable", 2, false},
      {"[words 9][cut]", "model.stream_broken", 0, true},
      {"[words 9][stall]", "model.stream_broken", 0, true},
      {"[words 9][error-in-stream]", "model.stream_broken", 0, true},
      {"[garbage html]", "model.bad_response", 0, false},
  };
  TestUser user = register_user(stack());
  std::vector<std::string> threads;
  std::vector<std::string> runs;
  for (const Failure& failure : failures) {
    threads.push_back(make_thread(user.client));
    post_message(user.client, threads.back(), failure.script);
    runs.push_back(start_run(user.client, threads.back()));
  }
  for (size_t i = 0; i < failures.size(); ++i) {
    SCOPED_TRACE(failures[i].script);
    EXPECT_EQ(wait_for_status(user.client, runs[i], "failed"), "failed");
    RunStory story = story_of(user.client, runs[i]);
    Json failed = story.only("run.failed");
    EXPECT_EQ(failed.text_or("code"), failures[i].code) << failed.dump();
    EXPECT_NE(failed.text_or("message"), "");
    EXPECT_EQ(story.all("run.retrying").size(), failures[i].retries);
    Json run = user.client.get("/v1/runs/" + runs[i]).json();
    EXPECT_EQ(run.find("error")->text_or("code"), failures[i].code);
    std::string shown;
    for (const Json& delta : story.all("message.delta")) shown += delta.text_or("content");
    EXPECT_EQ(!shown.empty(), failures[i].has_text);
    Json messages = user.client.get("/v1/threads/" + threads[i] + "/messages").json();
    const Json& last = messages.as_array()->back();
    EXPECT_EQ(last.text_or("role"), failures[i].has_text ? "assistant" : "user");
    if (!failures[i].has_text) continue;
    EXPECT_EQ(last.text_or("content"), shown);
    EXPECT_EQ(last.find("incomplete")->dump(), "true");
  }
}

TEST(RunRetries, AreToldBeforeTheyHappen) {
  TestUser user = register_user(stack());
  RunStory twice = run_story(user.client, "[status 503 times=2][think hm][say well]");
  EXPECT_EQ(twice.status, "completed");
  std::vector<Json> retries = twice.all("run.retrying");
  ASSERT_EQ(retries.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(retries[i].integer_or("attempt", 0), static_cast<int64_t>(i) + 2);
    int64_t second = 1000 << i;
    EXPECT_GE(retries[i].integer_or("delay_ms", 0), second * 8 / 10);
    EXPECT_LE(retries[i].integer_or("delay_ms", 0), second * 12 / 10);
    EXPECT_EQ(retries[i].text_or("reason"), "http_503");
  }
  EXPECT_EQ(twice.all("message.delta")[0].text_or("channel"), "thinking");
  RunStory reported = run_story(user.client, "[status 429 retry_after=3 times=1][say well]");
  EXPECT_GE(reported.only("run.retrying").integer_or("delay_ms", 0), 3000);
}

TEST(RunOutput, IsBoundedInTheBytesOfTheEvents) {
  TestUser user = register_user(stack());
  for (const char* channel : {"words", "thought"}) {
    SCOPED_TRACE(channel);
    std::string script = "[words 30000]";
    if (channel == std::string("thought")) {
      script = "[think " + std::string(60'000, 't') + "][say so]";
    }
    RunStory story = run_story(user.client, script);
    EXPECT_EQ(story.status, "failed");
    EXPECT_EQ(story.only("run.failed").text_or("code"), "run.output_limit");
    EXPECT_THAT(std::string(story.only("run.failed").text_or("message")),
                testing::HasSubstr("limit.run_event_bytes is 60000."));
    EXPECT_EQ(story.all("run.retrying").size(), 0U) << "another try would be as long";
    size_t bytes = 0;
    for (const Json& event : story.events) bytes += event.find("data")->dump().size();
    EXPECT_GT(bytes, 55'000U);
    EXPECT_LT(bytes, 62'000U);
  }
}

TEST(RunTime, IsBoundedByTheOrganizationsLimit) {
  TestUser user = register_user(stack());
  TestUser admin = register_admin(stack());
  Answer limited = admin.client.post(
      "/v1/entitlement-overrides",
      fmt::format(
          R"({{"org_id":"{}","key":"limit.run_seconds","value":"2","value_type":"integer"}})",
          user.org_id));
  ASSERT_EQ(limited.status, 201) << limited.body;
  RunStory story = run_story(user.client, "[delay 50][words 400]");
  EXPECT_EQ(story.status, "failed");
  EXPECT_EQ(story.only("run.failed").text_or("code"), "run.timeout");
  EXPECT_GT(story.all("message.delta").size(), 5u);
}

}  // namespace
}  // namespace hostler::testing_support
