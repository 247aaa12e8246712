// Tests what the contract says is audited is: one change after the other, each told by its action
// under the trace of its request, with what was and what is as objects. What other tests of a topic
// look at closely is not repeated here.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

// Sends the call, which must be well, and compares what its trace left in the log. The answer.
Answer expect_reported(const Client& client, const std::string& method, const std::string& path,
                       const std::string& body, const std::string& actions) {
  std::string type = body.empty() ? "" : "application/json";
  Answer answer = client.send({method, path, body, type, {}});
  EXPECT_LT(answer.status, 300) << method << " " << path << " " << answer.body;
  EXPECT_EQ(sql_value(stack(),
                      fmt::format("SELECT coalesce(string_agg(action || CASE WHEN result <> 'ok' "
                                  "OR coalesce(jsonb_typeof(before_state), 'object') <> 'object' "
                                  "OR coalesce(jsonb_typeof(after_state), 'object') <> 'object' "
                                  "THEN '?' ELSE '' END, ' ' ORDER BY id), '') FROM audit_logs "
                                  "WHERE trace_id = '{}'",
                                  answer.header("x-trace-id"))),
            actions)
      << method << " " << path;
  return answer;
}

TEST(AuditActions, TellOfTheToolsOfAnOrganization) {
  TestUser user = register_user(stack());
  const std::string path = "/v1/tool-providers/web_search/web_search.alpha";
  const std::string secret = "key-0123456789";
  expect_reported(user.client, "PUT", path + "/credential?scope=org",
                  fmt::format(R"({{"api_key":"{}"}})", secret), "tool_providers.credential_set");
  expect_reported(user.client, "PUT", path + "/activate?scope=org", "", "tool_providers.activate");
  expect_reported(user.client, "PUT", path + "/deactivate?scope=org", "",
                  "tool_providers.deactivate");
  expect_reported(user.client, "DELETE", path + "/credential?scope=org", "",
                  "tool_providers.credential_deleted");
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE "
                                            "strpos(audit_logs::text, '{}') > 0",
                                            secret)),
            0);
}

TEST(AuditActions, TellOfInvitationsAndWebhooks) {
  TestUser user = register_user(stack());
  std::string org_id = make_workspace(stack(), user);
  const std::string path = "/v1/orgs/" + org_id + "/invitations";
  Answer invited =
      expect_reported(user.client, "POST", path,
                      fmt::format(R"({{"email":"{}@example.org","role":"member"}})", new_name()),
                      "invitations.create");
  expect_reported(user.client, "DELETE", path + "/" + invited.member("id"), "",
                  "invitations.revoke");
  Answer endpoint = expect_reported(user.client, "POST", "/v1/webhook-endpoints",
                                    R"({"url":"https://93.184.215.14/x","events":["run.failed"]})",
                                    "webhooks.create");
  expect_reported(user.client, "DELETE", "/v1/webhook-endpoints/" + endpoint.member("id"), "",
                  "webhooks.delete");
}

TEST(AuditActions, TellOfFlags) {
  TestUser admin = register_admin(stack());
  std::string key = "tests." + new_name("flag");
  for (char& c : key) c = c == '-' ? '_' : c;
  const std::string path = "/v1/feature-flags/" + key;
  expect_reported(admin.client, "POST", "/v1/feature-flags",
                  fmt::format(R"({{"key":"{}","default_value":false}})", key),
                  "feature_flags.create");
  expect_reported(admin.client, "PATCH", path, R"({"default_value":true})", "feature_flags.update");
  expect_reported(admin.client, "POST", path + "/org-overrides",
                  fmt::format(R"({{"org_id":"{}","enabled":false}})", admin.org_id),
                  "feature_flags.override_set");
  expect_reported(admin.client, "DELETE", path + "/org-overrides/" + admin.org_id, "",
                  "feature_flags.override_deleted");
  expect_reported(admin.client, "DELETE", path, "", "feature_flags.delete");
}

TEST(AuditActions, TellOfPlansAndWhatTheyGrant) {
  TestUser admin = register_admin(stack());
  Answer plan = expect_reported(
      admin.client, "POST", "/v1/plans",
      fmt::format(R"({{"name":"{}","display_name":"Plan"}})", new_name("plan")), "plans.create");
  Answer subscription = expect_reported(
      admin.client, "POST", "/v1/subscriptions",
      fmt::format(R"({{"org_id":"{}","plan_id":"{}","current_period_start":)"
                  R"("2026-01-31T00:00:00Z","current_period_end":"2036-01-31T00:00:00Z"}})",
                  admin.org_id, plan.member("id")),
      "subscriptions.create");
  expect_reported(admin.client, "PATCH", "/v1/plans/" + plan.member("id"), R"({"is_retired":true})",
                  "plans.update");
  expect_reported(admin.client, "DELETE", "/v1/subscriptions/" + subscription.member("id"), "",
                  "subscriptions.cancel");
  Answer granted =
      expect_reported(admin.client, "POST", "/v1/entitlement-overrides",
                      fmt::format(R"({{"org_id":"{}","key":"limit.concurrent_runs","value":"3",)"
                                  R"("value_type":"integer"}})",
                                  admin.org_id),
                      "entitlements.override_set");
  expect_reported(admin.client, "DELETE", "/v1/entitlement-overrides/" + granted.member("id"), "",
                  "entitlements.override_deleted");
}

TEST(AuditActions, TellOfRedemptionCodes) {
  TestUser admin = register_admin(stack());
  Answer batch =
      expect_reported(admin.client, "POST", "/v1/admin/redemption-codes/batch",
                      R"({"count":1,"type":"credits","value":"5"})", "redemption_codes.create");
  const Json made = batch.json().as_array()->front();
  expect_reported(admin.client, "POST", "/v1/me/redeem",
                  fmt::format(R"({{"code":"{}"}})", made.text_or("code")),
                  "redemption_codes.redeem");
  expect_reported(admin.client, "PATCH",
                  "/v1/admin/redemption-codes/" + std::string(made.text_or("id")),
                  R"({"is_active":false})", "redemption_codes.update");
}

TEST(AuditActions, TellOfExportsAndDeletions) {
  TestUser user = register_user(stack());
  std::string org_id = make_workspace(stack(), user);
  const std::string path = "/v1/orgs/" + org_id;
  std::string slug = user.client.get(path).member("slug");
  expect_reported(user.client, "POST", "/v1/me/export", "", "users.export");
  expect_reported(user.client, "POST", path + "/export", "", "orgs.export");
  EXPECT_EQ(user.client.post("/v1/threads", R"({"end_user":"somebody-of-the-app"})").status, 201);
  expect_reported(user.client, "POST", "/v1/end-users:delete",
                  R"({"end_user":"somebody-of-the-app"})", "end_users.delete");
  EXPECT_EQ(sql_number(stack(),
                       "SELECT count(*) FROM audit_logs WHERE strpos(audit_logs::text, "
                       "'somebody-of-the-app') > 0"),
            0);
  expect_reported(user.client, "DELETE", path, fmt::format(R"({{"slug":"{}"}})", slug),
                  "orgs.delete");
  expect_reported(user.client, "POST", path + ":restore", "", "orgs.restore");
}

// A change that is refused leaves no row of it.
TEST(AuditActions, TellNothingOfAChangeThatWasRolledBack) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  auto rows = [&] {
    return sql_number(stack(), "SELECT count(*) FROM audit_logs WHERE actor_user_id IN ('" +
                                   admin.id + "', '" + user.id + "') AND result = 'ok'");
  };
  int64_t before = rows();
  std::string taken = fmt::format(R"({{"username":"{}","locale":"de"}})", admin.login);
  EXPECT_EQ(admin.client.patch("/v1/admin/users/" + user.id, taken).status, 409);
  EXPECT_EQ(user.client.patch("/v1/me", taken).status, 409);
  EXPECT_EQ(user.client.post("/v1/me/redeem", R"({"code":"AAAA-AAAA-AAAA-AAAA"})").status, 404);
  EXPECT_EQ(rows(), before);
}

}  // namespace
}  // namespace hostler::testing_support
