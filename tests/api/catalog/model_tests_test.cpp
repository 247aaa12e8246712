// POST /v1/llm-providers/{provider_id}/models/{model_id}:test, with a daemon that makes the calls,
// and without one.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/peers/scripted_server.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

std::string path_of(const std::string& provider_id, const std::string& model_id,
                    std::string_view scope = "platform") {
  return fmt::format("/v1/llm-providers/{}/models/{}:test?scope={}", provider_id, model_id, scope);
}

// Tests a new model of a new provider of the platform.
std::string path_of_new(const Client& admin, std::string_view kind, std::string_view base_url) {
  Answer provider = admin.post(
      "/v1/llm-providers", fmt::format(R"({{"name":"{}","provider_kind":"{}","base_url":"{}"}})",
                                       new_name("tried"), kind, base_url));
  std::string id = provider.member("id");
  Answer model = admin.post("/v1/llm-providers/" + id + "/models", R"({"model":"m"})");
  return path_of(id, model.member("id"));
}

struct Tried {
  bool is_ok = false;
  std::string names;  // of all checks
  std::string codes;  // "ok" of one that is
  std::string messages;
};
Tried read(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  Tried tried;
  Json result = answer.json();
  tried.is_ok = *result.find("ok")->as_boolean();
  for (const Json& check : *result.find("checks")->as_array()) {
    tried.names += std::string(check.text_or("name")) + " ";
    tried.codes += std::string(check.text_or("code", "ok")) + " ";
    tried.messages += std::string(check.text_or("message")) + "|";
    EXPECT_EQ(*check.find("ok")->as_boolean(), check.find("code")->is_null()) << answer.body;
    EXPECT_GE(check.integer_or("duration_ms", -1), 0) << answer.body;
  }
  return tried;
}

TEST(TestLlmModel, TellsThatAModelDoesWhatRunsNeed) {
  TestUser admin = register_admin(runner_stack());
  std::string url = runner_stack().model_url();
  Tried tried = read(admin.client.post(path_of_new(admin.client, "openai", url + "/v1"), ""));
  EXPECT_TRUE(tried.is_ok) << tried.messages;
  EXPECT_EQ(tried.names, "text tools schema ");
  EXPECT_EQ(tried.codes, "ok ok ok ");
  // The fake model does not read what the prompt says of JSON.
  tried = read(admin.client.post(path_of_new(admin.client, "anthropic", url), ""));
  EXPECT_FALSE(tried.is_ok);
  EXPECT_EQ(tried.codes, "ok ok output.schema_mismatch ");
}

TEST(TestLlmModel, TellsWhatARunWouldFailWith) {
  TestUser admin = register_admin(runner_stack());
  ScriptedServer provider([](Peer& peer) {
    peer.read_request();
    peer.send(
        "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: 39\r\n"
        "Connection: close\r\n\r\n"
        R"({"error":{"message":"No such key, ok"}})");
  });
  std::string path = path_of_new(admin.client, "openai", provider.url("/v1"));
  Tried tried = read(admin.client.post(path, ""));
  EXPECT_FALSE(tried.is_ok);
  EXPECT_EQ(tried.codes, "model.rejected model.rejected model.rejected ");
  EXPECT_NE(tried.messages.find("No such key, ok"), std::string::npos) << tried.messages;
  EXPECT_EQ(provider.connections(), 1) << "a model that does not answer is asked once";
  EXPECT_NE(tried.messages.find("Not tried"), std::string::npos) << tried.messages;
  tried = read(admin.client.post(path_of_new(admin.client, "openai", "http://127.0.0.1:1/v1"), ""));
  EXPECT_EQ(tried.codes, "model.unavailable model.unavailable model.unavailable ");
}

TEST(TestLlmModel, TellsThatNoDaemonTakesIt) {
  TestUser admin = register_admin(ApiStack::shared());
  std::string path = path_of_new(admin.client, "openai", "http://127.0.0.1:1/v1");
  EXPECT_TRUE(is_problem(admin.client.post(path, ""), 503, "http.unavailable"));
}

TEST(TestLlmModel, IsForWhoMayManageTheProvider) {
  ApiStack& stack = ApiStack::shared();
  TestUser admin = register_admin(stack);
  TestUser user = register_user(stack);
  std::string path = path_of_new(admin.client, "openai", "http://127.0.0.1:1/v1");
  EXPECT_TRUE(is_problem(user.client.post(path, ""), 403, "auth.forbidden"));
  std::string unknown = "019ac3a2-7e10-7b42-9d0a-5f1c2a3b4c5d";
  EXPECT_TRUE(is_problem(user.client.post(path_of(unknown, unknown, "org"), ""), 404,
                         "llm_providers.not_found"));
}

TEST(TestLlmModel, MayBeAskedForTenTimesAMinute) {
  ApiStack& stack = ApiStack::shared();
  TestConversation conversation = make_conversation(stack);
  const TestUser& user = conversation.user;
  stack.sql().run_text(
      fmt::format("INSERT INTO attempts (kind, subject) SELECT 'llm_models.test', "
                  "'{}' FROM generate_series(1, 10)",
                  user.org_id));
  std::string path = path_of(conversation.model.provider_id, conversation.model.model_id, "org");
  Answer refused = user.client.post(path, "");
  EXPECT_TRUE(is_problem(refused, 429, "rate_limit.exceeded"));
  EXPECT_TRUE(refused.has_header("retry-after"));
}

TEST(TestLlmModel, IsAudited) {
  TestUser admin = register_admin(runner_stack());
  std::string path = path_of_new(admin.client, "openai", "http://127.0.0.1:1/v1");
  read(admin.client.post(path, ""));
  std::string model_id = path.substr(path.find("/models/") + 8, 36);
  EXPECT_EQ(sql_number(runner_stack(),
                       "SELECT count(*) FROM audit_logs WHERE action = "
                       "'llm_models.test' AND target_id = '" +
                           model_id + "'"),
            1);
}

}  // namespace
}  // namespace hostler::testing_support
