// How a run's model is to choose among its tools, as its caller wants it (tool_choice and
// parallel_tool_calls of OpenAI's form), turn by turn. Used by the agent loop.
#pragma once

#include <optional>
#include <vector>

#include "runner/agent/run_parts.h"

namespace hostler::runner {

// A call that is required is required until one was made: who is forced in every turn never comes
// to an answer. A function that is named is called by the turn that ends the run.
std::optional<ToolChoice> choice_of_next_turn(const RunParts& parts);

// Models that know nothing of the choice may call what they should not: all calls go when none is
// wanted, and of the caller's functions all but the first when they are wanted one at a time.
void drop_unwanted_calls(ModelTurn& turn, const RunParts& parts);

}  // namespace hostler::runner
