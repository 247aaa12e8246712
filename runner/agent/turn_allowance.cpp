// See runner/agent/turn_allowance.h.
#include "runner/agent/turn_allowance.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/log.h"
#include "runner/agent/run_waits.h"
#include "runner/agent/turn_holds.h"
#include "runner/models/model_traits.h"
#include "runner/models/run_failure.h"

namespace hostler::runner {
namespace {

// For models without a limit of their own.
constexpr int64_t output_tokens_default = 8192;

std::string model_key(const ModelRequest& request) {
  return origin_of(request.endpoint.base_url, request.endpoint.model);
}

// The run's funds as of the time when the last turn was stored, or the claim.
RunFunds funds_of(const RunPtr& run, const RunParts& parts) {
  return run->writer->funds().value_or(parts.funds);
}

// Whether the turn is so cheap, compared with what is available, that it needs no hold.
bool is_covered(AgentServices& services, const RunPtr& run, const RunParts& parts,
                int64_t input_tokens, int64_t output_tokens) {
  RunFunds funds = funds_of(run, parts);
  if (funds.is_budgeted) return false;
  double dollars = (static_cast<double>(input_tokens) * parts.route.input_price +
                    static_cast<double>(output_tokens) * parts.route.output_price) /
                   1e6;
  auto credits_per_usd =
      static_cast<double>(services.settings.current()->integer("credit.per_usd"));
  return dollars * credits_per_usd <= static_cast<double>(funds.unheld_max);
}

RunFailure no_credits() {
  return RunFailure("credits.exhausted", "The organization has no credits left.");
}

RunFailure exhausted(const std::string& name) {
  return RunFailure("budget.exhausted", fmt::format("Too little is left of {}.", name));
}

}  // namespace

Task<std::optional<TurnRefusal>> allow_turn(AgentServices& services, RunPtr run, RunParts& parts,
                                            ModelRequest& request) {
  parts.allowance = TurnAllowance();
  parts.allowance.estimated_tokens = estimate_input_tokens(request);
  int64_t wanted = parts.route.max_output_tokens.value_or(output_tokens_default);
  wanted = std::min(wanted, request.output_tokens_max.value_or(wanted));
  int64_t input_tokens = services.turn_holds.estimates().expected_tokens(
      model_key(request), parts.allowance.estimated_tokens);
  parts.allowance.expected_tokens = input_tokens;
  bool is_free = parts.route.input_price == 0 && parts.route.output_price == 0;
  if (is_covered(services, run, parts, input_tokens, wanted)) {
    // Output of a free model costs nothing, so its provider's own limit is enough.
    bool has_limit = !is_free || parts.route.max_output_tokens || request.output_tokens_max;
    if (has_limit) request.output_tokens_max = wanted;
    parts.allowance.output_tokens = request.output_tokens_max;
    co_return std::nullopt;
  }
  TurnHoldRequest asked{.run_id = run->claim.id,
                        .epoch = run->claim.epoch,
                        .user_id = run->claim.user_id,
                        .route_id = parts.route.id,
                        .input_tokens = input_tokens,
                        .output_tokens = wanted};
  TurnHold hold = co_await services.turn_holds.take(std::move(asked));
  switch (hold.outcome) {
    case TurnHold::Outcome::exhausted:
      co_return TurnRefusal{std::move(hold.exhausted)};
    case TurnHold::Outcome::no_credits:
      co_return TurnRefusal{std::nullopt};
    // The run belongs to another daemon, so no write of this one counts. It learns so when it
    // commits.
    case TurnHold::Outcome::lost:
    case TurnHold::Outcome::waiting:
    case TurnHold::Outcome::held:
      break;
  }
  bool is_held = hold.outcome == TurnHold::Outcome::held;
  request.cuts_at_limit = is_held;
  request.output_tokens_max = is_held ? hold.output_tokens : wanted;
  parts.allowance.output_tokens = request.output_tokens_max;
  parts.allowance.is_lowered = hold.is_lowered;
  parts.allowance.lowered_by = hold.lowered_by;
  co_return std::nullopt;
}

Task<void> refuse_turn(AgentServices& services, RunPtr run, TurnRefusal refusal) {
  if (refusal.is_of_credits()) throw no_credits();
  bool may_wait = refusal.budget->lets_wait && !run->claim.asks_nobody();
  if (!may_wait) throw exhausted(refusal.budget->name);
  co_await wait_for_budget(services, run, *refusal.budget);
}

void learn_from_turn(AgentServices& services, const RunPtr& run, const RunParts& parts,
                     const ModelTurn& turn) {
  if (!turn.usage.measured) return;
  const TurnAllowance& allowance = parts.allowance;
  InputEstimates& estimates = services.turn_holds.estimates();
  std::string model = model_key(parts.request);
  estimates.learn(model, allowance.estimated_tokens, turn.usage.input_tokens);
  bool is_news = estimates.is_news(model, allowance.expected_tokens, turn.usage.input_tokens);
  if (!is_news) return;
  log_warning("turn_input_underestimated",
              {{"run_id", run->claim.id},
               {"org_id", run->claim.org_id},
               {"trace_id", run->claim.trace_id},
               {"model", run->claim.model},
               {"expected_tokens", std::to_string(allowance.expected_tokens)},
               {"counted_tokens", std::to_string(turn.usage.input_tokens)}});
}

void check_lowered_limit(const RunParts& parts, const ModelTurn& turn) {
  if (!parts.allowance.is_lowered || turn.finish_reason != FinishReason::length) return;
  if (parts.allowance.lowered_by.empty()) {
    throw RunFailure("credits.exhausted",
                     "The answer was cut, because the organization has too few credits left.");
  }
  throw RunFailure("budget.exhausted",
                   fmt::format("The answer was cut, because too little is left of {}.",
                               parts.allowance.lowered_by));
}

}  // namespace hostler::runner
