// Users for tests: each test makes its own, so that none sees another's.
#pragma once

#include <string>
#include <string_view>

#include "tests/support/rigs/api_stack.h"

namespace hostler::testing_support {

struct TestUser {
  Client client;  // with an access token
  std::string id;
  std::string org_id;  // the personal one
  std::string login;
  std::string email;
  std::string password;
  std::string refresh;  // of the first session
};

// A name that nobody else has.
std::string new_name(std::string_view beginning = "user");
// {"login":…,"password":…,"email":…} with further members, as JSON text ("\"locale\":\"de\"").
std::string account_json(std::string_view login, std::string_view password, std::string_view email,
                         std::string_view further = "");

// By POST /v1/auth/register. A failure of the test when that is refused.
TestUser register_user(ApiStack& stack, std::string_view further = "");
// By POST /v1/auth/login.
Client log_in(ApiStack& stack, const TestUser& user);
// Acts as hostlerctl does it; acts from the next request on.
void make_admin(ApiStack& stack, const TestUser& user);
TestUser register_admin(ApiStack& stack);
// A workspace with the user as owner; other members are put in by add_member.
std::string make_workspace(ApiStack& stack, const TestUser& owner);
void add_member(ApiStack& stack, const std::string& org_id, const TestUser& user,
                std::string_view role);
// A key of the user in the organization; empty scopes: all of the user's rights there.
std::string make_api_key(ApiStack& stack, const TestUser& user, const std::string& org_id,
                         std::string_view scopes = "");
// Returns what GET /v1/entitlements says is used of a limit; -1: it is not counted.
int64_t limit_used(const Client& client, std::string_view key);

// One value, of text that is nobody's statement: the first column of the first row.
std::string sql_value(ApiStack& stack, const std::string& text);
int64_t sql_number(ApiStack& stack, const std::string& text);

}  // namespace hostler::testing_support
