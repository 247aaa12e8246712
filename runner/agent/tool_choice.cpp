// See runner/agent/tool_choice.h.
#include "runner/agent/tool_choice.h"

#include <algorithm>

namespace hostler::runner {
namespace {

// A call with arguments that do not fit or were cut, or of no tool, goes back to the model: it was
// not made.
bool was_made(const ToolResult& result) {
  return result.error_code != "tool.args_invalid" && result.error_code != "tool.args_cut" &&
         result.error_code != "tool.unknown";
}

}  // namespace

std::optional<ToolChoice> choice_of_next_turn(const RunParts& parts) {
  std::optional<ToolChoice> choice = parts.request.sampling.tool_choice;
  if (!choice || choice->kind != ToolChoice::Kind::required) return choice;
  bool was_called = std::any_of(parts.results.begin(), parts.results.end(),
                                [](const auto& result) { return was_made(result.second); });
  if (was_called) choice->kind = ToolChoice::Kind::automatic;
  return choice;
}

void drop_unwanted_calls(ModelTurn& turn, const RunParts& parts) {
  const Sampling& sampling = parts.request.sampling;
  if (sampling.tool_choice && sampling.tool_choice->kind == ToolChoice::Kind::none) {
    erase_calls(turn.parts, [](const ToolCall&) { return true; });
  }
  if (sampling.parallel_tool_calls.value_or(true)) return;
  bool has_one = false;
  erase_calls(turn.parts, [&](const ToolCall& call) {
    return parts.functions.has(call.name) && std::exchange(has_one, true);
  });
}

}  // namespace hostler::runner
