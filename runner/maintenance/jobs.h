// Periodic jobs of the daemon for the whole installation, one row each. Run by
// runner/maintenance/maintenance.h, named by the metrics.
#pragma once

#include <cstdint>
#include <span>

#include "lib/config/settings.h"
#include "lib/postgres/database.h"

namespace hostler::runner {

// A statement of sql/queries/maintenance.sql, whose name is the job's in log and metrics.
struct Job {
  const postgres::Statement* statement;
  int64_t period_ms;
  postgres::BoundStatement (*bind)(
      const config::Settings& settings);  // with the settings of the moment
  // It deletes or ends what is over: not while the database's clock is not accepted
  // (sql/schema/maintenance_clock.sql).
  bool goes_by_clock = false;
};

// The first one is done, alone, before the others begin.
std::span<const Job> maintenance_jobs();

}  // namespace hostler::runner
