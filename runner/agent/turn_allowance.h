// Limits of a turn: the model's limit of output, the caller's, and what is left of
// budgets and balance. Decided by the agent loop before each request to a model.
#pragma once

#include <optional>

#include "runner/agent/agent_services.h"
#include "runner/agent/run_parts.h"
#include "runner/agent/turn_holds.h"

namespace hostler::runner {

// A turn for which too little is left.
struct TurnRefusal {
  std::optional<ExhaustedBudget> budget;  // none: of the balance
  bool is_of_credits() const { return !budget; }
};

// Holds what the request may cost at most at the route of the parts, and writes its limit of
// output. Returns nothing when the turn may begin. parts and request outlive the task.
Task<std::optional<TurnRefusal>> allow_turn(AgentServices& services, RunPtr run, RunParts& parts,
                                            ModelRequest& request);

// Begins to wait for the budget, after which this daemon has no more to do with the run. Throws
// RunFailure when nothing is left to wait for.
Task<void> refuse_turn(AgentServices& services, RunPtr run, TurnRefusal refusal);

// Compares the tokens that the provider counted with those that were expected.
void learn_from_turn(AgentServices& services, const RunPtr& run, const RunParts& parts,
                     const ModelTurn& turn);

// Throws RunFailure for an answer that was cut because little was left.
void check_lowered_limit(const RunParts& parts, const ModelTurn& turn);

}  // namespace hostler::runner
