// Steps of a run, each stored in one transaction with its events. Plain values from the agent loop
// and the supervisor to the event log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/models/model.h"

namespace hostler::runner {

struct TurnRecord {
  int turn = 0;
  std::string parts_json = {};  // as parts_json() writes them; empty: it was broken off
  bool has_opaque = false;      // it is stored also when the run ends with it
  ModelUsage usage;
  int64_t duration_ms = 0;      // of the model call, with its tries
  int adaptations = 0;          // further requests, because the provider refused a member
  int64_t credits_per_usd = 0;  // as the settings say when it ends
  int64_t run_hold = 0;
};

// Funds of a run for its next turn, as of the claim or the last commit.
struct RunFunds {
  bool is_budgeted = false;  // a budget may bound it: each turn needs a hold
  int64_t unheld_max = 0;    // credits that a turn may cost without one
};

struct ToolRecord {
  int turn = 0;
  ToolCall call;
  std::string result;  // JSON text; empty when it failed
  std::string error_code;
  std::string error_message;
  int64_t duration_ms = 0;
  int64_t seq = 0;   // of its tool.result
  int64_t cost = 0;  // credits, of a call on the platform's account
};

// The run gives itself up until a human answers.
struct WaitRecord {
  std::string request_json;
  int64_t wait_seconds = 0;
};

struct Outcome {
  std::string status;  // completed, failed, cancelled
  std::string code;    // of a failure
  std::string message;
  std::string answer;  // the text of all turns
  std::string output;  // JSON text; empty: the run has no response_format, or no answer that fits
  bool is_incomplete = false;
  std::vector<std::string> left_calls = {};  // with which it ends, by their ids
};

// Steps of one run that commit together. They cost more than events do.
struct RunSteps {
  std::optional<TurnRecord> turn;
  std::string route_id;  // that stands in for the run's from here on; empty: none
  std::vector<ToolRecord> tools;
  std::optional<WaitRecord> wait;
  std::optional<Outcome> outcome;

  size_t size() const {
    return (turn ? 1 : 0) + (route_id.empty() ? 0 : 1) + tools.size() + (wait ? 1 : 0) +
           (outcome ? 1 : 0);
  }
  bool empty() const { return size() == 0; }
  bool ends_work() const { return wait || outcome; }  // the thread's next run may begin
  bool is_paid() const { return ends_work() || turn; }
  // Whether the turn is stored: the run goes on from it, or its provider wants it back.
  bool stores_turn() const {
    return turn && !turn->parts_json.empty() && (turn->has_opaque || !outcome);
  }
  bool has_tool_costs() const {
    for (const ToolRecord& tool : tools) {
      if (tool.cost > 0) return true;
    }
    return false;
  }
};

}  // namespace hostler::runner
