// See tests/support/rows/factors.h.
#include "tests/support/rows/factors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/account/second_factor.h"

namespace hostler::testing_support {

std::string from_base32(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    bits = bits << 5 | static_cast<uint32_t>(c >= 'A' ? c - 'A' : c - '2' + 26);
    count += 5;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xFF);
  }
  return out;
}

void prove_address(ApiStack& stack, const TestUser& user) {
  stack.sql().run_text(
      fmt::format("UPDATE users SET email_verified_at = coalesce(email_verified_at, now()) WHERE "
                  "id = '{}'",
                  user.id));
}

TestFactor add_totp(ApiStack& stack, const TestUser& user) {
  prove_address(stack, user);
  Answer created = user.client.post("/v1/me/factors/totp", R"({"name":"phone"})");
  EXPECT_EQ(created.status, 201) << created.body;
  TestFactor factor{created.member("id"), from_base32(created.member("secret")), {}};
  Answer confirmed = user.client.post(fmt::format("/v1/me/factors/totp/{}:confirm", factor.id),
                                      fmt::format(R"({{"code":"{}"}})", next_code(stack, factor)));
  EXPECT_EQ(confirmed.status, 200) << confirmed.body;
  Json answer = confirmed.json();
  const Json* codes = answer.find("recovery_codes");
  if (codes == nullptr || codes->as_array() == nullptr) return factor;
  for (const Json& code : *codes->as_array()) factor.recovery_codes.push_back(*code.as_text());
  return factor;
}

std::string next_code(ApiStack& stack, const TestFactor& factor) {
  stack.sql().run_text(fmt::format("UPDATE factors SET last_step = 0 WHERE id = '{}'", factor.id));
  int64_t clock = sql_number(stack, "SELECT floor(extract(epoch FROM factor_clock()))::bigint");
  return account::totp_code(factor.secret, clock / account::totp_step_seconds);
}

std::string factor_token(ApiStack& stack, const TestUser& user) {
  Answer answer = stack.client().post(
      "/v1/auth/login",
      fmt::format(R"({{"login":"{}","password":{}}})", user.login, json_quote(user.password)));
  return answer.member("factor_token");
}

std::string factor_body(std::string_view token, std::string_view name, std::string_view value) {
  return fmt::format(R"({{"factor_token":{},"{}":{}}})", json_quote(token), name,
                     json_quote(value));
}

Client log_in_with(ApiStack& stack, const TestUser& user, const TestFactor& factor) {
  Answer answer = stack.client().post(
      "/v1/auth/factor", factor_body(factor_token(stack, user), "code", next_code(stack, factor)));
  EXPECT_EQ(answer.status, 200) << answer.body;
  return stack.client().with_token(answer.member("access_token"));
}

}  // namespace hostler::testing_support
