// Tests what the fake model answers to which request: the provider's checks in both wire forms, the
// turn of the script that the conversation has reached, and failures that wear off.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>

#include "dev/fake-model/anthropic_request.h"
#include "dev/fake-model/openai_request.h"
#include "dev/fake-model/planner.h"

namespace hostler::fake_model {
namespace {

using Read = std::variant<ChatRequest, Refusal>;

Read openai(std::string_view members) {
  std::string body = R"({"model":"m",)" + std::string(members) + "}";
  return read_openai_request(parse_json_or_nothing(body).value());
}

Read anthropic(std::string_view members) {
  std::string body = R"({"model":"m","max_tokens":9000,)" + std::string(members) + "}";
  return read_anthropic_request(parse_json_or_nothing(body).value());
}

std::string refusal_of(const Read& read) {
  const Refusal* refusal = std::get_if<Refusal>(&read);
  return refusal == nullptr ? "" : std::to_string(refusal->status) + " " + refusal->message;
}

ChatRequest chat_of(const Read& read) {
  EXPECT_EQ(refusal_of(read), "");
  const ChatRequest* chat = std::get_if<ChatRequest>(&read);
  return chat == nullptr ? ChatRequest() : *chat;
}

std::string first_text(const std::variant<Turn, Refusal>& plan) {
  const Turn* turn = std::get_if<Turn>(&plan);
  return turn == nullptr || turn->empty() ? "" : turn->front().text;
}

constexpr std::string_view call = R"({"role":"assistant","content":null,"tool_calls":[
  {"id":"c1","type":"function","function":{"name":"a","arguments":"{}"}}]})";
constexpr std::string_view result = R"({"role":"tool","tool_call_id":"c1","content":"found"})";

std::string messages(std::initializer_list<std::string_view> parts) {
  std::string joined;
  for (std::string_view part : parts) {
    if (!joined.empty()) joined += ',';
    joined += part;
  }
  return "\"messages\":[" + joined + "]";
}

std::string user(std::string_view text) {
  return R"({"role":"user","content":)" + json_quote(text) + "}";
}

TEST(ModelOpenAi, CountsTurnsSinceTheLastUserMessage) {
  ChatRequest chat = chat_of(openai(messages({user("old"), call, result, user("new")})));
  EXPECT_EQ(chat.turn, 0);
  EXPECT_EQ(chat.last_user_text, "new");
  chat = chat_of(openai(messages({user("old"), user("new"), call, result})));
  EXPECT_EQ(chat.turn, 1);
  EXPECT_EQ(chat.tool_results, std::vector<std::string>{"found"});
  chat = chat_of(openai(messages({R"({"role":"user","content":[{"type":"text","text":"a"},
      {"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"b"}]})"})));
  EXPECT_EQ(chat.last_user_text, "ab");
}

TEST(ModelOpenAi, RefusesWhatTheRealOneRefuses) {
  std::string hi = messages({user("hi")});
  for (const std::string& body :
       {std::string(R"("x":1)"),
        std::string(R"("messages":[])"),
        std::string(R"("messages":{})"),
        messages({"1"}),
        messages({R"({"role":"robot","content":"x"})"}),
        messages({R"({"role":"user"})"}),
        messages({R"({"role":"user","content":[]})"}),
        messages({user("hi"), result}),
        messages({user("hi"), call}),
        messages({user("hi"), call, user("more")}),
        messages({user("hi"), call, result, result}),
        messages({user("hi"), R"({"role":"assistant","tool_calls":[]})"}),
        messages({user("hi"), R"({"role":"assistant","tool_calls":[{"id":"x","type":"function",
            "function":{"name":"a","arguments":{}}}]})"}),
        hi + R"(,"stream":"yes")",
        hi + R"(,"stream_options":{"include_usage":true})",
        hi + R"(,"temperature":3)",
        hi + R"(,"max_tokens":0)",
        hi + R"(,"tools":[])",
        hi + R"(,"tools":[{"type":"function","function":{"name":"a b"}}])",
        hi + R"(,"tools":[{"type":"function","function":{"name":"a","parameters":{}}}])",
        hi + R"(,"tools":[{"type":"function","function":{"name":"a",
            "parameters":{"type":"object","properties":[]}}}])"}) {
    EXPECT_TRUE(refusal_of(openai(body)).starts_with("400 ")) << body;
  }
  EXPECT_NE(refusal_of(read_openai_request(parse_json_or_nothing("{" + hi + "}").value())), "");
  EXPECT_EQ(refusal_of(openai(hi + R"(,"stream":null,"max_tokens":null)")), "");
}

constexpr std::string_view use =
    R"({"role":"assistant","content":[{"type":"tool_use","id":"u1","name":"a","input":{}}]})";
constexpr std::string_view use_result =
    R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"u1","content":"found"}]})";

constexpr std::string_view tool = R"(,"tools":[{"name":"a","input_schema":{"type":"object"}}])";

TEST(ModelAnthropic, TakesAMessageOfResultsForNoUserMessage) {
  ChatRequest chat =
      chat_of(anthropic(messages({user("do it"), use, use_result}) + std::string(tool)));
  EXPECT_EQ(chat.turn, 1);
  EXPECT_EQ(chat.last_user_text, "do it");
  EXPECT_EQ(chat.tool_results, std::vector<std::string>{"found"});
}

TEST(ModelAnthropic, RefusesWhatTheRealOneRefuses) {
  std::string hi = messages({user("hi")});
  std::string thinking = R"(,"thinking":{"type":"enabled","budget_tokens":2000})";
  for (const std::string& body :
       {std::string(R"("x":1)"),
        std::string(R"("messages":[])"),
        messages({user("a"), user("b")}),
        messages({R"({"role":"assistant","content":"a"})"}),
        messages({R"({"role":"system","content":"a"})"}),
        messages({user("")}),
        messages({R"({"role":"user","content":[{"type":"text","text":""}]})"}),
        messages({use_result}),
        messages({user("a"), use}),
        messages({user("a"), use, user("no result")}),
        messages({user("a"), use, use_result, R"({"role":"assistant","content":"x"})", use_result}),
        messages({user("a"), use, R"({"role":"user","content":[{"type":"text","text":"first"},
            {"type":"tool_result","tool_use_id":"u1"}]})"}),
        messages({user("a"), use, use_result}) + std::string(tool) + thinking,
        messages({user("a"), use, use_result}),
        messages({user("a"), R"({"role":"assistant","content":"a"})"}),
        messages({R"({"role":"user","content":[{"type":"text","text":" \n"}]})"}),
        hi + R"(,"thinking":{"type":"enabled","budget_tokens":10})",
        hi + R"(,"thinking":{"type":"enabled","budget_tokens":9000})",
        hi + R"(,"temperature":1.5)",
        hi + R"(,"tools":[{"name":"a","input_schema":{"type":"array"}}])",
        hi + R"(,"tools":[{"name":"a"}])"}) {
    EXPECT_TRUE(refusal_of(anthropic(body)).starts_with("400 ")) << body;
  }
  Read no_limit =
      read_anthropic_request(parse_json_or_nothing(R"({"model":"m",)" + hi + "}").value());
  EXPECT_EQ(refusal_of(no_limit), "400 max_tokens: Field required");
}

TEST(ModelPlanner, PlaysTheTurnThatTheConversationReached) {
  Planner planner;
  std::string script = user("[tool a][say then]");
  std::variant<Turn, Refusal> plan = planner.plan(chat_of(openai(messages({script}))));
  EXPECT_EQ(std::get<Turn>(plan).at(0).kind, StepKind::tools);
  plan = planner.plan(chat_of(openai(messages({script, call, result}))));
  EXPECT_EQ(first_text(plan), "then");
  plan = planner.plan(chat_of(
      openai(messages({script, call, result, R"({"role":"assistant","content":"then"})"}))));
  EXPECT_EQ(first_text(plan), "That is all.");
}

TEST(ModelPlanner, TellsWhatTheToolsBroughtWhenTheScriptHasEnded) {
  Planner planner;
  std::string text =
      first_text(planner.plan(chat_of(openai(messages({user("[tool a]"), call, result})))));
  EXPECT_NE(text.find("found"), std::string::npos) << text;
}

TEST(ModelPlanner, SpeaksItsOwnWordsWhenTheTurnOnlySetsThingsUp) {
  Planner planner;
  std::variant<Turn, Refusal> plan = planner.plan(chat_of(openai(messages({user("[delay 1]")}))));
  ASSERT_EQ(std::get<Turn>(plan).size(), 2U);
  EXPECT_FALSE(std::get<Turn>(plan).at(1).text.empty());
}

TEST(ModelPlanner, GoesOnWithTheScriptWhenItsAnswerIsToBeRepaired) {
  constexpr std::string_view bad = R"({"role":"assistant","content":"x"})";
  constexpr std::string_view repair =
      R"({"role":"user","content":"Your answer does not fit the response format. What is …"})";
  std::string script = user("[answer x] [answer {\"n\":[1,2]}]");
  Planner planner;
  for (Read (*read)(std::string_view) : {openai, anthropic}) {
    EXPECT_EQ(first_text(planner.plan(chat_of(read(messages({script}))))), "x");
    EXPECT_EQ(first_text(planner.plan(chat_of(read(messages({script, bad, repair}))))),
              R"({"n":[1,2]})");
  }
}

TEST(ModelPlanner, CallsAToolThatItMustCallUnlessTheScriptSaysElse) {
  constexpr std::string_view schema =
      R"({"type":"object","properties":{"city":{"type":"string"},"n":{"type":"integer"},)"
      R"("unit":{"enum":["c","f"]}},"required":["city","unit"]})";
  std::string of_openai = R"(,"tool_choice":"required","tools":[{"type":"function","function":)"
                          R"({"name":"a","parameters":)" +
                          std::string(schema) + "}}]";
  std::string of_anthropic =
      R"(,"tool_choice":{"type":"any"},"tools":[{"name":"a","input_schema":)" +
      std::string(schema) + "}]";
  Planner planner;
  for (const Read& read : {openai(messages({user("hi")}) + of_openai),
                           anthropic(messages({user("hi")}) + of_anthropic)}) {
    Turn turn = std::get<Turn>(planner.plan(chat_of(read)));
    ASSERT_EQ(turn.front().calls.size(), 1U);
    EXPECT_EQ(turn.front().calls[0].name, "a");
    EXPECT_EQ(turn.front().calls[0].arguments, R"({"city":"text","unit":"c"})");
  }
  EXPECT_EQ(first_text(planner.plan(chat_of(openai(messages({user("[say b]")}) + of_openai)))),
            "b");
}

TEST(ModelPlanner, AnswersInJsonOfTheSchemaUnlessTheScriptSaysElse) {
  std::string format =
      R"(,"response_format":{"type":"json_schema","json_schema":{"name":"t","schema":)"
      R"({"type":"object","properties":{"n":{"type":"integer","minimum":3}},"required":["n"]}}})";
  Planner planner;
  EXPECT_EQ(first_text(planner.plan(chat_of(openai(messages({user("hi")}) + format)))),
            R"({"n":3})");
  EXPECT_EQ(first_text(planner.plan(chat_of(openai(messages({user("[say b]")}) + format)))), "b");
}

TEST(ModelPlanner, RefusesABadScriptWith400) {
  Planner planner;
  std::variant<Turn, Refusal> plan = planner.plan(chat_of(openai(messages({user("[words x]")}))));
  EXPECT_EQ(std::get<Refusal>(plan).status, 400);
}

TEST(ModelPlanner, FailsAConversationOnlySoOften) {
  Planner planner;
  std::string script = "[status 500 times=2][status 429 times=1][say well]";
  ChatRequest chat = chat_of(openai(messages({user(script)})));
  ChatRequest other = chat_of(openai(messages({user("another"), user(script)})));
  for (int status : {500, 500, 429}) {
    EXPECT_EQ(std::get<Refusal>(planner.plan(chat)).status, status);
  }
  EXPECT_EQ(first_text(planner.plan(chat)), "well");
  EXPECT_EQ(std::get<Refusal>(planner.plan(other)).status, 500);
  planner.reset();
  EXPECT_EQ(std::get<Refusal>(planner.plan(chat)).status, 500);
}

TEST(ModelPlanner, LeavesOutAStreamFailureThatHasWornOff) {
  Planner planner;
  ChatRequest chat = chat_of(openai(messages({user("[say a][cut times=1][say b]")})));
  std::variant<Turn, Refusal> plan = planner.plan(chat);
  EXPECT_EQ(std::get<Turn>(plan).back().kind, StepKind::cut);
  plan = planner.plan(chat);
  ASSERT_EQ(std::get<Turn>(plan).size(), 2U);
  EXPECT_EQ(std::get<Turn>(plan).back().text, "b");
}

}  // namespace
}  // namespace hostler::fake_model
