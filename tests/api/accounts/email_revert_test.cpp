// POST /v1/auth/email/revert: the way back that a change of address leaves to the old one.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"
#include "tests/support/rows/mails.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

// Codes and changes are counted by address or user, and all tests have the same client.
class EmailRevert : public ::testing::Test {
 protected:
  void SetUp() override { stack().sql().run_text("TRUNCATE attempts"); }
};

std::string new_email() { return new_name("mail") + "@example.net"; }

std::string token_json(std::string_view token) {
  return fmt::format(R"({{"token":{}}})", json_quote(token));
}

Answer confirm(std::string_view token) {
  return stack().client().post("/v1/auth/email/verify/confirm", token_json(token));
}

Answer revert(std::string_view token) {
  return stack().client().post("/v1/auth/email/revert", token_json(token));
}

TestUser verified_user() {
  TestUser user = register_user(stack());
  EXPECT_EQ(confirm(mailed(stack(), user.email, "verify_email", "token")).status, 200);
  return user;
}

// The change in the name of somebody who knows the password.
void ask_for(const TestUser& user, const std::string& email) {
  Answer asked = user.client.post(
      "/v1/me/email",
      fmt::format(R"({{"email":"{}","current_password":{}}})", email, json_quote(user.password)));
  ASSERT_EQ(asked.status, 204) << asked.body;
}

void change_to(const TestUser& user, const std::string& email) {
  ask_for(user, email);
  Answer confirmed = confirm(mailed(stack(), email, "change_email", "token"));
  ASSERT_EQ(confirmed.status, 200) << confirmed.body;
}

std::string revert_token_to(const std::string& email) {
  return mailed(stack(), email, "email_changed", "token");
}

std::string address_of(const TestUser& user) {
  return sql_value(stack(), fmt::format("SELECT email || ' ' || (email_verified_at IS NOT NULL) "
                                        "FROM users WHERE id = '{}'",
                                        user.id));
}

Answer register_as(const std::string& email) {
  return stack().client().post("/v1/auth/register", account_json(new_name(), "long enough", email));
}

Answer check(const std::string& email) {
  return stack().client().post("/v1/auth/check", fmt::format(R"({{"login":"{}"}})", email));
}

Answer try_login(const TestUser& user, std::string_view password) {
  return stack().client().post(
      "/v1/auth/login",
      fmt::format(R"({{"login":{},"password":{}}})", json_quote(user.login), json_quote(password)));
}

// A client whose session a code to the address began.
Client enter_by_code(const std::string& email) {
  stack().client().post("/v1/auth/email/otp/send", fmt::format(R"({{"email":"{}"}})", email));
  Answer entered = stack().client().post("/v1/auth/email/otp/verify",
                                         fmt::format(R"({{"email":"{}","otp":"{}"}})", email,
                                                     mailed(stack(), email, "login_code", "code")));
  EXPECT_EQ(entered.status, 200) << entered.body;
  return stack().client().with_token(entered.member("access_token"));
}

TEST_F(EmailRevert, TakesTheAccountBackFromWhoeverChangedIt) {
  TestUser user = verified_user();
  Client owners_key = stack().client().with_token(make_api_key(stack(), user, user.org_id));
  TestUser thief = user;  // knows the password
  thief.client = log_in(stack(), user);
  std::string theirs = new_email();
  ask_for(thief, theirs);
  Client early_key = stack().client().with_token(make_api_key(stack(), user, user.org_id));
  ASSERT_EQ(confirm(mailed(stack(), theirs, "change_email", "token")).status, 200);
  EXPECT_EQ(mail_count(stack(), user.email, "email_changed"), 1);
  Client by_code = enter_by_code(theirs);
  ASSERT_EQ(by_code.post("/v1/me/password", R"({"new_password":"the thief's own"})").status, 204);
  Client late_key = stack().client().with_token(make_api_key(stack(), user, user.org_id));
  std::string next = new_email();
  thief.client = by_code;
  thief.password = "the thief's own";
  ask_for(thief, next);
  stack().client().post("/v1/auth/email/otp/send", fmt::format(R"({{"email":"{}"}})", theirs));

  Answer back = revert(" " + revert_token_to(user.email) + "\n");
  ASSERT_EQ(back.status, 200) << back.body;
  EXPECT_EQ(back.body, R"({"ok":true})");
  EXPECT_EQ(address_of(user), user.email + " true");
  for (const Client& client : {user.client, by_code}) {
    EXPECT_TRUE(is_problem(client.get("/v1/me"), 401, "auth.invalid_token"));
  }
  EXPECT_EQ(owners_key.get("/v1/me").status, 200) << "from before the change was asked for";
  for (const Client& key : {early_key, late_key}) {
    EXPECT_TRUE(is_problem(key.get("/v1/me"), 401, "auth.invalid_api_key"));
  }
  for (const std::string& password : {user.password, thief.password}) {
    EXPECT_TRUE(is_problem(try_login(user, password), 401, "auth.invalid_credentials"));
  }
  EXPECT_TRUE(is_problem(confirm(mailed(stack(), next, "change_email", "token")), 422,
                         "email.token_invalid"));
  Answer code = stack().client().post("/v1/auth/email/otp/verify",
                                      fmt::format(R"({{"email":"{}","otp":"{}"}})", theirs,
                                                  mailed(stack(), theirs, "login_code", "code")));
  EXPECT_TRUE(is_problem(code, 422, "auth.otp_invalid"));
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT string_agg(concat_ws(' ', target_id, org_id, "
                                           "result, after_state), ', ') FROM audit_logs WHERE "
                                           "action = 'auth.email_reverted' AND actor_user_id = "
                                           "'{}'",
                                           user.id)),
            fmt::format(R"({} {} ok {{"email_verified": true, "password_voided": true, )"
                        R"("api_keys_revoked": 2, "settings_switched_off": 0}})",
                        user.id, user.org_id));

  Client owner = enter_by_code(user.email);
  EXPECT_EQ(owner.post("/v1/me/password", R"({"new_password":"safe and sound"})").status, 204);
  EXPECT_EQ(try_login(user, "safe and sound").status, 200);
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT fields ->> 'key_count' FROM outbox WHERE "
                                           "recipient = '{}' AND template = 'password_changed'",
                                           user.email)),
            "1")
      << "what the thief made before is named to the owner";
}

TEST_F(EmailRevert, TakesATokenOnceHoweverManyFollowIt) {
  TestUser user = verified_user();
  change_to(user, new_email());
  std::vector<Call> calls(4, {"POST",
                              "/v1/auth/email/revert",
                              token_json(revert_token_to(user.email)),
                              "application/json",
                              {}});
  int taken = 0;
  for (const Answer& answer : stack().client().send_all(calls)) {
    taken += answer.status == 200 ? 1 : 0;
    bool is_refused = answer.status == 200 || is_problem(answer, 422, "email.token_invalid");
    EXPECT_TRUE(is_refused) << answer.body;
  }
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(address_of(user), user.email + " true");
}

TEST_F(EmailRevert, RefusesTokensThatAreWrongOldOrOfAnotherKind) {
  EXPECT_TRUE(is_problem(revert(std::string(43, 'A')), 422, "email.token_invalid"));
  EXPECT_TRUE(has_fault(revert(""), "token", "required"));
  EXPECT_TRUE(has_fault(stack().client().post("/v1/auth/email/revert", "{}"), "token", "required"));
  TestUser user = verified_user();
  std::string second = new_email();
  ask_for(user, second);
  EXPECT_TRUE(is_problem(revert(mailed(stack(), second, "change_email", "token")), 422,
                         "email.token_invalid"));
  ASSERT_EQ(confirm(mailed(stack(), second, "change_email", "token")).status, 200);
  std::string revert_token = revert_token_to(user.email);
  EXPECT_TRUE(is_problem(confirm(revert_token), 422, "email.token_invalid"));
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT round(extract(epoch FROM expires_at - now()) / "
                                           "3600) FROM email_reverts WHERE hash = sha256('{}')",
                                           revert_token)),
            "168");
  stack().sql().run_text(fmt::format(
      "UPDATE email_reverts SET expires_at = now() - interval '1 second' WHERE user_id = '{}'",
      user.id));
  EXPECT_TRUE(is_problem(revert(revert_token), 422, "email.token_invalid"));
  EXPECT_EQ(address_of(user), second + " true");
}

TEST_F(EmailRevert, LeadsFromTheLastOfManyChangesToTheFirstAddress) {
  TestUser user = verified_user();
  std::string second = new_email(), third = new_email();
  change_to(user, second);
  change_to(user, third);
  ASSERT_EQ(revert(revert_token_to(user.email)).status, 200);
  EXPECT_EQ(address_of(user), user.email + " true");
  EXPECT_TRUE(is_problem(revert(revert_token_to(second)), 422, "email.token_invalid"))
      << "what is later undoes nothing";
  EXPECT_EQ(address_of(user), user.email + " true");
}

TEST_F(EmailRevert, LeadsFurtherBackAfterALaterChangeWasTakenBack) {
  TestUser user = verified_user();
  std::string second = new_email(), third = new_email();
  change_to(user, second);
  change_to(user, third);
  ASSERT_EQ(revert(revert_token_to(second)).status, 200);
  EXPECT_EQ(address_of(user), second + " true");
  ASSERT_EQ(revert(revert_token_to(user.email)).status, 200);
  EXPECT_EQ(address_of(user), user.email + " true");
}

TEST_F(EmailRevert, KeepsTheOldAddressFromOthersUntilItsEnd) {
  TestUser user = verified_user();
  TestUser other = register_user(stack());
  change_to(user, new_email());
  std::string upper = "USER" + user.email.substr(4);
  EXPECT_TRUE(is_problem(register_as(upper), 409, "auth.email_exists"));
  EXPECT_EQ(check(upper).body, R"({"exists":true})") << "as registration says";
  Answer asked = other.client.post(
      "/v1/me/email",
      fmt::format(R"({{"email":"{}","current_password":"{}"}})", upper, other.password));
  EXPECT_TRUE(is_problem(asked, 409, "auth.email_exists"));
  TestUser admin = register_admin(stack());
  EXPECT_TRUE(is_problem(
      admin.client.patch("/v1/admin/users/" + other.id, fmt::format(R"({{"email":"{}"}})", upper)),
      409, "auth.email_exists"));
  change_to(user, user.email);  // its own may go back by themself
  EXPECT_EQ(address_of(user), user.email + " true");
  change_to(user, new_email());
  stack().sql().run_text(fmt::format(
      "UPDATE email_reverts SET expires_at = now() - interval '2 minutes' WHERE user_id = '{}'",
      user.id));
  EXPECT_EQ(check(upper).body, R"({"exists":false})");
  EXPECT_EQ(register_as(upper).status, 201);
}

TEST_F(EmailRevert, EndsWithTheAccountAndByAnAdministratorsWord) {
  TestUser admin = register_admin(stack());
  TestUser moved = verified_user();
  change_to(moved, new_email());
  ASSERT_EQ(admin.client
                .patch("/v1/admin/users/" + moved.id,
                       fmt::format(R"({{"email":"{}","email_verified":true}})", new_email()))
                .status,
            200);
  EXPECT_TRUE(is_problem(revert(revert_token_to(moved.email)), 422, "email.token_invalid"));
  EXPECT_EQ(register_as(moved.email).status, 201);
  TestUser gone = verified_user();
  change_to(gone, new_email());
  std::string revert_token = revert_token_to(gone.email);  // what is not sent goes with the account
  ASSERT_EQ(admin.client.del("/v1/admin/users/" + gone.id).status, 204);
  EXPECT_TRUE(is_problem(revert(revert_token), 422, "email.token_invalid"));
  EXPECT_EQ(register_as(gone.email).status, 201);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM email_reverts WHERE user_id IN "
                                            "('{}', '{}')",
                                            moved.id, gone.id)),
            0);
}

TEST_F(EmailRevert, LeavesASuspendedUserSuspended) {
  TestUser user = verified_user();
  change_to(user, new_email());
  stack().sql().run_text(fmt::format("SELECT user_set_status('{}', 'suspended')", user.id));
  EXPECT_EQ(revert(revert_token_to(user.email)).status, 200);
  EXPECT_EQ(address_of(user), user.email + " true");
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT status FROM users WHERE id = '{}'", user.id)),
            "suspended");
}

TEST_F(EmailRevert, IsPrunedAsNewOnesCome) {
  TestUser user = verified_user();
  change_to(user, new_email());
  stack().sql().run_text(fmt::format(
      "UPDATE email_reverts SET expires_at = now() - interval '400 days' WHERE user_id = '{}'",
      user.id));
  TestUser next = verified_user();
  change_to(next, new_email());
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM email_reverts WHERE user_id = "
                                            "'{}'",
                                            user.id)),
            0);
}

}  // namespace
}  // namespace hostler::testing_support
