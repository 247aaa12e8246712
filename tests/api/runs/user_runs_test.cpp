// POST /v1/threads/{thread_id}/runs by one user in many organizations.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// A thread with a message in an organization that may use the platform's model.
std::string ready_thread(const Client& client) {
  std::string thread = make_thread(client);
  post_message(client, thread);
  return thread;
}

// Three active runs of a user; a model of the platform.
ApiStack& stack_of_three() {
  static ApiStack made({{"HOSTLER_LIMIT_CONCURRENT_RUNS_PER_USER=3"}});
  static const bool is_ready = [] {
    TestUser admin = register_admin(made);
    Answer provider =
        admin.client.post("/v1/llm-providers", R"({"name":"p","provider_kind":"openai"})");
    Answer model = admin.client.post("/v1/llm-providers/" + provider.member("id") + "/models",
                                     R"({"model":"m","is_default":true})");
    EXPECT_EQ(model.status, 201) << model.body;
    return true;
  }();
  EXPECT_TRUE(is_ready);
  return made;
}

TEST(RunsOfAUser, AreCountedOverOrganizationsWithoutALimitOfTheirOwn) {
  TestUser user = register_user(stack_of_three());
  Client work = user.client.with_org(make_workspace(stack_of_three(), user));
  std::string first = start_run(user.client, ready_thread(user.client));
  start_run(work, ready_thread(work));
  start_run(work, ready_thread(work));
  Answer refused = user.client.post(runs_of(ready_thread(user.client)), "{}");
  EXPECT_TRUE(is_problem(refused, 429, "runs.limit_exceeded"));
  EXPECT_GE(refused.header_number("retry-after"), 1);
  EXPECT_TRUE(is_problem(work.post(runs_of(ready_thread(work)), "{}"), 429, "runs.limit_exceeded"));
  TestUser colleague = register_user(stack_of_three());
  add_member(stack_of_three(), work.org_id, colleague, "member");
  Client beside = colleague.client.with_org(work.org_id);
  start_run(beside, ready_thread(beside));

  Answer key = user.client.post("/v1/api-keys", R"({"name":"k"})");
  Client by_key = stack_of_three().client().with_token(key.member("key"));
  EXPECT_TRUE(is_problem(by_key.post(runs_of(ready_thread(user.client)), "{}"), 429,
                         "runs.limit_exceeded"));
  user.client.post("/v1/runs/" + first + ":cancel");
  start_run(user.client, ready_thread(user.client));
}

TEST(RunsOfAUser, AreNotCountedWhereAnEntitlementLimitsThem) {
  TestUser user = register_user(stack_of_three());
  Client work = user.client.with_org(make_workspace(stack_of_three(), user));
  stack_of_three().sql().run_text(fmt::format(
      "INSERT INTO entitlement_overrides (org_id, key, value, value_type, created_by_user_id) "
      "VALUES ('{}', 'limit.concurrent_runs', '5', 'integer', '{}')",
      work.org_id, user.id));
  for (int i = 0; i < 5; ++i) start_run(work, ready_thread(work));
  EXPECT_TRUE(is_problem(work.post(runs_of(ready_thread(work)), "{}"), 429, "runs.limit_exceeded"));
  for (int i = 0; i < 3; ++i) start_run(user.client, ready_thread(user.client));
  EXPECT_TRUE(is_problem(user.client.post(runs_of(ready_thread(user.client)), "{}"), 429,
                         "runs.limit_exceeded"));
}

TEST(RunsOfAUser, AreExactWhenManyAskAtOnceInSeveralOrganizations) {
  TestUser user = register_user(stack_of_three());
  std::vector<Call> calls;
  for (int i = 0; i < 3; ++i) {
    Client work = user.client.with_org(make_workspace(stack_of_three(), user));
    for (int k = 0; k < 4; ++k) {
      calls.push_back({"POST",
                       runs_of(ready_thread(work)),
                       "{}",
                       "application/json",
                       {{"X-Org-Id", work.org_id}}});
    }
  }
  int made = 0;
  for (const Answer& answer : user.client.send_all(calls)) {
    made += answer.status == 201 ? 1 : 0;
    EXPECT_TRUE(answer.status == 201 || is_problem(answer, 429, "runs.limit_exceeded"));
  }
  EXPECT_EQ(made, 3);
}

}  // namespace
}  // namespace hostler::testing_support
