// Stored events, read page by page. A page is small enough to wait for a slow reader; only a single
// event may be larger.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/events/event_batch.h"
#include "lib/ids.h"
#include "lib/postgres/database.h"

namespace hostler::relay {

struct EventPage {
  events::SharedBatch events;  // may be empty
  bool is_full = false;        // there may be more behind it
};

// Asks for the events of each run behind the one at the same index of afters, and with the last of
// a run for what it took, where that is wanted. A single run has a statement of its own, which
// costs Postgres two thirds.
postgres::BoundStatement page_statement(const std::vector<UuidBytes>& run_ids,
                                        const std::vector<int64_t>& afters,
                                        const std::vector<bool>& usage_wanted);

// The pages of its answer, one for each run that was asked for, in that order.
std::vector<EventPage> pages_of(const postgres::Result& rows,
                                const std::vector<std::string>& run_ids);

}  // namespace hostler::relay
