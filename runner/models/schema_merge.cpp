// See runner/models/schema_merge.h.
#include "runner/models/schema_merge.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/json_schema/numbers.h"
#include "lib/utf8.h"
#include "runner/models/schema_members.h"

namespace hostler {
namespace {

constexpr int nesting_max = 8;
constexpr size_t branches_max = 500;  // of all that is merged
constexpr size_t note_bytes_max = 2'000;
constexpr std::array<std::string_view, 5> root_keywords = {"allOf", "anyOf", "oneOf", "not",
                                                           "enum"};

// Rules of a schema for the members of an object.
struct Members {
  Json::Object properties;
  std::vector<std::string> required;
};

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Json* member_in(const Json::Object& object, std::string_view name) {
  for (const Json::Member& member : object) {
    if (member.first == name) return &member.second;
  }
  return nullptr;
}

// Returns the list of several constants that are alike, or nothing if they are more than constants.
std::optional<Json> listed(const Json::Array& variants) {
  Json::Array values;
  std::set<std::string> seen;
  Json::Object common;
  for (const Json& variant : variants) {
    if (!variant.is_object()) return std::nullopt;
    Json::Object rest = *variant.as_object();
    std::erase_if(rest, [](const Json::Member& member) {
      return member.first == "title" || member.first == "description";
    });
    const Json* constant = member_of(rest, "const");
    const Json* list = member_of(rest, "enum");
    bool is_list = list != nullptr && list->is_array();
    if (constant == nullptr && !is_list) return std::nullopt;
    const Json::Array some = constant != nullptr ? Json::Array{*constant} : *list->as_array();
    for (const Json& value : some) {
      if (seen.insert(json_schema::canonical(value)).second) values.push_back(value);
    }
    erase_member(rest, "const");
    erase_member(rest, "enum");
    bool is_first = &variant == &variants.front();
    if (is_first) common = std::move(rest);
    bool is_alike = is_first || Json(common).dump() == Json(std::move(rest)).dump();
    if (!is_alike) return std::nullopt;
  }
  common.emplace_back("enum", Json(std::move(values)));
  return Json(std::move(common));
}

// Returns one schema for a member that has several.
Json combined(const Json::Array& noted, bool is_any) {
  Json::Array variants;
  std::set<std::string> seen;
  for (const Json& one : noted) {
    if (seen.insert(one.dump()).second) variants.push_back(one);
  }
  if (variants.size() == 1) return variants.front();
  std::optional<Json> values = is_any ? listed(variants) : std::nullopt;
  if (values) return *std::move(values);
  Json::Object all;
  all.emplace_back(is_any ? "anyOf" : "allOf", Json(std::move(variants)));
  return Json(std::move(all));
}

class Merger {
 public:
  explicit Merger(const SchemaMender& mender) : mender_(mender) {}

  Members members_of(const Json& schema, int nesting);
  // Handles an array of branches, any or all of which count.
  Members members_of_branches(const Json& branches, bool is_any, int nesting);

 private:
  const Json& resolved(const Json& schema) const;
  bool may_be_object(const Json& schema) const;

  const SchemaMender& mender_;
  size_t branches_ = 0;
};

// Follows the $ref of a schema that has nothing else.
const Json& Merger::resolved(const Json& schema) const {
  const Json* at = &schema;
  for (int i = 0; i < nesting_max; ++i) {
    const Json* ref = at->find("$ref");
    const Json* target = ref == nullptr ? nullptr : mender_.target(*ref);
    if (target == nullptr || at->as_object()->size() > 1) break;
    at = target;
  }
  return *at;
}

bool Merger::may_be_object(const Json& schema) const {
  const Json& json = resolved(schema);
  if (json.as_boolean() != nullptr) return *json.as_boolean();
  const Json* type = json.find("type");
  if (type == nullptr || type->is_null()) return true;
  if (type->is_text()) return *type->as_text() == "object";
  const Json::Array* types = type->as_array();
  return types == nullptr || std::any_of(types->begin(), types->end(), [](const Json& one) {
           return one.is_text() && *one.as_text() == "object";
         });
}

void add_members(Members& all, const Members& more) {
  for (const auto& [name, value] : more.properties) {
    Json* known = member_of(all.properties, name);
    if (known == nullptr) {
      all.properties.emplace_back(name, value);
    } else {
      *known = combined({*known, value}, false);
    }
  }
  for (const std::string& name : more.required) {
    if (!has(all.required, name)) all.required.push_back(name);
  }
}

Members Merger::members_of_branches(const Json& branches, bool is_any, int nesting) {
  Members all;
  if (!branches.is_array() || nesting > nesting_max) return all;
  std::vector<Members> noted;
  for (const Json& branch : *branches.as_array()) {
    if (++branches_ > branches_max) break;
    if (!is_any || may_be_object(branch)) noted.push_back(members_of(branch, nesting + 1));
  }
  if (!is_any) {
    for (const Members& one : noted) add_members(all, one);
    return all;
  }
  std::vector<std::pair<std::string, Json::Array>> variants;
  for (const Members& one : noted) {
    for (const auto& [name, value] : one.properties) {
      auto known =
          std::find_if(variants.begin(), variants.end(),
                       [&name = name](const auto& variant) { return variant.first == name; });
      if (known == variants.end()) known = variants.insert(variants.end(), {name, {}});
      known->second.push_back(value);
    }
  }
  for (const auto& [name, values] : variants) {
    all.properties.emplace_back(name, combined(values, true));
  }
  if (noted.empty()) return all;
  for (const std::string& name : noted.front().required) {
    bool is_common = std::all_of(noted.begin(), noted.end(),
                                 [&](const Members& one) { return has(one.required, name); });
    if (is_common) all.required.push_back(name);
  }
  return all;
}

// The schema itself counts before its branches for the same member.
void keep_own(Members& all, const Members& more) {
  for (const auto& [name, value] : more.properties) {
    Json* known = member_of(all.properties, name);
    if (known == nullptr) {
      all.properties.emplace_back(name, value);
    } else if (known->as_boolean() != nullptr ||
               (known->is_object() && known->as_object()->empty())) {
      *known = value;
    }
  }
  for (const std::string& name : more.required) {
    if (!has(all.required, name)) all.required.push_back(name);
  }
}

Members Merger::members_of(const Json& schema, int nesting) {
  Members all;
  const Json& json = resolved(schema);
  if (!json.is_object()) return all;
  const Json* properties = json.find("properties");
  if (properties != nullptr && properties->is_object()) all.properties = *properties->as_object();
  const Json* required = json.find("required");
  if (required != nullptr && required->is_array()) {
    for (const Json& name : *required->as_array()) {
      if (name.is_text() && !has(all.required, *name.as_text())) {
        all.required.push_back(*name.as_text());
      }
    }
  }
  for (std::string_view keyword : {"allOf", "anyOf", "oneOf"}) {
    const Json* branches = json.find(keyword);
    if (branches == nullptr) continue;
    keep_own(all, members_of_branches(*branches, keyword != "allOf", nesting));
  }
  return all;
}

// Whether properties and required say all that the branch does.
bool is_of_members(const SchemaMender& mender, const Json& branch) {
  const Json* ref = branch.find("$ref");
  bool is_reference = ref != nullptr && branch.as_object()->size() == 1;
  const Json* noted = is_reference ? mender.target(*ref) : &branch;
  if (noted == nullptr || !noted->is_object())
    return noted == nullptr || noted->as_boolean() != nullptr;
  return std::ranges::all_of(*noted->as_object(), [](const Json::Member& member) {
    std::string_view name = member.first;
    return name == "type" || name == "properties" || name == "required" || name == "title" ||
           name == "description";
  });
}

// The sets of members of which one is enough, if the whole is too long to be described.
std::string sets_of(const Json& branches) {
  std::string sets;
  for (const Json& branch : *branches.as_array()) {
    const Json* required = branch.find("required");
    if (required == nullptr || !required->is_array()) continue;
    std::string names;
    for (const Json& name : *required->as_array()) {
      if (name.is_text()) names += (names.empty() ? "" : " and ") + *name.as_text();
    }
    if (!names.empty()) sets += (sets.empty() ? "" : "; or ") + names;
  }
  return std::string(utf8_prefix(sets, note_bytes_max));
}

std::string note_of(const Json::Object& stated) {
  std::string whole = Json(stated).dump();
  if (whole.size() <= note_bytes_max) {
    return fmt::format("The arguments must also fit this JSON Schema: {}", whole);
  }
  for (std::string_view keyword : {"anyOf", "oneOf"}) {
    const Json* branches = member_in(stated, keyword);
    std::string sets = branches != nullptr && branches->is_array() ? sets_of(*branches) : "";
    if (!sets.empty())
      return fmt::format("Give {} of these: {}.",
                         keyword == "oneOf" ? "exactly one" : "at least one", sets);
  }
  return "The arguments must fit more rules than this schema has. If they do not fit, the answer "
         "names the fault.";
}

// The members of a $ref at the root, with those that stand beside it before them.
bool follow_reference(const SchemaMender& mender, Json::Object& root) {
  bool was_followed = false;
  for (int i = 0; i < nesting_max; ++i) {
    const Json* ref = member_of(root, "$ref");
    if (ref == nullptr) break;
    const Json* target = mender.target(*ref);
    erase_member(root, "$ref");
    was_followed = true;
    if (target == nullptr || !target->is_object()) break;
    for (const auto& [name, value] : *target->as_object()) {
      if (member_of(root, name) == nullptr) root.emplace_back(name, value);
    }
  }
  if (was_followed) erase_member(root, "$ref");
  return was_followed;
}

}  // namespace

MergedRoot merged_root(const SchemaMender& mender, const Json::Object& root) {
  MergedRoot merged;
  merged.object = root;
  merged.has_changed = follow_reference(mender, merged.object);
  Json::Object stated;
  for (std::string_view keyword : root_keywords) {
    const Json* value = member_of(merged.object, keyword);
    if (value == nullptr) continue;
    bool is_noted = keyword == "allOf" && value->is_array() &&
                    std::ranges::all_of(*value->as_array(), [&](const Json& one) {
                      return is_of_members(mender, one);
                    });
    bool is_empty = value->is_null() || (value->is_array() && value->as_array()->empty());
    if (!is_noted && !is_empty) stated.emplace_back(std::string(keyword), *value);
    merged.has_changed = true;
  }
  if (!merged.has_changed) return merged;
  Merger merger(mender);
  Members members = merger.members_of(Json(merged.object), 0);
  for (std::string_view keyword : root_keywords) erase_member(merged.object, keyword);
  set_member(merged.object, "properties", Json(std::move(members.properties)));
  if (!members.required.empty()) {
    Json::Array required;
    for (std::string& name : members.required) required.emplace_back(std::move(name));
    set_member(merged.object, "required", Json(std::move(required)));
  }
  if (!stated.empty()) merged.note = note_of(stated);
  return merged;
}

}  // namespace hostler
