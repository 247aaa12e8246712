// Codes of an authenticator app with a clock that the test sets: each step is taken once, and none
// outside of the window.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/account/second_factor.h"
#include "tests/support/rows/factors.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

class FactorsClock : public ::testing::Test {
 protected:
  void SetUp() override { stack().sql().run_text("TRUNCATE attempts"); }
  void TearDown() override { set_clock("clock_timestamp()"); }
  static void set_clock(const std::string& moment) {
    stack().sql().run_text(
        fmt::format("CREATE OR REPLACE FUNCTION factor_clock() RETURNS timestamptz LANGUAGE sql "
                    "VOLATILE AS $$ SELECT {} $$",
                    moment));
  }
  static void set_step(int64_t step) {
    set_clock(fmt::format("to_timestamp({})", step * account::totp_step_seconds + 7));
  }
};

Answer confirm(const TestUser& user, const std::string& code) {
  return user.client.post("/v1/auth/confirm", fmt::format(R"({{"code":"{}"}})", code));
}

TEST_F(FactorsClock, TakesEveryStepOnceAndNoneFarAway) {
  TestUser user = register_user(stack());
  TestFactor factor = add_totp(stack(), user);
  stack().sql().run_text("UPDATE factors SET last_step = 0 WHERE id = '" + factor.id + "'");
  constexpr int64_t begin = 70'000'000;
  constexpr int64_t count = 100;
  int refused = 0;
  for (int64_t step = begin; step < begin + count; ++step) {
    set_step(step);
    std::string code = account::totp_code(factor.secret, step);
    ASSERT_EQ(confirm(user, code).status, 200) << step - begin;
    if (step % 7 != 0) continue;
    stack().sql().run_text("TRUNCATE attempts");
    for (int64_t other : {step, step - 1, step - 2, step + 2}) {
      std::string not_now = account::totp_code(factor.secret, other);
      refused += is_problem(confirm(user, not_now), 422, "auth.factor_invalid") ? 1 : 0;
    }
  }
  EXPECT_EQ(refused, 4 * 15);
}

TEST_F(FactorsClock, TakesTheNextStepAlready) {
  TestUser user = register_user(stack());
  TestFactor factor = add_totp(stack(), user);
  stack().sql().run_text("UPDATE factors SET last_step = 0 WHERE id = '" + factor.id + "'");
  constexpr int64_t step = 70'100'000;
  set_step(step);
  for (int64_t near : {step - 1, step, step + 1}) {
    EXPECT_EQ(confirm(user, account::totp_code(factor.secret, near)).status, 200) << near - step;
  }
}

}  // namespace
}  // namespace hostler::testing_support
