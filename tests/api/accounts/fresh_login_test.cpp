// Tests what needs a session that was begun or proved again a moment ago, and POST
// /v1/auth/confirm.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"
#include "tests/support/rows/mails.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

constexpr const char* nobodys_id = "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a";

// Wrong passwords and sent codes are counted by address too, and all tests have the same one.
class FreshLogin : public ::testing::Test {
 protected:
  void SetUp() override { stack().sql().run_text("TRUNCATE login_failures, attempts"); }
};

void age(const TestUser& user, std::string_view by = "15 minutes 1 second") {
  stack().sql().run_text(fmt::format(
      "UPDATE sessions SET proved_at = now() - interval '{}' WHERE user_id = '{}'", by, user.id));
}

struct FreshCall {
  const char* method;
  std::string path;
  std::string body;
};

Answer send(const Client& client, const FreshCall& call) {
  if (call.body.empty()) return client.send({call.method, call.path, "", "", {}});
  return client.send({call.method, call.path, call.body, "application/json", {}});
}

std::string somebody(const char* path) { return fmt::format("{}/{}", path, nobodys_id); }

// None of them changes anything with a fresh login either: ids are nobody's, values are wrong.
std::vector<FreshCall> calls_that_need_it() {
  return {
      {"POST", "/v1/api-keys", R"({"name":7})"},
      {"GET", somebody("/v1/exports") + "/content", ""},
      {"PATCH", somebody("/v1/admin/users"), R"({"status":"suspended"})"},
      {"PATCH", somebody("/v1/admin/users"), R"({"email":"x@example.org"})"},
      {"PATCH", somebody("/v1/admin/users"), R"({"username":"x","email_verified":true})"},
      {"DELETE", somebody("/v1/admin/users") + "/factors", ""},
      {"POST", "/v1/me/factors/totp", R"({"name":7})"},
      {"DELETE", somebody("/v1/me/factors"), ""},
      {"POST", "/v1/me/recovery-codes", ""},
      {"DELETE", somebody("/v1/me/identities"), ""},
      {"POST", "/v1/identity-providers?scope=platform", R"({"key":7})"},
      {"POST", "/v1/identity-providers?scope=org", R"({"key":7})"},
      {"DELETE", somebody("/v1/identity-providers") + "?scope=org", ""},
      {"POST", "/v1/admin/org-domains", R"({"domain":7})"},
      {"DELETE", somebody("/v1/admin/org-domains"), ""},
      {"DELETE", somebody("/v1/admin/users"), ""},
      {"POST", "/v1/admin/credits/adjust", R"({"note":7})"},
      {"POST", "/v1/admin/credits/bulk-adjust", R"({"note":7})"},
      {"POST", "/v1/admin/credits/reset-all", R"({"note":7})"},
      {"POST", "/v1/admin/redemption-codes/batch", "{}"},
      {"PUT", "/v1/admin/settings/no.such", R"({"value":1})"},
      {"DELETE", "/v1/admin/settings/no.such", ""},
      {"PUT", "/v1/admin/email/config", R"({"smtp_port":"x"})"},
      {"PUT", "/v1/admin/gateway-config", R"({"ip_mode":7})"},
      {"POST", "/v1/llm-providers", R"({"api_key":"sk-0123456789"})"},
      {"POST", "/v1/llm-providers?scope=platform", R"({"api_key":"sk-0123456789"})"},
      {"PATCH", somebody("/v1/llm-providers") + "?scope=platform",
       R"({"api_key":"sk-0123456789"})"},
      {"PUT", "/v1/tool-providers/no/such/credential", R"({"api_key":"sk-0123456789"})"},
  };
}

std::vector<FreshCall> calls_that_do_not() {
  return {
      {"GET", "/v1/api-keys", ""},
      {"PATCH", somebody("/v1/admin/users"), R"({"username":"x"})"},
      {"PATCH", somebody("/v1/admin/users"), "{"},
      {"GET", "/v1/admin/settings", ""},
      {"GET", "/v1/admin/credits?scope=all", ""},
      {"POST", "/v1/llm-providers", R"({"api_key":null})"},
      {"POST", "/v1/llm-providers?scope=org", R"({"api_key":"sk-0123456789"})"},
      {"POST", "/v1/llm-providers?scope=other", R"({"api_key":"sk-0123456789"})"},
      {"PATCH", somebody("/v1/llm-providers"), R"({"api_key":null})"},
      {"PUT", "/v1/tool-providers/no/such/credential", ""},
      {"PUT", "/v1/tool-providers/no/such/credential?scope=org", R"({"api_key":"sk-0123456789"})"},
  };
}

Answer confirm(const TestUser& user, const std::string& body) {
  return user.client.post("/v1/auth/confirm", body);
}

Answer confirm_password(const TestUser& user, const std::string& password) {
  return confirm(user, fmt::format(R"({{"password":{}}})", json_quote(password)));
}

std::string code_for(const TestUser& user) {
  EXPECT_EQ(stack()
                .client()
                .post("/v1/auth/email/otp/send", fmt::format(R"({{"email":"{}"}})", user.email))
                .status,
            204);
  return mailed(stack(), user.email, "login_code", "code");
}

Answer confirm_code(const TestUser& user, const std::string& code) {
  return confirm(user, fmt::format(R"({{"otp":"{}"}})", code));
}

bool is_fresh(const TestUser& user) {
  Answer answer = user.client.post("/v1/api-keys", R"({"name":7})");
  return !is_problem(answer, 403, "auth.fresh_login_required");
}

std::string audited(const TestUser& user) {
  return sql_value(stack(), fmt::format("SELECT coalesce(string_agg(concat_ws(' ', target_type, "
                                        "result, after_state), ', ' ORDER BY id), '') FROM "
                                        "audit_logs WHERE action = 'auth.confirm' AND "
                                        "actor_user_id = '{}'",
                                        user.id));
}

TEST_F(FreshLogin, IsNeededForWhatMattersMost) {
  TestUser admin = register_admin(stack());
  age(admin, "14 minutes 30 seconds");
  for (const FreshCall& call : calls_that_need_it()) {
    Answer answer = send(admin.client, call);
    EXPECT_FALSE(is_problem(answer, 403, "auth.fresh_login_required")) << call.path;
    EXPECT_GE(answer.status, 400) << call.method << ' ' << call.path << ": the test changes things";
  }
  age(admin);
  for (const FreshCall& call : calls_that_need_it()) {
    EXPECT_TRUE(is_problem(send(admin.client, call), 403, "auth.fresh_login_required"))
        << call.method << ' ' << call.path;
  }
  for (const FreshCall& call : calls_that_do_not()) {
    EXPECT_NE(send(admin.client, call).status, 403) << call.method << ' ' << call.path << call.body;
  }
}

// Whose organizations they must be: nobody's is not found before.
TEST_F(FreshLogin, IsNeededToDeleteAndToExportAnOrganization) {
  TestUser owner = register_user(stack());
  std::string path = "/v1/orgs/" + make_workspace(stack(), owner);
  age(owner);
  for (const FreshCall& call :
       {FreshCall{"DELETE", path, R"({"slug":"x"})"}, FreshCall{"POST", path + "/export", ""}}) {
    EXPECT_TRUE(is_problem(send(owner.client, call), 403, "auth.fresh_login_required"))
        << call.method << ' ' << call.path;
  }
}

// Right behind auth.forbidden, and before ids, types and values.
TEST_F(FreshLogin, IsAskedBehindThePermission) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  age(user);
  age(admin);
  std::string path = "/v1/admin/settings/no.such";
  EXPECT_TRUE(is_problem(user.client.del(path), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(admin.client.del(path), 403, "auth.fresh_login_required"));
  Client abroad = admin.client.with_org(user.org_id);
  EXPECT_TRUE(is_problem(abroad.post("/v1/api-keys", "{}"), 404, "orgs.not_found"));
  EXPECT_TRUE(is_problem(admin.client.del("/v1/admin/users/x"), 403, "auth.fresh_login_required"));
  Call typed = {"POST", "/v1/api-keys", "{", "text/plain", {{"Idempotency-Key", ""}}};
  EXPECT_TRUE(is_problem(user.client.send(typed), 403, "auth.fresh_login_required"));
  Client key = stack().client().with_token(make_api_key(stack(), admin, admin.org_id));
  EXPECT_TRUE(is_problem(key.post("/v1/api-keys", "{}"), 403, "auth.user_token_required"));
}

TEST_F(FreshLogin, IsNotRenewedByARefreshButByALogin) {
  TestUser user = register_user(stack());
  age(user);
  Client refreshed = stack().client();
  refreshed.cookie = user.refresh;
  Answer renewed = refreshed.post("/v1/auth/refresh");
  ASSERT_EQ(renewed.status, 200) << renewed.body;
  Client same = stack().client().with_token(renewed.member("access_token"));
  EXPECT_TRUE(
      is_problem(same.post("/v1/api-keys", R"({"name":"key"})"), 403, "auth.fresh_login_required"));
  EXPECT_EQ(log_in(stack(), user).post("/v1/api-keys", R"({"name":"key"})").status, 201);
}

// Answers of the first call are as much worth as the call.
TEST_F(FreshLogin, IsNeededForAReplayToo) {
  TestUser user = register_user(stack());
  Call call = {
      "POST", "/v1/api-keys", R"({"name":"key"})", "application/json", {{"Idempotency-Key", "k"}}};
  ASSERT_EQ(user.client.send(call).status, 201);
  age(user);
  EXPECT_TRUE(is_problem(user.client.send(call), 403, "auth.fresh_login_required"));
  ASSERT_EQ(confirm_password(user, user.password).status, 200);
  EXPECT_EQ(user.client.send(call).header("idempotency-replayed"), "true");
}

TEST_F(FreshLogin, IsProvedByThePassword) {
  TestUser user = register_user(stack());
  Client second = log_in(stack(), user);
  age(user);
  Answer answer = confirm_password(user, user.password);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.body, R"({"ok":true})");
  EXPECT_TRUE(is_fresh(user));
  EXPECT_TRUE(is_problem(second.post("/v1/api-keys", "{}"), 403, "auth.fresh_login_required"))
      << "it is this session that is proved";
  EXPECT_EQ(audited(user), R"(session ok {"by": "password"})");
}

TEST_F(FreshLogin, IsNotProvedByWrongPasswordsWhichCountAsFailedLogins) {
  TestUser user = register_user(stack());
  age(user);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(is_problem(confirm_password(user, "wrong"), 422, "auth.wrong_password"));
  }
  Answer closed = confirm_password(user, user.password);
  EXPECT_TRUE(is_problem(closed, 429, "auth.rate_limited"));
  EXPECT_FALSE(closed.header("retry-after").empty());
  EXPECT_FALSE(is_fresh(user));
  Answer entered = stack().client().post(
      "/v1/auth/login",
      fmt::format(R"({{"login":"{}","password":"{}"}})", user.login, user.password));
  EXPECT_TRUE(is_problem(entered, 429, "auth.rate_limited"));
}

TEST_F(FreshLogin, IsProvedByACodeThatProvesNoAddress) {
  TestUser user = register_user(stack());
  Client second = log_in(stack(), user);
  age(user);
  std::string code = code_for(user);
  Answer answer = confirm_code(user, code);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_TRUE(is_fresh(user));
  EXPECT_EQ(user.client.get("/v1/me").member("email_verified"), "false");
  EXPECT_EQ(second.get("/v1/me").status, 200) << "no session ends";
  EXPECT_TRUE(is_problem(confirm_code(user, code), 422, "auth.otp_invalid")) << "it serves once";
  EXPECT_EQ(audited(user), R"(session ok {"by": "otp"}, user failed {"by": "otp"})");
}

TEST_F(FreshLogin, IsNotProvedByWrongCodesWhichAreCounted) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  age(user);
  std::string code = code_for(user);
  std::string wrong = code == "000000" ? "000001" : "000000";
  EXPECT_TRUE(is_problem(confirm_code(other, code), 422, "auth.otp_invalid")) << "of another";
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(is_problem(confirm_code(user, wrong), 422, "auth.otp_invalid"));
  }
  EXPECT_TRUE(is_problem(confirm_code(user, code), 429, "auth.otp_locked"));
  EXPECT_FALSE(is_fresh(user));
  code = code_for(user);
  stack().sql().run_text(fmt::format(
      "INSERT INTO attempts (kind, subject) SELECT 'otp.failure', s.id FROM sessions s CROSS JOIN "
      "generate_series(6, 20) WHERE s.user_id = '{}'",
      user.id));
  EXPECT_TRUE(is_problem(confirm_code(user, code), 429, "auth.otp_rate_limited"));
}

TEST_F(FreshLogin, IsProvedByOneOfTheTwo) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(has_fault(confirm(user, "{}"), "password", "required"));
  EXPECT_TRUE(
      has_fault(confirm(user, fmt::format(R"({{"otp":"123456","password":"{}"}})", user.password)),
                "otp", "ambiguous"));
  EXPECT_TRUE(has_fault(confirm(user, R"({"otp":"12345"})"), "otp", "bad_format"));
  EXPECT_TRUE(has_fault(confirm(user, R"({"password":7})"), "password", "wrong_type"));
  EXPECT_TRUE(is_problem(confirm(user, "{"), 400, "http.bad_json"));
  Client key = stack().client().with_token(make_api_key(stack(), user, user.org_id));
  EXPECT_TRUE(is_problem(key.post("/v1/auth/confirm", "{}"), 403, "auth.user_token_required"));
}

TEST(FreshLoginSwitchedOff, IsNeededNowhere) {
  ApiStack stack({{"HOSTLER_AUTH_FRESH_SECONDS=0"}});
  TestUser user = register_user(stack);
  stack.sql().run_text("UPDATE sessions SET proved_at = now() - interval '1 year'");
  EXPECT_EQ(user.client.post("/v1/api-keys", R"({"name":"key"})").status, 201);
}

}  // namespace
}  // namespace hostler::testing_support
