// Every handler of the API, by topic: fcgi/<topic>.cpp defines them, fcgi/route_table.h names them.
#pragma once

#include "fcgi/caller_database.h"
#include "fcgi/handler.h"

namespace hostler {

// For what ends runs: the runs in the column `stopped` of its row, of whom daemons are to hear.
std::optional<BoundStatement> runs_that_stopped(const Result& result);

class Services;

// health.cpp
Task<Response> show_health(Services& services, Request& request);
Task<Response> show_readiness(Services& services, Request& request);
Response render_unavailable(const Error& error);

// openapi.cpp
Task<Response> show_openapi(Services& services, Request& request);

// auth.cpp
Task<Response> show_captcha_config(Services& services, Request& request);
Task<Response> show_registration_mode(Services& services, Request& request);
Task<Response> check_login(Services& services, Request& request);
Task<Response> register_account(Services& services, Request& request);
Task<Response> log_in(Services& services, Request& request);
Task<Response> refresh_session(Services& services, Request& request);
Task<Response> log_out(Services& services, Request& request);

// me.cpp
Task<Response> show_me(Services& services, Request& request);
Task<Response> update_me(Services& services, Request& request);

// email_verification.cpp
Task<Response> send_email_verification(Services& services, Request& request);
Task<Response> confirm_email(Services& services, Request& request);
Task<Response> revert_email(Services& services, Request& request);
Task<Response> change_email(Services& services, Request& request);

// login_codes.cpp
Task<Response> send_login_code(Services& services, Request& request);
Task<Response> verify_login_code(Services& services, Request& request);

// own_account.cpp
Task<Response> change_password(Services& services, Request& request);
Task<Response> delete_me(Services& services, Request& request);
Task<Response> list_sessions(Services& services, Request& request);
Task<Response> revoke_session(Services& services, Request& request);
Task<Response> show_own_invite_code(Services& services, Request& request);
Task<Response> reset_own_invite_code(Services& services, Request& request);
// credits.cpp
Task<Response> show_own_credits(Services& services, Request& request);
Task<Response> show_credits(Services& services, Request& request);
Task<Response> adjust_credits(Services& services, Request& request);
Task<Response> bulk_adjust_credits(Services& services, Request& request);
Task<Response> reset_all_credits(Services& services, Request& request);

// usage.cpp
Task<Response> show_usage(Services& services, Request& request);
Task<Response> list_usage_daily(Services& services, Request& request);
Task<Response> list_usage_by_model(Services& services, Request& request);
Task<Response> show_platform_usage(Services& services, Request& request);
Task<Response> list_platform_usage_daily(Services& services, Request& request);
Task<Response> list_platform_usage_by_model(Services& services, Request& request);

// redemption.cpp
Task<Response> create_redemption_codes(Services& services, Request& request);
Task<Response> list_redemption_codes(Services& services, Request& request);
Task<Response> update_redemption_code(Services& services, Request& request);
Task<Response> redeem_code(Services& services, Request& request);

// threads.cpp
Task<Response> create_thread(Services& services, Request& request);
Task<Response> list_threads(Services& services, Request& request);
Task<Response> show_thread(Services& services, Request& request);
Task<Response> update_thread(Services& services, Request& request);
Task<Response> delete_thread(Services& services, Request& request);
Task<Response> search_threads(Services& services, Request& request);

// messages.cpp
Task<Response> create_message(Services& services, Request& request);
Task<Response> list_messages(Services& services, Request& request);

// runs.cpp
Task<Response> create_run(Services& services, Request& request);
Task<Response> retry_run(Services& services, Request& request);
Task<Response> list_thread_runs(Services& services, Request& request);
Task<Response> list_runs(Services& services, Request& request);
Task<Response> show_run(Services& services, Request& request);
Task<Response> show_run_to_admin(Services& services, Request& request);
Task<Response> cancel_run(Services& services, Request& request);
Task<Response> answer_run(Services& services, Request& request);

// llm_providers.cpp
Task<Response> list_llm_providers(Services& services, Request& request);
Task<Response> create_llm_provider(Services& services, Request& request);
Task<Response> update_llm_provider(Services& services, Request& request);
Task<Response> delete_llm_provider(Services& services, Request& request);

// llm_models.cpp
Task<Response> list_llm_models(Services& services, Request& request);
Task<Response> create_llm_model(Services& services, Request& request);
Task<Response> update_llm_model(Services& services, Request& request);
Task<Response> delete_llm_model(Services& services, Request& request);
Task<Response> list_models(Services& services, Request& request);

// tool_providers.cpp
Task<Response> list_tool_providers(Services& services, Request& request);
Task<Response> activate_tool_provider(Services& services, Request& request);
Task<Response> deactivate_tool_provider(Services& services, Request& request);
Task<Response> set_tool_credential(Services& services, Request& request);
Task<Response> delete_tool_credential(Services& services, Request& request);

// webhooks.cpp
Task<Response> create_webhook(Services& services, Request& request);
Task<Response> list_webhooks(Services& services, Request& request);
Task<Response> show_webhook(Services& services, Request& request);
Task<Response> update_webhook(Services& services, Request& request);
Task<Response> delete_webhook(Services& services, Request& request);
Task<Response> rotate_webhook_secret(Services& services, Request& request);
Task<Response> list_deliveries(Services& services, Request& request);
Task<Response> redeliver_webhook(Services& services, Request& request);
Task<Response> test_webhook(Services& services, Request& request);

// email_config.cpp
Task<Response> show_email_status(Services& services, Request& request);
Task<Response> show_email_config(Services& services, Request& request);
Task<Response> set_email_config(Services& services, Request& request);
Task<Response> test_email(Services& services, Request& request);

// feature_flags.cpp
Task<Response> create_feature_flag(Services& services, Request& request);
Task<Response> list_feature_flags(Services& services, Request& request);
Task<Response> show_feature_flag(Services& services, Request& request);
Task<Response> update_feature_flag(Services& services, Request& request);
Task<Response> delete_feature_flag(Services& services, Request& request);
Task<Response> set_flag_override(Services& services, Request& request);
Task<Response> list_flag_overrides(Services& services, Request& request);
Task<Response> delete_flag_override(Services& services, Request& request);
Task<Response> evaluate_feature_flag(Services& services, Request& request);
Task<Response> list_own_flags(Services& services, Request& request);

// plans.cpp
Task<Response> create_plan(Services& services, Request& request);
Task<Response> list_plans(Services& services, Request& request);
Task<Response> show_plan(Services& services, Request& request);
Task<Response> create_subscription(Services& services, Request& request);
Task<Response> list_subscriptions(Services& services, Request& request);
Task<Response> show_subscription(Services& services, Request& request);
Task<Response> cancel_subscription(Services& services, Request& request);

// entitlements.cpp
Task<Response> list_entitlements(Services& services, Request& request);
Task<Response> set_entitlement_override(Services& services, Request& request);
Task<Response> list_entitlement_overrides(Services& services, Request& request);
Task<Response> delete_entitlement_override(Services& services, Request& request);

// orgs.cpp
Task<Response> create_org(Services& services, Request& request);
Task<Response> list_orgs(Services& services, Request& request);
Task<Response> show_org(Services& services, Request& request);
Task<Response> update_org(Services& services, Request& request);
Task<Response> list_members(Services& services, Request& request);
Task<Response> update_member(Services& services, Request& request);
Task<Response> remove_member(Services& services, Request& request);

// invitations.cpp
Task<Response> create_invitation(Services& services, Request& request);
Task<Response> list_invitations(Services& services, Request& request);
Task<Response> revoke_invitation(Services& services, Request& request);
Task<Response> accept_invitation(Services& services, Request& request);

// api_keys.cpp
Task<Response> create_api_key(Services& services, Request& request);
Task<Response> list_api_keys(Services& services, Request& request);
Task<Response> revoke_api_key(Services& services, Request& request);

// audit.cpp
Task<Response> list_audit_logs(Services& services, Request& request);

// settings.cpp
Task<Response> list_settings(Services& services, Request& request);
Task<Response> set_setting(Services& services, Request& request);
Task<Response> unset_setting(Services& services, Request& request);

// ip_rules.cpp
Task<Response> create_ip_rule(Services& services, Request& request);
Task<Response> list_ip_rules(Services& services, Request& request);
Task<Response> delete_ip_rule(Services& services, Request& request);

// access_log.cpp
Task<Response> list_access_log(Services& services, Request& request);

// gateway.cpp
Task<Response> show_gateway_config(Services& services, Request& request);
Task<Response> set_gateway_config(Services& services, Request& request);

// personas.cpp
Task<Response> list_personas(Services& services, Request& request);
Task<Response> create_persona(Services& services, Request& request);
Task<Response> update_persona(Services& services, Request& request);
Task<Response> delete_persona(Services& services, Request& request);

// streams.cpp
Task<Response> served_by_relay(Services& services, Request& request);

// admin_users.cpp
Task<Response> list_users(Services& services, Request& request);
Task<Response> show_user(Services& services, Request& request);
Task<Response> update_user(Services& services, Request& request);
Task<Response> delete_user(Services& services, Request& request);

// admin_referrals.cpp
Task<Response> list_invite_codes(Services& services, Request& request);
Task<Response> show_invite_code(Services& services, Request& request);
Task<Response> update_invite_code(Services& services, Request& request);
Task<Response> list_referrals(Services& services, Request& request);
Task<Response> show_referral_tree(Services& services, Request& request);

// admin_overview.cpp
Task<Response> show_dashboard(Services& services, Request& request);
Task<Response> list_nodes(Services& services, Request& request);

}  // namespace hostler
