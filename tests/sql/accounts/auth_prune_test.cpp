// Tests what the daemon's maintenance takes away of sessions and counters, and what it leaves.
#include <gtest/gtest.h>

#include <string>

#include "queries/maintenance.h"
#include "tests/support/rigs/database.h"

namespace hostler::testing_support {
namespace {

class AuthPrune : public ::testing::Test {
 protected:
  AuthPrune() : owner_(database_.as_superuser()), runner_(database_.as_runner()) {
    owner_.run_text(
        "SELECT register_user('ada', 'ada@example.org', 'ada@example.org', 'x', 'en', NULL, NULL, "
        "NULL, "
        "'{\"credit.initial_grant\": 0, \"invite.default_max_uses\": 1}')");
  }

  // A session with one token of each kind, which ended so long ago (or will end then).
  void add_session(const std::string& name, const std::string& ended) {
    owner_.run_text(
        "WITH made AS (INSERT INTO sessions (user_id, begun_by, user_agent) SELECT id, 'password', "
        "'" +
        name + "' FROM users RETURNING id), a AS (INSERT INTO access_tokens SELECT sha256('a" +
        name + "'), id, now() - interval '" + ended +
        "' FROM made) INSERT INTO refresh_tokens SELECT sha256('r" + name +
        "'), id, now() - interval '" + ended + "' FROM made");
  }
  std::string value(const std::string& text) { return std::string(owner_.run_text(text).text()); }
  // Answers whether more may be there.
  bool prune(int64_t at_most) {
    return runner_.run(query::AuthPrune{.at_most = at_most})[0].boolean("more");
  }

  TestDatabase database_;
  postgres::DbSession owner_;
  postgres::DbSession runner_;
};

TEST_F(AuthPrune, TakesTokensAndSessionsADayAfterTheirEnd) {
  add_session("old", "25 hours");
  add_session("recent", "23 hours");
  add_session("alive", "-1 hour");
  prune(100);
  EXPECT_EQ(value("SELECT string_agg(user_agent, ' ' ORDER BY id) FROM sessions"), "recent alive");
  EXPECT_EQ(value("SELECT count(*) FROM access_tokens"), "2");
  EXPECT_EQ(value("SELECT count(*) FROM refresh_tokens"), "2");
}

TEST_F(AuthPrune, KeepsASessionWithANewerRefreshToken) {
  add_session("old", "25 hours");
  owner_.run_text(
      "INSERT INTO refresh_tokens SELECT sha256('new'), id, now() + interval '1 day' FROM "
      "sessions");
  prune(100);
  EXPECT_EQ(value("SELECT count(*) FROM sessions"), "1");
  EXPECT_EQ(value("SELECT count(*) FROM refresh_tokens"), "1");
}

TEST_F(AuthPrune, IsDoneByOneAtATime) {
  add_session("old", "25 hours");
  postgres::DbSession other = database_.as_runner();
  other.begin();
  other.run(query::AuthPrune{.at_most = 1});
  prune(100);
  EXPECT_EQ(value("SELECT count(*) FROM sessions"), "1") << "the other one is at it";
  other.rollback();
  prune(100);
  EXPECT_EQ(value("SELECT count(*) FROM sessions"), "0");
}

TEST_F(AuthPrune, TakesOldCountersAndNoMoreRowsThanItMay) {
  owner_.run_text(
      "INSERT INTO login_failures SELECT 'x', '10.0.0.1', now() - interval '2 days' "
      "FROM generate_series(1, 5)");
  owner_.run_text("INSERT INTO login_failures VALUES ('y', '10.0.0.1', now())");
  owner_.run_text("INSERT INTO attempts VALUES ('k', 's', now() - interval '2 days')");
  EXPECT_TRUE(prune(3));
  EXPECT_EQ(value("SELECT count(*) FROM login_failures"), "3");
  EXPECT_EQ(value("SELECT count(*) FROM attempts"), "0");
  EXPECT_FALSE(prune(3));
  EXPECT_EQ(value("SELECT string_agg(login_key, ' ') FROM login_failures"), "y");
}

}  // namespace
}  // namespace hostler::testing_support
