// Connections of lib/postgres whose plans no longer hold, and to whom there are none.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/postgres/database.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/database.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::run_task;
using testing_support::TestDatabase;

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

// What comes behind would be answered and never be committed.
TEST(DbConnection, IsInNoTransactionBehindABeginWhoseCallerWent) {
  static constexpr postgres::Statement create{"test", "create_behind",
                                              "CREATE TABLE db_test_behind AS SELECT 1 AS n", 0};
  static constexpr postgres::Statement drop{"test", "drop_behind",
                                            "DROP TABLE IF EXISTS db_test_behind", 0};
  static constexpr postgres::Statement look{
      "test", "look_behind", "SELECT to_regclass('db_test_behind') IS NOT NULL AS is_there", 0};
  loop::Loop loop;
  postgres::Database db(loop, one_connection());
  postgres::Database other(loop, one_connection());
  run_task(loop, db.dedicated(drop));
  {
    Task<postgres::Transaction> beginning = db.begin();
    beginning.start(nullptr);
  }
  run_task(loop, db.dedicated(create));
  EXPECT_TRUE(run_task(loop, other.dedicated(look)).front().boolean("is_there"));
  run_task(loop, db.dedicated(drop));
}

// What bounds the batches on their way is not free before they have their answers.
TEST(DbConnection, KeepsWhatABatchIsGivenUntilTheAnswerThoughItsCallerWent) {
  static constexpr postgres::Statement nap{"test", "nap", "SELECT pg_sleep(0.05)", 0};
  static constexpr postgres::Statement look{"test", "look_kept", "SELECT 1 AS n", 0};
  loop::Loop loop;
  postgres::Database db(loop, one_connection());
  run_task(loop, db.pipelined(look));
  auto kept = std::make_shared<int>(0);
  std::weak_ptr<int> is_there = kept;
  {
    postgres::Batch batch;
    batch.add(nap);
    Task<postgres::BatchOutcome> asking = db.attempt_pipelined(std::move(batch), std::move(kept));
    asking.start(nullptr);
  }
  EXPECT_FALSE(is_there.expired());
  run_task(loop, db.pipelined(look));
  EXPECT_TRUE(is_there.expired());
}

// Where the primary was, a standby may answer.
TEST(DbConnection, IsNoneToAServerThatTakesNoWrites) {
  TestDatabase database;
  auto set_read_only = [&database](const char* value) {
    postgres::DbSession(testing_support::test_cluster_url(), "connection_test")
        .run_text(fmt::format("ALTER DATABASE {} SET default_transaction_read_only = {}",
                              database.name(), value));
  };
  set_read_only("on");
  static constexpr postgres::Statement look{"test", "look", "SELECT 1 AS n", 0};
  loop::Loop loop;
  postgres::DatabaseOptions options = one_connection();
  options.conninfo = database.runner_url();
  postgres::Database db(loop, options);
  try {
    run_task(loop, db.pipelined(look));
    ADD_FAILURE() << "answered by a server that takes no writes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::database_unavailable);
  }
  EXPECT_THROW(database.as_runner(), Error);
  EXPECT_NE(postgres::why_no_connection(database.runner_url()), std::nullopt);
  std::string any =
      postgres::conninfo_with(database.runner_url(), {{"target_session_attrs", "any"}});
  EXPECT_NO_THROW(postgres::DbSession(any, "reader")) << "but to whoever asks for it";

  set_read_only("off");
  auto answers = [&] {
    try {
      return run_task(loop, db.pipelined(look)).front().text("n") == "1";
    } catch (const Error&) {
      run_task(loop, loop::sleep_ms(loop, 10));  // it connects in this loop
      return false;
    }
  };
  EXPECT_TRUE(testing_support::eventually(10'000, answers));
}

}  // namespace
}  // namespace hostler
