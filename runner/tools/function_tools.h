// The function tools that a run declares: offered to the model beside the built-in ones, never
// called here, since the run's client answers them. Checked when they were declared
// (fcgi/api/runs/function_tools.h); used by the agent loop.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "runner/models/model.h"
#include "runner/tools/tool.h"

namespace hostler::runner {

// Immutable, cheap to copy, used by any thread.
class FunctionTools {
 public:
  FunctionTools() : FunctionTools(std::string_view()) {}
  // The run's tools as its row has them; empty: none.
  explicit FunctionTools(std::string_view json);

  // In the order in which they were declared.
  const std::vector<ToolDefinition>& definitions() const { return *tools_; }
  // That a model is told with every turn.
  int64_t bytes() const { return bytes_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // The fault of a call's arguments (tool.args_invalid), or nothing. Compiles the schema and may
  // take most of a second: not on a loop.
  std::optional<ToolOutcome> refuse(const ToolCall& call) const;

 private:
  const ToolDefinition* find(std::string_view name) const;
  std::shared_ptr<const std::vector<ToolDefinition>> tools_;
  int64_t bytes_;
};

}  // namespace hostler::runner
