// GET /v1/personas, POST /v1/personas, PATCH /v1/personas/{persona_id},
// DELETE /v1/personas/{persona_id}, at both scopes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

std::string persona_json(std::string_view key, std::string_view further = "",
                         std::string_view version = "1") {
  return fmt::format(R"({{"persona_key":"{}","version":"{}"{}{}}})", key, version,
                     further.empty() ? "" : ",", further);
}

std::string path_of(const std::string& id, std::string_view scope = "org") {
  return fmt::format("/v1/personas/{}?scope={}", id, scope);
}

Answer make(const TestUser& user, std::string_view key, std::string_view further = "",
            std::string_view version = "1") {
  Answer made = user.client.post("/v1/personas?scope=org", persona_json(key, further, version));
  EXPECT_EQ(made.status, 201) << made.body;
  return made;
}

// An owner's workspace with a member in it.
struct Team {
  TestUser owner = register_user(stack());
  TestUser member = register_user(stack());
  std::string org_id = make_workspace(stack(), owner);
  Client owner_client = owner.client.with_org(org_id);
  Client member_client = member.client.with_org(org_id);
  Team() { add_member(stack(), org_id, member, "member"); }
};

TEST(CreatePersona, AnswersAllOfIt) {
  TestUser user = register_user(stack());
  Answer made = user.client.post(
      "/v1/personas?scope=org",
      R"({"persona_key":"guide_1","version":"2.0-Beta_x","display_name":" Guide ",)"
      R"("description":"Knows\ncities.","system_prompt":"You know every city.\n",)"
      R"("tools":["web_search","ask_user","web_search"],"confirm_tools":["web_search"],)"
      R"("model":"large","max_turns":3,"temperature":0.5,"is_active":true,"unknown":1})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("scope"), "org");
  EXPECT_EQ(made.member("persona_key"), "guide_1");
  EXPECT_EQ(made.member("version"), "2.0-Beta_x");
  EXPECT_EQ(made.member("display_name"), "Guide");
  EXPECT_EQ(made.member("description"), "Knows\ncities.");
  EXPECT_EQ(made.member("system_prompt"), "You know every city.\n");
  EXPECT_EQ(made.member("tools"), R"(["web_search","ask_user"])");
  EXPECT_EQ(made.member("confirm_tools"), R"(["web_search"])");
  EXPECT_EQ(made.member("model"), "large");
  EXPECT_EQ(made.member("max_turns"), "3");
  EXPECT_EQ(made.member("temperature"), "0.5");
  EXPECT_EQ(made.member("is_active"), "true");
  EXPECT_EQ(user.client.get("/v1/personas?scope=org").body, "[" + made.body + "]");
}

TEST(CreatePersona, NeedsOnlyKeyAndVersion) {
  TestUser user = register_user(stack());
  Answer made = make(user, "bare");
  EXPECT_EQ(made.member("display_name"), "bare");
  EXPECT_EQ(made.member("system_prompt"), "");
  EXPECT_EQ(made.member("tools"), "[]");
  EXPECT_EQ(made.member("model"), "null");
  EXPECT_EQ(made.member("max_turns"), "null");
  EXPECT_EQ(made.member("temperature"), "null");
  EXPECT_EQ(made.member("is_active"), "true");
}

TEST(CreatePersona, ListsEveryFaultOfTheInput) {
  TestUser user = register_user(stack());
  Answer answer = user.client.post(
      "/v1/personas?scope=org",
      R"({"persona_key":"A b","version":"1@2","display_name":"","system_prompt":5,)"
      R"("tools":["web_search","a shell"],"confirm_tools":["web_fetch","a b"],"model":"",)"
      R"("max_turns":0,"temperature":2.1,"is_active":"yes"})");
  EXPECT_TRUE(has_fault(answer, "persona_key", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "version", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "display_name", "required"));
  EXPECT_TRUE(has_fault(answer, "system_prompt", "wrong_type"));
  EXPECT_TRUE(has_fault(answer, "tools.1", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "confirm_tools.1", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "model", "required"));
  EXPECT_TRUE(has_fault(answer, "max_turns", "out_of_range"));
  EXPECT_TRUE(has_fault(answer, "temperature", "out_of_range"));
  EXPECT_TRUE(has_fault(answer, "is_active", "wrong_type"));
  EXPECT_EQ(fault_count(answer), 10u);
  Answer bare = user.client.post("/v1/personas?scope=org", "{}");
  EXPECT_TRUE(has_fault(bare, "persona_key", "required"));
  EXPECT_TRUE(has_fault(bare, "version", "required"));
  for (const char* tools : {R"("web_search")", R"({"a":1})", "[1]", R"(["web_search.alpha"])"}) {
    EXPECT_EQ(
        user.client
            .post("/v1/personas?scope=org", persona_json("x", std::string("\"tools\":") + tools))
            .status,
        422)
        << tools;
  }
  EXPECT_TRUE(has_fault(
      user.client.post("/v1/personas?scope=org", persona_json(std::string(65, 'x'), "", "1")),
      "persona_key", "too_long"));
  EXPECT_TRUE(has_fault(
      user.client.post("/v1/personas?scope=org",
                       persona_json("x", R"("system_prompt":")" + std::string(65'537, 'x') + "\"")),
      "system_prompt", "too_long"));
  EXPECT_EQ(user.client.post("/v1/personas?scope=team", persona_json("x")).status, 422);
}

TEST(CreatePersona, OfAKeyAndVersionThereIsOneAScope) {
  TestUser user = register_user(stack());
  make(user, "twice");
  EXPECT_TRUE(is_problem(user.client.post("/v1/personas?scope=org", persona_json("twice")), 409,
                         "personas.exists"));
  make(user, "twice", "", "2");
  make(register_user(stack()), "twice");
  make(user, "normal");  // the organization's own, beside the built-in one
}

TEST(CreatePersona, IsForWhoeverMayManageThem) {
  Team team;
  EXPECT_TRUE(is_problem(team.member_client.post("/v1/personas?scope=org", "not even JSON"), 403,
                         "auth.forbidden"));
  EXPECT_TRUE(
      is_problem(team.owner_client.post("/v1/personas", persona_json("x")), 403, "auth.forbidden"));
  Client key = stack().client().with_token(make_api_key(stack(), team.owner, team.org_id));
  EXPECT_TRUE(is_problem(key.post("/v1/personas?scope=org", persona_json("x")), 403,
                         "auth.user_token_required"));
  EXPECT_TRUE(is_problem(stack().client().post("/v1/personas?scope=org", persona_json("x")), 401,
                         "auth.missing_token"));
  EXPECT_EQ(team.owner_client.get("/v1/personas?scope=org").body, "[]");
}

TEST(ListPersonas, ShowsTheBuiltInOnesToEveryUserAndKey) {
  TestUser user = register_user(stack());
  Client key =
      stack().client().with_token(make_api_key(stack(), user, user.org_id, "data.runs.read"));
  for (const Client& client : {user.client, key}) {
    Answer answer = client.get("/v1/personas?limit=200");
    ASSERT_EQ(answer.status, 200) << answer.body;
    std::string named;
    Json list = answer.json();
    for (const Json& item : *list.as_array()) {
      named += fmt::format("{}@{} ", item.text_or("persona_key"), item.text_or("version"));
      EXPECT_TRUE(item.find("system_prompt")->is_null()) << item.dump();
      EXPECT_EQ(item.text_or("scope"), "platform");
    }
    EXPECT_NE(named.find("normal@1 "), std::string::npos) << named;
    EXPECT_NE(named.find("search@1 "), std::string::npos) << named;
  }
  EXPECT_TRUE(is_problem(stack().client().get("/v1/personas"), 401, "auth.missing_token"));
  EXPECT_EQ(user.client.get("/v1/personas?scope=x").status, 422);
}

TEST(ListPersonas, ShowsPromptsToWhoeverMayManageThem) {
  Team team;
  Answer made = team.owner_client.post("/v1/personas?scope=org",
                                       persona_json("p", R"("system_prompt":"secret words")"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_NE(team.owner_client.get("/v1/personas?scope=org").body.find("secret words"),
            std::string::npos);
  Answer seen = team.member_client.get("/v1/personas?scope=org");
  EXPECT_EQ(seen.body.find("secret words"), std::string::npos);
  Json list = seen.json();
  EXPECT_TRUE((*list.as_array()).at(0).find("system_prompt")->is_null());
  TestUser admin = register_admin(stack());
  EXPECT_NE(admin.client.get("/v1/personas").body.find("You are a helpful assistant"),
            std::string::npos);
}

TEST(ListPersonas, ShowsNoOtherOrganizationsAndPages) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  for (const char* key : {"a", "b", "c"}) make(user, key);
  EXPECT_EQ(other.client.get("/v1/personas?scope=org").body, "[]");
  std::string keys;
  std::string path = "/v1/personas?scope=org&limit=2";
  while (!path.empty()) {
    Answer page = user.client.get(path);
    Json list = page.json();
    for (const Json& item : *list.as_array()) keys += item.text_or("persona_key");
    keys += '.';
    path = page.next_path();
  }
  EXPECT_EQ(keys, "cb.a.");
}

TEST(UpdatePersona, ChangesWhatIsGiven) {
  TestUser user = register_user(stack());
  Answer made = make(user, "p",
                     R"("tools":["web_search","ask_user"],"confirm_tools":["web_search"],)"
                     R"("model":"large","max_turns":3,"temperature":1)");
  std::string path = path_of(made.member("id"));
  Answer changed = user.client.patch(
      path, R"({"display_name":"New","model":null,"max_turns":null,"temperature":null,)"
            R"("persona_key":"other","version":"9"})");
  ASSERT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.member("display_name"), "New");
  EXPECT_EQ(changed.member("model"), "null");
  EXPECT_EQ(changed.member("max_turns"), "null");
  EXPECT_EQ(changed.member("temperature"), "null");
  EXPECT_EQ(changed.member("tools"), R"(["web_search","ask_user"])");
  EXPECT_EQ(changed.member("persona_key"), "p") << "key and version stay";
  EXPECT_EQ(changed.member("version"), "1");
  EXPECT_EQ(user.client.get("/v1/personas?scope=org").body, "[" + changed.body + "]");
}

// The tools that a run declares are not known yet.
TEST(UpdatePersona, ConfirmsToolsThatItDoesNotHave) {
  TestUser user = register_user(stack());
  std::string path = path_of(
      make(user, "p", R"("tools":["web_search"],"confirm_tools":["pay-Bill_2"])").member("id"));
  Answer changed = user.client.patch(path, R"({"confirm_tools":["web_fetch","refund"]})");
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.member("confirm_tools"), R"(["web_fetch","refund"])");
  EXPECT_TRUE(has_fault(user.client.patch(path, R"({"tools":["refund"]})"), "tools.0", "unknown"));
  for (const std::string& name : {std::string("a.b"), std::string("é"), std::string(65, 'x')}) {
    Answer refused = user.client.patch(path, R"({"confirm_tools":[")" + name + R"("]})");
    EXPECT_EQ(refused.status, 422) << name;
  }
}

TEST(UpdatePersona, RefusesWhatIsNoChange) {
  TestUser user = register_user(stack());
  std::string path = path_of(make(user, "p").member("id"));
  EXPECT_EQ(user.client.patch(path, "{}").status, 422);
  EXPECT_EQ(user.client.patch(path, R"({"persona_key":"q"})").status, 422);
  EXPECT_TRUE(has_fault(user.client.patch(path, R"({"tools":null})"), "tools", "wrong_type"));
  EXPECT_TRUE(
      has_fault(user.client.patch(path, R"({"display_name":null})"), "display_name", "wrong_type"));
}

TEST(Personas, OfThePlatformAreForPlatformAdministrators) {
  TestUser user = register_user(stack());
  TestUser admin = register_admin(stack());
  std::string normal =
      sql_value(stack(), "SELECT id FROM personas WHERE persona_key = 'normal' AND org_id IS NULL");
  // Built-in ones are not an organization's to change.
  EXPECT_TRUE(is_problem(user.client.patch(path_of(normal), R"({"is_active":false})"), 404,
                         "personas.not_found"));
  EXPECT_TRUE(is_problem(user.client.del(path_of(normal)), 404, "personas.not_found"));
  EXPECT_TRUE(
      is_problem(user.client.patch(path_of(normal, "platform"), "{}"), 403, "auth.forbidden"));
  EXPECT_TRUE(is_problem(user.client.del(path_of(normal, "platform")), 403, "auth.forbidden"));
  std::string key = new_name("platform");
  Answer made = admin.client.post("/v1/personas", persona_json(key));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("scope"), "platform");
  EXPECT_EQ(admin.client.patch(path_of(made.member("id"), "platform"), R"({"description":"d"})")
                .member("description"),
            "d");
  EXPECT_TRUE(is_problem(admin.client.del(path_of(made.member("id"))), 404, "personas.not_found"))
      << "in the other scope";
  EXPECT_EQ(admin.client.del(path_of(made.member("id"), "platform")).status, 204);
}

// Runs without persona_id need normal@1; both can be changed. PATCH /v1/personas/{persona_id} and
// DELETE /v1/personas/{persona_id}.
TEST(Personas, ThatAreBuiltInStay) {
  ApiStack own;  // others run with the built-in personas meanwhile
  TestUser admin = register_admin(own);
  std::string id_of = "SELECT id FROM personas WHERE org_id IS NULL AND persona_key = ";
  std::string normal = path_of(sql_value(own, id_of + "'normal'"), "platform");
  std::string search = path_of(sql_value(own, id_of + "'search'"), "platform");
  for (const std::string& path : {normal, search}) {
    EXPECT_TRUE(is_problem(admin.client.del(path), 409, "personas.built_in"));
  }
  EXPECT_TRUE(
      is_problem(admin.client.patch(normal, R"({"is_active":false})"), 409, "personas.built_in"));
  Answer changed = admin.client.patch(normal, R"({"system_prompt":"Rhyme.","is_active":true})");
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.member("system_prompt"), "Rhyme.");
  EXPECT_EQ(admin.client.patch(search, R"({"is_active":false})").member("is_active"), "false");
}

TEST(Personas, OfOthersAreNotFound) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string id = make(other, "p").member("id");
  for (const std::string& missing :
       {id, std::string("01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"), std::string("p@1")}) {
    EXPECT_TRUE(
        is_problem(user.client.patch(path_of(missing), "no JSON"), 404, "personas.not_found"));
    EXPECT_TRUE(is_problem(user.client.del(path_of(missing)), 404, "personas.not_found"));
  }
  EXPECT_EQ(other.client.get("/v1/personas?scope=org").json().as_array()->size(), 1u);
}

TEST(DeletePersona, FreesItsNameAndHidesItFromNewRuns) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string id = make(conversation.user, "gone").member("id");
  std::string run_id = start_run(client, conversation.thread_id, R"({"persona_id":"gone@1"})");
  EXPECT_EQ(client.del(path_of(id)).status, 204);
  EXPECT_TRUE(is_problem(client.del(path_of(id)), 404, "personas.not_found"));
  EXPECT_EQ(client.get("/v1/personas?scope=org").body, "[]");
  EXPECT_EQ(client.get("/v1/runs/" + run_id).member("persona_id"), "gone@1");
  std::string thread_id = make_thread(client);
  post_message(client, thread_id);
  EXPECT_TRUE(is_problem(client.post(runs_of(thread_id), R"({"persona_id":"gone"})"), 422,
                         "runs.unknown_persona"));
  make(conversation.user, "gone");
  start_run(client, thread_id, R"({"persona_id":"gone"})");
}

TEST(Personas, AreChosenByKeyAndNewestVersionOwnBeforeThePlatforms) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  auto chosen = [&](const std::string& persona_id) {
    std::string thread_id = make_thread(client);
    post_message(client, thread_id);
    std::string run_id =
        start_run(client, thread_id, fmt::format(R"({{"persona_id":"{}"}})", persona_id));
    std::string named = client.get("/v1/runs/" + run_id).member("persona_id");
    client.post("/v1/runs/" + run_id + ":cancel");
    return named + " " +
           sql_value(stack(), fmt::format("SELECT p.org_id IS NULL FROM runs r JOIN personas p ON "
                                          "p.id = r.persona_row_id WHERE r.id = '{}'",
                                          run_id));
  };
  EXPECT_EQ(chosen("normal"), "normal@1 t");
  make(conversation.user, "normal", "", "2");
  std::string id = make(conversation.user, "normal", "", "1b").member("id");
  EXPECT_EQ(chosen("normal"), "normal@1b f") << "the newest by creation";
  EXPECT_EQ(chosen("normal@2"), "normal@2 f");
  EXPECT_EQ(chosen("normal@1"), "normal@1 t");
  client.patch(path_of(id), R"({"is_active":false})");
  EXPECT_EQ(chosen("normal"), "normal@2 f") << "inactive ones are not chosen";
}

TEST(Personas, ModelsAreNamedByRouteOrName) {
  TestConversation conversation = make_conversation(stack());
  const Client& client = conversation.user.client;
  std::string route_id = client
                             .post(fmt::format("/v1/llm-providers/{}/models?scope=org",
                                               conversation.model.provider_id),
                                   R"({"model":"large"})")
                             .member("id");
  make(conversation.user, "by-name", R"("model":"large")");
  make(conversation.user, "by-route", fmt::format(R"("model":"{}")", route_id));
  make(conversation.user, "by-nothing", R"("model":"no such model")");
  auto model_of = [&](const std::string& persona_id) {
    std::string thread_id = make_thread(client);
    post_message(client, thread_id);
    std::string run_id =
        start_run(client, thread_id, fmt::format(R"({{"persona_id":"{}"}})", persona_id));
    return client.get("/v1/runs/" + run_id).member("model");
  };
  EXPECT_EQ(model_of("by-name"), "large");
  EXPECT_EQ(model_of("by-route"), "large");
  EXPECT_EQ(model_of("by-nothing"), "small") << "the organization's default";
}

TEST(Personas, ChangesAreAudited) {
  TestUser user = register_user(stack());
  std::string id = make(user, "p", R"("system_prompt":"words")").member("id");
  user.client.patch(path_of(id), R"({"is_active":false})");
  user.client.del(path_of(id));
  EXPECT_EQ(
      sql_value(stack(),
                fmt::format("SELECT string_agg(action || ' ' || target_type || ' ' || "
                            "coalesce(before_state ->> 'is_active', '-') || ' ' || "
                            "coalesce(after_state ->> 'is_active', '-'), ', ' ORDER BY id) FROM "
                            "audit_logs WHERE target_id = '{}' AND org_id = '{}' AND "
                            "actor_user_id = '{}'",
                            id, user.org_id, user.id)),
      "personas.create persona - true, personas.update persona true false, "
      "personas.delete persona false -");
}

}  // namespace
}  // namespace hostler::testing_support
