// Turns of earlier runs in the history that a run was given. Such a run ended with calls that were
// left to its caller; a caller whose history answers them knows nothing of the other calls of the
// run. Pure: the same history for the same rows, whichever daemon asks.
#pragma once

#include <string>
#include <vector>

#include "lib/postgres/database.h"
#include "runner/models/model.h"

namespace hostler::runner {

// As query::run_put_back answers it.
struct EarlierTurn {
  std::string run_id;
  std::string text;
  std::string tool_calls_json;
  std::string results_json;  // [{tool_call_id, result or error_code and error_message}]

  size_t bytes() const { return text.size() + tool_calls_json.size() + results_json.size(); }
};

std::vector<EarlierTurn> earlier_turns_of(const postgres::Result& rows);

// The history with all turns of an earlier run in place of the message with its calls, or, when
// that is missing, before the first of its results. The results that follow it stand beside those
// of its other calls, in the order of the calls. Once a run; a message with calls that are not all
// of one run stays as it is.
std::vector<ChatMessage> with_earlier_turns(std::vector<ChatMessage> history,
                                            const std::vector<EarlierTurn>& earlier);

// Without results of calls that nobody made before them, which providers refuse: of a long
// conversation the beginning may be gone.
std::vector<ChatMessage> without_orphan_results(std::vector<ChatMessage> history);

}  // namespace hostler::runner
