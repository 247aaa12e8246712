// GET /v1/api-keys, POST /v1/api-keys, DELETE /v1/api-keys/{key_id}; what a key may do, and when it
// is dead.
#include <gtest/gtest.h>

#include <regex>

#include <fmt/format.h>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

Answer make(const Client& client, std::string_view further = "") {
  Answer made = client.post(
      "/v1/api-keys", fmt::format(R"({{"name":"ci"{}{}}})", further.empty() ? "" : ",", further));
  EXPECT_EQ(made.status, 201) << made.body;
  return made;
}

Client acting_with(const Answer& made) { return stack().client().with_token(made.member("key")); }

std::string audited(const std::string& action, const std::string& key_id) {
  return sql_value(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE action = '{}' AND "
                                        "target_type = 'api_key' AND target_id = '{}'",
                                        action, key_id));
}

TEST(CreateApiKey, ShowsTheKeyOnceAndItServes) {
  TestUser user = register_user(stack());
  Answer made = make(user.client, R"("expires_at":"2999-01-01T00:00:00+01:00")");
  std::string key = made.member("key");
  EXPECT_TRUE(std::regex_match(key, std::regex("hst_[A-Za-z0-9_-]{43}")));
  EXPECT_EQ(made.member("key_prefix"), key.substr(0, 8));
  EXPECT_EQ(made.member("org_id"), user.org_id);
  EXPECT_EQ(made.member("user_id"), user.id);
  EXPECT_EQ(made.member("scopes"), "[]");
  EXPECT_EQ(made.member("expires_at"), "2998-12-31T23:00:00.000Z");
  EXPECT_EQ(made.member("revoked_at"), "null");
  Client client = acting_with(made);
  EXPECT_EQ(client.get("/v1/me").member("id"), user.id);
  EXPECT_EQ(client.get("/v1/threads").status, 200);
  Answer list = user.client.get("/v1/api-keys");
  EXPECT_EQ(list.json().as_array()->size(), 1u);
  EXPECT_EQ(list.body.find(key), std::string::npos);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM api_keys WHERE hash = "
                                            "sha256('{}') AND strpos(api_keys::text, '{}') = 0",
                                            key, key)),
            1);
  EXPECT_EQ(audited("api_keys.create", made.member("id")), "1");
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE "
                                            "strpos(audit_logs::text, '{}') > 0",
                                            key)),
            0);
}

TEST(CreateApiKey, ListsEveryFault) {
  TestUser user = register_user(stack());
  Answer answer = user.client.post(
      "/v1/api-keys", R"({"name":"","scopes":["data.runs.read","data.walk","platform_admin"],)"
                      R"("expires_at":"2020-01-01T00:00:00Z"})");
  EXPECT_TRUE(has_fault(answer, "name", "required"));
  EXPECT_TRUE(has_fault(answer, "scopes.1", "unknown"));
  EXPECT_TRUE(has_fault(answer, "scopes.2", "unknown"));
  EXPECT_TRUE(has_fault(answer, "expires_at", "out_of_range"));
  EXPECT_EQ(fault_count(answer), 4u);
  EXPECT_EQ(user.client.post("/v1/api-keys", R"({"name":"x","scopes":"all"})").status, 422);
  EXPECT_EQ(user.client.post("/v1/api-keys", R"({"name":"x","expires_at":"soon"})").status, 422);
}

TEST(CreateApiKey, GivesOnlyScopesThatItsMakerHasInTheOrganization) {
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  std::string org_id = make_workspace(stack(), owner);
  add_member(stack(), org_id, member, "member");
  std::string body = R"({"name":"x","scopes":["data.runs.read","org.runs.read_all"]})";
  EXPECT_TRUE(is_problem(member.client.with_org(org_id).post("/v1/api-keys", body), 403,
                         "api_keys.scope_forbidden"));
  EXPECT_EQ(member.client.post("/v1/api-keys", body).status, 201) << "an owner at home";
  Answer made = owner.client.with_org(org_id).post("/v1/api-keys", body);
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.member("scopes"), R"(["data.runs.read","org.runs.read_all"])");
}

TEST(ApiKey, HasNoMoreThanItsScopesAndItsUsersRole) {
  TestUser owner = register_user(stack());
  std::string org_id = make_workspace(stack(), owner);
  Client there = owner.client.with_org(org_id);
  Client reader = acting_with(make(there, R"("scopes":["data.threads.read","data.threads.read"])"));
  EXPECT_EQ(reader.get("/v1/threads").status, 200);
  EXPECT_TRUE(is_problem(reader.post("/v1/threads", "{}"), 403, "auth.forbidden"));
  EXPECT_EQ(reader.get("/v1/me").member("permissions"), R"(["data.threads.read"])");
  Client whole = acting_with(make(there));
  EXPECT_NE(whole.get("/v1/me").member("permissions").find("org.manage"), std::string::npos);
  TestUser second = register_user(stack());
  add_member(stack(), org_id, second, "owner");
  EXPECT_EQ(
      second.client.patch("/v1/orgs/" + org_id + "/members/" + owner.id, R"({"role":"member"})")
          .status,
      200);
  EXPECT_EQ(whole.get("/v1/me").member("permissions").find("org.manage"), std::string::npos)
      << "asked for afresh";
}

TEST(ApiKey, IsNeverAPlatformAdministrator) {
  TestUser admin = register_admin(stack());
  Client key = acting_with(make(admin.client));
  EXPECT_EQ(key.get("/v1/me").member("platform_admin"), "false");
  EXPECT_TRUE(is_problem(key.get("/v1/feature-flags"), 403, "auth.user_token_required"));
  EXPECT_TRUE(is_problem(key.get("/v1/api-keys"), 403, "auth.user_token_required"));
}

TEST(ApiKey, ActsInItsOrganizationAlone) {
  TestUser user = register_user(stack());
  std::string org_id = make_workspace(stack(), user);
  Client key = acting_with(make(user.client.with_org(org_id)));
  EXPECT_EQ(key.get("/v1/me").member("org_id"), org_id);
  EXPECT_EQ(key.with_org(org_id).get("/v1/me").status, 200);
  EXPECT_TRUE(is_problem(key.with_org(user.org_id).get("/v1/me"), 404, "orgs.not_found"));
  std::string at_home = user.client.post("/v1/threads", "{}").member("id");
  Answer missing = key.get("/v1/threads/" + at_home);
  EXPECT_TRUE(is_problem(missing, 404, "threads.not_found"));
  EXPECT_EQ(missing.body.find(user.org_id), std::string::npos);
}

TEST(ApiKey, DiesWithItsDateAndItsUser) {
  TestUser user = register_user(stack());
  Answer made = make(user.client, R"("expires_at":"2999-01-01T00:00:00Z")");
  Client key = acting_with(made);
  auto set = [&](const std::string& what) { stack().sql().run_text(what); };
  auto works = [&] { return key.get("/v1/me").status == 200; };
  auto is_dead = [&] { return is_problem(key.get("/v1/me"), 401, "auth.invalid_api_key"); };
  EXPECT_TRUE(works());
  // A status alone is enough, independent of its author.
  for (const char* status : {"suspended", "deleted"}) {
    set(fmt::format("UPDATE users SET status = '{}' WHERE id = '{}'", status, user.id));
    EXPECT_TRUE(is_dead()) << status;
  }
  set(fmt::format("UPDATE users SET status = 'active' WHERE id = '{}'", user.id));
  EXPECT_TRUE(works());
  set(fmt::format("UPDATE api_keys SET expires_at = now() WHERE user_id = '{}'", user.id));
  EXPECT_TRUE(is_dead());
}

TEST(RevokeApiKey, EndsItAndKeepsItInTheList) {
  TestUser user = register_user(stack());
  Answer made = make(user.client);
  std::string path = "/v1/api-keys/" + made.member("id");
  EXPECT_EQ(user.client.del(path).status, 204);
  EXPECT_TRUE(is_problem(acting_with(made).get("/v1/me"), 401, "auth.invalid_api_key"));
  Json list = user.client.get("/v1/api-keys").json();
  ASSERT_EQ(list.as_array()->size(), 1u);
  std::string revoked_at(list.as_array()->at(0).text_or("revoked_at"));
  EXPECT_FALSE(revoked_at.empty());
  EXPECT_EQ(user.client.del(path).status, 204) << "it is still there";
  EXPECT_EQ(user.client.get("/v1/api-keys").json().as_array()->at(0).text_or("revoked_at"),
            revoked_at);
  EXPECT_EQ(audited("api_keys.revoke", made.member("id")), "1");
}

TEST(RevokeApiKey, IsForItsUserAlone) {
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  std::string org_id = make_workspace(stack(), owner);
  add_member(stack(), org_id, member, "member");
  Answer made = make(member.client.with_org(org_id));
  std::string path = "/v1/api-keys/" + made.member("id");
  Answer of_owner = owner.client.with_org(org_id).del(path);
  EXPECT_TRUE(is_problem(of_owner, 404, "api_keys.not_found"));
  EXPECT_TRUE(is_problem(owner.client.del(path), 404, "api_keys.not_found"));
  EXPECT_EQ(owner.client.del(path).body.find(org_id), std::string::npos);
  EXPECT_EQ(owner.client.with_org(org_id).get("/v1/api-keys").body, "[]");
  Answer at_home = member.client.del(path);
  EXPECT_TRUE(is_problem(at_home, 404, "api_keys.not_found"));
  EXPECT_NE(at_home.member("detail").find("X-Org-Id: " + org_id), std::string::npos);
  EXPECT_TRUE(is_problem(member.client.del("/v1/api-keys/x"), 404, "api_keys.not_found"));
  EXPECT_EQ(member.client.with_org(org_id).del(path).status, 204);
}

TEST(ListApiKeys, ComeInPagesNewestFirst) {
  TestUser user = register_user(stack());
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(make(user.client).member("id"));
  Answer page = user.client.get("/v1/api-keys?limit=2");
  EXPECT_EQ(page.json().as_array()->at(0).text_or("id"), ids[2]);
  Json rest = user.client.get(page.next_path()).json();
  ASSERT_EQ(rest.as_array()->size(), 1u);
  EXPECT_EQ(rest.as_array()->at(0).text_or("id"), ids[0]);
  EXPECT_EQ(user.client.get("/v1/api-keys?before=x").status, 422);
}

}  // namespace
}  // namespace hostler::testing_support
