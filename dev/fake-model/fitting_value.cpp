// See dev/fake-model/fitting_value.h.
#include "dev/fake-model/fitting_value.h"

#include <algorithm>
#include <string_view>

namespace hostler::fake_model {
namespace {

// Beyond it a value is null: a schema may be an object of itself.
constexpr int depth_max = 8;

void write_value(const Json* schema, int depth, JsonWriter& json);

bool is_required(const Json& schema, std::string_view name) {
  const Json* required = schema.find("required");
  if (required == nullptr || required->as_array() == nullptr) return false;
  return std::any_of(required->as_array()->begin(), required->as_array()->end(),
                     [&](const Json& one) { return one.is_text() && *one.as_text() == name; });
}

void write_object(const Json& schema, int depth, JsonWriter& json) {
  json.begin_object();
  const Json* properties = schema.find("properties");
  if (properties != nullptr && properties->is_object()) {
    for (const auto& [name, property] : *properties->as_object()) {
      if (!is_required(schema, name)) continue;
      json.key(name);
      write_value(&property, depth + 1, json);
    }
  }
  json.end_object();
}

void write_array(const Json& schema, int depth, JsonWriter& json) {
  json.begin_array();
  int64_t count = std::clamp<int64_t>(schema.integer_or("minItems", 0), 0, 100);
  for (int64_t i = 0; i < count; ++i) write_value(schema.find("items"), depth + 1, json);
  json.end_array();
}

std::string_view type_of(const Json& schema) {
  const Json* type = schema.find("type");
  if (type == nullptr) return schema.find("properties") == nullptr ? "null" : "object";
  if (type->is_text()) return *type->as_text();
  bool has_first = type->as_array() != nullptr && !type->as_array()->empty();
  return has_first && type->as_array()->front().is_text() ? *type->as_array()->front().as_text()
                                                          : std::string_view("null");
}

void write_value(const Json* schema, int depth, JsonWriter& json) {
  if (schema == nullptr || !schema->is_object() || depth > depth_max) {
    json.null();
    return;
  }
  const Json* choices = schema->find("enum");
  if (const Json* only = schema->find("const")) {
    json.value(*only);
  } else if (choices != nullptr && choices->as_array() != nullptr &&
             !choices->as_array()->empty()) {
    json.value(choices->as_array()->front());
  } else if (std::string_view type = type_of(*schema); type == "object") {
    write_object(*schema, depth, json);
  } else if (type == "array") {
    write_array(*schema, depth, json);
  } else if (type == "string") {
    json.text("text");
  } else if (type == "integer" || type == "number") {
    json.raw(std::to_string(schema->integer_or("minimum", 0)));
  } else if (type == "boolean") {
    json.raw("true");
  } else {
    json.null();
  }
}

}  // namespace

std::string fitting_value(const Json& schema) {
  JsonWriter json;
  write_value(&schema, 0, json);
  return json.take();
}

}  // namespace hostler::fake_model
