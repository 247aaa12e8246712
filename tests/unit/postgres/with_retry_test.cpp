// lib/postgres/with_retry.h against a real Postgres behind a line that breaks: a lost answer and a
// server that is away are waited for, a fault of the statement is told at once.
#include "lib/postgres/with_retry.h"

#include <gtest/gtest.h>

#include <string>

#include "lib/postgres/param.h"
#include "lib/postgres/session.h"
#include "tests/support/peers/faulty_proxy.h"
#include "tests/support/rigs/database.h"
#include "tests/support/run_task.h"

namespace hostler::testing_support {
namespace {

constexpr postgres::Statement seven{"test", "seven", "SELECT 7", 0};
constexpr postgres::Statement wrong{"test", "wrong", "SELECT nothing_of_this_name", 0};

class WithRetry : public testing::Test {
 protected:
  postgres::DatabaseOptions options() const {
    postgres::DatabaseOptions made;
    made.conninfo = postgres::conninfo_with(database_.superuser_url(), {{"host", line_.folder()}});
    made.answer_timeout_ms = 400;
    made.statement_timeout_ms = 300;
    return made;
  }
  std::string dedicated(const postgres::Statement& statement) {
    postgres::BoundStatement asked = postgres::bound(statement, {});
    return std::string(
        run_task(loop_, postgres::dedicated_with_retry(loop_, db_, std::move(asked))).text());
  }
  std::string pipelined(const postgres::Statement& statement) {
    postgres::Batch batch;
    batch.add(statement);
    postgres::Results results =
        run_task(loop_, postgres::pipelined_with_retry(loop_, db_, std::move(batch)));
    return std::string(results.at(0).text());
  }

  TestDatabase database_;
  FaultyProxy line_{TestDatabase::socket()};
  loop::Loop loop_;
  postgres::Database db_{loop_, options()};
};

TEST_F(WithRetry, AsksAgainWhenTheAnswerIsLost) {
  ASSERT_EQ(dedicated(seven), "7");
  line_.arm({.kind = FaultKind::cut, .sender = LineEnd::server});
  EXPECT_EQ(dedicated(seven), "7");
  EXPECT_EQ(line_.faults(), 1);
  ASSERT_EQ(pipelined(seven), "7");
  line_.arm({.kind = FaultKind::cut, .sender = LineEnd::server});
  EXPECT_EQ(pipelined(seven), "7");
  EXPECT_EQ(line_.faults(), 2);
}

TEST_F(WithRetry, WaitsForAServerThatIsAway) {
  line_.refuse(true);
  line_.cut_all();
  // Longer than a single attempt has.
  loop::Timer back(loop_, [this] { line_.refuse(false); });
  back.restart(1'000);
  EXPECT_EQ(dedicated(seven), "7");
  line_.refuse(true);
  line_.cut_all();
  back.restart(1'000);
  EXPECT_EQ(pipelined(seven), "7");
}

TEST_F(WithRetry, TellsAFaultOfTheStatementAtOnce) {
  EXPECT_THROW(dedicated(wrong), Error);
  EXPECT_THROW(pipelined(wrong), Error);
}

}  // namespace
}  // namespace hostler::testing_support
