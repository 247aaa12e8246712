// A turn of a run whose persona names routes that stand in: the next one is asked when a provider
// fails, when its circuit breaker is open, or when a turn there costs more than a budget has left.
#pragma once

#include "runner/agent/agent_services.h"
#include "runner/agent/run_parts.h"

namespace hostler::runner {

// Does what ask_model() (model_turn.h) does, with the routes of the run's chain one after the
// other. The run stays with the route that answered. Void text is reported by run.fell_back, and
// every attempt is paid for.
Task<bool> ask_chain(AgentServices& services, RunPtr run, RunParts& parts);

}  // namespace hostler::runner
