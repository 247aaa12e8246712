// Runs and what they did; see tests/support/rigs/run_harness.h.
#include "tests/support/rigs/run_harness.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/clients/event_stream.h"
#include "tests/support/eventually.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

const Json& reported_by(const Json& event) {
  static const Json none;
  const Json* found = event.find("data");
  return found == nullptr ? none : *found;
}

}  // namespace

void add_fake_model(ApiStack& stack, std::string_view price, const std::string& url) {
  TestUser admin = register_admin(stack);
  Answer provider = admin.client.post(
      "/v1/llm-providers",
      fmt::format(R"({{"name":"fake-model","provider_kind":"openai","base_url":"{}/v1"}})",
                  url.empty() ? stack.model_url() : url));
  EXPECT_EQ(provider.status, 201) << provider.body;
  Answer model = admin.client.post("/v1/llm-providers/" + provider.member("id") + "/models",
                                   fmt::format(R"({{"model":"fake-model","is_default":true,)"
                                               R"("context_tokens":10000000{}{}}})",
                                               price.empty() ? "" : ",", price));
  EXPECT_EQ(model.status, 201) << model.body;
}

ApiStack& runner_stack() {
  static ApiStack stack(ApiStackOptions{{}, true});
  static const bool is_ready = [] {
    add_fake_model(stack);
    return true;
  }();
  EXPECT_TRUE(is_ready);
  return stack;
}

std::string start_output(const Client& client, std::string_view message,
                         std::string_view run_body) {
  std::string thread_id = make_thread(client);
  post_message(client, thread_id, message);
  return start_run(client, thread_id, std::string(run_body));
}

std::string wait_for_status(const Client& client, const std::string& run_id,
                            std::string_view status) {
  std::string current;
  EXPECT_TRUE(eventually(15'000,
                         [&] {
                           current = client.get("/v1/runs/" + run_id).member("status");
                           bool is_over = current != "running" && current != "waiting_for_input";
                           return current == status || is_over;
                         }))
      << run_id << " is " << current;
  return current;
}

std::vector<Json> events_of(const Client& client, const std::string& run_id) {
  Answer answer = client.get("/v1/runs/" + run_id + "/events?follow=false");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EventStream stream{answer.body, answer.status};
  for (int64_t wanted = 0; int64_t seq : stream.seqs()) EXPECT_EQ(seq, ++wanted);
  return stream.events();
}

std::vector<Json> RunStory::all(std::string_view type) const {
  std::vector<Json> found;
  for (const Json& event : events) {
    if (event.text_or("type") == type) found.push_back(reported_by(event));
  }
  return found;
}

Json RunStory::only(std::string_view type) const {
  std::vector<Json> found = all(type);
  EXPECT_EQ(found.size(), 1u) << type << " in " << text();
  return found.size() == 1 ? found[0] : Json();
}

std::vector<std::string> RunStory::outcomes() const {
  std::vector<std::string> outcomes;
  for (const Json& reported : all("tool.result")) {
    const Json* error = reported.find("error");
    outcomes.emplace_back(error == nullptr ? "ok" : error->text_or("code"));
  }
  return outcomes;
}

std::string RunStory::result() const {
  Json reported = only("tool.result");
  const Json* error = reported.find("error");
  if (error != nullptr) return std::string(error->text_or("code"));
  const Json* result = reported.find("result");
  return result == nullptr ? "" : result->dump();
}

std::string RunStory::text() const {
  std::string all_of_it;
  for (const Json& event : events) all_of_it += event.dump() + "\n";
  return all_of_it;
}

RunStory story_of(const Client& client, const std::string& run_id) {
  RunStory story;
  story.run_id = run_id;
  story.status = client.get("/v1/runs/" + run_id).member("status");
  story.events = events_of(client, run_id);
  return story;
}

RunStory run_story(const Client& client, std::string_view message, std::string_view run_body) {
  std::string run_id = start_output(client, message, run_body);
  wait_for_status(client, run_id, "completed");
  return story_of(client, run_id);
}

std::string make_persona(const TestUser& user, std::string_view tools,
                         std::string_view confirm_tools) {
  auto list = [](std::string_view names) {
    std::string json = "[";
    while (!names.empty()) {
      std::string_view name = names.substr(0, names.find(' '));
      names.remove_prefix(std::min(names.size(), name.size() + 1));
      json += (json.size() > 1 ? "," : "") + json_quote(name);
    }
    return json + "]";
  };
  std::string key = new_name("persona");
  Answer made = user.client.post(
      "/v1/personas?scope=org",
      fmt::format(R"({{"persona_key":"{}","version":"1","display_name":"Test","system_prompt":)"
                  R"("Be brief.","tools":{},"confirm_tools":{}}})",
                  key, list(tools), list(confirm_tools)));
  EXPECT_EQ(made.status, 201) << made.body;
  return key + "@1";
}

}  // namespace hostler::testing_support
