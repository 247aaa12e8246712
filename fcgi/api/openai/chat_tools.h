// The tools of a chat or response in OpenAI's forms that its caller answers, and how their model is
// to choose among them. Used by chat_completions.cpp and response_request.cpp beside it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fcgi/api/runs/function_tools.h"
#include "fcgi/http/input.h"
#include "lib/json.h"

namespace hostler {

struct ChatTools {
  std::vector<std::string> names;
  std::optional<std::string> declared;  // as a run keeps them; nothing: there are none
  // Form in which a run keeps them in its sampling; empty or nothing: not given.
  std::string choice;  // JSON: "none", "auto", "required" or {"name"}
  std::optional<bool> parallel;
};

// The members tools, tool_choice and parallel_tool_calls; their faults are added to the fields'.
ChatTools read_chat_tools(Fields& fields, ToolForm form = ToolForm::openai_chat);
// Throws tools.name_taken, with the member at fault.
void check_chat_tool_names(const ChatTools& tools, bool offers_built_in_tools,
                           ToolForm form = ToolForm::openai_chat);

// Adds what of them is sampling to an open object.
void write_tool_choice(const ChatTools& tools, JsonWriter& json);

}  // namespace hostler
