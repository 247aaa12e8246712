// The tables of odd_stream.h.
#include "dev/fake-model/odd_stream.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "lib/utf8.h"

namespace hostler::fake_model {
namespace {

constexpr std::string_view habit_names[] = {"crlf",  "cr",          "bom",     "comments",
                                            "split", "empty-error", "no-space"};

// A line break behind each comma that stands outside of texts: data goes on in the next line.
std::string split_fields(std::string_view json) {
  std::string lines = "data: ";
  bool is_in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    lines += c;
    if (is_in_text && c == '\\' && i + 1 < json.size()) {
      lines += json[++i];
    } else if (c == '"') {
      is_in_text = !is_in_text;
    } else if (c == ',' && !is_in_text) {
      lines += "\ndata: ";
    }
  }
  return lines;
}

std::string with_ends(std::string_view lines, std::string_view end) {
  std::string text;
  for (char c : lines) {
    if (c == '\n') {
      text += end;
    } else {
      text += c;
    }
  }
  return text;
}

std::string name_and_arguments(std::string_view name, std::string_view arguments) {
  return R"("function":{"name":)" + json_quote(name) + R"(,"arguments":)" + json_quote(arguments) +
         "}";
}

std::string in_list(const std::string& items) { return "\"tool_calls\":[" + items + "]"; }

std::vector<std::string> pieces_of(std::string_view arguments) {
  constexpr size_t piece_bytes = 7;
  std::vector<std::string> pieces;
  while (!arguments.empty()) {
    std::string_view piece = utf8_prefix(arguments, piece_bytes);
    pieces.emplace_back(piece);
    arguments.remove_prefix(piece.size());
  }
  return pieces;
}

std::string id_of(const ToolCall& call) { return R"("id":)" + json_quote(call.id); }
std::string only_arguments(std::string_view piece) {
  return R"("function":{"arguments":)" + json_quote(piece) + "}";
}

// No index: every piece repeats the id.
std::vector<std::string> by_id(const std::vector<ToolCall>& calls) {
  std::vector<std::string> deltas;
  for (const ToolCall& call : calls) {
    std::string id = id_of(call);
    deltas.push_back(
        in_list("{" + id + R"(,"type":"function",)" + name_and_arguments(call.name, "") + "}"));
    for (const std::string& piece : pieces_of(call.arguments)) {
      deltas.push_back(in_list("{" + id + "," + only_arguments(piece) + "}"));
    }
  }
  return deltas;
}

// Neither index nor id behind the first piece.
std::vector<std::string> nameless(const std::vector<ToolCall>& calls) {
  std::vector<std::string> deltas;
  for (const ToolCall& call : calls) {
    deltas.push_back(in_list("{" + id_of(call) + R"(,"type":"function",)" +
                             name_and_arguments(call.name, "") + "}"));
    for (const std::string& piece : pieces_of(call.arguments)) {
      deltas.push_back(in_list("{" + only_arguments(piece) + "}"));
    }
  }
  return deltas;
}

// Whole calls, each in a delta of its own with index 0 and without an id.
std::vector<std::string> same_index(const std::vector<ToolCall>& calls) {
  std::vector<std::string> deltas;
  for (const ToolCall& call : calls) {
    deltas.push_back(in_list(R"({"index":0,"type":"function",)" +
                             name_and_arguments(call.name, call.arguments) + "}"));
  }
  return deltas;
}

// All calls in one delta.
std::vector<std::string> together(const std::vector<ToolCall>& calls) {
  std::string items;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i > 0) items += ",";
    items += "{\"index\":" + std::to_string(i) + "," + id_of(calls[i]) + R"(,"type":"function",)" +
             name_and_arguments(calls[i].name, calls[i].arguments) + "}";
  }
  return {in_list(items)};
}

// A piece of each call in turn.
std::vector<std::string> mixed(const std::vector<ToolCall>& calls) {
  std::vector<std::string> deltas;
  std::vector<std::vector<std::string>> pieces;
  size_t most = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    deltas.push_back(in_list("{\"index\":" + std::to_string(i) + "," + id_of(calls[i]) +
                             R"(,"type":"function",)" + name_and_arguments(calls[i].name, "") +
                             "}"));
    pieces.push_back(pieces_of(calls[i].arguments));
    most = std::max(most, pieces.back().size());
  }
  for (size_t nth = 0; nth < most; ++nth) {
    for (size_t i = 0; i < calls.size(); ++i) {
      if (nth >= pieces[i].size()) continue;
      deltas.push_back(
          in_list("{\"index\":" + std::to_string(i) + "," + only_arguments(pieces[i][nth]) + "}"));
    }
  }
  return deltas;
}

// The arguments as an object, as Ollama writes them.
std::vector<std::string> objects(const std::vector<ToolCall>& calls) {
  std::vector<std::string> deltas;
  for (size_t i = 0; i < calls.size(); ++i) {
    std::string arguments = calls[i].arguments.empty() ? "{}" : calls[i].arguments;
    deltas.push_back(in_list("{\"index\":" + std::to_string(i) + "," + id_of(calls[i]) +
                             R"(,"function":{"name":)" + json_quote(calls[i].name) +
                             R"(,"arguments":)" + arguments + "}}"));
  }
  return deltas;
}

// The deprecated member, which has room for one call.
std::vector<std::string> function_call(const std::vector<ToolCall>& calls) {
  const ToolCall& call = calls.front();
  std::vector<std::string> deltas;
  deltas.push_back(R"("function_call":{"name":)" + json_quote(call.name) + R"(,"arguments":""})");
  for (const std::string& piece : pieces_of(call.arguments)) {
    deltas.push_back(R"("function_call":{"arguments":)" + json_quote(piece) + "}");
  }
  return deltas;
}

struct PieceRow {
  std::string_view name;
  std::vector<std::string> (*deltas)(const std::vector<ToolCall>& calls);
};

constexpr PieceRow piece_rows[] = {
    {"id", by_id},    {"nameless", nameless}, {"same-index", same_index},       {"whole", together},
    {"mixed", mixed}, {"object", objects},    {"function_call", function_call},
};

constexpr auto piece_names = [] {
  std::array<std::string_view, std::size(piece_rows)> all;
  for (size_t i = 0; i < std::size(piece_rows); ++i) all[i] = piece_rows[i].name;
  return all;
}();

struct ErrorRow {
  std::string_view name;
  std::string_view bytes;
};

constexpr ErrorRow error_rows[] = {
    {"event", "event: error\ndata: {\"message\":\"upstream exploded\",\"code\":500}\n\n"},
    {"line", "error: {\"message\":\"upstream exploded\",\"code\":500}\n\n"},
    {"bare", "{\"error\":{\"message\":\"upstream exploded\",\"code\":500}}\n\n"},
    {"text", "data: {\"error\":\"upstream exploded\"}\n\n"},
    {"message", "data: {\"message\":\"upstream exploded\",\"code\":500}\n\n"},
    {"detail", "data: {\"detail\":\"upstream exploded\"}\n\n"},
    {"array", "data: [{\"error\":{\"code\":500,\"message\":\"upstream exploded\"}}]\n\n"},
    {"choice",
     "data: {\"choices\":[{\"index\":0,\"delta\":{},\"error\":{\"code\":502,"
     "\"message\":\"upstream exploded\"},\"finish_reason\":\"error\"}]}\n\n"},
};

constexpr auto error_names = [] {
  std::array<std::string_view, std::size(error_rows)> all;
  for (size_t i = 0; i < std::size(error_rows); ++i) all[i] = error_rows[i].name;
  return all;
}();

}  // namespace

std::span<const std::string_view> stream_habit_names() { return habit_names; }

void OddLines::add(std::string_view habit) {
  has_crlf_ = has_crlf_ || habit == "crlf";
  has_cr_ = has_cr_ || habit == "cr";
  has_bom_ = has_bom_ || habit == "bom";
  has_comments_ = has_comments_ || habit == "comments";
  is_split_ = is_split_ || habit == "split";
  has_empty_errors_ = has_empty_errors_ || habit == "empty-error";
  lacks_space_ = lacks_space_ || habit == "no-space";
}

std::string OddLines::rewritten(std::string_view lines) {
  constexpr std::string_view mark = "data: ";
  constexpr std::string_view nothings[] = {"null", "false", "0", "\"\"", "{}", "[]"};
  std::string text;
  while (!lines.empty()) {
    size_t end = std::min(lines.find('\n'), lines.size() - 1);
    std::string line(lines.substr(0, end + 1));
    lines.remove_prefix(end + 1);
    if (line.starts_with(mark) && has_comments_) text += ": keep-alive\n\n:\n";
    if (line.starts_with("data: {") && has_empty_errors_) {
      line.insert(mark.size() + 1,
                  "\"error\":" + std::string(nothings[events_++ % std::size(nothings)]) + ",");
    }
    if (line.starts_with("data: {") && is_split_) line = split_fields(line.substr(mark.size()));
    if (line.starts_with(mark) && lacks_space_ && !is_split_) line.erase(mark.size() - 1, 1);
    text += line;
  }
  if (has_crlf_ || has_cr_) text = with_ends(text, has_crlf_ ? "\r\n" : "\r");
  if (has_bom_ && !has_begun_) text.insert(0, "\xef\xbb\xbf");
  has_begun_ = true;
  return text;
}

std::span<const std::string_view> call_piece_names() { return piece_names; }

std::vector<std::string> odd_call_deltas(std::string_view habit,
                                         const std::vector<ToolCall>& calls) {
  for (const PieceRow& row : piece_rows) {
    if (row.name == habit && !calls.empty()) return row.deltas(calls);
  }
  return {};
}

std::span<const std::string_view> stream_error_names() { return error_names; }

std::string odd_stream_error(std::string_view habit) {
  for (const ErrorRow& row : error_rows) {
    if (row.name == habit) return std::string(row.bytes);
  }
  return {};
}

}  // namespace hostler::fake_model
