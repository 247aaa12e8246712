// See fcgi/http/response_format.h.
#include "fcgi/http/response_format.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <variant>

#include "lib/ascii.h"
#include "lib/json.h"
#include "lib/json_schema/schema.h"

namespace hostler {
namespace {

constexpr size_t name_max = 64;
constexpr TextBounds description_bounds{.max = 4096, .takes_control = true};

// Names that providers accept.
bool is_format_name(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return ascii::is_letter_or_digit(c) || c == '_' || c == '-'; });
}

// The schema, when it may be used.
const Json* read_schema(Fields& format) {
  const Json* schema = format.any("schema");
  if (schema == nullptr || schema->is_null()) {
    format.fault("schema", "required", "is required");
    return nullptr;
  }
  if (!schema->is_object()) {
    format.fault("schema", "wrong_type", "must be a JSON Schema, an object");
    return nullptr;
  }
  std::variant<json_schema::Schema, json_schema::SchemaFault> compiled =
      json_schema::Schema::compile(*schema);
  if (const json_schema::SchemaFault* fault = std::get_if<json_schema::SchemaFault>(&compiled)) {
    std::string where = fault->pointer.empty() ? std::string() : "at " + fault->pointer + ": ";
    format.fault("schema", "bad_schema", where + fault->message);
    return nullptr;
  }
  return schema;
}

// has_description: as in OpenAI's form, where the model gets the purpose of the format.
std::string read_json_schema(Fields& format, bool has_description) {
  JsonWriter json;
  json.begin_object().member("type", "json_schema");
  std::string name = format.required_text("name", {.min = 1, .max = name_max});
  if (!is_format_name(name)) {
    format.fault("name", "bad_format", "must consist of letters, digits, underscores and hyphens");
  }
  json.member("name", name);
  std::optional<std::string> description;
  if (has_description) description = format.nullable_text("description", description_bounds).value;
  if (description && !description->empty()) json.member("description", *description);
  if (const Json* schema = read_schema(format)) json.key("schema").value(*schema);
  if (Nullable<bool> strict = format.nullable_boolean("strict"); strict.value) {
    json.member("strict", *strict.value);
  }
  return json.end_object().take();
}

}  // namespace

Nullable<std::string> read_response_format(Fields& fields) {
  Nullable<std::string> result;
  Nullable<Fields> format = fields.nullable_object("response_format");
  result.is_given = format.is_given;
  if (!format.value) return result;
  std::string type = format.value->required_choice("type", {"json_schema", "json_object"});
  if (type == "json_schema") result.value = read_json_schema(*format.value, false);
  if (type == "json_object") result.value = R"({"type":"json_object"})";
  return result;
}

std::optional<std::string> read_openai_response_format(Fields& fields) {
  Nullable<Fields> format = fields.nullable_object("response_format");
  if (!format.value) return std::nullopt;
  std::string type = format.value->required_choice("type", {"json_schema", "json_object", "text"});
  if (type == "json_object") return R"({"type":"json_object"})";
  if (type != "json_schema") return std::nullopt;
  Nullable<Fields> wanted = format.value->nullable_object("json_schema");
  if (wanted.value) return read_json_schema(*wanted.value, true);
  format.value->fault("json_schema", "required", "is required");
  return std::nullopt;
}

std::optional<std::string> read_text_format(Fields& text) {
  Nullable<Fields> format = text.nullable_object("format");
  if (!format.value) return std::nullopt;
  std::string type = format.value->required_choice("type", {"json_schema", "json_object", "text"});
  if (type == "json_object") return R"({"type":"json_object"})";
  if (type != "json_schema") return std::nullopt;
  return read_json_schema(*format.value, true);
}

}  // namespace hostler
