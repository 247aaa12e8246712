// POST /v1/auth/email/verify/send, POST /v1/auth/email/verify/confirm, POST /v1/me/email, and what
// an unverified address keeps people from.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"
#include "tests/support/rows/mails.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

Answer send_mail(const TestUser& user) { return user.client.post("/v1/auth/email/verify/send"); }

Answer confirm(std::string_view token) {
  return stack().client().post("/v1/auth/email/verify/confirm",
                               fmt::format(R"({{"token":{}}})", json_quote(token)));
}

Answer change_email(const TestUser& user, std::string_view email, std::string_view password) {
  return user.client.post("/v1/me/email", fmt::format(R"({{"email":{},"current_password":{}}})",
                                                      json_quote(email), json_quote(password)));
}

Answer change_email(const TestUser& user, std::string_view email) {
  return change_email(user, email, user.password);
}

Answer change_without_password(const TestUser& user, std::string_view email) {
  return user.client.post("/v1/me/email", fmt::format(R"({{"email":{}}})", json_quote(email)));
}

void begin_by_code(const TestUser& user, std::string_view age) {
  stack().sql().run_text(
      fmt::format("UPDATE sessions SET begun_by = 'otp', created_at = now() - interval '{}' WHERE "
                  "user_id = '{}'",
                  age, user.id));
}

void forget_attempts(const TestUser& user) {
  stack().sql().run_text(fmt::format("DELETE FROM attempts WHERE subject = '{}'", user.id));
}

std::string audited(const TestUser& user, std::string_view action) {
  return sql_value(
      stack(), fmt::format("SELECT coalesce(string_agg(concat_ws(' ', target_id, org_id, result, "
                           "before_state, after_state), ', ' ORDER BY id), '') FROM audit_logs "
                           "WHERE action = '{}' AND actor_user_id = '{}'",
                           action, user.id));
}

TEST(EmailVerification, BeginsWithTheMailOfTheRegistration) {
  TestUser user = register_user(stack(), R"("locale":"zh-CN")");
  EXPECT_EQ(mail_count(stack(), user.email, "verify_email"), 1);
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT locale || ' ' || fields FROM outbox WHERE "
                                           "recipient = '{}'",
                                           user.email)),
            fmt::format(R"(zh-CN {{"minutes": 60, "username": "{}"}})", user.login));
  std::string token = mailed(stack(), user.email, "verify_email", "token");
  EXPECT_EQ(token.size(), 43u);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM email_tokens WHERE hash = "
                                            "sha256('{}')",
                                            token)),
            1)
      << "only its hash is stored";
  Answer confirmed = confirm(token);
  ASSERT_EQ(confirmed.status, 200) << confirmed.body;
  EXPECT_EQ(confirmed.body, R"({"ok":true})");
  EXPECT_EQ(user.client.get("/v1/me").member("email_verified"), "true");
  EXPECT_EQ(audited(user, "auth.email_verified"),
            fmt::format(R"({} {} ok {{"email_verified": false}} {{"email_verified": true}})",
                        user.id, user.org_id));
}

TEST(EmailVerification, TakesATokenOnce) {
  TestUser user = register_user(stack());
  std::string token = mailed(stack(), user.email, "verify_email", "token");
  std::vector<Call> calls(4, {"POST",
                              "/v1/auth/email/verify/confirm",
                              fmt::format(R"({{"token":"{}"}})", token),
                              "application/json",
                              {}});
  int confirmed = 0;
  for (const Answer& answer : stack().client().send_all(calls)) {
    confirmed += answer.status == 200 ? 1 : 0;
    bool is_refused = answer.status == 200 || is_problem(answer, 422, "email.token_invalid");
    EXPECT_TRUE(is_refused) << answer.body;
  }
  EXPECT_EQ(confirmed, 1);
}

TEST(EmailVerification, RefusesTokensThatAreWrongOrOld) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(is_problem(confirm(std::string(43, 'A')), 422, "email.token_invalid"));
  EXPECT_TRUE(has_fault(confirm(""), "token", "required"));
  EXPECT_TRUE(
      has_fault(stack().client().post("/v1/auth/email/verify/confirm", "{}"), "token", "required"));
  stack().sql().run_text(fmt::format(
      "UPDATE email_tokens SET expires_at = expires_at - interval '1 hour' WHERE user_id = '{}'",
      user.id));
  EXPECT_TRUE(is_problem(confirm(mailed(stack(), user.email, "verify_email", "token")), 422,
                         "email.token_invalid"));
  EXPECT_EQ(user.client.get("/v1/me").member("email_verified"), "false");
}

TEST(EmailVerification, MailsOnceAMinuteAndFiveTimesAnHour) {
  TestUser user = register_user(stack());
  Answer soon = send_mail(user);
  EXPECT_TRUE(is_problem(soon, 429, "email.rate_limited")) << "the mail of the registration counts";
  EXPECT_LE(soon.header_number("retry-after"), 60);
  for (int i = 0; i < 5; ++i) {
    stack().sql().run_text(fmt::format(
        "UPDATE attempts SET at = at - interval '1 minute' WHERE subject = '{}'", user.id));
    EXPECT_EQ(send_mail(user).status, 204);
  }
  stack().sql().run_text(fmt::format(
      "UPDATE attempts SET at = at - interval '1 minute' WHERE subject = '{}'", user.id));
  Answer often = send_mail(user);
  EXPECT_TRUE(is_problem(often, 429, "email.rate_limited"));
  EXPECT_GT(often.header_number("retry-after"), 3000);
  EXPECT_EQ(mail_count(stack(), user.email, "verify_email"), 6)
      << "the hour counts what was asked for, not the mail of the registration";
  EXPECT_EQ(confirm(mailed(stack(), user.email, "verify_email", "token")).status, 200);
}

TEST(EmailVerification, MailsNothingToAVerifiedAddress) {
  TestUser user = register_user(stack());
  ASSERT_EQ(confirm(mailed(stack(), user.email, "verify_email", "token")).status, 200);
  forget_attempts(user);
  EXPECT_EQ(send_mail(user).status, 204);
  EXPECT_EQ(mail_count(stack(), user.email, "verify_email"), 1);
  EXPECT_TRUE(
      is_problem(stack().client().post("/v1/auth/email/verify/send"), 401, "auth.missing_token"));
}

TEST(EmailVerification, IsNeededForALoginWhenTheSettingSaysSo) {
  ApiStack strict({{"HOSTLER_AUTH_REQUIRE_EMAIL_VERIFICATION=true"}, false});
  TestUser user = register_user(strict);
  auto try_login = [&] {
    return strict.client().post("/v1/auth/login", fmt::format(R"({{"login":"{}","password":"{}"}})",
                                                              user.login, user.password));
  };
  EXPECT_TRUE(is_problem(try_login(), 401, "auth.invalid_credentials"));
  Answer confirmed = strict.client().post(
      "/v1/auth/email/verify/confirm",
      fmt::format(R"({{"token":"{}"}})", mailed(strict, user.email, "verify_email", "token")));
  ASSERT_EQ(confirmed.status, 200) << confirmed.body;
  EXPECT_EQ(try_login().status, 200);
}

TEST(Registration, WarnsWhenNoMailCanBeSent) {
  ApiStack silent({{"HOSTLER_MAIL_DIR="}, false});
  Answer plain = silent.client().post("/v1/auth/register",
                                      account_json("ada", "long enough", "ada@example.org"));
  ASSERT_EQ(plain.status, 201) << plain.body;
  EXPECT_NE(plain.member("warning").find("mail"), std::string::npos);
  EXPECT_EQ(mail_count(silent, "ada@example.org", "verify_email"), 1) << "it waits";
  Answer both = silent.client().post(
      "/v1/auth/register",
      account_json("bob", "long enough", "b@example.org", R"("invite_code":"AAAAAAAA")"));
  EXPECT_NE(both.member("warning").find("mail"), std::string::npos);
  EXPECT_NE(both.member("warning").find("invitation code"), std::string::npos);
}

TEST(EmailChange, TakesEffectWhenTheMailedTokenIsConfirmed) {
  TestUser user = register_user(stack());
  std::string old_token = mailed(stack(), user.email, "verify_email", "token");
  std::string wanted = new_name("new") + "@example.net";
  Answer asked = change_email(user, wanted);
  ASSERT_EQ(asked.status, 204) << asked.body;
  EXPECT_EQ(user.client.get("/v1/me").member("email"), user.email);
  EXPECT_EQ(mail_count(stack(), user.email, "change_email"), 0);
  ASSERT_EQ(confirm(mailed(stack(), wanted, "change_email", "token")).status, 200);
  Answer me = user.client.get("/v1/me");
  EXPECT_EQ(me.member("email"), wanted);
  EXPECT_EQ(me.member("email_verified"), "true");
  EXPECT_TRUE(is_problem(confirm(old_token), 422, "email.token_invalid"));
  EXPECT_EQ(audited(user, "auth.email_changed"),
            fmt::format(R"({} {} ok {{"email_verified": false}} {{"email_verified": true}})",
                        user.id, user.org_id));
  EXPECT_EQ(mail_count(stack(), user.email, "email_changed"), 0) << "nobody ever proved it";
  TestUser next{stack().client(), "", "", new_name(), user.email, "long enough", ""};
  EXPECT_EQ(
      next.client.post("/v1/auth/register", account_json(next.login, "long enough", user.email))
          .status,
      201)
      << "the old address is free";
}

TEST(EmailChange, NeedsThePasswordWhateverTheTokenMay) {
  stack().sql().run_text("TRUNCATE login_failures");
  TestUser user = register_user(stack());
  std::string wanted = new_name("new") + "@example.net";
  Answer absent = change_without_password(user, wanted);
  EXPECT_TRUE(is_problem(absent, 422, "auth.wrong_password")) << absent.body;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(is_problem(change_email(user, wanted, "wrong"), 422, "auth.wrong_password"));
  }
  Answer closed = change_email(user, wanted);
  EXPECT_TRUE(is_problem(closed, 429, "auth.rate_limited")) << "guesses count as failed logins";
  EXPECT_GT(closed.header_number("retry-after"), 500);
  EXPECT_EQ(mail_count(stack(), wanted, "change_email"), 0);
  stack().sql().run_text("TRUNCATE login_failures");
  TestUser other = register_user(stack());
  EXPECT_TRUE(is_problem(change_email(user, other.email, "wrong"), 422, "auth.wrong_password"))
      << "before it is told whether somebody has the address";
  EXPECT_EQ(change_email(user, wanted).status, 204);
  EXPECT_EQ(mail_count(stack(), wanted, "change_email"), 1);
  stack().sql().run_text("TRUNCATE login_failures");
}

TEST(EmailChange, NeedsNoPasswordSoonAfterALoginByCode) {
  TestUser user = register_user(stack());
  std::string wanted = new_name("new") + "@example.net";
  begin_by_code(user, "9 minutes");
  EXPECT_TRUE(is_problem(change_email(user, wanted, "wrong"), 422, "auth.wrong_password"));
  EXPECT_EQ(change_without_password(user, wanted).status, 204);
  begin_by_code(user, "10 minutes");
  EXPECT_TRUE(is_problem(change_without_password(user, wanted), 422, "auth.wrong_password"));
  stack().sql().run_text("TRUNCATE login_failures");
}

TEST(EmailChange, RefusesAddressesOfOthersWhenAskedAndWhenConfirmed) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string upper = "USER" + other.email.substr(4);
  EXPECT_TRUE(is_problem(change_email(user, upper), 409, "auth.email_exists"));
  std::string wanted = new_name("new") + "@example.net";
  ASSERT_EQ(change_email(user, wanted).status, 204);
  ASSERT_EQ(stack()
                .client()
                .post("/v1/auth/register", account_json(new_name(), "long enough", wanted))
                .status,
            201);
  EXPECT_TRUE(is_problem(confirm(mailed(stack(), wanted, "change_email", "token")), 409,
                         "auth.email_exists"));
  EXPECT_EQ(user.client.get("/v1/me").member("email"), user.email);
}

TEST(EmailChange, GoesToTheNewestAddressOnly) {
  TestUser user = register_user(stack());
  std::string mistyped = new_name("first") + "@example.net";
  std::string meant = new_name("second") + "@example.net";
  ASSERT_EQ(change_email(user, mistyped).status, 204);
  ASSERT_EQ(change_email(user, meant).status, 204);
  EXPECT_TRUE(is_problem(confirm(mailed(stack(), mistyped, "change_email", "token")), 422,
                         "email.token_invalid"));
  EXPECT_EQ(confirm(mailed(stack(), meant, "change_email", "token")).status, 200);
}

TEST(EmailChange, IsMailedFiveTimesAnHour) {
  TestUser user = register_user(stack());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(change_email(user, new_name("new") + "@example.net").status, 204);
  }
  Answer often = change_email(user, new_name("new") + "@example.net");
  EXPECT_TRUE(is_problem(often, 429, "email.rate_limited"));
  EXPECT_GT(often.header_number("retry-after"), 3000);
}

TEST(EmailChange, TellsFiveTimesAnHourThatAnAddressIsTaken) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(is_problem(change_email(user, other.email), 409, "auth.email_exists"));
  }
  EXPECT_TRUE(is_problem(change_email(user, other.email), 429, "email.rate_limited"));
}

TEST(EmailChange, KnowsWhatAnAddressIs) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(has_fault(change_email(user, "nobody"), "email", "bad_format"));
  EXPECT_TRUE(has_fault(change_email(user, "\uff41@example.org"), "email", "bad_format"));
  EXPECT_TRUE(has_fault(change_email(user, std::string(251, 'x') + "@a.b"), "email", "too_long"));
  EXPECT_TRUE(has_fault(user.client.post("/v1/me/email", "{}"), "email", "required"));
}

}  // namespace
}  // namespace hostler::testing_support
