// Usage of a turn on its way to the commit that charges it. Used by the agent loop, the chain of
// routes and the supervisor.
#pragma once

#include "runner/agent/agent_services.h"

namespace hostler::runner {

// The open turn with its usage and what prices it; the caller adds what became of it.
TurnRecord priced_turn(AgentServices& services, const RunPtr& run);

// Pays for the open turn, which was broken off, with what is known of its usage. False: it used
// nothing, or is paid for already.
bool pay_broken_turn(AgentServices& services, const RunPtr& run);

}  // namespace hostler::runner
