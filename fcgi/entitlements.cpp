// What an organization may use, and overrides of it. Statements: sql/queries/plans.sql.
#include <algorithm>
#include <array>

#include "fcgi/entitlement_input.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"
#include "queries/plans.h"

namespace hostler {
namespace {

// The settings that are limits of an organization: what entitlements may change.
constexpr std::array<std::string_view, 7> org_limits{
    "limit.agent_turns", "limit.concurrent_runs",     "limit.input_bytes", "limit.queued_runs",
    "limit.run_seconds", "limit.requests_per_minute", "limit.tool_calls"};

// They, as entitlements of the last resort.
std::string known_entitlements(const Settings& settings) {
  JsonWriter json;
  json.begin_array();
  for (size_t i = 0; i < setting_count; ++i) {
    const SettingRow& row = setting_rows[i];
    if (std::find(org_limits.begin(), org_limits.end(), row.name) == org_limits.end()) continue;
    bool is_default = settings.source(i) == SettingSource::fallback;
    json.begin_object().member("key", row.name);
    json.member("value", std::to_string(std::get<int64_t>(settings.value(i))));
    json.member("value_type", "integer").member("source", is_default ? "default" : "setting");
    json.end_object();
  }
  json.begin_object().member("key", "credits.monthly_grant").member("value", "0");
  json.member("value_type", "integer").member("source", "default").end_object();
  return json.end_array().take();
}

}  // namespace

Task<Response> list_entitlements(Services& services, Request& request) {
  Query query(request);
  std::optional<std::string> org_id = query.id("org_id");
  query.check();
  Params params;
  params.text_or_null(org_id).text(known_entitlements(services.settings()));
  Result list = co_await services.query(request, query::entitlement_list, std::move(params));
  co_return Response::json_row(200, std::move(list));
}

Task<Response> set_entitlement_override(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  JsonWriter wanted;
  wanted.begin_object().member("org_id", fields.required_id("org_id"));
  read_entitlement(fields, wanted);
  std::optional<std::string> reason =
      fields.optional_text("reason", {.most = 1000, .takes_control = true});
  if (reason) wanted.member("reason", *reason);
  std::optional<std::string> expires_at = fields.optional_time("expires_at");
  if (expires_at) wanted.member("expires_at", *expires_at);
  wanted.end_object();
  fields.check();
  Params params;
  params.text(wanted.take());
  Result set = co_await services.query(request, query::entitlement_override_set, std::move(params));
  int status = set.front().boolean("is_new") ? 201 : 200;
  co_return Response::json_row(status, std::move(set));
}

Task<Response> list_entitlement_overrides(Services& services, Request& request) {
  Query query(request);
  Params params;
  params.text(query.required_id("org_id"));
  return list_page(services, request, std::move(query), query::entitlement_override_page,
                   std::move(params));
}

Task<Response> delete_entitlement_override(Services& services, Request& request) {
  Query query(request);
  std::optional<std::string> org_id = query.id("org_id");
  query.check();
  Params params;
  params.text(request.path_value("override_id")).text_or_null(org_id);
  co_await services.query(request, query::entitlement_override_delete, std::move(params));
  co_return Response::ok();
}

}  // namespace hostler
