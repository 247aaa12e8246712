// The table of jobs; see runner/maintenance/jobs.h.
#include "runner/maintenance/jobs.h"

#include "queries/maintenance.h"

namespace hostler::runner {
namespace {

constexpr int64_t minute_ms = 60 * 1000;
// Rows of a table that one page takes away: some ten milliseconds.
constexpr int64_t pruned_max = 1000;
// Accounts that one page of grants locks; fewer than 64, see subscription_maintenance.
constexpr int64_t granted_max = 50;
constexpr int64_t inputs_expired_max = 100;
// Runs whose events one page writes again, each up to limit.run_event_bytes.
constexpr int64_t forgotten_max = 10;
// Messages or events that one page of a deleted thread removes: messages have 64 KiB and more.
constexpr int64_t emptied_max = 200;
// Rows that one page of an ending changes; an eighth as many runs, which it ends.
constexpr int64_t ended_max = 400;
// Rows that one page of an erasure changes; threads among them are locked together.
constexpr int64_t erased_max = 100;
// Looks of one page of an export, and rows of each look; a page ends at 256 KiB.
constexpr int64_t exported_max = 200;
// Accounts that one page of a change of all of them locks: some ten milliseconds.
constexpr int64_t changed_max = 500;

// Rows of the table: a statement without parameters, one that takes so many rows at most, one that
// a setting bounds.
template <class Query>
constexpr Job job(int64_t period_ms) {
  return {Query::statement, period_ms,
          [](const config::Settings&) -> postgres::BoundStatement { return Query{}; }};
}
template <class Query, int64_t max>
constexpr Job paged(int64_t period_ms) {
  return {Query::statement, period_ms, [](const config::Settings&) -> postgres::BoundStatement {
            return Query{.at_most = max};
          }};
}
template <class Query>
constexpr Job bounded(int64_t period_ms,
                      postgres::BoundStatement (*bind)(const config::Settings&)) {
  return {Query::statement, period_ms, bind};
}

// The job deletes or ends what is over by the database's clock.
constexpr Job by_clock(Job row) {
  row.goes_by_clock = true;
  return row;
}

postgres::BoundStatement access_log_retention(const config::Settings& settings) {
  return query::AccessLogPrune{.access_log_retention_days =
                                   settings.integer("access_log.retention_days")};
}
postgres::BoundStatement event_retention(const config::Settings& settings) {
  return query::RunEventsPrune{.run_events_retention_days =
                                   settings.integer("run_events.retention_days")};
}
postgres::BoundStatement audit_retention(const config::Settings& settings) {
  return query::AuditPrune{.audit_retention_days = settings.integer("audit.retention_days")};
}

postgres::BoundStatement unused_files(const config::Settings& settings) {
  return query::FilesPrune{.files_unused_days = settings.integer("files.unused_days")};
}

constexpr Job jobs[] = {
    job<query::EventPartitions>(minute_ms),  // without them no run can write
    job<query::AccessLogPartitions>(minute_ms),
    job<query::AuditPartitions>(minute_ms),
    by_clock(paged<query::RunExpireInputs, inputs_expired_max>(1'000)),
    paged<query::EndingContinue, ended_max>(1'000),
    job<query::SearchMerge>(500),
    job<query::PlatformRollUp>(10'000),
    by_clock(paged<query::SubscriptionMaintenance, granted_max>(minute_ms)),
    by_clock(paged<query::AuthPrune, pruned_max>(minute_ms)),
    by_clock(paged<query::McpAuthorizationsPrune, pruned_max>(minute_ms)),
    by_clock(paged<query::SsoPrune, pruned_max>(minute_ms)),
    by_clock(paged<query::ModelTestsPrune, pruned_max>(minute_ms)),
    by_clock(paged<query::OutboxPrune, pruned_max>(minute_ms)),
    by_clock(paged<query::WebhookSecretsPrune, pruned_max>(minute_ms)),
    paged<query::WebhookPrune, pruned_max>(minute_ms),
    paged<query::WebhookCancel, pruned_max>(1'000),
    paged<query::CreditBulkPage, changed_max>(1'000),
    paged<query::TurnHoldsExpire, inputs_expired_max>(1'000),
    by_clock(paged<query::BudgetRenewals, inputs_expired_max>(1'000)),
    paged<query::BudgetAlertsSend, inputs_expired_max>(1'000),
    by_clock(paged<query::BudgetsPrune, pruned_max>(minute_ms)),
    by_clock(paged<query::IdempotencyPrune, pruned_max>(minute_ms)),
    by_clock(paged<query::AccessLogFilesPrune, pruned_max>(minute_ms)),
    by_clock(bounded<query::AccessLogPrune>(minute_ms, access_log_retention)),
    by_clock(bounded<query::RunEventsPrune>(minute_ms, event_retention)),
    by_clock(paged<query::RunEventsFree, pruned_max>(minute_ms)),
    by_clock(paged<query::ChatRunsForget, forgotten_max>(minute_ms)),
    by_clock(paged<query::ThreadsEmpty, emptied_max>(minute_ms)),
    by_clock(paged<query::ResponsesEmpty, emptied_max>(minute_ms)),
    by_clock(paged<query::ErasuresPage, erased_max>(1'000)),
    by_clock(bounded<query::FilesPrune>(1'000, unused_files)),
    paged<query::ExportsPage, exported_max>(1'000),
    by_clock(paged<query::ExportsPrune, emptied_max>(minute_ms)),
    by_clock(paged<query::PrivacyJournalPrune, pruned_max>(minute_ms)),
    by_clock(bounded<query::AuditPrune>(minute_ms, audit_retention)),
};

}  // namespace

std::span<const Job> maintenance_jobs() { return jobs; }

}  // namespace hostler::runner
