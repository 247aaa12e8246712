// The keywords of JSON Schema, each with what reads it. See lib/json_schema/compiler.h; $refs are
// followed in references.cpp.
#include "lib/json_schema/compiler.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include <fmt/format.h>

namespace hostler::json_schema {
namespace {

constexpr size_t enum_words_bytes_max = 300;

struct UnknownKeyword {
  std::string_view name;
  std::string_view instead;
};
// Keywords of earlier drafts, of OpenAPI and of this draft that are not checked here.
constexpr UnknownKeyword unknown_keywords[] = {
    {"dependencies", "use dependentRequired, or if and then"},
    {"dependentSchemas", "use if with required, and then"},
    {"additionalItems", "use prefixItems for the first items and items for the others"},
    {"unevaluatedProperties", "use additionalProperties beside all properties"},
    {"unevaluatedItems", "use items beside prefixItems"},
    {"$anchor", "point with a path, as in #/$defs/name"},
    {"$dynamicAnchor", "point with a path, as in #/$defs/name"},
    {"$dynamicRef", "use $ref"},
    {"$recursiveRef", "use $ref"},
    {"example", "use examples"},
    {"id", "use $id"},
    {"divisibleBy", "use multipleOf"},
    {"discriminator", "give the member a const in each schema of oneOf"},
};

const Json* container_below(const Json& json, int depth) {
  bool is_container = json.is_array() || json.is_object();
  if (!is_container) return nullptr;
  if (depth == 0) return &json;
  const Json* found = nullptr;
  if (const Json::Array* array = json.as_array()) {
    for (size_t i = 0; i < array->size() && found == nullptr; ++i) {
      found = container_below((*array)[i], depth - 1);
    }
    return found;
  }
  const Json::Object& object = *json.as_object();
  for (size_t i = 0; i < object.size() && found == nullptr; ++i) {
    found = container_below(object[i].second, depth - 1);
  }
  return found;
}

// Whether wanted is within json; then pointer names it.
bool find_pointer(const Json& json, const Json& wanted, std::string& pointer) {
  if (&json == &wanted) return true;
  size_t length = pointer.size();
  if (const Json::Array* array = json.as_array()) {
    for (size_t i = 0; i < array->size(); ++i) {
      append_pointer_step(pointer, fmt::format_int(i).c_str());
      if (find_pointer((*array)[i], wanted, pointer)) return true;
      pointer.resize(length);
    }
  } else if (const Json::Object* object = json.as_object()) {
    for (const Json::Member& member : *object) {
      append_pointer_step(pointer, member.first);
      if (find_pointer(member.second, wanted, pointer)) return true;
      pointer.resize(length);
    }
  }
  return false;
}

template <class Rules>
Rules& rules_of(std::unique_ptr<Rules>& rules) {
  if (rules == nullptr) rules = std::make_unique<Rules>();
  return *rules;
}

// Several keywords name rules of one name. Merges them into one, in the order of names.
void finish_members(ObjectRules& rules) {
  std::stable_sort(rules.members.begin(), rules.members.end(),
                   [](const auto& left, const auto& right) { return left.name < right.name; });
  std::vector<MemberRule> merged;
  for (MemberRule& rule : rules.members) {
    if (merged.empty() || merged.back().name != rule.name) {
      merged.push_back(std::move(rule));
      continue;
    }
    MemberRule& same = merged.back();
    if (rule.schema != no_node) same.schema = rule.schema;
    same.is_required = same.is_required || rule.is_required;
    if (!rule.needs.empty()) same.needs = std::move(rule.needs);
  }
  rules.members = std::move(merged);
}

}  // namespace

// clang-format off
const Compiler::Keyword Compiler::keywords[] = {
    {"type", &Compiler::type},
    {"enum", &Compiler::listed_values},
    {"const", &Compiler::listed_values},
    {"properties", &Compiler::properties},
    {"required", &Compiler::required},
    {"additionalProperties", &Compiler::additional},
    {"patternProperties", &Compiler::pattern_properties},
    {"propertyNames", &Compiler::property_names},
    {"minProperties", &Compiler::count_bound},
    {"maxProperties", &Compiler::count_bound},
    {"prefixItems", &Compiler::prefix_items},
    {"items", &Compiler::items},
    {"minItems", &Compiler::count_bound},
    {"maxItems", &Compiler::count_bound},
    {"contains", &Compiler::contains},
    {"minContains", &Compiler::contains_bound},
    {"maxContains", &Compiler::contains_bound},
    {"uniqueItems", &Compiler::unique_items},
    {"minimum", &Compiler::number_bound},
    {"maximum", &Compiler::number_bound},
    {"exclusiveMinimum", &Compiler::number_bound},
    {"exclusiveMaximum", &Compiler::number_bound},
    {"multipleOf", &Compiler::multiple_of},
    {"minLength", &Compiler::count_bound},
    {"maxLength", &Compiler::count_bound},
    {"pattern", &Compiler::text_pattern},
    {"allOf", &Compiler::applied_schemas},
    {"anyOf", &Compiler::applied_schemas},
    {"oneOf", &Compiler::applied_schemas},
    {"not", &Compiler::applied_schema},
    {"if", &Compiler::applied_schema},
    {"then", &Compiler::applied_schema},
    {"else", &Compiler::applied_schema},
    {"dependentRequired", &Compiler::dependent_required},
    {"$defs", &Compiler::definitions},
    {"definitions", &Compiler::definitions},
    {"nullable", &Compiler::nullable},
    {"$ref", &Compiler::reference},
    {"title", nullptr}, {"description", nullptr}, {"default", nullptr}, {"examples", nullptr}, {"format", nullptr},
    {"deprecated", nullptr}, {"readOnly", nullptr}, {"writeOnly", nullptr}, {"$schema", nullptr}, {"$id", nullptr},
    {"$comment", nullptr},
};
// clang-format on

const Compiler::Keyword* Compiler::keyword_of(std::string_view name) {
  for (const Keyword& keyword : keywords) {
    if (keyword.name == name) return &keyword;
  }
  return nullptr;
}

void Compiler::refuse(const Json& at, std::string message) {
  if (fault_) return;
  fault_.emplace();
  find_pointer(document_, at, fault_->pointer);
  fault_->message = std::move(message);
}

void Compiler::refuse_unknown(std::string_view name, const Json& value) {
  for (const UnknownKeyword& unknown : unknown_keywords) {
    if (unknown.name != name) continue;
    return refuse(value, fmt::format("{} is not supported; {}", name, unknown.instead));
  }
  refuse(value,
         fmt::format("\"{}\" is not a supported keyword; remove it, or name it x-… if it is a note",
                     shortened(name, 100)));
}

std::optional<SchemaFault> Compiler::compile() {
  check_size();
  if (!fault_) schema(document_);
  if (!fault_) resolve_refs();
  if (!fault_) check_circles();
  return std::move(fault_);
}

void Compiler::check_size() {
  if (const Json* deep = container_below(document_, schema_depth_max)) {
    return refuse(*deep, fmt::format("nested deeper than {}; move inner schemas to $defs and point "
                                     "to them with $ref",
                                     schema_depth_max));
  }
  size_t bytes = document_.dump().size();
  if (bytes > schema_bytes_max) {
    refuse(document_,
           fmt::format("the schema has {} bytes; at most {} are allowed", bytes, schema_bytes_max));
  }
}

NodeId Compiler::schema(const Json& json) {
  if (fault_) return no_node;
  if (compiled_.nodes.size() == schema_nodes_max) {
    refuse(json, fmt::format("more than {} schemas within one; remove some", schema_nodes_max));
    return no_node;
  }
  NodeId id = static_cast<NodeId>(compiled_.nodes.size());
  Node& node = compiled_.nodes.emplace_back();
  ids_.emplace(&json, id);
  if (const bool* boolean = json.as_boolean()) {
    node.is_never = !*boolean;
    return id;
  }
  if (!json.is_object()) {
    refuse(json, "must be a schema: an object of keywords, or true or false");
    return no_node;
  }
  for (const auto& [name, value] : *json.as_object()) {
    const Keyword* keyword = keyword_of(name);
    if (fault_) return no_node;
    if (keyword == nullptr && !name.starts_with("x-")) refuse_unknown(name, value);
    if (keyword != nullptr && keyword->handler != nullptr) {
      (this->*keyword->handler)(node, keyword->name, value);
    }
  }
  if (node.object != nullptr) finish_members(*node.object);
  return id;
}

std::vector<NodeId> Compiler::schemas_of(const Json& array) {
  std::vector<NodeId> ids;
  if (array.as_array() == nullptr || array.as_array()->empty()) {
    refuse(array, "must be an array of at least one schema");
    return ids;
  }
  for (const Json& item : *array.as_array()) ids.push_back(schema(item));
  return ids;
}

const NamedPattern* Compiler::pattern(const Json& at, const std::string& expression) {
  if (fault_) return nullptr;
  auto known = patterns_.find(expression);
  if (known != patterns_.end()) return known->second;
  if (compiled_.patterns.size() == schema_patterns_max) {
    refuse(at, fmt::format("more than {} different patterns in one schema; remove some",
                           schema_patterns_max));
    return nullptr;
  }
  std::variant<Pattern, std::string> made = Pattern::compile(expression);
  ++compiled_.load.patterns;
  if (std::string* why = std::get_if<std::string>(&made)) {
    compiled_.load.instructions += pattern_instructions_max;
    refuse(at, std::move(*why));
    return nullptr;
  }
  compiled_.load.instructions += std::get<Pattern>(made).instructions();
  if (compiled_.load.instructions > schema_instructions_max) {
    refuse(at,
           "the patterns up to this one are too large together; use fewer repetitions, and bound "
           "lengths with maxLength");
    return nullptr;
  }
  const NamedPattern& named =
      compiled_.patterns.emplace_back(NamedPattern{expression, std::get<Pattern>(made)});
  return patterns_.emplace(expression, &named).first->second;
}

// A number as 3 or 3.0; one beyond every size counts as the largest.
std::optional<size_t> Compiler::count(const Json& value) {
  std::optional<double> number = value.as_number();
  if (!number || *number < 0 || !is_whole(value)) {
    refuse(value, "must be a whole number from 0");
    return std::nullopt;
  }
  return *number >= 1e15 ? SIZE_MAX : static_cast<size_t>(*number);
}

std::vector<std::string> Compiler::names(const Json& value) {
  std::vector<std::string> names;
  if (!value.is_array()) {
    refuse(value, "must be an array of names of members, as [\"id\", \"name\"]");
    return names;
  }
  std::unordered_set<std::string_view> seen;
  for (const Json& item : *value.as_array()) {
    if (item.as_text() == nullptr) {
      refuse(item, "must be the name of a member");
    } else if (!seen.insert(*item.as_text()).second) {
      refuse(item, "this name is listed twice; remove one");
    } else {
      names.push_back(*item.as_text());
    }
  }
  return names;
}

const Json::Object* Compiler::object_of(const Json& value, std::string_view what) {
  if (!value.is_object())
    refuse(value, fmt::format("must be an object whose members are {}", what));
  return value.as_object();
}

void Compiler::type(Node& node, std::string_view, const Json& value) {
  if (value.as_array() == nullptr) return one_type(node, value);
  if (value.as_array()->empty()) refuse(value, "must name at least one type");
  for (const Json& name : *value.as_array()) one_type(node, name);
}

void Compiler::one_type(Node& node, const Json& name) {
  for (const TypeName& type : type_names) {
    if (name.as_text() == nullptr || *name.as_text() != type.name) continue;
    if ((node.types & type.bit) != 0) refuse(name, "this type is listed twice; remove one");
    node.types |= type.bit;
    return;
  }
  refuse(name, "must be one of string, number, integer, boolean, object, array, null");
}

void Compiler::listed_values(Node& node, std::string_view keyword, const Json& value) {
  ListedValues listed{.keyword = keyword};
  if (keyword == "const") {
    listed.texts.push_back(canonical(value));
    listed.words = "must be " + shortened(value.dump(), enum_words_bytes_max);
  } else if (value.as_array() == nullptr || value.as_array()->empty()) {
    return refuse(value, "must be an array of at least one value");
  } else {
    for (const Json& item : *value.as_array()) {
      listed.texts.push_back(canonical(item));
      if (listed.words.size() > enum_words_bytes_max) continue;
      listed.words += (listed.words.empty() ? "must be one of " : ", ") + item.dump();
    }
    listed.words = shortened(listed.words, enum_words_bytes_max);
  }
  std::sort(listed.texts.begin(), listed.texts.end());
  for (const std::string& text : listed.texts) {
    listed.longest = std::max(listed.longest, text.size());
  }
  node.listed.push_back(std::move(listed));
}

void Compiler::number_bound(Node& node, std::string_view keyword, const Json& value) {
  if (!value.as_number()) {
    return refuse(value, fmt::format("must be a number{}",
                                     value.as_boolean() == nullptr || !keyword.starts_with("excl")
                                         ? ""
                                         : ": the bound itself, without the other keyword"));
  }
  bool is_least = keyword.ends_with("inimum");
  rules_of(node.number)
      .bounds.push_back({keyword, is_least, !keyword.starts_with("exclusive"), value});
}

void Compiler::multiple_of(Node& node, std::string_view, const Json& value) {
  std::optional<double> number = value.as_number();
  if (!number || *number <= 0) return refuse(value, "must be a number above 0");
  NumberRules& rules = rules_of(node.number);
  rules.divisor = decimal_of(value);
  rules.multiple_of = value;
}

void Compiler::count_bound(Node& node, std::string_view keyword, const Json& value) {
  std::optional<size_t> number = count(value);
  if (!number) return;
  CountBound bound{keyword, keyword.starts_with("min"), *number};
  if (keyword.ends_with("Length")) rules_of(node.text).lengths.push_back(bound);
  if (keyword.ends_with("Items")) rules_of(node.array).counts.push_back(bound);
  if (keyword.ends_with("Properties")) rules_of(node.object).counts.push_back(bound);
}

// OpenAPI 3.0. There it widens type alone; those who write it beside enum or anyOf mean null too.
void Compiler::nullable(Node& node, std::string_view, const Json& value) {
  if (value.as_boolean() == nullptr) return refuse(value, "must be true or false");
  node.is_nullable = *value.as_boolean();
}

void Compiler::text_pattern(Node& node, std::string_view, const Json& value) {
  if (value.as_text() == nullptr) return refuse(value, "must be a regular expression, a string");
  rules_of(node.text).pattern = pattern(value, *value.as_text());
}

}  // namespace hostler::json_schema
