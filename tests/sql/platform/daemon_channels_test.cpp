// Tests notifications: a new run is announced to one daemon that has room, a request to a run to
// its owner, and a full daemon passes the notification on.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "lib/loop/loop.h"
#include "lib/postgres/database.h"
#include "queries/daemon.h"
#include "queries/daemons.h"
#include "queries/runs.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using testing_support::RunFixture;
using testing_support::TestDatabase;

class DaemonChannels : public testing::Test {
 protected:
  DaemonChannels() {
    auto on_notify = [this](std::string_view channel, std::string_view payload) {
      if (payload == "mark") return loop_.stop();
      heard_.push_back(std::string(channel) + " " + std::string(payload));
    };
    ears_.listen({channel_of(first_), channel_of(second_), "hostler_runs", "hostler_control"},
                 on_notify, [this] { loop_.stop(); });
    loop_.run();
  }

  static std::string channel_of(std::string daemon_id) {
    std::erase(daemon_id, '-');
    return "hostler_daemon_" + daemon_id;
  }
  static postgres::DatabaseOptions options(const TestDatabase& database) {
    postgres::DatabaseOptions options;
    options.conninfo = database.runner_url();
    return options;
  }

  void set_room(const std::string& daemon_id, int room) {
    fixture_.column("UPDATE daemons SET room = " + std::to_string(room) + " WHERE id = '" +
                    daemon_id + "' RETURNING 1");
  }

  // Returns what is heard because of the statement.
  std::vector<std::string> heard_of(postgres::DbSession session,
                                    const postgres::BoundStatement& statement) {
    heard_.clear();
    session.run(statement);
    database_.as_superuser().run_text("NOTIFY hostler_runs, 'mark'");
    loop_.run();
    return heard_;
  }
  std::vector<std::string> heard_of_new_run() {
    return heard_of(database_.as_api(), query::RunNotify{});
  }
  // Done every few seconds. A daemon without heartbeat for 10 s gets no notifications, and a test
  // of many turns takes longer on a busy machine.
  void heartbeat() {
    fixture_.column("UPDATE daemons SET heartbeat_at = clock_timestamp() RETURNING 1");
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  std::string first_ = fixture_.new_daemon("/run/1.sock");
  std::string second_ = fixture_.new_daemon("/run/2.sock");
  loop::Loop loop_;
  postgres::Database ears_{loop_, options(database_)};
  std::vector<std::string> heard_;
};

using Received = std::vector<std::string>;

TEST_F(DaemonChannels, ANewRunIsToldToOneDaemonThatHasRoom) {
  set_room(first_, 0);
  set_room(second_, 3);
  for (int i = 0; i < 5; ++i) {
    heartbeat();
    EXPECT_EQ(heard_of_new_run(), Received{channel_of(second_) + " "});
  }
  set_room(first_, 1);
  std::set<std::string> reported;
  for (int i = 0; i < 60; ++i) {
    heartbeat();
    reported.insert(heard_of_new_run().at(0));
  }
  EXPECT_EQ(reported.size(), 2U) << "each is told now and then";
}

TEST_F(DaemonChannels, ANewRunIsToldToSomebodyWhoeverHasRoom) {
  set_room(first_, 0);
  set_room(second_, 0);
  EXPECT_EQ(heard_of_new_run().size(), 1U);
  fixture_.column("UPDATE daemons SET heartbeat_at = now() - interval '1 minute' RETURNING 1");
  EXPECT_EQ(heard_of_new_run(), Received{"hostler_runs "}) << "all, when none was heard of";
}

TEST_F(DaemonChannels, AFullDaemonPassesItOnOnce) {
  set_room(first_, 1);
  set_room(second_, 1);
  EXPECT_EQ(heard_of(database_.as_runner(), query::DaemonPassOn{.daemon_id = first_}),
            Received{channel_of(second_) + " "});
  EXPECT_EQ(heard_of(database_.as_runner(), query::DaemonPassOn{.daemon_id = second_}), Received{});
}

TEST_F(DaemonChannels, WhatIsAskedOfARunIsToldToItsOwner) {
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  std::vector<std::string> run_ids{run_id};
  EXPECT_EQ(heard_of(database_.as_api(), query::RunControlNotify{.run_ids = run_ids}),
            Received{"hostler_control " + run_id});
  fixture_.claim(second_, run_id);
  EXPECT_EQ(heard_of(database_.as_api(), query::RunControlNotify{.run_ids = run_ids}),
            Received{channel_of(second_) + " " + run_id});
}

}  // namespace
}  // namespace hostler
