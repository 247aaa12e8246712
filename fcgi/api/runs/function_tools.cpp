// See fcgi/api/runs/function_tools.h.
#include "fcgi/api/runs/function_tools.h"

#include <set>
#include <string_view>

#include <fmt/format.h>

#include "fcgi/http/tool_parameters.h"
#include "lib/tool_names.h"

namespace hostler {
namespace {

constexpr TextBounds description_bounds{
    .max = function_tools_bytes_max, .bytes_max = function_tools_bytes_max, .takes_control = true};

constexpr std::string_view no_parameters = R"({"type":"object","properties":{}})";

// AG-UI takes an absent schema, and an empty one, as that of a tool without arguments.
bool has_no_parameters(Fields& tool, ToolForm form) {
  const Json* parameters = tool.any("parameters");
  if (form == ToolForm::native) return false;
  return parameters == nullptr || parameters->is_null() || parameters->dump() == "{}";
}

// Appends the tool; false when it is the last that is looked at.
bool read_tool(Fields& tool, ToolForm form, FunctionTools& tools, JsonWriter& json,
               size_t& patterns) {
  if (form == ToolForm::native) tool.required_choice("type", {"function"});
  std::string name = tool.required_text("name", {.min = 1, .max = 64});
  if (!name.empty() && !is_well_formed_tool_name(name)) {
    tool.fault("name", "bad_format", std::string(tool_name_words));
  }
  std::string description = tool.required_text("description", description_bounds);
  std::optional<bool> strict = tool.optional_boolean("strict");
  std::string parameters(no_parameters);
  if (!has_no_parameters(tool, form)) parameters = read_tool_parameters(tool, patterns);
  if (patterns > function_tools_patterns_max) {
    tool.fault("parameters", "too_long",
               fmt::format("the tools of a run have at most {} patterns together",
                           function_tools_patterns_max));
    return false;
  }
  json.begin_object().member("type", "function").member("name", name);
  json.member("description", description);
  json.member_raw("parameters", parameters.empty() ? "{}" : parameters);
  if (strict) json.member("strict", *strict);
  json.end_object();
  tools.names.push_back(std::move(name));
  return true;
}

}  // namespace

FunctionTools read_function_tools(Fields& fields, ToolForm form) {
  FunctionTools tools;
  std::vector<Fields> given = fields.optional_objects("tools", function_tools_max);
  if (given.empty()) return tools;
  JsonWriter json;
  json.begin_array();
  size_t patterns = 0;
  for (Fields& tool : given) {
    if (!read_tool(tool, form, tools, json, patterns)) return tools;
  }
  json.end_array();
  tools.json = json.take();
  if (tools.json->size() > function_tools_bytes_max) {
    fields.fault("tools", "too_long",
                 fmt::format("must have at most {} bytes together", function_tools_bytes_max));
  }
  return tools;
}

void check_tool_names(const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (is_tool_name(name)) {
      throw Error(ErrorCode::tools_name_taken, fmt::format("{} is a built-in tool.", name));
    }
    if (!seen.insert(name).second) {
      throw Error(ErrorCode::tools_name_taken, fmt::format("Two tools have the name {}.", name));
    }
  }
}

}  // namespace hostler
