// The function tools that a run declares: tools of POST /v1/threads/{thread_id}/runs, which the
// app itself answers. Read by fcgi/api/runs/runs.cpp; what is refused here no model is offered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fcgi/http/input.h"

namespace hostler {

constexpr size_t function_tools_max = 64;
constexpr size_t function_tools_bytes_max = 256 * 1024;  // all of them, written compactly
// Different ones, in all schemas of a run: compiling them holds up a worker.
constexpr size_t function_tools_patterns_max = 256;
// What an app answers to one call, written compactly.
constexpr size_t tool_output_bytes_max = 256 * 1024;

struct FunctionTools {
  std::vector<std::string> names;
  // [{type, name, description, parameters, strict?}], as the run keeps them and
  // runner/tools/declared_tools reads them; nothing when there are none.
  std::optional<std::string> json;
};

enum class ToolForm : uint8_t {
  native,
  agui,  // {name, description, parameters}: without a type, or parameters where there are none
};

// Faults go to those of the body.
FunctionTools read_function_tools(Fields& fields, ToolForm form = ToolForm::native);
// Throws tools.name_taken for a name that is given twice or that of a built-in tool.
void check_tool_names(const std::vector<std::string>& names);

}  // namespace hostler
