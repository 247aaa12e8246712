// The schema of a tool's arguments, as runs and organizations declare it. It is compiled here, so
// that what it may not hold is refused when it is declared.
#pragma once

#include <cstddef>
#include <string>

#include "fcgi/http/input.h"

namespace hostler {

// The member "parameters" as compact JSON, or its faults. Adds how many patterns it has.
std::string read_tool_parameters(Fields& tool, size_t& patterns);

}  // namespace hostler
