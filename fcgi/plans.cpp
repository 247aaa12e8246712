// Plans and subscriptions. Statements: sql/queries/plans.sql.
#include "queries/plans.h"
#include "fcgi/entitlement_input.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"
#include "lib/time_text.h"

namespace hostler {
namespace {

constexpr size_t entitlements_max = 100;

void read_entitlements(Fields& fields, JsonWriter& json) {
  json.key("entitlements").begin_array();
  std::vector<std::string> keys;
  for (Fields& entitlement : fields.optional_objects("entitlements", entitlements_max)) {
    const Json* key = entitlement.any("key");
    if (key != nullptr && key->is_text()) {
      for (const std::string& earlier : keys) {
        if (earlier == *key->as_text()) entitlement.fault("key", "duplicate", "is given twice");
      }
      keys.push_back(*key->as_text());
    }
    json.begin_object();
    read_entitlement(entitlement, json);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

Task<Response> create_plan(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  JsonWriter wanted;
  wanted.begin_object();
  wanted.member("name", fields.required_text("name", {.least = 1, .most = 200, .trims = true}));
  wanted.member("display_name",
                fields.required_text("display_name", {.least = 1, .most = 200, .trims = true}));
  read_entitlements(fields, wanted);
  wanted.end_object();
  fields.check();
  Params params;
  params.text(wanted.take());
  Result made = co_await services.query(request, query::plan_create, std::move(params));
  co_return Response::json_row(201, std::move(made));
}

Task<Response> list_plans(Services& services, Request& request) {
  return list_page(services, request, query::plan_page);
}

Task<Response> show_plan(Services& services, Request& request) {
  return one_row(services, request, query::plan_show, Params().text(request.path_value("plan_id")));
}

Task<Response> create_subscription(Services& services, Request& request) {
  Fields fields = Fields::of_body(request);
  std::string org_id = fields.required_id("org_id");
  std::string plan_id = fields.required_id("plan_id");
  std::string start = fields.required_time("current_period_start");
  std::string end = fields.required_time("current_period_end");
  std::optional<int64_t> start_ms = parse_rfc3339(start);
  std::optional<int64_t> end_ms = parse_rfc3339(end);
  if (start_ms && end_ms && *end_ms <= *start_ms) {
    fields.fault("current_period_end", "out_of_range", "must be after current_period_start");
  }
  fields.check();
  Params params;
  params.text(org_id).text(plan_id).text(start).text(end);
  Result made = co_await services.query(request, query::subscription_create, std::move(params));
  co_return Response::json_row(201, std::move(made));
}

Task<Response> list_subscriptions(Services& services, Request& request) {
  return list_page(services, request, query::subscription_page);
}

Task<Response> show_subscription(Services& services, Request& request) {
  return one_row(services, request, query::subscription_show,
                 Params().text(request.path_value("subscription_id")));
}

Task<Response> cancel_subscription(Services& services, Request& request) {
  return one_row(services, request, query::subscription_cancel,
                 Params().text(request.path_value("subscription_id")));
}

}  // namespace hostler
