// See runner/registration.h.
#include "runner/registration.h"

#include <fmt/format.h>

#include "lib/log.h"
#include "lib/loop/wait.h"
#include "lib/postgres/with_retry.h"
#include "lib/program/service_notify.h"
#include "queries/daemon.h"
#include "queries/daemons.h"
#include "queries/health.h"
#include "schema_version.h"

namespace hostler::runner {
namespace {

constexpr int64_t retry_ms = 250;

constexpr std::string_view no_such_table = "42P01";

// Why the schema is not the one that this program needs; empty: it is.
std::string misfit(const postgres::BatchOutcome& version) {
  bool has_none = version.error && version.error->cause.starts_with(no_such_table);
  if (version.error && !has_none) return "database: " + version.error->cause;
  if (!has_none && version.results.at(0).front().boolean("fits")) return {};
  return fmt::format("schema version: expected {}, found {}: hostlerctl migrate --status",
                     schema_version_expected, has_none ? "none" : version.results.at(0).text());
}

}  // namespace

Task<void> Registration::until_schema_fits() {
  std::string logged;
  for (;;) {
    postgres::Batch question;
    question.add(query::SchemaVersion{.version = schema_version_expected});
    postgres::BatchOutcome version = co_await db_.attempt_pipelined(std::move(question));
    std::string why = misfit(version);
    if (why.empty()) co_return;
    if (why != logged) {
      log_warning("daemon_waits", {{"why", why}});
      // The daemon counts as started. A service manager would end it for a start that takes long,
      // and an upgrade of the package would wait for that.
      program::notify_service("READY=1\nSTATUS=waiting: " + why);
    }
    logged = why;
    co_await loop::sleep_ms(loop_, retry_ms);
  }
}

Task<std::string> Registration::enter() {
  postgres::BoundStatement starting = query::DaemonStart{.host = identity_.host,
                                                         .instance = identity_.instance,
                                                         .version = HOSTLER_VERSION,
                                                         .lock_id = identity_.lock_id};
  Task<postgres::Result> work = postgres::dedicated_with_retry(loop_, db_, std::move(starting));
  postgres::Result started = co_await work;
  co_return std::string(started.text());
}

Task<bool> Registration::leave(std::string daemon_id) {
  postgres::Batch batch;
  batch.add(query::DaemonStop{.daemon_id = daemon_id});
  postgres::BatchOutcome outcome = co_await db_.attempt(std::move(batch));
  if (outcome.refusal == postgres::Refusal::blocked) {
    postgres::Batch rest;
    rest.add(query::DaemonStopFree{.daemon_id = daemon_id});
    outcome = co_await db_.attempt(std::move(rest));
  }
  co_return !outcome.error;
}

}  // namespace hostler::runner
