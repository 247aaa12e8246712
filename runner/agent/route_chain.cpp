// See runner/agent/route_chain.h.
#include "runner/agent/route_chain.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/json.h"
#include "lib/log.h"
#include "queries/fallbacks.h"
#include "runner/agent/model_turn.h"
#include "runner/agent/route_walk.h"
#include "runner/agent/run_images.h"
#include "runner/agent/turn_allowance.h"
#include "runner/agent/turn_payment.h"
#include "runner/models/run_failure.h"

namespace hostler::runner {
namespace {

// Of the last route, together: a run whose providers all fail ends soon.
constexpr int64_t last_retries_ms = 5000;

struct ChainedRoute {
  Route route;
  RouteState state;
  bool may_try = false;  // its breaker has been open for long enough
};

Task<std::vector<ChainedRoute>> read_chain(AgentServices& services, RunPtr run) {
  postgres::Batch batch;
  batch.add(query::RunRoutes{.run_id = run->claim.id});
  postgres::Results loaded = co_await read_with_retry(services, std::move(batch));
  std::vector<ChainedRoute> chain;
  for (int i = 0; i < loaded.at(0).size(); ++i) {
    postgres::Row row = loaded.at(0)[i];
    ChainedRoute& chained = chain.emplace_back();
    chained.route = route_of(services.secrets, row);
    chained.state = {chained.route.id, row.boolean("is_left_out")};
    chained.may_try = row.boolean("may_try");
  }
  co_return chain;
}

// Whether this run is the one that tries a model which was left out.
Task<bool> begin_probe(AgentServices& services, std::string route_id) {
  postgres::Batch batch;
  batch.add(query::ModelProbeBegin{.model_id = route_id});
  postgres::BatchOutcome outcome = co_await services.db.attempt(std::move(batch));
  co_return !outcome.error && outcome.results.at(0).front().boolean("may_try");
}

// The turn is asked for at the route that the walk leads to: whatever was shown before is void.
void announce_hops(const RunPtr& run, const std::vector<RouteHop>& hops, int64_t behind_seq) {
  for (const RouteHop& hop : hops) {
    JsonWriter json;
    json.begin_object().member("from", hop.from).member("to", hop.to).member("reason", hop.reason);
    json.member("discard_after_seq", behind_seq).end_object();
    run->writer->append("run.fell_back", json.take());
    log_info("run_fell_back", {{"run_id", run->claim.id},
                               {"org_id", run->claim.org_id},
                               {"trace_id", run->claim.trace_id},
                               {"from", hop.from},
                               {"to", hop.to},
                               {"reason", hop.reason}});
  }
  if (!hops.empty()) run->writer->change_route(hops.back().to);
}

RetryTiming timing_of(const RouteWalk& walk) {
  RetryTiming timing;
  timing.ignores_comments = true;
  if (walk.is_last()) {
    timing.retry_within_ms = last_retries_ms;
  } else {
    timing.tries_max = 1;
    timing.keeps_broken_calls = false;
  }
  return timing;
}

// Pays for the attempt before the next route's hold takes the place of this one's.
Task<void> pay_attempt(AgentServices& services, RunPtr run) {
  if (pay_broken_turn(services, run)) co_await run->writer->committed();
}

void go_to(const RunPtr& run, RunParts& parts, const Route& route) {
  if (route.id != parts.route.id) take_route(parts, route);
  // What the last attempt taught is stored already.
  run->progress.turn.traits = parts.request.traits;
}

// Why no route answered.
struct ChainEnd {
  std::optional<ModelFailure> failure;  // of the last route that was asked
  std::optional<TurnRefusal> refusal;   // of the first one that a budget refused
  std::optional<RunFailure> lacking;    // of the first one that does not take an image
};

// Throws for the failure; waits, or throws, for the budget.
Task<void> end_without_answer(AgentServices& services, RunPtr run, ChainEnd end) {
  if (end.failure) throw RunFailure(end.failure->code, end.failure->message);
  if (end.refusal) {
    TurnRefusal refusal = *std::move(end.refusal);
    co_await refuse_turn(services, run, std::move(refusal));
    co_return;
  }
  if (end.lacking) throw *end.lacking;
  throw RunFailure("model.rejected", "The provider's key cannot be read; store it again.");
}

}  // namespace

Task<bool> ask_chain(AgentServices& services, RunPtr run, RunParts& parts) {
  std::vector<ChainedRoute> chain = co_await read_chain(services, run);
  std::vector<RouteState> states;
  for (const ChainedRoute& chained : chain) states.push_back(chained.state);
  RouteWalk walk(states, parts.route.id);
  int64_t behind_seq = run->writer->last_seq();
  ChainEnd end;
  while (std::optional<size_t> at = walk.at()) {
    const ChainedRoute& next = chain[*at];
    if (std::optional<RunFailure> lacking = lacks_images(parts, next.route)) {
      walk.skip("input_type");
      if (!end.lacking) end.lacking = std::move(lacking);
      continue;
    }
    RouteAttempt attempt;
    if (walk.is_left_out()) {
      bool may_try = next.may_try;
      if (may_try) may_try = co_await begin_probe(services, next.route.id);
      if (!may_try) {
        walk.leave_out();
        continue;
      }
      attempt.is_probe = true;
    }
    if (!next.route.has_readable_key) {
      walk.skip("key");
      continue;
    }
    go_to(run, parts, next.route);
    attempt.timing = timing_of(walk);
    attempt.on_begin = [&] {
      announce_hops(run, walk.take_hops(), behind_seq);
      behind_seq = run->writer->last_seq();
    };
    RouteEnd ended = co_await ask_route(services, run, parts, attempt);
    if (ended.is_answered()) co_return true;
    if (ended.refusal) {
      walk.skip(ended.refusal->is_of_credits() ? "credits" : "budget");
      if (!end.refusal) end.refusal = std::move(ended.refusal);
      continue;
    }
    end.failure = std::move(ended.failure);
    if (!end.failure->is_of_provider || walk.is_last()) break;
    co_await pay_attempt(services, run);
    walk.fail(end.failure->reason);
  }
  co_await end_without_answer(services, run, std::move(end));
  co_return false;
}

}  // namespace hostler::runner
