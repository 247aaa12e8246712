// Every named statement fits the schema and the rights of the role that sends it.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "lib/error.h"
#include "tests/support/rigs/database.h"
#include "tests/support/rows/statement_list.h"

namespace hostler {
namespace {

using namespace testing_support;

// DO and the like cannot be prepared from SQL; the tests of setup-database run them.
bool is_preparable(const postgres::Statement& statement) {
  return !std::string_view(statement.text).starts_with("DO ");
}

// A generic plan asks for every right, also of the functions, and runs nothing. Answers the fault.
std::string fault_of(postgres::DbSession& session, const postgres::Statement& statement) {
  std::string nulls;
  for (int i = 0; i < statement.params; ++i) nulls += i == 0 ? "NULL" : ", NULL";
  std::string arguments = nulls.empty() ? "" : "(" + nulls + ")";
  try {
    session.run_text(fmt::format("PREPARE s_{} AS {}", statement.name, statement.text));
    session.run_text(fmt::format("EXPLAIN EXECUTE s_{}{}", statement.name, arguments));
  } catch (const Error& error) {
    return error.cause.empty() ? error.detail : error.cause;
  }
  return "";
}

postgres::DbSession session_of(const TestDatabase& database, const std::string& role) {
  postgres::DbSession session = role == "hostler_api"      ? database.as_api()
                                : role == "hostler_runner" ? database.as_runner()
                                                           : database.as_superuser();
  session.run_text("SET plan_cache_mode = force_generic_plan");
  // hostlerctl's are sent by a superuser who became the owner, or is about to.
  return session;
}

TEST(Statements, ArePlannedOnTheNewestSchemaByTheRoleThatSendsThem) {
  TestDatabase database;
  for (const char* role : {"hostler_api", "hostler_runner", "hostler_owner"}) {
    postgres::DbSession session = session_of(database, role);
    for (const StatementUse& use : statement_list()) {
      // A statement that nothing uses yet must fit the schema at least.
      bool is_sent =
          use.roles.empty() ? role == std::string("hostler_owner") : use.roles.contains(role);
      if (!is_sent || !is_preparable(*use.statement)) continue;
      EXPECT_EQ(fault_of(session, *use.statement), "")
          << "sql/queries/" << use.statement->topic << ".sql: " << use.statement->name << " as "
          << role;
    }
  }
}

TEST(Statements, AreRefusedToARoleWithoutTheRight) {
  TestDatabase database;
  postgres::DbSession session = session_of(database, "hostler_api");
  postgres::Statement of_tokens{"test", "of_tokens",
                                "SELECT hash FROM access_tokens WHERE hash = $1", 1};
  EXPECT_NE(fault_of(session, of_tokens).find("permission denied"), std::string::npos);
  postgres::Statement of_pruning{"test", "of_pruning", "SELECT auth_prune(1)", 0};
  EXPECT_NE(fault_of(session, of_pruning).find("permission denied"), std::string::npos);
  postgres::Statement of_nothing{"test", "of_nothing", "SELECT no_such_function($1)", 1};
  EXPECT_NE(fault_of(session, of_nothing).find("does not exist"), std::string::npos);
}

std::vector<std::string> types_in(postgres::DbSession& session,
                                  const postgres::Statement& statement) {
  postgres::Result found = session.run_text(
      fmt::format("PREPARE t_{0} AS {1}; SELECT unnest(parameter_types)::text AS type FROM "
                  "pg_prepared_statements WHERE name = 't_{0}'",
                  statement.name, statement.text));
  std::vector<std::string> types;
  for (int i = 0; i < found.size(); ++i) {
    std::string type(found[i].text("type"));
    types.push_back(type == "timestamp with time zone" ? "timestamptz" : type);
  }
  return types;
}

TEST(Statements, HaveParametersOfTheTypesThatTheirCommentsSay) {
  TestDatabase database;
  postgres::DbSession session = database.as_superuser();
  for (const StatementUse& use : statement_list()) {
    if (!is_preparable(*use.statement)) continue;
    std::vector<std::string> stated;
    for (const StatementParameter& parameter : use.parameters) stated.push_back(parameter.type);
    EXPECT_EQ(stated, types_in(session, *use.statement))
        << "sql/queries/" << use.statement->topic << ".sql: " << use.statement->name;
  }
  postgres::Statement of_number{"test", "of_number", "SELECT entitlement_integer($1, 'a.b', $2)",
                                2};
  EXPECT_EQ(types_in(session, of_number), (std::vector<std::string>{"uuid", "bigint"}));
}

}  // namespace
}  // namespace hostler
