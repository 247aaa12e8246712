// See fcgi/caller_batch.h.
#include "fcgi/caller_batch.h"

#include <string>
#include <utility>

#include "fcgi/route.h"
#include "lib/ids.h"
#include "lib/request_context.h"
#include "queries/access.h"

namespace hostler {
namespace {

// The path's value of that name, if the path has one.
std::string_view value_in_path(const Request& request, std::string_view wanted) {
  for (size_t i = 0; i < request.path_value_count; ++i) {
    const auto& [name, value] = request.path_values[i];
    if (name == wanted) return value;
  }
  return {};
}

// An organization in path or query brings its own IP rules.
std::string_view org_with_rules(const Request& request) {
  std::string_view named = value_in_path(request, "org_id");
  const std::string* in_query = request.query_value("org_id");
  if (named.empty() && in_query != nullptr) named = *in_query;
  return is_uuid(named) ? named : std::string_view();
}

// Whom the write may end, if anybody.
std::string_view user_ended(const Request& request) {
  if (!request.route->access.may_end_caller) return {};
  std::string_view user_id = value_in_path(request, "user_id");
  return user_id.empty() ? "self" : user_id;
}

// What a write tells the audit log about the request (sql: current_request()), and what
// authenticate() is to judge.
std::string context_json(const Request& request, Asks asks) {
  const Access& access = request.route->access;
  RequestContext context;
  context.trace_id = request.trace_id;
  context.client_ip = request.client_ip;
  context.user_agent = request.user_agent;
  context.is_retold = asks == Asks::retold;
  context.writes = asks == Asks::writing;
  if (context.writes) context.ends = user_ended(request);
  context.needs_proof = request.needs_proof && !access.before_proof;
  context.is_risky = request.is_risky;
  context.login_hmac = request.login_hmac;
  context.org_named = org_with_rules(request);
  if (access.who == Access::Who::scope) {
    const std::string* scope = request.query_value("scope");
    context.scope = scope == nullptr ? std::string_view("platform") : *scope;
  }
  if (request.caller.is_known) context.caller = &request.caller;
  return request_context_json(context);
}

// The permission that the database asks for; of a scoped route by the scope. With a scope that is
// neither, anybody may hear that from the handler.
const char* need_of(const Request& request) {
  const Access& access = request.route->access;
  switch (access.who) {
    case Access::Who::open:
    case Access::Who::user:
      return nullptr;
    case Access::Who::permission:
      return access.permission;
    case Access::Who::platform_admin:
      return "platform_admin";
    case Access::Who::scope:
      break;
  }
  const std::string* scope = request.query_value("scope");
  if (scope == nullptr || *scope == "platform") return "platform_admin";
  return *scope == "org" ? access.permission : nullptr;
}

void add_authentication(const Request& request, std::string_view org_id, const char* need,
                        bool takes_key, Asks asks, Batch& batch) {
  Params params;
  params.bytes(request.credential.hash);
  params.boolean(request.credential.kind == Credential::Kind::api_key);
  // What is no UUID is nobody's organization: dispatch tells so after this.
  if (is_uuid(org_id)) {
    params.text(org_id);
  } else {
    params.null();
  }
  if (need == nullptr) {
    params.null();
  } else {
    params.text(need);
  }
  params.boolean(takes_key);
  params.text(context_json(request, asks));
  batch.add(query::authenticate, std::move(params));
}

void add_entry(const Request& request, Batch& batch) {
  Params params;
  if (request.caller.is_known) {
    params.text(request.caller.org_id).text(request.caller.user_id);
  } else {
    params.null().null();
  }
  params.text(context_json(request, Asks::reading));
  batch.add(query::enter, std::move(params));
}

}  // namespace

bool will_authenticate(const Request& request) {
  return request.route->access.who != Access::Who::open && !request.caller.is_known;
}

Batch begin_batch(Request& request, Asks asks) {
  Batch batch;
  request.was_sent = true;
  if (will_authenticate(request) || asks == Asks::writing) {
    add_authentication(request, request.org_named(), need_of(request),
                       request.route->access.takes_key, asks, batch);
  } else {
    add_entry(request, batch);
  }
  return batch;
}

Batch begin_batch(Request& request) {
  bool is_held = request.once != nullptr;
  return begin_batch(request, writes(*request.route) && !is_held ? Asks::writing : Asks::reading);
}

void add_identification(const Request& request, std::string_view org_id, Batch& batch) {
  add_authentication(request, org_id, nullptr, true, Asks::retold, batch);
}

}  // namespace hostler
