// Questions of an operator about organizations, and the end of an API key.
#pragma once

#include "ctl/command_line.h"

namespace hostler {

// org list, show; apikey revoke: a revoked key stays revoked; the audit log has no actor then.
void add_tenant_commands(CommandLine& line);

}  // namespace hostler
