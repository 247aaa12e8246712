// Tests what a run survives: daemons and hosts that die, connections that are cut or fall silent,
// notifications that nobody hears. Each has its bound in time, and none costs a run.
#include <gtest/gtest.h>
#include <signal.h>

#include <fmt/format.h>

#include "tests/support/clients/stream_client.h"
#include "tests/support/eventually.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

class RunFaults : public ::testing::Test {
 protected:
  RunFaults() { add_fake_model(stack_); }

  std::string column(const std::string& what, const std::string& run_id) {
    return sql_value(stack_, fmt::format("SELECT {} FROM runs WHERE id = '{}'", what, run_id));
  }
  // Asks until the value of the run's column is so; how long that took, -1 when it never was.
  int64_t wait_for(const std::string& run_id, const std::string& what, const std::string& value,
                   int64_t max_ms = 25'000) {
    int64_t begin_ms = monotonic_ms();
    bool is_so(eventually(max_ms, [&] { return column(what, run_id) == value; }));
    return is_so ? monotonic_ms() - begin_ms : -1;
  }
  int64_t wait_for_end(const std::string& run_id, int64_t max_ms = 25'000) {
    return wait_for(run_id, "ended_at IS NOT NULL", "t", max_ms);
  }
  // A daemon executes it, and has said so: the first, or after so many take-overs.
  bool is_begun(const std::string& run_id, int take_overs = 0) {
    return wait_for(run_id,
                    fmt::format("owner_id IS NOT NULL AND (SELECT count(*) FROM run_events e WHERE "
                                "e.run_id = runs.id AND e.type LIKE 'run.%') = {}",
                                take_overs + 1),
                    "t") >= 0;
  }
  std::string types_of(const std::string& run_id) {
    return sql_value(stack_,
                     fmt::format("SELECT string_agg(type, ' ' ORDER BY seq) FROM run_events "
                                 "WHERE run_id = '{}' AND type <> 'message.delta'",
                                 run_id));
  }
  // A run of which no daemon was notified; owned: its owner and epoch.
  std::string run_in_silence(const std::string& message, const std::string& owned = "NULL, 0") {
    std::string model_run = run_story(user_.client, "[say hi]").run_id;
    std::string thread_id = make_thread(user_.client);
    post_message(user_.client, thread_id, message);
    std::string run_id = sql_value(
        stack_,
        fmt::format("INSERT INTO runs (org_id, thread_id, created_by_user_id, source, trace_id, "
                    "persona_id, persona_row_id, model_id, model, provider_kind, credential_name, "
                    "owner_id, epoch) SELECT org_id, '{}', created_by_user_id, "
                    "source, trace_id, persona_id, "
                    "persona_row_id, model_id, model, provider_kind, credential_name, {} "
                    "FROM runs WHERE id = '{}' RETURNING id",
                    thread_id, owned, model_run));
    stack_.sql().run_text("SELECT account_runs_recount()");
    return run_id;
  }
  void cut_daemons_connections() {
    stack_.sql().run_text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'hostler_runner' "
        "AND datname = current_database()");
  }

  ApiStack stack_{ApiStackOptions{{}, true}};
  TestUser user_ = register_user(stack_);
};

TEST_F(RunFaults, ThreeTakeOversWithoutAStepFailTheRun) {
  std::string run_id = start_output(user_.client, "[words 5] [stall]");
  for (int crashes = 0; crashes < 3; ++crashes) {
    ASSERT_TRUE(is_begun(run_id, crashes)) << "crash " << crashes;
    stack_.kill_runner();
    stack_.start_runner();
  }
  ASSERT_GE(wait_for_end(run_id), 0);
  EXPECT_EQ(column("status || ' ' || error_code", run_id), "failed run.crashed");
  EXPECT_EQ(types_of(run_id), "run.started run.resumed run.resumed run.failed");
  EXPECT_EQ(run_story(user_.client, "[say well]").status, "completed") << "others go on";
}

TEST_F(RunFaults, AStepBetweenTakeOversForgivesThem) {
  std::string run_id = start_output(
      user_.client,
      "[tool no_such_tool {}] [pause 2500] [say one] [tool no_such_tool {}] [say two]");
  stack_.sql().run_text(fmt::format("UPDATE runs SET crash_count = 2 WHERE id = '{}'", run_id));
  ASSERT_GE(wait_for_end(run_id), 0);
  EXPECT_EQ(column("status || ' ' || crash_count", run_id), "completed 0");
}

TEST_F(RunFaults, ADaemonThatRestartsOnItsHostGoesOnWithinTwoSeconds) {
  std::string run_id = start_output(user_.client, "[delay 100] [words 60]");
  ASSERT_TRUE(is_begun(run_id));
  stack_.kill_runner();
  int64_t begin_ms = monotonic_ms();
  stack_.start_runner();
  ASSERT_GE(wait_for(run_id, "take_overs > 0 AND owner_id IS NOT NULL", "t"), 0);
  EXPECT_LE(monotonic_ms() - begin_ms, 2000);
  ASSERT_GE(wait_for_end(run_id), 0);
  EXPECT_EQ(types_of(run_id), "run.started run.resumed run.completed");
}

TEST_F(RunFaults, TheRunsOfAHostThatIsGoneGoOnWithinTwentySeconds) {
  std::string run_id = start_output(user_.client, "[delay 100] [words 40]");
  ASSERT_TRUE(is_begun(run_id));
  stack_.kill_runner();
  int64_t begin_ms = monotonic_ms();
  // Whoever starts now is on another host, and does not know that this daemon is dead.
  stack_.sql().run_text("UPDATE daemons SET host = 'a host that is gone'");
  stack_.start_runner();
  ASSERT_GE(wait_for(run_id, "take_overs > 0", "t"), 0);
  int64_t took_ms = monotonic_ms() - begin_ms;
  EXPECT_LE(took_ms, 20'000);
  EXPECT_GE(took_ms, 3'000) << "its lease was not waited for";
  ASSERT_GE(wait_for_end(run_id), 0);
  EXPECT_EQ(types_of(run_id), "run.started run.resumed run.completed");
}

TEST_F(RunFaults, ANotificationThatNobodyHearsCostsAPoll) {
  std::string run_id = run_in_silence("[say heard] [stall]");
  EXPECT_GE(wait_for(run_id, "owner_id IS NOT NULL", "t", 2500), 0) << "not claimed";
  stack_.sql().run_text(
      fmt::format("UPDATE runs SET cancel_requested_at = now() WHERE id = '{}'", run_id));
  EXPECT_GE(wait_for_end(run_id, 2500), 0) << "not cancelled";
  EXPECT_EQ(types_of(run_id), "run.started run.cancelled");
}

// Also the answers of claims are cut: what was claimed without anybody's knowing is found again.
TEST_F(RunFaults, CutConnectionsCostNoRun) {
  std::vector<std::string> runs;
  for (int round = 0; round < 40; ++round) {
    TestUser user = register_user(stack_);
    for (int i = 0; i < 5; ++i) runs.push_back(start_output(user.client, "[words 10]"));
    cut_daemons_connections();
  }
  for (const std::string& run_id : runs) {
    ASSERT_GE(wait_for_end(run_id, 40'000), 0) << column("row_to_json(runs)", run_id);
    EXPECT_EQ(column("status", run_id), "completed");
  }
  EXPECT_EQ(run_story(user_.client, "[say well]").status, "completed");
}

TEST_F(RunFaults, ARunThatIsClaimedUnknownToItsDaemonIsFoundAgain) {
  // As when the claim's answer never came: the row says that the daemon has it.
  std::string run_id = run_in_silence("[say found]",
                                      "(SELECT id FROM daemons WHERE stopped_at IS NULL), "
                                      "nextval('run_epochs')");
  EXPECT_GE(wait_for_end(run_id, 20'000), 0) << "it is owned for ever";
  EXPECT_EQ(column("status", run_id), "completed");
}

// The server behind a connection of the daemon stands still: it answers nothing and sends nothing.
class SilentConnection {
 public:
  // Whose application is so named, and whose last statement was like this. It is stopped while it
  // waits for its client: a server that stands still with a lock would silence all others too.
  SilentConnection(ApiStack& stack, const std::string& application, const std::string& statement) {
    auto backend = [&](const std::string& condition) {
      return static_cast<pid_t>(sql_number(
          stack, fmt::format("SELECT coalesce(min(pid), 0) FROM pg_stat_activity WHERE datname = "
                             "current_database() AND application_name = '{}' AND query LIKE '{}' "
                             "AND state = 'idle' AND wait_event = 'ClientRead'{}",
                             application, statement, condition)));
    };
    auto is_silenced = [&] {
      pid_ = backend("");
      if (pid_ == 0) return false;
      is_silent_ = kill(pid_, SIGSTOP) == 0;
      if (!is_silent_ || backend(fmt::format(" AND pid = {}", pid_)) == pid_) return true;
      kill(pid_, SIGCONT);
      return false;
    };
    if (eventually(10'000, is_silenced)) return;
    throw std::runtime_error("no connection of " + application);
  }
  ~SilentConnection() { kill(pid_, SIGCONT); }
  SilentConnection(const SilentConnection&) = delete;
  SilentConnection& operator=(const SilentConnection&) = delete;
  // False: Postgres belongs to somebody else, and its processes cannot be stopped.
  bool is_silent() const { return is_silent_; }

 private:
  pid_t pid_ = 0;
  bool is_silent_ = false;
};

constexpr const char* listening = "hostler-runner listening";
// A poll a second, and what a busy machine adds to it.
constexpr int64_t poll_ms_max = 1'500;

TEST_F(RunFaults, AListeningConnectionThatFallsSilentCostsAPoll) {
  for (int round = 0; round < 3; ++round) {
    SilentConnection silent(stack_, listening, "%");
    if (!silent.is_silent()) GTEST_SKIP() << "Postgres belongs to somebody else";
    int64_t begin_ms = monotonic_ms();
    std::string run_id = start_output(user_.client, "[say heard] [stall]");
    ASSERT_GE(wait_for(run_id, "owner_id IS NOT NULL", "t"), 0);
    EXPECT_LE(monotonic_ms() - begin_ms, poll_ms_max) << "claimed late";
    // By now it is replaced: a new one hears.
    int64_t cancelled_ms = monotonic_ms();
    stack_.sql().run_text(
        fmt::format("UPDATE runs SET cancel_requested_at = now() WHERE id = '{}'", run_id));
    ASSERT_GE(wait_for_end(run_id), 0);
    EXPECT_LE(monotonic_ms() - cancelled_ms, poll_ms_max) << "cancelled late";
  }
}

// Pretends that another daemon wrote the run's events: its subscribers here learn of them by
// notification only, once the daemons know of each other.
TEST_F(RunFaults, AListeningConnectionThatFallsSilentDelaysSubscribersByAPoll) {
  // Nobody's heart beats for it.
  Answer patience =
      register_admin(stack_).client.put("/v1/admin/settings/run.lease_seconds", R"({"value":300})");
  ASSERT_EQ(patience.status, 200);
  std::string other = sql_value(
      stack_,
      "INSERT INTO daemons (host, instance, version, heartbeat_at) VALUES ('elsewhere', 'p', '0', "
      "now() + interval '1 hour') RETURNING id");
  std::string run_id =
      run_in_silence("[say never]", fmt::format("'{}', nextval('run_epochs')", other));
  StreamClient subscriber(stack_.folder() + "/stream.sock",
                          {run_id, user_.client.token, "", "", {}});
  int64_t seq = 0;
  auto write_event = [&](bool is_reported) {
    stack_.sql().run_text(fmt::format(
        "INSERT INTO run_events (run_id, seq, type, data) VALUES ('{}', {}, 'message.delta', "
        "'{{\"content\":\"x\"}}')",
        run_id, ++seq));
    if (is_reported) stack_.sql().run_text(fmt::format("NOTIFY hostler_events, '{}'", run_id));
    int64_t begin_ms = monotonic_ms();
    EXPECT_TRUE(subscriber.read_until(fmt::format("id: {}\n", seq))) << subscriber.received();
    return monotonic_ms() - begin_ms;
  };
  // While it does not count on notifications it looks every second; from then on it hears.
  auto hears = [&] { return write_event(true) <= 100; };
  ASSERT_TRUE(eventually(20'000, hears, 3)) << "it never hears";
  SilentConnection silent(stack_, listening, "%");
  if (!silent.is_silent()) GTEST_SKIP() << "Postgres belongs to somebody else";
  EXPECT_LE(write_event(true), poll_ms_max);
  EXPECT_TRUE(eventually(5'000, hears, 3)) << "no connection in its place";
}

// The connection that claims: nothing is claimed until it is replaced.
TEST_F(RunFaults, AClaimingConnectionThatFallsSilentIsReplaced) {
  SilentConnection silent(stack_, "hostler-runner", "SELECT count(*) > 0 AS runs_wait%");
  if (!silent.is_silent()) GTEST_SKIP() << "Postgres belongs to somebody else";
  std::string run_id = start_output(user_.client, "[say heard]");
  int64_t took_ms = wait_for_end(run_id);
  EXPECT_GE(took_ms, 0);
  EXPECT_LE(took_ms, 5'000);
  EXPECT_EQ(column("status", run_id), "completed");
}

}  // namespace
}  // namespace hostler::testing_support
