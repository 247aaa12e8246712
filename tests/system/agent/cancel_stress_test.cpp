// Runs are cancelled at any moment of their lives, some twice, some together with their end: each
// ends once, nothing is said after its end, and nothing is held for it any more.
//
// CANCEL_STRESS_RUNS (120; `make soak`: 1000), CANCEL_STRESS_SEED (random, printed).
#include <gtest/gtest.h>

#include <random>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr size_t at_once = 10;
constexpr int64_t patience_ms = 30'000;

class CancelStress : public testing::Test {
 protected:
  CancelStress()
      : stack_({{"HOSTLER_LIMIT_CONCURRENT_RUNS=100000"}, true}), user_(register_user(stack_)) {
    add_fake_model(stack_);
  }

  // Ten runs of some 300 ms each, each cancelled somewhere in it, or as it ends, or not at all.
  void round(std::minstd_rand& random) {
    std::vector<std::string> run_ids;
    for (size_t i = 0; i < at_once; ++i) {
      run_ids.push_back(start_output(user_.client, "[delay 15] [words 20]"));
    }
    for (size_t i = 0; i < at_once; ++i) {
      at_some_moment(random, 60);
      std::vector<Call> calls(1 + random() % 2,
                              Call{"POST", "/v1/runs/" + run_ids[i] + ":cancel", {}, {}, {}});
      for (const Answer& answer : user_.client.send_all(std::move(calls))) {
        EXPECT_TRUE(answer.status >= 200 && answer.status < 300) << answer.status << answer.body;
      }
    }
  }

  ApiStack stack_;
  TestUser user_;
};

TEST_F(CancelStress, EndsEachRunOnceAndSaysNothingBehindItsEnd) {
  unsigned seed = static_cast<unsigned>(parameter("CANCEL_STRESS_SEED", std::random_device{}()));
  SCOPED_TRACE(fmt::format("CANCEL_STRESS_SEED={}", seed));
  std::minstd_rand random(seed);
  int64_t runs = parameter("CANCEL_STRESS_RUNS", 120);
  for (int64_t begun = 0; begun < runs; begun += at_once) round(random);
  EXPECT_TRUE(all_runs_end(stack_, patience_ms));
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_EQ(sql_number(stack_, "SELECT sum(held)::bigint FROM credit_accounts"), 0);
  ProgramRun verified =
      run_ctl({"ledger", "verify"}, {"HOSTLER_DATABASE_URL=" + stack_.database().superuser_url()});
  EXPECT_EQ(verified.status, 0) << verified.err;
  int64_t cancelled = sql_number(stack_, "SELECT count(*) FROM runs WHERE status = 'cancelled'");
  EXPECT_GT(cancelled, 0) << "no cancellation met a run";

  // The checks can fail: a run that ends twice, and one that speaks after its end.
  stack_.sql().run_text(
      "INSERT INTO run_events SELECT (jsonb_populate_record(e, jsonb_build_object('seq', e.seq + "
      "1))).* FROM run_events e WHERE type = 'run.cancelled' LIMIT 1");
  EXPECT_NE(run_faults(stack_).find("ends 2 times"), std::string::npos);
  EXPECT_NE(run_faults(stack_).find("goes on behind its end"), std::string::npos);
}

}  // namespace
}  // namespace hostler::testing_support
