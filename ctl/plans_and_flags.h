// Shows the plans and sets feature flags.
#pragma once

#include "ctl/command_line.h"

namespace hostler {

// plan list: each with its entitlements, the newest first; flag set: the value of a flag where no
// organization overrides it.
void add_plan_commands(CommandLine& line);

}  // namespace hostler
