// POST /v1/auth/login: who gets in, what guessing costs, what is written of it.
#include <gtest/gtest.h>
#include <sodium.h>

#include <algorithm>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

std::string credentials(std::string_view login, std::string_view password) {
  return fmt::format(R"({{"login":{},"password":{}}})", json_quote(login), json_quote(password));
}

Answer try_login(ApiStack& where, std::string_view login, std::string_view password) {
  return where.client().post("/v1/auth/login", credentials(login, password));
}

// Failures are counted by address too, and all tests have the same one.
class Login : public ::testing::Test {
 protected:
  void SetUp() override { stack().sql().run_text("TRUNCATE login_failures"); }
};

void add_failures(const TestUser& user, int count, std::string_view address) {
  stack().sql().run_text(
      fmt::format("INSERT INTO login_failures (login_key, client_ip) SELECT "
                  "'{}', '{}' FROM generate_series(1, {})",
                  user.id, address, count));
}

TEST_F(Login, TakesLoginUsernameAndAddressInAnyCase) {
  TestUser user = register_user(stack());
  std::string name = new_name("Nick");
  ASSERT_EQ(user.client.patch("/v1/me", fmt::format(R"({{"username":"{}"}})", name)).status, 200);
  std::string upper = user.email;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  for (const std::string& login : {user.login, " U" + user.login.substr(1), user.email, upper, name,
                                   "nICK" + name.substr(4)}) {
    Answer answer = try_login(stack(), login, user.password);
    ASSERT_EQ(answer.status, 200) << login << " " << answer.body;
    EXPECT_EQ(stack().client().with_token(answer.member("access_token")).get("/v1/me").member("id"),
              user.id);
  }
}

TEST_F(Login, SetsTheRefreshCookie) {
  TestUser user = register_user(stack());
  Answer answer = try_login(stack(), user.login, user.password);
  EXPECT_EQ(answer.member("token_type"), "bearer");
  EXPECT_EQ(answer.header("set-cookie"),
            "hostler_refresh_token=" + answer.refresh_cookie() +
                "; Path=/v1/auth; HttpOnly; Secure; SameSite=Lax; Max-Age=2592000");
}

TEST_F(Login, AnswersUnknownUsersAndWrongPasswordsAlike) {
  TestUser user = register_user(stack());
  Answer wrong = try_login(stack(), user.login, "not the password");
  Answer unknown = try_login(stack(), new_name(), "not the password");
  EXPECT_TRUE(is_problem(wrong, 401, "auth.invalid_credentials"));
  EXPECT_TRUE(is_problem(unknown, 401, "auth.invalid_credentials"));
  EXPECT_EQ(wrong.member("detail"), unknown.member("detail"));
  EXPECT_EQ(wrong.header("www-authenticate"), "Bearer");
  EXPECT_FALSE(wrong.has_header("set-cookie"));
}

TEST_F(Login, SpendsTheSameWorkOnUnknownUsers) {
  TestUser user = register_user(stack());
  int64_t known_ms = INT64_MAX, unknown_ms = INT64_MAX;
  for (int i = 0; i < 4; ++i) {
    int64_t begin_ms = monotonic_ms();
    try_login(stack(), user.login, "not the password");
    int64_t middle_ms = monotonic_ms();
    try_login(stack(), new_name(), "not the password");
    known_ms = std::min(known_ms, middle_ms - begin_ms);
    unknown_ms = std::min(unknown_ms, monotonic_ms() - middle_ms);
  }
  EXPECT_GE(unknown_ms * 3, known_ms) << "an unknown user is told apart by the time it takes";
}

TEST_F(Login, ThatStormsLeavesOtherRequestsAlone) {
  TestUser user = register_user(stack());
  std::vector<Call> calls;
  for (int i = 0; i < 64; ++i) {
    calls.push_back(
        {"POST", "/v1/auth/login", credentials(new_name(), "wrong"), "application/json", {}});
    if (i % 8 == 7) calls.push_back({"GET", "/v1/me", "", "", {}});
  }
  std::vector<Answer> answers = user.client.send_all(calls);
  int answered = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].method == "GET") {
      EXPECT_EQ(answers[i].status, 200) << answers[i].body;
      continue;
    }
    bool is_shed = answers[i].status == 503 || answers[i].status == 429;
    EXPECT_TRUE(is_shed || answers[i].status == 401) << answers[i].status;
    EXPECT_EQ(is_shed, answers[i].header_number("retry-after") > 0);
    answered += answers[i].status == 401 ? 1 : 0;
  }
  EXPECT_GT(answered, 0);
  EXPECT_EQ(sql_number(stack(), "SELECT count(*) FROM login_failures"), answered);
}

TEST_F(Login, SaysThatAUserIsSuspendedOnlyToWhoKnowsThePassword) {
  TestUser user = register_user(stack());
  stack().sql().run_text(
      fmt::format("UPDATE users SET status = 'suspended' WHERE id = '{}'", user.id));
  EXPECT_TRUE(
      is_problem(try_login(stack(), user.login, user.password), 403, "auth.user_suspended"));
  EXPECT_TRUE(is_problem(try_login(stack(), user.login, "wrong"), 401, "auth.invalid_credentials"));
  EXPECT_TRUE(is_problem(user.client.get("/v1/me"), 401, "auth.invalid_token"));
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT string_agg(result, ' ') FROM audit_logs WHERE "
                                           "action = 'auth.login' AND actor_user_id = '{}'",
                                           user.id)),
            "denied");
}

TEST_F(Login, KnowsNoDeletedUser) {
  TestUser user = register_user(stack());
  stack().sql().run_text(
      fmt::format("UPDATE users SET status = 'deleted' WHERE id = '{}'", user.id));
  EXPECT_TRUE(
      is_problem(try_login(stack(), user.email, user.password), 401, "auth.invalid_credentials"));
}

TEST_F(Login, ClosesAfterTenFailuresOfALoginFromAnAddress) {
  TestUser user = register_user(stack());
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(is_problem(try_login(stack(), i % 2 == 0 ? user.login : user.email, "wrong"), 401,
                           "auth.invalid_credentials"));
  }
  Answer refused = try_login(stack(), user.login, user.password);
  EXPECT_TRUE(is_problem(refused, 429, "auth.rate_limited"));
  int64_t retry_s = refused.header_number("retry-after");
  EXPECT_GT(retry_s, 500);
  EXPECT_LE(retry_s, 600);
  TestUser other = register_user(stack());
  EXPECT_EQ(try_login(stack(), other.login, other.password).status, 200);
  stack().sql().run_text(fmt::format(
      "UPDATE login_failures SET at = at - interval '10 minutes' WHERE login_key = '{}'", user.id));
  EXPECT_EQ(try_login(stack(), user.login, user.password).status, 200);
}

TEST_F(Login, CountsGuessesThatComeAtOnceExactly) {
  TestUser user = register_user(stack());
  std::vector<Call> calls(
      14, {"POST", "/v1/auth/login", credentials(user.login, "wrong"), "application/json", {}});
  int wrong = 0, limited = 0;
  for (const Answer& answer : stack().client().send_all(calls)) {
    wrong += answer.status == 401 ? 1 : 0;
    limited += answer.status == 429 ? 1 : 0;
  }
  EXPECT_EQ(wrong, 10);
  EXPECT_EQ(limited, 4);
}

TEST_F(Login, ForgivesTheFailuresOfALoginAfterASuccess) {
  TestUser user = register_user(stack());
  add_failures(user, 9, "127.0.0.1");
  EXPECT_EQ(try_login(stack(), user.login, user.password).status, 200);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(try_login(stack(), user.login, "wrong").status, 401);
  }
  EXPECT_EQ(try_login(stack(), user.login, user.password).status, 200);
}

TEST_F(Login, ClosesALoginAfterAHundredFailuresFromAllAddresses) {
  TestUser user = register_user(stack());
  stack().sql().run_text(
      fmt::format("UPDATE sessions SET client_ip = '192.0.2.8', neighbourhood = '192.0.2.0/24' "
                  "WHERE user_id = '{}'",
                  user.id));
  add_failures(user, 99, "192.0.2.7");
  EXPECT_EQ(try_login(stack(), user.login, "wrong").status, 401);
  EXPECT_TRUE(is_problem(try_login(stack(), user.login, user.password), 429, "auth.rate_limited"));
}

TEST_F(Login, ClosesAnAddressAfterFiftyFailuresButForWhoIsAtHomeThere) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  add_failures(user, 9, "127.0.0.1");
  add_failures(other, 40, "127.0.0.1");
  EXPECT_EQ(try_login(stack(), user.login, user.password).status, 200);
  EXPECT_EQ(try_login(stack(), new_name(), "wrong").status, 401);
  EXPECT_TRUE(is_problem(try_login(stack(), new_name(), "wrong"), 429, "auth.rate_limited"));
  EXPECT_EQ(try_login(stack(), user.login, user.password).status, 200);
  stack().sql().run_text(fmt::format(
      "UPDATE sessions SET neighbourhood = '203.0.113.0/24' WHERE user_id = '{}'", user.id));
  EXPECT_TRUE(is_problem(try_login(stack(), user.login, user.password), 429, "auth.rate_limited"));
}

TEST_F(Login, IsAuditedWithTheUserWhenItFails) {
  TestUser user = register_user(stack());
  EXPECT_EQ(try_login(stack(), user.login, user.password).status, 200);
  EXPECT_EQ(try_login(stack(), user.login, "wrong").status, 401);
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT string_agg(target_type || ' ' || result, ', ') "
                                           "FROM audit_logs WHERE action = 'auth.login' AND "
                                           "org_id = '{}'",
                                           user.org_id)),
            "session ok");
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE action = "
                                            "'auth.login' AND result = 'failed' AND org_id IS NULL "
                                            "AND actor_user_id IS NULL AND after_state IS NULL "
                                            "AND target_id = '{}'",
                                            user.id)),
            1);
}

TEST_F(Login, TellsWhenSomebodyWasLastHere) {
  TestUser user = register_user(stack());
  stack().sql().run_text(
      fmt::format("UPDATE users SET last_login_at = NULL WHERE id = '{}'", user.id));
  EXPECT_EQ(user.client.get("/v1/me").member("last_login_at"), "null");
  log_in(stack(), user);
  EXPECT_NE(user.client.get("/v1/me").member("last_login_at"), "null");
}

TEST_F(Login, RenewsAHashWithOldParameters) {
  TestUser user = register_user(stack());
  char old_hash[crypto_pwhash_STRBYTES];
  ASSERT_EQ(crypto_pwhash_str(old_hash, user.password.data(), user.password.size(),
                              crypto_pwhash_OPSLIMIT_MIN, crypto_pwhash_MEMLIMIT_MIN),
            0);
  stack().sql().run_text(
      fmt::format("UPDATE users SET password_hash = '{}' WHERE id = '{}'", old_hash, user.id));
  log_in(stack(), user);
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT left(password_hash, 31) FROM users WHERE id = "
                                           "'{}'",
                                           user.id)),
            "$argon2id$v=19$m=19456,t=2,p=1$");
  log_in(stack(), user);
}

TEST_F(Login, RefusesUnverifiedAddressesWhenTheSettingSaysSo) {
  ApiStack strict({{"HOSTLER_AUTH_REQUIRE_EMAIL_VERIFICATION=true"}, false});
  TestUser user = register_user(strict);
  EXPECT_TRUE(
      is_problem(try_login(strict, user.login, user.password), 401, "auth.invalid_credentials"));
  strict.sql().run_text("UPDATE users SET email_verified_at = now()");
  EXPECT_EQ(try_login(strict, user.login, user.password).status, 200);
}

TEST_F(Login, ListsEveryFaultOfTheInput) {
  Answer answer = stack().client().post("/v1/auth/login", R"({"login":5})");
  EXPECT_TRUE(is_problem(answer, 422, "validation.error"));
  EXPECT_TRUE(has_fault(answer, "login", "wrong_type"));
  EXPECT_TRUE(has_fault(answer, "password", "required"));
  Answer bounds = try_login(stack(), std::string(255, 'x'), std::string(129, 'x'));
  EXPECT_TRUE(has_fault(bounds, "login", "too_long"));
  EXPECT_TRUE(has_fault(bounds, "password", "too_long"));
  Answer empty = try_login(stack(), "", "");
  EXPECT_TRUE(has_fault(empty, "login", "required"));
  EXPECT_TRUE(has_fault(empty, "password", "required"));
  EXPECT_EQ(sql_number(stack(), "SELECT count(*) FROM login_failures"), 0);
}

}  // namespace
}  // namespace hostler::testing_support
