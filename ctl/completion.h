// Completions of bash, zsh and fish, made from the command line's own words.
#pragma once

#include "ctl/command_line.h"

namespace hostler {

// completion bash|zsh|fish: prints the file that make install puts into its place.
void add_completion_command(CommandLine& line);

}  // namespace hostler
