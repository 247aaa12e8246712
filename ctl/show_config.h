// Lists the settings and their sources.
#pragma once

#include "ctl/command_line.h"

namespace hostler {

// config: each setting in force with its source, secrets masked; the database is asked for what
// administrators changed, and said to be missing when it is. check-config: the faults of files and
// environment (exit_bad_configuration), or nothing.
void add_config_commands(CommandLine& line);

}  // namespace hostler
