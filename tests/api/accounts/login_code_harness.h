// Logging in with mailed codes, as the tests of it do.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/rows/accounts.h"
#include "tests/support/rows/mails.h"

namespace hostler::testing_support {

inline ApiStack& stack() { return ApiStack::shared(); }

// Sent codes are counted by address too, and all tests have the same one.
class LoginCodes : public ::testing::Test {
 protected:
  void SetUp() override { stack().sql().run_text("TRUNCATE attempts"); }
};

inline Answer send_code(std::string_view email) {
  return stack().client().post("/v1/auth/email/otp/send",
                               fmt::format(R"({{"email":{}}})", json_quote(email)));
}

inline Answer verify(std::string_view email, std::string_view code) {
  return stack().client().post(
      "/v1/auth/email/otp/verify",
      fmt::format(R"({{"email":{},"otp":{}}})", json_quote(email), json_quote(code)));
}

inline std::string code_of(const TestUser& user) {
  return mailed(stack(), user.email, "login_code", "code");
}

// Returns what the audit log has of logins and proofs.
inline std::string audited(const TestUser& user) {
  return sql_value(
      stack(), fmt::format("SELECT coalesce(string_agg(concat_ws(' ', action, result, after_state),"
                           " ', ' ORDER BY id), '') FROM audit_logs WHERE actor_user_id = '{}' AND "
                           "action IN ('auth.login', 'auth.email_verified')",
                           user.id));
}

}  // namespace hostler::testing_support
