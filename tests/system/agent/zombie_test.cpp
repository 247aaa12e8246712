// A daemon that stands still (SIGSTOP) loses its runs: their leases lapse and another goes on with
// them. When it wakes up (SIGCONT) it still holds its models' answers and knows of nothing: what it
// writes changes no row. The runs end once each, are paid for once, and whoever follows one at
// either daemon reads the same lines.
//
// The check is shown a zombie whose writes nobody refuses. ZOMBIE_STOPS (1; `make soak`: 50).
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <numeric>
#include <random>

#include <fmt/format.h>

#include "tests/support/clients/stream_client.h"
#include "tests/support/eventually.h"
#include "tests/support/parameters.h"
#include "tests/support/peers/faulty_proxy.h"
#include "tests/support/rigs/run_harness.h"
#include "tests/support/rows/run_faults.h"
#include "tests/support/rows/threads.h"

namespace hostler::testing_support {
namespace {

constexpr int64_t lease_ms = 2000;
// The lease, the poll that finds it lapsed, and what a busy machine adds to them.
constexpr int64_t take_over_ms_max = lease_ms + 1000 + 2000;
constexpr int64_t runs_of_the_zombie = 3;
// Some four seconds: longer than the daemon stands still.
constexpr const char* script =
    "[delay 20] [words 40] [tool no_such_tool {}] [delay 20] [words 40] [tool no_such_tool {}] "
    "[delay 20] [words 120]";

class Zombie : public testing::Test {
 protected:
  Zombie() : proxy_(TestDatabase::socket()), stack_(behind(proxy_)), user_(register_user(stack_)) {
    add_fake_model(stack_, R"("output_usd_per_mtok":20)");
    std::string first = "SELECT coalesce(min(id::text), '') FROM daemons WHERE stopped_at IS NULL";
    EXPECT_TRUE(eventually(20'000, [&] {
      zombie_id_ = sql_value(stack_, first);
      return !zombie_id_.empty();
    }));
    stack_.start_other_runner();
    other_socket_ = stack_.folder() + "/stream-other.sock";
    EXPECT_TRUE(eventually(20'000, [&] { return access(other_socket_.c_str(), R_OK) == 0; }));
  }
  ~Zombie() override { stack_.runner().send_signal(SIGCONT); }

  // The first daemon's line to Postgres tells whether it writes.
  static ApiStackOptions behind(const FaultyProxy& line) {
    ApiStackOptions options;
    options.has_runner = true;
    options.runner_database_host = line.folder();
    options.settings = {"HOSTLER_LIMIT_CONCURRENT_RUNS=100000",
                        fmt::format("HOSTLER_RUN_LEASE_SECONDS={}", lease_ms / 1000)};
    return options;
  }

  int64_t owned() {
    return sql_number(stack_,
                      fmt::format("SELECT count(*) FROM runs WHERE owner_id = '{}'", zombie_id_));
  }

  // Runs, until the daemon that will stand still has its share and writes them.
  void start_runs() {
    std::string writes = fmt::format(
        "SELECT count(*) FROM runs WHERE owner_id = '{}' AND EXISTS (SELECT 1 FROM run_events e "
        "WHERE e.run_id = runs.id AND e.type = 'message.delta')",
        zombie_id_);
    ASSERT_TRUE(eventually(20'000, [&] {
      if (run_ids_.size() < 60) run_ids_.push_back(start_output(user_.client, script));
      return sql_number(stack_, writes) >= runs_of_the_zombie;
    })) << "the daemon claims no runs";
  }

  // Until another has every run of the daemon, which stands still.
  void stand_still() {
    stack_.runner().send_signal(SIGSTOP);
    EXPECT_TRUE(eventually(take_over_ms_max, [&] { return owned() == 0; })) << "taken over late";
  }

  // Whether it wrote events of a run that it lost.
  bool wakes_and_writes() {
    int before = proxy_.faults();
    proxy_.arm({FaultKind::delay, LineEnd::client, "message.delta"});
    stack_.runner().send_signal(SIGCONT);
    bool wrote(eventually(3000, [&] { return proxy_.faults() > before; }));
    proxy_.disarm();
    return wrote;
  }

  FaultyProxy proxy_;
  ApiStack stack_;
  TestUser user_;
  std::string zombie_id_;
  std::string other_socket_;
  std::vector<std::string> run_ids_;
};

TEST_F(Zombie, ThatWakesUpChangesNoRow) {
  unsigned seed = static_cast<unsigned>(parameter("ZOMBIE_SEED", std::random_device{}()));
  SCOPED_TRACE(fmt::format("ZOMBIE_SEED={}", seed));
  std::minstd_rand random(seed);
  int64_t wrote = 0;
  int64_t stops = parameter("ZOMBIE_STOPS", 1);
  for (int64_t stop = 0; stop < stops; ++stop) {
    run_ids_.clear();
    start_runs();
    StreamAsk asked{run_ids_.front(), user_.client.token, "", "", {}};
    StreamClient at_the_zombie(stack_.folder() + "/stream.sock", asked);
    StreamClient at_the_other(other_socket_, asked);
    ASSERT_TRUE(at_the_zombie.read_until("message.delta"));
    at_some_moment(random, 400);
    stand_still();
    if (wakes_and_writes()) ++wrote;
    ASSERT_TRUE(all_runs_end(stack_)) << "runs are stuck";
    EXPECT_TRUE(at_the_zombie.read_to_end() && at_the_other.read_to_end());
    std::vector<int64_t> seqs(at_the_other.seqs().size());
    std::iota(seqs.begin(), seqs.end(), 1);
    EXPECT_EQ(at_the_other.seqs(), seqs);
    EXPECT_EQ(at_the_zombie.frames(), at_the_other.frames());
  }
  EXPECT_GT(wrote, 0) << "no zombie tried to write";
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_EQ(money_faults(stack_), "");
  EXPECT_EQ(sql_number(stack_, "SELECT count(*) FROM runs WHERE status <> 'completed'"), 0);
  int64_t resumed = sql_number(stack_, "SELECT sum(take_overs)::bigint FROM runs");
  EXPECT_GE(resumed, stops * runs_of_the_zombie) << "nothing was taken over";
  EXPECT_EQ(resumed,
            sql_number(stack_, "SELECT count(*) FROM run_events WHERE type = 'run.resumed'"));
  fmt::print("{} stops, {} runs taken over, {} zombies wrote\n", stops, resumed, wrote);
}

// Effects of a zombie's writes if nobody checked its epoch. The new owner finds its number taken
// and gives the run up: the next one discards the zombie's text. After the end it stays, and a turn
// is charged twice.
TEST_F(Zombie, WhoseWritesNobodyRefusesIsSeen) {
  start_runs();
  std::string lost =
      fmt::format("SELECT coalesce(min(id::text), '') FROM runs WHERE owner_id = '{}'", zombie_id_);
  std::string run_id = sql_value(stack_, lost);
  stand_still();
  std::string resumed = fmt::format(
      "SELECT count(*) FROM run_events WHERE run_id = '{}' AND type = 'run.resumed'", run_id);
  EXPECT_TRUE(eventually(20'000, [&] { return sql_number(stack_, resumed) > 0; }));
  // Like event_append and runs_commit, without the fence.
  std::string naive = fmt::format(
      "INSERT INTO run_events (run_id, seq, type, data) SELECT run_id, max(seq) + 1, "
      "'message.delta', '{{\"content\":\"zombie\"}}' FROM run_events WHERE run_id = '{}' "
      "GROUP BY run_id ON CONFLICT DO NOTHING RETURNING seq",
      run_id);
  ASSERT_TRUE(eventually(20'000, [&] { return stack_.sql().run_text(naive).size() > 0; }));
  stack_.runner().send_signal(SIGCONT);
  ASSERT_TRUE(all_runs_end(stack_));
  EXPECT_EQ(run_faults(stack_), "");
  EXPECT_GE(sql_number(stack_, "SELECT take_overs FROM runs WHERE id = '" + run_id + "'"), 2);
  stack_.sql().run_text(naive);
  std::string faults = run_faults(stack_);
  EXPECT_NE(faults.find("goes on behind its end: " + run_id), std::string::npos) << faults;
  EXPECT_NE(faults.find("shown is not stored: " + run_id), std::string::npos) << faults;
  EXPECT_EQ(money_faults(stack_), "");
  stack_.sql().run_text(
      "UPDATE usage_records SET cost_nano_usd = 0 WHERE (run_id, turn) = (SELECT run_id, turn FROM "
      "usage_records WHERE cost_nano_usd > 0 LIMIT 1)");
  EXPECT_NE(money_faults(stack_), "") << "a turn is paid for that cost nothing";
}

}  // namespace
}  // namespace hostler::testing_support
