// See fcgi/http/tool_parameters.h.
#include "fcgi/http/tool_parameters.h"

#include <variant>

#include <fmt/format.h>

#include "lib/json_schema/schema.h"

namespace hostler {

std::string read_tool_parameters(Fields& tool, size_t& patterns) {
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
    tool.fault("parameters", "bad_format",
               fault->pointer.empty() ? fault->message
                                      : fmt::format("{}: {}", fault->pointer, fault->message));
    return {};
  }
  patterns += std::get<json_schema::Schema>(compiled).pattern_count();
  return parameters->dump();
}

}  // namespace hostler
