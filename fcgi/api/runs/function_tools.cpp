// See fcgi/api/runs/function_tools.h.
#include "fcgi/api/runs/function_tools.h"

#include <set>
#include <string_view>

#include <fmt/format.h>

#include "fcgi/http/tool_parameters.h"
#include "lib/http/openai_error.h"
#include "lib/tool_names.h"

namespace hostler {
namespace {

constexpr TextBounds description_bounds{
    .max = function_tools_bytes_max, .bytes_max = function_tools_bytes_max, .takes_control = true};

using json_schema::PatternLoad;

bool is_too_much(const PatternLoad& load) {
  return load.patterns > function_tools_patterns_max ||
         load.instructions > function_tools_instructions_max;
}

// A function without parameters.
constexpr std::string_view no_parameters = R"({"type":"object","properties":{}})";

// A schema that is absent, or empty, is that of a tool without arguments.
bool has_no_parameters(Fields& tool, ToolForm form) {
  if (form == ToolForm::native) return false;
  if (!tool.has_value("parameters")) return true;
  return form == ToolForm::agui && tool.any("parameters")->dump() == "{}";
}

std::string read_description(Fields& tool, ToolForm form) {
  if (form == ToolForm::native) return tool.required_text("description", description_bounds);
  return tool.nullable_text("description", description_bounds).value.value_or("");
}

std::string read_parameters(Fields& tool, ToolForm form, PatternLoad& load) {
  if (has_no_parameters(tool, form)) return std::string(no_parameters);
  std::string parameters = read_tool_parameters(tool, load);
  if (load.patterns > function_tools_patterns_max) {
    tool.fault("parameters", "too_long",
               fmt::format("the tools of a run have at most {} patterns together",
                           function_tools_patterns_max));
  } else if (load.instructions > function_tools_instructions_max) {
    tool.fault("parameters", "too_long",
               "the patterns of the tools up to this one are too large together; use fewer "
               "repetitions, and bound lengths with maxLength");
  }
  return parameters.empty() ? "{}" : parameters;
}

std::optional<bool> read_strict(Fields& tool, ToolForm form) {
  if (form == ToolForm::native) return tool.optional_boolean("strict");
  return tool.nullable_boolean("strict").value;
}

void read_definition(Fields& tool, ToolForm form, FunctionTools& tools, JsonWriter& json,
                     PatternLoad& load) {
  std::string name = tool.required_text("name", {.min = 1, .max = 64});
  if (!name.empty() && !is_well_formed_tool_name(name)) {
    tool.fault("name", "bad_format", std::string(tool_name_words));
  }
  json.begin_object().member("type", "function").member("name", name);
  json.member("description", read_description(tool, form));
  std::optional<bool> strict = read_strict(tool, form);
  json.member_raw("parameters", read_parameters(tool, form, load));
  if (strict) json.member("strict", *strict);
  json.end_object();
  tools.names.push_back(std::move(name));
}

// False: a fault says that tools of other kinds are not supported.
bool may_be_function(Fields& tool, ToolForm form) {
  if (form == ToolForm::agui) return true;
  const Json* type = tool.any("type");
  bool is_other = type != nullptr && type->is_text() && *type->as_text() != "function";
  if (form != ToolForm::native && is_other) {
    tool.fault("type", std::string(http::unsupported_parameter),
               fmt::format("{} is not supported here, function is", *type->as_text()));
    return false;
  }
  tool.required_choice("type", {"function"});
  return true;
}

void read_tool(Fields& tool, ToolForm form, FunctionTools& tools, JsonWriter& json,
               PatternLoad& load) {
  if (!may_be_function(tool, form)) return;
  if (form != ToolForm::openai_chat) return read_definition(tool, form, tools, json, load);
  Nullable<Fields> function = tool.nullable_object("function");
  if (function.value) {
    read_definition(*function.value, form, tools, json, load);
  } else {
    tool.fault("function", "required", "is required");
  }
}

}  // namespace

FunctionTools read_function_tools(Fields& fields, ToolForm form) {
  FunctionTools tools;
  bool may_be_null = form != ToolForm::native;
  if (may_be_null && !fields.has_value("tools")) return tools;
  std::vector<Fields> given = fields.optional_objects("tools", function_tools_max);
  if (given.empty()) return tools;
  JsonWriter json;
  json.begin_array();
  PatternLoad load;
  for (Fields& tool : given) {
    read_tool(tool, form, tools, json, load);
    // No further schema is compiled.
    if (is_too_much(load)) return tools;
  }
  json.end_array();
  tools.json = json.take();
  if (tools.json->size() > function_tools_bytes_max) {
    fields.fault("tools", "too_long",
                 fmt::format("must have at most {} bytes together", function_tools_bytes_max));
  }
  return tools;
}

std::optional<TakenName> find_taken_name(const std::vector<std::string>& names,
                                         bool offers_built_in_tools) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (offers_built_in_tools && is_tool_name(names[i])) {
      return TakenName{i, fmt::format("{} is a built-in tool.", names[i])};
    }
    if (!seen.insert(names[i]).second) {
      return TakenName{i, fmt::format("Two tools have the name {}.", names[i])};
    }
  }
  return std::nullopt;
}

void check_tool_names(const std::vector<std::string>& names) {
  std::optional<TakenName> taken = find_taken_name(names, true);
  if (taken) throw Error(ErrorCode::tools_name_taken, std::move(taken->message));
}

}  // namespace hostler
