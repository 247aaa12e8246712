// Proofs by a second factor: POST /v1/auth/confirm, and what asks for current_password; and what
// takes factors away: the first proof of an address, its revert, administrators by
// DELETE /v1/admin/users/{user_id}/factors.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/factors.h"
#include "tests/support/rows/mails.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

// Failures and sent codes are counted by address too, and all tests have the same one.
class FactorProofs : public ::testing::Test {
 protected:
  void SetUp() override { stack().sql().run_text("TRUNCATE login_failures, attempts"); }
};

Answer confirm(const Client& client, std::string_view name, std::string_view value) {
  return client.post("/v1/auth/confirm", fmt::format(R"({{"{}":{}}})", name, json_quote(value)));
}

Answer change_password(const TestUser& user, std::string_view further = "") {
  return user.client.post("/v1/me/password",
                          fmt::format(R"({{"new_password":"another password"{}}})", further));
}

std::string current_password(const TestUser& user) {
  return fmt::format(R"(,"current_password":{})", json_quote(user.password));
}

void age_proofs(const TestUser& user, std::string_view by) {
  stack().sql().run_text(fmt::format(
      "UPDATE sessions SET confirmed_at = confirmed_at - interval '{0}', factor_proved_at = "
      "factor_proved_at - interval '{0}' WHERE user_id = '{1}'",
      by, user.id));
}

int64_t factor_count(const TestUser& user) {
  return sql_number(stack(),
                    fmt::format("SELECT count(*) FROM factors WHERE user_id = '{}'", user.id));
}

std::string login_code(const TestUser& user) {
  stack().client().post("/v1/auth/email/otp/send", fmt::format(R"({{"email":"{}"}})", user.email));
  return mailed(stack(), user.email, "login_code", "code");
}

TEST_F(FactorProofs, AreWantedInAnAccountWithAFactor) {
  TestUser user = register_user(stack());
  TestFactor factor = add_totp(stack(), user);
  EXPECT_TRUE(
      is_problem(confirm(user.client, "password", user.password), 422, "auth.factor_required"));
  EXPECT_TRUE(is_problem(confirm(user.client, "password", "wrong"), 422, "auth.factor_required"));
  EXPECT_TRUE(
      is_problem(confirm(user.client, "otp", login_code(user)), 422, "auth.factor_required"));
  EXPECT_TRUE(is_problem(confirm(user.client, "code", "000000"), 422, "auth.factor_invalid"));
  std::string code = next_code(stack(), factor);
  EXPECT_EQ(confirm(user.client, "code", code).status, 200);
  EXPECT_TRUE(is_problem(confirm(user.client, "code", code), 422, "auth.factor_invalid"));
  EXPECT_EQ(confirm(user.client, "recovery_code", factor.recovery_codes.at(0)).status, 200);
  EXPECT_TRUE(is_problem(confirm(user.client, "recovery_code", factor.recovery_codes.at(0)), 422,
                         "auth.factor_invalid"));
}

TEST_F(FactorProofs, AreTakenOnlyWhereThereIsAFactor) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(is_problem(confirm(user.client, "code", "123456"), 422, "auth.factor_invalid"));
  Answer two = user.client.post("/v1/auth/confirm", R"({"otp":"123456","code":"123456"})");
  EXPECT_TRUE(has_fault(two, "code", "ambiguous"));
}

// Without a factor any proof of five minutes does as well as the password.
TEST_F(FactorProofs, StandForThePassword) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(has_fault(change_password(user), "current_password", "required"));
  ASSERT_EQ(confirm(user.client, "password", user.password).status, 200);
  age_proofs(user, "5 minutes");
  EXPECT_TRUE(has_fault(change_password(user), "current_password", "required"));
  ASSERT_EQ(confirm(user.client, "password", user.password).status, 200);
  EXPECT_EQ(change_password(user).status, 204);
}

TEST_F(FactorProofs, StandForThePasswordAloneInAnAccountWithAFactor) {
  TestUser user = register_user(stack());
  TestFactor factor = add_totp(stack(), user);
  std::string body =
      fmt::format(R"({{"email":"{}"{}}})", new_name() + "@example.net", current_password(user));
  std::string deletion = fmt::format("{{{}}}", current_password(user).substr(1));
  Call end{"DELETE", "/v1/me", deletion, "application/json", {}};
  EXPECT_TRUE(
      is_problem(change_password(user, current_password(user)), 422, "auth.factor_required"));
  EXPECT_TRUE(is_problem(user.client.post("/v1/me/email", body), 422, "auth.factor_required"));
  EXPECT_TRUE(is_problem(user.client.send(end), 422, "auth.factor_required"));
  ASSERT_EQ(confirm(user.client, "code", next_code(stack(), factor)).status, 200);
  EXPECT_EQ(user.client.post("/v1/me/email", body).status, 204);
  EXPECT_EQ(change_password(user).status, 204);
  age_proofs(user, "5 minutes");
  EXPECT_TRUE(is_problem(user.client.send({"DELETE", "/v1/me", "{}", "application/json", {}}), 422,
                         "auth.factor_required"));
  ASSERT_EQ(confirm(user.client, "code", next_code(stack(), factor)).status, 200);
  EXPECT_EQ(user.client.send({"DELETE", "/v1/me", "{}", "application/json", {}}).status, 204);
  EXPECT_EQ(factor_count(user), 0);
}

TEST_F(FactorProofs, AreMadeByALoginWithAFactor) {
  TestUser user = register_user(stack());
  TestFactor factor = add_totp(stack(), user);
  TestUser again = user;
  again.client = log_in_with(stack(), user, factor);
  EXPECT_EQ(change_password(again).status, 204);
}

TEST_F(FactorProofs, TakesAwayWhatWasThereBeforeTheFirstProofOfAnAddress) {
  TestUser user = register_user(stack());
  add_totp(stack(), user);
  TestUser admin = register_admin(stack());
  std::string path = "/v1/admin/users/" + user.id;
  ASSERT_EQ(admin.client.patch(path, R"({"email_verified":false})").status, 200);
  EXPECT_EQ(factor_count(user), 0);
  EXPECT_EQ(mail_count(stack(), user.email, "email_set"), 1);
  ASSERT_EQ(admin.client.patch(path, R"({"email_verified":true})").status, 200);
  EXPECT_EQ(mail_count(stack(), user.email, "email_set"), 2);
  EXPECT_EQ(log_in(stack(), user).get("/v1/me").status, 200) << "no factor is asked for";
}

TEST_F(FactorProofs, TakesAwayWhatWasAddedSinceAnAddressThatComesBack) {
  TestUser user = register_user(stack());
  TestFactor kept = add_totp(stack(), user);
  std::string other = new_name() + "@example.net";
  ASSERT_EQ(confirm(user.client, "code", next_code(stack(), kept)).status, 200);
  ASSERT_EQ(user.client.post("/v1/me/email", fmt::format(R"({{"email":"{}"}})", other)).status,
            204);
  TestFactor added = add_totp(stack(), user);
  ASSERT_EQ(user.client.post("/v1/me/recovery-codes").status, 201);
  std::string token = mailed(stack(), other, "change_email", "token");
  ASSERT_EQ(stack()
                .client()
                .post("/v1/auth/email/verify/confirm", fmt::format(R"({{"token":"{}"}})", token))
                .status,
            200);
  EXPECT_EQ(factor_count(user), 2) << "another proved address keeps them";
  std::string back = mailed(stack(), user.email, "email_changed", "token");
  ASSERT_EQ(stack()
                .client()
                .post("/v1/auth/email/revert", fmt::format(R"({{"token":"{}"}})", back))
                .status,
            200);
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT string_agg(id::text, ' ') FROM factors WHERE "
                                           "user_id = '{}'",
                                           user.id)),
            kept.id);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM recovery_codes WHERE user_id = "
                                            "'{}'",
                                            user.id)),
            0)
      << "who made new ones has them";
}

TEST_F(FactorProofs, AreNotNeededAfterAnAdministratorTookTheFactorsAway) {
  TestUser user = register_user(stack());
  TestUser admin = register_admin(stack());
  TestUser other_admin = register_admin(stack());
  add_totp(stack(), user);
  add_totp(stack(), other_admin);
  EXPECT_TRUE(is_problem(user.client.del("/v1/admin/users/" + other_admin.id + "/factors"), 403,
                         "auth.forbidden"));
  EXPECT_TRUE(is_problem(admin.client.del("/v1/admin/users/" + other_admin.id + "/factors"), 403,
                         "auth.forbidden"));
  std::string path = "/v1/admin/users/" + user.id + "/factors";
  stack().sql().run_text(fmt::format(
      "UPDATE sessions SET proved_at = now() - interval '20 minutes' WHERE user_id = '{}'",
      admin.id));
  EXPECT_TRUE(is_problem(admin.client.del(path), 403, "auth.fresh_login_required"));
  EXPECT_TRUE(
      is_problem(admin.client.patch("/v1/admin/users/" + user.id, R"({"email_verified":true})"),
                 403, "auth.fresh_login_required"));
  ASSERT_EQ(confirm(admin.client, "password", admin.password).status, 200);
  EXPECT_EQ(admin.client.del(path).status, 204);
  EXPECT_EQ(admin.client.del(path).status, 204);
  EXPECT_EQ(factor_count(user), 0);
  EXPECT_EQ(log_in(stack(), user).get("/v1/me").status, 200);
  EXPECT_EQ(mail_count(stack(), user.email, "factors_changed"), 2);
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT string_agg(concat_ws(' ', actor_user_id = "
                                           "'{}', after_state), ',') FROM audit_logs WHERE action "
                                           "= 'factors.reset' AND target_id = '{}'",
                                           admin.id, user.id)),
            R"(t {"factors": 1})");
  EXPECT_TRUE(is_problem(admin.client.del("/v1/admin/users/01a1fa43-8dcd-7506-ab81-ef7a33b2be1a/"
                                          "factors"),
                         404, "users.not_found"));
}

}  // namespace
}  // namespace hostler::testing_support
