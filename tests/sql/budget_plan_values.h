// The parameters of statements of budgets, as tests/sql/plan_values.h has those of all others. For
// that file alone.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace hostler {

// org: a quoted id.
inline std::string budget_wanted(const std::string& org) {
  return "jsonb_build_object('name', 'b', 'subject_type', 'org', 'subject_id', " + org +
         ", 'unit', 'credits', 'amount', '5', 'window', 'day', 'time_zone', 'UTC', "
         "'alert_percents', '[50]'::jsonb, 'on_exhausted', 'wait')";
}

// ask: answers an SQL expression of the database of many_rows.sql. org: the large organization.
inline void add_budget_plan_values(std::map<std::string, std::string>& by_name,
                                   const std::function<std::string(const std::string&)>& ask,
                                   const std::string& org) {
  std::string owned_run = ask("quote_literal(id) FROM runs WHERE owner_id IS NOT NULL");
  by_name.insert({
      {"budget_id", ask("quote_literal(id) FROM budgets WHERE org_id = " + org +
                        " AND subject_type = 'org' LIMIT 1")},
      {"subject_type", "NULL"},
      {"budget", "NULL"},
      {"budget_page.end_user", "'eu1'"},
      {"budget_show.end_user", "'eu1'"},
      {"limit_budgets", "1000000"},
      {"budget_create.org_id", "NULL"},
      {"budget_create.wanted", budget_wanted(org)},
      {"budget_update.changes", R"('{"amount": "2000000000"}')"},
      {"operator_budget_create.wanted", budget_wanted(org)},
      {"operator_budget_update.changes", R"('{"amount": "2000000000"}')"},
      {"turns_hold.run_ids", "ARRAY[" + owned_run + "]::uuid[]"},
      {"turns_hold.route_ids",
       "ARRAY[" + ask("quote_literal(model_id) FROM runs WHERE id = " + owned_run) + "]::uuid[]"},
      {"model_ids",
       "ARRAY[" + ask("quote_literal(id) FROM llm_models WHERE org_id = " + org) + "]::uuid[]"},
      {"run_fall_back.route_id", ask("quote_literal(model_id) FROM runs WHERE id = " + owned_run)},
      {"turns_hold.daemon_id", ask("quote_literal(owner_id) FROM runs WHERE id = " + owned_run)},
      {"turns_hold.epochs",
       "ARRAY[" + ask("epoch FROM runs WHERE id = " + owned_run) + "]::bigint[]"},
  });
}

}  // namespace hostler
