// The tools of a run that are no code of ours: function tools, which it declares and its client
// answers, and webhook tools and remote tools, which it was offered since its first turn. The first
// two were checked when they were declared (fcgi/http/tool_parameters.h), remote ones are as their
// server wrote them; used by the agent loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/json_schema/schema.h"
#include "runner/models/model.h"
#include "runner/tools/tool.h"

namespace hostler::runner {

// For a remote tool: its place, and its approved definition.
struct RemoteTool {
  std::string server_id;
  std::string tool;  // as its server names it
  std::string hash;  // of the definition that was approved
  bool asks_first = false;
  bool is_read_only = false;
  bool is_idempotent = false;
};

struct DeclaredTool {
  ToolDefinition definition;
  std::string tool_id;  // of a webhook tool
  std::optional<RemoteTool> remote = std::nullopt;
};

// How long the arguments of one turn's calls may be checked, in the time of the thread that checks;
// what is under way is finished.
class CheckBudget {
 public:
  explicit CheckBudget(int64_t budget_ms);
  bool is_spent() const;

 private:
  int64_t end_ns_;
};

// Immutable but for the schemas that were compiled, each once; cheap to copy, used by any thread.
class DeclaredTools {
 public:
  DeclaredTools() : DeclaredTools(std::string_view()) {}
  // The run's tools as its row has them; empty: none.
  explicit DeclaredTools(std::string_view json);

  // In the order in which they were declared.
  std::vector<ToolDefinition> definitions() const;
  // Size that a model gets with every turn.
  int64_t bytes() const { return bytes_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Finds an existing webhook tool.
  std::string tool_id(std::string_view name) const { return find(name)->tool_id; }
  // Null: no remote tool has the name. Lives as long as these.
  const RemoteTool* remote(std::string_view name) const;
  // The fault of a call's arguments (tool.args_invalid), or nothing: they fit what we know of the
  // schema. Compiles it at its first call and may take most of a second: not on a loop.
  std::optional<ToolOutcome> refuse(const ToolCall& call, const CheckBudget& budget) const;
  size_t compilations() const;  // so many schemas were compiled

 private:
  struct Schemas;
  const DeclaredTool* find(std::string_view name) const;
  std::optional<json_schema::Schema> schema_of(const DeclaredTool& tool) const;
  std::shared_ptr<const std::vector<DeclaredTool>> tools_;
  std::shared_ptr<Schemas> schemas_;  // those of all copies
  int64_t bytes_;
};

}  // namespace hostler::runner
