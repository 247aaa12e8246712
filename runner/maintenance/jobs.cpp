// The table of jobs; see runner/maintenance/jobs.h.
#include "runner/maintenance/jobs.h"

#include "queries/maintenance.h"

namespace hostler::runner {
namespace {

constexpr int64_t minute_ms = 60 * 1000;
// Rows of a table that one page takes away: some ten milliseconds.
constexpr int64_t pruned_max = 1000;
// Accounts that one page of grants locks; fewer than 64, see subscription_upkeep.
constexpr int64_t granted_max = 50;
constexpr int64_t inputs_expired_max = 100;

Params nothing(const Settings&) { return {}; }
Params prune_page(const Settings&) { return Params().integer(pruned_max); }
Params grant_page(const Settings&) { return Params().integer(granted_max); }
Params expiry_page(const Settings&) { return Params().integer(inputs_expired_max); }
Params event_retention(const Settings& settings) {
  return Params().integer(settings.integer("run_events.retention_days"));
}
Params audit_retention(const Settings& settings) {
  return Params().integer(settings.integer("audit.retention_days"));
}
Params access_log_retention(const Settings& settings) {
  return Params().integer(settings.integer("access_log.retention_days"));
}

// clang-format off
constexpr Job jobs[] = {
    {&query::event_partitions,        minute_ms, nothing},  // without them no run can write
    {&query::access_log_partitions,   minute_ms, nothing},
    {&query::audit_partitions,        minute_ms, nothing},
    {&query::run_expire_inputs,           1'000, expiry_page},
    {&query::platform_fold,              10'000, nothing},
    {&query::subscription_upkeep,     minute_ms, grant_page},
    {&query::auth_prune,              minute_ms, prune_page},
    {&query::outbox_prune,            minute_ms, prune_page},
    {&query::idempotency_prune,       minute_ms, prune_page},
    {&query::access_log_files_prune,  minute_ms, prune_page},
    {&query::access_log_prune,        minute_ms, access_log_retention},
    {&query::run_events_prune,        minute_ms, event_retention},
    {&query::audit_prune,             minute_ms, audit_retention},
};
// clang-format on

}  // namespace

std::span<const Job> maintenance_jobs() { return jobs; }

}  // namespace hostler::runner
