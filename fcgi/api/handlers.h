// Every handler of the API, by topic: fcgi/api/<room>/<topic>.cpp defines them, fcgi/route_table.h
// names them.
#pragma once

#include "fcgi/http/handler.h"
#include "fcgi/identity/caller_database.h"

namespace hostler {

// For statements that end runs: notifies daemons of the runs in the column `stopped` of the row.
std::optional<postgres::BoundStatement> runs_that_stopped(const postgres::Result& result);

// health.cpp
Task<Response> show_health(OpenCall& call);
OneStatement show_readiness(const Input& input);
Response render_unavailable(const Error& error);

// openapi.cpp
Task<Response> show_openapi(OpenCall& call);

// auth.cpp
Task<Response> register_account(OpenCall& call);
Task<Response> log_in(OpenCall& call);
OneStatement refresh_session(const Input& input);
OneStatement log_out(const Input& input);
OneStatement check_login(const Input& input);
Task<Response> show_registration_mode(OpenCall& call);
Task<Response> show_captcha_config(OpenCall& call);

// email_verification.cpp
OneStatement send_email_verification(const Input& input);
OneStatement confirm_email(const Input& input);
OneStatement revert_email(const Input& input);
Task<Response> change_email(Call& call);

// login_codes.cpp
Task<Response> send_login_code(OpenCall& call);
Task<Response> verify_login_code(OpenCall& call);

// me.cpp
OneStatement show_me(const Input& input);
OneStatement update_me(const Input& input);

// own_account.cpp
Task<Response> change_password(Call& call);
Task<Response> delete_me(Call& call);
OneStatement list_sessions(const Input& input);
OneStatement revoke_session(const Input& input);
OneStatement show_own_invite_code(const Input& input);
OneStatement reset_own_invite_code(const Input& input);

// session_proof.cpp
Task<Response> prove_session(Call& call);

// factor_login.cpp
Task<Response> answer_factor(OpenCall& call);

// sso.cpp
OneStatement list_sso_providers(const Input& input);
OneStatement start_sso(const Input& input);
Task<Response> return_from_provider(OpenCall& call);
Response render_sso_fault(const Error& error);

// sso_logout.cpp
Task<Response> log_out_by_provider(OpenCall& call);

// own_identities.cpp
OneStatement list_identities(const Input& input);
OneStatement delete_identity(const Input& input);

// scim_tokens.cpp
OneStatement create_scim_token(const Input& input);
OneStatement list_scim_tokens(const Input& input);
OneStatement delete_scim_token(const Input& input);

// scim/users.cpp
OneStatement list_scim_users(const Input& input);
OneStatement show_scim_user(const Input& input);
OneStatement create_scim_user(const Input& input);
OneStatement replace_scim_user(const Input& input);
Task<Response> update_scim_user(Call& call);
OneStatement delete_scim_user(const Input& input);

// scim/groups.cpp
OneStatement list_scim_groups(const Input& input);
OneStatement show_scim_group(const Input& input);
OneStatement create_scim_group(const Input& input);
OneStatement replace_scim_group(const Input& input);
OneStatement update_scim_group(const Input& input);
OneStatement delete_scim_group(const Input& input);

// scim/discovery.cpp
Task<Response> show_scim_config(Call& call);
Task<Response> list_scim_resource_types(Call& call);
Task<Response> list_scim_schemas(Call& call);

// identity_providers.cpp
OneStatement list_identity_providers(const Input& input);
Task<Response> create_identity_provider(Call& call);
Task<Response> update_identity_provider(Call& call);
OneStatement delete_identity_provider(const Input& input);

// org_domains.cpp
OneStatement list_org_domains(const Input& input);
OneStatement grant_org_domain(const Input& input);
OneStatement revoke_org_domain(const Input& input);

// passkeys.cpp
OneStatement begin_passkey(const Input& input);
Task<Response> create_passkey(Call& call);
OneStatement begin_passkey_login(const Input& input);
OneStatement begin_passkey_confirm(const Input& input);
Task<Response> log_in_by_passkey(OpenCall& call);

// own_factors.cpp
OneStatement list_factors(const Input& input);
OneStatement create_totp(const Input& input);
Task<Response> confirm_totp(Call& call);
OneStatement delete_factor(const Input& input);
OneStatement renew_recovery_codes(const Input& input);
OneStatement reset_user_factors(const Input& input);

// exports.cpp
OneStatement export_me(const Input& input);
OneStatement export_org(const Input& input);
OneStatement show_export(const Input& input);
Task<Response> read_export(Call& call);

// org_deletion.cpp
OneStatement delete_org(const Input& input);
OneStatement restore_org(const Input& input);
OneStatement delete_end_user(const Input& input);

// orgs.cpp
OneStatement create_org(const Input& input);
OneStatement list_orgs(const Input& input);
OneStatement show_org(const Input& input);
OneStatement update_org(const Input& input);
OneStatement list_members(const Input& input);
OneStatement update_member(const Input& input);
OneStatement remove_member(const Input& input);

// invitations.cpp
OneStatement create_invitation(const Input& input);
OneStatement list_invitations(const Input& input);
OneStatement revoke_invitation(const Input& input);
OneStatement accept_invitation(const Input& input);

// api_keys.cpp
OneStatement create_api_key(const Input& input);
OneStatement list_api_keys(const Input& input);
OneStatement revoke_api_key(const Input& input);

// audit.cpp
OneStatement list_audit_logs(const Input& input);

// credits.cpp
OneStatement show_own_credits(const Input& input);
OneStatement show_credits(const Input& input);
OneStatement adjust_credits(const Input& input);
OneStatement bulk_adjust_credits(const Input& input);
OneStatement reset_all_credits(const Input& input);

// usage.cpp
OneStatement show_usage(const Input& input);
OneStatement list_usage_daily(const Input& input);
OneStatement list_usage_by_model(const Input& input);
OneStatement list_usage_by_end_user(const Input& input);
OneStatement show_platform_usage(const Input& input);
OneStatement list_platform_usage_daily(const Input& input);
OneStatement list_platform_usage_by_model(const Input& input);

// redemption.cpp
OneStatement create_redemption_codes(const Input& input);
OneStatement list_redemption_codes(const Input& input);
OneStatement update_redemption_code(const Input& input);
Task<Response> redeem_code(Call& call);

// budgets.cpp
OneStatement list_budgets(const Input& input);
OneStatement create_budget(const Input& input);
OneStatement show_budget(const Input& input);
OneStatement update_budget(const Input& input);
OneStatement delete_budget(const Input& input);

// files.cpp
Task<Response> create_file(Call& call);
OneStatement list_files(const Input& input);
OneStatement show_file(const Input& input);
Task<Response> read_file_content(Call& call);
OneStatement delete_file(const Input& input);

// threads.cpp
OneStatement create_thread(const Input& input);
OneStatement list_threads(const Input& input);
OneStatement search_threads(const Input& input);
OneStatement show_thread(const Input& input);
OneStatement update_thread(const Input& input);
OneStatement branch_thread(const Input& input);
OneStatement delete_thread(const Input& input);

// messages.cpp
OneStatement create_message(const Input& input);
OneStatement list_messages(const Input& input);

// run_begin.cpp
OneStatement create_run(const Input& input);
OneStatement begin_run(const Input& input);

// runs.cpp
OneStatement retry_run(const Input& input);
OneStatement list_thread_runs(const Input& input);
OneStatement list_runs(const Input& input);
OneStatement show_run(const Input& input);
OneStatement list_run_turns(const Input& input);
OneStatement show_turn_request(const Input& input);
OneStatement update_run(const Input& input);
OneStatement show_run_to_admin(const Input& input);
OneStatement cancel_run(const Input& input);
OneStatement answer_tool_calls(const Input& input);
OneStatement answer_tool_call_by_token(const Input& input);

// run_input.cpp
Task<Response> answer_run(Call& call);

// streams.cpp
OneStatement served_by_relay(const Input& input);

// llm_providers.cpp
OneStatement list_llm_providers(const Input& input);
Task<Response> create_llm_provider(Call& call);
Task<Response> update_llm_provider(Call& call);
OneStatement delete_llm_provider(const Input& input);

// llm_models.cpp
OneStatement list_llm_models(const Input& input);
OneStatement create_llm_model(const Input& input);
OneStatement update_llm_model(const Input& input);
OneStatement delete_llm_model(const Input& input);
OneStatement list_models(const Input& input);

// llm_model_test.cpp
Task<Response> test_llm_model(Call& call);

// agui/agui_run.cpp
OneStatement run_agui(const Input& input);

// openai/chat_completions.cpp
OneStatement create_chat_completion(const Input& input);

// openai/models.cpp
OneStatement list_openai_models(const Input& input);
OneStatement show_openai_model(const Input& input);

// openai/responses.cpp
OneStatement create_conversation(const Input& input);
OneStatement show_conversation(const Input& input);
OneStatement update_conversation(const Input& input);
OneStatement delete_conversation(const Input& input);
OneStatement create_response(const Input& input);
OneStatement show_response(const Input& input);
OneStatement cancel_response(const Input& input);
OneStatement delete_response(const Input& input);
OneStatement list_response_items(const Input& input);

// ui/chat.cpp
OneStatement post_ui_chat(const Input& input);
OneStatement stream_ui_chat(const Input& input);
OneStatement stop_ui_chat(const Input& input);

// ui/chat_messages.cpp
OneStatement list_ui_chat_messages(const Input& input);

// personas.cpp
OneStatement list_personas(const Input& input);
OneStatement create_persona(const Input& input);
OneStatement update_persona(const Input& input);
OneStatement delete_persona(const Input& input);

// tools.cpp
OneStatement list_tools(const Input& input);
Task<Response> create_tool(Call& call);
Task<Response> update_tool(Call& call);
OneStatement delete_tool(const Input& input);
Task<Response> rotate_tool_secret(Call& call);

// mcp_servers.cpp
OneStatement list_mcp_servers(const Input& input);
Task<Response> create_mcp_server(Call& call);
OneStatement show_mcp_server(const Input& input);
Task<Response> update_mcp_server(Call& call);
OneStatement delete_mcp_server(const Input& input);
OneStatement refresh_mcp_server(const Input& input);
OneStatement list_mcp_tools(const Input& input);
OneStatement approve_mcp_tool(const Input& input);

// mcp_connections.cpp
Task<Response> connect_mcp_server(Call& call);
OneStatement disconnect_mcp_server(const Input& input);
OneStatement return_mcp_authorization(const Input& input);
Task<Response> show_mcp_client(OpenCall& call);

// tool_providers.cpp
OneStatement list_tool_providers(const Input& input);
OneStatement list_resolved_tool_providers(const Input& input);
OneStatement activate_tool_provider(const Input& input);
OneStatement deactivate_tool_provider(const Input& input);
Task<Response> set_tool_credential(Call& call);
OneStatement delete_tool_credential(const Input& input);

// webhooks.cpp
Task<Response> create_webhook(Call& call);
OneStatement list_webhooks(const Input& input);
OneStatement show_webhook(const Input& input);
Task<Response> update_webhook(Call& call);
OneStatement delete_webhook(const Input& input);
Task<Response> rotate_webhook_secret(Call& call);
OneStatement list_deliveries(const Input& input);
OneStatement redeliver_webhook(const Input& input);
OneStatement test_webhook(const Input& input);

// feature_flags.cpp
OneStatement create_feature_flag(const Input& input);
OneStatement list_feature_flags(const Input& input);
OneStatement show_feature_flag(const Input& input);
OneStatement update_feature_flag(const Input& input);
OneStatement delete_feature_flag(const Input& input);
OneStatement set_flag_override(const Input& input);
OneStatement list_flag_overrides(const Input& input);
OneStatement delete_flag_override(const Input& input);
OneStatement evaluate_feature_flag(const Input& input);
OneStatement list_own_flags(const Input& input);

// plans.cpp
OneStatement create_plan(const Input& input);
OneStatement update_plan(const Input& input);
OneStatement list_plans(const Input& input);
OneStatement show_plan(const Input& input);
Task<Response> create_subscription(Call& call);
OneStatement list_subscriptions(const Input& input);
OneStatement show_subscription(const Input& input);
OneStatement cancel_subscription(const Input& input);

// entitlements.cpp
OneStatement list_entitlements(const Input& input);
OneStatement set_entitlement_override(const Input& input);
OneStatement list_entitlement_overrides(const Input& input);
OneStatement delete_entitlement_override(const Input& input);

// ip_rules.cpp
OneStatement create_ip_rule(const Input& input);
OneStatement list_ip_rules(const Input& input);
OneStatement check_ip_rules(const Input& input);
OneStatement delete_ip_rule(const Input& input);

// gateway.cpp
OneStatement show_gateway_config(const Input& input);
Task<Response> set_gateway_config(Call& call);

// access_log.cpp
OneStatement list_access_log(const Input& input);

// admin_overview.cpp
OneStatement show_dashboard(const Input& input);
OneStatement list_nodes(const Input& input);

// admin_users.cpp
OneStatement list_users(const Input& input);
OneStatement show_user(const Input& input);
OneStatement update_user(const Input& input);
OneStatement delete_user(const Input& input);

// admin_referrals.cpp
OneStatement list_invite_codes(const Input& input);
OneStatement show_invite_code(const Input& input);
OneStatement update_invite_code(const Input& input);
OneStatement list_referrals(const Input& input);
OneStatement show_referral_tree(const Input& input);

// settings.cpp
OneStatement list_settings(const Input& input);
OneStatement set_setting(const Input& input);
OneStatement unset_setting(const Input& input);

// email_config.cpp
OneStatement show_email_status(const Input& input);
OneStatement show_email_config(const Input& input);
OneStatement set_email_config(const Input& input);
Task<Response> test_email(Call& call);

}  // namespace hostler
