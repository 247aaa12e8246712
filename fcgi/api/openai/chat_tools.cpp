// See fcgi/api/openai/chat_tools.h.
#include "fcgi/api/openai/chat_tools.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "fcgi/api/runs/function_tools.h"
#include "lib/http/openai_error.h"

namespace hostler {
namespace {

// The object that holds the name: {type: function, function: {name}}, or {type: function, name}.
std::optional<Fields> named_function(Fields& choice, ToolForm form) {
  if (form == ToolForm::openai_responses) return choice;
  Nullable<Fields> function = choice.nullable_object("function");
  if (!function.value) choice.fault("function", "required", "is required");
  return function.value;
}

std::string read_named_choice(Fields& choice, ToolForm form,
                              const std::vector<std::string>& names) {
  const Json* type = choice.any("type");
  if (type != nullptr && type->is_text() && *type->as_text() != "function") {
    choice.fault("type", std::string(http::unsupported_parameter),
                 fmt::format("{} is not supported here, function is", *type->as_text()));
    return {};
  }
  choice.required_choice("type", {"function"});
  std::optional<Fields> function = named_function(choice, form);
  if (!function) return {};
  std::string name = function->required_text("name", {.min = 1, .max = 64});
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
    function->fault("name", "unknown", "must be the name of one of tools");
  }
  return JsonWriter().begin_object().member("name", name).end_object().take();
}

// Empty: not given, or of no use, since nothing can be chosen.
std::string read_choice(Fields& fields, ToolForm form, const ChatTools& tools) {
  const Json* given = fields.any("tool_choice");
  if (given == nullptr || given->is_null()) return {};
  std::string choice;
  if (given->is_text()) {
    std::string word = fields.required_choice("tool_choice", {"none", "auto", "required"});
    if (!tools.declared && word != "required") return {};
    choice = json_quote(word);
  } else if (Nullable<Fields> named = fields.nullable_object("tool_choice"); named.value) {
    choice = read_named_choice(*named.value, form, tools.names);
  }
  if (!tools.declared) {
    fields.fault("tool_choice", "bad_format", "needs tools in the request");
  }
  return choice;
}

}  // namespace

ChatTools read_chat_tools(Fields& fields, ToolForm form) {
  FunctionTools given = read_function_tools(fields, form);
  ChatTools tools;
  tools.names = std::move(given.names);
  tools.declared = std::move(given.json);
  tools.choice = read_choice(fields, form, tools);
  std::optional<bool> parallel = fields.nullable_boolean("parallel_tool_calls").value;
  if (tools.declared) tools.parallel = parallel;
  return tools;
}

void check_chat_tool_names(const ChatTools& tools, bool offers_built_in_tools, ToolForm form) {
  std::optional<TakenName> taken = find_taken_name(tools.names, offers_built_in_tools);
  if (!taken) return;
  const char* member = form == ToolForm::openai_chat ? "function.name" : "name";
  Error error(ErrorCode::tools_name_taken, taken->message);
  error.faults.push_back(
      {fmt::format("tools.{}.{}", taken->nth, member), "taken", std::move(taken->message)});
  throw error;
}

void write_tool_choice(const ChatTools& tools, JsonWriter& json) {
  if (!tools.choice.empty()) json.member_raw("tool_choice", tools.choice);
  if (tools.parallel) json.member("parallel_tool_calls", *tools.parallel);
}

}  // namespace hostler
