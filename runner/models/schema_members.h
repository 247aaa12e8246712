// Members of JSON objects that are read, replaced and taken out, in their order: what
// runner/models/tool_schema and its parts do with schemas.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "lib/json.h"

namespace hostler {

inline Json* member_of(Json::Object& object, std::string_view name) {
  auto found = std::find_if(object.begin(), object.end(),
                            [name](const Json::Member& member) { return member.first == name; });
  return found == object.end() ? nullptr : &found->second;
}

inline void set_member(Json::Object& object, std::string_view name, Json value) {
  if (Json* known = member_of(object, name)) {
    *known = std::move(value);
  } else {
    object.emplace_back(std::string(name), std::move(value));
  }
}

inline bool erase_member(Json::Object& object, std::string_view name) {
  return std::erase_if(object,
                       [name](const Json::Member& member) { return member.first == name; }) > 0;
}

inline Json empty_schema() { return Json(Json::Object{}); }

}  // namespace hostler
