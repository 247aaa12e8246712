// No statement of a request or of the daemon's loop reads more rows than it needs: each is executed
// on a database with many rows, with one plan for all values, while the statistics are those of an
// idle system, and while there are none; and on a young one, where Postgres knows nothing yet and
// thinks that every way is short: sessions keep such plans while the tables grow. What they read
// with fresh statistics is judged by plans_test.cpp.
// Postgres counts the rows that it read from every table and index, in functions, policies and
// foreign keys too.
//
// PLANS_USERS, PLANS_RUNS_OF_THREAD, PLANS_EVENTS_OF_RUN: the long form; of 100,000, 5 and 10 it
// has a million runs and ten million events.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/error.h"
#include "tests/sql/plan_arguments.h"
#include "tests/sql/plan_settings.h"
#include "tests/sql/plan_values.h"
#include "tests/support/rigs/database.h"
#include "tests/support/rows/statement_list.h"

namespace hostler {
namespace {

using namespace testing_support;

constexpr long rows_read_max = 200;

// Not executed here.
const std::set<std::string> change_every_account = {"credit_bulk_adjust", "credit_reset_all"};

// Statements that read more, and why they may or which way of theirs is too long still: when
// Postgres has no statistics of a table, or only those of an idle system, it takes an index whose
// condition every row fulfils for as good as the one that finds the row.
const std::map<std::string, const char*> may_read = {
    {"credit_bulk_preview", "every account, as what it tells beforehand"},
    {"run_free", "every run of a lost daemon is free"},
    {"run_release", "every run that the daemon owns"},
    {"daemon_stop", "all runs, for those that the daemon owns"},
    {"daemon_stop_free", "all runs, for those that the daemon owns"},
    {"run_trial", "the daemon's own runs, when its group on trial changes"},
    {"metrics_facts", "all runs and what is due in the outbox, to be counted"},
    {"outbox_claim_webhooks", "all webhooks that are due, and the outbox for each"},
    {"run_claim", "two creators of each of 32 organizations, and the runs of each"},
    {"run_history", "its thread's messages, a thousand at most"},
    {"run_streamed_text", "all events of the run"},
    {"node_list", "an administrator's look at all work that waits, as the doctor's"},
    {"run_create", "all messages of the thread, without statistics"},
    {"run_begin", "all messages of the thread, without statistics, as run_create"},
    {"run_retry", "all messages of the thread"},
    {"response_create", "all messages of the thread, without statistics, as run_create"},
    {"response_delete", "what follows the response in its thread: each message is hidden"},
    {"client_chat_begin", "all messages of the thread, without statistics"},
    {"ui_chat_retry", "all messages of the thread; all providers, without statistics"},
    {"mcp_server_delete", "of the platform: all runs that wait, for those that wait for it"},
    {"run_marked_page", "10,000 of the end user's runs, for a caller who may read none of them"},
    {"thread_search", "all messages that match, also of others"},
    {"model_choice_page", "the models of all organizations, without statistics"},
    {"llm_provider_page", "the providers of all organizations, without statistics"},
    {"llm_model_create", "the models of all organizations, without statistics"},
    {"llm_model_page", "the models of all organizations of a young system"},
    {"llm_provider_create", "the models of all organizations of a young system"},
    {"llm_provider_update", "the models of all organizations of a young system"},
    {"llm_provider_delete", "the models of all organizations of a young system"},
    {"openai_model_list", "the models of all organizations of a young system"},
    {"member_page", "all members, for one page"},
    {"member_remove", "all runs that have not ended"},
    {"email_revert", "sessions, keys and tokens of the user all end"},
    {"webhook_delete", "all messages of the endpoint and of the organization"},
    {"webhook_delivery_page", "all messages of the endpoint and the organization"},
    {"dashboard_show", "all users, to be counted"},
    {"admin_user_delete", "all tokens, and all runs that have not ended"},
    {"admin_user_page", "all users, without statistics"},
    {"referral_tree", "all users, without statistics"},
    {"own_password_set", "all keys, without statistics"},
    {"caller_seen", "all active users of a young system, once a minute of a session"},
    {"runs_blocked", "all endpoints of a young system"},
    {"register_user", "all users of a young system, for the name"},
    {"registration_begin", "all users of a young system, for the name"},
    {"totp_confirm", "all living sessions, without statistics"},
    {"org_delete", "the MCP servers of all organizations, without statistics"},
    {"org_restore", "the MCP servers of all organizations, without statistics"},
    {"budget_create", "all budgets of the organization, at most limit.budgets, to be counted"},
    {"budget_page", "the models of all organizations, for a young system's warning"},
    {"turns_hold", "all budgets of the organization, at most limit.budgets, without statistics"},
    {"run_tool_admit", "all budgets of the organization, without statistics, as turns_hold"},
    {"run_tool_commit", "all budgets of the organization, without statistics, as turns_hold"},
    {"daemon_start", "the streams that all daemons reported as full, without statistics"},
    {"turn_holds_expire", "the holds of all turns under way, for those of lost runs"},
};

constexpr const char* owner =
    R"({"client_ip": "10.0.3.4", "scope": "org", "scim_token_id": "any",
        "permissions": ["data.llm_providers.manage", "data.secrets", "org.runs.read_all",
                        "data.runs.read", "data.threads.read", "data.threads.write",
                        "org.manage"]})";
constexpr const char* member = R"({"client_ip": "10.0.3.4", "permissions": []})";
constexpr const char* platform_admin =
    R"({"client_ip": "10.0.3.4", "permissions": [], "platform_admin": true})";

using RowsRead = std::map<std::string, long>;  // by table or index

// A database that is filled, and what statements are asked on it.
struct Filled {
  Filled(const std::map<std::string, std::string>& sizes, bool is_analyzed) {
    postgres::DbSession session = database.as_superuser();
    // Statistics are those that the test gives, to its end.
    session.run_text(
        "DO $$ DECLARE name text; BEGIN FOR name IN SELECT oid::regclass FROM pg_class "
        "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
        "LOOP EXECUTE 'ALTER TABLE ' || name || ' SET (autovacuum_enabled = false)'; END LOOP; "
        "END $$");
    for (const auto& [name, size] : sizes) {
      session.run_text(fmt::format("SELECT set_config('many_rows.{}', '{}', false)", name, size));
    }
    std::string rows = text_of("tests/sql/many_rows.sql");
    // Its last line.
    if (!is_analyzed) rows.resize(rows.rfind("ANALYZE;"));
    session.run_text(rows);
    values = plan_values(session);
  }

  static std::string text_of(const char* path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TestDatabase database;
  PlanValues values;
};

std::map<std::string, std::string> wanted_sizes() {
  std::map<std::string, std::string> sizes;
  for (auto [variable, name] : {std::pair{"PLANS_USERS", "users"},
                                {"PLANS_RUNS_OF_THREAD", "runs_of_thread"},
                                {"PLANS_EVENTS_OF_RUN", "events_of_run"}}) {
    if (const char* size = std::getenv(variable)) sizes[name] = size;
  }
  return sizes;
}

class ReadRows : public testing::Test {
 protected:
  // Reads that Postgres has counted for this session and not yet reported to anybody.
  static RowsRead counted(postgres::DbSession& session) {
    postgres::Result found = session.run_text(
        "SELECT relname, pg_stat_get_xact_tuples_returned(oid) AS rows FROM pg_class "
        "WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i') "
        "AND pg_stat_get_xact_tuples_returned(oid) > 0");
    RowsRead rows;
    for (int i = 0; i < found.size(); ++i) {
      rows[std::string(found[i].text("relname"))] = found[i].integer("rows");
    }
    return rows;
  }

  // One execution, taken back afterwards; what ends it early is plans_test.cpp's to judge.
  static RowsRead rows_read(postgres::DbSession& session, const postgres::Statement& statement,
                            const std::string& arguments, const PlanValues& values,
                            const std::string& context) {
    session.begin();
    session.run_text(fmt::format("SELECT set_request_context('{}', '{}', '{}'); SAVEPOINT before",
                                 values.org_id, values.user_id, context));
    RowsRead before = counted(session);
    try {
      session.run_text(fmt::format("EXECUTE s_{}{}", statement.name, arguments));
    } catch (const Error&) {
      session.run_text("ROLLBACK TO before");
    }
    RowsRead rows = counted(session);
    session.rollback();
    for (const auto& [name, count] : before) rows[name] -= count;
    return rows;
  }

  void check_all(const Filled& filled, const std::string& statistics,
                 const std::vector<const char*>& contexts) {
    postgres::DbSession session = filled.database.as_superuser();
    session.run_text("SET jit = off; SET plan_cache_mode = force_generic_plan");
    for (const StatementUse& use : statement_list()) {
      // A statement that nothing uses yet has no role; an operator may wait.
      if (use.roles.empty() || use.roles.contains("hostler_owner")) continue;
      if (change_every_account.contains(use.statement->name)) continue;
      session.run_text("SET ROLE " + *use.roles.begin());
      // The relay has no other sessions; all others' statements do without.
      if (use.statement->topic == std::string_view("stream"))
        session.run_text(plans_once_settings());
      session.run_text(fmt::format("PREPARE s_{} AS {}", use.statement->name, use.statement->text));
      std::string arguments = plan_arguments(session, use, filled.values);
      for (const char* context : contexts) {
        check(use, rows_read(session, *use.statement, arguments, filled.values, context),
              statistics);
      }
      session.run_text(
          "RESET ROLE; RESET enable_seqscan; RESET enable_hashjoin; RESET enable_mergejoin; "
          "RESET enable_bitmapscan");
    }
  }

  void check(const StatementUse& use, const RowsRead& rows, const std::string& when) {
    long sum = 0;
    std::string tables;
    for (const auto& [name, count] : rows) {
      sum += count;
      if (count > rows_read_max / 10) tables += fmt::format(" {} {}", name, count);
    }
    seen_.emplace(use.statement->name);
    if (may_read.contains(use.statement->name)) return;
    EXPECT_LE(sum, rows_read_max) << "sql/queries/" << use.statement->topic
                                  << ".sql: " << use.statement->name << " (" << when << ") reads"
                                  << tables;
  }

  std::set<std::string> seen_;
};

// In this order: the statistics of the system when nothing ran, and none.
TEST_F(ReadRows, NoMoreThanTheyNeedWhateverTheStatisticsAre) {
  Filled filled(wanted_sizes(), true);
  filled.database.as_superuser().run_text(Filled::text_of("tests/sql/busy_rows.sql"));
  check_all(filled, "of the idle system", {owner, member, platform_admin});
  filled.database.as_superuser().run_text(
      "DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE relnamespace = "
      "'public'::regnamespace); UPDATE pg_class SET reltuples = 0, relpages = 0 WHERE "
      "relnamespace = 'public'::regnamespace");
  check_all(filled, "none", {owner});
  check_all(Filled({{"users", "400"}}, false), "none, of a young system", {owner});
  for (const auto& [name, why] : may_read) {
    EXPECT_TRUE(seen_.contains(name)) << name << " is no statement of a service: " << why;
  }
}

TEST_F(ReadRows, AreCountedInFunctionsToo) {
  Filled filled({{"users", "400"}}, false);
  postgres::DbSession session = filled.database.as_superuser();
  session.run_text(
      "CREATE FUNCTION inside_rows_test(t text) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN "
      "RETURN (SELECT count(*) FROM users WHERE locale = t); END $$; "
      "PREPARE s_inside AS SELECT inside_rows_test($1); "
      "PREPARE s_by_index AS SELECT count(*) FROM runs WHERE org_id = $1; "
      "SET enable_seqscan = off");
  postgres::Statement inside{"test", "inside", "", 1};
  EXPECT_GE(rows_read(session, inside, "('x')", filled.values, owner).at("users"), 400);
  postgres::Statement by_index{"test", "by_index", "", 1};
  std::string org = fmt::format("('{}')", filled.values.org_id);
  long sum = 0;
  for (const auto& [_, rows] : rows_read(session, by_index, org, filled.values, owner)) {
    sum += rows;
  }
  EXPECT_GE(sum, 1000);
}

}  // namespace
}  // namespace hostler
