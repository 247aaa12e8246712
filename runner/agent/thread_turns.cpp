// See runner/agent/thread_turns.h.
#include "runner/agent/thread_turns.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lib/json.h"
#include "lib/utf8.h"
#include "runner/agent/conversation.h"
#include "runner/agent/run_parts.h"
#include "runner/tools/result_words.h"

namespace hostler::runner {
namespace {

constexpr std::string_view cut_note = "… (cut: the result is longer)";

// A JSON string that was cut: its longest beginning that can be read.
std::string mended_json(std::string text) {
  constexpr size_t escape_bytes_max = 12;
  if (!text.starts_with('"')) return text;
  for (size_t dropped = 0; dropped <= escape_bytes_max && dropped < text.size(); ++dropped) {
    std::string closed = text.substr(0, text.size() - dropped) + '"';
    if (parse_json_or_nothing(closed)) return closed;
  }
  return text;
}

std::string words_of(const Json& result, size_t bytes_max) {
  std::string_view code = result.text_or("error_code");
  if (!code.empty()) {
    return tool_error_json(std::string(code), std::string(result.text_or("error_message")));
  }
  const Json* is_cut = result.find("is_cut");
  bool was_cut = is_cut != nullptr && is_cut->as_boolean() != nullptr && *is_cut->as_boolean();
  std::string words(result.text_or("result"));
  if (was_cut) words = mended_json(std::move(words));
  words = words_of_result(words);
  if (words.size() <= bytes_max && !was_cut) return words;
  words.resize(utf8_prefix(words, bytes_max).size());
  return words + std::string(cut_note);
}

// Returns the part of the answer after its run's turns, or nothing if it does not begin with their
// texts.
std::optional<std::string> text_after(std::string_view answer,
                                      const std::vector<StoredTurn>& turns) {
  std::string before;
  for (const StoredTurn& turn : turns) {
    if (has_calls(turn.parts)) append_turn_text(before, text_of(turn.parts));
  }
  if (!answer.starts_with(before)) return std::nullopt;
  answer.remove_prefix(before.size());
  if (!before.empty() && answer.starts_with(turn_separator)) {
    answer.remove_prefix(turn_separator.size());
  }
  return std::string(answer);
}

void add_turns(const ChatMessage& answer, const std::vector<StoredTurn>& turns,
               std::vector<ChatMessage>& all) {
  std::string shown = answer.text();
  std::optional<std::string> rest = text_after(shown, turns);
  bool is_written = false;
  for (const StoredTurn& turn : turns) {
    bool calls_tools = has_calls(turn.parts);
    // Without calls it is the answer, or one that was discarded.
    if (!calls_tools && (!turn.is_answer || !rest)) continue;
    is_written = !calls_tools;
    ChatMessage& answered = all.emplace_back(ChatRole::assistant, turn.parts);
    if (!rest) {
      std::erase_if(answered.parts,
                    [](const Part& part) { return std::holds_alternative<TextPart>(part); });
    }
    for (const ToolCall& call : calls_of(turn.parts)) {
      all.emplace_back(ChatRole::tool, turn.result_of(call.id)).tool_call_id = call.id;
    }
  }
  std::string text = rest.value_or(shown);
  if (!is_written && !text.empty()) all.emplace_back(ChatRole::assistant, std::move(text));
}

}  // namespace

std::string StoredTurn::result_of(std::string_view call_id) const {
  auto found = results.find(call_id);
  if (found != results.end()) return found->second;
  return tool_error_json("tool.timeout", "The call was not finished.");
}

StoredTurn stored_turn(std::string_view parts_json, std::string_view results_json,
                       size_t result_bytes_max) {
  StoredTurn turn;
  turn.parts = parts_from(parts_json);
  std::optional<Json> results = parse_json_or_nothing(results_json);
  if (!results || !results->is_array()) return turn;
  for (const Json& result : *results->as_array()) {
    turn.results.emplace(result.text_or("tool_call_id"), words_of(result, result_bytes_max));
  }
  return turn;
}

std::vector<StoredTurn> stored_turns_of(const postgres::Result& rows, size_t result_bytes_max) {
  std::vector<StoredTurn> turns;
  for (int i = 0; i < rows.size(); ++i) {
    postgres::Row row = rows[i];
    StoredTurn& turn =
        turns.emplace_back(stored_turn(row.text("parts"), row.text("results"), result_bytes_max));
    turn.run_id = row.text("run_id");
    turn.is_answer = row.boolean("is_answer");
  }
  return turns;
}

std::vector<std::string> runs_with_turns(const std::vector<ChatMessage>& history) {
  std::vector<std::string> runs;
  for (auto message = history.rbegin(); message != history.rend(); ++message) {
    bool is_new = std::find(runs.begin(), runs.end(), message->run_id) == runs.end();
    if (!message->run_id.empty() && is_new) runs.push_back(message->run_id);
  }
  return runs;
}

std::vector<ChatMessage> with_thread_turns(std::vector<ChatMessage> history,
                                           std::vector<StoredTurn> turns, std::string_view origin) {
  std::unordered_map<std::string, std::vector<StoredTurn>> turns_of_run;
  for (StoredTurn& turn : turns) {
    keep_opaque_of(turn.parts, origin);
    turns_of_run[turn.run_id].push_back(std::move(turn));
  }
  std::vector<ChatMessage> all;
  for (ChatMessage& message : history) {
    auto found = turns_of_run.find(message.run_id);
    if (message.run_id.empty() || found == turns_of_run.end()) {
      all.push_back(std::move(message));
    } else {
      add_turns(message, found->second, all);
    }
  }
  return all;
}

std::vector<ChatMessage> without_foreign_calls(std::vector<ChatMessage> history) {
  std::unordered_set<std::string> dropped;
  for (ChatMessage& message : history) {
    if (!has_calls(message.parts) || has_opaque(message.parts)) continue;
    for (const ToolCall& call : message.calls()) dropped.insert(call.id);
    erase_calls(message.parts, [](const ToolCall&) { return true; });
  }
  std::erase_if(history, [&dropped](const ChatMessage& message) {
    bool is_result = message.role == ChatRole::tool;
    bool is_empty = message.role == ChatRole::assistant && message.parts.empty();
    return is_empty || (is_result && dropped.contains(message.tool_call_id));
  });
  return history;
}

std::vector<ChatMessage> with_shortened_results(std::vector<ChatMessage> history,
                                                int64_t bytes_max) {
  int64_t bytes = 0;
  for (const ChatMessage& message : history) {
    bytes += static_cast<int64_t>(bytes_of(message.parts));
  }
  if (bytes <= bytes_max) return history;
  for (ChatMessage& message : history) {
    if (bytes <= bytes_max / 4 * 3) break;
    bool is_long = message.role == ChatRole::tool && message.first_text().size() > left_out.size();
    if (!is_long) continue;
    bytes -= static_cast<int64_t>(message.first_text().size() - left_out.size());
    message.first_text() = left_out;
  }
  return history;
}

}  // namespace hostler::runner
