// Budgets and holds of turns, for tests below the API.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/json.h"
#include "queries/access.h"
#include "queries/budgets.h"
#include "queries/daemon.h"
#include "tests/support/rows/run_money.h"

namespace hostler::testing_support {

struct BudgetWish {
  std::string subject_type = "org";
  std::string subject_id = {};  // empty: the organization's id
  std::string unit = "credits";
  std::string amount = "100";
  std::string window = "total";
  std::string on_exhausted = "wait";
  std::string time_zone = "UTC";
  std::string percents = "[]";
};

inline void act_with_org_manage(postgres::DbSession& session, const RunFixture& fixture) {
  session.begin();
  const char* context = R"({"trace_id": "0123456789abcdef0123456789abcdef",
    "permissions": ["data.runs.read", "org.manage"]})";
  session.run(query::SetRequestContext{
      .org_id = fixture.org_id, .user_id = fixture.owner_id, .context = context});
}

// The budget's id.
inline std::string new_budget(const TestDatabase& database, const RunFixture& fixture,
                              const BudgetWish& wish) {
  postgres::DbSession session = database.as_api();
  act_with_org_manage(session, fixture);
  std::string subject = wish.subject_id.empty() ? fixture.org_id : wish.subject_id;
  JsonWriter wanted;
  wanted.begin_object().member("name", "B " + wish.subject_type);
  wanted.member("subject_type", wish.subject_type).member("subject_id", subject);
  wanted.member("unit", wish.unit).member("amount", wish.amount).member("window", wish.window);
  wanted.member("time_zone", wish.time_zone).member_raw("alert_percents", wish.percents);
  wanted.member("on_exhausted", wish.on_exhausted).end_object();
  postgres::Result made = session.run(
      query::BudgetCreate{.wanted = wanted.take(), .org_id = std::nullopt, .limit_budgets = 1000});
  std::optional<Json> budget = parse_json_or_nothing(made.text());
  session.commit();
  return std::string(budget->text_or("id"));
}

inline void change_budget(const TestDatabase& database, const RunFixture& fixture,
                          const std::string& budget_id, const std::string& changes) {
  postgres::DbSession session = database.as_api();
  act_with_org_manage(session, fixture);
  session.run(query::BudgetUpdate{.budget_id = budget_id, .changes = changes});
  session.commit();
}

struct HoldAnswer {
  std::string outcome = "lost";
  int64_t output_tokens = 0;
  bool is_lowered = false;
  std::string named;  // the budget that it waits for, or that is exhausted
  bool may_wait = false;
  std::string decided_at;
};

inline HoldAnswer take_hold(postgres::DbSession& session, const OwnedRun& run, int64_t input_tokens,
                            int64_t output_tokens) {
  std::string route_id(
      session.run_text("SELECT model_id FROM runs WHERE id = '" + run.run_id + "'").text());
  postgres::Result rows = session.run(query::TurnsHold{.daemon_id = run.daemon_id,
                                                       .run_ids = std::vector{run.run_id},
                                                       .epochs = std::vector{run.epoch},
                                                       .route_ids = std::vector{route_id},
                                                       .input_tokens = std::vector{input_tokens},
                                                       .output_tokens = std::vector{output_tokens},
                                                       .budget_min_output_tokens = 64,
                                                       .credits_per_usd = 1000});
  if (rows.empty()) return {};
  postgres::Row row = rows.front();
  HoldAnswer answer;
  answer.outcome = row.text("outcome");
  answer.output_tokens = row.integer("output_tokens");
  answer.is_lowered = row.boolean("is_lowered");
  answer.named = row.text_or_null("waits_for").value_or(row.text_or_null("budget_id").value_or(""));
  answer.may_wait = row.boolean("may_wait");
  answer.decided_at = row.text_or_null("decided_at").value_or("");
  return answer;
}

}  // namespace hostler::testing_support
