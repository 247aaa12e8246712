// What storms must leave right, whatever happened. Used by tests of faults; each first shows that
// the check sees what it is for.
#pragma once

#include <string>

#include "tests/support/accounts.h"

namespace hostler::testing_support {

// What is wrong with the runs of the database, their events, usage, answers and webhook messages,
// one line a fault; empty: nothing.
std::string run_faults(ApiStack& stack);

}  // namespace hostler::testing_support
