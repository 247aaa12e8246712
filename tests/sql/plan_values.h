// Parameters with which every statement finds something to do on the database of many_rows.sql. For
// plans_test.cpp and rows_read_test.cpp: a new statement whose parameters have names of their own
// gets a row here.
#pragma once

#include <map>
#include <string>

#include <fmt/format.h>

#include "lib/postgres/session.h"
#include "tests/sql/budget_plan_values.h"
#include "tests/sql/factor_plan_values.h"
#include "tests/sql/file_plan_values.h"
#include "tests/sql/scim_plan_values.h"
#include "tests/sql/sso_plan_values.h"
#include "tests/sql/tool_plan_values.h"

namespace hostler {

struct PlanValues {
  std::string org_id;   // the large organization
  std::string user_id;  // who owns it
  // An SQL expression by parameter name, or by statement and parameter ("run_wait.run_id").
  std::map<std::string, std::string> by_name;
};

inline PlanValues plan_values(postgres::DbSession& session) {
  auto ask = [&session](const std::string& question) {
    return std::string(session.run_text("SELECT " + question).text());
  };
  PlanValues values;
  values.org_id = ask("personal_org_id FROM users WHERE login = 'user1'");
  values.user_id = ask("id FROM users WHERE login = 'user1'");
  const std::string org = "'" + values.org_id + "'";
  const std::string user = "'" + values.user_id + "'";
  std::string thread = ask("quote_literal(id) FROM threads WHERE created_by_user_id = " + user +
                           " AND org_id = " + org + " ORDER BY id LIMIT 1");
  std::string run =
      ask("quote_literal(id) FROM runs WHERE thread_id = " + thread + " ORDER BY id LIMIT 1");
  std::string response =
      ask("quote_literal(id) FROM runs WHERE thread_id = " + thread + " ORDER BY id DESC LIMIT 1");
  std::string waiting_run =
      ask("quote_literal(id) FROM runs WHERE status = 'waiting_for_input' "
          "AND NOT waits_apart(input_request)");
  std::string asking_chat =
      ask("quote_literal(thread_id) FROM runs WHERE waits_apart(input_request)");
  std::string asking_run = ask("quote_literal(id) FROM runs WHERE waits_apart(input_request)");
  std::string owned_run = ask("quote_literal(id) FROM runs WHERE owner_id IS NOT NULL");
  std::string outbox_owner = ask("quote_literal(owner_id) FROM outbox WHERE owner_id IS NOT NULL");
  std::string member = ask("quote_literal(id) FROM users WHERE login = 'user2'");
  const std::string secret =
      "jsonb_build_object('id', uuidv7(), 'key_version', 1, 'wrapped_key', 'eA==', 'sealed', "
      "'eA==')";
  values.by_name = {
      {"org_id", org},
      {"user_id", user},
      {"candidate_id", user},
      {"thread_id", thread},
      {"thread_ids", "ARRAY[" + thread + "]::uuid[]"},
      {"run_id", run},
      {"run_ids", "ARRAY[" + run + "]::uuid[]"},
      {"org_ids", "ARRAY[" + org + "]::uuid[]"},
      {"provider_id", ask("quote_literal(id) FROM llm_providers WHERE org_id = " + org)},
      {"model_id", ask("quote_literal(id) FROM llm_models WHERE org_id = " + org)},
      {"daemon_id", ask("quote_literal(id) FROM daemons")},
      {"token_hash", ask("quote_literal(t.hash) FROM access_tokens t JOIN sessions s ON s.id = "
                         "t.session_id WHERE s.user_id = " +
                         user + " ORDER BY t.expires_at DESC LIMIT 1")},
      {"given_hash", ask("quote_literal(t.hash) FROM refresh_tokens t JOIN sessions s ON s.id = "
                         "t.session_id WHERE s.user_id = " +
                         user + " LIMIT 1")},
      {"given_hashes", ask("quote_literal(t.hash) FROM refresh_tokens t JOIN sessions s ON s.id = "
                           "t.session_id WHERE s.user_id = " +
                           user + " LIMIT 1")},
      {"refresh_hashes", "'x'"},
      {"cookie_hash", "sha256('cookie')"},
      {"secret", secret},
      {"context", "'{\"client_ip\": \"10.0.3.4\"}'"},
      {"settings",
       R"('{"auth.access_token_seconds": 900, "auth.email_token_seconds": 900,
           "auth.forgot_password_seconds": 600,
           "auth.refresh_token_seconds": 900, "auth.registration_mode": "invite_only",
           "credit.initial_grant": 1, "credit.invite_reward": 1, "credit.invitee_reward": 1,
           "invite.default_max_uses": 1, "limit.login_failures_per_ip": 50,
           "limit.login_failures_per_login": 100, "limit.login_failures_per_login_and_ip": 10,
           "limit.login_window_seconds": 600, "limit.registrations_per_network_hour": 10}')"},
      {"auth_access_token_seconds", "900"},
      {"auth_refresh_token_seconds", "900"},
      {"auth_refresh_race_seconds", "10"},
      {"auth_forgot_password_seconds", "600"},
      {"auth_otp_seconds", "600"},
      {"limit_otp_window_seconds", "600"},
      {"limit_otp_sends_per_email", "5"},
      {"limit_otp_sends_per_ip", "20"},
      {"limit_otp_sends_per_email_day", "10"},
      {"limit_otp_guesses", "5"},
      {"limit_otp_failures_per_account_day", "20"},
      {"invite_member_seconds", "60"},
      {"limit_invitations_per_inviter_day", "20"},
      {"limit_invitations_per_recipient_day", "3"},
      {"login", "'user77'"},
      {"register_user.login", "'somebody'"},
      {"registration_begin.login", "'somebody'"},
      {"email", "'somebody@example.net'"},
      {"email_key", "'somebody@example.net'"},
      {"look", R"('{"skeleton": "sornebody", "icu": "72.1"}')"},
      {"invitation_hash", "sha256('invitation')"},
      {"registration", "'open'"},
      {"icu", "'72.1'"},
      {"names", "ARRAY['user77']"},
      {"skeletons", "ARRAY['user77']"},
      {"invite_code", "'USER9'"},
      {"checked_hash", "'x'"},
      {"own_hash", "'x'"},
      {"mail", "jsonb_build_object('token_hash', repeat('a0', 32), 'secret', " + secret + ")"},
      {"limit_verification_mails_per_hour", "100"},
      {"limit_streams", "200"},
      {"subject_id", user},
      {"session_id", ask("quote_literal(id) FROM sessions WHERE user_id = " + user + " LIMIT 1")},
      {"api_key_id", ask("quote_literal(id) FROM api_keys WHERE user_id = " + user + " LIMIT 1")},
      {"login_code_send.email_key", "'user1@example.org'"},
      {"login_code_subject.email_key", "'user1@example.org'"},
      {"login_code_verify.email_key", "'user1@example.org'"},
      {"email_confirm.given_hash",
       ask("quote_literal(hash) FROM email_tokens WHERE user_id = " + user)},
      {"email_revert.given_hash",
       ask("quote_literal(hash) FROM email_reverts WHERE user_id = " + user)},
      {"hmac", "'x'"},
      {"is_right", "true"},
      {"thread_search.query", "'message & title'"},
      {"end_user", "'customer'"},
      // Looks at 10,000 runs when nothing has the member.
      {"run_marked_page.metadata_name", "NULL"},
      {"usage_by_end_user.limit", "50"},
      {"usage_by_end_user.year", "NULL"},
      {"usage_by_end_user.month", "NULL"},
      {"usage_by_end_user.after_cost", "3"},
      {"usage_by_end_user.after_end_user", "'customer 2000'"},
      {"before", "uuidv7()"},
      {"after", "0"},
      {"message_page.after", "NULL"},
      {"secrets_to_rewrap.after_id", "'00000000-0000-0000-0000-000000000000'"},
      {"key_version", "2"},
      {"wrapped", R"('[{"id": "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a", "old_key": "eA==", )"
                  R"("new_key": "eA=="}]')"},
      {"afters", "ARRAY[0]::bigint[]"},
      {"usage_wanted", "ARRAY[true]"},
      {"lost_id", ask("quote_literal(owner_id) FROM runs WHERE owner_id IS NOT NULL")},
      {"heartbeats", "0"},
      {"run_owned.after_id", "'00000000-0000-0000-0000-000000000000'"},
      {"run_claim.after_org_id", "'00000000-0000-0000-0000-000000000000'"},
      {"run_claim.limit", "4"},
      {"run_claim.user_ids", "ARRAY[" + user + "]::uuid[]"},
      {"paid_ids", "ARRAY[" + run + "]::uuid[]"},
      {"ended_ids", "ARRAY[" + run + "]::uuid[]"},
      {"permission", "NULL"},
      {"route_id", "NULL"},
      {"run_create.persona_id", "NULL"},
      {"openai_model_show.persona_id", "'normal@1'"},
      {"limit", "20"},
      {"limit_concurrent_runs", "100"},
      {"limit_concurrent_runs_per_user", "1000000"},
      {"limit_workspaces_per_user", "1000000"},
      {"limit_llm_models", "1000000"},
      {"limit_stored_bytes", "1000000000000"},
      {"limit_personas", "1000000"},
      {"limit_api_keys", "1000000"},
      {"limit_webhook_endpoints", "1000000"},
      {"run_offer_tools.run_id", owned_run},
      {"names", "ARRAY['weather', 'files__*', 'files__read']"},
      {"taken", "ARRAY['traffic']"},
      {"webhook_call_begin.run_id", owned_run},
      {"webhook_call_end.run_id", owned_run},
      {"webhook_call_begin.tool_call_id", "'w1'"},
      {"webhook_call_end.tool_call_id", "'w1'"},
      {"webhook_call_end.result", R"('{"tool_call_id": "w1", "output": 1}')"},
      {"tries_known", "0"},
      {"tries_max", "3"},
      {"is_accepted", "false"},
      {"run_tool_answer_by_token.run_id", asking_run},
      {"run_tool_answer_by_token.tool_call_id", "'w1'"},
      {"run_tool_answer_by_token.result", R"('{"tool_call_id": "w1", "output": 1}')"},
      {"limit_queued_runs", "100"},
      {"limit_waiting_runs", "1000"},
      {"run_create.tools", R"('[{"type": "function", "name": "a"}]')"},
      {"run_tool_answer.run_id", asking_run},
      {"run_tool_answer.results", R"('[{"tool_call_id": "c1", "output": 1}]')"},
      {"run_create.credit_run_hold", "10"},
      {"run_begin.persona_id", "NULL"},
      {"run_begin.tools", R"('[{"type": "function", "name": "a"}]')"},
      {"run_begin.response_format", "NULL"},
      {"run_begin.credit_run_hold", "10"},
      {"thread_begin.persona_id", "NULL"},
      {"thread_begin.tools", R"('[{"type": "function", "name": "a"}]')"},
      {"thread_begin.response_format", "NULL"},
      {"thread_begin.credit_run_hold", "10"},
      {"chat_run_create.persona_id", "NULL"},
      {"chat_run_create.history", R"('[{"role": "user", "content": "hello"}]')"},
      {"chat_run_create.sampling", "NULL"},
      {"chat_run_create.credit_run_hold", "10"},
      {"chat_run_create.response_format", "NULL"},
      {"chat_run_create.tools", R"('[{"type": "function", "name": "a"}]')"},
      {"response_create.persona_id", "NULL"},
      {"response_create.items", R"('[{"role":"user","content":"hello"}]')"},
      {"response_create.words", "ARRAY['hello']"},
      {"response_create.previous_run_id", response},
      {"response_create.thread_id", "NULL"},
      {"response_create.sampling", "NULL"},
      {"response_create.credit_run_hold", "10"},
      {"response_create.response_format", "NULL"},
      {"response_create.tools", R"('[{"type": "function", "name": "a"}]')"},
      {"missing_calls", "ARRAY['left1', 'left2']"},
      {"client_facts", R"('{"model":"normal"}')"},
      {"response_show.run_id", response},
      {"response_cancel.run_id", response},
      {"response_delete.run_id", response},
      {"response_items.run_id", response},
      {"answered_calls", "ARRAY['left1', 'left2', 'unknown']"},
      {"run_create.response_format", "NULL"},
      {"client_id", "'chat'"},
      {"client_chat_input.client_id",
       ask("quote_literal(thread_id::text) FROM runs WHERE id = " + waiting_run)},
      {"client_chat_input.request_id",
       ask("quote_literal(input_request ->> 'request_id') FROM runs WHERE id = " + waiting_run)},
      {"client_chat_results.client_id",
       ask("quote_literal(thread_id::text) FROM runs WHERE id = " + asking_run)},
      {"client_facts", R"('{"runId": "r"}')"},
      {"abandons", "false"},
      {"client_chat_begin.persona_id", "NULL"},
      {"client_chat_begin.message_id", "'msg-1'"},
      {"sends_again", "true"},
      {"test_id", ask("quote_literal(id) FROM model_tests WHERE org_id = " + org)},
      {"client_chat_begin.client_facts", "NULL"},
      {"client_chat_begin.tools", R"('[{"type": "function", "name": "a"}]')"},
      {"client_chat_begin.credit_run_hold", "10"},
      {"client_chat_results.results",
       R"('[{"tool_call_id": "c1", "output": 1}, {"tool_call_id": "c2", "output": 1}]')"},
      {"chat", thread},
      {"ui_chat_answer.chat", asking_chat},
      {"message_id", "NULL"},
      {"approvals", "'[]'"},
      {"ui_chat_answer.results",
       R"('[{"tool_call_id": "c1", "output": 1}, {"tool_call_id": "c2", "output": 1}]')"},
      {"ui_chat_retry.credit_run_hold", "10"},
      {"ui_chat_retry.content", "NULL"},
      {"run_retry.credit_run_hold", "10"},
      {"limit_checks_per_minute", "100"},
      {"limit_redeem_tries_per_minute", "100"},
      {"limit_verification_mails_per_minute", "100"},
      {"strategy", "'reject'"},
      {"status", "NULL"},
      {"code", "NULL"},
      {"message", "NULL"},
      {"error_code", "NULL"},
      {"error_message", "NULL"},
      {"turn", "2"},
      {"tool_calls", "'[]'"},
      {"last_seq", "9"},
      {"request", "'{\"kind\": \"question\", \"turn\": 2, \"tool_call_id\": \"c\"}'"},
      {"run_input.run_id", waiting_run},
      {"run_input.decision", "'approve'"},
      {"run_input.request_id", "NULL"},
      {"run_tool_commit.run_id", owned_run},
      {"run_tool_admit.run_id", owned_run},
      {"run_wait.run_id", owned_run},
      {"runs_commit.run_ids", "ARRAY[" + owned_run + "]::uuid[]"},
      {"runs_commit.turns", "ARRAY[2]::bigint[]"},
      {"runs_commit.statuses", "ARRAY['completed']"},
      {"measured", "ARRAY[true]"},
      {"parts", "ARRAY['[]']"},
      {"incomplete", "ARRAY[false]"},
      {"event_append.run_ids", "ARRAY[" + owned_run + "]::uuid[]"},
      {"server", ask("server_number()")},
      {"event_append.seqs", "ARRAY[99]::bigint[]"},
      {"event_append_again.run_ids", "ARRAY[" + owned_run + "]::uuid[]"},
      {"event_append_again.seqs", "ARRAY[99]::bigint[]"},
      {"event_append.data", "ARRAY['{}']::json[]"},
      {"audit_denials.denials",
       R"('[{"org_id": null, "user_id": null, "api_key_hash": "00", "route": "GET /v1/x", "code": )"
       R"("ip.blocked", "target": "GET /v1/x", "count": 1, "age_ms": 0}]')"},
      {"event_append_again.data", "ARRAY['{}']::json[]"},
      {"llm_provider_create.wanted", R"('{"name": "new", "provider_kind": "openai"}')"},
      {"llm_model_create.wanted",
       R"('{"model": "new", "is_default": true, "context_tokens": 1, "input_usd_per_mtok": 0,
           "output_usd_per_mtok": 0, "cache_read_usd_per_mtok": 0, "cache_write_usd_per_mtok": 0,
           "multiplier": 1}')"},
      {"slug", "'new-team'"},
      {"org_update.changes", R"('{"name": "New"}')"},
      {"member_guard.user_id", member},
      {"member_update.user_id", member},
      {"member_remove.user_id", member},
      {"role", "'admin'"},
      {"invitation_id", ask("quote_literal(id) FROM org_invitations WHERE org_id = " + org +
                            " ORDER BY id LIMIT 1")},
      {"invitation_accept.token_hash",
       ask("quote_literal(token_hash) FROM org_invitations WHERE email = "
           "'user1@example.org'")},
      {"api_key_create.wanted", R"('{"name": "ci", "key_prefix": "hst_", "scopes": []}')"},
      {"key_hash", "sha256('new')"},
      {"key_id", ask("quote_literal(id) FROM api_keys WHERE user_id = " + user + " LIMIT 1")},
      {"action", "'auth.login'"},
      {"actor_user_id", user},
      {"target_type", "'session'"},
      // A page that fills: of a moment alone all that its slack lets in would be looked at.
      {"audit_page.target_id", "NULL"},
      {"audit_page.since", "clock_timestamp() - interval '1 day'"},
      {"audit_page.until", "clock_timestamp()"},
      {"group", "'web_search'"},
      {"tool_provider_switch.provider", "'web_search.alpha'"},
      {"tool_provider_check.provider", "'web_search.alpha'"},
      {"tool_provider_credential_set.provider", "'web_search.alpha'"},
      {"tool_provider_credential_delete.provider", "'web_search.alpha'"},
      {"persona_id", ask("quote_literal(id) FROM personas WHERE persona_key = 'normal'")},
      {"persona_create.wanted",
       R"('{"persona_key": "new", "version": "1", "display_name": "New", "description": "",
           "system_prompt": "", "tools": [], "confirm_tools": [], "is_active": true}')"},
      {"key", "'flag2'"},
      {"plan_id", ask("quote_literal(id) FROM plans WHERE name = 'plan1'")},
      {"plan_create.wanted", R"('{"name": "new", "display_name": "New", "entitlements": []}')"},
      {"subscription_id", ask("quote_literal(id) FROM subscriptions WHERE org_id = " + org)},
      {"subscription_create.org_id",
       ask("quote_literal(personal_org_id) FROM users WHERE login = 'user40'")},
      {"period_end", "clock_timestamp() + interval '1 year'"},
      {"known", "'[]'"},
      {"override_id", ask("quote_literal(id) FROM entitlement_overrides WHERE org_id = " + org)},
      {"redemption_code_page.q", "'user77'"},
      {"redemption_code_id",
       ask("quote_literal(id) FROM redemption_codes WHERE code = 'AAAA-USER7'")},
      {"redemption_redeem.code", "'AAAA-USER1'"},
      {"redemption_code_batch.wanted",
       R"('{"count": 2, "type": "credits", "value": "5", "value_type": "integer",
           "max_uses": 1}')"},
      {"redemption_code_page.type", "NULL"},
      {"redemption_code_page.before", "NULL"},
      {"entitlement_override_set.wanted",
       "json_build_object('org_id', " + org +
           "::text, 'key', 'a.b', 'value', '1', 'value_type', 'integer')"},
      {"endpoint_id",
       ask("quote_literal(id) FROM webhook_endpoints WHERE org_id = " + org + " LIMIT 1")},
      {"delivery_id", ask("quote_literal(id) FROM outbox WHERE org_id = " + org + " LIMIT 1")},
      {"message_id", ask("quote_literal(id) FROM outbox WHERE owner_id IS NOT NULL")},
      {"outbox_delivered.daemon_id", outbox_owner},
      {"outbox_failed.daemon_id", outbox_owner},
      {"endpoint_max", "4"},
      {"others_limit", "6"},
      {"org_max", "16"},
      {"email_config_set.wanted",
       R"('{"from": "a@b", "smtp_host": "h", "smtp_port": 25, "smtp_user": "",
           "smtp_tls_mode": "none"}')"},
      {"feature_flag_create.key", "'flag.new'"},
      {"q", "'3777'"},
      {"invite_code_id", ask("quote_literal(id) FROM invite_codes WHERE user_id = " + user)},
      {"inviter_user_id", user},
      {"nodes_max", "1000"},
      {"admin_user_page.status", "'active'"},
      {"org_name", "'user1'"},
      {"ip_rule_create.type", "'blocklist'"},
      {"cidr", "'192.0.2.0/24'"},
      {"ip_rule_check.address", "'10.0.3.4'"},
      {"tool_provider_resolved.legacy",
       R"('{"web_fetch": {"provider_name": "web_fetch.basic", "configured": true}}')"},
      {"rule_id", ask("quote_literal(id) FROM ip_rules WHERE org_id = " + org + " LIMIT 1")},
      {"addresses", "ARRAY['10.0.3.4']"},
      {"client_ip", "'10.0.3.4'"},
      {"gateway_config_set.wanted", R"('{"gateway.ip_mode": "proxy"}')"},
      {"file", "'host:/log/access-1.json#1'"},
      {"bytes_from", "0"},
      {"entries", "'[]'"},
      {"access_log_retention_days", "30"},
      {"audit_retention_days", "30"},
      {"privacy_org_delete_days", "7"},
      {"org_delete.slug", ask("quote_literal(slug) FROM orgs WHERE id = " + org)},
      {"org_restore.org_id", ask("quote_literal(id) FROM orgs WHERE closed_at IS NOT NULL")},
      {"export_show.export_id", ask("quote_literal(id) FROM exports WHERE user_id = " + user)},
      {"export_content.export_id", ask("quote_literal(id) FROM exports WHERE user_id = " + user)},
      {"export_piece.export_id", ask("quote_literal(id) FROM exports WHERE user_id = " + user)},
      {"privacy_replay.entry",
       R"('{"kind": "user", "subject_id": "01a1fa43-8dcd-7506-ab81-ef7a33b2be1a"}')"},
      {"run_events_retention_days", "30"},
      {"access_log_page.wanted", R"('{"limit": 20, "ip": "192.0.2.7", "method": "GET"}')"},
      {"admin_user_update.changes",
       R"('{"username": "renamed", "email": "a@example.net", "email_key": "a@example.net"}')"},
      {"admin_user_update.user_id", member},
      {"admin_user_delete.user_id", member},
      {"setting_set.key", "'limit.tool_calls'"},
      {"setting_unset.key", "'limit.tool_calls'"},
      {"setting_set.value", "NULL"},
  };
  add_tool_plan_values(values.by_name, ask);
  add_budget_plan_values(values.by_name, ask, org);
  add_file_plan_values(values.by_name, ask, user);
  add_factor_plan_values(values.by_name, ask, user, member);
  add_sso_plan_values(values.by_name, ask, org, user);
  add_scim_plan_values(values.by_name, ask, org);
  return values;
}

}  // namespace hostler
