// Whose turn it is where organizations and users share the slots of a daemon that calls addresses
// which they chose: lib/loop/shares.h, as the jobs of MCP servers name it.
#pragma once

#include "lib/loop/shares.h"

namespace hostler::runner {

// The organization of what is the platform's, as claims take it.
constexpr const char* platform_org = "00000000-0000-0000-0000-000000000000";

using OrgTurns = loop::Shares;

}  // namespace hostler::runner
