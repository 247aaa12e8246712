// What a server's answer, or its silence, is for the model; and who hears of it when the call went
// on without its run. Shared by mcp_call.cpp, held_calls.cpp and task_polls.cpp.
#pragma once

#include <string>
#include <string_view>

#include "lib/loop/task.h"
#include "runner/mcp/remote_call.h"
#include "runner/tools/tool.h"

namespace hostler::runner {

ToolOutcome outcome_unknown();
// Of a call that goes on at its server and is not gone on with. refusal: of mcp_task_refusal().
ToolOutcome refused_away(std::string_view refusal);
// Of an answer that ends the call: no question, no task, nobody to authorize.
ToolOutcome tool_outcome_of(const RemoteOutcome& came, bool is_idempotent);

// A run that no daemon has was changed: whoever follows it looks; goes_on: whoever has room, too.
Task<void> tell_of_run(OAuthServices services, std::string run_id, bool goes_on);

}  // namespace hostler::runner
