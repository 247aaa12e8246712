// POST /v1/openai/chat/completions through nginx, pool and relay: answers, streamed and whole, and
// what is refused.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/rigs/model_route.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr const char* route = "/v1/openai/chat/completions";

ApiStack& chat_stack() {
  static ApiStack shared({{}, true});
  static const bool has_model = [] {
    add_fake_model(shared);
    return true;
  }();
  static_cast<void>(has_model);
  return shared;
}

std::string asking(std::string_view script, std::string_view further = "") {
  return fmt::format(R"({{"model":"normal@1","messages":[{{"role":"user","content":{}}}]{}}})",
                     json_quote(script), further);
}

const Json& choice_of(const Json& answer) { return answer.find("choices")->as_array()->at(0); }

std::string text_of(const Answer& answer) {
  Json body = answer.json();
  EXPECT_EQ(answer.status, 200) << answer.body;
  return answer.status == 200 ? std::string(choice_of(body).find("message")->text_or("content"))
                              : "";
}

// The objects of a stream, without what ends it.
std::vector<Json> chunks_of(const Answer& answer) {
  std::vector<Json> chunks;
  EXPECT_EQ(answer.header("content-type"), "text/event-stream") << answer.body;
  EXPECT_TRUE(answer.body.ends_with("data: [DONE]\n\n")) << answer.body;
  size_t at = 0;
  while ((at = answer.body.find("data: {", at)) != std::string::npos) {
    size_t end = answer.body.find('\n', at);
    chunks.push_back(
        parse_json_or_nothing(answer.body.substr(at + 6, end - at - 6)).value_or(Json()));
    at = end;
  }
  return chunks;
}

std::string joined(const std::vector<Json>& chunks) {
  std::string text;
  for (const Json& chunk : chunks) {
    if (chunk.find("choices")->as_array()->empty()) continue;
    text += choice_of(chunk).find("delta")->text_or("content");
  }
  return text;
}

TEST(ChatCompletions, AnswerWholeWithWhatItTook) {
  TestUser user = register_user(chat_stack());
  Answer answer = user.client.post(route, asking("[say hello there]"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  Json body = answer.json();
  std::string run_id = answer.header("x-hostler-run");
  EXPECT_EQ(body.text_or("id"), "chatcmpl-" + run_id);
  EXPECT_EQ(body.text_or("object"), "chat.completion");
  EXPECT_EQ(body.text_or("model"), "normal@1");
  EXPECT_EQ(text_of(answer), "hello there");
  EXPECT_EQ(choice_of(body).text_or("finish_reason"), "stop");
  const Json& usage = *body.find("usage");
  EXPECT_GT(usage.integer_or("prompt_tokens", 0), 0);
  EXPECT_EQ(usage.integer_or("total_tokens", 0),
            usage.integer_or("prompt_tokens", 0) + usage.integer_or("completion_tokens", 0));
  EXPECT_EQ(answer.header("x-request-id"), answer.header("x-trace-id"));
  // The run is one like others, its thread nobody's.
  Json run = user.client.get("/v1/runs/" + run_id).json();
  EXPECT_EQ(run.text_or("status"), "completed");
  EXPECT_EQ(user.client.get(fmt::format("/v1/threads/{}", run.text_or("thread_id"))).status, 404);
  EXPECT_EQ(user.client.get("/v1/threads").body, "[]");
}

TEST(ChatCompletions, AreStreamedAsChunks) {
  TestUser user = register_user(chat_stack());
  Answer answer = user.client.post(
      std::string("/v1/openai/v1/chat/completions"),
      asking("[say hello there]", R"(,"stream":true,"stream_options":{"include_usage":true})"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  std::vector<Json> chunks = chunks_of(answer);
  ASSERT_GE(chunks.size(), 4u);
  EXPECT_EQ(joined(chunks), "hello there");
  EXPECT_EQ(choice_of(chunks.front()).find("delta")->text_or("role"), "assistant");
  EXPECT_EQ(choice_of(chunks.at(chunks.size() - 2)).text_or("finish_reason"), "stop");
  EXPECT_GT(chunks.back().find("usage")->integer_or("completion_tokens", 0), 0);
}

TEST(ChatCompletions, CallARouteWhatTheirClientDid) {
  TestUser user = register_user(chat_stack());
  TestUser admin = register_admin(chat_stack());
  std::string model = "route:" + make_route(chat_stack(), admin, "openai").route_id;
  auto asked = [&](std::string_view further) {
    return user.client.post(route, fmt::format(R"({{"model":"{}","messages":[{{"role":"user",)"
                                               R"("content":"[say hi]"}}]{}}})",
                                               model, further));
  };
  Answer whole = asked("");
  EXPECT_EQ(text_of(whole), "hi");
  EXPECT_EQ(whole.member("model"), model);
  for (const Json& chunk : chunks_of(asked(R"(,"stream":true)"))) {
    EXPECT_EQ(chunk.text_or("model"), model);
  }
}

TEST(ChatCompletions, FitTheirFormat) {
  TestUser user = register_user(chat_stack());
  constexpr const char* format =
      R"(,"response_format":{"type":"json_schema","json_schema":{"name":"w","schema":)"
      R"({"type":"object","required":["c"]}}})";
  constexpr const char* script = R"([answer {"c":1}])";
  EXPECT_EQ(text_of(user.client.post(route, asking(script, format))), R"({"c":1})");
  Answer streamed =
      user.client.post(route, asking(script, format + std::string(R"(,"stream":true)")));
  EXPECT_EQ(joined(chunks_of(streamed)), R"({"c":1})");
}

// Its key's own: what it wants of every answer.
void make_strict_persona(const TestUser& user) {
  Answer made = user.client.post(
      "/v1/personas?scope=org",
      R"({"persona_key":"strict","version":"1","tools":["web_search"],"response_format":)"
      R"({"type":"json_schema","name":"w","schema":{"type":"object","required":["c"]}}})");
  ASSERT_EQ(made.status, 201) << made.body;
}
std::string asking_strict(std::string_view script, std::string_view further) {
  return fmt::format(R"({{"model":"strict@1","messages":[{{"role":"user","content":{}}}]{}}})",
                     json_quote(script), further);
}

TEST(ChatCompletions, FitTheFormatOfTheirPersonaToo) {
  TestUser user = register_user(chat_stack());
  make_strict_persona(user);
  constexpr const char* script =
      R"([say Let me see.][tool web_search {"query":"x"}][answer {"d":1}][answer {"c":1}])";
  EXPECT_EQ(text_of(user.client.post(route, asking_strict(script, ""))), R"({"c":1})");
  Answer streamed = user.client.post(route, asking_strict(script, R"(,"stream":true)"));
  EXPECT_EQ(joined(chunks_of(streamed)), R"({"c":1})");
  // No other text is allowed beside calls.
  for (const char* further : {"", R"(,"stream":true)"}) {
    constexpr const char* tools =
        R"(,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])";
    Answer calls = user.client.post(
        route, asking_strict("[say unchecked][tool f]", tools + std::string(further)));
    EXPECT_EQ(calls.status, 200) << calls.body;
    EXPECT_NE(calls.body.find(R"("finish_reason":"tool_calls")"), std::string::npos) << calls.body;
    EXPECT_EQ(calls.body.find("unchecked"), std::string::npos) << calls.body;
  }
}

TEST(ChatCompletions, SayThatTheModelWasStopped) {
  TestUser user = register_user(chat_stack());
  for (const char* reason : {"length", "content_filter"}) {
    Answer answer =
        user.client.post(route, asking(fmt::format("[say some words][finish {}]", reason)));
    EXPECT_EQ(text_of(answer), "some words");
    EXPECT_EQ(choice_of(answer.json()).text_or("finish_reason"), reason);
    RunStory story = story_of(user.client, answer.header("x-hostler-run"));
    EXPECT_EQ(story.only("output.cut").dump(), fmt::format(R"({{"finish_reason":"{}"}})", reason));
    EXPECT_EQ(story.only("run.completed").dump(), "{}");
  }
  Answer whole = user.client.post(route, asking("[say some words]"));
  RunStory story = story_of(user.client, whole.header("x-hostler-run"));
  EXPECT_EQ(story.all("output.cut").size(), 0);
}

// A checked text, and calls that fit, are whole, whatever the provider reports.
TEST(ChatCompletions, OfWhatWasCheckedAreWhole) {
  TestUser user = register_user(chat_stack());
  make_strict_persona(user);
  Answer fits = user.client.post(route, asking_strict(R"([say {"c":1}][finish length])", ""));
  EXPECT_EQ(choice_of(fits.json()).text_or("finish_reason"), "stop");
  EXPECT_EQ(story_of(user.client, fits.header("x-hostler-run")).only("run.completed").dump(), "{}");
}

TEST(ChatCompletions, AreRepeatedUnderTheirKey) {
  TestUser user = register_user(chat_stack());
  Call call{
      "POST", route, asking("[say once]"), "application/json", {{"Idempotency-Key", "chat-1"}}};
  Answer first = user.client.send(call);
  Answer second = user.client.send(call);
  EXPECT_EQ(text_of(first), "once");
  EXPECT_EQ(text_of(second), "once");
  EXPECT_EQ(first.header("x-hostler-run"), second.header("x-hostler-run"));
  EXPECT_EQ(second.header("idempotency-replayed"), "true");
}

TEST(ChatCompletions, TellWhatTheyCannotHonourByName) {
  TestUser user = register_user(chat_stack());
  for (const char* member : {R"("n":2)",
                             R"("logprobs":true)",
                             R"("functions":[{"name":"f"}])",
                             R"("logit_bias":{"1":2})",
                             R"("modalities":["audio"])",
                             R"("function_call":{"name":"f"})",
                             R"("best_of":2)",
                             R"("top_k":1)",
                             R"("min_p":0.5)",
                             R"("repetition_penalty":1.5)",
                             R"("instructions":"Rhyme.")",
                             R"("text":{"verbosity":"low"})",
                             R"("max_output_tokens":9)",
                             R"("previous_response_id":"resp_x")",
                             R"("reasoning":{"effort":"low"})",
                             R"("conversation":"conv_x")",
                             R"("background":true)",
                             R"("prompt":{"id":"p"})",
                             R"("input":"a")",
                             R"("max_tool_calls":1)"}) {
    Answer answer = user.client.post(route, asking("a", fmt::format(",{}", member)));
    EXPECT_TRUE(is_problem(answer, 400, "unsupported_parameter")) << member;
    Json body = answer.json();
    EXPECT_TRUE(std::string(member).starts_with(
        fmt::format("\"{}\"", body.find("error")->text_or("param"))))
        << answer.body;
  }
  Answer other = user.client.post(route, asking("a", R"(,"max_output_tokens":9)"));
  EXPECT_NE(other.body.find("max_completion_tokens"), std::string::npos) << other.body;
  Answer many = user.client.post(route, asking("a", R"(,"n":2)"));
  EXPECT_NE(many.body.find("must be 1"), std::string::npos) << many.body;
  Answer image = user.client.post(
      route, R"({"model":"normal","messages":[{"role":"user","content":[{"type":"image_url"}]}]})");
  EXPECT_TRUE(is_problem(image, 400, "unsupported_parameter"));
  // Members that ask for nothing, and unknown ones, are accepted.
  constexpr const char* harmless =
      R"(,"n":1,"logprobs":false,"tools":[],"tool_choice":"auto","seed":7,"stop":["x"],)"
      R"("temperature":0.5,"user":"u-1","metadata":null,"parallel_tool_calls":true,)"
      R"("background":false,"conversation":null)";
  EXPECT_EQ(text_of(user.client.post(route, asking("[say taken]", harmless))), "taken");
}

TEST(ChatCompletions, RefuseWhatIsNoConversation) {
  TestUser user = register_user(chat_stack());
  for (const char* body :
       {R"({"messages":[{"role":"user","content":"a"}]})", R"({"model":"normal"})",
        R"({"model":"normal","messages":[]})", R"({"model":"normal","messages":[{"role":"user"}]})",
        R"({"model":"normal","messages":[{"role":"who","content":"a"}]})",
        R"({"model":"normal","messages":[{"role":"tool","content":"a"}]})",
        R"({"model":"normal","messages":[{"role":"user","content":"a"}],"temperature":3})",
        R"({"model":"normal","messages":[{"role":"user","content":"a"}],"stop":[""]})",
        R"({"model":"normal","messages":[{"role":"user","content":"a"}],"stream_options":{}})"}) {
    EXPECT_TRUE(is_problem(user.client.post(route, body), 400, "validation.error")) << body;
  }
  Answer word = user.client.post(route, R"({"model":"normal","messages":["a"]})");
  EXPECT_EQ(word.json().find("error")->text_or("message"), "messages.0: must be an object");
  EXPECT_TRUE(is_problem(user.client.post(route, "{"), 400, "http.bad_json"));
  EXPECT_TRUE(is_problem(user.client.send({"POST", route, "a", "text/plain", {}}), 415,
                         "http.unsupported_media_type"));
  EXPECT_TRUE(
      is_problem(chat_stack().client().post(route, asking("a")), 401, "auth.missing_token"));
  for (const char* model : {"nobody", "normal@9", "route:x", "a b"}) {
    std::string body =
        fmt::format(R"({{"model":"{}","messages":[{{"role":"user","content":"a"}}]}})", model);
    EXPECT_TRUE(is_problem(user.client.post(route, body), 404, "model_not_found")) << model;
  }
}

TEST(ChatCompletions, NeedLeaveToReadWhatTheyWrite) {
  TestUser user = register_user(chat_stack());
  Answer made = user.client.post("/v1/api-keys", R"({"name":"k","scopes":["data.runs.write"]})");
  ASSERT_EQ(made.status, 201) << made.body;
  Answer answer = chat_stack().client().send({"POST",
                                              route,
                                              asking("a"),
                                              "application/json",
                                              {{"Authorization", "Bearer " + made.member("key")}}});
  EXPECT_TRUE(is_problem(answer, 403, "auth.forbidden"));
  EXPECT_EQ(user.client.get("/v1/runs").body, "[]");
}

TEST(ChatCompletions, SayWhyTheirRunFailed) {
  TestUser user = register_user(chat_stack());
  constexpr const char* script = "[status 400]";
  Answer whole = user.client.post(route, asking(script));
  EXPECT_EQ(whole.status, 502) << whole.body;
  EXPECT_EQ(whole.header("x-should-retry"), "false");
  EXPECT_EQ(whole.json().find("error")->text_or("code"), "model.rejected");
  Answer streamed = user.client.post(route, asking(script, R"(,"stream":true)"));
  EXPECT_EQ(streamed.status, 200);
  EXPECT_NE(streamed.body.find(R"("code":"model.rejected")"), std::string::npos) << streamed.body;
}

}  // namespace
}  // namespace hostler::testing_support
