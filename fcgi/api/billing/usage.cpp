// Usage of the organization the request acts in, and of the platform: by month, day, model and end
// user. Statements: sql/queries/usage.sql.
#include "queries/usage.h"

#include <charconv>

#include "fcgi/api/handlers.h"
#include "fcgi/http/input.h"

namespace hostler {
namespace {

struct Month {
  std::optional<int64_t> year;
  std::optional<int64_t> month;
};

Month month_of(QueryFields& fields) {
  Month wanted;
  wanted.year = fields.integer("year", {2000, 9999});
  wanted.month = fields.integer("month", {1, 12});
  return wanted;
}

Month read_month(const Input& input) {
  QueryFields fields = input.query();
  Month wanted = month_of(fields);
  fields.check();
  return wanted;
}

// The last row of a page: <cost in nano-dollars>, or <cost>:<end_user> unless it has none.
struct UsageCursor {
  std::optional<int64_t> cost;
  std::optional<std::string> end_user;
};

UsageCursor read_cursor(QueryFields& fields) {
  UsageCursor cursor;
  std::optional<std::string> given =
      fields.text("cursor", {.min = 1, .max = 160, .takes_control = true});
  if (!given) return cursor;
  int64_t cost = -1;
  const char* end = given->data() + given->size();
  auto [rest, fault] = std::from_chars(given->data(), end, cost);
  bool has_name = end - rest > 1 && *rest == ':';
  if (fault != std::errc() || cost < 0 || (rest != end && !has_name)) {
    fields.fault("cursor", "bad_format", "must come from a Link header");
    return cursor;
  }
  cursor.cost = cost;
  if (has_name) cursor.end_user.emplace(rest + 1, end);
  return cursor;
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

OneStatement list_usage_by_end_user(const Input& input) {
  QueryFields fields = input.query();
  Month of = month_of(fields);
  int64_t limit = fields.limit();
  UsageCursor after = read_cursor(fields);
  fields.check();
  return OneStatement::page(input,
                            query::UsageByEndUser{.year = of.year,
                                                  .month = of.month,
                                                  .limit = limit,
                                                  .after_cost = after.cost,
                                                  .after_end_user = after.end_user},
                            "cursor");
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
