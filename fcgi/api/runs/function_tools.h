// The function tools that a run declares, which the app itself answers: tools of POST
// /v1/threads/{thread_id}/runs, and of the protocols of others that begin runs. What is refused
// here no model is offered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fcgi/http/input.h"

namespace hostler {

constexpr size_t function_tools_max = 64;
constexpr size_t function_tools_bytes_max = 256 * 1024;  // all of them, written compactly
// Different ones, in all schemas of a run: compiling them holds up a worker.
constexpr size_t function_tools_patterns_max = 256;
constexpr size_t function_tools_instructions_max = 65'536;  // of their programs together
// Answer of an app to one call, written compactly.
constexpr size_t tool_output_bytes_max = 256 * 1024;

// How a request writes a tool. In the forms of others all but the name may be absent or null.
enum class ToolForm : uint8_t {
  native,            // {type, name, description, parameters, strict?}
  openai_chat,       // {type, function: {name, description, parameters, strict}}
  openai_responses,  // {type, name, description, parameters, strict}
  agui,              // {name, description?, parameters?}
};

struct FunctionTools {
  std::vector<std::string> names;
  // [{type, name, description, parameters, strict?}], in the form that the run keeps and
  // runner/tools/declared_tools reads; nothing if there are no tools.
  std::optional<std::string> json;
};

// Faults go to those of the body.
FunctionTools read_function_tools(Fields& fields, ToolForm form = ToolForm::native);

// A name that is given twice, or that of a built-in tool.
struct TakenName {
  size_t nth;           // of the tools
  std::string message;  // for the client
};
std::optional<TakenName> find_taken_name(const std::vector<std::string>& names,
                                         bool offers_built_in_tools);
// Throws tools.name_taken for a name that is taken.
void check_tool_names(const std::vector<std::string>& names);

}  // namespace hostler
