// The words; see lib/health/database_health.h.
#include "lib/health/database_health.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "lib/config/worker_count.h"
#include "lib/time_text.h"
#include "schema_version.h"

namespace hostler::health {
namespace {

constexpr int64_t clock_skew_max_ms = 2'000;
constexpr int64_t transaction_max_s = 3'600;
constexpr int64_t outbox_wait_max_s = 900;
// Beside the dedicated ones of a worker: the pipelined one and the flusher.
constexpr int64_t other_connections_of_worker = 2;

// Maximum that this host's pool opens.
int64_t pool_connections(const config::Settings& settings) {
  int64_t workers = config::worker_count(settings, std::thread::hardware_concurrency());
  return workers * (settings.integer("api.own_connections") + other_connections_of_worker);
}

void look_at_connections(const config::Settings& settings, const postgres::Row& row,
                         Report& report) {
  int64_t max = row.integer("connections_max");
  int64_t now = row.integer("connections");
  int64_t of_pools = row.integer("connections_of_pools");
  int64_t pool = pool_connections(settings);
  // New workers come up before the old ones go: for that time this host's pool is there twice.
  int64_t while_reloading = now - of_pools + std::max(of_pools, pool) + pool;
  if (while_reloading > max) {
    report.warn("connections",
                fmt::format("{} of {}; a reload of the pool, which has up to {}, needs room for {}:"
                            " raise max_connections by {}, or lower api.own_connections",
                            now, max, pool, while_reloading, while_reloading - max));
  } else if (now * 5 > max * 4) {
    report.warn("connections", fmt::format("{} of {}: raise max_connections", now, max));
  } else {
    report.well("connections",
                fmt::format("{} of {}; {} while the pool is reloaded", now, max, while_reloading));
  }
}

}  // namespace

int64_t standbys_to_spare(std::string_view synchronous_standby_names) {
  std::string_view names = synchronous_standby_names;
  int64_t wanted = 1;
  size_t open = names.find('(');
  if (open != names.npos) {
    std::string_view before = names.substr(0, open);
    size_t digit = std::min(before.find_first_of("0123456789"), before.size());
    std::from_chars(before.data() + digit, before.data() + before.size(), wanted);
    names = names.substr(open + 1, names.rfind(')') - open - 1);
  }
  if (names.find_first_not_of(" \t") == names.npos) return 1;
  if (names.find('*') != names.npos) return 1;
  return std::count(names.begin(), names.end(), ',') + 1 - wanted;
}

void look_at_postgres(const config::Settings& settings, const postgres::Row& row, Report& report) {
  report.well("database", fmt::format("Postgres {}, schema {}", row.text("server_version"),
                                      schema_version_expected));
  int64_t skew_ms = std::abs(row.integer("now_ms") - unix_now_ms());
  if (skew_ms > clock_skew_max_ms) {
    report.warn("clock", fmt::format("{} ms from the database's; run an NTP client", skew_ms));
  } else {
    report.well("clock", fmt::format("{} ms from the database's", skew_ms));
  }
  if (!row.boolean("is_durable")) {
    report.fault("durability",
                 "fsync, full_page_writes or synchronous_commit is off, so a crash loses answered "
                 "writes; turn it on in postgresql.conf and reload Postgres");
  }
  std::string_view standbys = row.text("synchronous_standby_names");
  if (standbys_to_spare(standbys) < 1 && !row.boolean("is_watched_over")) {
    report.warn("durability",
                fmt::format("synchronous_standby_names is '{}': when one of them is lost, every "
                            "write waits until it is back; name one more, ANY 1 (a, b)",
                            standbys));
  }
  look_at_connections(settings, row, report);
  if (row.integer("transaction_s") > transaction_max_s) {
    report.warn("transactions",
                fmt::format("one is open for {} s and blocks vacuum: pg_stat_activity shows whose, "
                            "pg_terminate_backend(pid) ends it",
                            row.integer("transaction_s")));
  }
}

// Mails that their server did not take, and that are tried again.
void look_at_refused_mails(const postgres::Row& row, Report& report) {
  int64_t count = row.integer("mails_refused");
  if (count == 0) return;
  std::string_view fault = row.text("mail_fault");
  bool needs_operator =
      fault == "without_login" || fault == "without_smtputf8" || fault == "untrusted";
  std::string words = fmt::format(
      "the mail server refuses {} of the mails that wait; the first has been tried for {} s: {}; "
      "hostlerctl outbox list",
      count, row.integer("mail_failing_s"), row.text("mail_error"));
  if (needs_operator || row.integer("mail_failing_s") > outbox_wait_max_s) {
    report.warn("mails", words);
  } else {
    report.well("mails", words);
  }
}

void look_at_work(const postgres::Row& row, Report& report) {
  if (row.integer("admins") == 0) {
    report.warn("administrators", "none: hostlerctl admin create --login … --email …");
  }
  if (row.integer("daemons") == 0) {
    report.fault("daemon", "no hostler-runner sends heartbeats: systemctl status hostler-runner");
  } else {
    report.well("daemon", fmt::format("{} alive", row.integer("daemons")));
  }
  if (row.integer("unclaimed") > 0) {
    report.warn("runs", fmt::format("without a daemon for over a minute: {}; raise run.slots or "
                                    "start another hostler-runner",
                                    row.integer("unclaimed")));
  } else {
    report.well("runs", "none waits for a daemon for over a minute");
  }
  if (row.integer("outbox_wait_s") > outbox_wait_max_s) {
    report.warn("outbox", fmt::format("a message waits for {} s: hostlerctl outbox list",
                                      row.integer("outbox_wait_s")));
  } else if (row.integer("outbox_failed") > 0) {
    report.well(
        "outbox",
        fmt::format(
            "no message waits for long; {} have failed: hostlerctl outbox list --status failed",
            row.integer("outbox_failed")));
  } else {
    report.well("outbox", "no message waits for long, none has failed");
  }
  look_at_refused_mails(row, report);
  if (row.integer("mcp_failing") > 0) {
    report.warn(
        "mcp_connections",
        fmt::format("tokens that cannot be refreshed: {}, the oldest for {} s; each is tried again "
                    "up to hourly, and mcp_refresh_failed in the log has the reason",
                    row.integer("mcp_failing"), row.integer("mcp_failing_s")));
  }
}

}  // namespace hostler::health
