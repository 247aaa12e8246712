// The refresh cookie of several sites and browsers' habits: auth.cookie_samesite, Origin,
// more cookies than one.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

constexpr const char* page = "https://app.example";

// An API that pages of another site use.
ApiStack& stack() {
  static ApiStack own(
      {{"HOSTLER_AUTH_COOKIE_SAMESITE=none", "HOSTLER_HTTP_CORS_ORIGINS=https://app.example",
        "HOSTLER_MAIL_SITE_URL=https://site.example/hostler"},
       false});
  return own;
}

Answer refresh(const std::string& cookies, const std::string& origin = "") {
  Call call{"POST", "/v1/auth/refresh", "", "", {{"Cookie", cookies}}};
  if (!origin.empty()) call.headers.emplace_back("Origin", origin);
  return stack().client().send(call);
}

std::string cookie(const std::string& token) { return "hostler_refresh_token=" + token; }

void make_old(const TestUser& user) {
  stack().sql().run_text(
      fmt::format("UPDATE refresh_tokens SET rotated_at = now() - interval '1 hour' WHERE hash = "
                  "sha256('{}')",
                  user.refresh));
}

int64_t ended(const TestUser& user) {
  return sql_number(stack(), fmt::format("SELECT count(*) FROM sessions WHERE user_id = '{}' AND "
                                         "revoked_at IS NOT NULL",
                                         user.id));
}

TEST(RefreshCookie, IsPartitionedWhereOtherSitesEmbedIt) {
  TestUser user = register_user(stack());
  Answer answer = refresh(cookie(user.refresh), page);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("set-cookie"),
            "hostler_refresh_token=" + answer.refresh_cookie() +
                "; Path=/v1/auth; HttpOnly; Secure; SameSite=None; Partitioned; Max-Age=2592000");
  EXPECT_EQ(answer.header("access-control-allow-origin"), page);
  EXPECT_EQ(user.client.post("/v1/auth/logout").header("set-cookie"),
            "hostler_refresh_token=; Path=/v1/auth; HttpOnly; Secure; SameSite=None; Partitioned; "
            "Max-Age=0");
}

TEST(RefreshCookie, IsTakenFromPagesOfTheListAndOfTheSiteAlone) {
  TestUser user = register_user(stack());
  for (const char* other : {"https://elsewhere.example", "null", "https://app.example:444",
                            "http://app.example", "https://app.example.elsewhere.example"}) {
    EXPECT_TRUE(is_problem(refresh(cookie(user.refresh), other), 403, "auth.forbidden")) << other;
  }
  const std::string own = stack().line().base_url();
  for (const std::string& good : {std::string(), own, std::string("https://site.example")}) {
    EXPECT_EQ(refresh(cookie(user.refresh), good).status, 200) << good;
  }
}

TEST(RefreshCookie, ThatLivesWinsAmongSeveral) {
  TestUser dead = register_user(stack());
  TestUser living = register_user(stack());
  make_old(dead);
  std::string several = cookie("unknown") + "; " + cookie(dead.refresh) + "; x=y; ";
  Answer answer = refresh(several + cookie(living.refresh));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(stack().client().with_token(answer.member("access_token")).get("/v1/me").member("id"),
            living.id);
  EXPECT_EQ(ended(dead), 0) << "reuse is not judged while another one lives";
  std::string fifth = several + cookie("a") + "; " + cookie("b") + "; " + cookie(living.refresh);
  EXPECT_TRUE(is_problem(refresh(fifth), 401, "auth.refresh_reused")) << "four are tried";
  EXPECT_EQ(ended(dead), 1);
  EXPECT_EQ(ended(living), 0);
  EXPECT_TRUE(is_problem(refresh(cookie("a") + "; " + cookie("b")), 401, "auth.invalid_token"));
}

}  // namespace
}  // namespace hostler::testing_support
