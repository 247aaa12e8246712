// Connections of lib/postgres whose plans no longer hold.
#include <gtest/gtest.h>

#include <cstdlib>

#include "lib/postgres/database.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::run_task;

postgres::DatabaseOptions one_connection() {
  const char* url = std::getenv("TEST_DATABASE_URL");
  postgres::DatabaseOptions made;
  made.conninfo = url == nullptr ? "" : url;
  made.application_name = "connection_test";
  made.dedicated_connections_max = 1;
  return made;
}

TEST(DbConnection, MakesAPlanAnewBehindTheTransactionInWhichItBecameInvalid) {
  static constexpr postgres::Statement create{
      "test", "create", "CREATE TABLE IF NOT EXISTS db_test_plan_within AS SELECT 1 AS n", 0};
  static constexpr postgres::Statement alter{
      "test", "alter", "ALTER TABLE db_test_plan_within ALTER n TYPE text USING n::text", 0};
  static constexpr postgres::Statement drop{"test", "drop", "DROP TABLE db_test_plan_within", 0};
  static constexpr postgres::Statement look{"test", "look_within",
                                            "SELECT n FROM db_test_plan_within", 0};
  loop::Loop loop;
  postgres::Database db(loop, one_connection());
  postgres::Database other(loop, one_connection());
  run_task(loop, other.dedicated(create));
  run_task(loop, db.dedicated(look));
  run_task(loop, other.dedicated(alter));
  {
    postgres::Transaction transaction = run_task(loop, db.begin());
    postgres::Batch batch;
    batch.add(look);
    EXPECT_THROW(run_task(loop, transaction.run(std::move(batch))), Error);
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run_task(loop, db.dedicated(look)).front().text("n"), "1");
  }
  run_task(loop, other.dedicated(drop));
}

}  // namespace
}  // namespace hostler
