// GET /v1/llm-providers/{provider_id}/models, POST /v1/llm-providers/{provider_id}/models,
// PATCH /v1/llm-providers/{provider_id}/models/{model_id},
// DELETE /v1/llm-providers/{provider_id}/models/{model_id}, GET /v1/models.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

struct Provider {
  TestUser user;
  std::string id;
  std::string models;  // the path of its models, without the scope
};

Provider make_provider() {
  Provider made{register_user(stack()), "", ""};
  made.id = made.user.client
                .post("/v1/llm-providers?scope=org", R"({"name":"Main","provider_kind":"openai"})")
                .member("id");
  made.models = "/v1/llm-providers/" + made.id + "/models";
  return made;
}

Answer add_model(const Provider& provider, std::string_view body) {
  return provider.user.client.post(provider.models + "?scope=org", std::string(body));
}

std::string path_of(const Provider& provider, const std::string& model_id) {
  return provider.models + "/" + model_id + "?scope=org";
}

TEST(CreateLlmModel, AnswersItWithDefaults) {
  Provider provider = make_provider();
  Answer made = add_model(provider, R"({"model":"gpt"})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.member("provider_id"), provider.id);
  EXPECT_EQ(made.member("model"), "gpt");
  EXPECT_EQ(made.member("is_default"), "false");
  EXPECT_EQ(made.member("context_tokens"), "128000");
  for (const char* price : {"input_usd_per_mtok", "output_usd_per_mtok", "cache_read_usd_per_mtok",
                            "cache_write_usd_per_mtok"}) {
    EXPECT_EQ(made.member(price), "0") << price;
  }
  EXPECT_EQ(made.member("multiplier"), "1");
}

TEST(CreateLlmModel, KeepsWhatIsGiven) {
  Provider provider = make_provider();
  Answer made = add_model(
      provider, R"({"model":"gpt","context_tokens":1024,"input_usd_per_mtok":0.4,)"
                R"("output_usd_per_mtok":1.6,"cache_read_usd_per_mtok":0.000001,)"
                R"("cache_write_usd_per_mtok":1000000,"multiplier":2.5,"is_default":true})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json().find("input_usd_per_mtok")->as_number(), 0.4);
  EXPECT_EQ(made.json().find("output_usd_per_mtok")->as_number(), 1.6);
  EXPECT_EQ(made.json().find("cache_read_usd_per_mtok")->as_number(), 0.000001);
  EXPECT_EQ(made.json().find("cache_write_usd_per_mtok")->as_number(), 1e6);
  EXPECT_EQ(made.json().find("multiplier")->as_number(), 2.5);
  EXPECT_EQ(made.member("context_tokens"), "1024");
  EXPECT_EQ(made.member("is_default"), "true");
}

TEST(CreateLlmModel, ListsEveryFaultOfTheInput) {
  Provider provider = make_provider();
  Answer answer =
      add_model(provider, R"({"is_default":"yes","context_tokens":1023,"input_usd_per_mtok":-1,)"
                          R"("output_usd_per_mtok":"1","multiplier":1001})");
  EXPECT_TRUE(has_fault(answer, "model", "required"));
  EXPECT_TRUE(has_fault(answer, "is_default", "wrong_type"));
  EXPECT_TRUE(has_fault(answer, "context_tokens", "out_of_range"));
  EXPECT_TRUE(has_fault(answer, "input_usd_per_mtok", "out_of_range"));
  EXPECT_TRUE(has_fault(answer, "output_usd_per_mtok", "wrong_type"));
  EXPECT_TRUE(has_fault(answer, "multiplier", "out_of_range"));
  EXPECT_EQ(fault_count(answer), 6u);
  EXPECT_TRUE(has_fault(add_model(provider, R"({"model":"x","context_tokens":2000001})"),
                        "context_tokens", "out_of_range"));
  EXPECT_EQ(add_model(provider, R"({"model":"x","context_tokens":2000000})").status, 201);
}

TEST(CreateLlmModel, RefusesANameTwiceAtAProvider) {
  Provider provider = make_provider();
  EXPECT_EQ(add_model(provider, R"({"model":"gpt"})").status, 201);
  EXPECT_TRUE(is_problem(add_model(provider, R"({"model":"gpt"})"), 409, "llm_models.exists"));
}

std::string defaults_of(const Provider& provider) {
  Json list = provider.user.client.get(provider.models + "?scope=org").json();
  std::string names;
  for (const Json& item : *list.as_array()) {
    if (*item.find("is_default")->as_boolean()) names += std::string(item.text_or("model")) + " ";
  }
  return names;
}

TEST(LlmModels, HaveOneDefaultAScope) {
  Provider provider = make_provider();
  std::string first = add_model(provider, R"({"model":"a","is_default":true})").member("id");
  EXPECT_EQ(defaults_of(provider), "a ");
  std::string second = add_model(provider, R"({"model":"b","is_default":true})").member("id");
  EXPECT_EQ(defaults_of(provider), "b ");
  EXPECT_EQ(provider.user.client.patch(path_of(provider, first), R"({"is_default":true})").status,
            200);
  EXPECT_EQ(defaults_of(provider), "a ");
  EXPECT_EQ(provider.user.client.patch(path_of(provider, first), R"({"is_default":false})").status,
            200);
  EXPECT_EQ(defaults_of(provider), "");
  Provider other = make_provider();
  add_model(other, R"({"model":"c","is_default":true})");
  provider.user.client.patch(path_of(provider, second), R"({"is_default":true})");
  EXPECT_EQ(defaults_of(other), "c ");
}

TEST(LlmModels, HaveOneDefaultHoweverManyAreMarkedAtOnce) {
  Provider provider = make_provider();
  std::vector<Call> calls;
  for (int i = 0; i < 8; ++i) {
    calls.push_back({"POST",
                     provider.models + "?scope=org",
                     fmt::format(R"({{"model":"m{}","is_default":true}})", i),
                     "application/json",
                     {}});
  }
  for (const Answer& answer : provider.user.client.send_all(calls)) {
    EXPECT_EQ(answer.status, 201) << answer.body;
  }
  EXPECT_EQ(defaults_of(provider).size(), 3u) << defaults_of(provider);
}

TEST(LlmModels, AreListedNewestFirstPageByPage) {
  Provider provider = make_provider();
  for (const char* body : {R"({"model":"a"})", R"({"model":"b"})", R"({"model":"c"})"}) {
    add_model(provider, body);
  }
  auto names = [](const Answer& answer) {
    std::string all;
    Json list = answer.json();
    for (const Json& item : *list.as_array()) all += item.text_or("model");
    return all;
  };
  const Client& client = provider.user.client;
  Answer page = client.get(provider.models + "?scope=org&limit=2");
  EXPECT_EQ(names(page), "cb");
  EXPECT_EQ(names(client.get(page.next_path())), "a");
  EXPECT_TRUE(
      has_fault(client.get(provider.models + "?scope=org&before=x"), "before", "bad_format"));
}

TEST(UpdateLlmModel, ChangesWhatIsGivenAndKeepsTheRest) {
  Provider provider = make_provider();
  Answer made = add_model(provider, R"({"model":"gpt","input_usd_per_mtok":3})");
  std::string path = path_of(provider, made.member("id"));
  Answer changed =
      provider.user.client.patch(path, R"({"model":"gpt-2","output_usd_per_mtok":9.5})");
  ASSERT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.member("model"), "gpt-2");
  EXPECT_EQ(changed.member("input_usd_per_mtok"), "3");
  EXPECT_EQ(changed.member("output_usd_per_mtok"), "9.5");
  add_model(provider, R"({"model":"taken"})");
  EXPECT_TRUE(is_problem(provider.user.client.patch(path, R"({"model":"taken"})"), 409,
                         "llm_models.exists"));
  EXPECT_TRUE(is_problem(provider.user.client.patch(path, "{}"), 422, "validation.error"));
  EXPECT_TRUE(
      has_fault(provider.user.client.patch(path, R"({"model":null})"), "model", "wrong_type"));
  EXPECT_TRUE(has_fault(provider.user.client.patch(path, R"({"multiplier":null})"), "multiplier",
                        "wrong_type"));
}

TEST(DeleteLlmModel, MakesItUnknown) {
  Provider provider = make_provider();
  std::string path = path_of(provider, add_model(provider, R"({"model":"gpt"})").member("id"));
  EXPECT_EQ(provider.user.client.del(path).status, 204);
  EXPECT_TRUE(is_problem(provider.user.client.del(path), 404, "llm_models.not_found"));
  EXPECT_TRUE(is_problem(provider.user.client.patch(path, R"({"model":"x"})"), 404,
                         "llm_models.not_found"));
  EXPECT_EQ(provider.user.client.get(provider.models + "?scope=org").body, "[]");
  EXPECT_EQ(add_model(provider, R"({"model":"gpt"})").status, 201);
}

TEST(LlmModels, AreForWhoMayManageTheirProvider) {
  Provider provider = make_provider();
  std::string model_id = add_model(provider, R"({"model":"gpt"})").member("id");
  Provider stranger = make_provider();
  Call list{"GET", provider.models + "?scope=org", "", "", {}};
  Call add{"POST", provider.models + "?scope=org", "{", "application/json", {}};
  Call change{"PATCH", path_of(provider, model_id), "{", "application/json", {}};
  Call remove{"DELETE", path_of(provider, model_id), "", "", {}};
  for (const Call& call : {list, add, change, remove}) {
    EXPECT_TRUE(is_problem(stack().client().send(call), 401, "auth.missing_token")) << call.method;
    EXPECT_TRUE(is_problem(stranger.user.client.send(call), 404, "llm_providers.not_found"))
        << call.method;
    Call platform = call;
    platform.path = call.path.substr(0, call.path.find('?')) + "?scope=platform";
    EXPECT_TRUE(is_problem(provider.user.client.send(platform), 403, "auth.forbidden"))
        << call.method;
  }
  Call wrong_provider{"DELETE", path_of(stranger, model_id), "", "", {}};
  EXPECT_TRUE(is_problem(stranger.user.client.send(wrong_provider), 404, "llm_models.not_found"));
  Call no_id{"PATCH", path_of(provider, "x"), "{", "application/json", {}};
  EXPECT_TRUE(is_problem(provider.user.client.send(no_id), 404, "llm_models.not_found"));
}

TEST(LlmModels, AreAudited) {
  Provider provider = make_provider();
  std::string id = add_model(provider, R"({"model":"gpt"})").member("id");
  provider.user.client.patch(path_of(provider, id), R"({"multiplier":2})");
  provider.user.client.del(path_of(provider, id));
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT string_agg(action, ' ' ORDER BY id) FROM "
                                           "audit_logs WHERE target_id = '{}' AND target_type = "
                                           "'llm_model' AND org_id = '{}'",
                                           id, provider.user.org_id)),
            "llm_models.create llm_models.update llm_models.delete");
}

TEST(Models, AreThoseThatTheCallerMayChoose) {
  Provider provider = make_provider();
  std::string own = add_model(provider, R"({"model":"own","is_default":true})").member("id");
  Provider stranger = make_provider();
  std::string foreign = add_model(stranger, R"({"model":"foreign"})").member("id");
  TestUser admin = register_admin(stack());
  std::string name = new_name("platform");
  std::string platform_provider =
      admin.client
          .post("/v1/llm-providers",
                fmt::format(R"({{"name":"{}","provider_kind":"openai"}})", name))
          .member("id");
  std::string shared =
      admin.client
          .post("/v1/llm-providers/" + platform_provider + "/models", R"({"model":"shared"})")
          .member("id");
  Client by_key = stack().client().with_token(
      make_api_key(stack(), provider.user, provider.user.org_id, "data.runs.read"));
  for (const Client& client : {provider.user.client, by_key}) {
    Json list = client.get("/v1/models?limit=200").json();
    std::string found;
    for (const Json& item : *list.as_array()) {
      std::string_view id = item.text_or("route_id");
      EXPECT_NE(id, foreign);
      if (id == own || id == shared) {
        found += fmt::format("{} {} {} {}; ", item.text_or("model"), item.text_or("provider_name"),
                             item.text_or("scope"), *item.find("is_default")->as_boolean());
      }
    }
    EXPECT_EQ(found, fmt::format("shared {} platform false; own Main org true; ", name));
  }
  Answer page = provider.user.client.get("/v1/models?limit=1");
  EXPECT_EQ(page.json().as_array()->size(), 1u);
  EXPECT_NE(page.next_path(), "");
  EXPECT_EQ(admin.client.del("/v1/llm-providers/" + platform_provider).status, 204);
  EXPECT_EQ(provider.user.client.get("/v1/models?limit=200").body.find(shared), std::string::npos);
}

}  // namespace
}  // namespace hostler::testing_support
