// POST /v1/mcp-servers/{server_id}:connect, DELETE /v1/mcp-servers/{server_id}/connection,
// GET /v1/auth/mcp/callback, GET /v1/mcp-client.json. Without a daemon: whoever authorizes was
// found by a statement of the test, and nobody exchanges the code.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

constexpr const char* base = "/v1/mcp-servers";
constexpr const char* nobody = "0190a0a0-0000-7000-8000-000000000000";
constexpr const char* callback = "/v1/auth/mcp/callback";

ApiStack& stack() { return ApiStack::shared(); }

// The same user, acting in an organization.
TestUser in_org(TestUser user, const std::string& org_id) {
  user.client = user.client.with_org(org_id);
  return user;
}

std::string register_server(const TestUser& user, std::string_view authorization) {
  Answer made = user.client.post(
      std::string(base) + "?scope=org",
      fmt::format(R"({{"key":"files","url":"https://93.184.216.34/mcp","authorization":{}}})",
                  authorization));
  EXPECT_EQ(made.status, 201) << made.body;
  return made.member("id");
}

std::string oauth_server(const TestUser& user) {
  return register_server(user, R"({"type":"oauth","client_id":"c","per":"user"})");
}

// Acts as a daemon that asked the server.
void discover(const std::string& server_id, ApiStack& of = stack()) {
  sql_value(of,
            fmt::format(
                "INSERT INTO mcp_discoveries (server_id, org_id, url, resource, issuer, "
                "authorization_endpoint, token_endpoint, tells_issuer, scopes, redirect_uri, "
                "client_id, client_method, client_kind) SELECT id, org_id, url, url, "
                "'https://as.example', 'https://as.example/authorize', 'https://as.example/token', "
                "true, '{{read}}', 'https://hostler.example/v1/auth/mcp/callback', 'c', 'none', "
                "'given' FROM mcp_servers WHERE id = '{}' RETURNING 1",
                server_id));
}

std::string connect_path(const std::string& id) { return fmt::format("{}/{}:connect", base, id); }

// The state in the address that a connecting user is sent to.
std::string begun_state(const TestUser& user, const std::string& server_id) {
  Answer begun = user.client.post(connect_path(server_id));
  EXPECT_EQ(begun.status, 200) << begun.body;
  std::string url = begun.member("url");
  size_t at = url.find("&state=") + 7;
  return url.substr(at, url.find('&', at) - at);
}

std::string outcome_of(const Answer& answer) {
  EXPECT_EQ(answer.status, 303) << answer.body;
  std::string to(answer.header("location"));
  EXPECT_TRUE(to.starts_with("/console/#/mcp-connected?outcome=")) << to;
  std::string outcome = to.substr(to.find('=') + 1);
  return outcome.substr(0, outcome.find('&'));
}

Answer come_back(const std::string& query, const std::string& refresh = "") {
  Client client = stack().client();
  client.cookie = refresh;
  return client.get(fmt::format("{}?{}", callback, query));
}

TEST(McpConnections, BeginOnlyWhereItIsKnownWhoAuthorizes) {
  TestUser user = register_user(stack());
  std::string id = oauth_server(user);
  EXPECT_TRUE(is_problem(user.client.post(connect_path(nobody)), 404, "mcp_servers.not_found"));
  EXPECT_TRUE(is_problem(user.client.post(connect_path(id)), 409, "mcp_servers.not_connectable"));
  discover(id);
  std::string url = user.client.post(connect_path(id)).member("url");
  EXPECT_TRUE(url.starts_with("https://as.example/authorize?response_type=code&client_id=c"));
  for (const char* part : {"&code_challenge_method=S256", "&code_challenge=", "&scope=read",
                           "&resource=https%3A%2F%2F93.184.216.34%2Fmcp"}) {
    EXPECT_NE(url.find(part), std::string::npos) << url;
  }
}

TEST(McpConnections, AreForServersThatTakeOauth) {
  TestUser user = register_user(stack());
  std::string id = register_server(user, R"({"type":"none"})");
  EXPECT_TRUE(is_problem(user.client.post(connect_path(id)), 409, "mcp_servers.not_connectable"));
}

TEST(McpConnections, EndWhetherThereIsOneOrNot) {
  TestUser user = register_user(stack());
  std::string id = oauth_server(user);
  auto path = [](const std::string& of) { return fmt::format("{}/{}/connection", base, of); };
  EXPECT_EQ(user.client.del(path(id)).status, 204);
  EXPECT_TRUE(is_problem(user.client.del(path(nobody)), 404, "mcp_servers.not_found"));
}

TEST(McpConnections, AreMadeInTheSessionThatBeganThemAlone) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string id = oauth_server(user);
  discover(id);
  std::string state = begun_state(user, id);
  std::string good = fmt::format("state={}&code=abc&iss=https%3A%2F%2Fas.example", state);
  EXPECT_EQ(come_back("code=abc").status, 422);
  EXPECT_EQ(outcome_of(come_back("state=guessed&code=abc", user.refresh)), "invalid_state");
  EXPECT_EQ(outcome_of(come_back(good)), "invalid_state");
  EXPECT_EQ(outcome_of(come_back(good, other.refresh)), "invalid_state");
  EXPECT_EQ(outcome_of(come_back(good, user.refresh)), "ok");
  EXPECT_EQ(outcome_of(come_back(good, user.refresh)), "invalid_state") << "a state counts once";
}

// The refresh cookie of a page of another site is in that site's partition.
TEST(McpConnections, AreMadeInTheBrowserThatBeganThemWhereTheCookieIsPartitioned) {
  ApiStack own_stack({{"HOSTLER_AUTH_COOKIE_SAMESITE=none"}});
  TestUser user = register_user(own_stack);
  std::string id = oauth_server(user);
  discover(id, own_stack);
  Answer begun = user.client.post(connect_path(id));
  std::string cookie(begun.header("set-cookie"));
  EXPECT_TRUE(cookie.ends_with("; Path=/v1/auth/mcp; HttpOnly; Secure; SameSite=None; Max-Age=600"))
      << cookie;
  std::string url = begun.member("url");
  std::string state = url.substr(url.find("&state=") + 7);
  state.resize(state.find('&'));
  std::string path =
      fmt::format("{}?state={}&code=abc&iss=https%3A%2F%2Fas.example", callback, state);
  auto back = [&](const std::string& cookies) {
    return outcome_of(own_stack.client().send({"GET", path, "", "", {{"Cookie", cookies}}}));
  };
  std::string own = cookie.substr(0, cookie.find(';'));
  EXPECT_EQ(back("hostler_refresh_token=" + user.refresh), "invalid_state");
  EXPECT_EQ(back(own.substr(0, own.find('=')) + "=guessed"), "invalid_state");
  EXPECT_EQ(back(own), "ok");
}

TEST(McpConnections, AreMadeWithinTenMinutesWhileTheSessionLasts) {
  TestUser user = register_user(stack());
  std::string id = oauth_server(user);
  discover(id);
  auto back_after = [&](const char* minutes) {
    std::string query = begun_state(user, id) + "&code=abc&iss=https%3A%2F%2Fas.example";
    sql_value(stack(),
              fmt::format("UPDATE mcp_authorizations SET created_at = created_at - interval '{} "
                          "minutes' WHERE user_id = '{}' AND status = 'begun' RETURNING 1",
                          minutes, user.id));
    return "state=" + query;
  };
  EXPECT_EQ(outcome_of(come_back(back_after("9"), user.refresh)), "ok");
  EXPECT_EQ(outcome_of(come_back(back_after("10"), user.refresh)), "invalid_state");
  std::string in_time = back_after("0");
  EXPECT_EQ(user.client.post("/v1/auth/logout").status, 200);
  EXPECT_EQ(outcome_of(come_back(in_time, user.refresh)), "invalid_state");
}

TEST(McpConnections, OfAnOrganizationAreNotMadeByWhoMayNotAnyMore) {
  TestUser owner = register_user(stack());
  std::string org_id = make_workspace(stack(), owner);
  TestUser other = in_org(register_user(stack()), org_id);
  add_member(stack(), org_id, other, "admin");
  std::string id =
      register_server(in_org(owner, org_id), R"({"type":"oauth","client_id":"c","per":"org"})");
  discover(id);
  auto back = [&](const std::string& state) {
    std::string query = "state=" + state + "&code=abc&iss=https%3A%2F%2Fas.example";
    return outcome_of(come_back(query, other.refresh));
  };
  auto set_role = [&](const char* role) {
    sql_value(stack(), fmt::format("UPDATE org_members SET role = '{}' WHERE org_id = '{}' AND "
                                   "user_id = '{}' RETURNING 1",
                                   role, org_id, other.id));
  };
  std::string state = begun_state(other, id);
  set_role("member");
  EXPECT_EQ(back(state), "invalid_state");
  set_role("admin");
  EXPECT_EQ(back(state), "invalid_state") << "it is over";
  EXPECT_EQ(back(begun_state(other, id)), "ok");
}

TEST(McpConnections, TakeNoAnswerOfAnotherIssuerAndNoRefusal) {
  TestUser user = register_user(stack());
  std::string id = oauth_server(user);
  discover(id);
  std::string wrong = begun_state(user, id) + "&code=abc&iss=https%3A%2F%2Felse.example";
  EXPECT_EQ(outcome_of(come_back("state=" + wrong, user.refresh)), "wrong_issuer");
  std::string refused = begun_state(user, id) + "&error=access_denied&iss=https%3A%2F%2Fas.example";
  EXPECT_EQ(outcome_of(come_back("state=" + refused, user.refresh)), "refused");
}

// No server could ask the address of this stack.
TEST(McpClient, IsNoneWithoutAnHttpsAddressOfTheSite) {
  EXPECT_TRUE(
      is_problem(stack().client().get("/v1/mcp-client.json"), 404, "mcp_servers.no_client"));
}

}  // namespace
}  // namespace hostler::testing_support
