// See fcgi/api/scim/group_steps.h.
#include "fcgi/api/scim/group_steps.h"

#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "fcgi/api/scim/expressions.h"
#include "fcgi/api/scim/user_document.h"
#include "lib/ascii.h"
#include "lib/control_characters.h"
#include "lib/error.h"
#include "lib/ids.h"
#include "lib/utf8.h"

namespace hostler::scim {
namespace {

constexpr size_t name_chars_max = 256;

[[noreturn]] void bad_value(std::string_view name, std::string_view what) {
  throw Error(ErrorCode::scim_invalid_value, fmt::format("{} {}.", name, what));
}

std::string name_of(std::string_view attribute, const Json& value) {
  const std::string* text = value.as_text();
  if (text == nullptr || text->empty()) bad_value(attribute, "must be a text");
  if (character_count(*text) > name_chars_max) bad_value(attribute, "is too long");
  if (has_control(*text)) bad_value(attribute, "has control characters");
  return *text;
}

// The id of a user: of an element {value}, or a text alone.
std::string member_id(const Json& element) {
  const Json* value = find_member(element, "value");
  const std::string* text = value != nullptr ? value->as_text() : element.as_text();
  if (text == nullptr || !is_uuid(ascii::lower_case(*text))) {
    bad_value("members", "must have the ids of users as values");
  }
  return ascii::lower_case(*text);
}

std::vector<std::string> member_ids(const Json& given) {
  std::vector<std::string> ids;
  if (given.is_null()) return ids;
  if (!given.is_array()) return {member_id(given)};
  for (const Json& element : *given.as_array()) ids.push_back(member_id(element));
  return ids;
}

class Steps {
 public:
  Steps() { json_.begin_array(); }

  void name(const Json& value) {
    begin("name").member("value", name_of("displayName", value)).end_object();
  }

  void external_id(const Json* value) {
    begin("external").key("value");
    bool is_given = value != nullptr && !value->is_null();
    is_given ? json_.text(name_of("externalId", *value)) : json_.null();
    json_.end_object();
  }

  void members(std::string_view step, const std::vector<std::string>& ids) {
    begin(step).key("ids").begin_array();
    for (const std::string& id : ids) json_.text(id);
    json_.end_array().end_object();
  }

  std::string take() { return json_.end_array().take(); }

 private:
  JsonWriter& begin(std::string_view step) { return json_.begin_object().member("do", step); }
  JsonWriter json_;
};

bool is_ignored(std::string_view attribute) {
  for (std::string_view name : {"id", "schemas", "meta"}) {
    if (ascii::equal_ignoring_case(attribute, name)) return true;
  }
  return false;
}

// A path members[value eq "…"] names members, as elements of the value do.
std::vector<std::string> ids_of(const Path& path, const Json* value) {
  if (path.filter.empty())
    return value == nullptr ? std::vector<std::string>() : member_ids(*value);
  std::vector<std::string> ids;
  for (const Comparison& wanted : path.filter) {
    if (!ascii::equal_ignoring_case(wanted.attribute, "value")) {
      throw Error(ErrorCode::scim_invalid_path, "members are chosen by their value.");
    }
    ids.push_back(member_id(Json(std::string(wanted.value))));
  }
  return ids;
}

void add_step(Steps& steps, const std::string& op, const Path& path, const Json* value) {
  auto is = [&](std::string_view name) { return ascii::equal_ignoring_case(path.attribute, name); };
  bool is_whole = path.filter.empty() && path.sub.empty();
  if (is("members")) {
    bool is_all = op == "remove" && path.filter.empty() && (value == nullptr || value->is_null());
    std::vector<std::string> ids = ids_of(path, value);
    std::string_view step = op == "add" ? "add" : op == "remove" ? "remove" : "set";
    // A path to one member in a replacement says nothing about the others.
    if (op == "replace" && !path.filter.empty()) step = "add";
    steps.members(is_all ? std::string_view("set") : step, ids);
  } else if (is("displayName") && is_whole) {
    if (value == nullptr) bad_value("displayName", "is required");
    steps.name(*value);
  } else if (is("externalId") && is_whole) {
    steps.external_id(op == "remove" ? nullptr : value);
  } else if (!is_ignored(path.attribute)) {
    throw Error(ErrorCode::scim_invalid_path,
                fmt::format("Groups have no attribute {}. They have displayName, externalId and "
                            "members.",
                            path.attribute));
  }
}

}  // namespace

std::string steps_of_group(const Json& body) {
  Steps steps;
  const Json* name = find_member(body, "displayName");
  if (name == nullptr) bad_value("displayName", "is required");
  steps.name(*name);
  steps.external_id(find_member(body, "externalId"));
  const Json* members = find_member(body, "members");
  steps.members("set", members == nullptr ? std::vector<std::string>() : member_ids(*members));
  return steps.take();
}

std::string steps_of_patch(const Json& body) {
  Steps steps;
  for (const Json& operation : operations_of(body)) {
    std::string op = operation_of(operation);
    const Json* path = find_member(operation, "path");
    const Json* value = find_member(operation, "value");
    bool has_path = path != nullptr && path->is_text() && !path->as_text()->empty();
    if (op == "remove" && !has_path) {
      throw Error(ErrorCode::scim_no_target, "A removal needs a path.");
    }
    if (op != "remove" && value == nullptr) bad_value("value", "is required");
    if (has_path) {
      add_step(steps, op, parse_path(*path->as_text()), value);
      continue;
    }
    if (!value->is_object()) bad_value("value", "must be an object when there is no path");
    for (const Json::Member& member : *value->as_object()) {
      if (member.first.find(':') != std::string::npos) continue;  // of another schema
      add_step(steps, op, parse_path(member.first), &member.second);
    }
  }
  return steps.take();
}

}  // namespace hostler::scim
