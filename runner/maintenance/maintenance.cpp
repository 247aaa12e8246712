// See runner/maintenance/maintenance.h.
#include "runner/maintenance/maintenance.h"

#include "lib/log.h"

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

Task<void> Maintenance::repeat(size_t job) {
  while (job > 0 && !has_begun_) co_await begun_.wait();
  for (;;) {
    co_await run(job);
    if (!has_begun_) {
      has_begun_ = true;
      begun_.notify();
    }
    co_await loop::sleep_ms(loop_, maintenance_jobs()[job].period_ms);
  }
}

// A round of a job: pages until nothing more is to be done. Between two pages whoever waits for a
// connection gets it.
Task<void> Maintenance::run(size_t job) {
  const Job& row = maintenance_jobs()[job];
  int64_t end_ms = loop_.now_ms() + round_ms_max;
  for (bool is_more = true; is_more && loop_.now_ms() < end_ms;) {
    postgres::Batch page;
    page.add(row.bind(*settings_.current()));
    postgres::BatchOutcome outcome = co_await db_.attempt(std::move(page));
    if (outcome.error) {
      note_failure(job, outcome.error->cause);
      co_return;
    }
    postgres::Row answer = outcome.results.at(0).front();
    if (!answer.is_null("fault")) note_failure(job, std::string(answer.text("fault")));
    is_more = answer.boolean("more");
  }
}

void Maintenance::note_failure(size_t job, const std::string& cause) {
  log_warning("maintenance_failed",
              {{"job", maintenance_jobs()[job].statement->name}, {"cause", cause}});
  on_failure_(job);
}

}  // namespace hostler::runner
