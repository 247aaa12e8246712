// See runner/agent/trials.h.
#include "runner/agent/trials.h"

#include <algorithm>
#include <utility>

#include "lib/log.h"
#include "lib/loop/wait.h"
#include "queries/daemon.h"

namespace hostler::runner {
namespace {

constexpr int64_t watch_ms_min = 2'000;
constexpr int64_t watch_ms_max = 30'000;
// The pause grows with the number of failed starts of its runs, so a run that does harm slowly is
// found too.
constexpr int64_t watch_ms_of_a_take_over = 500;
constexpr int64_t note_again_ms = 500;  // while Postgres does not answer, or refuses it

int64_t watch_ms(const std::vector<RunPtr>& group) {
  int64_t take_overs = 0;
  for (const RunPtr& run : group) {
    take_overs = std::max<int64_t>(take_overs, run->claim.take_overs);
  }
  return std::clamp(take_overs * watch_ms_of_a_take_over, watch_ms_min, watch_ms_max);
}

}  // namespace

Trials::Trials(AgentServices& services, std::string daemon_id, TrialHooks hooks)
    : services_(services), daemon_id_(std::move(daemon_id)), hooks_(std::move(hooks)) {}

void Trials::add(const RunPtr& run) {
  groups_.add(run);
  changed_.notify();
}

// A group is in the table before it begins: it is read when this daemon is dead.
Task<void> Trials::watch_forever() {
  for (;;) {
    std::vector<RunPtr> group = groups_.next(hooks_.is_ours);
    for (bool is_noted = false; !is_noted;) {
      is_noted = co_await note(group);
      if (!is_noted) co_await loop::sleep_ms(services_.loop, note_again_ms);
    }
    std::erase_if(group, std::not_fn(hooks_.is_ours));
    for (const RunPtr& run : group) hooks_.begin(run);
    int64_t end_ms = services_.loop.now_ms() + watch_ms(group);
    while (std::ranges::any_of(group, hooks_.is_ours) && services_.loop.now_ms() < end_ms) {
      co_await changed_.wait_for(services_.loop, end_ms - services_.loop.now_ms());
    }
    if (noted_.empty() && groups_.is_empty()) co_await changed_.wait();
  }
}

Task<bool> Trials::note(const std::vector<RunPtr>& group) {
  std::vector<std::string> run_ids;
  for (const RunPtr& run : group) run_ids.push_back(run->claim.id);
  if (run_ids == noted_) co_return true;
  postgres::Batch batch;
  batch.add(query::RunTrial{.daemon_id = daemon_id_, .run_ids = run_ids});
  postgres::BatchOutcome outcome = co_await services_.db.attempt_pipelined(std::move(batch));
  if (outcome.error) {
    if (!outcome.is_unknown()) log_error("trial_not_noted", {{"cause", outcome.error->cause}});
    co_return false;
  }
  noted_ = std::move(run_ids);
  co_return true;
}

}  // namespace hostler::runner
