// Plans, subscriptions, entitlements and their overrides. Routes:
//   GET /v1/plans                        POST /v1/plans              GET /v1/plans/{plan_id}
//   PATCH /v1/plans/{plan_id}
//   GET /v1/subscriptions                POST /v1/subscriptions
//   GET /v1/subscriptions/{subscription_id}   DELETE /v1/subscriptions/{subscription_id}
//   GET /v1/entitlements                 GET /v1/entitlement-overrides
//   POST /v1/entitlement-overrides       DELETE /v1/entitlement-overrides/{override_id}
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

std::string new_plan(const TestUser& admin, const std::string& entitlements = "[]") {
  Answer made = admin.client.post(
      "/v1/plans", fmt::format(R"({{"name":"{}","display_name":"Plan","entitlements":{}}})",
                               new_name("plan"), entitlements));
  EXPECT_EQ(made.status, 201) << made.body;
  return made.member("id");
}

std::string period(const std::string& org_id, const std::string& plan_id,
                   const std::string& start = "2026-01-31T00:00:00Z",
                   const std::string& end = "2036-01-31T00:00:00+02:00") {
  return fmt::format(
      R"({{"org_id":"{}","plan_id":"{}","current_period_start":"{}","current_period_end":"{}"}})",
      org_id, plan_id, start, end);
}

std::string override_json(const std::string& org_id, const std::string& key,
                          const std::string& value, const std::string& further = "") {
  return fmt::format(R"({{"org_id":"{}","key":"{}","value":"{}","value_type":"integer"{}}})",
                     org_id, key, value, further);
}

// The entitlement of that key, as source=value.
std::string entitlement(const Client& client, const std::string& key,
                        const std::string& query = "") {
  Json list = client.get("/v1/entitlements" + query).json();
  for (const Json& item : *list.as_array()) {
    if (item.text_or("key") != key) continue;
    return std::string(item.text_or("source")) + "=" + std::string(item.text_or("value"));
  }
  return "";
}

TEST(Plans, AreMadeWithTheirEntitlementsAndReadByEverybody) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  std::string id =
      new_plan(admin, R"([{"key":"limit.concurrent_runs","value":"3","value_type":"integer"}])");
  Answer shown = user.client.get("/v1/plans/" + id);
  EXPECT_EQ(shown.status, 200);
  EXPECT_NE(shown.body.find("limit.concurrent_runs"), std::string::npos);
  EXPECT_NE(user.client.get("/v1/plans").body.find(id), std::string::npos);
  EXPECT_TRUE(is_problem(user.client.get("/v1/plans/x"), 404, "plans.not_found"));
  std::string name = shown.member("name");
  Answer twice =
      admin.client.post("/v1/plans", fmt::format(R"({{"name":"{}","display_name":"x"}})", name));
  EXPECT_TRUE(is_problem(twice, 409, "plans.exists"));
  EXPECT_TRUE(is_problem(user.client.post("/v1/plans", "{}"), 403, "auth.forbidden"));
}

TEST(Plans, AreRetiredAndBroughtBack) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  std::string id = new_plan(admin);
  std::string path = "/v1/plans/" + id;
  EXPECT_EQ(user.client.get(path).member("is_retired"), "false");
  Answer before = admin.client.post("/v1/subscriptions", period(user.org_id, id));
  EXPECT_EQ(before.status, 201) << before.body;
  Answer retired = admin.client.patch(path, R"({"is_retired":true})");
  EXPECT_EQ(retired.status, 200);
  EXPECT_EQ(retired.member("is_retired"), "true");
  EXPECT_EQ(admin.client.patch(path, R"({"is_retired":true})").body, retired.body) << "again";
  EXPECT_EQ(user.client.get(path).body, retired.body);
  EXPECT_NE(user.client.get("/v1/plans").body.find(id), std::string::npos);
  EXPECT_EQ(user.client.get("/v1/subscriptions/" + before.member("id")).member("status"), "active");
  std::string wanted = period(register_user(stack()).org_id, id);
  EXPECT_TRUE(has_fault(admin.client.post("/v1/subscriptions", wanted), "plan_id", "retired"));
  std::string audited = fmt::format(
      "SELECT string_agg(before_state ->> 'is_retired', ' ') FROM audit_logs WHERE action = "
      "'plans.update' AND target_id = '{}'",
      id);
  EXPECT_EQ(sql_value(stack(), audited), "false");
  EXPECT_EQ(admin.client.patch(path, R"({"is_retired":false})").member("is_retired"), "false");
  EXPECT_EQ(admin.client.post("/v1/subscriptions", wanted).status, 201);
}

TEST(Plans, AreRetiredByPlatformAdministratorsAlone) {
  TestUser admin = register_admin(stack());
  std::string path = "/v1/plans/" + new_plan(admin);
  EXPECT_TRUE(is_problem(register_user(stack()).client.patch(path, "{}"), 403, "auth.forbidden"));
  EXPECT_TRUE(has_fault(admin.client.patch(path, "{}"), "is_retired", "required"));
  EXPECT_TRUE(
      has_fault(admin.client.patch(path, R"({"is_retired":1})"), "is_retired", "wrong_type"));
  std::string nobody = "/v1/plans/01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";
  EXPECT_TRUE(
      is_problem(admin.client.patch(nobody, R"({"is_retired":true})"), 404, "plans.not_found"));
  EXPECT_TRUE(is_problem(admin.client.patch(nobody, "{}"), 404, "plans.not_found"));
}

TEST(Plans, RefuseEntitlementsThatDoNotFitTheirType) {
  TestUser admin = register_admin(stack());
  Answer answer = admin.client.post("/v1/plans", R"({"name":"x","display_name":"x","entitlements":[
      {"key":"a","value":"many","value_type":"integer"},
      {"key":"b","value":"yes","value_type":"boolean"},
      {"key":"limit.concurrent_runs","value":"x","value_type":"string"},
      {"key":" a","value":"x","value_type":"string"}]})");
  EXPECT_TRUE(has_fault(answer, "entitlements.0.value", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "entitlements.1.value", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "entitlements.2.value_type", "out_of_range"));
  EXPECT_TRUE(has_fault(answer, "entitlements.3.key", "duplicate"));
  const std::string key = "limit.requests_per_minute";
  Answer least = admin.client.post(
      "/v1/plans", fmt::format(R"({{"name":"x","display_name":"x","entitlements":[)"
                               R"({{"key":"{}","value":"0","value_type":"integer"}}]}})",
                               key));
  EXPECT_TRUE(has_fault(least, "entitlements.0.value", "out_of_range")) << least.body;
  EXPECT_TRUE(has_fault(
      admin.client.post("/v1/entitlement-overrides", override_json(admin.org_id, key, "0")),
      "value", "out_of_range"));
}

TEST(Plans, CutBlanksAroundAKeyThatNothingWouldReadElse) {
  TestUser admin = register_admin(stack());
  Answer made = admin.client.post("/v1/entitlement-overrides",
                                  override_json(admin.org_id, " limit.tool_calls ", "9"));
  EXPECT_EQ(made.member("key"), "limit.tool_calls") << made.body;
}

TEST(Entitlements, ThatNothingReadsGetAWarning) {
  TestUser admin = register_admin(stack());
  auto warning_of = [](const Answer& answer) {
    EXPECT_EQ(answer.status / 100, 2) << answer.body;
    Json body = answer.json();
    const Json& item = body.is_array() ? body.as_array()->front() : body;
    return std::string(item.text_or("warning"));
  };
  auto set = [&](const std::string& key) {
    return warning_of(
        admin.client.post("/v1/entitlement-overrides", override_json(admin.org_id, key, "9")));
  };
  EXPECT_THAT(set("limit.threads"),
              testing::HasSubstr("does not read the entitlement limit.threads"));
  EXPECT_THAT(set("limit.threads"), testing::HasSubstr("limit.threads")) << "changed, too";
  EXPECT_EQ(set("limit.tools"), "");
  EXPECT_EQ(set("credits.monthly_grant"), "");
  Answer plan = admin.client.post(
      "/v1/plans", fmt::format(R"({{"name":"{}","display_name":"P","entitlements":[)"
                               R"({{"key":"seats","value":"3","value_type":"integer"}},)"
                               R"({{"key":"limit.tools","value":"3","value_type":"integer"}},)"
                               R"({{"key":"beta","value":"true","value_type":"boolean"}}]}})",
                               new_name("plan")));
  EXPECT_THAT(warning_of(plan), testing::HasSubstr("seats, beta."));
  EXPECT_EQ(admin.client.get("/v1/plans/" + plan.member("id")).json().find("warning"), nullptr);
  auto code = [&](const std::string& value) {
    return warning_of(admin.client.post(
        "/v1/admin/redemption-codes/batch",
        fmt::format(R"({{"count":2,"type":"entitlement","value":"{}"}})", value)));
  };
  EXPECT_THAT(code("seats=3"), testing::HasSubstr("seats."));
  EXPECT_EQ(code("limit.tools=3"), "");
}

TEST(Subscriptions, CancelledAndMadeAnewOnOneDayGrantTheMonthOnce) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  auto plan_of = [&](int credits) {
    return new_plan(admin, fmt::format(R"([{{"key":"credits.monthly_grant","value":"{}",)"
                                       R"("value_type":"integer"}}])",
                                       credits));
  };
  auto balance = [&] {
    return sql_number(stack(), fmt::format("SELECT balance FROM credit_accounts WHERE org_id = "
                                           "'{}'",
                                           user.org_id));
  };
  int64_t before = balance();
  auto subscribe_and_cancel = [&](const std::string& plan_id, const std::string& start) {
    Answer made = admin.client.post("/v1/subscriptions", period(user.org_id, plan_id, start));
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(admin.client.del("/v1/subscriptions/" + made.member("id")).status, 200);
  };
  std::string today =
      sql_value(stack(), "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD')");
  std::string plan_id = plan_of(50);
  subscribe_and_cancel(plan_id, today + "T00:00:00Z");
  EXPECT_EQ(balance() - before, 50);
  subscribe_and_cancel(plan_id, today + "T00:00:01Z");
  EXPECT_EQ(balance() - before, 50) << "the month of this day is granted";
  subscribe_and_cancel(plan_of(80), today + "T00:00:00Z");
  EXPECT_EQ(balance() - before, 80) << "of a larger plan what is missing";
  subscribe_and_cancel(plan_id, today + "T00:00:00Z");
  EXPECT_EQ(balance() - before, 80);
}

TEST(Subscriptions, GrantTheirMonthsOnceAndGiveEntitlements) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  std::string plan_id =
      new_plan(admin, R"([{"key":"credits.monthly_grant","value":"50","value_type":"integer"}])");
  Answer made = admin.client.post(
      "/v1/subscriptions",
      period(user.org_id, plan_id, "2026-01-31T00:00:00Z", "2026-04-01T00:00:00Z"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("status"), "expired") << "the period is over";
  // January 31st, February 28th, March 31st.
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT string_agg(due_at::date::text, ',' ORDER BY "
                                           "due_at) FROM subscription_grants WHERE org_id = '{}'",
                                           user.org_id)),
            "2026-01-31,2026-02-28,2026-03-31");
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT balance FROM credit_accounts WHERE org_id = "
                                            "'{}'",
                                            user.org_id)),
            1150);
  Answer active = admin.client.post("/v1/subscriptions", period(user.org_id, plan_id));
  ASSERT_EQ(active.status, 201) << active.body;
  EXPECT_EQ(active.member("status"), "active");
  EXPECT_EQ(entitlement(user.client, "credits.monthly_grant"), "plan=50");
  EXPECT_TRUE(is_problem(admin.client.post("/v1/subscriptions", period(user.org_id, plan_id)), 409,
                         "subscriptions.active_exists"));

  std::string path = "/v1/subscriptions/" + active.member("id");
  EXPECT_EQ(user.client.get(path).status, 200);
  EXPECT_EQ(register_user(stack()).client.get(path).status, 404);
  EXPECT_TRUE(is_problem(user.client.del(path), 403, "auth.forbidden"));
  Answer cancelled = admin.client.del(path);
  EXPECT_EQ(cancelled.status, 200);
  EXPECT_EQ(cancelled.member("status"), "cancelled");
  EXPECT_TRUE(is_problem(admin.client.del(path), 409, "subscriptions.not_active"));
  EXPECT_EQ(entitlement(user.client, "credits.monthly_grant"), "default=0");
  Json list = user.client.get("/v1/subscriptions").json();
  EXPECT_EQ(list.as_array()->size(), 2u);
}

TEST(Subscriptions, RefuseWhatIsMissingUnknownOrBackwards) {
  TestUser admin = register_admin(stack());
  EXPECT_EQ(fault_count(admin.client.post("/v1/subscriptions", "{}")), 4u);
  std::string plan_id = new_plan(admin);
  std::string nobody = "01900000-0000-7000-8000-00000000ffff";
  EXPECT_TRUE(has_fault(admin.client.post("/v1/subscriptions", period(nobody, plan_id)), "org_id",
                        "unknown"));
  EXPECT_TRUE(has_fault(admin.client.post("/v1/subscriptions", period(admin.org_id, nobody)),
                        "plan_id", "unknown"));
  Answer backwards = admin.client.post(
      "/v1/subscriptions",
      period(admin.org_id, plan_id, "2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z"));
  EXPECT_TRUE(has_fault(backwards, "current_period_end", "out_of_range"));
  Answer old = admin.client.post(
      "/v1/subscriptions",
      period(admin.org_id, plan_id, "1900-01-01T00:00:00Z", "2100-01-01T00:00:00Z"));
  EXPECT_TRUE(has_fault(old, "current_period_start", "out_of_range")) << old.body;
  Answer all = admin.client.post(
      "/v1/subscriptions", period(nobody, nobody, "2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z"));
  EXPECT_TRUE(has_fault(all, "org_id", "unknown")) << all.body;
  EXPECT_TRUE(has_fault(all, "plan_id", "unknown"));
  EXPECT_EQ(fault_count(all), 3u);
  EXPECT_TRUE(
      has_fault(admin.client.post("/v1/subscriptions", period("x", nobody)), "plan_id", "unknown"));
}

TEST(Entitlements, AreTheLimitsThatAnOrganizationHas) {
  TestUser user = register_user(stack());
  std::string keys;
  Json list = user.client.get("/v1/entitlements").json();
  for (const Json& item : *list.as_array()) {
    keys += fmt::format("{} ", item.text_or("key"));
    EXPECT_EQ(item.text_or("value_type"), "integer");
    EXPECT_THAT(item.text_or("source"), testing::AnyOf("default", "setting"));
  }
  EXPECT_EQ(
      keys,
      "credits.monthly_grant limit.agent_turns limit.api_keys limit.budgets limit.concurrent_runs "
      "limit.file_bytes limit.input_bytes limit.llm_models limit.mcp_servers limit.members "
      "limit.personas "
      "limit.platform_tool_calls_per_day "
      "limit.queued_runs limit.requests_per_minute limit.run_seconds limit.stored_bytes "
      "limit.streams limit.tool_calls limit.tools limit.upload_bytes_per_day limit.waiting_runs "
      "limit.webhook_endpoints ");
}

TEST(Entitlements, AnOverrideStandsAbovePlanSettingAndDefaultUntilItExpires) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  const std::string key = "limit.concurrent_runs";
  EXPECT_EQ(entitlement(user.client, key), "default=10");
  std::string plan_id =
      new_plan(admin, R"([{"key":"limit.concurrent_runs","value":"3","value_type":"integer"}])");
  EXPECT_EQ(admin.client.post("/v1/subscriptions", period(user.org_id, plan_id)).status, 201);
  EXPECT_EQ(entitlement(user.client, key), "plan=3");
  Answer made = admin.client.post("/v1/entitlement-overrides",
                                  override_json(user.org_id, key, "2", R"(,"reason":"trial")"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("reason"), "trial");
  EXPECT_EQ(entitlement(user.client, key), "override=2");
  EXPECT_EQ(
      admin.client
          .post("/v1/entitlement-overrides",
                override_json(user.org_id, key, "4", R"(,"expires_at":"2020-01-01T00:00:00Z")"))
          .status,
      200);
  EXPECT_EQ(entitlement(user.client, key), "plan=3") << "it has expired";
  EXPECT_EQ(entitlement(admin.client, key, "?org_id=" + user.org_id), "plan=3");
  EXPECT_TRUE(is_problem(user.client.get("/v1/entitlements?org_id=" + admin.org_id), 404,
                         "orgs.not_found"));
  std::string of_org = "/v1/entitlement-overrides?org_id=" + user.org_id;
  EXPECT_EQ(admin.client.get(of_org).json().as_array()->size(), 1u);
  EXPECT_TRUE(is_problem(user.client.get(of_org), 403, "auth.forbidden"));
  std::string path = "/v1/entitlement-overrides/" + made.member("id");
  EXPECT_TRUE(is_problem(admin.client.del(path + "?org_id=" + admin.org_id), 404,
                         "entitlement_overrides.not_found"));
  EXPECT_EQ(admin.client.del(path + "?org_id=" + user.org_id).member("ok"), "true");
}

}  // namespace
}  // namespace hostler::testing_support
