// The tool web_fetch: {url, max_chars?} -> {url, title, content, truncated}. A row of the table of
// tools (tool_box.cpp).
#pragma once

#include <string>

#include "lib/json.h"
#include "lib/loop/task.h"
#include "runner/tools/tool.h"

namespace hostler::runner {

// Returns the fault of the arguments, for the model, or an empty text.
std::string web_fetch_fault(const Json& arguments);
// The arguments are without fault.
Task<ToolOutcome> web_fetch(ToolServices& services, ToolContext context, Json arguments);

}  // namespace hostler::runner
