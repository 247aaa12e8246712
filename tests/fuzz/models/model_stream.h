// Rules for both forms of model streams, for the two targets of them. The first byte decides how
// the stream is cut into pieces; the same bytes are also read as a whole document.
#pragma once

#include <vector>

#include "lib/json.h"
#include "lib/utf8.h"
#include "runner/models/sse_reader.h"
#include "runner/models/turn_reader.h"
#include "tests/fuzz/target.h"

namespace hostler::fuzz {

struct Listener final : ModelObserver {
  void on_text(TextChannel channel, std::string_view piece) override {
    (channel == TextChannel::answer ? text : thinking) += piece;
  }
  void on_retrying(int, int64_t, std::string_view) override {}
  std::string text;
  std::string thinking;
};

struct StreamLine {
  SseLine::Kind kind;
  std::string text;
  bool operator==(const StreamLine&) const = default;
};

inline std::vector<StreamLine> stream_lines(std::string_view bytes, size_t piece_bytes) {
  constexpr size_t line_bytes_max = 4096;
  std::vector<StreamLine> lines;
  SseReader reader(line_bytes_max);
  auto take = [&] {
    while (std::optional<SseLine> line = reader.next()) {
      require(line->text.size() <= line_bytes_max, "a line keeps its bound");
      require(line->text.find_first_of("\r\n") == std::string_view::npos, "a line is one line");
      lines.push_back({line->kind, std::string(line->text)});
    }
  };
  while (!bytes.empty()) {
    reader.feed(bytes.substr(0, piece_bytes));
    bytes.remove_prefix(std::min(piece_bytes, bytes.size()));
    take();
  }
  reader.end();
  take();
  return lines;
}

inline void check_turn(const TurnReader& reader, const ModelTurn& turn, const Listener& received) {
  require(turn.text() == received.text && turn.thinking == received.thinking,
          "all that is kept was shown");
  require(is_utf8(turn.text()) && is_utf8(turn.thinking), "texts are UTF-8");
  require(turn.text().size() + turn.thinking.size() <= turn_bytes_max, "a turn keeps its bound");
  require(turn.calls().size() <= turn_tool_calls_max, "calls keep their bound");
  const ModelUsage& usage = turn.usage;
  require(usage.input_tokens >= 0 && usage.output_tokens >= 0, "usage is not negative");
  require(usage.input_tokens <= 1'000'000'000 && usage.output_tokens <= 1'000'000'000, "is sane");
  require(usage.cache_read_tokens >= 0 && usage.cache_write_tokens >= 0 &&
              usage.cache_read_tokens + usage.cache_write_tokens <= usage.input_tokens,
          "what is cached is part of the input");
  for (const ToolCall& call : turn.calls()) {
    require(!call.id.empty(), "a call has an id");
    require(reader.fault() || !call.name.empty(), "a call names its tool");
    require(is_utf8(call.name) && is_utf8(call.id) && is_utf8(call.arguments), "in UTF-8");
  }
  if (!reader.is_complete() || reader.fault()) return;
  bool calls = turn.finish_reason == FinishReason::tool_calls;
  require(!calls || !turn.calls().empty(), "who ends with calls has some");
}

inline void read_stream(ProviderKind kind, std::string_view input) {
  size_t piece_bytes = take_byte(input) + 1;
  std::vector<StreamLine> lines = stream_lines(input, piece_bytes);
  require(lines == stream_lines(input, std::max<size_t>(input.size(), 1)), "pieces change nothing");
  ModelTurn turn;
  Listener received;
  std::unique_ptr<TurnReader> reader = make_turn_reader(kind, turn, received);
  for (const StreamLine& line : lines) reader->read_line({line.kind, line.text});
  reader->end();
  check_turn(*reader, turn, received);

  ModelTurn whole;
  Listener heard_whole;
  std::unique_ptr<TurnReader> document_reader = make_turn_reader(kind, whole, heard_whole);
  document_reader->read_document(input);
  document_reader->end();
  check_turn(*document_reader, whole, heard_whole);
  require(document_reader->is_complete() || document_reader->fault(), "a document is whole or bad");
}

// A request made of the input: its body is JSON that our own reader takes.
inline void check_request(const http::HttpRequest& request) {
  std::variant<Json, JsonFault> body = parse_json(request.body);
  require(std::holds_alternative<Json>(body), "what is sent is JSON");
}

inline ModelRequest request_of(ProviderKind kind, std::string_view input) {
  ModelRequest request;
  request.endpoint.provider_kind = kind;
  request.endpoint.model = "m";
  while (!input.empty()) {
    std::string_view line = take_line(input);
    ChatMessage message(static_cast<ChatRole>(take_byte(line) % 4));
    // Returns what is stored and what is read holds none.
    std::string text(line);
    std::erase(text, '\0');
    if (message.role == ChatRole::tool) message.tool_call_id = "c1";
    if (message.role == ChatRole::assistant && text.starts_with("call ")) {
      message.parts.emplace_back(ToolCall{"c1", "web_search", text.substr(5)});
    } else {
      message.parts.emplace_back(TextPart{text});
    }
    request.messages.push_back(std::move(message));
  }
  request.tools.push_back({"web_search", "searches", R"({"type":"object"})"});
  return request;
}

}  // namespace hostler::fuzz
