// Usage of the organization the request acts in, and of the platform: by month, day and model.
// Statements: sql/queries/usage.sql.
#include "queries/usage.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/one_statement.h"
#include "fcgi/services.h"

namespace hostler {
namespace {

// ?year= and ?month=, each null when absent.
Task<Response> usage_of_month(Services& services, Request& request, const Statement& statement) {
  Query query(request);
  std::optional<int64_t> year = query.integer("year", {2000, 9999});
  std::optional<int64_t> month = query.integer("month", {1, 12});
  query.check();
  Params params;
  params.integer_or_null(year).integer_or_null(month);
  return one_row(services, request, statement, std::move(params));
}

// ?start= and ?end=, each null when absent.
Task<Response> usage_of_days(Services& services, Request& request, const Statement& statement) {
  Query query(request);
  std::optional<std::string> start = query.date("start");
  std::optional<std::string> end = query.date("end");
  query.check();
  Params params;
  params.text_or_null(start).text_or_null(end);
  return one_row(services, request, statement, std::move(params));
}

}  // namespace

Task<Response> show_usage(Services& services, Request& request) {
  return usage_of_month(services, request, query::usage_summary);
}

Task<Response> list_usage_daily(Services& services, Request& request) {
  return usage_of_days(services, request, query::usage_daily);
}

Task<Response> list_usage_by_model(Services& services, Request& request) {
  return usage_of_month(services, request, query::usage_by_model);
}

Task<Response> show_platform_usage(Services& services, Request& request) {
  return usage_of_month(services, request, query::platform_usage_summary);
}

Task<Response> list_platform_usage_daily(Services& services, Request& request) {
  return usage_of_days(services, request, query::platform_usage_daily);
}

Task<Response> list_platform_usage_by_model(Services& services, Request& request) {
  return usage_of_month(services, request, query::platform_usage_by_model);
}

}  // namespace hostler
