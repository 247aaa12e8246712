// A run that kills whatever daemon begins it: it fails, its neighbours only wait.
//
// POISON_NEIGHBOURS (5; `make faults`: 50): as many runs with it, in turns that take seconds.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t runs_of_a_user = 8;
// Each end of the daemon halves who may be to blame.
constexpr int64_t deaths_max = 20;

TEST(PoisonedRun, FailsAndCostsItsNeighboursNothing) {
  ApiStack stack{ApiStackOptions{{}, true}};
  add_fake_model(stack);
  TestUser poisoner = register_user(stack);
  std::string poison = start_output(poisoner.client, "[stall]");
  std::vector<TestUser> users;
  std::vector<std::string> neighbours;
  for (int64_t i = 0; i < parameter("POISON_NEIGHBOURS", 5); ++i) {
    if (i % runs_of_a_user == 0) users.push_back(register_user(stack));
    neighbours.push_back(start_output(users.back().client, "[delay 150] [words 40]"));
  }

  auto column = [&](const std::string& what) {
    return sql_value(stack, fmt::format("SELECT {} FROM runs WHERE id = '{}'", what, poison));
  };
  // The poison: as often as it begins, and says so, the daemon is dead.
  int64_t deaths = 0;
  auto has_ended = [&] {
    int64_t begun = sql_number(
        stack, fmt::format("SELECT count(*) FROM run_events WHERE run_id = '{}' AND type IN "
                           "('run.started', 'run.resumed')",
                           poison));
    if (begun > deaths) {
      stack.kill_runner();
      stack.start_runner();
      ++deaths;
    }
    return column("ended_at IS NOT NULL") == "t" || deaths > deaths_max;
  };
  EXPECT_TRUE(eventually(600'000, has_ended)) << column("row_to_json(runs)");
  fmt::print("the daemon died {} times\n", deaths);
  EXPECT_EQ(column("status || ' ' || error_code"), "failed run.crashed");
  EXPECT_LE(deaths, deaths_max);
  EXPECT_TRUE(all_runs_end(stack, 120'000));
  for (const std::string& run_id : neighbours) {
    EXPECT_EQ(sql_value(stack, fmt::format("SELECT status FROM runs WHERE id = '{}'", run_id)),
              "completed")
        << run_id;
  }
  EXPECT_EQ(money_faults(stack), "");
}

}  // namespace
}  // namespace hostler::testing_support
