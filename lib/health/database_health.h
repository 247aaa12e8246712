// Describes in sentences what a database reports about itself and the work in it (platform_facts()
// in sql/schema). For hostlerctl doctor and for GET /v1/admin/nodes. Queries nothing: the caller
// has the facts.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/config/settings.h"
#include "lib/health/report.h"
#include "lib/postgres/database.h"

namespace hostler::health {

// The server: versions, clock, durability, connections, open transactions. settings: of the program
// that asks; the clock is its host's.
void look_at_postgres(const config::Settings& settings, const postgres::Row& facts, Report& report);
// Administrators, daemons, runs that nobody claims, mails and webhook messages.
void look_at_work(const postgres::Row& facts, Report& report);
// How many of the named standbys may be lost before every commit waits for one; 1 when none is
// waited for, or any will do.
int64_t standbys_to_spare(std::string_view synchronous_standby_names);

}  // namespace hostler::health
