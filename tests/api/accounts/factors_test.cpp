// Second factors: how they are added, what a login takes then (POST /v1/auth/factor), and what
// removes them.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/account/second_factor.h"
#include "tests/support/rows/factors.h"
#include "tests/support/rows/mails.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

// Failures and sent codes are counted by address too, and all tests have the same one.
class Factors : public ::testing::Test {
 protected:
  void SetUp() override { stack().sql().run_text("TRUNCATE login_failures, attempts"); }
};

Answer log_in_by_password(const TestUser& user) {
  return stack().client().post(
      "/v1/auth/login",
      fmt::format(R"({{"login":"{}","password":{}}})", user.login, json_quote(user.password)));
}

Answer answer_factor(std::string_view token, std::string_view name, std::string_view value) {
  return stack().client().post("/v1/auth/factor", factor_body(token, name, value));
}

std::string audited(const TestUser& user, std::string_view action) {
  return sql_value(stack(), fmt::format("SELECT coalesce(string_agg(concat_ws(' ', result, "
                                        "after_state), ', ' ORDER BY id), '') FROM audit_logs "
                                        "WHERE action = '{}' AND (actor_user_id = '{}' OR "
                                        "target_id = '{}')",
                                        action, user.id, user.id));
}

// A code of six digits that is not right.
std::string wrong_code(const TestFactor& factor) {
  std::string right = next_code(stack(), factor);
  return right == "000000" ? "111111" : "000000";
}

void age_sessions(const TestUser& user, std::string_view by) {
  stack().sql().run_text(fmt::format(
      "UPDATE sessions SET proved_at = proved_at - interval '{0}', confirmed_at = confirmed_at - "
      "interval '{0}', factor_proved_at = factor_proved_at - interval '{0}' WHERE user_id = '{1}'",
      by, user.id));
}

TEST_F(Factors, CountWhenTheirFirstCodeComes) {
  TestUser user = register_user(stack());
  prove_address(stack(), user);
  Answer created = user.client.post("/v1/me/factors/totp", R"({"name":" phone "})");
  ASSERT_EQ(created.status, 201) << created.body;
  std::string url = created.member("otpauth_url");
  EXPECT_NE(url.find("secret=" + created.member("secret")), url.npos) << url;
  EXPECT_EQ(user.client.get("/v1/me/factors").body, "[]");
  EXPECT_EQ(log_in_by_password(user).status, 200) << "it does not count yet";
  TestFactor factor{created.member("id"), from_base32(created.member("secret")), {}};
  std::string path = fmt::format("/v1/me/factors/totp/{}:confirm", factor.id);
  std::string wrong = fmt::format(R"({{"code":"{}"}})", wrong_code(factor));
  EXPECT_TRUE(is_problem(user.client.post(path, wrong), 422, "auth.factor_invalid"));
  std::string right = fmt::format(R"({{"code":"{}"}})", next_code(stack(), factor));
  Answer confirmed = user.client.post(path, right);
  ASSERT_EQ(confirmed.status, 200) << confirmed.body;
  EXPECT_EQ(confirmed.json().find("recovery_codes")->as_array()->size(), 10u);
  EXPECT_TRUE(is_problem(user.client.post(path, right), 404, "factors.not_found"));
  Json listed = user.client.get("/v1/me/factors").json();
  ASSERT_EQ(listed.as_array()->size(), 1u);
  EXPECT_EQ(listed.as_array()->front().text_or("name"), "phone");
  EXPECT_EQ(listed.as_array()->front().text_or("type"), "totp");
  EXPECT_EQ(mail_count(stack(), user.email, "factors_changed"), 1);
  EXPECT_EQ(audited(user, "factors.create"), R"(ok {"type": "totp", "is_first": true})");
}

TEST_F(Factors, NeedAProvedAddressAndAFreshLogin) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(is_problem(user.client.post("/v1/me/factors/totp", R"({"name":"phone"})"), 403,
                         "auth.email_unverified"));
  TestFactor factor = add_totp(stack(), user);
  age_sessions(user, "20 minutes");
  for (const char* path : {"/v1/me/factors/totp", "/v1/me/recovery-codes"}) {
    EXPECT_TRUE(
        is_problem(user.client.post(path, R"({"name":"x"})"), 403, "auth.fresh_login_required"))
        << path;
  }
  EXPECT_TRUE(
      is_problem(user.client.del("/v1/me/factors/" + factor.id), 403, "auth.fresh_login_required"));
}

TEST_F(Factors, EndTheOtherSessionsWithTheFirstOne) {
  TestUser user = register_user(stack());
  Client other = log_in(stack(), user);
  add_totp(stack(), user);
  EXPECT_TRUE(is_problem(other.get("/v1/me"), 401, "auth.invalid_token"));
  EXPECT_EQ(user.client.get("/v1/me").status, 200);
  Client second = log_in_with(stack(), user, add_totp(stack(), user));
  EXPECT_EQ(second.get("/v1/me").status, 200);
  TestFactor third = add_totp(stack(), user);
  EXPECT_TRUE(third.recovery_codes.empty());
  EXPECT_EQ(second.get("/v1/me").status, 200) << "only the first one does";
}

TEST_F(Factors, AreAskedForAfterTheRightPassword) {
  TestUser user = register_user(stack());
  TestFactor factor = add_totp(stack(), user);
  Answer asked = log_in_by_password(user);
  ASSERT_TRUE(is_problem(asked, 401, "auth.factor_required"));
  EXPECT_EQ(asked.json().find("factors")->dump(), R"(["totp"])");
  EXPECT_FALSE(asked.has_header("set-cookie"));
  TestUser wrong = user;
  wrong.password = "not the password";
  EXPECT_TRUE(is_problem(log_in_by_password(wrong), 401, "auth.invalid_credentials"));
  Answer begun = answer_factor(asked.member("factor_token"), "code", next_code(stack(), factor));
  ASSERT_EQ(begun.status, 200) << begun.body;
  EXPECT_FALSE(begun.refresh_cookie().empty());
  EXPECT_TRUE(
      is_problem(answer_factor(asked.member("factor_token"), "code", next_code(stack(), factor)),
                 401, "auth.invalid_token"))
      << "one login";
  EXPECT_EQ(audited(user, "auth.login"), R"(failed, ok {"by": "password", "factor": "totp"})");
}

TEST_F(Factors, AreAskedForAfterAMailedCode) {
  TestUser user = register_user(stack());
  TestFactor factor = add_totp(stack(), user);
  stack().client().post("/v1/auth/email/otp/send", fmt::format(R"({{"email":"{}"}})", user.email));
  Answer asked = stack().client().post(
      "/v1/auth/email/otp/verify", fmt::format(R"({{"email":"{}","otp":"{}"}})", user.email,
                                               mailed(stack(), user.email, "login_code", "code")));
  ASSERT_TRUE(is_problem(asked, 401, "auth.factor_required"));
  EXPECT_EQ(answer_factor(asked.member("factor_token"), "code", next_code(stack(), factor)).status,
            200);
}

TEST_F(Factors, TakeEachCodeOnce) {
  TestUser user = register_user(stack());
  TestFactor factor = add_totp(stack(), user);
  std::string code = next_code(stack(), factor);
  EXPECT_EQ(answer_factor(factor_token(stack(), user), "code", code).status, 200);
  EXPECT_TRUE(is_problem(answer_factor(factor_token(stack(), user), "code", code), 422,
                         "auth.factor_invalid"));
  int64_t clock = sql_number(stack(), "SELECT floor(extract(epoch FROM now()))::bigint");
  std::string late = account::totp_code(factor.secret, clock / 30 - 3);
  std::string early = account::totp_code(factor.secret, clock / 30 + 3);
  next_code(stack(), factor);
  for (const std::string& other : {late, early}) {
    EXPECT_TRUE(is_problem(answer_factor(factor_token(stack(), user), "code", other), 422,
                           "auth.factor_invalid"));
  }
}

TEST_F(Factors, TakeACodeOnceOfManyAtATime) {
  TestUser user = register_user(stack());
  TestFactor factor = add_totp(stack(), user);
  std::vector<Call> calls;
  std::vector<std::string> tokens;
  for (int i = 0; i < 6; ++i) tokens.push_back(factor_token(stack(), user));
  std::string code = next_code(stack(), factor);
  for (const std::string& token : tokens) {
    calls.push_back(
        {"POST", "/v1/auth/factor", factor_body(token, "code", code), "application/json", {}});
  }
  int begun = 0;
  for (const Answer& answer : stack().client().send_all(calls)) begun += answer.status == 200;
  EXPECT_EQ(begun, 1);
}

TEST_F(Factors, EndATokenWithTheFifthWrongAnswer) {
  TestUser user = register_user(stack());
  TestFactor factor = add_totp(stack(), user);
  std::string token = factor_token(stack(), user);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(
        is_problem(answer_factor(token, "code", wrong_code(factor)), 422, "auth.factor_invalid"));
  }
  EXPECT_TRUE(is_problem(answer_factor(token, "code", next_code(stack(), factor)), 401,
                         "auth.invalid_token"));
}

TEST_F(Factors, TakeNoAnswerAfterTwentyWrongOnesInTheAccount) {
  TestUser user = register_user(stack());
  TestFactor factor = add_totp(stack(), user);
  stack().sql().run_text(
      fmt::format("INSERT INTO attempts (kind, subject) SELECT 'factor.failure', '{}' FROM "
                  "generate_series(1, 20)",
                  user.id));
  Answer refused = answer_factor(factor_token(stack(), user), "code", next_code(stack(), factor));
  EXPECT_TRUE(is_problem(refused, 429, "auth.rate_limited"));
  EXPECT_TRUE(refused.has_header("retry-after"));
  std::string body = fmt::format(R"({{"code":"{}"}})", next_code(stack(), factor));
  EXPECT_TRUE(is_problem(user.client.post("/v1/auth/confirm", body), 429, "auth.rate_limited"));
}

TEST_F(Factors, KeepATokenToItsBrowser) {
  TestUser user = register_user(stack());
  TestFactor factor = add_totp(stack(), user);
  std::string token = factor_token(stack(), user);
  Call elsewhere{"POST",
                 "/v1/auth/factor",
                 factor_body(token, "code", next_code(stack(), factor)),
                 "application/json",
                 {{"User-Agent", "another browser"}}};
  EXPECT_TRUE(is_problem(stack().client().send(elsewhere), 401, "auth.invalid_token"));
  stack().sql().run_text(fmt::format(
      "UPDATE factor_tokens SET client_ip = '192.0.2.77' WHERE user_id = '{}'", user.id));
  EXPECT_TRUE(is_problem(answer_factor(token, "code", next_code(stack(), factor)), 401,
                         "auth.invalid_token"));
  std::string late = factor_token(stack(), user);
  stack().sql().run_text(
      fmt::format("UPDATE factor_tokens SET expires_at = now() WHERE user_id = '{}'", user.id));
  EXPECT_TRUE(is_problem(answer_factor(late, "code", next_code(stack(), factor)), 401,
                         "auth.invalid_token"));
}

TEST_F(Factors, DieWithTheSessionsThatALogoutEnds) {
  TestUser user = register_user(stack());
  TestFactor factor = add_totp(stack(), user);
  std::string token = factor_token(stack(), user);
  EXPECT_EQ(user.client.post("/v1/auth/logout?all=true").status, 200);
  EXPECT_TRUE(is_problem(answer_factor(token, "code", next_code(stack(), factor)), 401,
                         "auth.invalid_token"));
}

TEST_F(Factors, AreReplacedByARecoveryCodeOnce) {
  TestUser user = register_user(stack());
  TestFactor factor = add_totp(stack(), user);
  std::string code = factor.recovery_codes.at(3);
  std::string typed = "  " + code.substr(0, 4) + " " + code.substr(5);
  for (char& c : typed) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_EQ(answer_factor(factor_token(stack(), user), "recovery_code", typed).status, 200);
  EXPECT_TRUE(is_problem(answer_factor(factor_token(stack(), user), "recovery_code", code), 422,
                         "auth.factor_invalid"));
  EXPECT_EQ(audited(user, "factors.recovery_used"), R"(ok {"codes_left": 9})");
  EXPECT_EQ(mail_count(stack(), user.email, "factors_changed"), 2);
  Answer renewed = user.client.post("/v1/me/recovery-codes");
  ASSERT_EQ(renewed.status, 201);
  EXPECT_EQ(renewed.json().find("recovery_codes")->as_array()->size(), 10u);
  EXPECT_TRUE(is_problem(
      answer_factor(factor_token(stack(), user), "recovery_code", factor.recovery_codes.at(0)), 422,
      "auth.factor_invalid"))
      << "the old ones are void";
}

TEST_F(Factors, GoOneByOneAndWithTheLastOneTheCodes) {
  TestUser user = register_user(stack());
  TestUser stranger = register_user(stack());
  TestFactor factor = add_totp(stack(), user);
  EXPECT_TRUE(
      is_problem(stranger.client.del("/v1/me/factors/" + factor.id), 404, "factors.not_found"));
  EXPECT_TRUE(is_problem(stranger.client.post("/v1/me/recovery-codes"), 404, "factors.not_found"));
  std::string token = factor_token(stack(), user);
  EXPECT_EQ(user.client.del("/v1/me/factors/" + factor.id).status, 204);
  EXPECT_TRUE(is_problem(answer_factor(token, "recovery_code", factor.recovery_codes.at(0)), 401,
                         "auth.invalid_token"));
  EXPECT_EQ(log_in_by_password(user).status, 200);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM recovery_codes WHERE user_id = "
                                            "'{}'",
                                            user.id)),
            0);
  EXPECT_EQ(mail_count(stack(), user.email, "factors_changed"), 2);
}

TEST_F(Factors, AreTenAtMost) {
  TestUser user = register_user(stack());
  for (int i = 0; i < 10; ++i) add_totp(stack(), user);
  EXPECT_TRUE(is_problem(user.client.post("/v1/me/factors/totp", R"({"name":"x"})"), 422,
                         "limits.reached"));
}

TEST_F(Factors, TakeExactlyOneAnswer) {
  TestUser user = register_user(stack());
  Answer both = stack().client().post(
      "/v1/auth/factor", R"({"factor_token":"x","code":"123456","recovery_code":"abcd"})");
  EXPECT_TRUE(has_fault(both, "recovery_code", "ambiguous"));
  EXPECT_TRUE(has_fault(stack().client().post("/v1/auth/factor", R"({"factor_token":"x"})"), "code",
                        "required"));
  EXPECT_TRUE(has_fault(answer_factor("x", "code", "12345"), "code", "bad_format"));
  EXPECT_TRUE(is_problem(answer_factor("x", "code", "123456"), 401, "auth.invalid_token"));
}

}  // namespace
}  // namespace hostler::testing_support
