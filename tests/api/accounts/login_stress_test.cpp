// A flood of logins is shed, and slows nothing but logins.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

TEST(LoginStress, IsShedWith503AndRetryAfterWhileEverythingElseIsServed) {
  ApiStack stack({{"HOSTLER_LIMIT_LOGIN_FAILURES_PER_LOGIN_AND_IP=1000000",
                   "HOSTLER_LIMIT_LOGIN_FAILURES_PER_LOGIN=1000000",
                   "HOSTLER_LIMIT_LOGIN_FAILURES_PER_IP=1000000"},
                  false});
  TestUser user = register_user(stack);
  std::vector<Call> calls;
  for (int i = 0; i < 64; ++i) {
    std::string wrong = fmt::format(R"({{"login":"{}","password":"wrong {}"}})", user.login, i);
    calls.push_back({"POST", "/v1/auth/login", wrong, "application/json", {}});
    calls.push_back({"GET", "/v1/me", {}, {}, {}});
  }
  std::string login = new_name();
  calls.push_back({"POST",
                   "/v1/auth/register",
                   account_json(login, "a long password", login + "@example.org"),
                   "application/json",
                   {}});
  std::vector<Answer> answers = user.client.send_all(calls);
  int shed = 0;
  int checked = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    const Answer& answer = answers[i];
    if (calls[i].path != "/v1/auth/login") {
      EXPECT_EQ(answer.status, calls[i].path == "/v1/me" ? 200 : 201) << answer.body;
      continue;
    }
    if (answer.status == 401) {
      ++checked;
      continue;
    }
    ++shed;
    EXPECT_TRUE(is_problem(answer, 503, "overload.busy"));
    EXPECT_EQ(answer.header("retry-after"), "1");
  }
  EXPECT_GT(checked, 0);
  EXPECT_GT(shed, 0) << "64 at once are more than may wait";
  log_in(stack, user);
}

// A user from a known network is stopped neither by the queue nor by the limits that strangers
// reach.
TEST(LoginStress, KeepsOutNobodyWhoComesFromWhereTheyLoggedInBefore) {
  constexpr int64_t served_ms_max = 10'000;
  ApiStack stack(
      {{"HOSTLER_GATEWAY_IP_MODE=proxy", "HOSTLER_GATEWAY_TRUSTED_CIDRS=127.0.0.1"}, false});
  TestUser user = register_user(stack);
  auto login = [&](const std::string& from, const std::string& password) {
    return Call{"POST",
                "/v1/auth/login",
                fmt::format(R"({{"login":"{}","password":"{}"}})", user.login, password),
                "application/json",
                {{"X-Forwarded-For", from}}};
  };
  auto come_home = [&](const char* from) {
    int64_t begun_ms = monotonic_ms();
    Answer answer = stack.client().send(login(from, user.password));
    EXPECT_LT(monotonic_ms() - begun_ms, served_ms_max);
    return answer.status;
  };
  ASSERT_EQ(come_home("198.51.100.7"), 200);
  int wrong = 0;
  for (int round = 0; round < 40 && wrong < 100; ++round) {
    std::vector<Call> calls;
    for (int i = 0; i < 64; ++i)
      calls.push_back(login(fmt::format("203.0.{}.{}", round, i), "not it"));
    calls.push_back(login("198.51.100.8", user.password));
    int64_t begun_ms = monotonic_ms();
    std::vector<Answer> answers = stack.client().send_all(calls);
    EXPECT_LT(monotonic_ms() - begun_ms, served_ms_max);
    EXPECT_EQ(answers.back().status, 200) << answers.back().body;
    for (const Answer& answer : answers) wrong += answer.status == 401;
  }
  EXPECT_EQ(wrong, 100) << "the limit for one login is reached";
  EXPECT_EQ(come_home("192.0.2.9"), 429);
  EXPECT_EQ(come_home("198.51.100.9"), 200);
}

}  // namespace
}  // namespace hostler::testing_support
