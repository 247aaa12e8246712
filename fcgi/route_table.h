// THE ROUTE TABLE: the whole public API, one row a route. Access is checked before a handler's
// answer leaves; --routes prints it; tests compare it with docs/openapi.yaml and nginx.
// Included by fcgi/routes.cpp alone, which checks at compile time that its rows fit together.
#pragma once

#include <array>
#include <cstdint>

#include "fcgi/api/handlers.h"
#include "fcgi/guards.h"
#include "fcgi/http/route.h"

namespace hostler::route_table {

using enum Method;

constexpr Access open{Access::Audience::open, false, nullptr};
constexpr Access admin{Access::Audience::platform_admin, false, nullptr};
constexpr Access user{Access::Audience::user, false, nullptr};
constexpr Access user_or_key{Access::Audience::user, true, nullptr};
constexpr Access may(const char* permission) {
  return {Access::Audience::permission, false, permission};
}
constexpr Access may_or_key(const char* permission) {
  return {Access::Audience::permission, true, permission};
}
// ?scope=platform, the default, is for platform admins; ?scope=org needs the permission.
constexpr Access scoped(const char* permission) {
  return {Access::Audience::scope, false, permission};
}
// In the organization that the path names.
constexpr Access there(Access access) {
  access.acts_in_path_org = true;
  return access;
}

constexpr int64_t none = 0;
constexpr int64_t mib = body_bytes_limit;

constexpr Rate uncounted = Rate::none;
constexpr Rate by_address = Rate::anonymous;
constexpr Rate by_org = Rate::org;

// A row: method, path, access; sending, body limit, what calls count for, handler, and for a route
// with ids and a body or a query the guard of its ids. Where a literal and a value both fit, the
// literal stands first.
// clang-format off
inline constexpr auto routes = std::to_array<Route>({
    {get,   "/healthz",                       open,
            pipelined, none, uncounted, show_health},
    {get,   "/readyz",                        open,
            probe, none, uncounted, show_readiness, nullptr, render_unavailable},
    {get,   "/v1/openapi.json",               open,
            pipelined, none, by_address, show_openapi},

    {get,   "/v1/auth/captcha-config",        open,
            pipelined, none, by_address, show_captcha_config},
    {get,   "/v1/auth/registration-mode",     open,
            pipelined, none, by_address, show_registration_mode},
    {post,  "/v1/auth/check",                 open,
            dedicated, mib, by_address, check_login},
    {post,  "/v1/auth/register",              open,
            dedicated, mib, by_address, register_account},
    {post,  "/v1/auth/login",                 finds_caller(open),
            dedicated, mib, by_address, log_in},
    {post,  "/v1/auth/refresh",               finds_caller(open),
            dedicated, none, by_address, refresh_session},
    {post,  "/v1/auth/logout",                before_proof(user),
            dedicated, none, by_org, log_out},
    {post,  "/v1/auth/confirm",               user,
            dedicated, mib, by_org, prove_session},
    {post,  "/v1/auth/email/verify/send",     before_proof(user),
            dedicated, none, by_org, send_email_verification},
    {post,  "/v1/auth/email/verify/confirm",  open,
            dedicated, mib, by_address, confirm_email},
    {post,  "/v1/auth/email/revert",          open,
            dedicated, mib, by_address, revert_email},
    {post,  "/v1/auth/email/otp/send",        finds_caller(open),
            dedicated, mib, by_address, send_login_code},
    {post,  "/v1/auth/email/otp/verify",      finds_caller(open),
            dedicated, mib, by_address, verify_login_code},

    {get,   "/v1/me",                         before_proof(user_or_key),
            pipelined, none, by_org, show_me},
    {patch, "/v1/me",                         user,
            dedicated, mib, by_org, update_me},
    {del,   "/v1/me",                         may_end_caller(user),
            dedicated, mib, by_org, delete_me},
    {post,  "/v1/me/password",                user,
            dedicated, mib, by_org, change_password},
    {post,  "/v1/me/email",                   user,
            dedicated, mib, by_org, change_email},
    {get,   "/v1/me/sessions",                user,
            pipelined, none, by_org, list_sessions},
    {del,   "/v1/me/sessions/{session_id}",   user,
            dedicated, none, by_org, revoke_session},
    {get,   "/v1/me/invite-code",             user,
            pipelined, none, by_org, show_own_invite_code},
    {post,  "/v1/me/invite-code/reset",       user,
            idempotent, none, by_org, reset_own_invite_code},

    {get,   "/v1/orgs",                       user,
            dedicated, none, by_org, list_orgs},
    {post,  "/v1/orgs",                       user,
            idempotent, mib, by_org, create_org},
    {get,   "/v1/orgs/{org_id}",              there(user),
            pipelined, none, by_org, show_org},
    {patch, "/v1/orgs/{org_id}",              there(may("org.manage")),
            dedicated, mib, by_org, update_org},
    {get,   "/v1/orgs/{org_id}/members",      there(user),
            dedicated, none, by_org, list_members},
    {patch, "/v1/orgs/{org_id}/members/{user_id}", there(may("org.members.manage")),
            dedicated, mib, by_org, update_member, guard_member},
    {del,   "/v1/orgs/{org_id}/members/{user_id}", may_end_caller(there(user)),
            dedicated, none, by_org, remove_member},
    {get,   "/v1/orgs/{org_id}/invitations",  there(may("org.members.manage")),
            dedicated, none, by_org, list_invitations},
    {post,  "/v1/orgs/{org_id}/invitations",  there(may("org.members.manage")),
            idempotent, mib, by_org, create_invitation},
    {del,   "/v1/orgs/{org_id}/invitations/{invitation_id}", there(may("org.members.manage")),
            dedicated, none, by_org, revoke_invitation},
    {post,  "/v1/org-invitations/{token}/accept", user,
            idempotent, none, by_org, accept_invitation},

    {get,   "/v1/api-keys",                   may("data.api_keys.manage"),
            pipelined, none, by_org, list_api_keys},
    {post,  "/v1/api-keys",                   fresh(may("data.api_keys.manage")),
            idempotent, mib, by_org, create_api_key},
    {del,   "/v1/api-keys/{key_id}",          may("data.api_keys.manage"),
            dedicated, none, by_org, revoke_api_key},

    // org.audit.read in the organization asked for, or platform administrator: audit_org() checks.
    {get,   "/v1/audit-logs",                 user,
            dedicated, none, by_org, list_audit_logs},

    {get,   "/v1/me/credits",                 may_or_key("data.usage.read"),
            pipelined, none, by_org, show_own_credits},
    {get,   "/v1/me/usage",                   may_or_key("data.usage.read"),
            dedicated, none, by_org, show_usage},
    {get,   "/v1/me/usage/daily",             may_or_key("data.usage.read"),
            dedicated, none, by_org, list_usage_daily},
    {get,   "/v1/me/usage/by-model",          may_or_key("data.usage.read"),
            dedicated, none, by_org, list_usage_by_model},
    {get,   "/v1/me/usage/by-end-user",       may_or_key("data.usage.read"),
            dedicated, none, by_org, list_usage_by_end_user},
    {post,  "/v1/me/redeem",                  user,
            idempotent, mib, by_org, redeem_code},
    {get,   "/v1/orgs/{org_id}/usage",        there(may_or_key("data.usage.read")),
            dedicated, none, by_org, show_usage},
    {get,   "/v1/orgs/{org_id}/usage/daily",  there(may_or_key("data.usage.read")),
            dedicated, none, by_org, list_usage_daily},
    {get,   "/v1/orgs/{org_id}/usage/by-model", there(may_or_key("data.usage.read")),
            dedicated, none, by_org, list_usage_by_model},
    {get,   "/v1/orgs/{org_id}/usage/by-end-user", there(may_or_key("data.usage.read")),
            dedicated, none, by_org, list_usage_by_end_user},

    {get,   "/v1/threads",                    may_or_key("data.threads.read"),
            pipelined, none, by_org, list_threads},
    {post,  "/v1/threads",                    may_or_key("data.threads.write"),
            idempotent, mib, by_org, create_thread},
    {get,   "/v1/threads/search",             may_or_key("data.threads.read"),
            dedicated, none, by_org, search_threads},
    {get,   "/v1/threads/{thread_id}",        may_or_key("data.threads.read"),
            pipelined, none, by_org, show_thread, guard_thread},
    {patch, "/v1/threads/{thread_id}",        may_or_key("data.threads.write"),
            dedicated, mib, by_org, update_thread, guard_thread},
    {del,   "/v1/threads/{thread_id}",        may_or_key("data.threads.write"),
            dedicated, none, by_org, delete_thread, guard_thread},
    {get,   "/v1/threads/{thread_id}/messages",  may_or_key("data.threads.read"),
            dedicated, none, by_org, list_messages, guard_thread},
    {post,  "/v1/threads/{thread_id}/messages",  may_or_key("data.threads.write"),
            idempotent, mib, by_org, create_message, guard_thread},
    {get,   "/v1/threads/{thread_id}/runs",   may_or_key("data.runs.read"),
            pipelined, none, by_org, list_thread_runs, guard_thread},
    {post,  "/v1/threads/{thread_id}/runs",   may_or_key("data.runs.write"),
            idempotent, mib, by_org, create_run, guard_thread},
    {post,  "/v1/threads/{thread_id}:retry",  may_or_key("data.runs.write"),
            idempotent, none, by_org, retry_run, guard_thread},

    {get,   "/v1/runs",                       may_or_key("data.runs.read"),
            dedicated, none, by_org, list_runs},
    {get,   "/v1/runs/{run_id}",              may_or_key("data.runs.read"),
            pipelined, none, by_org, show_run, guard_run_read},
    {patch, "/v1/runs/{run_id}",              may_or_key("data.runs.write"),
            dedicated, mib, by_org, update_run, guard_run},
    {post,  "/v1/runs/{run_id}:cancel",       may_or_key("data.runs.write"),
            dedicated, none, by_org, cancel_run},
    {post,  "/v1/runs/{run_id}/input",        may_or_key("data.runs.write"),
            dedicated, mib, by_org, answer_run, guard_run},
    {get,   "/v1/runs/{run_id}/events",       may_or_key("data.runs.read"),
            pipelined, none, uncounted, served_by_relay, guard_run_read},

    {get,   "/v1/llm-providers",              scoped("data.llm_providers.manage"),
            dedicated, none, by_org, list_llm_providers},
    {post,  "/v1/llm-providers",              fresh_for("api_key", scoped("data.llm_providers.manage")),
            idempotent, mib, by_org, create_llm_provider},
    {patch, "/v1/llm-providers/{provider_id}", fresh_for("api_key", scoped("data.llm_providers.manage")),
            dedicated, mib, by_org, update_llm_provider, guard_llm_provider},
    {del,   "/v1/llm-providers/{provider_id}", scoped("data.llm_providers.manage"),
            dedicated, none, by_org, delete_llm_provider},
    {get,   "/v1/llm-providers/{provider_id}/models", scoped("data.llm_providers.manage"),
            dedicated, none, by_org, list_llm_models, guard_llm_provider},
    {post,  "/v1/llm-providers/{provider_id}/models", scoped("data.llm_providers.manage"),
            idempotent, mib, by_org, create_llm_model, guard_llm_provider},
    {patch, "/v1/llm-providers/{provider_id}/models/{model_id}", scoped("data.llm_providers.manage"),
            dedicated, mib, by_org, update_llm_model, guard_llm_model},
    {del,   "/v1/llm-providers/{provider_id}/models/{model_id}", scoped("data.llm_providers.manage"),
            dedicated, none, by_org, delete_llm_model},
    {get,   "/v1/models",                     user_or_key,
            pipelined, none, by_org, list_models},

    {get,   "/v1/personas",                   user_or_key,
            dedicated, none, by_org, list_personas},
    {post,  "/v1/personas",                   scoped("data.personas.manage"),
            idempotent, mib, by_org, create_persona},
    {patch, "/v1/personas/{persona_id}",      scoped("data.personas.manage"),
            dedicated, mib, by_org, update_persona, guard_persona},
    {del,   "/v1/personas/{persona_id}",      scoped("data.personas.manage"),
            dedicated, none, by_org, delete_persona},

    {get,   "/v1/tool-providers",             scoped("data.secrets"),
            dedicated, none, by_org, list_tool_providers},
    {put,   "/v1/tool-providers/{group}/{provider}/activate", scoped("data.secrets"),
            dedicated, none, by_org, activate_tool_provider},
    {put,   "/v1/tool-providers/{group}/{provider}/deactivate", scoped("data.secrets"),
            dedicated, none, by_org, deactivate_tool_provider},
    {put,   "/v1/tool-providers/{group}/{provider}/credential", fresh_for("api_key", scoped("data.secrets")),
            dedicated, mib, by_org, set_tool_credential, guard_tool_provider},
    {del,   "/v1/tool-providers/{group}/{provider}/credential", scoped("data.secrets"),
            dedicated, none, by_org, delete_tool_credential},

    {get,   "/v1/webhook-endpoints",          may("data.webhooks.manage"),
            dedicated, none, by_org, list_webhooks},
    {post,  "/v1/webhook-endpoints",          may("data.webhooks.manage"),
            idempotent, mib, by_org, create_webhook},
    {get,   "/v1/webhook-endpoints/{endpoint_id}", may("data.webhooks.manage"),
            pipelined, none, by_org, show_webhook},
    {patch, "/v1/webhook-endpoints/{endpoint_id}", may("data.webhooks.manage"),
            dedicated, mib, by_org, update_webhook, guard_webhook},
    {del,   "/v1/webhook-endpoints/{endpoint_id}", may("data.webhooks.manage"),
            dedicated, none, by_org, delete_webhook},
    {post,  "/v1/webhook-endpoints/{endpoint_id}/rotate-secret", may("data.webhooks.manage"),
            idempotent, none, by_org, rotate_webhook_secret},
    {get,   "/v1/webhook-endpoints/{endpoint_id}/deliveries", may("data.webhooks.manage"),
            dedicated, none, by_org, list_deliveries, guard_webhook},
    {post,  "/v1/webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}:redeliver", may("data.webhooks.manage"),
            dedicated, none, by_org, redeliver_webhook},
    {post,  "/v1/webhook-endpoints/{endpoint_id}:test", may("data.webhooks.manage"),
            idempotent, none, by_org, test_webhook},

    {get,   "/v1/feature-flags",              admin,
            dedicated, none, by_org, list_feature_flags},
    {post,  "/v1/feature-flags",              admin,
            idempotent, mib, by_org, create_feature_flag},
    {get,   "/v1/feature-flags/{key}",        admin,
            dedicated, none, by_org, show_feature_flag},
    {patch, "/v1/feature-flags/{key}",        admin,
            dedicated, mib, by_org, update_feature_flag, guard_feature_flag},
    {del,   "/v1/feature-flags/{key}",        admin,
            dedicated, none, by_org, delete_feature_flag},
    {get,   "/v1/feature-flags/{key}/org-overrides", admin,
            dedicated, none, by_org, list_flag_overrides, guard_feature_flag},
    {post,  "/v1/feature-flags/{key}/org-overrides", admin,
            idempotent, mib, by_org, set_flag_override, guard_feature_flag},
    {del,   "/v1/feature-flags/{key}/org-overrides/{org_id}", admin,
            dedicated, none, by_org, delete_flag_override},
    {get,   "/v1/feature-flags/{key}/evaluate", admin,
            dedicated, none, by_org, evaluate_feature_flag, guard_feature_flag},
    {get,   "/v1/me/feature-flags",           user_or_key,
            pipelined, none, by_org, list_own_flags},

    {get,   "/v1/plans",                      user,
            dedicated, none, by_org, list_plans},
    {post,  "/v1/plans",                      admin,
            idempotent, mib, by_org, create_plan},
    {get,   "/v1/plans/{plan_id}",            user,
            pipelined, none, by_org, show_plan},
    {get,   "/v1/subscriptions",              may("data.subscriptions.read"),
            dedicated, none, by_org, list_subscriptions},
    {post,  "/v1/subscriptions",              admin,
            idempotent, mib, by_org, create_subscription},
    {get,   "/v1/subscriptions/{subscription_id}", may("data.subscriptions.read"),
            pipelined, none, by_org, show_subscription},
    {del,   "/v1/subscriptions/{subscription_id}", admin,
            dedicated, none, by_org, cancel_subscription},
    {get,   "/v1/entitlements",               user,
            dedicated, none, by_org, list_entitlements},
    {get,   "/v1/entitlement-overrides",      admin,
            dedicated, none, by_org, list_entitlement_overrides},
    {post,  "/v1/entitlement-overrides",      admin,
            idempotent, mib, by_org, set_entitlement_override},
    {del,   "/v1/entitlement-overrides/{override_id}", admin,
            dedicated, none, by_org, delete_entitlement_override, guard_entitlement_override},

    {get,   "/v1/ip-rules",                   may("org.ip_rules.manage"),
            dedicated, none, by_org, list_ip_rules},
    {post,  "/v1/ip-rules",                   may("org.ip_rules.manage"),
            idempotent, mib, by_org, create_ip_rule},
    {del,   "/v1/ip-rules/{rule_id}",         may("org.ip_rules.manage"),
            dedicated, none, by_org, delete_ip_rule, guard_ip_rule},

    {get,   "/v1/admin/gateway-config",       admin,
            pipelined, none, by_org, show_gateway_config},
    {put,   "/v1/admin/gateway-config",       fresh(admin),
            dedicated, mib, by_org, set_gateway_config},
    {get,   "/v1/admin/access-log",           admin,
            dedicated, none, by_org, list_access_log},
    {get,   "/v1/admin/dashboard",            admin,
            dedicated, none, by_org, show_dashboard},
    {get,   "/v1/admin/nodes",                admin,
            pipelined, none, by_org, list_nodes},
    {get,   "/v1/admin/users",                admin,
            dedicated, none, by_org, list_users},
    {get,   "/v1/admin/users/{user_id}",      admin,
            dedicated, none, by_org, show_user},
    {patch, "/v1/admin/users/{user_id}",      fresh_for("status", admin),
            dedicated, mib, by_org, update_user, guard_user},
    {del,   "/v1/admin/users/{user_id}",      fresh(admin),
            dedicated, none, by_org, delete_user},
    {get,   "/v1/admin/invite-codes",         admin,
            dedicated, none, by_org, list_invite_codes},
    {get,   "/v1/admin/invite-codes/{invite_code_id}", admin,
            pipelined, none, by_org, show_invite_code},
    {patch, "/v1/admin/invite-codes/{invite_code_id}", admin,
            dedicated, mib, by_org, update_invite_code, guard_invite_code},
    {get,   "/v1/admin/referrals",            admin,
            dedicated, none, by_org, list_referrals},
    {get,   "/v1/admin/referrals/tree",       admin,
            dedicated, none, by_org, show_referral_tree},
    {get,   "/v1/admin/runs/{run_id}",        admin,
            pipelined, none, by_org, show_run_to_admin},
    {get,   "/v1/admin/credits",              admin,
            dedicated, none, by_org, show_credits},
    {post,  "/v1/admin/credits/adjust",       fresh(admin),
            idempotent, mib, by_org, adjust_credits},
    {post,  "/v1/admin/credits/bulk-adjust",  fresh(admin),
            idempotent, mib, by_org, bulk_adjust_credits},
    {post,  "/v1/admin/credits/reset-all",    fresh(admin),
            idempotent, mib, by_org, reset_all_credits},
    {get,   "/v1/admin/usage/summary",        admin,
            dedicated, none, by_org, show_platform_usage},
    {get,   "/v1/admin/usage/daily",          admin,
            dedicated, none, by_org, list_platform_usage_daily},
    {get,   "/v1/admin/usage/by-model",       admin,
            dedicated, none, by_org, list_platform_usage_by_model},
    {post,  "/v1/admin/redemption-codes/batch", fresh(admin),
            idempotent, mib, by_org, create_redemption_codes},
    {get,   "/v1/admin/redemption-codes",     admin,
            dedicated, none, by_org, list_redemption_codes},
    {patch, "/v1/admin/redemption-codes/{redemption_code_id}", admin,
            dedicated, mib, by_org, update_redemption_code, guard_redemption_code},
    {get,   "/v1/admin/settings",             admin,
            pipelined, none, by_org, list_settings},
    {put,   "/v1/admin/settings/{key}",       fresh(admin),
            dedicated, mib, by_org, set_setting},
    {del,   "/v1/admin/settings/{key}",       fresh(admin),
            dedicated, none, by_org, unset_setting},
    {get,   "/v1/admin/email/status",         admin,
            dedicated, none, by_org, show_email_status},
    {get,   "/v1/admin/email/config",         admin,
            dedicated, none, by_org, show_email_config},
    {put,   "/v1/admin/email/config",         fresh(admin),
            dedicated, mib, by_org, set_email_config},
    {post,  "/v1/admin/email/test",           admin,
            dedicated, mib, by_org, test_email},
});
// clang-format on

struct PathName {
  std::string_view name;
  ErrorCode not_found;
  std::string_view under = "/";  // the beginning of the paths it holds for
};

// What a path value that is no UUID is the absence of. The first row that fits.
inline constexpr std::array path_names{
    PathName{"session_id", ErrorCode::sessions_not_found},
    PathName{"thread_id", ErrorCode::threads_not_found},
    PathName{"run_id", ErrorCode::runs_not_found},
    PathName{"provider_id", ErrorCode::llm_providers_not_found},
    PathName{"model_id", ErrorCode::llm_models_not_found},
    PathName{"persona_id", ErrorCode::personas_not_found},
    PathName{"org_id", ErrorCode::orgs_not_found},
    PathName{"user_id", ErrorCode::members_not_found, "/v1/orgs/"},
    PathName{"invitation_id", ErrorCode::invitations_not_found},
    PathName{"key_id", ErrorCode::api_keys_not_found},
    PathName{"plan_id", ErrorCode::plans_not_found},
    PathName{"subscription_id", ErrorCode::subscriptions_not_found},
    PathName{"endpoint_id", ErrorCode::webhooks_not_found},
    PathName{"delivery_id", ErrorCode::webhooks_not_found},
    PathName{"redemption_code_id", ErrorCode::redemption_codes_not_found},
    PathName{"override_id", ErrorCode::entitlement_overrides_not_found},
    PathName{"user_id", ErrorCode::users_not_found},
    PathName{"invite_code_id", ErrorCode::invite_codes_not_found},
    PathName{"rule_id", ErrorCode::ip_rules_not_found},
};

}  // namespace hostler::route_table
