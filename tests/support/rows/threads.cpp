// Threads and runs for tests; see tests/support/rows/threads.h.
#include "tests/support/rows/threads.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace hostler::testing_support {

std::string make_thread(const Client& client, std::string_view body) {
  Answer made = client.post("/v1/threads", std::string(body));
  EXPECT_EQ(made.status, 201) << made.body;
  return made.member("id");
}

std::string post_message(const Client& client, const std::string& thread_id,
                         std::string_view content) {
  Answer made = client.post("/v1/threads/" + thread_id + "/messages",
                            fmt::format(R"({{"content":{}}})", json_quote(content)));
  EXPECT_EQ(made.status, 201) << made.body;
  return made.member("id");
}

TestModel make_model(const TestUser& user, std::string_view name) {
  Answer provider = user.client.post(
      "/v1/llm-providers?scope=org",
      fmt::format(R"({{"name":"{}","provider_kind":"openai"}})", new_name("provider")));
  EXPECT_EQ(provider.status, 201) << provider.body;
  TestModel made;
  made.provider_id = provider.member("id");
  Answer model =
      user.client.post(fmt::format("/v1/llm-providers/{}/models?scope=org", made.provider_id),
                       fmt::format(R"({{"model":"{}","is_default":true}})", name));
  EXPECT_EQ(model.status, 201) << model.body;
  made.model_id = model.member("id");
  return made;
}

TestConversation make_conversation(ApiStack& stack) {
  TestConversation conversation{register_user(stack), {}, {}};
  conversation.model = make_model(conversation.user);
  conversation.thread_id = make_thread(conversation.user.client);
  post_message(conversation.user.client, conversation.thread_id);
  return conversation;
}

std::string runs_of(const std::string& thread_id) { return "/v1/threads/" + thread_id + "/runs"; }

std::string start_run(const Client& client, const std::string& thread_id, const std::string& body) {
  Answer made = client.post(runs_of(thread_id), body);
  EXPECT_EQ(made.status, 201) << made.body;
  return made.member("run_id");
}

void end_run(ApiStack& stack, const std::string& run_id, std::string_view status,
             std::string_view answer) {
  std::string_view code = status == "failed" ? "'model.unavailable'" : "NULL";
  stack.sql().run_text(fmt::format(
      "INSERT INTO run_events (run_id, seq, type, data) SELECT id, last_seq + 1, 'run.{1}', '{{}}' "
      "FROM runs WHERE id = '{0}'; "
      "SELECT run_end(runs, '{1}', last_seq + 1, {2}, {2}, '{3}', '{1}' <> 'completed') FROM runs "
      "WHERE id = '{0}'",
      run_id, status, code, answer));
}

void claim_run(ApiStack& stack, const std::string& run_id) {
  stack.sql().run_text(
      fmt::format("UPDATE runs SET owner_id = uuidv7(), epoch = nextval('run_epochs'), started_at "
                  "= clock_timestamp() WHERE "
                  "id = '{}'",
                  run_id));
}

}  // namespace hostler::testing_support
