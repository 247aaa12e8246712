// Arguments that a human edited before they approved the call: whether the tool takes them, told
// while the call still waits. The daemon checks them once more (runner/tools/declared_tools.h).
// Called by fcgi/api/runs/run_input.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hostler {

// Returns the fault and how to fix it, or an empty text. parameters: JSON Schema, as the tool's app
// or server declares it; unknown keywords prove nothing. Takes up to a second: not on a loop.
std::vector<std::string> edited_arguments_faults(std::string_view parameters,
                                                 std::string_view arguments);

}  // namespace hostler
