// POST /v1/threads/{thread_id}/runs with multitask_strategy interrupt, at the limits.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

std::string status_of(const Client& client, const std::string& run_id) {
  return client.get("/v1/runs/" + run_id).member("status");
}

TEST(Interrupt, TakesOverWhatItStopsAtTheLimits) {
  ApiStack own({{"HOSTLER_LIMIT_QUEUED_RUNS=1", "HOSTLER_LIMIT_CONCURRENT_RUNS=1"}});
  TestConversation conversation = make_conversation(own);
  const Client& client = conversation.user.client;
  const std::string path = runs_of(conversation.thread_id);
  const std::string interrupt = R"({"multitask_strategy":"interrupt"})";
  std::string first = start_run(client, conversation.thread_id);
  claim_run(own, first);
  std::string queued =
      start_run(client, conversation.thread_id, R"({"multitask_strategy":"enqueue"})");
  std::string second = start_run(client, conversation.thread_id, interrupt);
  EXPECT_EQ(status_of(client, queued), "cancelled");
  EXPECT_EQ(client.get("/v1/runs/" + second).member("queue_position"), "1");
  end_run(own, first, "cancelled");
  std::string third = start_run(client, conversation.thread_id, interrupt);
  EXPECT_EQ(status_of(client, second), "cancelled") << "nobody owned it";
  EXPECT_EQ(client.get("/v1/threads/" + conversation.thread_id).member("active_run_id"), third);
  EXPECT_EQ(client.get("/v1/runs/" + third).member("queued"), "false");

  EXPECT_TRUE(
      is_problem(client.post(path, R"({"multitask_strategy":"interrupt","persona_id":"nobody"})"),
                 422, "runs.unknown_persona"));
  EXPECT_EQ(status_of(client, third), "running") << "what is refused stops nothing";
}

TEST(Interrupt, TakesTheCreditsThatTheInterruptedRunHolds) {
  ApiStack own({{"HOSTLER_CREDIT_INITIAL_GRANT=10", "HOSTLER_CREDIT_RUN_HOLD=10"}});
  TestConversation conversation = make_conversation(own);
  const Client& client = conversation.user.client;
  own.sql().run_text("UPDATE llm_models SET input_usd_per_mtok = 1, multiplier = 1");
  const std::string interrupt = R"({"multitask_strategy":"interrupt"})";
  std::string first = start_run(client, conversation.thread_id);
  std::string second = start_run(client, conversation.thread_id, interrupt);
  claim_run(own, second);
  std::string third = start_run(client, conversation.thread_id, interrupt);
  EXPECT_EQ(status_of(client, first), "cancelled");
  EXPECT_EQ(client.get("/v1/runs/" + third).member("queued"), "true");
  EXPECT_TRUE(is_problem(
      client.post(runs_of(conversation.thread_id), R"({"multitask_strategy":"enqueue"})"), 402,
      "credits.insufficient"));
  end_run(own, second, "cancelled");
  EXPECT_EQ(client.get("/v1/me/credits").json().integer_or("available", -1), 0);
  client.post("/v1/runs/" + third + ":cancel");
  EXPECT_EQ(client.get("/v1/me/credits").json().integer_or("available", -1), 10);
}

}  // namespace
}  // namespace hostler::testing_support
