// tools of POST /v1/threads/{thread_id}/runs: what a run may declare, and how it is offered,
// checked, asked for and repeated, through the whole stack.
#include <gtest/gtest.h>

#include <set>

#include <fmt/format.h>

#include "tests/support/rows/function_tools.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

using Texts = std::vector<std::string>;

ApiStack& stack() { return ApiStack::shared(); }

constexpr const char* two_calls =
    R"([tools weather {"city":"Rome"} | traffic {"city":"Oslo"}] [say thanks])";

std::string tool_with(std::string_view name, std::string_view parameters) {
  return fmt::format(R"({{"type":"function","name":"{}","description":"d","parameters":{}}})", name,
                     parameters);
}

// Returns what creating a run with these tools answers, of a thread of its own.
Answer declare(const TestConversation& conversation, const Texts& tools) {
  return conversation.user.client.post(runs_of(conversation.thread_id), run_with_tools(tools));
}

TEST(DeclareTools, ListsEveryFault) {
  TestConversation conversation = make_conversation(stack());
  Answer answer = declare(
      conversation,
      {R"({})", R"({"type":"web","name":"a b","description":5,"parameters":[],"strict":"yes"})",
       tool_with("c", R"({"type":"array"})"), tool_with("d", R"({"type":"object","format2":1})"),
       tool_with("e", R"({"type":"object","properties":{"x":{"pattern":"a(?=b)c"}}})"), "7",
       tool_with(std::string(65, 'x'), R"({"type":"object"})"), tool_with("", "{}")});
  EXPECT_TRUE(has_fault(answer, "tools.0.type", "required"));
  EXPECT_TRUE(has_fault(answer, "tools.0.name", "required"));
  EXPECT_TRUE(has_fault(answer, "tools.0.description", "required"));
  EXPECT_TRUE(has_fault(answer, "tools.0.parameters", "required"));
  EXPECT_TRUE(has_fault(answer, "tools.1.type", "unknown"));
  EXPECT_TRUE(has_fault(answer, "tools.1.name", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "tools.1.description", "wrong_type"));
  EXPECT_TRUE(has_fault(answer, "tools.1.parameters", "wrong_type"));
  EXPECT_TRUE(has_fault(answer, "tools.1.strict", "wrong_type"));
  EXPECT_TRUE(has_fault(answer, "tools.2.parameters", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "tools.3.parameters", "bad_format"));
  EXPECT_TRUE(has_fault(answer, "tools.4.parameters", "bad_format"));
  EXPECT_NE(answer.body.find("/properties/x"), std::string::npos) << answer.body;
  EXPECT_TRUE(has_fault(answer, "tools.5", "wrong_type"));
  EXPECT_TRUE(has_fault(answer, "tools.6.name", "too_long"));
  EXPECT_TRUE(has_fault(answer, "tools.7.name", "required"));
  EXPECT_TRUE(has_fault(answer, "tools.7.parameters", "bad_format"));
  EXPECT_TRUE(
      has_fault(conversation.user.client.post(runs_of(conversation.thread_id), R"({"tools":{}})"),
                "tools", "wrong_type"));
}

TEST(DeclareTools, TakesSixtyFourOfTwoHundredFiftySixKibibytes) {
  TestConversation conversation = make_conversation(stack());
  Texts tools;
  for (int i = 0; i < 65; ++i) tools.push_back(city_tool(fmt::format("tool{}", i)));
  EXPECT_TRUE(has_fault(declare(conversation, tools), "tools", "too_long"));
  // A tool without its description, and the brackets around all.
  size_t bare = tool_with("a", R"({"type":"object"})").size() - 1 + 2;
  auto described = [&](size_t bytes) {
    return fmt::format(
        R"({{"type":"function","name":"a","description":"{}","parameters":{{"type":"object"}}}})",
        std::string(bytes, 'd'));
  };
  EXPECT_TRUE(
      has_fault(declare(conversation, {described(256 * 1024 - bare + 1)}), "tools", "too_long"));
  EXPECT_EQ(declare(conversation, {described(256 * 1024 - bare)}).status, 201);
  TestConversation other = make_conversation(stack());
  tools.pop_back();
  EXPECT_EQ(declare(other, tools).status, 201);
}

TEST(DeclareTools, RefusesManyPatternsThatWouldHoldUpAWorker) {
  TestConversation conversation = make_conversation(stack());
  Texts tools;
  for (int i = 0; i < 5; ++i) {
    std::string patterns;
    for (int n = 0; n < 60; ++n) {
      patterns += fmt::format(R"({}"^{}_{}$":{{}})", n == 0 ? "" : ",", i, n);
    }
    tools.push_back(tool_with(fmt::format("t{}", i),
                              R"({"type":"object","patternProperties":{)" + patterns + "}}"));
  }
  EXPECT_TRUE(has_fault(declare(conversation, tools), "tools.4.parameters", "too_long"));
  tools.pop_back();
  EXPECT_EQ(declare(conversation, tools).status, 201);
}

TEST(DeclareTools, RefusesLargePatternsThatWouldHoldUpAWorker) {
  TestConversation conversation = make_conversation(stack());
  Texts large;
  Texts too_large;
  for (int i = 0; i < 8; ++i) {
    constexpr std::string_view schema =
        R"({{"type":"object","properties":{{"a":{{"pattern":"\\p{{L}}{{{}}}{}"}}}}}})";
    large.push_back(tool_with(fmt::format("t{}", i), fmt::format(schema, 10, i)));
    too_large.push_back(tool_with(fmt::format("t{}", i), fmt::format(schema, 900, i)));
  }
  EXPECT_TRUE(has_fault(declare(conversation, large), "tools.5.parameters", "too_long"));
  Answer refused = declare(conversation, too_large);
  EXPECT_TRUE(has_fault(refused, "tools.2.parameters", "bad_format"));
  EXPECT_FALSE(has_fault(refused, "tools.3.parameters", "bad_format")) << "no more was compiled";
  large.resize(5);
  EXPECT_EQ(declare(conversation, large).status, 201);
}

TEST(DeclareTools, RefusesNamesThatAreTaken) {
  TestConversation conversation = make_conversation(stack());
  EXPECT_TRUE(
      is_problem(declare(conversation, {city_tool("a"), city_tool("a")}), 422, "tools.name_taken"));
  for (const char* name : {"web_search", "web_fetch", "ask_user"}) {
    EXPECT_TRUE(is_problem(declare(conversation, {city_tool(name)}), 422, "tools.name_taken"));
  }
  EXPECT_EQ(declare(conversation, {city_tool("a"), city_tool("A")}).status, 201);
}

TEST(DeclareTools, CountsThemAmongWhatIsStored) {
  TestConversation conversation = make_conversation(stack());
  std::string question = fmt::format("SELECT stored_bytes FROM credit_accounts WHERE org_id = '{}'",
                                     conversation.user.org_id);
  int64_t before = sql_number(stack(), question);
  ASSERT_EQ(declare(conversation, {city_tool("a")}).status, 201);
  EXPECT_EQ(sql_number(stack(), question) - before,
            static_cast<int64_t>(city_tool("a").size()) + 2);
}

TEST(FunctionTools, AreOfferedCheckedAskedForAndAnswered) {
  TestUser user = register_user(runner_stack());
  AskingRun asking = start_asking(user.client, two_calls);
  RunStory story = story_of(user.client, asking.run_id);
  Json request = story.only("run.waiting_for_input");
  EXPECT_EQ(request.text_or("kind"), "tool_results");
  EXPECT_EQ(request.find("turn"), nullptr);
  const Json::Array& calls = *request.find("calls")->as_array();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].text_or("tool_name"), "weather");
  EXPECT_EQ(calls[0].find("arguments")->text_or("city"), "Rome");
  EXPECT_EQ(calls[1].text_or("tool_name"), "traffic");
  EXPECT_EQ(calls[1].text_or("answered_by"), "client");
  EXPECT_EQ(story.all("tool.call")[0].text_or("tool_call_id"), asking.call_ids[0]);
  Answer partial = asking.give(1, R"("jam")");
  EXPECT_EQ(partial.status, 200) << partial.body;
  EXPECT_EQ(partial.member("missing"), fmt::format(R"(["{}"])", asking.call_ids[0]));
  EXPECT_EQ(user.client.get("/v1/runs/" + asking.run_id).member("status"), "waiting_for_input");
  Answer last = asking.give(0, R"({"celsius":21})");
  EXPECT_EQ(last.member("missing"), "[]");
  RunStory end = asking.end();
  EXPECT_EQ(end.status, "completed");
  EXPECT_EQ(end.outcomes(), (Texts{"ok", "ok"}));
  EXPECT_EQ(end.all("tool.result")[0].text_or("result"), "jam");
  EXPECT_EQ(end.all("tool.result")[1].find("result")->integer_or("celsius", 0), 21);
  EXPECT_EQ(end.only("run.input_provided").text_or("request_id"), request.text_or("request_id"));
  EXPECT_TRUE(end.all("run.resumed").empty());
}

// The id of a model of a new provider that speaks this form.
std::string model_of_form(const char* form) {
  std::string base_url = runner_stack().model_url() + (*form == 'o' ? "/v1" : "");
  TestUser admin = register_admin(runner_stack());
  Answer provider = admin.client.post(
      "/v1/llm-providers", fmt::format(R"({{"name":"{}","provider_kind":"{}","base_url":"{}"}})",
                                       new_name("p"), form, base_url));
  EXPECT_EQ(provider.status, 201) << provider.body;
  Answer model = admin.client.post("/v1/llm-providers/" + provider.member("id") + "/models",
                                   fmt::format(R"({{"model":"{}"}})", new_name("m")));
  return std::string(model.member("id"));
}

TEST(FunctionTools, ReachModelsOfBothForms) {
  for (const char* form : {"openai", "anthropic"}) {
    TestUser user = register_user(runner_stack());
    AskingRun asking = start_asking(user.client, R"([tool weather {"city":"Rome"}] [echo-history])",
                                    fmt::format(R"("route_id":"{}")", model_of_form(form)));
    EXPECT_EQ(asking.give(0, R"("sunny")").status, 200);
    std::string shown = asking.end().text();
    for (const char* name : {"ask_user", "weather", "traffic", "sunny"}) {
      EXPECT_NE(shown.find(name), std::string::npos) << form << " is not told " << name;
    }
  }
}

// Ids of twenty digits are common, and no double holds them.
TEST(FunctionTools, PassNumbersAsTheyWereWritten) {
  std::string open_tool = R"({"type":"function","name":"weather","description":"Tells.",)"
                          R"("parameters":{"type":"object"}})";
  std::string digits = R"("id":12345678901234567890,"rate":1.10})";
  for (const char* form : {"openai", "anthropic"}) {
    TestUser user = register_user(runner_stack());
    std::string script = fmt::format(R"([tool weather {{"city":"Rome",{}] [echo-history])", digits);
    std::string body =
        run_with_tools({open_tool}, fmt::format(R"("route_id":"{}")", model_of_form(form)));
    AskingRun asking = asking_run(user.client, start_output(user.client, script, body));
    EXPECT_EQ(asking.give(0, R"({"paid":98765432109876543210})").status, 200);
    RunStory end = asking.end();
    std::string events = user.client.get("/v1/runs/" + asking.run_id + "/events?follow=false").body;
    size_t asked = events.find(digits);
    ASSERT_NE(asked, std::string::npos) << events;
    EXPECT_NE(events.find(digits, asked + 1), std::string::npos) << "of what it waits for";
    EXPECT_NE(events.find(R"({"paid":98765432109876543210})"), std::string::npos);
    std::string shown = end.text();
    EXPECT_NE(shown.find("12345678901234567890"), std::string::npos) << form << ": " << shown;
    EXPECT_NE(shown.find("1.10"), std::string::npos) << form;
    EXPECT_NE(shown.find("98765432109876543210"), std::string::npos) << form;
  }
}

TEST(FunctionTools, AskNobodyForArgumentsThatDoNotFit) {
  TestUser user = register_user(runner_stack());
  RunStory story = run_story(
      user.client,
      R"([tools weather {"town":"Rome"} | weather {"city":7} | traffic {}][bad-tool-json weather])",
      run_with_tools({city_tool("weather"), city_tool("traffic")}));
  EXPECT_EQ(story.status, "completed");
  EXPECT_EQ(story.outcomes(), (Texts(4, "tool.args_invalid")));
  EXPECT_TRUE(story.all("run.waiting_for_input").empty());
  std::string message(story.all("tool.result")[1].find("error")->text_or("message"));
  EXPECT_NE(message.find("/city"), std::string::npos) << message;
}

TEST(FunctionTools, OfAnotherRunAreUnknown) {
  TestUser user = register_user(runner_stack());
  EXPECT_EQ(run_story(user.client, R"([tool weather {"city":"Rome"}])").outcomes(),
            Texts{"tool.unknown"});
}

// Built-in calls first, then what a human is asked, then one wait for all that is missing.
TEST(FunctionTools, AreWaitedForOnceBehindBuiltInCallsAndConfirmations) {
  TestUser user = register_user(runner_stack());
  std::string persona = make_persona(user, "ask_user", "weather");
  std::string run_id =
      start_output(user.client,
                   R"([tools weather {"city":"Rome"} | ask_user {"message":"Why?"} | no_tool | )"
                   R"(weather {"city":"Bonn"} | traffic {"city":"Oslo"}][say ok])",
                   run_with_tools({city_tool("weather"), city_tool("traffic")},
                                  fmt::format(R"("persona_id":"{}")", persona)));
  auto say = [&](const char* content) {
    EXPECT_EQ(wait_for_status(user.client, run_id, "waiting_for_input"), "waiting_for_input");
    Answer answered = user.client.post("/v1/runs/" + run_id + "/input",
                                       fmt::format(R"({{"content":{}}})", json_quote(content)));
    EXPECT_EQ(answered.status, 200) << answered.body;
  };
  say(R"({"decision":"approve","arguments":{"city":"Turin"}})");
  say("because");
  say("deny");
  AskingRun asking = asking_run(user.client, run_id);
  RunStory story = story_of(user.client, run_id);
  Texts kinds;
  for (const Json& request : story.all("run.waiting_for_input")) {
    kinds.emplace_back(request.text_or("kind"));
  }
  EXPECT_EQ(kinds, (Texts{"tool_confirmation", "question", "tool_confirmation", "tool_results"}));
  EXPECT_EQ(story.outcomes()[0], "tool.unknown") << "it needs nobody";
  std::string asked = story.all("run.waiting_for_input").back().dump();
  EXPECT_NE(asked.find("Turin"), std::string::npos) << asked;
  ASSERT_EQ(asking.call_ids.size(), 2U) << "Bonn was denied";
  std::string denied(story.all("tool.call")[3].text_or("tool_call_id"));
  EXPECT_TRUE(has_fault(asking.answer(R"([{"tool_call_id":")" + denied + R"(","output":1}])"),
                        "results.0.tool_call_id", "unknown"));
  EXPECT_EQ(asking.answer("[" + asking.result(0, "1") + "," + asking.result(1, "2") + "]").status,
            200);
  EXPECT_EQ(asking.end().status, "completed");
}

// While the call waits, so that no approval is lost.
TEST(FunctionTools, EditedArgumentsAreCheckedLikeTheModels) {
  TestUser user = register_user(runner_stack());
  std::string persona = make_persona(user, "", "weather");
  std::string run_id = start_output(
      user.client, R"([tool weather {"city":"Rome"}][say ok])",
      run_with_tools({city_tool("weather")}, fmt::format(R"("persona_id":"{}")", persona)));
  ASSERT_EQ(wait_for_status(user.client, run_id, "waiting_for_input"), "waiting_for_input");
  auto approve = [&](const char* arguments) {
    std::string content = fmt::format(R"({{"decision":"approve","arguments":{}}})", arguments);
    return user.client.post("/v1/runs/" + run_id + "/input",
                            fmt::format(R"({{"content":{}}})", json_quote(content)));
  };
  Answer refused = approve(R"({"city":7,"x":1})");
  EXPECT_TRUE(has_fault(refused, "content", "bad_format"));
  EXPECT_NE(refused.body.find("arguments/city"), std::string::npos) << refused.body;
  EXPECT_NE(refused.body.find("; arguments: "), std::string::npos) << "x too: " << refused.body;
  EXPECT_TRUE(has_fault(approve("{}"), "content", "bad_format"));
  EXPECT_EQ(user.client.get("/v1/runs/" + run_id).member("status"), "waiting_for_input");
  EXPECT_EQ(approve(R"({"city":"Turin"})").status, 200);
  AskingRun asking = asking_run(user.client, run_id);
  EXPECT_EQ(asking.give(0, "1").status, 200);
  EXPECT_EQ(asking.end().outcomes(), Texts{"ok"});
}

TEST(FunctionTools, CallsHaveIdsOfOurs) {
  TestUser user = register_user(runner_stack());
  RunStory story = run_story(user.client, R"([tools a | b][tool c][repeat 3][say ok])",
                             run_with_tools({city_tool("weather")}));
  std::set<std::string> ids;
  for (const Json& call : story.all("tool.call")) ids.emplace(call.text_or("tool_call_id"));
  EXPECT_EQ(ids.size(), 5U);
  for (const std::string& id : ids) {
    EXPECT_EQ(id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"), std::string::npos);
    EXPECT_EQ(id.size(), 9U) << "not the model's";
  }
}

TEST(FunctionTools, AreRepeatedByARetry) {
  TestUser user = register_user(runner_stack());
  AskingRun asking = start_asking(user.client, R"([tool weather {"city":"Rome"}])");
  EXPECT_EQ(asking.give(0, "1").status, 200);
  EXPECT_EQ(asking.end().status, "completed");
  std::string thread_id = user.client.get("/v1/runs/" + asking.run_id).member("thread_id");
  Answer retried = user.client.post("/v1/threads/" + thread_id + ":retry");
  ASSERT_EQ(retried.status, 201) << retried.body;
  AskingRun again = asking_run(user.client, retried.member("run_id"));
  ASSERT_EQ(again.call_ids.size(), 1U);
  EXPECT_EQ(again.give(0, "2").status, 200);
  EXPECT_EQ(again.end().status, "completed");
}

}  // namespace
}  // namespace hostler::testing_support
