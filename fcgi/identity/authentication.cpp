// See fcgi/identity/authentication.h.
#include "fcgi/identity/authentication.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "fcgi/identity/sso_cookie.h"
#include "lib/client/request_context.h"
#include "lib/ids.h"
#include "lib/json_bounds.h"
#include "queries/access.h"
#include "queries/scim.h"

namespace hostler {
namespace {

// The longest time since a proof by a second factor, for owners whose organization requires its
// identity provider.
constexpr int64_t sso_exempt_seconds = 900;

// An organization in path or query brings its own IP rules.
std::string_view org_with_rules(const Routed& routed) {
  std::string_view named = routed.path_values.find("org_id");
  const std::string* in_query = routed.target.query_value("org_id");
  if (named.empty() && in_query != nullptr) named = *in_query;
  return is_uuid(named) ? named : std::string_view();
}

// The user whom the write may end, if any.
std::string_view user_ended(const Routed& routed) {
  if (!routed.route.access.may_end_caller) return {};
  std::string_view user_id = routed.path_values.find("user_id");
  return user_id.empty() ? "self" : user_id;
}

bool is_platform_scope(const Routed& routed) {
  const std::string* scope = routed.target.query_value("scope");
  return scope == nullptr || *scope == "platform";
}

// A body that is no JSON, or too much of it, carries nothing: its 400 follows.
bool carries_one_of(std::string_view body, std::string_view members) {
  std::variant<Json, JsonFault> parsed = parse_bounded_json(body, json_values_of_body_max);
  const Json* json = std::get_if<Json>(&parsed);
  while (json != nullptr && !members.empty()) {
    size_t end = std::min(members.find(' '), members.size());
    const Json* value = json->find(members.substr(0, end));
    if (value != nullptr && !value->is_null()) return true;
    members.remove_prefix(std::min(end + 1, members.size()));
  }
  return false;
}

client::RequestContext context_of(const Admitted& request, Asks asks) {
  const Routed& routed = request.routed;
  const Access& access = routed.route.access;
  client::RequestContext context;
  context.trace_id = request.client.trace_id;
  context.client_ip = request.client.ip;
  context.user_agent = request.client.user_agent;
  context.writes = asks == Asks::writing;
  if (context.writes) context.ends = user_ended(routed);
  context.needs_proof = request.client.needs_proof && !access.before_proof;
  context.before_factor = access.before_factor;
  if (!access.before_factor) context.needs_factor = request.client.needs_factor;
  context.is_risky = request.client.is_risky;
  context.own_account = access.is_own_account;
  if (access.is_sso_exempt) context.sso_exempt_seconds = sso_exempt_seconds;
  context.fresh_seconds = request.fresh_seconds;
  context.org_named = org_with_rules(routed);
  if (access.audience == Access::Audience::scope) {
    const std::string* scope = routed.target.query_value("scope");
    context.scope = scope == nullptr ? std::string_view("platform") : *scope;
  }
  return context;
}

// The permission that the database asks for; of a scoped route by the scope. With a scope that is
// neither, anybody may hear that from the handler.
const char* required_permission(const Routed& routed) {
  const Access& access = routed.route.access;
  switch (access.audience) {
    case Access::Audience::open:
    case Access::Audience::user:
    case Access::Audience::scim:
      return nullptr;
    case Access::Audience::permission:
      return access.permission;
    case Access::Audience::platform_admin:
      return "platform_admin";
    case Access::Audience::scope:
      break;
  }
  if (is_platform_scope(routed)) return "platform_admin";
  const std::string* scope = routed.target.query_value("scope");
  return *scope == "org" ? access.permission : nullptr;
}

// Only writes and needs_proof, for which the token's row knows enough: not when its session was
// proved. Tokens of platform administrators never keep what they grant, so that the row need not
// know whether these have a second factor.
bool asks_nothing_else(const client::RequestContext& context) {
  return !context.is_risky && !context.is_replay && context.fresh_seconds == 0 &&
         context.ends.empty() && context.org_named.empty() && context.needs_factor != "everyone";
}

postgres::BoundStatement authentication_with(const Admitted& request, std::string_view org_id,
                                             const char* permission, bool takes_key,
                                             const client::RequestContext& context) {
  const account::Credential& credential = request.credential;
  if (credential.kind == account::Credential::Kind::scim_token) {
    return query::ScimAuthenticate{.token_hash = credential.hash,
                                   .context = client::request_context_json(context)};
  }
  // A value that is not a UUID is nobody's organization: dispatch reports that after this.
  std::optional<std::string_view> org = std::nullopt;
  if (is_uuid(org_id)) org = org_id;
  std::optional<std::string_view> needed = std::nullopt;
  if (permission != nullptr) needed = permission;
  bool is_key = credential.kind == account::Credential::Kind::api_key;
  if (!is_key && asks_nothing_else(context)) {
    return query::AuthenticateByToken{.token_hash = credential.hash,
                                      .org_id = org,
                                      .permission = needed,
                                      .writes = context.writes,
                                      .needs_proof = context.needs_proof,
                                      .context = client::request_context_json(context)};
  }
  return query::Authenticate{.token_hash = credential.hash,
                             .is_key = is_key,
                             .org_id = org,
                             .permission = needed,
                             .takes_key = takes_key,
                             .context = client::request_context_json(context)};
}

postgres::BoundStatement authentication_in_route(const Admitted& request,
                                                 const client::RequestContext& context) {
  return authentication_with(request, request.routed.org_named(),
                             required_permission(request.routed),
                             request.routed.route.access.takes_key, context);
}

}  // namespace

int64_t fresh_seconds(const Routed& routed, const config::Settings& settings) {
  const Access& access = routed.route.access;
  if (!access.needs_fresh_login) return 0;
  bool is_of_org = access.audience == Access::Audience::scope && !is_platform_scope(routed);
  if (is_of_org && !access.is_fresh_in_orgs) return 0;
  const char* members = access.fresh_for_members;
  if (members != nullptr && !carries_one_of(routed.request.body, members)) return 0;
  return settings.integer("auth.fresh_seconds");
}

postgres::BoundStatement authentication(const Admitted& request, Asks asks) {
  return authentication_in_route(request, context_of(request, asks));
}

postgres::BoundStatement authentication_again(const Admitted& request,
                                              const account::Caller& caller, Asks asks,
                                              std::string_view login_hmac) {
  client::RequestContext context = context_of(request, asks);
  context.caller = &caller;
  context.login_hmac = login_hmac;
  return authentication_in_route(request, context);
}

postgres::BoundStatement entry(const Admitted& request, const account::Caller* caller,
                               std::string_view login_hmac) {
  client::RequestContext context = context_of(request, Asks::reading);
  context.caller = caller;
  context.login_hmac = login_hmac;
  if (caller == nullptr && request.routed.route.access.finds_caller) {
    context.sso_flows = sso_flow_hashes(request.routed.request);
  }
  std::string json = client::request_context_json(context);
  if (caller == nullptr) {
    return query::SetRequestContext{
        .org_id = std::nullopt, .user_id = std::nullopt, .context = std::move(json)};
  }
  return query::SetRequestContext{
      .org_id = caller->org_id, .user_id = caller->user_id, .context = std::move(json)};
}

postgres::BoundStatement identification(const Admitted& request) {
  client::RequestContext context = context_of(request, Asks::reading);
  context.is_replay = true;
  context.fresh_seconds = 0;
  return authentication_with(request, {}, nullptr, true, context);
}

}  // namespace hostler
