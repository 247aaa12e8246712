// Users as platform administrators change and delete them. Routes:
//   PATCH /v1/admin/users/{user_id}      DELETE /v1/admin/users/{user_id}
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"
#include "tests/support/rows/mails.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

const TestUser& admin() {
  static const TestUser user = register_admin(stack());
  return user;
}

std::string path_of(const TestUser& user) { return "/v1/admin/users/" + user.id; }

Answer change(const TestUser& user, std::string body) {
  return admin().client.patch(path_of(user), std::move(body));
}

// The audit rows of a user's change, as action:result, oldest first.
std::string audited(const TestUser& user) {
  return sql_value(
      stack(), fmt::format("SELECT coalesce(string_agg(action || ':' || result, ' ' ORDER BY id), "
                           "'') FROM audit_logs WHERE target_id = '{}' AND action LIKE 'users.%'",
                           user.id));
}

Answer log_in_with(const std::string& login, const std::string& password) {
  return stack().client().post(
      "/v1/auth/login",
      fmt::format(R"({{"login":{},"password":{}}})", json_quote(login), json_quote(password)));
}

TEST(AdminUserChanges, OfTheProfileAreAnsweredAndAudited) {
  TestUser user = register_user(stack());
  std::string name = new_name("renamed");
  Answer changed = change(
      user, fmt::format(R"({{"username":" {0} ","email":"{0}@example.net","email_verified":true,)"
                        R"("locale":"de_AT","timezone":"Europe/Vienna"}})",
                        name));
  ASSERT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.member("username"), name);
  EXPECT_EQ(changed.member("login"), user.login);
  EXPECT_EQ(changed.member("email"), name + "@example.net");
  EXPECT_EQ(changed.member("email_verified"), "true");
  EXPECT_EQ(changed.member("locale"), "de-AT");
  EXPECT_EQ(changed.member("timezone"), "Europe/Vienna");
  EXPECT_EQ(changed.body, admin().client.get(path_of(user)).body);
  EXPECT_EQ(audited(user), "users.update:ok");
  EXPECT_EQ(log_in_with(name, user.password).status, 200) << "the new name serves";
  EXPECT_EQ(log_in_with(user.email, user.password).status, 401) << "the old address does not";
  EXPECT_EQ(user.client.get("/v1/me").status, 200) << "the session goes on";
  EXPECT_EQ(change(user, R"({"locale":"de-AT"})").status, 200);
  EXPECT_EQ(audited(user), "users.update:ok") << "nothing changed, nothing to tell";
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE target_id = "
                                            "'{}' AND (before_state::text || after_state::text) "
                                            "LIKE '%example%'",
                                            user.id)),
            0)
      << "no personal words in what outlives the user";
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT after_state FROM audit_logs WHERE target_id = "
                                           "'{}' AND action = 'users.update'",
                                           user.id)),
            R"({"locale": "de-AT", "timezone": "Europe/Vienna", "email_changed": true, )"
            R"("email_verified": true, "username_changed": true})")
      << "nor hashes of them";
}

TEST(AdminUserChanges, OfTheAddressMakeItUnverified) {
  TestUser user = register_user(stack());
  EXPECT_EQ(change(user, R"({"email_verified":true})").member("email_verified"), "true");
  EXPECT_EQ(change(user, fmt::format(R"({{"email":"{}@example.net"}})", new_name()))
                .member("email_verified"),
            "false");
  EXPECT_EQ(change(user, R"({"email_verified":true})").member("email_verified"), "true");
  EXPECT_EQ(change(user, R"({"email_verified":false})").member("email_verified"), "false");
}

// The thief of the account may have asked for another address, whose link they have.
TEST(AdminUserChanges, OfTheAddressVoidWhatWasMailedBefore) {
  stack().sql().run_text("TRUNCATE attempts");
  TestUser user = register_user(stack());
  std::string theirs = new_name("thief") + "@example.net";
  Answer asked = user.client.post(
      "/v1/me/email",
      fmt::format(R"({{"email":"{}","current_password":{}}})", theirs, json_quote(user.password)));
  ASSERT_EQ(asked.status, 204) << asked.body;
  std::string own = fmt::format(R"("email":"{}")", user.email);
  ASSERT_EQ(stack().client().post("/v1/auth/email/otp/send", "{" + own + "}").status, 204);
  std::string moved = new_name("moved") + "@example.net";
  EXPECT_EQ(change(user, fmt::format(R"({{"email":"{}"}})", moved)).status, 200);
  Answer confirmed = stack().client().post(
      "/v1/auth/email/verify/confirm",
      fmt::format(R"({{"token":"{}"}})", mailed(stack(), theirs, "change_email", "token")));
  EXPECT_TRUE(is_problem(confirmed, 422, "email.token_invalid"));
  EXPECT_EQ(admin().client.get(path_of(user)).member("email"), moved);
  EXPECT_EQ(change(user, "{" + own + "}").status, 200);
  Answer entered = stack().client().post(
      "/v1/auth/email/otp/verify",
      fmt::format(R"({{{},"otp":"{}"}})", own, mailed(stack(), user.email, "login_code", "code")));
  EXPECT_TRUE(is_problem(entered, 422, "auth.otp_invalid")) << "though the address is back";
}

TEST(AdminUserChanges, RefuseNamesAndAddressesOfOthers) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string upper = other.login;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_TRUE(is_problem(change(user, fmt::format(R"({{"username":"{}"}})", upper)), 409,
                         "users.username_exists"));
  EXPECT_TRUE(is_problem(change(user, fmt::format(R"({{"email":"{}@EXAMPLE.org"}})", upper)), 409,
                         "auth.email_exists"));
  EXPECT_TRUE(has_fault(change(user, "{\"email\":\"\uff41@example.org\"}"), "email", "bad_format"));
  Answer back = change(user, fmt::format(R"({{"username":"{}"}})", user.login));
  EXPECT_EQ(back.status, 200) << "one's own login is one's own";
  EXPECT_EQ(audited(user), "");
}

TEST(AdminUserChanges, RefuseBadInput) {
  TestUser user = register_user(stack());
  for (const char* body :
       {"{}", R"({"name":"x"})", R"({"login":"x"})", R"({"platform_admin":true})"}) {
    EXPECT_TRUE(is_problem(change(user, body), 422, "validation.error")) << body;
  }
  Answer many =
      change(user, R"({"status":"deleted","username":"a@b","email":"x","email_verified":1,)"
                   R"("locale":"?","timezone":"Mars/Base"})");
  EXPECT_EQ(fault_count(many), 6u) << many.body;
  EXPECT_EQ(change(user, R"({"status":null})").status, 422);
  EXPECT_TRUE(is_problem(change(user, "[]"), 400, "http.bad_json"));
  EXPECT_TRUE(
      is_problem(admin().client.patch("/v1/admin/users/01a1fa43-8dcd-7506-ab81-ef7a33b2be1a", "{}"),
                 404, "users.not_found"))
      << "404 comes before 422";
  EXPECT_TRUE(
      is_problem(user.client.patch(path_of(user), R"({"locale":"de"})"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(user.client.del(path_of(user)), 403, "auth.forbidden"));
}

TEST(AdminUserChanges, SuspendingEndsSessionsAndKeysForGood) {
  TestUser user = register_user(stack());
  Client second = log_in(stack(), user);
  Client key = stack().client().with_token(make_api_key(stack(), user, user.org_id));
  EXPECT_EQ(key.get("/v1/me").status, 200);
  Answer suspended = change(user, R"({"status":"suspended"})");
  ASSERT_EQ(suspended.status, 200) << suspended.body;
  EXPECT_EQ(suspended.member("status"), "suspended");
  EXPECT_TRUE(is_problem(user.client.get("/v1/me"), 401, "auth.invalid_token"));
  EXPECT_TRUE(is_problem(second.get("/v1/me"), 401, "auth.invalid_token"));
  EXPECT_EQ(second.post("/v1/auth/refresh").status, 401);
  EXPECT_TRUE(is_problem(key.get("/v1/me"), 401, "auth.invalid_api_key"));
  EXPECT_TRUE(is_problem(log_in_with(user.login, user.password), 403, "auth.user_suspended"));
  EXPECT_EQ(change(user, R"({"status":"suspended"})").status, 200);
  EXPECT_EQ(change(user, R"({"status":"active"})").member("status"), "active");
  EXPECT_EQ(user.client.get("/v1/me").status, 401) << "ended sessions stay ended";
  EXPECT_TRUE(is_problem(key.get("/v1/me"), 401, "auth.invalid_api_key")) << "and keys";
  EXPECT_EQ(log_in_with(user.login, user.password).status, 200);
  EXPECT_EQ(audited(user), "users.suspend:ok users.activate:ok");
}

TEST(AdminUserChanges, NobodySuspendsOrDeletesThemself) {
  EXPECT_TRUE(is_problem(change(admin(), R"({"status":"suspended"})"), 409, "users.self"));
  EXPECT_TRUE(is_problem(admin().client.del(path_of(admin())), 409, "users.self"));
  EXPECT_EQ(change(admin(), R"({"status":"active"})").status, 200);
}

TEST(AdminUserChanges, OfTwoAdministratorsThatSuspendEachOtherOneStays) {
  ApiStack alone;  // with no other administrators
  TestUser one = register_admin(alone);
  TestUser two = register_admin(alone);
  const std::string body = R"({"status":"suspended"})";
  auto call_of = [&body](const TestUser& by, const TestUser& whom) {
    return Call{"PATCH",
                path_of(whom),
                body,
                "application/json",
                {{"Authorization", "Bearer " + by.client.token}}};
  };
  std::vector<Answer> answers =
      alone.client().send_all({call_of(one, two), call_of(two, one), call_of(one, two)});
  EXPECT_EQ(sql_number(alone,
                       "SELECT count(*) FROM users WHERE platform_admin AND status = "
                       "'active'"),
            1);
  for (const Answer& answer : answers) {
    EXPECT_TRUE(answer.status == 200 || answer.status == 401 || answer.status == 409)
        << answer.status << " " << answer.body;
  }
  EXPECT_NE(answers[0].status == 200, answers[1].status == 200);
}

TEST(AdminUserDelete, ScrubsAndFreesNamesAndEndsEverything) {
  TestConversation conversation = make_conversation(stack());
  const TestUser& user = conversation.user;
  std::string run_id = start_run(user.client, conversation.thread_id);
  Client key = stack().client().with_token(make_api_key(stack(), user, user.org_id));
  Answer deleted = admin().client.del(path_of(user));
  ASSERT_EQ(deleted.status, 204) << deleted.body;
  EXPECT_EQ(user.client.get("/v1/me").status, 401);
  EXPECT_EQ(key.get("/v1/me").status, 401);
  EXPECT_TRUE(is_problem(log_in_with(user.login, user.password), 401, "auth.invalid_credentials"));
  Answer shown = admin().client.get(path_of(user));
  EXPECT_EQ(shown.member("status"), "deleted");
  EXPECT_EQ(shown.body.find(user.login), std::string::npos) << shown.body;
  EXPECT_EQ(admin().client.get("/v1/admin/users?status=deleted&q=" + user.login).body, "[]");
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT status FROM runs WHERE id = '{}'", run_id)),
            "cancelled");
  EXPECT_EQ(audited(user), "users.delete:ok");
  EXPECT_TRUE(is_problem(admin().client.del(path_of(user)), 404, "users.not_found"));
  EXPECT_TRUE(is_problem(change(user, R"({"status":"active"})"), 404, "users.not_found"));
  Answer again = stack().client().post("/v1/auth/register",
                                       account_json(user.login, user.password, user.email));
  EXPECT_EQ(again.status, 201) << "login and address are free again";
}

TEST(AdminUserDelete, LeavesNoWorkspaceWithMembersWithoutAnOwner) {
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  TestUser org_admin = register_user(stack());
  std::string shared = make_workspace(stack(), owner);
  add_member(stack(), shared, member, "member");
  add_member(stack(), shared, org_admin, "admin");
  std::string lonely = make_workspace(stack(), owner);
  ASSERT_EQ(admin().client.del(path_of(owner)).status, 204);
  auto roles = [](const std::string& org_id) {
    return sql_value(stack(), fmt::format("SELECT coalesce(string_agg(user_id || ' ' || role, ', ' "
                                          "ORDER BY role DESC), '') FROM org_members WHERE org_id "
                                          "= '{}'",
                                          org_id));
  };
  EXPECT_EQ(roles(shared), org_admin.id + " owner, " + member.id + " member");
  EXPECT_EQ(roles(lonely), "");
}

}  // namespace
}  // namespace hostler::testing_support
