// A run that this daemon executes, as the agent loop, the supervisor and the run queue share it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/postgres/database.h"
#include "runner/events/run_writer.h"
#include "runner/models/model.h"

namespace hostler::runner {

// Result of the agent loop so far. The supervisor ends a run with it when the loop is destroyed.
struct RunProgress {
  int turns = 0;       // finished ones
  int paid_turns = 0;  // number of the last one that was paid for, finished or not
  int tool_calls = 0;  // of the finished turns
  std::string text;    // of the finished turns, less those that were discarded
  std::string output;  // the last turn's answer, when it fits the run's response_format
  std::vector<ToolCall> left_calls;  // of function tools, with which a run that asks nobody ends
  bool knows_text = false;           // since those of other daemons were read
  ModelTurn turn;                    // the one in progress
  bool turn_is_open = false;
  bool turn_is_paid = false;  // an attempt at a route that failed
};

// A row of what run_claim answered: what a fresh run is made of, besides its claim.
struct ClaimedRow {
  postgres::Result rows;
  int index = 0;
};

struct ActiveRun {
  explicit ActiveRun(std::shared_ptr<RunWriter> of_the_log)
      : writer(std::move(of_the_log)), claim(writer->claim()) {}

  const std::shared_ptr<RunWriter> writer;  // what the run tells the world goes through it
  const Claim& claim;
  // Parts of a fresh run until it begins, so that nothing has to be read for it.
  std::optional<ClaimedRow> claimed_row;
  RunProgress progress;
  std::optional<std::string> cancel_reason;  // a cancel was asked for; as run.cancelled tells it
};

using RunPtr = std::shared_ptr<ActiveRun>;

}  // namespace hostler::runner
