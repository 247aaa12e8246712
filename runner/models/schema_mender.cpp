// See runner/models/schema_mender.h.
#include "runner/models/schema_mender.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

#include "lib/ascii.h"
#include "lib/json_schema/pointer.h"
#include "runner/models/schema_members.h"

namespace hostler {
namespace {

// Beyond so many schemas a $ref keeps no keywords beside it, instead of growing.
constexpr size_t expanded_schemas_max = 2'000;
constexpr size_t definition_name_bytes_max = 40;
constexpr std::string_view definitions_prefix = "#/$defs/";

struct TypeWord {
  std::string_view word;
  std::string_view type;
};
// Words that servers write, in lower case, beside the seven of JSON Schema.
constexpr std::array type_words = std::to_array<TypeWord>({
    {"string", "string"}, {"number", "number"}, {"integer", "integer"}, {"boolean", "boolean"},
    {"object", "object"}, {"array", "array"},   {"null", "null"},       {"int", "integer"},
    {"long", "integer"},  {"float", "number"},  {"double", "number"},   {"decimal", "number"},
    {"bool", "boolean"},  {"str", "string"},    {"text", "string"},     {"date", "string"},
    {"uuid", "string"},   {"file", "string"},   {"dict", "object"},     {"map", "object"},
    {"list", "array"},
});

// Returns an empty text for anything that is not a type of JSON, such as "any".
std::string_view type_of(const Json& word) {
  if (!word.is_text()) return {};
  std::string lower = ascii::lower_case(*word.as_text());
  for (const TypeWord& known : type_words) {
    if (known.word == lower) return known.type;
  }
  return {};
}

// Null: it names no type.
Json mended_type(const Json& value) {
  if (value.as_array() == nullptr) {
    std::string_view type = type_of(value);
    return type.empty() ? Json() : Json(std::string(type));
  }
  Json::Array types;
  for (const Json& word : *value.as_array()) {
    std::string type(type_of(word));
    bool is_known = std::any_of(types.begin(), types.end(),
                                [&](const Json& one) { return *one.as_text() == type; });
    if (!type.empty() && !is_known) types.emplace_back(std::move(type));
  }
  if (types.empty()) return {};
  return types.size() == 1 ? types.front() : Json(std::move(types));
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_empty_list(const Json& value) { return value.is_array() && value.as_array()->empty(); }

bool has_type(const Json::Object& schema, std::string_view wanted) {
  for (const auto& [name, value] : schema) {
    if (name != "type") continue;
    if (value.is_text()) return *value.as_text() == wanted;
    if (!value.is_array()) return false;
    for (const Json& one : *value.as_array()) {
      if (one.is_text() && *one.as_text() == wanted) return true;
    }
  }
  return false;
}

// Returns the names, each once. Null if they are malformed, as where a member declares itself
// required.
Json mended_names(const Json& value) {
  if (!value.is_array()) return {};
  std::set<std::string> seen;
  Json::Array names;
  for (const Json& name : *value.as_array()) {
    if (name.is_text() && seen.insert(*name.as_text()).second) names.push_back(name);
  }
  return Json(std::move(names));
}

std::string definition_name(std::string_view pointer) {
  std::string name;
  for (char c : pointer.substr(pointer.rfind('/') + 1)) {
    bool is_taken = ascii::is_letter_or_digit(c) || c == '_' || c == '-';
    if (name.size() < definition_name_bytes_max) name += is_taken ? c : '_';
  }
  return name.empty() ? "schema" : name;
}

}  // namespace

const Json* SchemaMender::target(const Json& ref) const {
  if (!ref.is_text() || !ref.as_text()->starts_with('#')) return nullptr;
  std::optional<std::string> pointer =
      json_schema::pointer_of_fragment(std::string_view(*ref.as_text()).substr(1));
  const Json* found = pointer ? json_schema::value_at(document_, *pointer) : nullptr;
  bool is_schema = found != nullptr && (found->is_object() || found->as_boolean() != nullptr);
  return is_schema ? found : nullptr;
}

Json::Object SchemaMender::root(Json::Object root) {
  const Json* defined = document_.find("$defs");
  bool has_definitions = defined != nullptr && defined->is_object();
  if (has_definitions) {
    for (const Json::Member& member : *defined->as_object()) names_.insert(member.first);
  }
  if (erase_member(root, "$defs") && !has_definitions) has_changed_ = true;
  Json::Object mended = keywords(root);
  Json::Object definitions;
  if (has_definitions) definitions = std::move(*members(*defined).as_object());
  while (!unmended_.empty()) {
    auto [name, json] = unmended_.back();
    unmended_.pop_back();
    definitions.emplace_back(name, schema(*json));
    has_changed_ = true;
  }
  if (!definitions.empty()) mended.emplace_back("$defs", Json(std::move(definitions)));
  return mended;
}

Json SchemaMender::schema(const Json& json) {
  ++schemas_;
  if (is_too_large()) return empty_schema();
  if (const Json::Object* object = json.as_object()) return Json(keywords(*object));
  has_changed_ = true;
  const bool* is_any = json.as_boolean();
  if (is_any == nullptr || *is_any) return empty_schema();
  Json::Object never;
  never.emplace_back("not", empty_schema());
  return Json(std::move(never));
}

// Siblings say more than what is pointed to, so they stand in its place; in a circle the $ref alone
// is left.
SchemaMender::Beside SchemaMender::beside_reference(const Json::Object& object) {
  Beside beside;
  auto ref = std::find_if(object.begin(), object.end(),
                          [](const Json::Member& member) { return member.first == "$ref"; });
  bool has_siblings = ref != object.end() && object.size() > 1 && kind_ == ProviderKind::openai;
  const Json* found = has_siblings ? target(ref->second) : nullptr;
  if (found == nullptr || !found->is_object()) return beside;
  beside.pointer = *ref->second.as_text();
  bool is_circle =
      std::find(expanding_.begin(), expanding_.end(), beside.pointer) != expanding_.end();
  if (is_circle || schemas_ > expanded_schemas_max) {
    beside.object.push_back(*ref);
    return beside;
  }
  beside.object = *found->as_object();
  for (const auto& [name, value] : object) {
    if (name != "$ref") set_member(beside.object, name, value);
  }
  return beside;
}

Json::Object SchemaMender::keywords(const Json::Object& object) {
  Beside beside = beside_reference(object);
  if (!beside.pointer.empty()) {
    has_changed_ = true;
    expanding_.push_back(beside.pointer);
    Json::Object mended = keywords(beside.object);
    expanding_.pop_back();
    return mended;
  }
  Json::Object out;
  for (const auto& [name, value] : object) {
    size_t before = out.size();
    add_keyword(out, name, value, object);
    if (out.size() == before) has_changed_ = true;
  }
  complete(out);
  return out;
}

// Adds the keyword, or leaves it out.
void SchemaMender::add_keyword(Json::Object& out, const std::string& name, const Json& value,
                               const Json::Object& all) {
  // Definitions are gathered by root().
  if (is_one_of(name, {"$schema", "$id", "$defs", "definitions", "additionalItems"})) return;
  bool is_value = is_one_of(name, {"const", "default", "examples", "example"});
  if (value.is_null() && !is_value) return;
  if (name == "$ref") return add_reference(out, value);
  if (name == "items") return add_items(out, value, all);
  if (name.starts_with("exclusiveM")) return add_bound(out, name, value, all);
  if (name == "type" || name == "required") return add_words(out, name, value);
  if (add_structure(out, name, value)) return;
  if (name == "enum" && (!value.is_array() || is_empty_list(value))) return;
  if (is_one_of(name, {"title", "description"}) && !value.is_text()) return;
  bool is_constant = name == "const" && kind_ == ProviderKind::openai;
  if (!is_constant) {
    out.emplace_back(name, value);
    return;
  }
  has_changed_ = true;
  bool has_enum = std::any_of(all.begin(), all.end(),
                              [](const Json::Member& member) { return member.first == "enum"; });
  if (!has_enum) out.emplace_back("enum", Json(Json::Array{value}));
}

void SchemaMender::add_words(Json::Object& out, const std::string& name, const Json& value) {
  Json mended = name == "type" ? mended_type(value) : mended_names(value);
  if (mended.is_null()) return;
  if (mended.dump() != value.dump()) has_changed_ = true;
  out.emplace_back(name, std::move(mended));
}

// Handles keywords that contain schemas. Returns false for any other.
bool SchemaMender::add_structure(Json::Object& out, const std::string& name, const Json& value) {
  if (is_one_of(name, {"properties", "patternProperties", "dependentSchemas"})) {
    bool is_needed = name == "properties" || value.is_object();
    if (is_needed) out.emplace_back(name, members(value));
    return true;
  }
  if (is_one_of(name, {"anyOf", "oneOf", "allOf", "prefixItems"})) {
    bool is_good = value.is_array() && !is_empty_list(value);
    if (is_good) out.emplace_back(name, list(value));
    return true;
  }
  if (is_one_of(name, {"not", "if", "then", "else", "contains", "propertyNames"})) {
    out.emplace_back(name, schema(value));
    return true;
  }
  bool may_be_boolean =
      is_one_of(name, {"additionalProperties", "unevaluatedProperties", "unevaluatedItems"});
  if (!may_be_boolean) return false;
  bool is_boolean = value.as_boolean() != nullptr;
  bool is_good = is_boolean || value.is_object();
  if (is_good) out.emplace_back(name, is_boolean ? value : schema(value));
  return true;
}

Json SchemaMender::members(const Json& value) {
  Json::Object mended;
  if (!value.is_object()) {
    has_changed_ = true;
    return Json(std::move(mended));
  }
  for (const auto& [name, member] : *value.as_object()) {
    const bool* is_any = member.as_boolean();
    bool is_never = is_any != nullptr && !*is_any;
    if (is_never) {
      has_changed_ = true;
    } else {
      mended.emplace_back(name, schema(member));
    }
  }
  return Json(std::move(mended));
}

Json SchemaMender::list(const Json& value) {
  Json::Array mended;
  for (const Json& item : *value.as_array()) mended.push_back(schema(item));
  return Json(std::move(mended));
}

// A list was one schema an item once; what is behind them had a keyword of its own.
void SchemaMender::add_items(Json::Object& out, const Json& value, const Json::Object& all) {
  const bool* is_any = value.as_boolean();
  bool is_closed = is_any != nullptr && !*is_any;
  if (!value.is_array() && !is_closed) {
    out.emplace_back("items", schema(value));
    return;
  }
  has_changed_ = true;
  const Json* rest = nullptr;
  for (const auto& [name, member] : all) {
    if (name == "additionalItems" && member.is_object()) rest = &member;
  }
  bool is_list = value.is_array() && !is_empty_list(value);
  if (is_list) out.emplace_back("prefixItems", list(value));
  out.emplace_back("items", is_list && rest != nullptr ? schema(*rest) : empty_schema());
}

// In draft 4 it was a mark on the other bound.
void SchemaMender::add_bound(Json::Object& out, const std::string& name, const Json& value,
                             const Json::Object& all) {
  if (value.as_boolean() == nullptr) {
    out.emplace_back(name, value);
    return;
  }
  has_changed_ = true;
  if (!*value.as_boolean()) return;
  std::string_view other = name == "exclusiveMinimum" ? "minimum" : "maximum";
  for (const auto& [known, bound] : all) {
    if (known == other && bound.as_number()) out.emplace_back(name, bound);
  }
}

void SchemaMender::add_reference(Json::Object& out, const Json& ref) {
  const Json* found = target(ref);
  if (found == nullptr) return;
  const std::string& text = *ref.as_text();
  bool is_direct = text == "#" || (text.starts_with(definitions_prefix) &&
                                   text.find('/', definitions_prefix.size()) == text.npos);
  std::string kept = is_direct ? text : std::string(definitions_prefix) + moved_name(text);
  if (kept != text) has_changed_ = true;
  out.emplace_back("$ref", Json(std::move(kept)));
}

std::string SchemaMender::moved_name(std::string_view pointer) {
  auto [known, is_new] = moved_.try_emplace(std::string(pointer));
  if (!is_new) return known->second;
  std::string wanted = definition_name(pointer);
  std::string name = wanted;
  for (int n = 2; !names_.insert(name).second; ++n) name = wanted + "_" + std::to_string(n);
  known->second = name;
  unmended_.emplace_back(name, target(Json(std::string(pointer))));
  return name;
}

// Groq and Gemini refuse names that properties do not have.
void SchemaMender::name_required(Json::Object& out) {
  const Json* required = member_of(out, "required");
  if (required == nullptr || kind_ != ProviderKind::openai) return;
  const Json::Array names = *required->as_array();
  for (const Json& name : names) {
    Json* known = member_of(out, "properties");
    if (known == nullptr) {
      known = &out.emplace_back("properties", empty_schema()).second;
      has_changed_ = true;
    }
    if (member_of(*known->as_object(), *name.as_text()) != nullptr) continue;
    known->as_object()->emplace_back(*name.as_text(), empty_schema());
    has_changed_ = true;
  }
}

// Members that may be absent in JSON Schema, but not for providers.
void SchemaMender::complete(Json::Object& out) {
  if (has_type(out, "array") && member_of(out, "items") == nullptr) {
    out.emplace_back("items", empty_schema());
    has_changed_ = true;
  }
  name_required(out);
  if (has_type(out, "object") && member_of(out, "properties") == nullptr) {
    out.emplace_back("properties", empty_schema());
    has_changed_ = true;
  }
}

}  // namespace hostler
