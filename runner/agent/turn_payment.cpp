// See runner/agent/turn_payment.h.
#include "runner/agent/turn_payment.h"

#include <memory>
#include <utility>

namespace hostler::runner {

TurnRecord priced_turn(AgentServices& services, const RunPtr& run) {
  std::shared_ptr<const config::Settings> settings = services.settings.current();
  TurnRecord record;
  record.usage = run->progress.turn.usage;
  record.adaptations = run->progress.turn.adaptations;
  record.credits_per_usd = settings->integer("credit.per_usd");
  record.run_hold = settings->integer("credit.run_hold");
  return record;
}

bool pay_broken_turn(AgentServices& services, const RunPtr& run) {
  RunProgress& progress = run->progress;
  bool used_anything = !progress.turn.parts.empty() || progress.turn.usage.input_tokens > 0;
  if (!progress.turn_is_open || progress.turn_is_paid || !used_anything) return false;
  TurnRecord record = priced_turn(services, run);
  record.turn = ++progress.paid_turns;
  run->writer->commit_turn(std::move(record));
  progress.turn_is_paid = true;
  return true;
}

}  // namespace hostler::runner
