// Tests what a user asks for in one organization and has in another: the 404 says so, and to nobody
// else.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

ApiStack& stack() { return ApiStack::shared(); }

struct Thing {
  std::string path;
  std::string code;
  std::string query;
};

// One of each resource, all in the workspace.
std::vector<Thing> things_of(const TestUser& owner, const std::string& org_id) {
  Client there = owner.client.with_org(org_id);
  std::string thread = there.post("/v1/threads", "{}").member("id");
  there.post("/v1/threads/" + thread + "/messages", R"({"content":"hello"})");
  std::string provider =
      there.post("/v1/llm-providers?scope=org", R"({"name":"own","provider_kind":"openai"})")
          .member("id");
  there.post("/v1/llm-providers/" + provider + "/models?scope=org",
             R"({"model":"m","is_default":true})");
  std::string run = there.post("/v1/threads/" + thread + "/runs").member("run_id");
  std::string persona =
      there.post("/v1/personas?scope=org", R"({"persona_key":"p","version":"1"})").member("id");
  std::string plan = sql_value(
      stack(), fmt::format("INSERT INTO plans (name, display_name) VALUES ('{}', 'x') RETURNING id",
                           new_name("plan")));
  std::string subscription = sql_value(
      stack(), fmt::format("INSERT INTO subscriptions (org_id, plan_id, current_period_start, "
                           "current_period_end) VALUES ('{}', '{}', now(), now() + interval '1 "
                           "day') RETURNING id",
                           org_id, plan));
  std::string endpoint = there
                             .post("/v1/webhook-endpoints",
                                   R"({"url":"https://93.184.215.14/x","events":["run.failed"]})")
                             .member("id");
  return {{"/v1/webhook-endpoints/" + endpoint, "webhooks.not_found", ""},
          {"/v1/threads/" + thread, "threads.not_found", ""},
          {"/v1/threads/" + thread + "/messages", "threads.not_found", ""},
          {"/v1/threads/" + thread + "/runs", "threads.not_found", ""},
          {"/v1/runs/" + run, "runs.not_found", ""},
          {"/v1/llm-providers/" + provider + "/models", "llm_providers.not_found", "?scope=org"},
          {"/v1/personas/" + persona, "personas.not_found", "?scope=org"},
          {"/v1/subscriptions/" + subscription, "subscriptions.not_found", ""}};
}

Answer ask(const Client& client, const Thing& thing) {
  if (thing.code != "personas.not_found") return client.get(thing.path + thing.query);
  return client.patch(thing.path + thing.query, R"({"display_name":"x"})");
}

TEST(NotFound, NamesTheOtherOrganizationToItsMembersAlone) {
  TestUser owner = register_user(stack());
  TestUser stranger = register_user(stack());
  std::string org_id = make_workspace(stack(), owner);
  Client key = stack().client().with_token(make_api_key(stack(), owner, owner.org_id));
  for (const Thing& thing : things_of(owner, org_id)) {
    EXPECT_EQ(ask(owner.client.with_org(org_id), thing).status, 200) << thing.path;
    Answer at_home = ask(owner.client, thing);
    EXPECT_TRUE(is_problem(at_home, 404, thing.code)) << thing.path;
    EXPECT_NE(at_home.member("detail").find("X-Org-Id: " + org_id), std::string::npos)
        << thing.path << at_home.body;
    Answer of_stranger = ask(stranger.client, thing);
    EXPECT_TRUE(is_problem(of_stranger, 404, thing.code)) << thing.path;
    EXPECT_EQ(of_stranger.body.find(org_id), std::string::npos) << thing.path;
    EXPECT_EQ(ask(key, thing).body.find(org_id), std::string::npos) << thing.path;
  }
}

}  // namespace
}  // namespace hostler::testing_support
