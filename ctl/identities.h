// Ways back into an organization that requires its identity provider, and what accounts are linked
// with. Called by ctl/main.cpp.
#pragma once

#include "ctl/command_line.h"

namespace hostler {

// identity list.
void add_identity_commands(CommandLine& line);
// org sso, of the topic org.
void add_org_sso_command(CommandLine& line, CommandWord topic);

}  // namespace hostler
