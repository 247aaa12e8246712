// Tests the whole conversations that clients of OpenAI's API send, as they keep them: messages of
// POST /v1/openai/chat/completions, input of POST /v1/openai/responses. Which part their model
// gets, and which is refused before.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr const char* chats = "/v1/openai/chat/completions";
constexpr const char* responses = "/v1/openai/responses";

ApiStack& stack() { return runner_stack(); }

Answer ask_chat(const TestUser& user, std::string_view messages, std::string_view further = "") {
  return user.client.post(
      chats, fmt::format(R"({{"model":"normal@1","messages":[{{"role":"user","content":"a"}},{},)"
                         R"({{"role":"user","content":"[echo-history]"}}]{}}})",
                         messages, further));
}
Answer ask_response(const TestUser& user, std::string_view items) {
  return user.client.post(
      responses, fmt::format(R"({{"model":"normal@1","input":[{{"role":"user","content":"a"}},{},)"
                             R"({{"role":"user","content":"[echo-history]"}}]}})",
                             items));
}

// Returns the text between the two messages of the user in the model's request, as it repeats it.
std::string history_in(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  if (answer.status != 200) return {};
  Json body = answer.json();
  const Json* choices = body.find("choices");
  std::string text(
      choices != nullptr
          ? choices->as_array()->at(0).find("message")->text_or("content")
          : body.find("output")->as_array()->at(0).find("content")->as_array()->at(0).text_or(
                "text"));
  std::optional<Json> echoed = parse_json_or_nothing(text);
  EXPECT_TRUE(echoed.has_value()) << text;
  if (!echoed) return {};
  std::string all;
  for (const Json& message : *echoed->find("messages")->as_array()) {
    std::string_view content = message.text_or("content");
    // Messages of the user in a row are one.
    if (content.starts_with("a\n\n")) content.remove_prefix(3);
    if (content.ends_with("\n\n[echo-history]")) content.remove_suffix(16);
    if (message.text_or("role") == "system" || content == "a") continue;
    if (content == "[echo-history]") continue;
    all += fmt::format("{}:{}", message.text_or("role"), content);
    if (const Json* calls = message.find("tool_calls"); calls != nullptr) {
      for (const Json& call : *calls->as_array()) all += fmt::format("({})", call.text_or("id"));
    }
    if (!message.text_or("tool_call_id").empty()) {
      all += fmt::format("({})", message.text_or("tool_call_id"));
    }
    all += " ";
  }
  return all;
}

std::string param_of(const Answer& answer) {
  Json body = answer.json();
  const Json* error = body.find("error");
  return error == nullptr ? "no error" : std::string(error->text_or("param"));
}

std::string call(std::string_view id) {
  return fmt::format(
      R"({{"id":"{}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}})", id);
}
std::string calling(std::string_view calls) {
  return fmt::format(R"({{"role":"assistant","content":null,"tool_calls":[{}]}})", calls);
}
std::string result(std::string_view id) {
  return fmt::format(R"({{"role":"tool","tool_call_id":"{}","content":"r"}})", id);
}
std::string called(std::string_view id) {
  return fmt::format(R"({{"type":"function_call","call_id":"{}","name":"f","arguments":"{{}}"}})",
                     id);
}
std::string output(std::string_view id) {
  return fmt::format(R"({{"type":"function_call_output","call_id":"{}","output":"r"}})", id);
}

// Messages in the form in which the packages of OpenAI write them down.
TEST(ChatHistory, TakesAnswersBackAsClientsKeepThem) {
  TestUser user = register_user(stack());
  EXPECT_EQ(
      history_in(ask_chat(user, R"({"role":"assistant","content":"b","refusal":null,"audio":null,)"
                                R"("tool_calls":null,"function_call":null,"annotations":[]})")),
      "assistant:b ");
  EXPECT_EQ(
      history_in(ask_chat(user, R"({"role":"assistant","content":null,"refusal":"I will not."})")),
      "assistant:I will not. ");
  EXPECT_EQ(history_in(ask_chat(user, R"({"role":"user","content":"b","name":null})")), "user:b ");
  EXPECT_EQ(history_in(ask_chat(user, calling(call("c1") + "," + call("c2")) + "," + result("c2") +
                                          "," + result("c1"))),
            "assistant:(c1)(c2) tool:r(c2) tool:r(c1) ");
  // Some models give their calls the same ids in each turn.
  std::string turn = calling(call("c1")) + "," + result("c1");
  Answer again = ask_chat(user, turn + "," + R"({"role":"assistant","content":"b"})");
  EXPECT_EQ(history_in(again), "assistant:(c1) tool:r(c1) assistant:b ");
}

TEST(ChatHistory, HasAResultRightBehindEachCall) {
  TestUser user = register_user(stack());
  struct Case {
    std::string messages;
    const char* param;
  };
  std::string wait = R"({"role":"user","content":"wait"})";
  for (const Case& each :
       {Case{result("c1"), "messages"}, Case{result("c1") + "," + calling(call("c1")), "messages"},
        Case{calling(call("c1")), "messages.1.tool_calls"},
        Case{calling(call("c1") + "," + call("c2")) + "," + result("c2"), "messages.1.tool_calls"},
        Case{calling(call("c1")) + "," + wait + "," + result("c1"), "messages.1.tool_calls"},
        Case{calling(call("c1")) + "," + result("c1") + "," + result("c1"),
             "messages.3.tool_call_id"},
        Case{calling(call("c1") + "," + call("c1")) + "," + result("c1"),
             "messages.1.tool_calls.1.id"},
        Case{R"({"role":"assistant"})", "messages.1.content"}}) {
    Answer answer = ask_chat(user, each.messages);
    EXPECT_TRUE(is_problem(answer, 400, "validation.error")) << each.messages << answer.body;
    EXPECT_EQ(param_of(answer).substr(0, std::string_view(each.param).size()), each.param);
  }
  for (const char* older :
       {R"({"role":"function","name":"f","content":"r"})",
        R"({"role":"assistant","content":"","function_call":{"name":"f","arguments":""}})",
        R"({"role":"assistant","audio":{"id":"a"},"content":""})"}) {
    EXPECT_TRUE(is_problem(ask_chat(user, older), 400, "unsupported_parameter")) << older;
  }
  Answer custom = ask_chat(
      user, calling(R"({"id":"c1","type":"custom","custom":{"name":"f"}})") + "," + result("c1"));
  EXPECT_TRUE(is_problem(custom, 400, "unsupported_parameter")) << custom.body;
  EXPECT_EQ(param_of(custom), "messages.1.tool_calls.0.type");
  EXPECT_EQ(user.client.get("/v1/runs").body, "[]");
}

// A call that has none is at fault once: no result of it is asked for.
TEST(GivenHistories, HaveAnIdInEachCall) {
  TestUser user = register_user(stack());
  for (const Answer& answer : {ask_chat(user, calling(call(""))), ask_response(user, called(""))}) {
    EXPECT_TRUE(is_problem(answer, 400, "validation.error")) << answer.body;
    EXPECT_EQ(answer.body.find(';'), std::string::npos) << answer.body;
  }
}

// An empty text is not a word of the user.
TEST(GivenHistories, HaveATextInEachPartOfText) {
  TestUser user = register_user(stack());
  for (const char* text : {"", R"(,"text":5)", R"(,"text":null)"}) {
    std::string part = fmt::format(R"([{{"type":"text","text":"b"}},{{"type":"text"{}}}])", text);
    std::string message = fmt::format(R"({{"role":"user","content":{}}})", part);
    for (const Answer& answer : {ask_chat(user, message), ask_response(user, message)}) {
      EXPECT_TRUE(is_problem(answer, 400, "validation.error")) << message;
      EXPECT_TRUE(param_of(answer).ends_with(".1.content.1.text")) << answer.body;
    }
    std::string output_parts = called("c") + "," +
                               fmt::format(R"({{"type":"function_call_output","call_id":"c",)"
                                           R"("output":{}}})",
                                           part);
    EXPECT_TRUE(param_of(ask_response(user, output_parts)).ends_with(".output.1.text"));
  }
  EXPECT_EQ(user.client.get("/v1/runs").body, "[]");
}

TEST(ChatHistory, TakesMembersThatSayNothing) {
  TestUser user = register_user(stack());
  std::string further;
  for (const char* name : {"tools",
                           "tool_choice",
                           "response_format",
                           "stop",
                           "stream_options",
                           "metadata",
                           "user",
                           "store",
                           "n",
                           "temperature",
                           "top_p",
                           "logit_bias",
                           "functions",
                           "function_call",
                           "audio",
                           "modalities",
                           "prediction",
                           "seed",
                           "parallel_tool_calls",
                           "reasoning_effort",
                           "service_tier",
                           "verbosity",
                           "web_search_options",
                           "max_tokens",
                           "max_completion_tokens",
                           "logprobs",
                           "top_logprobs",
                           "stream",
                           "safety_identifier",
                           "prompt_cache_key",
                           "instructions",
                           "text",
                           "max_output_tokens",
                           "previous_response_id",
                           "reasoning",
                           "top_k",
                           "min_p",
                           "repetition_penalty",
                           "best_of"}) {
    further += fmt::format(R"(,"{}":null)", name);
  }
  constexpr const char* b = R"({"role":"user","content":"b"})";
  EXPECT_EQ(history_in(ask_chat(user, b, further)), "user:b ");
  constexpr const char* defaults =
      R"(,"n":1,"verbosity":"medium","stop":"","user":"","metadata":{},"logit_bias":{})";
  EXPECT_EQ(history_in(ask_chat(user, b, defaults)), "user:b ");
  Answer marked = ask_chat(user, b, R"(,"safety_identifier":"s-1")");
  EXPECT_EQ(
      user.client.get("/v1/runs/" + marked.header("x-hostler-run")).json().text_or("end_user"),
      "s-1");
}

// Items have their order of their own there: a model gets each output after its call.
TEST(ResponseHistory, PutsOutputsBehindTheirCalls) {
  TestUser user = register_user(stack());
  constexpr const char* wait = R"(,{"role":"user","content":"wait"},)";
  EXPECT_EQ(history_in(ask_response(user, called("c1") + wait + output("c1"))),
            "assistant:(c1) tool:r(c1) user:wait ");
  EXPECT_EQ(
      history_in(ask_response(user, called("c1") + "," + output("c1") + "," + called("c2") +
                                        R"(,{"role":"assistant","content":"b"},)" + output("c2"))),
      "assistant:(c1) tool:r(c1) assistant:(c2) tool:r(c2) assistant:b ");
  EXPECT_EQ(
      history_in(ask_response(user, called("c1") + R"(,{"type":"reasoning","summary":[]},)" +
                                        called("c2") + "," + output("c2") + "," + output("c1"))),
      "assistant:(c1)(c2) tool:r(c2) tool:r(c1) ");
}

TEST(ResponseHistory, HasAnOutputOfEachCall) {
  TestUser user = register_user(stack());
  for (const std::string& items : {output("c1"), output("c1") + "," + called("c1"), called("c1"),
                                   called("c1") + "," + called("c2") + "," + output("c2"),
                                   called("c1") + "," + output("c1") + "," + output("c1"),
                                   called("c1") + "," + called("c1") + "," + output("c1")}) {
    Answer answer = ask_response(user, items);
    EXPECT_TRUE(is_problem(answer, 400, "validation.error")) << items << answer.body;
  }
  EXPECT_EQ(user.client.get("/v1/runs").body, "[]");
}

}  // namespace
}  // namespace hostler::testing_support
