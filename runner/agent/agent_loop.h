// THE AGENT LOOP, one coroutine, read it first: load, model turn, commit turn, tools, commit
// results, again until a turn calls no tool. Destroying it cancels the run's work; it never writes
// an outcome.
#pragma once

#include "runner/agent/agent_services.h"
#include "runner/agent/run_parts.h"

namespace hostler::runner {

// answered: every turn is on its way to the disk; the answer is the text of run->progress, or the
// calls that are left there. waiting: the run was given up until somebody answers.
enum class RunOutcome { answered, waiting };

// Announces the run and reads what it is made of.
Task<RunParts> begin_run(AgentServices& services, RunPtr run);
// Throws RunFailure for what ends the run as failed, Error when something of our own is wrong.
// parts outlives the task.
Task<RunOutcome> execute_run(AgentServices& services, RunPtr run, RunParts& parts);

}  // namespace hostler::runner
