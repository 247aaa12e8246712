// See runner/agent/put_back.h.
#include "runner/agent/put_back.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lib/json.h"
#include "runner/agent/conversation.h"
#include "runner/agent/run_parts.h"
#include "runner/tools/result_words.h"

namespace hostler::runner {
namespace {

struct Turn {
  std::string text;
  std::vector<ToolCall> calls;
  std::map<std::string, std::string, std::less<>> results;  // as the model reads them
};

struct EarlierRun {
  std::vector<Turn> turns;
  bool is_mixed = false;  // the client has calls of others beside its own in one message
  bool is_put_back = false;

  // One that the run ended with.
  bool left(std::string_view call_id) const {
    return !turns.back().results.contains(call_id) &&
           std::any_of(turns.back().calls.begin(), turns.back().calls.end(),
                       [&](const ToolCall& call) { return call.id == call_id; });
  }
};

Turn turn_of(const EarlierTurn& row) {
  Turn turn;
  turn.text = row.text;
  turn.calls = tool_calls_from(row.tool_calls_json);
  std::optional<Json> results = parse_json_or_nothing(row.results_json);
  if (!results || !results->is_array()) return turn;
  for (const Json& result : *results->as_array()) {
    std::string_view code = result.text_or("error_code");
    turn.results.emplace(
        result.text_or("tool_call_id"),
        code.empty()
            ? words_of_result(result.text_or("result"))
            : tool_error_json(std::string(code), std::string(result.text_or("error_message"))));
  }
  return turn;
}

class Merger {
 public:
  Merger(std::vector<ChatMessage> history, const std::vector<EarlierTurn>& earlier)
      : history_(std::move(history)) {
    std::string_view last_run_id;
    for (const EarlierTurn& row : earlier) {
      if (row.run_id != last_run_id) runs_.emplace_back();
      last_run_id = row.run_id;
      Turn turn = turn_of(row);
      // An answer that was discarded has no calls.
      if (!turn.calls.empty()) runs_.back().turns.push_back(std::move(turn));
    }
    std::erase_if(runs_, [](const EarlierRun& run) { return run.turns.empty(); });
    for (EarlierRun& run : runs_) {
      for (const ToolCall& call : run.turns.back().calls) {
        if (run.left(call.id)) run_of_call_[call.id] = &run;
      }
    }
    for (size_t i = 0; i < history_.size(); ++i) look_at(i);
    std::erase_if(run_of_call_, [&](const auto& left) { return !stands_whole(*left.second); });
  }

  std::vector<ChatMessage> merged() {
    for (size_t i = 0; i < history_.size(); ++i) {
      ChatMessage& message = history_[i];
      bool is_result = message.role == ChatRole::tool;
      EarlierRun* run = is_result ? run_of(message.tool_call_id) : run_of_all(message.tool_calls);
      if (run == nullptr || !stands_for(message)) {
        all_.push_back(std::move(message));
      } else if (!run->is_put_back) {
        put_back(*run);
      }
    }
    return std::move(all_);
  }

 private:
  EarlierRun* run_of(const std::string& call_id) const {
    auto found = run_of_call_.find(call_id);
    return found == run_of_call_.end() ? nullptr : found->second;
  }

  EarlierRun* run_of_all(const std::vector<ToolCall>& calls) const {
    EarlierRun* run = calls.empty() ? nullptr : run_of(calls.front().id);
    bool is_common = std::all_of(calls.begin(), calls.end(),
                                 [&](const ToolCall& call) { return run_of(call.id) == run; });
    return is_common ? run : nullptr;
  }

  // Of the results the first of each call counts, wherever the client put it.
  void look_at(size_t nth) {
    const ChatMessage& message = history_[nth];
    if (message.role == ChatRole::tool) {
      if (run_of(message.tool_call_id) != nullptr) results_.try_emplace(message.tool_call_id, nth);
    } else if (run_of_all(message.tool_calls) == nullptr) {
      for (const ToolCall& call : message.tool_calls) {
        if (EarlierRun* run = run_of(call.id)) run->is_mixed = true;
      }
    }
  }

  // Nothing may stand in for what the client alone knows.
  bool stands_whole(const EarlierRun& run) const {
    const std::vector<ToolCall>& calls = run.turns.back().calls;
    return !run.is_mixed && std::all_of(calls.begin(), calls.end(), [&](const ToolCall& call) {
      return !run.left(call.id) || results_.contains(call.id);
    });
  }

  // Whether it is a part of the turn, which the client may have taken apart; not when what it has
  // was said before.
  bool stands_for(const ChatMessage& message) {
    if (message.role == ChatRole::tool) return answered_.insert(message.tool_call_id).second;
    bool is_again = std::any_of(message.tool_calls.begin(), message.tool_calls.end(),
                                [&](const ToolCall& call) {
                                  return called_.contains(call.id) || answered_.contains(call.id);
                                });
    for (const ToolCall& call : message.tool_calls) called_.insert(call.id);
    return !is_again;
  }

  void put_back(EarlierRun& run) {
    run.is_put_back = true;
    for (const Turn& turn : run.turns) {
      ChatMessage& answer = all_.emplace_back();
      answer.role = ChatRole::assistant;
      answer.text = turn.text;
      answer.tool_calls = turn.calls;
      bool is_last = &turn == &run.turns.back();
      for (const ToolCall& call : turn.calls) {
        ChatMessage& result = all_.emplace_back();
        result.role = ChatRole::tool;
        result.tool_call_id = call.id;
        bool is_given = is_last && run.left(call.id);
        result.text = is_given ? std::move(history_[results_.at(call.id)].text)
                               : stored_result(turn, call.id);
      }
    }
  }

  // Providers refuse a call without a result.
  static std::string stored_result(const Turn& turn, const std::string& call_id) {
    auto stored = turn.results.find(call_id);
    if (stored != turn.results.end()) return stored->second;
    return tool_error_json("tool.timeout", "The call was not finished.");
  }

  std::vector<ChatMessage> history_;
  std::vector<EarlierRun> runs_;
  std::unordered_map<std::string, EarlierRun*> run_of_call_;
  std::unordered_map<std::string, size_t> results_;  // where in the history
  std::unordered_set<std::string> called_;           // of those that are put back
  std::unordered_set<std::string> answered_;         // likewise
  std::vector<ChatMessage> all_;
};

}  // namespace

std::vector<EarlierTurn> earlier_turns_of(const postgres::Result& rows) {
  std::vector<EarlierTurn> turns;
  for (int i = 0; i < rows.size(); ++i) {
    postgres::Row row = rows[i];
    turns.push_back({std::string(row.text("run_id")), std::string(row.text("text")),
                     std::string(row.text("tool_calls")), std::string(row.text("results"))});
  }
  return turns;
}

std::vector<ChatMessage> without_orphan_results(std::vector<ChatMessage> history) {
  std::unordered_set<std::string> called;
  std::erase_if(history, [&called](const ChatMessage& message) {
    for (const ToolCall& call : message.tool_calls) called.insert(call.id);
    return message.role == ChatRole::tool && !called.contains(message.tool_call_id);
  });
  return history;
}

std::vector<ChatMessage> with_earlier_turns(std::vector<ChatMessage> history,
                                            const std::vector<EarlierTurn>& earlier) {
  if (earlier.empty()) return history;
  return Merger(std::move(history), earlier).merged();
}

}  // namespace hostler::runner
