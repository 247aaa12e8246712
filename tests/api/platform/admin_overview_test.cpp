// The platform at a glance. Routes:
//   GET /v1/admin/dashboard              GET /v1/admin/nodes
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

std::vector<Json> nodes_of(const TestUser& admin, std::string_view kind) {
  Json list = admin.client.get("/v1/admin/nodes").json();
  std::vector<Json> found;
  for (const Json& node : *list.as_array()) {
    if (node.text_or("kind") == kind) found.push_back(node);
  }
  return found;
}

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
  EXPECT_EQ(nodes_of(admin, "daemon").size(), 0U);
}

TEST(Nodes, ThePoolThatAnswersIsOneWithItsConnections) {
  TestUser admin = register_admin(stack());
  std::vector<Json> pools = nodes_of(admin, "pool");
  ASSERT_EQ(pools.size(), 1U);
  EXPECT_GE(pools[0].integer_or("connections", 0), 1);
  EXPECT_NE(pools[0].text_or("host"), "");
  EXPECT_EQ(pools[0].text_or("version"), HOSTLER_VERSION);
  EXPECT_LE(pools[0].text_or("started_at"), pools[0].text_or("heartbeat_at"));
}

TEST(Nodes, PoolsOfTwoVersionsOnOneHostHaveIdsOfTheirOwn) {
  ApiStack alone;
  TestUser admin = register_admin(alone);
  std::string host(nodes_of(admin, "pool").at(0).text_or("host"));
  postgres::DbSession& newer = alone.sql();
  newer.run_text(fmt::format("SET application_name = 'hostler-api/0 9.0.0 {}'", host));
  std::vector<Json> pools = nodes_of(admin, "pool");
  ASSERT_EQ(pools.size(), 2U);
  EXPECT_EQ(pools[1].text_or("host"), host);
  EXPECT_NE(pools[0].text_or("id"), pools[1].text_or("id"));
}

TEST(Nodes, TheDatabaseSaysInTheDoctorsWordsHowItIs) {
  ApiStack alone;
  TestUser admin = register_admin(alone);
  std::vector<Json> databases = nodes_of(admin, "database");
  ASSERT_EQ(databases.size(), 1U);
  EXPECT_GE(databases[0].integer_or("connections", 0), 1);
  std::string findings = databases[0].find("findings")->dump();
  EXPECT_THAT(findings, testing::HasSubstr(R"({"verdict":"ok","what":"database","message":"Post)"));
  EXPECT_THAT(findings, testing::HasSubstr("no hostler-runner sends heartbeats"));
  EXPECT_THAT(findings, testing::HasSubstr(R"("what":"connections")"));
  EXPECT_THAT(findings, testing::HasSubstr(R"({"verdict":"ok","what":"runs")"));
  alone.sql().run_text(
      "SELECT mail_queue('verify_email', 'ada@example.org', 'en', '{}', NULL); "
      "UPDATE outbox SET next_attempt_at = clock_timestamp() - interval '1 hour'");
  EXPECT_THAT(nodes_of(admin, "database")[0].find("findings")->dump(),
              testing::HasSubstr(R"({"verdict":"warning","what":"outbox","message":"a message )"));
}

TEST(Nodes, ARunningDaemonIsListedWithItsRuns) {
  ApiStack& running = runner_stack();
  TestUser admin = register_admin(running);
  TestUser user = register_user(running);
  std::string run_id = start_output(user.client, "[say a] [pause 60000]");
  std::vector<Json> daemons;
  ASSERT_TRUE(eventually(20'000, [&] {
    daemons = nodes_of(admin, "daemon");
    return daemons.size() == 1 && daemons[0].integer_or("runs", 0) >= 1;
  })) << "the heartbeat tells how many";
  EXPECT_EQ(user.client.post("/v1/runs/" + run_id + ":cancel").status, 200);
  const Json& node = daemons[0];
  EXPECT_NE(node.text_or("host"), "");
  EXPECT_NE(node.text_or("version"), "");
  EXPECT_LE(node.text_or("started_at"), node.text_or("heartbeat_at"));
}

TEST(Nodes, TellsWhichOneDoesThePeriodicJobsAndWhatBecameOfEach) {
  ApiStack& running = runner_stack();
  TestUser admin = register_admin(running);
  running.sql().run_text(
      "INSERT INTO daemons (host, instance, version) VALUES ('idle.example', 'x', '1')");
  Json list;
  const Json* jobs = nullptr;
  auto all_were_done = [&] {
    list = admin.client.get("/v1/admin/nodes").json();
    jobs = nullptr;
    for (const Json& node : *list.as_array()) {
      if (node.text_or("host") == "idle.example") {
        EXPECT_TRUE(node.find("maintenance")->is_null());
      } else if (const Json* term = node.find("maintenance"); !term->is_null()) {
        EXPECT_GE(term->integer_or("epoch", 0), 1);
        EXPECT_NE(term->text_or("since"), "");
        jobs = term->find("jobs");
      }
    }
    return jobs != nullptr && std::ranges::all_of(*jobs->as_array(), [](const Json& job) {
             return job.text_or("done_at") != "" && job.integer_or("took_ms", -1) >= 0;
           });
  };
  ASSERT_TRUE(eventually(20'000, all_were_done)) << list.dump();
  EXPECT_GE(jobs->as_array()->size(), 19U);
  const Json& first = jobs->as_array()->at(0);
  EXPECT_EQ(first.text_or("job"), "access_log_files_prune");
  EXPECT_EQ(first.integer_or("period_ms", 0), 60'000);
  EXPECT_EQ(first.integer_or("faults", -1), 0);
  EXPECT_TRUE(first.find("fault_at")->is_null() && first.find("fault")->is_null());
  running.sql().run_text("DELETE FROM daemons WHERE host = 'idle.example'");
}

}  // namespace
}  // namespace hostler::testing_support
