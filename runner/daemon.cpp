// See runner/daemon.h.
#include "runner/daemon.h"

#include <fmt/format.h>

#include "lib/log.h"
#include "lib/service_notify.h"
#include "queries/daemon.h"
#include "queries/health.h"
#include "queries/settings.h"
#include "schema_version.h"

namespace hostler::runner {
namespace {

// Whatever the quick lane is asked is short: when it says nothing for so long, it is replaced.
constexpr int64_t silence_most_ms = 3'000;
// The connection that LISTENs is asked every listening_check_ms and must answer so soon. Together
// less than a sweep's second: notifications that get lost in silence cost no more than a sweep.
constexpr int64_t listening_silence_most_ms = 600;
constexpr int64_t registration_retry_ms = 250;
constexpr int64_t listening_check_ms = 250;
constexpr int64_t metrics_ms = 15 * 1000;
constexpr int64_t drain_limit_ms = 15'000;
constexpr int64_t outbound_limit_ms = 5'000;  // the longest that a captcha's server may take

DatabaseOptions database_options(const Settings& start, std::string application_name,
                                 int own_connections_max) {
  DatabaseOptions options;
  options.conninfo = start.text("database.url");
  options.application_name = std::move(application_name);
  options.own_connections_max = own_connections_max;
  options.answer_timeout_ms = 10'000;
  options.statement_timeout_ms = 9'000;
  options.quick_timeout_ms = silence_most_ms;
  return options;
}

DatabaseOptions events_options(const Settings& start) {
  DatabaseOptions options = database_options(start, "hostler-runner events", 2);
  options.lock_timeout_ms = EventLog::lock_timeout_ms;
  return options;
}

// A LISTEN that the server itself gave up would leave a connection that hears nothing: its patience
// stays longer than ours.
DatabaseOptions listening_options(const Settings& start) {
  DatabaseOptions options = database_options(start, "hostler-runner listening", 1);
  options.answer_timeout_ms = listening_silence_most_ms;
  options.quick_timeout_ms = 0;
  return options;
}

HttpClientOptions http_options(const Settings& start) {
  HttpClientOptions options;
  options.ca_file = start.text("outbound.ca_file");
  return options;
}

void log_failure(const std::string& name, std::exception_ptr failure) {
  log_error("task_failed", {{"task", name}, {"cause", cause_of(failure)}});
}

}  // namespace

Daemon::Daemon(Loop& loop, const Settings& start, SecretBox secrets, EventFeed& feed,
               DaemonOptions options, StreamSide stream_side)
    : loop_(loop),
      options_(std::move(options)),
      feed_(feed),
      stream_side_(std::move(stream_side)),
      db_(loop, database_options(start, "hostler-runner",
                                 static_cast<int>(start.integer("runner.database_connections")))),
      events_db_(loop, events_options(start)),
      listening_db_(loop, listening_options(start)),
      http_(loop, http_options(start)),
      secrets_(std::move(secrets)),
      settings_(start),
      gateway_(std::make_shared<const Gateway>(start, options_.risky_networks)),
      tasks_(loop, log_failure) {}

Daemon::~Daemon() = default;

std::string Daemon::metrics_text() {
  RunnerCounts counts;
  stream_side_.count(counts);
  if (queue_) {
    counts.runs = static_cast<int64_t>(queue_->active());
    counts.runs_claimed = queue_->claimed();
    counts.runs_lost = queue_->lost();
    counts.events = events_->events_written();
    counts.flushes = events_->flushes();
    counts.flushes_refused = events_->flushes_refused();
    counts.runs_held_up = events_->runs_held_up();
    counts.deliveries = outbox_->under_way();
    counts.delivered = outbox_->delivered();
    counts.deliveries_failed = outbox_->failed();
  }
  counts.slots = options_.slots;
  if (access_log_) {
    counts.access_log_lines = access_log_->lines();
    counts.access_log_set_aside = access_log_->lines_set_aside();
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
  listening_db_.listen(
      {"hostler_runs", "hostler_control", "hostler_events", "hostler_settings", "hostler_outbox"},
      [this](std::string_view channel, std::string_view payload) { on_notify(channel, payload); },
      [this] { on_listening(); });
  tasks_.add_essential("begin", begin());
}

Task<void> Daemon::begin() {
  co_await register_daemon();
  begin_outbound();
  events_ = std::make_unique<EventLog>(loop_, events_db_, feed_, id_, [this](const RunPtr& run) {
    if (queue_) queue_->on_lost(run);
  });
  events_->metrics = &metrics_;
  tools_ = std::make_unique<ToolBox>(loop_, db_, http_, secrets_, settings_);
  agent_services_ = std::make_unique<AgentServices>(
      AgentServices{loop_, db_, http_, *events_, secrets_, settings_, *tools_});
  outbox_ = std::make_unique<Outbox>(OutboxServices{loop_, db_, http_, secrets_, settings_}, id_);
  RunQueueOptions queue_options{options_.slots, [this] { outbox_->look(); }};
  queue_ = std::make_unique<RunQueue>(*agent_services_, tasks_, id_, queue_options,
                                      [this] { return streams(); });
  tasks_.add_forever("event_log", events_->write_events());
  tasks_.add_forever("step_log", events_->write_steps());
  tasks_.add_forever("claims", queue_->claim_forever());
  tasks_.add_forever("leases", queue_->renew_forever());
  tasks_.add_forever("cancels", queue_->watch_cancels_forever());
  tasks_.add_forever("listening", watch_listening_forever());
  maintenance_ = std::make_unique<Maintenance>(loop_, db_, settings_, metrics_);
  maintenance_->begin(tasks_);
  tasks_.add_forever("metrics", ask_for_metrics_forever());
  begin_access_log();
  tasks_.add_forever("mails", outbox_->mails_forever());
  tasks_.add_forever("webhooks", outbox_->webhooks_forever());
  log_info("daemon_ready", {{"daemon_id", id_}, {"place", options_.place}});
  notify_service(fmt::format("READY=1\nSTATUS=up to {} runs at once, schema {}", options_.slots,
                             schema_version_expected));
}

void Daemon::begin_access_log() {
  const Settings& start = settings_.start();
  if (start.text("access_log.dir").empty()) return;
  AccessLogOptions options;
  options.host = options_.host;
  options.folder = start.text("access_log.dir");
  options.geoip_database = start.text("geoip.database");
  options.gateway = [this] { return gateway_; };
  access_log_ = std::make_unique<AccessLogTailer>(loop_, db_, std::move(options));
  tasks_.add_forever("access_log", access_log_->run());
}

void Daemon::begin_outbound() {
  OutboundServices services{loop_,
                            db_,
                            secrets_,
                            settings_,
                            [this] { return reload_settings(); },
                            [this](OutboundResult result) { metrics_.count_outbound(result); }};
  outbound_ = std::make_unique<OutboundDoor>(std::move(services),
                                             settings_.start().text("outbound.socket"));
  tasks_.add_essential("outbound", outbound_->open_when_free());
}

// A daemon that is started before Postgres, or before the migration, waits for them.
Task<void> Daemon::register_daemon() {
  std::string told;
  for (;;) {
    Batch look;
    look.add(query::schema_version, Params().text(schema_version_expected));
    BatchOutcome version = co_await db_.attempt_quick(std::move(look));
    if (!version.error && version.results.at(0).front().boolean("fits")) break;
    std::string found = version.error ? "" : std::string(version.results.at(0).text());
    std::string why = version.error ? "database: " + version.error->cause
                                    : fmt::format("schema version: expected {}, found {}",
                                                  schema_version_expected, found);
    if (why != told) {
      log_warning("daemon_waits", {{"why", why}});
      notify_service("STATUS=waiting: " + why);
    }
    told = why;
    co_await sleep_ms(loop_, registration_retry_ms);
  }
  co_await reload_settings();
  while (id_.empty()) {
    Batch batch;
    batch.add(query::daemon_start, Params()
                                       .text(options_.host)
                                       .text(options_.place)
                                       .text(HOSTLER_VERSION)
                                       .text(options_.lock_id));
    BatchOutcome outcome = co_await db_.attempt(std::move(batch));
    if (!outcome.error) {
      id_ = outcome.results.at(0).text();
    } else if (!outcome.is_unknown()) {
      throw *outcome.error;
    } else {
      co_await sleep_ms(loop_, registration_retry_ms);
    }
  }
}

void Daemon::on_notify(std::string_view channel, std::string_view payload) {
  if (channel == "hostler_runs") {
    if (queue_) queue_->look_for_runs();
  } else if (channel == "hostler_control") {
    if (queue_) queue_->look_for_cancels();
    if (outbox_) outbox_->look();
    // A run that nobody owned was ended by the API: its followers read that from the table.
    feed_.changed_elsewhere({std::string(payload)});
  } else if (channel == "hostler_settings") {
    if (outbox_) outbox_->look_at_settings();
    if (outbox_) outbox_->look();
    if (outbound_) outbound_->look_at_settings();
    tasks_.add(reload_settings());
  } else if (channel == "hostler_outbox") {
    if (outbox_) outbox_->look();
  } else if (channel == "hostler_events") {
    std::vector<std::string> run_ids;
    while (!payload.empty()) {
      size_t end = payload.find(' ');
      run_ids.emplace_back(payload.substr(0, end));
      payload.remove_prefix(end == std::string_view::npos ? payload.size() : end + 1);
    }
    feed_.changed_elsewhere(std::move(run_ids));
  }
}

// What was notified while nobody listened is looked up.
void Daemon::on_listening() {
  tasks_.add(reload_settings());
  if (outbound_) outbound_->look_at_settings();
  if (!queue_) return;
  feed_.set_listening(queue_->is_known_to_others());
  feed_.resync();
  queue_->look_for_runs();
  queue_->look_for_cancels();
  outbox_->look_at_settings();
  outbox_->look();
}

Task<void> Daemon::reload_settings() {
  Batch batch;
  batch.add(query::settings_all);
  BatchOutcome outcome = co_await db_.attempt_quick(std::move(batch));
  if (outcome.error) co_return;  // the next connection asks again
  settings_.apply(outcome.results.at(0), secrets_);
  std::shared_ptr<const Settings> now = settings_.current();
  std::optional<CidrList> allowed = CidrList::parse(now->strings("outbound.allow_cidrs"));
  if (!allowed) log_error("setting_bad", {{"key", "outbound.allow_cidrs"}});
  http_.allow_cidrs(allowed.value_or(CidrList()));
  stream_side_.allow_origins(now->strings("http.cors_origins"));
  gateway_ = std::make_shared<const Gateway>(*now, options_.risky_networks);
  stream_side_.use_gateway(*gateway_);
}

// A connection that only LISTENs may be dead for hours before anybody knows. Once it is lost it is
// made anew, and on_listening() looks up what was missed; until then the relay looks for itself.
Task<void> Daemon::watch_listening_forever() {
  for (;;) {
    feed_.set_listening(listening_db_.connected() && queue_->is_known_to_others());
    if (listening_db_.connected()) {
      Batch question;
      question.add(query::listening_check);
      BatchOutcome outcome = co_await listening_db_.attempt_quick(std::move(question));
      if (outcome.error) feed_.set_listening(false);
    }
    co_await sleep_ms(loop_, listening_check_ms);
  }
}

// What no daemon knows by itself. While the database is away the old numbers stay, with their time.
Task<void> Daemon::ask_for_metrics_forever() {
  for (;;) {
    Batch batch;
    batch.add(query::metrics_facts);
    BatchOutcome outcome = co_await db_.attempt(std::move(batch));
    if (!outcome.error) metrics_.take_facts(outcome.results.at(0).front());
    co_await sleep_ms(loop_, metrics_ms);
  }
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
  Task<bool> handed_back = hand_back();
  co_await with_timeout(loop_, std::move(handed_back), drain_limit_ms);
  co_await outbound_->close_door(outbound_limit_ms);
  done();
}

// A claim that commits behind daemon_stop would leave runs, mails or webhooks to a daemon that is
// gone.
Task<bool> Daemon::hand_back() {
  co_await queue_->stop();
  co_await outbox_->claims_ended();
  Batch batch;
  batch.add(query::daemon_stop, Params().text(id_));
  BatchOutcome outcome = co_await db_.attempt(std::move(batch));
  if (outcome.refusal == Refusal::held_up) {
    Batch rest;
    rest.add(query::daemon_stop_free, Params().text(id_));
    outcome = co_await db_.attempt(std::move(rest));
  }
  co_return !outcome.error;
}

}  // namespace hostler::runner
