// The order of checks, and the one catch; see fcgi/dispatch.h.
#include "fcgi/dispatch.h"

#include <new>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "fcgi/input.h"
#include "fcgi/once.h"
#include "fcgi/recognition.h"
#include "fcgi/route.h"
#include "lib/cors.h"
#include "lib/ids.h"
#include "lib/log.h"
#include "lib/problem.h"

namespace hostler {
namespace {

bool is_open(const Route& route) { return route.access.who == Access::Who::open; }

// 404, 405. Of OPTIONS on a known path: the methods that it has.
std::optional<std::string> find_row(Request& request) {
  RouteMatch match = find_route(request.method, request.target);
  if (!match.path_is_known) {
    throw Error(ErrorCode::http_not_found, "No part of the API has this path.");
  }
  if (match.route == nullptr) {
    if (request.method == Method::options) return std::move(match.allow);
    Error error(ErrorCode::http_method_not_allowed, "This path takes " + match.allow + ".");
    error.headers.emplace_back("Allow", std::move(match.allow));
    throw error;
  }
  request.route = match.route;
  request.path_values = match.values;
  request.path_value_count = match.value_count;
  return std::nullopt;
}

void check_body_size(const Request& request) {
  int64_t limit = request.route->body_bytes_max;
  if (request.content_length > (limit == 0 ? body_bytes_most : limit)) {
    throw Error(ErrorCode::http_request_too_large);
  }
  if (request.body_is_short) {
    throw Error(ErrorCode::http_bad_request, "The body is shorter than its Content-Length.");
  }
}

// What is wrong with the credential by its form: told after 429.
std::optional<Error> take_credential(Request& request) {
  std::variant<Credential, Error> read = credential_in(request.authorization);
  if (Error* refusal = std::get_if<Error>(&read)) return std::move(*refusal);
  request.credential = std::get<Credential>(std::move(read));
  return std::nullopt;
}

// What is not even the form of an id does not exist.
void check_ids(const Request& request) {
  if (!request.org_id_wanted.empty() && !is_uuid(request.org_id_wanted)) {
    throw Error(ErrorCode::orgs_not_found, "X-Org-Id is not an id of an organization.");
  }
  for (size_t i = 0; i < request.path_value_count; ++i) {
    const auto& [name, value] = request.path_values[i];
    ErrorCode code = not_found_code(*request.route, name);
    if (code != ErrorCode::count_ && !is_uuid(value)) throw Error(code);
  }
}

bool ids_are_well(const Request& request) {
  if (!request.org_id_wanted.empty() && !is_uuid(request.org_id_wanted)) return false;
  for (size_t i = 0; i < request.path_value_count; ++i) {
    const auto& [name, value] = request.path_values[i];
    if (not_found_code(*request.route, name) != ErrorCode::count_ && !is_uuid(value)) return false;
  }
  return true;
}

Response options_response(const Services& services, const Request& request, std::string allow) {
  Response response = Response::no_content();
  add_preflight_headers(services.settings().strings("http.cors_origins"), request.origin, allow,
                        response.headers);
  response.add_header("Allow", std::move(allow));
  return response;
}

Task<Response> answer(Services& services, Request& request) {
  parse_target(request.uri, request.target);
  std::optional<std::string> allow = find_row(request);
  if (allow) co_return options_response(services, request, std::move(*allow));
  check_body_size(request);
  if (request.route->rate != Rate::none && !services.has_stored_settings()) {
    co_await services.until_settings();
    recognize(services.gateway(), request);
  }
  std::optional<Error> refusal;
  if (!is_open(*request.route)) refusal = take_credential(request);
  services.limits().admit(request, services.settings());
  refuse_risky(request);
  if (refusal) throw *refusal;
  check_ids(request);
  // A scope that is neither is nobody's; the handlers only see the two.
  if (request.route->access.who == Access::Who::scope) is_org_scope(request);
  std::optional<std::string_view> key = once_key(request);
  if (key) {
    std::optional<Response> first = co_await begin_once(services, request, *key);
    if (first) co_return std::move(*first);
  }
  Response response = co_await request.route->handler(services, request);
  if (request.once) co_await finish_once(services, request, response);
  if (!is_open(*request.route) && !request.caller.is_known) {
    throw Error(ErrorCode::internal_error, {}, "the handler answered without asking who calls");
  }
  co_return response;
}

// The handler gave up before it asked the database: a denial, and the 404 of an id, come first. Not
// before 429: who is limited costs nothing.
bool owes_denial(const Request& request, const Error& fault) {
  return request.route != nullptr && request.credential.kind != Credential::Kind::none &&
         !request.was_sent && fault.code != ErrorCode::rate_limit_exceeded;
}

// Whoever shows a token that is none, or lost it, must not use up what others of the organization
// may: that counts for the address. A token that is good counts for its organization, also when its
// first requests fail.
void settle_count(Services& services, Request& request, Error& fault) {
  if (request.credential.kind == Credential::Kind::none) return;
  int status = error_row(fault.code).status;
  bool is_stranger = fault.code == ErrorCode::orgs_not_found && !request.org_named().empty();
  if (status == 401) {
    std::optional<Error> limited = services.limits().count_refused(request, services.settings());
    if (limited) fault = std::move(*limited);
  } else if (is_stranger) {
    services.limits().forget(request);
  } else if (status < 500 && !request.rate && request.route->rate != Rate::none) {
    services.learn_aside(request);
  }
}

// The path as it was asked for, but of one that holds a token the pattern alone.
std::string_view tellable_path(const Request& request) {
  if (request.route->path.find("{token}") != std::string_view::npos) return request.route->path;
  return request.uri.substr(0, request.uri.find('?'));
}

// For the audit log: as whom, if only to be refused, somebody asked for what.
Denial denial_of(const Request& request, const Error& fault) {
  Identity who =
      request.caller.is_known ? identity_of(request.caller) : request.denied.value_or(Identity());
  Denial denial;
  denial.org_id = std::move(who.org_id);
  denial.user_id = std::move(who.user_id);
  bool is_key = request.credential.kind == Credential::Kind::api_key;
  if (is_key) denial.api_key_hash = request.credential.hash;
  denial.route = fmt::format("{} {}", method_name(request.route->method), request.route->path);
  denial.code = error_row(fault.code).name;
  denial.target = fmt::format("{} {}", method_name(request.method), tellable_path(request));
  denial.trace_id = request.trace_id;
  denial.client_ip = request.client_ip;
  denial.user_agent = request.user_agent;
  return denial;
}

Response error_response(const Request& request, const Error& error) {
  int status = error.status();
  if (error.code == ErrorCode::internal_error) {
    log_error("request_failed",
              {{"trace_id", request.trace_id},
               {"path", std::string(request.uri.substr(0, request.uri.find('?')))},
               {"cause", error.cause}});
  } else if (status >= 500) {
    // The database and the gates tell of their own trouble; one line a request would be a flood.
    log_debug("request_unavailable", {{"trace_id", request.trace_id}, {"cause", error.cause}});
  }
  if (request.route != nullptr && request.route->render_error != nullptr) {
    return request.route->render_error(error);
  }
  Response response = Response::json_text(status, problem_text(error, request.trace_id));
  response.content_type = problem_type;
  response.headers = problem_headers(error);
  return response;
}

}  // namespace

Task<Response> dispatch(Services& services, Request& request) {
  std::optional<Error> fault;
  Response response;
  recognize(services.gateway(), request);
  try {
    Response answered = co_await answer(services, request);
    response = std::move(answered);
  } catch (const Error& error) {
    fault = error;
  } catch (const std::bad_alloc&) {
    fault = Error(ErrorCode::overload_busy, "Try again in a moment.", "out of memory");
    fault->retry_after_s = 1;
  } catch (const std::exception& error) {
    fault = Error(ErrorCode::internal_error, {}, error.what());
  }
  if (fault && request.once) {
    // Before the answer: whoever calls again after it with the same key must not meet this call.
    std::shared_ptr<Once> once = std::move(request.once);
    co_await once->transaction.roll_back();
  }
  if (fault && owes_denial(request, *fault)) {
    try {
      bool with_guard = ids_are_well(request);
      co_await services.authenticate(request, with_guard);
    } catch (const Error& denial) {
      fault = denial;
    }
  }
  if (fault) {
    request.denied = fault->refused;
    settle_count(services, request, *fault);
    bool is_denial =
        error_row(fault->code).status == 403 && request.credential.kind != Credential::Kind::none;
    if (is_denial) services.denials().add(denial_of(request, *fault));
    response = error_response(request, *fault);
  }
  add_rate_headers(request, response);
  co_return response;
}

}  // namespace hostler
