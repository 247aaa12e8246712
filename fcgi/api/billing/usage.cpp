// Usage of the organization the request acts in, and of the platform: by month, day and model.
// Statements: sql/queries/usage.sql.
#include "queries/usage.h"
#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"

namespace hostler {
namespace {

struct Month {
  std::optional<int64_t> year;
  std::optional<int64_t> month;
};

Month read_month(const Input& input) {
  QueryFields fields = input.query();
  Month wanted;
  wanted.year = fields.integer("year", {2000, 9999});
  wanted.month = fields.integer("month", {1, 12});
  fields.check();
  return wanted;
}

struct Days {
  std::optional<std::string> start;
  std::optional<std::string> end;
};

Days read_days(const Input& input) {
  QueryFields fields = input.query();
  Days wanted;
  wanted.start = fields.date("start");
  wanted.end = fields.date("end");
  fields.check();
  return wanted;
}

}  // namespace

OneStatement show_usage(const Input& input) {
  Month of = read_month(input);
  return OneStatement::row(query::UsageSummary{.year = of.year, .month = of.month});
}

OneStatement list_usage_daily(const Input& input) {
  Days of = read_days(input);
  return OneStatement::row(query::UsageDaily{.start = of.start, .end = of.end});
}

OneStatement list_usage_by_model(const Input& input) {
  Month of = read_month(input);
  return OneStatement::row(query::UsageByModel{.year = of.year, .month = of.month});
}

OneStatement show_platform_usage(const Input& input) {
  Month of = read_month(input);
  return OneStatement::row(query::PlatformUsageSummary{.year = of.year, .month = of.month});
}

OneStatement list_platform_usage_daily(const Input& input) {
  Days of = read_days(input);
  return OneStatement::row(query::PlatformUsageDaily{.start = of.start, .end = of.end});
}

OneStatement list_platform_usage_by_model(const Input& input) {
  Month of = read_month(input);
  return OneStatement::row(query::PlatformUsageByModel{.year = of.year, .month = of.month});
}

}  // namespace hostler
