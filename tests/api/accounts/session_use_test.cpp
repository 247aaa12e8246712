// When sessions and keys were used last: noted behind the answer, at most once a minute. Shown by
// GET /v1/me/sessions.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

testing::AssertionResult becomes_true(const std::string& condition) {
  return eventually(10'000, [&] { return sql_value(stack(), "SELECT " + condition) == "t"; });
}

TEST(SessionUse, IsNotedBehindTheAnswer) {
  TestUser user = register_user(stack());
  stack().sql().run_text(fmt::format(
      "UPDATE sessions SET last_seen_at = now() - interval '61 seconds' WHERE user_id = '{0}';"
      "UPDATE users SET last_seen_at = NULL WHERE id = '{0}'",
      user.id));
  EXPECT_EQ(user.client.get("/v1/me").status, 200);
  EXPECT_TRUE(becomes_true(fmt::format(
      "last_seen_at > now() - interval '30 seconds' FROM sessions WHERE user_id = '{}'", user.id)));
  EXPECT_TRUE(
      becomes_true(fmt::format("last_seen_at IS NOT NULL FROM users WHERE id = '{}'", user.id)));
}

TEST(SessionUse, OfAKeyIsNotedToo) {
  TestUser user = register_user(stack());
  Client key = stack().client().with_token(make_api_key(stack(), user, user.org_id));
  EXPECT_EQ(key.get("/v1/me").status, 200);
  EXPECT_TRUE(becomes_true(
      fmt::format("last_used_at IS NOT NULL FROM api_keys WHERE user_id = '{}'", user.id)));
}

TEST(SessionUse, IsWrittenOnceAMinute) {
  TestUser user = register_user(stack());
  auto seen_ago = [&](std::string_view age) {
    stack().sql().run_text(fmt::format(
        "UPDATE sessions SET last_seen_at = now() - interval '{0}' WHERE user_id = "
        "'{1}'; SELECT caller_seen(id, NULL, '10.0.0.1') FROM sessions WHERE user_id = '{1}'",
        age, user.id));
    return sql_value(stack(), fmt::format("SELECT last_seen_at > now() - interval '10 seconds' "
                                          "FROM sessions WHERE user_id = '{}'",
                                          user.id));
  };
  EXPECT_EQ(seen_ago("55 seconds"), "f");
  EXPECT_EQ(seen_ago("61 seconds"), "t");
}

// From then on requests look at the token's row alone, and hear the same.
TEST(SessionUse, TellsTheTokenWhatItGrantsUntilItIsOver) {
  TestUser user = register_user(stack());
  std::string first = user.client.get("/v1/me").body;
  EXPECT_TRUE(becomes_true(fmt::format(
      "EXISTS (SELECT FROM access_tokens WHERE user_id = '{}' AND role = 'owner')", user.id)));
  EXPECT_EQ(user.client.get("/v1/me").body, first);
  EXPECT_EQ(user.client.get("/v1/admin/users").status, 403);
  EXPECT_EQ(user.client.post("/v1/threads", R"({"title": "by its token"})").status, 201);
  stack().sql().run_text(
      fmt::format("UPDATE users SET platform_admin = true WHERE id = '{}'", user.id));
  EXPECT_EQ(user.client.get("/v1/admin/users").status, 200);
  EXPECT_EQ(user.client.post("/v1/auth/logout").status, 200);
  EXPECT_EQ(user.client.get("/v1/me").status, 401);
}

TEST(SessionUse, OfARefusedTokenIsNotNoted) {
  TestUser user = register_user(stack());
  stack().sql().run_text(fmt::format(
      "UPDATE sessions SET last_seen_at = now() - interval '1 hour', revoked_at = now() WHERE "
      "user_id = '{}'",
      user.id));
  EXPECT_EQ(user.client.get("/v1/me").status, 401);
  TestUser other = register_user(stack());
  stack().sql().run_text(fmt::format(
      "UPDATE sessions SET last_seen_at = now() - interval '1 hour' WHERE user_id = '{}'",
      other.id));
  EXPECT_EQ(other.client.get("/v1/me").status, 200);
  ASSERT_TRUE(becomes_true(fmt::format(
      "last_seen_at > now() - interval '1 minute' FROM sessions WHERE user_id = '{}'", other.id)));
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT last_seen_at < now() - interval '50 minutes' "
                                           "FROM sessions WHERE user_id = '{}'",
                                           user.id)),
            "t");
}

}  // namespace
}  // namespace hostler::testing_support
