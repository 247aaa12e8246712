// A call of a remote tool: the state that is committed before its first byte leaves and after its
// answer, so that a take-over neither repeats a call that may have happened nor asks a person
// twice. The protocol is runner/mcp's. Used by the agent loop.
#pragma once

#include <string>
#include <variant>

#include "lib/loop/task.h"
#include "runner/models/model.h"
#include "runner/tools/declared_tools.h"
#include "runner/tools/tool.h"

namespace hostler::runner {

class HeldCalls;

struct McpCall {
  RemoteTool tool;
  int turn = 0;
  ToolCall call;             // its arguments fit, as far as we know the schema's keywords
  bool asks_nobody = false;  // what waits for a person is denied
};

// The server asks a person before it answers.
struct McpQuestion {
  std::string key;      // which of its questions
  std::string message;  // from a stranger: shown as text
  std::string schema;   // JSON text: what the answer's content has to fit
};

// Somebody has to connect with the server before the call can be made.
struct McpAuthorization {
  std::string server_id;
  std::string server_key;
};

// It goes on at its server, and its result comes without the run (sql/schema/mcp_tasks.sql).
struct McpAway {};

using McpOutcome = std::variant<ToolOutcome, McpQuestion, McpAuthorization, McpAway>;

// Waits while Postgres is away. Of a run that is fenced no result is written. Asked for again with
// the same call when a person answered or connected.
Task<McpOutcome> call_mcp_tool(ToolServices& services, HeldCalls& held, ToolContext context,
                               McpCall call);

}  // namespace hostler::runner
