// POST /v1/auth/email/otp/send and POST /v1/auth/email/otp/verify.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/api/accounts/login_code_harness.h"

namespace hostler::testing_support {
namespace {

using LoginCode = LoginCodes;

// Another code than the right one.
std::string wrong_code(const TestUser& user) {
  return code_of(user) == "000000" ? "000001" : "000000";
}

TEST_F(LoginCode, BeginsASessionAndVerifiesTheAddress) {
  TestUser user = register_user(stack());
  ASSERT_EQ(send_code(user.email).status, 204);
  std::string code = code_of(user);
  EXPECT_EQ(code.size(), 6u);
  EXPECT_EQ(code.find_first_not_of("0123456789"), code.npos);
  Answer answer = verify(" USER" + user.email.substr(4) + " ", code);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.member("token_type"), "bearer");
  EXPECT_FALSE(answer.refresh_cookie().empty());
  Answer me = stack().client().with_token(answer.member("access_token")).get("/v1/me");
  EXPECT_EQ(me.member("id"), user.id);
  EXPECT_EQ(me.member("email_verified"), "true");
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT max(begun_by) FILTER (WHERE begun_by = 'otp') "
                                           "FROM sessions WHERE user_id = '{}'",
                                           user.id)),
            "otp");
  EXPECT_EQ(audited(user), R"(auth.email_verified ok {"email_verified": true, )"
                           R"("password_voided": true, "api_keys_revoked": 0, )"
                           R"("settings_switched_off": 0}, )"
                           R"(auth.login ok {"by": "otp"})");
  EXPECT_TRUE(is_problem(verify(user.email, code), 422, "auth.otp_invalid")) << "it serves once";
}

TEST_F(LoginCode, LetsSomebodyInWhoForgotThePassword) {
  TestUser user = register_user(stack());
  send_code(user.email);
  Client forgetful =
      stack().client().with_token(verify(user.email, code_of(user)).member("access_token"));
  EXPECT_EQ(forgetful.post("/v1/me/password", R"({"new_password":"remembered"})").status, 204);
  EXPECT_TRUE(is_problem(user.client.get("/v1/me"), 401, "auth.invalid_token"));
  user.password = "remembered";
  EXPECT_FALSE(log_in(stack(), user).token.empty());
}

TEST_F(LoginCode, IsKeptOnlyAsAnHmac) {
  TestUser user = register_user(stack());
  send_code(user.email);
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT length(hmac) FROM login_codes WHERE user_id = "
                                           "'{}'",
                                           user.id)),
            "32");
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT count(*) FROM login_codes WHERE user_id = '{}' "
                                           "AND hmac IN (sha256('{}'), sha256('{}|{}'))",
                                           user.id, code_of(user), user.id, code_of(user))),
            "0");
}

TEST_F(LoginCode, IsTheNewestOnly) {
  TestUser user = register_user(stack());
  send_code(user.email);
  std::string first = code_of(user);
  do {
    stack().sql().run_text("TRUNCATE attempts");
    send_code(user.email);
  } while (code_of(user) == first);
  EXPECT_TRUE(is_problem(verify(user.email, first), 422, "auth.otp_invalid"));
  EXPECT_EQ(verify(user.email, code_of(user)).status, 200);
}

TEST_F(LoginCode, DiesAfterTenMinutes) {
  TestUser user = register_user(stack());
  send_code(user.email);
  stack().sql().run_text(fmt::format(
      "UPDATE login_codes SET expires_at = expires_at - interval '10 minutes' WHERE user_id = '{}'",
      user.id));
  EXPECT_TRUE(is_problem(verify(user.email, code_of(user)), 422, "auth.otp_invalid"));
}

TEST_F(LoginCode, DiesAfterFiveWrongGuessesUntilTheNextIsSent) {
  TestUser user = register_user(stack());
  send_code(user.email);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(is_problem(verify(user.email, wrong_code(user)), 422, "auth.otp_invalid"));
  }
  Answer locked = verify(user.email, code_of(user));
  EXPECT_TRUE(is_problem(locked, 429, "auth.otp_locked"));
  EXPECT_EQ(locked.header_number("retry-after"), 1) << "not for as long as the code would hold";
  EXPECT_NE(locked.member("detail").find("/v1/auth/email/otp/send"), std::string::npos);
  send_code(user.email);
  EXPECT_EQ(verify(user.email, code_of(user)).status, 200);
}

TEST_F(LoginCode, CountsGuessesThatComeAtOnceExactly) {
  TestUser user = register_user(stack());
  send_code(user.email);
  std::vector<Call> calls(
      12, {"POST",
           "/v1/auth/email/otp/verify",
           fmt::format(R"({{"email":"{}","otp":"{}"}})", user.email, wrong_code(user)),
           "application/json",
           {}});
  int wrong = 0, locked = 0;
  for (const Answer& answer : stack().client().send_all(calls)) {
    wrong += answer.status == 422 ? 1 : 0;
    locked += answer.status == 429 ? 1 : 0;
  }
  EXPECT_EQ(wrong, 5);
  EXPECT_EQ(locked, 7);
}

TEST_F(LoginCode, AnswersUnknownAddressesLikeKnownOnes) {
  std::string unknown = new_name() + "@example.org";
  EXPECT_EQ(send_code(unknown).status, 204);
  EXPECT_EQ(mail_count(stack(), unknown, "login_code"), 0);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(is_problem(verify(unknown, "123456"), 422, "auth.otp_invalid"));
  }
  EXPECT_TRUE(is_problem(verify(unknown, "123456"), 429, "auth.otp_locked"));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(send_code(unknown).status, 204);
  EXPECT_TRUE(is_problem(send_code(unknown), 429, "auth.otp_rate_limited"));
}

TEST_F(LoginCode, IsSentFiveTimesInTenMinutesToAnAddress) {
  TestUser user = register_user(stack());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(send_code(user.email).status, 204);
  Answer often = send_code("USER" + user.email.substr(4));
  EXPECT_TRUE(is_problem(often, 429, "auth.otp_rate_limited"));
  EXPECT_GT(often.header_number("retry-after"), 500);
  EXPECT_EQ(mail_count(stack(), user.email, "login_code"), 5);
  stack().sql().run_text("UPDATE attempts SET at = at - interval '10 minutes'");
  EXPECT_EQ(send_code(user.email).status, 204);
}

TEST_F(LoginCode, IsAskedForTwentyTimesByOneClient) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(send_code(new_name() + "@example.org").status, 204);
  }
  EXPECT_TRUE(is_problem(send_code(new_name() + "@example.org"), 429, "auth.otp_rate_limited"));
}

// Ten codes, in the pace that the shorter limit lets through; the answer to the eleventh.
Answer send_eleven(const std::string& email) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(send_code(email).status, 204) << i;
    stack().sql().run_text(
        "UPDATE attempts SET at = at - interval '5 minutes' WHERE kind IN ('otp.ip', 'otp.email')");
  }
  return send_code("USER" + email.substr(4));
}

TEST_F(LoginCode, IsSentTenTimesADayToAnAddressWhoseverItIs) {
  TestUser user = register_user(stack());
  for (const std::string& email : {user.email, new_name() + "@example.org"}) {
    Answer often = send_eleven(email);
    EXPECT_TRUE(is_problem(often, 429, "auth.otp_rate_limited")) << email;
    EXPECT_GT(often.header_number("retry-after"), 86'000);
  }
  EXPECT_EQ(mail_count(stack(), user.email, "login_code"), 10);
  stack().sql().run_text("UPDATE attempts SET at = at - interval '1 day'");
  EXPECT_EQ(send_code(user.email).status, 204);
}

// Stores so many wrong guesses of the subject today, at codes that are gone.
void add_failures(ApiStack& own, const std::string& subject, int count) {
  own.sql().run_text(
      fmt::format("INSERT INTO attempts (kind, subject) SELECT 'otp.failure', '{}' FROM "
                  "generate_series(1, {})",
                  subject, count));
}

TEST_F(LoginCode, IsNotTakenAfterTwentyWrongOnesInAnHour) {
  TestUser user = register_user(stack());
  std::string unknown = new_name() + "@example.org";
  for (const std::string& email : {user.email, unknown}) {
    for (int i = 0; i < 20; ++i) {
      if (i % 5 == 0) send_code(email);
      std::string wrong = email == unknown ? "123456" : wrong_code(user);
      EXPECT_TRUE(is_problem(verify(email, wrong), 422, "auth.otp_invalid")) << email << i;
    }
    stack().sql().run_text("DELETE FROM attempts WHERE kind IN ('otp.ip', 'otp.email')");
    EXPECT_EQ(send_code(email).status, 204);
    std::string right = email == unknown ? "123456" : code_of(user);
    Answer closed = verify("USER" + email.substr(4), right);
    EXPECT_TRUE(is_problem(closed, 429, "auth.otp_rate_limited")) << email << closed.body;
    EXPECT_GT(closed.header_number("retry-after"), 3'000);
    EXPECT_LE(closed.header_number("retry-after"), 3'600);
    EXPECT_NE(closed.body.find("log in with your password"), std::string::npos) << closed.body;
  }
  stack().sql().run_text(
      "UPDATE attempts SET at = at - interval '1 hour' WHERE ctid = (SELECT ctid FROM attempts "
      "WHERE kind = 'otp.failure' ORDER BY at LIMIT 1)");
  EXPECT_EQ(verify(user.email, code_of(user)).status, 200) << "the first is an hour ago";
}

TEST_F(LoginCode, CountsTheHoursWrongOnesExactlyWhenTheyComeAtOnce) {
  TestUser user = register_user(stack());
  add_failures(stack(), user.id + " 127.0.0.1", 18);  // of who is at home there
  send_code(user.email);
  std::vector<Call> calls(
      12, {"POST",
           "/v1/auth/email/otp/verify",
           fmt::format(R"({{"email":"{}","otp":"{}"}})", user.email, wrong_code(user)),
           "application/json",
           {}});
  int wrong = 0, closed = 0;
  for (const Answer& answer : stack().client().send_all(calls)) {
    wrong += answer.status == 422 ? 1 : 0;
    closed += is_problem(answer, 429, "auth.otp_rate_limited") ? 1 : 0;
  }
  EXPECT_EQ(wrong, 2);
  EXPECT_EQ(closed, 10);
}

// Pretends that the user came in from there alone, because all requests of a test come from
// 127.0.0.1.
void live_at(const TestUser& user, const std::string& neighbourhood) {
  stack().sql().run_text(fmt::format(
      "UPDATE sessions SET neighbourhood = '{}' WHERE user_id = '{}'", neighbourhood, user.id));
}

TEST_F(LoginCode, ThatStrangersGuessAtHoldsUpNobodyAtHomeOrInASession) {
  TestUser user = register_user(stack());
  live_at(user, "203.0.113.0/24");
  for (int i = 0; i < 20; ++i) {
    if (i % 5 == 0) send_code(user.email);
    EXPECT_TRUE(is_problem(verify(user.email, wrong_code(user)), 422, "auth.otp_invalid")) << i;
  }
  Answer stranger = verify(user.email, code_of(user));
  EXPECT_TRUE(is_problem(stranger, 429, "auth.otp_rate_limited")) << stranger.body;
  Answer proved =
      user.client.post("/v1/auth/confirm", fmt::format(R"({{"otp":"{}"}})", code_of(user)));
  EXPECT_EQ(proved.status, 200) << proved.body;
  live_at(user, "127.0.0.0/24");
  EXPECT_EQ(send_code(user.email).status, 204);
  EXPECT_EQ(verify(user.email, code_of(user)).status, 200);
}

TEST_F(LoginCode, ThatStrangersGuessAtFiveTimesServesAtHome) {
  TestUser user = register_user(stack());
  live_at(user, "203.0.113.0/24");
  send_code(user.email);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(is_problem(verify(user.email, wrong_code(user)), 422, "auth.otp_invalid"));
  }
  EXPECT_TRUE(is_problem(verify(user.email, code_of(user)), 429, "auth.otp_locked"));
  live_at(user, "127.0.0.0/24");
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(is_problem(verify(user.email, wrong_code(user)), 422, "auth.otp_invalid"));
  }
  EXPECT_EQ(verify(user.email, code_of(user)).status, 200);
}

TEST_F(LoginCode, IsSentHomeHoweverManyStrangersAskedFor) {
  TestUser user = register_user(stack());
  live_at(user, "203.0.113.0/24");
  EXPECT_TRUE(is_problem(send_eleven(user.email), 429, "auth.otp_rate_limited"));
  live_at(user, "127.0.0.0/24");
  EXPECT_TRUE(is_problem(send_eleven(user.email), 429, "auth.otp_rate_limited"));
  EXPECT_EQ(mail_count(stack(), user.email, "login_code"), 20);
}

TEST(LoginCodeLimits, AreOffAtZero) {
  ApiStack own(
      {{"HOSTLER_LIMIT_OTP_SENDS_PER_EMAIL_DAY=0", "HOSTLER_LIMIT_OTP_FAILURES_PER_ACCOUNT_DAY=0",
        "HOSTLER_LIMIT_OTP_SENDS_PER_EMAIL=100"},
       false});
  TestUser user = register_user(own);
  add_failures(own, user.id + " 127.0.0.1", 25);
  std::string email = fmt::format(R"({{"email":"{}"}})", user.email);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(own.client().post("/v1/auth/email/otp/send", email).status, 204);
  }
  std::string code = mailed(own, user.email, "login_code", "code");
  EXPECT_EQ(own.client()
                .post("/v1/auth/email/otp/verify",
                      fmt::format(R"({{"email":"{}","otp":"{}"}})", user.email, code))
                .status,
            200);
}

TEST_F(LoginCode, TellsASuspendedUserSo) {
  TestUser user = register_user(stack());
  stack().sql().run_text(fmt::format("SELECT user_set_status('{}', 'suspended')", user.id));
  send_code(user.email);
  EXPECT_TRUE(is_problem(verify(user.email, wrong_code(user)), 422, "auth.otp_invalid"));
  EXPECT_TRUE(is_problem(verify(user.email, code_of(user)), 403, "auth.user_suspended"));
  EXPECT_EQ(audited(user), R"(auth.login denied {"by": "otp"})");
}

TEST_F(LoginCode, DiesWithTheAddressThoughItComesBack) {
  TestUser user = register_user(stack());
  send_code(user.email);
  std::string code = code_of(user);
  for (const std::string& email : {new_name("moved") + "@example.net", user.email}) {
    Answer asked = user.client.post(
        "/v1/me/email",
        fmt::format(R"({{"email":"{}","current_password":{}}})", email, json_quote(user.password)));
    ASSERT_EQ(asked.status, 204) << asked.body;
    std::string token = mailed(stack(), email, "change_email", "token");
    Answer confirmed = stack().client().post("/v1/auth/email/verify/confirm",
                                             fmt::format(R"({{"token":"{}"}})", token));
    ASSERT_EQ(confirmed.status, 200) << confirmed.body;
  }
  EXPECT_TRUE(is_problem(verify(user.email, code), 422, "auth.otp_invalid"));
}

TEST_F(LoginCode, DiesWithTheAccount) {
  TestUser user = register_user(stack());
  send_code(user.email);
  std::string code = code_of(user);
  stack().sql().run_text(fmt::format("SELECT user_delete('{}')", user.id));
  EXPECT_TRUE(is_problem(verify(user.email, code), 422, "auth.otp_invalid"));
}

TEST_F(LoginCode, RefusesWhatIsNoAddressOrNoCode) {
  EXPECT_TRUE(has_fault(send_code("nobody"), "email", "bad_format"));
  EXPECT_TRUE(
      has_fault(stack().client().post("/v1/auth/email/otp/send", "{}"), "email", "required"));
  EXPECT_TRUE(has_fault(verify("a@example.org", "12345"), "otp", "bad_format"));
  EXPECT_TRUE(has_fault(verify("a@example.org", "12345x"), "otp", "bad_format"));
  Answer nothing = stack().client().post("/v1/auth/email/otp/verify", "{}");
  EXPECT_TRUE(has_fault(nothing, "email", "required"));
  EXPECT_TRUE(has_fault(nothing, "otp", "required"));
}

}  // namespace
}  // namespace hostler::testing_support
