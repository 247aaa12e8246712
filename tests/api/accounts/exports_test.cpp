// Exports. Routes: POST /v1/me/export, POST /v1/orgs/{org_id}/export, GET /v1/exports/{export_id},
// GET /v1/exports/{export_id}/content.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

using testing::HasSubstr;
using testing::Not;

// The lines of an export that was asked for, when it is ready.
std::string exported(const Client& client, const Answer& asked) {
  EXPECT_EQ(asked.status, 202) << asked.body;
  std::string path = "/v1/exports/" + asked.member("id");
  EXPECT_TRUE(eventually(20'000, [&] { return client.get(path).member("state") == "ready"; }));
  Answer content = client.get(path + "/content");
  EXPECT_EQ(content.status, 200) << content.body;
  EXPECT_EQ(content.header("content-type"), "application/gzip");
  ProgramRun unpacked = run_program({"gzip", "-dc"}, {}, content.body);
  EXPECT_EQ(unpacked.status, 0) << unpacked.err;
  return unpacked.out;
}

std::string say_and_run(const Client& client, const std::string& words) {
  std::string run = start_output(client, words + " [say answer-of-" + words + "]");
  wait_for_status(client, run, "completed");
  return run;
}

TEST(Export, OfAUserTellsWhatTheySaidAndHeard) {
  ApiStack& stack = runner_stack();
  TestUser user = register_user(stack);
  TestUser other = register_user(stack);
  std::string workspace = make_workspace(stack, other);
  add_member(stack, workspace, user, "member");
  say_and_run(user.client, "at-home");
  say_and_run(user.client.with_org(workspace), "at-work");
  say_and_run(other.client.with_org(workspace), "of-another");
  Answer asked = user.client.post("/v1/me/export");
  EXPECT_TRUE(is_problem(user.client.post("/v1/me/export"), 409, "exports.running"));
  std::string lines = exported(user.client, asked);
  for (const char* part :
       {"at-home", "answer-of-at-home", "at-work", "\"record\": \"event\"", "run.completed"}) {
    EXPECT_THAT(lines, HasSubstr(part));
  }
  EXPECT_THAT(lines, Not(HasSubstr("of-another")));
  EXPECT_TRUE(lines.ends_with("{\"record\": \"end\"}\n")) << lines.substr(lines.size() - 100);
  EXPECT_TRUE(
      is_problem(other.client.get("/v1/exports/" + asked.member("id")), 404, "exports.not_found"));
  EXPECT_EQ(
      sql_value(stack,
                fmt::format("SELECT count(*) FROM audit_logs WHERE action = 'users.export' AND "
                            "actor_user_id = '{}'",
                            user.id)),
      "1");
}

TEST(Export, LeavesOutOrganizationsWhoseRulesShutTheAddressOut) {
  ApiStack& stack = runner_stack();
  TestUser user = register_user(stack);
  TestUser other = register_user(stack);
  std::string workspace = make_workspace(stack, other);
  add_member(stack, workspace, user, "member");
  Client at_work = user.client.with_org(workspace);
  post_message(at_work, make_thread(at_work), "behind-rules");
  stack.sql().run_text(fmt::format(
      "INSERT INTO ip_rules (org_id, type, cidr) VALUES ('{}', 'allowlist', '203.0.113.0/24')",
      workspace));
  EXPECT_THAT(exported(user.client, user.client.post("/v1/me/export")),
              Not(HasSubstr("behind-rules")));
}

TEST(Export, OfAnOrganizationHasItsSettingsAndTheOwnersTextAlone) {
  ApiStack& stack = runner_stack();
  TestUser owner = register_user(stack);
  TestUser member = register_user(stack);
  std::string workspace = make_workspace(stack, owner);
  add_member(stack, workspace, member, "member");
  say_and_run(owner.client.with_org(workspace), "of-the-owner");
  std::string run = say_and_run(member.client.with_org(workspace), "of-the-member");
  std::string path = "/v1/orgs/" + workspace + "/export";
  EXPECT_TRUE(is_problem(member.client.post(path), 403, "auth.forbidden"));
  std::string key = make_api_key(stack, owner, workspace);
  sql_value(stack,
            "UPDATE users SET email_verified_at = now() WHERE id = '" + owner.id + "' RETURNING 1");
  Answer asked = owner.client.post(path);
  std::string lines = exported(owner.client, asked);
  for (const std::string& part :
       {std::string("of-the-owner"), run, member.login, std::string("orgs.export")}) {
    EXPECT_THAT(lines, HasSubstr(part));
  }
  EXPECT_THAT(lines, Not(HasSubstr("of-the-member")));
  EXPECT_THAT(lines, Not(HasSubstr(key)));
  EXPECT_TRUE(eventually(15'000, [&] {
    return sql_value(
               stack,
               "SELECT count(*) FROM outbox WHERE template = 'org_exported' AND recipient = '" +
                   owner.email + "'") == "1";
  }));
  // It ends with the right to it.
  stack.sql().run_text(
      fmt::format("UPDATE org_members SET role = 'member' WHERE user_id = '{}' AND org_id = '{}'",
                  owner.id, workspace));
  EXPECT_TRUE(
      is_problem(owner.client.get("/v1/exports/" + asked.member("id")), 404, "exports.not_found"));
  EXPECT_TRUE(is_problem(owner.client.get("/v1/exports/" + asked.member("id") + "/content"), 404,
                         "exports.not_found"));
}

TEST(Export, OfManyPiecesIsOneFile) {
  ApiStack& stack = runner_stack();
  TestUser user = register_user(stack);
  std::string thread = make_thread(user.client);
  for (int i = 0; i < 20; ++i)
    post_message(user.client, thread, std::string(60'000, 'a') + fmt::format(" nth-{}.", i));
  std::string lines = exported(user.client, user.client.post("/v1/me/export"));
  EXPECT_GT(lines.size(), 1'200'000u);
  for (int i = 0; i < 20; ++i) EXPECT_THAT(lines, HasSubstr(fmt::format(" nth-{}.", i)));
  EXPECT_GT(sql_number(stack, "SELECT max(pieces) FROM exports WHERE user_id = '" + user.id + "'"),
            3);
}

TEST(Export, IsGoneAfterADay) {
  ApiStack& stack = runner_stack();
  TestUser user = register_user(stack);
  Answer asked = user.client.post("/v1/me/export");
  exported(user.client, asked);
  stack.sql().run_text("UPDATE exports SET expires_at = now() WHERE user_id = '" + user.id + "'");
  EXPECT_TRUE(
      is_problem(user.client.get("/v1/exports/" + asked.member("id")), 404, "exports.not_found"));
}

}  // namespace
}  // namespace hostler::testing_support
