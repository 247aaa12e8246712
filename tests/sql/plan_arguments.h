// Arguments for a prepared statement: values by name (plan_values.h), else by type.
#pragma once

#include <string>

#include <fmt/format.h>

#include "lib/postgres/session.h"
#include "tests/sql/plan_values.h"
#include "tests/sql/plan_values_by_type.h"
#include "tests/support/rows/statement_list.h"

namespace hostler {

// "(…)" for EXECUTE of the statement that the session has prepared as s_<name>.
inline std::string plan_arguments(postgres::DbSession& session,
                                  const testing_support::StatementUse& use,
                                  const PlanValues& values) {
  postgres::Result types = session.run_text(
      fmt::format("SELECT unnest(parameter_types)::text AS type FROM pg_prepared_statements "
                  "WHERE name = 's_{}'",
                  use.statement->name));
  std::string arguments;
  for (int i = 0; i < types.size(); ++i) {
    const std::string& name = use.parameters.at(static_cast<size_t>(i)).name;
    auto found = values.by_name.find(fmt::format("{}.{}", use.statement->name, name));
    if (found == values.by_name.end()) found = values.by_name.find(name);
    bool is_known = found != values.by_name.end();
    if (i > 0) arguments += ", ";
    arguments += is_known ? found->second : plan_value_of_type(std::string(types[i].text("type")));
  }
  return arguments.empty() ? "" : "(" + arguments + ")";
}

}  // namespace hostler
