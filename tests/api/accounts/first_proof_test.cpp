// Tests what the first proof of an address by code, and the way back to an address, leave of what
// others set up in the account. POST /v1/auth/email/otp/verify, POST /v1/auth/email/revert.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/api/accounts/login_code_harness.h"

namespace hostler::testing_support {
namespace {

using FirstProof = LoginCodes;

Client enter_by_code(const TestUser& user) {
  EXPECT_EQ(send_code(user.email).status, 204);
  Answer entered = verify(user.email, code_of(user));
  EXPECT_EQ(entered.status, 200) << entered.body;
  return stack().client().with_token(entered.member("access_token"));
}

void make(const Client& client, const std::string& path, const std::string& body) {
  Answer made = client.post(path, body);
  EXPECT_EQ(made.status, 201) << path << " " << made.body;
}

// One of everything that is called, or believed, in the name of the personal organization. name:
// of providers, tools, servers and personas.
void set_up(const Client& client, const std::string& name) {
  Answer provider = client.post("/v1/llm-providers?scope=org",
                                fmt::format(R"({{"name":"{}","provider_kind":"openai",)"
                                            R"("base_url":"https://8.8.8.8/v1","api_key":"sk-1"}})",
                                            name));
  EXPECT_EQ(provider.status, 201) << provider.body;
  make(client, fmt::format("/v1/llm-providers/{}/models?scope=org", provider.member("id")),
       fmt::format(R"({{"model":"{}","is_default":true}})", name));
  make(client, "/v1/webhook-endpoints",
       R"({"url":"https://93.184.216.34/hook","events":["run.completed"]})");
  make(client, "/v1/tools?scope=org",
       fmt::format(R"({{"name":"{}","description":"d","parameters":{{"type":"object"}},)"
                   R"("url":"https://93.184.216.34/tool"}})",
                   name));
  make(client, "/v1/mcp-servers?scope=org",
       fmt::format(R"({{"key":"{}","url":"https://93.184.216.34/mcp"}})", name));
  make(client, "/v1/personas?scope=org",
       fmt::format(R"({{"persona_key":"{}","version":"1","system_prompt":"Tell me."}})", name));
  make(client, "/v1/ip-rules",
       fmt::format(R"({{"type":"blocklist","cidr":"192.0.2.{}/32"}})", name.size()));
}

// Returns what of it is in force.
std::string in_force(const TestUser& user) {
  return sql_value(
      stack(),
      fmt::format(
          "SELECT concat_ws(' ', "
          "(SELECT string_agg(model, ',') FROM llm_models WHERE org_id = o.id AND is_default), "
          "(SELECT count(*) FROM webhook_endpoints WHERE org_id = o.id AND enabled), "
          "(SELECT string_agg(name, ',') FROM tools WHERE org_id = o.id AND is_active), "
          "(SELECT string_agg(key, ',') FROM mcp_servers WHERE org_id = o.id AND is_active), "
          "(SELECT string_agg(persona_key, ',') FROM personas WHERE org_id = o.id AND is_active), "
          "(SELECT count(*) FROM tool_providers WHERE org_id = o.id AND is_active), "
          "(SELECT count(*) FROM ip_rules WHERE org_id = o.id)) "
          "FROM orgs o WHERE o.id = '{}'",
          user.org_id));
}

// A user who registered a foreign address keeps no part of its owner's account.
TEST_F(FirstProof, EndsWhatWasThereBefore) {
  TestUser user = register_user(stack());
  Client second = log_in(stack(), user);
  std::string work = make_workspace(stack(), user);
  Client keys[] = {stack().client().with_token(make_api_key(stack(), user, user.org_id)),
                   stack().client().with_token(make_api_key(stack(), user, work))};
  std::string elsewhere = new_name("theirs") + "@example.net";
  ASSERT_EQ(user.client
                .post("/v1/me/email", fmt::format(R"({{"email":"{}","current_password":"{}"}})",
                                                  elsewhere, user.password))
                .status,
            204);
  for (const Client& key : keys) ASSERT_EQ(key.get("/v1/me").status, 200);
  Client owner = enter_by_code(user);
  EXPECT_EQ(owner.get("/v1/me").member("id"), user.id);
  for (const Client& key : keys) {
    EXPECT_TRUE(is_problem(key.get("/v1/me"), 401, "auth.invalid_api_key"));
  }
  for (const Client& before : {user.client, second}) {
    EXPECT_TRUE(is_problem(before.get("/v1/me"), 401, "auth.invalid_token"));
  }
  EXPECT_TRUE(is_problem(second.post("/v1/auth/refresh"), 401, "auth.invalid_token"));
  auto try_login = [&](const std::string& password) {
    return stack().client().post(
        "/v1/auth/login", fmt::format(R"({{"login":{},"password":{}}})", json_quote(user.login),
                                      json_quote(password)));
  };
  EXPECT_TRUE(is_problem(try_login(user.password), 401, "auth.invalid_credentials"));
  std::string token = mailed(stack(), elsewhere, "change_email", "token");
  EXPECT_TRUE(is_problem(stack().client().post("/v1/auth/email/verify/confirm",
                                               fmt::format(R"({{"token":"{}"}})", token)),
                         422, "email.token_invalid"));
  EXPECT_EQ(audited(user), R"(auth.login ok, auth.email_verified ok {"email_verified": true, )"
                           R"("password_voided": true, "api_keys_revoked": 2, )"
                           R"("settings_switched_off": 0}, )"
                           R"(auth.login ok {"by": "otp"})");
  EXPECT_EQ(owner.post("/v1/me/password", R"({"new_password":"my own at last"})").status, 204);
  EXPECT_EQ(try_login("my own at last").status, 200);
}

// A password that is compared with none is wrong, wherever it is given.
TEST_F(FirstProof, LeavesAnAccountThatNoPasswordIsRightFor) {
  TestUser user = register_user(stack());
  Client owner = enter_by_code(user);
  const std::string current = fmt::format(R"("current_password":{})", json_quote(user.password));
  const Call calls[] = {
      {"POST", "/v1/auth/confirm", R"({"password":"not it"})", "application/json", {}},
      {"POST",
       "/v1/me/password",
       "{" + current + R"(,"new_password":"long enough"})",
       "application/json",
       {}},
      {"POST",
       "/v1/me/email",
       "{" + current + R"(,"email":"nobody@example.net"})",
       "application/json",
       {}},
      {"DELETE", "/v1/me", "{" + current + "}", "application/json", {}}};
  for (const Call& call : calls) {
    EXPECT_TRUE(is_problem(owner.send(call), 422, "auth.wrong_password")) << call.path;
  }
  EXPECT_EQ(owner.post("/v1/me/password", R"({"new_password":"my own at last"})").status, 204);
}

TEST_F(FirstProof, IsTheFirstAlone) {
  TestUser user = register_user(stack());
  stack().sql().run_text(
      fmt::format("UPDATE users SET email_verified_at = now() WHERE id = '{}'", user.id));
  Client key = stack().client().with_token(make_api_key(stack(), user, user.org_id));
  enter_by_code(user);
  EXPECT_EQ(user.client.get("/v1/me").status, 200);
  EXPECT_EQ(key.get("/v1/me").status, 200);
  EXPECT_FALSE(log_in(stack(), user).token.empty());
}

TEST_F(FirstProof, SwitchesOffWhatWasSetUpBefore) {
  TestUser user = register_user(stack());
  set_up(user.client, "theirs");
  EXPECT_EQ(user.client.put("/v1/tool-providers/web_search/web_search.beta/activate?scope=org", "")
                .status,
            204);
  EXPECT_EQ(in_force(user), "theirs 1 theirs theirs theirs 1 1");
  Client owner = enter_by_code(user);
  EXPECT_EQ(in_force(user), "0 0 0");
  EXPECT_EQ(audited(user), R"(auth.email_verified ok {"email_verified": true, )"
                           R"("password_voided": true, "api_keys_revoked": 0, )"
                           R"("settings_switched_off": 7}, auth.login ok {"by": "otp"})");
  set_up(owner, "mine");
  enter_by_code(user);
  EXPECT_EQ(in_force(user), "mine 1 mine mine mine 0 1") << "the second proof ends nothing";
}

// The user who changed the address, and the things that the owner had set up before.
TEST_F(FirstProof, IsLeftWhatIsOlderThanTheChangeThatIsTakenBack) {
  TestUser user = register_user(stack());
  auto confirm = [](const std::string& token) {
    return stack()
        .client()
        .post("/v1/auth/email/verify/confirm", fmt::format(R"({{"token":"{}"}})", token))
        .status;
  };
  ASSERT_EQ(confirm(mailed(stack(), user.email, "verify_email", "token")), 200);
  set_up(user.client, "mine");
  std::string theirs = new_name("thief") + "@example.net";
  ASSERT_EQ(user.client
                .post("/v1/me/email", fmt::format(R"({{"email":"{}","current_password":{}}})",
                                                  theirs, json_quote(user.password)))
                .status,
            204);
  set_up(user.client, "theirs");
  std::string tool = sql_value(stack(), fmt::format("SELECT id FROM tools WHERE org_id = '{}' AND "
                                                    "name = 'mine'",
                                                    user.org_id));
  EXPECT_EQ(
      user.client.patch("/v1/tools/" + tool + "?scope=org", R"({"url":"https://93.184.216.34/x"})")
          .status,
      200);
  ASSERT_EQ(confirm(mailed(stack(), theirs, "change_email", "token")), 200);
  EXPECT_EQ(stack()
                .client()
                .post("/v1/auth/email/revert",
                      fmt::format(R"({{"token":"{}"}})",
                                  mailed(stack(), user.email, "email_changed", "token")))
                .status,
            200);
  EXPECT_EQ(in_force(user), "1 mine mine 0 1")
      << "no default model since the thief made another, no tool that the thief changed";
}

}  // namespace
}  // namespace hostler::testing_support
