// Whole runs with models as they really are (POST /v1/threads/{thread_id}/runs, POST
// /v1/openai/chat/completions): calls that were cut, calls that are refused again and again, tools
// that a provider does not take, requests that are too long, and what the next run knows.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/odd_model.h"
#include "tests/support/rows/function_tools.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

// The members "tools" that run_with_tools() writes, for OddModel::run_body().
std::string weather_tool(std::string_view name = "weather") {
  return R"(,"tools":[)" + city_tool(name) + "]";
}

std::string last_message(const Json& request) {
  return std::string(request.find("messages")->as_array()->back().text_or("content"));
}

TEST(OddModels, HaveCutCallsThatAreNotMade) {
  OddModel model([](const Json&, size_t number) {
    return number == 0 ? odd_call("weather", R"({"city":"Ro)", "length") : odd_text("Smaller.");
  });
  TestUser user = register_user(runner_stack());
  RunStory story = run_story(user.client, "hi", model.run_body(weather_tool()));
  EXPECT_EQ(story.status, "completed") << story.text();
  Json cut = story.only("tool.cut");
  EXPECT_EQ(cut.text_or("reason"), "length");
  EXPECT_EQ(cut.text_or("tool_call_id"), story.only("tool.call").text_or("tool_call_id"));
  EXPECT_EQ(story.outcomes(), std::vector<std::string>{"tool.args_cut"});
  EXPECT_TRUE(story.all("run.waiting_for_input").empty()) << "nobody is asked for its result";
  ASSERT_EQ(model.requests().size(), 2u);
  std::string read = last_message(model.requests()[1]);
  EXPECT_NE(read.find("limit of tokens"), std::string::npos) << read;
  EXPECT_NE(model.requests()[1].dump().find("not_an_object"), std::string::npos)
      << "what goes back is an object";
}

TEST(OddModels, EndAtTheLimitOfACallerWithoutItsCall) {
  OddModel model([](const Json&, size_t) { return odd_call("weather", "", "length"); });
  TestUser user = register_user(runner_stack());
  std::string path = "/v1/openai/chat/completions";
  std::string body = fmt::format(
      R"({{"model":"route:{}","messages":[{{"role":"user","content":"hi"}}],"max_tokens":9,)"
      R"("tools":[{{"type":"function","function":{{"name":"weather"}}}}]}})",
      model.route_id());
  Answer answer = user.client.post(path, body);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(answer.body.find(R"("finish_reason":"length")"), std::string::npos) << answer.body;
  EXPECT_EQ(answer.body.find("tool_calls"), std::string::npos) << answer.body;
  Answer response =
      user.client.post("/v1/openai/responses",
                       fmt::format(R"({{"model":"route:{}","input":"hi","max_output_tokens":9,)"
                                   R"("tools":[{{"type":"function","name":"weather"}}]}})",
                                   model.route_id()));
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.member("status"), "incomplete") << response.body;
  EXPECT_EQ(response.body.find("function_call\""), std::string::npos) << response.body;
  EXPECT_EQ(model.requests().size(), 2u) << "no turn follows";
}

TEST(OddModels, ThatRepeatARefusedCallEndTheRun) {
  OddModel model([](const Json&, size_t) { return odd_call("weather", R"({"town":1})"); });
  TestUser user = register_user(runner_stack());
  RunStory story = run_story(user.client, "hi", model.run_body(weather_tool()));
  EXPECT_EQ(story.status, "failed");
  EXPECT_EQ(story.only("run.failed").text_or("code"), "run.repeated_call") << story.text();
  EXPECT_EQ(model.requests().size(), 3u);
}

TEST(OddModels, ThatRefuseAToolRunWithoutIt) {
  OddModel model([](const Json& body, size_t) {
    bool is_refused = body.dump().find("\"weather\"") != std::string::npos;
    return is_refused ? odd_refusal(R"({"error":{"message":"Invalid schema for function )"
                                    R"('weather': it is odd."}})")
                      : odd_text("fine");
  });
  TestUser user = register_user(runner_stack());
  RunStory story = run_story(user.client, "hi", model.run_body(weather_tool()));
  EXPECT_EQ(story.status, "completed") << story.text();
  Json left_out = story.only("tool.left_out");
  EXPECT_EQ(left_out.text_or("tool_name"), "weather");
  EXPECT_NE(left_out.text_or("reason").find("it is odd"), std::string_view::npos);
  EXPECT_EQ(model.requests().size(), 2u);
}

TEST(OddModels, AreAskedWithWhatTheyTakeFromTheNextRunOn) {
  // It refuses more than one run may learn.
  OddModel model([](const Json& body, size_t) {
    for (const char* member : {"max_tokens", "stream_options", "temperature"}) {
      if (body.find(member) == nullptr) continue;
      return odd_refusal(fmt::format(R"({{"detail":"unknown argument: {}"}})", member));
    }
    return odd_text("fine");
  });
  TestUser user = register_user(runner_stack());
  std::string body = fmt::format(
      R"({{"model":"route:{}","messages":[{{"role":"user","content":"hi"}}],"max_tokens":9,)"
      R"("temperature":1}})",
      model.route_id());
  Answer refused = user.client.post("/v1/openai/chat/completions", body);
  EXPECT_EQ(refused.status, 502) << refused.body;
  EXPECT_NE(refused.body.find("unknown argument: temperature"), std::string::npos);
  EXPECT_EQ(model.requests().size(), 3u) << "two more requests, not more";
  EXPECT_EQ(user.client.post("/v1/openai/chat/completions", body).status, 200)
      << "a run that failed keeps what it learned";
  EXPECT_EQ(model.requests().size(), 5u);
  EXPECT_EQ(user.client.post("/v1/openai/chat/completions", body).status, 200);
  EXPECT_EQ(model.requests().size(), 6u);
  EXPECT_EQ(model.learned(), R"({"token_limit": "max_completion_tokens", "no_temperature": true, )"
                             R"("no_stream_options": true})");
}

TEST(OddModels, WithLessContextThanSaidGetAShorterHistory) {
  OddModel model([](const Json& body, size_t) {
    size_t tokens = body.find("messages")->dump().size() / 4;
    constexpr size_t tokens_max = 1000;
    if (tokens <= tokens_max) return odd_text(std::string(400, 'w'));
    return odd_refusal(fmt::format(R"({{"error":{{"message":"This model's maximum context length )"
                                   R"(is {} tokens. However, your messages resulted in {} )"
                                   R"(tokens.","code":"context_length_exceeded"}}}})",
                                   tokens_max, tokens));
  });
  TestUser user = register_user(runner_stack());
  std::string thread_id = make_thread(user.client);
  auto run = [&](std::string_view message) {
    post_message(user.client, thread_id, std::string(message));
    std::string run_id = start_run(user.client, thread_id, model.run_body());
    wait_for_status(user.client, run_id, "completed");
    return story_of(user.client, run_id);
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(std::string(900, 'm')).status, "completed") << i;
  RunStory failed = run(std::string(9000, 'y'));
  EXPECT_EQ(failed.status, "failed");
  Json failure = failed.only("run.failed");
  EXPECT_EQ(failure.text_or("code"), "model.context_exceeded");
  EXPECT_NE(failure.text_or("message").find("the newest message with 9000 bytes"),
            std::string_view::npos)
      << failure.dump();
  EXPECT_EQ(run("short").status, "completed") << "the thread goes on working";
  EXPECT_EQ(model.learned(), R"({"context_tokens": 1000})");
}

TEST(OddModels, GetTheirOwnDataBackInEveryProtocolOfAThread) {
  OddModel model([](const Json& body, size_t) {
    bool has_results = body.dump().find("\"tool\"") != std::string::npos;
    return has_results
               ? odd_text("Sunny.")
               : odd_call("nothing_known", "{}", "tool_calls", R"("reasoning_content":"I look.",)");
  });
  TestUser user = register_user(runner_stack());
  std::string thread_id = make_thread(user.client);
  post_message(user.client, thread_id, "Weather?");
  std::string run_id = start_run(user.client, thread_id, model.run_body());
  EXPECT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
  auto expect_known = [&](const char* protocol) {
    std::string sent = model.requests().back().find("messages")->dump();
    EXPECT_NE(sent.find(R"("reasoning_content":"I look.")"), std::string::npos) << protocol << sent;
    EXPECT_NE(sent.find("tool.unknown"), std::string::npos) << protocol << sent;
    EXPECT_NE(sent.find("Sunny."), std::string::npos) << protocol << sent;
  };
  post_message(user.client, thread_id, "And now?");
  run_id = start_run(user.client, thread_id, model.run_body());
  EXPECT_EQ(wait_for_status(user.client, run_id, "completed"), "completed");
  expect_known("native");
  Answer ui = user.client.post(
      "/v1/ui/chat", fmt::format(R"({{"id":"{}","route_id":"{}","trigger":"submit-message",)"
                                 R"("messages":[{{"id":"u1","role":"user","parts":[)"
                                 R"({{"type":"text","text":"ui"}}]}}]}})",
                                 thread_id, model.route_id()));
  ASSERT_EQ(ui.status, 200) << ui.body;
  expect_known("UI");
  Answer agui = user.client.post(
      "/v1/agui", fmt::format(R"({{"threadId":"{}","runId":"r","state":{{}},"tools":[],)"
                              R"("context":[],"forwardedProps":{{"route_id":"{}"}},"messages":)"
                              R"([{{"id":"a1","role":"user","content":"agui"}}]}})",
                              thread_id, model.route_id()));
  ASSERT_EQ(agui.status, 200) << agui.body;
  expect_known("AG-UI");
  Answer response = user.client.post("/v1/openai/responses",
                                     fmt::format(R"({{"model":"route:{}","conversation":"conv_{}",)"
                                                 R"("input":"responses"}})",
                                                 model.route_id(), thread_id));
  ASSERT_EQ(response.status, 200) << response.body;
  expect_known("Responses");
  // Members that a chat client sends back go on to a provider that sends such members itself.
  Answer chat = user.client.post(
      "/v1/openai/chat/completions",
      fmt::format(R"({{"model":"route:{}","messages":[{{"role":"user","content":"q"}},)"
                  R"({{"role":"assistant","content":null,"reasoning_content":"given","tool_calls":)"
                  R"([{{"id":"c","type":"function","function":{{"name":"f","arguments":""}}}}]}},)"
                  R"({{"role":"tool","tool_call_id":"c","content":"21"}}]}})",
                  model.route_id()));
  ASSERT_EQ(chat.status, 200) << chat.body;
  std::string sent = model.requests().back().dump();
  EXPECT_NE(sent.find(R"("reasoning_content":"given")"), std::string::npos) << sent;
  EXPECT_NE(sent.find(R"("arguments":"{}")"), std::string::npos) << sent;
}

}  // namespace
}  // namespace hostler::testing_support
