// A run that this daemon owns, as its parts share it: the agent loop, the event log, the
// supervisor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/loop/wait.h"
#include "runner/models/model.h"

namespace hostler::runner {

// An event that was appended and is not yet on disk.
struct PendingEvent {
  int64_t seq;
  std::string type;
  std::string data;  // JSON text; for a delta, the text that gathers until the next flush
  bool is_delta = false;
  std::string channel;  // of a delta: empty or "thinking"
};

// What ends a run, or a turn of it, in the same transaction as its events.
struct TurnRecord {
  int turn = 0;
  std::string text;
  std::string tool_calls_json;  // an array
  ModelUsage usage;
  int64_t duration_ms = 0;      // of the model call, with its tries
  int64_t credits_per_usd = 0;  // as the settings say when it ends
  int64_t run_hold = 0;
  bool is_finished = true;  // false: broken off; paid for, but no step to go on from
};
struct ToolRecord {
  int turn = 0;
  ToolCall call;
  std::string result;  // JSON text; empty when it failed
  std::string error_code;
  std::string error_message;
  int64_t duration_ms = 0;
  int64_t seq = 0;  // of its tool.result
};
// The run gives itself up until a human answers.
struct WaitRecord {
  std::string request_json;
  int64_t wait_seconds = 0;
};
struct Ending {
  std::string status;  // completed, failed, cancelled
  std::string code;    // of a failure
  std::string message;
  std::string answer;  // the text of all turns
  bool is_incomplete = false;
};

struct ActiveRun {
  // From the claim.
  std::string id;
  std::string org_id;
  std::string thread_id;
  std::string persona_id;
  std::string model;
  std::string source;
  std::string trace_id;
  int64_t epoch = 0;
  int crash_count = 0;
  int take_overs = 0;
  int64_t worked_ms = 0;
  bool cancel_requested = false;
  std::string cancel_reason;  // as run.cancelled tells it
  bool after_input = false;   // goes on behind a human's answer: nothing is taken over

  // The single writer's state (runner/event_log).
  int64_t last_seq = 0;          // given to the newest event
  int64_t committed_seq = 0;     // on disk
  int64_t writes = 0;            // appended: events, turns, the ending
  int64_t committed_writes = 0;  // on disk
  std::vector<PendingEvent> pending;
  std::vector<TurnRecord> pending_turns;
  std::vector<ToolRecord> pending_tools;
  std::unique_ptr<WaitRecord> pending_wait;
  std::unique_ptr<Ending> pending_ending;
  // What commits together with its events, and costs more than these.
  bool has_steps() const {
    return !pending_turns.empty() || !pending_tools.empty() || pending_wait || pending_ending;
  }
  bool has_pending() const { return !pending.empty() || has_steps(); }
  const void* queued_in = nullptr;  // the event log's lane that is to take what is pending
  bool is_in_flight = false;        // a lane writes for it: what is appended waits for its answer
  bool is_lost = false;    // another daemon owns it, or it has ended: nothing is written any more
  bool is_ending = false;  // its ending, or its wait, was appended: nothing may follow
  bool has_ended = false;  // that is on disk; the daemon does not own it any more
  Signal written;          // after each flush that concerns it
  bool credits_exhausted = false;  // the last turn took what there was: no other may follow

  // What the agent loop has so far; the supervisor ends a run with it when the loop is destroyed.
  int turns = 0;            // finished ones
  int tool_calls = 0;       // of the finished turns
  std::string text;         // of the finished turns
  bool knows_text = false;  // since those of other daemons were read
  ModelTurn turn;           // the one in progress
  bool turn_is_open = false;
};

}  // namespace hostler::runner
