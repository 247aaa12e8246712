// See fcgi/answer_call.h.
#include "fcgi/answer_call.h"

#include <algorithm>
#include <new>
#include <utility>

#include "fcgi/body_guards.h"
#include "fcgi/http/api_metrics.h"
#include "fcgi/http/handler.h"
#include "fcgi/http/input.h"
#include "fcgi/http/query_names.h"
#include "fcgi/identity/authentication.h"
#include "fcgi/identity/caller_database.h"
#include "fcgi/identity/idempotency.h"
#include "lib/http/query_bound.h"
#include "lib/ids.h"
#include "queries/access.h"
#include "queries/me.h"

namespace hostler {
namespace {

Error out_of_memory() {
  Error error(ErrorCode::overload_busy, "Try again in a moment.", "out of memory");
  error.retry_after_s = 1;
  return error;
}

// Result of the handler for its input: the statement, the remaining steps, or the faults.
struct InputFault {
  Error error;
  bool is_of_body = false;   // alone: path, query and Idempotency-Key are good
  bool ids_are_well = true;  // so that the route's guard can be asked of them
};
using Reading = std::variant<OneStatement, Handler::Steps, InputFault>;

std::optional<Error> path_id_fault(const Routed& routed) {
  for (const auto& [name, value] : routed.path_values) {
    ErrorCode code = not_found_code(routed.route, name);
    if (code != ErrorCode::count_ && !is_uuid(value)) return Error(code);
  }
  return std::nullopt;
}

std::optional<Error> id_fault(const Routed& routed) {
  std::string_view org_id = routed.request.org_id_wanted;
  if (!org_id.empty() && !is_uuid(org_id)) {
    return Error(ErrorCode::orgs_not_found, "X-Org-Id is not an id of an organization.");
  }
  return path_id_fault(routed);
}

// Faults of the values that no handler reads. Reported with those of the handler.
std::vector<FieldFault> faults_beside(const Input& input) {
  std::vector<FieldFault> faults = unknown_parameters(input.routed);
  auto add_those_of = [&faults](auto check) {
    try {
      check();
    } catch (const Error& error) {
      faults.insert(faults.end(), error.faults.begin(), error.faults.end());
    }
  };
  // A scope that is neither is nobody's.
  bool has_scope = input.routed.route.access.audience == Access::Audience::scope;
  if (has_scope) add_those_of([&input] { check_scope(input.routed.target); });
  add_those_of([&input] { idempotency_key(input.routed); });
  return faults;
}

// Reads the body like the handler. For steps, which read it themselves, checks only type and form.
Reading read_by_handler(const Input& input, bool is_to_run) {
  const Handler& handler = input.routed.route.handler;
  if (handler.kind == Handler::Kind::reader) return handler.reader(input);
  if (!is_to_run && input.routed.route.body_bytes_max == body_bytes_limit) input.optional_body();
  return handler.steps;
}

Reading read(const Input& input) {
  std::optional<Error> id = id_fault(input.routed);
  if (id) return InputFault{std::move(*id), false, false};
  std::optional<Error> query = http::query_fault(input.routed.target);
  if (query) return InputFault{std::move(*query), false, true};
  std::vector<FieldFault> beside = faults_beside(input);
  // Ids are looked up in a scope. In an unknown scope the caller would get 403.
  bool ids_are_well = std::ranges::find(beside, "scope", &FieldFault::field) == beside.end();
  try {
    Reading reading = read_by_handler(input, beside.empty());
    if (beside.empty()) return reading;
  } catch (const Error& error) {
    if (beside.empty()) return InputFault{error, true, true};
    if (error.code != ErrorCode::validation_error) return InputFault{error, false, ids_are_well};
    return InputFault{Error::validation(std::move(beside), error.faults), false, ids_are_well};
  }
  return InputFault{Error::validation(std::move(beside)), false, ids_are_well};
}

// ---------------------------------------------------------------- the caller

void add_guard(const Routed& routed, postgres::Batch& batch) {
  std::optional<postgres::BoundStatement> guard = body_guard(routed);
  if (guard) batch.add(*std::move(guard));
  if (routed.route.guard != nullptr) batch.add(routed.route.guard(routed.path_values));
}

// Asks for the organization's entitlements. If this fails, the next request asks.
Task<void> ask_entitlement(WorkerParts& parts, std::string org_id) {
  postgres::BoundStatement asked = query::RequestsGranted{.org_id = org_id};
  postgres::Result found = co_await parts.database.pipelined(std::move(asked));
  postgres::Row row = found.front();
  bool is_granted = !row.is_null("granted");
  int64_t limit = is_granted ? std::max<int64_t>(1, row.integer("granted")) : 0;
  parts.limiter.set_granted(org_id, limit);
}

void write_last_used(WorkerParts& parts, const account::Caller& caller,
                     const std::string& client_ip) {
  if (caller.user_id.empty()) return;  // the statement that knows a token of SCIM writes it
  const std::string& id = caller.session_id ? *caller.session_id : caller.api_key_id.value();
  if (!parts.last_used.is_due(id, parts.loop.now_ms())) return;
  postgres::Batch batch;
  batch.add(query::CallerSeen{
      .session_id = caller.session_id, .api_key_id = caller.api_key_id, .client_ip = client_ip});
  parts.background.send(std::move(batch), BackgroundQueue::Kind::last_used);
}

// How far a request is when it is found out who calls. What is committed is not refused any more.
enum class Progress : bool { nothing_done, done };

// The authenticating statement was answered: the request counts for the caller's organization.
account::Caller identified(WorkerParts& parts, const Admitted& request,
                           const config::Settings& settings, const postgres::Result& authenticated,
                           Progress progress, Trail& trail) {
  account::Caller caller = account::read_caller(authenticated.text());
  trail.identity = client::identity_of(caller);
  bool is_counted = request.routed.route.rate != Rate::none;
  if (trail.rate) {
    // A stranger may be a member by now.
    parts.limiter.correct(request, caller);
  } else {
    Admission admission = parts.limiter.learn(request, caller, settings);
    trail.rate = admission.rate;
    bool is_refused = admission.rejection && progress == Progress::nothing_done;
    if (is_refused) throw *std::move(admission.rejection);
  }
  if (is_counted && parts.limiter.is_entitlement_due(caller.org_id)) {
    parts.background.add(ask_entitlement(parts, caller.org_id), BackgroundQueue::Kind::rate_limit);
  }
  write_last_used(parts, caller, request.client.ip);
  return caller;
}

// The same for a batch that began with it. The log names the caller also if the next one failed.
account::Caller identified(WorkerParts& parts, const Admitted& request,
                           const config::Settings& settings, const postgres::BatchOutcome& outcome,
                           Progress progress, Trail& trail) {
  if (outcome.results.empty()) throw *outcome.error;
  account::Caller caller =
      identified(parts, request, settings, outcome.results.front(), progress, trail);
  if (outcome.error) throw *outcome.error;
  return caller;
}

// ---------------------------------------------------------------- the handler's work

// Key by which callers share turns at the database: the organization in which the token was last
// seen, and its user; for unknown callers, the route.
constexpr uint64_t upper_half = 0xFFFF'FFFF'0000'0000;
postgres::Party party_of(const Route& route) {
  return spread_id(reinterpret_cast<uintptr_t>(&route)) & upper_half;
}
postgres::Party party_of(const WorkerParts& parts, const Admitted& request) {
  uint64_t org = parts.limiter.org_of(request);
  uint64_t user = parts.limiter.user_of(request);
  if (org == 0) return party_of(request.routed.route) | (user >> 32);
  return (org & upper_half) | (user >> 32);
}

// Creators of an organization wait for each other at its account.
postgres::Durability durability_of(const WorkerParts& parts, const Admitted& request,
                                   bool shares_commit) {
  bool is_shared = shares_commit && parts.limiter.org_of(request) != 0;
  return is_shared ? postgres::Durability::shared : durability_of(request.routed.route);
}

Task<Response> work(CallerDatabase& database, OneStatement statement) {
  postgres::Batch statements;
  statements.add(statement.take_query());
  postgres::Batch notifications = statement.take_notifications();
  postgres::Results results =
      co_await database.batch(std::move(statements), std::move(notifications));
  std::optional<postgres::BoundStatement> notification = statement.notification_of(results.front());
  if (notification) database.notify(std::move(*notification));
  std::optional<OneStatement> other = statement.otherwise_of(results.front());
  if (other) {
    Response response = co_await work(database, std::move(*other));
    co_return response;
  }
  co_return statement.render(std::move(results.front()));
}

// One statement of a caller: it travels with the one that authenticates.
Task<Response> answer_by_statement(WorkerParts& parts, const Admitted& request, const Input& input,
                                   OneStatement statement, Trail& trail) {
  const Route& route = request.routed.route;
  postgres::Batch batch;
  batch.add(authentication(request, asks_of(route))).add(statement.take_query());
  parts.metrics.count(metric_batches, route.sending.is_pipelined ? 0 : 1);
  postgres::Durability durability = durability_of(parts, request, statement.shares_commit());
  Task<postgres::BatchOutcome> sent =
      route.sending.is_pipelined
          ? parts.database.attempt_pipelined(std::move(batch))
          : parts.database.attempt(std::move(batch), statement.take_notifications(), durability,
                                   party_of(parts, request));
  postgres::BatchOutcome outcome = co_await sent;
  identified(parts, request, input.settings, outcome, Progress::done, trail);
  std::optional<postgres::BoundStatement> notification =
      statement.notification_of(outcome.results.back());
  if (notification) {
    postgres::Batch notifications;
    notifications.add(std::move(*notification));
    parts.background.send(std::move(notifications), BackgroundQueue::Kind::notification);
  }
  std::optional<OneStatement> other = statement.otherwise_of(outcome.results.back());
  if (other) {
    Task<Response> asking = answer_by_statement(parts, request, input, std::move(*other), trail);
    Response response = co_await asking;
    co_return response;
  }
  co_return statement.render(std::move(outcome.results.back()));
}

// The caller, and what keeps them from the path's ids: both come before a fault of the input.
Task<account::Caller> authenticate(WorkerParts& parts, const Admitted& request,
                                   const config::Settings& settings, bool with_guard,
                                   Trail& trail) {
  postgres::Batch batch;
  batch.add(authentication(request, Asks::reading));
  if (with_guard) add_guard(request.routed, batch);
  postgres::BatchOutcome outcome = co_await parts.database.attempt_pipelined(std::move(batch));
  co_return identified(parts, request, settings, outcome, Progress::nothing_done, trail);
}

Task<Response> answer_by_steps(WorkerParts& parts, const Admitted& request, const Input& input,
                               Handler::Steps steps, Trail& trail) {
  account::Caller caller = co_await authenticate(parts, request, input.settings, true, trail);
  DirectDatabase database(parts.database, parts.background, parts.metrics, request, &caller,
                          party_of(parts, request));
  Call call{{input, database, parts.loop, parts.http, parts.passwords}, caller};
  Response response = co_await steps(call);
  co_return response;
}

// ---------------------------------------------------------------- calls with an Idempotency-Key

struct OpenedCall {
  IdempotentCall call;
  std::string secret_id;
  TransactionDatabase& database;
  const account::Caller& caller;
};

// The handler's answer, stored in the transaction that its work is part of.
Task<Response> answer_and_store(WorkerParts& parts, const Admitted& request, const Input& input,
                                OpenedCall opened, Reading reading) {
  if (!std::holds_alternative<OneStatement>(reading)) {
    postgres::Batch guard;
    add_guard(request.routed, guard);
    postgres::Batch nothing;
    if (!guard.empty()) co_await opened.database.batch(std::move(guard), std::move(nothing));
  }
  if (const InputFault* fault = std::get_if<InputFault>(&reading)) throw fault->error;
  Task<Response> working;
  Call call{{input, opened.database, parts.loop, parts.http, parts.passwords}, opened.caller};
  if (OneStatement* statement = std::get_if<OneStatement>(&reading)) {
    working = work(opened.database, std::move(*statement));
  } else {
    working = std::get<Handler::Steps>(reading)(call);
  }
  Response response = co_await working;
  if (response.status >= 200 && response.status < 300) {
    postgres::BoundStatement storing =
        answer_storing(parts.secret_box, input.settings, opened.caller, opened.call,
                       std::move(opened.secret_id), response);
    co_await opened.database.query(std::move(storing));
  }
  co_return response;
}

bool shares_commit(const Reading& reading) {
  const OneStatement* statement = std::get_if<OneStatement>(&reading);
  return statement != nullptr && statement->shares_commit();
}

// All of the call in one transaction.
Task<Response> answer_idempotent(WorkerParts& parts, const Admitted& request, const Input& input,
                                 std::string_view key, Reading reading, Trail& trail) {
  IdempotentCall call = idempotent_call(request.routed, key);
  postgres::Batch batch;
  batch.add(authentication(request, Asks::writing)).add(idempotency_begin(call));
  parts.metrics.count(metric_batches, 1);
  postgres::Durability durability = durability_of(parts, request, shares_commit(reading));
  postgres::Transaction transaction =
      co_await parts.database.begin(durability, party_of(parts, request));
  postgres::Results results = co_await transaction.run(std::move(batch));
  account::Caller caller =
      identified(parts, request, input.settings, results.front(), Progress::nothing_done, trail);
  postgres::Row begun = results.back().front();
  std::optional<Response> first = stored_answer(parts.secret_box, caller, begun);
  if (first) {
    // The first call's commit may still be on its way to the disk, by another worker.
    if (shares_commit(reading)) co_await transaction.commit_what_was_read();
    co_return std::move(*first);
  }
  TransactionDatabase database(parts.database, parts.background, transaction, request, caller);
  OpenedCall opened{std::move(call), std::string(begun.text("new_secret_id")), database, caller};
  Task<Response> answering =
      answer_and_store(parts, request, input, std::move(opened), std::move(reading));
  Outcome outcome = co_await caught(std::move(answering));
  if (Error* error = std::get_if<Error>(&outcome)) {
    // Before the answer, so that a repeat after it with the same key does not meet this call.
    co_await transaction.roll_back();
    throw std::move(*error);
  }
  co_await transaction.commit();
  parts.background.send(database.take_notifications(), BackgroundQueue::Kind::notification);
  co_return std::get<Response>(std::move(outcome));
}

// Rejected by their risk, but where the statement finds out who it is, and at the probes.
void check_risk(const Admitted& request) {
  const Route& route = request.routed.route;
  bool is_checked = route.rate != Rate::none && !route.access.finds_caller;
  if (request.client.is_risky && is_checked) throw Error(ErrorCode::risk_rejected);
}

}  // namespace

Task<Outcome> caught(Task<Response> task) {
  try {
    Response response = co_await task;
    co_return Outcome(std::move(response));
  } catch (const Error& error) {
    co_return Outcome(error);
  } catch (const std::bad_alloc&) {
    co_return Outcome(out_of_memory());
  } catch (const std::exception& error) {
    Error failure(ErrorCode::internal_error, {}, error.what());
    co_return Outcome(std::move(failure));
  }
}

Task<Response> answer_caller(WorkerParts& parts, const Admitted& request, const Input& input,
                             Trail& trail) {
  Reading reading = read(input);
  const InputFault* fault = std::get_if<InputFault>(&reading);
  bool is_path_good = fault == nullptr || fault->is_of_body;
  std::optional<std::string_view> key;
  if (is_path_good) key = idempotency_key(request.routed);
  // It is not yet known whether the organization of a new token has room.
  bool is_alone = std::holds_alternative<OneStatement>(reading) && !key;
  bool is_counted = trail.rate || request.routed.route.rate == Rate::none;
  if (is_alone && !is_counted) {
    co_await authenticate(parts, request, input.settings, false, trail);
  }
  Task<Response> answering;
  if (key) {
    answering = answer_idempotent(parts, request, input, *key, std::move(reading), trail);
  } else if (fault != nullptr) {
    co_await authenticate(parts, request, input.settings, fault->ids_are_well, trail);
    throw fault->error;
  } else if (OneStatement* statement = std::get_if<OneStatement>(&reading)) {
    answering = answer_by_statement(parts, request, input, std::move(*statement), trail);
  } else {
    Handler::Steps steps = std::get<Handler::Steps>(reading);
    answering = answer_by_steps(parts, request, input, steps, trail);
  }
  Response response = co_await answering;
  co_return response;
}

Task<Response> answer_open(WorkerParts& parts, const Admitted& request, const Input& input) {
  check_risk(request);
  // Nobody acts in an organization here, whatever X-Org-Id says.
  std::optional<Error> fault = path_id_fault(request.routed);
  if (!fault) fault = http::query_fault(request.routed.target);
  bool has_body = request.routed.route.body_bytes_max > 0;  // whose reader tells these as well
  if (!fault && !has_body) fault = unknown_parameters_fault(request.routed);
  if (fault) throw std::move(*fault);
  DirectDatabase database(parts.database, parts.background, parts.metrics, request, nullptr,
                          party_of(request.routed.route));
  OpenCall call{input, database, parts.loop, parts.http, parts.passwords};
  const Handler& handler = request.routed.route.handler;
  Task<Response> answering = handler.kind == Handler::Kind::open_steps
                                 ? handler.open_steps(call)
                                 : work(database, handler.reader(input));
  Response response = co_await answering;
  co_return response;
}

}  // namespace hostler
