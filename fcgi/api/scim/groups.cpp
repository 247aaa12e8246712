// SCIM groups, whose names give roles (docs/scim.md). Statements: sql/queries/scim.sql.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "fcgi/api/handlers.h"
#include "fcgi/api/scim/exchange.h"
#include "fcgi/api/scim/group_steps.h"
#include "fcgi/http/input.h"
#include "lib/ascii.h"
#include "queries/scim.h"

namespace hostler {
namespace {

// The conditions of a filter, in JSON; a condition that is given twice must say the same. Each row
// that meets one value does not meet another.
std::string conditions_of(const scim::ListPage& page, bool& is_void) {
  Json::Object conditions;
  for (const scim::Comparison& one : page.filter) {
    auto is = [&](std::string_view name) {
      return ascii::equal_ignoring_case(one.attribute, name);
    };
    std::string name = is("displayName")                      ? "display_name"
                       : is("externalId")                     ? "external_id"
                       : is("id")                             ? "id"
                       : is("members") || is("members.value") ? "member_id"
                                                              : "";
    if (name.empty()) {
      throw Error(ErrorCode::scim_invalid_filter,
                  fmt::format("{} cannot be filtered by. Supported are displayName, externalId, "
                              "members.value and id.",
                              one.attribute));
    }
    for (const auto& [known, value] : conditions) {
      if (known == name && *value.as_text() != one.value) is_void = true;
    }
    conditions.emplace_back(std::move(name), Json(std::string(one.value)));
  }
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : conditions) json.member(name, *value.as_text());
  return json.end_object().take();
}

OneStatement written(const Input& input, std::optional<std::string> scim_id, std::string steps) {
  int status = scim_id ? 200 : 201;
  return {
      query::ScimGroupWrite{.scim_id = std::move(scim_id),
                            .steps = std::move(steps),
                            .site = scim::site_of(input.settings),
                            .with_members = scim::wants_members(input)},
      [status](const postgres::Result& result) { return scim::resource_response(status, result); }};
}

}  // namespace

OneStatement list_scim_groups(const Input& input) {
  scim::ListPage page = scim::list_page(input);
  bool is_void = false;
  std::string conditions = conditions_of(page, is_void);
  return {query::ScimGroupPage{.conditions = is_void ? "{}" : conditions,
                               .start_index = page.start_index,
                               .limit = page.count,
                               .is_void = is_void,
                               .site = scim::site_of(input.settings),
                               .with_members = scim::wants_members(input)},
          [](const postgres::Result& found) { return scim::resource_response(200, found); }};
}

OneStatement show_scim_group(const Input& input) {
  return {query::ScimGroupShow{.scim_id = input.path_value("resource_id"),
                               .site = scim::site_of(input.settings),
                               .with_members = scim::wants_members(input)},
          [](const postgres::Result& found) { return scim::resource_response(200, found); }};
}

OneStatement create_scim_group(const Input& input) {
  return written(input, std::nullopt, scim::steps_of_group(scim::body_of(input)));
}

OneStatement replace_scim_group(const Input& input) {
  return written(input, std::string(input.path_value("resource_id")),
                 scim::steps_of_group(scim::body_of(input)));
}

// Without the group, which may have thousands of members.
OneStatement update_scim_group(const Input& input) {
  return OneStatement::no_content(
      query::ScimGroupWrite{.scim_id = std::string(input.path_value("resource_id")),
                            .steps = scim::steps_of_patch(scim::body_of(input)),
                            .site = "",
                            .with_members = false});
}

OneStatement delete_scim_group(const Input& input) {
  return OneStatement::no_content(
      query::ScimGroupDelete{.scim_id = input.path_value("resource_id")});
}

}  // namespace hostler
