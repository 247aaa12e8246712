// The counts of active, queued and waiting runs in the account of an organization are those of its
// runs, behind whatever begins, activates, parks, ends or takes back a run.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lib/error.h"
#include "queries/daemon.h"
#include "queries/maintenance.h"
#include "queries/runs.h"
#include "queries/threads.h"
#include "tests/support/rows/run_fixture.h"
#include "tests/support/rows/run_money.h"

namespace hostler {
namespace {

using namespace testing_support;

class RunCounts : public testing::Test {
 protected:
  // "active queued", and the waiting ones where there are any, as the account says; it says what
  // is.
  std::string counts() {
    const char* shown = "SELECT {} FROM credit_accounts a WHERE org_id = '{}'";
    std::string kept = fixture_.column(fmt::format(
        fmt::runtime(shown),
        "active_runs || ' ' || queued_runs || coalesce(' ' || nullif(waiting_runs, 0), '')",
        fixture_.org_id));
    std::string real = fixture_.column(fmt::format(
        fmt::runtime(shown),
        "(SELECT count(*) FILTER (WHERE NOT queued AND NOT waits_apart(input_request)) || ' ' || "
        "count(*) FILTER (WHERE queued) || coalesce(' ' || nullif(count(*) FILTER (WHERE "
        "waits_apart(input_request)), 0), '') FROM runs r WHERE r.org_id = a.org_id AND "
        "ended_at IS NULL)",
        fixture_.org_id));
    EXPECT_EQ(kept, real);
    postgres::DbSession superuser = database_.as_superuser();
    EXPECT_EQ(ledger_fault(superuser), "");
    return kept;
  }
  OwnedRun claimed(const std::string& thread_id, const std::string& run_id) {
    return {daemon_id_, fixture_.org_id, thread_id, run_id, fixture_.claim(daemon_id_, run_id)};
  }
  bool finish(const OwnedRun& run, const std::string& status) {
    postgres::DbSession session = database_.as_runner();
    return finish_run(session, run, status);
  }
  // For the result of a call of its client's.
  void wait_for_result(const OwnedRun& run, int64_t seconds) {
    wait(run, seconds,
         R"("kind": "tool_results", "calls": [{"tool_call_id": "c", "tool_name": "t", )"
         R"("answered_by": "client"}])");
  }
  void wait(const OwnedRun& run, int64_t seconds,
            std::string_view request = R"("kind": "question", "tool_call_id": "c")") {
    postgres::DbSession session = database_.as_runner();
    session.run(query::RunWait{.daemon_id = run.daemon_id,
                               .run_id = run.run_id,
                               .epoch = run.epoch,
                               .last_seq = 1,
                               .request = fmt::format(R"({{"request_id": "{}", "turn": 1, {}}})",
                                                      fixture_.column("SELECT uuidv7()"), request),
                               .run_input_seconds = seconds});
  }
  ErrorCode refusal(const postgres::BoundStatement& statement) {
    try {
      fixture_.as_owner(statement);
    } catch (const Error& error) {
      return error.code;
    }
    return ErrorCode::count_;
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string daemon_id_ = fixture_.new_daemon("/run/d.sock");
};

TEST_F(RunCounts, FollowRunsThatBeginQueueAndEnd) {
  EXPECT_EQ(counts(), "0 0");
  std::string thread_id = fixture_.new_thread();
  std::string first = fixture_.new_run(thread_id);
  EXPECT_EQ(counts(), "1 0");
  fixture_.new_run(thread_id, "enqueue");
  std::string third = fixture_.new_run(thread_id, "enqueue");
  EXPECT_EQ(counts(), "1 2");
  EXPECT_TRUE(finish(claimed(thread_id, first), "completed"));
  EXPECT_EQ(counts(), "1 1") << "the next is active in its stead";
  fixture_.as_owner(query::RunCancel{.run_id = third});
  EXPECT_EQ(counts(), "1 0") << "a queued one was cancelled";
  fixture_.new_run(thread_id, "enqueue");
  fixture_.new_run(thread_id, "enqueue");
  fixture_.new_run(thread_id, "interrupt");
  EXPECT_EQ(counts(), "1 0") << "one took the place of all";
  fixture_.new_run(fixture_.new_thread());
  EXPECT_EQ(counts(), "2 0");
  fixture_.as_owner(query::ThreadDelete{.thread_id = thread_id});
  EXPECT_EQ(counts(), "1 0");
}

TEST_F(RunCounts, FollowAnInterruptWhoseOwnerEndsTheRunLater) {
  std::string thread_id = fixture_.new_thread();
  OwnedRun owned = claimed(thread_id, fixture_.new_run(thread_id));
  fixture_.new_run(thread_id, "enqueue");
  fixture_.new_run(thread_id, "interrupt");
  EXPECT_EQ(counts(), "1 1") << "the owner is asked, the queued one is cancelled";
  EXPECT_TRUE(finish(owned, "cancelled"));
  EXPECT_EQ(counts(), "1 0");
  EXPECT_FALSE(finish(owned, "cancelled"));
  EXPECT_EQ(counts(), "1 0");
}

TEST_F(RunCounts, FollowRetriesWaitsAndTakeOvers) {
  std::string thread_id = fixture_.new_thread();
  EXPECT_TRUE(finish(claimed(thread_id, fixture_.new_run(thread_id)), "failed"));
  EXPECT_EQ(counts(), "0 0");
  fixture_.as_owner(query::RunRetry{.thread_id = thread_id,
                                    .limit_concurrent_runs = 5,
                                    .limit_concurrent_runs_per_user = 0,
                                    .limit_queued_runs = 5,
                                    .limit_stored_bytes = 0,
                                    .credit_run_hold = 10,
                                    .limit_waiting_runs = 5});
  EXPECT_EQ(counts(), "1 0");
  std::vector<OwnedRun> retried;
  {
    postgres::DbSession session = database_.as_runner();
    retried = claim_all(session, daemon_id_);
  }
  ASSERT_EQ(retried.size(), 1U);
  fixture_.new_run(thread_id, "enqueue");
  wait(retried[0], 0);
  EXPECT_EQ(counts(), "1 1") << "a run that waits is active";
  {
    postgres::DbSession session = database_.as_runner();
    session.run(query::RunExpireInputs{.at_most = 10});
  }
  EXPECT_EQ(counts(), "1 0") << "it ended, the queued one is active";
  {
    postgres::DbSession session = database_.as_runner();
    ASSERT_EQ(claim_all(session, daemon_id_).size(), 1U);
    session.run(query::RunFree{.lost_id = daemon_id_, .heartbeats = 0});
  }
  EXPECT_EQ(counts(), "1 0");
}

TEST_F(RunCounts, KeepRunsThatWaitForResultsApart) {
  std::string thread_id = fixture_.new_thread();
  OwnedRun owned = claimed(thread_id, fixture_.new_run(thread_id));
  fixture_.new_run(thread_id, "enqueue");
  wait_for_result(owned, 3600);
  EXPECT_EQ(counts(), "0 1 1");
  fixture_.new_run(fixture_.new_thread(), "reject", 1);
  EXPECT_EQ(counts(), "1 1 1") << "its place is free";
  std::string answer = R"([{"tool_call_id": "c", "output": 1}])";
  fixture_.as_owner(query::RunToolAnswer{.run_id = owned.run_id, .results = answer});
  EXPECT_EQ(counts(), "2 1") << "more than may begin";
  OwnedRun again = claimed(thread_id, owned.run_id);
  EXPECT_TRUE(finish(again, "completed"));
  EXPECT_EQ(counts(), "2 0") << "the queued one is active";
}

TEST_F(RunCounts, FollowTheEndOfRunsThatWaitForResults) {
  std::string thread_id = fixture_.new_thread();
  OwnedRun owned = claimed(thread_id, fixture_.new_run(thread_id));
  fixture_.new_run(thread_id, "enqueue");
  wait_for_result(owned, 3600);
  fixture_.as_owner(query::RunCancel{.run_id = owned.run_id});
  EXPECT_EQ(counts(), "1 0") << "the queued one is active";
  std::string other_thread = fixture_.new_thread();
  OwnedRun other = claimed(other_thread, fixture_.new_run(other_thread));
  wait_for_result(other, 0);
  EXPECT_EQ(counts(), "1 0 1");
  {
    postgres::DbSession session = database_.as_runner();
    session.run(query::RunExpireInputs{.at_most = 10});
  }
  EXPECT_EQ(counts(), "1 0");
  std::string third_thread = fixture_.new_thread();
  OwnedRun third = claimed(third_thread, fixture_.new_run(third_thread));
  wait_for_result(third, 3600);
  fixture_.column("UPDATE credit_accounts SET waiting_runs = 9");
  fixture_.column("SELECT account_runs_recount()");
  EXPECT_EQ(counts(), "1 0 1");
  fixture_.column(
      fmt::format("SELECT user_stop_runs('{}', NULL, 'user_suspended')", fixture_.owner_id));
  EXPECT_EQ(counts(), "1 0") << "the other one is its daemon's to end";
}

// A cancel that meets the wait: the run never waits, and is counted down once.
TEST_F(RunCounts, FollowACancelThatMeetsTheWait) {
  std::string thread_id = fixture_.new_thread();
  OwnedRun owned = claimed(thread_id, fixture_.new_run(thread_id));
  fixture_.as_owner(query::RunCancel{.run_id = owned.run_id});
  wait_for_result(owned, 3600);
  EXPECT_EQ(fixture_.column("SELECT status FROM runs"), "cancelled");
  EXPECT_EQ(counts(), "0 0");
}

TEST_F(RunCounts, StayAsTheyAreWhenARunIsRefused) {
  std::string thread_id = fixture_.new_thread();
  fixture_.new_run(thread_id);
  EXPECT_EQ(refusal(RunFixture::run_of(thread_id, "reject")), ErrorCode::runs_thread_busy);
  EXPECT_EQ(refusal(RunFixture::run_of(fixture_.new_thread(), "reject", 1)),
            ErrorCode::runs_limit_exceeded);
  EXPECT_EQ(refusal(RunFixture::run_of(fixture_.new_thread(""), "reject")),
            ErrorCode::runs_no_messages);
  postgres::DbSession superuser = database_.as_superuser();
  set_balance(superuser, fixture_.org_id, 15);
  EXPECT_EQ(refusal(RunFixture::run_of(fixture_.new_thread(), "reject")),
            ErrorCode::credits_insufficient);
  EXPECT_EQ(counts(), "1 0");
  EXPECT_EQ(account_of(fixture_), "15 10");
}

TEST_F(RunCounts, FollowTheEndOfAUser) {
  std::string thread_id = fixture_.new_thread();
  fixture_.new_run(thread_id);
  fixture_.new_run(thread_id, "enqueue");
  fixture_.new_run(fixture_.new_thread());
  EXPECT_EQ(counts(), "2 1");
  fixture_.column(
      fmt::format("SELECT user_stop_runs('{}', NULL, 'user_suspended')", fixture_.owner_id));
  EXPECT_EQ(counts(), "0 0");
}

TEST_F(RunCounts, AreCountedAnewWhenRunsWereChangedByHand) {
  std::string thread_id = fixture_.new_thread();
  std::string run_id = fixture_.new_run(thread_id);
  fixture_.new_run(thread_id, "enqueue");
  fixture_.column("UPDATE credit_accounts SET active_runs = 7, queued_runs = 0");
  fixture_.column("SELECT account_runs_recount()");
  EXPECT_EQ(counts(), "1 1");
}

}  // namespace
}  // namespace hostler
