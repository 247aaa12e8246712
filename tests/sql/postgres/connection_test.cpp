// Connections of lib/postgres that cannot go on as they are: to a server that takes no writes, with
// a plan that no longer holds.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "lib/postgres/database.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/database.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::eventually;
using testing_support::run_task;
using testing_support::TestDatabase;

class DbConnection : public ::testing::Test {
 protected:
  static postgres::DatabaseOptions options() {
    const char* url = std::getenv("TEST_DATABASE_URL");
    postgres::DatabaseOptions made;
    made.conninfo = url == nullptr ? "" : url;
    made.application_name = "connection_test";
    made.dedicated_connections_max = 2;
    return made;
  }
  std::string ask(postgres::Database& db) {
    static constexpr postgres::Statement hello{"test", "hello", "SELECT 'hello' AS said", 0};
    postgres::Result result = run_task(loop_, db.pipelined(hello));
    return std::string(result.front().text("said"));
  }

  loop::Loop loop_;
};

TEST_F(DbConnection, APlanThatBecomesInvalidInATransactionIsMadeAnewBehindIt) {
  static constexpr postgres::Statement create{
      "test", "create", "CREATE TABLE IF NOT EXISTS db_test_plan_within AS SELECT 1 AS n", 0};
  static constexpr postgres::Statement alter{
      "test", "alter", "ALTER TABLE db_test_plan_within ALTER n TYPE text USING n::text", 0};
  static constexpr postgres::Statement drop{"test", "drop", "DROP TABLE db_test_plan_within", 0};
  static constexpr postgres::Statement look{"test", "look_within",
                                            "SELECT n FROM db_test_plan_within", 0};
  postgres::DatabaseOptions one = options();
  one.dedicated_connections_max = 1;
  postgres::Database db(loop_, one);
  postgres::Database other(loop_, options());
  run_task(loop_, other.dedicated(create));
  run_task(loop_, db.dedicated(look));
  run_task(loop_, other.dedicated(alter));
  {
    postgres::Transaction transaction = run_task(loop_, db.begin());
    postgres::Batch batch;
    batch.add(look);
    EXPECT_THROW(run_task(loop_, transaction.run(std::move(batch))), Error);
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run_task(loop_, db.dedicated(look)).front().text("n"), "1");
  }
  run_task(loop_, other.dedicated(drop));
}

// A standby, or a primary that an operator stopped: reading from it would look like service.
TEST_F(DbConnection, AServerThatTakesNoWritesIsOneThatIsAway) {
  TestDatabase own;
  postgres::DbSession superuser = own.as_superuser();
  superuser.run_text("ALTER DATABASE " + own.name() + " SET default_transaction_read_only = on");
  postgres::DatabaseOptions reading = options();
  reading.conninfo = own.runner_url();
  postgres::Database db(loop_, reading);
  try {
    ask(db);
    ADD_FAILURE() << "it was asked";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::database_unavailable);
  }
  superuser.run_text("SET default_transaction_read_only = off");
  superuser.run_text("ALTER DATABASE " + own.name() + " RESET default_transaction_read_only");
  EXPECT_TRUE(eventually(10'000, [&] {
    try {
      return ask(db) == "hello";
    } catch (const Error&) {
      return false;
    }
  }));
}

}  // namespace
}  // namespace hostler
