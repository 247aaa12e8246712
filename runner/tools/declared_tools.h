// The tools of a run that are no code of ours: function tools, which it declares and its client
// answers, and webhook tools, which it was offered since its first turn. Both were checked when
// they were declared (fcgi/http/tool_parameters.h); used by the agent loop.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "runner/models/model.h"
#include "runner/tools/tool.h"

namespace hostler::runner {

struct DeclaredTool {
  ToolDefinition definition;
  std::string tool_id;  // of a webhook tool
};

// Immutable, cheap to copy, used by any thread.
class DeclaredTools {
 public:
  DeclaredTools() : DeclaredTools(std::string_view()) {}
  // The run's tools as its row has them; empty: none.
  explicit DeclaredTools(std::string_view json);

  // In the order in which they were declared.
  std::vector<ToolDefinition> definitions() const;
  // That a model is told with every turn.
  int64_t bytes() const { return bytes_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Of a webhook tool that is there.
  std::string tool_id(std::string_view name) const { return find(name)->tool_id; }
  // The fault of a call's arguments (tool.args_invalid), or nothing. Compiles the schema and may
  // take most of a second: not on a loop.
  std::optional<ToolOutcome> refuse(const ToolCall& call) const;

 private:
  const DeclaredTool* find(std::string_view name) const;
  std::shared_ptr<const std::vector<DeclaredTool>> tools_;
  int64_t bytes_;
};

}  // namespace hostler::runner
