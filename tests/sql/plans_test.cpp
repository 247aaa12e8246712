// No statement reads a whole table that grows: each is executed on a database with many rows, and
// Postgres tells the plans of the statement and of everything inside the functions it calls.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "lib/error.h"
#include "tests/sql/plan_arguments.h"
#include "tests/sql/plan_values.h"
#include "tests/support/rigs/database.h"
#include "tests/support/rows/statement_list.h"

namespace hostler {
namespace {

using namespace testing_support;

// Rows that a filter may throw away before it counts as reading too much.
constexpr long rows_removed_max = 1000;

const std::set<std::string> tables_that_stay_small = {
    "schema_migrations", "schema_functions", "settings",
    "daemons",           "feature_flags",    "plans",
    "plan_entitlements", "personas",         "platform_days",
    "platform_deltas",   "access_log_tail",  "email_config",
    "audit_writers",     "run_events_freed", "credit_bulk_changes",
    "maintainer",        "maintenance_jobs", "maintenance_clock"};

// Meant to read much, and why that may be.
const std::map<std::string, std::string> reads_much = {
    {"credit_bulk_adjust", "it changes every account"},
    {"credit_bulk_preview", "it looks at every account"},
    {"credit_reset_all", "it changes every account"},
    {"turn_holds_expire", "it looks at the holds of all turns under way"},
};

// Refused to the caller of these tests, and why; planned as far as it comes.
const std::map<std::string, std::string> refused = {
    {"me_delete", "the last owner of a workspace stays; admin_user_delete deletes somebody else"},
    {"session_prove_by_password", "the tests act without a session"},
    {"session_prove_by_code", "the tests act without a session"},
    {"session_prove_by_factor", "the tests act without a session"},
    {"recovery_codes_renew", "the caller's factor waits for its first code"},
    {"persona_delete", "the built-in persona stays; the others are found by the same id"},
};

// An owner of the organization, once without org.runs.read_all; and a platform administrator.
constexpr const char* contexts[] = {
    R"({"client_ip": "10.0.3.4", "scope": "org", "scim_token_id": "any",
        "session_id": "01900000-0000-7000-8000-000000000001",
        "permissions": ["data.llm_providers.manage", "data.secrets", "org.runs.read_all",
                        "data.runs.read", "data.runs.write", "data.threads.read",
                        "data.threads.write", "org.manage"]})",
    R"({"client_ip": "10.0.3.4", "permissions": []})",
    R"({"client_ip": "10.0.3.4", "permissions": [], "platform_admin": true})",
};

struct Reported {
  std::string plans;
  std::string error;  // that ended it early; what ran until then is checked all the same
};

class Plans : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    database_ = new TestDatabase();
    postgres::DbSession session = database_->as_superuser();
    std::ifstream rows("tests/sql/many_rows.sql");
    session.run_text({std::istreambuf_iterator<char>(rows), {}});
    values_ = plan_values(session);
    postgres::Result empty = session.run_text(
        "SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' AND "
        "pg_relation_size(oid) = 0");
    for (int i = 0; i < empty.size(); ++i) {
      empty_partitions_.emplace(empty[i].text("relname"));
    }
  }
  static void TearDownTestSuite() {
    delete database_;
    database_ = nullptr;
  }

  // One execution, taken back afterwards.
  static Reported execute(const StatementUse& use, const std::string& role,
                          const std::string& context) {
    Reported reported;
    postgres::DbSession session = database_->as_superuser();
    session.run_text(
        "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET client_min_messages = "
        "log; SET auto_explain.log_nested_statements = on; SET auto_explain.log_analyze = on; "
        "SET auto_explain.log_timing = off; SET jit = off");
    session.run_text("SET ROLE " + role);
    session.run_text(fmt::format("PREPARE s_{} AS {}", use.statement->name, use.statement->text));
    std::string arguments = plan_arguments(session, use, values_);
    session.begin();
    session.run_text(fmt::format("SELECT set_request_context('{}', '{}', '{}')", values_.org_id,
                                 values_.user_id, context));
    session.on_notice(
        [&reported](std::string_view notice) { reported.plans.append(notice) += '\n'; });
    try {
      session.run_text(fmt::format("EXECUTE s_{}{}", use.statement->name, arguments));
    } catch (const Error& error) {
      reported.error = std::string(error_row(error.code).name) + " " + error.cause;
    }
    return reported;
  }

  static inline TestDatabase* database_ = nullptr;
  static inline PlanValues values_;
  // Months ahead: what has no rows is read whole by whatever looks into it.
  static inline std::set<std::string> empty_partitions_;
};

// Each fault with its plan: sequential scans of growing tables, filters that throw much away.
std::map<std::string, std::string> faults_in(const std::string& plans,
                                             const std::set<std::string>& empty) {
  // A partition that needed no look stands in the plan, but was never executed.
  static const std::regex scan(R"(Seq Scan on ([a-z_0-9]+)\b.*\(actual )");
  static const std::regex removed("Rows Removed by Filter: ([0-9]+)");
  std::map<std::string, std::string> faults;
  for (size_t begin = 0, end = 0; begin < plans.size(); begin = end) {
    end = std::min(plans.find("\nduration: ", begin + 1), plans.size());
    std::string plan = plans.substr(begin, end - begin);
    std::smatch found;
    // A look-up of Postgres in its own catalogue is one row per table.
    if (std::regex_search(plan, found, scan) && !tables_that_stay_small.contains(found[1]) &&
        !found[1].str().starts_with("pg_") && !empty.contains(found[1])) {
      faults["reads all of " + found[1].str()] = plan;
    }
    if (std::regex_search(plan, found, removed) &&
        std::strtol(found[1].str().c_str(), nullptr, 10) > rows_removed_max) {
      faults["throws " + found[1].str() + " rows away"] = plan;
    }
  }
  return faults;
}

std::string place_of(const StatementUse& use) {
  return fmt::format("sql/queries/{}.sql: {}", use.statement->topic, use.statement->name);
}

TEST_F(Plans, ReadNoWholeTableThatGrows) {
  for (const StatementUse& use : statement_list()) {
    // A statement that nothing uses yet has no role; an operator may wait.
    if (use.roles.empty() || use.roles.contains("hostler_owner")) continue;
    std::string role = *use.roles.begin();
    std::string error;
    bool gets_through = false;
    for (const char* context : contexts) {
      Reported reported = execute(use, role, context);
      gets_through =
          gets_through || reported.error.empty() || refused.contains(use.statement->name);
      if (!reported.error.empty()) error += "; " + reported.error;
      if (reads_much.contains(use.statement->name)) continue;
      for (const auto& [fault, plan] : faults_in(reported.plans, empty_partitions_)) {
        ADD_FAILURE() << place_of(use) << " " << fault << plan;
      }
    }
    EXPECT_TRUE(gets_through) << place_of(use) << " is ended by" << error.substr(1)
                              << ": give its parameters values in tests/sql/plan_values.h";
  }
}

TEST_F(Plans, AreCheckedOnManyRowsOfEveryTable) {
  postgres::Result few = database_->as_superuser().run_text(
      "SELECT relname FROM pg_class WHERE relkind = 'r' AND NOT relispartition AND reltuples < "
      "1000 "
      "AND relnamespace = 'public'::regnamespace");
  for (int i = 0; i < few.size(); ++i) {
    std::string table(few[i].text("relname"));
    EXPECT_TRUE(tables_that_stay_small.contains(table))
        << table << ": fill it in tests/sql/many_rows.sql, or name it in tables_that_stay_small";
  }
}

TEST_F(Plans, AreFoundBadWhenTheyAre) {
  database_->as_superuser().run_text(
      "CREATE FUNCTION inside_test(t text) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN "
      "(SELECT count(*) FROM users WHERE locale = t); END $$; "
      "GRANT EXECUTE ON FUNCTION inside_test TO hostler_runner");
  postgres::Statement whole{"test", "whole", "SELECT count(*) FROM messages WHERE content = $1", 1};
  postgres::Statement inside{"test", "inside", "SELECT inside_test($1)", 1};
  postgres::Statement thrown{"test", "thrown",
                             "SELECT max(id::text) FROM users WHERE id::text > $1", 1};
  auto faults = [](const postgres::Statement& statement) {
    return faults_in(execute({&statement, {}, {{"x", "text"}}}, "hostler_runner", "{}").plans,
                     empty_partitions_);
  };
  EXPECT_TRUE(faults(whole).contains("reads all of messages"));
  EXPECT_TRUE(faults(inside).contains("reads all of users"));
  EXPECT_TRUE(faults(thrown).contains("throws 4000 rows away"));
}

}  // namespace
}  // namespace hostler
