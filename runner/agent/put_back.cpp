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

namespace hostler::runner {
namespace {

struct Turn {
  std::string text;
  std::vector<ToolCall> calls;
  std::map<std::string, std::string, std::less<>> results;  // as the model reads them
};

struct EarlierRun {
  std::vector<Turn> turns;
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
            ? std::string(result.text_or("result"))
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
  }

  std::vector<ChatMessage> merged() {
    while (next_ < history_.size()) {
      ChatMessage& message = history_[next_];
      EarlierRun* run = message.role == ChatRole::tool ? run_of(message.tool_call_id)
                                                       : run_of_all(message.tool_calls);
      if (run == nullptr || run->is_put_back) {
        all_.push_back(std::move(message));
        ++next_;
        continue;
      }
      if (message.role != ChatRole::tool) ++next_;
      put_back(*run, results_of(*run));
    }
    return std::move(all_);
  }

 private:
  using Results = std::unordered_map<std::string, ChatMessage>;

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

  // Those that come next in the history.
  Results results_of(const EarlierRun& run) {
    Results results;
    while (next_ < history_.size() && history_[next_].role == ChatRole::tool &&
           run_of(history_[next_].tool_call_id) == &run) {
      ChatMessage& result = history_[next_++];
      std::string call_id = result.tool_call_id;
      results.try_emplace(std::move(call_id), std::move(result));
    }
    return results;
  }

  void put_back(EarlierRun& run, Results given) {
    run.is_put_back = true;
    for (const Turn& turn : run.turns) {
      ChatMessage& answer = all_.emplace_back();
      answer.role = ChatRole::assistant;
      answer.text = turn.text;
      answer.tool_calls = turn.calls;
      bool is_last = &turn == &run.turns.back();
      for (const ToolCall& call : turn.calls) {
        auto result = given.find(call.id);
        if (is_last && result != given.end()) {
          all_.push_back(std::move(result->second));
        } else {
          add_result(turn, call.id);
        }
      }
    }
  }

  // Providers refuse a call without a result.
  void add_result(const Turn& turn, const std::string& call_id) {
    auto stored = turn.results.find(call_id);
    ChatMessage& result = all_.emplace_back();
    result.role = ChatRole::tool;
    result.tool_call_id = call_id;
    result.text = stored == turn.results.end()
                      ? tool_error_json("tool.timeout", "The call was not finished.")
                      : stored->second;
  }

  std::vector<ChatMessage> history_;
  std::vector<EarlierRun> runs_;
  std::unordered_map<std::string, EarlierRun*> run_of_call_;
  std::vector<ChatMessage> all_;
  size_t next_ = 0;  // of the history
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
