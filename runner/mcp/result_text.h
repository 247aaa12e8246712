// Form of a tool's result (CallToolResult) for the model: its texts and its structured content,
// both unless one only repeats the other. Images, sounds and resources are named, not shown. Pure;
// the input comes from a stranger.
#pragma once

#include <string>
#include <string_view>

namespace hostler::runner {

constexpr size_t remote_result_bytes_max = size_t{1} << 20;

struct ResultText {
  enum class Kind { result, error, bad };
  Kind kind = Kind::bad;
  std::string text;  // result: JSON text; error: the tool's words; bad: what is wrong, in ours
};

// result: JSON text.
ResultText read_tool_result(std::string_view result);

}  // namespace hostler::runner
