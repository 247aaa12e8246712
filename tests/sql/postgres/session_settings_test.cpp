// The settings that every session pins: all that a session could inherit and that changes a result
// are on the list, and whatever database and role say, a session has those of the list.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/postgres/param.h"
#include "lib/postgres/session_settings.h"
#include "tests/support/rigs/database.h"
#include "tests/support/run_task.h"

namespace hostler {
namespace {

using testing_support::run_task;
using testing_support::TestDatabase;

// Settings that a session may change by itself and on which no statement's result depends.
const std::set<std::string, std::less<>> without_effect{
    // Given with the connection; a name.
    "application_name",
    // Given by DatabaseOptions and DbSession, beside the list.
    "client_min_messages", "idle_in_transaction_session_timeout", "lock_timeout",
    "statement_timeout",
    // How durable a commit is: the operator's choice, which doctor looks at.
    "synchronous_commit",
    // Settings of the transaction that begins; each begins with the defaults, which are pinned.
    "transaction_deferrable", "transaction_isolation", "transaction_read_only",
    // How fast: costs and sizes that operators tune, kinds of plans, parallel workers.
    "backend_flush_after", "commit_siblings", "constraint_exclusion", "cpu_index_tuple_cost",
    "cpu_operator_cost", "cpu_tuple_cost", "cursor_tuple_fraction", "default_statistics_target",
    "effective_cache_size", "effective_io_concurrency", "enable_async_append", "enable_bitmapscan",
    "enable_gathermerge", "enable_hashagg", "enable_hashjoin", "enable_incremental_sort",
    "enable_indexonlyscan", "enable_indexscan", "enable_material", "enable_memoize",
    "enable_mergejoin", "enable_nestloop", "enable_parallel_append", "enable_parallel_hash",
    "enable_partition_pruning", "enable_partitionwise_aggregate", "enable_partitionwise_join",
    "enable_seqscan", "enable_sort", "enable_tidscan", "from_collapse_limit", "geqo", "geqo_effort",
    "geqo_generations", "geqo_pool_size", "geqo_seed", "geqo_selection_bias", "geqo_threshold",
    "gin_pending_list_limit", "hash_mem_multiplier", "jit_above_cost", "jit_expressions",
    "jit_inline_above_cost", "jit_optimize_above_cost", "jit_tuple_deforming",
    "join_collapse_limit", "logical_decoding_work_mem", "maintenance_io_concurrency",
    "maintenance_work_mem", "max_parallel_maintenance_workers", "max_parallel_workers",
    "max_parallel_workers_per_gather", "min_parallel_index_scan_size",
    "min_parallel_table_scan_size", "parallel_leader_participation", "parallel_setup_cost",
    "parallel_tuple_cost", "random_page_cost", "recursive_worktable_factor", "seq_page_cost",
    "stats_fetch_consistency", "synchronize_seqscans", "temp_buffers", "work_mem",
    "wal_skip_threshold",
    // Where and how rows lie on the disk.
    "default_tablespace", "default_toast_compression", "temp_tablespaces",
    // Vacuum, replication, and how a server finds out that its client is gone.
    "client_connection_check_interval", "tcp_keepalives_count", "tcp_keepalives_idle",
    "tcp_keepalives_interval", "tcp_user_timeout", "vacuum_cost_delay", "vacuum_cost_limit",
    "vacuum_cost_page_dirty", "vacuum_cost_page_hit", "vacuum_cost_page_miss",
    "vacuum_failsafe_age", "vacuum_freeze_min_age", "vacuum_freeze_table_age",
    "vacuum_multixact_failsafe_age", "vacuum_multixact_freeze_min_age",
    "vacuum_multixact_freeze_table_age", "wal_sender_timeout",
    // Settings of the server's log; roles without passwords; libraries.
    "debug_pretty_print", "debug_print_parse", "debug_print_plan", "debug_print_rewritten",
    "escape_string_warning", "local_preload_libraries", "log_parameter_max_length_on_error",
    "password_encryption", "trace_notify", "trace_sort"};

// A value that is wrong for us, and allowed, of everything that is pinned.
const std::vector<postgres::SessionSetting> wrong_values{
    {"client_encoding", "LATIN1"},
    {"DateStyle", "SQL, DMY"},
    {"IntervalStyle", "sql_standard"},
    {"TimeZone", "Pacific/Chatham"},
    {"timezone_abbreviations", "Australia"},
    {"bytea_output", "escape"},
    {"extra_float_digits", "-15"},
    {"xmlbinary", "hex"},
    {"xmloption", "document"},
    {"lc_monetary", "POSIX"},
    {"lc_numeric", "POSIX"},
    {"lc_time", "POSIX"},
    {"standard_conforming_strings", "off"},
    {"backslash_quote", "off"},
    {"array_nulls", "off"},
    {"transform_null_equals", "on"},
    {"quote_all_identifiers", "on"},
    {"restrict_nonsystem_relation_kind", "view"},
    {"search_path", "elsewhere, pg_catalog, public"},
    {"row_security", "off"},
    {"default_text_search_config", "pg_catalog.simple"},
    {"gin_fuzzy_search_limit", "1"},
    {"default_transaction_isolation", "serializable"},
    {"default_transaction_read_only", "on"},
    {"default_transaction_deferrable", "on"},
    {"idle_session_timeout", "10000"},
    {"exit_on_error", "on"},
    {"check_function_bodies", "off"},
    {"plan_cache_mode", "force_custom_plan"},
    {"force_parallel_mode", "on"},
    {"jit", "on"},
    {"statement_timeout", "5000"},
    {"lock_timeout", "1"},
    {"idle_in_transaction_session_timeout", "5000"},
    {"client_min_messages", "error"},
};

std::map<std::string, std::string> pinned_by_name() {
  std::map<std::string, std::string> pinned;
  for (const postgres::SessionSetting& setting : postgres::pinned_settings()) {
    pinned[setting.name] = setting.value;
  }
  return pinned;
}

TEST(SessionSettings, PinEverythingThatASessionCouldInheritAndThatChangesAResult) {
  TestDatabase database;
  postgres::DbSession session = database.as_superuser();
  postgres::Result all =
      session.run_text("SELECT name FROM pg_settings WHERE context = 'user' ORDER BY name");
  std::map<std::string, std::string> pinned = pinned_by_name();
  ASSERT_GT(all.size(), 100);
  for (int i = 0; i < all.size(); ++i) {
    std::string name(all[i].text("name"));
    EXPECT_NE(pinned.contains(name), without_effect.contains(name))
        << name << ": pin it in lib/postgres/session_settings.cpp, or say here why nothing "
        << "depends on it";
  }
}

class WrongSettings : public testing::Test {
 protected:
  WrongSettings() {
    postgres::DbSession session = database_.as_superuser();
    for (const postgres::SessionSetting& wrong : wrong_values) {
      std::string assignment = fmt::format("{} = {}", wrong.name, quoted(wrong));
      session.run_text(fmt::format("ALTER DATABASE {} SET {}", database_.name(), assignment));
      for (const char* role : {"hostler_api", "hostler_runner", "hostler_owner"}) {
        session.run_text(
            fmt::format("ALTER ROLE {} IN DATABASE {} SET {}", role, database_.name(), assignment));
      }
    }
    session.run_text(fmt::format("ALTER ROLE hostler_api IN DATABASE {} SET role = 'hostler_api'",
                                 database_.name()));
  }
  // A list of names is not one name.
  static std::string quoted(const postgres::SessionSetting& setting) {
    bool is_list = std::string_view(setting.name) == "search_path";
    return is_list ? setting.value : fmt::format("'{}'", setting.value);
  }
  static constexpr postgres::Statement look{
      "test", "look_at_settings",
      "SELECT name, current_setting(name) AS setting FROM unnest($1::text[]) AS name", 1};
  static postgres::BoundStatement looking() {
    std::vector<std::string> names;
    for (const auto& [name, value] : pinned_by_name()) names.push_back(name);
    std::erase(names, "transaction_timeout");  // Postgres 17
    postgres::BoundStatement statement{&look, {}};
    statement.params.add(postgres::param::Texts(names));
    return statement;
  }
  static void expect_pinned(const postgres::Result& found) {
    std::map<std::string, std::string> pinned = pinned_by_name();
    ASSERT_GT(found.size(), 26);
    for (int i = 0; i < found.size(); ++i) {
      std::string name(found[i].text("name"));
      EXPECT_EQ(found[i].text("setting"), pinned[name]) << name;
    }
  }

  TestDatabase database_;
};

TEST_F(WrongSettings, AreWrongForWhoeverPinsNothing) {
  std::set<std::string> tried;
  for (const postgres::SessionSetting& wrong : wrong_values) tried.insert(wrong.name);
  for (const auto& [name, value] : pinned_by_name()) {
    bool is_elsewhere =
        name == "role" || name == "transaction_timeout" || name == "default_table_access_method";
    EXPECT_TRUE(tried.contains(name) || is_elsewhere) << name << " needs a wrong value here";
  }
}

TEST_F(WrongSettings, ReachNoSessionOfTheServices) {
  loop::Loop loop;
  postgres::DatabaseOptions options;
  options.conninfo = database_.api_url();
  options.application_name = "session_settings_test";
  postgres::Database database(loop, options);
  expect_pinned(run_task(loop, database.pipelined(looking())));
  expect_pinned(run_task(loop, database.dedicated(looking())));
  static constexpr postgres::Statement limits{
      "test", "look_at_limits",
      "SELECT current_setting('statement_timeout') || ' ' || current_setting('lock_timeout')", 0};
  EXPECT_EQ(run_task(loop, database.dedicated(limits)).text(), "2400ms 2s");
}

TEST_F(WrongSettings, ReachNoSessionOfHostlerctl) {
  for (const std::string& url : {database_.superuser_url(), database_.runner_url()}) {
    postgres::DbSession session(url, "session_settings_test");
    expect_pinned(session.run(looking()));
    EXPECT_EQ(session
                  .run_text("SELECT current_setting('statement_timeout') || "
                            "current_setting('lock_timeout')")
                  .text(),
              "00");
  }
}

TEST_F(WrongSettings, ArePinnedAlthoughAFunctionOfThatNameIsFoundFirst) {
  postgres::DbSession session = database_.as_superuser();
  session.run_text("CREATE TABLE written (n integer); GRANT INSERT ON written TO hostler_api");
  session.run_text(
      "CREATE SCHEMA elsewhere; GRANT USAGE ON SCHEMA elsewhere TO PUBLIC; "
      "CREATE FUNCTION elsewhere.set_config(text, text, boolean) RETURNS text "
      "LANGUAGE sql AS 'SELECT ''masked'''");
  loop::Loop loop;
  postgres::DatabaseOptions options;
  options.conninfo = database_.api_url();
  options.application_name = "session_settings_test";
  postgres::Database database(loop, options);
  static constexpr postgres::Statement write{"test", "write_first",
                                             "INSERT INTO written VALUES (1)", 0};
  run_task(loop, database.dedicated(write));
  EXPECT_EQ(session.run_text("SELECT count(*) FROM written").text(), "1");
}

}  // namespace
}  // namespace hostler
