// Runs the periodic jobs while this daemon is the maintainer. Each page of a job is a transaction
// of its own and each job a task of its own, so that none holds up or rolls back another. Built by
// the daemon.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "lib/config/live_settings.h"
#include "lib/loop/loop.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "runner/maintenance/jobs.h"
#include "runner/maintenance/maintainer.h"

namespace hostler::runner {

// Gets each round of a job; job: its index in maintenance_jobs().
struct MaintenanceCounts {
  std::function<void(size_t job, int64_t took_ms)> on_round;
  std::function<void(size_t job)> on_failure;  // of it, or a part of it
};

class Maintenance {
 public:
  // All must outlive its tasks.
  Maintenance(loop::Loop& loop, postgres::Database& db, const config::LiveSettings& settings,
              Maintainer& maintainer, MaintenanceCounts counts)
      : loop_(loop),
        db_(db),
        settings_(settings),
        maintainer_(maintainer),
        counts_(std::move(counts)) {}

  // Adds a task for each job, that goes on for ever. When this daemon becomes the maintainer, all
  // are done at once, the first one before the others.
  void begin(loop::TaskSet& tasks);

 private:
  Task<void> repeat(size_t job);
  Task<int64_t> its_turn(size_t job);
  Task<void> run(size_t job, int64_t epoch);
  Task<bool> may_go_on(size_t job);
  postgres::Batch page(size_t job, int64_t epoch) const;
  Task<void> note_failure(size_t job, int64_t epoch, std::string cause);

  loop::Loop& loop_;
  postgres::Database& db_;
  const config::LiveSettings& settings_;
  Maintainer& maintainer_;
  MaintenanceCounts counts_;
  bool is_clock_held_ = false;          // at the last look, so that a change is logged once
  std::optional<int64_t> begun_epoch_;  // in which the first job had its first round
  loop::Signal begun_;
};

}  // namespace hostler::runner
