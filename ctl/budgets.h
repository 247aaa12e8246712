// budget list, create, update, delete: what an organization may spend, set by the operator.
#pragma once

#include "ctl/command_line.h"

namespace hostler {

void add_budget_commands(CommandLine& line);

}  // namespace hostler
