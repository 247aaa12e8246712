// POST /v1/me/password, DELETE /v1/me, GET /v1/me/sessions, DELETE /v1/me/sessions/{session_id},
// GET /v1/me/invite-code, POST /v1/me/invite-code/reset.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"
#include "tests/support/rows/mails.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

// Wrong passwords are counted by address too, and all tests have the same one.
class OwnAccount : public ::testing::Test {
 protected:
  void SetUp() override { stack().sql().run_text("TRUNCATE login_failures"); }
};

std::string passwords(std::string_view current, std::string_view wanted) {
  return fmt::format(R"({{"current_password":{},"new_password":{}}})", json_quote(current),
                     json_quote(wanted));
}

Answer change(const TestUser& user, std::string_view current, std::string_view wanted) {
  return user.client.post("/v1/me/password", passwords(current, wanted));
}

Answer end_account(const TestUser& user, std::string_view password) {
  return user.client.send({"DELETE",
                           "/v1/me",
                           fmt::format(R"({{"current_password":{}}})", json_quote(password)),
                           "application/json",
                           {}});
}

Answer try_login(const std::string& login, const std::string& password) {
  return stack().client().post(
      "/v1/auth/login",
      fmt::format(R"({{"login":{},"password":{}}})", json_quote(login), json_quote(password)));
}

int status_of_me(const std::string& token) {
  return stack().client().with_token(token).get("/v1/me").status;
}

// The audit rows of an action by a user: "target_type result after_state", oldest first.
std::string audited(const TestUser& user, std::string_view action) {
  return sql_value(
      stack(), fmt::format("SELECT coalesce(string_agg(concat_ws(' ', target_type, result, "
                           "after_state), ', ' ORDER BY id), '') FROM audit_logs WHERE action = "
                           "'{}' AND actor_user_id = '{}'",
                           action, user.id));
}

void begin_by_code(const TestUser& user, std::string_view age) {
  stack().sql().run_text(
      fmt::format("UPDATE sessions SET begun_by = 'otp', created_at = now() - interval '{}' WHERE "
                  "user_id = '{}'",
                  age, user.id));
}

TEST_F(OwnAccount, ChangesThePasswordAndEndsTheOtherSessions) {
  TestUser user = register_user(stack());
  Client elsewhere = log_in(stack(), user);
  Answer changed = change(user, user.password, "a new and better one");
  EXPECT_EQ(changed.status, 204) << changed.body;
  EXPECT_EQ(status_of_me(user.client.token), 200);
  EXPECT_EQ(status_of_me(elsewhere.token), 401);
  EXPECT_TRUE(is_problem(elsewhere.post("/v1/auth/refresh"), 401, "auth.invalid_token"));
  EXPECT_EQ(try_login(user.login, user.password).status, 401);
  EXPECT_EQ(try_login(user.login, "a new and better one").status, 200);
  EXPECT_EQ(audited(user, "auth.password_changed"), R"(user ok {"forgotten": false})");
}

// A thief of the old password may have asked for another address, whose link they have.
TEST_F(OwnAccount, VoidsTheChangeOfTheAddressThatWasAskedForWithTheOldPassword) {
  TestUser user = register_user(stack());
  std::string theirs = new_name("thief") + "@example.net";
  ASSERT_EQ(log_in(stack(), user)
                .post("/v1/me/email", fmt::format(R"({{"email":"{}","current_password":{}}})",
                                                  theirs, json_quote(user.password)))
                .status,
            204);
  ASSERT_EQ(change(user, user.password, "a new and better one").status, 204);
  auto confirm = [](const std::string& token) {
    return stack().client().post("/v1/auth/email/verify/confirm",
                                 fmt::format(R"({{"token":"{}"}})", token));
  };
  EXPECT_TRUE(is_problem(confirm(mailed(stack(), theirs, "change_email", "token")), 422,
                         "email.token_invalid"));
  EXPECT_EQ(confirm(mailed(stack(), user.email, "verify_email", "token")).status, 200)
      << "that of the registration still serves";
  EXPECT_EQ(user.client.get("/v1/me").member("email"), user.email);
}

TEST_F(OwnAccount, TellsAVerifiedAddressOfANewPasswordWithTheKeysThatLiveOn) {
  TestUser user = register_user(stack());
  ASSERT_EQ(change(user, user.password, "the second password").status, 204);
  EXPECT_EQ(mail_count(stack(), user.email, "password_changed"), 0) << "it may be a stranger's";
  stack().sql().run_text(
      fmt::format("UPDATE users SET email_verified_at = now() WHERE id = '{}'", user.id));
  ASSERT_EQ(change(user, "the second password", "the third password").status, 204);
  auto reported = [&] {
    return sql_value(stack(), fmt::format("SELECT fields - 'username' FROM outbox WHERE recipient "
                                          "= '{}' AND template = 'password_changed' ORDER BY id "
                                          "DESC LIMIT 1",
                                          user.email));
  };
  EXPECT_EQ(reported(), "{}");
  std::string work = make_workspace(stack(), user);
  auto add_key = [&](const std::string& org_id, const std::string& name, const char* over) {
    stack().sql().run_text(fmt::format(
        "INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash, revoked_at, expires_at) "
        "VALUES ('{}', '{}', '{}', 'hst_{}', sha256('{}'), {})",
        org_id, user.id, name, name.substr(0, 4), new_name(), over));
  };
  add_key(user.org_id, "revoked", "now(), NULL");
  add_key(user.org_id, "expired", "NULL, now()");
  TestUser colleague = register_user(stack());
  add_key(colleague.org_id, "left", "NULL, NULL");  // of an organization that they left
  add_key(user.org_id, "build", "NULL, now() + interval '1 day'");
  add_key(work, "deploy" + std::string(60, 'y'), "NULL, NULL");
  ASSERT_EQ(change(user, "the third password", "the fourth password").status, 204);
  EXPECT_EQ(reported(),
            fmt::format(R"({{"keys": [{{"name": "deploy{}…", "prefix": "hst_depl"}}, )"
                        R"({{"name": "build", "prefix": "hst_buil"}}], "key_count": 2}})",
                        std::string(53, 'y')));
  for (int i = 0; i < 21; ++i) add_key(user.org_id, "many", "NULL, NULL");
  ASSERT_EQ(change(user, "the fourth password", "the fifth password").status, 204);
  EXPECT_EQ(reported().find("deploy"), std::string::npos);
  EXPECT_NE(reported().find(R"("more": 3, "key_count": 23)"), std::string::npos) << reported();
}

TEST_F(OwnAccount, RefusesAWrongCurrentPasswordAndCountsIt) {
  TestUser user = register_user(stack());
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(is_problem(change(user, "wrong", "long enough"), 422, "auth.wrong_password"));
  }
  Answer closed = change(user, user.password, "long enough");
  EXPECT_TRUE(is_problem(closed, 429, "auth.rate_limited"));
  EXPECT_GT(closed.header_number("retry-after"), 500);
  EXPECT_TRUE(is_problem(end_account(user, user.password), 429, "auth.rate_limited"));
  stack().sql().run_text(fmt::format("DELETE FROM login_failures WHERE login_key = '{}'", user.id));
  EXPECT_EQ(change(user, user.password, "long enough").status, 204);
}

TEST_F(OwnAccount, KnowsTheBoundsOfANewPassword) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(has_fault(change(user, user.password, "short"), "new_password", "too_short"));
  EXPECT_TRUE(has_fault(change(user, user.password, ""), "new_password", "too_short"));
  EXPECT_TRUE(
      has_fault(change(user, user.password, std::string(129, 'x')), "new_password", "too_long"));
  EXPECT_TRUE(has_fault(change(user, user.password, user.login), "new_password", "bad_format"));
  EXPECT_TRUE(has_fault(change(user, user.password, user.email), "new_password", "bad_format"));
  Answer nothing = user.client.post("/v1/me/password", "{}");
  EXPECT_TRUE(has_fault(nothing, "current_password", "required"));
  EXPECT_TRUE(has_fault(nothing, "new_password", "required"));
  EXPECT_EQ(fault_count(nothing), 2u);
  EXPECT_EQ(try_login(user.login, user.password).status, 200);
}

TEST_F(OwnAccount, TakesANewPasswordWithoutTheOldOneSoonAfterALoginByCode) {
  TestUser user = register_user(stack());
  begin_by_code(user, "9 minutes");
  EXPECT_TRUE(is_problem(change(user, "wrong", "long enough"), 422, "auth.wrong_password"));
  Answer changed = user.client.post("/v1/me/password", R"({"new_password":"long enough"})");
  EXPECT_EQ(changed.status, 204) << changed.body;
  EXPECT_EQ(try_login(user.login, "long enough").status, 200);
  EXPECT_NE(audited(user, "auth.password_changed").find(R"(user ok {"forgotten": true})"),
            std::string::npos);
}

TEST_F(OwnAccount, AsksForTheOldPasswordLaterThanTenMinutesAfterALoginByCode) {
  TestUser user = register_user(stack());
  begin_by_code(user, "10 minutes");
  EXPECT_TRUE(has_fault(user.client.post("/v1/me/password", R"({"new_password":"long enough"})"),
                        "current_password", "required"));
}

TEST_F(OwnAccount, LetsOneOfTwoChangesAtOnceWin) {
  TestUser user = register_user(stack());
  std::vector<Call> calls;
  for (std::string wanted : {"the first one", "the other one"}) {
    calls.push_back(
        {"POST", "/v1/me/password", passwords(user.password, wanted), "application/json", {}});
  }
  int changed = 0;
  for (const Answer& answer : user.client.send_all(calls)) changed += answer.status == 204 ? 1 : 0;
  EXPECT_EQ(changed, 1);
}

TEST_F(OwnAccount, EndsWithEverythingThatBelongsToIt) {
  TestUser user = register_user(stack());
  Client key = stack().client().with_token(make_api_key(stack(), user, user.org_id));
  ASSERT_EQ(key.get("/v1/me").status, 200);
  EXPECT_TRUE(is_problem(end_account(user, "wrong"), 422, "auth.wrong_password"));
  EXPECT_EQ(audited(user, "users.delete_self"), "user failed");
  EXPECT_TRUE(has_fault(user.client.send({"DELETE", "/v1/me", "{}", "application/json", {}}),
                        "current_password", "required"));
  Answer gone = end_account(user, user.password);
  ASSERT_EQ(gone.status, 204) << gone.body;
  EXPECT_EQ(gone.header("set-cookie"),
            "hostler_refresh_token=; Path=/v1/auth; HttpOnly; Secure; SameSite=Lax; Max-Age=0");
  EXPECT_TRUE(is_problem(user.client.get("/v1/me"), 401, "auth.invalid_token"));
  EXPECT_TRUE(is_problem(key.get("/v1/me"), 401, "auth.invalid_api_key"));
  EXPECT_EQ(try_login(user.login, user.password).status, 401);
  EXPECT_EQ(try_login(user.email, user.password).status, 401);
  EXPECT_EQ(audited(user, "users.delete_self"), R"(user failed, user ok {"status": "deleted"})");
  Answer again = stack().client().post("/v1/auth/register",
                                       account_json(user.login, user.password, user.email));
  EXPECT_EQ(again.status, 201) << again.body;
}

TEST_F(OwnAccount, StaysWhileItIsTheLastOwnerOfAWorkspace) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string work = make_workspace(stack(), user);
  EXPECT_TRUE(is_problem(end_account(user, user.password), 409, "orgs.last_owner"));
  EXPECT_EQ(status_of_me(user.client.token), 200);
  add_member(stack(), work, other, "owner");
  EXPECT_EQ(end_account(user, user.password).status, 204);
  EXPECT_EQ(other.client.with_org(work).get("/v1/me").status, 200);
}

TEST_F(OwnAccount, OfTheLastAdministratorStays) {
  ApiStack own;  // in the shared one other tests make administrators
  TestUser admin = register_admin(own);
  EXPECT_TRUE(is_problem(end_account(admin, admin.password), 409, "users.last_admin"));
  register_admin(own);
  EXPECT_EQ(end_account(admin, admin.password).status, 204);
}

TEST_F(OwnAccount, CancelsItsRuns) {
  ApiStack own;
  TestUser user = register_user(own);
  stack();
  own.sql().run_text(
      "INSERT INTO llm_providers (id, name, provider_kind) VALUES (uuidv7(), 'p', 'openai')");
  own.sql().run_text(
      "INSERT INTO llm_models (provider_id, model, is_default) SELECT id, 'm', true FROM "
      "llm_providers");
  std::string thread = user.client.post("/v1/threads", "{}").member("id");
  user.client.post("/v1/threads/" + thread + "/messages", R"({"content":"hello"})");
  Answer run = user.client.post("/v1/threads/" + thread + "/runs");
  ASSERT_EQ(run.status, 201) << run.body;
  ASSERT_EQ(end_account(user, user.password).status, 204);
  EXPECT_EQ(sql_value(own, "SELECT status FROM runs"), "cancelled");
}

TEST(Sessions, AreListedNewestFirstWithWhereTheyCameFrom) {
  TestUser user = register_user(stack());
  Client second = stack().client();
  Answer logged_in =
      second.send({"POST",
                   "/v1/auth/login",
                   fmt::format(R"({{"login":"{}","password":"{}"}})", user.login, user.password),
                   "application/json",
                   {{"User-Agent", "a telephone"}}});
  second.token = logged_in.member("access_token");
  Answer list = second.get("/v1/me/sessions");
  ASSERT_EQ(list.status, 200) << list.body;
  Json sessions = list.json();
  ASSERT_EQ(sessions.as_array()->size(), 2u);
  const Json& newest = (*sessions.as_array())[0];
  EXPECT_EQ(newest.text_or("user_agent"), "a telephone");
  EXPECT_EQ(newest.text_or("client_ip"), "127.0.0.1");
  EXPECT_TRUE(*newest.find("current")->as_boolean());
  EXPECT_FALSE(*(*sessions.as_array())[1].find("current")->as_boolean());
  Answer page = second.get("/v1/me/sessions?limit=1");
  EXPECT_EQ(page.json().as_array()->size(), 1u);
  Answer rest = second.get(page.next_path());
  EXPECT_EQ(rest.json().as_array()->size(), 1u);
  EXPECT_EQ(rest.next_path(), "");
  EXPECT_TRUE(has_fault(second.get("/v1/me/sessions?limit=0"), "limit", "out_of_range"));
  EXPECT_TRUE(has_fault(second.get("/v1/me/sessions?before=x"), "before", "bad_format"));
}

TEST(Sessions, ThatEndedAreNotListed) {
  TestUser user = register_user(stack());
  Client second = log_in(stack(), user);
  Client third = log_in(stack(), user);
  second.post("/v1/auth/logout");
  stack().sql().run_text(fmt::format(
      "UPDATE refresh_tokens SET expires_at = now() WHERE hash = sha256('{}')", user.refresh));
  EXPECT_EQ(third.get("/v1/me/sessions").json().as_array()->size(), 1u);
}

TEST(Sessions, AreEndedOneByOne) {
  TestUser user = register_user(stack());
  TestUser stranger = register_user(stack());
  Client second = log_in(stack(), user);
  std::string id = sql_value(
      stack(), fmt::format("SELECT min(id::text) FROM sessions WHERE user_id = '{}'", user.id));
  std::string path = "/v1/me/sessions/" + id;
  EXPECT_TRUE(is_problem(stranger.client.del(path), 404, "sessions.not_found"));
  EXPECT_EQ(status_of_me(user.client.token), 200);
  EXPECT_EQ(second.del(path).status, 204);
  EXPECT_TRUE(is_problem(user.client.get("/v1/me"), 401, "auth.invalid_token"));
  EXPECT_EQ(status_of_me(second.token), 200);
  EXPECT_TRUE(is_problem(second.del(path), 404, "sessions.not_found")) << "it has ended";
  EXPECT_TRUE(is_problem(second.del("/v1/me/sessions/x"), 404, "sessions.not_found"));
  EXPECT_EQ(audited(user, "auth.session_revoked"), "session ok");
}

TEST(InviteCode, IsTheOneThatIsActive) {
  TestUser user = register_user(stack());
  Answer own = user.client.get("/v1/me/invite-code");
  ASSERT_EQ(own.status, 200) << own.body;
  EXPECT_EQ(own.member("user_id"), user.id);
  EXPECT_EQ(own.member("code").size(), 8u);
  EXPECT_EQ(own.member("max_uses"), "1");
  EXPECT_EQ(own.member("use_count"), "0");
  EXPECT_EQ(own.member("is_active"), "true");
  EXPECT_EQ(own.member("user_login"), user.login);
  EXPECT_EQ(own.member("user_email"), user.email);
  register_user(stack(), fmt::format(R"("invite_code":"{}")", own.member("code")));
  EXPECT_EQ(user.client.get("/v1/me/invite-code").member("use_count"), "1");
  stack().sql().run_text(
      fmt::format("UPDATE invite_codes SET is_active = false WHERE user_id = '{}'", user.id));
  EXPECT_TRUE(is_problem(user.client.get("/v1/me/invite-code"), 404, "invite_codes.not_found"));
}

TEST(InviteCode, IsMadeAnewOnceADay) {
  TestUser user = register_user(stack());
  std::string old_code = user.client.get("/v1/me/invite-code").member("code");
  Answer made = user.client.post("/v1/me/invite-code/reset");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_NE(made.member("code"), old_code);
  EXPECT_EQ(made.body, user.client.get("/v1/me/invite-code").body);
  Answer refused = stack().client().post(
      "/v1/auth/register", account_json(new_name(), "long enough", new_name() + "@example.org",
                                        fmt::format(R"("invite_code":"{}")", old_code)));
  EXPECT_NE(refused.member("warning").find("invitation code"), std::string::npos);
  Answer again = user.client.post("/v1/me/invite-code/reset");
  EXPECT_TRUE(is_problem(again, 429, "invite_codes.reset_cooldown"));
  EXPECT_GT(again.header_number("retry-after"), 86'000);
  EXPECT_EQ(user.client.get("/v1/me/invite-code").body, made.body);
  stack().sql().run_text(
      fmt::format("UPDATE users SET invite_code_reset_at = invite_code_reset_at - interval '1 day' "
                  "WHERE id = '{}'",
                  user.id));
  EXPECT_EQ(user.client.post("/v1/me/invite-code/reset").status, 201);
  EXPECT_EQ(audited(user, "invite_codes.reset"), "invite_code ok, invite_code ok");
}

}  // namespace
}  // namespace hostler::testing_support
