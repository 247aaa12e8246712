// The parts of a message: their stored form, and what providers want back in the order it came.
#include "runner/models/parts.h"

#include <gtest/gtest.h>

#include "runner/models/openai.h"
#include "tests/support/clients/turn_listener.h"

namespace hostler {
namespace {

using testing_support::ReadTurn;
using Place = OpaquePart::Place;

std::string delta(std::string_view members) {
  return R"({"choices":[{"index":0,"delta":{)" + std::string(members) + "}}]}";
}
std::string ended(std::string_view reason) {
  return R"({"choices":[{"index":0,"delta":{},"finish_reason":")" + std::string(reason) + R"("}]})";
}
constexpr const char* call =
    R"("tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}])";

// The turn's parts as they are stored, without who sent them.
std::string stored(const ModelTurn& turn) { return parts_json(turn.parts); }
std::string own_members(const ModelTurn& turn) {
  const OpaquePart* own =
      turn.parts.empty() ? nullptr : std::get_if<OpaquePart>(&turn.parts.front());
  return own != nullptr && own->place == Place::message ? own->data : "";
}

TEST(Parts, AreReadAsTheyWereStored) {
  Parts parts{TextPart{"a\"b"}, OpaquePart{Place::message, R"({"reasoning":"x"})", "o1"},
              ToolCall{"c1", "f", R"({"x":1})"},
              OpaquePart{Place::call, R"({"extra_content":{}})", "o1"},
              OpaquePart{Place::block, R"({"type":"thinking"})"}};
  std::string json = parts_json(parts);
  EXPECT_EQ(parts_json(parts_from(json)), json);
  EXPECT_EQ(parts_from(json).size(), parts.size());
  EXPECT_TRUE(parts_from("").empty());
  EXPECT_TRUE(parts_from("{}").empty());
  EXPECT_TRUE(parts_from(R"([{"type":"image"},{"type":"opaque","place":"elsewhere"},5])").empty());
}

TEST(Parts, JoinTextsAroundACallWithABlankLine) {
  EXPECT_EQ(text_of({TextPart{"a"}, TextPart{"b"}, ToolCall{}, ToolCall{}, TextPart{"c"}}),
            "ab\n\nc");
  EXPECT_EQ(text_of({ToolCall{}, TextPart{"c"}}), "c");
}

TEST(Parts, KeepTheirTextWhenCallsAreErased) {
  Parts parts{TextPart{"a"}, ToolCall{"1", "f", "{}"}, OpaquePart{Place::call, "{}"},
              TextPart{"b"}, ToolCall{"2", "g", "{}"}, OpaquePart{Place::call, "{}"}};
  erase_calls(parts, [](const ToolCall& made) { return made.name == "f"; });
  EXPECT_EQ(text_of(parts), "a\n\nb");
  ASSERT_EQ(calls_of(parts).size(), 1u);
  EXPECT_EQ(calls_of(parts).front().id, "2");
  EXPECT_EQ(opaque_bytes_of(parts), 2u) << "the data of the erased call is gone with it";
}

TEST(Parts, MakeAnObjectOfArguments) {
  for (const char* nothing : {"", " \n", "null", " null "}) {
    EXPECT_EQ(arguments_object(nothing), "{}") << nothing;
  }
  EXPECT_EQ(arguments_object(R"({ "x": 1 })"), R"({ "x": 1 })");
  EXPECT_EQ(arguments_object("[1]"), R"({"not_an_object":"[1]"})");
  EXPECT_EQ(arguments_object(R"({"x)"), R"({"not_an_object":"{\"x"})");
}

TEST(ProviderParts, IsJoinedFromItsPieces) {
  ReadTurn turn(ProviderKind::openai,
                {delta(R"("reasoning_content":"I should ")"),
                 delta(R"("reasoning_content":"look.")"), delta(call), ended("tool_calls")});
  EXPECT_EQ(own_members(turn.turn), R"({"reasoning_content":"I should look."})");
  EXPECT_EQ(turn.turn.thinking, "I should look.");

  ReadTurn details(
      ProviderKind::openai,
      {delta(R"("reasoning":"hm",)"
             R"("reasoning_details":[{"type":"reasoning.text","index":0,"text":"h"}])"),
       delta(
           R"("reasoning_details":[{"type":"reasoning.text","index":0,"text":"m","signature":"s"},)"
           R"({"type":"reasoning.encrypted","index":1,"data":"xyz"}])"),
       delta(R"("extra_content":{"google":{"thought":true}})"), delta(R"("content":"x")"),
       ended("stop")});
  EXPECT_EQ(
      own_members(details.turn),
      R"({"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","index":0,)"
      R"("text":"hm","signature":"s"},{"type":"reasoning.encrypted","index":1,"data":"xyz"}],)"
      R"("extra_content":{"google":{"thought":true}}})");
}

TEST(ProviderParts, OfACallStandsBehindIt) {
  ReadTurn turn(
      ProviderKind::openai,
      {delta(R"("content":"Let me look.")"),
       delta(R"("tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"},)"
             R"("extra_content":{"google":{"thought_signature":"c2ln"}}}])"),
       delta(R"("content":"Done.")"), ended("tool_calls")});
  EXPECT_EQ(stored(turn.turn),
            R"([{"type":"text","text":"Let me look."},)"
            R"({"type":"call","id":"a","name":"f","arguments":"{}"},)"
            R"({"type":"opaque","place":"call","origin":"","data":)"
            R"("{\"extra_content\":{\"google\":{\"thought_signature\":\"c2ln\"}}}"},)"
            R"({"type":"text","text":"Done."}])");
  EXPECT_EQ(turn.turn.text(), "Let me look.\n\nDone.");
  EXPECT_EQ(turn.listener.received, "Let me look.|\n\n|Done.|") << "deltas equal the stored text";
}

TEST(ProviderParts, OfMistralStandsAmongTheTexts) {
  auto thought = [](std::string_view text) {
    return delta(R"("content":[{"type":"thinking","thinking":[{"type":"text","text":")" +
                 std::string(text) + R"("}]}])");
  };
  ReadTurn turn(ProviderKind::openai,
                {thought("I "), thought("think."), delta(R"("content":"So")"), ended("stop")});
  const std::string block = R"({"type":"thinking","thinking":[{"type":"text","text":"I think."}]})";
  ASSERT_EQ(turn.turn.parts.size(), 2u);
  EXPECT_EQ(std::get<OpaquePart>(turn.turn.parts[0]).data, block);
  EXPECT_EQ(turn.turn.thinking, "I think.");
  ModelRequest request;
  request.messages = {{ChatRole::user, "q"}, {ChatRole::assistant, turn.turn.parts}};
  EXPECT_NE(openai_request(request).body.find(R"({"role":"assistant","content":[)" + block +
                                              R"(,{"type":"text","text":"So"}]})"),
            std::string::npos)
      << openai_request(request).body;
}

std::string block(int index, std::string_view start) {
  return R"({"type":"content_block_start","index":)" + std::to_string(index) +
         R"(,"content_block":)" + std::string(start) + "}";
}
std::string block_delta(int index, std::string_view inner) {
  return R"({"type":"content_block_delta","index":)" + std::to_string(index) + R"(,"delta":)" +
         std::string(inner) + "}";
}
std::string block_end(int index) {
  return R"({"type":"content_block_stop","index":)" + std::to_string(index) + "}";
}

TEST(ProviderParts, OfAnthropicKeepsItsOrder) {
  ReadTurn turn(ProviderKind::anthropic,
                {R"({"type":"message_start","message":{}})",
                 block(0, R"({"type":"thinking","thinking":"","signature":""})"),
                 block_delta(0, R"({"type":"thinking_delta","thinking":"I look "})"),
                 block_delta(0, R"({"type":"thinking_delta","thinking":"it up."})"),
                 block_delta(0, R"({"type":"signature_delta","signature":"c2ln"})"), block_end(0),
                 block(1, R"({"type":"redacted_thinking","data":"xyz"})"), block_end(1),
                 block(2, R"({"type":"tool_use","id":"t","name":"f","input":{}})"),
                 block_delta(2, R"({"type":"input_json_delta","partial_json":"{}"})"), block_end(2),
                 block(3, R"({"type":"thinking","thinking":"never ended"})"),
                 R"({"type":"message_delta","delta":{"stop_reason":"tool_use"}})",
                 R"({"type":"message_stop"})"});
  ASSERT_EQ(turn.turn.parts.size(), 3u) << "a block that never ended is dropped";
  EXPECT_EQ(std::get<OpaquePart>(turn.turn.parts[0]).data,
            R"({"type":"thinking","thinking":"I look it up.","signature":"c2ln"})");
  EXPECT_EQ(std::get<OpaquePart>(turn.turn.parts[1]).data,
            R"({"type":"redacted_thinking","data":"xyz"})");
  EXPECT_EQ(std::get<ToolCall>(turn.turn.parts[2]).name, "f");

  ReadTurn open(ProviderKind::anthropic,
                {block(0, R"({"type":"thinking","thinking":"x","signature":"c2ln"})"),
                 block(1, R"({"type":"text","text":"y"})"),
                 R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})"});
  ASSERT_EQ(open.turn.parts.size(), 2u) << "a signed block is whole, be it closed or not";
  EXPECT_EQ(std::get<OpaquePart>(open.turn.parts[0]).data,
            R"({"type":"thinking","thinking":"x","signature":"c2ln"})");
}

TEST(ProviderParts, GoesBackUnlessItWasRefused) {
  ModelRequest request;
  Parts answer{OpaquePart{OpaquePart::Place::message, R"({"reasoning_content":"own"})", "o"},
               ToolCall{"c", "f", "{}"},
               OpaquePart{OpaquePart::Place::call, R"({"extra_content":{"a":1}})", "o"}};
  request.messages = {{ChatRole::user, "q"}, {ChatRole::assistant, answer}};
  std::string body = openai_request(request).body;
  EXPECT_NE(body.find(R"("reasoning_content":"own")"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("extra_content":{"a":1})"), std::string::npos) << body;
  request.traits.no_own_reasoning = true;
  body = openai_request(request).body;
  EXPECT_EQ(body.find("own"), std::string::npos) << body;
  EXPECT_EQ(body.find("extra_content"), std::string::npos) << body;
}

}  // namespace
}  // namespace hostler
