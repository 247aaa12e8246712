// Batches that begin with who acts; see fcgi/services.h.
#include "fcgi/services.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "fcgi/api_metrics.h"
#include "fcgi/caller_batch.h"
#include "fcgi/once.h"
#include "lib/crypto.h"
#include "lib/log.h"
#include "queries/access.h"
#include "queries/idempotency.h"
#include "queries/me.h"
#include "queries/settings.h"

namespace hostler {
namespace {

// What waits to be written beside the answers; more than these is counted and dropped.
constexpr size_t aside_max = 256;
constexpr size_t aside_denial = 0;  // series of metric_aside_dropped
constexpr size_t aside_bell = 1;
constexpr size_t aside_seen = 2;
constexpr int64_t seen_every_ms = 60'000;
constexpr size_t seen_max = 4096;
constexpr int64_t settings_wait_ms = 2500;
constexpr int64_t settings_retry_ms = 1000;
constexpr const char* settings_task = "settings";

}  // namespace

Services::Services(Loop& loop, DatabaseOptions options, const Settings& configured,
                   const SecretBox& secret_box, SharedPool& shared, int seat_number,
                   RiskyNetworks risky_networks)
    : loop_(loop),
      database_(loop, std::move(options)),
      http_(loop, {.ca_file = configured.text("outbound.ca_file"),
                   .allow_cidrs = {},
                   .proxy_socket = configured.text("outbound.socket")}),
      secret_box_(secret_box),
      metrics_(shared.metrics.seat(seat_number)),
      live_settings_(configured),
      settings_(live_settings_.current()),
      risky_networks_(std::move(risky_networks)),
      gateway_(*settings_, risky_networks_),
      limits_(shared.rates),
      passwords_(loop, shared.passwords, seat_number),
      denials_(
          loop, database_, query::audit_denials,
          [this](int64_t count) { metrics_.count(metric_aside_dropped, aside_denial, count); }),
      reload_again_(loop, [this] { begin_reload(); }),
      aside_(loop, [this](const std::string& name, std::exception_ptr failure) {
        // The database told its fault already. A bell that did not ring is made good by a sweep.
        if (name != settings_task) return log_debug("aside_failed");
        // While Postgres is away the connection tells. Else the schema is older than this program,
        // most likely, and about to be migrated.
        if (database_.connected()) log_error("settings_not_read", {{"cause", cause_of(failure)}});
        reload_again_.restart(settings_retry_ms);
      }) {
  auto reload = [this] { begin_reload(); };
  database_.listen(
      {"hostler_settings"}, [reload](std::string_view, std::string_view) { reload(); }, reload);
}

void Services::begin_reload() {
  aside_.erase(settings_task);  // what it reads may be older than the news
  aside_.add(settings_task, reload_settings());
}

// Begun anew until they are read: those of before would stay for ever.
Task<void> Services::reload_settings() {
  Result stored = co_await database_.quick(query::settings_all);
  live_settings_.apply(stored, secret_box_);
  settings_ = live_settings_.current();
  gateway_ = Gateway(*settings_, risky_networks_);
  has_stored_settings_ = true;
  settings_read_.notify();
}

Task<bool> Services::next_settings() {
  co_await settings_read_.wait();
  co_return true;
}

Task<void> Services::until_settings() {
  if (has_stored_settings_) co_return;
  Task<bool> next = next_settings();
  std::optional<bool> read = co_await with_timeout(loop_, std::move(next), settings_wait_ms);
  if (read) co_return;
  Error error(ErrorCode::database_unavailable, "Try again in a moment.", "settings were not read");
  error.retry_after_s = 1;
  throw error;
}

// Each worker asks once a minute at most; the statement sees to it that the pool writes no oftener.
void Services::note_use(const Caller& caller) {
  const std::string& id = caller.session_id ? *caller.session_id : caller.api_key_id.value();
  int64_t now_ms = loop_.now_ms();
  auto [seen, is_new] = seen_ms_.try_emplace(id, now_ms);
  if (!is_new && now_ms - seen->second < seen_every_ms) return;
  seen->second = now_ms;
  if (seen_ms_.size() > seen_max) seen_ms_.clear();
  Batch batch;
  Params params;
  params.text_or_null(caller.session_id).text_or_null(caller.api_key_id);
  batch.add(query::caller_seen, std::move(params));
  add_aside(std::move(batch), aside_seen);
}

// Whoever was authenticated is known also when the statement behind failed: the log names them.
Results Services::taken(Request& request, bool authenticated, BatchOutcome& outcome) {
  if (!outcome.results.empty()) take_caller(request, authenticated, outcome.results);
  if (outcome.error) throw *outcome.error;
  return std::move(outcome.results);
}

void Services::take_caller(Request& request, bool authenticated, const Results& results) {
  if (!authenticated) return;
  request.caller = caller_from(results.front().front());
  bool is_due = limits_.learn(request, settings());
  if (is_due && aside_.size() < aside_max) aside_.add(ask_granted(request.caller.org_id));
  note_use(request.caller);
}

// What the organization may by its entitlements. When this fails, the next one asks.
Task<void> Services::ask_granted(std::string org_id) {
  Params params;
  params.text(org_id);
  Result found = co_await database_.quick(query::requests_granted, std::move(params));
  Row row = found.front();
  bool is_granted = !row.is_null("granted");
  limits_.set_granted(org_id, is_granted ? std::max<int64_t>(1, row.integer("granted")) : 0);
}

Task<Results> Services::send(Request& request, Batch batch) {
  bool authenticates = will_authenticate(request);
  if (request.once) {
    Results results = co_await request.once->transaction.run(std::move(batch));
    co_return results;
  }
  bool is_quick = request.route->lane == Lane::quick;
  metrics_.count(metric_batches, is_quick ? 0 : 1);
  Task<BatchOutcome> sent =
      is_quick ? database_.attempt_quick(std::move(batch)) : database_.attempt(std::move(batch));
  BatchOutcome outcome = co_await sent;
  co_return taken(request, authenticates, outcome);
}

Task<Result> Services::query(Request& request, const Statement& statement, Params params) {
  Batch batch = begin_batch(request);
  batch.add(statement, std::move(params));
  Results results = co_await send(request, std::move(batch));
  co_return std::move(results.back());
}

Task<Result> Services::query_then_ring(Request& request, const Statement& statement, Params params,
                                       const Statement& bell) {
  assert(request.route->lane != Lane::quick);
  if (request.once) {
    Result result = co_await query(request, statement, std::move(params));
    ring(request, bell);
    co_return result;
  }
  bool authenticates = will_authenticate(request);
  Batch batch = begin_batch(request);
  batch.add(statement, std::move(params));
  Batch afterwards;
  afterwards.add(bell);
  metrics_.count(metric_batches, 1);
  BatchOutcome outcome = co_await database_.attempt(std::move(batch), std::move(afterwards));
  Results results = taken(request, authenticates, outcome);
  co_return std::move(results.back());
}

Task<Results> Services::batch(Request& request, Batch statements) {
  Batch batch = begin_batch(request);
  for (Batch::Item& item : statements.items()) batch.add(*item.statement, std::move(item.params));
  Results results = co_await send(request, std::move(batch));
  results.erase(results.begin());
  co_return results;
}

Task<Transaction> Services::transaction(Request& request) {
  assert(request.route->lane != Lane::quick);
  if (request.once) co_return request.once->transaction.part();
  bool authenticates = will_authenticate(request);
  Batch batch = begin_batch(request);
  Transaction transaction = co_await database_.begin();
  Results results = co_await transaction.run(std::move(batch));
  take_caller(request, authenticates, results);
  co_return std::move(transaction);
}

Task<Result> Services::open_once(Request& request, std::string call_hash, Params params) {
  Batch batch = begin_batch(request);
  batch.add(query::idempotency_begin, std::move(params));
  metrics_.count(metric_batches, 1);
  Transaction transaction = co_await database_.begin();
  Results results = co_await transaction.run(std::move(batch));
  take_caller(request, true, results);
  request.once = std::make_shared<Once>(std::move(transaction), std::move(call_hash));
  request.was_sent = false;  // nothing of the handler's
  co_return std::move(results.back());
}

Task<Result> Services::query_apart(Request& request, const Statement& statement, Params params) {
  bool authenticates = will_authenticate(request);
  Batch batch = begin_batch(request, Asks::reading);
  batch.add(query::commit_lightly).add(statement, std::move(params));
  Results results = co_await database_.quick(std::move(batch));
  take_caller(request, authenticates, results);
  co_return std::move(results.back());
}

Task<void> Services::authenticate(Request& request, bool with_guard) {
  bool authenticates = will_authenticate(request);
  Batch batch = begin_batch(request, Asks::reading);
  if (with_guard && request.route->guard.statement != nullptr) {
    Params params;
    for (size_t i = 0; i < request.path_value_count; ++i) {
      params.text(request.path_values[i].second);
    }
    batch.add(*request.route->guard.statement, std::move(params));
  }
  BatchOutcome outcome = co_await database_.attempt_quick(std::move(batch));
  taken(request, authenticates, outcome);
}

void Services::learn_aside(const Request& request) {
  if (aside_.size() >= aside_max) return;
  Batch batch;
  // Whoever asks for what belongs to others asks on their own account.
  add_identification(request, {}, batch);
  aside_.add(learn_later(std::move(batch), limits_.token_id(request)));
}

Task<void> Services::learn_later(Batch batch, uint64_t token) {
  Results results = co_await database_.quick(std::move(batch));
  limits_.remember(token, caller_from(results.front().front()).org_id);
}

void Services::hash_login(Request& request, std::string_view name_key) const {
  request.login_hmac = to_hex(hmac_sha256(secret_box_.derived_key("audit login"), name_key));
}

void Services::ring(const Request& request, const Statement& bell, Params params) {
  Batch batch;
  Batch& bells = request.once ? request.once->bells : batch;
  bells.add(bell, std::move(params));
  if (!request.once) ring_all(std::move(batch));
}

void Services::ring_all(Batch bells) {
  if (!bells.empty()) add_aside(std::move(bells), aside_bell);
}

void Services::add_aside(Batch batch, size_t metric_series) {
  if (aside_.size() >= aside_max) {
    metrics_.count(metric_aside_dropped, metric_series);
    return;
  }
  aside_.add(send_aside(std::move(batch)));
}

Task<void> Services::send_aside(Batch batch) {
  Results results = co_await database_.quick(std::move(batch));
}

}  // namespace hostler
