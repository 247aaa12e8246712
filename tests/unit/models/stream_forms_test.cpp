// Streams as servers write them: errors inside a 200, words that end an answer, JSON over several
// lines, halves of characters, and counts of tokens in odd places.
#include <gtest/gtest.h>

#include "runner/models/finish_reasons.h"
#include "runner/models/sse_reader.h"
#include "tests/support/clients/turn_listener.h"

namespace hostler {
namespace {

using testing_support::ReadTurn;

std::string text_chunk(std::string_view text) {
  return R"({"choices":[{"index":0,"delta":{"content":)" + json_quote(text) + "}}]}";
}
std::string end_chunk(std::string_view reason) {
  return R"({"choices":[{"index":0,"delta":{},"finish_reason":")" + std::string(reason) + R"("}]})";
}

// Feeds the bytes of a body, cut after every `step` bytes.
void feed(ReadTurn& turn, std::string_view body, size_t step) {
  SseReader lines;
  auto read = [&] {
    while (std::optional<SseLine> line = lines.next()) turn.reader->read_line(*line);
  };
  for (; !body.empty(); body.remove_prefix(std::min(step, body.size()))) {
    lines.feed(body.substr(0, step));
    read();
  }
  lines.end();
  read();
  turn.reader->end();
}

std::string fault_of(std::string_view body, ProviderKind kind = ProviderKind::openai) {
  std::string message;
  for (size_t step : {body.size(), size_t{1}, size_t{7}}) {
    ReadTurn turn(kind);
    feed(turn, body, step);
    message = turn.reader->fault() ? turn.reader->fault()->error.message : "";
  }
  return message;
}

TEST(StreamForms, OfErrorsAreErrors) {
  for (const char* body :
       {"event: error\ndata: {\"message\":\"m\",\"code\":500}\n\ndata: [DONE]\n\n",
        "event: error\ndata: m\n\n", "event: error\r\ndata: {\"error\":\r\ndata: \"m\"}\r\n\r\n",
        "error: m\n\n", "error: {\"message\":\"m\"}\n\n", "data: {\"error\":\"m\"}\n\n",
        "data: {\"error\":{\"message\":\"m\"}}\n\n", "data: {\"message\":\"m\"}\n\n",
        "data: {\"detail\":\"m\"}\n\n", "data: {\"detail\":[{\"msg\":\"m\"}]}\n\n",
        "data: [{\"error\":{\"message\":\"m\",\"status\":\"UNAVAILABLE\"}}]\n\n",
        "data: {\"errors\":[{\"message\":\"m\"}]}\n\n", "{\"error\":{\"message\":\"m\"}}\n",
        "[{\"error\":{\"message\":\"m\"}}]\n\n",
        "data: {\"error_code\":18,\"error_msg\":\"m\"}\n\n", "event: error\ndata:\ndata: m\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\","
        "\"error\":{\"code\":502,\"message\":\"m\"}}]}\n\n",
        "data: {\"error\":{\"message\":\"Provider returned error\",\"metadata\":{\"raw\":"
        "\"{\\\"error\\\":{\\\"message\\\":\\\"m\\\"}}\"}}}\n\n"}) {
    std::string message = fault_of(body);
    EXPECT_TRUE(message == "m" || message == "Provider returned error: m") << body << message;
    // In the middle, too.
    std::string middle = "data: " + text_chunk("x") + "\n\n" + body;
    EXPECT_FALSE(fault_of(middle).empty()) << middle;
  }
  EXPECT_EQ(fault_of("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"
                     "\"overloaded_error\",\"message\":\"busy\"}}\n\n",
                     ProviderKind::anthropic),
            "busy");
  for (const char* wordless :
       {"event: error\ndata: {}\n\n", "event: error\ndata:\n\n", "event:error\n\n"}) {
    EXPECT_EQ(fault_of("data: " + text_chunk("x") + "\n\n" + wordless + "data: [DONE]\n\n"),
              "no message")
        << wordless;
  }
  EXPECT_EQ(fault_of("data: " + text_chunk("x") + "\n\n[DONE]\nerror:\n\n"), "") << "says nothing";
}

TEST(StreamForms, OfErrorsThatAreNone) {
  for (const char* nothing :
       {"null", "false", "0", "\"\"", "{}", "[]", R"({"message":"","code":0,"param":null})"}) {
    ReadTurn turn(ProviderKind::openai, {R"({"error":)" + std::string(nothing) +
                                             R"(,"choices":[{"index":0,"delta":{"content":"x"}}]})",
                                         end_chunk("stop")});
    EXPECT_TRUE(turn.is_good()) << nothing;
    EXPECT_EQ(turn.turn.text(), "x") << nothing;
  }
}

TEST(FinishReasons, HaveATable) {
  using enum FinishReason;
  const std::vector<std::pair<const char*, FinishReason>> known{
      {"stop", stop},
      {"STOP", stop},
      {"end_turn", stop},
      {"length", length},
      {"MAX_TOKENS", length},
      {"model_length", length},
      {"tool_calls", tool_calls},
      {"function_call", tool_calls},
      {"content_filter", content_filter},
      {"SAFETY", content_filter},
      {"RECITATION", content_filter},
      {"prohibited_content", content_filter},
      {"max_output_tokens", length},
      {"sensitive", content_filter}};
  for (const auto& [word, reason] : known) {
    EXPECT_EQ(finish_named(word).reason, reason) << word;
    EXPECT_FALSE(finish_named(word).is_fault) << word;
    EXPECT_TRUE(finish_named(word).is_known) << word;
  }
  for (const char* fault :
       {"error", "network_error", "insufficient_system_resource", "abort", "overloaded", "timeout",
        "malformed_function_call", "MALFORMED_RESPONSE", "server_error", "request_cancelled",
        "engine_overloaded", "UNEXPECTED_TOOL_CALL", "upstream_failure", "rate_limit_exceeded"}) {
    EXPECT_TRUE(finish_named(fault).is_fault) << fault;
  }
  EXPECT_EQ(finish_named("output_token_limit").reason, length);
  EXPECT_EQ(finish_named("harm_policy").reason, content_filter);
  EXPECT_EQ(finish_named("whatever").reason, stop);
}

TEST(FinishReasons, OfFaultsCompleteNothing) {
  for (const char* word : {"error", "network_error", "some_new_failure"}) {
    ReadTurn turn(ProviderKind::openai, {text_chunk("The answer is"), end_chunk(word), "[DONE]"});
    EXPECT_FALSE(turn.reader->is_complete()) << word;
    ASSERT_TRUE(turn.reader->fault()) << word;
    EXPECT_EQ(turn.reader->fault()->error.message,
              "it ended its answer with `" + std::string(word) + "`");
  }
  // The words of the provider, where it has some, are better.
  ReadTurn reported(ProviderKind::openai, {text_chunk("x"), end_chunk("error"),
                                           R"({"error":{"message":"out of memory"}})"});
  EXPECT_EQ(reported.reader->fault()->error.message, "out of memory");
  EXPECT_FALSE(ReadTurn(ProviderKind::openai, {end_chunk("whatever")}).is_good())
      << "an unknown word behind nothing";
  EXPECT_TRUE(ReadTurn(ProviderKind::openai, {text_chunk("x"), end_chunk("whatever")}).is_good());
}

TEST(StreamForms, WithoutAnyChoiceAreNoAnswer) {
  for (const std::vector<std::string>& events :
       {std::vector<std::string>{"[DONE]"},
        {R"({"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":0}})", "[DONE]"}}) {
    ReadTurn turn(ProviderKind::openai, events);
    EXPECT_FALSE(turn.reader->is_complete());
    ASSERT_TRUE(turn.reader->fault());
    EXPECT_EQ(turn.reader->fault()->kind, TurnFault::Kind::no_answer);
  }
  ReadTurn empty(ProviderKind::anthropic,
                 {R"({"type":"message_start","message":{}})", R"({"type":"message_stop"})"});
  ASSERT_TRUE(empty.reader->fault()) << "neither a block nor a reason";
  EXPECT_EQ(empty.reader->fault()->kind, TurnFault::Kind::no_answer);
}

TEST(FinishReasons, ThatAreTheWordNullAreNone) {
  for (const char* word : {"null", "None", "undefined", ""}) {
    std::string open = R"({"choices":[{"index":0,"delta":{"content":""},"finish_reason":")" +
                       std::string(word) + R"("}]})";
    EXPECT_FALSE(ReadTurn(ProviderKind::openai, {open, text_chunk("x")}).is_good()) << word;
    EXPECT_TRUE(
        ReadTurn(ProviderKind::openai, {open, text_chunk("x"), end_chunk("stop")}).is_good())
        << word;
  }
}

TEST(StreamForms, OfLines) {
  const std::string split =
      "data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"Hi\"}}]}\n";
  const std::string end = "data: " + end_chunk("stop") + "\n";
  for (std::string body : {split + "\n" + end + "\ndata: [DONE]\n\n", split + end + "data: [DONE]",
                           "\xEF\xBB\xBF: hello\n" + split + ": a comment\nid: 7\n\n" + end}) {
    for (const char* line_end : {"\n", "\r\n", "\r"}) {
      std::string written;
      for (char c : body) written += c == '\n' ? line_end : std::string(1, c);
      for (size_t step : {size_t{1}, size_t{2}, size_t{5}, written.size()}) {
        ReadTurn turn(ProviderKind::openai);
        feed(turn, written, step);
        EXPECT_TRUE(turn.is_good()) << written;
        EXPECT_EQ(turn.turn.text(), "Hi") << written;
      }
    }
  }
  EXPECT_EQ(fault_of("data: {\"choices\":\n\ndata: []}\n\n"),
            "it sent something that is not a JSON object")
      << "an event ends at a blank line";
}

TEST(StreamForms, OfALongLine) {
  std::string text((size_t{4} << 20) - 200, 'x');
  ReadTurn turn(ProviderKind::openai);
  feed(turn, "data: " + text_chunk(text) + "\ndata: " + end_chunk("stop") + "\n\n", 16 * 1024);
  EXPECT_TRUE(turn.is_good());
  EXPECT_EQ(turn.turn.text().size(), text.size());
}

TEST(StreamForms, OfAnEventInManyLinesTakeLinearTime) {
  std::string body = "data: {\"choices\":[\n";
  for (int i = 0; i < 300'000; ++i) body += "data: \n";
  ReadTurn turn(ProviderKind::openai);
  feed(turn, body, 64 * 1024);
  EXPECT_TRUE(turn.reader->fault());
}

std::string raw_delta(std::string_view member, std::string_view text) {
  return R"({"choices":[{"index":0,"delta":{")" + std::string(member) + R"(":")" +
         std::string(text) + R"("}}]})";
}

TEST(HalfPairs, MakeOneCharacter) {
  ReadTurn turn(ProviderKind::openai, {raw_delta("content", "smile \\ud83d"),
                                       raw_delta("content", "\\ude00 end"), end_chunk("stop")});
  EXPECT_EQ(turn.turn.text(), "smile \U0001F600 end");
  EXPECT_EQ(turn.listener.received, "smile |\U0001F600 end|");

  ReadTurn thinking(ProviderKind::openai,
                    {raw_delta("reasoning_content", "\\uD83D"),
                     raw_delta("reasoning_content", "\\uDE00"), end_chunk("stop")});
  EXPECT_EQ(thinking.turn.thinking, "\U0001F600");
  EXPECT_EQ(std::get<OpaquePart>(thinking.turn.parts.at(0)).data,
            "{\"reasoning_content\":\"\U0001F600\"}");

  auto call = [](std::string_view head, std::string_view arguments) {
    return R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,)" + std::string(head) +
           R"("function":{)" + (head.empty() ? "" : R"("name":"f",)") + R"("arguments":")" +
           std::string(arguments) + R"("}}]}}]})";
  };
  ReadTurn raw(ProviderKind::openai, {call(R"("id":"a",)", R"({\"x\":\"\ud83d)"),
                                      call("", R"(\ude00\"})"), end_chunk("tool_calls")});
  EXPECT_EQ(raw.turn.calls().at(0).arguments, "{\"x\":\"\U0001F600\"}");
  ReadTurn escaped(ProviderKind::openai, {call(R"("id":"a",)", R"({\"x\":\"\\ud83d)"),
                                          call("", R"(\\ude00\"})"), end_chunk("tool_calls")});
  EXPECT_EQ(escaped.turn.calls().at(0).arguments, R"({"x":"\ud83d\ude00"})");
}

TEST(HalfPairs, AloneAreReplacedAndNothingElseIsLost) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"a\\ud83d", "b"}, "a\uFFFDb"},
      {{"a\\ud83d"}, "a\uFFFD"},
      {{"\\ude00b"}, "\uFFFDb"},
      {{"\\ud83d\\ud83d", "\\ude00"}, "\uFFFD\U0001F600"},
      {{"a\\ud83d", "", "\\ude00"}, "a\U0001F600"},
      {{"\\u0000\\\\u0000 \\ud83d\\ude00\\ud83d"}, "\uFFFD\\u0000 \U0001F600\uFFFD"}};
  for (const auto& [pieces, expected] : cases) {
    std::vector<std::string> events;
    for (const std::string& text : pieces) events.push_back(raw_delta("content", text));
    events.push_back(end_chunk("stop"));
    ReadTurn turn(ProviderKind::openai, events);
    EXPECT_EQ(turn.turn.text(), expected) << pieces.front();
    EXPECT_TRUE(turn.is_good());
  }
}

TEST(Usage, IsReadWhereverItStands) {
  const std::string tokens = R"({"prompt_tokens":1234,"completion_tokens":567.0})";
  for (const std::vector<std::string>& events :
       {std::vector<std::string>{
            R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":)" + tokens +
            "}]}"},
        {end_chunk("stop"), R"({"choices":[],"x_groq":{"usage":)" + tokens + "}}"},
        {end_chunk("stop"), "[DONE]", R"({"choices":[{"index":0,"usage":)" + tokens + "}]}"},
        {end_chunk("stop"), "[DONE]", R"({"choices":[],"usage":)" + tokens + "}"},
        {R"({"choices":[],"usage":{"prompt_tokens":1234,"completion_tokens":1}})",
         end_chunk("stop"), R"({"choices":[],"usage":)" + tokens + "}"}}) {
    ReadTurn turn(ProviderKind::openai, events);
    EXPECT_TRUE(turn.is_good());
    EXPECT_TRUE(turn.turn.usage.measured) << events.front();
    EXPECT_EQ(turn.turn.usage.input_tokens, 1234);
    EXPECT_EQ(turn.turn.usage.output_tokens, 567) << events.front();
  }
}

}  // namespace
}  // namespace hostler
