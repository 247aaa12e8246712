// GET /v1/tools, POST /v1/tools, PATCH /v1/tools/{tool_id}, DELETE /v1/tools/{tool_id},
// POST /v1/tools/{tool_id}/rotate-secret, and what personas and runs make of them. Without a
// daemon: how they are called is told by tests/system/agent/webhook_tools_test.cpp.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "tests/support/rows/accounts.h"
#include "tests/support/rows/function_tools.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr const char* base = "/v1/tools";
constexpr const char* of_org = "?scope=org";
constexpr const char* nobody = "0190a0a0-0000-7000-8000-000000000000";

ApiStack& stack() { return ApiStack::shared(); }

std::string wanted(std::string_view name, std::string_view more = "") {
  return fmt::format(R"({{"name":"{}","description":"Looks it up.","parameters":{{"type":"object",)"
                     R"("properties":{{"city":{{"type":"string"}}}}}},)"
                     R"("url":"https://93.184.216.34/tool"{}}})",
                     name, more);
}

std::string path(const std::string& id, std::string_view rest = "") {
  return fmt::format("{}/{}{}{}", base, id, rest, of_org);
}

std::string made_by(const TestUser& user, std::string_view name) {
  Answer made = user.client.post(std::string(base) + of_org, wanted(name));
  EXPECT_EQ(made.status, 201) << made.body;
  return made.member("id");
}

// Names of the platform's tools are everybody's: each test has its own.
std::string platform_tool(const TestUser& admin) {
  std::string name = "p" + to_hex(random_bytes(6));
  Answer made = admin.client.post(base, wanted(name));
  EXPECT_EQ(made.status, 201) << made.body;
  return name;
}

std::string persona_with(std::string_view key, std::string_view tools) {
  return fmt::format(R"({{"persona_key":"{}","version":"1","tools":[{}]}})", key, tools);
}

TEST(Tools, ShowTheSigningSecretOnce) {
  TestUser user = register_user(stack());
  Answer made = user.client.post(std::string(base) + of_org, wanted("weather"));
  ASSERT_EQ(made.status, 201) << made.body;
  std::string secret = made.member("signing_secret");
  ASSERT_TRUE(secret.starts_with("whsec_"));
  EXPECT_EQ(from_base64(secret.substr(6)).value_or("").size(), 32u);
  EXPECT_EQ(made.member("timeout_seconds"), "30");
  EXPECT_EQ(made.member("is_repeatable"), "false");
  EXPECT_EQ(made.member("is_active"), "true");
  EXPECT_EQ(made.member("parameters"),
            R"({"type":"object","properties":{"city":{"type":"string"}}})");
  Answer list = user.client.get(std::string(base) + of_org);
  EXPECT_EQ(list.body.find("whsec"), std::string::npos);
  EXPECT_NE(list.body.find(made.member("id")), std::string::npos);
  Answer rotated = user.client.post(path(made.member("id"), "/rotate-secret"));
  EXPECT_EQ(rotated.status, 200) << rotated.body;
  EXPECT_NE(rotated.member("signing_secret"), secret);
  EXPECT_EQ(user.client.del(path(made.member("id"))).status, 204);
  EXPECT_EQ(
      sql_value(stack(), fmt::format("SELECT string_agg(action, ' ' ORDER BY id) FROM "
                                     "audit_logs WHERE org_id = '{}' AND action LIKE 'tools%'",
                                     user.org_id)),
      "tools.create tools.secret_rotated tools.delete");
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM secrets WHERE org_id = '{}' AND "
                                            "kind = 'tool'",
                                            user.org_id)),
            0);
}

TEST(Tools, LetNoOldSecretEndBeforeItsDayIsOver) {
  TestUser user = register_user(stack());
  std::string rotation = path(made_by(user, "weather"), "/rotate-secret");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(user.client.post(rotation).status, 200);
  EXPECT_TRUE(is_problem(user.client.post(rotation), 422, "limits.reached"));
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT count(*) || ' for ' || round(extract(epoch FROM "
                                           "min(until) - now()) / 3600) FROM tool_old_secrets "
                                           "WHERE org_id = '{}'",
                                           user.org_id)),
            "10 for 24");
}

TEST(Tools, ListEveryFault) {
  TestUser user = register_user(stack());
  Answer answer = user.client.post(
      std::string(base) + of_org,
      R"({"name":"a b","description":5,"parameters":{"type":"string"},"url":"http://x.example/",)"
      R"("timeout_seconds":601,"is_repeatable":1,"is_active":null})");
  EXPECT_TRUE(has_fault(answer, "name", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "description", "wrong_type"));
  EXPECT_TRUE(has_fault(answer, "parameters", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "url", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "timeout_seconds", "out_of_range"));
  EXPECT_TRUE(has_fault(answer, "is_repeatable", "wrong_type"));
  Answer empty = user.client.post(std::string(base) + of_org, "{}");
  for (const char* member : {"name", "description", "parameters", "url"}) {
    EXPECT_TRUE(has_fault(empty, member, "required")) << member;
  }
  EXPECT_TRUE(has_fault(
      user.client.post(std::string(base) + of_org, wanted("a", R"(,"timeout_seconds":0)")),
      "timeout_seconds", "out_of_range"));
}

TEST(Tools, RefuseAddressesThatMayNotBeCalled) {
  TestUser user = register_user(stack());
  TestUser admin = register_admin(stack());
  std::string body = wanted("p" + to_hex(random_bytes(6)));
  for (const char* host : {"127.0.0.1", "10.0.0.1", "[::1]", "169.254.169.254"}) {
    std::string there = body;
    there.replace(there.find("93.184.216.34"), 13, host);
    EXPECT_TRUE(
        is_problem(user.client.post(std::string(base) + of_org, there), 422, "tool.url_denied"))
        << host;
    EXPECT_TRUE(is_problem(admin.client.post(base, there), 422, "tool.url_denied")) << host;
  }
  // Without TLS at the platform alone.
  std::string plain = body;
  plain.replace(plain.find("https"), 5, "http");
  EXPECT_TRUE(has_fault(user.client.post(std::string(base) + of_org, plain), "url", "bad_format"));
  Answer made = admin.client.post(base, plain);
  EXPECT_EQ(made.status, 201) << made.body;
  std::string id = made.member("id");
  EXPECT_TRUE(
      is_problem(admin.client.patch(std::string(base) + "/" + id, R"({"url":"http://127.0.0.1/"})"),
                 422, "tool.url_denied"));
}

TEST(Tools, HaveOneNameInAScope) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "weather");
  std::string other = made_by(user, "traffic");
  EXPECT_TRUE(is_problem(user.client.post(std::string(base) + of_org, wanted("weather")), 409,
                         "tools.exists"));
  EXPECT_TRUE(
      is_problem(user.client.patch(path(other), R"({"name":"weather"})"), 409, "tools.exists"));
  for (const char* name : {"web_search", "web_fetch", "ask_user"}) {
    EXPECT_TRUE(is_problem(user.client.post(std::string(base) + of_org, wanted(name)), 422,
                           "tools.name_taken"));
    EXPECT_TRUE(is_problem(user.client.patch(path(other), fmt::format(R"({{"name":"{}"}})", name)),
                           422, "tools.name_taken"));
  }
  EXPECT_EQ(user.client.del(path(id)).status, 204);
  // Repeated deletions and creations would fill the disk.
  EXPECT_EQ(
      sql_value(stack(), "SELECT description || parameters FROM tools WHERE id = '" + id + "'"),
      "{}");
  EXPECT_EQ(user.client.post(std::string(base) + of_org, wanted("weather")).status, 201);
  // Another organization's is another scope.
  made_by(register_user(stack()), "weather");
}

TEST(Tools, ChangeWhatIsGivenAlone) {
  TestUser user = register_user(stack());
  std::string id = made_by(user, "weather");
  Answer changed = user.client.patch(
      path(id), R"({"timeout_seconds":600,"is_repeatable":true,"description":"d"})");
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.member("timeout_seconds"), "600");
  EXPECT_EQ(changed.member("is_repeatable"), "true");
  EXPECT_EQ(changed.member("description"), "d");
  EXPECT_EQ(changed.member("url"), "https://93.184.216.34/tool");
  EXPECT_EQ(user.client.patch(path(id), R"({"is_active":false})").member("is_active"), "false");
  EXPECT_EQ(user.client.patch(path(id), "{}").status, 422);
  EXPECT_TRUE(is_problem(user.client.patch(path(id), R"({"url":"https://127.0.0.1/"})"), 422,
                         "tool.url_denied"));
}

TEST(Tools, OfOthersAreNone) {
  TestUser user = register_user(stack());
  TestUser stranger = register_user(stack());
  std::string id = made_by(user, "weather");
  for (const std::string& tool : {id, std::string(nobody), std::string("x")}) {
    EXPECT_TRUE(is_problem(stranger.client.patch(path(tool), R"({"is_active":false})"), 404,
                           "tools.not_found"));
    EXPECT_TRUE(is_problem(stranger.client.del(path(tool)), 404, "tools.not_found"));
    EXPECT_TRUE(
        is_problem(stranger.client.post(path(tool, "/rotate-secret")), 404, "tools.not_found"));
  }
  EXPECT_EQ(stranger.client.get(std::string(base) + of_org).body.find(id), std::string::npos);
  // The platform's are for administrators.
  EXPECT_TRUE(is_problem(user.client.get(base), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(user.client.post(base, wanted("a")), 403, "auth.forbidden"));
  std::string workspace = make_workspace(stack(), user);
  TestUser member = register_user(stack());
  add_member(stack(), workspace, member, "member");
  Answer refused =
      member.client.send({"GET", std::string(base) + of_org, "", "", {{"X-Org-Id", workspace}}});
  EXPECT_TRUE(is_problem(refused, 403, "auth.forbidden"));
}

TEST(Tools, OfThePlatformAreListedWithoutTheirAddress) {
  TestUser admin = register_admin(stack());
  TestUser user = register_user(stack());
  std::string name = platform_tool(admin);
  Answer shown = admin.client.get(std::string(base) + "?limit=1");
  EXPECT_NE(shown.body.find("93.184.216.34"), std::string::npos);
  Answer list = user.client.get(std::string(base) + of_org + "&limit=100");
  ASSERT_EQ(list.status, 200) << list.body;
  bool is_listed = false;
  const Json tools = list.json();
  for (const Json& tool : *tools.as_array()) {
    if (tool.text_or("name") != name) continue;
    is_listed = true;
    EXPECT_EQ(tool.text_or("scope"), "platform");
    EXPECT_TRUE(tool.find("url")->is_null());
  }
  EXPECT_TRUE(is_listed);
}

// Without a scope that of the row counts, and the right follows from it.
TEST(Tools, NeedNoScopeWhereTheirIdIsNamed) {
  TestUser owner = register_user(stack());
  TestUser admin = register_admin(stack());
  std::string own = std::string(base) + "/" + made_by(owner, "mine");
  EXPECT_EQ(owner.client.patch(own, R"({"description":"Changed."})").status, 200);
  EXPECT_EQ(owner.client.post(own + "/rotate-secret").status, 200);
  Answer of_platform = admin.client.post(base, wanted("p" + to_hex(random_bytes(6))));
  std::string theirs = std::string(base) + "/" + of_platform.member("id");
  Answer refused = owner.client.patch(theirs, R"({"description":"Changed."})");
  EXPECT_TRUE(is_problem(refused, 403, "auth.forbidden")) << "of the platform";
  EXPECT_EQ(admin.client.patch(theirs, R"({"description":"Changed."})").status, 200);
  EXPECT_TRUE(is_problem(admin.client.patch(own, R"({"description":"x"})"), 404, "tools.not_found"))
      << "of another organization";
  EXPECT_TRUE(
      is_problem(owner.client.del(std::string(base) + "/" + nobody), 404, "tools.not_found"));
  EXPECT_TRUE(is_problem(admin.client.del(own + "?scope=platform"), 404, "tools.not_found"))
      << "a scope that is given counts";
  EXPECT_EQ(owner.client.del(own).status, 204);
  EXPECT_EQ(admin.client.del(theirs).status, 204);
}

TEST(Scopes, OfServersProvidersAndPersonasFollowFromTheirIdsToo) {
  TestUser owner = register_user(stack());
  auto made = [&](const std::string& path_of, const std::string& body) {
    Answer answer = owner.client.post(path_of + of_org, body);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return path_of + "/" + answer.member("id");
  };
  std::string server =
      made("/v1/mcp-servers", R"({"key":"files","url":"https://93.184.216.34/m"})");
  std::string provider = made("/v1/llm-providers", R"({"name":"p","provider_kind":"anthropic"})");
  std::string persona = made("/v1/personas", R"({"persona_key":"clerk","version":"1"})");
  EXPECT_EQ(owner.client.get(server).status, 200);
  EXPECT_EQ(owner.client.get(server + "/tools").status, 200);
  EXPECT_EQ(owner.client.patch(server, R"({"is_active":false})").status, 200);
  EXPECT_EQ(owner.client.get(provider + "/models").status, 200);
  EXPECT_EQ(owner.client.post(provider + "/models", R"({"model":"m"})").status, 201);
  EXPECT_EQ(owner.client.patch(persona, R"({"description":"Changed."})").status, 200);
  for (const std::string& path_of : {server, provider, persona}) {
    EXPECT_EQ(register_user(stack()).client.del(path_of).status, 404) << path_of;
    EXPECT_EQ(owner.client.del(path_of).status, 204) << path_of;
  }
}

TEST(Tools, AreAsManyAsAnOrganizationMayKeep) {
  TestUser user = register_user(stack());
  stack().sql().run_text(
      fmt::format("INSERT INTO entitlement_overrides (org_id, key, value, value_type, "
                  "created_by_user_id) VALUES ('{}', 'limit.tools', '1', 'integer', '{}')",
                  user.org_id, user.id));
  made_by(user, "one");
  EXPECT_TRUE(is_problem(user.client.post(std::string(base) + of_org, wanted("two")), 422,
                         "limits.reached"));
}

TEST(PersonaTools, AreKnownOnes) {
  TestUser user = register_user(stack());
  TestUser admin = register_admin(stack());
  std::string of_platform = platform_tool(admin);
  made_by(user, "weather");
  std::string personas = std::string("/v1/personas") + of_org;
  Answer made = user.client.post(
      personas,
      persona_with("a", fmt::format(R"("web_search","weather","weather","{}")", of_platform)));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("tools"), fmt::format(R"(["web_search","weather","{}"])", of_platform));
  EXPECT_TRUE(has_fault(user.client.post(personas, persona_with("b", R"("web_search","nobody")")),
                        "tools.1", "unknown"));
  std::string persona = fmt::format("/v1/personas/{}{}", made.member("id"), of_org);
  EXPECT_TRUE(
      has_fault(user.client.patch(persona, R"({"tools":["nobody"]})"), "tools.0", "unknown"));
  EXPECT_EQ(user.client.patch(persona, R"({"tools":["weather"]})").status, 200);
  // Another organization's tool does not exist here, nor at the platform.
  TestUser stranger = register_user(stack());
  EXPECT_TRUE(has_fault(stranger.client.post(personas, persona_with("a", R"("weather")")),
                        "tools.0", "unknown"));
  EXPECT_TRUE(has_fault(admin.client.post("/v1/personas", persona_with("x", R"("weather")")),
                        "tools.0", "unknown"));
}

TEST(PersonaTools, HaveOtherNamesThanTheRunsOwn) {
  TestConversation conversation = make_conversation(stack());
  const TestUser& user = conversation.user;
  made_by(user, "weather");
  std::string personas = std::string("/v1/personas") + of_org;
  ASSERT_EQ(user.client.post(personas, persona_with("a", R"("weather")")).status, 201);
  std::string body = fmt::format(R"({{"persona_id":"a@1","tools":[{}]}})", city_tool("weather"));
  EXPECT_TRUE(
      is_problem(user.client.post(runs_of(conversation.thread_id), body), 422, "tools.name_taken"));
  body = fmt::format(R"({{"persona_id":"a@1","tools":[{}]}})", city_tool("traffic"));
  EXPECT_EQ(user.client.post(runs_of(conversation.thread_id), body).status, 201);
}

TEST(ResultTokens, ThatAreNoneAreRefused) {
  TestConversation conversation = make_conversation(stack());
  Answer run = conversation.user.client.post(runs_of(conversation.thread_id), "{}");
  ASSERT_EQ(run.status, 201) << run.body;
  std::string results = fmt::format("/v1/runs/{}/tool-results", run.member("run_id"));
  for (const char* token : {"hrt_", "hrt_1_abc_def", "hrt_1_abc123xyz_AAAA"}) {
    Answer answer =
        stack().client().send({"POST",
                               results,
                               R"({"results":[{"tool_call_id":"abc123xyz","output":1}]})",
                               "",
                               {{"Authorization", std::string("Bearer ") + token}}});
    EXPECT_TRUE(is_problem(answer, 401, "auth.invalid_token")) << token;
    // On any other path it is no token at all.
    Answer elsewhere = stack().client().send(
        {"GET", "/v1/me", "", "", {{"Authorization", std::string("Bearer ") + token}}});
    EXPECT_TRUE(is_problem(elsewhere, 401, "auth.invalid_token")) << token;
  }
}

}  // namespace
}  // namespace hostler::testing_support
