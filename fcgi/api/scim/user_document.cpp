// See fcgi/api/scim/user_document.h.
#include "fcgi/api/scim/user_document.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "fcgi/api/scim/expressions.h"
#include "fcgi/api/scim/schema.h"
#include "lib/ascii.h"
#include "lib/control_characters.h"
#include "lib/error.h"
#include "lib/utf8.h"

namespace hostler::scim {
namespace {

constexpr size_t text_chars_max = 1024;
constexpr size_t certificate_chars_max = 16'384;
constexpr size_t elements_max = 50;
constexpr size_t operations_max = 1000;

[[noreturn]] void bad_value(std::string_view name, std::string_view what) {
  throw Error(ErrorCode::scim_invalid_value, fmt::format("{} {}.", name, what));
}

[[noreturn]] void bad_path(std::string_view name) {
  throw Error(ErrorCode::scim_invalid_path,
              fmt::format("Users have no attribute {}. GET /v1/scim/v2/Schemas lists them.", name));
}

Json* find_exact(Json::Object& object, std::string_view name) {
  auto found = std::find_if(object.begin(), object.end(),
                            [&](const Json::Member& member) { return member.first == name; });
  return found == object.end() ? nullptr : &found->second;
}

void set_member(Json::Object& object, std::string_view name, Json value) {
  Json* known = find_exact(object, name);
  if (known != nullptr) {
    *known = std::move(value);
  } else {
    object.emplace_back(std::string(name), std::move(value));
  }
}

void drop_member(Json::Object& object, std::string_view name) {
  std::erase_if(object, [&](const Json::Member& member) { return member.first == name; });
}

// ---------------------------------------------------------------- values of their kinds

Json text_value(std::string_view name, const Json& given) {
  if (!given.is_text()) bad_value(name, "must be a string");
  size_t chars_max = name == "x509Certificates" ? certificate_chars_max : text_chars_max;
  if (character_count(*given.as_text()) > chars_max) bad_value(name, "is too long");
  if (has_control(*given.as_text())) bad_value(name, "has control characters");
  return given;
}

// Real identity services send booleans as the texts True and False.
Json boolean_value(std::string_view name, const Json& given) {
  if (given.as_boolean() != nullptr) return given;
  std::string_view text = given.is_text() ? std::string_view(*given.as_text()) : "";
  if (ascii::equal_ignoring_case(text, "true")) return Json(true);
  if (ascii::equal_ignoring_case(text, "false")) return Json(false);
  bad_value(name, "must be true or false");
}

// Whether the value unassigns (RFC 7643, section 2.5).
bool is_nothing(const Json& given) {
  bool is_empty_array = given.is_array() && given.as_array()->empty();
  bool is_empty_text = given.is_text() && given.as_text()->empty();
  return given.is_null() || is_empty_array || is_empty_text;
}

Json sub_value(const Attribute& attribute, std::string_view name, const Json& given) {
  return name == "primary" ? boolean_value(name, given) : text_value(attribute.name, given);
}

// One object of a complex attribute. A text alone is its value.
Json::Object complex_value(const Attribute& attribute, const Json& given) {
  Json::Object made;
  if (given.is_text() && !sub_name(attribute, "value").empty()) {
    made.emplace_back("value", text_value(attribute.name, given));
    return made;
  }
  if (!given.is_object()) bad_value(attribute.name, "must be an object");
  for (const Json::Member& member : *given.as_object()) {
    std::string_view name = sub_name(attribute, member.first);
    if (name.empty() || is_nothing(member.second)) continue;
    set_member(made, name, sub_value(attribute, name, member.second));
  }
  return made;
}

Json::Array list_value(const Attribute& attribute, const Json& given) {
  Json::Array made;
  if (!given.is_array()) {
    made.emplace_back(complex_value(attribute, given));
    return made;
  }
  if (given.as_array()->size() > elements_max) bad_value(attribute.name, "has too many elements");
  for (const Json& element : *given.as_array()) {
    made.emplace_back(complex_value(attribute, element));
  }
  return made;
}

Json value_of(const Attribute& attribute, const Json& given) {
  switch (attribute.kind) {
    case Kind::text:
      return text_value(attribute.name, given);
    case Kind::boolean:
      return boolean_value(attribute.name, given);
    case Kind::complex:
      return Json(complex_value(attribute, given));
    case Kind::list:
      return Json(list_value(attribute, given));
  }
  return Json();
}

// ---------------------------------------------------------------- the place of an attribute

// The object that has the attributes of the path: the document, or the extension within it.
Json::Object* home_of(Json::Object& document, bool is_enterprise, bool is_made) {
  if (!is_enterprise) return &document;
  Json* extension = find_exact(document, enterprise_schema);
  if (extension == nullptr && is_made) {
    document.emplace_back(std::string(enterprise_schema), Json(Json::Object{}));
    extension = &document.back().second;
  }
  return extension == nullptr ? nullptr : extension->as_object();
}

bool is_primary(const Json& element) {
  const Json* primary = element.find("primary");
  return primary != nullptr && primary->as_boolean() != nullptr && *primary->as_boolean();
}

// A list has one primary element at most: the last one that says so (RFC 7644, section 3.5.2).
void keep_one_primary(Json::Array& list) {
  bool is_found = false;
  for (auto element = list.rbegin(); element != list.rend(); ++element) {
    if (!is_primary(*element)) continue;
    if (is_found) set_member(*element->as_object(), "primary", Json(false));
    is_found = true;
  }
}

bool meets(const Attribute& attribute, const Json& element, const Comparison& wanted) {
  std::string_view name = sub_name(attribute, wanted.attribute);
  const Json* value = name.empty() ? nullptr : element.find(name);
  if (value == nullptr) return false;
  if (value->as_boolean() != nullptr) {
    return ascii::equal_ignoring_case(wanted.value, *value->as_boolean() ? "true" : "false");
  }
  return value->is_text() && ascii::equal_ignoring_case(*value->as_text(), wanted.value);
}

bool meets_all(const Attribute& attribute, const Json& element, const Path& path) {
  return std::all_of(path.filter.begin(), path.filter.end(),
                     [&](const Comparison& wanted) { return meets(attribute, element, wanted); });
}

// ---------------------------------------------------------------- operations

struct Change {
  bool is_removal = false;
  bool is_addition = false;  // of elements to a list
  const Json* value = nullptr;
};

// A new element that meets the path's filter, so that a service may write into one that is not
// there yet: emails[type eq "work"].value.
Json::Object element_of(const Attribute& attribute, const Path& path) {
  Json::Object made;
  for (const Comparison& wanted : path.filter) {
    std::string_view name = sub_name(attribute, wanted.attribute);
    if (name.empty()) bad_path(path.attribute);
    set_member(made, name, sub_value(attribute, name, Json(std::string(wanted.value))));
  }
  return made;
}

void change_sub(const Attribute& attribute, Json::Object& object, std::string_view sub,
                const Change& change) {
  std::string_view name = sub_name(attribute, sub);
  if (name.empty()) bad_path(fmt::format("{}.{}", attribute.name, sub));
  if (change.is_removal || is_nothing(*change.value)) {
    drop_member(object, name);
  } else {
    set_member(object, name, sub_value(attribute, name, *change.value));
  }
}

// Elements of a list that the path chooses.
void change_elements(const Attribute& attribute, Json::Array& list, const Path& path,
                     const Change& change) {
  if (change.is_removal && path.sub.empty()) {
    std::erase_if(list, [&](const Json& one) { return meets_all(attribute, one, path); });
    return;
  }
  bool is_found = false;
  for (Json& element : list) {
    if (!meets_all(attribute, element, path)) continue;
    is_found = true;
    if (!path.sub.empty()) {
      change_sub(attribute, *element.as_object(), path.sub, change);
    } else {
      for (Json::Member& member : complex_value(attribute, *change.value)) {
        set_member(*element.as_object(), member.first, std::move(member.second));
      }
    }
  }
  bool is_to_make = !is_found && !change.is_removal && !is_nothing(*change.value);
  if (!is_to_make) return;
  if (list.size() >= elements_max) bad_value(attribute.name, "has too many elements");
  Json::Object made = element_of(attribute, path);
  if (!path.sub.empty()) {
    change_sub(attribute, made, path.sub, change);
  } else {
    for (Json::Member& member : complex_value(attribute, *change.value)) {
      set_member(made, member.first, std::move(member.second));
    }
  }
  list.emplace_back(std::move(made));
}

void change_list(const Attribute& attribute, Json::Array& list, const Path& path,
                 const Change& change) {
  if (!path.filter.empty() || !path.sub.empty()) {
    change_elements(attribute, list, path, change);
  } else {
    Json::Array given = list_value(attribute, *change.value);
    if (!change.is_addition) list.clear();
    for (Json& element : given) {
      std::string text = element.dump();
      bool is_there = std::any_of(list.begin(), list.end(),
                                  [&](const Json& one) { return one.dump() == text; });
      if (!is_there) list.push_back(std::move(element));
    }
    if (list.size() > elements_max) bad_value(attribute.name, "has too many elements");
  }
  keep_one_primary(list);
}

// The whole attribute, or parts of it.
void change_attribute(Json::Object& home, const Attribute& attribute, const Path& path,
                      const Change& change) {
  bool is_whole = path.filter.empty() && path.sub.empty();
  bool is_unassigned = change.is_removal || (is_whole && is_nothing(*change.value));
  if (is_whole && is_unassigned && !(change.is_addition && attribute.kind == Kind::list)) {
    drop_member(home, attribute.name);
    return;
  }
  if (is_whole && is_unassigned) return;
  bool is_plain = attribute.kind == Kind::text || attribute.kind == Kind::boolean;
  bool is_of_list = attribute.kind == Kind::list;
  if ((is_plain && !is_whole) || (!path.filter.empty() && !is_of_list)) bad_path(path.attribute);
  if (is_plain) {
    set_member(home, attribute.name, value_of(attribute, *change.value));
    return;
  }
  Json* known = find_exact(home, attribute.name);
  if (known == nullptr && change.is_removal) return;
  if (known == nullptr) {
    home.emplace_back(std::string(attribute.name),
                      is_of_list ? Json(Json::Array{}) : Json(Json::Object{}));
    known = &home.back().second;
  }
  if (is_of_list) {
    change_list(attribute, *known->as_array(), path, change);
    if (known->as_array()->empty()) drop_member(home, attribute.name);
  } else if (!path.sub.empty()) {
    change_sub(attribute, *known->as_object(), path.sub, change);
  } else {
    for (Json::Member& member : complex_value(attribute, *change.value)) {
      set_member(*known->as_object(), member.first, std::move(member.second));
    }
  }
}

// The extension as one object.
void change_extension(Json::Object& document, const Change& change) {
  if (change.is_removal) {
    drop_member(document, enterprise_schema);
    return;
  }
  if (!change.value->is_object()) bad_value(enterprise_schema, "must be an object");
  for (const Json::Member& member : *change.value->as_object()) {
    const Attribute* attribute = user_attribute(member.first, true);
    if (attribute == nullptr) continue;
    Change of_member{false, change.is_addition, &member.second};
    change_attribute(*home_of(document, true, true), *attribute, {true, member.first, {}, {}},
                     of_member);
  }
}

// Members that only this service sets, or that it never keeps.
bool is_ignored(std::string_view attribute) {
  for (std::string_view name : {"schemas", "id", "meta", "groups", "password"}) {
    if (ascii::equal_ignoring_case(attribute, name)) return true;
  }
  return false;
}

void apply(Json::Object& document, const Path& path, const Change& change, bool is_strict) {
  if (path.attribute.empty()) {
    change_extension(document, change);
    return;
  }
  const Attribute* attribute = user_attribute(path.attribute, path.is_enterprise);
  if (attribute == nullptr) {
    if (is_strict && !is_ignored(path.attribute)) bad_path(path.attribute);
    return;
  }
  Json::Object* home = home_of(document, path.is_enterprise, !change.is_removal);
  if (home != nullptr) change_attribute(*home, *attribute, path, change);
}

// An operation without a path: each member of the value is one with its name as the path.
void apply_members(Json::Object& document, const Json& value, bool is_addition) {
  if (!value.is_object()) bad_value("value", "must be an object when there is no path");
  for (const Json::Member& member : *value.as_object()) {
    bool is_foreign =
        ascii::equal_ignoring_case(member.first.substr(0, 4), "urn:") &&
        !ascii::equal_ignoring_case(member.first.substr(0, enterprise_schema.size()),
                                    enterprise_schema) &&
        !ascii::equal_ignoring_case(member.first.substr(0, user_schema.size()), user_schema);
    if (is_foreign) continue;
    apply(document, parse_path(member.first), {false, is_addition, &member.second}, false);
  }
}

}  // namespace

const Json* find_member(const Json& object, std::string_view name) {
  const Json::Object* members = object.as_object();
  if (members == nullptr) return nullptr;
  auto found = std::find_if(members->begin(), members->end(), [&](const Json::Member& member) {
    return ascii::equal_ignoring_case(member.first, name);
  });
  return found == members->end() ? nullptr : &found->second;
}

const Json::Array& operations_of(const Json& body) {
  const Json* operations = find_member(body, "Operations");
  if (operations == nullptr || !operations->is_array() || operations->as_array()->empty()) {
    bad_value("Operations", "must be an array of at least one operation");
  }
  if (operations->as_array()->size() > operations_max) bad_value("Operations", "are too many");
  return *operations->as_array();
}

std::string operation_of(const Json& operation) {
  const Json* op = find_member(operation, "op");
  std::string name = op != nullptr && op->is_text() ? ascii::lower_case(*op->as_text()) : "";
  if (name != "add" && name != "replace" && name != "remove") {
    bad_value("op", "must be add, replace or remove");
  }
  return name;
}

Json::Object read_user(const Json& body) {
  Json::Object document;
  apply_members(document, body, false);
  return document;
}

void patch_user(Json::Object& document, const Json& body) {
  for (const Json& operation : operations_of(body)) {
    std::string op = operation_of(operation);
    const Json* path = find_member(operation, "path");
    const Json* value = find_member(operation, "value");
    bool has_path = path != nullptr && path->is_text() && !path->as_text()->empty();
    if (op == "remove") {
      if (!has_path) {
        throw Error(ErrorCode::scim_no_target, "A removal needs a path.");
      }
      apply(document, parse_path(*path->as_text()), {true, false, nullptr}, true);
      continue;
    }
    if (value == nullptr) bad_value("value", "is required");
    if (has_path) {
      apply(document, parse_path(*path->as_text()), {false, op == "add", value}, true);
    } else {
      apply_members(document, *value, op == "add");
    }
  }
}

}  // namespace hostler::scim
