// Pieces of tool calls as servers stream them. Each case names who does so.
#include "runner/models/call_pieces.h"

#include <gtest/gtest.h>

#include "tests/support/clients/turn_listener.h"

namespace hostler {
namespace {

using testing_support::ReadTurn;

// Each string is the tool_calls of one delta. Returns "id name arguments" of each call, and the
// place of a made-up id as a dash.
std::string calls(const std::vector<std::string>& deltas, std::string_view finish = "tool_calls") {
  std::vector<std::string> events;
  for (const std::string& delta : deltas) {
    events.push_back(R"({"choices":[{"index":0,"delta":{"tool_calls":[)" + delta + "]}}]}");
  }
  events.push_back(R"({"choices":[{"index":0,"delta":{},"finish_reason":")" + std::string(finish) +
                   R"("}]})");
  ReadTurn turn(ProviderKind::openai, events);
  EXPECT_FALSE(turn.reader->fault()) << deltas.front();
  std::string all;
  for (const ToolCall& call : turn.turn.calls()) {
    all += (call.id.starts_with("call_") && call.id.size() == 29 ? "-" : call.id) + " " +
           call.name + " " + call.arguments + "\n";
  }
  return all;
}

std::string piece(std::string_view head, std::string_view name, std::string_view arguments) {
  std::string json = "{" + std::string(head) + (head.empty() ? "" : ",") + R"("function":{)";
  if (!name.empty()) json += R"("name":)" + json_quote(name) + ",";
  return json + R"("arguments":)" + json_quote(arguments) + "}}";
}

constexpr const char* two = "- get_weather {\"city\":\"Rome\"}\n- get_time {\"city\":\"Oslo\"}\n";
constexpr const char* rome = R"({"city":"Rome"})";
constexpr const char* oslo = R"({"city":"Oslo"})";

TEST(CallPieces, OfWholeCallsWithOneIndex) {
  // Gemini's compatible API and converters of it: one call a chunk, the index always 0.
  EXPECT_EQ(
      calls({piece(R"("index":0)", "get_weather", rome), piece(R"("index":0)", "get_time", oslo)}),
      two);
  // Grok behind Oracle: likewise with ids.
  EXPECT_EQ(
      calls({piece(R"("index":0,"id":"a")", "f", rome), piece(R"("index":0,"id":"b")", "f", oslo)}),
      "a f {\"city\":\"Rome\"}\nb f {\"city\":\"Oslo\"}\n");
  // The same tool twice.
  EXPECT_EQ(calls({piece(R"("index":0)", "f", rome), piece(R"("index":0)", "f", oslo)}),
            "- f {\"city\":\"Rome\"}\n- f {\"city\":\"Oslo\"}\n");
}

TEST(CallPieces, OfWholeCallsWithoutIndex) {
  // Gemini, Mistral and Ollama: several in one delta, or one in each.
  EXPECT_EQ(calls({piece("", "get_weather", rome) + "," + piece("", "get_time", oslo)}), two);
  EXPECT_EQ(calls({piece("", "get_weather", rome), piece("", "get_time", oslo)}), two);
  EXPECT_EQ(calls({piece("", "f", "{}") + "," + piece("", "f", "{}")}), "- f {}\n- f {}\n");
  EXPECT_EQ(calls({R"({"function":{"name":"f","arguments":{"x":1}}})"}), "- f {\"x\":1}\n");
}

TEST(CallPieces, OfACallThatGoesOn) {
  const std::string expected = "c1 f {\"city\":\"Rome\"}\n";
  // OpenAI, vLLM, llama.cpp, DeepSeek: id and name once.
  EXPECT_EQ(
      calls({piece(R"("index":0,"id":"c1")", "f", ""), piece(R"("index":0)", "", R"({"city":)"),
             piece(R"("index":0)", "", R"("Rome"})")}),
      expected);
  // Without index, the id in each piece.
  EXPECT_EQ(calls({piece(R"("id":"c1")", "f", ""), piece(R"("id":"c1")", "", R"({"city":)"),
                   piece(R"("id":"c1")", "", R"("Rome"})")}),
            expected);
  // Oracle: neither in the pieces that follow.
  EXPECT_EQ(calls({piece(R"("id":"c1")", "f", ""), piece("", "", R"({"city":)"),
                   piece("", "", R"("Rome"})")}),
            expected);
  // Azure and SGLang: the name in each piece. Qwen: an empty id in each but the first.
  EXPECT_EQ(calls({piece(R"("index":0,"id":"c1")", "f", R"({"city":)"),
                   piece(R"("index":0,"id":"")", "f", R"("Rome"})")}),
            expected);
  // Gateways of Bedrock: a new id for each piece, and a name in the first.
  EXPECT_EQ(calls({piece(R"("index":0,"id":"c1")", "f", R"({"city":)"),
                   piece(R"("index":0,"id":"c2")", "", R"("Rome"})")}),
            expected);
  // The id behind the name.
  EXPECT_EQ(calls({piece(R"("index":0)", "f", ""), piece(R"("index":0,"id":"c1")", "f", rome)}),
            expected);
  // A wrong index within a call.
  EXPECT_EQ(calls({piece(R"("index":1,"id":"c1")", "f", R"({"city":)"),
                   piece(R"("index":0)", "", R"("Rome"})")}),
            expected);
}

TEST(CallPieces, OfSeveralCallsSideBySide) {
  // Old vLLM behind lmdeploy: the index 0 for all, nameless pieces with an empty id.
  EXPECT_EQ(
      calls({piece(R"("index":0,"id":"a")", "f", ""), piece(R"("index":0,"id":"")", "", rome),
             piece(R"("index":0,"id":"b")", "f", ""), piece(R"("index":0,"id":"")", "", oslo)}),
      "a f {\"city\":\"Rome\"}\nb f {\"city\":\"Oslo\"}\n");
  // Told apart by their ids alone.
  EXPECT_EQ(
      calls({piece(R"("id":"a")", "f", R"({"city":)"), piece(R"("id":"b")", "g", R"({"city":)"),
             piece(R"("id":"a")", "", R"("Rome"})"), piece(R"("id":"b")", "", R"("Oslo"})")}),
      "a f {\"city\":\"Rome\"}\nb g {\"city\":\"Oslo\"}\n");
}

TEST(CallPieces, OfANameInPieces) {
  EXPECT_EQ(calls({piece(R"("index":0,"id":"a")", "get_", ""), piece(R"("index":0)", "weather", ""),
                   piece(R"("index":0)", "", rome)}),
            "a get_weather {\"city\":\"Rome\"}\n");
  // All of it so far each time.
  EXPECT_EQ(calls({piece(R"("index":0,"id":"a")", "get_", ""),
                   piece(R"("index":0)", "get_weather", ""), piece(R"("index":0)", "", rome)}),
            "a get_weather {\"city\":\"Rome\"}\n");
}

TEST(CallPieces, OfArgumentsThatAreRepeated) {
  const std::string expected = "a f {\"city\":\"Rome\"}\n";
  // vLLM's xlam and GLM parsers: whole once more at the end.
  EXPECT_EQ(calls({piece(R"("index":0,"id":"a")", "f", R"({"city":)"),
                   piece(R"("index":0)", "", R"("Rome"})"), piece(R"("index":0)", "", rome)}),
            expected);
  EXPECT_EQ(calls({piece(R"("index":0,"id":"a")", "f", "{"), piece(R"("index":0)", "", rome)}),
            expected);
  // All of them so far each time.
  EXPECT_EQ(calls({piece(R"("index":0,"id":"a")", "f", R"({"city")"),
                   piece(R"("index":0)", "", R"({"city":"Ro)"), piece(R"("index":0)", "", rome)}),
            expected);
  // Gateways of Anthropic: {} first. The same whole call twice is one.
  EXPECT_EQ(
      calls({piece(R"("index":0,"id":"a")", "f", "{}"), piece(R"("index":0)", "", R"({"city":)"),
             piece(R"("index":0)", "", R"("Rome"})")}),
      expected);
  EXPECT_EQ(
      calls({piece(R"("index":0,"id":"a")", "f", rome), piece(R"("index":0,"id":"a")", "f", rome)}),
      expected);
  // A nested object that begins like the whole does not count.
  EXPECT_EQ(calls({piece(R"("index":0,"id":"a")", "f", R"({"x":)"),
                   piece(R"("index":0)", "", R"({"x":1})"), piece(R"("index":0)", "", "}")}),
            "a f {\"x\":{\"x\":1}}\n");
  // Nobody knows about a turn that was cut.
  EXPECT_EQ(calls({piece(R"("index":0,"id":"a")", "f", R"({"x":)"),
                   piece(R"("index":0)", "", R"({"x":1})")},
                  "length"),
            "a f {\"x\":{\"x\":1}\n");
}

TEST(CallPieces, OfTheDeprecatedForm) {
  auto event = [](std::string_view call) {
    return R"({"choices":[{"index":0,"delta":{"function_call":)" + std::string(call) + "}}]}";
  };
  ReadTurn turn(ProviderKind::openai,
                {event(R"({"name":"f","arguments":""})"), event(R"({"arguments":"{\"x\":"})"),
                 event(R"({"arguments":"1}"})"),
                 R"({"choices":[{"index":0,"delta":{},"finish_reason":"function_call"}]})"});
  ASSERT_EQ(turn.turn.calls().size(), 1u);
  EXPECT_EQ(turn.turn.calls().front().arguments, R"({"x":1})");
  EXPECT_EQ(turn.turn.finish_reason, FinishReason::tool_calls);
  ReadTurn whole(ProviderKind::openai);
  whole.document(R"({"choices":[{"message":{"content":null,"function_call":{"name":"f",)"
                 R"("arguments":"{}"}},"finish_reason":"function_call"}]})");
  ASSERT_EQ(whole.turn.calls().size(), 1u);
  EXPECT_EQ(whole.turn.calls().front().name, "f");
}

TEST(CallPieces, MarksACallWhoseEndNobodyNamed) {
  const std::string begun = R"({"choices":[{"index":0,"delta":{"tool_calls":[)" +
                            piece(R"("index":0,"id":"a")", "f", R"({"x")") + "]}}]}";
  EXPECT_TRUE(ReadTurn(ProviderKind::openai, {begun, "[DONE]"}).turn.is_broken_off);
  const std::string whole = R"({"choices":[{"index":0,"delta":{"tool_calls":[)" +
                            piece(R"("index":0,"id":"a")", "f", "{}") + "]}}]}";
  EXPECT_FALSE(ReadTurn(ProviderKind::openai, {whole, "[DONE]"}).turn.is_broken_off);
}

// The maximum of a turn, byte by byte.
TEST(CallPieces, TakeLinearTime) {
  ReadTurn turn(ProviderKind::openai);
  const std::string one = R"({"choices":[{"index":0,"delta":{"tool_calls":[)" +
                          piece(R"("index":0,"id":"a")", "f", "{") + "]}}]}";
  for (int i = 0; i < 100'000; ++i) turn.reader->read_event(one);
  turn.reader->end();
  EXPECT_EQ(turn.turn.calls().size(), 1u);
}

}  // namespace
}  // namespace hostler
