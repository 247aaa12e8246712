// See runner/tools/declared_tools.h.
#include "runner/tools/declared_tools.h"

#include <algorithm>
#include <cassert>
#include <ctime>
#include <map>
#include <mutex>

#include "lib/json.h"
#include "lib/json_schema/known_part.h"
#include "lib/utf8.h"

namespace hostler::runner {
namespace {

// Length of a result's error that is stored.
constexpr size_t message_bytes_max = 2000;

bool is_true(const Json* value) {
  return value != nullptr && value->as_boolean() != nullptr && *value->as_boolean();
}

std::optional<RemoteTool> remote_of(const Json& item) {
  RemoteTool remote;
  remote.server_id = item.text_or("server_id");
  if (remote.server_id.empty()) return std::nullopt;
  remote.tool = item.text_or("tool");
  remote.hash = item.text_or("hash");
  remote.is_read_only = is_true(item.find("is_read_only"));
  remote.asks_first = item.text_or("trust") != "run" && !remote.is_read_only;
  remote.is_idempotent = is_true(item.find("is_idempotent"));
  return remote;
}

std::vector<DeclaredTool> read_tools(std::string_view json) {
  std::vector<DeclaredTool> tools;
  std::optional<Json> parsed = parse_json_or_nothing(json);
  if (!parsed || !parsed->is_array()) return tools;
  for (const Json& item : *parsed->as_array()) {
    DeclaredTool declared;
    declared.tool_id = item.text_or("tool_id");
    declared.remote = remote_of(item);
    ToolDefinition& tool = declared.definition;
    tool.name = item.text_or("name");
    tool.description = item.text_or("description");
    const Json* parameters = item.find("parameters");
    tool.parameters = parameters == nullptr ? R"({"type":"object"})" : parameters->dump();
    // A remote tool's schema is passed on byte for byte.
    if (declared.remote) tool.parameters = item.text_or("parameters_text", tool.parameters);
    const Json* strict = item.find("strict");
    if (strict != nullptr && strict->as_boolean() != nullptr) tool.strict = *strict->as_boolean();
    tools.push_back(std::move(declared));
  }
  return tools;
}

int64_t thread_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// In words that the model can act on.
std::string words_of(const json_schema::Verdict& verdict) {
  std::string words;
  for (const json_schema::ValueFault& fault : verdict.faults) {
    if (!words.empty()) words += "; ";
    if (!fault.pointer.empty()) words += fault.pointer + ": ";
    words += fault.message;
  }
  if (words.empty()) words = "The arguments do not fit the tool's parameters.";
  return std::string(utf8_prefix(words, message_bytes_max));
}

}  // namespace

struct DeclaredTools::Schemas {
  std::mutex mutex;
  // Returns nothing if no part of the schema can be checked.
  std::map<const DeclaredTool*, std::optional<json_schema::Schema>> of;
};

CheckBudget::CheckBudget(int64_t budget_ms) : end_ns_(thread_ns() + budget_ms * 1'000'000) {}

bool CheckBudget::is_spent() const { return thread_ns() >= end_ns_; }

DeclaredTools::DeclaredTools(std::string_view json)
    : tools_(std::make_shared<const std::vector<DeclaredTool>>(read_tools(json))),
      schemas_(std::make_shared<Schemas>()),
      bytes_(static_cast<int64_t>(json.size())) {}

std::vector<ToolDefinition> DeclaredTools::definitions() const {
  std::vector<ToolDefinition> definitions;
  for (const DeclaredTool& tool : *tools_) definitions.push_back(tool.definition);
  return definitions;
}

const DeclaredTool* DeclaredTools::find(std::string_view name) const {
  auto found = std::find_if(tools_->begin(), tools_->end(), [name](const DeclaredTool& tool) {
    return tool.definition.name == name;
  });
  return found == tools_->end() ? nullptr : &*found;
}

const RemoteTool* DeclaredTools::remote(std::string_view name) const {
  const DeclaredTool* tool = find(name);
  return tool != nullptr && tool->remote ? &*tool->remote : nullptr;
}

size_t DeclaredTools::compilations() const {
  std::lock_guard lock(schemas_->mutex);
  return schemas_->of.size();
}

std::optional<json_schema::Schema> DeclaredTools::schema_of(const DeclaredTool& tool) const {
  std::lock_guard lock(schemas_->mutex);
  auto known = schemas_->of.find(&tool);
  if (known != schemas_->of.end()) return known->second;
  std::optional<json_schema::Schema> schema;
  std::optional<Json> parameters = parse_json_or_nothing(tool.definition.parameters);
  // An unknown or newer keyword alone proves nothing here. The tool that carries the call out sees
  // the arguments.
  if (parameters) schema = json_schema::compile_known(*parameters);
  schemas_->of.emplace(&tool, schema);
  return schema;
}

std::optional<ToolOutcome> DeclaredTools::refuse(const ToolCall& call,
                                                 const CheckBudget& budget) const {
  const DeclaredTool* tool = find(call.name);
  assert(tool != nullptr);
  std::optional<Json> arguments = parse_json_or_nothing(call.arguments);
  if (!arguments || !arguments->is_object()) {
    return tool_failed("tool.args_invalid", "The arguments must be a JSON object.");
  }
  if (budget.is_spent()) {
    return tool_failed("tool.args_invalid",
                       "The calls of this turn take too long to check: make fewer of them at once, "
                       "with smaller arguments.");
  }
  std::optional<json_schema::Schema> schema = schema_of(*tool);
  if (!schema) return std::nullopt;
  json_schema::Verdict verdict = schema->check(*arguments);
  if (verdict.fits) return std::nullopt;
  return tool_failed("tool.args_invalid", words_of(verdict));
}

}  // namespace hostler::runner
