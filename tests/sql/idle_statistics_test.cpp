// Tests what Postgres counted while nothing ran is what it plans with when much does. The
// statements of the queue then find their rows by the index that is meant for them, not by reading
// all runs that have not ended.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "queries/daemon.h"
#include "queries/stream.h"
#include "tests/sql/plan_settings.h"
#include "tests/support/rows/run_fixture.h"

namespace hostler {
namespace {

using testing_support::plans_once_settings;
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
    std::string plans =
        plans_of(fmt::format("BEGIN; PREPARE claim AS {}; EXECUTE claim('{}', {}, 8192, "
                             "'00000000-0000-0000-0000-000000000000', '{{}}', '{{}}', 25, 32, "
                             "1800, '{{}}', '{{}}'); ROLLBACK",
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

// No run is compared with all others: at a thousand of them it was ten times the rest.
TEST_F(IdleStatistics, LetABatchOfEventsGrowWithItsRunsAlone) {
  std::string daemon_id = fixture_.new_daemon("/run/d.sock");
  postgres::DbSession session = database_.as_runner();
  postgres::Result claimed = session.run(RunFixture::claim_of(daemon_id, runs_made));
  ASSERT_EQ(claimed.size(), runs_made);
  std::string run_ids;
  std::string epochs;
  std::string positions;
  for (int i = 0; i < runs_made; ++i) {
    std::string comma = i == 0 ? "" : ",";
    run_ids += comma + std::string(claimed[i].text("id"));
    epochs += comma + std::string(claimed[i].text("epoch"));
    positions += comma + std::to_string(i + 1);
  }
  std::string plans = plans_of(
      fmt::format("{}PREPARE append AS {}; EXECUTE append('{}', '{{{}}}', '{{{}}}', '{{{}}}', "
                  "array_fill(1, ARRAY[{}]), array_fill('run.started'::text, ARRAY[{}]), "
                  "array_fill('1'::json, ARRAY[{}]), server_number())",
                  testing_support::plans_once_settings(), query::event_append.text, daemon_id,
                  run_ids, epochs, positions, runs_made, runs_made, runs_made));
  EXPECT_NE(plans.find("Insert on run_events"), plans.npos) << plans;
  EXPECT_EQ(plans.find("Removed"), plans.npos) << plans;
  EXPECT_EQ(session.run_text("SELECT count(*) FROM run_events").text(), std::to_string(runs_made));
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

// A claim reads only what it answers, whatever the thread contains, and the look for more of it
// begins at its end.
TEST_F(IdleStatistics, LetAHistoryBeReadInTheOrderOfItsKey) {
  constexpr int messages_made = 2000;
  database_.as_superuser().run_text("VACUUM ANALYZE messages");
  std::string thread_id = fixture_.new_thread();
  database_.as_superuser().run_text(fmt::format(
      "INSERT INTO messages (org_id, thread_id, created_by_user_id, role, content) "
      "SELECT '{}', '{}', '{}', 'user', 'message ' || n FROM generate_series(1, {}) AS n",
      fixture_.org_id, thread_id, fixture_.owner_id, messages_made));
  std::string run_id = fixture_.new_run(thread_id);
  database_.as_superuser().run_text(
      fmt::format("UPDATE runs SET status = 'cancelled', ended_at = now() WHERE id <> '{}' AND "
                  "ended_at IS NULL",
                  run_id));
  std::string daemon_id = fixture_.new_daemon("/run/d.sock");
  for (const std::string& look :
       {fmt::format(
            "PREPARE look AS {}; EXECUTE look('{}', 8, 8192, "
            "'00000000-0000-0000-0000-000000000000', '{{}}', '{{}}', 25, 32, 1800, '{{}}', '{{}}')",
            query::run_claim.text, daemon_id),
        fmt::format("PREPARE look AS {}; EXECUTE look('{}', 3000)", query::run_history.text,
                    run_id)}) {
    std::string plans = plans_of(plans_once_settings() + look);
    EXPECT_NE(plans.find("Index Scan Backward using messages_pkey"), plans.npos) << plans;
    EXPECT_EQ(plans.find(fmt::format("rows={} ", messages_made + 1)), plans.npos) << plans;
  }
}

// The way that says most of a caller, and what is asked about those who follow a run.
TEST_F(IdleStatistics, LetACallerBeFoundAmongMany) {
  postgres::DbSession superuser = database_.as_superuser();
  superuser.run_text("VACUUM ANALYZE users, sessions, access_tokens, api_keys, org_members, orgs");
  superuser.run_text(
      "INSERT INTO users (id, login, username, email, email_key, password_hash, personal_org_id) "
      "SELECT uuidv7(), 'many' || n, 'many' || n, 'many' || n || '@example.org', 'many' || n || "
      "'@example.org', 'x', "
      "gen_random_uuid() FROM generate_series(1, 300) AS n; "
      "SET session_replication_role = replica; "
      "INSERT INTO orgs (id, slug, name, type) SELECT personal_org_id, 's' || login, login, "
      "'personal' FROM users WHERE login LIKE 'many%'; "
      "INSERT INTO org_members (org_id, user_id, role) SELECT personal_org_id, id, 'owner' FROM "
      "users WHERE login LIKE 'many%'; "
      "INSERT INTO sessions (user_id, begun_by) SELECT id, 'password' FROM users; "
      "INSERT INTO access_tokens (hash, session_id, expires_at) SELECT sha256(id::text::bytea), "
      "id, now() + interval '1 hour' FROM sessions; "
      "INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash) SELECT personal_org_id, id, "
      "'k', 'hst_', sha256(id::text::bytea) FROM users WHERE login LIKE 'many%'; "
      "RESET session_replication_role");
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  std::string of_token = "(SELECT hash FROM access_tokens ORDER BY hash LIMIT 1)";
  std::string of_key = "(SELECT hash FROM api_keys ORDER BY hash LIMIT 1)";
  std::string of_session = fixture_.column(
      "SELECT id FROM sessions WHERE user_id = (SELECT id FROM users WHERE login = 'many7')");
  for (const std::string& look :
       {fmt::format("SELECT authenticate({}, false, NULL, NULL, true, '{{}}')", of_token),
        fmt::format("SELECT authenticate({}, true, NULL, NULL, true, '{{}}')", of_key),
        fmt::format("PREPARE look AS {}; EXECUTE look('{{{}}}', "
                    "'{{00000000-0000-0000-0000-000000000000}}', '{{{}}}', '{{{}}}', "
                    "'{{10.0.0.1}}')",
                    query::stream_recheck.text, of_session, fixture_.org_id, run_id)}) {
    std::string plans = plans_of("SET plan_cache_mode = force_generic_plan; " + look);
    EXPECT_NE(plans.find("Scan using users_pkey"), plans.npos) << plans;
    EXPECT_EQ(plans.find("users_status"), plans.npos) << plans;
    EXPECT_EQ(plans.find("Seq Scan on users"), plans.npos) << plans;
    EXPECT_EQ(plans.find("Removed by Join Filter"), plans.npos) << plans;
    EXPECT_LE(max_rows_removed(plans), rows_removed_max) << plans;
  }
}

TEST_F(IdleStatistics, LetAStreamOpenWithoutAFunctionOfTheRun) {
  std::string run_id = fixture_.new_run(fixture_.new_thread());
  std::string plans = plans_of(fmt::format(
      "SET hostler.org_id = '{}'; SET hostler.user_id = '{}'; SET hostler.permissions = '{{}}'; "
      "SET plan_cache_mode = force_generic_plan; SET ROLE hostler_runner; PREPARE open AS {}; "
      "EXECUTE open('{}', 200, false, false)",
      fixture_.org_id, fixture_.owner_id, query::stream_open.text, run_id));
  EXPECT_NE(plans.find("Index Scan using runs_pkey on runs r "), plans.npos) << plans;
  EXPECT_EQ(plans.find("Seq Scan on runs"), plans.npos) << plans;
  // The reason why a run may not be read is looked up only then.
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
