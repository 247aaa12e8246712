// The OpenAI wire form: what is sent, and what is read from good, odd and hostile servers.
#include "runner/models/openai.h"

#include <gtest/gtest.h>

#include "tests/support/clients/chat_messages.h"
#include "tests/support/clients/turn_listener.h"

namespace hostler {
namespace {

using testing_support::ReadTurn;
using testing_support::tool_message;

ReadTurn read(const std::vector<std::string>& events) {
  return ReadTurn(ProviderKind::openai, events);
}

std::string text_chunk(std::string_view text) {
  return R"({"choices":[{"index":0,"delta":{"content":)" + json_quote(text) +
         R"(},"finish_reason":null}]})";
}
const std::string stop_chunk = R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})";

TEST(OpenAiRequest, HasTheWireForm) {
  ModelRequest request;
  request.endpoint = {ProviderKind::openai, "https://models.example/v1/", "sk-1", "m-1", true};
  request.messages = {
      {ChatRole::system, "Be brief."},
      {ChatRole::user, "Hi \"you\""},
      {ChatRole::assistant, parts_of("", {{"c1", "web_search", "{\"query\":\"x\"}"}})},
      tool_message("found", "c1")};
  request.tools = {{"web_search", "Searches.", R"({"type":"object"})"}};
  request.temperature = 0.5;
  request.output_tokens_max = 100;
  http::HttpRequest http = openai_request(request);
  EXPECT_EQ(http.method, "POST");
  EXPECT_EQ(http.url, "https://models.example/v1/chat/completions");
  EXPECT_TRUE(http.guarded);
  EXPECT_EQ(http.headers.back(), http::HttpField("Authorization", "Bearer sk-1"));
  EXPECT_EQ(
      http.body,
      R"({"model":"m-1","stream":true,"stream_options":{"include_usage":true},"temperature":0.5,)"
      R"("max_tokens":100,"tools":[{"type":"function","function":{"name":"web_search",)"
      R"("description":"Searches.","parameters":{"type":"object"}}}],)"
      R"("messages":[{"role":"system","content":"Be brief."},)"
      R"({"role":"user","content":"Hi \"you\""},)"
      R"({"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",)"
      R"("function":{"name":"web_search","arguments":"{\"query\":\"x\"}"}}]},)"
      R"({"role":"tool","content":"found","tool_call_id":"c1"}]})");
}

TEST(OpenAiRequest, NamesWhoSpeaksAndKeepsThePlaceOfTheSystemsTexts) {
  ModelRequest request;
  request.endpoint.model = "m";
  request.messages = {
      {ChatRole::system, "One."}, {ChatRole::user, "Hi"}, {ChatRole::system, "Two."}};
  request.messages[1].name = "eve";
  EXPECT_TRUE(openai_request(request).body.ends_with(
      R"("messages":[{"role":"system","content":"One."},{"role":"user","name":"eve",)"
      R"("content":"Hi"},{"role":"system","content":"Two."}]})"))
      << openai_request(request).body;
}

TEST(OpenAiRequest, TellsWhetherASchemaIsStrict) {
  ModelRequest request;
  request.endpoint.model = "m";
  request.messages = {{ChatRole::user, "Hi"}};
  request.tools = {{"a", "A.", "{}", true}, {"b", "B.", "{}", false}, {"c", "C.", "{}"}};
  std::string body = openai_request(request).body;
  for (const char* function : {R"({"name":"a","description":"A.","parameters":{},"strict":true})",
                               R"({"name":"b","description":"B.","parameters":{},"strict":false})",
                               R"({"name":"c","description":"C.","parameters":{}})"}) {
    EXPECT_NE(body.find(function), std::string::npos) << body;
  }
}

TEST(OpenAiRequest, PassesSamplingOnByItsNames) {
  ModelRequest request;
  request.endpoint = {ProviderKind::openai, "http://own/v1", "", "m", false};
  request.messages = {{ChatRole::user, "Hi"}};
  request.temperature = 0.5;
  request.sampling = {0.25, -0.5, 1.5, 9'007'199'254'740'993, {"END", "\n"}};
  request.output_tokens_max = 7;
  EXPECT_EQ(openai_request(request).body,
            R"({"model":"m","stream":true,"stream_options":{"include_usage":true},)"
            R"("temperature":0.5,"top_p":0.25,"stop":["END","\n"],"presence_penalty":-0.5,)"
            R"("frequency_penalty":1.5,"seed":9007199254740993,"max_tokens":7,)"
            R"("messages":[{"role":"user","content":"Hi"}]})");
}

TEST(OpenAiRequest, TellsWhichToolIsToBeCalled) {
  using Kind = ToolChoice::Kind;
  ModelRequest request;
  request.endpoint.model = "m";
  request.messages = {{ChatRole::user, "Hi"}};
  auto written = [&](std::optional<ToolChoice> choice, std::optional<bool> parallel) {
    request.sampling.tool_choice = std::move(choice);
    request.sampling.parallel_tool_calls = parallel;
    std::string body = openai_request(request).body;
    size_t begin = body.find(R"("include_usage":true})") + 21;
    return body.substr(begin, body.find(R"(,"messages")") - begin);
  };
  EXPECT_EQ(written(ToolChoice{Kind::required}, false), "") << "there are none";
  request.tools = {{"f", "", "{}"}};
  constexpr const char* tools =
      R"(,"tools":[{"type":"function","function":{"name":"f","description":"","parameters":{}}}])";
  EXPECT_EQ(written(std::nullopt, std::nullopt), tools);
  EXPECT_EQ(written(ToolChoice{}, true),
            R"(,"tool_choice":"auto","parallel_tool_calls":true)" + std::string(tools));
  EXPECT_EQ(written(ToolChoice{Kind::none}, std::nullopt),
            R"(,"tool_choice":"none")" + std::string(tools));
  EXPECT_EQ(written(ToolChoice{Kind::required}, false),
            R"(,"tool_choice":"required","parallel_tool_calls":false)" + std::string(tools));
  EXPECT_EQ(written(ToolChoice{Kind::named, "f"}, std::nullopt),
            R"(,"tool_choice":{"type":"function","function":{"name":"f"}})" + std::string(tools));
}

TEST(OpenAiRequest, LeavesOutWhatIsNotSet) {
  ModelRequest request;
  request.endpoint.model = "m";
  request.endpoint.guarded = false;
  request.messages = {{ChatRole::user, "Hi"}};
  http::HttpRequest http = openai_request(request);
  EXPECT_EQ(http.url, "https://api.openai.com/v1/chat/completions");
  EXPECT_FALSE(http.guarded);
  for (const http::HttpField& field : http.headers) EXPECT_NE(field.first, "Authorization");
  EXPECT_EQ(http.body.find("tools"), std::string::npos);
  EXPECT_EQ(http.body.find("temperature"), std::string::npos);
  EXPECT_EQ(http.body.find("max_"), std::string::npos);
  request.output_tokens_max = 7;
  EXPECT_NE(openai_request(request).body.find(R"("max_completion_tokens":7)"), std::string::npos);
}

TEST(OpenAiReader, ReadsTextUsageAndTheEnd) {
  ReadTurn read_turn =
      read({R"({"choices":[],"prompt_filter_results":[]})",
            R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})",
            text_chunk("Hel"), text_chunk("lo"), stop_chunk,
            R"({"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,)"
            R"("prompt_tokens_details":{"cached_tokens":4}}})",
            "[DONE]", text_chunk("never")});
  EXPECT_TRUE(read_turn.is_good());
  EXPECT_EQ(read_turn.turn.text(), "Hello");
  EXPECT_EQ(read_turn.listener.received, "Hel|lo|");
  EXPECT_EQ(read_turn.turn.finish_reason, FinishReason::stop);
  EXPECT_TRUE(read_turn.turn.usage.measured);
  EXPECT_EQ(read_turn.turn.usage.input_tokens, 10);
  EXPECT_EQ(read_turn.turn.usage.output_tokens, 2);
  EXPECT_EQ(read_turn.turn.usage.cache_read_tokens, 4);
}

TEST(OpenAiReader, TakesNullContentAndNullMembers) {
  ReadTurn turn = read({R"({"id":"x","error":null,"usage":null,"choices":[{"index":0,)"
                        R"("delta":{"role":"assistant","content":null,"tool_calls":null},)"
                        R"("finish_reason":null,"logprobs":null}]})",
                        stop_chunk});
  EXPECT_TRUE(turn.is_good());
  EXPECT_EQ(turn.turn.text(), "");
}

TEST(OpenAiReader, EstimatesTheUsageThatNobodyCounts) {
  ReadTurn turn = read({text_chunk("12345"), text_chunk("6789"), stop_chunk});
  EXPECT_FALSE(turn.turn.usage.measured);
  EXPECT_EQ(turn.turn.usage.output_tokens, 3);  // 9 bytes
  ReadTurn zero = read({text_chunk("12345"), stop_chunk,
                        R"({"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}})"});
  EXPECT_FALSE(zero.turn.usage.measured);
  EXPECT_EQ(zero.turn.usage.output_tokens, 2);
}

TEST(OpenAiReader, BoundsTheCountsThatBecomeMoney) {
  ReadTurn turn =
      read({stop_chunk, R"({"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":)"
                        R"(9223372036854775807,"prompt_tokens_details":{"cached_tokens":99}}})"});
  EXPECT_EQ(turn.turn.usage.input_tokens, 0);
  EXPECT_EQ(turn.turn.usage.output_tokens, 1'000'000'000);
  EXPECT_EQ(turn.turn.usage.cache_read_tokens, 0);
}

TEST(OpenAiReader, KeepsItsEstimateWhereNoNumberWasCounted) {
  for (const char* usage : {R"({"prompt_tokens":1e308,"completion_tokens":5})",
                            R"({"prompt_tokens":5,"completion_tokens":"7"})"}) {
    ReadTurn turn = read({text_chunk(std::string(400, 'x')), stop_chunk,
                          R"({"choices":[],"usage":)" + std::string(usage) + "}"});
    EXPECT_FALSE(turn.turn.usage.measured) << usage;
    EXPECT_EQ(turn.turn.usage.output_tokens, 100) << usage;
  }
}

TEST(OpenAiReader, ReadsThinkingUnderAllItsNames) {
  for (const char* member : {"reasoning_content", "reasoning"}) {
    ReadTurn turn = read({std::string(R"({"choices":[{"index":0,"delta":{")") + member +
                              R"(":"hm","content":null}}]})",
                          text_chunk("yes"), stop_chunk});
    EXPECT_EQ(turn.listener.received, "(hm)|yes|") << member;
    EXPECT_EQ(turn.turn.thinking, "hm");
    EXPECT_EQ(turn.turn.text(), "yes");
  }
  ReadTurn parts =
      read({R"({"choices":[{"index":0,"delta":{"content":[{"type":"thinking",)"
            R"("thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"y"}]}}]})",
            stop_chunk});
  EXPECT_EQ(parts.listener.received, "(hm)|y|");
}

std::string call_chunk(std::string_view call) {
  return R"({"choices":[{"index":0,"delta":{"tool_calls":[)" + std::string(call) + "]}}]}";
}
const std::string calls_end =
    R"({"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]})";

TEST(OpenAiReader, JoinsToolCallsThatComeInPiecesSideBySide) {
  ReadTurn turn = read(
      {call_chunk(R"({"index":0,"id":"a","type":"function","function":)"
                  R"({"name":"web_search","arguments":""}})"),
       call_chunk(R"({"index":1,"id":"b","function":{"name":"web_fetch","arguments":"{\"u"}})"),
       call_chunk(R"({"index":0,"function":{"arguments":"{\"query\":"}},)"
                  R"({"index":1,"function":{"arguments":"rl\":1}"}})"),
       call_chunk(R"({"index":0,"function":{"arguments":"\"x\"}"}})"), calls_end, "[DONE]"});
  ASSERT_TRUE(turn.is_good());
  ASSERT_EQ(turn.turn.calls().size(), 2u);
  EXPECT_EQ(turn.turn.calls().at(0).id, "a");
  EXPECT_EQ(turn.turn.calls().at(0).name, "web_search");
  EXPECT_EQ(turn.turn.calls().at(0).arguments, R"({"query":"x"})");
  EXPECT_EQ(turn.turn.calls().at(1).name, "web_fetch");
  EXPECT_EQ(turn.turn.calls().at(1).arguments, R"({"url":1})");
  EXPECT_EQ(turn.turn.finish_reason, FinishReason::tool_calls);
  EXPECT_EQ(turn.listener.received, "");
}

TEST(OpenAiReader, TakesTheOddToolCallsOfCompatibleServers) {
  // All numbered 0, each whole; a repeated id and name in each piece; no index; arguments as an
  // object; no id; no arguments; a finish reason of "stop".
  ReadTurn same_number = read(
      {call_chunk(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{}"}})"),
       call_chunk(R"({"index":0,"id":"b","function":{"name":"f","arguments":"{}"}})"), stop_chunk});
  EXPECT_EQ(same_number.turn.calls().size(), 2u);
  EXPECT_EQ(same_number.turn.finish_reason, FinishReason::tool_calls);

  ReadTurn repeats = read(
      {call_chunk(R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}})"),
       call_chunk(R"({"index":0,"id":"a","function":{"name":"f","arguments":":1}"}})"), calls_end});
  ASSERT_EQ(repeats.turn.calls().size(), 1u);
  EXPECT_EQ(repeats.turn.calls().at(0).name, "f");
  EXPECT_EQ(repeats.turn.calls().at(0).arguments, R"({"x":1})");

  ReadTurn unnumbered =
      read({call_chunk(R"({"id":"a","function":{"name":"f","arguments":"{"}})"),
            call_chunk(R"({"function":{"arguments":"}"}})"),
            call_chunk(R"({"id":"b","function":{"name":"g","arguments":{"y":[1]}}})"), calls_end});
  ASSERT_EQ(unnumbered.turn.calls().size(), 2u);
  EXPECT_EQ(unnumbered.turn.calls().at(0).arguments, "{}");
  EXPECT_EQ(unnumbered.turn.calls().at(1).arguments, R"({"y":[1]})");

  ReadTurn bare = read({call_chunk(R"({"index":0,"function":{"name":"f"}})"),
                        call_chunk(R"({"index":1,"function":{"name":"f"}})"), calls_end});
  ASSERT_EQ(bare.turn.calls().size(), 2u);
  EXPECT_EQ(bare.turn.calls().at(0).arguments, "");
  EXPECT_NE(bare.turn.calls().at(0).id, bare.turn.calls().at(1).id);
  EXPECT_EQ(bare.turn.calls().at(0).id.size(), 29u);

  // One id for all: their results could not be distinguished, and would be refused.
  ReadTurn same_id =
      read({call_chunk(R"({"index":0,"id":"a","function":{"name":"f"}})"),
            call_chunk(R"({"index":1,"id":"a","function":{"name":"g"}})"), calls_end});
  ASSERT_EQ(same_id.turn.calls().size(), 2u);
  EXPECT_EQ(same_id.turn.calls().at(0).id, "a");
  EXPECT_TRUE(same_id.turn.calls().at(1).id.starts_with("call_"));
}

TEST(OpenAiReader, RefusesAToolCallWithoutAName) {
  ReadTurn turn =
      read({call_chunk(R"({"index":0,"id":"a","function":{"arguments":"{}"}})"), calls_end});
  ASSERT_TRUE(turn.reader->fault());
  EXPECT_EQ(turn.reader->fault()->kind, TurnFault::Kind::bad_response);
}

TEST(OpenAiReader, AcceptsAnEndWithoutDoneAndADoneWithoutAReason) {
  EXPECT_TRUE(read({text_chunk("x"), stop_chunk}).is_good());
  EXPECT_TRUE(read({text_chunk("x"), "[DONE]"}).is_good());
  EXPECT_FALSE(read({text_chunk("x")}).is_good());
  EXPECT_FALSE(read({}).is_good());
}

TEST(OpenAiReader, ReadsTheFinishReasons) {
  const std::vector<std::pair<std::string, FinishReason>> reasons = {
      {"stop", FinishReason::stop},
      {"length", FinishReason::length},
      {"content_filter", FinishReason::content_filter},
      {"tool_calls", FinishReason::stop},  // without a call
      {"eos_token", FinishReason::stop}};
  for (const auto& [name, reason] : reasons) {
    ReadTurn turn =
        read({R"({"choices":[{"index":0,"delta":{},"finish_reason":")" + name + R"("}]})"});
    EXPECT_EQ(turn.turn.finish_reason, reason) << name;
  }
}

TEST(OpenAiReader, ReadsAWholeAnswerFromAServerThatDoesNotStream) {
  ReadTurn turn(ProviderKind::openai);
  turn.document(
      R"({"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",)"
      R"("content":"whole","tool_calls":[{"id":"a","type":"function","function":)"
      R"({"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],)"
      R"("usage":{"prompt_tokens":1,"completion_tokens":2}})");
  EXPECT_TRUE(turn.is_good());
  EXPECT_EQ(turn.turn.text(), "whole");
  EXPECT_EQ(turn.turn.calls().size(), 1u);
  EXPECT_TRUE(turn.turn.usage.measured);
  for (const char* bad : {"{}", "[]", "{\"choices\":[]}", "{\"choices\":", "null"}) {
    ReadTurn no_answer(ProviderKind::openai);
    no_answer.document(bad);
    ASSERT_TRUE(no_answer.reader->fault()) << bad;
    EXPECT_EQ(no_answer.reader->fault()->kind, TurnFault::Kind::bad_response) << bad;
  }
}

TEST(OpenAiReader, ReadsErrorsInAllTheirForms) {
  const std::vector<std::pair<std::string, int>> errors = {
      {R"({"error":{"message":"m","type":"server_error","code":null}})", 500},
      {R"({"error":{"message":"m","type":"tokens","code":"rate_limit_exceeded"}})", 429},
      {R"({"error":{"message":"m","code":502}})", 502},
      {R"({"error":{"message":"m","code":"429"}})", 429},
      {R"({"error":{"message":"m","type":"invalid_request_error"}})", 400},
      {R"({"error":{"message":"m","code":"context_length_exceeded"}})", 400},
      {R"({"object":"error","message":"m","code":404})", 404},
      {R"({"error":"m"})", 500},
      {R"({"error":"m","status":400})", 400},
      {R"({"error":{"message":"m","code":99999999999999999999}})", 500}};
  for (const auto& [text, status] : errors) {
    ReadTurn turn = read({text_chunk("x"), text, stop_chunk});
    ASSERT_TRUE(turn.reader->fault()) << text;
    EXPECT_EQ(turn.reader->fault()->kind, TurnFault::Kind::provider_error) << text;
    EXPECT_EQ(turn.reader->fault()->error.status, status) << text;
    EXPECT_EQ(turn.reader->fault()->error.message, "m") << text;
    EXPECT_EQ(turn.turn.text(), "x");
  }
}

TEST(OpenAiReader, RefusesWhatIsNoJsonObject) {
  for (const char* bad : {"{", "[1]", "\"x\"", "nope", "{\"choices\":[{}]} x", "\x01"}) {
    ReadTurn turn = read({bad, stop_chunk});
    ASSERT_TRUE(turn.reader->fault()) << bad;
    EXPECT_EQ(turn.reader->fault()->kind, TurnFault::Kind::bad_response) << bad;
    EXPECT_FALSE(turn.is_good());
  }
}

TEST(OpenAiReader, MendsHalfPairsAndNulInsteadOfLosingTheAnswer) {
  ReadTurn turn =
      read({R"({"choices":[{"index":0,"delta":{"content":"a\ud83d"}}]})",
            R"({"choices":[{"index":0,"delta":{"content":"\ude00\u0000\\u0000 \ud83d\ude00"}}]})",
            "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xff\"}}]}", stop_chunk});
  EXPECT_TRUE(turn.is_good());
  EXPECT_EQ(turn.turn.text(), "a\U0001F600\uFFFD\\u0000 \U0001F600\uFFFD");
}

TEST(OpenAiReader, IgnoresOtherChoicesAndShapesItDoesNotKnow) {
  ReadTurn turn =
      read({R"({"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"}]})",
            R"({"choices":"x"})", R"({"choices":[1,null,"x",[]]})", R"({"choices":[{"delta":[]}]})",
            R"({"choices":[{"delta":{"content":5}}]})",
            R"({"choices":[{"delta":{"tool_calls":{"a":1}}}]})", R"({"usage":[]})", R"({})"});
  EXPECT_FALSE(turn.reader->fault());
  EXPECT_FALSE(turn.reader->is_complete());
  EXPECT_EQ(turn.turn.text(), "");
}

TEST(OpenAiReader, BoundsTextArgumentsAndCalls) {
  ReadTurn text(ProviderKind::openai);
  const std::string chunk = text_chunk(std::string(64 * 1024, 'x'));
  for (int i = 0; i < 65; ++i) text.reader->read_event(chunk);
  ASSERT_TRUE(text.reader->fault());
  EXPECT_EQ(text.reader->fault()->kind, TurnFault::Kind::too_long);
  EXPECT_EQ(text.turn.text().size(), turn_bytes_max);

  ReadTurn calls(ProviderKind::openai);
  for (size_t i = 0; i < turn_tool_calls_max + 7; ++i) {
    calls.reader->read_event(call_chunk(R"({"index":)" +
                                        std::to_string(static_cast<int64_t>(i) * 1'000'000'007LL) +
                                        R"(,"id":"a","function":{"name":"f"}})"));
  }
  ASSERT_TRUE(calls.reader->fault());
  EXPECT_EQ(calls.reader->fault()->kind, TurnFault::Kind::too_many_calls);
  EXPECT_EQ(calls.turn.calls().size(), turn_tool_calls_max);
}

TEST(SafeExcerpt, HidesTheKeyAndStaysShort) {
  EXPECT_EQ(safe_excerpt("bad key sk-12345!\nsk-12345", "sk-12345"), "bad key ****! ****");
  std::string cut = safe_excerpt(std::string(500, 'x'), "");
  EXPECT_EQ(cut, std::string(200, 'x') + "…");
  EXPECT_EQ(safe_excerpt("a\xff\x1b[31m", "k"), "a\uFFFD [31m");
}

}  // namespace
}  // namespace hostler
