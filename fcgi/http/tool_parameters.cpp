// See fcgi/http/tool_parameters.h.
#include "fcgi/http/tool_parameters.h"

#include <variant>

#include <fmt/format.h>

namespace hostler {
namespace {

void add(json_schema::PatternLoad& load, const json_schema::PatternLoad& more) {
  load.patterns += more.patterns;
  load.instructions += more.instructions;
}

}  // namespace

std::string read_tool_parameters(Fields& tool, json_schema::PatternLoad& load) {
  const Json* parameters = tool.any("parameters");
  if (parameters == nullptr) {
    tool.fault("parameters", "required", "is required");
    return {};
  }
  if (!parameters->is_object()) {
    tool.fault("parameters", "wrong_type", "must be an object");
    return {};
  }
  if (parameters->text_or("type") != "object") {
    tool.fault("parameters", "bad_format", R"(must have "type": "object")");
    return {};
  }
  auto compiled = json_schema::Schema::compile(*parameters);
  if (const auto* fault = std::get_if<json_schema::SchemaFault>(&compiled)) {
    add(load, fault->load);
    tool.fault("parameters", "bad_format",
               fault->pointer.empty() ? fault->message
                                      : fmt::format("{}: {}", fault->pointer, fault->message));
    return {};
  }
  add(load, std::get<json_schema::Schema>(compiled).pattern_load());
  return parameters->dump();
}

}  // namespace hostler
