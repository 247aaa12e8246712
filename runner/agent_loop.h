// THE AGENT LOOP, one coroutine, read it first: load, model turn, commit turn, tools, commit
// results, again until a turn calls no tool. Destroying it cancels the run's work; it never writes
// an ending.
#pragma once

#include "runner/agent_services.h"

namespace hostler::runner {

// answered: every turn is on its way to the disk, the answer is run->text. waiting: the run was
// given up until a human answers.
enum class RunOutcome { answered, waiting };

// Throws RunFailure for what ends the run as failed, Error when something of our own is wrong.
Task<RunOutcome> execute_run(AgentServices& services, RunPtr run);

}  // namespace hostler::runner
