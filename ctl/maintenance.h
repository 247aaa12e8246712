// Shows whether maintenance goes by the database's clock, and accepts that clock.
#pragma once

#include "ctl/command_line.h"

namespace hostler {

// maintenance clock [--accept]. Ends with exit_try_again while the clock is not accepted.
void add_maintenance_commands(CommandLine& line);

}  // namespace hostler
