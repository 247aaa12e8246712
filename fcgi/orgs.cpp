// Organizations and their members. Statements: sql/queries/orgs.sql.
#include <algorithm>

#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"
#include "lib/json.h"
#include "queries/orgs.h"

namespace hostler {
namespace {

constexpr TextBounds slug_bounds{.least = 1, .most = 64};
constexpr TextBounds name_bounds{.least = 1, .most = 200, .trims = true};

bool is_slug(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

void check_slug(Fields& fields, std::string_view slug) {
  if (!is_slug(slug)) {
    fields.fault("slug", "bad_format", "must be lower-case letters, digits and hyphens");
  }
}

}  // namespace

Task<Response> create_org(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string slug = fields.required_text("slug", slug_bounds);
  std::string name = fields.required_text("name", name_bounds);
  check_slug(fields, slug);
  fields.check();
  Params params;
  params.text(slug).text(name).integer(services.settings().integer("credit.workspace_grant"));
  Result made = co_await services.query(request, query::org_create, std::move(params));
  co_return Response::json_row(201, std::move(made));
}

Task<Response> list_orgs(Services& services, Request& request) {
  return list_page(services, request, query::org_page);
}

Task<Response> show_org(Services& services, Request& request) {
  return one_row(services, request, query::org_show);
}

Task<Response> update_org(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::optional<std::string> slug = fields.optional_text("slug", slug_bounds);
  std::optional<std::string> name = fields.optional_text("name", name_bounds);
  if (slug) check_slug(fields, *slug);
  fields.check_patch();
  JsonWriter changes;
  changes.begin_object();
  if (slug) changes.member("slug", *slug);
  if (name) changes.member("name", *name);
  changes.end_object();
  Params params;
  params.text(changes.take());
  Result changed = co_await services.query(request, query::org_update, std::move(params));
  co_return Response::json_row(200, std::move(changed));
}

Task<Response> list_members(Services& services, Request& request) {
  return list_page(services, request, query::member_page);
}

Task<Response> update_member(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::optional<std::string> role = fields.optional_choice("role", {"owner", "admin", "member"});
  fields.check_patch();
  Params params;
  params.text(request.path_value("user_id")).text(*role);
  Result changed = co_await services.query(request, query::member_update, std::move(params));
  co_return Response::json_row(200, std::move(changed));
}

Task<Response> remove_member(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("user_id"));
  co_await services.query(request, query::member_remove, std::move(params));
  co_return Response::no_content();
}

}  // namespace hostler
