// Tool calls that the model did not finish. They are not made: the model reads an error that says
// what cut them, and answers once more. Used by the agent loop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/agent/run_parts.h"

namespace hostler::runner {

enum class CutReason {
  length,          // the limit of output tokens
  content_filter,  // the provider's filter
  broken_off,      // the connection, or a stream that ended without a reason
  no_arguments,    // none at all, and the tool requires some
};

struct CutCall {
  std::string id;
  CutReason reason;
  std::string missing = {};  // of a call without arguments: the names that its tool requires
};

// Reason for tool.cut: length, content_filter, broken_off or no_arguments.
std::string_view cut_reason_name(CutReason reason);

// The calls of the open turn that were cut: of a turn that was stopped the last call, and each
// whose arguments are incomplete; of any turn those without arguments whose tool requires some.
// parameters_of: the JSON Schema of a tool's arguments; empty: nothing is known of it.
using ParametersOf = std::function<std::string(const std::string& tool)>;
std::vector<CutCall> cut_calls(const ModelTurn& turn, const ParametersOf& parameters_of);

// Whether the caller's own limit of tokens stopped the turn within a call. The run then ends with
// what was said, and no call of the turn is made or handed to the caller.
bool was_cut_for_caller(const RunParts& parts, const ModelTurn& turn);

// The tool.args_cut that the model reads. output_tokens_max: the limit that was sent, if one was.
ToolOutcome cut_outcome(const CutCall& cut, std::optional<int64_t> output_tokens_max);

// How a run ends whose model makes the same call three turns in a row although each was refused;
// nothing: it does not.
std::optional<RunFailure> repeated_call(const RunParts& parts);

}  // namespace hostler::runner
