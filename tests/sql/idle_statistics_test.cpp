// What Postgres counted while nothing ran is what it plans with when much does. The statements of
// the queue then find their rows by the index that is meant for them, not by reading all runs that
// have not ended.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "queries/daemon.h"
#include "queries/stream.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using testing_support::RunFixture;
using testing_support::TestDatabase;

constexpr int runs_made = 300;
constexpr long rows_removed_max = 5;

class IdleStatistics : public testing::Test {
 protected:
  IdleStatistics() {
    make_runs("'completed', now()");
    database_.as_superuser().run_text("VACUUM ANALYZE runs");
    make_runs("'running', NULL");
    database_.as_superuser().run_text("SELECT account_runs_recount()");
  }

  void make_runs(const std::string& status_and_end) {
    database_.as_superuser().run_text(fmt::format(
        "WITH made AS (INSERT INTO threads (org_id, created_by_user_id) "
        "    SELECT '{0}', '{1}' FROM generate_series(1, {2}) RETURNING id) "
        "INSERT INTO runs (org_id, thread_id, created_by_user_id, status, ended_at, source, "
        "    trace_id, persona_id, persona_row_id, model_id, model, provider_kind, "
        "    credential_name) "
        "SELECT '{0}', made.id, '{1}', {3}, 'api', '', 'normal@1', p.id, '{4}', 'm', 'openai', 'p' "
        "FROM made, personas p WHERE p.persona_key = 'normal'",
        fixture_.org_id, fixture_.owner_id, runs_made, status_and_end, fixture_.model_id));
  }

  // The plans of a text and of all inside the functions it calls, as they were executed.
  std::string plans_of(const std::string& text) {
    postgres::DbSession session = database_.as_superuser();
    session.run_text(
        "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET client_min_messages = "
        "log; SET auto_explain.log_nested_statements = on; SET auto_explain.log_analyze = on; "
        "SET auto_explain.log_timing = off; SET jit = off");
    std::string plans;
    session.on_notice([&plans](std::string_view notice) { plans.append(notice) += '\n'; });
    session.run_text(text);
    return plans;
  }

  TestDatabase database_;
  RunFixture fixture_{database_};
};

long max_rows_removed(const std::string& plans) {
  static const std::regex removed("Rows Removed by Filter: ([0-9]+)");
  long max = 0;
  for (std::sregex_iterator at(plans.begin(), plans.end(), removed), end; at != end; ++at) {
    max = std::max(max, std::strtol(at->str(1).c_str(), nullptr, 10));
  }
  return max;
}

TEST_F(IdleStatistics, LetAClaimReadNoMoreThanItTakes) {
  std::string daemon_id = fixture_.new_daemon("/run/d.sock");
  for (int limit : {runs_made, 1}) {
    std::string plans = plans_of(fmt::format(
        "BEGIN; PREPARE claim AS {}; EXECUTE claim('{}', {}, 8192, "
        "'00000000-0000-0000-0000-000000000000', '{{}}', '{{}}', 25, 32, 1800); ROLLBACK",
        query::run_claim.text, daemon_id, limit));
    EXPECT_NE(plans.find("runs_claimable"), plans.npos) << plans;
    EXPECT_EQ(plans.find("Seq Scan on runs"), plans.npos) << plans;
    EXPECT_LE(max_rows_removed(plans), rows_removed_max) << plans;
  }
}

TEST_F(IdleStatistics, LetTheLookWhetherRunsWaitReadOne) {
  std::string plans = plans_of(query::runs_wait.text);
  EXPECT_NE(plans.find("Scan using runs_claimable"), plans.npos) << plans;
  EXPECT_EQ(max_rows_removed(plans), 0) << plans;
}

TEST_F(IdleStatistics, LetAnEndingReadOneRunOfThoseThatTheDaemonOwns) {
  std::string daemon_id = fixture_.new_daemon("/run/d.sock");
  postgres::DbSession session = database_.as_runner();
  postgres::Result claimed = session.run(RunFixture::claim_of(daemon_id, runs_made));
  ASSERT_EQ(claimed.size(), runs_made);
  postgres::Row run = claimed[runs_made / 2];
  std::string plans = plans_of(
      fmt::format("SELECT run_end(r, 'completed', 1, NULL, NULL, 'hello', false) FROM runs r "
                  "WHERE r.id = '{}'",
                  run.text("id")));
  EXPECT_NE(plans.find("Update on runs"), plans.npos) << plans;
  EXPECT_LE(max_rows_removed(plans), rows_removed_max) << plans;
}

TEST_F(IdleStatistics, LetABatchOfEventsReadNoRunButItsOwn) {
  std::string daemon_id = fixture_.new_daemon("/run/d.sock");
  postgres::DbSession session = database_.as_runner();
  postgres::Result claimed = session.run(RunFixture::claim_of(daemon_id, runs_made));
  ASSERT_EQ(claimed.size(), runs_made);
  postgres::Row run = claimed[runs_made / 2];
  std::string plans = plans_of(fmt::format(
      "SET plan_cache_mode = force_generic_plan; PREPARE append AS {}; "
      "EXECUTE append('{}', '{{{}}}', '{{{}}}', '{{1}}', '{{1}}', '{{run.started}}', '{{1}}', "
      "server_number())",
      query::event_append.text, daemon_id, run.text("id"), run.integer("epoch")));
  EXPECT_NE(plans.find("Insert on run_events"), plans.npos) << plans;
  EXPECT_EQ(plans.find("Seq Scan on runs"), plans.npos) << plans;
  EXPECT_EQ(plans.find("Removed"), plans.npos) << plans;
}

TEST_F(IdleStatistics, LetALookForCancelsReadThoseAlone) {
  std::string daemon_id = fixture_.new_daemon("/run/d.sock");
  postgres::DbSession session = database_.as_runner();
  ASSERT_EQ(session.run(RunFixture::claim_of(daemon_id, runs_made)).size(), runs_made);
  std::string plans = plans_of(fmt::format(
      "SET plan_cache_mode = force_generic_plan; PREPARE look AS {}; EXECUTE look('{}')",
      query::run_cancel_requests.text, daemon_id));
  EXPECT_NE(plans.find("runs_cancelled"), plans.npos) << plans;
  EXPECT_EQ(plans.find("Removed"), plans.npos) << plans;
}

TEST_F(IdleStatistics, LetAStreamOpenWithoutAFunctionOfTheRun) {
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  std::string plans = plans_of(fmt::format(
      "SET hostler.org_id = '{}'; SET hostler.user_id = '{}'; SET hostler.permissions = '{{}}'; "
      "SET plan_cache_mode = force_generic_plan; SET ROLE hostler_runner; PREPARE open AS {}; "
      "EXECUTE open('{}', 200)",
      fixture_.org_id, fixture_.owner_id, query::stream_open.text, run_id));
  EXPECT_NE(plans.find("Index Scan using runs_pkey on runs r "), plans.npos) << plans;
  EXPECT_EQ(plans.find("Seq Scan on runs"), plans.npos) << plans;
  // What says why a run may not be read is asked only then.
  EXPECT_EQ(plans.find("SELECT * FROM runs WHERE id = run"), plans.npos) << plans;
  EXPECT_EQ(plans.find("Removed by Filter"), plans.npos) << plans;
}

// With one plan for all callers, which a page's values are no part of.
TEST_F(IdleStatistics, LetAPageOfRunsComeInTheOrderOfItsIndex) {
  struct Form {
    std::string permissions, status, index;
  };
  const std::vector<Form> forms{{"org.runs.read_all", "NULL", "runs_of_org on"},
                                {"org.runs.read_all", "'running'", "runs_of_org_status on"},
                                {"", "NULL", "runs_of_user on"}};
  for (const Form& form : forms) {
    std::string plans = plans_of(fmt::format(
        "SET hostler.org_id = '{}'; SET hostler.user_id = '{}'; "
        "SET hostler.permissions = '{{{}}}'; "
        "SELECT count(*) FROM run_page(5, NULL, {}); SELECT count(*) FROM run_page(5, "
        "uuidv7(), {})",
        fixture_.org_id, fixture_.owner_id, form.permissions, form.status, form.status));
    EXPECT_NE(plans.find("Index Scan Backward using " + form.index), plans.npos) << plans;
    EXPECT_NE(plans.find(" < ROW($"), plans.npos) << plans;
    EXPECT_EQ(plans.find("Seq Scan on runs"), plans.npos) << plans;
    EXPECT_EQ(plans.find("Sort"), plans.npos) << plans;
    EXPECT_LE(max_rows_removed(plans), rows_removed_max) << plans;
  }
}

}  // namespace
}  // namespace hostler
