// The platform at a glance. Routes:
//   GET /v1/admin/dashboard              GET /v1/admin/nodes
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

TEST(Dashboard, CountsUsersOrganizationsAndRunsAtOnce) {
  ApiStack alone;  // nobody else registers meanwhile
  TestUser admin = register_admin(alone);
  TestUser user = register_user(alone);
  make_workspace(alone, user);
  Answer first = admin.client.get("/v1/admin/dashboard");
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.member("total_users"), "2");
  EXPECT_EQ(first.member("active_users_30d"), "2");
  EXPECT_EQ(first.member("active_orgs"), "3") << "two personal ones and a workspace";
  EXPECT_EQ(first.member("total_runs"), "0");

  TestConversation conversation = make_conversation(alone);
  std::string run_id = start_run(conversation.user.client, conversation.thread_id);
  alone.sql().run_text(fmt::format(
      "INSERT INTO usage_records (org_id, run_id, turn, user_id, model, input_tokens, "
      "output_tokens, cache_read_tokens, cache_write_tokens, cost_nano_usd, measured) VALUES "
      "('{}', '{}', 1, '{}', 'small', 70, 7, 0, 0, 2500000, true)",
      conversation.user.org_id, run_id, conversation.user.id));
  alone.sql().run_text(fmt::format(
      "UPDATE users SET last_seen_at = now() - interval '31 days' WHERE id = '{}'", user.id));
  for (int folded = 0; folded < 2; ++folded) {
    Answer then = admin.client.get("/v1/admin/dashboard");
    EXPECT_EQ(then.member("total_users"), "3");
    EXPECT_EQ(then.member("active_users_30d"), "2");
    EXPECT_EQ(then.member("active_orgs"), "2");
    EXPECT_EQ(then.member("total_runs"), "1");
    EXPECT_EQ(then.member("runs_today"), "1");
    EXPECT_EQ(then.member("total_input_tokens"), "70");
    EXPECT_EQ(then.member("total_output_tokens"), "7");
    EXPECT_EQ(then.member("total_cost_usd"), "0.0025");
    alone.sql().run_text("SELECT platform_roll_up()");
  }
  alone.sql().run_text(
      "UPDATE runs SET created_at = created_at - interval '1 day'; SELECT platform_recount()");
  EXPECT_EQ(admin.client.get("/v1/admin/dashboard").member("runs_today"), "0");
  EXPECT_EQ(admin.client.del("/v1/admin/users/" + conversation.user.id).status, 204);
  EXPECT_EQ(admin.client.get("/v1/admin/dashboard").member("total_users"), "2");
  EXPECT_EQ(admin.client.get("/v1/admin/dashboard").member("active_users_30d"), "1");
}

TEST(Dashboard, IsForAdministrators) {
  TestUser user = register_user(stack());
  for (const char* path : {"/v1/admin/dashboard", "/v1/admin/nodes"}) {
    EXPECT_TRUE(is_problem(user.client.get(path), 403, "auth.forbidden"));
    EXPECT_TRUE(is_problem(stack().client().get(path), 401, "auth.missing_token"));
  }
}

TEST(Nodes, NoneIsListedThatNobodyHeardOfLately) {
  TestUser admin = register_admin(stack());
  stack().sql().run_text(
      "INSERT INTO daemons (host, instance, version, heartbeat_at) VALUES ('silent.example', 'x', "
      "'1', now() - interval '31 seconds'); INSERT INTO daemons (host, instance, version, "
      "stopped_at) "
      "VALUES ('stopped.example', 'x', '1', now())");
  EXPECT_EQ(admin.client.get("/v1/admin/nodes").body, "[]");
}

TEST(Nodes, ARunningDaemonIsListedWithItsRuns) {
  ApiStack& running = runner_stack();
  TestUser admin = register_admin(running);
  TestUser user = register_user(running);
  std::string run_id = start_output(user.client, "[say a] [pause 60000]");
  Json list;
  ASSERT_TRUE(eventually(20'000,
                         [&] {
                           list = admin.client.get("/v1/admin/nodes").json();
                           return list.as_array()->size() == 1 &&
                                  list.as_array()->at(0).integer_or("runs", 0) >= 1;
                         }))
      << "the heartbeat tells how many: " << list.dump();
  EXPECT_EQ(user.client.post("/v1/runs/" + run_id + ":cancel").status, 200);
  const Json& node = list.as_array()->at(0);
  EXPECT_NE(node.text_or("host"), "");
  EXPECT_NE(node.text_or("version"), "");
  EXPECT_LE(node.text_or("started_at"), node.text_or("heartbeat_at"));
}

}  // namespace
}  // namespace hostler::testing_support
