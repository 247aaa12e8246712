// The schema of a tool's arguments, as runs and organizations declare it. It is compiled here, so
// that what it may not hold is refused when it is declared.
#pragma once

#include <string>

#include "fcgi/http/input.h"
#include "lib/json_schema/schema.h"

namespace hostler {

// The member "parameters" as compact JSON, or its faults. Adds what its patterns took.
std::string read_tool_parameters(Fields& tool, json_schema::PatternLoad& load);

}  // namespace hostler
