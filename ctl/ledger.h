// Checks the ledger and adjusts credits by hand.
#pragma once

#include "ctl/command_line.h"

namespace hostler {

// ledger verify: holds the ledger against the accounts, the holds of runs, the charges and the
// usage, as of one moment; exit_bad_input with the first row that is wrong, when one is.
// credits adjust: as POST /v1/admin/credits/adjust; audited without an actor.
void add_ledger_commands(CommandLine& line);

}  // namespace hostler
