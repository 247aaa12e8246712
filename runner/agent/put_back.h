// Turns of earlier runs in the history that a run was given. Such a run ended with calls that were
// left to its caller; a caller whose history answers them knows nothing of the other calls of the
// run. Pure: the same history for the same rows, whichever daemon asks.
#pragma once

#include <string>
#include <vector>

#include "lib/postgres/database.h"
#include "runner/models/model.h"

namespace hostler::runner {

// Answer of query::run_put_back.
struct EarlierTurn {
  std::string run_id;
  std::string parts_json;
  std::string results_json;  // [{tool_call_id, result or error_code and error_message}]

  size_t bytes() const { return parts_json.size() + results_json.size(); }
};

std::vector<EarlierTurn> earlier_turns_of(const postgres::Result& rows);

// The history with all turns of an earlier run in place of the first message with calls of its, or,
// when that is missing, before the first of their results. The results that the history has
// anywhere stand beside those of the run's other calls, in the order of the calls; what else of the
// turn the client told apart is left out. Once a run. A run whose calls do not all have a result in
// the history, or stand in one message with those of others, is not put back.
std::vector<ChatMessage> with_earlier_turns(std::vector<ChatMessage> history,
                                            const std::vector<EarlierTurn>& earlier);

// Without results of calls that nobody made before them, which providers refuse: of a long
// conversation the beginning may be gone.
std::vector<ChatMessage> without_orphan_results(std::vector<ChatMessage> history);

}  // namespace hostler::runner
