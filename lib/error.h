// An error for two readers: code and message go to the client, cause goes to the log. Thrown
// wherever a request or a run ends. Caught only by answer_call, supervise_run, the relay's
// per-client function and the mains. The codes are the API's contract: none changes its meaning.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/identity.h"

namespace hostler {

enum class ErrorCode : uint16_t {
  http_bad_request,
  http_bad_json,
  http_bad_query,
  http_not_found,
  http_method_not_allowed,
  http_request_too_large,
  http_uri_too_long,
  http_headers_too_large,
  http_unsupported_media_type,
  http_not_implemented,
  http_version_not_supported,
  http_bad_gateway,
  http_unavailable,
  http_gateway_timeout,
  internal_error,
  overload_busy,
  database_unavailable,
  database_timeout,
  rate_limit_exceeded,
  validation_error,
  idempotency_key_reused,
  idempotency_in_progress,
  auth_missing_token,
  auth_invalid_token,
  auth_token_expired,
  auth_invalid_api_key,
  auth_refresh_reused,
  auth_invalid_credentials,
  auth_user_suspended,
  auth_user_token_required,
  auth_forbidden,
  auth_login_exists,
  auth_email_exists,
  auth_registration_disabled,
  auth_invite_code_required,
  auth_invite_code_invalid,
  auth_captcha_required,
  auth_captcha_invalid,
  auth_captcha_unavailable,
  auth_rate_limited,
  auth_otp_invalid,
  auth_otp_locked,
  auth_otp_rate_limited,
  auth_wrong_password,
  auth_email_unverified,
  auth_fresh_login_required,
  auth_factor_required,
  auth_factor_invalid,
  auth_factor_setup_required,
  auth_passkeys_not_configured,
  ip_blocked,
  risk_rejected,
  policy_denied,
  limits_reached,
  users_not_found,
  users_username_exists,
  users_last_admin,
  users_self,
  orgs_not_found,
  orgs_slug_taken,
  orgs_last_owner,
  orgs_personal,
  orgs_not_deleted,
  orgs_erased,
  members_not_found,
  sessions_not_found,
  factors_not_found,
  factors_exists,
  exports_not_found,
  exports_running,
  exports_not_ready,
  invitations_not_found,
  invitations_already_accepted,
  invitations_already_member,
  invitations_expired,
  invitations_email_mismatch,
  invitations_exists,
  invitations_rate_limited,
  invite_codes_not_found,
  invite_codes_reset_cooldown,
  api_keys_not_found,
  api_keys_scope_forbidden,
  email_token_invalid,
  email_not_configured,
  email_delivery_failed,
  email_rate_limited,
  threads_not_found,
  runs_not_found,
  runs_unknown_route,
  runs_unknown_persona,
  runs_no_model,
  runs_persona_route,
  runs_no_messages,
  runs_thread_busy,
  runs_limit_exceeded,
  runs_not_waiting,
  runs_other_answer,
  runs_tool_result_exists,
  runs_nothing_to_retry,
  runs_events_expired,
  tools_name_taken,
  tools_not_found,
  tools_exists,
  tool_url_denied,
  mcp_servers_not_found,
  mcp_servers_not_connectable,
  mcp_servers_no_client,
  mcp_servers_exists,
  mcp_servers_inactive,
  mcp_servers_tool_changed,
  mcp_servers_tool_gone,
  streams_limit_exceeded,
  credits_insufficient,
  llm_providers_not_found,
  llm_providers_exists,
  llm_models_not_found,
  llm_models_exists,
  personas_not_found,
  personas_exists,
  personas_built_in,
  tool_providers_not_found,
  feature_flags_not_found,
  feature_flags_exists,
  plans_not_found,
  plans_exists,
  subscriptions_not_found,
  subscriptions_active_exists,
  subscriptions_not_active,
  entitlement_overrides_not_found,
  redemption_codes_not_found,
  redemption_codes_inactive,
  redemption_codes_expired,
  redemption_codes_exhausted,
  redemption_codes_already_redeemed,
  ip_rules_not_found,
  ip_rules_exists,
  ip_rules_would_lock_out,
  webhooks_not_found,
  webhooks_url_denied,
  settings_not_found,
  end_users_not_found,
  budgets_not_found,
  http_bad_multipart,
  http_range_not_satisfiable,
  files_not_found,
  files_not_ready,
  files_refused,
  files_type_refused,
  files_too_large,
  files_unavailable,
  auth_sso_no_provider,
  auth_sso_not_configured,
  auth_sso_state_invalid,
  auth_sso_refused,
  auth_sso_failed,
  auth_sso_unknown_user,
  auth_sso_removed,
  auth_sso_required,
  auth_sso_session,
  auth_sso_logout_invalid,
  identities_not_found,
  identity_providers_not_found,
  identity_providers_exists,
  identity_domain_not_granted,
  identity_discovery_failed,
  org_domains_not_found,
  org_domains_exists,
  runs_input_unsupported,
  count_  // not a code: the number of them
};

struct ErrorRow {
  ErrorCode code;
  int status;              // HTTP status of the answer
  std::string_view name;   // on the wire, dotted
  std::string_view title;  // one sentence, the same for every occurrence
};

const ErrorRow& error_row(ErrorCode code);
std::optional<ErrorCode> error_code_named(std::string_view name);

// One fault of the input. field is a dotted path ("models.0.name") or the query parameter's name.
struct FieldFault {
  std::string field;
  std::string code;  // required, wrong_type, too_long, too_short, out_of_range, bad_format, …
  std::string message;
};

struct Error : std::exception {
  explicit Error(ErrorCode code_, std::string detail_ = {}, std::string cause_ = {})
      : code(code_), detail(std::move(detail_)), cause(std::move(cause_)) {}

  // The 422 that lists every fault of the input.
  static Error validation(std::vector<FieldFault> faults);
  // Faults of two checks. If the first check reports a field, the second one's faults of it are
  // left out.
  static Error validation(std::vector<FieldFault> faults, const std::vector<FieldFault>& more);
  static Error validation(std::string field, std::string code, std::string message);

  const char* what() const noexcept override { return detail.c_str(); }
  // Headers of the answer.
  int status() const { return other_status > 0 ? other_status : error_row(code).status; }

  ErrorCode code;
  std::string detail;  // for the client: what happened and how to mend it; empty: the title serves
  std::string cause;   // for the log only
  std::vector<FieldFault> faults;
  int retry_after_s = 0;  // Retry-After when above 0
  int other_status = 0;   // where a code has a second status: instead of the row's
  // Further members of the problem document, as name and JSON text.
  std::vector<std::pair<std::string, std::string>> members;
  // Further header fields of the answer (a cleared cookie, Allow).
  std::vector<std::pair<std::string, std::string>> headers;
  // Caller whom the database refused, for the access log and the audit log. No answer contains it.
  std::optional<Identity> refused;
};

}  // namespace hostler
