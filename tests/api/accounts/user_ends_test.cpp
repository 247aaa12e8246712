// What else ends with a user, and who ends at once: runs and the reason that run.cancelled tells,
// DELETE /v1/me twice, DELETE /v1/orgs/{org_id}/members/{user_id} by two of each other, and
// DELETE /v1/admin/users/{user_id} while a mail is on its way.
#include <gtest/gtest.h>

#include <functional>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/peers/outside_peers.h"
#include "tests/support/peers/scripted_server.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr const char* long_answer = "[words 40] [stall]";
constexpr const char* question = "[ask What colour?] [say ok]";

// Reads past the rights of callers, who may have none any more.
std::string reported_reason(const std::string& run_id) {
  std::string reason;
  EXPECT_TRUE(eventually(15'000, [&] {
    reason = sql_value(
        runner_stack(),
        fmt::format("SELECT coalesce(max(data ->> 'reason'), '') FROM run_events WHERE run_id = "
                    "'{}' AND type = 'run.cancelled'",
                    run_id));
    return !reason.empty();
  }));
  return reason;
}

// Begins to stream, so that a daemon owns it until it has to stop.
std::string start_streaming(const Client& client) {
  std::string run_id = start_output(client, long_answer);
  std::string streamed = fmt::format(
      "SELECT count(*) FROM run_events WHERE run_id = '{}' AND type = 'message.delta'", run_id);
  EXPECT_TRUE(eventually(15'000, [&] { return sql_number(runner_stack(), streamed) > 0; }));
  return run_id;
}

std::string start_asking(const Client& client) {
  std::string run_id = start_output(client, question);
  EXPECT_EQ(wait_for_status(client, run_id, "waiting_for_input"), "waiting_for_input");
  return run_id;
}

TEST(UserEnds, CancelTheRunsOfWhoIsSuspendedOrDeleted) {
  TestUser admin = register_admin(runner_stack());
  for (bool is_deleted : {false, true}) {
    TestUser user = register_user(runner_stack());
    std::string streaming = start_streaming(user.client);
    std::string asking = start_asking(user.client);
    std::string path = "/v1/admin/users/" + user.id;
    Answer ended =
        is_deleted ? admin.client.del(path) : admin.client.patch(path, R"({"status":"suspended"})");
    ASSERT_LT(ended.status, 300) << ended.body;
    const char* reason = is_deleted ? "user_deleted" : "user_suspended";
    EXPECT_EQ(reported_reason(streaming), reason);
    EXPECT_EQ(reported_reason(asking), reason);
  }
}

TEST(UserEnds, CancelTheRunsOfAMemberInThatOrganizationAlone) {
  TestUser owner = register_user(runner_stack());
  TestUser user = register_user(runner_stack());
  std::string org_id = make_workspace(runner_stack(), owner);
  add_member(runner_stack(), org_id, user, "member");
  std::string streaming = start_streaming(user.client.with_org(org_id));
  std::string asking = start_asking(user.client.with_org(org_id));
  std::string own = start_asking(user.client);
  std::string path = fmt::format("/v1/orgs/{}/members/{}", org_id, user.id);
  ASSERT_EQ(owner.client.del(path).status, 204);
  EXPECT_EQ(reported_reason(streaming), "member_removed");
  EXPECT_EQ(reported_reason(asking), "member_removed");
  EXPECT_EQ(user.client.get("/v1/runs/" + own).member("status"), "waiting_for_input");
}

TEST(UserEnds, AreNotTheOnlyReasonsThatADaemonTells) {
  TestUser user = register_user(runner_stack());
  std::string interrupted = start_streaming(user.client);
  std::string thread_id = user.client.get("/v1/runs/" + interrupted).member("thread_id");
  ASSERT_EQ(user.client.post(runs_of(thread_id), R"({"multitask_strategy":"interrupt"})").status,
            201);
  EXPECT_EQ(reported_reason(interrupted), "interrupted");
  std::string deleted = start_streaming(user.client);
  thread_id = user.client.get("/v1/runs/" + deleted).member("thread_id");
  ASSERT_EQ(user.client.del("/v1/threads/" + thread_id).status, 204);
  EXPECT_EQ(reported_reason(deleted), "thread_deleted");
}

Call deletion_of_me(const TestUser& user) {
  return {"DELETE",
          "/v1/me",
          fmt::format(R"({{"current_password":{}}})", json_quote(user.password)),
          "application/json",
          {}};
}

// Two transactions that both lock the user and want more would wait for ever. Sessions that look
// for a deadlock later than they give a lock up would answer 503 then.
TEST(UserEnds, OnceOfTwoDeletionsAtOnceAndWithoutWaiting) {
  ApiStack stack;
  stack.sql().run_text(
      "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = %L', "
      "current_database(), '1min'); END $$");
  stack.sql().run_text(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
      "AND application_name LIKE 'hostler-api/%'");
  auto is_ready = [&] { return stack.client().get("/readyz").status == 200; };
  ASSERT_TRUE(eventually(10'000, is_ready, 10));
  for (int round = 0; round < 5; ++round) {
    TestUser user = register_user(stack);
    std::vector<Answer> answers =
        user.client.send_all({deletion_of_me(user), deletion_of_me(user)});
    int done = 0;
    for (const Answer& answer : answers) {
      done += answer.status == 204 ? 1 : 0;
      EXPECT_TRUE(answer.status == 204 || is_problem(answer, 401, "auth.invalid_token"));
    }
    EXPECT_EQ(done, 1);
  }
}

TEST(UserEnds, OnceOfTwoWhoRemoveEachOther) {
  ApiStack& stack = ApiStack::shared();
  TestUser third = register_user(stack);
  for (int round = 0; round < 5; ++round) {
    TestUser ada = register_user(stack), bob = register_user(stack);
    std::string org_id = make_workspace(stack, third);
    add_member(stack, org_id, ada, "owner");
    add_member(stack, org_id, bob, "owner");
    auto removal = [&](const TestUser& whom, const TestUser& by) {
      Call call{"DELETE", fmt::format("/v1/orgs/{}/members/{}", org_id, whom.id), "", "", {}};
      call.headers.push_back({"Authorization", "Bearer " + by.client.token});
      return call;
    };
    std::vector<Answer> answers = stack.line().send_all({removal(ada, bob), removal(bob, ada)});
    int done = 0;
    for (const Answer& answer : answers) {
      done += answer.status == 204 ? 1 : 0;
      EXPECT_TRUE(answer.status == 204 || answer.status == 404) << answer.body;
    }
    EXPECT_EQ(done, 1);
    EXPECT_EQ(sql_number(stack, fmt::format("SELECT count(*) FROM org_members WHERE org_id = '{}'",
                                            org_id)),
              2);
  }
}

// A mail server that takes the connection and says nothing keeps the daemon in the middle of it.
TEST(UserEnds, AlsoWhileAMailToTheUserIsOnItsWay) {
  ApiStack stack({{"HOSTLER_MAIL_DIR="}, true});
  auto server = std::make_unique<ScriptedServer>([](Peer& peer) { peer.wait_for_close(); });
  TestUser admin = register_admin(stack);
  Answer stored = admin.client.put(
      "/v1/admin/email/config",
      fmt::format(R"({{"from":"hostler@example.org","smtp_host":"127.0.0.1","smtp_port":{},)"
                  R"("smtp_tls_mode":"none"}})",
                  server->port()));
  ASSERT_EQ(stored.status, 204) << stored.body;
  TestUser user = register_user(stack), other = register_user(stack);
  // By its id: the address of who is deleted is taken out of it.
  auto id_of_mail = [&](const TestUser& to) {
    return sql_value(stack,
                     fmt::format("SELECT id FROM outbox WHERE recipient = '{}' AND template = "
                                 "'verify_email'",
                                 to.email));
  };
  std::map<std::string, std::string> ids;
  for (const TestUser* one : {&user, &other, &admin}) ids[one->id] = id_of_mail(*one);
  auto mail = [&](const TestUser& to, const std::string& columns) {
    return sql_value(stack, fmt::format("SELECT concat_ws(' ', {}) FROM outbox WHERE id = '{}'",
                                        columns, ids.at(to.id)));
  };
  for (const TestUser* one : {&user, &other}) {
    ASSERT_TRUE(eventually(15'000, [&] { return mail(*one, "owner_id IS NOT NULL") == "t"; }))
        << "no daemon sends it";
  }
  EXPECT_EQ(admin.client.del("/v1/admin/users/" + user.id).status, 204);
  EXPECT_EQ(other.client.send(deletion_of_me(other)).status, 204);
  server.reset();  // the attempts fail
  EXPECT_TRUE(eventually(15'000, [&] { return mail(admin, "attempts > 0") == "t"; }));
  for (const TestUser* one : {&user, &other}) {
    EXPECT_EQ(mail(*one, "status, attempts, owner_id, lease_until, next_attempt_at, last_error"),
              "cancelled 0");
  }
}

}  // namespace
}  // namespace hostler::testing_support
