// One daemon of all does the periodic jobs. It dies, or stands still amid a page: another has its
// place within 15 seconds, and what the first one still had under way commits nothing. The clocks
// of the hosts have no part in it.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <memory>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rigs/run_program.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t replaced_ms_max = 15'000;

class MaintainerTest : public testing::Test {
 protected:
  void begin(std::vector<std::string> settings = {}) {
    stack_ = std::make_unique<ApiStack>(ApiStackOptions{std::move(settings), true});
    EXPECT_TRUE(becomes("SELECT epoch = 1 AND daemon_id IS NOT NULL FROM maintainer"));
    first_ = sql_value(*stack_, "SELECT daemon_id FROM maintainer");
    stack_->start_other_runner();
    EXPECT_TRUE(becomes("SELECT count(*) = 2 FROM daemons WHERE stopped_at IS NULL"));
  }
  void TearDown() override {
    if (is_stopped_) stack_->runner().send_signal(SIGCONT);
  }
  testing::AssertionResult becomes(const std::string& text, int64_t limit_ms = 20'000) {
    return eventually(limit_ms, [&] { return sql_value(*stack_, text) == "t"; });
  }
  // Another one has the place, and did each job.
  void expect_replaced() {
    EXPECT_TRUE(becomes("SELECT epoch = 2 AND daemon_id <> '" + first_ + "' FROM maintainer",
                        replaced_ms_max));
    EXPECT_TRUE(
        becomes("SELECT bool_and(j.done_at > m.since) FROM maintenance_jobs j, maintainer "
                "m WHERE j.period_ms >= 60000"));
  }
  std::string metrics(const std::string& which) {
    return run_program({"/usr/bin/curl", "-sS", "--unix-socket",
                        stack_->folder() + "/metrics-runner" + which + ".sock", "http://x/"})
        .out;
  }
  static bool says(const std::string& metrics, const std::string& line) {
    return metrics.find("\n" + line) != std::string::npos;
  }

  std::unique_ptr<ApiStack> stack_;
  bool is_stopped_ = false;
  std::string first_;  // the daemon that began as the maintainer
};

TEST_F(MaintainerTest, IsOneOfTwoUntilItIsKilled) {
  begin();
  EXPECT_TRUE(eventually(20'000, [this] {
    return says(metrics(""), "hostler_runner_is_maintainer 1\n") &&
           says(metrics("-other"), "hostler_runner_is_maintainer 0\n");
  }));
  std::string done = "hostler_runner_maintenance_rounds_total{job=\"run_expire_inputs\"} ";
  EXPECT_TRUE(says(metrics(""), done));
  EXPECT_FALSE(says(metrics("-other"), done)) << "it does nothing yet";
  stack_->kill_runner();
  expect_replaced();
  EXPECT_TRUE(says(metrics("-other"), "hostler_runner_is_maintainer 1\n"));
  EXPECT_TRUE(says(metrics("-other"), done));
}

// Its page is under way in Postgres while it stands still, and would commit behind the other's.
TEST_F(MaintainerTest, CommitsNothingOfAPageWhenItStoodStill) {
  begin({"HOSTLER_RUN_LEASE_SECONDS=2"});
  stack_->sql().run_text(
      "CREATE TABLE pages (epoch bigint); CREATE FUNCTION page() RETURNS trigger LANGUAGE plpgsql "
      "SECURITY DEFINER AS $$ DECLARE e bigint := (SELECT epoch FROM public.maintainer); BEGIN "
      "INSERT INTO public.pages VALUES (e); IF e = 1 THEN PERFORM pg_sleep(8.5); END IF; RETURN "
      "NULL; END $$; CREATE TRIGGER page BEFORE DELETE ON platform_deltas FOR EACH STATEMENT "
      "EXECUTE FUNCTION page()");
  const char* asleep =
      "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = "
      "current_database()";
  ASSERT_TRUE(becomes(asleep)) << "platform_roll_up comes each ten seconds";
  stack_->runner().send_signal(SIGSTOP);
  is_stopped_ = true;
  expect_replaced();
  ASSERT_TRUE(becomes(asleep)) << "the first one's page is over too early to tell anything";
  EXPECT_TRUE(becomes("SELECT count(*) > 0 FROM pages WHERE epoch = 2"));
  EXPECT_TRUE(becomes(fmt::format("SELECT NOT ({})", asleep)));
  EXPECT_EQ(sql_number(*stack_, "SELECT count(*) FROM pages WHERE epoch = 1"), 0);

  stack_->runner().send_signal(SIGCONT);
  EXPECT_TRUE(
      eventually(20'000, [this] { return says(metrics(""), "hostler_runner_is_maintainer 0\n"); }));
  EXPECT_EQ(sql_number(*stack_, "SELECT epoch FROM maintainer"), 2) << "it does not come back";
}

TEST_F(MaintainerTest, IsTheSameHoweverClocksJump) {
  begin({"HOSTLER_RUN_LEASE_SECONDS=2"});
  // Dates of its heartbeats, as from a database whose clock jumps between any two of them.
  for (const char* interval : {"1 hour", "-1 hour", "400 days", "-400 days"}) {
    std::string jumped = fmt::format(
        "UPDATE daemons SET heartbeat_at = heartbeat_at + interval '{0}', started_at = started_at "
        "+ interval '{0}'; UPDATE maintainer SET since = since + interval '{0}'; UPDATE "
        "maintenance_jobs SET done_at = done_at + interval '{0}'",
        interval);
    int64_t heartbeats = sql_number(*stack_, "SELECT min(heartbeats) FROM daemons");
    EXPECT_TRUE(eventually(20'000, [&] {
      stack_->sql().run_text(jumped);
      return sql_number(*stack_, "SELECT min(heartbeats) FROM daemons") > heartbeats + 3;
    }));
    EXPECT_EQ(sql_number(*stack_, "SELECT epoch FROM maintainer"), 1) << interval;
  }
}

}  // namespace
}  // namespace hostler::testing_support
