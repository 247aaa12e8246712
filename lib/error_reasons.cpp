// The one table of reasons, and how they become errors; see lib/error_reasons.h.
#include "lib/error_reasons.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/json.h"

namespace hostler {
namespace {

using enum ErrorCode;

constexpr std::string_view elsewhere =
    "It is in another organization of yours: send X-Org-Id: {org_id}.";
constexpr std::string_view verify_first =
    "Verify your address first with POST /v1/auth/email/verify/send.";
// A confirmation that decides nothing. Its reasons differ in their beginnings alone.
#define HOW_TO_DECIDE                                               \
  R"(answer approve, deny, or {{"decision": "approve" or "deny", )" \
  R"("arguments": {{…}}, "reason": "…"}})"
#define HOW_TO_FILL_IN \
  R"(must be JSON: {{"action": "accept", "decline" or "cancel", "content": {{…}}}})"
constexpr ErrorReason::Further bad_content{.field = "content", .fault = "bad_format"};
constexpr ErrorReason::Further later{.retry_after = "{retry_after_s}"};

// In the order of ErrorCode.
// clang-format off
constexpr auto table = std::to_array<ErrorReason>({
    {rate_limit_exceeded, "not_yet", "", later},
    {validation_error, "another_is_required", "another provider of the organization is required; change that one first", {.field = "is_required", .fault = "bad_value"}},
    {validation_error, "arguments_malformed", R"("arguments" must be an object; )" HOW_TO_DECIDE, bad_content},
    {validation_error, "balance_out_of_bounds", "would pass the bounds of a balance", {.field = "{field}", .fault = "out_of_range"}},
    {validation_error, "below_use_count", "must not be below the {use_count} uses there were", {.field = "max_uses", .fault = "out_of_range"}},
    {validation_error, "budget_amount_bounds", "must be above 0 and at most {amount_max}", {.field = "{field}", .fault = "out_of_range"}},
    {validation_error, "budget_credits_whole", "must be a whole number of credits above 0", {.field = "{field}", .fault = "bad_format"}},
    {validation_error, "budget_subject_full", "has the maximum of {count_max} budgets; change one of them", {.field = "subject", .fault = "too_many"}},
    {validation_error, "budget_subject_unknown", "the organization has no such {type}", {.field = "subject", .fault = "unknown"}},
    {validation_error, "budget_usd_decimals", "must have at most 9 decimals", {.field = "{field}", .fault = "bad_format"}},
    {validation_error, "budget_zone_unknown", "must be a time zone of the IANA's list, for example Europe/Berlin", {.field = "time_zone", .fault = "unknown"}},
    {validation_error, "call_not_asked", "the run does not wait for the result of this call", {.field = "results.{nth}.tool_call_id", .fault = "unknown"}},
    {validation_error, "call_unanswered",
     "the output of the call {call_id} is missing; send the outputs of all calls of a turn", {.field = "{field}", .fault = "required"}},
    {validation_error, "call_unknown", "the call {call_id} is unknown; send the call before its output", {.field = "{field}", .fault = "unknown"}},
    {validation_error, "confirmation_takes_approved", R"(must be {{"approved": true or false, "arguments"?, "reason"?}}, without other members)",
     {.field = "resume.0.payload", .fault = "bad_format"}},
    {validation_error, "content_decides_nothing", "must be approve or deny; " HOW_TO_DECIDE, bad_content},
    {validation_error, "content_is_no_json", "at byte {offset} of the JSON {found}; " HOW_TO_DECIDE, bad_content},
    {validation_error, "content_too_long", "must have at most {bytes_max} bytes", {.field = "content", .fault = "too_long"}},
    {validation_error, "decision_lacks_member", R"("{name}" is not a member of a decision; )" HOW_TO_DECIDE, bad_content},
    {validation_error, "decision_malformed", R"("decision" must be "approve" or "deny"; )" HOW_TO_DECIDE, bad_content},
    {validation_error, "denial_takes_no_arguments", R"("arguments" are not allowed beside deny; leave them out; )" HOW_TO_DECIDE, bad_content},
    {validation_error, "fallback_route_itself", "contains the persona's own model; name other routes", {.field = "fallback_routes", .fault = "duplicate"}},
    {validation_error, "fallback_route_unknown", "there is no such model of the scope or the platform", {.field = "fallback_routes.{nth}", .fault = "unknown"}},
    {validation_error, "file_is_no_image", "the file {file_id} is no image", {.field = "{field}", .fault = "wrong_type"}},
    {validation_error, "key_meant_elsewhere",
     "names another server than the one for which {key} was stored: DELETE that setting, set this one, then set that one again",
     {.field = "value", .fault = "required"}},
    {validation_error, "message_is_kept", "messages of a thread cannot be changed; send a new one", {.field = "messageId", .fault = "bad_format"}},
    {validation_error, "message_is_not_last", "must be the newest answer; older answers cannot be made again", {.field = "messageId", .fault = "bad_format"}},
    {validation_error, "name_not_comparable", "contains characters that are not allowed together", {.field = "{field}", .fault = "bad_format"}},
    {validation_error, "org_unknown", "there is no such organization", {.field = "org_id", .fault = "unknown"}},
    {validation_error, "period_too_long", "must be at most 366 days before end, both counted", {.field = "start", .fault = "out_of_range"}},
    {validation_error, "platform_requires_nobody", "is for providers of organizations", {.field = "is_required", .fault = "bad_value"}},
    {validation_error, "plan_unknown", "there is no such plan", {.field = "plan_id", .fault = "unknown"}},
    {validation_error, "provider_needs_api_key", "{provider_name} needs an api_key", {.field = "api_key", .fault = "required"}},
    {validation_error, "provider_needs_base_url", "{provider_name} needs a base_url", {.field = "base_url", .fault = "required"}},
    {validation_error, "question_takes_text", "must be a text: the run asks a question", {.field = "resume.0.payload", .fault = "wrong_type"}},
    {validation_error, "reason_malformed", R"("reason" must be a text; )" HOW_TO_DECIDE, bad_content},
    {validation_error, "result_of_no_call", "the run did not make the call {tool_call_id}", {.field = "messages", .fault = "unknown"}},
    {validation_error, "elicitation_doubled", R"("{name}" is given twice; )" HOW_TO_FILL_IN, bad_content},
    {validation_error, "elicitation_exponent", "an exponent of a number must be less than 400", bad_content},
    {validation_error, "elicitation_lacks_member", R"("{name}" is not a member of an answer; )" HOW_TO_FILL_IN, bad_content},
    {validation_error, "elicitation_malformed", HOW_TO_FILL_IN, bad_content},
    {validation_error, "elicitation_unfit", "{faults}", {.field = "content", .fault = "malformed"}},
    {validation_error, "results_missing", "must have the results of all calls together; missing: {missing}", {.field = "messages", .fault = "required"}},
    {validation_error, "sampling_unknown_there",
     "is not supported by Anthropic's API, which this model uses; leave it out, or name another model", {.field = "{field}", .fault = "unsupported_parameter"}},
    {validation_error, "secret_needed", "is needed again, because the stored one was meant for another server", {.field = "{field}", .fault = "required"}},
    {validation_error, "slug_is_another", "must repeat the slug of the organization, which is {slug}", {.field = "slug", .fault = "bad_value"}},
    {validation_error, "start_after_end", "must not be after end", {.field = "start", .fault = "out_of_range"}},
    {validation_error, "stop_is_blank",
     "must not be only white space for this model, because Anthropic's API refuses that", {.field = "stop", .fault = "unsupported_parameter"}},
    {validation_error, "temperature_over_one",
     "must be at most 1 for this model, because Anthropic's API refuses more", {.field = "temperature", .fault = "unsupported_parameter"}},
    {validation_error, "tool_unknown", "is not a known tool; GET /v1/tools and GET /v1/mcp-servers list them", {.field = "tools.{nth}", .fault = "unknown"}},
    {idempotency_key_reused, "another_body", "This Idempotency-Key was used with another body or query. Use a new one."},
    {idempotency_in_progress, "first_call_runs", "The first call with this Idempotency-Key is still running.", {.retry_after = "1"}},
    {auth_invalid_token, "factor_token_over", "The factor_token has expired, was used, or began in another browser. Log in again."},
    {auth_invalid_token, "session_ended", "Log in again."},
    {auth_invalid_token, "wait_is_over", "The run no longer waits for the result of this call."},
    {auth_token_expired, "access_token_expired", "Get a new one with POST /v1/auth/refresh."},
    {auth_invalid_api_key, "key_is_dead", "The key is unknown, revoked or expired."},
    {auth_user_token_required, "key_used", "Use the access token of a login."},
    {auth_forbidden, "account_of_provider", "An account that an organization's provider made has no invitation code."},
    {auth_forbidden, "factors_of_admin", "The operator resets the factors of a platform administrator: hostlerctl user factors --reset LOGIN."},
    // Two pairs that differ in the member: a scope's refusal has never told it.
    {auth_forbidden, "org_scope_denied", "This needs the permission {permission}."},
    {auth_forbidden, "permission_missing", "This needs the permission {permission}.", {.shown = "permission"}},
    {auth_forbidden, "platform_scope_denied", "This needs platform_admin."},
    {auth_forbidden, "platform_admin_missing", "This needs {permission}.", {.shown = "permission"}},
    {auth_forbidden, "touches_owners", "Only owners make, change or remove owners.", {.shown = "permission"}},
    {auth_invite_code_required, "none_given", "Ask a user of this site for an invitation code."},
    {auth_invite_code_invalid, "code_does_not_hold", "Ask the person who invited you for another one."},
    {auth_invite_code_invalid, "token_does_not_hold", "Use the newest link that was mailed to exactly this address, before it expires."},
    {auth_rate_limited, "not_yet", "", later},
    {auth_otp_locked, "next_code_serves", "Request a new code with POST /v1/auth/email/otp/send.", {.retry_after = "1"}},
    {auth_otp_rate_limited, "guessed_too_often",
     "Too many wrong codes were given for this account. Until then log in with your password, or from a network where you "
     "logged in within the last 30 days.", later},
    {auth_otp_rate_limited, "not_yet", "Too many codes were requested.", later},
    {auth_wrong_password, "password_just_changed", "It was changed a moment ago."},
    {auth_email_unverified, "address_not_verified", verify_first},
    {auth_fresh_login_required, "code_not_mailed", "Confirm with a mailed code: POST /v1/auth/email/otp/send, then POST /v1/auth/confirm with otp."},
    {auth_fresh_login_required, "proved_long_ago", "Prove that it is you with POST /v1/auth/confirm."},
    {auth_factor_required, "factor_proves", "Prove that it is you by the second factor: POST /v1/auth/confirm.", {.status = 422}},
    {auth_factor_invalid, "challenge_over", "The challenge has expired or was used. POST /v1/me/factors/passkeys:begin gives another one."},
    {auth_factor_setup_required, "factor_missing", "Add one: POST /v1/me/factors/totp."},
    {ip_blocked, "ip_rules_deny", "The IP rules of the organization refuse this address."},
    {policy_denied, "budget_of_another", "The budget bounds somebody else; org.manage reads all."},
    {policy_denied, "budget_of_platform", "A platform administrator set the budget; only they change it."},
    {policy_denied, "file_of_another", "Only the creator of a file may read it."},
    {policy_denied, "only_creator_answers", "Only the creator of a run may answer it."},
    {policy_denied, "only_server_answers", "Only the tool's own server may answer this call."},
    {policy_denied, "only_webhook_answers", "Only the tool's own server may answer this call, with its result_token."},
    {policy_denied, "run_of_another", "The run belongs to another user of the organization."},
    {policy_denied, "thread_of_another", "Only the creator of a thread may read and write it."},
    {limits_reached, "all_used", "{key} is {limit}; {used} are used."},
    {limits_reached, "factors_are_enough", "An account has at most {limit} second factors. Remove one first."},
    {limits_reached, "uploads_of_day", "limit.upload_bytes_per_day is {limit}. It starts again at midnight (UTC)."},
    {limits_reached, "identities_are_enough", "An account has at most {limit} linked identities. Remove one first."},
    {limits_reached, "identity_providers_are_enough", "There are at most {limit} identity providers. Remove one first."},
    {limits_reached, "old_secrets_sign", "{used} old secrets still sign, which is the maximum. Rotate again after {next_end}, when the first of them ends."},
    {users_not_found, "user_deleted", "The user is deleted."},
    {users_last_admin, "nobody_else", "Make another user an administrator first: hostlerctl admin promote."},
    {users_self, "deletes_self", "To delete your own account use DELETE /v1/me."},
    {users_self, "suspends_self", "Only another administrator may suspend you."},
    {orgs_not_found, "key_of_another_org", "The key belongs to another organization."},
    {orgs_not_found, "named_twice", "This is the slug of {of_slug}, and a login whose own organization is {of_login}. Name one of these ids."},
    {orgs_not_found, "no_such_org", "There is no organization with this org_id."},
    {orgs_not_found, "org_is_deleted",
     "It is deleted, and will be erased at {erase_at}. Until then an owner may restore it: POST /v1/orgs/{{org_id}}:restore."},
    {orgs_not_found, "not_a_member", "You belong to no organization with this id."},
    {orgs_last_owner, "nobody_else", "Make another member an owner first."},
    {orgs_last_owner, "user_owns_alone", "Give the organization {slug} another owner first."},
    {orgs_personal, "ends_with_its_user", "A personal organization ends with its user. To delete it use DELETE /v1/me."},
    {orgs_personal, "slug_is_fixed", "The slug of a personal organization is its id. POST /v1/orgs creates a workspace with a slug of your choice."},
    {orgs_personal, "takes_no_members", "POST /v1/orgs creates a workspace, which takes members."},
    {members_not_found, "user_not_in_org", "GET /v1/orgs/{org_id}/members lists the members."},
    {factors_not_found, "none_yet", "The account has no second factor. Add one: POST /v1/me/factors/totp."},
    {factors_not_found, "nothing_waits", "No secret of this id waits for its first code. POST /v1/me/factors/totp makes a new one."},
    {exports_not_ready, "failed", "The export failed. GET /v1/exports/{{export_id}} shows why. Start another one."},
    {exports_not_ready, "still_running", "The export is still running. GET /v1/exports/{{export_id}} shows when its state is ready."},
    {invitations_expired, "invitation_too_old", "Ask for another one."},
    {invitations_email_mismatch, "address_not_verified", verify_first},
    {invitations_email_mismatch, "address_of_another", "Log in as the user who has that address."},
    {invitations_exists, "invitation_is_open", "To send another one, DELETE it first."},
    {invitations_rate_limited, "not_yet", "", later},
    {invitations_rate_limited, "recipient_has_enough", "", {.retry_after = "86400"}},
    {invite_codes_not_found, "user_has_none", "Create one with POST /v1/me/invite-code/reset."},
    {invite_codes_reset_cooldown, "not_yet", "", later},
    {api_keys_not_found, "in_another_org", elsewhere},
    {api_keys_scope_forbidden, "beyond_maker", "You do not have {permission} yourself in this organization.", {.shown = "permission"}},
    {email_token_invalid, "revert_link_dead", "The link works once. If it has expired, ask an administrator."},
    {email_token_invalid, "verification_link_dead", "Request another mail with POST /v1/auth/email/verify/send."},
    {email_rate_limited, "not_yet", "", later},
    {threads_not_found, "conversation_unknown", "The conversation does not exist.", {.field = "conversation", .fault = "unknown"}},
    {threads_not_found, "in_another_org", elsewhere},
    {runs_not_found, "in_another_org", elsewhere},
    {runs_not_found, "previous_response_unknown", "The response does not exist.", {.field = "previous_response_id", .fault = "unknown"}},
    {runs_unknown_route, "route_unknown", "GET /v1/models lists the routes."},
    {runs_unknown_persona, "persona_unknown", "GET /v1/personas lists the personas."},
    {runs_no_model, "none_configured", "An administrator adds one with POST /v1/llm-providers."},
    {runs_persona_route, "route_of_org", "Name a route of the platform, or another persona."},
    {runs_input_unsupported, "model_lacks_images",
     "The model {model} takes no images, and the message {message_id} contains {name} ({file_id}). Name a route whose input_types contain image."},
    {runs_input_unsupported, "model_lacks_image",
     "The model {model} takes no images, and the request contains {name} ({file_id}). Name a route whose input_types contain image."},
    {runs_no_messages, "thread_is_empty", "Post a message first with POST /v1/threads/{thread_id}/messages."},
    {runs_thread_busy, "conversation_is_active",
     "The run {active_run_id} of the conversation has not ended. Wait for it, or cancel it.", {.shown = "active_run_id"}},
    {runs_thread_busy, "run_is_active", "Wait for it, cancel it, or set multitask_strategy to enqueue or interrupt.", {.shown = "active_run_id"}},
    {runs_limit_exceeded, "queue_is_full", "At most {count_max} runs of an organization may be queued.", {.retry_after = "5"}},
    {runs_limit_exceeded, "runs_of_user", "At most {count_max} of your runs may be active, in all organizations.", {.retry_after = "5"}},
    {runs_limit_exceeded, "too_many_active", "At most {count_max} runs of an organization may be active.", {.retry_after = "5"}},
    {runs_limit_exceeded, "too_many_waiting", "At most {count_max} runs of an organization may wait for results of tools.", {.retry_after = "5"}},
    {runs_not_waiting, "chat_is_idle", "No run of this chat waits for an answer."},
    {runs_not_waiting, "interrupt_is_over", "No run of the thread waits for an answer to this interrupt."},
    {runs_not_waiting, "no_results_awaited", "No run of the thread waits for results of its client."},
    {runs_not_waiting, "request_is_over", "The run does not wait for an answer to the request {request_id}."},
    {runs_not_waiting, "run_has_status", "The run is {status}."},
    {runs_not_waiting, "waits_for_no_results", "It does not wait for results of tools. Answer its question with POST /v1/runs/{{run_id}}/input."},
    {runs_other_answer, "waits_elsewhere", "Answer it with POST /v1/runs/{run_id}/input, or as its event describes."},
    {runs_other_answer, "waits_for_approval", "The run waits for the approval {approval_id} of the call {tool_call_id}."},
    {runs_other_answer, "waits_for_output", "The run waits for the output of the call {tool_call_id}."},
    {runs_other_answer, "waits_for_servers", "The run has all results of its client and waits only for the servers of its tools."},
    {runs_other_answer, "waits_for_budget", "It continues when the budget {name} is raised, removed or renewed."},
    {runs_other_answer, "waits_for_connection", "It continues when you connect with the MCP server {server}."},
    {runs_other_answer, "waits_for_results", "Answer it with POST /v1/runs/{{run_id}}/tool-results."},
    {runs_tool_result_exists, "call_has_result", "The call {tool_call_id} was already answered."},
    {runs_nothing_to_retry, "chat_has_no_run", "This chat has no message."},
    {runs_nothing_to_retry, "thread_has_no_run", "Start the first run with POST /v1/threads/{thread_id}/runs."},
    {tools_name_taken, "tool_of_persona", "{name} is a tool of the run's persona."},
    {tools_not_found, "in_another_org", elsewhere},
    {tools_exists, "name_in_scope", "{name} is taken. Change that tool, or choose another name."},
    {mcp_servers_not_found, "in_another_org", elsewhere},
    {mcp_servers_not_connectable, "not_discovered", "Its authorization server is not known yet. Refresh the server, read its listing, then try again."},
    {mcp_servers_not_connectable, "takes_no_oauth", "Its authorization is not oauth."},
    {mcp_servers_exists, "key_in_scope", "{key} is taken. Change that server, or choose another key."},
    {mcp_servers_inactive, "not_listed", "Set is_active to true first."},
    {mcp_servers_tool_changed, "other_hash", "{tool} has changed meanwhile. Look at it again, and approve its new hash."},
    {mcp_servers_tool_gone, "not_listed_now", "{tool} can be approved after the server lists it again."},
    {streams_limit_exceeded, "streams_of_network", "A network may have {count_max} open streams. Close one first.", {.retry_after = "5"}},
    {streams_limit_exceeded, "streams_of_org", "An organization may have {count_max} open streams. Close one first.", {.retry_after = "5"}},
    {streams_limit_exceeded, "streams_of_user", "A user may have {count_max} open streams. Close one first.", {.retry_after = "5"}},
    {credits_insufficient, "below_zero", "The balance is {balance}.", {.status = 409}},
    {credits_insufficient, "run_not_covered", "A run reserves {hold} credits, but {available} are available."},
    {llm_providers_not_found, "in_another_org", elsewhere},
    {personas_not_found, "in_another_org", elsewhere},
    {personas_exists, "version_taken", "Give {persona_key} another version than {version}, or change the existing one."},
    {personas_built_in, "default_stays_active", "It must stay active, because it is the persona of runs that name none."},
    {personas_built_in, "stays", "To change it for everybody use PATCH."},
    {tool_providers_not_found, "group_or_provider_unknown", "GET /v1/tool-providers lists the groups and providers."},
    {feature_flags_not_found, "flag_unknown", "GET /v1/feature-flags lists the flags."},
    {feature_flags_not_found, "no_override", "The flag has no override for this organization."},
    {plans_not_found, "plan_unknown", "GET /v1/plans lists the plans."},
    {subscriptions_not_found, "in_another_org", elsewhere},
    {subscriptions_active_exists, "one_is_active", "Cancel it first with DELETE /v1/subscriptions/{{id}}."},
    {subscriptions_not_active, "subscription_has_status", "The subscription is {status}."},
    {redemption_codes_inactive, "override_holds", "An administrator has set {key} for the organization, and codes do not change that. The code stays valid."},
    {ip_rules_not_found, "in_another_org", elsewhere},
    {ip_rules_exists, "network_listed", "The {type} already has {cidr}."},
    {ip_rules_would_lock_out, "address_left_out",
     "Your address {address} would be refused. To add the rule anyway, set force."},
    {webhooks_not_found, "delivery_unknown", "The endpoint has no such delivery."},
    {webhooks_not_found, "in_another_org", elsewhere},
    {budgets_not_found, "in_another_org", elsewhere},
    {files_not_found, "in_another_org", elsewhere},
    {files_not_found, "named_by_input", "the file {file_id} does not exist, or is not yours", {.field = "{field}", .fault = "unknown", .status = 422}},
    {files_not_ready, "still_checking", "GET /v1/files/{{file_id}} shows when its state is ready."},
    {files_refused, "file_was_refused", "The file {file_id} was refused ({refusal}). Upload it again in another form.", {.field = "{field}", .fault = "refused"}},
    {files_refused, "content_was_refused", "The file was refused ({refusal})."},
    {files_too_large, "over_limit", "The file has {bytes} bytes. limit.file_bytes is {limit}."},
    {rate_limit_exceeded, "uploads_at_once", "Two large uploads of yours are under way. Wait for one of them.", {.retry_after = "2"}},
    {auth_sso_required, "session_of_another_way", "Sign in with the provider {provider_key}: POST /v1/auth/sso/start.", {.shown = "provider_key"}},
    {auth_sso_session, "session_is_confined", "Sign in to your account in another way: with your password, or by a mailed code."},
    {identity_domain_not_granted, "domain_of_nobody", "A platform administrator grants {domain} to the organization first: POST /v1/admin/org-domains."},
    {identity_discovery_failed, "issuer_changed", "The issuer changed meanwhile. Send the change again."},
});
// clang-format on
#undef HOW_TO_DECIDE
#undef HOW_TO_FILL_IN

// A pattern piece by piece: what stands in it, and the names of facts.
template <class OnText, class OnFact>
void walk(std::string_view pattern, const OnText& on_text, const OnFact& on_fact) {
  while (!pattern.empty()) {
    size_t length = std::min(pattern.find_first_of("{}"), pattern.size());
    bool is_brace =
        pattern.substr(length).starts_with("{{") || pattern.substr(length).starts_with("}}");
    on_text(pattern.substr(0, length + (is_brace ? 1 : 0)));
    pattern.remove_prefix(std::min(length + (is_brace ? 2 : 1), pattern.size()));
    if (is_brace || pattern.empty()) continue;
    size_t end = std::min(pattern.find('}'), pattern.size());
    on_fact(pattern.substr(0, end));
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
  }
}

// Shows a fact like psql: texts unchanged, nothing for null.
std::string shown_text(const Json& fact) {
  if (fact.is_null()) return {};
  const std::string* text = fact.as_text();
  return text == nullptr ? fact.dump() : *text;
}

// The facts of an error being made; has_all becomes false when a pattern names one that is not
// there.
struct Filler {
  const Json& facts;
  bool has_all = true;

  std::string operator()(std::string_view pattern) {
    std::string filled;
    walk(
        pattern, [&](std::string_view text) { filled += text; },
        [&](std::string_view name) {
          const Json* fact = facts.find(name);
          if (fact == nullptr) has_all = false;
          if (fact != nullptr) filled += shown_text(*fact);
        });
    return filled;
  }
};

const ErrorReason* reason_named(ErrorCode code, std::string_view name) {
  for (const ErrorReason& reason : table) {
    if (reason.code == code && reason.name == name) return &reason;
  }
  return nullptr;
}

Error own_mistake(std::string_view raised, std::string_view what) {
  return Error(internal_error, {}, fmt::format("the database raised {}, {}", raised, what));
}

}  // namespace

std::span<const ErrorReason> error_reasons() { return table; }

std::vector<std::string_view> facts_of(const ErrorReason& reason) {
  std::vector<std::string_view> names;
  const ErrorReason::Further& further = reason.further;
  for (std::string_view pattern : {reason.sentence, further.field, further.retry_after}) {
    walk(
        pattern, [](std::string_view) {}, [&](std::string_view name) { names.push_back(name); });
  }
  if (!further.shown.empty()) names.push_back(further.shown);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Error error_of_reason(std::string_view raised, std::string_view facts_text) {
  size_t end = std::min(raised.find(' '), raised.size());
  std::optional<ErrorCode> code = error_code_named(raised.substr(0, end));
  if (!code) return own_mistake(raised, "which is no code");
  if (end == raised.size()) return Error(*code);
  const ErrorReason* reason = reason_named(*code, raised.substr(end + 1));
  if (reason == nullptr) return own_mistake(raised, "a reason without words");
  const Json facts = parse_json_or_nothing(facts_text).value_or(Json());
  Filler filled{facts};
  const ErrorReason::Further& further = reason->further;
  Error error(*code, filled(reason->sentence));
  error.other_status = further.status;
  std::string wait = filled(further.retry_after);
  std::from_chars(wait.data(), wait.data() + wait.size(), error.retry_after_s);
  if (!further.field.empty()) {
    std::string field = filled(further.field);
    error.faults.push_back({field, std::string(further.fault), error.detail});
    // These sentences speak of a field: the detail names it, as that of Error::validation does.
    if (*code == validation_error) error.detail = field + ": " + error.detail;
  }
  if (!further.shown.empty()) {
    const Json* shown = facts.find(further.shown);
    if (shown == nullptr) filled.has_all = false;
    if (shown != nullptr) error.members.emplace_back(further.shown, shown->dump());
  }
  if (!filled.has_all) return own_mistake(raised, "without a fact that its words need");
  return error;
}

}  // namespace hostler
