// The list; see lib/postgres/session_settings.h. With the other files of lib/postgres the owner of
// libpq.
#include "lib/postgres/session_settings.h"

#include <libpq-fe.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "queries/commits.h"

namespace hostler::postgres {
namespace {

constexpr std::array pinned{
    // The forms in which values are written and read.
    SessionSetting{"client_encoding", "UTF8"},
    SessionSetting{"DateStyle", "ISO, MDY"},
    SessionSetting{"IntervalStyle", "postgres"},
    SessionSetting{"TimeZone", "UTC"},
    SessionSetting{"timezone_abbreviations", "Default"},
    SessionSetting{"bytea_output", "hex"},
    SessionSetting{"extra_float_digits", "1"},
    SessionSetting{"xmlbinary", "base64"},
    SessionSetting{"xmloption", "content"},
    SessionSetting{"lc_monetary", "C"},
    SessionSetting{"lc_numeric", "C"},
    SessionSetting{"lc_time", "C"},
    // How the text of a statement is understood.
    SessionSetting{"standard_conforming_strings", "on"},
    SessionSetting{"backslash_quote", "safe_encoding"},
    SessionSetting{"array_nulls", "on"},
    SessionSetting{"transform_null_equals", "off"},
    SessionSetting{"quote_all_identifiers", "off"},
    SessionSetting{"restrict_nonsystem_relation_kind", ""},
    // Which tables, whose rows, as whom.
    SessionSetting{"search_path", "public, pg_temp"},
    SessionSetting{"role", "none"},
    SessionSetting{"row_security", "on"},
    SessionSetting{"default_text_search_config", "pg_catalog.english"},
    SessionSetting{"gin_fuzzy_search_limit", "0"},
    // Settings about transactions, and about the end of a transaction or session.
    SessionSetting{"default_transaction_isolation", "read committed"},
    SessionSetting{"default_transaction_read_only", "off"},
    SessionSetting{"default_transaction_deferrable", "off"},
    SessionSetting{"idle_session_timeout", "0"},
    SessionSetting{"transaction_timeout", "0"},
    SessionSetting{"exit_on_error", "off"},
    // Settings for what a migration creates.
    SessionSetting{"check_function_bodies", "on"},
    SessionSetting{"default_table_access_method", "heap"},
    // How a statement is planned: the limits in time are those of these plans.
    SessionSetting{"plan_cache_mode", "auto"},
    SessionSetting{"force_parallel_mode", "off"},
    SessionSetting{"jit", "off"},
};

constexpr std::array plans_once{
    SessionSetting{"plan_cache_mode", "force_generic_plan"},
    SessionSetting{"enable_seqscan", "off"},
    SessionSetting{"enable_hashjoin", "off"},
    SessionSetting{"enable_mergejoin", "off"},
    SessionSetting{"enable_bitmapscan", "off"},
};

bool send_text(pg_conn* connection, const char* text) {
  return PQsendQueryParams(connection, text, 0, nullptr, nullptr, nullptr, nullptr, 0) == 1;
}

bool send_bound(pg_conn* connection, const BoundStatement& statement) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const Params::Value& value : statement.params.values()) {
    values.push_back(value.bytes.c_str());
    lengths.push_back(static_cast<int>(value.bytes.size()));
    formats.push_back(value.is_binary ? 1 : 0);
  }
  return PQsendQueryParams(connection, statement.statement->text, statement.statement->params,
                           nullptr, values.data(), lengths.data(), formats.data(), 0) == 1;
}

BoundStatement pinning(const SessionLimits& limits) {
  std::vector<std::string> names;
  std::vector<std::string> values;
  auto add = [&](const char* name, std::string value) {
    names.emplace_back(name);
    values.push_back(std::move(value));
  };
  for (const SessionSetting& setting : pinned) add(setting.name, setting.value);
  if (limits.plans_once) {
    for (const SessionSetting& setting : plans_once) add(setting.name, setting.value);
  }
  add("lock_timeout", std::to_string(limits.lock_ms));
  add("idle_in_transaction_session_timeout", std::to_string(limits.idle_in_transaction_ms));
  add("client_min_messages", limits.takes_notices ? "notice" : "warning");
  add("statement_timeout", std::to_string(limits.statement_ms));
  return query::PinSettings{.setting_names = names, .setting_values = values};
}

}  // namespace

std::span<const SessionSetting> pinned_settings() { return pinned; }
std::span<const SessionSetting> plans_once_settings() { return plans_once; }

// The transaction says what it is, since its defaults may be anything: a deferrable one would wait
// for others. The first limit that goes is the one that could end the statement that sets the rest.
bool send_pinned_settings(pg_conn* connection, const SessionLimits& limits) {
  return send_text(connection, "BEGIN ISOLATION LEVEL READ COMMITTED, NOT DEFERRABLE") &&
         send_text(connection, "SET statement_timeout = 0") &&
         send_bound(connection, pinning(limits)) && send_text(connection, "COMMIT");
}

bool is_pooled(pg_conn* connection, const Results& results) {
  constexpr size_t pinned_answer = 2;  // behind BEGIN and SET
  return results.at(pinned_answer).front().integer("server_pid") != PQbackendPID(connection);
}

}  // namespace hostler::postgres
