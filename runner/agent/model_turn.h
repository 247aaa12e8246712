// One turn of a run's model: the request is made of the run's parts, and made again when the
// provider says that it is too long, or wants another history. Used by the agent loop.
#pragma once

#include <functional>
#include <optional>

#include "runner/agent/agent_services.h"
#include "runner/agent/run_parts.h"
#include "runner/agent/turn_allowance.h"
#include "runner/models/model_client.h"

namespace hostler::runner {

// Fills run->progress.turn, which is open from here on. What the provider refused is kept for the
// run and for its model. False: the run began to wait for a budget instead. Throws RunFailure.
// parts outlives the task.
Task<bool> ask_model(AgentServices& services, RunPtr run, RunParts& parts);

// Terms of a turn's request to one route.
struct RouteAttempt {
  RetryTiming timing = {};
  bool is_probe = false;                // of a model that its circuit breaker leaves out
  std::function<void()> on_begin = {};  // the turn is allowed, and nothing of it was shown
};

// How it ended; neither failure nor refusal: with an answer.
struct RouteEnd {
  std::optional<ModelFailure> failure;
  std::optional<TurnRefusal> refusal;  // nothing was asked, and the open turn is as it was
  bool is_answered() const { return !failure && !refusal; }
};

// Does what ask_model() does, at the route of the parts alone. attempt outlives the task too.
Task<RouteEnd> ask_route(AgentServices& services, RunPtr run, RunParts& parts,
                         const RouteAttempt& attempt);

// Stores what the open turn taught of the model, for this run and all others; also of a turn that
// failed. A store that fails costs another request that is refused, and nothing else.
Task<void> keep_traits(AgentServices& services, RunPtr run, RunParts& parts);

}  // namespace hostler::runner
