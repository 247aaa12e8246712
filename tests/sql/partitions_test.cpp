// Partitions come and go without standing in the way of those who read and write the table.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include <fmt/format.h>

#include "lib/error.h"
#include "queries/daemon.h"
#include "queries/maintenance.h"
#include "queries/metrics.h"
#include "tests/support/eventually.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

class Partitions : public testing::Test {
 protected:
  std::string sql(const std::string& text) {
    postgres::Result answer = owner_.run_text(text);
    return answer.empty() ? "" : std::string(answer.text());
  }
  // The name of the month's partition, so many months from now.
  std::string month(int from_now) {
    return sql(
        fmt::format("SELECT to_char(date_trunc('month', now() AT TIME ZONE 'UTC') + interval '{} "
                    "months', '\"run_events_\"YYYY_MM')",
                    from_now));
  }
  bool is_there(const std::string& table) {
    return sql(fmt::format("SELECT to_regclass('{}') IS NOT NULL", table)) == "t";
  }
  int64_t ahead() {
    postgres::DbSession runner = database_.as_runner();
    postgres::Result facts = runner.run(query::MetricsFacts{});
    EXPECT_GE(facts[0].integer("audit_months_ahead"), 1);
    return facts[0].integer("event_months_ahead");
  }
  // The strongest that the session's transaction holds on tables that were there before: those of
  // parents, of tables that they refer to, of indexes. Parted by spaces.
  std::string locks_of(const std::string& application) {
    return sql(
        fmt::format("SELECT coalesce(string_agg(DISTINCT l.relation::regclass || ':' || l.mode, "
                    "' '), '') FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid "
                    "JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n "
                    "ON n.oid = c.relnamespace WHERE a.application_name = '{}' AND n.nspname = "
                    "'public' AND l.mode NOT IN ('AccessShareLock', 'RowShareLock')",
                    application));
  }

  // With its own patience: a session of the tests has any.
  static bool gives_up_soon(postgres::DbSession& runner,
                            const postgres::BoundStatement& statement) {
    runner.run_text("SET lock_timeout = '10s'");
    int64_t begin_ms = monotonic_ms();
    try {
      runner.run(statement);
    } catch (const Error&) {
      return monotonic_ms() - begin_ms < 1900;
    }
    return false;
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
  postgres::DbSession owner_ = database_.as_superuser();
};

TEST_F(Partitions, AreMadeBesideReadersAndWriters) {
  sql("DROP TABLE " + month(3));
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  auto write = [&](postgres::DbSession& session, int seq) {
    session.run_text(
        fmt::format("SET lock_timeout = '1s'; INSERT INTO run_events (run_id, seq, type, data) "
                    "VALUES ('{}', {}, 'run.started', '{{}}')",
                    run_id, seq));
  };
  // Locks like pg_dump, and like a batch of events.
  postgres::DbSession reader = database_.as_superuser();
  reader.begin();
  reader.run_text("SELECT count(*) FROM run_events");
  postgres::DbSession writer = database_.as_superuser();
  writer.begin();
  write(writer, 1);

  postgres::DbSession runner = database_.as_runner();
  runner.run_text("SET application_name = 'who makes partitions'");
  runner.begin();
  runner.run(query::EventPartitions{});
  EXPECT_EQ(locks_of("who makes partitions"),
            "run_events:ShareUpdateExclusiveLock run_events_pkey:ShareUpdateExclusiveLock");
  postgres::DbSession later = database_.as_superuser();
  write(later, 2);
  EXPECT_EQ(later.run_text("SELECT count(*) FROM run_events").text(), "1");
  runner.commit();
  writer.commit();
  EXPECT_TRUE(is_there(month(3)));
}

TEST_F(Partitions, OfTheAccessLogTooAreMadeBesideReadersAndWriters) {
  sql("DO $$ BEGIN EXECUTE 'DROP TABLE access_log_' || to_char((now() AT TIME ZONE 'UTC')::date + "
      "3, 'YYYY_MM_DD'); END $$");
  postgres::DbSession reader = database_.as_superuser();
  reader.begin();
  reader.run_text("SELECT count(*) FROM access_log");
  postgres::DbSession runner = database_.as_runner();
  runner.run_text("SET application_name = 'who makes days'");
  runner.begin();
  runner.run(query::AccessLogPartitions{});
  EXPECT_EQ(locks_of("who makes days"),
            "access_log:ShareUpdateExclusiveLock access_log_client:ShareUpdateExclusiveLock "
            "access_log_org:ShareUpdateExclusiveLock "
            "access_log_pkey:ShareUpdateExclusiveLock access_log_user:ShareUpdateExclusiveLock");
}

TEST_F(Partitions, LockNothingWhenTheyAreThere) {
  postgres::DbSession runner = database_.as_runner();
  runner.run_text("SET application_name = 'who has nothing to do'");
  runner.begin();
  runner.run(query::EventPartitions{});
  runner.run(query::AccessLogPartitions{});
  EXPECT_EQ(locks_of("who has nothing to do"), "");
}

TEST_F(Partitions, AreAsIfTheyHadBeenMadeAsSuch) {
  sql("DROP TABLE " + month(3));
  database_.as_runner().run(query::EventPartitions{});
  sql("SET ROLE hostler_owner; CREATE TABLE run_events_2001_01 PARTITION OF run_events FOR VALUES "
      "FROM (uuidv7_floor('2001-01-01Z')) TO (uuidv7_floor('2001-02-01Z')); RESET ROLE");
  auto reported = [&](const std::string& table) {
    return sql(fmt::format(
        "SELECT concat_ws('; ', c.relowner::regrole, c.relacl, c.relrowsecurity, "
        "(SELECT string_agg(concat_ws(' ', attname, atttypid::regtype, attnotnull, attislocal, "
        "attinhcount), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > "
        "0), (SELECT string_agg(concat_ws(' ', contype, pg_get_constraintdef(oid), conislocal, "
        "coninhcount, conparentid), ', ' ORDER BY contype, conparentid) FROM pg_constraint WHERE "
        "conrelid = c.oid), (SELECT string_agg(substr(pg_get_indexdef(indexrelid), "
        "strpos(pg_get_indexdef(indexrelid), 'USING')), ', ') FROM pg_index WHERE indrelid = "
        "c.oid)) FROM pg_class c WHERE oid = '{}'::regclass",
        table));
  };
  EXPECT_EQ(reported(month(3)), reported("run_events_2001_01"));
  EXPECT_NE(reported(month(3)).find("run_id uuid"), std::string::npos);
}

TEST_F(Partitions, AreMadeOnceByManyDaemonsAtOnce) {
  sql(fmt::format("DROP TABLE {}, {}", month(2), month(3)));
  EXPECT_EQ(ahead(), 1);
  std::vector<std::thread> daemons;
  for (int i = 0; i < 6; ++i) {
    daemons.emplace_back([&] { database_.as_runner().run(query::EventPartitions{}); });
  }
  for (std::thread& daemon : daemons) daemon.join();
  EXPECT_EQ(ahead(), 3);
}

TEST_F(Partitions, AreCountedAheadUpToTheFirstGap) {
  EXPECT_EQ(ahead(), 3);
  sql("DROP TABLE " + month(2));
  EXPECT_EQ(ahead(), 1);
  sql("DROP TABLE " + month(0));
  EXPECT_EQ(ahead(), -1);
}

TEST_F(Partitions, OfAnyTableGetWhatIsLeftOfAMonth) {
  sql("CREATE TABLE log (at timestamptz) PARTITION BY RANGE (at)");
  sql("DO $$ BEGIN EXECUTE format('CREATE TABLE log_before PARTITION OF log FOR VALUES FROM "
      "(MINVALUE) TO (%L)', date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + "
      "interval '40 days'); END $$");
  EXPECT_EQ(sql("SELECT month_partitions_ahead('log')"), "0");
  EXPECT_EQ(sql("SELECT month_partitions_make('log', 2)"), "2");
  EXPECT_EQ(sql("SELECT month_partitions_ahead('log')"), "2");
  EXPECT_EQ(sql("SELECT month_partitions_make('log', 2)"), "0");
  EXPECT_EQ(sql("INSERT INTO log SELECT now() + n * interval '1 day' FROM generate_series(-90, 58) "
                "AS n RETURNING 1"),
            "1");
  // A partition is dropped only after its last row is old enough, and only the oldest one.
  EXPECT_EQ(sql("SELECT month_partitions_expire('log', interval '1 day')"), "0");
  EXPECT_EQ(sql("SELECT month_partitions_expire('log', interval '-99 days')"), "1");
  EXPECT_FALSE(is_there("log_before"));
  EXPECT_EQ(sql("SELECT count(*) FROM range_partitions('log')"), "2");
}

TEST_F(Partitions, AreLeftToWhoIsAtThem) {
  sql("DROP TABLE " + month(3));
  postgres::DbSession first = database_.as_runner();
  first.begin();
  first.run(query::event_partitions);
  postgres::DbSession second = database_.as_runner();
  EXPECT_NO_THROW(second.run(query::event_partitions)) << "nobody waits";
  EXPECT_FALSE(is_there(month(3)));
  first.commit();
  EXPECT_TRUE(is_there(month(3)));
}

TEST_F(Partitions, AreGivenUpSoonWhileTheTableIsHeld) {
  sql("DROP TABLE " + month(3));
  postgres::DbSession psql = database_.as_superuser();
  psql.begin();
  psql.run_text("LOCK TABLE run_events IN SHARE UPDATE EXCLUSIVE MODE");
  postgres::DbSession runner = database_.as_runner();
  EXPECT_TRUE(gives_up_soon(runner, {&query::event_partitions, {}}));
  psql.commit();
  runner.run(query::event_partitions);
  EXPECT_TRUE(is_there(month(3)));
}

TEST_F(Partitions, AreNotDroppedWhileSomebodyReadsAndNobodyWaitsForThat) {
  sql("CREATE TABLE run_events_2001_01 PARTITION OF run_events FOR VALUES FROM "
      "(uuidv7_floor('2001-01-01Z')) TO (uuidv7_floor('2001-02-01Z')); "
      "SELECT range_partition_make('audit_logs', 'audit_logs_2001_01', '2001-01-01Z', "
      "'2001-02-01Z'), range_partition_make('access_log', 'access_log_2001_01_01', "
      "'2001-01-01Z', '2001-01-02Z')");
  const std::vector<std::pair<std::string, postgres::BoundStatement>> tables{
      {"run_events", query::RunEventsPrune{.run_events_retention_days = 90}},
      {"audit_logs", query::AuditPrune{.audit_retention_days = 90}},
      {"access_log", query::AccessLogPrune{.access_log_retention_days = 90}}};
  for (const auto& [table, prune] : tables) {
    postgres::DbSession reader = database_.as_superuser();
    reader.begin();
    reader.run_text("SELECT count(*) FROM " + table);
    postgres::DbSession runner = database_.as_runner();
    EXPECT_TRUE(gives_up_soon(runner, prune)) << table;
    reader.commit();
    EXPECT_TRUE(runner.run(prune)[0].boolean("more")) << table;
    EXPECT_EQ(
        sql("SELECT count(*) FROM range_partitions('" + table + "') WHERE ends < '2002-01-01Z'"),
        "0");
  }
}

TEST_F(Partitions, AreTheDaemonsAloneAndOnlyThoseOfItsTables) {
  for (const char* call : {"run_events_make_partitions()", "access_log_make_partitions()",
                           "access_log_prune(30)", "access_log_files_prune(1)"}) {
    EXPECT_THROW(database_.as_api().run_text(fmt::format("SELECT {}", call)), Error) << call;
  }
  for (const char* call :
       {"month_partitions_make('run_events', 9)", "month_partitions_expire('run_events', '1 day')",
        "oldest_partition_drop('run_events', now())"}) {
    EXPECT_THROW(database_.as_runner().run_text(fmt::format("SELECT {}", call)), Error) << call;
  }
}

}  // namespace
}  // namespace hostler::testing_support
