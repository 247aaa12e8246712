// See lib/json_schema/known_part.h.
#include "lib/json_schema/known_part.h"

#include <utility>

namespace hostler::json_schema {
namespace {

enum class Holds {
  values,   // no schema: taken when it compiles by itself
  schema,   // one
  list,     // schemas
  members,  // schemas by name
};

struct KnownKeyword {
  std::string_view name;
  Holds holds;
};
// Each says less, never more, when what it holds says less.
constexpr KnownKeyword known_keywords[] = {
    {"type", Holds::values},
    {"enum", Holds::values},
    {"const", Holds::values},
    {"properties", Holds::members},
    {"required", Holds::values},
    {"patternProperties", Holds::members},
    {"propertyNames", Holds::schema},
    {"minProperties", Holds::values},
    {"maxProperties", Holds::values},
    {"prefixItems", Holds::list},
    {"minItems", Holds::values},
    {"maxItems", Holds::values},
    {"contains", Holds::schema},
    {"minContains", Holds::values},
    {"uniqueItems", Holds::values},
    {"minimum", Holds::values},
    {"maximum", Holds::values},
    {"exclusiveMinimum", Holds::values},
    {"exclusiveMaximum", Holds::values},
    {"multipleOf", Holds::values},
    {"minLength", Holds::values},
    {"maxLength", Holds::values},
    {"pattern", Holds::values},
    {"allOf", Holds::list},
    {"anyOf", Holds::list},
    {"dependentRequired", Holds::values},
    {"$defs", Holds::members},
    {"definitions", Holds::members},
    {"nullable", Holds::values},
};

class KnownPart {
 public:
  explicit KnownPart(bool keeps_refs) : keeps_refs_(keeps_refs) {}

  Json of(const Json& schema);

 private:
  bool compiles(std::string_view name, const Json& value);
  std::optional<Json> held(const KnownKeyword& keyword, const Json& value);
  std::optional<Json> list_of(const Json& value);
  std::optional<Json> members_of(const Json& value, bool by_patterns);
  void add_rest(const Json& schema, Json::Object& part);
  std::optional<Json> reference(const Json& value) const;

  bool keeps_refs_;
  PatternLoad load_;  // as bounded as one schema's: the rest are left out
};

Json with(std::string_view name, Json value) {
  Json::Object one;
  one.emplace_back(std::string(name), std::move(value));
  return Json(std::move(one));
}

bool KnownPart::compiles(std::string_view name, const Json& value) {
  bool is_pattern = name == "pattern" || name == "patternProperties";
  bool is_full =
      load_.patterns >= schema_patterns_max || load_.instructions >= schema_instructions_max;
  if (is_pattern && is_full) return false;
  auto compiled = Schema::compile(with(name, value));
  const SchemaFault* fault = std::get_if<SchemaFault>(&compiled);
  if (!is_pattern) return fault == nullptr;
  PatternLoad load = fault != nullptr ? fault->load : std::get<Schema>(compiled).pattern_load();
  load_.patterns += load.patterns;
  load_.instructions += load.instructions;
  return fault == nullptr && load_.instructions <= schema_instructions_max;
}

std::optional<Json> KnownPart::list_of(const Json& value) {
  if (!value.is_array() || value.as_array()->empty()) return std::nullopt;
  Json::Array parts;
  for (const Json& item : *value.as_array()) parts.push_back(of(item));
  return Json(std::move(parts));
}

std::optional<Json> KnownPart::members_of(const Json& value, bool by_patterns) {
  if (!value.is_object()) return std::nullopt;
  Json::Object parts;
  for (const auto& [name, member] : *value.as_object()) {
    bool is_known = !by_patterns || compiles("patternProperties", with(name, Json(true)));
    if (is_known) parts.emplace_back(name, of(member));
  }
  return Json(std::move(parts));
}

std::optional<Json> KnownPart::held(const KnownKeyword& keyword, const Json& value) {
  switch (keyword.holds) {
    case Holds::values:
      if (!compiles(keyword.name, value)) return std::nullopt;
      return value;
    case Holds::schema:
      return of(value);
    case Holds::list:
      return list_of(value);
    case Holds::members:
      return members_of(value, keyword.name == "patternProperties");
  }
  return std::nullopt;
}

std::optional<Json> KnownPart::reference(const Json& value) const {
  const std::string* to = value.as_text();
  if (!keeps_refs_ || to == nullptr || !to->starts_with('#')) return std::nullopt;
  return value;
}

// Keywords that depend on the keywords beside them.
void KnownPart::add_rest(const Json& schema, Json::Object& part) {
  const Json* to = schema.find("$ref");
  std::optional<Json> ref = to == nullptr ? std::nullopt : reference(*to);
  if (ref) part.emplace_back("$ref", std::move(*ref));
  // A list of them was prefixItems once.
  const Json* items = schema.find("items");
  if (items != nullptr && !items->is_array()) part.emplace_back("items", of(*items));
  // Keywords about members that no keyword beside them knows. All of those must still be present.
  const Json* more = schema.find("additionalProperties");
  if (more == nullptr) return;
  Json whole(std::move(part));
  bool is_whole = true;
  for (std::string_view name : {"properties", "patternProperties"}) {
    const Json* known = schema.find(name);
    const Json* kept = whole.find(name);
    if (known == nullptr) continue;
    is_whole = is_whole && kept != nullptr && known->is_object() &&
               kept->as_object()->size() == known->as_object()->size();
  }
  part = std::move(*whole.as_object());
  if (is_whole) part.emplace_back("additionalProperties", of(*more));
}

Json KnownPart::of(const Json& schema) {
  if (schema.as_boolean() != nullptr) return schema;
  if (!schema.is_object()) return Json(true);
  Json::Object part;
  for (const KnownKeyword& keyword : known_keywords) {
    const Json* value = schema.find(keyword.name);
    std::optional<Json> known = value == nullptr ? std::nullopt : held(keyword, *value);
    if (known) part.emplace_back(std::string(keyword.name), std::move(*known));
  }
  add_rest(schema, part);
  return Json(std::move(part));
}

}  // namespace

std::optional<Schema> compile_known(const Json& schema) {
  auto whole = Schema::compile(schema);
  if (const Schema* compiled = std::get_if<Schema>(&whole)) return *compiled;
  // A $ref may point to what was left out, or in a circle.
  for (bool keeps_refs : {true, false}) {
    auto part = Schema::compile(KnownPart(keeps_refs).of(schema));
    if (const Schema* compiled = std::get_if<Schema>(&part)) return *compiled;
  }
  return std::nullopt;
}

}  // namespace hostler::json_schema
