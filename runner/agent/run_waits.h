// How a run begins to wait: for a person who is asked about a call, for the results that others
// owe, for an answer to a server's question, for somebody who connects with a server, for a budget.
// Each gives the run up. Used by runner/agent/tool_calls.cpp and turn_allowance.cpp.
#pragma once

#include <vector>

#include "runner/agent/agent_services.h"
#include "runner/agent/run_parts.h"
#include "runner/agent/turn_holds.h"
#include "runner/tools/mcp_call.h"

namespace hostler::runner {

// About a call: a question of the model's, or whether it may be made.
Task<void> ask(AgentServices& services, RunPtr run, int turn, ToolCall call);

// Once for all calls of the turn that others answer: the run's client, or the servers of webhook
// tools that said so.
Task<void> ask_for_results(AgentServices& services, RunPtr run, const RunParts& parts, int turn,
                           std::vector<ToolCall> calls);

// A call of a remote tool whose server asks before it answers.
Task<void> ask_for_server(AgentServices& services, RunPtr run, int turn, ToolCall call,
                          McpQuestion question);

// A call of a remote tool whose server nobody is connected with.
Task<void> ask_to_connect(AgentServices& services, RunPtr run, int turn, ToolCall call,
                          McpAuthorization authorization);

// A turn for which too little is left of a budget. The same turn goes on later.
Task<void> wait_for_budget(AgentServices& services, RunPtr run, ExhaustedBudget budget);

}  // namespace hostler::runner
