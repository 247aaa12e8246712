// Turns of earlier runs of a thread, with calls and results, in place of the one text that the
// thread shows of each. So the next run knows them. Pure: every daemon gets the same history for
// the same rows.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/postgres/database.h"
#include "runner/models/model.h"

namespace hostler::runner {

// A turn of an earlier run, with what the model reads of the results of its calls.
struct StoredTurn {
  std::string run_id;
  bool is_answer = false;  // the run's last turn
  Parts parts;
  std::map<std::string, std::string, std::less<>> results;  // by tool_call_id

  // A note replaces a missing result, because providers refuse a call without one.
  std::string result_of(std::string_view call_id) const;
};

// parts_json, results_json: as query::ThreadTurns and query::RunPutBack answer them. Results are
// cut to result_bytes_max.
StoredTurn stored_turn(std::string_view parts_json, std::string_view results_json,
                       size_t result_bytes_max);
std::vector<StoredTurn> stored_turns_of(const postgres::Result& rows, size_t result_bytes_max);

// The runs whose turns stand for answers of the history, newest first, each once.
std::vector<std::string> runs_with_turns(const std::vector<ChatMessage>& history);

// The history with the turns of its runs in place of their answers. An answer whose turns are not
// there stays one text. Opaque data stays only of this origin (origin_of).
std::vector<ChatMessage> with_thread_turns(std::vector<ChatMessage> history,
                                           std::vector<StoredTurn> turns, std::string_view origin);

// The history without calls, and their results, that come without opaque data: some models refuse
// calls that are not their own. What was said beside them stays.
std::vector<ChatMessage> without_foreign_calls(std::vector<ChatMessage> history);

// When the history is longer than bytes_max: with its oldest results of tools replaced by a note,
// until it has three quarters of that, so that the next run's history mostly begins the same.
std::vector<ChatMessage> with_shortened_results(std::vector<ChatMessage> history,
                                                int64_t bytes_max);

}  // namespace hostler::runner
