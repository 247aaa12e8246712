// Whom a daemon takes for its predecessor, who counts as alive, and whose leases are over.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "queries/daemon.h"
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

// As daemons of the version before call it, beside newer ones.
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

TEST_F(DaemonsTest, RunsWhoseLeaseLapsedAreCountedUntilTheyAreTakenOver) {
  std::string lapsed_run = fixture_.new_run(fixture_.new_thread());
  std::string good_run = fixture_.new_run(fixture_.new_thread());
  std::string daemon = fixture_.new_daemon("a");
  fixture_.claim(daemon, lapsed_run);
  postgres::DbSession session = database_.as_runner();
  auto counted = [&] { return session.run(query::MetricsFacts{}).front().integer("runs_lapsed"); };
  int64_t before = counted();
  session.run_text("UPDATE runs SET lease_until = now() - interval '1 second' WHERE id = '" +
                   lapsed_run + "'");
  EXPECT_EQ(counted(), before + 1);
  std::string other = fixture_.new_daemon("b");
  session.run(query::RunTakeOver{.daemon_id = other, .limit = 1000, .run_lease_seconds = 60});
  EXPECT_EQ(counted(), 0);
  EXPECT_EQ(run_column("owner_id || ' ' || take_overs", lapsed_run), other + " 1");
  EXPECT_EQ(run_column("owner_id || ' ' || take_overs", good_run), daemon + " 0");
}

}  // namespace
}  // namespace hostler::testing_support
