// See runner/tools/tool_box.h.
#include "runner/tools/tool_box.h"

#include <algorithm>
#include <array>

#include "lib/json.h"

namespace hostler::runner {
namespace {

struct ToolRow {
  std::string_view name;
  std::string_view description;
  std::string_view parameters;  // JSON Schema, valid for OpenAI and Anthropic
  bool is_question;
};

// THE TABLE OF TOOLS.
constexpr std::array tools{
    ToolRow{"ask_user", "Ask the user a question and wait for the answer.",
            R"json({"type":"object","properties":{"message":{"type":"string",)json"
            R"json("description":"The question."}},"required":["message"]})json",
            true},
};

const ToolRow* find_tool(std::string_view name) {
  for (const ToolRow& row : tools) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

ToolOutcome failed(std::string code, std::string message) {
  ToolOutcome outcome;
  outcome.error_code = std::move(code);
  outcome.error_message = std::move(message);
  return outcome;
}

}  // namespace

ToolBox::ToolBox(Loop& loop, Database& db, HttpClient& http, const SecretBox& secrets,
                 const LiveSettings& settings)
    : loop_(loop), db_(db), http_(http), secrets_(secrets), settings_(settings) {}

std::vector<ToolDefinition> ToolBox::definitions(const std::vector<std::string>& names) const {
  std::vector<ToolDefinition> found;
  for (const std::string& name : names) {
    const ToolRow* row = find_tool(name);
    if (row == nullptr) continue;
    ToolDefinition definition;
    definition.name = row->name;
    definition.description = row->description;
    definition.parameters = row->parameters;
    found.push_back(std::move(definition));
  }
  return found;
}

bool ToolBox::is_question(const std::string& name) const {
  const ToolRow* row = find_tool(name);
  return row != nullptr && row->is_question;
}

std::optional<ToolOutcome> ToolBox::refuse(const ToolCall& call,
                                           const std::vector<std::string>& allowed) const {
  bool is_allowed = std::find(allowed.begin(), allowed.end(), call.name) != allowed.end();
  if (!is_allowed || find_tool(call.name) == nullptr) {
    return failed("tool.unknown", "There is no tool of this name.");
  }
  std::optional<Json> arguments = parse_json_or_nothing(call.arguments);
  if (!arguments || !arguments->is_object()) {
    return failed("tool.args_invalid", "The arguments must be a JSON object.");
  }
  if (call.name == "ask_user" && arguments->text_or("message").empty()) {
    return failed("tool.args_invalid", "message: a text is required.");
  }
  return std::nullopt;
}

Task<ToolOutcome> ToolBox::call(ToolContext context, ToolCall call) {
  static_cast<void>(context);
  co_return failed("tool.unknown", "There is no tool of the name " + call.name + ".");
}

}  // namespace hostler::runner
