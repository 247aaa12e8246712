// A call of a webhook tool: one message of Standard Webhooks to the app's own server, under one id
// for all tries. The intent to send is committed before its first byte leaves, so that a daemon
// that takes the run over knows that it may have happened. Used by the agent loop.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/loop/task.h"
#include "runner/models/model.h"
#include "runner/tools/tool.h"

namespace hostler::runner {

struct WebhookCall {
  std::string tool_id;
  int turn = 0;
  ToolCall call;  // its arguments fit
};

// Returns nothing if the server answered that the result comes later, by result_token. Waits while
// Postgres is away. No result of a fenced run is written.
Task<std::optional<ToolOutcome>> call_webhook_tool(ToolServices& services, ToolContext context,
                                                   WebhookCall call);

// A result as it is kept until it is taken: {tool_call_id, output} or {tool_call_id, error: {code,
// message}}.
ToolOutcome early_outcome(std::string_view json);
std::string early_json(std::string_view tool_call_id, const ToolOutcome& outcome);

}  // namespace hostler::runner
