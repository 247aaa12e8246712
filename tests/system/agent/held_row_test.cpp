// Somebody holds one organization's rows for seconds, again and again, while the runs of fifty
// others go on: these notice nothing, keep their leases, and what waited is whole afterwards.
//
// HELD_ROWS (3; `make faults`: 9): how often a row is held. HELD_ROW_MS (3000; `make faults`:
// 10000): for how long.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr int others = 50;
constexpr double wait_s_max = 1.0;
// Time that the daemon has for its end.
constexpr int64_t drain_ms_max = 15'000;

class HeldRowStress : public testing::Test {
 protected:
  // Leases shorter than any row is held.
  HeldRowStress()
      : stack_({{"HOSTLER_RUN_LEASE_SECONDS=2"}, true}), victim_(register_user(stack_)) {
    add_fake_model(stack_);
    for (int i = 0; i < others; ++i) {
      users_.push_back(register_user(stack_));
      threads_.push_back(make_thread(users_.back().client));
      post_message(users_.back().client, threads_.back(), "[words 1]");
    }
  }

  std::string row_of(int number, const std::string& run_id) const {
    switch (number % 3) {
      case 0:
        return fmt::format("credit_accounts WHERE org_id = '{}'", victim_.org_id);
      case 1:
        return fmt::format("threads WHERE id = (SELECT thread_id FROM runs WHERE id = '{}')",
                           run_id);
      default:
        return fmt::format("runs WHERE id = '{}'", run_id);
    }
  }
  std::string a_run_that_is_claimed() {
    std::string run_id = start_output(victim_.client, "[delay 20] [words 50]");
    std::string claimed =
        "SELECT count(*) FROM runs WHERE owner_id IS NOT NULL AND id = '" + run_id + "'";
    EXPECT_TRUE(eventually(10'000, [&] { return sql_number(stack_, claimed) > 0; }));
    return run_id;
  }
  // Runs of the others, one a user at a time.
  void load(int64_t for_ms) {
    keep_doing(for_ms, [&, next = size_t{0}]() mutable {
      Answer answer = users_[next].client.post(runs_of(threads_[next]), "{}");
      EXPECT_TRUE(answer.status == 201 || answer.status == 202) << answer.status << answer.body;
      begun_ += 1;
      next = (next + 1) % users_.size();
      let_pass(40);
    });
  }
  // Seconds that runs of the others took from their claim to their end, the longest last.
  std::vector<double> times_of_others() {
    postgres::Result rows = stack_.sql().run_text(fmt::format(
        "SELECT (extract(epoch FROM coalesce(ended_at, clock_timestamp()) - started_at) "
        "* 1e6)::bigint AS took FROM runs WHERE org_id <> '{}' ORDER BY 1",
        victim_.org_id));
    std::vector<double> times;
    for (int i = 0; i < rows.size(); ++i) times.push_back(double(rows[i].integer("took")) / 1e6);
    return times;
  }

  ApiStack stack_;
  TestUser victim_;
  std::vector<TestUser> users_;
  std::vector<std::string> threads_;
  int64_t begun_ = 0;
};

TEST_F(HeldRowStress, OfOneOrganizationDelaysNobodyElse) {
  // Begun before and still at work afterwards: it needs its lease all the time.
  int64_t rows = parameter("HELD_ROWS", 3);
  int64_t held_ms = parameter("HELD_ROW_MS", 3000);
  std::string long_run = start_output(
      users_.front().client, fmt::format("[delay 100] [words {}]", rows * (held_ms + 1000) / 100));
  for (int number = 0; number < rows; ++number) {
    SCOPED_TRACE(number);
    std::string run_id = a_run_that_is_claimed();
    postgres::DbSession session = stack_.database().as_superuser();
    session.begin();
    ASSERT_EQ(session.run_text("SELECT FROM " + row_of(number, run_id) + " FOR UPDATE").size(), 1);
    load(held_ms);
    EXPECT_EQ(sql_value(stack_, "SELECT status FROM runs WHERE id = '" + run_id + "'"), "running");
    session.commit();
    EXPECT_EQ(wait_for_status(victim_.client, run_id, "completed"), "completed");
  }
  EXPECT_TRUE(all_runs_end(stack_));
  std::vector<double> times = times_of_others();
  ASSERT_GE(std::ssize(times), begun_);
  times.pop_back();  // the long one
  EXPECT_LE(times[times.size() * 99 / 100], wait_s_max);
  EXPECT_EQ(sql_number(stack_, fmt::format("SELECT count(*) FROM runs WHERE org_id <> '{}' AND "
                                           "(take_overs > 0 OR crash_count > 0)",
                                           victim_.org_id)),
            0);
  EXPECT_EQ(sql_value(stack_, "SELECT status FROM runs WHERE id = '" + long_run + "'"),
            "completed");
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_EQ(money_faults(stack_), "");
}

TEST_F(HeldRowStress, KeepsNoDaemonFromItsEnd) {
  std::string run_id = a_run_that_is_claimed();
  postgres::DbSession session = stack_.database().as_superuser();
  session.begin();
  session.run_text("SELECT FROM " + row_of(0, run_id) + " FOR UPDATE");
  std::string waiting =
      fmt::format("SELECT count(*) FROM pg_stat_activity WHERE {} = ANY (pg_blocking_pids(pid))",
                  session.run_text("SELECT pg_backend_pid()").text());
  ASSERT_TRUE(eventually(10'000, [&] { return sql_number(stack_, waiting) > 0; }))
      << "the daemon does not want the row";
  int64_t reported_ms = monotonic_ms();
  stack_.runner().send_signal(SIGTERM);
  EXPECT_EQ(stack_.runner().wait(), 0);
  EXPECT_LT(monotonic_ms() - reported_ms, drain_ms_max);
  std::string handed_back =
      "SELECT count(*) FROM runs WHERE owner_id IS NULL AND crash_count = 0 "
      "AND take_overs = 1 AND id = '" +
      run_id + "'";
  EXPECT_EQ(sql_number(stack_, handed_back), 1);
  session.commit();
  stack_.start_runner();
  EXPECT_EQ(wait_for_status(victim_.client, run_id, "completed"), "completed");
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_EQ(money_faults(stack_), "");
}

}  // namespace
}  // namespace hostler::testing_support
