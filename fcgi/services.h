// All that a handler may touch: the database as its caller, the settings in force, password work.
// One a worker, made by fcgi/worker.cpp. It begins every batch with who acts; no handler does.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "fcgi/password_gate.h"
#include "fcgi/rate_limiter.h"
#include "fcgi/request.h"
#include "fcgi/route.h"
#include "fcgi/seat.h"
#include "lib/gateway.h"
#include "lib/loop/db.h"
#include "lib/loop/denial_log.h"
#include "lib/loop/http_client.h"
#include "lib/loop/live_settings.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "lib/metrics.h"
#include "lib/secret_box.h"
#include "lib/settings.h"

namespace hostler {

class Services {
 public:
  // secret_box and shared outlive this.
  Services(Loop& loop, DatabaseOptions options, const Settings& configured,
           const SecretBox& secret_box, SharedPool& shared, int seat_number,
           RiskyNetworks risky_networks);
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  // One batch on the route's lane: who acts, then the statement. The first batch of a request
  // authenticates its caller (and fills request.caller), or throws the 401, 403 or 404 of it; later
  // ones act as that caller, who is authenticated anew when the route writes; those of open routes
  // act as nobody.
  Task<Result> query(Request& request, const Statement& statement, Params params = {});
  // As query, for several statements; the results are theirs alone.
  Task<Results> batch(Request& request, Batch batch);
  // Several steps in one transaction, on the own lane whatever the route says. As the caller. Of a
  // request with an Idempotency-Key it is a part of that one's, and commits with it.
  Task<Transaction> transaction(Request& request);

  // For fcgi/once.cpp: opens the transaction that all of the request runs in, authenticates, and
  // begins the call there. The answer of idempotency_begin.
  Task<Result> open_once(Request& request, std::string call_hash, Params params);
  // Commits by itself whatever becomes of the request, without waiting for the disk: for counters
  // of tries, which a call with an Idempotency-Key would take back when it fails.
  Task<Result> query_apart(Request& request, const Statement& statement, Params params = {});

  // As query on the own lane, with a bell right behind it in the same round trip: outside of the
  // durable transaction and not waited for.
  Task<Result> query_then_ring(Request& request, const Statement& statement, Params params,
                               const Statement& bell);
  // Wakes the daemons after a write: a notification of its own on the quick lane, not waited for.
  // One that is lost is made good by their sweeps.
  void ring(const Request& request, const Statement& bell, Params params = {});
  void ring_all(Batch bells);

  // Authenticates and sends nothing else, except the route's guard when with_guard is set. For
  // dispatch: a denial comes before a fault of the input.
  Task<void> authenticate(Request& request, bool with_guard);
  // Learns for the rate limits whose the token of a failed request is, some time after the answer:
  // whoever only fails is limited as well.
  void learn_aside(const Request& request);
  // Hashes the login that somebody gave, for the audit log: nobody without the key file's key can
  // tell which it was. Before the statement that writes there.
  void hash_login(Request& request, std::string_view name_key) const;

  // The settings in force now. Ask anew after each co_await: an administrator may change them.
  const Settings& settings() const { return *settings_; }
  // What they say of clients: addresses, traces, risk. Ask anew likewise.
  const Gateway& gateway() const { return gateway_; }
  // What file and environment say, without the stored ones.
  const Settings& configured_settings() const { return live_settings_.start(); }
  // Whether the stored settings were read since this process began; before that no request may
  // rely on them, and until_settings() waits for it. Throws database_unavailable after 2.5 s.
  bool has_stored_settings() const { return has_stored_settings_; }
  Task<void> until_settings();

  // For calls to what the operator named: never guarded, the addresses are theirs.
  HttpClient& http() { return http_; }
  const SecretBox& secret_box() const { return secret_box_; }
  const MetricsSeat& metrics() const { return metrics_; }
  const RateLimiter& limits() const { return limits_; }
  PasswordGate& passwords() { return passwords_; }
  DenialLog& denials() { return denials_; }
  Loop& loop() { return loop_; }
  Database& database() { return database_; }

 private:
  Results taken(Request& request, bool authenticated, BatchOutcome& outcome);
  void take_caller(Request& request, bool authenticated, const Results& results);
  Task<void> ask_granted(std::string org_id);
  Task<void> learn_later(Batch batch, uint64_t token);
  void note_use(const Caller& caller);
  Task<Results> send(Request& request, Batch batch);
  void add_aside(Batch batch, size_t metric_series);
  Task<void> send_aside(Batch batch);
  void begin_reload();
  Task<void> reload_settings();
  Task<bool> next_settings();

  Loop& loop_;
  Database database_;
  HttpClient http_;
  const SecretBox& secret_box_;
  MetricsSeat metrics_;
  LiveSettings live_settings_;
  std::shared_ptr<const Settings> settings_;
  RiskyNetworks risky_networks_;
  Gateway gateway_;
  bool has_stored_settings_ = false;
  Signal settings_read_;
  RateLimiter limits_;
  PasswordGate passwords_;
  DenialLog denials_;
  std::unordered_map<std::string, int64_t> seen_ms_;  // sessions and keys, when their use was noted
  Timer reload_again_;
  TaskSet aside_;  // what no answer waits for
};

}  // namespace hostler
