// A statement that passes its time limit is reported as such. It is no absence of Postgres, which
// clients and metrics see as another error.
#include <gtest/gtest.h>

#include "lib/postgres/database.h"
#include "tests/support/rigs/database.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::run_task;

constexpr postgres::Statement slow{"test", "slow", "SELECT pg_sleep(30)", 0};
constexpr postgres::Statement quick{"test", "quick", "SELECT 'quick' AS word", 0};

TEST(TimeLimit, OfAStatementHasItsOwnError) {
  testing_support::TestDatabase database;
  postgres::DatabaseOptions hasty;
  hasty.conninfo = database.superuser_url();
  hasty.application_name = "time_limit_test";
  hasty.statement_timeout_ms = 100;
  loop::Loop loop;
  postgres::Database db(loop, hasty);
  try {
    run_task(loop, db.dedicated(slow));
    FAIL() << "no error came";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::database_timeout);
    EXPECT_GT(error.retry_after_s, 0);
  }
  EXPECT_EQ(run_task(loop, db.pipelined(quick)).front().text("word"), "quick");
}

}  // namespace
}  // namespace hostler
