// The one table of error codes: status, name on the wire, title. Contract sections 1 to 11.
#include "lib/error.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace hostler {
namespace {

using enum ErrorCode;

constexpr std::array<ErrorRow, static_cast<size_t>(count_)> table{{
    {http_bad_request, 400, "http.bad_request", "The request is malformed"},
    {http_bad_json, 400, "http.bad_json", "The body is not a valid JSON object"},
    {http_bad_query, 400, "http.bad_query", "The query has too many parameters"},
    {http_not_found, 404, "http.not_found", "This path does not exist"},
    {http_method_not_allowed, 405, "http.method_not_allowed",
     "This path does not support the method"},
    {http_request_too_large, 413, "http.request_too_large", "The body is larger than 1 MiB"},
    {http_uri_too_long, 414, "http.uri_too_long", "The request line is too long"},
    {http_headers_too_large, 431, "http.headers_too_large", "The header fields are too large"},
    {http_unsupported_media_type, 415, "http.unsupported_media_type", "The body must be JSON"},
    {http_not_implemented, 501, "http.not_implemented", "The method is not implemented"},
    {http_version_not_supported, 505, "http.version_not_supported", "Use HTTP/1.1 or HTTP/2"},
    {http_bad_gateway, 502, "http.bad_gateway", "The service did not answer"},
    {http_unavailable, 503, "http.unavailable", "The service is not available"},
    {http_gateway_timeout, 504, "http.gateway_timeout", "The service took too long to answer"},
    {internal_error, 500, "internal.error", "An error occurred on our side"},
    {overload_busy, 503, "overload.busy", "The service is busy"},
    {database_unavailable, 503, "database.unavailable", "The database cannot be reached"},
    {database_timeout, 503, "database.timeout", "The database took too long"},
    {rate_limit_exceeded, 429, "rate_limit.exceeded", "Too many requests"},
    {validation_error, 422, "validation.error", "The input is not valid"},
    {idempotency_key_reused, 422, "idempotency.key_reused",
     "The idempotency key belongs to another body or query"},
    {idempotency_in_progress, 409, "idempotency.in_progress",
     "The first request with this idempotency key is still running"},
    {auth_missing_token, 401, "auth.missing_token", "A token is needed"},
    {auth_invalid_token, 401, "auth.invalid_token", "The token is not valid"},
    {auth_token_expired, 401, "auth.token_expired", "The token has expired"},
    {auth_invalid_api_key, 401, "auth.invalid_api_key", "The API key is not valid"},
    {auth_refresh_reused, 401, "auth.refresh_reused",
     "The refresh token was used before; the session has ended"},
    {auth_invalid_credentials, 401, "auth.invalid_credentials", "Login or password is wrong"},
    {auth_user_suspended, 403, "auth.user_suspended", "The user is suspended"},
    {auth_user_token_required, 403, "auth.user_token_required",
     "An API key is not accepted here; log in"},
    {auth_forbidden, 403, "auth.forbidden", "A permission is missing"},
    {auth_login_exists, 409, "auth.login_exists", "The login is taken"},
    {auth_email_exists, 409, "auth.email_exists", "The email address is taken"},
    {auth_registration_disabled, 403, "auth.registration_disabled", "Registration is closed"},
    {auth_invite_code_required, 422, "auth.invite_code_required", "An invitation code is needed"},
    {auth_invite_code_invalid, 422, "auth.invite_code_invalid",
     "The invitation code cannot be used"},
    {auth_captcha_required, 422, "auth.captcha_required", "The captcha must be solved"},
    {auth_captcha_invalid, 422, "auth.captcha_invalid", "The captcha was refused"},
    {auth_captcha_unavailable, 503, "auth.captcha_unavailable", "The captcha cannot be checked"},
    {auth_rate_limited, 429, "auth.rate_limited", "Too many attempts"},
    {auth_otp_invalid, 422, "auth.otp_invalid", "The code is wrong or has expired"},
    {auth_otp_locked, 429, "auth.otp_locked", "Too many wrong codes; ask for a new one"},
    {auth_otp_rate_limited, 429, "auth.otp_rate_limited",
     "Too many login codes were requested or tried"},
    {auth_wrong_password, 422, "auth.wrong_password", "The current password is wrong"},
    {auth_email_unverified, 403, "auth.email_unverified", "The mail address is not verified"},
    {auth_fresh_login_required, 403, "auth.fresh_login_required", "A fresh login is needed"},
    {auth_factor_required, 401, "auth.factor_required", "The second factor is needed"},
    {auth_factor_invalid, 422, "auth.factor_invalid", "The second factor is wrong or was used"},
    {auth_factor_setup_required, 403, "auth.factor_setup_required",
     "A second factor must be added first"},
    {auth_passkeys_not_configured, 503, "auth.passkeys_not_configured",
     "Passkeys need the address of this site"},
    {ip_blocked, 403, "ip.blocked", "The organization's IP rules refuse this address"},
    {risk_rejected, 403, "risk.rejected", "The risk of the request is too high"},
    {policy_denied, 403, "policy.denied", "This belongs to another user of the organization"},
    {limits_reached, 422, "limits.reached", "The limit is reached"},
    {users_not_found, 404, "users.not_found", "There is no such user"},
    {users_username_exists, 409, "users.username_exists", "The username is taken"},
    {users_last_admin, 409, "users.last_admin",
     "The last platform administrator cannot be removed"},
    {users_self, 409, "users.self", "You cannot do this to yourself"},
    {orgs_not_found, 404, "orgs.not_found", "There is no such organization"},
    {orgs_slug_taken, 409, "orgs.slug_taken", "The slug is taken"},
    {orgs_last_owner, 409, "orgs.last_owner", "The last owner of an organization cannot leave"},
    {orgs_personal, 409, "orgs.personal", "Only a workspace has members and its own slug"},
    {orgs_not_deleted, 409, "orgs.not_deleted", "The organization is not deleted"},
    {orgs_erased, 410, "orgs.erased", "The organization is being erased and cannot be restored"},
    {members_not_found, 404, "members.not_found", "There is no such member"},
    {sessions_not_found, 404, "sessions.not_found", "There is no such session"},
    {factors_not_found, 404, "factors.not_found", "There is no such second factor"},
    {factors_exists, 409, "factors.exists", "This passkey is a factor already"},
    {exports_not_found, 404, "exports.not_found", "There is no such export, or it has expired"},
    {exports_running, 409, "exports.running", "Another export is running"},
    {exports_not_ready, 409, "exports.not_ready", "The export is not ready"},
    {invitations_not_found, 404, "invitations.not_found", "There is no such invitation"},
    {invitations_already_accepted, 409, "invitations.already_accepted",
     "The invitation was already accepted"},
    {invitations_already_member, 409, "invitations.already_member", "The user is already a member"},
    {invitations_expired, 410, "invitations.expired", "The invitation has expired"},
    {invitations_email_mismatch, 403, "invitations.email_mismatch",
     "The invitation was sent to another address"},
    {invitations_exists, 409, "invitations.exists", "The address has an open invitation"},
    {invitations_rate_limited, 429, "invitations.rate_limited", "Too many invitations were sent"},
    {invite_codes_not_found, 404, "invite_codes.not_found", "There is no such invitation code"},
    {invite_codes_reset_cooldown, 429, "invite_codes.reset_cooldown",
     "The invitation code was reset less than a day ago"},
    {api_keys_not_found, 404, "api_keys.not_found", "There is no such API key"},
    {api_keys_scope_forbidden, 403, "api_keys.scope_forbidden",
     "You do not have the permission of a scope"},
    {email_token_invalid, 422, "email.token_invalid", "The token is wrong, used or has expired"},
    {email_not_configured, 503, "email.not_configured", "No mail server is configured"},
    {email_delivery_failed, 502, "email.delivery_failed", "The mail server refused the mail"},
    {email_rate_limited, 429, "email.rate_limited", "Too many mails were requested"},
    {threads_not_found, 404, "threads.not_found", "There is no such thread"},
    {runs_not_found, 404, "runs.not_found", "There is no such run"},
    {runs_unknown_route, 422, "runs.unknown_route", "There is no such route"},
    {runs_unknown_persona, 422, "runs.unknown_persona", "There is no such persona"},
    {runs_no_model, 422, "runs.no_model", "No model is configured"},
    {runs_persona_route, 422, "runs.persona_route",
     "This persona does not work with the organization's own models"},
    {runs_no_messages, 422, "runs.no_messages", "The thread has no message to answer"},
    {runs_thread_busy, 409, "runs.thread_busy", "The thread has an active run"},
    {runs_limit_exceeded, 429, "runs.limit_exceeded", "The organization has too many active runs"},
    {runs_not_waiting, 409, "runs.not_waiting", "The run does not wait for input"},
    {runs_other_answer, 409, "runs.other_answer", "The run waits for another kind of answer"},
    {runs_tool_result_exists, 409, "runs.tool_result_exists", "The call already has its result"},
    {runs_nothing_to_retry, 409, "runs.nothing_to_retry", "The thread has no run to retry"},
    {runs_events_expired, 410, "runs.events_expired", "The events of this run were pruned"},
    {tools_name_taken, 422, "tools.name_taken", "Another tool of the run has this name"},
    {tools_not_found, 404, "tools.not_found", "There is no such tool"},
    {tools_exists, 409, "tools.exists", "Another tool has this name"},
    {tool_url_denied, 422, "tool.url_denied", "This address may not be called"},
    {mcp_servers_not_found, 404, "mcp_servers.not_found", "There is no such MCP server"},
    {mcp_servers_not_connectable, 409, "mcp_servers.not_connectable",
     "This server does not support connections"},
    {mcp_servers_no_client, 404, "mcp_servers.no_client",
     "This site cannot be a client of authorization servers"},
    {mcp_servers_exists, 409, "mcp_servers.exists", "Another MCP server has this key"},
    {mcp_servers_inactive, 409, "mcp_servers.inactive", "The MCP server is switched off"},
    {mcp_servers_tool_changed, 409, "mcp_servers.tool_changed",
     "The tool has changed since it was shown"},
    {mcp_servers_tool_gone, 409, "mcp_servers.tool_gone",
     "The server does not offer the tool any more"},
    {streams_limit_exceeded, 429, "streams.limit_exceeded", "Too many streams are open"},
    {credits_insufficient, 402, "credits.insufficient", "There are not enough credits"},
    {llm_providers_not_found, 404, "llm_providers.not_found", "There is no such LLM provider"},
    {llm_providers_exists, 409, "llm_providers.exists", "Another LLM provider has this name"},
    {llm_models_not_found, 404, "llm_models.not_found", "There is no such model"},
    {llm_models_exists, 409, "llm_models.exists", "The provider already has this model"},
    {personas_not_found, 404, "personas.not_found", "There is no such persona"},
    {personas_exists, 409, "personas.exists", "This version of the persona already exists"},
    {personas_built_in, 409, "personas.built_in", "Built-in personas cannot be deleted"},
    {tool_providers_not_found, 404, "tool_providers.not_found", "There is no such tool provider"},
    {feature_flags_not_found, 404, "feature_flags.not_found", "There is no such feature flag"},
    {feature_flags_exists, 409, "feature_flags.exists", "Another feature flag has this key"},
    {plans_not_found, 404, "plans.not_found", "There is no such plan"},
    {plans_exists, 409, "plans.exists", "Another plan has this name"},
    {subscriptions_not_found, 404, "subscriptions.not_found", "There is no such subscription"},
    {subscriptions_active_exists, 409, "subscriptions.active_exists",
     "The organization already has an active subscription"},
    {subscriptions_not_active, 409, "subscriptions.not_active", "The subscription is not active"},
    {entitlement_overrides_not_found, 404, "entitlement_overrides.not_found",
     "There is no such entitlement override"},
    {redemption_codes_not_found, 404, "redemption_codes.not_found",
     "There is no such redemption code"},
    {redemption_codes_inactive, 409, "redemption_codes.inactive", "The code cannot be used now"},
    {redemption_codes_expired, 409, "redemption_codes.expired", "The code has expired"},
    {redemption_codes_exhausted, 409, "redemption_codes.exhausted", "The code is used up"},
    {redemption_codes_already_redeemed, 409, "redemption_codes.already_redeemed",
     "The code was already redeemed"},
    {ip_rules_not_found, 404, "ip_rules.not_found", "There is no such IP rule"},
    {ip_rules_exists, 409, "ip_rules.exists", "The rule already exists"},
    {ip_rules_would_lock_out, 409, "ip_rules.would_lock_out", "The rule would lock you out"},
    {webhooks_not_found, 404, "webhooks.not_found", "There is no such webhook endpoint"},
    {webhooks_url_denied, 422, "webhooks.url_denied", "This address may not be called"},
    {settings_not_found, 404, "settings.not_found", "There is no such setting"},
    {end_users_not_found, 404, "end_users.not_found",
     "No thread, run or usage of the organization has this end user"},
    {budgets_not_found, 404, "budgets.not_found", "There is no such budget"},
    {http_bad_multipart, 400, "http.bad_multipart", "The body is not a valid multipart form"},
    {http_range_not_satisfiable, 416, "http.range_not_satisfiable",
     "The file ends before this range"},
    {files_not_found, 404, "files.not_found", "There is no such file"},
    {files_not_ready, 409, "files.not_ready", "The file is still being checked"},
    {files_refused, 422, "files.refused", "The file was refused"},
    {files_type_refused, 422, "files.type_refused", "Files of this type are not taken"},
    {files_too_large, 413, "files.too_large", "The file is too large"},
    {files_unavailable, 503, "files.unavailable", "Files cannot be checked at the moment"},
    {auth_sso_no_provider, 404, "auth.sso_no_provider",
     "There is no such provider to sign in with"},
    {auth_sso_not_configured, 503, "auth.sso_not_configured",
     "Sign-in by a provider needs the address of this site"},
    {auth_sso_state_invalid, 400, "auth.sso_state_invalid",
     "This sign-in has expired, was used, or began in another browser"},
    {auth_sso_refused, 403, "auth.sso_refused", "The provider did not sign you in"},
    {auth_sso_failed, 502, "auth.sso_failed", "The answer of the provider is not valid"},
    {auth_sso_unknown_user, 403, "auth.sso_unknown_user",
     "The provider's account belongs to nobody here"},
    {auth_sso_removed, 403, "auth.sso_removed", "You were removed from this organization"},
    {auth_sso_required, 403, "auth.sso_required",
     "The organization requires a sign-in with its provider"},
    {auth_sso_session, 403, "auth.sso_session",
     "A session that an organization's provider began cannot do this"},
    {auth_sso_logout_invalid, 400, "auth.sso_logout_invalid", "The logout token is not valid"},
    {identities_not_found, 404, "identities.not_found", "There is no such linked identity"},
    {identity_providers_not_found, 404, "identity_providers.not_found",
     "There is no such identity provider"},
    {identity_providers_exists, 409, "identity_providers.exists",
     "The key, or this client of this issuer, is taken"},
    {identity_domain_not_granted, 422, "identity.domain_not_granted",
     "The domain was not granted to the organization"},
    {identity_discovery_failed, 422, "identity.discovery_failed",
     "The issuer's metadata cannot be used"},
    {org_domains_not_found, 404, "org_domains.not_found", "There is no such granted domain"},
    {org_domains_exists, 409, "org_domains.exists", "The domain is granted already"},
    {runs_input_unsupported, 422, "runs.input_unsupported",
     "The model does not take a file of the conversation"},
}};

constexpr bool table_is_in_order() {
  for (size_t i = 0; i < table.size(); ++i) {
    if (static_cast<size_t>(table[i].code) != i || table[i].name.empty()) return false;
  }
  return true;
}
static_assert(table_is_in_order(), "every ErrorCode has its row, in the order of the enum");

}  // namespace

const ErrorRow& error_row(ErrorCode code) { return table.at(static_cast<size_t>(code)); }

std::optional<ErrorCode> error_code_named(std::string_view name) {
  for (const ErrorRow& row : table) {
    if (row.name == name) return row.code;
  }
  return std::nullopt;
}

Error Error::validation(std::vector<FieldFault> faults) {
  std::string detail;
  for (const FieldFault& fault : faults) {
    if (!detail.empty()) detail += "; ";
    if (!fault.field.empty()) detail += fault.field + ": ";
    detail += fault.message;
  }
  Error error(validation_error, std::move(detail));
  error.faults = std::move(faults);
  return error;
}

Error Error::validation(std::vector<FieldFault> faults, const std::vector<FieldFault>& more) {
  std::ptrdiff_t known = std::ssize(faults);
  for (const FieldFault& fault : more) {
    bool is_known = std::any_of(faults.begin(), faults.begin() + known,
                                [&](const FieldFault& one) { return one.field == fault.field; });
    if (!is_known) faults.push_back(fault);
  }
  return validation(std::move(faults));
}

Error Error::validation(std::string field, std::string code, std::string message) {
  std::vector<FieldFault> faults;
  faults.push_back({std::move(field), std::move(code), std::move(message)});
  return validation(std::move(faults));
}

}  // namespace hostler
