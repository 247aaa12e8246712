// Usage of the organization the request acts in, and of the platform: by month, day and model.
// Statements: sql/queries/usage.sql.
#include "queries/usage.h"
#include "fcgi/handlers.h"
#include "fcgi/input.h"
#include "fcgi/services.h"

namespace hostler {
namespace {

// Adds year and month, each null when absent.
void read_month(const Request& request, Params& params) {
  Query query(request);
  std::optional<int64_t> year = query.integer("year", {2000, 9999});
  std::optional<int64_t> month = query.integer("month", {1, 12});
  query.check();
  params.integer_or_null(year).integer_or_null(month);
}

// Adds start and end, each null when absent.
void read_days(const Request& request, Params& params) {
  Query query(request);
  std::optional<std::string> start = query.date("start");
  std::optional<std::string> end = query.date("end");
  query.check();
  params.text_or_null(start).text_or_null(end);
}

}  // namespace

Task<Response> show_usage(Services& services, Request& request) {
  Params params;
  read_month(request, params);
  Result found = co_await services.query(request, query::usage_summary, std::move(params));
  co_return Response::json_row(200, std::move(found));
}

Task<Response> list_usage_daily(Services& services, Request& request) {
  Params params;
  read_days(request, params);
  Result found = co_await services.query(request, query::usage_daily, std::move(params));
  co_return Response::json_row(200, std::move(found));
}

Task<Response> list_usage_by_model(Services& services, Request& request) {
  Params params;
  read_month(request, params);
  Result found = co_await services.query(request, query::usage_by_model, std::move(params));
  co_return Response::json_row(200, std::move(found));
}

Task<Response> show_platform_usage(Services& services, Request& request) {
  Params params;
  read_month(request, params);
  Result found = co_await services.query(request, query::platform_usage_summary, std::move(params));
  co_return Response::json_row(200, std::move(found));
}

Task<Response> list_platform_usage_daily(Services& services, Request& request) {
  Params params;
  read_days(request, params);
  Result found = co_await services.query(request, query::platform_usage_daily, std::move(params));
  co_return Response::json_row(200, std::move(found));
}

Task<Response> list_platform_usage_by_model(Services& services, Request& request) {
  Params params;
  read_month(request, params);
  Result found =
      co_await services.query(request, query::platform_usage_by_model, std::move(params));
  co_return Response::json_row(200, std::move(found));
}

}  // namespace hostler
