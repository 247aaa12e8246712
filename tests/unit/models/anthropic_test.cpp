// The Anthropic wire form: what is sent, and what is read.
#include "runner/models/anthropic.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/clients/chat_messages.h"
#include "tests/support/clients/turn_listener.h"

namespace hostler {
namespace {

using testing_support::ReadTurn;
using testing_support::tool_message;

ReadTurn read(const std::vector<std::string>& events) {
  return ReadTurn(ProviderKind::anthropic, events);
}

const std::string start =
    R"({"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":)"
    R"({"input_tokens":10,"cache_creation_input_tokens":3,"cache_read_input_tokens":5,)"
    R"("output_tokens":1}}})";
const std::string stop = R"({"type":"message_stop"})";

std::string block_start(int index, std::string_view block) {
  return R"({"type":"content_block_start","index":)" + std::to_string(index) +
         R"(,"content_block":)" + std::string(block) + "}";
}
std::string delta(int index, std::string_view inner) {
  return R"({"type":"content_block_delta","index":)" + std::to_string(index) + R"(,"delta":)" +
         std::string(inner) + "}";
}
std::string message_delta(std::string_view reason, int output_tokens) {
  return R"({"type":"message_delta","delta":{"stop_reason":")" + std::string(reason) +
         R"(","stop_sequence":null},"usage":{"output_tokens":)" + std::to_string(output_tokens) +
         "}}";
}

ModelRequest request_of(std::vector<ChatMessage> messages) {
  ModelRequest request;
  request.endpoint = {ProviderKind::anthropic, "", "sk-ant", "claude", false};
  request.messages = std::move(messages);
  return request;
}

const std::string mark = R"(,"cache_control":{"type":"ephemeral"})";

std::string body_of(const ModelRequest& request) { return anthropic_request(request).body; }

// Without their marks.
std::string messages_of(const ModelRequest& request) {
  std::string body = body_of(request);
  for (size_t at = body.find(mark); at != std::string::npos; at = body.find(mark)) {
    body.erase(at, mark.size());
  }
  size_t from = body.find(R"("messages":)") + 11;
  return body.substr(from, body.size() - 1 - from);
}

// Clients that come from elsewhere bring ids such as functions.f:0.
TEST(AnthropicRequest, HasIdsOfCallsThatTheApiTakes) {
  ChatMessage calls(ChatRole::assistant);
  std::vector<ChatMessage> messages{{ChatRole::user, "hi"}};
  const std::vector<std::string> ids{"good_1-A", "a.b", "a:b", "\xC3\xA4", std::string(200, '.')};
  for (const std::string& id : ids) calls.parts.emplace_back(ToolCall{id, "f", "{}"});
  messages.push_back(calls);
  for (const std::string& id : ids) {
    messages.push_back(tool_message("r", id));
  }
  std::string body = body_of(request_of(std::move(messages)));
  auto sent = [&](const std::string& member) {
    std::vector<std::string> found;
    std::string begin = "\"" + member + "\":\"";
    for (size_t at = body.find(begin); at != body.npos; at = body.find(begin, at)) {
      at += begin.size();
      found.push_back(body.substr(at, body.find('"', at) - at));
    }
    return found;
  };
  std::vector<std::string> made = sent("id");
  ASSERT_EQ(made.size(), ids.size()) << body;
  EXPECT_EQ(made, sent("tool_use_id"));
  EXPECT_EQ(made[0], "good_1-A");
  for (const std::string& id : made) {
    EXPECT_EQ(name_on_the_wire(id), id);
    EXPECT_EQ(std::count(made.begin(), made.end(), id), 1) << id;
  }
}

TEST(AnthropicRequest, HasTheWireForm) {
  ModelRequest request =
      request_of({{ChatRole::system, "One."}, {ChatRole::user, "Hi"}, {ChatRole::system, "Two."}});
  request.tools = {{"web_fetch", "Fetches.", R"({"type":"object"})"}};
  request.temperature = 0;
  http::HttpRequest http = anthropic_request(request);
  EXPECT_EQ(http.url, "https://api.anthropic.com/v1/messages");
  EXPECT_EQ(
      http.body,
      R"({"model":"claude","max_tokens":8192,"stream":true,"temperature":0,)"
      R"("tools":[{"name":"web_fetch","description":"Fetches.","input_schema":{"type":"object"},)"
      R"("cache_control":{"type":"ephemeral"}}],)"
      R"("system":[{"type":"text","text":"One.\n\nTwo.","cache_control":{"type":"ephemeral"}}],)"
      R"("messages":[{"role":"user","content":[{"type":"text","text":"Hi",)"
      R"("cache_control":{"type":"ephemeral"}}]}]})");
  EXPECT_EQ(http.headers[2], http::HttpField("anthropic-version", "2023-06-01"));
  EXPECT_EQ(http.headers[3], http::HttpField("x-api-key", "sk-ant"));
  request.temperature = 1.5;
  EXPECT_NE(anthropic_request(request).body.find(R"("temperature":1,)"), std::string::npos)
      << "their scale ends at 1";
  request.endpoint.base_url = "http://local:1/";
  request.output_tokens_max = 5;
  EXPECT_EQ(anthropic_request(request).url, "http://local:1/v1/messages");
  EXPECT_NE(anthropic_request(request).body.find(R"("max_tokens":5,)"), std::string::npos);
}

TEST(AnthropicRequest, PassesOnOfSamplingWhatItHasAWordFor) {
  ModelRequest request = request_of({{ChatRole::user, "Hi"}});
  request.temperature = 0.5;
  request.sampling = {0.25, -0.5, 1.5, 7, {"END", "STOP"}};
  request.output_tokens_max = 9;
  EXPECT_EQ(anthropic_request(request).body,
            R"({"model":"claude","max_tokens":9,"stream":true,"temperature":0.5,"top_p":0.25,)"
            R"("stop_sequences":["END","STOP"],"messages":[{"role":"user","content":)"
            R"([{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]}]})");
}

TEST(AnthropicRequest, SaysWhoSpeaksInTheirText) {
  std::vector<ChatMessage> messages{{ChatRole::system, "s"},
                                    {ChatRole::user, "a"},
                                    {ChatRole::user, " "},
                                    {ChatRole::user, "b"},
                                    {ChatRole::assistant, "c"}};
  for (ChatMessage& message : messages) message.name = "eve";
  messages[3].name.clear();
  std::string body = body_of(request_of(messages));
  EXPECT_NE(body.find(R"("system":[{"type":"text","text":"eve: s")"), body.npos) << body;
  EXPECT_TRUE(messages_of(request_of(messages))
                  .starts_with(R"x([{"role":"user","content":[{"type":"text","text":"eve: a"},)x"
                               R"x({"type":"text","text":"(The message is empty.)"},)x"
                               R"x({"type":"text","text":"b"}]},{"role":"assistant","content":)x"
                               R"x([{"type":"text","text":"eve: c"}]})x"))
      << body;
}

TEST(AnthropicRequest, TellsWhichToolIsToBeCalled) {
  using Kind = ToolChoice::Kind;
  ModelRequest request = request_of({{ChatRole::user, "Hi"}});
  auto written = [&](std::optional<ToolChoice> choice, std::optional<bool> parallel) {
    request.sampling.tool_choice = std::move(choice);
    request.sampling.parallel_tool_calls = parallel;
    std::string body = anthropic_request(request).body;
    size_t begin = body.find(R"("stream":true)") + 13;
    size_t end = std::min(body.find(R"(,"tools")"), body.find(R"(,"messages")"));
    return body.substr(begin, end - begin);
  };
  EXPECT_EQ(written(ToolChoice{Kind::required}, false), "") << "there are none";
  request.tools = {{"f", "", "{}"}};
  EXPECT_EQ(written(std::nullopt, std::nullopt), "");
  EXPECT_EQ(written(std::nullopt, true), "");
  EXPECT_EQ(written(std::nullopt, false),
            R"(,"tool_choice":{"type":"auto","disable_parallel_tool_use":true})");
  EXPECT_EQ(written(ToolChoice{}, std::nullopt), R"(,"tool_choice":{"type":"auto"})");
  EXPECT_EQ(written(ToolChoice{Kind::none}, false), R"(,"tool_choice":{"type":"none"})");
  EXPECT_EQ(written(ToolChoice{Kind::required}, false),
            R"(,"tool_choice":{"type":"any","disable_parallel_tool_use":true})");
  EXPECT_EQ(written(ToolChoice{Kind::named, "f"}, true),
            R"(,"tool_choice":{"type":"tool","name":"f"})");
}

TEST(AnthropicRequest, PutsTheResultsOfATurnIntoOneUserMessageBeforeWhatTheUserSays) {
  EXPECT_EQ(messages_of(request_of(
                {{ChatRole::user, "q"},
                 {ChatRole::assistant,
                  parts_of("let me see", {{"a", "f", R"({"x":1})"}, {"b", "g", "oops"}})},
                 tool_message("ra", "a"),
                 tool_message("rb", "b"),
                 {ChatRole::user, "and?"},
                 {ChatRole::assistant, "done"},
                 {ChatRole::user, "so?"}})),
            R"([{"role":"user","content":[{"type":"text","text":"q"}]},)"
            R"({"role":"assistant","content":[{"type":"text","text":"let me see"},)"
            R"({"type":"tool_use","id":"a","name":"f","input":{"x":1}},)"
            R"({"type":"tool_use","id":"b","name":"g","input":{"not_an_object":"oops"}}]},)"
            R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ra"},)"
            R"({"type":"tool_result","tool_use_id":"b","content":"rb"},)"
            R"({"type":"text","text":"and?"}]},)"
            R"({"role":"assistant","content":[{"type":"text","text":"done"}]},)"
            R"({"role":"user","content":[{"type":"text","text":"so?"}]}])");
}

TEST(AnthropicRequest, MakesRolesTakeTurnsAndLeavesOutEmptyTexts) {
  EXPECT_EQ(messages_of(request_of({{ChatRole::user, "a"},
                                    {ChatRole::assistant, ""},
                                    {ChatRole::user, "b"},
                                    {ChatRole::system, "s"},
                                    {ChatRole::user, "c"}})),
            R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},)"
            R"({"type":"text","text":"c"}]}])");
  std::string cut = messages_of(request_of({{ChatRole::assistant, "a"}, {ChatRole::user, "b"}}));
  EXPECT_TRUE(cut.starts_with(R"x([{"role":"user","content":[{"type":"text","text":"(Earlier)x"));
  EXPECT_TRUE(cut.ends_with(R"({"role":"assistant","content":[{"type":"text","text":"a"}]},)"
                            R"({"role":"user","content":[{"type":"text","text":"b"}]}])"))
      << cut;
  EXPECT_EQ(
      messages_of(request_of({{ChatRole::user, "a"},
                              {ChatRole::assistant, parts_of("\n\n", {{"c", "odd name", "{}"}})},
                              tool_message("r", "c")})),
      R"([{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[)"
      R"({"type":"tool_use","id":"c","name":"odd_name","input":{}}]},)"
      R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]}])");
}

TEST(AnthropicRequest, GivesTheUserTheLastWord) {
  std::string behind_answer =
      messages_of(request_of({{ChatRole::user, "a"}, {ChatRole::assistant, "b "}}));
  EXPECT_TRUE(behind_answer.ends_with(
      R"x(,{"role":"user","content":[{"type":"text","text":"(Go on.)"}]}])x"))
      << behind_answer;
  const char* empty =
      R"x([{"role":"user","content":[{"type":"text","text":"(The message is empty.)"}]}])x";
  EXPECT_EQ(messages_of(request_of({{ChatRole::user, " \n"}})), empty);
  EXPECT_EQ(messages_of(request_of({})), empty);
}

TEST(AnthropicRequest, JoinsWhatOneSaysInARow) {
  EXPECT_EQ(messages_of(request_of({{ChatRole::user, "a"},
                                    {ChatRole::user, "b"},
                                    {ChatRole::assistant, "c"},
                                    {ChatRole::assistant, " "},
                                    {ChatRole::assistant, "d"},
                                    {ChatRole::user, "e"}})),
            R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},)"
            R"({"role":"assistant","content":[{"type":"text","text":"c"},)"
            R"({"type":"text","text":"d"}]},)"
            R"({"role":"user","content":[{"type":"text","text":"e"}]}])");
}

TEST(AnthropicRequest, KeepsWhatItSentWhenTheConversationGoesOn) {
  std::vector<ChatMessage> turns{
      {ChatRole::user, " "},  {ChatRole::assistant, parts_of("b", {{"x", "f", "{}"}})},
      tool_message("r", "x"), {ChatRole::assistant, parts_of("", {{"y", "f", "{}"}})},
      tool_message("r", "y"), {ChatRole::assistant, "c"}};
  std::string before;
  for (size_t count = 1; count <= turns.size(); count += 2) {
    std::string body =
        messages_of(request_of({turns.begin(), turns.begin() + static_cast<ptrdiff_t>(count)}));
    EXPECT_TRUE(body.starts_with(before)) << body << "\nbehind " << before;
    before = body.substr(0, body.size() - 1);
  }
}

TEST(AnthropicRequest, MarksWhatTheNextTurnReads) {
  std::vector<ChatMessage> messages{{ChatRole::system, "s"}, {ChatRole::user, "q"}};
  ModelRequest request = request_of({});
  request.tools = {{"f", "F.", "{}"}, {"g", "G.", "{}"}};
  std::string read;  // marked in the turn before, as its last
  for (int turn = 0; turn < 4; ++turn) {
    request.messages = messages;
    std::string body = body_of(request);
    size_t marks = 0;
    for (size_t at = body.find(mark); at != std::string::npos; at = body.find(mark, at + 1)) {
      ++marks;
    }
    EXPECT_EQ(marks, turn == 0 ? 3u : 4u) << body;
    EXPECT_TRUE(body.ends_with(mark + "}]}]}")) << body;
    EXPECT_NE(body.find(read + mark), std::string::npos) << body;
    EXPECT_EQ(body.find(R"("name":"f","description":"F.","input_schema":{})" + mark),
              std::string::npos)
        << "the last tool's holds for all";
    // More blocks than a provider looks back for what it kept.
    ChatMessage answer{ChatRole::assistant, "so"};
    std::vector<ChatMessage> results;
    for (int call = 0; call < 15; ++call) {
      std::string id = "c" + std::to_string(turn * 100 + call);
      answer.parts.emplace_back(ToolCall{id, "f", "{}"});
      results.push_back(tool_message("r" + id, id));
    }
    messages.push_back(answer);
    messages.insert(messages.end(), results.begin(), results.end());
    read = turn == 0 ? R"("text":"q")" : R"("content":")" + request.messages.back().text() + "\"";
  }
}

TEST(AnthropicRequest, DefinesTheToolsOfItsCallsWhenNoOthersAreLeft) {
  std::string body =
      anthropic_request(
          request_of({{ChatRole::assistant, parts_of("", {{"c", "web_search", "{}"}})},
                      tool_message("r", "c")}))
          .body;
  EXPECT_NE(body.find(R"("tools":[{"name":"web_search",)"), std::string::npos) << body;
}

TEST(AnthropicReader, ReadsTextThinkingToolsAndUsage) {
  ReadTurn turn = read(
      {start, R"({"type":"ping"})", block_start(0, R"({"type":"thinking","thinking":""})"),
       delta(0, R"({"type":"thinking_delta","thinking":"hm"})"),
       delta(0, R"({"type":"signature_delta","signature":"abc"})"),
       R"({"type":"content_block_stop","index":0})", block_start(1, R"({"type":"text","text":""})"),
       delta(1, R"({"type":"text_delta","text":"He"})"),
       delta(1, R"({"type":"text_delta","text":"y"})"),
       block_start(2, R"({"type":"tool_use","id":"t1","name":"f","input":{}})"),
       block_start(3, R"({"type":"tool_use","id":"t2","name":"g","input":{}})"),
       delta(2, R"({"type":"input_json_delta","partial_json":""})"),
       delta(2, R"({"type":"input_json_delta","partial_json":"{\"x\":"})"),
       delta(3, R"({"type":"input_json_delta","partial_json":"{}"})"),
       delta(2, R"({"type":"input_json_delta","partial_json":"1}"})"),
       message_delta("tool_use", 42), stop, delta(1, R"({"type":"text_delta","text":"never"})")});
  ASSERT_TRUE(turn.is_good());
  EXPECT_EQ(turn.listener.received, "(hm)|He|y|");
  EXPECT_EQ(turn.turn.finish_reason, FinishReason::tool_calls);
  ASSERT_EQ(turn.turn.calls().size(), 2u);
  EXPECT_EQ(turn.turn.calls().at(0).id, "t1");
  EXPECT_EQ(turn.turn.calls().at(0).arguments, R"({"x":1})");
  EXPECT_EQ(turn.turn.calls().at(1).arguments, "{}");
  EXPECT_TRUE(turn.turn.usage.measured);
  EXPECT_EQ(turn.turn.usage.input_tokens, 18);
  EXPECT_EQ(turn.turn.usage.cache_read_tokens, 5);
  EXPECT_EQ(turn.turn.usage.cache_write_tokens, 3);
  EXPECT_EQ(turn.turn.usage.output_tokens, 42);
}

TEST(AnthropicReader, EstimatesTheOutputUntilItIsCounted) {
  ReadTurn turn = read({start, delta(0, R"({"type":"text_delta","text":"12345"})")});
  EXPECT_FALSE(turn.is_good());
  EXPECT_FALSE(turn.turn.usage.measured);
  EXPECT_EQ(turn.turn.usage.input_tokens, 18);
  EXPECT_EQ(turn.turn.usage.output_tokens, 2);
}

TEST(AnthropicReader, BoundsWhatIsCountedBeforeItIsAdded) {
  ReadTurn turn = read({R"({"type":"message_start","message":{"usage":{)"
                        R"("input_tokens":9223372036854775807,)"
                        R"("cache_read_input_tokens":9223372036854775807,)"
                        R"("cache_creation_input_tokens":-9223372036854775808}}})",
                        message_delta("end_turn", 1), stop});
  EXPECT_EQ(turn.turn.usage.input_tokens, 1'000'000'000);
  EXPECT_EQ(turn.turn.usage.cache_read_tokens, 1'000'000'000);
  EXPECT_EQ(turn.turn.usage.cache_write_tokens, 0);
}

TEST(AnthropicReader, ReadsTheStopReasons) {
  const std::vector<std::pair<std::string, FinishReason>> reasons = {
      {"end_turn", FinishReason::stop},     {"stop_sequence", FinishReason::stop},
      {"max_tokens", FinishReason::length}, {"refusal", FinishReason::content_filter},
      {"tool_use", FinishReason::stop},     {"pause_turn", FinishReason::stop}};
  for (const auto& [name, reason] : reasons) {
    EXPECT_EQ(read({start, message_delta(name, 1), stop}).turn.finish_reason, reason) << name;
  }
  EXPECT_TRUE(read({start, message_delta("end_turn", 1)}).is_good()) << "without message_stop";
  EXPECT_FALSE(read({start}).is_good());
}

TEST(AnthropicReader, ReadsErrorsInsideTheStream) {
  ReadTurn turn =
      read({start, R"({"type":"error","error":{"type":"overloaded_error","message":"busy"}})"});
  ASSERT_TRUE(turn.reader->fault());
  EXPECT_EQ(turn.reader->fault()->kind, TurnFault::Kind::provider_error);
  EXPECT_EQ(turn.reader->fault()->error.status, 529);
  EXPECT_EQ(turn.reader->fault()->error.message, "busy");
}

TEST(AnthropicReader, ReadsAWholeAnswer) {
  ReadTurn turn(ProviderKind::anthropic);
  turn.document(
      R"({"type":"message","role":"assistant","content":[{"type":"text","text":"hey"},)"
      R"({"type":"tool_use","id":"t","name":"f","input":{"x":[1,2]}}],"stop_reason":"tool_use",)"
      R"("usage":{"input_tokens":3,"output_tokens":4}})");
  ASSERT_TRUE(turn.is_good());
  EXPECT_EQ(turn.turn.text(), "hey");
  EXPECT_EQ(turn.turn.calls().at(0).arguments, R"({"x":[1,2]})");
  EXPECT_EQ(turn.turn.usage.output_tokens, 4);
}

TEST(AnthropicReader, SurvivesShapesItDoesNotKnow) {
  ReadTurn turn = read({R"({})", R"({"type":5})", R"({"type":"content_block_delta"})",
                        delta(9, R"({"type":"input_json_delta","partial_json":"x"})"),
                        R"({"type":"content_block_start","content_block":[]})",
                        R"({"type":"message_delta","usage":{"output_tokens":"many"}})",
                        R"({"type":"message_start","message":null})", R"({"type":"brand_new"})"});
  EXPECT_FALSE(turn.reader->fault());
  EXPECT_FALSE(turn.reader->is_complete());
}

}  // namespace
}  // namespace hostler
