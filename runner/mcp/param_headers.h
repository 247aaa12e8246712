// Parameters of a tool that its server wants mirrored into header fields (x-mcp-header, revision
// 2026-07-28): whether a definition says so soundly, and the fields of a call. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/http/client.h"
#include "lib/json.h"

namespace hostler::runner {

// Fault of the annotations of an input schema, in words; nothing if they are sound. A tool with a
// fault must not be offered.
std::optional<std::string> param_header_fault(const Json& input_schema);

// The fields of a call with these arguments; of a sound schema.
std::vector<http::HttpField> param_headers(const Json& input_schema, const Json& arguments);

// A value as a field may carry it: as it is, or in base64 between marks.
std::string header_value(std::string_view text);

}  // namespace hostler::runner
