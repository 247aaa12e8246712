// POST /v1/threads/{thread_id}:retry.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

std::string retry_path(const TestConversation& conversation) {
  return "/v1/threads/" + conversation.thread_id + ":retry";
}

std::string contents_of(const TestConversation& conversation) {
  Json list =
      conversation.user.client.get("/v1/threads/" + conversation.thread_id + "/messages").json();
  std::string all;
  for (const Json& item : *list.as_array()) all += std::string(item.text_or("content")) + " ";
  return all;
}

TEST(RetryRun, TakesTheAnswerAwayAndRunsAgainWithTheSameRouteAndPersona) {
  TestConversation conversation = make_conversation(stack());
  std::string first =
      start_run(conversation.user.client, conversation.thread_id, R"({"persona_id":"search@1"})");
  end_run(stack(), first, "completed", "answer");
  EXPECT_EQ(contents_of(conversation), "hello answer ");
  Answer made = conversation.user.client.post(retry_path(conversation));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(contents_of(conversation), "hello ");
  Answer run = conversation.user.client.get("/v1/runs/" + made.member("run_id"));
  EXPECT_EQ(run.member("persona_id"), "search@1");
  EXPECT_EQ(run.member("model"), "small");
  end_run(stack(), made.member("run_id"), "completed", "better");
  EXPECT_EQ(contents_of(conversation), "hello better ");
}

TEST(RetryRun, HidesNothingBehindARunThatCompletedWithoutText) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  end_run(stack(), start_run(client, conversation.thread_id), "completed", "answer");
  end_run(stack(), start_run(client, conversation.thread_id), "completed", "");
  std::string again = client.post(retry_path(conversation)).member("run_id");
  EXPECT_EQ(contents_of(conversation), "hello answer ");
  end_run(stack(), again, "completed", "better");
  EXPECT_EQ(contents_of(conversation), "hello answer better ");
}

TEST(RetryRun, BringsTheOldAnswerBackWhenTheNewRunFailsOrIsCancelled) {
  TestConversation conversation = make_conversation(stack());
  std::string first = start_run(conversation.user.client, conversation.thread_id);
  end_run(stack(), first, "completed", "answer");
  std::string second = conversation.user.client.post(retry_path(conversation)).member("run_id");
  end_run(stack(), second, "failed", "half");
  EXPECT_EQ(contents_of(conversation), "hello answer ");
  std::string third = conversation.user.client.post(retry_path(conversation)).member("run_id");
  EXPECT_EQ(conversation.user.client.post("/v1/runs/" + third + ":cancel").status, 200);
  EXPECT_EQ(contents_of(conversation), "hello answer ");
}

TEST(RetryRun, RunsAgainAfterARunWithoutAnAnswer) {
  TestConversation conversation = make_conversation(stack());
  std::string first = start_run(conversation.user.client, conversation.thread_id);
  end_run(stack(), first, "failed");
  EXPECT_EQ(conversation.user.client.post(retry_path(conversation)).status, 201);
}

TEST(RetryRun, HasNothingToDoWithoutARun) {
  TestConversation conversation = make_conversation(stack());
  EXPECT_TRUE(is_problem(conversation.user.client.post(retry_path(conversation)), 409,
                         "runs.nothing_to_retry"));
}

TEST(RetryRun, WaitsForNobody) {
  TestConversation conversation = make_conversation(stack());
  std::string run_id = start_run(conversation.user.client, conversation.thread_id);
  Answer busy = conversation.user.client.post(retry_path(conversation));
  EXPECT_TRUE(is_problem(busy, 409, "runs.thread_busy"));
  EXPECT_EQ(busy.member("active_run_id"), run_id);
}

TEST(RetryRun, RefusesWhenTheRouteIsGone) {
  TestConversation conversation = make_conversation(stack());
  std::string run_id = start_run(conversation.user.client, conversation.thread_id);
  end_run(stack(), run_id, "completed", "answer");
  EXPECT_EQ(conversation.user.client
                .del(fmt::format("/v1/llm-providers/{}?scope=org", conversation.model.provider_id))
                .status,
            204);
  EXPECT_TRUE(is_problem(conversation.user.client.post(retry_path(conversation)), 422,
                         "runs.unknown_route"));
  EXPECT_EQ(contents_of(conversation), "hello answer ");
}

TEST(RetryRun, CountsAsAnActiveRun) {
  TestConversation conversation = make_conversation(stack());
  end_run(stack(), start_run(conversation.user.client, conversation.thread_id), "completed",
          "answer");
  for (int i = 0; i < 10; ++i) {
    std::string thread = make_thread(conversation.user.client);
    post_message(conversation.user.client, thread);
    start_run(conversation.user.client, thread);
  }
  Answer answer = conversation.user.client.post(retry_path(conversation));
  EXPECT_TRUE(is_problem(answer, 429, "runs.limit_exceeded"));
  EXPECT_EQ(contents_of(conversation), "hello answer ");
}

TEST(RetryRun, IsForTheCreatorWhoMayWriteRuns) {
  TestConversation conversation = make_conversation(stack());
  TestUser stranger = register_user(stack());
  EXPECT_TRUE(is_problem(stranger.client.post(retry_path(conversation)), 404, "threads.not_found"));
  EXPECT_TRUE(is_problem(stranger.client.post("/v1/threads/x:retry"), 404, "threads.not_found"));
  Client reader = stack().client().with_token(
      make_api_key(stack(), conversation.user, conversation.user.org_id, "data.runs.read"));
  EXPECT_TRUE(is_problem(reader.post(retry_path(conversation)), 403, "auth.forbidden"));
  TestUser boss = register_user(stack());
  std::string work = make_workspace(stack(), boss);
  add_member(stack(), work, conversation.user, "member");
  std::string thread = make_thread(conversation.user.client.with_org(work));
  EXPECT_TRUE(is_problem(boss.client.with_org(work).post("/v1/threads/" + thread + ":retry"), 403,
                         "policy.denied"));
}

}  // namespace
}  // namespace hostler::testing_support
