// Converts HTTP answers for the tools: the fault that a model gets, JSON that was cut off. Used by
// web_search and web_fetch. Never passes on a back end's own error text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/http/client.h"
#include "lib/json.h"
#include "runner/tools/tool.h"
#include "runner/tools/tool_provider.h"

namespace hostler::runner {

// How a tool speaks of whom it called.
struct CallPolicy {
  std::string_view failed_code;  // tool.search_failed, tool.fetch_failed
  std::string_view service;      // "The search service", "The page"
  bool url_from_model = false;   // the model chose the address itself
};

// The limits of contract section 5: timeout_ms in all, 5 MiB, cut.
void limit_call(http::HttpRequest& request, int64_t timeout_ms);

// Why the answer is of no use, or nothing: no answer, or a status other than 2xx.
std::optional<ToolOutcome> fault_of(const http::HttpAnswer& answer, const CallPolicy& policy);

// Tells the operator what the model is not told: which back end, and why.
void log_tool_failure(const ToolContext& context, Backend backend, const ToolOutcome& outcome,
                      const http::HttpAnswer& answer);

// JSON of a back end. Mends what our own reader refuses, and an end that was cut off within a text:
// the text ends there.
std::optional<Json> read_backend_json(std::string_view body, bool truncated);

}  // namespace hostler::runner
