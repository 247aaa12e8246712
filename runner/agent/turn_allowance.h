// Limits of a turn: the model's limit of output, the caller's, and what is left of
// budgets and balance. Decided by the agent loop before each request to a model.
#pragma once

#include "runner/agent/agent_services.h"
#include "runner/agent/run_parts.h"

namespace hostler::runner {

// Holds what the request may cost at most, and writes its limit of output. False: the run began to
// wait for a budget, and this daemon has no more to do with it. Throws RunFailure when nothing is
// left. parts and request outlive the task.
Task<bool> allow_turn(AgentServices& services, RunPtr run, RunParts& parts, ModelRequest& request);

// Compares the tokens that the provider counted with those that were expected.
void learn_from_turn(AgentServices& services, const RunPtr& run, const RunParts& parts,
                     const ModelTurn& turn);

// Throws RunFailure for an answer that was cut because little was left.
void check_lowered_limit(const RunParts& parts, const ModelTurn& turn);

}  // namespace hostler::runner
