// GET /v1/llm-providers, POST /v1/llm-providers, PATCH /v1/llm-providers/{provider_id},
// DELETE /v1/llm-providers/{provider_id}, at both scopes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

constexpr std::string_view key = "sk-0123456789abcdefghijklmnopqrstuvwxyz";

std::string provider_json(const std::string& name, std::string_view further = "") {
  return fmt::format(R"({{"name":"{}","provider_kind":"openai"{}{}}})", name,
                     further.empty() ? "" : ",", further);
}

std::string path_of(const std::string& provider_id, std::string_view scope = "org") {
  return fmt::format("/v1/llm-providers/{}?scope={}", provider_id, scope);
}

std::string list_of(const Answer& answer, std::string_view member) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  std::string all;
  Json list = answer.json();
  for (const Json& item : *list.as_array()) all += std::string(item.text_or(member)) + " ";
  return all;
}

TEST(CreateLlmProvider, AnswersItWithItsKeyMasked) {
  TestUser user = register_user(stack());
  Answer made = user.client.post(
      "/v1/llm-providers?scope=org",
      provider_json("Main",
                    fmt::format(R"("api_key":"{}","base_url":"https://8.8.8.8/v1//")", key)));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("scope"), "org");
  EXPECT_EQ(made.member("name"), "Main");
  EXPECT_EQ(made.member("provider_kind"), "openai");
  EXPECT_EQ(made.member("base_url"), "https://8.8.8.8/v1");
  EXPECT_EQ(made.member("models"), "[]");
  std::string mask = made.member("key_prefix");
  EXPECT_EQ(mask.substr(mask.find('*')), "****wxyz");
  EXPECT_EQ(made.body.find(key), std::string::npos);
  Answer list = user.client.get("/v1/llm-providers?scope=org");
  EXPECT_EQ(list.body, "[" + made.body + "]");
}

TEST(CreateLlmProvider, TakesTheKeyWithoutTheBlanksAroundIt) {
  TestUser user = register_user(stack());
  auto create = [&](std::string_view written) {
    return user.client.post("/v1/llm-providers?scope=org",
                            provider_json("Main", fmt::format(R"("api_key":"{}")", written)));
  };
  EXPECT_TRUE(has_fault(create(" \\n"), "api_key", "required"));
  Answer made = create(fmt::format(" {}\\n", key));
  ASSERT_EQ(made.status, 201) << made.body;
  std::string mask = made.member("key_prefix");
  EXPECT_EQ(mask.substr(mask.find('*')), "****wxyz");
  std::string path = fmt::format("/v1/llm-providers/{}?scope=org", made.member("id"));
  EXPECT_TRUE(has_fault(user.client.patch(path, R"({"api_key":"  "})"), "api_key", "required"));
}

TEST(CreateLlmProvider, RefusesAKeyThatNoRequestCouldCarry) {
  TestUser user = register_user(stack());
  for (std::string_view written : {"sk-two words", "sk-\u2022\u2022\u2022\u2022"}) {
    std::string member = fmt::format(R"("api_key":"{}")", written);
    Answer answer = user.client.post("/v1/llm-providers?scope=org", provider_json("Main", member));
    EXPECT_TRUE(has_fault(answer, "api_key", "bad_format")) << answer.body;
  }
  Answer made = user.client.post("/v1/llm-providers?scope=org", provider_json("Main", ""));
  ASSERT_EQ(made.status, 201) << made.body;
  std::string path = fmt::format("/v1/llm-providers/{}?scope=org", made.member("id"));
  EXPECT_TRUE(has_fault(user.client.patch(path, R"({"api_key":"a b"})"), "api_key", "bad_format"));
}

TEST(CreateLlmProvider, StoresTheKeyEncrypted) {
  TestUser user = register_user(stack());
  Answer made = user.client.post("/v1/llm-providers?scope=org",
                                 provider_json("Main", fmt::format(R"("api_key":"{}")", key)));
  std::string secret =
      fmt::format("FROM secrets s JOIN llm_providers p ON p.secret_id = s.id WHERE p.id = '{}'",
                  made.member("id"));
  EXPECT_EQ(sql_value(stack(), "SELECT kind || ' ' || s.org_id || ' ' || key_version " + secret),
            "llm_provider " + user.org_id + " 1");
  EXPECT_EQ(
      sql_number(stack(), fmt::format("SELECT position('{}'::bytea IN sealed) {}", key, secret)),
      0);
}

TEST(CreateLlmProvider, NeedsOnlyNameAndKind) {
  TestUser user = register_user(stack());
  Answer made = user.client.post("/v1/llm-providers?scope=org",
                                 R"({"name":" Bare ","provider_kind":"anthropic"})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("name"), "Bare");
  EXPECT_EQ(made.member("key_prefix"), "null");
  EXPECT_EQ(made.member("base_url"), "null");
}

TEST(CreateLlmProvider, ListsEveryFaultOfTheInput) {
  TestUser user = register_user(stack());
  Answer answer =
      user.client.post("/v1/llm-providers?scope=org",
                       R"({"name":"","provider_kind":"other","api_key":5,"base_url":"nowhere"})");
  EXPECT_TRUE(has_fault(answer, "name", "required"));
  EXPECT_TRUE(has_fault(answer, "provider_kind", "unknown"));
  EXPECT_TRUE(has_fault(answer, "api_key", "wrong_type"));
  EXPECT_TRUE(has_fault(answer, "base_url", "bad_format"));
  EXPECT_EQ(fault_count(answer), 4u);
  Answer long_name =
      user.client.post("/v1/llm-providers?scope=org", provider_json(std::string(201, 'x')));
  EXPECT_TRUE(has_fault(long_name, "name", "too_long"));
}

TEST(CreateLlmProvider, InAnOrganizationTakesOnlyPublicHttpsAddresses) {
  TestUser user = register_user(stack());
  struct Case {
    const char *url, *code;
  };
  for (const Case& bad :
       {Case{"http://8.8.8.8/v1", "denied"}, Case{"https://127.0.0.1/v1", "denied"},
        Case{"https://[::1]/v1", "denied"}, Case{"https://10.1.2.3", "denied"},
        Case{"https://169.254.169.254/", "denied"}, Case{"https://100.64.0.1/", "denied"},
        Case{"https://2130706433/", "denied"}, Case{"https://[::ffff:127.0.0.1]/", "denied"},
        Case{"https://localhost/v1", "denied"}, Case{"https://8.8.8.8:6379/v1", "denied"},
        Case{"https://8.8.8.8:25", "denied"}, Case{"https://a..b/", "bad_format"},
        Case{"ftp://8.8.8.8/", "bad_format"}, Case{"https://me:pw@8.8.8.8/", "bad_format"},
        Case{"https://8.8.8.8/?a=b", "bad_format"}, Case{"https://8.8.8.8/#a", "bad_format"},
        Case{"https://8.8.8.8/v1#", "bad_format"}, Case{"https://8.8.8.8/v1?", "bad_format"},
        Case{"//8.8.8.8/", "bad_format"}}) {
    Answer answer =
        user.client.post("/v1/llm-providers?scope=org",
                         provider_json("x", fmt::format(R"("base_url":"{}")", bad.url)));
    EXPECT_TRUE(has_fault(answer, "base_url", bad.code)) << bad.url;
  }
  EXPECT_EQ(user.client.get("/v1/llm-providers?scope=org").body, "[]");
}

TEST(CreateLlmProvider, OfThePlatformTakesAnyHttpAddress) {
  TestUser admin = register_admin(stack());
  std::string name = new_name("platform");
  Answer made = admin.client.post("/v1/llm-providers",
                                  provider_json(name, R"("base_url":"http://127.0.0.1:9/v1/")"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("scope"), "platform");
  EXPECT_EQ(made.member("base_url"), "http://127.0.0.1:9/v1");
  EXPECT_TRUE(has_fault(admin.client.post("/v1/llm-providers",
                                          provider_json("x", R"("base_url":"file:///etc/passwd")")),
                        "base_url", "bad_format"));
}

TEST(CreateLlmProvider, RefusesANameTwiceInAScope) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  for (const TestUser* actor : {&user, &other}) {
    EXPECT_EQ(actor->client.post("/v1/llm-providers?scope=org", provider_json("Main")).status, 201);
  }
  EXPECT_TRUE(is_problem(user.client.post("/v1/llm-providers?scope=org", provider_json("Main")),
                         409, "llm_providers.exists"));
}

TEST(LlmProviders, AreForWhoMayManageThemInTheScope) {
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  TestUser admin = register_admin(stack());
  std::string work = make_workspace(stack(), owner);
  add_member(stack(), work, member, "member");
  Client staff = member.client.with_org(work);
  for (const char* body : {"{}", "{"}) {
    EXPECT_TRUE(is_problem(staff.post("/v1/llm-providers?scope=org", body), 403, "auth.forbidden"));
    EXPECT_TRUE(is_problem(owner.client.post("/v1/llm-providers", body), 403, "auth.forbidden"));
    EXPECT_TRUE(is_problem(owner.client.post("/v1/llm-providers?scope=platform", body), 403,
                           "auth.forbidden"));
  }
  EXPECT_TRUE(is_problem(staff.get("/v1/llm-providers?scope=org"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(owner.client.get("/v1/llm-providers"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(stack().client().get("/v1/llm-providers"), 401, "auth.missing_token"));
  EXPECT_EQ(owner.client.with_org(work).get("/v1/llm-providers?scope=org").body, "[]");
  EXPECT_EQ(admin.client.get("/v1/llm-providers?scope=platform").status, 200);
  Client with_key = stack().client().with_token(make_api_key(stack(), admin, admin.org_id));
  EXPECT_TRUE(
      is_problem(with_key.get("/v1/llm-providers?scope=org"), 403, "auth.user_token_required"));
  EXPECT_TRUE(has_fault(owner.client.get("/v1/llm-providers?scope=mine"), "scope", "unknown"));
}

TEST(LlmProviders, AreListedNewestFirstPageByPageWithTheirModels) {
  TestUser user = register_user(stack());
  TestModel first = make_model(user, "one");
  make_model(user, "two");
  Answer page = user.client.get("/v1/llm-providers?scope=org&limit=1");
  EXPECT_EQ(page.json().as_array()->size(), 1u);
  Answer rest = user.client.get(page.next_path());
  ASSERT_EQ(list_of(rest, "id"), first.provider_id + " ");
  EXPECT_FALSE(rest.has_header("link"));
  Json list = rest.json();
  EXPECT_EQ(list.as_array()->front().find("models")->as_array()->front().text_or("id"),
            first.model_id);
  EXPECT_TRUE(
      has_fault(user.client.get("/v1/llm-providers?scope=org&limit=0"), "limit", "out_of_range"));
}

TEST(UpdateLlmProvider, ChangesWhatIsGivenAndKeepsTheRest) {
  TestUser user = register_user(stack());
  Answer made = user.client.post(
      "/v1/llm-providers?scope=org",
      provider_json("Main", fmt::format(R"("api_key":"{}","base_url":"https://8.8.8.8/v1")", key)));
  std::string path = path_of(made.member("id"));
  Answer renamed = user.client.patch(path, R"({"name":"EU","provider_kind":"anthropic"})");
  ASSERT_EQ(renamed.status, 200) << renamed.body;
  EXPECT_EQ(renamed.member("name"), "EU");
  EXPECT_EQ(renamed.member("provider_kind"), "anthropic");
  EXPECT_EQ(renamed.member("base_url"), "https://8.8.8.8/v1");
  EXPECT_EQ(renamed.member("key_prefix"), made.member("key_prefix"));
  std::string secrets =
      fmt::format("SELECT count(*) FROM secrets WHERE org_id = '{}'", user.org_id);
  Answer changed = user.client.patch(path, R"({"api_key":"another-key-of-some-length-1234"})");
  EXPECT_NE(changed.member("key_prefix"), made.member("key_prefix"));
  EXPECT_EQ(sql_number(stack(), secrets), 1);
  Answer cleared = user.client.patch(path, R"({"api_key":null,"base_url":null})");
  EXPECT_EQ(cleared.member("key_prefix"), "null");
  EXPECT_EQ(cleared.member("base_url"), "null");
  EXPECT_EQ(cleared.member("name"), "EU");
  EXPECT_EQ(sql_number(stack(), secrets), 0);
}

TEST(UpdateLlmProvider, RefusesFaultsAndTakenNames) {
  TestUser user = register_user(stack());
  user.client.post("/v1/llm-providers?scope=org", provider_json("Taken"));
  std::string path =
      path_of(user.client.post("/v1/llm-providers?scope=org", provider_json("Main")).member("id"));
  EXPECT_TRUE(
      is_problem(user.client.patch(path, R"({"name":"Taken"})"), 409, "llm_providers.exists"));
  EXPECT_TRUE(is_problem(user.client.patch(path, R"({"id":"x"})"), 422, "validation.error"));
  EXPECT_TRUE(has_fault(user.client.patch(path, R"({"name":null})"), "name", "wrong_type"));
  EXPECT_TRUE(has_fault(user.client.patch(path, R"({"provider_kind":null})"), "provider_kind",
                        "wrong_type"));
  EXPECT_TRUE(
      has_fault(user.client.patch(path, R"({"base_url":"http://8.8.8.8"})"), "base_url", "denied"));
  EXPECT_EQ(user.client.patch(path, R"({"name":"Main"})").status, 200);
}

// A user who may change a provider must not learn its key by sending it to another server.
TEST(UpdateLlmProvider, SendsAStoredKeyNowhereElse) {
  TestUser admin = register_admin(stack());
  auto patch = [&](const std::string& provider_id, const std::string& body) {
    return admin.client.patch("/v1/llm-providers/" + provider_id, body);
  };
  std::string id = admin.client
                       .post("/v1/llm-providers",
                             provider_json(new_name("kept"),
                                           fmt::format(R"("api_key":"{}",)"
                                                       R"("base_url":"https://Models.example/v1")",
                                                       key)))
                       .member("id");
  for (const char* same : {"https://models.example/v1", "https://models.example:443/other",
                           "HTTPS://MODELS.EXAMPLE:0443", "https://models.example:/v2"}) {
    EXPECT_EQ(patch(id, fmt::format(R"({{"base_url":"{}"}})", same)).status, 200) << same;
  }
  std::string stored =
      "SELECT base_url || ' ' || secret_id FROM llm_providers WHERE id = '" + id + "'";
  std::string before = sql_value(stack(), stored);
  for (const char* other : {R"("http://models.example/v2")", R"("https://models.example:8443/v2")",
                            R"("https://models.example.org/v2")", R"("https://amodels.example/v2")",
                            R"("https://models.example./v2")", "null"}) {
    Answer answer = patch(id, fmt::format(R"({{"name":"x","base_url":{}}})", other));
    EXPECT_TRUE(has_fault(answer, "api_key", "required")) << other << answer.body;
  }
  EXPECT_EQ(sql_value(stack(), stored), before) << "nothing of it was stored";
  std::string elsewhere = R"("base_url":"https://elsewhere.example")";
  EXPECT_EQ(patch(id, fmt::format(R"({{"api_key":"{}",{}}})", key, elsewhere)).status, 200);
  EXPECT_EQ(patch(id, R"({"api_key":null,"base_url":"https://third.example"})").status, 200);
  EXPECT_EQ(patch(id, R"({"base_url":"https://fourth.example"})").status, 200)
      << "without a key nothing is asked";
}

TEST(UpdateLlmProvider, KnowsWhereAMakersKeyIsSent) {
  TestUser admin = register_admin(stack());
  std::string made = provider_json(new_name("maker"), fmt::format(R"("api_key":"{}")", key));
  std::string path =
      "/v1/llm-providers/" + admin.client.post("/v1/llm-providers", made).member("id");
  EXPECT_EQ(admin.client.patch(path, R"({"base_url":"https://api.openai.com/v1"})").status, 200);
  EXPECT_EQ(admin.client.patch(path, R"({"base_url":null})").status, 200);
  EXPECT_TRUE(has_fault(admin.client.patch(path, R"({"provider_kind":"anthropic"})"), "api_key",
                        "required"));
  EXPECT_EQ(admin.client
                .patch(path, R"({"provider_kind":"anthropic",)"
                             R"("base_url":"https://api.openai.com/v1"})")
                .status,
            200);
}

TEST(UpdateLlmProvider, FindsOnlyTheScopesOwn) {
  TestUser user = register_user(stack());
  TestUser admin = register_admin(stack());
  std::string own =
      user.client.post("/v1/llm-providers?scope=org", provider_json("Main")).member("id");
  std::string platform =
      admin.client.post("/v1/llm-providers", provider_json(new_name("p"))).member("id");
  for (const char* body : {R"({"name":"x"})", "{"}) {
    EXPECT_TRUE(
        is_problem(user.client.patch(path_of(platform), body), 404, "llm_providers.not_found"));
    EXPECT_TRUE(is_problem(admin.client.patch(path_of(own), body), 404, "llm_providers.not_found"));
    EXPECT_TRUE(is_problem(admin.client.patch(path_of(own, "platform"), body), 404,
                           "llm_providers.not_found"));
    EXPECT_TRUE(
        is_problem(user.client.patch(path_of(own, "platform"), body), 403, "auth.forbidden"));
    EXPECT_TRUE(is_problem(user.client.patch(path_of("x"), body), 404, "llm_providers.not_found"));
  }
  EXPECT_EQ(admin.client.patch(path_of(platform, "platform"), R"({"base_url":null})").status, 200);
}

TEST(DeleteLlmProvider, TakesItsKeyAndModelsAlongButKeepsTheNamesOfRuns) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string path = path_of(conversation.model.provider_id);
  client.patch(path, fmt::format(R"({{"api_key":"{}"}})", key));
  std::string run = start_run(client, conversation.thread_id);
  end_run(stack(), run, "completed", "answer");
  Answer gone = client.del(path);
  EXPECT_EQ(gone.status, 204);
  EXPECT_EQ(gone.body, "");
  EXPECT_TRUE(is_problem(client.del(path), 404, "llm_providers.not_found"));
  EXPECT_EQ(client.get("/v1/llm-providers?scope=org").body, "[]");
  EXPECT_EQ(sql_number(stack(), fmt::format("SELECT count(*) FROM secrets WHERE org_id = '{}'",
                                            conversation.user.org_id)),
            0);
  EXPECT_EQ(client.get("/v1/runs/" + run).member("model"), "small");
  EXPECT_TRUE(
      is_problem(client.post(runs_of(conversation.thread_id),
                             fmt::format(R"({{"route_id":"{}"}})", conversation.model.model_id)),
                 422, "runs.unknown_route"));
  EXPECT_TRUE(is_problem(client.post(runs_of(conversation.thread_id), "{}"), 422, "runs.no_model"));
}

TEST(LlmProviders, AreAuditedWithoutTheirKeys) {
  TestUser user = register_user(stack());
  Answer made = user.client.post("/v1/llm-providers?scope=org",
                                 provider_json("Main", fmt::format(R"("api_key":"{}")", key)));
  std::string path = path_of(made.member("id"));
  user.client.patch(path, R"({"name":"New"})");
  user.client.del(path);
  EXPECT_EQ(
      sql_value(stack(), fmt::format("SELECT string_agg(action, ' ' ORDER BY id) FROM "
                                     "audit_logs WHERE target_id = '{}' AND org_id = '{}' AND "
                                     "target_type = 'llm_provider'",
                                     made.member("id"), user.org_id)),
      "llm_providers.create llm_providers.update llm_providers.delete");
  EXPECT_EQ(
      sql_number(stack(), fmt::format("SELECT count(*) FROM audit_logs WHERE org_id = '{}' AND "
                                      "(before_state::text || after_state::text) LIKE '%{}%'",
                                      user.org_id, key)),
      0);
}

}  // namespace
}  // namespace hostler::testing_support
