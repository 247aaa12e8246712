// An operator's view of users, and actions on them and their sessions.
#pragma once

#include "ctl/command_line.h"

namespace hostler {

// user create, show, suspend, activate, factors; session revoke.
void add_user_commands(CommandLine& line);

}  // namespace hostler
