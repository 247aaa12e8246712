// Plans and subscriptions. Statements: sql/queries/plans.sql.
#include "queries/plans.h"
#include "fcgi/api/billing/entitlement_input.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"
#include "fcgi/identity/caller_database.h"
#include "lib/time_text.h"

namespace hostler {
namespace {

constexpr size_t entitlements_max = 100;
// A grant for each month since then is made in one transaction: 1,200.
constexpr int64_t start_age_ms_max = 100LL * 12 * 2'629'746'000;

// Answers the keys.
std::vector<std::string> read_entitlements(Fields& fields, JsonWriter& json) {
  json.key("entitlements").begin_array();
  std::vector<std::string> keys;
  for (Fields& entitlement : fields.optional_objects("entitlements", entitlements_max)) {
    json.begin_object();
    std::string key = read_entitlement(entitlement, json);
    json.end_object();
    for (const std::string& earlier : keys) {
      if (earlier == key) entitlement.fault("key", "duplicate", "is given twice");
    }
    if (!key.empty()) keys.push_back(std::move(key));
  }
  json.end_array();
  return keys;
}

// Returns nothing for an id with a fault.
std::optional<std::string> id_or_none(const std::string& id) {
  return id.empty() ? std::nullopt : std::optional<std::string>(id);
}

void add_unknowns(Fields& fields, const postgres::Row& unknowns) {
  if (unknowns.boolean("is_org_unknown")) {
    fields.fault("org_id", "unknown", "is not a known organization");
  }
  if (unknowns.boolean("is_plan_unknown")) {
    fields.fault("plan_id", "unknown", "is not a known plan");
  }
  if (unknowns.boolean("is_plan_retired")) {
    fields.fault("plan_id", "retired",
                 "is retired; choose another plan, or bring it back with PATCH "
                 "/v1/plans/{plan_id}");
  }
}

}  // namespace

OneStatement create_plan(const Input& input) {
  Fields fields = input.body();
  JsonWriter wanted;
  wanted.begin_object();
  constexpr TextBounds name_bounds{.min = 1, .max = 200, .trims = true, .is_name = true};
  wanted.member("name", fields.required_text("name", name_bounds));
  wanted.member("display_name", fields.required_text("display_name", name_bounds));
  std::string warning = entitlement_warning(read_entitlements(fields, wanted));
  wanted.end_object();
  fields.check();
  return {query::PlanCreate{.wanted = wanted.take()}, [warning](postgres::Result result) {
            return row_with_warning(201, std::move(result), warning);
          }};
}

OneStatement update_plan(const Input& input) {
  Fields fields = input.body();
  bool is_retired = fields.required_boolean("is_retired");
  fields.check();
  return OneStatement::row(
      query::PlanUpdate{.plan_id = input.path_value("plan_id"), .is_retired = is_retired});
}

OneStatement list_plans(const Input& input) {
  Page page = input.page();
  return OneStatement::items(input, query::PlanPage{.limit = page.limit, .before = page.before},
                             {.limit = page.limit});
}

OneStatement show_plan(const Input& input) {
  return OneStatement::row(query::PlanShow{.plan_id = input.path_value("plan_id")});
}

// Unknown ids and retired plans are looked up before, so that they are reported together with all
// other faults.
Task<Response> create_subscription(Call& call) {
  Fields fields = call.input.body();
  std::string org_id = fields.required_id("org_id");
  std::string plan_id = fields.required_id("plan_id");
  std::string start = fields.required_time("current_period_start");
  std::string end = fields.required_time("current_period_end");
  std::optional<int64_t> start_ms = parse_rfc3339(start);
  std::optional<int64_t> end_ms = parse_rfc3339(end);
  if (start_ms && *start_ms < unix_now_ms() - start_age_ms_max) {
    fields.fault("current_period_start", "out_of_range", "must be within the last 100 years");
  }
  if (start_ms && end_ms && *end_ms <= *start_ms) {
    fields.fault("current_period_end", "out_of_range", "must be after current_period_start");
  }
  postgres::BoundStatement asked =
      query::SubscriptionUnknowns{.org_id = id_or_none(org_id), .plan_id = id_or_none(plan_id)};
  postgres::Result unknowns = co_await call.database.query(std::move(asked));
  add_unknowns(fields, unknowns.front());
  fields.check();
  postgres::BoundStatement creation = query::SubscriptionCreate{
      .org_id = org_id, .plan_id = plan_id, .period_start = start, .period_end = end};
  postgres::Result created = co_await call.database.query(std::move(creation));
  co_return Response::json_row(201, std::move(created));
}

OneStatement list_subscriptions(const Input& input) {
  Page page = input.page();
  return OneStatement::items(input,
                             query::SubscriptionPage{.limit = page.limit, .before = page.before},
                             {.limit = page.limit});
}

OneStatement show_subscription(const Input& input) {
  return OneStatement::row(
      query::SubscriptionShow{.subscription_id = input.path_value("subscription_id")});
}

OneStatement cancel_subscription(const Input& input) {
  return OneStatement::row(
      query::SubscriptionCancel{.subscription_id = input.path_value("subscription_id")});
}

}  // namespace hostler
