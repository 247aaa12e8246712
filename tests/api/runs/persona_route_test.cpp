// POST /v1/threads/{thread_id}/runs and :retry: which models the platform's personas may run on.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// The platform has the models "shared" (its default) and "big", and personas of its own.
ApiStack& stack() {
  static ApiStack made;
  static const bool is_ready = [] {
    TestUser admin = register_admin(made);
    Answer provider =
        admin.client.post("/v1/llm-providers", R"({"name":"p","provider_kind":"openai"})");
    std::string models = "/v1/llm-providers/" + provider.member("id") + "/models";
    for (const char* body : {R"({"model":"shared","is_default":true})", R"({"model":"big"})"}) {
      EXPECT_EQ(admin.client.post(models, body).status, 201);
    }
    for (const char* body : {R"({"persona_key":"secret","version":"1"})",
                             R"({"persona_key":"on_big","version":"1","model":"big"})"}) {
      EXPECT_EQ(admin.client.post("/v1/personas", body).status, 201);
    }
    return true;
  }();
  EXPECT_TRUE(is_ready);
  return made;
}

struct Conversation {
  TestUser user = register_user(stack());
  std::string thread_id = make_thread(user.client);
  Conversation() { post_message(user.client, thread_id); }

  Answer run(const std::string& body) const { return user.client.post(runs_of(thread_id), body); }
  std::string model_of(const Answer& made) const {
    EXPECT_EQ(made.status, 201) << made.body;
    std::string model = user.client.get("/v1/runs/" + made.member("run_id")).member("model");
    user.client.post("/v1/runs/" + made.member("run_id") + ":cancel");
    return model;
  }
};

std::string shared_route(const Conversation& conversation) {
  Json models = conversation.user.client.get("/v1/models").json();
  for (const Json& model : *models.as_array()) {
    if (model.text_or("model") == "shared") return std::string(model.text_or("route_id"));
  }
  return "";
}

TEST(PlatformPersona, FindsItsModelAmongThePlatformsAlone) {
  Conversation conversation;
  EXPECT_EQ(conversation.model_of(conversation.run(R"({"persona_id":"on_big"})")), "big");
  TestModel own = make_model(conversation.user, "big");
  Answer made = conversation.run(R"({"persona_id":"on_big"})");
  EXPECT_EQ(conversation.model_of(made), "big");
  EXPECT_NE(sql_value(stack(), fmt::format("SELECT model_id FROM runs WHERE id = '{}'",
                                           made.member("run_id"))),
            own.model_id);
  conversation.user.client.post("/v1/personas?scope=org",
                                R"({"persona_key":"mine","version":"1","model":"big"})");
  Answer mine = conversation.run(R"({"persona_id":"mine"})");
  EXPECT_EQ(conversation.model_of(mine), "big");
  EXPECT_EQ(sql_value(stack(), fmt::format("SELECT model_id FROM runs WHERE id = '{}'",
                                           mine.member("run_id"))),
            own.model_id)
      << "own personas find own models first";
}

TEST(PlatformPersona, IsNotShownToModelsOfOrganizationsUnlessItIsBuiltIn) {
  Conversation conversation;
  TestModel own = make_model(conversation.user, "own");
  std::string by_route = fmt::format(R"({{"route_id":"{}","persona_id":"secret"}})", own.model_id);
  EXPECT_TRUE(is_problem(conversation.run(by_route), 422, "runs.persona_route"));
  EXPECT_TRUE(is_problem(conversation.run(R"({"persona_id":"secret"})"), 422, "runs.persona_route"))
      << "the organization's default is its own model";
  EXPECT_EQ(conversation.model_of(conversation.run(fmt::format(
                R"({{"route_id":"{}","persona_id":"secret"}})", shared_route(conversation)))),
            "shared");
  EXPECT_EQ(conversation.model_of(conversation.run(
                fmt::format(R"({{"route_id":"{}","persona_id":"search"}})", own.model_id))),
            "own");
  EXPECT_EQ(conversation.model_of(conversation.run("{}")), "own");

  Answer active = conversation.run("{}");
  EXPECT_EQ(active.status, 201);
  EXPECT_TRUE(is_problem(conversation.run(by_route), 422, "runs.persona_route"))
      << "what is wrong is told before what is in the way";
}

TEST(PlatformPersona, IsNotShownToThemByARetryEither) {
  Conversation conversation;
  TestModel own = make_model(conversation.user, "own");
  std::string run_id = start_run(
      conversation.user.client, conversation.thread_id,
      fmt::format(R"({{"route_id":"{}","persona_id":"secret"}})", shared_route(conversation)));
  end_run(stack(), run_id, "failed");
  stack().sql().run_text(
      fmt::format("UPDATE runs SET model_id = '{}' WHERE id = '{}'", own.model_id, run_id));
  EXPECT_TRUE(
      is_problem(conversation.user.client.post("/v1/threads/" + conversation.thread_id + ":retry"),
                 422, "runs.persona_route"));
}

}  // namespace
}  // namespace hostler::testing_support
