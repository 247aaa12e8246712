// Budgets from SQL: what turns hold, what they cost, and that nothing passes a budget. Statements
// are the product's own, as its own roles.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <fmt/format.h>

#include "queries/daemons.h"
#include "queries/maintenance.h"
#include "tests/support/eventually.h"
#include "tests/support/rows/budget_rows.h"
#include "tests/support/rows/run_statements.h"

namespace hostler {
namespace {

using namespace testing_support;

// The model costs 1 credit for 1000 tokens of input and 2 for 1000 of output.
class Budgets : public ::testing::Test {
 protected:
  OwnedRun claimed_run() {
    std::string thread_id = fixture_.new_thread();
    std::string run_id = fixture_.new_run(thread_id);
    std::string daemon_id = fixture_.new_daemon(run_id);
    return {daemon_id, fixture_.org_id, thread_id, run_id, fixture_.claim(daemon_id, run_id)};
  }
  std::string budget(const BudgetWish& wish) { return new_budget(database_, fixture_, wish); }
  HoldAnswer hold(const OwnedRun& run, int64_t input_tokens, int64_t output_tokens) {
    postgres::DbSession session = database_.as_runner();
    return take_hold(session, run, input_tokens, output_tokens);
  }
  void turn(const OwnedRun& run, int number, int64_t input_tokens, int64_t output_tokens) {
    postgres::DbSession session = database_.as_runner();
    session.run(commit_of({.daemon_id = run.daemon_id,
                           .run_id = run.run_id,
                           .epoch = run.epoch,
                           .turn = number,
                           .input_tokens = input_tokens,
                           .output_tokens = output_tokens}));
  }
  void finish(const OwnedRun& run) {
    postgres::DbSession session = database_.as_runner();
    EXPECT_TRUE(finish_run(session, run, "completed"));
  }
  // "spent held" of a budget's only window, in its own unit's whole numbers.
  std::string counts(const std::string& budget_id) {
    return fixture_.column(fmt::format(
        "SELECT string_agg(spent || ' ' || held, ', ' ORDER BY end_user) FROM budget_windows "
        "WHERE budget_id = '{}'",
        budget_id));
  }
  std::string turns_held() {
    return fixture_.column("SELECT turns_held FROM credit_accounts WHERE org_id = '" +
                           fixture_.org_id + "'");
  }
  std::string fault() {
    postgres::DbSession superuser = database_.as_superuser();
    return ledger_fault(superuser);
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(Budgets, HoldWhatATurnMayCostUntilItIsStored) {
  std::string credits = budget({});
  std::string dollars = budget({.unit = "usd", .amount = "0.5"});
  OwnedRun run = claimed_run();
  HoldAnswer held = hold(run, 1000, 8000);
  EXPECT_EQ(held.outcome, "held");
  EXPECT_EQ(held.output_tokens, 8000);
  EXPECT_EQ(counts(credits), "0 17");
  EXPECT_EQ(counts(dollars), "0 17000000");
  EXPECT_EQ(turns_held(), "17");
  EXPECT_EQ(fault(), "");
  turn(run, 1, 1000, 500);
  EXPECT_EQ(counts(credits), "2 0");
  EXPECT_EQ(counts(dollars), "2000000 0");
  EXPECT_EQ(turns_held(), "0");
  hold(run, 1000, 8000);
  finish(run);
  EXPECT_EQ(counts(credits), "2 0") << "a run that ends without its turn gives the hold back";
  EXPECT_EQ(fault(), "");
}

TEST_F(Budgets, LowerTheOutputLimitByWhatIsSpent) {
  std::string id = budget({.amount = "10"});
  OwnedRun run = claimed_run();
  HoldAnswer held = hold(run, 2000, 8000);
  EXPECT_EQ(held.outcome, "held");
  EXPECT_TRUE(held.is_lowered);
  EXPECT_EQ(held.output_tokens, 4000) << "8 credits are left after the input";
  turn(run, 1, 2000, 2000);
  EXPECT_EQ(hold(run, 1000, 8000).output_tokens, 1500);
  turn(run, 2, 1000, 1450);
  HoldAnswer over = hold(run, 10, 8000);
  EXPECT_EQ(over.outcome, "exhausted") << "fewer than 64 tokens would remain";
  EXPECT_EQ(over.named, id);
  EXPECT_TRUE(over.may_wait);
  EXPECT_EQ(counts(id), "10 0");
}

TEST_F(Budgets, MakeATurnWaitForHoldsOfOthersAlone) {
  std::string id = budget({.amount = "20", .on_exhausted = "fail"});
  OwnedRun first = claimed_run();
  OwnedRun second = claimed_run();
  EXPECT_EQ(hold(first, 1000, 8000).outcome, "held");
  HoldAnswer waiting = hold(second, 1000, 8000);
  EXPECT_EQ(waiting.outcome, "wait") << "though it fails runs when it is exhausted";
  EXPECT_EQ(waiting.named, id);
  EXPECT_EQ(counts(id), "0 17");
  turn(first, 1, 100, 20);
  EXPECT_EQ(hold(second, 1000, 8000).outcome, "held");
  turn(second, 1, 1000, 9000);
  EXPECT_EQ(hold(first, 1000, 8000).outcome, "exhausted") << "20 of 20 are spent";
  EXPECT_FALSE(hold(first, 1000, 8000).may_wait);
}

TEST_F(Budgets, BoundARunAllAtOnce) {
  std::string wide = budget({.amount = "1000"});
  std::string member =
      budget({.subject_type = "member", .subject_id = fixture_.owner_id, .amount = "10"});
  std::string other =
      budget({.subject_type = "member", .subject_id = fixture_.other_id, .amount = "1"});
  std::string persona = budget({.subject_type = "persona", .subject_id = "normal"});
  std::string each = budget({.subject_type = "end_user", .subject_id = "*", .amount = "50"});
  OwnedRun run = claimed_run();
  std::string thread = budget({.subject_type = "thread", .subject_id = run.thread_id});
  EXPECT_EQ(hold(run, 1000, 8000).output_tokens, 4500);
  turn(run, 1, 1000, 4500);
  for (const std::string& id : {wide, member, persona, each, thread}) {
    EXPECT_EQ(counts(id), "10 0") << id;
  }
  EXPECT_EQ(counts(other), "");
}

TEST_F(Budgets, ThatAreInactiveBoundNothingAndCount) {
  std::string id = budget({.amount = "1"});
  change_budget(database_, fixture_, id, R"({"is_active": false})");
  OwnedRun run = claimed_run();
  EXPECT_EQ(hold(run, 1000, 8000).output_tokens, 8000);
  turn(run, 1, 1000, 8000);
  EXPECT_EQ(counts(id), "17 0");
}

TEST_F(Budgets, HoldTheBalanceToo) {
  postgres::DbSession superuser = database_.as_superuser();
  set_balance(superuser, fixture_.org_id, 40);
  OwnedRun first = claimed_run();
  OwnedRun second = claimed_run();
  EXPECT_EQ(hold(first, 1000, 8000).outcome, "held");
  EXPECT_EQ(hold(second, 1000, 20'000).outcome, "wait");
  turn(first, 1, 1000, 8000);
  HoldAnswer lowered = hold(second, 1000, 20'000);
  EXPECT_EQ(lowered.output_tokens, 11'000) << "23 credits are left";
  turn(second, 1, 1000, 11'000);
  EXPECT_EQ(hold(first, 1000, 8000).outcome, "credits");
  EXPECT_EQ(fault(), "");
}

TEST_F(Budgets, EndHoldsOfADaemonThatIsGone) {
  std::string id = budget({.amount = "20"});
  OwnedRun lost = claimed_run();
  EXPECT_EQ(hold(lost, 1000, 8000).outcome, "held");
  postgres::DbSession runner = database_.as_runner();
  auto expire = [&] { runner.run(query::TurnHoldsExpire{.at_most = 100}); };
  expire();
  EXPECT_EQ(counts(id), "0 17") << "the daemon has it";
  runner.run(query::DaemonStop{.daemon_id = lost.daemon_id});
  expire();
  EXPECT_EQ(counts(id), "0 0");
  EXPECT_EQ(turns_held(), "0");
  OwnedRun taken = lost;
  taken.daemon_id = fixture_.new_daemon("another");
  taken.epoch = fixture_.claim(taken.daemon_id, taken.run_id);
  EXPECT_EQ(hold(lost, 1000, 8000).outcome, "lost");
  EXPECT_EQ(hold(taken, 1000, 8000).outcome, "held");
  EXPECT_EQ(hold(taken, 1000, 4000).outcome, "held") << "another try replaces the hold";
  EXPECT_EQ(counts(id), "0 9");
  finish(taken);
  EXPECT_EQ(counts(id), "0 0");
}

TEST_F(Budgets, BoundToolCallsThatCostCredits) {
  std::string id = budget({.amount = "10"});
  OwnedRun run = claimed_run();
  postgres::DbSession runner = database_.as_runner();
  EXPECT_EQ(admit_tool_call(runner, run, 4), "admitted");
  EXPECT_EQ(admit_tool_call(runner, run, 4), "admitted");
  EXPECT_EQ(admit_tool_call(runner, run, 4), "budget");
  EXPECT_EQ(counts(id), "0 8");
  EXPECT_TRUE(commit_tool_call(runner, run, "a", 4));
  EXPECT_EQ(counts(id), "4 4");
  EXPECT_TRUE(commit_tool_call(runner, run, "a", 4)) << "sent again it costs nothing";
  EXPECT_EQ(counts(id), "4 4");
  finish(run);
  EXPECT_EQ(counts(id), "4 0") << "what was held for the call that never came back is free";
  EXPECT_EQ(fault(), "");
}

TEST_F(Budgets, CountATurnInTheWindowOfItsHold) {
  std::string id = budget({.amount = "100", .window = "day"});
  OwnedRun run = claimed_run();
  hold(run, 1000, 8000);
  fixture_.column(fmt::format(
      "WITH moved AS (UPDATE budget_windows SET begins_at = begins_at - interval '1 day' "
      "WHERE budget_id = '{}') UPDATE turn_holds SET begin_times = "
      "ARRAY[begin_times[1] - interval '1 day'] RETURNING run_id",
      id));
  turn(run, 1, 1000, 8000);
  EXPECT_EQ(
      fixture_.column(
          "SELECT string_agg((begins_at < date_trunc('day', now())) || ' ' || spent || ' ' || "
          "held, ', ') FROM budget_windows"),
      "true 17 0");
}

// However much is asked for at once: what was spent never passes the budget, and nobody who has
// room is refused.
TEST_F(Budgets, AreNeverPassedByParallelTurns) {
  std::string id = budget({.amount = "170", .on_exhausted = "fail"});  // ten turns
  constexpr int threads = 8;
  constexpr int runs_of_each = 6;
  std::vector<OwnedRun> runs;
  for (int i = 0; i < threads * runs_of_each; ++i) runs.push_back(claimed_run());
  std::atomic<int> taken = 0;
  std::atomic<int> exhausted = 0;
  auto work = [&](int first) {
    for (int i = first; i < first + runs_of_each; ++i) {
      const OwnedRun& run = runs[static_cast<size_t>(i)];
      HoldAnswer answer = hold(run, 1000, 8000);
      EXPECT_TRUE(eventually(60'000, [&] {
        if (answer.outcome == "wait") answer = hold(run, 1000, 8000);
        return answer.outcome != "wait";
      }));
      if (answer.outcome == "held") {
        turn(run, 1, 1000, answer.output_tokens);
        ++taken;
      } else {
        EXPECT_EQ(answer.outcome, "exhausted");
        ++exhausted;
      }
    }
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(work, i * runs_of_each);
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(taken, 10);
  EXPECT_EQ(exhausted, threads * runs_of_each - 10);
  EXPECT_EQ(counts(id), "170 0");
  EXPECT_EQ(turns_held(), "0");
  EXPECT_EQ(fault(), "");
}

}  // namespace
}  // namespace hostler
