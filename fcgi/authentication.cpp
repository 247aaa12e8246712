// See fcgi/authentication.h.
#include "fcgi/authentication.h"

#include <optional>
#include <string>
#include <utility>

#include "lib/ids.h"
#include "lib/json.h"
#include "queries/access.h"

namespace hostler {
namespace {

// What a batch says of itself to sql: current_request() and authenticate().
struct Context {
  const Caller* caller = nullptr;
  std::string_view login_hmac;
  Asks asks = Asks::reading;
  bool is_retold = false;  // an attempt that was refused already
};

// An organization in path or query brings its own IP rules.
std::string_view org_with_rules(const Routed& routed) {
  std::string_view named = routed.path_values.find("org_id");
  const std::string* in_query = routed.target.query_value("org_id");
  if (named.empty() && in_query != nullptr) named = *in_query;
  return is_uuid(named) ? named : std::string_view();
}

void add_hold(const Routed& routed, JsonWriter& json) {
  json.member("writes", true);
  if (!routed.route.access.may_end_caller) return;
  std::string_view user_id = routed.path_values.find("user_id");
  json.member("ends", user_id.empty() ? "self" : user_id);
}

void add_caller(const Caller& caller, JsonWriter& json) {
  if (caller.session_id) json.member("session_id", *caller.session_id);
  if (caller.api_key_id) json.member("api_key_id", *caller.api_key_id);
  json.member("platform_admin", caller.platform_admin);
  json.key("permissions").begin_array();
  for (std::string_view name : caller.permission_names()) json.text(name);
  json.end_array();
}

// What a write tells the audit log about the request, and what authenticate() checks.
std::string context_json(const Admitted& request, const Context& context) {
  const Routed& routed = request.routed;
  const Client& client = request.client;
  const Access& access = routed.route.access;
  JsonWriter json;
  json.begin_object();
  json.member("trace_id", client.trace_id);
  json.member("client_ip", client.ip);
  json.member("user_agent", client.user_agent);
  if (context.is_retold) json.member("is_retold", true);
  if (context.asks == Asks::writing) add_hold(routed, json);
  if (client.needs_proof && !access.before_proof) json.member("needs_proof", true);
  if (client.is_risky) json.member("is_risky", true);
  if (!context.login_hmac.empty()) json.member("login_hmac", context.login_hmac);
  if (std::string_view org = org_with_rules(routed); !org.empty()) json.member("org_named", org);
  if (access.who == Access::Who::scope) {
    const std::string* scope = routed.target.query_value("scope");
    json.member("scope", scope == nullptr ? std::string_view("platform") : *scope);
  }
  if (context.caller != nullptr) add_caller(*context.caller, json);
  json.end_object();
  return json.take();
}

// The permission that the database asks for; of a scoped route by the scope. With a scope that is
// neither, anybody may hear that from the handler.
const char* required_permission(const Routed& routed) {
  const Access& access = routed.route.access;
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
  const std::string* scope = routed.target.query_value("scope");
  if (scope == nullptr || *scope == "platform") return "platform_admin";
  return *scope == "org" ? access.permission : nullptr;
}

BoundStatement authentication_with(const Admitted& request, std::string_view org_id,
                                   const char* permission, bool takes_key, const Context& context) {
  const Credential& credential = request.credential;
  // What is no UUID is nobody's organization: dispatch tells so after this.
  std::optional<std::string_view> org = std::nullopt;
  if (is_uuid(org_id)) org = org_id;
  std::optional<std::string_view> needed = std::nullopt;
  if (permission != nullptr) needed = permission;
  return query::Authenticate{.token_hash = credential.hash,
                             .is_key = credential.kind == Credential::Kind::api_key,
                             .org_id = org,
                             .permission = needed,
                             .takes_key = takes_key,
                             .context = context_json(request, context)};
}

}  // namespace

BoundStatement authentication(const Admitted& request, Asks asks) {
  Context context;
  context.asks = asks;
  return authentication_with(request, request.routed.org_named(),
                             required_permission(request.routed),
                             request.routed.route.access.takes_key, context);
}

BoundStatement authentication_again(const Admitted& request, const Caller& caller, Asks asks,
                                    std::string_view login_hmac) {
  return authentication_with(request, request.routed.org_named(),
                             required_permission(request.routed),
                             request.routed.route.access.takes_key, {&caller, login_hmac, asks});
}

BoundStatement entry(const Admitted& request, const Caller* caller, std::string_view login_hmac) {
  std::string context = context_json(request, {caller, login_hmac});
  if (caller == nullptr) {
    return query::Enter{
        .org_id = std::nullopt, .user_id = std::nullopt, .context = std::move(context)};
  }
  return query::Enter{
      .org_id = caller->org_id, .user_id = caller->user_id, .context = std::move(context)};
}

BoundStatement identification(const Admitted& request) {
  Context context;
  context.is_retold = true;
  return authentication_with(request, {}, nullptr, true, context);
}

}  // namespace hostler
