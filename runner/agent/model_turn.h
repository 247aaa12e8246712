// One turn of a run's model: the request is made of the run's parts, and made again when the
// provider says that it is too long, or wants another history. Used by the agent loop.
#pragma once

#include "runner/agent/agent_services.h"
#include "runner/agent/run_parts.h"

namespace hostler::runner {

// Fills run->progress.turn, which is open from here on. What the provider refused is kept for the
// run and for its model. False: the run began to wait for a budget instead. Throws RunFailure.
// parts outlives the task.
Task<bool> ask_model(AgentServices& services, RunPtr run, RunParts& parts);

// Stores what the open turn taught of the model, for this run and all others; also of a turn that
// failed. A store that fails costs another request that is refused, and nothing else.
Task<void> keep_traits(AgentServices& services, RunPtr run, RunParts& parts);

}  // namespace hostler::runner
