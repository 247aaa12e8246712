// Deletions that a backup does not know.
#pragma once

#include "ctl/command_line.h"

namespace hostler {

// privacy journal: prints what was deleted, a JSON object a line, to be kept beside backups.
// privacy replay: reads such lines from standard input and deletes again what a restored backup
// revived; exit_bad_input when a line could not be applied, after all others were.
void add_privacy_commands(CommandLine& line);

}  // namespace hostler
