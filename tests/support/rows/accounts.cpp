// Users for tests; see tests/support/rows/accounts.h.
#include "tests/support/rows/accounts.h"

#include <gtest/gtest.h>

#include <charconv>

#include <fmt/format.h>

#include "lib/crypto.h"

namespace hostler::testing_support {

std::string new_name(std::string_view beginning) {
  return fmt::format("{}-{}", beginning, to_hex(random_bytes(8)));
}

std::string account_json(std::string_view login, std::string_view password, std::string_view email,
                         std::string_view further) {
  return fmt::format(R"({{"login":{},"password":{},"email":{}{}{}}})", json_quote(login),
                     json_quote(password), json_quote(email), further.empty() ? "" : ",", further);
}

TestUser register_user(ApiStack& stack, std::string_view further) {
  std::string login = new_name();
  TestUser user{stack.client(),           "", "", login, login + "@example.org",
                "a password of " + login, ""};
  Answer answer = user.client.post("/v1/auth/register",
                                   account_json(login, user.password, user.email, further));
  EXPECT_EQ(answer.status, 201) << answer.body;
  user.client.token = answer.member("access_token");
  user.id = answer.member("user_id");
  user.refresh = answer.refresh_cookie();
  user.org_id =
      sql_value(stack, fmt::format("SELECT personal_org_id FROM users WHERE id = '{}'", user.id));
  return user;
}

Client log_in(ApiStack& stack, const TestUser& user) {
  Client client = stack.client();
  Answer answer =
      client.post("/v1/auth/login", fmt::format(R"({{"login":{},"password":{}}})",
                                                json_quote(user.login), json_quote(user.password)));
  EXPECT_EQ(answer.status, 200) << answer.body;
  client.token = answer.member("access_token");
  client.cookie = answer.refresh_cookie();
  return client;
}

void make_admin(ApiStack& stack, const TestUser& user) {
  stack.sql().run_text(fmt::format("SELECT user_promote('{}')", user.login));
}

TestUser register_admin(ApiStack& stack) {
  TestUser user = register_user(stack);
  make_admin(stack, user);
  return user;
}

std::string make_workspace(ApiStack& stack, const TestUser& owner) {
  std::string org_id = sql_value(
      stack, fmt::format("INSERT INTO orgs (slug, name, type) VALUES ('{0}', '{0}', 'workspace') "
                         "RETURNING id",
                         new_name("work")));
  stack.sql().run_text(fmt::format("INSERT INTO credit_accounts (org_id) VALUES ('{}')", org_id));
  add_member(stack, org_id, owner, "owner");
  return org_id;
}

void add_member(ApiStack& stack, const std::string& org_id, const TestUser& user,
                std::string_view role) {
  stack.sql().run_text(
      fmt::format("INSERT INTO org_members (org_id, user_id, role) VALUES ('{}', '{}', '{}')",
                  org_id, user.id, role));
}

std::string make_api_key(ApiStack& stack, const TestUser& user, const std::string& org_id,
                         std::string_view scopes) {
  Token key = make_token("hst_");
  stack.sql().run_text(
      fmt::format("INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash, scopes) VALUES "
                  "('{}', '{}', 'test', 'hst_', '\\x{}', '{{{}}}')",
                  org_id, user.id, to_hex(key.hash), scopes));
  return key.text;
}

int64_t limit_used(const Client& client, std::string_view key) {
  Json list = client.get("/v1/entitlements").json();
  for (const Json& item : *list.as_array()) {
    if (item.text_or("key") == key) return item.integer_or("used", -1);
  }
  ADD_FAILURE() << key << " is not listed";
  return -1;
}

std::string sql_value(ApiStack& stack, const std::string& text) {
  postgres::Result result = stack.sql().run_text(text);
  EXPECT_FALSE(result.empty()) << "no row: " << text;
  return result.empty() ? "" : std::string(result.text());
}

int64_t sql_number(ApiStack& stack, const std::string& text) {
  std::string digits = sql_value(stack, text);
  int64_t value = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

}  // namespace hostler::testing_support
