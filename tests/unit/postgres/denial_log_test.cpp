// Denials on their way to the audit log, over a real database: whatever happens to the line, each
// counts once; what cannot be kept is counted and told.
#include "lib/postgres/denial_log.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include <fmt/format.h>

#include "tests/support/eventually.h"
#include "tests/support/peers/faulty_proxy.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using namespace testing_support;

constexpr postgres::DenialLogOptions quick{
    .kinds_max = 4, .pause_ms = 50, .retry_ms = 20, .kept_ms = 60'000};

class DenialLogTest : public ::testing::Test {
 protected:
  DenialLogTest() : proxy_(TestDatabase::socket()), db_(loop_, options()) { begin(quick); }

  postgres::DatabaseOptions options() const {
    postgres::DatabaseOptions made;
    made.conninfo = postgres::conninfo_with(database_.api_url(), {{"host", proxy_.folder()}});
    made.answer_timeout_ms = 400;
    made.statement_timeout_ms = 300;
    made.lock_timeout_ms = 200;
    return made;
  }
  void begin(postgres::DenialLogOptions how) {
    log_.reset();
    log_ = std::make_unique<postgres::DenialLog>(
        loop_, db_, [this](int64_t count) { dropped_ += count; }, how);
  }
  postgres::Denial denial(const std::string& route = "GET /v1/x") const {
    postgres::Denial made;
    made.org_id = fixture_.org_id;
    made.user_id = fixture_.owner_id;
    made.route = route;
    made.code = "auth.forbidden";
    made.target = route;
    made.trace_id = "t";
    made.client_ip = "192.0.2.1";
    return made;
  }
  testing::AssertionResult runs_until(const std::function<bool()>& condition,
                                      int64_t limit_ms = 15'000) {
    return eventually(limit_ms, [&] {
      loop_.run_once();
      return condition();
    });
  }
  testing::AssertionResult gets_written() {
    return runs_until([this] { return log_->is_written(); });
  }
  // Denies once, then seven times for each answer that is lost.
  bool loses_answers(int count) {
    log_->add(denial());
    bool goes_well = gets_written();
    for (int i = 1; i <= count; ++i) {
      proxy_.arm({.kind = FaultKind::cut, .sender = LineEnd::server});
      for (int n = 0; n < 7; ++n) log_->add(denial());
      goes_well = gets_written() && proxy_.faults() == i && goes_well;
    }
    return goes_well;
  }
  std::string total() const {
    return fixture_.column(
        "SELECT coalesce(sum(count), 0) FROM audit_logs WHERE action = 'access.denied'");
  }
  std::string dropped_reported() const {
    return fixture_.column(
        "SELECT coalesce(string_agg(count::text, ' '), '') FROM audit_logs WHERE action = "
        "'access.denials_dropped'");
  }

  loop::Loop loop_;
  TestDatabase database_;
  RunFixture fixture_{database_};
  FaultyProxy proxy_;
  postgres::Database db_;
  int64_t dropped_ = 0;
  std::unique_ptr<postgres::DenialLog> log_;
};

TEST_F(DenialLogTest, WritesTheFirstAtOnceAndTheRestBehindAPause) {
  begin({.pause_ms = 600'000});
  log_->add(denial());
  EXPECT_TRUE(gets_written());
  for (int i = 0; i < 9; ++i) log_->add(denial());
  EXPECT_FALSE(runs_until([this] { return log_->is_written(); }, 200)) << "they gather";
  EXPECT_EQ(total(), "1");
  bool is_reported = false;
  log_->finish([&is_reported] { is_reported = true; });
  EXPECT_TRUE(runs_until([&is_reported] { return is_reported; }));
  EXPECT_EQ(total(), "10");
}

TEST_F(DenialLogTest, WritesTogetherWhatIsDueSoon) {
  begin({.pause_ms = 1'500});
  for (const char* route : {"GET /v1/x", "GET /v1/y"}) {
    log_->add(denial(route));
    EXPECT_TRUE(gets_written());
    runs_until([] { return false; }, 50);
  }
  for (const char* route : {"GET /v1/x", "GET /v1/y"}) log_->add(denial(route));
  EXPECT_TRUE(gets_written());
  EXPECT_EQ(total(), "4");
  EXPECT_EQ(fixture_.column("SELECT max(last_batch) FROM audit_writers"), "3");
}

// Behind the commit: what the server says next is the answer.
TEST_F(DenialLogTest, CountsOnceWhatWasCommittedBeforeTheLineBroke) {
  EXPECT_TRUE(loses_answers(5));
  EXPECT_EQ(total(), "36");
}

TEST_F(DenialLogTest, IsSeenToCountTwiceWhenPostgresKnowsNoNumbers) {
  fixture_.column(
      "CREATE FUNCTION forget_writer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.id := "
      "gen_random_uuid(); RETURN NEW; END $$; CREATE TRIGGER forgotten BEFORE INSERT ON "
      "audit_writers FOR EACH ROW EXECUTE FUNCTION forget_writer()");
  EXPECT_TRUE(loses_answers(5));
  EXPECT_EQ(total(), "71");
}

TEST_F(DenialLogTest, KeepsThemWhilePostgresIsAway) {
  proxy_.refuse(true);
  proxy_.cut_all();
  for (int i = 0; i < 20; ++i) log_->add(denial(fmt::format("GET /v1/{}", i % 4)));
  EXPECT_FALSE(runs_until([this] { return log_->is_written(); }, 1500));
  proxy_.refuse(false);
  EXPECT_TRUE(gets_written());
  EXPECT_EQ(total(), "20");
  EXPECT_EQ(dropped_, 0);
}

TEST_F(DenialLogTest, KeepsThemWhileTheTableIsLocked) {
  postgres::DbSession other = database_.as_superuser();
  other.run_text("BEGIN; LOCK TABLE audit_logs IN EXCLUSIVE MODE");
  for (int i = 0; i < 20; ++i) log_->add(denial());
  EXPECT_FALSE(runs_until([this] { return log_->is_written(); }, 1500));
  other.run_text("COMMIT");
  EXPECT_TRUE(gets_written());
  EXPECT_EQ(total(), "20");
}

TEST_F(DenialLogTest, CountsAndTellsWhatHasNoPlace) {
  proxy_.refuse(true);
  proxy_.cut_all();
  for (int i = 0; i < 10; ++i) log_->add(denial(fmt::format("GET /v1/{}", i)));
  EXPECT_EQ(dropped_, 6);
  proxy_.refuse(false);
  EXPECT_TRUE(gets_written());
  EXPECT_EQ(total(), "4");
  EXPECT_EQ(dropped_reported(), "6");
}

TEST_F(DenialLogTest, GivesUpWhatIsTooOldAndTellsOfIt) {
  begin({.pause_ms = 50, .retry_ms = 20, .kept_ms = 600});
  proxy_.refuse(true);
  proxy_.cut_all();
  for (int i = 0; i < 10; ++i) log_->add(denial());
  EXPECT_TRUE(runs_until([this] { return dropped_ == 10; }));
  proxy_.refuse(false);
  EXPECT_TRUE(gets_written());
  EXPECT_EQ(total(), "0");
  EXPECT_EQ(dropped_reported(), "10");
}

// Postgres refuses one of them: the others do not wait for it, and it goes in time.
TEST_F(DenialLogTest, LetsNoBadOneKeepTheOthersBack) {
  begin({.pause_ms = 50, .retry_ms = 20, .kept_ms = 4000});
  postgres::Denial bad = denial("GET /v1/bad");
  bad.client_ip = "no address";
  log_->add(bad);
  for (int i = 0; i < 5; ++i) log_->add(denial());
  log_->add(denial("GET /v1/y"));
  EXPECT_TRUE(runs_until([this] { return total() == "6"; }));
  EXPECT_EQ(dropped_, 0);
  EXPECT_TRUE(gets_written());
  EXPECT_EQ(dropped_, 1);
  EXPECT_EQ(dropped_reported(), "1");
}

TEST_F(DenialLogTest, TellsWhatMayBeAnyBytesAsText) {
  postgres::Denial odd = denial();
  odd.target = "GET /\xff\xfe" + std::string(9000, 'x');
  odd.user_agent = "\xc3";
  log_->add(odd);
  EXPECT_TRUE(gets_written());
  EXPECT_EQ(fixture_.column("SELECT length(target_id) || ' ' || length(user_agent) FROM audit_logs "
                            "WHERE action = 'access.denied'"),
            "200 1");
}

}  // namespace
}  // namespace hostler
