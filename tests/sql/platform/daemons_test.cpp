// Tests which daemon counts as a predecessor, which counts as alive, and whose runs are freed.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/crypto.h"
#include "queries/daemon.h"
#include "queries/daemons.h"
#include "queries/metrics.h"
#include "tests/support/rigs/run_program.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

class DaemonsTest : public ::testing::Test {
 protected:
  std::string run_column(const std::string& column, const std::string& run_id) {
    return fixture_.column(fmt::format("SELECT {} FROM runs WHERE id = '{}'", column, run_id));
  }
  TestDatabase database_;
  RunFixture fixture_{database_};
};

// Cloned machines, or containers of one image: the same name, the same path, another lock.
TEST_F(DaemonsTest, TakesNothingFromAnotherHostOfItsName) {
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  std::string daemon = fixture_.new_daemon("a");
  int64_t epoch = fixture_.claim(daemon, run_id);
  postgres::DbSession session = database_.as_runner();
  auto start = [&](const char* host, const std::string& lock_id) {
    postgres::Result started = session.run(
        query::DaemonStart{.host = host, .instance = "a", .version = "1", .lock_id = lock_id});
    return std::string(started.text());
  };
  auto alive = [&](const std::string& one, const std::string& two, const std::string& three) {
    return fixture_.column(
        fmt::format("SELECT count(*) FROM daemons WHERE stopped_at IS NULL AND "
                    "id IN ('{}', '{}', '{}')",
                    one, two, three));
  };
  std::string clone = start("host", RunFixture::lock_id_of("on another host"));
  std::string renamed = start("another name", RunFixture::lock_id_of("a"));
  EXPECT_EQ(run_column("owner_id || ' ' || epoch || ' ' || crash_count", run_id),
            fmt::format("{} {} 0", daemon, epoch));
  EXPECT_EQ(alive(daemon, clone, renamed), "3");

  std::string successor = start("host", RunFixture::lock_id_of("a"));
  EXPECT_EQ(run_column("(owner_id IS NULL) || ' ' || crash_count", run_id), "true 1");
  EXPECT_EQ(alive(clone, renamed, successor), "3");
  EXPECT_EQ(alive(daemon, daemon, daemon), "0");
}

// Registers like daemons of the version before, beside newer ones.
TEST_F(DaemonsTest, FreesWithoutALockWhatOneWithoutALockOwned) {
  std::string first_run = fixture_.new_run(fixture_.new_thread());
  postgres::DbSession session = database_.as_runner();
  const char* start = "SELECT daemon_start('host', 'a', '1')";
  std::string old_daemon(session.run_text(start).text());
  fixture_.claim(old_daemon, first_run);
  std::string second_run = fixture_.new_run(fixture_.new_thread());
  fixture_.claim(fixture_.new_daemon("a"), second_run);
  session.run_text(start);
  EXPECT_EQ(run_column("owner_id IS NULL", first_run), "t");
  EXPECT_EQ(run_column("owner_id IS NULL", second_run), "f");
}

TEST_F(DaemonsTest, ThatLivesIsKnownAgainWhenItWasMarkedAsStopped) {
  std::string daemon = fixture_.new_daemon("a");
  std::string other = fixture_.new_daemon("b");
  postgres::DbSession session = database_.as_runner();
  auto was_stopped = [&] {
    postgres::Result heartbeat = session.run(
        query::DaemonHeartbeat{.daemon_id = daemon, .runs = 0, .streams = 0, .room = 1});
    return heartbeat.front().boolean("was_stopped");
  };
  auto others = [&] {
    return session.run(query::DaemonsAlive{.daemon_id = other}).front().integer("others");
  };
  EXPECT_FALSE(was_stopped());
  int64_t with_it = others();
  session.run(query::DaemonStop{.daemon_id = daemon});
  EXPECT_EQ(others(), with_it - 1);
  EXPECT_TRUE(was_stopped());
  EXPECT_EQ(others(), with_it);
  EXPECT_FALSE(was_stopped());
}

TEST_F(DaemonsTest, ThatAreLongOverAreForgottenWhenTheyOwnNothing) {
  std::string owning = fixture_.new_daemon("a");
  fixture_.claim(owning, fixture_.new_run(fixture_.new_thread()));
  std::string over = fixture_.new_daemon("b");
  std::string late = fixture_.new_daemon("c");
  std::vector<std::pair<std::string, int>> silent{{owning, 31}, {over, 31}, {late, 29}};
  for (const auto& [daemon, days] : silent) {
    fixture_.column(
        fmt::format("UPDATE daemons SET heartbeat_at = now() - interval '{} days' "
                    "WHERE id = '{}' RETURNING 1",
                    days, daemon));
  }
  fixture_.new_daemon("d");
  EXPECT_EQ(fixture_.column(fmt::format("SELECT count(*) FILTER (WHERE id = '{}') || ' ' || "
                                        "count(*) FILTER (WHERE id IN ('{}', '{}')) FROM daemons",
                                        over, owning, late)),
            "0 2");
}

TEST_F(DaemonsTest, RunsOfOneThatIsNotHeardOfAreCountedUntilTheyAreFree) {
  std::string lost_run = fixture_.new_run(fixture_.new_thread());
  std::string daemon = fixture_.new_daemon("a");
  fixture_.claim(daemon, lost_run);
  std::string good_run = fixture_.new_run(fixture_.new_thread());
  std::string other = fixture_.new_daemon("b");
  fixture_.claim(other, good_run);
  postgres::DbSession session = database_.as_runner();
  auto counted = [&] { return session.run(query::MetricsFacts{}).front().integer("runs_lapsed"); };
  int64_t before = counted();
  session.run_text("UPDATE daemons SET heartbeat_at = now() - interval '31 seconds' WHERE id = '" +
                   daemon + "'");
  EXPECT_EQ(counted(), before + 1);
  session.run(query::RunFree{.lost_id = daemon, .heartbeats = 0});
  EXPECT_EQ(counted(), before);
  EXPECT_EQ(run_column("(owner_id IS NULL) || ' ' || take_overs", lost_run), "true 1");
  EXPECT_EQ(run_column("owner_id || ' ' || take_overs", good_run), other + " 0");
}

TEST_F(DaemonsTest, RunsThatNoDaemonBringsToAnEndAreCountedAsStuck) {
  postgres::DbSession session = database_.as_runner();
  auto counted = [&](const char* column) {
    return session.run(query::MetricsFacts{}).front().integer(column);
  };
  std::string thread = fixture_.new_thread();
  std::string run = fixture_.new_run(thread);
  std::string queued = fixture_.new_run(thread, "enqueue");
  int64_t crashed = counted("runs_crashed"), left_queued = counted("runs_left_queued");
  auto crashes = [&](int count) {
    session.run_text(fmt::format("UPDATE runs SET crash_count = {} WHERE id = '{}'", count, run));
  };
  crashes(2);
  EXPECT_EQ(counted("runs_crashed"), crashed);
  crashes(3);
  EXPECT_EQ(counted("runs_crashed"), crashed + 1);
  EXPECT_EQ(counted("runs_left_queued"), left_queued);
  // Not as a run ends, which lets the next one begin.
  database_.as_superuser().run_text(
      "SET session_replication_role = replica; UPDATE runs SET status = 'failed', credits_held = 0,"
      " ended_at = now() WHERE id = '" +
      run + "'");
  EXPECT_EQ(counted("runs_crashed"), crashed);
  EXPECT_EQ(counted("runs_left_queued"), left_queued + 1);
}

TEST_F(DaemonsTest, ThatOwnRunsAreToldToTheOthersWithTheirBeats) {
  postgres::DbSession session = database_.as_runner();
  std::string a = fixture_.new_daemon("a"), b = fixture_.new_daemon("b");
  std::string idle = fixture_.new_daemon("idle");
  for (const std::string& daemon : {a, b}) {
    for (int i = 0; i < 3; ++i) {
      fixture_.claim(daemon, fixture_.new_run(fixture_.new_thread()));
    }
  }
  std::string unknown_run = fixture_.new_run(fixture_.new_thread());
  std::string unknown = "00000000-0000-7000-8000-000000000001";
  fixture_.claim(unknown, unknown_run);
  session.run(query::DaemonHeartbeat{.daemon_id = b, .runs = 3, .streams = 0, .room = 1});
  auto listed = [&](const std::string& daemon) {
    postgres::Result owners = session.run(query::RunOwners{.daemon_id = daemon});
    std::string text;
    for (int i = 0; i < owners.size(); ++i) {
      text += fmt::format("{} {}\n", owners[i].text("owner_id"),
                          owners[i].is_null("heartbeats") ? -1 : owners[i].integer("heartbeats"));
    }
    return text;
  };
  EXPECT_EQ(listed(idle), fmt::format("{} -1\n{} 0\n{} 1\n", unknown, a, b));
  EXPECT_EQ(listed(a), fmt::format("{} -1\n{} 1\n", unknown, b));
  session.run(query::RunFree{.lost_id = unknown, .heartbeats = std::nullopt});
  EXPECT_EQ(listed(a), fmt::format("{} 1\n", b));
}

// Three crashes fail a run: the third is counted only of one that was alone.
TEST_F(DaemonsTest, ThatDieAgainAndAgainBlameNobodyWithoutProof) {
  std::vector<std::string> run_ids;
  std::string daemon;
  auto begin = [&] {
    daemon = fixture_.new_daemon("a");
    postgres::DbSession session = database_.as_runner();
    session.run(RunFixture::claim_of(daemon, 100));
  };
  auto on_trial = [&](std::vector<std::string> ids) {
    database_.as_runner().run(query::RunTrial{.daemon_id = daemon, .run_ids = std::move(ids)});
  };
  auto crashes = [&] {
    std::string text;
    for (const std::string& run_id : run_ids) {
      text += run_column("crash_count || '/' || trials || ' '", run_id);
    }
    return text;
  };
  for (int i = 0; i < 4; ++i) run_ids.push_back(fixture_.new_run(fixture_.new_thread()));
  for (int i = 0; i < 5; ++i) begin();
  begin();
  EXPECT_EQ(crashes(), "2/0 2/0 2/0 2/0 ");
  on_trial({run_ids[0]});
  on_trial({run_ids[1], run_ids[2]});
  begin();
  EXPECT_EQ(crashes(), "2/0 2/1 2/1 2/0 ") << "the first one passed";
  on_trial({run_ids[1], run_ids[2]});
  on_trial({});
  begin();
  EXPECT_EQ(crashes(), "2/0 2/1 2/1 2/0 ") << "nobody was on trial";
  on_trial({run_ids[3]});
  begin();
  EXPECT_EQ(crashes(), "2/0 2/1 2/1 2/1 ") << "once may be chance";
  on_trial({run_ids[1]});
  begin();
  EXPECT_EQ(crashes(), "2/0 3/2 2/1 2/1 ");
  // A daemon's only run needs no trial.
  fixture_.column("UPDATE runs SET owner_id = NULL WHERE id <> '" + run_ids[0] + "'");
  fixture_.new_daemon("a");
  EXPECT_EQ(crashes(), "3/0 3/2 2/1 2/1 ");
}

// Between the look and the statement that frees its runs it was heard of again.
TEST_F(DaemonsTest, ThatBeatsMeanwhileKeepsItsRuns) {
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  std::string daemon = fixture_.new_daemon("a");
  fixture_.claim(daemon, run_id);
  postgres::DbSession session = database_.as_runner();
  session.run(query::DaemonHeartbeat{.daemon_id = daemon, .runs = 1, .streams = 0, .room = 1});
  EXPECT_TRUE(session.run(query::RunFree{.lost_id = daemon, .heartbeats = 0}).empty());
  EXPECT_TRUE(session.run(query::RunFree{.lost_id = daemon, .heartbeats = std::nullopt}).empty());
  EXPECT_EQ(run_column("owner_id", run_id), daemon);
  EXPECT_EQ(session.run(query::RunFree{.lost_id = daemon, .heartbeats = 1}).size(), 1);
  EXPECT_EQ(run_column("owner_id IS NULL", run_id), "t");
}

// A claim need not be durable, and the number of one that a server lost comes again.
TEST_F(DaemonsTest, NoEpochIsGivenTwice) {
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  std::string daemon_id = fixture_.new_daemon("a");
  std::set<int64_t> epochs;
  for (int claims = 0; claims < 4; ++claims) {
    fixture_.column("SELECT setval('run_epochs', 1000)");
    epochs.insert(fixture_.claim(daemon_id, run_id));
    fixture_.column("UPDATE runs SET owner_id = NULL RETURNING 1");
  }
  EXPECT_EQ(epochs.size(), 4U);
}

// Otherwise its service manager ends it after 90 seconds, for which an upgrade of the package
// waits.
TEST(DaemonWithoutASchema, IsStartedAndWaits) {
  std::string base = testing::TempDir() + "hostler-" + to_hex(random_bytes(8));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  base.copy(address.sun_path, sizeof address.sun_path - 1);
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  std::ofstream(base + ".key") << random_bytes(32);
  std::filesystem::permissions(base + ".key", std::filesystem::perms::owner_read);
  run_program({"/usr/bin/timeout", "3", build_folder() + "/hostler-runner"},
              {"NOTIFY_SOCKET=" + base, "HOSTLER_SECRETS_KEY_FILE=" + base + ".key",
               "HOSTLER_STREAM_SOCKET=" + base + ".sock", "HOSTLER_METRICS_RUNNER_SOCKET=",
               "HOSTLER_ACCESS_LOG_DIR=", "HOSTLER_DATABASE_URL=" + test_cluster_url()});
  std::string words(1024, '\0');
  ssize_t size = recv(fd, words.data(), words.size(), 0);
  words.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  close(fd);
  for (const char* end : {"", ".key", ".sock.lock"}) std::filesystem::remove(base + end);
  EXPECT_TRUE(words.starts_with("READY=1\nSTATUS=waiting: ")) << words;
}

}  // namespace
}  // namespace hostler::testing_support
