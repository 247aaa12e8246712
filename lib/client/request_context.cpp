// See lib/client/request_context.h.
#include "lib/client/request_context.h"

#include "lib/json.h"

namespace hostler::client {
namespace {

void add_caller(const account::Caller& caller, JsonWriter& json) {
  if (caller.session_id) json.member("session_id", *caller.session_id);
  if (caller.api_key_id) json.member("api_key_id", *caller.api_key_id);
  json.member("platform_admin", caller.platform_admin);
  json.key("permissions").begin_array();
  for (std::string_view name : caller.permission_names()) json.text(name);
  json.end_array();
}

}  // namespace

std::string request_context_json(const RequestContext& context) {
  JsonWriter json;
  json.begin_object();
  json.member("trace_id", context.trace_id);
  json.member("client_ip", context.client_ip);
  json.member("user_agent", context.user_agent);
  if (context.is_replay) json.member("is_replay", true);
  if (context.writes) json.member("writes", true);
  if (context.fresh_seconds > 0) json.member("fresh_seconds", context.fresh_seconds);
  if (!context.ends.empty()) json.member("ends", context.ends);
  if (context.needs_proof) json.member("needs_proof", true);
  if (context.before_factor) json.member("before_factor", true);
  if (!context.needs_factor.empty()) json.member("needs_factor", context.needs_factor);
  if (context.own_account) json.member("own_account", true);
  if (context.sso_exempt_seconds > 0) json.member("sso_exempt_seconds", context.sso_exempt_seconds);
  if (!context.sso_flows.empty()) json.member_raw("sso_flows", context.sso_flows);
  if (context.is_risky) json.member("is_risky", true);
  if (!context.login_hmac.empty()) json.member("login_hmac", context.login_hmac);
  if (!context.org_named.empty()) json.member("org_named", context.org_named);
  if (context.scope) json.member("scope", *context.scope);
  if (context.caller != nullptr) add_caller(*context.caller, json);
  json.end_object();
  return json.take();
}

}  // namespace hostler::client
