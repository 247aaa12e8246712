// Invariants that stress tests must keep. Used by tests of faults; each first shows that the check
// sees its kind of fault.
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/rows/accounts.h"

namespace hostler::testing_support {

// Returns what is wrong with the runs of the database, their events, usage, answers and webhook
// messages, one line a fault; empty: nothing.
std::string run_faults(ApiStack& stack);
// Returns what is wrong with the money once every run is over: the ledger, holds that outlived
// their runs, turns that cost something and were not paid for once. Empty: nothing.
std::string money_faults(ApiStack& stack);
// Until no run is open: false when some are after so long.
int64_t open_runs(ApiStack& stack);
testing::AssertionResult all_runs_end(ApiStack& stack, int64_t max_ms = 60'000);

}  // namespace hostler::testing_support
