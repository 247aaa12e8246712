// See runner/daemon.h.
#include "runner/daemon.h"

#include <fmt/format.h>

#include "lib/log.h"
#include "lib/postgres/pooler.h"
#include "lib/program/service_notify.h"
#include "schema_version.h"

namespace hostler::runner {
namespace {

// All queries on the pipelined connection are short. If it does not answer for this long, it is
// replaced.
constexpr int64_t silence_max_ms = 3'000;
constexpr int64_t drain_limit_ms = 15'000;
constexpr int64_t egress_limit_ms = 5'000;  // the longest that a captcha's server may take

postgres::DatabaseOptions database_options(const config::Settings& start,
                                           std::string application_name,
                                           int dedicated_connections_max) {
  postgres::DatabaseOptions options;
  options.conninfo = start.text("database.url");
  options.application_name = std::move(application_name);
  options.dedicated_connections_max = dedicated_connections_max;
  options.answer_timeout_ms = 10'000;
  options.statement_timeout_ms = 9'000;
  options.pipelined_timeout_ms = silence_max_ms;
  return options;
}

postgres::DatabaseOptions events_options(const config::Settings& start) {
  postgres::DatabaseOptions options = database_options(start, "hostler-runner events", 2);
  options.lock_timeout_ms = EventLog::lock_timeout_ms;
  options.plans_once = true;
  return options;
}

http::HttpClientOptions http_options(const config::Settings& start) {
  http::HttpClientOptions options;
  options.ca_file = start.text("outbound.ca_file");
  return options;
}

void log_failure(const std::string& name, std::exception_ptr failure) {
  log_error("task_failed", {{"task", name}, {"cause", loop::cause_of(failure)}});
}

}  // namespace

Daemon::Daemon(loop::Loop& loop, const config::Settings& start, config::SecretBox secrets,
               events::EventBus& bus, DaemonOptions options, StreamSide stream_side)
    : loop_(loop),
      options_(std::move(options)),
      bus_(bus),
      stream_side_(std::move(stream_side)),
      db_(loop, database_options(start, "hostler-runner",
                                 static_cast<int>(start.integer("runner.database_connections")))),
      events_db_(loop, events_options(start)),
      notifications_(loop, database_options(start, "hostler-runner listening", 1)),
      registration_(loop, db_, options_.identity),
      http_(loop, http_options(start)),
      secrets_(std::move(secrets)),
      settings_(loop, db_, start, secrets_, [this](const config::Settings& now) { apply(now); }),
      gateway_(std::make_shared<const client::Gateway>(start, options_.risky_networks)),
      long_turns_(loop, long_turn_shares),
      model_health_(loop, db_),
      tasks_(loop, log_failure) {}

// If the loop was stopped in the midst of work, deferred actions hold writers of runs, which point
// into the members that are destroyed here.
Daemon::~Daemon() { loop_.drop_deferred(); }

std::string Daemon::metrics_text() {
  RunnerCounts counts;
  counts.started_us = started_us_;
  stream_side_.count(counts);
  if (queue_) {
    counts.runs = static_cast<int64_t>(queue_->active());
    counts.runs_claimed = queue_->claimed();
    counts.runs_fenced = queue_->fenced();
    counts.model_adaptations = metrics_.model_adaptations();
    counts.events = events_->events_written();
    counts.flushes = events_->flushes();
    counts.flushes_refused = events_->flushes_refused();
    counts.runs_blocked = events_->runs_blocked();
    counts.event_bytes_pending = events_->pending_bytes();
    counts.deliveries = outbox_->under_way();
    counts.delivered = outbox_->delivered();
    counts.deliveries_failed = outbox_->failed();
  }
  if (maintainer_) counts.is_maintainer = maintainer_->epoch().has_value();
  counts.slots = options_.slots;
  if (turn_holds_) counts.input_estimate_ratio = turn_holds_->estimates().ratio_millionths();
  if (sso_calls_) {
    counts.sso_calls = sso_calls_->made();
    counts.sso_faults = sso_calls_->failed();
  }
  if (tools_) counts.mcp_streams = static_cast<int64_t>(tools_->held_calls().held());
  if (access_log_) {
    counts.access_log_lines = access_log_->lines();
    counts.access_log_skipped = access_log_->lines_skipped();
    counts.access_log_unread_bytes = access_log_->unread_bytes();
    counts.access_log_lag_us = access_log_->lag_ms() * 1000;
  }
  return metrics_.prometheus_text(counts);
}

int Daemon::streams() const {
  RunnerCounts counts;
  stream_side_.count(counts);
  return static_cast<int>(counts.streams);
}

void Daemon::start() {
  const config::Settings& start = settings_.start();
  tasks_.add("pooling", postgres::refuse_transaction_pooling(
                            loop_, database_options(start, "hostler-runner pooling", 1)));
  tasks_.add_essential("begin", begin());
}

Task<void> Daemon::begin() {
  co_await registration_.until_schema_fits();
  co_await settings_.read();
  std::string id = co_await registration_.enter();
  id_ = std::move(id);
  begin_egress();
  make_parts();
  listen();
  begin_tasks();
  log_info("daemon_ready", {{"daemon_id", id_}, {"instance", options_.identity.instance}});
  program::notify_service(fmt::format("READY=1\nSTATUS=up to {} runs at once, schema {}",
                                      options_.slots, schema_version_expected));
}

void Daemon::make_parts() {
  auto on_fenced = [this](const RunWriterPtr& writer) {
    if (queue_) queue_->on_fenced(writer);
  };
  events_ = std::make_unique<EventLog>(loop_, events_db_, bus_, metrics_, id_, on_fenced);
  const config::LiveSettings& settings = settings_.live();
  tools_ = std::make_unique<ToolBox>(loop_, db_, http_, secrets_, settings);
  turn_holds_ = std::make_unique<TurnHolds>(loop_, db_, settings, id_);
  agent_services_ = std::make_unique<AgentServices>(
      AgentServices{loop_, db_, http_, *events_, secrets_, settings, *tools_, long_turns_,
                    *turn_holds_, model_health_});
  outbox_ = std::make_unique<Outbox>(OutboxServices{loop_, db_, http_, secrets_, settings}, id_);
  OAuthServices mcp_services{loop_, db_, http_, secrets_, settings};
  connections_ = std::make_unique<ConnectionMaintenance>(mcp_services);
  listings_ = std::make_unique<ListingJob>(mcp_services);
  task_polls_ = std::make_unique<TaskPolls>(mcp_services);
  model_tests_ = std::make_unique<ModelTests>(*agent_services_);
  file_checks_ = std::make_unique<FileChecks>(loop_, db_, settings_.start());
  sso_calls_ = std::make_unique<SsoCalls>(mcp_services);
  RunQueueOptions queue_options{options_.slots, [this] { outbox_->look_for_webhooks(); }};
  queue_ = std::make_unique<RunQueue>(*agent_services_, tasks_, id_, queue_options,
                                      [this] { return streams(); });
  full_streams_ = std::make_unique<FullStreams>(loop_, db_, id_, stream_side_.full_holders);
  make_maintenance();
}

void Daemon::make_maintenance() {
  const config::LiveSettings& settings = settings_.live();
  maintainer_ = std::make_unique<Maintainer>(loop_, db_, settings, id_);
  MaintenanceCounts counts;
  counts.on_round = [this](size_t job, int64_t ms) { metrics_.count_maintenance(job, ms); };
  counts.on_failure = [this](size_t job) { metrics_.count_maintenance_failure(job); };
  maintenance_ =
      std::make_unique<Maintenance>(loop_, db_, settings, *maintainer_, std::move(counts));
}

void Daemon::begin_tasks() {
  tasks_.add_forever("event_log", events_->write_events());
  tasks_.add_forever("step_log", events_->write_steps());
  tasks_.add_forever("claims", queue_->claim_forever());
  tasks_.add_forever("heartbeat", queue_->heartbeat_forever());
  tasks_.add_forever("cancels", queue_->watch_cancels_forever());
  tasks_.add_forever("trials", queue_->watch_trials_forever());
  tasks_.add_forever("model_health", model_health_.report_forever());
  tasks_.add_forever("full_streams", full_streams_->report_forever());
  // While notifications do not arrive the stream server looks for itself.
  auto on_checked = [this](bool is_listening) {
    bus_.set_listening(is_listening && queue_->is_known_to_others());
  };
  tasks_.add_forever("listening", notifications_.check_forever(on_checked));
  tasks_.add_forever("maintainer", maintainer_->look_forever());
  maintenance_->begin(tasks_);
  tasks_.add_forever("metrics", metrics_.ask_forever(loop_, db_));
  begin_access_log();
  tasks_.add_forever("mails", outbox_->mails_forever());
  tasks_.add_forever("webhooks", outbox_->webhooks_forever());
  tasks_.add_forever("mcp_connections", connections_->work_forever());
  tasks_.add_forever("mcp_listings", listings_->list_forever());
  tasks_.add_forever("mcp_tasks", task_polls_->poll_forever());
  tasks_.add_forever("model_tests", model_tests_->test_forever());
  tasks_.add_forever("file_checks", file_checks_->check_forever());
  tasks_.add_forever("sso_calls", sso_calls_->work_forever());
  tasks_.add_forever("mcp_streams", tools_->held_calls().watch_forever());
}

void Daemon::begin_access_log() {
  const config::Settings& start = settings_.start();
  if (start.text("access_log.dir").empty()) return;
  AccessLogOptions options;
  options.host = options_.identity.host;
  options.folder = start.text("access_log.dir");
  options.geoip_database = start.text("geoip.database");
  options.gateway = [this] { return gateway_; };
  access_log_ = std::make_unique<AccessLogTailer>(loop_, db_, std::move(options));
  tasks_.add_forever("access_log", access_log_->run());
}

void Daemon::begin_egress() {
  EgressServices services{loop_, db_, secrets_, settings_,
                          [this](EgressResult result) { metrics_.count_egress(result); }};
  egress_proxy_ =
      std::make_unique<EgressProxy>(std::move(services), settings_.start().text("outbound.socket"));
  tasks_.add_essential("outbound", egress_proxy_->open_when_free());
}

// A run that ended, or whose person answered, may have calls that go on at their servers.
void Daemon::look_at_remote_calls() {
  if (task_polls_) task_polls_->look();
  if (tools_) tools_->held_calls().look();
}

void Daemon::hear_of_control(std::string_view run_id) {
  if (queue_) queue_->look_for_cancels();
  if (outbox_) outbox_->look();
  look_at_remote_calls();
  // A run that nobody owned was ended by the API: its subscribers read that from the table.
  bus_.changed_elsewhere({std::string(run_id)});
}

void Daemon::listen() {
  // Notifications for this daemon alone: a run of its own, or that a new one exists.
  std::string channel = "hostler_daemon_" + id_;  // as daemon_channel() names it
  std::erase(channel, '-');
  notifications_.on(std::move(channel), [this](std::string_view run_id) {
    if (!run_id.empty()) return hear_of_control(run_id);
    if (queue_) queue_->hear_of_run();
  });
  notifications_.on("hostler_runs", [this](std::string_view) {
    if (queue_) queue_->look_for_runs();
  });
  notifications_.on("hostler_control",
                    [this](std::string_view run_id) { hear_of_control(run_id); });
  notifications_.on(config::StoredSettings::channel, [this](std::string_view) {
    if (outbox_) outbox_->look_at_settings();
    if (outbox_) outbox_->look();
    if (egress_proxy_) egress_proxy_->look_at_settings();
    settings_.reload();
  });
  notifications_.on("hostler_tools", [this](std::string_view) {
    if (tools_) tools_->hear_of_providers();
  });
  notifications_.on("hostler_outbox", [this](std::string_view) {
    if (outbox_) outbox_->look();
  });
  notifications_.on("hostler_mcp", [this](std::string_view) {
    if (connections_) connections_->look();
    if (listings_) listings_->look();
  });
  notifications_.on("hostler_model_tests", [this](std::string_view) {
    if (model_tests_) model_tests_->look();
  });
  notifications_.on("hostler_files", [this](std::string_view) {
    if (file_checks_) file_checks_->look();
  });
  notifications_.on("hostler_sso", [this](std::string_view) {
    if (sso_calls_) sso_calls_->look();
  });
  notifications_.on("hostler_events", [this](std::string_view payload) {
    bus_.changed_elsewhere(EventLog::announced_runs(payload));
  });
  notifications_.listen([this] { on_listening(); });
}

// Looks up whatever was notified while nobody listened.
void Daemon::on_listening() {
  settings_.reload();
  if (egress_proxy_) egress_proxy_->look_at_settings();
  if (tools_) tools_->hear_of_providers();
  if (!queue_) return;
  bus_.set_listening(queue_->is_known_to_others());
  bus_.resync();
  queue_->look_for_runs();
  queue_->look_for_cancels();
  outbox_->look_at_settings();
  outbox_->look();
}

// Passes the settings in force to the parts that do not ask for them.
void Daemon::apply(const config::Settings& now) {
  std::optional<net::CidrList> allowed = net::CidrList::parse(now.strings("outbound.allow_cidrs"));
  if (!allowed) log_error("setting_bad", {{"key", "outbound.allow_cidrs"}});
  http_.allow_cidrs(allowed.value_or(net::CidrList()));
  stream_side_.allow_origins(now.strings("http.cors_origins"));
  stream_side_.use_limits(now);
  gateway_ = std::make_shared<const client::Gateway>(now, options_.risky_networks);
  stream_side_.use_gateway(*gateway_);
}

void Daemon::drain(std::function<void()> done) {
  tasks_.may_end();
  tasks_.erase("begin");
  if (!queue_) {
    done();
    return;
  }
  tasks_.add("drain", leave(std::move(done)));
}

Task<void> Daemon::leave(std::function<void()> done) {
  outbox_->stop();
  model_tests_->stop();
  sso_calls_->stop();
  Task<bool> handed_back = hand_back();
  co_await loop::with_timeout(loop_, std::move(handed_back), drain_limit_ms);
  co_await egress_proxy_->close_listener(egress_limit_ms);
  done();
}

// A claim that commits behind daemon_stop would leave runs, mails or webhooks to a daemon that is
// gone.
Task<bool> Daemon::hand_back() {
  co_await queue_->stop();
  co_await outbox_->claims_ended();
  bool is_left = co_await registration_.leave(id_);
  co_return is_left;
}

}  // namespace hostler::runner
