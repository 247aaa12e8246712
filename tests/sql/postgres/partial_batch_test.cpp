// A batch that libpq takes in part only, as where memory is short: Postgres commits nothing of it,
// its caller hears of it, and the next one finds the connection made again.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "lib/postgres/database.h"
#include "tests/support/rigs/database.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::run_task;

// The protocol counts parameters in 16 bits: libpq refuses one more, as it does without memory.
constexpr int params_too_many = 65'536;
constexpr postgres::Statement too_wide{"test", "too_wide", "SELECT 1", params_too_many};
constexpr postgres::Statement notify_partial{
    "test", "notify_partial", "SELECT pg_notify('partial_batch_test', 'partial')", 0};
constexpr postgres::Statement notify_whole{"test", "notify_whole",
                                           "SELECT pg_notify('partial_batch_test', 'whole')", 0};

class PartialBatch : public ::testing::Test {
 protected:
  postgres::DatabaseOptions options() const {
    postgres::DatabaseOptions made;
    made.conninfo = database_.superuser_url();
    made.application_name = "partial_batch_test";
    return made;
  }
  PartialBatch() {
    bool is_listening = false;
    listener_.listen(
        {"partial_batch_test"},
        [this](std::string_view, std::string_view payload) { received_.emplace_back(payload); },
        [&] { is_listening = true; });
    while (!is_listening) run_task(loop_, loop::sleep_ms(loop_, 1));
  }
  static postgres::Batch partial() {
    postgres::BoundStatement wide{&too_wide, {}};
    wide.params.reserve(params_too_many);
    for (int i = 0; i < params_too_many; ++i) wide.params.add({"1"});
    postgres::Batch batch;
    batch.add(notify_partial);
    batch.add(std::move(wide));
    batch.add(notify_partial);
    return batch;
  }
  static postgres::Batch whole() {
    postgres::Batch batch;
    batch.add(notify_whole);
    return batch;
  }
  std::vector<std::string> received() {
    while (received_.empty() || received_.back() != "whole") {
      run_task(loop_, loop::sleep_ms(loop_, 1));
    }
    return received_;
  }

  testing_support::TestDatabase database_;
  loop::Loop loop_;
  postgres::Database listener_{loop_, options()};
  postgres::Database db_{loop_, options()};
  std::vector<std::string> received_;
};

TEST_F(PartialBatch, IsNotCommittedByItself) {
  postgres::BatchOutcome outcome = run_task(loop_, db_.attempt(partial()));
  EXPECT_TRUE(outcome.is_unknown());
  outcome = run_task(loop_, db_.attempt(whole()));
  EXPECT_FALSE(outcome.error);
  EXPECT_EQ(received(), std::vector<std::string>{"whole"});
}

// The pipelined connection carries the batches of all: the next one is sent right behind.
TEST_F(PartialBatch, IsNotCommittedByTheNextOne) {
  run_task(loop_, db_.pipelined(whole()));
  int over = 0;
  auto one = [](postgres::Database& database, postgres::Batch batch, int& count) -> Task<void> {
    postgres::BatchOutcome outcome = co_await database.attempt_pipelined(std::move(batch));
    EXPECT_TRUE(!outcome.error || outcome.is_unknown());
    ++count;
  };
  {
    loop::TaskSet tasks(loop_, [](const std::string&, std::exception_ptr) { ADD_FAILURE(); });
    tasks.add(one(db_, partial(), over));
    tasks.add(one(db_, whole(), over));
    while (over < 2) run_task(loop_, loop::sleep_ms(loop_, 1));
  }
  run_task(loop_, db_.pipelined(whole()));
  for (const std::string& payload : received()) EXPECT_EQ(payload, "whole");
}

}  // namespace
}  // namespace hostler
