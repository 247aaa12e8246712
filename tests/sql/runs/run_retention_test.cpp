// Tests what becomes of the events of runs that are long over: months go whole, unless a run in
// them still writes.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "queries/maintenance.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

class RunRetention : public ::testing::Test {
 protected:
  void add_month(const std::string& month, const std::string& next) {
    fixture_.column(
        fmt::format("CREATE TABLE run_events_{} PARTITION OF run_events FOR VALUES FROM "
                    "(uuidv7_floor('{}-01Z')) "
                    "TO (uuidv7_floor('{}-01Z'))",
                    std::string(month).replace(4, 1, "_"), month, next));
  }
  bool has_month(const std::string& month) {
    return fixture_.column(fmt::format("SELECT to_regclass('run_events_{}') IS NOT NULL", month)) ==
           "t";
  }
  // A run with one event that began at that moment.
  std::string new_run(const std::string& moment) {
    std::string run_id = fixture_.new_run(fixture_.new_thread());
    fixture_.column("UPDATE threads SET active_run_id = NULL");
    std::string old_id =
        fixture_.column(fmt::format("UPDATE runs SET id = overlay(uuidv7()::text placing "
                                    "left(uuidv7_floor('{}')::text, 13) from 1 "
                                    "for 13)::uuid WHERE id = '{}' RETURNING id",
                                    moment, run_id));
    fixture_.column(fmt::format(
        "INSERT INTO run_events (run_id, seq, type, data) VALUES ('{}', 1, 'run.started', '{{}}')",
        old_id));
    return old_id;
  }
  void end(const std::string& run_id) {
    fixture_.column(fmt::format(
        "UPDATE runs SET status = 'failed', ended_at = now(), last_seq = 1 WHERE id = '{}'",
        run_id));
  }
  int64_t prune(int64_t days = 90) {
    postgres::DbSession session = database_.as_runner();
    return session.run(query::RunEventsPrune{.run_events_retention_days = days})[0].integer(
        "dropped");
  }
  TestDatabase database_;
  RunFixture fixture_{database_};
};

TEST_F(RunRetention, DropsAMonthACallAndTheOldestFirst) {
  add_month("2020-01", "2020-02");
  add_month("2020-02", "2020-03");
  end(new_run("2020-01-31T23:59:59.9Z"));
  EXPECT_EQ(prune(), 1);
  EXPECT_FALSE(has_month("2020_01"));
  EXPECT_TRUE(has_month("2020_02"));
  EXPECT_EQ(prune(), 1);
  EXPECT_EQ(prune(), 0) << "what is young stays";
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  fixture_.column(fmt::format(
      "INSERT INTO run_events (run_id, seq, type, data) VALUES ('{}', 1, 'run.started', '{{}}')",
      run_id));
  EXPECT_EQ(prune(1), 0);
  EXPECT_EQ(fixture_.column("SELECT count(*) FROM run_events"), "1");
}

TEST_F(RunRetention, PassesOverMonthsThatHoldUnfinishedRuns) {
  add_month("2020-01", "2020-02");
  add_month("2020-02", "2020-03");
  std::string waiting = new_run("2020-01-10T00:00:00Z");
  end(new_run("2020-02-10T00:00:00Z"));
  EXPECT_EQ(prune(), 1);
  EXPECT_TRUE(has_month("2020_01")) << "its run may still write";
  EXPECT_FALSE(has_month("2020_02"));
  EXPECT_EQ(prune(), 0);
  end(waiting);
  EXPECT_EQ(prune(), 1);
}

TEST_F(RunRetention, KeepsAMonthUntilItsLastDayIsBeyondIt) {
  std::string last_month = fixture_.column(
      "SELECT to_char(date_trunc('month', now() AT TIME ZONE 'UTC') - interval '1 day', "
      "'YYYY-MM')");
  std::string this_month = fixture_.column("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM')");
  bool is_there = has_month(std::string(last_month).replace(4, 1, "_"));  // on a month's first day
  if (!is_there) add_month(last_month, this_month);
  postgres::DbSession session = database_.as_superuser();
  postgres::Result today =
      session.run_text("SELECT extract(day FROM now() AT TIME ZONE 'UTC')::int AS day");
  int64_t day = today[0].integer("day");
  EXPECT_EQ(prune(day), 0) << "its last day is so many days ago, and counts";
  if (day > 1) {
    EXPECT_EQ(prune(day - 1), 1);
  }
}

// By pages of two runs: each counts once, however often it is asked.
TEST_F(RunRetention, GivesBackWhatTheEventsOfDroppedMonthsTook) {
  add_month("2020-01", "2020-02");
  add_month("2020-02", "2020-03");
  for (int day = 1; day <= 5; ++day) end(new_run(fmt::format("2020-01-0{}T00:00:00Z", day)));
  end(new_run("2020-02-01T00:00:00Z"));
  end(new_run("2020-02-02T00:00:00Z"));
  fixture_.column("UPDATE runs SET event_bytes = 100, result_bytes = 7");
  fixture_.column("UPDATE credit_accounts SET stored_bytes = 7 * 107 + 50");
  auto stored = [this] { return fixture_.column("SELECT stored_bytes FROM credit_accounts"); };
  auto free = [this] {
    postgres::DbSession session = database_.as_runner();
    return session.run(query::RunEventsFree{.at_most = 2})[0].boolean("more");
  };
  EXPECT_FALSE(free());
  EXPECT_EQ(stored(), "799") << "nothing was dropped";
  EXPECT_EQ(prune(), 1);
  EXPECT_TRUE(free());
  EXPECT_EQ(stored(), "599");
  for (int page = 0; page < 3; ++page) free();
  EXPECT_EQ(stored(), "299");
  EXPECT_EQ(prune(), 1);
  for (int page = 0; page < 3; ++page) free();
  EXPECT_EQ(stored(), "99") << "results stay, and so does what is young";
}

TEST_F(RunRetention, IsTheDaemonsAlone) {
  EXPECT_THROW(database_.as_api().run_text("SELECT run_events_prune(1)"), Error);
}

}  // namespace
}  // namespace hostler::testing_support
