// The tools that a model can call, behind their group names: THE TABLE OF TOOLS is in tool_box.cpp.
// Which provider serves a group is decided at each call, from committed configuration.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/loop/task.h"
#include "runner/models/model.h"
#include "runner/tools/held_calls.h"
#include "runner/tools/mcp_call.h"
#include "runner/tools/served_groups.h"
#include "runner/tools/tool.h"
#include "runner/tools/webhook_call.h"

namespace hostler::runner {

class ToolBox {
 public:
  ToolBox(loop::Loop& loop, postgres::Database& db, http::HttpClient& http,
          const config::SecretBox& secrets, const config::LiveSettings& settings);

  // Returns the definitions of the tools of these names for the model. Unknown names are left out.
  std::vector<ToolDefinition> definitions(const std::vector<std::string>& names) const;
  // Returns the names that are not to be offered, because nobody serves them for the organization.
  // A call of one anyway is tool.not_configured.
  Task<std::vector<std::string>> unserved(std::string org_id, std::vector<std::string> names) {
    return groups_.unserved(std::move(org_id), std::move(names));
  }
  // Providers of tools may have changed.
  void hear_of_providers() { groups_.forget(); }
  // Answered by a human instead of by call().
  bool is_question(const std::string& name) const;
  // The call's fault, or nothing: unknown or not among the persona's tools (tool.unknown),
  // arguments that do not fit (tool.args_invalid).
  std::optional<ToolOutcome> refuse(const ToolCall& call,
                                    const std::vector<std::string>& allowed) const;
  Task<ToolOutcome> call(ToolContext context, ToolCall call);
  // The same of a webhook tool; nothing: its result comes by token.
  Task<std::optional<ToolOutcome>> call_webhook(ToolContext context, WebhookCall call);
  // The same of a remote tool.
  Task<McpOutcome> call_remote_tool(ToolContext context, McpCall call);
  // To be taken before call(), and kept until it has ended; the other calls take their own.
  ToolPermits& permits() { return permits_; }
  HeldCalls& held_calls() { return held_; }
  // To be taken before arguments are checked by a schema.
  ToolPermits& checks() { return checks_; }

 private:
  ToolPermits permits_;
  ToolPermits held_permits_;
  ToolPermits look_ups_;
  ToolPermits checks_;
  ToolServices services_;
  ServedGroups groups_;
  HeldCalls held_;
};

}  // namespace hostler::runner
