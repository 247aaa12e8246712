// Tests what is planned once (DatabaseOptions::plans_once) is planned while a system is new: its
// plans must be those of a large one.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/postgres/database.h"
#include "queries/daemon.h"
#include "queries/stream.h"
#include "tests/support/rigs/database.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::run_task;
using testing_support::TestDatabase;

class PlansOnce : public ::testing::Test {
 protected:
  PlansOnce() {
    database_.as_superuser().run_text("VACUUM ANALYZE");
    postgres::DatabaseOptions options;
    options.conninfo = database_.runner_url();
    options.plans_once = true;
    db_ = std::make_unique<postgres::Database>(loop_, options);
  }
  // The plan that the session has, once the statement was executed.
  std::string plan_of(postgres::BoundStatement statement, const std::string& arguments) {
    std::string text = fmt::format("EXPLAIN EXECUTE {}({})", statement.statement->name, arguments);
    postgres::Batch batch;
    batch.add(std::move(statement));
    postgres::BatchOutcome outcome = run_task(loop_, db_->attempt_pipelined(std::move(batch)));
    EXPECT_FALSE(outcome.error) << outcome.error->cause;
    postgres::Statement explain{"test", "explain", text.c_str(), 0};
    postgres::Batch question;
    question.add(explain);
    outcome = run_task(loop_, db_->attempt_pipelined(std::move(question)));
    EXPECT_FALSE(outcome.error) << outcome.error->cause;
    if (outcome.results.empty()) return "";
    const postgres::Result& lines = outcome.results.front();
    std::string plan;
    for (int i = 0; i < lines.size(); ++i) {
      plan += std::string(lines[i].text("\"QUERY PLAN\"")) + "\n";
    }
    return plan;
  }
  static void expect_lookups(const std::string& plan) {
    EXPECT_NE(plan.find("Index"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("Seq Scan"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("Hash Join"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("Merge Join"), std::string::npos) << plan;
  }

  TestDatabase database_;
  loop::Loop loop_;
  std::unique_ptr<postgres::Database> db_;
  const std::string id_ = "00000000-0000-7000-8000-000000000001";
};

TEST_F(PlansOnce, WriteEventsByTheRunsKeys) {
  postgres::DbSession session = database_.as_superuser();
  int64_t server = session.run_text("SELECT server_number() AS number").front().integer("number");
  postgres::BoundStatement statement = query::EventAppend{.daemon_id = id_,
                                                          .run_ids = std::vector<std::string>{id_},
                                                          .epochs = {{1}},
                                                          .positions = {{1}},
                                                          .seqs = {{1}},
                                                          .types = {{"message.delta"}},
                                                          .data = {{"{}"}},
                                                          .server = server};
  expect_lookups(
      plan_of(std::move(statement), fmt::format("'{0}', '{{{0}}}', '{{1}}', '{{1}}', '{{1}}', "
                                                "'{{message.delta}}', '{{\"{{}}\"}}', 0",
                                                id_)));
}

TEST_F(PlansOnce, ReadPagesOfEventsByTheRunsKeys) {
  postgres::BoundStatement statement = query::EventPages{.run_ids = std::vector<std::string>{id_},
                                                         .afters = {{0}},
                                                         .usage_wanted = {{false}},
                                                         .rows_max = 10,
                                                         .bytes_max = 1000};
  expect_lookups(
      plan_of(std::move(statement), fmt::format("'{{{}}}', '{{0}}', '{{f}}', 10, 1000", id_)));
}

}  // namespace
}  // namespace hostler
