// Clock of the daemon's host as a heartbeat reports it (sql/schema/maintenance_clock.sql).
#pragma once

#include <string>

#include "lib/clock_sync.h"
#include "lib/time_text.h"
#include "queries/daemon.h"
#include "queries/daemons.h"

namespace hostler::runner {

inline postgres::BoundStatement daemon_clock(const std::string& daemon_id) {
  return query::DaemonClock{.daemon_id = daemon_id,
                            .clock_ms = unix_now_ms(),
                            .is_clock_synchronized = is_clock_synchronized()};
}

}  // namespace hostler::runner
