// Feature flags and their overrides for organizations. Statements: sql/queries/feature_flags.sql.
#include "queries/feature_flags.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"

namespace hostler {
namespace {

// Lower-case words of letters, digits and underscores, parted by single dots.
bool is_flag_key(std::string_view key) {
  bool wants_letter = true;
  for (char c : key) {
    bool is_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (c == '.' && wants_letter) return false;
    if (c != '.' && !is_word) return false;
    wants_letter = c == '.';
  }
  return !wants_letter;
}

}  // namespace

Task<Response> create_feature_flag(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string key = fields.required_text("key", {.least = 1, .most = 128});
  std::optional<std::string> description =
      fields.optional_text("description", {.most = 2000, .takes_control = true});
  bool default_value = fields.required_boolean("default_value");
  if (!key.empty() && !is_flag_key(key)) {
    fields.fault("key", "bad_format", "must be lower-case words parted by dots");
  }
  fields.check();
  Params params;
  params.text(key).text(description.value_or("")).boolean(default_value);
  Result made = co_await services.query(request, query::feature_flag_create, std::move(params));
  co_return Response::json_row(201, std::move(made));
}

Task<Response> list_feature_flags(Services& services, Request& request) {
  return list_page(services, request, query::feature_flag_page);
}

Task<Response> show_feature_flag(Services& services, Request& request) {
  return one_row(services, request, query::feature_flag_show,
                 Params().text(request.path_value("key")));
}

Task<Response> update_feature_flag(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  bool default_value = fields.required_boolean("default_value");
  fields.check_patch();
  Params params;
  params.text(request.path_value("key")).boolean(default_value);
  Result changed = co_await services.query(request, query::feature_flag_update, std::move(params));
  co_return Response::json_row(200, std::move(changed));
}

Task<Response> delete_feature_flag(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("key"));
  co_await services.query(request, query::feature_flag_delete, std::move(params));
  co_return Response::ok();
}

Task<Response> set_flag_override(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string org_id = fields.required_id("org_id");
  bool enabled = fields.required_boolean("enabled");
  fields.check();
  Params params;
  params.text(request.path_value("key")).text(org_id).boolean(enabled);
  Result set = co_await services.query(request, query::flag_override_set, std::move(params));
  int status = set.front().boolean("is_new") ? 201 : 200;
  co_return Response::json_row(status, std::move(set));
}

Task<Response> list_flag_overrides(Services& services, Request& request) {
  return list_page(services, request, query::flag_override_page,
                   Params().text(request.path_value("key")));
}

Task<Response> delete_flag_override(Services& services, Request& request) {
  Params params;
  params.text(request.path_value("key")).text(request.path_value("org_id"));
  co_await services.query(request, query::flag_override_delete, std::move(params));
  co_return Response::ok();
}

Task<Response> evaluate_feature_flag(Services& services, Request& request) {
  Query query(request);
  std::string org_id = query.required_id("org_id");
  query.check();
  return one_row(services, request, query::feature_flag_evaluate,
                 Params().text(request.path_value("key")).text(org_id));
}

Task<Response> list_own_flags(Services& services, Request& request) {
  return one_row(services, request, query::feature_flags_mine);
}

}  // namespace hostler
