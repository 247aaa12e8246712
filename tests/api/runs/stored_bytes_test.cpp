// Tests what an organization stores: counted, shown by GET /v1/entitlements, and limited for
// POST /v1/threads/{thread_id}/messages, POST /v1/threads/{thread_id}/runs and
// POST /v1/threads/{thread_id}:retry.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

int64_t used(const Client& client) {
  Json list = client.get("/v1/entitlements").json();
  for (const Json& item : *list.as_array()) {
    if (item.text_or("key") == "limit.stored_bytes") return item.integer_or("used", -1);
  }
  return -1;
}

void override_limit(ApiStack& stack, const TestUser& user, int64_t limit) {
  stack.sql().run_text(
      fmt::format("INSERT INTO entitlement_overrides (org_id, key, value, value_type, "
                  "created_by_user_id) VALUES ('{}', 'limit.stored_bytes', '{}', 'integer', '{}') "
                  "ON CONFLICT (org_id, key) DO UPDATE SET value = excluded.value",
                  user.org_id, limit, user.id));
}

Answer post_bytes(const Client& client, const std::string& thread_id, size_t bytes) {
  return client.post("/v1/threads/" + thread_id + "/messages",
                     fmt::format(R"({{"content":"{}"}})", std::string(bytes, 'x')));
}

TEST(StoredBytes, CountMessagesAndLimitThem) {
  ApiStack& stack = ApiStack::shared();
  TestUser user = register_user(stack);
  std::string thread = make_thread(user.client);
  EXPECT_EQ(used(user.client), 0);
  EXPECT_EQ(post_bytes(user.client, thread, 600).status, 201);
  EXPECT_EQ(used(user.client), 600);
  post_message(user.client, thread, "ä");
  EXPECT_EQ(used(user.client), 602) << "bytes, not characters";
  override_limit(stack, user, 1000);
  Answer refused = post_bytes(user.client, thread, 399);
  EXPECT_TRUE(is_problem(refused, 422, "limits.reached"));
  EXPECT_EQ(refused.member("detail"), "limit.stored_bytes is 1000; 602 are used.");
  EXPECT_EQ(used(user.client), 602);
  EXPECT_EQ(post_bytes(user.client, thread, 398).status, 201) << "exactly as many";
  EXPECT_TRUE(is_problem(post_bytes(user.client, thread, 1), 422, "limits.reached"));
  EXPECT_EQ(user.client.del("/v1/threads/" + thread).status, 204);
  EXPECT_EQ(used(user.client), 1000) << "a deleted thread is not removed yet";
  override_limit(stack, user, 0);
  EXPECT_EQ(post_bytes(user.client, make_thread(user.client), 60'000).status, 201);
}

// An answer that is kept for its Idempotency-Key repeats the message.
TEST(StoredBytes, CountLongAnswersWhileTheyAreKept) {
  ApiStack& stack = ApiStack::shared();
  TestUser user = register_user(stack);
  std::string path = "/v1/threads/" + make_thread(user.client) + "/messages";
  auto post = [&](const std::string& key, size_t bytes) {
    std::string body = fmt::format(R"({{"content":"{}"}})", std::string(bytes, 'x'));
    return user.client.send({"POST", path, body, "application/json", {{"Idempotency-Key", key}}});
  };
  EXPECT_EQ(post("short", 3'000).status, 201);
  EXPECT_EQ(used(user.client), 3'000) << "how many they are is limited";
  EXPECT_EQ(post("long", 10'000).status, 201);
  int64_t kept = used(user.client) - 13'000;
  EXPECT_GT(kept, 10'000);
  EXPECT_LT(kept, 11'000);
  EXPECT_EQ(post("long", 10'000).header("idempotency-replayed"), "true");
  EXPECT_EQ(used(user.client), 13'000 + kept);
  override_limit(stack, user, 13'000 + kept + 15'000);
  EXPECT_TRUE(is_problem(post("too long", 10'000), 422, "limits.reached"));
  EXPECT_EQ(used(user.client), 13'000 + kept) << "neither message nor answer";

  std::string age = fmt::format(
      "UPDATE idempotency_records SET created_at = created_at - interval '24 hours' WHERE org_id = "
      "'{}'",
      user.org_id);
  stack.sql().run_text(age);
  EXPECT_EQ(post("long", 10'000).status, 201) << "a new answer takes the old one's place";
  EXPECT_EQ(used(user.client), 23'000 + kept);
  stack.sql().run_text(age);
  stack.sql().run_text("SELECT idempotency_prune(1000)");
  EXPECT_EQ(used(user.client), 23'000);
}

TEST(StoredBytes, AreExactWhenManyPostAtOnce) {
  ApiStack& stack = ApiStack::shared();
  TestUser user = register_user(stack);
  override_limit(stack, user, 500);
  std::vector<Call> calls;
  for (int i = 0; i < 8; ++i) {
    calls.push_back({"POST",
                     "/v1/threads/" + make_thread(user.client) + "/messages",
                     fmt::format(R"({{"content":"{}"}})", std::string(100, 'x')),
                     "application/json",
                     {}});
  }
  std::vector<Answer> answers = user.client.send_all(calls);
  EXPECT_EQ(std::count_if(answers.begin(), answers.end(),
                          [](const Answer& answer) { return answer.status == 201; }),
            5);
  EXPECT_EQ(used(user.client), 500);
}

TEST(StoredBytes, RefuseRunsWhenNothingIsLeft) {
  ApiStack& stack = ApiStack::shared();
  TestConversation conversation = make_conversation(stack);
  const Client& client = conversation.user.client;
  override_limit(stack, conversation.user, 6);
  std::string run_id = start_run(client, conversation.thread_id);
  end_run(stack, run_id, "failed");
  override_limit(stack, conversation.user, 5);  // "hello"
  const std::string path = runs_of(conversation.thread_id);
  EXPECT_TRUE(is_problem(client.post(path, "{}"), 422, "limits.reached"));
  EXPECT_TRUE(is_problem(client.post("/v1/threads/" + conversation.thread_id + ":retry"), 422,
                         "limits.reached"));
  EXPECT_TRUE(
      is_problem(client.post(path, R"({"persona_id":"nobody"})"), 422, "runs.unknown_persona"));
  override_limit(stack, conversation.user, 0);
  start_run(client, conversation.thread_id);
}

// All that there is of an organization, read.
int64_t stored(ApiStack& stack, const std::string& org_id) {
  return sql_number(
      stack,
      fmt::format("SELECT (SELECT coalesce(sum(octet_length(content)), 0) FROM messages WHERE "
                  "org_id = '{0}') + (SELECT coalesce(sum(octet_length(e.data::text)), 0) FROM "
                  "run_events e JOIN runs r ON r.id = e.run_id WHERE r.org_id = '{0}') + (SELECT "
                  "coalesce(sum(octet_length(result::text)), 0) FROM run_tool_results WHERE "
                  "org_id = '{0}') + (SELECT coalesce(sum(octet_length(parts::text)), 0) FROM "
                  "run_turns WHERE org_id = '{0}')",
                  org_id));
}

TEST(StoredBytes, CountEventsResultsAndAnswersOfRuns) {
  ApiStack& stack = runner_stack();
  TestUser user = register_user(stack);
  EXPECT_EQ(run_story(user.client, "[think deep] [say Grüße]").status, "completed");
  int64_t first = used(user.client);
  EXPECT_GT(first, 100);
  EXPECT_EQ(first, stored(stack, user.org_id));
  EXPECT_EQ(run_story(user.client, R"([tool web_search {"query":"cats"}] [say ok])").status,
            "completed");
  EXPECT_GT(used(user.client), first);
  EXPECT_EQ(used(user.client), stored(stack, user.org_id));
}

TEST(StoredBytes, CountWhatWasStoredWhileARunWaitedAndWhenItIsCancelled) {
  ApiStack& stack = runner_stack();
  TestUser user = register_user(stack);
  const char* question = R"([say first] [tool ask_user {"message":"Which?"}] [say ok])";
  std::string run_id = start_output(user.client, question);
  EXPECT_EQ(wait_for_status(user.client, run_id, "waiting_for_input"), "waiting_for_input");
  user.client.post("/v1/runs/" + run_id + "/input", R"({"content":"this one"})");
  EXPECT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
  EXPECT_EQ(used(user.client), stored(stack, user.org_id)) << "the API wrote an event of it";

  run_id = start_output(user.client, question);
  EXPECT_EQ(wait_for_status(user.client, run_id, "waiting_for_input"), "waiting_for_input");
  user.client.post("/v1/runs/" + run_id + ":cancel");
  EXPECT_EQ(wait_for_status(user.client, run_id, "cancelled"), "cancelled");
  EXPECT_EQ(used(user.client), stored(stack, user.org_id)) << "nobody owned it";
}

}  // namespace
}  // namespace hostler::testing_support
