// Every named statement with what the source tree says about it: which programs use it, hence which
// role runs it, and what its parameters are. For the tests in tests/sql; run them from the
// root of the repository.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lib/postgres/database.h"

namespace hostler::testing_support {

struct StatementParameter {
  std::string name;
  std::string type;  // as the comment writes it: without "or null"
};

struct StatementUse {
  const postgres::Statement* statement;
  // hostler_api, hostler_runner, hostler_owner; empty: nothing uses it yet.
  std::set<std::string> roles;
  std::vector<StatementParameter> parameters = {};  // of $1, $2 …
};

std::vector<StatementUse> statement_list();

}  // namespace hostler::testing_support
