// Entitlements of an organization, and overrides of them. Statements: sql/queries/plans.sql.
#include "fcgi/api/billing/entitlement_input.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "queries/plans.h"

namespace hostler {
namespace {

// The limits of an organization, as entitlements of the last resort.
std::string known_entitlements(const config::Settings& settings) {
  JsonWriter json;
  json.begin_array();
  for (size_t i = 0; i < config::setting_count; ++i) {
    const config::SettingRow& row = config::setting_rows[i];
    if (!is_org_limit(row.name)) continue;
    bool is_default = settings.source(i) == config::SettingSource::fallback;
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

OneStatement list_entitlements(const Input& input) {
  QueryFields fields = input.query();
  std::optional<std::string> org_id = fields.id("org_id");
  fields.check();
  return OneStatement::row(
      query::EntitlementList{.org_id = org_id, .known = known_entitlements(input.settings)});
}

OneStatement set_entitlement_override(const Input& input) {
  Fields fields = input.body();
  JsonWriter wanted;
  wanted.begin_object().member("org_id", fields.required_id("org_id"));
  std::string key = read_entitlement(fields, wanted);
  std::optional<std::string> reason =
      fields.nullable_text("reason", {.max = 1000, .takes_control = true}).value;
  if (reason) wanted.member("reason", *reason);
  std::optional<std::string> expires_at = fields.nullable_time("expires_at").value;
  if (expires_at) wanted.member("expires_at", *expires_at);
  wanted.end_object();
  fields.check();
  std::string warning = entitlement_warning({key});
  return {query::EntitlementOverrideSet{.wanted = wanted.take()},
          [warning](postgres::Result result) {
            int status = result.front().boolean("is_new") ? 201 : 200;
            return row_with_warning(status, std::move(result), warning);
          }};
}

OneStatement list_entitlement_overrides(const Input& input) {
  QueryFields fields = input.query();
  std::string org_id = fields.required_id("org_id");
  Page page = Input::page_of(fields);
  fields.check();
  return OneStatement::items(
      input,
      query::EntitlementOverridePage{.org_id = org_id, .limit = page.limit, .before = page.before},
      {.limit = page.limit});
}

OneStatement delete_entitlement_override(const Input& input) {
  QueryFields fields = input.query();
  std::optional<std::string> org_id = fields.id("org_id");
  fields.check();
  return OneStatement::ok(query::EntitlementOverrideDelete{
      .override_id = input.path_value("override_id"), .org_id = org_id});
}

}  // namespace hostler
