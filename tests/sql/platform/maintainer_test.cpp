// Tests who may take the maintainer's place, and what pages of its jobs commit when it is
// another's.
#include <gtest/gtest.h>

#include <thread>

#include <fmt/format.h>

#include "lib/error.h"
#include "queries/daemon.h"
#include "queries/daemons.h"
#include "queries/maintenance.h"
#include "tests/support/eventually.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {
namespace {

class MaintainerSql : public testing::Test {
 protected:
  // The epoch; 0 when the place is another's.
  int64_t take(const std::string& daemon, int64_t epoch_seen,
               const std::vector<std::string>& jobs = {"auth_prune", "outbox_prune"},
               postgres::DbSession* session = nullptr) {
    std::vector<int64_t> periods_ms(jobs.size(), 1000);
    postgres::Result taken =
        (session == nullptr ? session_ : *session)
            .run(query::MaintainerTake{
                .daemon_id = daemon, .epoch = epoch_seen, .jobs = jobs, .periods_ms = periods_ms});
    return taken.empty() ? 0 : taken.front().integer("epoch");
  }
  std::string seen() {
    postgres::Result row = session_.run(query::MaintainerLook{});
    return fmt::format("{} {}", row.front().integer("epoch"), row.front().text("daemon_id"));
  }
  void done(postgres::DbSession& session, const std::string& daemon, int64_t epoch) {
    session.run(query::MaintenanceDone{.daemon_id = daemon, .epoch = epoch, .job = "auth_prune"});
  }
  std::string value(const std::string& text) { return fixture_.column(text); }

  TestDatabase database_;
  RunFixture fixture_{database_};
  postgres::DbSession session_ = database_.as_runner();
  std::string a_ = fixture_.new_daemon("a");
  std::string b_ = fixture_.new_daemon("b");
};

TEST_F(MaintainerSql, IsOneOfAllThatSawThePlaceFree) {
  EXPECT_EQ(seen(), "0 ");
  EXPECT_EQ(take(a_, 0), 1);
  EXPECT_EQ(take(b_, 0), 0) << "it was not free any more";
  EXPECT_EQ(seen(), "1 " + a_);
  EXPECT_EQ(take(b_, 1), 2);
  EXPECT_EQ(seen(), "2 " + b_);
}

TEST_F(MaintainerSql, IsNobodyWhoSaidGoodBye) {
  take(a_, 0);
  session_.run(query::DaemonStop{.daemon_id = a_});
  EXPECT_EQ(seen(), "1 ") << "free at once";
  EXPECT_EQ(take(a_, 1), 0);
  EXPECT_EQ(take(b_, 1), 2);
}

TEST_F(MaintainerSql, HasTheJobsOfItsVersion) {
  take(a_, 0, {"auth_prune", "of_an_older_version"});
  done(session_, a_, 1);
  take(b_, 1, {"auth_prune", "of_a_newer_version"});
  EXPECT_EQ(value("SELECT string_agg(job, ' ' ORDER BY job) FROM maintenance_jobs"),
            "auth_prune of_a_newer_version");
  EXPECT_EQ(value("SELECT count(*) FROM maintenance_jobs WHERE done_at IS NOT NULL"), "1");
}

TEST_F(MaintainerSql, CommitsNothingWhenThePlaceIsAnothers) {
  take(a_, 0);
  session_.begin();
  session_.run_text("UPDATE daemons SET version = 'by a page' WHERE id = '" + a_ + "'");
  postgres::DbSession other = database_.as_runner();
  EXPECT_EQ(take(b_, 1, {}, &other), 2) << "a page that works holds nobody off";
  EXPECT_THROW(done(session_, a_, 1), Error);
  session_.rollback();
  EXPECT_EQ(value("SELECT count(*) FROM daemons WHERE version = 'by a page'"), "0");
}

TEST_F(MaintainerSql, IsReplacedBehindTheCommitThatAskedForThePlaceBefore) {
  take(a_, 0);
  session_.begin();
  session_.run_text("UPDATE daemons SET version = 'by a page' WHERE id = '" + a_ + "'");
  done(session_, a_, 1);
  std::thread taking([this] {
    postgres::DbSession other = database_.as_runner();
    take(b_, 1, {}, &other);
  });
  EXPECT_TRUE(eventually(10'000, [this] {
    return value("SELECT count(*) > 0 FROM pg_locks WHERE NOT granted") == "t";
  }));
  session_.commit();
  taking.join();
  EXPECT_EQ(seen(), "2 " + b_);
  EXPECT_EQ(value("SELECT count(*) FROM daemons WHERE version = 'by a page'"), "1");
}

TEST_F(MaintainerSql, NotesAPageThatFoundNothingEachTenSecondsAtMost) {
  take(a_, 0);
  auto noted = [this] {
    return value("SELECT coalesce(xmin::text, '') FROM maintenance_jobs WHERE job = 'auth_prune'");
  };
  done(session_, a_, 1);
  std::string first = noted();
  done(session_, a_, 1);
  EXPECT_EQ(noted(), first);
  for (const char* interval : {"-11 seconds", "1 hour"}) {  // the clock went back: noted too
    value(
        fmt::format("UPDATE maintenance_jobs SET done_at = clock_timestamp() + interval '{}' "
                    "RETURNING job",
                    interval));
    done(session_, a_, 1);
    EXPECT_EQ(value("SELECT done_at BETWEEN clock_timestamp() - interval '5 seconds' AND "
                    "clock_timestamp() FROM maintenance_jobs WHERE job = 'auth_prune'"),
              "t")
        << interval;
  }
  EXPECT_EQ(value("SELECT faults || coalesce(fault, '') FROM maintenance_jobs WHERE job = "
                  "'auth_prune'"),
            "0");
}

TEST_F(MaintainerSql, NotesAFaultOfItsOwnAlone) {
  take(a_, 0);
  auto fault = [this](const std::string& daemon, const std::string& cause) {
    session_.run(query::MaintenanceFault{
        .daemon_id = daemon, .epoch = 1, .job = "auth_prune", .fault = cause});
    return value("SELECT concat(faults, fault) FROM maintenance_jobs WHERE job = 'auth_prune'");
  };
  EXPECT_EQ(fault(a_, " it is held"), "1 it is held");
  EXPECT_EQ(fault(b_, " of another"), "1 it is held");
}

}  // namespace
}  // namespace hostler::testing_support
