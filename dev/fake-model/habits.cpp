// The habits of habits.h. The words are those of OpenAI, Anthropic and compatible servers, cut down
// to what a client can read from them.
#include "dev/fake-model/habits.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "dev/fake-model/chat_checks.h"
#include "dev/fake-model/refusal_forms.h"

namespace hostler::fake_model {
namespace {

using Fault = std::optional<std::string>;

bool has(const Json& body, std::string_view name) {
  const Json* member = body.find(name);
  return member != nullptr && !member->is_null();
}

std::string unsupported(std::string_view name) {
  return "Unsupported parameter: '" + std::string(name) + "' is not supported with this model.";
}

Fault max_tokens(const Json& body) {
  if (!has(body, "max_tokens")) return std::nullopt;
  return unsupported("max_tokens") + " Use 'max_completion_tokens' instead.";
}
Fault max_completion_tokens(const Json& body) {
  if (!has(body, "max_completion_tokens")) return std::nullopt;
  return "max_completion_tokens: Extra inputs are not permitted";
}
Fault stream_options(const Json& body) {
  if (!has(body, "stream_options")) return std::nullopt;
  return "Unrecognized request argument supplied: stream_options";
}

Fault format_of_type(const Json& body, std::string_view type) {
  const Json* format = body.find("response_format");
  if (const Json* output = body.find("output_config")) format = output->find("format");
  if (format == nullptr || format->text_or("type") != type) return std::nullopt;
  if (has(body, "output_config")) return "output_config.format: Extra inputs are not permitted";
  return "This response_format type is unavailable now";
}
Fault json_schema(const Json& body) { return format_of_type(body, "json_schema"); }
Fault json_object(const Json& body) { return format_of_type(body, "json_object"); }

Fault parallel_tool_calls(const Json& body) {
  const Json* choice = body.find("tool_choice");
  if (choice != nullptr && has(*choice, "disable_parallel_tool_use")) {
    return "tool_choice.disable_parallel_tool_use: Extra inputs are not permitted";
  }
  if (!has(body, "parallel_tool_calls")) return std::nullopt;
  return unsupported("parallel_tool_calls");
}

Fault temperature(const Json& body) {
  if (!has(body, "temperature")) return std::nullopt;
  return "`temperature` is deprecated for this model.";
}

const Json::Array& items_of(const Json& body, std::string_view name) {
  static const Json::Array none;
  const Json* list = body.find(name);
  return list == nullptr || !list->is_array() ? none : *list->as_array();
}

Fault system_role(const Json& body) {
  for (const Json& message : items_of(body, "messages")) {
    std::string_view role = message.text_or("role");
    if (role == "system" || role == "developer") {
      return "Developer instruction is not enabled for this model: the role 'system' is not "
             "allowed.";
    }
  }
  return std::nullopt;
}

Fault given_reasoning(const Json& body) {
  const Json::Array& messages = items_of(body, "messages");
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!has(messages[i], "reasoning_content")) continue;
    return "messages[" + std::to_string(i) + "].reasoning_content: property is unsupported";
  }
  return std::nullopt;
}

// Results of tools do not count.
Fault alternate(const Json& body) {
  std::string last = "assistant";
  for (const Json& message : items_of(body, "messages")) {
    std::string role(message.text_or("role"));
    if (role == "tool") last = "tool";
    if (role != "user" && role != "assistant") continue;
    if (role == last) return "Conversation roles must alternate user/assistant/user/assistant/...";
    last = role;
  }
  return std::nullopt;
}

// Members of both forms.
const Json* schema_of(const Json& tool) {
  const Json* function = tool.find("function");
  return function != nullptr ? function->find("parameters") : tool.find("input_schema");
}
const Json& member_with_flag(const Json& tool) {
  const Json* function = tool.find("function");
  return function != nullptr ? *function : tool;
}

Fault strict(const Json& body) {
  const Json* format = body.find("response_format");
  const Json* named = format == nullptr ? nullptr : format->find("json_schema");
  bool is_strict = named != nullptr && has(*named, "strict");
  for (const Json& tool : items_of(body, "tools")) {
    is_strict = is_strict || has(member_with_flag(tool), "strict");
  }
  if (!is_strict) return std::nullopt;
  return "Unknown name \"strict\": Cannot find field.";
}

// Whether the check finds a fault in the schema or a schema within it.
bool any_schema(const Json& schema, bool (*is_wrong)(const Json& schema)) {
  if (!schema.is_object()) return false;
  if (is_wrong(schema)) return true;
  for (std::string_view name : {"properties", "$defs", "definitions"}) {
    const Json* members = schema.find(name);
    if (members == nullptr || !members->is_object()) continue;
    for (const auto& [key, inner] : *members->as_object()) {
      if (any_schema(inner, is_wrong)) return true;
    }
  }
  for (std::string_view name : {"anyOf", "oneOf", "allOf"}) {
    for (const Json& inner : items_of(schema, name)) {
      if (any_schema(inner, is_wrong)) return true;
    }
  }
  const Json* items = schema.find("items");
  return items != nullptr && any_schema(*items, is_wrong);
}

bool lacks_properties(const Json& schema) {
  const Json* properties = schema.find("properties");
  return properties == nullptr || !properties->is_object();
}
bool lacks_items(const Json& schema) {
  return schema.text_or("type") == "array" && schema.find("items") == nullptr;
}
bool has_choice_at_top(const Json& schema) {
  return has(schema, "anyOf") || has(schema, "oneOf") || has(schema, "allOf");
}
bool has_odd_name(const Json& schema) {
  const Json* properties = schema.find("properties");
  if (properties == nullptr || !properties->is_object()) return false;
  for (const auto& [name, inner] : *properties->as_object()) {
    std::string plain = name;
    std::replace(plain.begin(), plain.end(), '.', '_');
    if (!is_tool_name(plain)) return true;
  }
  return false;
}

template <bool (*is_wrong)(const Json&), bool at_top>
Fault wrong_schema(const Json& body, std::string_view words) {
  const Json::Array& tools = items_of(body, "tools");
  for (size_t i = 0; i < tools.size(); ++i) {
    const Json* schema = schema_of(tools[i]);
    if (schema == nullptr) continue;
    if (!(at_top ? is_wrong(*schema) : any_schema(*schema, is_wrong))) continue;
    return "Invalid schema for function '" +
           std::string(member_with_flag(tools[i]).text_or("name")) + "': " + std::string(words);
  }
  return std::nullopt;
}

Fault properties(const Json& body) {
  return wrong_schema<lacks_properties, true>(body, "object schema missing properties.");
}
Fault items(const Json& body) {
  return wrong_schema<lacks_items, false>(body, "array schema missing items.");
}
Fault anyof(const Json& body) {
  return wrong_schema<has_choice_at_top, true>(
      body, "input_schema does not support oneOf, allOf, or anyOf at the top level");
}
Fault names(const Json& body) {
  return wrong_schema<has_odd_name, false>(
      body, "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'");
}

struct HabitRow {
  std::string_view name;
  Fault (*offence)(const Json& body);
};

constexpr HabitRow habits[] = {
    {"max_tokens", max_tokens},
    {"max_completion_tokens", max_completion_tokens},
    {"stream_options", stream_options},
    {"json_schema", json_schema},
    {"json_object", json_object},
    {"parallel_tool_calls", parallel_tool_calls},
    {"strict", strict},
    {"temperature", temperature},
    {"system", system_role},
    {"reasoning_content", given_reasoning},
    {"alternate", alternate},
    {"properties", properties},
    {"items", items},
    {"anyof", anyof},
    {"names", names},
};

constexpr auto names_of_habits = [] {
  std::array<std::string_view, std::size(habits)> all;
  for (size_t i = 0; i < std::size(habits); ++i) all[i] = habits[i].name;
  return all;
}();

std::optional<Refusal> offence(const Step& step, const ChatRequest& request, const Json& body) {
  if (step.kind == StepKind::context && request.input_tokens > step.number) {
    return context_refusal(step.text, step.number, request.input_tokens);
  }
  if (step.kind != StepKind::refuses) return std::nullopt;
  for (const HabitRow& row : habits) {
    if (row.name != step.text) continue;
    if (Fault fault = row.offence(body)) return refused(*std::move(fault));
  }
  return std::nullopt;
}

}  // namespace

std::span<const std::string_view> refusable_names() { return names_of_habits; }

std::optional<Refusal> refused_by_habit(const std::vector<Turn>& script, const ChatRequest& request,
                                        const Json& body) {
  for (const Turn& turn : script) {
    for (const Step& step : turn) {
      if (std::optional<Refusal> refusal = offence(step, request, body)) return refusal;
    }
  }
  return std::nullopt;
}

}  // namespace hostler::fake_model
