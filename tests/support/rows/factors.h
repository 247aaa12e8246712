// Second factors for tests: an account with an authenticator app, and its codes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {

struct TestFactor {
  std::string id;
  std::string secret;  // 20 bytes
  std::vector<std::string> recovery_codes;
};

// The bytes that an authenticator app reads from a secret in Base32.
std::string from_base32(std::string_view text);
// Proves the user's address as an operator would.
void prove_address(ApiStack& stack, const TestUser& user);
// Adds an authenticator app over the API; the user's address is proved then.
TestFactor add_totp(ApiStack& stack, const TestUser& user);
// The code of now. The step counts as unused again, so that no test waits for the next one.
std::string next_code(ApiStack& stack, const TestFactor& factor);
// The token of a login by password that asks for a factor; empty when it does not.
std::string factor_token(ApiStack& stack, const TestUser& user);
// {"factor_token":…,name:value}
std::string factor_body(std::string_view token, std::string_view name, std::string_view value);
// A login with password and code.
Client log_in_with(ApiStack& stack, const TestUser& user, const TestFactor& factor);

}  // namespace hostler::testing_support
