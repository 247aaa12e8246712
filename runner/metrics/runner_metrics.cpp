// The daemon's table of metrics; see runner/metrics/runner_metrics.h.
#include "runner/metrics/runner_metrics.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lib/loop/wait.h"
#include "queries/metrics.h"
#include "runner/maintenance/jobs.h"
#include "schema_version.h"

namespace hostler::runner {
namespace {

using enum MetricType;

constexpr int64_t ask_every_ms = 15 * 1000;

// Rows of one name stand together; the last member says where the value is read.
template <class Source>
struct ReadRow {
  MetricType type;
  const char* name;
  const char* labels;
  const char* help;
  Source source;
};

using Own = RunnerCounts;  // this daemon's

// clang-format off
constexpr ReadRow<int64_t Own::*> own_rows[] = {
    {gauge, "hostler_runner_started_timestamp_seconds", "", "Start time of this daemon. It ends by itself when one of its tasks does.", &Own::started_us},
    {gauge, "hostler_runner_runs", "", "Runs that this daemon executes.", &Own::runs},
    {gauge, "hostler_runner_slots", "", "Maximum of runs that this daemon executes.", &Own::slots},
    {gauge, "hostler_runner_is_maintainer", "", "1 if this daemon does the periodic jobs. Exactly one of all daemons does.", &Own::is_maintainer},
    {gauge, "hostler_runner_streams", "", "Event streams that are open.", &Own::streams},
    {counter, "hostler_runner_streams_opened_total", "", "Event streams that were opened.", &Own::streams_opened},
    {counter, "hostler_runner_streams_refused_total", "", "Requests for a stream that were answered with a problem.", &Own::streams_refused},
    {counter, "hostler_runner_streams_cut_off_total", "", "Event streams that were ended because their client did not read.", &Own::streams_cut_off},
    {counter, "hostler_runner_peers_refused_total", "", "Connections to stream.listen_tcp from addresses outside of stream.tcp_peers.", &Own::peers_refused},
    {counter, "hostler_runner_denials_dropped_total", "", "Refused requests for a stream that the audit log only counts.", &Own::denials_dropped},
    {counter, "hostler_runner_stream_runs_gone_back_total", "", "Runs with subscribers whose newest events a new primary lacked.", &Own::stream_runs_gone_back},
    {counter, "hostler_runner_runs_claimed_total", "", "Runs that this daemon claimed.", &Own::runs_claimed},
    {counter, "hostler_runner_runs_fenced_total", "", "Runs that another daemon took over.", &Own::runs_fenced},
    {counter, "hostler_runner_model_adaptations_total", "", "Repeated requests because a model's provider refused a member.", &Own::model_adaptations},
    {counter, "hostler_runner_events_total", "", "Events written.", &Own::events},
    {counter, "hostler_runner_event_flushes_total", "", "Commits that wrote events.", &Own::flushes},
    {counter, "hostler_runner_event_flushes_refused_total", "", "Commits of events that were refused, for a lock or for their time.", &Own::flushes_refused},
    {gauge, "hostler_runner_runs_blocked", "", "Runs whose events wait for a row that another session has locked.", &Own::runs_blocked},
    {gauge, "hostler_runner_event_bytes_pending", "", "Bytes of events not stored yet. Beyond 64 MiB models are not read.", &Own::event_bytes_pending},
    {gauge, "hostler_runner_deliveries", "", "Webhooks and mails that are being sent.", &Own::deliveries},
    {counter, "hostler_runner_delivered_total", "", "Webhooks and mails that arrived.", &Own::delivered},
    {counter, "hostler_runner_delivery_failures_total", "", "Attempts to send a webhook or mail that failed.", &Own::deliveries_failed},
    {gauge, "hostler_budget_input_estimate_ratio", "", "Input tokens that providers counted, relative to the estimate.", &Own::input_estimate_ratio},
    {counter, "hostler_runner_access_log_lines_total", "", "Lines of nginx's access log that were read.", &Own::access_log_lines},
    {counter, "hostler_runner_access_log_skipped_total", "", "Lines among them that could not become a row.", &Own::access_log_skipped},
    {gauge, "hostler_runner_mcp_streams", "", "Streams of MCP servers that are held while a person is asked.", &Own::mcp_streams},
    {gauge, "hostler_runner_access_log_unread_bytes", "", "Bytes of this host's access log that are not in the database yet.", &Own::access_log_unread_bytes},
    {gauge, "hostler_runner_access_log_lag_seconds", "", "Time since the last poll of the access log that found everything read.", &Own::access_log_lag_us},
};

// The same from every daemon: take max(), not sum(). Columns of query::metrics_facts.
constexpr ReadRow<const char*> shared_rows[] = {
    {gauge, "hostler_runs", "state=\"unclaimed\"", "Runs that have not ended.", "runs_unclaimed"},
    {gauge, "hostler_runs", "state=\"claimed\"", "", "runs_claimed"},
    {gauge, "hostler_runs", "state=\"queued\"", "", "runs_queued"},
    {gauge, "hostler_runs", "state=\"waiting_for_input\"", "", "runs_waiting"},
    {gauge, "hostler_runs_lapsed", "", "Claimed runs whose daemon has sent no heartbeat for 30 s and that were not freed yet.", "runs_lapsed"},
    {gauge, "hostler_runs_stuck", "why=\"crashed\"", "Runs whose end cannot be written, or that cannot begin.", "runs_crashed"},
    {gauge, "hostler_runs_stuck", "why=\"queued\"", "", "runs_left_queued"},
    {gauge, "hostler_outbox_pending", "kind=\"mail\"", "Messages that wait to be sent.", "mails_pending"},
    {gauge, "hostler_outbox_pending", "kind=\"webhook\"", "", "webhooks_pending"},
    {gauge, "hostler_outbox_failed", "", "Messages that have failed for good.", "outbox_failed"},
    {gauge, "hostler_outbox_mails_refused", "why=\"other\"", "Mails that wait for another try, by the fault of the last one.", "mails_tried"},
    {gauge, "hostler_outbox_mails_refused", "why=\"login\"", "", "mails_without_login"},
    {gauge, "hostler_outbox_mails_refused", "why=\"smtputf8\"", "", "mails_without_smtputf8"},
    {gauge, "hostler_outbox_mail_failing_seconds", "", "Time for which the mail that waits longest has been tried.", "mail_failing_us"},
    {gauge, "hostler_outbox_lag_seconds", "kind=\"mail\"", "Time for which the oldest waiting message has been due.", "mail_lag_us"},
    {gauge, "hostler_outbox_lag_seconds", "kind=\"webhook\"", "", "webhook_lag_us"},
    {gauge, "hostler_mcp_lag_seconds", "kind=\"task\"", "Time for which an MCP server has been due for a listing.", "mcp_task_lag_us"},
    {gauge, "hostler_mcp_lag_seconds", "kind=\"listing\"", "", "mcp_listing_lag_us"},
    {gauge, "hostler_models_left_out", "scope=\"platform\"", "Models that runs with another route leave out (circuit breaker).", "platform_models_left_out"},
    {gauge, "hostler_models_left_out", "scope=\"org\"", "", "org_models_left_out"},
    {gauge, "hostler_daemons", "", "Daemons that send heartbeats.", "daemons"},
    {gauge, "hostler_database_connections", "", "Connections to Postgres, of all programs.", "connections"},
    {gauge, "hostler_database_connections_max", "", "The value of max_connections.", "connections_max"},
    {gauge, "hostler_database_bytes", "", "Size of the database.", "bytes"},
    {gauge, "hostler_maintenance_clock_held", "", "1 while no job deletes or ends anything: the database's clock is not accepted.", "maintenance_clock_held"},
    {gauge, "hostler_partition_months_ahead", "table=\"run_events\"", "Months after this one whose partition exists.", "event_months_ahead"},
    {gauge, "hostler_partition_months_ahead", "table=\"audit_logs\"", "", "audit_months_ahead"},
    {gauge, "hostler_database_asked_timestamp_seconds", "", "Time at which the database last answered with these numbers.", "now_us"},
};
// clang-format on

// Codes with which a run can end, else other.
constexpr std::array<std::string_view, 21> failure_codes{
    "model.rejected",         "model.rate_limited", "model.unavailable",
    "model.stream_broken",    "model.bad_response", "credits.exhausted",
    "budget.exhausted",       "run.timeout",        "run.turn_limit",
    "run.answer_too_long",    "run.repeated_call",  "model.context_exceeded",
    "run.output_limit",       "run.crashed",        "output.schema_mismatch",
    "run.input_timeout",      "files.not_ready",    "files.refused",
    "runs.input_unsupported", "internal.error",     "other"};
constexpr std::array<std::string_view, 4> end_states{"completed", "failed", "cancelled",
                                                     "waiting_for_input"};
constexpr std::array<std::string_view, 3> tool_names{"web_search", "web_fetch", "other"};
constexpr std::array<std::string_view, 2> tool_results{"ok", "error"};
// In the order of EgressResult.
constexpr std::array<std::string_view, 5> egress_results{"carried", "refused", "unready",
                                                         "unreachable", "broken"};

// The rows behind those of the two tables above.
enum CountedRow : size_t {
  runs_ended,
  runs_failed,
  turns,
  turn_seconds,
  tokens,
  fall_backs,
  tool_calls,
  egress_calls,
  maintenance_rounds,
  maintenance_seconds,
  maintenance_failures
};

template <size_t size>
size_t index_of(const std::array<std::string_view, size>& names, std::string_view name) {
  auto found = std::find(names.begin(), names.end() - 1, name);
  return static_cast<size_t>(found - names.begin());  // the last one takes the rest
}

template <size_t size>
std::vector<std::string> labelled(const char* label,
                                  const std::array<std::string_view, size>& values) {
  std::vector<std::string> series;
  series.reserve(size);
  for (std::string_view value : values) series.push_back(fmt::format("{}=\"{}\"", label, value));
  return series;
}

std::vector<std::string> tool_series() {
  std::vector<std::string> series;
  for (std::string_view name : tool_names) {
    for (std::string_view result : tool_results) {
      series.push_back(fmt::format("tool=\"{}\",result=\"{}\"", name, result));
    }
  }
  return series;
}

std::vector<std::string> job_series() {
  std::vector<std::string> series;
  for (const Job& job : maintenance_jobs()) {
    series.push_back(fmt::format("job=\"{}\"", job.statement->name));
  }
  return series;
}

template <class Rows>
void add_rows(const Rows& table, std::vector<MetricRow>& rows) {
  for (const auto& row : table) {
    if (!rows.empty() && rows.back().name == row.name) {
      rows.back().series.emplace_back(row.labels);
    } else {
      rows.push_back({row.type, row.name, row.help, {row.labels}});
    }
  }
}

std::vector<MetricRow> metric_rows() {
  std::vector<MetricRow> rows{
      {counter, "hostler_runner_runs_ended_total", "Runs that ended here, or wait for a human.",
       labelled("status", end_states)},
      {counter, "hostler_runner_runs_failed_total", "Runs that failed, by their code.",
       labelled("code", failure_codes), true},
      {counter, "hostler_runner_turns_total", "Turns of models that were committed.", {""}},
      {histogram, "hostler_runner_turn_seconds", "Duration of a turn, with its tries.", {""}},
      {counter,
       "hostler_runner_tokens_total",
       "Tokens of those turns. Cached ones are also input.",
       {"kind=\"input\"", "kind=\"output\"", "kind=\"cached\""}},
      {counter,
       "hostler_runner_fall_backs_total",
       "Times that another route stood in for a run's.",
       {""}},
      {counter, "hostler_runner_tool_calls_total", "Calls of tools.", tool_series()},
      {counter, "hostler_runner_egress_calls_total",
       "Calls that the pool made through this daemon, by outcome.",
       labelled("result", egress_results)},
      {counter, "hostler_runner_maintenance_rounds_total", "Rounds of a periodic job.",
       job_series()},
      {counter, "hostler_runner_maintenance_seconds_total", "Duration of the rounds.",
       job_series()},
      {counter, "hostler_runner_maintenance_failures_total",
       "Times that a periodic job, or a part of it, failed.", job_series()},
      {gauge,
       "hostler_runner_info",
       "1, with the version of program and schema.",
       {fmt::format("version=\"{}\",schema_version=\"{}\"", HOSTLER_VERSION,
                    schema_version_expected)}},
  };
  add_rows(shared_rows, rows);
  add_rows(own_rows, rows);
  return rows;
}

constexpr size_t info_row = maintenance_failures + 1;

// The rows of the tables follow the row `last`, in their order; rows of one name are its series.
template <class Rows, class Reader>
void set_rows(const Rows& table, size_t last, const MetricsWriter& writer, Reader value_of) {
  const char* name = "";
  size_t series = 0;
  for (const auto& row : table) {
    bool is_same = std::string_view(row.name) == name;
    series = is_same ? series + 1 : 0;
    if (!is_same) ++last;
    name = row.name;
    writer.set(last, series, value_of(row.source));
  }
}

template <class Rows>
constexpr size_t names_in(const Rows& table) {
  size_t names = 0;
  std::string_view last;
  for (const auto& row : table) {
    if (std::exchange(last, row.name) != row.name) ++names;
  }
  return names;
}

}  // namespace

RunnerMetrics::RunnerMetrics() : metrics_(metric_rows(), 1) {
  metrics_.writer(0).set(info_row, 0, 1);
}

void RunnerMetrics::count_turn(const TurnRecord& turn) {
  MetricsWriter writer = metrics_.writer(0);
  writer.count(turns);
  if (!turn.parts_json.empty()) writer.observe_us(turn_seconds, 0, turn.duration_ms * 1000);
  writer.count(tokens, 0, turn.usage.input_tokens);
  writer.count(tokens, 1, turn.usage.output_tokens);
  writer.count(tokens, 2, turn.usage.cache_read_tokens);
  model_adaptations_ += turn.adaptations;
}

void RunnerMetrics::count_tool(const ToolRecord& tool) {
  size_t result = tool.error_code.empty() ? 0 : 1;
  size_t series = index_of(tool_names, tool.call.name) * tool_results.size() + result;
  metrics_.writer(0).count(tool_calls, series);
}

void RunnerMetrics::count_wait() {
  metrics_.writer(0).count(runs_ended, index_of(end_states, "waiting_for_input"));
}

void RunnerMetrics::count_fall_back() { metrics_.writer(0).count(fall_backs); }

void RunnerMetrics::count_outcome(const Outcome& outcome) {
  MetricsWriter writer = metrics_.writer(0);
  writer.count(runs_ended, index_of(end_states, outcome.status));
  if (outcome.status == "failed") writer.count(runs_failed, index_of(failure_codes, outcome.code));
}

void RunnerMetrics::count_egress(EgressResult result) {
  metrics_.writer(0).count(egress_calls, static_cast<size_t>(result));
}

void RunnerMetrics::count_maintenance(size_t job, int64_t took_ms) {
  MetricsWriter writer = metrics_.writer(0);
  writer.count(maintenance_rounds, job);
  writer.count(maintenance_seconds, job, took_ms * 1000);
}

void RunnerMetrics::count_maintenance_failure(size_t job) {
  metrics_.writer(0).count(maintenance_failures, job);
}

Task<void> RunnerMetrics::ask_forever(loop::Loop& loop, postgres::Database& db) {
  for (;;) {
    postgres::Batch batch;
    batch.add(query::MetricsFacts{});
    postgres::BatchOutcome outcome = co_await db.attempt(std::move(batch));
    if (!outcome.error) take_facts(outcome.results.at(0).front());
    co_await loop::sleep_ms(loop, ask_every_ms);
  }
}

void RunnerMetrics::take_facts(const postgres::Row& facts) {
  set_rows(shared_rows, info_row, metrics_.writer(0),
           [&facts](const char* column) { return facts.integer(column); });
}

std::string RunnerMetrics::prometheus_text(const RunnerCounts& counts) {
  set_rows(own_rows, info_row + names_in(shared_rows), metrics_.writer(0),
           [&counts](int64_t RunnerCounts::*count) { return counts.*count; });
  return metrics_.prometheus_text();
}

}  // namespace hostler::runner
