// The keywords that hold schemas: of items, of members, and of the same value. See
// lib/json_schema/compiler.h.
#include "lib/json_schema/compiler.h"

namespace hostler::json_schema {
namespace {

ArrayRules& array_of(Node& node) {
  if (node.array == nullptr) node.array = std::make_unique<ArrayRules>();
  return *node.array;
}

ObjectRules& object_rules_of(Node& node) {
  if (node.object == nullptr) node.object = std::make_unique<ObjectRules>();
  return *node.object;
}

Applied& applied_of(Node& node) {
  if (node.applied == nullptr) node.applied = std::make_unique<Applied>();
  return *node.applied;
}

}  // namespace

void Compiler::prefix_items(Node& node, std::string_view, const Json& value) {
  array_of(node).prefix_items = schemas_of(value);
}

void Compiler::items(Node& node, std::string_view, const Json& value) {
  if (value.is_array()) {
    return refuse(value, "must be one schema; a list with a schema for each item is prefixItems");
  }
  array_of(node).items = schema(value);
}

void Compiler::contains(Node& node, std::string_view, const Json& value) {
  array_of(node).contains = schema(value);
}

void Compiler::contains_bound(Node& node, std::string_view keyword, const Json& value) {
  std::optional<size_t> number = count(value);
  if (!number) return;
  ArrayRules& rules = array_of(node);
  (keyword == "minContains" ? rules.contains_min : rules.contains_max) = *number;
}

void Compiler::unique_items(Node& node, std::string_view, const Json& value) {
  if (value.as_boolean() == nullptr) return refuse(value, "must be true or false");
  array_of(node).is_unique = *value.as_boolean();
}

void Compiler::properties(Node& node, std::string_view, const Json& value) {
  const Json::Object* object = object_of(value, "schemas");
  if (object == nullptr) return;
  for (const auto& [name, member] : *object) {
    object_rules_of(node).members.push_back({.name = name, .schema = schema(member)});
  }
}

void Compiler::pattern_properties(Node& node, std::string_view, const Json& value) {
  const Json::Object* object = object_of(value, "schemas, named by patterns");
  if (object == nullptr) return;
  for (const auto& [name, member] : *object) {
    const NamedPattern* named = pattern(member, name);
    if (named == nullptr) return;
    object_rules_of(node).patterns.emplace_back(named, schema(member));
  }
}

void Compiler::additional(Node& node, std::string_view, const Json& value) {
  object_rules_of(node).additional = schema(value);
}

void Compiler::property_names(Node& node, std::string_view, const Json& value) {
  object_rules_of(node).names = schema(value);
}

void Compiler::required(Node& node, std::string_view, const Json& value) {
  if (value.as_boolean() != nullptr) {
    return refuse(value, "must be an array of names, beside properties");
  }
  for (const std::string& name : names(value)) {
    object_rules_of(node).members.push_back({.name = name, .is_required = true});
  }
}

void Compiler::dependent_required(Node& node, std::string_view, const Json& value) {
  const Json::Object* object = object_of(value, "arrays of names");
  if (object == nullptr) return;
  std::vector<MemberRule>& members = object_rules_of(node).members;
  for (const auto& [name, needed] : *object) {
    std::vector<std::string> needs = names(needed);
    // A required member has a rule too, because the validator notes by rule which members exist.
    for (const std::string& need : needs) members.push_back({.name = need});
    members.push_back({.name = name, .needs = std::move(needs)});
  }
}

void Compiler::applied_schema(Node& node, std::string_view keyword, const Json& value) {
  NodeId id = schema(value);
  Applied& applied = applied_of(node);
  if (keyword == "not") applied.none = id;
  if (keyword == "if") applied.condition = id;
  if (keyword == "then") applied.then = id;
  if (keyword == "else") applied.otherwise = id;
}

void Compiler::applied_schemas(Node& node, std::string_view keyword, const Json& value) {
  std::vector<NodeId> ids = schemas_of(value);
  Applied& applied = applied_of(node);
  if (keyword == "allOf") applied.all_of = std::move(ids);
  if (keyword == "anyOf") applied.any_of = std::move(ids);
  if (keyword == "oneOf") applied.one_of = std::move(ids);
}

void Compiler::definitions(Node&, std::string_view, const Json& value) {
  const Json::Object* object = object_of(value, "schemas");
  if (object == nullptr) return;
  for (const Json::Member& member : *object) schema(member.second);
}

void Compiler::reference(Node& node, std::string_view, const Json& value) {
  applied_of(node);
  refs_.emplace_back(&node, &value);
}

}  // namespace hostler::json_schema
