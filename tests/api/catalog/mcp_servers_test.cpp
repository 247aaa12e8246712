// GET /v1/mcp-servers, POST /v1/mcp-servers, GET /v1/mcp-servers/{server_id},
// PATCH /v1/mcp-servers/{server_id}, DELETE /v1/mcp-servers/{server_id},
// POST /v1/mcp-servers/{server_id}:refresh. Without a daemon: nothing is called. What is pinned of
// their tools: mcp_tools_test.cpp.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/json.h"
#include "tests/support/hostile_urls.h"
#include "tests/support/rows/accounts.h"
#include "tests/support/rows/mcp_servers.h"

namespace hostler::testing_support {
namespace {

constexpr const char* base = "/v1/mcp-servers";
constexpr const char* of_org = "?scope=org";
constexpr const char* nobody = "0190a0a0-0000-7000-8000-000000000000";
constexpr const char* bearer = R"({"type":"bearer","token":"very-secret-0123456789"})";

ApiStack& stack() { return ApiStack::shared(); }

std::string wanted(std::string_view key, std::string_view more = "") {
  return fmt::format(R"({{"key":"{}","url":"https://93.184.216.34/mcp"{}}})", key, more);
}

std::string with_authorization(std::string_view authorization) {
  return fmt::format(R"(,"authorization":{})", authorization);
}

Answer post(const TestUser& user, const std::string& body) {
  return user.client.post(std::string(base) + of_org, body);
}

std::string path(const std::string& id, std::string_view rest = "") {
  return fmt::format("{}/{}{}{}", base, id, rest, of_org);
}

std::string made_by(const TestUser& user, std::string_view key, std::string_view more = "") {
  Answer made = post(user, wanted(key, more));
  EXPECT_EQ(made.status, 201) << made.body;
  return made.member("id");
}

// Keys of the platform's servers are everybody's: each test has its own.
std::string new_key() { return new_name("s").substr(0, 20); }

std::string audited(const TestUser& user) {
  return sql_value(stack(), fmt::format("SELECT string_agg(action, ' ' ORDER BY id) FROM "
                                        "audit_logs WHERE org_id = '{}' AND target_type = "
                                        "'mcp_server'",
                                        user.org_id));
}

int64_t secrets_of(const TestUser& user) {
  return sql_number(stack(), fmt::format("SELECT count(*) FROM secrets WHERE org_id = '{}' AND "
                                         "kind = 'mcp_server'",
                                         user.org_id));
}

TEST(McpServers, AreRegisteredAtOnceAndListedLater) {
  TestUser user = register_user(stack());
  Answer made = post(user, wanted("files"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("key"), "files");
  EXPECT_EQ(made.member("scope"), "org");
  EXPECT_EQ(made.member("trust"), "ask");
  EXPECT_EQ(made.member("is_active"), "true");
  EXPECT_EQ(made.member("allowed_tools"), "[]");
  EXPECT_EQ(made.json().find("authorization")->text_or("type"), "none");
  EXPECT_EQ(made.json().find("listing")->text_or("state"), "pending");
  Answer shown = user.client.get(path(made.member("id")));
  ASSERT_EQ(shown.status, 200) << shown.body;
  EXPECT_EQ(shown.member("url"), "https://93.184.216.34/mcp");
  Answer list = user.client.get(std::string(base) + of_org);
  ASSERT_EQ(list.status, 200) << list.body;
  EXPECT_NE(list.body.find(made.member("id")), std::string::npos);
  EXPECT_EQ(user.client.del(path(made.member("id"))).status, 204);
  EXPECT_TRUE(is_problem(user.client.get(path(made.member("id"))), 404, "mcp_servers.not_found"));
  EXPECT_EQ(audited(user), "mcp_servers.create mcp_servers.delete");
}

TEST(McpServers, NeverShowWhatIsSecret) {
  TestUser user = register_user(stack());
  std::string one = made_by(user, "one", with_authorization(bearer));
  std::string two = made_by(
      user, "two",
      with_authorization(R"({"type":"headers","headers":{"X-Key":"very-secret","X-Team":"a b"}})"));
  std::string three =
      made_by(user, "three",
              with_authorization(R"({"type":"oauth","client_id":"c","client_secret":"very-secret",)"
                                 R"("scopes":["read"],"per":"user"})"));
  EXPECT_EQ(secrets_of(user), 3);
  std::string list = user.client.get(std::string(base) + of_org).body;
  EXPECT_EQ(list.find("very-secret"), std::string::npos);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE org_id = '{}' "
                                            "AND after_state::text LIKE '%very-secret%'",
                                            user.org_id)),
            0);
  EXPECT_NE(list.find("X-Key"), std::string::npos) << "names of headers are shown";
  Json shown = user.client.get(path(three)).json();
  const Json* authorization = shown.find("authorization");
  EXPECT_EQ(authorization->text_or("client_id"), "c");
  EXPECT_EQ(authorization->text_or("per"), "user");
  EXPECT_EQ(authorization->find("has_client_secret")->dump(), "true");
  for (const std::string& id : {one, two, three}) {
    EXPECT_EQ(user.client.del(path(id)).status, 204);
  }
  EXPECT_EQ(secrets_of(user), 0);
}

TEST(McpServers, ListEveryFault) {
  TestUser user = register_user(stack());
  Answer answer = post(user, R"({"key":"A b","url":"ftp://x.example/","allowed_tools":[5],)"
                             R"("trust":"always","is_active":null,"authorization":[]})");
  EXPECT_TRUE(has_fault(answer, "key", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "url", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "allowed_tools.0", "wrong_type"));
  EXPECT_TRUE(has_fault(answer, "is_active", "wrong_type"));
  EXPECT_TRUE(has_fault(answer, "authorization", "wrong_type"));
  Answer empty = post(user, "{}");
  EXPECT_TRUE(has_fault(empty, "key", "required"));
  EXPECT_TRUE(has_fault(empty, "url", "required"));
  for (const char* url : {"https://93.184.216.34/#x", "https://93.184.216.34/mcp#"}) {
    Answer fragment = post(user, fmt::format(R"({{"key":"a","url":"{}"}})", url));
    EXPECT_TRUE(has_fault(fragment, "url", "bad_format")) << url;
  }
  EXPECT_EQ(user.client.patch(path(made_by(user, "files")), "{}").status, 422);
}

TEST(McpServers, RefuseAuthorizationsThatCannotBeSent) {
  TestUser user = register_user(stack());
  auto refused = [&](std::string_view authorization, std::string_view field) {
    Answer answer = post(user, wanted("a", with_authorization(authorization)));
    bool is_named =
        answer.body.find(fmt::format(R"("field":"authorization.{}")", field)) != std::string::npos;
    return answer.status == 422 && is_named;
  };
  EXPECT_TRUE(refused(R"({"type":"magic"})", "type"));
  EXPECT_TRUE(refused(R"({"type":"bearer"})", "token"));
  EXPECT_TRUE(refused(R"({"type":"bearer","token":"a b"})", "token"));
  EXPECT_TRUE(refused(R"({"type":"bearer","token":"a\r\nX: y"})", "token"));
  EXPECT_TRUE(refused(R"({"type":"headers","headers":{}})", "headers"));
  EXPECT_TRUE(refused(R"({"type":"headers","headers":{"Host":"x"}})", "headers.Host"));
  EXPECT_TRUE(refused(R"({"type":"headers","headers":{"Mcp-Method":"x"}})", "headers.Mcp-Method"));
  EXPECT_TRUE(refused(R"({"type":"headers","headers":{"X-A":"1","x-a":"2"}})", "headers.x-a"));
  EXPECT_TRUE(refused(R"({"type":"headers","headers":{"X-A":"1\n2"}})", "headers.X-A"));
  EXPECT_TRUE(refused(R"({"type":"oauth"})", "per"));
  EXPECT_TRUE(refused(R"({"type":"oauth","per":"user","scopes":["a b"]})", "scopes.0"));
  EXPECT_TRUE(refused(R"({"type":"oauth","per":"user","client_secret":"s"})", "client_id"));
}

TEST(McpServers, OfOrganizationsLeadToPublicAddresses) {
  TestUser user = register_user(stack());
  for (const char* url :
       {"https://127.0.0.1/", "https://10.0.0.1/mcp", "https://[::1]/", "http://93.184.216.34/",
        "https://169.254.169.254/latest", "http://127.0.0.1/"}) {
    EXPECT_TRUE(is_problem(post(user, fmt::format(R"({{"key":"a","url":"{}"}})", url)), 422,
                           "tool.url_denied"))
        << url;
  }
  std::string id = made_by(user, "files");
  EXPECT_TRUE(is_problem(user.client.patch(path(id), R"({"url":"https://127.0.0.1/"})"), 422,
                         "tool.url_denied"));
}

TEST(McpServers, OfOrganizationsHaveNoHostileUrl) {
  TestUser user = register_user(stack());
  for (const char* hostile : hostile_urls) {
    JsonWriter json;
    json.begin_object().member("key", "a").member("url", with_port(hostile, 8443)).end_object();
    EXPECT_EQ(post(user, json.take()).status, 422) << hostile;
  }
}

TEST(McpServers, OfThePlatformMayBePrivateAndAreListedWithoutTheirAddress) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  std::string key = new_key();
  Answer made =
      admin.client.post(base, fmt::format(R"({{"key":"{}","url":"http://127.0.0.1:1/mcp"}})", key));
  ASSERT_EQ(made.status, 201) << made.body;
  std::string id = made.member("id");
  Answer shown = user.client.get(path(id));
  ASSERT_EQ(shown.status, 200) << shown.body;
  EXPECT_EQ(shown.member("scope"), "platform");
  EXPECT_TRUE(shown.json().find("url")->is_null());
  std::string list = user.client.get(std::string(base) + of_org + "&limit=200").body;
  EXPECT_NE(list.find(key), std::string::npos);
  EXPECT_EQ(list.find("127.0.0.1"), std::string::npos);
  // Not theirs to change.
  EXPECT_TRUE(
      is_problem(user.client.patch(path(id), R"({"trust":"run"})"), 404, "mcp_servers.not_found"));
  EXPECT_TRUE(is_problem(user.client.del(path(id)), 404, "mcp_servers.not_found"));
  EXPECT_TRUE(is_problem(user.client.post(path(id, ":refresh")), 404, "mcp_servers.not_found"));
  EXPECT_EQ(admin.client.patch(std::string(base) + "/" + id, R"({"is_active":false})").status, 200);
  EXPECT_TRUE(is_problem(user.client.get(path(id)), 404, "mcp_servers.not_found"));
  EXPECT_EQ(admin.client.del(std::string(base) + "/" + id).status, 204);
}

TEST(McpServers, OfThePlatformTakeSecretsFromFreshLoginsAlone) {
  TestUser admin = register_admin(stack());
  stack().sql().run_text(
      fmt::format("UPDATE sessions SET proved_at = clock_timestamp() - interval '1 day' WHERE "
                  "user_id = '{}'",
                  admin.id));
  EXPECT_TRUE(is_problem(admin.client.post(base, wanted(new_key(), with_authorization(bearer))),
                         403, "auth.fresh_login_required"));
  EXPECT_EQ(admin.client.post(base, wanted(new_key())).status, 201);
}

TEST(McpServers, HaveOneKeyInAScope) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "files");
  EXPECT_TRUE(is_problem(post(user, wanted("files")), 409, "mcp_servers.exists"));
  EXPECT_EQ(secrets_of(user), 0);
  EXPECT_EQ(user.client.del(path(id)).status, 204);
  made_by(user, "files");
  made_by(register_user(stack()), "files");
}

TEST(McpServers, SendWhatIsSecretNowhereElse) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "files", with_authorization(bearer));
  Answer moved = user.client.patch(path(id), R"({"url":"https://93.184.216.35/mcp"})");
  EXPECT_TRUE(has_fault(moved, "authorization", "required"));
  // Elsewhere on the same host may be somebody else, too.
  for (const char* other : {"/other", "/", "/mcpx", "/mcp/../other", "/mcp/%2e%2E/other",
                            "/mcp/..%2fother", "/mcp?tenant=b"}) {
    Answer refused =
        user.client.patch(path(id), fmt::format(R"({{"url":"https://93.184.216.34{}"}})", other));
    EXPECT_TRUE(has_fault(refused, "authorization", "required")) << other << refused.body;
  }
  for (const char* below : {"/mcp/", "/mcp/v2"}) {
    Answer kept =
        user.client.patch(path(id), fmt::format(R"({{"url":"https://93.184.216.34{}"}})", below));
    EXPECT_EQ(kept.status, 200) << kept.body;
  }
  Answer with_it = user.client.patch(
      path(id),
      fmt::format(R"({{"url":"https://93.184.216.35/mcp"{}}})", with_authorization(bearer)));
  EXPECT_EQ(with_it.status, 200) << with_it.body;
  EXPECT_EQ(secrets_of(user), 1) << "the one before is gone";
  Answer without = user.client.patch(path(id), R"({"authorization":{"type":"none"}})");
  EXPECT_EQ(without.status, 200) << without.body;
  EXPECT_EQ(secrets_of(user), 0);
}

TEST(McpServers, AreListedAnewWhenTheyAreOthersOrSomebodyAsks) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "files");
  auto state = [&] {
    return std::string(user.client.get(path(id)).json().find("listing")->text_or("state"));
  };
  store_listing(stack(), id, {});
  EXPECT_EQ(state(), "ok");
  EXPECT_EQ(user.client.patch(path(id), R"({"trust":"run"})").status, 200);
  EXPECT_EQ(state(), "ok");
  EXPECT_EQ(user.client.patch(path(id), R"({"allowed_tools":["read"]})").status, 200);
  EXPECT_EQ(state(), "pending");
  store_listing(stack(), id, {});
  Answer refreshed = user.client.post(path(id, ":refresh"));
  EXPECT_EQ(refreshed.status, 202) << refreshed.body;
  EXPECT_EQ(refreshed.json().find("listing")->text_or("state"), "pending");
  EXPECT_EQ(user.client.patch(path(id), R"({"is_active":false})").status, 200);
  EXPECT_TRUE(is_problem(user.client.post(path(id, ":refresh")), 409, "mcp_servers.inactive"));
  EXPECT_EQ(audited(user),
            "mcp_servers.create mcp_servers.update mcp_servers.update mcp_servers.refresh "
            "mcp_servers.update");
}

TEST(McpServers, TellWhyTheyCouldNotBeListed) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "files");
  fail_listing(stack(), id, "tool.unreachable", "Nobody is there.");
  Json listing = *user.client.get(path(id)).json().find("listing");
  EXPECT_EQ(listing.text_or("state"), "failed");
  EXPECT_EQ(listing.find("error")->text_or("code"), "tool.unreachable");
  EXPECT_EQ(listing.find("error")->text_or("message"), "Nobody is there.");
  EXPECT_FALSE(listing.find("at")->is_null());
}

TEST(McpServers, OfOthersAreNone) {
  TestUser user = register_user(stack());
  TestUser stranger = register_user(stack());
  std::string id = made_by(user, "files");
  for (const std::string& server : {id, std::string(nobody), std::string("x")}) {
    EXPECT_TRUE(is_problem(stranger.client.get(path(server)), 404, "mcp_servers.not_found"));
    EXPECT_TRUE(is_problem(stranger.client.patch(path(server), R"({"trust":"run"})"), 404,
                           "mcp_servers.not_found"));
    EXPECT_TRUE(is_problem(stranger.client.del(path(server)), 404, "mcp_servers.not_found"));
    EXPECT_TRUE(
        is_problem(stranger.client.post(path(server, ":refresh")), 404, "mcp_servers.not_found"));
    EXPECT_TRUE(
        is_problem(stranger.client.get(path(server, "/tools")), 404, "mcp_servers.not_found"));
  }
  EXPECT_TRUE(is_problem(user.client.get(base), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(user.client.post(base, wanted("a")), 403, "auth.forbidden"));
  std::string workspace = make_workspace(stack(), user);
  TestUser member = register_user(stack());
  add_member(stack(), workspace, member, "member");
  Answer refused =
      member.client.send({"GET", std::string(base) + of_org, "", "", {{"X-Org-Id", workspace}}});
  EXPECT_TRUE(is_problem(refused, 403, "auth.forbidden"));
}

TEST(McpServers, AreAsManyAsAnOrganizationMayKeep) {
  TestUser user = register_user(stack());
  stack().sql().run_text(
      fmt::format("INSERT INTO entitlement_overrides (org_id, key, value, value_type, "
                  "created_by_user_id) VALUES ('{}', 'limit.mcp_servers', '1', 'integer', '{}')",
                  user.org_id, user.id));
  made_by(user, "one");
  EXPECT_TRUE(is_problem(post(user, wanted("two")), 422, "limits.reached"));
}

}  // namespace
}  // namespace hostler::testing_support
