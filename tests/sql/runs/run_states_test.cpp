// The states of a run, from SQL: which changes are possible, who may make them, and that of any
// number of parallel ones exactly one wins. Statements are the product's own, as its own roles.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "lib/error.h"
#include "queries/daemon.h"
#include "queries/daemons.h"
#include "queries/maintenance.h"
#include "queries/runs.h"
#include "queries/threads.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/rows/run_statements.h"

namespace hostler {
namespace {

using namespace testing_support;

class RunStatesTest : public ::testing::Test {
 protected:
  ErrorCode code_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.code;
    }
    return ErrorCode::count_;
  }
  std::string run_column(const std::string& column, const std::string& run_id) {
    return fixture_.column(fmt::format("SELECT {} FROM runs WHERE id = '{}'", column, run_id));
  }
  std::string events_of(const std::string& run_id) {
    return fixture_.column(fmt::format(
        "SELECT coalesce(string_agg(seq || ' ' || type, ', ' ORDER BY seq), '') FROM run_events "
        "WHERE run_id = '{}'",
        run_id));
  }
  void append(const std::string& daemon_id, const std::string& run_id, int64_t epoch, int64_t seq,
              const std::string& type) {
    postgres::DbSession session = database_.as_runner();
    session.run(append_of(daemon_id, run_id, epoch, seq, type));
  }
  bool finish(const std::string& daemon_id, const std::string& run_id, int64_t epoch,
              const std::string& status, const std::string& answer) {
    postgres::DbSession session = database_.as_runner();
    bool has_failed = status == "failed";
    return is_held(session.run(commit_of({.daemon_id = daemon_id,
                                          .run_id = run_id,
                                          .epoch = epoch,
                                          .status = status,
                                          .code = has_failed ? "model.unavailable" : "",
                                          .message = has_failed ? "gone" : "",
                                          .answer = answer})));
  }
  static postgres::BoundStatement turn_of(const std::string& daemon_id, const std::string& run_id,
                                          int64_t epoch, int64_t input_tokens,
                                          int64_t output_tokens) {
    return commit_of({.daemon_id = daemon_id,
                      .run_id = run_id,
                      .epoch = epoch,
                      .last_seq = 2,
                      .turn = 1,
                      .input_tokens = input_tokens,
                      .output_tokens = output_tokens});
  }
  bool wait(const std::string& daemon_id, const std::string& run_id, int64_t epoch,
            const std::string& kind, int64_t seconds = 3600) {
    postgres::DbSession session = database_.as_runner();
    std::string request =
        fmt::format(R"({{"request_id": "{}", "kind": "{}", "turn": 1, "tool_call_id": "c1"}})",
                    fixture_.column("SELECT uuidv7()"), kind);
    postgres::Result waiting = session.run(query::RunWait{.daemon_id = daemon_id,
                                                          .run_id = run_id,
                                                          .epoch = epoch,
                                                          .last_seq = 1,
                                                          .request = request,
                                                          .run_input_seconds = seconds});
    return waiting.text() == "t";
  }
  std::string messages_of(const std::string& thread_id) {
    return fixture_.column(fmt::format(
        "SELECT string_agg(content, '|' ORDER BY id) FROM messages WHERE thread_id = '{}' "
        "AND hidden_by_run_id IS NULL",
        thread_id));
  }

  // One database for all; each test has an organization of its own.
  static void SetUpTestSuite() { shared_ = new TestDatabase(); }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }
  static inline TestDatabase* shared_ = nullptr;
  const TestDatabase& database_ = *shared_;
  RunFixture fixture_{database_};
};

TEST_F(RunStatesTest, OnlyTheTransitionsOfTheTableArePossible) {
  const std::set<std::pair<std::string, std::string>> allowed{{"running", "waiting_for_input"},
                                                              {"running", "completed"},
                                                              {"running", "failed"},
                                                              {"running", "cancelled"},
                                                              {"waiting_for_input", "running"},
                                                              {"waiting_for_input", "failed"},
                                                              {"waiting_for_input", "cancelled"}};
  const std::vector<std::string> states{"running", "waiting_for_input", "completed", "failed",
                                        "cancelled"};
  auto set_state = [&](const std::string& run_id, const std::string& state) {
    bool is_ended = state != "running" && state != "waiting_for_input";
    return fmt::format(
        "UPDATE runs SET status = '{}', ended_at = {}, input_request = {} WHERE id = '{}'", state,
        is_ended ? "now()" : "NULL", state == "waiting_for_input" ? "'{}'" : "NULL", run_id);
  };
  for (const std::string& from : states) {
    for (const std::string& to : states) {
      if (from == to) continue;
      std::string run_id = fixture_.new_run(fixture_.new_thread());
      if (from != "running") fixture_.column(set_state(run_id, from));
      ErrorCode code = code_of([&] { fixture_.column(set_state(run_id, to)); });
      bool is_allowed = allowed.contains({from, to});
      EXPECT_EQ(code == ErrorCode::count_, is_allowed) << from << " to " << to;
      EXPECT_EQ(run_column("status", run_id), is_allowed ? to : from);
    }
  }
}

TEST_F(RunStatesTest, ABusyThreadRefusesASecondRunAndNamesTheFirst) {
  std::string thread_id = fixture_.new_thread();
  std::string run_id = fixture_.new_run(thread_id);
  try {
    fixture_.new_run(thread_id);
    FAIL() << "the second run was made";
  } catch (const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::runs_thread_busy);
    ASSERT_EQ(error.members.size(), 1U);
    EXPECT_EQ(error.members[0].second, "\"" + run_id + "\"");
  }
}

TEST_F(RunStatesTest, AThreadWithoutMessagesStartsNoRun) {
  std::string thread_id = fixture_.new_thread("");
  EXPECT_EQ(code_of([&] { fixture_.new_run(thread_id); }), ErrorCode::runs_no_messages);
}

TEST_F(RunStatesTest, QueuedRunsStartInOrderWhenTheOneBeforeEnds) {
  std::string thread_id = fixture_.new_thread();
  std::string daemon_id = fixture_.new_daemon("a");
  std::string first = fixture_.new_run(thread_id);
  std::string second = fixture_.new_run(thread_id, "enqueue");
  std::string third = fixture_.new_run(thread_id, "enqueue");
  int64_t epoch = fixture_.claim(daemon_id, first);
  ASSERT_GT(epoch, 0);
  EXPECT_EQ(fixture_.claim(daemon_id, second), 0) << "a queued run was claimed";
  EXPECT_TRUE(finish(daemon_id, first, epoch, "completed", "one"));
  EXPECT_EQ(run_column("queued", second), "f");
  EXPECT_EQ(run_column("queued", third), "t");
  epoch = fixture_.claim(daemon_id, second);
  EXPECT_TRUE(finish(daemon_id, second, epoch, "failed", ""));
  EXPECT_EQ(run_column("queued", third), "f");
}

TEST_F(RunStatesTest, InterruptCancelsActiveAndQueuedRunsAndTakesTheirPlace) {
  std::string thread_id = fixture_.new_thread();
  std::string first = fixture_.new_run(thread_id);
  std::string second = fixture_.new_run(thread_id, "enqueue");
  std::string third = fixture_.new_run(thread_id, "interrupt");
  EXPECT_EQ(run_column("status", first), "cancelled");
  EXPECT_EQ(run_column("status", second), "cancelled");
  EXPECT_EQ(run_column("status", third), "running");
  EXPECT_EQ(run_column("queued", third), "f");
  EXPECT_EQ(events_of(first), "1 run.cancelled");
}

TEST_F(RunStatesTest, TheLimitOfActiveRunsIsExactUnderParallelCreates) {
  std::vector<std::string> threads;
  for (int i = 0; i < 20; ++i) threads.push_back(fixture_.new_thread());
  std::atomic<int> made = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> workers;
  for (const std::string& thread_id : threads) {
    workers.emplace_back([&, thread_id] {
      ErrorCode code = code_of([&] { fixture_.new_run(thread_id, "reject", 5); });
      if (code == ErrorCode::count_) ++made;
      if (code == ErrorCode::runs_limit_exceeded) ++refused;
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(made, 5);
  EXPECT_EQ(refused, 15);
}

TEST_F(RunStatesTest, ADaemonThatLostItsRunChangesNoRow) {
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  std::string old_daemon = fixture_.new_daemon("a");
  int64_t old_epoch = fixture_.claim(old_daemon, run_id);
  append(old_daemon, run_id, old_epoch, 1, "run.started");
  // A restart of the same instance frees the run at once.
  std::string new_daemon = fixture_.new_daemon("a");
  int64_t new_epoch = fixture_.claim(new_daemon, run_id);
  ASSERT_GT(new_epoch, old_epoch);
  EXPECT_EQ(run_column("last_seq || ' ' || crash_count || ' ' || take_overs", run_id), "1 1 1");

  append(old_daemon, run_id, old_epoch, 2, "message.delta");
  EXPECT_EQ(events_of(run_id), "1 run.started");
  EXPECT_FALSE(finish(old_daemon, run_id, old_epoch, "completed", "late"));
  EXPECT_FALSE(wait(old_daemon, run_id, old_epoch, "question"));
  postgres::DbSession session = database_.as_runner();
  EXPECT_FALSE(is_held(session.run(turn_of(old_daemon, run_id, old_epoch, 1, 1))));
  EXPECT_EQ(run_column("status", run_id), "running");
  EXPECT_TRUE(finish(new_daemon, run_id, new_epoch, "completed", "ours"));
}

// The daemon is dead, but Postgres still writes what it sent last.
TEST_F(RunStatesTest, ATakeOverGoesOnBehindEventsThatWereStillOnTheirWay) {
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  std::string old_daemon = fixture_.new_daemon("a");
  int64_t epoch = fixture_.claim(old_daemon, run_id);
  append(old_daemon, run_id, epoch, 1, "run.started");
  postgres::DbSession late = database_.as_runner();
  late.begin();
  late.run(append_of(old_daemon, run_id, epoch, 2, "message.delta"));
  std::string new_daemon;
  std::thread restart([&] { new_daemon = fixture_.new_daemon("a"); });
  const char* blocked =
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
      "AND wait_event_type = 'Lock'";
  while (fixture_.column(blocked) == "0") std::this_thread::yield();
  late.commit();
  restart.join();
  EXPECT_EQ(run_column("last_seq", run_id), "2") << "the next event would be taken for this one";
}

TEST_F(RunStatesTest, ARunWhoseDaemonIsLostIsFreeForAnother) {
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  std::string gone = fixture_.new_daemon("a");
  int64_t epoch = fixture_.claim(gone, run_id);
  std::string next = fixture_.new_daemon("b");
  postgres::DbSession session = database_.as_runner();
  session.run(query::RunFree{.lost_id = gone, .heartbeats = 0});
  EXPECT_GT(fixture_.claim(next, run_id), epoch);
}

TEST_F(RunStatesTest, ATurnIsPaidForOnceHoweverOftenItIsSent) {
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  std::string daemon_id = fixture_.new_daemon("a");
  int64_t epoch = fixture_.claim(daemon_id, run_id);
  postgres::DbSession session = database_.as_runner();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(is_held(session.run(turn_of(daemon_id, run_id, epoch, 1000, 500))));
  }
  // 1000 tokens at 1 $ and 500 at 2 $ a million are 2,000,000 nano-dollars.
  EXPECT_EQ(run_column("total_cost_nano_usd || ' ' || total_input_tokens", run_id), "2000000 1000");
}

TEST_F(RunStatesTest, CancelEndsWhatNobodyOwnsAndAsksTheOwnerOtherwise) {
  std::string unclaimed = fixture_.new_run(fixture_.new_thread());
  fixture_.as_owner(query::RunCancel{.run_id = unclaimed});
  EXPECT_EQ(run_column("status", unclaimed), "cancelled");
  fixture_.as_owner(query::RunCancel{.run_id = unclaimed});
  EXPECT_EQ(events_of(unclaimed), "1 run.cancelled") << "a second cancel wrote again";

  std::string daemon_id = fixture_.new_daemon("a");
  std::string owned = fixture_.new_run(fixture_.new_thread());
  int64_t epoch = fixture_.claim(daemon_id, owned);
  fixture_.as_owner(query::RunCancel{.run_id = owned});
  EXPECT_EQ(run_column("status || ' ' || (cancel_requested_at IS NOT NULL)", owned),
            "running true");
  // The owner was about to wait for a human: the cancel wins.
  append(daemon_id, owned, epoch, 1, "run.waiting_for_input");
  EXPECT_TRUE(wait(daemon_id, owned, epoch, "question"));
  EXPECT_EQ(run_column("status", owned), "cancelled");
  EXPECT_EQ(events_of(owned), "1 run.waiting_for_input, 2 run.cancelled");
}

TEST_F(RunStatesTest, OfManyParallelAnswersExactlyOneWins) {
  std::string daemon_id = fixture_.new_daemon("a");
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  int64_t epoch = fixture_.claim(daemon_id, run_id);
  append(daemon_id, run_id, epoch, 1, "run.waiting_for_input");
  ASSERT_TRUE(wait(daemon_id, run_id, epoch, "question"));
  std::atomic<int> won = 0;
  std::atomic<int> late = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < 10; ++i) {
    workers.emplace_back([&] {
      postgres::BoundStatement input =
          input_of(run_id, "blue", std::nullopt, std::nullopt, std::nullopt, "neither");
      ErrorCode code = code_of([&] { fixture_.as_owner(input); });
      if (code == ErrorCode::count_) ++won;
      if (code == ErrorCode::runs_not_waiting) ++late;
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(late, 9);
  EXPECT_EQ(events_of(run_id), "1 run.waiting_for_input, 2 run.input_provided");
  EXPECT_GT(fixture_.claim(daemon_id, run_id), epoch);
}

TEST_F(RunStatesTest, OnlyAConfirmationTakesAndKeepsADecision) {
  std::string daemon_id = fixture_.new_daemon("a");
  auto waiting_run = [&](const char* kind) {
    std::string run_id = fixture_.new_run(fixture_.new_thread());
    EXPECT_TRUE(wait(daemon_id, run_id, fixture_.claim(daemon_id, run_id), kind));
    return run_id;
  };
  const char* kept =
      "(SELECT concat_ws(' ', content, decision, arguments, reason) FROM run_inputs WHERE run_id = "
      "id)";
  std::string asks = waiting_run("tool_confirmation");
  postgres::BoundStatement none =
      input_of(asks, "approve?", std::nullopt, std::nullopt, std::nullopt, "neither");
  EXPECT_EQ(code_of([&] { fixture_.as_owner(none); }), ErrorCode::validation_error);
  EXPECT_EQ(run_column("status", asks), "waiting_for_input");
  fixture_.as_owner(input_of(asks, "…", "approve", R"({"q":  1.50})", "why", std::nullopt));
  EXPECT_EQ(run_column(kept, asks), R"(… approve {"q":  1.50} why)") << "byte for byte";

  std::string question = waiting_run("question");
  fixture_.as_owner(input_of(question, "deny", "deny", std::nullopt, "why", std::nullopt));
  EXPECT_EQ(run_column(kept, question), "deny");
}

TEST_F(RunStatesTest, ARunThatNobodyAnswersInTimeFails) {
  std::string daemon_id = fixture_.new_daemon("a");
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  int64_t epoch = fixture_.claim(daemon_id, run_id);
  append(daemon_id, run_id, epoch, 1, "run.waiting_for_input");
  ASSERT_TRUE(wait(daemon_id, run_id, epoch, "question", -1));
  postgres::DbSession session = database_.as_runner();
  EXPECT_NE(session.run(query::RunExpireInputs{.at_most = 10}).text(), "0");
  EXPECT_EQ(session.run(query::RunExpireInputs{.at_most = 10}).text(), "0");
  EXPECT_EQ(run_column("status || ' ' || error_code", run_id), "failed run.input_timeout");
  EXPECT_EQ(events_of(run_id), "1 run.waiting_for_input, 2 run.failed");
}

TEST_F(RunStatesTest, AFailedRetryBringsTheOldAnswerBackAndAGoodOneReplacesIt) {
  std::string daemon_id = fixture_.new_daemon("a");
  std::string thread_id = fixture_.new_thread("question");
  std::string first = fixture_.new_run(thread_id);
  finish(daemon_id, first, fixture_.claim(daemon_id, first), "completed", "old");
  EXPECT_EQ(messages_of(thread_id), "question|old");
  postgres::BoundStatement retry = query::RunRetry{.thread_id = thread_id,
                                                   .limit_concurrent_runs = 1000,
                                                   .limit_concurrent_runs_per_user = 0,
                                                   .limit_queued_runs = 100,
                                                   .limit_stored_bytes = 0,
                                                   .credit_run_hold = 10,
                                                   .limit_waiting_runs = 1000};
  fixture_.as_owner(retry);
  EXPECT_EQ(messages_of(thread_id), "question");
  std::string retried = fixture_.column("SELECT id FROM runs ORDER BY id DESC LIMIT 1");
  finish(daemon_id, retried, fixture_.claim(daemon_id, retried), "failed", "half");
  EXPECT_EQ(messages_of(thread_id), "question|old");
  fixture_.as_owner(retry);
  retried = fixture_.column("SELECT id FROM runs ORDER BY id DESC LIMIT 1");
  finish(daemon_id, retried, fixture_.claim(daemon_id, retried), "completed", "new");
  EXPECT_EQ(messages_of(thread_id), "question|new");
}

TEST_F(RunStatesTest, SomebodyElseOfTheOrganizationIsDenied) {
  std::string thread_id = fixture_.new_thread();
  std::string run_id = fixture_.new_run(thread_id);
  postgres::DbSession session = database_.as_api();
  const postgres::BoundStatement attempts[] = {query::RunCancel{.run_id = run_id},
                                               query::RunShowAny{.run_id = run_id},
                                               query::ThreadShow{.thread_id = thread_id}};
  for (const postgres::BoundStatement& attempt : attempts) {
    fixture_.begin_as(session, fixture_.other_id);
    EXPECT_EQ(code_of([&] { session.run(attempt); }), ErrorCode::policy_denied);
    session.rollback();
  }
}

TEST_F(RunStatesTest, ADaemonThatStopsHandsItsRunsBackWithoutACrash) {
  std::string daemon_id = fixture_.new_daemon("a");
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  int64_t epoch = fixture_.claim(daemon_id, run_id);
  append(daemon_id, run_id, epoch, 1, "run.started");
  postgres::DbSession session = database_.as_runner();
  session.run(query::DaemonStop{.daemon_id = daemon_id});
  EXPECT_EQ(run_column("(owner_id IS NULL) || ' ' || crash_count || ' ' || last_seq", run_id),
            "true 0 1");
  EXPECT_GT(fixture_.claim(fixture_.new_daemon("b"), run_id), epoch);
}

}  // namespace
}  // namespace hostler
