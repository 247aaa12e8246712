// POST /v1/openai/responses through nginx, pool and relay: answers, streamed, whole and in the
// background, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr const char* route = "/v1/openai/responses";

ApiStack& stack() { return runner_stack(); }

std::string asking(std::string_view script, std::string_view further = "") {
  return fmt::format(R"({{"model":"normal@1","input":{}{}}})", json_quote(script), further);
}

std::string output_text(const Json& response) {
  std::string text;
  for (const Json& item : *response.find("output")->as_array()) {
    if (item.text_or("type") != "message") continue;
    for (const Json& part : *item.find("content")->as_array()) text += part.text_or("text");
  }
  return text;
}
std::string param_of(const Answer& answer) {
  Json body = answer.json();
  const Json* error = body.find("error");
  return error == nullptr ? "no error" : std::string(error->text_or("param"));
}
std::string text_of(const Answer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  return answer.status == 200 ? output_text(answer.json()) : "";
}

// The objects of a stream's events.
std::vector<Json> events_in(const Answer& answer) {
  std::vector<Json> events;
  EXPECT_EQ(answer.header("content-type"), "text/event-stream") << answer.body;
  EXPECT_TRUE(answer.body.ends_with("data: [DONE]\n\n")) << answer.body;
  size_t at = 0;
  while ((at = answer.body.find("data: {", at)) != std::string::npos) {
    size_t end = answer.body.find('\n', at);
    events.push_back(
        parse_json_or_nothing(answer.body.substr(at + 6, end - at - 6)).value_or(Json()));
    at = end;
  }
  return events;
}

TEST(CreateResponse, AnswersWholeWithWhatItTook) {
  TestUser user = register_user(stack());
  Answer answer =
      user.client.post(route, asking("[say hello there]", R"(,"user":"u-1","metadata":{"a":"b"})"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  Json body = answer.json();
  std::string run_id = answer.header("x-hostler-run");
  EXPECT_EQ(body.text_or("id"), "resp_" + run_id);
  EXPECT_EQ(body.text_or("status"), "completed");
  EXPECT_EQ(body.text_or("model"), "normal@1");
  EXPECT_EQ(output_text(body), "hello there");
  EXPECT_GT(body.find("usage")->integer_or("output_tokens", 0), 0);
  EXPECT_EQ(answer.header("x-request-id"), answer.header("x-trace-id"));
  // The run is one like others, and so is its thread.
  Json run = user.client.get("/v1/runs/" + run_id).json();
  EXPECT_EQ(run.text_or("status"), "completed");
  EXPECT_EQ(run.text_or("end_user"), "u-1");
  std::string thread_id(run.text_or("thread_id"));
  EXPECT_EQ(body.find("conversation")->text_or("id"), "conv_" + thread_id);
  Json messages = user.client.get(fmt::format("/v1/threads/{}/messages", thread_id)).json();
  std::vector<std::string> contents;
  for (const Json& message : *messages.as_array()) {
    contents.emplace_back(message.text_or("content"));
    EXPECT_EQ(message.text_or("run_id"), run_id);
  }
  std::sort(contents.begin(), contents.end());
  EXPECT_EQ(contents, (std::vector<std::string>{"[say hello there]", "hello there"}));
}

TEST(CreateResponse, StreamsNumberedEvents) {
  TestUser user = register_user(stack());
  Answer answer = user.client.post(std::string("/v1/openai/v1/responses"),
                                   asking("[say hello there]", R"(,"stream":true)"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  std::vector<Json> events = events_in(answer);
  ASSERT_GE(events.size(), 8u);
  EXPECT_EQ(events.front().text_or("type"), "response.created");
  EXPECT_EQ(events.back().text_or("type"), "response.completed");
  EXPECT_EQ(output_text(*events.back().find("response")), "hello there");
  std::string text;
  int64_t last = 0;
  for (const Json& event : events) {
    EXPECT_GT(event.integer_or("sequence_number", 0), last);
    last = event.integer_or("sequence_number", 0);
    if (event.text_or("type") == "response.output_text.delta") text += event.text_or("delta");
  }
  EXPECT_EQ(text, "hello there");
}

TEST(CreateResponse, OfABareModelIsRetriedWithoutAPersona) {
  TestUser user = register_user(stack());
  Json models = user.client.get("/v1/models").json();
  Answer answer =
      user.client.post(route, fmt::format(R"({{"model":"route:{}","input":"[echo-history]"}})",
                                          models.as_array()->front().text_or("route_id")));
  ASSERT_EQ(answer.status, 200) << answer.body;
  std::string thread_id =
      user.client.get("/v1/runs/" + answer.header("x-hostler-run")).member("thread_id");
  Answer retried = user.client.post(fmt::format("/v1/threads/{}:retry", thread_id));
  ASSERT_EQ(retried.status, 201) << retried.body;
  wait_for_status(user.client, retried.member("run_id"), "completed");
  std::string messages = user.client.get(fmt::format("/v1/threads/{}/messages", thread_id)).body;
  EXPECT_NE(messages.find("tools"), messages.npos) << messages;
  for (const char* of_persona : {"system", "web_search"}) {
    EXPECT_EQ(messages.find(of_persona), messages.npos) << messages;
  }
}

TEST(CreateResponse, TellsTheInstructionsToThisModelAlone) {
  TestUser user = register_user(stack());
  Answer first =
      user.client.post(route, asking("[echo-history]", R"(,"instructions":"Speak as a pirate.")"));
  EXPECT_NE(text_of(first).find("Speak as a pirate."), std::string::npos);
  EXPECT_EQ(first.json().text_or("instructions"), "Speak as a pirate.");
  std::string previous = fmt::format(R"(,"previous_response_id":"{}")", first.member("id"));
  // The first answer's text is in the history; it is no part of the system's text.
  std::string second = text_of(user.client.post(route, asking("[echo-history]", previous)));
  std::optional<Json> echoed = parse_json_or_nothing(second);
  ASSERT_TRUE(echoed) << second;
  const Json& system = echoed->find("messages")->as_array()->front();
  EXPECT_EQ(system.text_or("role"), "system");
  EXPECT_EQ(system.text_or("content").find("pirate"), std::string_view::npos);
}

TEST(CreateResponse, FitsItsFormat) {
  TestUser user = register_user(stack());
  constexpr const char* format = R"(,"text":{"format":{"type":"json_schema","name":"w","schema":)"
                                 R"({"type":"object","required":["c"]}}})";
  constexpr const char* script = R"([answer {"d":1}][answer {"c":1}])";
  EXPECT_EQ(text_of(user.client.post(route, asking(script, format))), R"({"c":1})");
  Answer streamed =
      user.client.post(route, asking(script, format + std::string(R"(,"stream":true)")));
  EXPECT_EQ(streamed.body.find(R"(\"d\")"), std::string::npos) << "what did not fit was sent";
  EXPECT_EQ(output_text(*events_in(streamed).back().find("response")), R"({"c":1})");
  // An empty schema allows JSON of any kind; a schema without its name is a mistake.
  constexpr const char* any = R"(,"text":{"format":{"type":"json_schema"}})";
  EXPECT_EQ(text_of(user.client.post(route, asking("[answer no][answer {}]", any))), "{}");
  constexpr const char* nameless = R"(,"text":{"format":{"type":"json_schema","schema":{}}})";
  EXPECT_TRUE(is_problem(user.client.post(route, asking("a", nameless)), 400, "validation.error"));
}

TEST(CreateResponse, FitsTheFormatOfItsPersonaToo) {
  TestUser user = register_user(stack());
  Answer made = user.client.post(
      "/v1/personas?scope=org",
      R"({"persona_key":"strict","version":"1","tools":[],"response_format":)"
      R"({"type":"json_schema","name":"w","schema":{"type":"object","required":["c"]}}})");
  ASSERT_EQ(made.status, 201) << made.body;
  for (const char* further : {"", R"(,"stream":true)"}) {
    Answer answer = user.client.post(
        route, fmt::format(R"({{"model":"strict@1","input":"[answer {{\"d\":1}}]{}"{}}})",
                           R"([answer {\"c\":1}])", further));
    Json whole = *further == 0 ? answer.json() : *events_in(answer).back().find("response");
    EXPECT_EQ(output_text(whole), R"({"c":1})");
    EXPECT_EQ(answer.body.find(R"(\"d\")"), std::string::npos) << "what did not fit was sent";
    std::string shown = "/v1/openai/responses/" + std::string(whole.text_or("id"));
    EXPECT_EQ(user.client.get(shown).json().dump(), whole.dump());
    Answer followed = user.client.get(shown + "?stream=true");
    EXPECT_EQ(followed.body.find(R"(\"d\")"), std::string::npos) << followed.body;
  }
}

TEST(CreateResponse, IsIncompleteWhenItsModelWasStopped) {
  TestUser user = register_user(stack());
  Answer answer = user.client.post(route, asking("[say some words][finish length]"));
  EXPECT_EQ(text_of(answer), "some words");
  Json response = answer.json();
  EXPECT_EQ(response.text_or("status"), "incomplete");
  EXPECT_EQ(response.find("incomplete_details")->dump(), R"({"reason":"max_output_tokens"})");
  Answer shown = user.client.get("/v1/openai/responses/" + std::string(response.text_or("id")));
  EXPECT_EQ(shown.json().dump(), response.dump());
}

TEST(CreateResponse, IsRepeatedUnderItsKey) {
  TestUser user = register_user(stack());
  for (const char* further : {"", R"(,"background":true)"}) {
    Call call{"POST",
              route,
              asking("[say once]", further),
              "application/json",
              {{"Idempotency-Key", new_name("key")}}};
    Answer first = user.client.send(call);
    Answer second = user.client.send(call);
    EXPECT_EQ(first.member("id"), second.member("id"));
    EXPECT_EQ(second.header("idempotency-replayed"), "true");
  }
}

TEST(CreateResponse, LeavesNothingToShowWhenItIsNotStored) {
  TestUser user = register_user(stack());
  Answer answer = user.client.post(route, asking("[say gone]", R"(,"store":false)"));
  EXPECT_EQ(text_of(answer), "gone");
  EXPECT_EQ(answer.json().find("conversation"), nullptr);
  std::string path = std::string(route) + "/" + answer.member("id");
  for (const char* further : {"", "?stream=true", "/input_items"}) {
    EXPECT_TRUE(is_problem(user.client.get(path + further), 404, "runs.not_found")) << further;
  }
  EXPECT_TRUE(is_problem(user.client.post(path + "/cancel"), 404, "runs.not_found"));
  EXPECT_TRUE(is_problem(user.client.del(path), 404, "runs.not_found"));
  EXPECT_EQ(user.client.get("/v1/threads").body, "[]");
  std::string previous = fmt::format(R"(,"previous_response_id":"{}")", answer.member("id"));
  EXPECT_TRUE(is_problem(user.client.post(route, asking("a", previous)), 404, "runs.not_found"));
}

TEST(CreateResponse, TellsWhatItCannotHonourByName) {
  TestUser user = register_user(stack());
  struct Case {
    const char* member;
    const char* param;
  };
  for (const Case& each :
       {Case{R"("prompt":{"id":"p"})", "prompt"},
        Case{R"("top_logprobs":2)", "top_logprobs"},
        Case{R"("include":["message.output_text.logprobs"])", "include"},
        Case{R"("reasoning":{"effort":"low"})", "reasoning.effort"},
        Case{R"("text":{"verbosity":"high"})", "text.verbosity"},
        Case{R"("max_tool_calls":1)", "max_tool_calls"},
        Case{R"("context_management":[{"type":"compaction"}])", "context_management"},
        Case{R"("tools":[{"type":"web_search"}])", "tools.0.type"},
        Case{R"("response_format":{"type":"json_object"})", "response_format"},
        Case{R"("n":2)", "n"},
        Case{R"("logprobs":true)", "logprobs"},
        Case{R"("stop":"x")", "stop"},
        Case{R"("seed":7)", "seed"},
        Case{R"("max_tokens":9)", "max_tokens"},
        Case{R"("max_completion_tokens":9)", "max_completion_tokens"},
        Case{R"("reasoning_effort":"low")", "reasoning_effort"},
        Case{R"("verbosity":"low")", "verbosity"},
        Case{R"("logit_bias":{"1":2})", "logit_bias"},
        Case{R"("modalities":["text","audio"])", "modalities"},
        Case{R"("messages":[{"role":"user","content":"a"}])", "messages"},
        Case{R"("functions":[{"name":"f"}])", "functions"},
        Case{R"("top_k":1)", "top_k"},
        Case{R"("prediction":{"type":"content","content":"a"})", "prediction"}}) {
    Answer answer = user.client.post(route, asking("a", fmt::format(",{}", each.member)));
    EXPECT_TRUE(is_problem(answer, 400, "unsupported_parameter")) << each.member;
    Json body = answer.json();
    EXPECT_EQ(body.find("error")->text_or("param"), each.param);
  }
  for (const char* item :
       {R"({"type":"item_reference","id":"msg_1"})", R"({"type":"computer_call","call_id":"c"})",
        R"({"role":"user","content":[{"type":"input_image","image_url":"data:"}]})"}) {
    std::string body = fmt::format(R"({{"model":"normal","input":[{}]}})", item);
    EXPECT_TRUE(is_problem(user.client.post(route, body), 400, "unsupported_parameter")) << item;
  }
  Answer reference = user.client.post(
      route, R"({"model":"normal","input":[{"type":"item_reference","id":"msg_1"}]})");
  EXPECT_NE(reference.body.find("send the item itself"), std::string::npos) << reference.body;
  // Members that ask for nothing, and unknown ones, are accepted.
  constexpr const char* harmless =
      R"(,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"},"tools":[],)"
      R"("tool_choice":"auto","truncation":"auto","service_tier":"auto","top_logprobs":0,)"
      R"("text":{"format":{"type":"text"},"verbosity":"medium"},"prompt_cache_key":"k",)"
      R"("safety_identifier":"s","max_output_tokens":100,"top_p":0.5,"nobody":{"knows":1},)"
      R"("response_format":null,"n":1,"logprobs":false,"stop":null,"seed":null,"max_tokens":null,)"
      R"("max_completion_tokens":null,"reasoning_effort":null,"verbosity":"medium",)"
      R"("logit_bias":{},"modalities":["text"])";
  Answer taken = user.client.post(route, asking("[say taken]", harmless));
  EXPECT_EQ(text_of(taken), "taken");
  EXPECT_EQ(taken.member("service_tier"), "default") << "there is one";
  for (const char* truncation : {"", R"(,"truncation":"disabled")"}) {
    Answer cut = user.client.post(route, asking("[say taken]", truncation));
    EXPECT_EQ(cut.member("truncation"), "auto") << "what is too long is cut";
  }
  Answer other = user.client.post(route, asking("a", R"(,"max_tokens":9)"));
  EXPECT_NE(other.body.find("max_output_tokens"), std::string::npos) << other.body;
}

TEST(CreateResponse, RefusesWhatIsNone) {
  TestUser user = register_user(stack());
  for (const char* body :
       {R"({"input":"a"})", R"({"model":"normal"})", R"({"model":"normal","input":[]})",
        R"({"model":"normal","input":7})", R"({"model":"normal","input":[{"role":"who"}]})",
        R"({"model":"normal","input":[{"role":"user"}]})",
        R"({"model":"normal","input":[{"type":"function_call","call_id":"c"}]})",
        R"({"model":"normal","input":[{"type":"function_call_output","call_id":"c"}]})",
        R"({"model":"normal","input":"a","temperature":3})",
        R"({"model":"normal","input":"a","max_output_tokens":0})",
        R"({"model":"normal","input":"a","background":true,"store":false})",
        R"({"model":"normal","input":"a","conversation":"conv_x","store":false})",
        R"({"model":"normal","input":"a","conversation":"c","previous_response_id":"r"})",
        R"({"model":"normal","input":"a","truncation":"perhaps"})",
        R"({"model":"normal","input":[)"
        R"({"type":"function_call_output","call_id":"c","output":"1"}]})"}) {
    EXPECT_TRUE(is_problem(user.client.post(route, body), 400, "validation.error")) << body;
  }
  EXPECT_TRUE(is_problem(user.client.post(route, "{"), 400, "http.bad_json"));
  EXPECT_TRUE(is_problem(user.client.send({"POST", route, "a", "text/plain", {}}), 415,
                         "http.unsupported_media_type"));
  EXPECT_TRUE(is_problem(user.client.post(route, asking(std::string(1 << 20, 'a'))), 413,
                         "http.request_too_large"));
  EXPECT_TRUE(is_problem(stack().client().post(route, asking("a")), 401, "auth.missing_token"));
  for (const char* model : {"nobody", "normal@9", "route:x", "a b"}) {
    std::string body = fmt::format(R"({{"model":"{}","input":"a"}})", model);
    EXPECT_TRUE(is_problem(user.client.post(route, body), 404, "model_not_found")) << model;
  }
  for (const char* id : {"resp_x", "x", "resp_01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"}) {
    std::string previous = fmt::format(R"(,"previous_response_id":"{}")", id);
    Answer answer = user.client.post(route, asking("a", previous));
    EXPECT_TRUE(is_problem(answer, 404, "runs.not_found"));
    EXPECT_EQ(param_of(answer), "previous_response_id");
    EXPECT_NE(answer.body.find("response does not exist"), std::string::npos) << answer.body;
  }
  for (const char* id : {"conv_x", "x", "conv_01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"}) {
    std::string conversation = fmt::format(R"(,"conversation":{{"id":"{}"}})", id);
    Answer answer = user.client.post(route, asking("a", conversation));
    EXPECT_TRUE(is_problem(answer, 404, "threads.not_found"));
    EXPECT_EQ(param_of(answer), "conversation");
    EXPECT_NE(answer.body.find("conversation does not exist"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(user.client.get("/v1/runs").body, "[]");
}

TEST(CreateResponse, NeedsLeaveToReadWhatItWrites) {
  TestUser user = register_user(stack());
  std::string key = make_api_key(stack(), user, user.org_id, "data.runs.write");
  Client client = stack().client().with_token(key);
  EXPECT_TRUE(is_problem(client.post(route, asking("a")), 403, "auth.forbidden"));
  EXPECT_EQ(user.client.get("/v1/runs").body, "[]");
  std::string both = make_api_key(stack(), user, user.org_id, "data.runs.write,data.runs.read");
  EXPECT_EQ(text_of(stack().client().with_token(both).post(route, asking("[say yes]"))), "yes");
}

TEST(CreateResponse, SaysWhyItsRunFailed) {
  TestUser user = register_user(stack());
  constexpr const char* script = "[status 400]";
  Answer whole = user.client.post(route, asking(script));
  EXPECT_EQ(whole.status, 502) << whole.body;
  EXPECT_EQ(whole.header("x-should-retry"), "false");
  EXPECT_EQ(whole.json().find("error")->text_or("code"), "model.rejected");
  Answer streamed = user.client.post(route, asking(script, R"(,"stream":true)"));
  EXPECT_EQ(streamed.status, 200);
  std::vector<Json> events = events_in(streamed);
  EXPECT_EQ(events.back().text_or("type"), "response.failed");
  std::string run_id = whole.header("x-hostler-run");
  Answer stored = user.client.get(fmt::format("{}/resp_{}", route, run_id));
  EXPECT_EQ(stored.status, 200) << stored.body;
  EXPECT_EQ(stored.member("status"), "failed");
}

TEST(CreateResponse, AsksNobody) {
  TestUser user = register_user(stack());
  Answer answer = user.client.post(route, asking("[ask what] [say went on]"));
  EXPECT_EQ(text_of(answer), "went on");
}

TEST(CreateResponse, IsRefusedWithoutCreditsAndBesideTooMany) {
  TestConversation conversation = make_conversation(ApiStack::shared());
  const Client& client = conversation.user.client;
  constexpr const char* body = R"({"model":"normal","input":"a","background":true})";
  std::string model = fmt::format("/v1/llm-providers/{}/models/{}?scope=org",
                                  conversation.model.provider_id, conversation.model.model_id);
  ASSERT_EQ(client.patch(model, R"({"input_usd_per_mtok":1})").status, 200);
  TestUser admin = register_admin(ApiStack::shared());
  auto adjust = [&](int amount) {
    std::string wanted = fmt::format(R"({{"org_id":"{}","amount":{},"note":"test"}})",
                                     conversation.user.org_id, amount);
    EXPECT_EQ(admin.client.post("/v1/admin/credits/adjust", wanted).status, 200);
  };
  adjust(-995);
  Answer poor = client.post(route, body);
  EXPECT_TRUE(is_problem(poor, 429, "insufficient_quota"));
  EXPECT_EQ(poor.header("x-should-retry"), "false");
  EXPECT_EQ(client.get("/v1/threads/" + conversation.thread_id).status, 200);
  EXPECT_EQ(client.get("/v1/threads").json().as_array()->size(), 1u) << "no half of a response";
  adjust(995);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(client.post(route, body).status, 200);
  EXPECT_TRUE(is_problem(client.post(route, body), 429, "runs.limit_exceeded"));
}

}  // namespace
}  // namespace hostler::testing_support
