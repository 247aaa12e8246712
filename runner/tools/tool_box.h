// The tools that a model can call, behind their group names: THE TABLE OF TOOLS is in tool_box.cpp.
// Which provider serves a group is decided at each call, from committed configuration.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/loop/task.h"
#include "runner/models/model.h"

namespace hostler {
class Database;
class HttpClient;
class LiveSettings;
class Loop;
class SecretBox;
}  // namespace hostler

namespace hostler::runner {

// What became of a call, for the model to see. Never an exception: a tool that fails is an answer.
struct ToolOutcome {
  std::string result;      // JSON text, when it succeeded
  std::string error_code;  // tool.…, when it failed
  std::string error_message;
};

struct ToolContext {
  std::string run_id;
  std::string org_id;
  std::string trace_id;
};

class ToolBox {
 public:
  ToolBox(Loop& loop, Database& db, HttpClient& http, const SecretBox& secrets,
          const LiveSettings& settings);

  // What the model is told of the tools of these names; names that do not exist are left out.
  std::vector<ToolDefinition> definitions(const std::vector<std::string>& names) const;
  // Answered by a human instead of by call().
  bool is_question(const std::string& name) const;
  // The call's fault, or nothing: unknown or not among the persona's tools (tool.unknown),
  // arguments that do not fit (tool.args_invalid).
  std::optional<ToolOutcome> refuse(const ToolCall& call,
                                    const std::vector<std::string>& allowed) const;
  Task<ToolOutcome> call(ToolContext context, ToolCall call);

 private:
  Loop& loop_;
  Database& db_;
  HttpClient& http_;
  const SecretBox& secrets_;
  const LiveSettings& settings_;
};

}  // namespace hostler::runner
