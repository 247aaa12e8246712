// GET /v1/openai/models, GET /v1/openai/models/{model}.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;

ApiStack& stack() { return ApiStack::shared(); }

std::vector<std::string> ids_in(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  std::vector<std::string> ids;
  Json body = answer.json();
  EXPECT_EQ(body.text_or("object"), "list");
  for (const Json& model : *body.find("data")->as_array()) ids.emplace_back(model.text_or("id"));
  return ids;
}

std::vector<std::string> ids_of(const Client& client) {
  return ids_in(client.get("/v1/openai/models"));
}

std::string make_persona(const TestUser& user, std::string_view key, std::string_view version) {
  Answer made =
      user.client.post("/v1/personas?scope=org",
                       fmt::format(R"({{"persona_key":"{}","version":"{}"}})", key, version));
  EXPECT_EQ(made.status, 201) << made.body;
  return made.member("id");
}

Answer show(const Client& client, const std::string& model) {
  return client.get("/v1/openai/models/" + model);
}

TEST(OpenAiModels, ArePersonasByVersionAndKeyAndRoutes) {
  TestUser user = register_user(stack());
  TestModel model = make_model(user);
  make_persona(user, "guide", "1");
  make_persona(user, "guide", "2");
  std::vector<std::string> ids = ids_of(user.client);
  std::vector<std::string> expected{
      "guide@2", "guide", "guide@1", "normal", "normal@1", "search@1", "route:" + model.model_id};
  EXPECT_THAT(ids, IsSupersetOf(expected));
  EXPECT_THAT(std::vector<std::string>(ids.begin(), ids.begin() + 3),
              ElementsAre("guide", "guide@2", "guide@1"));
  EXPECT_EQ(std::count(ids.begin(), ids.end(), "guide"), 1);
}

TEST(OpenAiModels, TellWhoseTheyAreAndSinceWhen) {
  TestUser user = register_user(stack());
  make_persona(user, "guide", "1");
  postgres::Result made = stack().sql().run_text(
      fmt::format("SELECT floor(extract(epoch FROM created_at))::bigint::text FROM personas "
                  "WHERE persona_key = 'guide' AND org_id = '{}'",
                  user.org_id));
  EXPECT_EQ(
      show(user.client, "guide@1").body,
      fmt::format(R"({{"id" : "guide@1", "object" : "model", "created" : {}, "owned_by" : "org"}})",
                  made.text()));
  EXPECT_EQ(show(user.client, "normal@1").member("owned_by"), "platform");
}

TEST(OpenAiModels, OfAKeyThatThePlatformHasTooIsTheOrganizations) {
  TestUser user = register_user(stack());
  make_persona(user, "normal", "1");
  std::vector<std::string> ids = ids_of(user.client);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), "normal@1"), 1);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), "normal"), 1);
  EXPECT_EQ(show(user.client, "normal@1").member("owned_by"), "org");
  EXPECT_EQ(show(user.client, "normal").member("owned_by"), "org");
}

TEST(OpenAiModels, AreOnlyThoseThatARunMayName) {
  TestUser user = register_user(stack());
  TestUser other = register_user(stack());
  std::string route = "route:" + make_model(other).model_id;
  make_persona(other, "theirs", "1");
  std::string switched_off = make_persona(user, "off", "1");
  user.client.patch("/v1/personas/" + switched_off + "?scope=org", R"({"is_active":false})");
  user.client.del("/v1/personas/" + make_persona(user, "gone", "1") + "?scope=org");
  TestModel gone = make_model(user);
  user.client.del("/v1/llm-providers/" + gone.provider_id + "?scope=org");
  std::vector<std::string> ids = ids_of(user.client);
  for (const std::string& model :
       {std::string("theirs@1"), std::string("off@1"), std::string("off"), std::string("gone@1"),
        route, "route:" + gone.model_id}) {
    EXPECT_THAT(ids, Not(Contains(model)));
    EXPECT_TRUE(is_problem(show(user.client, model), 404, "model_not_found")) << model;
  }
  EXPECT_THAT(ids_of(other.client), Contains(route));
}

TEST(OpenAiModels, AreEachShownByTheirName) {
  TestUser user = register_user(stack());
  make_model(user);
  for (const std::string& id : ids_of(user.client)) {
    Answer shown = show(user.client, id);
    ASSERT_EQ(shown.status, 200) << id << shown.body;
    EXPECT_EQ(shown.member("id"), id);
    EXPECT_EQ(shown.header("x-request-id"), shown.header("x-trace-id"));
  }
  EXPECT_EQ(show(user.client, "normal%401").member("id"), "normal@1");
}

TEST(OpenAiModels, ThatThereAreNotAreTheErrorThatClientsKnow) {
  TestUser user = register_user(stack());
  for (const char* model : {"nobody@1", "normal@9", "normal@1@2", "A", "route:", "route:x", "route",
                            "route:01a1fa43-8dcd-7506-ab81-ef7a33b2be1a", "normal:1"}) {
    Answer answer = show(user.client, model);
    EXPECT_TRUE(is_problem(answer, 404, "model_not_found")) << model;
    const Json body = answer.json();
    EXPECT_EQ(body.find("error")->text_or("param"), "model");
    EXPECT_EQ(body.find("error")->text_or("type"), "not_found_error");
  }
}

TEST(OpenAiModels, AreForEveryUserAndKeyAsPersonasAre) {
  TestUser user = register_user(stack());
  Client key =
      stack().client().with_token(make_api_key(stack(), user, user.org_id, "data.runs.read"));
  EXPECT_EQ(ids_of(key), ids_of(user.client));
  EXPECT_EQ(show(key, "normal").status, 200);
  Answer nobody = stack().client().get("/v1/openai/models");
  EXPECT_TRUE(is_problem(nobody, 401, "auth.missing_token"));
  EXPECT_EQ(nobody.json().find("error")->text_or("type"), "authentication_error");
}

TEST(OpenAiModels, AreTheSameBelowAFurtherVersion) {
  TestUser user = register_user(stack());
  make_persona(user, "v1", "1");
  EXPECT_EQ(ids_in(user.client.get("/v1/openai/v1/models")), ids_of(user.client));
  EXPECT_EQ(ids_in(user.client.get("/v1/openai//models")), ids_of(user.client));
  EXPECT_EQ(user.client.get("/v1/openai/v1/models/normal").member("id"), "normal");
  EXPECT_EQ(show(user.client, "v1").member("id"), "v1");
  EXPECT_EQ(user.client.get("/v1/openai/v1/models/v1").member("id"), "v1");
  Answer wrong = user.client.post("/v1/openai/v1/models", "{}");
  EXPECT_TRUE(is_problem(wrong, 405, "http.method_not_allowed"));
  EXPECT_EQ(wrong.header("allow"), "GET, HEAD, OPTIONS");
}

}  // namespace
}  // namespace hostler::testing_support
