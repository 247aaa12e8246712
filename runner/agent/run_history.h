// The model's history before the run: its thread's messages with the turns of earlier runs, or the
// history that the run was given. Used by run_parts.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/agent/put_back.h"
#include "runner/agent/run_parts.h"

namespace hostler::runner {

// Reads while Postgres is away, on a connection of its own. Throws RunFailure when Postgres is too
// slow for it several times in a row.
Task<postgres::Results> load_with_retry(AgentServices& services, postgres::Batch batch);

// Adds to the system prompt, after a blank line.
void add_to_prompt(RunParts& parts, std::string_view text);

// The statement that reads the history.
postgres::BoundStatement history_statement(const RunPtr& run);
// The last of a batch. Nothing is put back into what a thread's messages tell.
void ask_for_earlier_turns(const RunPtr& run, postgres::Batch& batch);
// rows: what history_statement() asked for; loaded: all of its batch.
Task<void> add_history(AgentServices& services, RunPtr run, RunParts& parts,
                       const postgres::Result& rows, const postgres::Results& loaded);
// json: as a run was given it.
Task<void> add_given_history(AgentServices& services, RunParts& parts, std::string json,
                             std::vector<EarlierTurn> earlier);

// Called when the history and the offered tools are known. Reads the turns of earlier runs of the
// thread, if any did more than answer, and bounds the part that the model gets.
Task<void> add_thread_turns(AgentServices& services, RunPtr run, RunParts& parts);

}  // namespace hostler::runner
