// See runner/maintenance/maintainer.h.
#include "runner/maintenance/maintainer.h"

#include <algorithm>
#include <vector>

#include "lib/log.h"
#include "queries/maintenance.h"
#include "runner/maintenance/jobs.h"

namespace hostler::runner {
namespace {

constexpr int64_t look_every_ms = 1'000;
// A daemon's heartbeats are at most five seconds apart. A daemon without one for so long counts as
// lost, however long the lease of its runs is. Two looks later another is the maintainer, 15
// seconds after its end.
constexpr int64_t still_ms_max = 10'000;

}  // namespace

int64_t Standstill::look(const MaintainerSeen& seen, int64_t now_ms) {
  int64_t passed_ms = std::min(now_ms - looked_at_ms_, look_ms_);
  looked_at_ms_ = now_ms;
  still_ms_ = last_ == seen ? still_ms_ + passed_ms : 0;
  last_ = seen;
  return still_ms_;
}

Maintainer::Maintainer(loop::Loop& loop, postgres::Database& db,
                       const config::LiveSettings& settings, std::string daemon_id)
    : loop_(loop),
      db_(db),
      settings_(settings),
      daemon_id_(std::move(daemon_id)),
      standstill_(look_every_ms) {}

Task<void> Maintainer::look_forever() {
  for (;;) {
    co_await look();
    co_await loop::sleep_ms(loop_, look_every_ms);
  }
}

// The row alone tells who is the maintainer: also when the answer to take() was lost, or a new
// primary does not know of it.
Task<void> Maintainer::look() {
  postgres::Batch question;
  question.add(query::MaintainerLook{});
  postgres::BatchOutcome outcome = co_await db_.attempt_pipelined(std::move(question));
  if (outcome.error) {
    standstill_.looked_in_vain();
    co_return;
  }
  postgres::Row row = outcome.results.at(0).front();
  MaintainerSeen seen{row.integer("epoch"), std::string(row.text("daemon_id")),
                      row.integer("heartbeats")};
  int64_t still_ms = standstill_.look(seen, loop_.now_ms());
  if (seen.daemon_id == daemon_id_) {
    know(seen.epoch);
    co_return;
  }
  know(std::nullopt);
  int64_t lease_ms = settings_.current()->integer("run.lease_seconds") * 1000;
  bool is_free = seen.daemon_id.empty() || still_ms >= std::min(lease_ms, still_ms_max);
  if (is_free) co_await take(seen.epoch);
}

Task<void> Maintainer::take(int64_t epoch_seen) {
  std::vector<std::string> names;
  std::vector<int64_t> periods_ms;
  for (const Job& job : maintenance_jobs()) {
    names.emplace_back(job.statement->name);
    periods_ms.push_back(job.period_ms);
  }
  postgres::Batch batch;
  batch.add(query::MaintainerTake{
      .daemon_id = daemon_id_, .epoch = epoch_seen, .jobs = names, .periods_ms = periods_ms});
  postgres::BatchOutcome outcome = co_await db_.attempt(std::move(batch));
  if (outcome.error || outcome.results.at(0).empty()) co_return;
  know(outcome.results.at(0).front().integer("epoch"));
}

void Maintainer::know(std::optional<int64_t> epoch) {
  if (epoch == epoch_) return;
  if (epoch) {
    log_info("maintainer_begins", {{"epoch", std::to_string(*epoch)}});
  } else {
    log_warning("maintainer_replaced", {{"epoch", std::to_string(*epoch_)}});
  }
  epoch_ = epoch;
  changed_.notify();
}

}  // namespace hostler::runner
