// POST /v1/threads/{thread_id}:retry.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

std::string retry_path(const TestTalk& talk) { return "/v1/threads/" + talk.thread_id + ":retry"; }

std::string contents_of(const TestTalk& talk) {
  Json list = talk.user.client.get("/v1/threads/" + talk.thread_id + "/messages").json();
  std::string all;
  for (const Json& item : *list.as_array()) all += std::string(item.text_or("content")) + " ";
  return all;
}

TEST(RetryRun, TakesTheAnswerAwayAndRunsAgainWithTheSameRouteAndPersona) {
  TestTalk talk = make_talk(stack());
  std::string first = start_run(talk.user.client, talk.thread_id, R"({"persona_id":"search@1"})");
  end_run(stack(), first, "completed", "answer");
  EXPECT_EQ(contents_of(talk), "hello answer ");
  Answer made = talk.user.client.post(retry_path(talk));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(contents_of(talk), "hello ");
  Answer run = talk.user.client.get("/v1/runs/" + made.member("run_id"));
  EXPECT_EQ(run.member("persona_id"), "search@1");
  EXPECT_EQ(run.member("model"), "small");
  end_run(stack(), made.member("run_id"), "completed", "better");
  EXPECT_EQ(contents_of(talk), "hello better ");
}

TEST(RetryRun, BringsTheOldAnswerBackWhenTheNewRunFailsOrIsCancelled) {
  TestTalk talk = make_talk(stack());
  std::string first = start_run(talk.user.client, talk.thread_id);
  end_run(stack(), first, "completed", "answer");
  std::string second = talk.user.client.post(retry_path(talk)).member("run_id");
  end_run(stack(), second, "failed", "half");
  EXPECT_EQ(contents_of(talk), "hello answer ");
  std::string third = talk.user.client.post(retry_path(talk)).member("run_id");
  EXPECT_EQ(talk.user.client.post("/v1/runs/" + third + ":cancel").status, 200);
  EXPECT_EQ(contents_of(talk), "hello answer ");
}

TEST(RetryRun, RunsAgainAfterARunWithoutAnAnswer) {
  TestTalk talk = make_talk(stack());
  std::string first = start_run(talk.user.client, talk.thread_id);
  end_run(stack(), first, "failed");
  EXPECT_EQ(talk.user.client.post(retry_path(talk)).status, 201);
}

TEST(RetryRun, HasNothingToDoWithoutARun) {
  TestTalk talk = make_talk(stack());
  EXPECT_TRUE(is_problem(talk.user.client.post(retry_path(talk)), 409, "runs.nothing_to_retry"));
}

TEST(RetryRun, WaitsForNobody) {
  TestTalk talk = make_talk(stack());
  std::string run_id = start_run(talk.user.client, talk.thread_id);
  Answer busy = talk.user.client.post(retry_path(talk));
  EXPECT_TRUE(is_problem(busy, 409, "runs.thread_busy"));
  EXPECT_EQ(busy.member("active_run_id"), run_id);
}

TEST(RetryRun, RefusesWhenTheRouteIsGone) {
  TestTalk talk = make_talk(stack());
  std::string run_id = start_run(talk.user.client, talk.thread_id);
  end_run(stack(), run_id, "completed", "answer");
  EXPECT_EQ(
      talk.user.client.del(fmt::format("/v1/llm-providers/{}?scope=org", talk.model.provider_id))
          .status,
      204);
  EXPECT_TRUE(is_problem(talk.user.client.post(retry_path(talk)), 422, "runs.unknown_route"));
  EXPECT_EQ(contents_of(talk), "hello answer ");
}

TEST(RetryRun, CountsAsAnActiveRun) {
  TestTalk talk = make_talk(stack());
  end_run(stack(), start_run(talk.user.client, talk.thread_id), "completed", "answer");
  for (int i = 0; i < 10; ++i) {
    std::string thread = make_thread(talk.user.client);
    post_message(talk.user.client, thread);
    start_run(talk.user.client, thread);
  }
  Answer answer = talk.user.client.post(retry_path(talk));
  EXPECT_TRUE(is_problem(answer, 429, "runs.limit_exceeded"));
  EXPECT_EQ(contents_of(talk), "hello answer ");
}

TEST(RetryRun, IsForTheCreatorWhoMayWriteRuns) {
  TestTalk talk = make_talk(stack());
  TestUser stranger = register_user(stack());
  EXPECT_TRUE(is_problem(stranger.client.post(retry_path(talk)), 404, "threads.not_found"));
  EXPECT_TRUE(is_problem(stranger.client.post("/v1/threads/x:retry"), 404, "threads.not_found"));
  Client reader = stack().client().with_token(
      make_api_key(stack(), talk.user, talk.user.org_id, "data.runs.read"));
  EXPECT_TRUE(is_problem(reader.post(retry_path(talk)), 403, "auth.forbidden"));
  TestUser boss = register_user(stack());
  std::string work = make_workspace(stack(), boss);
  add_member(stack(), work, talk.user, "member");
  std::string thread = make_thread(talk.user.client.with_org(work));
  EXPECT_TRUE(is_problem(boss.client.with_org(work).post("/v1/threads/" + thread + ":retry"), 403,
                         "policy.denied"));
}

}  // namespace
}  // namespace hostler::testing_support
