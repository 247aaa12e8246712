// Follows a run as its clients see it, for operators at night.
#pragma once

#include "ctl/command_line.h"

namespace hostler {

// run tail: the stored events of a run, then each new one, until the run has ended. A lost
// connection is made again, and nothing is missed or said twice.
void add_run_commands(CommandLine& line);

}  // namespace hostler
