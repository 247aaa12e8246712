// Whether a tool may be called on the platform's account, and what the call costs: the settings
// credit.tool_call and limit.platform_tool_calls_per_day. Asked by the tools right before the call;
// what it costs is paid for with its result.
#pragma once

#include <optional>

#include "lib/loop/task.h"
#include "runner/tools/tool.h"
#include "runner/tools/tool_provider.h"

namespace hostler::runner {

struct ToolAdmission {
  std::optional<ToolOutcome> refusal;  // credits.insufficient or tool.limit_exceeded
  int64_t cost = 0;                    // held for the run from now on
};

// Calls of an organization's own provider are not counted. Our own page reader uses no credentials
// of the platform: it is counted and costs nothing. Waits while Postgres is away.
Task<ToolAdmission> admit_call(ToolServices& services, ToolContext context, ToolProvider provider);

}  // namespace hostler::runner
