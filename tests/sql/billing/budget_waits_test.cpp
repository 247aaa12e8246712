// Runs that wait for a budget, windows by the clock of a time zone, and alerts.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "queries/maintenance.h"
#include "tests/support/rows/budget_rows.h"
#include "tests/support/rows/run_statements.h"

namespace hostler {
namespace {

using namespace testing_support;

class BudgetWaits : public ::testing::Test {
 protected:
  OwnedRun claimed_run() {
    std::string thread_id = fixture_.new_thread();
    std::string run_id = fixture_.new_run(thread_id);
    std::string daemon_id = fixture_.new_daemon(run_id);
    return {daemon_id, fixture_.org_id, thread_id, run_id, fixture_.claim(daemon_id, run_id)};
  }
  // A run that waits for the budget, which is exhausted.
  OwnedRun waiting_run(const std::string& budget_id, int waiting_max = 1000) {
    OwnedRun run = claimed_run();
    postgres::DbSession session = database_.as_runner();
    HoldAnswer answer = take_hold(session, run, 1000, 8000);
    EXPECT_EQ(answer.outcome, "exhausted");
    wait(run, budget_id, answer.decided_at, waiting_max);
    return run;
  }
  void wait(const OwnedRun& run, const std::string& budget_id, const std::string& decided_at,
            int waiting_max = 1000) {
    postgres::DbSession session = database_.as_runner();
    session.run(query::RunWait{
        .daemon_id = run.daemon_id,
        .run_id = run.run_id,
        .epoch = run.epoch,
        .last_seq = 1,
        .request = fmt::format(R"({{"request_id": "{}", "kind": "budget", "message": "m",
            "budget_id": "{}", "name": "n", "renews_at": {}, "decided_at": "{}",
            "waiting_max": {}}})",
                               run.run_id, budget_id, renews_at_, decided_at, waiting_max),
        .run_input_seconds = 3600});
  }
  std::string status(const OwnedRun& run) {
    return fixture_.column(
        "SELECT status || coalesce(' ' || error_code, '') FROM runs WHERE id = '" + run.run_id +
        "'");
  }
  void wake() {
    postgres::DbSession session = database_.as_runner();
    for (int step = 0; step < 5; ++step) {
      session.run(query::EndingContinue{.at_most = 400});
    }
    session.run(query::BudgetRenewals{.at_most = 100});
  }
  std::string counted_waits() {
    return fixture_.column(
        "SELECT active_runs || ' ' || waiting_runs FROM credit_accounts "
        "WHERE org_id = '" +
        fixture_.org_id + "'");
  }
  std::string small_budget() { return new_budget(database_, fixture_, {.amount = "1"}); }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string renews_at_ = "null";
};

TEST_F(BudgetWaits, EndWhenTheBudgetIsRaised) {
  std::string id = small_budget();
  OwnedRun run = waiting_run(id);
  EXPECT_EQ(status(run), "waiting_for_input");
  EXPECT_EQ(counted_waits(), "0 1");
  change_budget(database_, fixture_, id, R"({"name": "another"})");
  wake();
  EXPECT_EQ(status(run), "waiting_for_input");
  change_budget(database_, fixture_, id, R"({"amount": "100"})");
  wake();
  EXPECT_EQ(status(run), "running");
  EXPECT_EQ(counted_waits(), "1 0");
}

TEST_F(BudgetWaits, EndWhenTheBudgetBoundsNothingAnyMore) {
  std::string id = small_budget();
  OwnedRun run = waiting_run(id);
  change_budget(database_, fixture_, id, R"({"is_active": false})");
  wake();
  EXPECT_EQ(status(run), "running");
  std::string other = small_budget();
  OwnedRun second = waiting_run(other);
  postgres::DbSession session = database_.as_api();
  act_with_org_manage(session, fixture_);
  session.run(query::BudgetDelete{.budget_id = other});
  session.commit();
  wake();
  EXPECT_EQ(status(second), "running");
}

TEST_F(BudgetWaits, EndWithANewWindow) {
  std::string id = small_budget();
  renews_at_ = R"("2020-01-01T00:00:00.000Z")";
  OwnedRun run = claimed_run();
  wait(run, id, "2026-01-01T00:00:00Z");
  EXPECT_EQ(status(run), "running") << "the window was over as the run began to wait";
  renews_at_ = R"("2999-01-01T00:00:00.000Z")";
  OwnedRun second = waiting_run(id);
  wake();
  EXPECT_EQ(status(second), "waiting_for_input");
  fixture_.column(
      "UPDATE runs SET input_request = input_request || '{\"renews_at\": "
      "\"2020-01-01T00:00:00.000Z\"}' WHERE status = 'waiting_for_input' RETURNING id");
  wake();
  EXPECT_EQ(status(second), "running");
}

TEST_F(BudgetWaits, DoNotBeginBehindAChangeOfTheBudget) {
  std::string id = small_budget();
  OwnedRun run = claimed_run();
  postgres::DbSession session = database_.as_runner();
  HoldAnswer answer = take_hold(session, run, 1000, 8000);
  change_budget(database_, fixture_, id, R"({"amount": "100"})");
  wait(run, id, answer.decided_at);
  EXPECT_EQ(status(run), "running");
}

TEST_F(BudgetWaits, AreRefusedWhenAsManyRunsWaitAsMay) {
  std::string id = small_budget();
  OwnedRun first = waiting_run(id, 1);
  OwnedRun second = waiting_run(id, 1);
  EXPECT_EQ(status(first), "waiting_for_input");
  EXPECT_EQ(status(second), "failed budget.exhausted");
  postgres::DbSession superuser = database_.as_superuser();
  EXPECT_EQ(ledger_fault(superuser), "");
}

TEST_F(BudgetWaits, EndWithTheKeyThatMadeTheRun) {
  std::string id = small_budget();
  OwnedRun run = waiting_run(id);
  fixture_.column(fmt::format(
      "WITH k AS (INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash, revoked_at) "
      "VALUES ('{}', '{}', 'k', 'hst_', sha256('x'), now()) RETURNING id) "
      "UPDATE runs SET api_key_id = k.id FROM k WHERE runs.id = '{}' RETURNING runs.id",
      fixture_.org_id, fixture_.owner_id, run.run_id));
  change_budget(database_, fixture_, id, R"({"amount": "100"})");
  wake();
  EXPECT_EQ(status(run), "cancelled");
}

TEST_F(BudgetWaits, TellEachPercentOnce) {
  std::string id = new_budget(database_, fixture_, {.amount = "100", .percents = "[10, 50, 100]"});
  OwnedRun run = claimed_run();
  fixture_.column("UPDATE users SET email_verified_at = now() RETURNING id");
  postgres::DbSession session = database_.as_runner();
  auto turn = [&](int number, int64_t credits) {
    take_hold(session, run, 1000, 8000);
    commit_turn(session, run, number, credits);
    for (int i = 0; i < 5; ++i) session.run(query::BudgetAlertsSend{.at_most = 100});
  };
  auto sent = [&] {
    return fixture_.column(
        "SELECT string_agg(fields ->> 'percent', ' ' ORDER BY id) FROM outbox WHERE kind = 'mail'");
  };
  turn(1, 5);
  EXPECT_EQ(sent(), "");
  turn(2, 50);
  EXPECT_EQ(sent(), "10 50") << "two at once";
  turn(3, 1);
  EXPECT_EQ(sent(), "10 50");
  change_budget(database_, fixture_, id, R"({"amount": "1000"})");
  turn(4, 100);
  EXPECT_EQ(sent(), "10 50") << "raising the amount repeats none";
}

// Local midnight as Postgres reads it, before, in and after both changes of summer time.
TEST_F(BudgetWaits, FollowTheClockOfTheirZone) {
  for (const char* zone : {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}) {
    EXPECT_EQ(fixture_.column(fmt::format(
                  "SELECT count(*) FROM generate_series('2026-03-01T00:00Z'::timestamptz, "
                  "'2026-11-30T00:00Z', interval '31 minutes') AS at "
                  "CROSS JOIN budget_window('day', '{0}', at, at) AS w "
                  "WHERE w.begins_at > at OR w.renews_at <= at "
                  "OR (w.begins_at AT TIME ZONE '{0}')::date <> (at AT TIME ZONE '{0}')::date "
                  "OR (w.renews_at AT TIME ZONE '{0}')::date <> (at AT TIME ZONE '{0}')::date + 1",
                  zone)),
              "0")
        << zone;
  }
  EXPECT_EQ(fixture_.column("SELECT extract(epoch FROM renews_at - begins_at)::int FROM "
                            "budget_window('day', "
                            "'Europe/Berlin', now(), '2026-10-25T12:00Z')"),
            "90000");
}

}  // namespace
}  // namespace hostler
