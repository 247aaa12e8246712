// GET /v1/audit-logs: who reads what, filters, pages.
#include <gtest/gtest.h>

#include <cctype>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

constexpr const char* path = "/v1/audit-logs";
constexpr const char* nobody = "01900000-0000-7000-8000-00000000ffff";

std::vector<Json> rows_of(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  Json page = answer.json();
  const Json* data = page.find("data");
  if (data == nullptr || data->as_array() == nullptr) return {};
  return *data->as_array();
}

// The actions of the rows, newest first.
std::string actions(const Answer& answer) {
  std::string all;
  for (const Json& row : rows_of(answer)) {
    all += all.empty() ? "" : " ";
    all += row.text_or("action");
  }
  return all;
}

struct Team {
  TestUser owner = register_user(stack());
  TestUser admin = register_user(stack());
  TestUser member = register_user(stack());
  std::string org_id = make_workspace(stack(), owner);
  Team() {
    add_member(stack(), org_id, admin, "admin");
    add_member(stack(), org_id, member, "member");
  }
  // Two changes by the owner and one by the admin.
  void work() const {
    Client there = owner.client.with_org(org_id);
    std::string key = there.post("/v1/api-keys", R"({"name":"x"})").member("id");
    there.del("/v1/api-keys/" + key);
    admin.client.with_org(org_id).post("/v1/personas?scope=org",
                                       R"({"persona_key":"p","version":"1"})");
  }
  Answer read(const std::string& query = "") const {
    return admin.client.with_org(org_id).get(path + query);
  }
};

TEST(AuditLogs, TellWhoDidWhatFromWhere) {
  Team team;
  Answer made = team.owner.client.with_org(team.org_id).post("/v1/api-keys", R"({"name":"ci"})");
  std::vector<Json> rows = rows_of(team.read());
  ASSERT_EQ(rows.size(), 1u);
  const Json& row = rows[0];
  EXPECT_EQ(row.text_or("action"), "api_keys.create");
  EXPECT_EQ(row.text_or("org_id"), team.org_id);
  EXPECT_EQ(row.text_or("actor_user_id"), team.owner.id);
  EXPECT_TRUE(row.find("actor_api_key_id")->is_null());
  EXPECT_EQ(row.text_or("target_type"), "api_key");
  EXPECT_EQ(row.text_or("target_id"), made.member("id"));
  EXPECT_EQ(row.text_or("trace_id"), made.header("x-trace-id"));
  EXPECT_EQ(row.text_or("client_ip"), "127.0.0.1");
  EXPECT_EQ(row.text_or("result"), "ok");
  EXPECT_EQ(row.find("count")->dump(), "1");
  EXPECT_TRUE(row.find("before_state")->is_null());
  EXPECT_EQ(row.find("after_state")->text_or("name"), "ci");
}

TEST(AuditLogs, AreForAdminsOfTheOrganization) {
  Team team;
  team.work();
  EXPECT_EQ(actions(team.read()), "personas.create api_keys.revoke api_keys.create");
  // Named in the query, an organization is checked by the role there.
  EXPECT_EQ(rows_of(team.admin.client.get(path + ("?org_id=" + team.org_id))).size(), 3u);
  EXPECT_TRUE(
      is_problem(team.member.client.with_org(team.org_id).get(path), 403, "auth.forbidden"));
  EXPECT_TRUE(
      is_problem(team.member.client.get(path + ("?org_id=" + team.org_id)), 403, "auth.forbidden"));
  for (const std::string& org_id : {team.org_id, std::string(nobody)}) {
    EXPECT_TRUE(is_problem(register_user(stack()).client.get(path + ("?org_id=" + org_id)), 404,
                           "orgs.not_found"));
  }
  std::string own = actions(register_user(stack()).client.get(path));
  EXPECT_EQ(own, "auth.register") << "only one's own";
}

TEST(AuditLogs, AreAllForPlatformAdministrators) {
  Team team;
  team.work();
  TestUser admin = register_admin(stack());
  EXPECT_EQ(rows_of(admin.client.get(path + ("?org_id=" + team.org_id))).size(), 3u);
  EXPECT_TRUE(is_problem(admin.client.get(path + (std::string("?org_id=") + nobody)), 404,
                         "orgs.not_found"));
  std::string flag = new_name("flag");
  for (char& c : flag) c = c == '-' ? '_' : c;
  EXPECT_EQ(
      admin.client
          .post("/v1/feature-flags", fmt::format(R"({{"key":"{}","default_value":true}})", flag))
          .status,
      201);
  std::vector<Json> rows =
      rows_of(admin.client.get(path + ("?action=feature_flags.create&actor_user_id=" + admin.id)));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0].find("org_id")->is_null());
  EXPECT_EQ(rows[0].text_or("target_id"), flag);
  // A failed login is nobody's: told by the keyed hash of what was typed.
  std::string typed = new_name("nobody");
  stack().client().post("/v1/auth/login",
                        fmt::format(R"({{"login":"{}","password":"wrong"}})", typed));
  Answer failed = admin.client.get(path + std::string("?action=auth.login&limit=200"));
  std::string hash = sql_value(stack(), "SELECT encode(sha256('" + typed + "'), 'hex')");
  EXPECT_EQ(failed.body.find(hash), std::string::npos) << "a list of names would reverse it";
  EXPECT_EQ(failed.body.find(typed), std::string::npos);
  EXPECT_NE(failed.body.find("login_hmac"), std::string::npos);
}

// The newest row of a login that failed.
std::string last_failure() {
  return sql_value(stack(),
                   "SELECT concat_ws(' ', target_id, after_state) FROM audit_logs WHERE action = "
                   "'auth.login' AND result = 'failed' ORDER BY id DESC LIMIT 1");
}

TEST(AuditLogs, HashUnknownLoginsTheSameInAnyCaseAndOthersOtherwise) {
  auto fail = [](const std::string& login) {
    EXPECT_EQ(
        stack()
            .client()
            .post("/v1/auth/login", fmt::format(R"({{"login":"{}","password":"wrong"}})", login))
            .status,
        401);
    return last_failure();
  };
  std::string name = new_name("nobody");
  std::string in_capitals = name;
  for (char& c : in_capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string hashed = fail(name);
  EXPECT_TRUE(hashed.starts_with(R"({"login_hmac": ")")) << hashed;
  EXPECT_EQ(fail(in_capitals), hashed);
  EXPECT_NE(fail(new_name("nobody")), hashed);
}

TEST(AuditLogs, GatherDenialsOfOneCallerOnOneRoute) {
  TestUser user = register_user(stack());
  constexpr int refusals = 40;
  for (int i = 0; i < refusals; ++i) {
    std::string other = fmt::format("01900000-0000-7000-8000-{:012}", i);
    EXPECT_EQ(user.client.get("/v1/admin/users/" + other).status, 403);
  }
  EXPECT_EQ(user.client.del("/v1/admin/users/" + std::string(nobody)).status, 403);
  TestUser admin = register_admin(stack());
  int64_t gets = 0, deletes = 0;
  size_t rows = 0;
  EXPECT_TRUE(eventually(10'000, [&] {
    gets = deletes = 0;
    std::vector<Json> page =
        rows_of(admin.client.get(path + ("?action=access.denied&actor_user_id=" + user.id)));
    rows = page.size();
    for (const Json& row : page) {
      bool is_get = row.find("after_state")->text_or("route") == "GET /v1/admin/users/{user_id}";
      (is_get ? gets : deletes) += *row.find("count")->as_integer();
      EXPECT_EQ(row.find("after_state")->text_or("code"), "auth.forbidden");
      EXPECT_EQ(row.text_or("org_id"), user.org_id);
    }
    return gets + deletes >= refusals + 1;
  }));
  EXPECT_EQ(gets, refusals);
  EXPECT_EQ(deletes, 1);
  EXPECT_LE(rows, 4u) << "a row for each, or two when a minute began";
}

TEST(AuditLogs, AreFilteredByEachFilterAndAllTogether) {
  Team team;
  team.work();
  EXPECT_EQ(actions(team.read("?action=api_keys.revoke")), "api_keys.revoke");
  EXPECT_EQ(actions(team.read("?actor_user_id=" + team.admin.id)), "personas.create");
  EXPECT_EQ(actions(team.read("?target_type=api_key")), "api_keys.revoke api_keys.create");
  EXPECT_EQ(actions(team.read("?target_type=api_key&action=api_keys.create&actor_user_id=" +
                              team.owner.id)),
            "api_keys.create");
  EXPECT_EQ(actions(team.read("?action=api_keys.create&actor_user_id=" + team.admin.id)), "");
  EXPECT_EQ(actions(team.read("?action=nothing.of_this_name")), "");
  std::vector<Json> rows = rows_of(team.read());
  ASSERT_EQ(rows.size(), 3u);
  std::string key(rows[1].text_or("target_id"));
  EXPECT_EQ(actions(team.read("?target_id=" + key)), "api_keys.revoke api_keys.create");
  EXPECT_EQ(actions(team.read("?action=api_keys.create&target_id=" + key)), "api_keys.create");
  EXPECT_EQ(actions(team.read("?target_id=nobody")), "");
  std::string middle(rows[1].text_or("created_at"));
  stack().sql().run_text(
      fmt::format("UPDATE audit_logs SET created_at = created_at + interval "
                  "'10 ms' WHERE id = '{}'",
                  rows[0].text_or("id")));
  EXPECT_EQ(actions(team.read("?until=" + middle)).find("personas"), std::string::npos);
  EXPECT_NE(actions(team.read("?since=" + middle)).find("api_keys.revoke"), std::string::npos);
  EXPECT_EQ(actions(team.read("?since=2999-01-01T00:00:00Z")), "");
  EXPECT_EQ(actions(team.read("?until=1969-01-01T00:00:00Z")), "");
  EXPECT_EQ(rows_of(team.read("?since=0001-01-01T00:00:00Z&until=9999-12-31T23:59:59Z")).size(),
            3u);
}

TEST(AuditLogs, ComeInPagesToTheEnd) {
  Team team;
  team.work();
  Answer first = team.read("?limit=2");
  EXPECT_EQ(actions(first), "personas.create api_keys.revoke");
  EXPECT_EQ(first.member("has_more"), "true");
  std::string next = first.member("next_before");
  EXPECT_NE(first.header("link").find("before=" + next), std::string::npos);
  Answer second = team.read("?limit=2&before=" + next);
  EXPECT_EQ(actions(second), "api_keys.create");
  EXPECT_EQ(second.member("has_more"), "false");
  EXPECT_EQ(second.member("next_before"), "null");
}

TEST(AuditLogs, EndAPageEarlyWhenFewRowsPass) {
  TestUser user = register_user(stack());
  stack().sql().run_text(
      fmt::format("INSERT INTO audit_logs (org_id, action, target_type) SELECT '{}', 'test.row', "
                  "'row' FROM generate_series(1, 11000)",
                  user.org_id));
  Answer early = user.client.get(path + std::string("?target_type=user"));
  EXPECT_EQ(actions(early), "");
  EXPECT_EQ(early.member("has_more"), "true");
  Answer rest = user.client.get(early.next_path());
  EXPECT_EQ(actions(rest), "auth.register");
  EXPECT_EQ(rest.member("has_more"), "false");
}

TEST(AuditLogs, RefuseBadFiltersAllAtOnce) {
  TestUser user = register_user(stack());
  Answer answer = user.client.get(
      path + std::string("?org_id=x&action=&actor_user_id=x&since=soon&until=x&limit=0&before=x"));
  EXPECT_EQ(fault_count(answer), 7u) << answer.body;
}

TEST(AuditLogs, HoldNoSecret) {
  TestUser admin = register_admin(stack());
  std::string secret = "sk-" + new_name("secret");
  const Client& client = admin.client;
  std::string with_key = fmt::format(R"("api_key":"{}")", secret);
  Answer provider = client.post(
      "/v1/llm-providers?scope=org",
      fmt::format(R"({{"name":"{}","provider_kind":"openai",{}}})", new_name(), with_key));
  EXPECT_EQ(provider.status, 201);
  EXPECT_EQ(
      client
          .patch("/v1/llm-providers/" + provider.member("id") + "?scope=org", "{" + with_key + "}")
          .status,
      200);
  EXPECT_EQ(client
                .put("/v1/tool-providers/web_search/web_search.alpha/credential?scope=org",
                     "{" + with_key + "}")
                .status,
            204);
  EXPECT_EQ(client
                .put("/v1/admin/settings/web_search.alpha_api_key",
                     fmt::format(R"({{"value":"{}"}})", secret))
                .status,
            200);
  EXPECT_EQ(client.del("/v1/admin/settings/web_search.alpha_api_key").status, 204);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE actor_user_id = "
                                            "'{}' AND action ~ '(providers|settings)'",
                                            admin.id)),
            5);
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE "
                                            "strpos(audit_logs::text, '{}') > 0 OR "
                                            "strpos(audit_logs::text, '{}') > 0",
                                            secret, admin.password)),
            0);
}

}  // namespace
}  // namespace hostler::testing_support
