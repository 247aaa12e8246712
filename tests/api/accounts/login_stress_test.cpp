// A flood of logins is shed, and slows nothing but logins.
#include <gtest/gtest.h>

#include <fmt/format.h>

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

}  // namespace
}  // namespace hostler::testing_support
