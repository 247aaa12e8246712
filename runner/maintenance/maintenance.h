// Runs the daemon's periodic jobs. Each page of a job is a transaction of its own and each job a
// task of its own, so that none holds up or rolls back another. Every daemon runs all of them: the
// statements bear that. Built by the daemon.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "lib/config/live_settings.h"
#include "lib/loop/loop.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "runner/maintenance/jobs.h"

namespace hostler::runner {

class Maintenance {
 public:
  // All must outlive its tasks. on_failure is told of each round of a job that failed: the job's
  // index in maintenance_jobs().
  Maintenance(loop::Loop& loop, postgres::Database& db, const config::LiveSettings& settings,
              std::function<void(size_t job)> on_failure)
      : loop_(loop), db_(db), settings_(settings), on_failure_(std::move(on_failure)) {}

  // Adds a task for each job, that goes on for ever; the first job's first round comes before the
  // others'.
  void begin(loop::TaskSet& tasks);

 private:
  Task<void> repeat(size_t job);
  Task<void> run(size_t job);
  void note_failure(size_t job, const std::string& cause);

  loop::Loop& loop_;
  postgres::Database& db_;
  const config::LiveSettings& settings_;
  std::function<void(size_t job)> on_failure_;
  bool has_begun_ = false;  // the first job had its first round
  loop::Signal begun_;
};

}  // namespace hostler::runner
