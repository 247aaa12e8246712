// POST /v1/auth/refresh, POST /v1/auth/logout, POST /v1/auth/check, and what tokens are good for.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

Answer refresh_with(const std::string& cookie) {
  Client client = stack().client();
  client.cookie = cookie;
  return client.post("/v1/auth/refresh");
}

void age_rotation(const std::string& refresh, std::string_view by) {
  stack().sql().run_text(fmt::format(
      "UPDATE refresh_tokens SET rotated_at = rotated_at - interval '{}' WHERE hash = sha256('{}')",
      by, refresh));
}

bool token_lives(const std::string& token) {
  return stack().client().with_token(token).get("/v1/me").status == 200;
}

TEST(Refresh, GivesANewPairAndReplacesTheCookie) {
  TestUser user = register_user(stack());
  Answer answer = refresh_with(user.refresh);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("set-cookie"),
            "hostler_refresh_token=" + answer.refresh_cookie() +
                "; Path=/v1/auth; HttpOnly; Secure; SameSite=Lax; Max-Age=2592000");
  EXPECT_NE(answer.refresh_cookie(), user.refresh);
  EXPECT_TRUE(token_lives(answer.member("access_token")));
  EXPECT_TRUE(token_lives(user.client.token));
  EXPECT_EQ(refresh_with(answer.refresh_cookie()).status, 200);
}

TEST(Refresh, FindsItsCookieAmongOthers) {
  TestUser user = register_user(stack());
  Client client = stack().client();
  Call call{"POST", "/v1/auth/refresh", "", "", {}};
  call.headers.emplace_back(
      "Cookie", "a=b; xhostler_refresh_token=no; hostler_refresh_token=" + user.refresh + "; c=d");
  EXPECT_EQ(client.send(call).status, 200);
}

TEST(Refresh, IsNotForPagesOfOtherSites) {
  TestUser user = register_user(stack());
  Call call{"POST",
            "/v1/auth/refresh",
            "",
            "",
            {{"Cookie", "hostler_refresh_token=" + user.refresh},
             {"Origin", "https://elsewhere.example"},
             {"Sec-Fetch-Site", "cross-site"}}};
  EXPECT_TRUE(is_problem(stack().client().send(call), 403, "auth.forbidden"));
  call.headers.back().second = "same-site";
  EXPECT_TRUE(is_problem(stack().client().send(call), 403, "auth.forbidden")) << "not in the list";
}

TEST(Refresh, WithoutACookieAsksForOne) {
  Answer answer = stack().client().post("/v1/auth/refresh");
  EXPECT_TRUE(is_problem(answer, 401, "auth.missing_token"));
  EXPECT_EQ(answer.header("www-authenticate"), "Bearer");
}

TEST(Refresh, RefusesUnknownTokensAndClearsTheCookie) {
  Answer answer = refresh_with("hrt_unknown");
  EXPECT_TRUE(is_problem(answer, 401, "auth.invalid_token"));
  EXPECT_EQ(answer.header("set-cookie"),
            "hostler_refresh_token=; Path=/v1/auth; HttpOnly; Secure; SameSite=Lax; Max-Age=0");
}

TEST(Refresh, RefusesExpiredTokens) {
  TestUser user = register_user(stack());
  stack().sql().run_text(fmt::format(
      "UPDATE refresh_tokens SET expires_at = now() WHERE hash = sha256('{}')", user.refresh));
  EXPECT_TRUE(is_problem(refresh_with(user.refresh), 401, "auth.invalid_token"));
}

TEST(Refresh, RefusesSuspendedUsers) {
  TestUser user = register_user(stack());
  stack().sql().run_text(
      fmt::format("UPDATE users SET status = 'suspended' WHERE id = '{}'", user.id));
  EXPECT_TRUE(is_problem(refresh_with(user.refresh), 401, "auth.invalid_token"));
}

TEST(Refresh, LetsARacingTabGoOnForTenSeconds) {
  TestUser user = register_user(stack());
  Answer first = refresh_with(user.refresh);
  age_rotation(user.refresh, "9 seconds");
  Answer second = refresh_with(user.refresh);
  ASSERT_EQ(second.status, 200) << second.body;
  EXPECT_EQ(refresh_with(first.refresh_cookie()).status, 200);
  EXPECT_EQ(refresh_with(second.refresh_cookie()).status, 200);
}

TEST(Refresh, ServesManyTabsAtOnce) {
  TestUser user = register_user(stack());
  Client client = stack().client();
  client.cookie = user.refresh;
  std::vector<Call> calls(20, {"POST", "/v1/auth/refresh", "", "", {}});
  for (const Answer& answer : client.send_all(calls)) EXPECT_EQ(answer.status, 200) << answer.body;
}

TEST(Refresh, EndsTheSessionWhenARotatedTokenComesBackLater) {
  TestUser user = register_user(stack());
  Client elsewhere = log_in(stack(), user);
  Answer rotated = refresh_with(user.refresh);
  age_rotation(user.refresh, "10 seconds");
  Answer reused = refresh_with(user.refresh);
  EXPECT_TRUE(is_problem(reused, 401, "auth.refresh_reused"));
  EXPECT_EQ(reused.refresh_cookie(), "");
  EXPECT_FALSE(token_lives(user.client.token));
  EXPECT_FALSE(token_lives(rotated.member("access_token")));
  EXPECT_TRUE(is_problem(refresh_with(rotated.refresh_cookie()), 401, "auth.refresh_reused"));
  EXPECT_TRUE(token_lives(elsewhere.token));
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT string_agg(org_id || ' ' || target_type || ' ' "
                                           "|| result, ',') FROM audit_logs WHERE action = "
                                           "'auth.refresh_reuse' AND actor_user_id = '{}'",
                                           user.id)),
            user.org_id + " session denied");
}

TEST(Logout, EndsTheSessionAtOnceAndClearsTheCookie) {
  TestUser user = register_user(stack());
  Client elsewhere = log_in(stack(), user);
  Answer answer = user.client.post("/v1/auth/logout");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"ok":true})");
  EXPECT_EQ(answer.header("set-cookie"),
            "hostler_refresh_token=; Path=/v1/auth; HttpOnly; Secure; SameSite=Lax; Max-Age=0");
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(is_problem(user.client.get("/v1/me"), 401, "auth.invalid_token"));
  }
  EXPECT_TRUE(is_problem(refresh_with(user.refresh), 401, "auth.invalid_token"));
  EXPECT_TRUE(is_problem(user.client.post("/v1/auth/logout"), 401, "auth.invalid_token"));
  EXPECT_TRUE(token_lives(elsewhere.token));
}

TEST(Logout, OfAllEndsEverySession) {
  TestUser user = register_user(stack());
  TestUser neighbour = register_user(stack());
  Client elsewhere = log_in(stack(), user);
  EXPECT_EQ(user.client.post("/v1/auth/logout?all=true").status, 200);
  EXPECT_FALSE(token_lives(user.client.token));
  EXPECT_FALSE(token_lives(elsewhere.token));
  EXPECT_TRUE(is_problem(refresh_with(elsewhere.cookie), 401, "auth.invalid_token"));
  EXPECT_TRUE(token_lives(neighbour.client.token));
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT after_state FROM audit_logs WHERE action = "
                                           "'auth.logout' AND actor_user_id = '{}'",
                                           user.id)),
            R"({"all": true})");
}

TEST(Logout, RefusesWhatIsNoAnswerToAll) {
  TestUser user = register_user(stack());
  EXPECT_TRUE(has_fault(user.client.post("/v1/auth/logout?all=maybe"), "all", "wrong_type"));
  EXPECT_TRUE(
      is_problem(stack().client().post("/v1/auth/logout?all=maybe"), 401, "auth.missing_token"));
  EXPECT_TRUE(token_lives(user.client.token));
}

TEST(Logout, IsNotForApiKeys) {
  TestUser user = register_user(stack());
  Client key = stack().client().with_token(make_api_key(stack(), user, user.org_id));
  EXPECT_TRUE(is_problem(key.post("/v1/auth/logout"), 403, "auth.user_token_required"));
}

TEST(AccessToken, IsToldApartWhenItHasExpired) {
  TestUser user = register_user(stack());
  stack().sql().run_text(fmt::format(
      "UPDATE access_tokens SET expires_at = now() WHERE hash = sha256('{}')", user.client.token));
  EXPECT_TRUE(is_problem(user.client.get("/v1/me"), 401, "auth.token_expired"));
  EXPECT_EQ(refresh_with(user.refresh).status, 200);
}

TEST(AccessToken, OfAnyOddFormIsRefused) {
  Client client = stack().client();
  std::string right_length = "hat_" + std::string(43, 'A');
  for (const std::string& token :
       std::vector<std::string>{right_length, std::string("hat_"), std::string("x"),
                                right_length + "A", "hat_" + std::string(43, '+'),
                                "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.", std::string(4000, 'x')}) {
    EXPECT_TRUE(is_problem(client.with_token(token).get("/v1/me"), 401, "auth.invalid_token"))
        << token;
  }
  EXPECT_TRUE(is_problem(client.with_token("hst_" + std::string(43, 'A')).get("/v1/me"), 401,
                         "auth.invalid_api_key"));
  EXPECT_TRUE(is_problem(client.get("/v1/me"), 401, "auth.missing_token"));
  Call basic{"GET", "/v1/me", "", "", {{"Authorization", "Basic YTpi"}}};
  EXPECT_TRUE(is_problem(client.send(basic), 401, "auth.invalid_token"));
}

class Check : public ::testing::Test {
 protected:
  void SetUp() override { stack().sql().run_text("TRUNCATE attempts"); }
  static Answer check(std::string_view login) {
    return stack().client().post("/v1/auth/check",
                                 fmt::format(R"({{"login":{}}})", json_quote(login)));
  }
};

TEST_F(Check, FindsLoginUsernameAndAddressInAnyCase) {
  TestUser user = register_user(stack());
  std::string name = new_name("Nick");
  ASSERT_EQ(user.client.patch("/v1/me", fmt::format(R"({{"username":"{}"}})", name)).status, 200);
  for (const std::string& login :
       {user.login, "USER" + user.login.substr(4), user.email, "nICK" + name.substr(4)}) {
    EXPECT_EQ(check(login).body, R"({"exists":true})") << login;
  }
  EXPECT_EQ(check(new_name()).body, R"({"exists":false})");
  EXPECT_EQ(check(new_name() + "@example.org").body, R"({"exists":false})");
}

TEST_F(Check, AnswersThirtyQuestionsAMinute) {
  std::vector<Call> calls(33,
                          {"POST", "/v1/auth/check", R"({"login":"x"})", "application/json", {}});
  int refused = 0;
  for (const Answer& answer : stack().client().send_all(calls)) {
    if (answer.status == 200) continue;
    ++refused;
    EXPECT_TRUE(is_problem(answer, 429, "auth.rate_limited"));
    EXPECT_LE(answer.header_number("retry-after"), 60);
  }
  EXPECT_EQ(refused, 3);
  stack().sql().run_text("UPDATE attempts SET at = at - interval '1 minute'");
  EXPECT_EQ(check("x").status, 200);
}

TEST_F(Check, RefusesWhatIsNoName) {
  EXPECT_TRUE(has_fault(check(""), "login", "required"));
  EXPECT_TRUE(has_fault(check(std::string(255, 'x')), "login", "too_long"));
  EXPECT_TRUE(has_fault(stack().client().post("/v1/auth/check", "{}"), "login", "required"));
}

}  // namespace
}  // namespace hostler::testing_support
