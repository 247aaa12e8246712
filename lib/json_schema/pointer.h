// JSON pointers (RFC 6901) into a schema, as its $refs have them. Called by the compiler of this
// room and by runner/models/tool_schema.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/json.h"

namespace hostler::json_schema {

// The pointer in a URI's fragment, percent-encoding undone; nothing: it is broken, or what it
// stands for is no text of JSON.
std::optional<std::string> pointer_of_fragment(std::string_view fragment);

// Returns the value to which the pointer leads within the document, or null.
const Json* value_at(const Json& document, std::string_view pointer);

}  // namespace hostler::json_schema
