// Tests what runs hold and pay, from SQL: exactly, whatever happens and however much at once.
// Statements are the product's own, as its own roles.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include <fmt/format.h>

#include "lib/error.h"
#include "queries/daemon.h"
#include "queries/maintenance.h"
#include "queries/runs.h"
#include "queries/threads.h"
#include "tests/support/rows/run_money.h"
#include "tests/support/rows/run_statements.h"

namespace hostler {
namespace {

using namespace testing_support;

class RunCredits : public ::testing::Test {
 protected:
  static ErrorCode code_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.code;
    }
    return ErrorCode::count_;
  }
  // A run that a daemon of its own has claimed.
  OwnedRun claimed_run(const std::string& strategy = "reject") {
    std::string thread_id = fixture_.new_thread();
    std::string run_id = fixture_.new_run(thread_id, strategy);
    std::string daemon_id = fixture_.new_daemon(run_id);
    return {daemon_id, fixture_.org_id, thread_id, run_id, fixture_.claim(daemon_id, run_id)};
  }
  void balance(int64_t amount) {
    postgres::DbSession superuser = database_.as_superuser();
    set_balance(superuser, fixture_.org_id, amount);
  }
  std::string fault() {
    postgres::DbSession superuser = database_.as_superuser();
    return ledger_fault(superuser);
  }
  bool turn(const OwnedRun& run, int number, int64_t credits) {
    postgres::DbSession session = database_.as_runner();
    TurnAnswer answer = commit_turn(session, run, number, credits);
    EXPECT_TRUE(answer.held);
    return answer.may_go_on;
  }
  void finish(const OwnedRun& run, const std::string& status) {
    postgres::DbSession session = database_.as_runner();
    EXPECT_TRUE(finish_run(session, run, status));
  }
  std::string account() { return account_of(fixture_); }
  std::string admit(const OwnedRun& run, int64_t cost, int64_t calls_max = 0) {
    postgres::DbSession session = database_.as_runner();
    return admit_tool_call(session, run, cost, calls_max);
  }
  bool commit_tool(const OwnedRun& run, const std::string& call_id, int64_t cost) {
    postgres::DbSession session = database_.as_runner();
    return commit_tool_call(session, run, call_id, cost);
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(RunCredits, AreTakenFromTheHoldFirstAndTheRestIsReleased) {
  balance(100);
  OwnedRun run = claimed_run();
  EXPECT_EQ(account(), "100 10");
  EXPECT_TRUE(turn(run, 1, 4));
  EXPECT_EQ(account(), "96 6");
  EXPECT_TRUE(turn(run, 2, 5));
  EXPECT_EQ(account(), "91 1");
  EXPECT_TRUE(turn(run, 3, 30));
  EXPECT_EQ(account(), "61 10") << "a hold that is used up is raised again";
  finish(run, "completed");
  EXPECT_EQ(account(), "61 0");
  EXPECT_EQ(fault(), "");
}

TEST_F(RunCredits, EndARunWhenNothingIsAvailable) {
  balance(25);
  OwnedRun run = claimed_run();
  EXPECT_TRUE(turn(run, 1, 20));
  EXPECT_EQ(account(), "5 5");
  EXPECT_FALSE(turn(run, 2, 7)) << "the turn in flight may go below zero, no other follows";
  EXPECT_FALSE(turn(run, 2, 7)) << "sent again, the answer is the same and costs nothing";
  EXPECT_EQ(account(), "-2 0");
  finish(run, "failed");
  EXPECT_EQ(fault(), "");
}

TEST_F(RunCredits, OfOthersAreNotHeldTwice) {
  balance(20);
  OwnedRun first = claimed_run();
  OwnedRun second = claimed_run();
  EXPECT_EQ(account(), "20 20");
  EXPECT_FALSE(turn(first, 1, 15)) << "what the other run holds is not available";
  EXPECT_EQ(account(), "5 10");
  EXPECT_TRUE(turn(second, 1, 3));
  EXPECT_EQ(account(), "2 2") << "no hold that the balance does not cover";
  finish(first, "failed");
  finish(second, "completed");
  EXPECT_EQ(account(), "2 0");
  EXPECT_EQ(fault(), "");
}

TEST_F(RunCredits, PayForAToolWithItsResultOnce) {
  balance(30);
  OwnedRun run = claimed_run();
  EXPECT_EQ(admit(run, 7), "admitted");
  EXPECT_EQ(account(), "30 17") << "held until the result comes";
  EXPECT_EQ(admit(run, 7), "admitted");
  EXPECT_EQ(admit(run, 7), "credits") << "6 are available";
  EXPECT_EQ(account(), "30 24");
  EXPECT_TRUE(commit_tool(run, "a", 7));
  EXPECT_TRUE(commit_tool(run, "a", 7)) << "sent again it costs nothing";
  EXPECT_EQ(account(), "23 17");
  EXPECT_EQ(fixture_.column("SELECT credits_used FROM runs"), "7");
  EXPECT_EQ(
      fixture_.column("SELECT concat_ws(' ', amount, type, reference_type, reference_id) FROM "
                      "credit_transactions WHERE type = 'consumption'"),
      "-7 consumption run " + run.run_id);
  EXPECT_EQ(fault(), "");
  EXPECT_TRUE(turn(run, 2, 4));
  finish(run, "completed");
  EXPECT_EQ(account(), "19 0") << "what was held for the call that never came back is free";
  EXPECT_EQ(fixture_.column("SELECT credits_used FROM runs"), "11");
  EXPECT_EQ(fault(), "");
}

TEST_F(RunCredits, PayForNoToolOfARunThatIsLost) {
  balance(30);
  OwnedRun run = claimed_run();
  OwnedRun lost = run;
  --lost.epoch;
  EXPECT_EQ(admit(lost, 7), "fenced");
  EXPECT_EQ(admit(run, 7), "admitted");
  EXPECT_FALSE(commit_tool(lost, "a", 7));
  EXPECT_EQ(account(), "30 17");
  finish(run, "failed");
  EXPECT_EQ(account(), "30 0");
}

TEST_F(RunCredits, AreNotAskedForByToolsThatCostNothing) {
  balance(10);
  OwnedRun run = claimed_run();
  EXPECT_EQ(admit(run, 0), "admitted");
  EXPECT_TRUE(commit_tool(run, "a", 0));
  EXPECT_EQ(account(), "10 10");
}

TEST_F(RunCredits, AdmitAsManyToolCallsADayAsTheOrganizationMayMake) {
  balance(100);
  OwnedRun run = claimed_run();
  std::atomic<int> admitted = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      for (int call = 0; call < 3; ++call) admitted += admit(run, 1, 10) == "admitted";
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(admitted, 10);
  EXPECT_EQ(account(), "100 20") << "a call beyond the limit holds nothing";
  EXPECT_EQ(admit(run, 0, 10), "limit");
  EXPECT_EQ(admit(run, 0, 0), "admitted") << "0: any number";
  fixture_.column("UPDATE tool_call_days SET day = day - 1 RETURNING day");
  EXPECT_EQ(admit(run, 0, 10), "admitted") << "another day";
  EXPECT_EQ(fixture_.column("SELECT calls FROM tool_call_days"), "1");
}

TEST_F(RunCredits, AreReleasedHoweverARunEnds) {
  balance(100);
  for (const char* status : {"completed", "failed", "cancelled"}) finish(claimed_run(), status);
  EXPECT_EQ(account(), "100 0");

  std::string queued_thread = fixture_.new_thread();
  std::string active = fixture_.new_run(queued_thread);
  std::string queued = fixture_.new_run(queued_thread, "enqueue");
  EXPECT_EQ(account(), "100 20");
  fixture_.as_owner(query::RunCancel{.run_id = queued});
  EXPECT_EQ(account(), "100 10") << "a queued run";
  fixture_.as_owner(query::ThreadDelete{.thread_id = queued_thread});
  EXPECT_EQ(account(), "100 0") << "an active run of a thread that is deleted";

  OwnedRun waiting = claimed_run();
  postgres::DbSession session = database_.as_runner();
  session.run(query::RunWait{.daemon_id = waiting.daemon_id,
                             .run_id = waiting.run_id,
                             .epoch = waiting.epoch,
                             .last_seq = 1,
                             .request = R"({"request_id": "x", "kind": "question"})",
                             .run_input_seconds = -1});
  EXPECT_EQ(account(), "100 10");
  EXPECT_EQ(session.run(query::RunExpireInputs{.at_most = 10}).text(), "1");
  EXPECT_EQ(account(), "100 0") << "a run that nobody answered";

  std::string thread_id = fixture_.new_thread();
  fixture_.new_run(thread_id);
  fixture_.new_run(thread_id, "interrupt");
  EXPECT_EQ(account(), "100 10") << "a run that was interrupted";
  EXPECT_EQ(fault(), "");
}

TEST_F(RunCredits, AreNeitherHeldNorNeededForAFreeModel) {
  balance(0);
  fixture_.column(
      fmt::format("UPDATE llm_models SET input_usd_per_mtok = 0, output_usd_per_mtok = 0 "
                  "WHERE id = '{}' RETURNING 1",
                  fixture_.model_id));
  OwnedRun run = claimed_run();
  EXPECT_TRUE(turn(run, 1, 1000));
  EXPECT_EQ(account(), "0 0");
  finish(run, "completed");
  EXPECT_EQ(fault(), "");
}

TEST_F(RunCredits, OfABrokenTurnAreChargedOnce) {
  OwnedRun run = claimed_run();
  postgres::DbSession session = database_.as_runner();
  for (int i = 0; i < 2; ++i) {
    session.begin();
    lock_run(session, run);
    commit_turn(session, run, 1, 3, false);
    if (i == 0) {
      session.rollback();  // the daemon died before its commit
      continue;
    }
    EXPECT_TRUE(finish_run(session, run, "cancelled"));
    session.commit();
  }
  EXPECT_EQ(account(), "999997 0");
  EXPECT_EQ(
      fixture_.column(fmt::format("SELECT credits_used || ' ' || (SELECT measured FROM "
                                  "usage_records WHERE run_id = runs.id) FROM runs WHERE id = '{}'",
                                  run.run_id)),
      "3 false");
  EXPECT_EQ(fault(), "");
}

// One run of a flight leaves the credits that the next one finds.
TEST_F(RunCredits, OfAFlightAreThoseOfItsRunsOneByOne) {
  struct Step {
    int64_t credits;  // 0: no turn
    const char* status;
  };
  const std::vector<Step> steps{{4, ""},           {12, "completed"}, {0, "failed"},
                                {31, ""},          {7, "cancelled"},  {5, ""},
                                {40, "completed"}, {0, ""},           {3, ""}};
  RunFixture twin{database_, "twin"};
  std::string daemon_id = fixture_.new_daemon("here");
  auto commits_of = [&](RunFixture& fixture) {
    std::vector<OneCommit> commits;
    for (const Step& step : steps) {
      OneCommit commit{.daemon_id = daemon_id, .run_id = fixture.new_run(fixture.new_thread())};
      commit.epoch = fixture.claim(daemon_id, commit.run_id);
      commit.turn = step.credits > 0 ? 1 : 0;
      commit.input_tokens = step.credits * 1000;
      commit.status = step.status;
      commits.push_back(commit);
    }
    postgres::DbSession superuser = database_.as_superuser();
    set_balance(superuser, fixture.org_id, 105);
    return commits;
  };
  auto state_of = [&](const RunFixture& fixture) {
    return fixture.column(fmt::format(
        "SELECT a.balance || ' ' || a.held || ' ' || a.entries || '; ' || (SELECT string_agg("
        "concat_ws(' ', number, amount, balance_after), ', ' ORDER BY number) FROM "
        "credit_transactions t WHERE t.org_id = a.org_id) || '; ' || (SELECT string_agg("
        "concat_ws(' ', status, turns, credits_used, credits_held, credits_exhausted), ', ' "
        "ORDER BY id) FROM runs r WHERE r.org_id = a.org_id) FROM credit_accounts a "
        "WHERE a.org_id = '{}'",
        fixture.org_id));
  };
  std::vector<OneCommit> flight = commits_of(fixture_);
  std::vector<OneCommit> one_by_one = commits_of(twin);
  postgres::DbSession session = database_.as_runner();
  postgres::Result answer = session.run(flight_of(flight));
  for (size_t i = 0; i < one_by_one.size(); ++i) {
    postgres::Result alone = session.run(commit_of(one_by_one[i]));
    postgres::Row in_flight = answer[static_cast<int>(i)];
    EXPECT_EQ(in_flight.text("id"), flight[i].run_id);
    EXPECT_EQ(in_flight.boolean("may_go_on"), alone.front().boolean("may_go_on")) << i;
  }
  EXPECT_EQ(state_of(fixture_), state_of(twin));
  EXPECT_EQ(fault(), "");
}

// One of them was stored before its answer was lost, one is another daemon's by now.
TEST_F(RunCredits, AreTakenOnceOfAFlightThatIsSentAgain) {
  std::string daemon_id = fixture_.new_daemon("here");
  std::vector<OneCommit> flight;
  for (int i = 0; i < 3; ++i) {
    OneCommit commit{.daemon_id = daemon_id, .run_id = fixture_.new_run(fixture_.new_thread())};
    commit.epoch = fixture_.claim(daemon_id, commit.run_id);
    commit.turn = 1;
    commit.input_tokens = 3000;
    flight.push_back(commit);
  }
  postgres::DbSession session = database_.as_runner();
  EXPECT_TRUE(is_held(session.run(commit_of(flight[0]))));
  flight[2].epoch += 100;
  for (int i = 0; i < 2; ++i) {
    postgres::Result answer = session.run(flight_of(flight));
    EXPECT_EQ(answer.size(), 2);
    EXPECT_EQ(answer[0].text("id"), flight[0].run_id);
    EXPECT_TRUE(answer[0].boolean("may_go_on"));
  }
  EXPECT_EQ(account(), "999994 24");
  EXPECT_EQ(fixture_.column("SELECT string_agg(credits_used::text, ' ' ORDER BY id) FROM runs"),
            "3 3 0");
  EXPECT_EQ(fault(), "");
}

TEST_F(RunCredits, ForFiveHoldsStartExactlyFiveOfFiftyParallelRuns) {
  balance(59);
  std::vector<std::string> threads;
  for (int i = 0; i < 50; ++i) threads.push_back(fixture_.new_thread());
  std::atomic<int> made = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> workers;
  for (const std::string& thread_id : threads) {
    workers.emplace_back([&, thread_id] {
      ErrorCode code = code_of([&] { fixture_.new_run(thread_id); });
      if (code == ErrorCode::count_) ++made;
      if (code == ErrorCode::credits_insufficient) ++refused;
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(made, 5);
  EXPECT_EQ(refused, 45);
  EXPECT_EQ(account(), "59 50");
  EXPECT_EQ(fault(), "");
}

TEST_F(RunCredits, AreBoundedWhateverAProviderCounts) {
  OwnedRun run = claimed_run();
  EXPECT_FALSE(turn(run, 1, 1'000'000'000'000'000));
  finish(run, "failed");
  EXPECT_EQ(fixture_.column("SELECT total_cost_nano_usd || ' ' || credits_used FROM runs"),
            "1000000000000000 1000000000");
  EXPECT_EQ(fault(), "");
}

TEST_F(RunCredits, StandInALedgerThatNobodyChanges) {
  const char* change = "UPDATE credit_transactions SET amount = amount + 1";
  const char* removal = "DELETE FROM credit_transactions";
  postgres::DbSession api = database_.as_api();
  EXPECT_EQ(code_of([&] { api.run_text(change); }), ErrorCode::internal_error);
  EXPECT_EQ(code_of([&] { api.run_text(removal); }), ErrorCode::internal_error);
  postgres::DbSession superuser = database_.as_superuser();
  superuser.run_text("SET ROLE hostler_owner");
  for (const char* text : {change, removal, "TRUNCATE credit_transactions"}) {
    EXPECT_EQ(code_of([&] { superuser.run_text(text); }), ErrorCode::internal_error) << text;
  }
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM credit_transactions"), "1");
}

}  // namespace
}  // namespace hostler
