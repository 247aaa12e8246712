// GET /v1/admin/settings, PUT /v1/admin/settings/{key}, DELETE /v1/admin/settings/{key}. On a stack
// of its own: settings are everybody's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/config/settings.h"
#include "lib/json.h"
#include "tests/support/eventually.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() {
  static ApiStack one(
      {.settings = {"HOSTLER_LIMIT_AGENT_TURNS=7", "HOSTLER_WEB_SEARCH_ALPHA_API_KEY=from-env"}});
  return one;
}

const TestUser& admin() {
  static const TestUser user = register_admin(stack());
  return user;
}

Answer put(const std::string& key, const std::string& value) {
  return admin().client.put("/v1/admin/settings/" + key, fmt::format(R"({{"value":{}}})", value));
}
Answer unset(const std::string& key) { return admin().client.del("/v1/admin/settings/" + key); }

// The row of the list, as JSON text.
std::string listed(const std::string& key) {
  Json list = admin().client.get("/v1/admin/settings").json();
  for (const Json& row : *list.as_array()) {
    if (row.text_or("key") == key) return row.dump();
  }
  return "";
}

// The anonymous answer says so; a second at most is promised.
testing::AssertionResult is_mode_within(int64_t limit_ms, const std::string& mode) {
  auto is_mode = [&mode] {
    return stack().client().get("/v1/auth/registration-mode").member("mode") == mode;
  };
  return eventually(limit_ms, is_mode, 10);
}
testing::AssertionResult is_mode_within_a_second(const std::string& mode) {
  return is_mode_within(1000, mode);
}

TEST(ListSettings, ShowsEveryLiveSettingByKeyWithItsSource) {
  Json list = admin().client.get("/v1/admin/settings").json();
  std::vector<std::string> keys;
  for (const Json& row : *list.as_array()) keys.emplace_back(row.text_or("key"));
  std::vector<std::string> live;
  for (const config::SettingRow& row : config::setting_rows) {
    if (row.kind == config::SettingKind::live) live.emplace_back(row.name);
  }
  std::sort(live.begin(), live.end());
  EXPECT_EQ(keys, live);
  EXPECT_THAT(listed("credit.per_usd"),
              testing::StartsWith(
                  R"({"key":"credit.per_usd","value":1000,"source":"default","secret":false,)"));
  EXPECT_THAT(listed("limit.agent_turns"),
              testing::StartsWith(
                  R"({"key":"limit.agent_turns","value":7,"source":"env","secret":false,)"));
  EXPECT_THAT(
      listed("web_search.alpha_api_key"),
      testing::StartsWith(
          R"({"key":"web_search.alpha_api_key","value":null,"source":"env","secret":true,)"));
}

// What the row of the list says of the setting itself.
std::string described(const std::string& key) {
  std::string row = listed(key);
  return row.substr(std::min(row.size(), row.find(R"("type")")));
}

TEST(ListSettings, SaysOfEachWhatItMayBeAndWhatItDoes) {
  EXPECT_EQ(described("limit.tool_calls"),
            R"("type":"integer","minimum":0,"maximum":10000,"unit":"calls",)"
            R"("description":"Tool calls of one run.","choices":[],"notice":null})");
  EXPECT_THAT(described("gateway.risk_reject_threshold"),
              testing::StartsWith(R"("type":"number","minimum":0,"maximum":1,"unit":null,)"));
  EXPECT_THAT(
      described("auth.require_email_verification"),
      testing::StartsWith(R"("type":"boolean","minimum":null,"maximum":null,"unit":null,)"));
  EXPECT_THAT(described("captcha.secret_key"), testing::StartsWith(R"("type":"text",)"));
  EXPECT_THAT(described("http.cors_origins"), testing::StartsWith(R"("type":"strings",)"));
  EXPECT_THAT(described("auth.registration_mode"),
              testing::EndsWith(R"("choices":["open","invite_only","disabled"],"notice":null})"));
  EXPECT_THAT(described("web_fetch.provider"),
              testing::EndsWith(R"("choices":["","gamma","delta","basic"],"notice":null})"));
}

TEST(SetSetting, AnswersTheRowAndTheListShowsItAtOnce) {
  Answer answer = put("limit.tool_calls", "5");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(
      answer.body,
      testing::StartsWith(R"({"key":"limit.tool_calls","value":5,"source":"db","secret":false,)"));
  EXPECT_EQ(listed("limit.tool_calls"), answer.body);
  EXPECT_EQ(put("limit.agent_turns", "8").status, 200) << "the database wins over variables";
  EXPECT_THAT(listed("limit.agent_turns"), testing::HasSubstr(R"("value":8,"source":"db")"));
  EXPECT_EQ(unset("limit.agent_turns").status, 204);
  EXPECT_THAT(listed("limit.agent_turns"), testing::HasSubstr(R"("value":7,"source":"env")"));
}

TEST(SetSetting, ActsWithinASecondOnEveryWorkerAndSoDoesUnsetting) {
  EXPECT_TRUE(is_mode_within_a_second("open"));
  EXPECT_EQ(put("auth.registration_mode", "\"disabled\"").status, 200);
  EXPECT_TRUE(is_mode_within_a_second("disabled"));
  EXPECT_EQ(unset("auth.registration_mode").status, 204);
  EXPECT_TRUE(is_mode_within_a_second("open"));
}

TEST(SetSetting, TakesEachTypeAsJson) {
  // False, as it is: true would shut out the administrator of this test.
  EXPECT_EQ(put("auth.require_email_verification", "false").member("value"), "false");
  EXPECT_EQ(unset("auth.require_email_verification").status, 204);
  EXPECT_EQ(put("http.cors_origins", R"(["https://a.example"])").member("value"),
            R"(["https://a.example"])");
  EXPECT_EQ(unset("http.cors_origins").status, 204);
  EXPECT_EQ(put("captcha.site_key", "\"\"").status, 200);
}

TEST(SetSetting, RefusesAValueThatDoesNotFitAndSaysTheBounds) {
  EXPECT_TRUE(has_fault(put("limit.tool_calls", "\"5\""), "value", "wrong_type"));
  EXPECT_TRUE(has_fault(put("limit.tool_calls", "5.5"), "value", "wrong_type"));
  for (const char* none : {"https://A.example", "https://a.example:443", "https://*.example"}) {
    Answer refused = put("http.cors_origins", fmt::format(R"(["{}"])", none));
    EXPECT_TRUE(has_fault(refused, "value", "bad_format")) << "no browser sends " << none;
  }
  EXPECT_TRUE(has_fault(put("limit.tool_calls", "null"), "value", "wrong_type"));
  EXPECT_TRUE(has_fault(put("limit.tool_calls", "-1"), "value", "out_of_range"));
  EXPECT_TRUE(has_fault(put("auth.registration_mode", "\"closed\""), "value", "out_of_range"));
  EXPECT_TRUE(has_fault(put("outbound.allow_cidrs", "[\"all\"]"), "value", "bad_format"));
  EXPECT_TRUE(has_fault(admin().client.put("/v1/admin/settings/run.lease_seconds", "{}"), "value",
                        "required"));
  EXPECT_THAT(put("run.lease_seconds", "1").body, testing::HasSubstr("2 to 300 seconds"));
  EXPECT_THAT(listed("run.lease_seconds"), testing::HasSubstr(R"("source":"default")"));
}

TEST(SetSetting, KeepsSecretsToItself) {
  Answer answer = put("captcha.secret_key", "\"hush-hush-hush\"");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body,
              testing::StartsWith(
                  R"({"key":"captcha.secret_key","value":null,"source":"db","secret":true,)"));
  EXPECT_THAT(put("captcha.secret_key", "[\"hush-hush-hush\"]").body,
              testing::Not(testing::HasSubstr("hush")));
  EXPECT_EQ(
      sql_number(stack(), "SELECT count(*) FROM audit_logs WHERE audit_logs::text LIKE '%hush%'"),
      0);
  EXPECT_EQ(sql_value(stack(),
                      "SELECT value IS NULL AND secret_id IS NOT NULL FROM settings "
                      "WHERE key = 'captcha.secret_key'"),
            "t");
  EXPECT_EQ(unset("captcha.secret_key").status, 204);
}

TEST(SetSetting, SendsAStoredKeyWhereItWasMeantAndNowhereElse) {
  std::string address = "web_fetch.delta_base_url";
  EXPECT_EQ(put(address, R"("https://fetch.example/v")").status, 200) << "no key is stored";
  EXPECT_EQ(put("web_fetch.delta_api_key", R"("fc-0123456789")").status, 200);
  EXPECT_EQ(put(address, R"("https://FETCH.example:443/w")").status, 200) << "where it is";
  for (const char* other : {R"("https://other.example")", R"("http://fetch.example")",
                            R"("https://fetch.example:8443")", R"("")"}) {
    EXPECT_TRUE(has_fault(put(address, other), "value", "required")) << other;
  }
  EXPECT_EQ(unset("web_fetch.delta_api_key").status, 204);
  EXPECT_EQ(put(address, R"("https://other.example")").status, 200);
  EXPECT_EQ(unset(address).status, 204);
}

TEST(SetSetting, IsAudited) {
  put("limit.queued_runs", "3");
  put("limit.queued_runs", "4");
  unset("limit.queued_runs");
  EXPECT_EQ(sql_value(stack(),
                      "SELECT string_agg(action || coalesce(before_state ->> 'value', '-') "
                      "|| coalesce(after_state ->> 'value', '-'), ' ' ORDER BY id) FROM "
                      "audit_logs WHERE target_id = 'limit.queued_runs' AND actor_user_id "
                      "= '" +
                          admin().id + "'"),
            "settings.set-3 settings.set34 settings.unset4-");
}

TEST(SetSetting, DoesNotKnowStartSettingsAndNamesThatDoNotExist) {
  for (const char* key : {"api.socket", "database.url", "run.slots", "no.such", "limit", "x"}) {
    EXPECT_TRUE(is_problem(put(key, "1"), 404, "settings.not_found")) << key;
    EXPECT_TRUE(is_problem(unset(key), 404, "settings.not_found")) << key;
  }
  Answer bad_body = admin().client.put("/v1/admin/settings/no.such", "{");
  EXPECT_TRUE(is_problem(bad_body, 404, "settings.not_found")) << "before the body is looked at";
}

TEST(UnsetSetting, IsDoneHoweverOften) {
  EXPECT_EQ(unset("limit.run_seconds").status, 204);
  EXPECT_EQ(sql_number(stack(),
                       "SELECT count(*) FROM audit_logs WHERE target_id = "
                       "'limit.run_seconds'"),
            0)
      << "nothing changed";
}

TEST(Settings, AreForPlatformAdministratorsOnly) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(is_problem(user.client.get("/v1/admin/settings"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(user.client.put("/v1/admin/settings/limit.tool_calls", "{}"), 403,
                         "auth.forbidden"));
  EXPECT_TRUE(is_problem(user.client.del("/v1/admin/settings/no.such"), 403, "auth.forbidden"));
  Client nobody = stack().client();
  EXPECT_TRUE(is_problem(nobody.get("/v1/admin/settings"), 401, "auth.missing_token"));
  EXPECT_TRUE(
      is_problem(nobody.put("/v1/admin/settings/no.such", "{}"), 401, "auth.missing_token"));
  Client by_key = stack().client().with_token(make_api_key(stack(), admin(), admin().org_id));
  EXPECT_TRUE(is_problem(by_key.get("/v1/admin/settings"), 403, "auth.user_token_required"));
  EXPECT_TRUE(is_problem(by_key.del("/v1/admin/settings/limit.tool_calls"), 403,
                         "auth.user_token_required"));
}

// Somebody holds the table when the workers look: they look again, though nobody notifies twice.
TEST(Settings, AreReadAgainWhenTheyCouldNotBeRead) {
  ASSERT_EQ(put("auth.registration_mode", R"("open")").status, 200);
  ASSERT_TRUE(is_mode_within_a_second("open"));
  stack().sql().run_text(
      "UPDATE settings SET value = '\"disabled\"' WHERE key = 'auth.registration_mode'");
  postgres::DbSession holder = stack().database().as_superuser();
  holder.begin();
  holder.run_text("LOCK TABLE settings IN ACCESS EXCLUSIVE MODE");
  stack().sql().run_text("NOTIFY hostler_settings");
  holder.run_text("SELECT pg_sleep(3)");  // longer than a statement waits for a lock
  holder.commit();
  EXPECT_TRUE(is_mode_within(5000, "disabled"));
  EXPECT_EQ(unset("auth.registration_mode").status, 204);
}

}  // namespace
}  // namespace hostler::testing_support
