// The limits on failed logins, and whom they do not hold up, from SQL.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

class LoginLimits : public ::testing::Test {
 protected:
  // Result of a login from there: the code it raises, or count_.
  ErrorCode begin_from(const std::string& address) {
    postgres::DbSession session = database_.as_superuser();
    session.begin();
    try {
      session.run_text(fmt::format(
          "SELECT set_config('hostler.request', '{{\"client_ip\": \"{}\"}}', true)", address));
      session.run_text(fmt::format(
          "SELECT login_guard('{}', '{{\"limit.login_window_seconds\": 600, "
          "\"limit.login_failures_per_login_and_ip\": 2, \"limit.login_failures_per_login\": 5, "
          "\"limit.login_failures_per_ip\": 3}}')",
          fixture_.owner_id));
    } catch (const Error& error) {
      return error.code;
    }
    return ErrorCode::count_;
  }
  bool is_at_home(const std::string& address) {
    postgres::DbSession session = database_.as_superuser();
    session.begin();
    session.run_text(fmt::format(
        "SELECT set_config('hostler.request', '{{\"client_ip\": \"{}\"}}', true)", address));
    return session.run_text(fmt::format("SELECT is_at_home('{}') AS is", fixture_.owner_id))
        .front()
        .boolean("is");
  }
  void log_in_from(const std::string& address, const std::string& ago = "0 s") {
    postgres::DbSession session = database_.as_superuser();
    session.run_text(fmt::format(
        "INSERT INTO sessions (user_id, begun_by, client_ip, neighbourhood, created_at) "
        "VALUES ('{0}', 'password', '{1}', neighbourhood_of('{1}'), "
        "now() - interval '{2}')",
        fixture_.owner_id, address, ago));
  }
  void fail_from(const std::string& key, const std::string& network, int count) {
    postgres::DbSession session = database_.as_superuser();
    session.run_text(
        fmt::format("INSERT INTO login_failures (login_key, client_ip) SELECT '{}', "
                    "'{}' FROM generate_series(1, {})",
                    key, network, count));
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(LoginLimits, KnowWhereSomebodyLoggedInWithinThirtyDays) {
  EXPECT_FALSE(is_at_home("192.0.2.7"));
  log_in_from("192.0.2.7", "29 days");
  log_in_from("2001:db8:1:2::1");
  log_in_from("198.51.100.1", "31 days");
  for (const char* home : {"192.0.2.7", "192.0.2.200", "::ffff:192.0.2.9", "2001:db8:1:2:ffff::"})
    EXPECT_TRUE(is_at_home(home)) << home;
  for (const char* elsewhere : {"192.0.3.7", "2001:db8:1:3::1", "198.51.100.1", "::ffff:192.0.3.9"})
    EXPECT_FALSE(is_at_home(elsewhere)) << elsewhere;
}

// However many sessions there are: a guess must cost the same.
TEST_F(LoginLimits, KnowAHomeBehindThousandsOfNewerSessions) {
  log_in_from("192.0.2.7", "20 days");
  postgres::DbSession session = database_.as_superuser();
  session.run_text(
      fmt::format("INSERT INTO sessions (user_id, begun_by, client_ip, neighbourhood) SELECT '{}', "
                  "'password', '198.51.100.1', '198.51.100.0/24' FROM generate_series(1, 3000)",
                  fixture_.owner_id));
  EXPECT_TRUE(is_at_home("192.0.2.200"));
}

TEST_F(LoginLimits, OfStrangersHoldUpNobodyAtHome) {
  log_in_from("192.0.2.7");
  EXPECT_EQ(begin_from("203.0.113.1"), ErrorCode::count_);
  for (int i = 1; i <= 5; ++i) fail_from(fixture_.owner_id, fmt::format("203.0.113.{}", i), 1);
  EXPECT_EQ(begin_from("203.0.113.99"), ErrorCode::auth_rate_limited);
  EXPECT_EQ(begin_from("192.0.2.8"), ErrorCode::count_);
  fail_from("somebody else", "192.0.2.10", 3);
  EXPECT_EQ(begin_from("192.0.2.10"), ErrorCode::count_) << "others behind the same address";
  fail_from("somebody else", "203.0.113.98", 3);
  EXPECT_EQ(begin_from("203.0.113.98"), ErrorCode::auth_rate_limited) << "behind another one";
  fail_from(fixture_.owner_id, "192.0.2.8", 2);
  EXPECT_EQ(begin_from("192.0.2.8"), ErrorCode::auth_rate_limited) << "its own failures";
  EXPECT_EQ(begin_from("192.0.2.9"), ErrorCode::count_);
}

}  // namespace
}  // namespace hostler::testing_support
