// See fcgi/dispatch.h.
#include "fcgi/dispatch.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "fcgi/answer_call.h"
#include "fcgi/http/admitted.h"
#include "fcgi/identity/authentication.h"
#include "fcgi/identity/row_scope.h"
#include "lib/config/result_token.h"
#include "lib/http/cors.h"
#include "lib/http/logged_path.h"
#include "lib/http/openai_error.h"
#include "lib/http/problem.h"
#include "lib/http/scim_error.h"
#include "lib/log.h"

namespace hostler {
namespace {

constexpr int64_t settings_wait_ms = 2500;

Error settings_unread() {
  Error error(ErrorCode::database_unavailable, "Try again in a moment.", "settings were not read");
  error.retry_after_s = 1;
  return error;
}

void check_body_size(const Routed& routed) {
  int64_t limit = routed.route.body_bytes_max;
  if (!is_upload(routed.request)) limit = std::min(limit, body_bytes_limit);
  if (routed.request.content_length > (limit == 0 ? body_bytes_limit : limit)) {
    throw Error(ErrorCode::http_request_too_large);
  }
  if (routed.request.body_is_short) {
    throw Error(ErrorCode::http_bad_request, "The body is shorter than its Content-Length.");
  }
}

// ---------------------------------------------------------------- failures

Task<void> learn_later(WorkerParts& parts, postgres::BoundStatement query, uint64_t token) {
  postgres::Result found = co_await parts.database.pipelined(std::move(query));
  parts.limiter.remember(token, account::read_caller(found.text()).org_id);
}

// A client with an invalid or lost token must not use up the organization's limit, so it counts for
// the address. A valid token counts for its organization, also if its first requests fail, and for
// its owner's personal one if they are not a member of that. Returns the 429 that comes before a
// 401 or such a 404.
std::optional<Error> count_failure(WorkerParts& parts, const Admitted& request,
                                   const config::Settings& settings, const Error& fault,
                                   Trail& trail) {
  int status = error_row(fault.code).status;
  bool is_stranger = fault.code == ErrorCode::orgs_not_found && fault.refused;
  if (status == 401 || is_stranger) {
    Admission admission = is_stranger
                              ? parts.limiter.count_stranger(request, fault.refused->org_id,
                                                             trail.rate.has_value(), settings)
                              : parts.limiter.count_unknown(request, settings);
    if (admission.rate) trail.rate = admission.rate;
    return std::move(admission.rejection);
  }
  if (status < 500 && !trail.rate && request.routed.route.rate != Rate::none) {
    parts.background.add(
        learn_later(parts, identification(request), parts.limiter.token_id(request)),
        BackgroundQueue::Kind::rate_limit);
  }
  return std::nullopt;
}

// For the audit log: as whom, if only to be rejected, somebody asked for what.
postgres::Denial denial_of(const Admitted& request, const Identity& refused, const Error& fault) {
  const Routed& routed = request.routed;
  postgres::Denial denial;
  denial.org_id = refused.org_id;
  denial.user_id = refused.user_id;
  bool is_key = request.credential.kind == account::Credential::Kind::api_key;
  if (is_key) denial.api_key_hash = request.credential.hash;
  denial.route = fmt::format("{} {}", method_name(routed.route.method), routed.route.path);
  denial.code = error_row(fault.code).name;
  denial.target = fmt::format("{} {}", method_name(routed.request.method),
                              http::logged_path(routed.request.uri));
  denial.trace_id = request.client.trace_id;
  denial.client_ip = request.client.ip;
  denial.user_agent = request.client.user_agent;
  return denial;
}

Error error_to_answer(WorkerParts& parts, const Admitted& request, const config::Settings& settings,
                      Error fault, Trail& trail) {
  if (request.credential.kind == account::Credential::Kind::none) return fault;
  if (fault.refused) trail.identity = *fault.refused;
  std::optional<Error> limited = count_failure(parts, request, settings, fault, trail);
  if (limited) return std::move(*limited);
  if (error_row(fault.code).status == 403) {
    parts.denials.add(denial_of(request, trail.identity, fault));
  }
  return fault;
}

Response openai_response(const Error& error) {
  Response response =
      Response::json_text(http::openai_status(error), http::openai_error_text(error));
  response.headers = http::openai_error_headers(error);
  return response;
}

Response scim_response(const Error& error) {
  Response response = Response::json_text(http::scim_status(error), http::scim_error_text(error));
  response.content_type = http::scim_type;
  response.headers = http::problem_headers(error);
  return response;
}

Response error_response(const Request& request, const Client& client, const Answered& answered,
                        const Error& error) {
  int status = error.status();
  if (error.code == ErrorCode::internal_error) {
    log_error("request_failed",
              {{"trace_id", client.trace_id},
               {"path", std::string(request.uri.substr(0, request.uri.find('?')))},
               {"cause", error.cause}});
  } else if (status >= 500) {
    // The database and the semaphores report their own faults; a line per request would be a flood.
    log_debug("request_unavailable", {{"trace_id", client.trace_id}, {"cause", error.cause}});
  }
  const Route* route = answered.route;
  bool is_own_form = route != nullptr && route->render_error != nullptr &&
                     (status >= 500 || route->renders_all_errors);
  if (is_own_form) return route->render_error(error);
  if (answered.is_openai) return openai_response(error);
  if (http::is_scim_path(request.uri)) return scim_response(error);
  Response response = Response::json_text(status, http::problem_text(error, client.trace_id));
  response.content_type = http::problem_type;
  response.headers = http::problem_headers(error);
  return response;
}

// ---------------------------------------------------------------- the way to the handler

// A request that has its row and client, from its credential on. target: that of routed.
Task<Response> answer_routed(WorkerParts& parts, const Routed& routed, http::Target& target,
                             const Client& client, Trail& trail) {
  std::shared_ptr<const config::Settings> settings = parts.settings.current();
  Admitted request{routed, client, {}};
  std::optional<Error> credential_fault;  // told after 429
  if (!is_open(routed.route)) {
    bool is_scim = routed.route.access.audience == Access::Audience::scim;
    std::variant<account::Credential, Error> read =
        is_scim ? account::scim_credential_in(routed.request.authorization)
                : account::credential_in(routed.request.authorization);
    if (Error* fault = std::get_if<Error>(&read)) {
      credential_fault = std::move(*fault);
    } else {
      request.credential = std::get<account::Credential>(std::move(read));
    }
  }
  Admission admission = parts.limiter.admit(request, *settings);
  trail.rate = admission.rate;
  if (admission.rejection) throw std::move(*admission.rejection);
  if (credential_fault) throw std::move(*credential_fault);
  if (lacks_scope(routed)) co_await add_row_scope(parts.database, routed, target);
  request.fresh_seconds = fresh_seconds(routed, *settings);
  Input input{routed, client, *settings, parts.settings.start(), parts.secret_box};
  Task<Response> answering = is_open(routed.route) ? answer_open(parts, request, input)
                                                   : answer_caller(parts, request, input, trail);
  Outcome outcome = co_await caught(std::move(answering));
  if (Error* fault = std::get_if<Error>(&outcome)) {
    throw error_to_answer(parts, request, *settings, std::move(*fault), trail);
  }
  co_return std::get<Response>(std::move(outcome));
}

Response options_response(const config::Settings& settings, const Request& request,
                          std::string allow) {
  Response response = Response::no_content();
  http::CorsRequest asked{request.origin, http::is_protocol_path(request.uri),
                          request.header("HTTP_ACCESS_CONTROL_REQUEST_HEADERS")};
  http::add_preflight_headers(settings.strings("http.cors_origins"), asked, allow,
                              response.headers);
  response.add_header("Allow", std::move(allow));
  return response;
}

// Fills what of answered is known when the request fails: form, row, client, trail.
Task<Response> answer(WorkerParts& parts, const Request& request, Client& client,
                      Answered& answered, Trail& trail) {
  http::Target target;
  http::parse_target(request.uri, target);
  answered.is_openai = http::is_openai_path(target);
  if (answered.is_openai) http::mend_openai_path(target);
  RouteMatch match = find_route(request.method, target);
  if (match.route == nullptr) {
    co_return options_response(*parts.settings.current(), request, std::move(match.allow));
  }
  answered.route = match.route;
  if (config::is_result_token(request.authorization) && match.route->by_result_token != nullptr) {
    answered.route = match.route = match.route->by_result_token;
  }
  if (!request.authorization.empty() && match.route->by_caller != nullptr) {
    answered.route = match.route = match.route->by_caller;
  }
  Routed routed{request, target, *match.route, match.values};
  check_body_size(routed);
  if (routed.route.rate != Rate::none && !parts.settings.are_read()) {
    bool are_read = co_await parts.settings.until_read(settings_wait_ms);
    if (!are_read) throw settings_unread();
    client = client_of(parts.gateway, request);
  }
  Response response = co_await answer_routed(parts, routed, target, client, trail);
  co_return response;
}

}  // namespace

Task<Answered> dispatch(WorkerParts& parts, const Request& request) {
  Answered answered;
  answered.is_openai = http::is_openai_path(request.uri);
  Trail trail;
  Client client = client_of(parts.gateway, request);
  Task<Response> answering = answer(parts, request, client, answered, trail);
  Outcome outcome = co_await caught(std::move(answering));
  if (const Error* error = std::get_if<Error>(&outcome)) {
    answered.response = error_response(request, client, answered, *error);
  } else {
    answered.response = std::get<Response>(std::move(outcome));
  }
  if (trail.rate) add_rate_headers(*trail.rate, answered.response);
  answered.note = {client.ip, client.risk_score, std::move(trail.identity)};
  answered.trace_id = std::move(client.trace_id);
  co_return answered;
}

}  // namespace hostler
