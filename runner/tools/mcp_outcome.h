// Converts a server's answer, or its silence, into the outcome for the model, and notifies the
// interested parties if the call continued without its run. Shared by mcp_call.cpp, held_calls.cpp
// and task_polls.cpp.
#pragma once

#include <string>
#include <string_view>

#include "lib/loop/task.h"
#include "runner/mcp/remote_call.h"
#include "runner/tools/tool.h"

namespace hostler::runner {

ToolOutcome outcome_unknown();
// Outcome of a call that continues at its server and is given up here. refusal: of
// mcp_task_refusal().
ToolOutcome refused_away(std::string_view refusal);
// Outcome of an answer that ends the call: no question, no task, nobody to authorize.
ToolOutcome tool_outcome_of(const RemoteOutcome& came, bool is_idempotent);

// A run without a daemon was changed: its subscribers look again. goes_on: daemons with room do,
// too.
Task<void> tell_of_run(OAuthServices services, std::string run_id, bool goes_on);

}  // namespace hostler::runner
