// Streams of turns that the bytes of a fuzzer choose, and the calls that the model wrote in them:
// pieces in any order that servers use, in any encoding of lines and characters, ended anywhere.
// For the target model_turns.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "lib/json.h"
#include "tests/fuzz/target.h"

namespace hostler::fuzz {

struct WrittenCall {
  std::string name;
  std::string arguments;  // all of it, JSON of an object
  bool is_whole = false;  // all of it was written
};

struct WrittenTurn {
  std::string bytes;
  size_t piece_bytes = 1;  // how much of them arrives at a time
  std::vector<WrittenCall> calls;
};

// Text of the model as UTF-16: cut between any two units, in the midst of a character too.
class Units {
 public:
  explicit Units(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
      auto lead = static_cast<unsigned char>(text[i]);
      size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
      unsigned character = length == 1 ? lead : lead & (0xFFu >> (length + 1));
      for (size_t k = 1; k < length; ++k) {
        character = character << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
      }
      if (character < 0x10000) {
        units_.push_back(character);
      } else {
        units_.push_back(0xD800 + ((character - 0x10000) >> 10));
        units_.push_back(0xDC00 + (character & 0x3FF));
      }
      i += length;
    }
  }
  bool is_over() const { return next_ == units_.size(); }
  // Writes it as a JSON text without quotation marks.
  std::string take(size_t count) {
    std::string text;
    for (; count > 0 && !is_over(); --count) {
      unsigned unit = units_[next_++];
      bool is_plain = unit >= 0x20 && unit < 0x80 && unit != '"' && unit != '\\';
      text += is_plain ? std::string(1, static_cast<char>(unit)) : fmt::format("\\u{:04x}", unit);
    }
    return text;
  }

 private:
  std::vector<unsigned> units_;
  size_t next_ = 0;
};

// How events become bytes.
class EventWriter {
 public:
  EventWriter(WrittenTurn& written, unsigned habits) : written_(written), habits_(habits) {
    if (habits_ & 1u) written_.bytes = "\xef\xbb\xbf";
  }
  void event(std::string_view name, std::string_view json) {
    if (habits_ & 2u) line(": keep-alive");
    if (!name.empty()) line("event: " + std::string(name));
    std::string data = habits_ & 4u ? "data:" : "data: ";
    bool is_in_text = false;
    for (size_t i = 0; i < json.size(); ++i) {
      data += json[i];
      if (is_in_text && json[i] == '\\') {
        data += json[++i];
      } else if (json[i] == '"') {
        is_in_text = !is_in_text;
      } else if (json[i] == ',' && !is_in_text && (habits_ & 8u)) {
        line(data);
        data = "data: ";
      }
    }
    line(data);
    line("");
  }

 private:
  void line(std::string_view text) {
    constexpr std::string_view ends[] = {"\n", "\r\n", "\r", "\n"};
    written_.bytes += text;
    written_.bytes += ends[habits_ >> 4 & 3u];
  }
  WrittenTurn& written_;
  unsigned habits_;
};

struct OpenCall {
  Units arguments;
  bool is_begun = false;
};

// The calls that the input chooses; ids are c0, c1, ….
inline std::vector<OpenCall> chosen_calls(std::string_view& input, WrittenTurn& written) {
  constexpr std::string_view names[] = {"weather", "traffic", "delete_files"};
  constexpr std::string_view arguments[] = {R"({"city":"Rome"})",
                                            R"({"a":{"b":[1,"}{",{}]},"c":null})",
                                            R"({"path":"/tmp/\"x\\"})",
                                            R"({"text":"Zürich 😀, 世界","n":1e3})",
                                            "{}",
                                            R"({ "spaced" : [ ] })"};
  std::vector<OpenCall> calls;
  unsigned count = take_byte(input) % 5;
  for (unsigned i = 0; i < count; ++i) {
    unsigned choice = take_byte(input);
    written.calls.push_back(
        {std::string(names[choice % 3]), std::string(arguments[choice / 3 % 6])});
    calls.push_back({Units(written.calls.back().arguments)});
  }
  return calls;
}

// How servers tell pieces of calls apart in OpenAI's form.
enum class PieceStyle { index, index_mixed, id, id_mixed, nameless, same_index, whole, function };

inline std::string openai_piece(PieceStyle style, size_t nth, const std::string& name,
                                const std::string& arguments, bool begins) {
  std::string function = begins ? fmt::format(R"("name":"{}",)", name) : "";
  function = fmt::format(R"({{{}"arguments":"{}"}})", function, arguments);
  std::string place = fmt::format(R"("index":{},)", nth);
  std::string id = fmt::format(R"("id":"c{}",)", nth);
  switch (style) {
    case PieceStyle::index:
    case PieceStyle::index_mixed:
    case PieceStyle::whole:
      if (begins) place += id;
      break;
    case PieceStyle::id:
    case PieceStyle::id_mixed:
      place = id;
      break;
    case PieceStyle::nameless:
      place = begins ? id : "";
      break;
    case PieceStyle::same_index:
      place = R"("index":0,)";
      break;
    case PieceStyle::function:
      return R"("function_call":)" + function;
  }
  return fmt::format(R"("tool_calls":[{{{}"function":{}}}])", place, function);
}

inline void write_openai_end(unsigned choice, EventWriter& events) {
  constexpr std::string_view words[] = {"stop",  "tool_calls", "length", "content_filter",
                                        "error", "eos",        "odd",    "function_call"};
  if (choice % 4 == 3) {
    if (choice & 32u) events.event("error", R"({"message":"upstream exploded"})");
  } else {
    events.event("",
                 fmt::format(R"({{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{}"}}]}})",
                             words[choice / 4 % 8]));
  }
  if (choice % 4 != 2) events.event("", "[DONE]");
}

inline WrittenTurn write_openai_turn(std::string_view input) {
  WrittenTurn written;
  written.piece_bytes = take_byte(input) + 1;
  EventWriter events(written, take_byte(input));
  auto style = static_cast<PieceStyle>(take_byte(input) % 8);
  unsigned end = take_byte(input);
  std::vector<OpenCall> calls = chosen_calls(input, written);
  bool has_one = style == PieceStyle::function;
  if (has_one && calls.size() > 1) calls.resize(1, OpenCall{Units("")}), written.calls.resize(1);
  bool is_mixed = style == PieceStyle::index_mixed || style == PieceStyle::id_mixed;
  bool is_whole = style == PieceStyle::whole || style == PieceStyle::same_index;
  size_t open = 0;
  auto delta = [&](const std::string& members) {
    events.event("", R"({"choices":[{"index":0,"delta":{)" + members + "}}]}");
  };
  for (int ops = 0; ops < 200 && !input.empty(); ++ops) {
    unsigned op = take_byte(input);
    if (op % 8 == 0) delta(fmt::format(R"("content":"say {} ")", op));
    if (op % 8 == 1) delta(R"("reasoning_content":"hm \ud83d\ude00 ")");
    if (op % 8 == 2) {
      delta(
          fmt::format(R"("reasoning_details":[{{"type":"reasoning.encrypted","data":"{}"}}])", op));
    }
    if (op % 8 < 3 || calls.empty()) continue;
    size_t nth = is_mixed ? op / 8 % calls.size() : open;
    if (nth >= calls.size()) continue;
    OpenCall& call = calls[nth];
    bool begins = !std::exchange(call.is_begun, true);
    std::string piece = call.arguments.take(is_whole ? 1000 : op / 8 % 16);
    delta(openai_piece(style, nth, written.calls[nth].name, piece, begins));
    written.calls[nth].is_whole = call.arguments.is_over();
    if (call.arguments.is_over()) open = std::max(open, nth + 1);
  }
  write_openai_end(end, events);
  return written;
}

// A block of Anthropic's form.
struct OpenBlock {
  size_t index;
  size_t call;  // of tool_use; the others: no such call
};

inline void write_anthropic_end(unsigned choice, EventWriter& events) {
  constexpr std::string_view words[] = {"end_turn", "tool_use", "max_tokens", "refusal",
                                        "error",    "odd",      "pause_turn", "stop_sequence"};
  if (choice % 4 != 3) {
    events.event("message_delta", fmt::format(R"({{"type":"message_delta","delta":)"
                                              R"({{"stop_reason":"{}"}},"usage":{{}}}})",
                                              words[choice / 4 % 8]));
  }
  if (choice % 4 != 2) events.event("message_stop", R"({"type":"message_stop"})");
}

inline WrittenTurn write_anthropic_turn(std::string_view input) {
  WrittenTurn written;
  written.piece_bytes = take_byte(input) + 1;
  EventWriter events(written, take_byte(input));
  unsigned end = take_byte(input);
  std::vector<OpenCall> calls = chosen_calls(input, written);
  std::vector<OpenBlock> open;
  size_t blocks = 0;
  size_t begun_calls = 0;
  auto delta = [&](size_t index, const std::string& members) {
    events.event("content_block_delta",
                 fmt::format(R"({{"type":"content_block_delta","index":{},"delta":{{{}}}}})", index,
                             members));
  };
  auto block = [&](const std::string& members, size_t call) {
    events.event(
        "content_block_start",
        fmt::format(R"({{"type":"content_block_start","index":{},"content_block":{{{}}}}})", blocks,
                    members));
    open.push_back({blocks++, call});
  };
  events.event("message_start", R"({"type":"message_start","message":{"usage":{}}})");
  for (int ops = 0; ops < 200 && !input.empty(); ++ops) {
    unsigned op = take_byte(input);
    if (op % 8 == 0) {
      block(R"("type":"text","text":"")", calls.size());
      delta(blocks - 1, fmt::format(R"("type":"text_delta","text":"say {} ")", op));
    } else if (op % 8 == 1) {
      block(R"("type":"thinking","thinking":"","signature":"")", calls.size());
      delta(blocks - 1, R"("type":"thinking_delta","thinking":"hm ")");
      delta(blocks - 1, R"("type":"signature_delta","signature":"c2ln")");
    } else if (op % 8 == 2) {
      block(R"("type":"redacted_thinking","data":"cmVk")", calls.size());
    } else if (op % 8 == 3 && !open.empty()) {
      size_t place = op / 8 % open.size();
      events.event("content_block_stop",
                   fmt::format(R"({{"type":"content_block_stop","index":{}}})", open[place].index));
      // A part that was not written before its block ended is never written.
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(place));
    } else if (op % 8 == 4 && begun_calls < calls.size()) {
      size_t nth = begun_calls++;
      block(fmt::format(R"("type":"tool_use","id":"c{}","name":"{}","input":{{}})", nth,
                        written.calls[nth].name),
            nth);
    } else if (!open.empty()) {
      OpenBlock& chosen = open[op / 8 % open.size()];
      if (chosen.call >= calls.size()) continue;
      Units& arguments = calls[chosen.call].arguments;
      delta(chosen.index, fmt::format(R"("type":"input_json_delta","partial_json":"{}")",
                                      arguments.take(1 + op / 8)));
      written.calls[chosen.call].is_whole = arguments.is_over();
    }
  }
  write_anthropic_end(end, events);
  return written;
}

}  // namespace hostler::fuzz
