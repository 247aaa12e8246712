// See runner/maintenance/maintenance.h.
#include "runner/maintenance/maintenance.h"

#include "lib/log.h"
#include "queries/maintenance.h"

namespace hostler::runner {
namespace {

// For so long a job goes on with its pages; then its connection is free until the next round.
constexpr int64_t round_ms_max = 20 * 1000;

}  // namespace

void Maintenance::begin(loop::TaskSet& tasks) {
  for (size_t job = 0; job < maintenance_jobs().size(); ++job) {
    tasks.add_forever(maintenance_jobs()[job].statement->name, repeat(job));
  }
}

// The epoch in which the job is to be done now.
Task<int64_t> Maintenance::its_turn(size_t job) {
  for (;;) {
    std::optional<int64_t> epoch = maintainer_.epoch();
    if (epoch && (job == 0 || begun_epoch_ == epoch)) co_return *epoch;
    if (epoch) {
      co_await begun_.wait();
    } else {
      co_await maintainer_.changed().wait();
    }
  }
}

Task<void> Maintenance::repeat(size_t job) {
  for (;;) {
    int64_t epoch = co_await its_turn(job);
    co_await run(job, epoch);
    if (job == 0 && begun_epoch_ != epoch) {
      begun_epoch_ = epoch;
      begun_.notify();
    }
    if (maintainer_.epoch() != epoch) continue;
    co_await maintainer_.changed().wait_for(loop_, maintenance_jobs()[job].period_ms);
  }
}

// A round of a job: pages until nothing is left to do. Between two pages other users of the
// connection get it.
Task<void> Maintenance::run(size_t job, int64_t epoch) {
  int64_t begin_ms = loop_.now_ms();
  bool goes_on = co_await may_go_on(job);
  if (!goes_on) co_return;
  for (bool is_more = true; is_more && loop_.now_ms() < begin_ms + round_ms_max;) {
    postgres::Batch work = page(job, epoch);
    postgres::BatchOutcome outcome = co_await db_.attempt(std::move(work));
    if (outcome.error) co_await maintainer_.look();
    if (maintainer_.epoch() != epoch) co_return;  // what failed is another's matter now
    if (outcome.error) {
      co_await note_failure(job, epoch, outcome.error->cause);
      co_return;
    }
    postgres::Row answer = outcome.results.at(0).front();
    is_more = answer.boolean("more");
    if (answer.is_null("fault")) continue;
    co_await note_failure(job, epoch, std::string(answer.text("fault")));
  }
  counts_.on_round(job, loop_.now_ms() - begin_ms);
}

// Whether the job does not care for the database's clock, or that clock is accepted.
Task<bool> Maintenance::may_go_on(size_t job) {
  if (!maintenance_jobs()[job].goes_by_clock) co_return true;
  postgres::Batch look;
  look.add(query::MaintenanceClockPass{});
  postgres::BatchOutcome outcome = co_await db_.attempt(std::move(look));
  if (outcome.error) co_return true;  // the job hears why by itself
  bool is_held = !outcome.results.at(0).front().boolean("may_go_on");
  if (is_held != is_clock_held_) {
    is_clock_held_ = is_held;
    is_held ? log_error("maintenance_clock_held", {}) : log_info("maintenance_clock_accepted", {});
  }
  co_return !is_held;
}

// Commits nothing when the place is another's: its last statement sees to that.
postgres::Batch Maintenance::page(size_t job, int64_t epoch) const {
  const Job& row = maintenance_jobs()[job];
  postgres::Batch batch;
  batch.add(row.bind(*settings_.current()));
  // Behind the job's statement, whose answer comes first; it all rolls back when the clock is held.
  if (row.goes_by_clock) batch.add(query::MaintenanceClockCheck{});
  batch.add(query::MaintenanceDone{
      .daemon_id = maintainer_.daemon_id(), .epoch = epoch, .job = row.statement->name});
  return batch;
}

Task<void> Maintenance::note_failure(size_t job, int64_t epoch, std::string cause) {
  const char* name = maintenance_jobs()[job].statement->name;
  log_warning("maintenance_failed", {{"job", name}, {"cause", cause}});
  counts_.on_failure(job);
  postgres::Batch note;
  note.add(query::MaintenanceFault{
      .daemon_id = maintainer_.daemon_id(), .epoch = epoch, .job = name, .fault = cause});
  co_await db_.attempt(std::move(note));
}

}  // namespace hostler::runner
