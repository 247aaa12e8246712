// The daemon's table of metrics; see runner/runner_metrics.h.
#include "runner/runner_metrics.h"

#include <array>

namespace hostler::runner {
namespace {

struct CountRow {
  MetricType type;
  const char* name;
  const char* help;
  int64_t RunnerCounts::*count;
};

using enum MetricType;
constexpr std::array count_rows{
    CountRow{gauge, "hostler_runner_runs", "Runs that this daemon executes.", &RunnerCounts::runs},
    CountRow{gauge, "hostler_runner_streams", "Event streams that are open.",
             &RunnerCounts::streams},
    CountRow{counter, "hostler_runner_streams_opened_total", "Event streams that began.",
             &RunnerCounts::streams_opened},
    CountRow{counter, "hostler_runner_streams_refused_total",
             "Requests for a stream that were answered with a problem.",
             &RunnerCounts::streams_refused},
    CountRow{counter, "hostler_runner_streams_cut_off_total",
             "Event streams that were ended because their client did not read.",
             &RunnerCounts::streams_cut_off},
    CountRow{counter, "hostler_runner_runs_claimed_total", "Runs taken on.",
             &RunnerCounts::runs_claimed},
    CountRow{counter, "hostler_runner_runs_ended_total",
             "Runs that ended here, or wait for a human.", &RunnerCounts::runs_ended},
    CountRow{counter, "hostler_runner_runs_lost_total", "Runs that another daemon took over.",
             &RunnerCounts::runs_lost},
    CountRow{counter, "hostler_runner_events_total", "Events written.", &RunnerCounts::events},
    CountRow{counter, "hostler_runner_event_flushes_total", "Commits that wrote them.",
             &RunnerCounts::flushes},
    CountRow{gauge, "hostler_runner_deliveries", "Webhooks and mails that are being sent.",
             &RunnerCounts::deliveries},
    CountRow{counter, "hostler_runner_delivered_total", "Webhooks and mails that arrived.",
             &RunnerCounts::delivered},
    CountRow{counter, "hostler_runner_delivery_failures_total",
             "Attempts to send a webhook or mail that failed.", &RunnerCounts::deliveries_failed},
    CountRow{counter, "hostler_runner_access_log_lines_total",
             "Lines of nginx's access log that were read.", &RunnerCounts::access_log_lines},
    CountRow{counter, "hostler_runner_access_log_set_aside_total",
             "Lines among them that no row could be made of.", &RunnerCounts::access_log_set_aside},
};

std::vector<MetricRow> metric_rows() {
  std::vector<MetricRow> rows;
  rows.reserve(std::size(count_rows));
  for (const CountRow& row : count_rows) rows.push_back({row.type, row.name, row.help, {""}});
  return rows;
}

}  // namespace

RunnerMetrics::RunnerMetrics() : metrics_(metric_rows(), 1) {}

std::string RunnerMetrics::prometheus_text(const RunnerCounts& counts) {
  MetricsSeat seat = metrics_.seat(0);
  for (size_t i = 0; i < count_rows.size(); ++i) seat.set(i, 0, counts.*count_rows[i].count);
  return metrics_.prometheus_text();
}

}  // namespace hostler::runner
