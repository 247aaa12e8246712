// tools, tool_choice and parallel_tool_calls of POST /v1/openai/chat/completions: what a request
// may declare, what its model is sent, and how the answer tells of calls. Their fate in the next
// request is tested by tests/system/agent/left_calls_test.cpp.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/model_route.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr const char* chats = "/v1/openai/chat/completions";

ApiStack& tool_stack() {
  static ApiStack shared({{}, true});
  static const bool has_model = [] {
    add_fake_model(shared);
    return true;
  }();
  static_cast<void>(has_model);
  return shared;
}

// A user, and a model that is asked by nobody else.
struct Caller {
  TestUser user = register_user(tool_stack());
  ModelRoute route;

  explicit Caller(std::string_view form = "openai", std::string_view prices = "") {
    static const TestUser admin = register_admin(tool_stack());
    route = make_route(tool_stack(), admin, form, prices);
  }
  Answer ask(std::string_view script, std::string_view further) const {
    return user.client.post(
        chats,
        fmt::format(R"({{"model":"route:{}","messages":[{{"role":"user","content":{}}}]{}}})",
                    route.route_id, json_quote(script), further));
  }
  std::string sent() const {
    std::vector<std::string> bodies = requests_for(tool_stack(), route.model);
    return bodies.empty() ? "nothing" : bodies.back();
  }
};

Answer ask_persona(const TestUser& user, std::string_view script, std::string_view further) {
  return user.client.post(
      chats, fmt::format(R"({{"model":"normal","messages":[{{"role":"user","content":{}}}]{}}})",
                         json_quote(script), further));
}

std::string tool(std::string_view name, std::string_view more = "") {
  return fmt::format(R"({{"type":"function","function":{{"name":"{}"{}}}}})", name, more);
}
std::string with_tools(std::string_view tools, std::string_view further = "") {
  return fmt::format(R"(,"tools":[{}]{})", tools, further);
}
std::string f_and_g() { return tool("f") + "," + tool("g"); }

const Json& choice_of(const Json& answer) { return answer.find("choices")->as_array()->at(0); }
// The names of the calls with which an answer ends, or its text.
std::string calls_of(const Answer& answer) {
  Json body = answer.json();
  EXPECT_EQ(answer.status, 200) << answer.body;
  if (answer.status != 200) return answer.body;
  const Json& message = *choice_of(body).find("message");
  const Json* calls = message.find("tool_calls");
  EXPECT_EQ(choice_of(body).text_or("finish_reason"), calls == nullptr ? "stop" : "tool_calls");
  if (calls == nullptr) return std::string(message.text_or("content"));
  std::string names;
  for (const Json& call : *calls->as_array()) {
    names += std::string(call.find("function")->text_or("name")) + " ";
  }
  return names;
}
std::string param_of(const Answer& answer) {
  Json body = answer.json();
  const Json* error = body.find("error");
  return error == nullptr ? "no error" : std::string(error->text_or("param"));
}

TEST(ChatTools, EndTheAnswerWithTheirCalls) {
  Caller caller;
  Answer answer = caller.ask(R"([tools f {"x":[1,"a"]} | g])", with_tools(f_and_g()));
  ASSERT_EQ(answer.status, 200) << answer.body;
  Json body = answer.json();
  EXPECT_EQ(choice_of(body).text_or("finish_reason"), "tool_calls");
  const Json& message = *choice_of(body).find("message");
  EXPECT_TRUE(message.find("content")->is_null());
  const Json::Array& calls = *message.find("tool_calls")->as_array();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].text_or("type"), "function");
  EXPECT_EQ(calls[0].text_or("id").size(), 9u);
  EXPECT_EQ(calls[0].find("function")->dump(), R"({"name":"f","arguments":"{\"x\":[1,\"a\"]}"})");
  EXPECT_EQ(calls[1].find("function")->dump(), R"({"name":"g","arguments":"{}"})");
  Json run = caller.user.client.get("/v1/runs/" + answer.header("x-hostler-run")).json();
  EXPECT_EQ(run.text_or("status"), "completed");
  EXPECT_GT(body.find("usage")->integer_or("completion_tokens", 0), 0);
}

TEST(ChatTools, AreStreamedBehindTheText) {
  Caller caller;
  Answer answer = caller.ask(R"([say One moment.][tools f {"x":1} | g])",
                             with_tools(f_and_g(), R"(,"stream":true)"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  size_t at = 0;
  for (std::string_view part :
       {R"("content":"One)", R"("tool_calls":[{"index":0,"id":")",
        R"("type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}])",
        R"("tool_calls":[{"index":1,"id":")",
        R"("delta":{},"logprobs":null,"finish_reason":"tool_)", "data: [DONE]"}) {
    at = answer.body.find(part, at);
    ASSERT_NE(at, std::string::npos) << part << " in " << answer.body;
  }
}

TEST(ChatTools, AreOfferedAsTheyWereDeclared) {
  Caller caller;
  std::string tools =
      tool("f", R"(,"description":"Does it.","strict":true,"parameters":{"type":"object",)"
                R"("properties":{"x":{"type":"integer"}}})") +
      "," + tool("web_search", R"(,"description":null,"strict":null,"parameters":null)");
  EXPECT_EQ(calls_of(caller.ask("[say hi]", with_tools(tools))), "hi");
  EXPECT_NE(caller.sent().find(
                R"("tools":[{"type":"function","function":{"name":"f","description":"Does it.",)"
                R"("parameters":{"type":"object","properties":{"x":{"type":"integer"}}},)"
                R"("strict":true}},{"type":"function","function":{"name":"web_search",)"
                R"("description":"","parameters":{"type":"object","properties":{}}}}])"),
            std::string::npos)
      << caller.sent();
  // A route has no tools of its own that could have the name, not even a question.
  EXPECT_EQ(calls_of(caller.ask("[ask Why?]", with_tools(tool("ask_user")))), "ask_user ");
  EXPECT_EQ(calls_of(caller.ask("[say hi]", R"(,"tools":null,"tool_choice":null)")), "hi");
}

TEST(ChatTools, StandBesideThePersonas) {
  TestUser user = register_user(tool_stack());
  Answer answer = ask_persona(user, "[echo-history]", with_tools(tool("f")));
  // Nobody serves the others here.
  EXPECT_NE(answer.body.find(R"(\"tools\":[\"f\"])"), std::string::npos) << answer.body;
}

TEST(ChatTools, AreChosenAsTheCallerWants) {
  for (const char* form : {"openai", "anthropic"}) {
    SCOPED_TRACE(form);
    Caller caller(form);
    bool is_openai = form == std::string_view("openai");
    auto ask = [&](std::string_view script, std::string_view wish) {
      return calls_of(caller.ask(script, with_tools(f_and_g(), wish)));
    };
    auto was_sent = [&](std::string_view openai, std::string_view anthropic) {
      std::string_view part = is_openai ? openai : anthropic;
      return caller.sent().find(part) != std::string::npos;
    };
    EXPECT_EQ(ask("[tool f]", R"(,"tool_choice":"required")"), "f ");
    EXPECT_TRUE(was_sent(R"("tool_choice":"required")", R"("tool_choice":{"type":"any"})"));
    EXPECT_EQ(ask("[tool g]", R"(,"tool_choice":{"type":"function","function":{"name":"g"}})"),
              "g ");
    EXPECT_TRUE(was_sent(R"("tool_choice":{"type":"function","function":{"name":"g"}})",
                         R"("tool_choice":{"type":"tool","name":"g"})"));
    EXPECT_EQ(ask("[say words][tool f]", R"(,"tool_choice":"none")"), "words")
        << "whatever the model does";
    EXPECT_TRUE(was_sent(R"("tool_choice":"none")", R"("tool_choice":{"type":"none"})"));
    EXPECT_EQ(ask("[tools f | g]", R"(,"tool_choice":"auto","parallel_tool_calls":true)"), "f g ");
    EXPECT_EQ(ask("[tools g | f]", R"(,"parallel_tool_calls":false)"), "g ");
    EXPECT_TRUE(was_sent(R"("parallel_tool_calls":false)",
                         R"("tool_choice":{"type":"auto","disable_parallel_tool_use":true})"));
  }
}

TEST(ChatTools, AreRequiredUntilOneWasCalled) {
  Caller caller;
  // The arguments do not fit: the model is to try again.
  std::string strict = tool("f", R"(,"parameters":{"type":"object","required":["x"]})");
  EXPECT_EQ(calls_of(caller.ask(R"([tool f][tool f {"x":1}])",
                                with_tools(strict, R"(,"tool_choice":"required")"))),
            "f ");
  EXPECT_NE(caller.sent().find(R"("tool_choice":"required")"), std::string::npos);
  EXPECT_NE(caller.sent().find("tool.args_invalid"), std::string::npos);
  // The persona's own counts, or there would be no answer.
  TestUser user = register_user(tool_stack());
  EXPECT_EQ(calls_of(ask_persona(user, R"([tool web_fetch {"url":"https://127.0.0.1/"}][say seen])",
                                 with_tools(tool("f"), R"(,"tool_choice":"required")"))),
            "seen");
}

TEST(ChatTools, AreRefusedByTheirMember) {
  TestUser user = register_user(tool_stack());
  struct Case {
    std::string members;
    std::string param;
    std::string code = "validation.error";
  };
  const Case cases[] = {
      {R"(,"tools":{})", "tools"},
      {with_tools("7"), "tools.0"},
      {with_tools("{}"), "tools.0.type"},
      {with_tools(R"({"type":"function"})"), "tools.0.function"},
      {with_tools(R"({"type":"function","function":{}})"), "tools.0.function.name"},
      {with_tools(tool("a b")), "tools.0.function.name"},
      {with_tools(tool(std::string(65, 'x'))), "tools.0.function.name"},
      {with_tools(tool("f") + "," + tool("g", R"(,"description":7)")),
       "tools.1.function.description"},
      {with_tools(tool("f", R"(,"strict":"yes")")), "tools.0.function.strict"},
      {with_tools(tool("f", R"(,"parameters":[])")), "tools.0.function.parameters"},
      {with_tools(tool("f", R"(,"parameters":{"type":"object","nothing":1})")),
       "tools.0.function.parameters"},
      {with_tools(R"({"type":"custom","custom":{"name":"f"}})"), "tools.0.type",
       "unsupported_parameter"},
      {with_tools(f_and_g() + "," + tool("f")), "tools.2.function.name", "tools.name_taken"},
      {with_tools(tool("web_search")), "tools.0.function.name", "tools.name_taken"},
      {with_tools(tool("f"), R"(,"tool_choice":"any")"), "tool_choice"},
      {with_tools(tool("f"), R"(,"tool_choice":7)"), "tool_choice"},
      {with_tools(tool("f"), R"(,"tool_choice":{"type":"function"})"), "tool_choice.function"},
      {with_tools(tool("f"), R"(,"tool_choice":{"type":"function","function":{"name":"g"}})"),
       "tool_choice.function.name"},
      {with_tools(tool("f"), R"(,"tool_choice":{"type":"allowed_tools"})"), "tool_choice.type",
       "unsupported_parameter"},
      {R"(,"tool_choice":"required")", "tool_choice"},
      {with_tools("", R"(,"tool_choice":"required")"), "tool_choice"},
      {R"(,"tool_choice":{"type":"function","function":{"name":"f"}})",
       "tool_choice.function.name"},
      {R"(,"parallel_tool_calls":"no")", "parallel_tool_calls"},
  };
  for (const Case& one : cases) {
    Answer answer = ask_persona(user, "a", one.members);
    EXPECT_TRUE(is_problem(answer, 400, one.code)) << one.members;
    EXPECT_EQ(param_of(answer), one.param) << one.members << answer.body;
  }
  std::string many = tool("f0");
  for (int i = 1; i < 65; ++i) many += "," + tool(fmt::format("f{}", i));
  EXPECT_EQ(param_of(ask_persona(user, "a", with_tools(many))), "tools");
  std::string large = fmt::format(R"(,"description":"{}")", std::string(262'144, 'x'));
  EXPECT_EQ(param_of(ask_persona(user, "a", with_tools(tool("f", large)))), "tools");
  EXPECT_EQ(user.client.get("/v1/runs").body, "[]");
}

// Only the statement knows the persona's webhook tools.
TEST(ChatTools, HaveOtherNamesThanThePersonasTools) {
  TestUser user = register_user(tool_stack());
  user.client.post("/v1/tools?scope=org",
                   R"({"name":"weather","description":"d","parameters":{"type":"object"},)"
                   R"("url":"https://93.184.216.34/tool"})");
  user.client.post("/v1/personas?scope=org",
                   R"({"persona_key":"guide","version":"1","tools":["weather"]})");
  Answer answer =
      user.client.post(chats, R"({"model":"guide","messages":[{"role":"user","content":"a"}])" +
                                  with_tools(tool("weather")) + "}");
  EXPECT_TRUE(is_problem(answer, 400, "tools.name_taken"));
}

// A text that does not fit the format is not an answer, and neither are calls.
TEST(ChatTools, NeedNotFitAFormat) {
  Caller caller;
  constexpr const char* format =
      R"(,"response_format":{"type":"json_schema","json_schema":{"name":"w","schema":)"
      R"({"type":"object","required":["c"]}}})";
  EXPECT_EQ(calls_of(caller.ask("[tool f]", with_tools(tool("f"), format))), "f ");
  EXPECT_EQ(calls_of(caller.ask(R"([answer {"c":1}])", with_tools(tool("f"), format))),
            R"({"c":1})");
}

// They were paid for, and no turn of this run has to follow.
TEST(ChatTools, AreLeftWhenTheyTookTheLastCredits) {
  Caller caller("openai", R"(,"input_usd_per_mtok":1000)");
  sql_value(tool_stack(),
            fmt::format("SELECT credit_post('{0}', 500 - balance, 'admin_adjustment') FROM "
                        "credit_accounts WHERE org_id = '{0}'",
                        caller.user.org_id));
  Answer answer = caller.ask("[usage in=510 out=1][tool f]", with_tools(tool("f")));
  EXPECT_EQ(calls_of(answer), "f ");
  Answer next = caller.ask("[say no]", "");
  EXPECT_TRUE(is_problem(next, 429, "insufficient_quota"));
}

TEST(ChatTools, MayAnswerMoreCallsThanAreLookedUp) {
  Caller caller;
  std::string messages = R"({"role":"user","content":"[say many]"})";
  for (int i = 0; i < 250; ++i) {
    messages += fmt::format(
        R"(,{{"role":"assistant","tool_calls":[{{"id":"c{0}","type":"function","function":)"
        R"({{"name":"f","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"c{0}",)"
        R"("content":"r{0}"}})",
        i);
  }
  messages += R"(,{"role":"user","content":"[say many]"})";
  Answer answer = caller.user.client.post(
      chats, fmt::format(R"({{"model":"route:{}","messages":[{}]{}}})", caller.route.route_id,
                         messages, with_tools(tool("f"))));
  EXPECT_EQ(calls_of(answer), "many");
  EXPECT_NE(caller.sent().find(R"("content":"r0","tool_call_id":"c0")"), std::string::npos);
}

}  // namespace
}  // namespace hostler::testing_support
