// Runs whose daemon is gone go on elsewhere, whatever the platform starts meanwhile; daemons of
// hosts with one name leave each other alone; a run that breaks is given up instead of being kept
// for ever; a daemon whose essential task broke ends.
//
// TAKE_OVER_RUNS (20; `make faults`: 200): how many runs a second are started meanwhile.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include <fmt/format.h>

#include "lib/loop/task_set.h"
#include "tests/support/clients/raw_client.h"
#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t take_over_ms_max = 20'000;
constexpr int64_t callers_of_load = 20;
constexpr int64_t runs_of_the_dead = 6;

// New runs at regular intervals, for as long as it lives.
class Load {
 public:
  Load(ApiStack& stack, const TestUser& user, int64_t runs_a_second) : stack_(stack) {
    for (int64_t i = 0; i < 3 * runs_a_second; ++i) {
      chats_.push_back(make_thread(user.client));
      post_message(user.client, chats_.back(), "[say hi]");
    }
    for (int64_t caller = 0; caller < callers_of_load; ++caller) {
      callers_.emplace_back([this, runs_a_second, caller, token = user.client.token] {
        start_runs(runs_a_second, caller, token);
      });
    }
  }
  ~Load() { end(); }
  void end() {
    is_over_ = true;
    for (std::thread& caller : callers_) {
      if (caller.joinable()) caller.join();
    }
  }
  int64_t made() const { return made_; }
  int64_t refused() const { return refused_; }

 private:
  // One caller's part of the runs, each at its time; the chats take turns.
  void start_runs(int64_t runs_a_second, int64_t caller_number, const std::string& token) {
    RawClient caller(stack_.line().base_url(), ApiStack::certificate());
    int64_t begin_ms = monotonic_ms();
    for (int64_t number = caller_number; !is_over_; number += callers_of_load) {
      int64_t wait_ms = begin_ms + number * 1000 / runs_a_second - monotonic_ms();
      if (wait_ms > 0) let_pass(static_cast<int>(wait_ms));
      const std::string& chat = chats_[static_cast<size_t>(number) % chats_.size()];
      Received received = caller.ask({"POST", "/v1/threads/" + chat + "/runs", {}, {}, {}}, token);
      // 409: its last run is not over yet.
      ++(received.answer.status == 201 ? made_ : refused_);
    }
  }

  ApiStack& stack_;
  std::vector<std::string> chats_;
  std::atomic<bool> is_over_ = false;
  std::atomic<int64_t> made_ = 0;
  std::atomic<int64_t> refused_ = 0;
  std::vector<std::thread> callers_;
};

class TakeOver : public testing::Test {
 protected:
  TakeOver() { add_fake_model(stack_, R"("output_usd_per_mtok":20)"); }

  static ApiStackOptions options() {
    ApiStackOptions options;
    options.has_runner = true;
    options.settings = {"HOSTLER_LIMIT_CONCURRENT_RUNS=100000",
                        "HOSTLER_CREDIT_INITIAL_GRANT=100000000"};
    return options;
  }
  int64_t number(const std::string& text) { return sql_number(stack_, text); }
  std::string value(const std::string& text) { return sql_value(stack_, text); }
  std::string column(const std::string& what, const std::string& run_id) {
    return value(fmt::format("SELECT {} FROM runs WHERE id = '{}'", what, run_id));
  }
  // Until it is so; how long that took, -1 when it never was.
  int64_t wait_for(const std::string& condition, int64_t max_ms = 25'000) {
    int64_t begin_ms = monotonic_ms();
    bool is_so(eventually(max_ms, [&] { return value("SELECT " + condition) == "t"; }));
    return is_so ? monotonic_ms() - begin_ms : -1;
  }
  int64_t wait_for_run(const std::string& what, const std::string& run_id,
                       int64_t max_ms = 25'000) {
    return wait_for(fmt::format("{} FROM runs WHERE id = '{}'", what, run_id), max_ms);
  }
  std::string other_instance() { return stack_.folder() + "/stream-other.sock"; }
  // A second daemon; its id.
  std::string start_other() {
    std::string known = value("SELECT count(*) FROM daemons");
    other_ = &stack_.start_other_runner();
    EXPECT_GE(wait_for(fmt::format("count(*) > {} FROM daemons", known)), 0);
    return value("SELECT id FROM daemons ORDER BY id DESC LIMIT 1");
  }
  // Runs until so many of them are the daemon's, and it writes them.
  std::vector<std::string> runs_until(const std::string& daemon_id, int64_t count,
                                      const std::string& script) {
    std::string writes = fmt::format(
        "SELECT count(*) FROM runs WHERE owner_id = '{}' AND id = ANY (string_to_array('{{}}', "
        "' ')::uuid[]) AND EXISTS (SELECT FROM run_events e WHERE e.run_id = runs.id AND e.type = "
        "'message.delta')",
        daemon_id);
    std::vector<std::string> run_ids;
    std::string all;
    EXPECT_TRUE(eventually(20'000, [&] {
      if (run_ids.size() < 80) {
        run_ids.push_back(start_output(user_.client, script));
        all += (all.empty() ? "" : " ") + run_ids.back();
      }
      return number(fmt::format(fmt::runtime(writes), all)) >= count;
    })) << "the daemon claims no runs";
    return run_ids;
  }
  std::string runner_log(const char* name = "/runner.log") {
    return read_text_file(stack_.folder() + name);
  }

  ApiStack stack_{options()};
  TestUser user_ = register_user(stack_);
  Child* other_ = nullptr;
};

TEST_F(TakeOver, IsNotPutOffByRunsThatAreStartedMeanwhile) {
  int64_t wanted = parameter("TAKE_OVER_RUNS", 20);
  std::string dead = start_other();
  Load load(stack_, user_, wanted);
  std::vector<std::string> run_ids = runs_until(dead, runs_of_the_dead, "[delay 100] [words 60]");
  other_->send_signal(SIGKILL);
  other_->wait();
  int64_t begin_ms = monotonic_ms();
  // Postgres finishes what it was sent: a claim, the end of a run.
  std::string died_at = value("SELECT clock_timestamp()");
  ASSERT_GE(wait_for(fmt::format("count(*) = 0 FROM pg_stat_activity WHERE xact_start < '{}' AND "
                                 "datname = current_database()",
                                 died_at)),
            0);
  std::string owned = fmt::format("owner_id = '{}'", dead);
  int64_t left = number("SELECT count(*) FROM runs WHERE " + owned);
  ASSERT_GE(left, runs_of_the_dead);
  int64_t made = load.made();
  EXPECT_GE(wait_for(fmt::format("count(*) = 0 FROM runs WHERE {}", owned), 30'000), 0)
      << number("SELECT count(*) FROM runs WHERE " + owned) << " of " << left << " go on nowhere";
  int64_t took_ms = monotonic_ms() - begin_ms;
  EXPECT_LE(took_ms, take_over_ms_max);
  int64_t started = load.made() - made;
  EXPECT_GE(started * 1000, took_ms * wanted * 9 / 10)
      << "the daemon was left in peace; " << load.refused() << " were refused";
  load.end();
  ASSERT_TRUE(all_runs_end(stack_));
  EXPECT_EQ(number("SELECT count(*) FROM runs WHERE take_overs > 1"), 0) << "taken over twice";
  EXPECT_EQ(number("SELECT count(*) FROM runs WHERE take_overs = 1"), left);
  EXPECT_EQ(number("SELECT count(*) FROM runs WHERE status <> 'completed'"), 0);
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_EQ(money_faults(stack_), "");
  fmt::print("{} runs taken over {} ms after their daemon's death, {} started meanwhile\n", left,
             took_ms, started);
}

// The second daemon finds the first one's row as that of a host with its own name and instance: a
// cloned machine, or a container of the same image.
TEST_F(TakeOver, LeavesADaemonAloneWhoseHostHasTheSameName) {
  std::string script = "[delay 100] [words 150]";
  std::string first = value("SELECT id FROM daemons");
  std::string run_id = runs_until(first, 1, script).front();
  stack_.sql().run_text(fmt::format("UPDATE daemons SET instance = '{}'", other_instance()));
  std::string twin = start_other();
  EXPECT_EQ(number("SELECT count(*) FROM daemons WHERE stopped_at IS NULL"), 2);
  std::string same_name = "SELECT count(DISTINCT (host, instance)) FROM daemons";
  EXPECT_EQ(number(same_name), 1);
  std::string whose = "owner_id || ' ' || take_overs || ' ' || crash_count";
  EXPECT_EQ(column(whose, run_id), first + " 0 0");

  // Its own successor goes on at once with what it had, and with nothing else.
  runs_until(twin, 2, script);
  int64_t had = number(fmt::format("SELECT count(*) FROM runs WHERE owner_id = '{}'", twin));
  other_->send_signal(SIGKILL);
  other_->wait();
  start_other();
  EXPECT_GE(wait_for(fmt::format("count(*) >= {} FROM runs WHERE take_overs = 1", had), 2000), 0);
  EXPECT_EQ(column(whose, run_id), first + " 0 0");
  EXPECT_EQ(number("SELECT count(*) FROM daemons WHERE stopped_at IS NULL"), 2);
}

TEST_F(TakeOver, KnowsADaemonAgainThatWasMarkedAsStopped) {
  stack_.sql().run_text("UPDATE daemons SET stopped_at = now()");
  EXPECT_GE(wait_for("stopped_at IS NULL FROM daemons", 6000), 0);
}

// The text that its subscribers were shown cannot be read, so neither its fault nor its text can be
// written. The run is handed back, and ends once everything works.
TEST_F(TakeOver, GivesARunUpThatBreaks) {
  TestUser admin = register_admin(stack_);
  ASSERT_EQ(admin.client.put("/v1/admin/settings/run.lease_seconds", R"({"value":2})").status, 200);
  std::string provider = value("SELECT id FROM llm_providers WHERE org_id IS NULL");
  ASSERT_EQ(admin.client.patch("/v1/llm-providers/" + provider, R"({"api_key":"sk-x"})").status,
            200);
  stack_.sql().run_text(
      "UPDATE secrets SET sealed = set_byte(sealed, 0, get_byte(sealed, 0) # 1) WHERE id = (SELECT "
      "secret_id FROM llm_providers WHERE org_id IS NULL)");
  stack_.sql().run_text("ALTER FUNCTION run_streamed_text RENAME TO run_shown_text_away");
  std::string run_id = start_output(user_.client, "[say hi]");
  ASSERT_GE(wait_for_run("take_overs > 0", run_id, 30'000), 0) << "it is kept for ever";
  EXPECT_EQ(column("status", run_id), "running");
  stack_.sql().run_text("ALTER FUNCTION run_shown_text_away RENAME TO run_streamed_text");
  ASSERT_GE(wait_for_run("ended_at IS NOT NULL", run_id, 60'000), 0);
  EXPECT_EQ(column("status", run_id), "failed");
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_NE(runner_log().find("run_broke"), std::string::npos);
}

TEST_F(TakeOver, EndsWhenAnEndCannotBeWritten) {
  TestUser admin = register_admin(stack_);
  ASSERT_EQ(admin.client.put("/v1/admin/settings/run.lease_seconds", R"({"value":2})").status, 200);
  stack_.sql().run_text(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no "
      "answer today'; END $$; CREATE TRIGGER refuse BEFORE INSERT ON messages FOR EACH ROW WHEN "
      "(NEW.role = 'assistant') EXECUTE FUNCTION refuse()");
  std::string thread_id = make_thread(user_.client);
  // Slow enough for words to be stored before the end that takes its transaction down with it:
  // a run of which nothing was shown has no answer to be refused.
  post_message(user_.client, thread_id, "[delay 50] [words 10]");
  std::string run_id =
      user_.client.post("/v1/threads/" + thread_id + "/runs", "{}").member("run_id");
  ASSERT_GE(wait_for_run("ended_at IS NOT NULL", run_id, 90'000), 0)
      << column("row_to_json(runs)", run_id);
  EXPECT_EQ(column("status || ' ' || error_code", run_id), "failed run.crashed");
  EXPECT_EQ(value("SELECT type FROM run_events WHERE run_id = '" + run_id +
                  "' ORDER BY seq DESC LIMIT 1"),
            "run.failed");
  EXPECT_NE(runner_log().find("run_abandoned"), std::string::npos);
  stack_.sql().run_text("DROP TRIGGER refuse ON messages");
  EXPECT_EQ(user_.client.post("/v1/threads/" + thread_id + "/runs", "{}").status, 201)
      << "its thread is free";
  EXPECT_TRUE(all_runs_end(stack_));
  EXPECT_EQ(money_faults(stack_), "");
}

// Postgres refuses the heartbeat: the daemon says so, lives, and is heard of later.
TEST_F(TakeOver, IsNotNeededForAStatementThatFailsForAWhile) {
  std::string first = value("SELECT id FROM daemons");
  std::string run_id = runs_until(first, 1, "[delay 100] [words 80]").front();
  stack_.sql().run_text("ALTER TABLE daemons RENAME TO daemons_away");
  auto is_reported = [this] { return runner_log().find("heartbeat_refused") != std::string::npos; };
  EXPECT_TRUE(eventually(6'000, is_reported));
  stack_.sql().run_text("ALTER TABLE daemons_away RENAME TO daemons");
  ASSERT_GE(wait_for_run("ended_at IS NOT NULL", run_id), 0);
  EXPECT_EQ(column("status || ' ' || take_overs", run_id), "completed 0");
  EXPECT_TRUE(stack_.runner().is_running());
}

TEST_F(TakeOver, IsNotForADaemonWhoseSettingsNameAFileThatCannotBeRead) {
  Child& broken = stack_.start_other_runner("HOSTLER_OUTBOUND_CA_FILE=/nonexistent");
  ASSERT_TRUE(eventually(10'000, [&broken] { return !broken.is_running(); }));
  int status = broken.wait();
  EXPECT_TRUE(WIFEXITED(status)) << "by a signal";
  EXPECT_EQ(WEXITSTATUS(status), 78);
  EXPECT_NE(runner_log("/runner-other.log").find("outbound.ca_file"), std::string::npos);
}

TEST_F(TakeOver, BeginsWithADaemonThatEndsWhenItCannotBegin) {
  stack_.sql().run_text(
      "ALTER FUNCTION daemon_start(text, text, text, uuid) RENAME TO daemon_start_away");
  Child& broken = stack_.start_other_runner();
  ASSERT_TRUE(eventually(10'000, [&broken] { return !broken.is_running(); }));
  int status = broken.wait();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), loop::exit_task_ended);
  EXPECT_NE(runner_log("/runner-other.log").find("essential_task_ended"), std::string::npos);
  stack_.sql().run_text("ALTER FUNCTION daemon_start_away RENAME TO daemon_start");
  start_other();
  EXPECT_EQ(number("SELECT count(*) FROM daemons WHERE stopped_at IS NULL"), 2);
}

}  // namespace
}  // namespace hostler::testing_support
