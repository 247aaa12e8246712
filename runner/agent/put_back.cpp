// See runner/agent/put_back.h.
#include "runner/agent/put_back.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "runner/agent/thread_turns.h"

namespace hostler::runner {
namespace {

struct Turn {
  StoredTurn stored;
  std::vector<ToolCall> calls;  // of its parts
};

struct EarlierRun {
  std::vector<Turn> turns;
  bool is_mixed = false;  // the client has calls of others beside its own in one message
  bool is_put_back = false;

  // A call with which the run ended.
  bool left(std::string_view call_id) const {
    return !turns.back().stored.results.contains(call_id) &&
           std::any_of(turns.back().calls.begin(), turns.back().calls.end(),
                       [&](const ToolCall& call) { return call.id == call_id; });
  }
};

class Merger {
 public:
  Merger(std::vector<ChatMessage> history, const std::vector<EarlierTurn>& earlier)
      : history_(std::move(history)) {
    std::string_view last_run_id;
    for (const EarlierTurn& row : earlier) {
      if (row.run_id != last_run_id) runs_.emplace_back();
      last_run_id = row.run_id;
      StoredTurn stored =
          stored_turn(row.parts_json, row.results_json, std::numeric_limits<size_t>::max());
      std::vector<ToolCall> calls = calls_of(stored.parts);
      // An answer that was discarded has no calls.
      if (!calls.empty()) runs_.back().turns.push_back({std::move(stored), std::move(calls)});
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
      EarlierRun* run = is_result ? run_of(message.tool_call_id) : run_of_all(message.calls());
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

  // The first result of each call counts, wherever the client put it.
  void look_at(size_t nth) {
    const ChatMessage& message = history_[nth];
    if (message.role == ChatRole::tool) {
      if (run_of(message.tool_call_id) != nullptr) results_.try_emplace(message.tool_call_id, nth);
    } else if (run_of_all(message.calls()) == nullptr) {
      for (const ToolCall& call : message.calls()) {
        if (EarlierRun* run = run_of(call.id)) run->is_mixed = true;
      }
    }
  }

  // Facts that only the client knows cannot be replaced.
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
    std::vector<ToolCall> calls = message.calls();
    bool is_again = std::any_of(calls.begin(), calls.end(), [&](const ToolCall& call) {
      return called_.contains(call.id) || answered_.contains(call.id);
    });
    for (const ToolCall& call : calls) called_.insert(call.id);
    return !is_again;
  }

  void put_back(EarlierRun& run) {
    run.is_put_back = true;
    for (const Turn& turn : run.turns) {
      all_.emplace_back(ChatRole::assistant, turn.stored.parts);
      bool is_last = &turn == &run.turns.back();
      for (const ToolCall& call : turn.calls) {
        bool is_given = is_last && run.left(call.id);
        ChatMessage& result = all_.emplace_back(
            ChatRole::tool, is_given ? std::move(history_[results_.at(call.id)].first_text())
                                     : turn.stored.result_of(call.id));
        result.tool_call_id = call.id;
      }
    }
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
    turns.push_back({std::string(row.text("run_id")), std::string(row.text("parts")),
                     std::string(row.text("results"))});
  }
  return turns;
}

std::vector<ChatMessage> without_orphan_results(std::vector<ChatMessage> history) {
  std::unordered_set<std::string> called;
  std::erase_if(history, [&called](const ChatMessage& message) {
    for (const ToolCall& call : message.calls()) called.insert(call.id);
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
