-- Fills a test database so that a plan that reads a whole table is the wrong one: 4,000 organizations, of which one
-- is large. For plans_test.cpp. The rows are well-formed but do not agree with each other (balances, counts): nothing
-- here may be used to test what a statement answers. rows_read_test.cpp says other numbers for the long form:
-- many_rows.users, many_rows.runs_of_thread (a user has two threads) and many_rows.events_of_run.
SET session_replication_role = replica;  -- no foreign keys, no triggers: speed

INSERT INTO users (id, login, username, email, email_key, email_verified_at, password_hash, personal_org_id)
SELECT uuidv7(), 'user' || n, 'user' || n, 'user' || n || '@example.org', 'user' || n || '@example.org',
       clock_timestamp(), 'x', gen_random_uuid()
FROM generate_series(1, coalesce(nullif(current_setting('many_rows.users', true), ''), '4000')::int) AS n;
INSERT INTO user_names (name_key, user_id, skeleton, icu) SELECT name_key(login), id, login, '72.1' FROM users;
INSERT INTO orgs (id, slug, name, type)
SELECT personal_org_id, personal_org_id::text, login, CASE login WHEN 'user1' THEN 'workspace' ELSE 'personal' END
FROM users;
INSERT INTO org_members (org_id, user_id, role) SELECT personal_org_id, id, 'owner' FROM users;
INSERT INTO org_members (org_id, user_id, role)
SELECT b.personal_org_id, u.id, 'member' FROM users u, (SELECT personal_org_id FROM users WHERE login = 'user1') AS b
WHERE u.login LIKE 'user2%';
INSERT INTO credit_accounts (org_id, balance) SELECT id, 1000000 FROM orgs;
INSERT INTO org_invitations (org_id, email, email_key, role, invited_by_user_id, mail_token_hash, token_hash)
SELECT personal_org_id, 'invited' || n || '@example.net', 'invited' || n || '@example.net', 'member', id,
       sha256(convert_to('mailed' || id || n, 'UTF8')), sha256(convert_to('invite' || id || n, 'UTF8'))
FROM users, generate_series(1, 2) AS n;
-- user1 is invited by user5.
UPDATE org_invitations SET email = 'user1@example.org', email_key = 'user1@example.org'
WHERE org_id = (SELECT personal_org_id FROM users WHERE login = 'user5') AND email = 'invited1@example.net';
INSERT INTO invite_codes (user_id, code, max_uses) SELECT id, upper(login), 1 FROM users;
INSERT INTO referrals (inviter_user_id, invitee_user_id, invite_code_id)
SELECT u.id, v.id, gen_random_uuid() FROM users u
JOIN users v ON replace(v.login, 'user', '')::int = replace(u.login, 'user', '')::int + 1;
INSERT INTO sessions (user_id, begun_by) SELECT id, 'password' FROM users, generate_series(1, 4);
INSERT INTO access_tokens (hash, session_id, expires_at)
SELECT sha256(convert_to('access' || s.id || n, 'UTF8')), s.id, clock_timestamp() + n * interval '1 hour'
FROM sessions s, generate_series(1, 2) AS n;
INSERT INTO refresh_tokens (hash, session_id, expires_at)
SELECT sha256(convert_to('refresh' || s.id, 'UTF8')), s.id, clock_timestamp() + interval '1 day' FROM sessions s;
INSERT INTO login_failures (login_key, client_ip, at)
SELECT 'user' || n % 4000, ('10.0.' || n % 200 || '.' || n % 250)::inet, clock_timestamp() - n * interval '1 second'
FROM generate_series(1, 20000) AS n;
INSERT INTO attempts (kind, subject, at)
SELECT 'check', '10.0.' || n % 200 || '.' || n % 250, clock_timestamp() - n * interval '1 second'
FROM generate_series(1, 20000) AS n;
INSERT INTO email_tokens (hash, user_id, email, email_key, is_change, expires_at)
SELECT sha256(convert_to('email' || id, 'UTF8')), id, 'new-' || email, 'new-' || email, true,
    clock_timestamp() + interval '1 hour'
FROM users;
INSERT INTO email_reverts (hash, user_id, email, email_key, asked_at, expires_at)
SELECT sha256(convert_to('revert' || id, 'UTF8')), id, 'old-' || email, 'old-' || email,
    clock_timestamp() - interval '2 days',
       clock_timestamp() + interval '5 days'
FROM users;
INSERT INTO login_codes (email_key, user_id, hmac, expires_at)
SELECT email, id, 'x', clock_timestamp() + interval '10 minutes' FROM users;
-- Everybody has a factor, but that of user1 waits for its first code.
INSERT INTO factors (user_id, type, name, secret_id, confirmed_at)
SELECT id, 'totp', 'phone', uuidv7(), CASE WHEN login <> 'user1' THEN clock_timestamp() END FROM users;
INSERT INTO secrets (id, kind, key_version, wrapped_key, sealed) SELECT secret_id, 'totp', 1, 'x', 'x' FROM factors;
INSERT INTO factors (user_id, type, name, confirmed_at, credential_id, public_key, algorithm)
SELECT id, 'passkey', 'laptop', clock_timestamp(), convert_to(login, 'UTF8'), 'x', -7 FROM users WHERE login <> 'user1';
INSERT INTO webauthn_challenges (hash, purpose, user_id, session_id, expires_at)
SELECT sha256(convert_to('challenge' || id, 'UTF8')), 'create', id, '01900000-0000-7000-8000-000000000001',
       clock_timestamp() + interval '5 minutes'
FROM users;
INSERT INTO webauthn_challenges (hash, purpose, expires_at)
SELECT sha256(convert_to('login' || id, 'UTF8')), 'login', clock_timestamp() + interval '5 minutes' FROM users;
UPDATE users SET has_factor = true WHERE login <> 'user1';
INSERT INTO recovery_codes (user_id, hash)
SELECT id, sha256(convert_to('recovery' || id || n, 'UTF8')) FROM users, generate_series(1, 3) AS n;
INSERT INTO factor_tokens (hash, user_id, begun_by, client_ip, user_agent, epoch, expires_at)
SELECT sha256(convert_to('factor' || id, 'UTF8')), id, 'password', '10.0.3.4', '', session_epoch,
       clock_timestamp() + interval '1 hour'
FROM users;
-- Each organization has an identity provider and a domain; everybody is linked with their own, and waits to be linked.
INSERT INTO org_domains (org_id, domain) SELECT id, 'd' || row_number() OVER () || '.example' FROM orgs;
INSERT INTO identity_providers (org_id, key, display_name, issuer, client_id, scopes, domains, authorization_endpoint,
    token_endpoint, jwks_uri, tells_issuer, client_method, keys)
SELECT org_id, split_part(domain, '.', 1), 'Provider', 'https://' || domain, 'client', '{openid}', ARRAY[domain],
       'https://' || domain || '/authorize', 'https://' || domain || '/token', 'https://' || domain || '/keys', false,
       'none', '{"keys": []}'
FROM org_domains;
INSERT INTO identities (user_id, provider_id, epoch, sub)
SELECT u.id, p.id, 0, 'sub of ' || u.login FROM users u JOIN identity_providers p ON p.org_id = u.personal_org_id;
INSERT INTO sso_flows (provider_id, epoch, state_hash, cookie_hash, return_to, status, call_id)
SELECT p.id, 0, sha256(convert_to('state' || p.id || n, 'UTF8')), sha256(convert_to('cookie' || p.id || n, 'UTF8')), '/',
       CASE n WHEN 1 THEN 'begun' ELSE 'returned' END, '01900000-0000-7000-8000-000000000002'
FROM identity_providers p, generate_series(1, 2) AS n;
INSERT INTO sso_calls (kind, holder, provider_id, claim_until, claimed_at, result)
SELECT 'logout', p.org_id, p.id, clock_timestamp() + interval '1 hour', CASE WHEN n > 1 THEN clock_timestamp() END,
       CASE WHEN n > 1 THEN json_build_object('claims', json_build_object('sub', 'nobody', 'jti', 'new', 'iat', 1)) END
FROM identity_providers p, generate_series(1, 2) AS n;
INSERT INTO sso_logouts (provider_id, jti) SELECT p.id, 'jti ' || n FROM identity_providers p, generate_series(1, 2) AS n;
INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash)
SELECT personal_org_id, id, 'key', 'hst_', sha256(convert_to('key' || id || n, 'UTF8'))
FROM users, generate_series(1, 3) AS n;
INSERT INTO audit_logs (id, org_id, actor_user_id, action, target_type, target_id)
SELECT uuidv7(), personal_org_id, id, 'auth.login', 'session', 'x' FROM users, generate_series(1, 8);
INSERT INTO credit_transactions (id, org_id, number, amount, balance_after, type)
SELECT uuidv7(), personal_org_id, n, 1, 1, 'consumption' FROM users, generate_series(1, 8) AS n;
UPDATE credit_accounts SET entries = 8;

-- Half of all threads and runs belong to the large organization.
INSERT INTO threads (id, org_id, created_by_user_id, title, end_user)
SELECT uuidv7(), CASE WHEN n = 1 THEN b.personal_org_id ELSE u.personal_org_id END, u.id,
       'title of ' || u.login || ' ' || n, CASE n WHEN 1 THEN 'customer' END
FROM users u, generate_series(1, 2) AS n, (SELECT personal_org_id FROM users WHERE login = 'user1') AS b;
-- One more of user1: in two of them a run waits.
INSERT INTO threads (id, org_id, created_by_user_id, title)
SELECT uuidv7(), u.personal_org_id, u.id, 'title of user1 3' FROM users u WHERE u.login = 'user1';
INSERT INTO messages (id, org_id, thread_id, created_by_user_id, role, content, search, client_id)
SELECT uuidv7(), t.org_id, t.id, t.created_by_user_id, 'user', 'message ' || n || ' about ' || t.title,
    words_vector('message ' || n || ' about ' || t.title), 'msg-' || n
FROM threads t, generate_series(1, 4) AS n;
INSERT INTO llm_providers (id, org_id, name, provider_kind)
SELECT uuidv7(), id, 'own', 'openai' FROM orgs;
INSERT INTO llm_models (id, org_id, provider_id, model, is_default)
SELECT uuidv7(), org_id, id, 'model', true FROM llm_providers;
INSERT INTO model_tests (org_id, model_id, created_by, claim_until, claimed_at)
SELECT m.org_id, m.id, uuidv7(), clock_timestamp() + interval '1 hour', CASE WHEN n > 1 THEN clock_timestamp() END
FROM llm_models m, generate_series(1, 3) AS n;
INSERT INTO runs (id, org_id, thread_id, created_by_user_id, status, source, trace_id, persona_id, persona_row_id,
                  model_id, model, provider_kind, credential_name, last_seq, ended_at, end_user)
SELECT uuidv7(), t.org_id, t.id, t.created_by_user_id, 'completed', 'api', 'x', 'normal@1', p.id, m.id, 'model',
       'openai', 'own', 3, clock_timestamp(), t.end_user
FROM threads t,
     generate_series(1, coalesce(nullif(current_setting('many_rows.runs_of_thread', true), ''), '3')::int) AS n,
     (SELECT id FROM personas WHERE persona_key = 'normal') AS p,
     (SELECT id FROM llm_models LIMIT 1) AS m;
-- The last of each thread in the form of a response.
UPDATE runs r SET source = 'openai', client_facts = '{"instructions":"Be brief."}'
WHERE r.id = (SELECT max(q.id::text)::uuid FROM runs q WHERE q.thread_id = r.thread_id);
INSERT INTO run_events (run_id, seq, type, data)
SELECT r.id, n, 'message.delta', '{"content": "x"}'
FROM runs r, generate_series(1, coalesce(nullif(current_setting('many_rows.events_of_run', true), ''), '3')::int) AS n;
INSERT INTO run_turns (run_id, org_id, turn, parts, last_seq)
SELECT id, org_id, 1, '[{"type": "text", "text": "text"}]', 3 FROM runs;
INSERT INTO run_tool_results (run_id, org_id, turn, tool_call_id, tool_name, result, last_seq)
SELECT id, org_id, 1, 'call', 'web_search', '{}', 3 FROM runs;
INSERT INTO run_asked_calls (run_id, org_id, tool_call_id, turn, tool_name, answered_by)
SELECT id, org_id, 'c' || n, 2, 'lookup', 'client' FROM runs, generate_series(1, 2) AS n;
INSERT INTO run_asked_calls (run_id, org_id, tool_call_id, turn, tool_name, answered_by, tries)
SELECT id, org_id, 'w1', 2, 'weather', 'webhook', 1 FROM runs;
INSERT INTO run_histories (run_id, org_id, messages, keeps, continues)
SELECT id, org_id, '[{"role":"user","content":"hello"}]', right(id::text, 1) <> '0', source = 'openai' FROM runs;
INSERT INTO run_left_calls (run_id, tool_call_id, org_id, created_by_user_id)
SELECT id, 'left' || n, org_id, created_by_user_id FROM runs, generate_series(1, 2) AS n;
INSERT INTO run_inputs (run_id, request_id, org_id, turn, tool_call_id, kind, content)
SELECT id, gen_random_uuid(), org_id, 1, 'call', 'question', 'yes' FROM runs;
INSERT INTO usage_records (id, org_id, run_id, turn, user_id, model, input_tokens, output_tokens, cache_read_tokens,
                           cache_write_tokens, cost_nano_usd, measured)
SELECT uuidv7(), org_id, id, 1, created_by_user_id, 'model', 1, 1, 0, 0, 1, true FROM runs;
INSERT INTO usage_of_org (org_id, day, model, input_tokens, output_tokens, cost_nano_usd, record_count)
SELECT personal_org_id, current_date - n, 'model', 1, 1, 1, 1 FROM users, generate_series(1, 5) AS n;
INSERT INTO usage_of_end_user (org_id, month, end_user, cost_nano_usd, record_count)
SELECT u.personal_org_id, utc_month(clock_timestamp()), 'customer ' || n, n % 7, 1
FROM users u, generate_series(1, CASE u.login WHEN 'user1' THEN 4000 ELSE 1 END) AS n;
INSERT INTO usage_of_platform (day, model, daemon_id, input_tokens, output_tokens, cost_nano_usd, record_count)
SELECT current_date - n, 'model', gen_random_uuid(), 1, 1, 1, 1 FROM generate_series(1, 4000) AS n;
INSERT INTO redemption_codes (id, code, type, value, value_type, max_uses, batch_id, created_by_user_id)
SELECT uuidv7(), 'AAAA-' || upper(login), 'credits', '1', 'integer', 1, 'batch' || login, id FROM users;
INSERT INTO redemptions (code_id, user_id, org_id)
SELECT c.id, u.id, u.personal_org_id FROM redemption_codes c JOIN users u ON u.id = c.created_by_user_id
WHERE u.login <> 'user1';
INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed)
SELECT uuidv7(), id, 'llm_provider', 1, 'x', 'x' FROM orgs;
UPDATE llm_providers p SET secret_id = s.id FROM secrets s WHERE s.org_id = p.org_id;
INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed)
SELECT uuidv7(), id, 'tool_provider', 1, 'x', 'x' FROM orgs;
INSERT INTO tool_providers (org_id, group_name, provider_name, secret_id, key_prefix)
SELECT org_id, 'web_search', 'web_search.alpha', id, '****' FROM secrets WHERE kind = 'tool_provider';
INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed)
SELECT uuidv7(), id, 'idempotency', 1, 'x', 'x' FROM orgs, generate_series(1, 3);
INSERT INTO idempotency_records (slot, org_id, body_hash, secret_id, created_at)
SELECT sha256(convert_to(id::text, 'UTF8')), org_id, sha256(''), id,
       clock_timestamp() - row_number() OVER () * interval '10 seconds'
FROM secrets WHERE kind = 'idempotency';

-- Half of the organizations have rules, the large one ten thousand.
INSERT INTO budgets (org_id, name, subject_type, subject_id, unit, amount, period, time_zone, on_exhausted,
                     is_of_platform, deleted_at)
SELECT personal_org_id, 'b', k.subject_type, k.subject_id, 'credits', 1000000000, 'month', 'UTC', 'wait', false,
    k.deleted_at
FROM users CROSS JOIN LATERAL (
    VALUES ('org', personal_org_id::text, NULL::timestamptz), ('end_user', '*', NULL),
           ('end_user', 'gone', CASE WHEN login LIKE 'user3%' THEN clock_timestamp() END))
    AS k (subject_type, subject_id, deleted_at);
INSERT INTO budgets (org_id, name, subject_type, subject_id, unit, amount, period, time_zone, on_exhausted,
                     is_of_platform)
SELECT personal_org_id, 'b', 'end_user', 'eu' || n, 'usd', 1000, 'day', 'Europe/Berlin', 'fail', false
FROM users, generate_series(1, 900) AS n WHERE login = 'user1';
UPDATE credit_accounts a SET budgets = (SELECT count(*) FROM budgets b
                                        WHERE b.org_id = a.org_id AND b.deleted_at IS NULL);
INSERT INTO budget_windows (budget_id, end_user, begins_at, org_id, renews_at, spent)
SELECT b.id, CASE WHEN b.subject_id = '*' THEN 'eu' || n ELSE '' END, clock_timestamp() - n * interval '30 days',
    b.org_id, clock_timestamp() - (n - 1) * interval '30 days', n
FROM budgets b, generate_series(1, 4) AS n;
INSERT INTO budget_alerts (budget_id, end_user, begins_at, percent, org_id, done_at)
SELECT w.budget_id, w.end_user, w.begins_at, 50, w.org_id, clock_timestamp() FROM budget_windows w;
INSERT INTO turn_holds (run_id, org_id, epoch, credits, budget_ids, end_users, begin_times, amounts)
SELECT uuidv7(), personal_org_id, 1, 1, '{}', '{}', '{}', '{}' FROM users;
INSERT INTO ip_rules (org_id, type, cidr)
SELECT id, 'blocklist', '192.0.2.1/32' FROM orgs WHERE name LIKE '%2';
INSERT INTO ip_rules (org_id, type, cidr)
SELECT personal_org_id, 'blocklist', set_masklen(('172.' || n / 250 || '.' || n % 250 || '.0')::inet, 24)::cidr
FROM users, generate_series(0, 9999) AS n WHERE login = 'user1';
UPDATE orgs o SET ip_rule_count = (SELECT count(*) FROM ip_rules r WHERE r.org_id = o.id)
WHERE EXISTS (SELECT FROM ip_rules r WHERE r.org_id = o.id);
INSERT INTO access_log (id, at, trace_id, method, path, status_code, duration_ms, client_ip, country, city, user_agent,
                        ua_type, risk_score, identity_type)
SELECT uuidv7_at((extract(epoch FROM clock_timestamp()) * 1000000)::bigint + n), clock_timestamp(), 'x', 'GET', '/v1',
       200, 1, ('10.0.' || n % 200 || '.' || n % 250)::inet, '', '', 'x', 'tool', 0, 'anonymous'
FROM generate_series(1, 20000) AS n;
INSERT INTO access_log_files (file, bytes_read) SELECT 'host:/log/access-' || n || '.json#' || n, n
FROM generate_series(1, 4000) AS n;

INSERT INTO feature_flags (key, default_value) SELECT 'flag' || n, true FROM generate_series(1, 30) AS n;
INSERT INTO feature_flag_overrides (flag_id, org_id, enabled)
SELECT f.id, u.personal_org_id, false FROM users u
JOIN feature_flags f ON f.key = 'flag' || replace(u.login, 'user', '')::int % 30 + 1;
INSERT INTO plans (name, display_name) SELECT 'plan' || n, 'Plan' FROM generate_series(1, 5) AS n;
INSERT INTO plan_entitlements (plan_id, key, value, value_type)
SELECT id, 'credits.monthly_grant', '1', 'integer' FROM plans;
-- All organizations but one have one.
INSERT INTO subscriptions (org_id, plan_id, current_period_start, current_period_end, months_granted, next_grant_at)
SELECT u.personal_org_id, p.id, clock_timestamp() - interval '1 day', clock_timestamp() + interval '1 year', 1,
       clock_timestamp() + CASE WHEN u.login LIKE 'user3_' THEN interval '-1 hour' ELSE interval '30 days' END
FROM users u, plans p WHERE p.name = 'plan1' AND u.login <> 'user40';
INSERT INTO subscription_grants (subscription_id, org_id, due_at, amount)
SELECT id, org_id, current_period_start, 1 FROM subscriptions;
INSERT INTO entitlement_overrides (org_id, key, value, value_type, created_by_user_id)
SELECT personal_org_id, 'limit.concurrent_runs', '5', 'integer', id FROM users;
INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed)
SELECT uuidv7(), id, 'webhook', 1, 'x', 'x' FROM orgs;
INSERT INTO webhook_endpoints (org_id, url, events, secret_id)
SELECT org_id, 'https://example.org', ARRAY['run.completed'], id FROM secrets WHERE kind = 'webhook';
INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed)
SELECT uuidv7(), id, 'tool', 1, 'x', 'x' FROM orgs;
INSERT INTO tools (org_id, name, description, parameters, url, secret_id)
SELECT org_id, 'weather', 'd', '{"type": "object"}', 'https://example.org', id FROM secrets WHERE kind = 'tool';
INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed)
VALUES (uuidv7(), NULL, 'tool of platform', 1, 'x', 'x');
INSERT INTO tools (org_id, name, description, parameters, url, secret_id)
SELECT NULL, 'weather', 'd', '{}', 'https://example.org', id FROM secrets WHERE kind = 'tool of platform';
INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed)
SELECT uuidv7(), id, 'old tool', 1, 'x', 'x' FROM orgs;
INSERT INTO tool_old_secrets (secret_id, org_id, tool_id, until)
SELECT s.id, s.org_id, t.id, clock_timestamp() + interval '1 hour'
FROM secrets s JOIN tools t ON t.org_id = s.org_id WHERE s.kind = 'old tool';
INSERT INTO mcp_servers (org_id, key, url, authorization_kind, listing_state, listing_due_at)
SELECT id, 'files', 'https://example.org/mcp', 'none', 'ok', clock_timestamp() + interval '1 hour' FROM orgs;
INSERT INTO mcp_servers (key, url, authorization_kind, authorization_settings, listing_id)
VALUES ('files', 'https://example.org/mcp', 'oauth', '{"per": "user"}', uuidv7());
INSERT INTO mcp_tools (server_id, org_id, name, tool_name, definition, hash, state)
SELECT s.id, s.org_id, n.name, 'files__' || n.name, '{"name": "read", "inputSchema": {"type": "object"}}', 'h', n.state
FROM mcp_servers s CROSS JOIN (VALUES ('read', 'approved'), ('write', 'new'), ('drop', 'gone')) AS n (name, state);
INSERT INTO mcp_approvals (tool_id, org_id, hash, definition)
SELECT t.id, t.org_id, t.hash, t.definition FROM mcp_tools t WHERE t.state = 'approved';
INSERT INTO mcp_discoveries (server_id, org_id, url, resource, issuer, authorization_endpoint, token_endpoint,
    tells_issuer, scopes, redirect_uri, client_id, client_method, client_kind)
SELECT id, org_id, url, url, 'i', 'a', 't', true, '{}', 'r', 'c', 'none', 'given' FROM mcp_servers;
INSERT INTO mcp_connections (org_id, server_id, user_id, state, issuer, token_endpoint, resource, client_id,
    client_method, scopes, has_refresh_token, connected_by, refresh_at)
SELECT s.org_id, s.id, u.id, 'connected', 'i', 't', 'r', 'c', 'none', '{}', true, u.id,
    clock_timestamp() + interval '1 hour'
FROM mcp_servers s JOIN users u ON u.personal_org_id = s.org_id;
INSERT INTO mcp_authorizations (org_id, server_id, user_id, session_id, is_of_org, state_hash, status, issuer,
    tells_issuer, token_endpoint, resource, redirect_uri, client_id, client_method, scopes)
SELECT s.org_id, s.id, u.id, uuidv7(), false, sha256(uuid_send(uuidv7())), 'done', 'i', true, 't', 'r', 'r', 'c',
    'none', '{}'
FROM mcp_servers s JOIN users u ON u.personal_org_id = s.org_id, generate_series(1, 2);
INSERT INTO mcp_tasks (run_id, org_id, tool_call_id, server_id, task_id, url, tool, hash, connection_id, is_idempotent,
    due_at)
SELECT r.id, r.org_id, 'w1', s.id, 't', s.url, 'read', 'h', c.id, false, clock_timestamp() + interval '1 hour'
FROM runs r JOIN mcp_servers s ON s.org_id = r.org_id LEFT JOIN mcp_connections c ON c.server_id = s.id;
INSERT INTO tool_call_days (org_id, day, calls) SELECT id, utc_day(clock_timestamp()), 1 FROM orgs;
INSERT INTO webhook_old_secrets (secret_id, org_id, endpoint_id, until)
SELECT uuidv7(), org_id, id, clock_timestamp() + interval '1 hour' FROM webhook_endpoints;
INSERT INTO outbox (org_id, kind, endpoint_id, event_type, body, status, next_attempt_at)
SELECT org_id, 'webhook', id, 'run.completed', '{}', CASE WHEN n = 1 THEN 'pending' ELSE 'delivered' END,
    CASE WHEN n = 1 THEN clock_timestamp() END
FROM webhook_endpoints, generate_series(1, 3) AS n;
UPDATE outbox SET owner_id = gen_random_uuid(), epoch = 1, lease_until = clock_timestamp() + interval '1 minute'
WHERE endpoint_id = (SELECT id FROM webhook_endpoints ORDER BY id LIMIT 1) AND status = 'pending';
INSERT INTO outbox (kind, template, recipient, locale, fields, status, next_attempt_at)
SELECT 'mail', 'verify_email', email, 'en', '{}', 'delivered', NULL FROM users;

-- One run each that can be claimed, that waits for an answer, that waits for results, and that somebody owns: of
-- threads of user1, user2 and user3.
UPDATE runs SET status = 'running', ended_at = NULL
WHERE id = (SELECT min(r.id::text)::uuid FROM runs r
            JOIN users u ON u.id = r.created_by_user_id WHERE u.login = 'user2');
UPDATE runs SET status = 'waiting_for_input', ended_at = NULL, input_deadline = clock_timestamp() - interval '1 s',
    input_request = json_build_object('kind', 'question', 'turn', 2, 'tool_call_id', 'c',
                                      'request_id', gen_random_uuid())
WHERE id = (SELECT max(r.id::text)::uuid FROM runs r
            JOIN users u ON u.id = r.created_by_user_id WHERE u.login = 'user1');
UPDATE runs SET status = 'waiting_for_input', ended_at = NULL, input_deadline = clock_timestamp() + interval '1 day',
    input_request = json_build_object('kind', 'tool_results', 'turn', 2, 'request_id', gen_random_uuid(), 'calls',
        json_build_array(json_build_object('tool_call_id', 'c1'), json_build_object('tool_call_id', 'c2')))
WHERE id = (SELECT max(r.id::text)::uuid FROM runs r
            JOIN users u ON u.id = r.created_by_user_id WHERE u.login = 'user1'
            AND NOT EXISTS (SELECT FROM runs a WHERE a.thread_id = r.thread_id AND a.ended_at IS NULL));
UPDATE threads t SET active_run_id = r.id FROM runs r
WHERE r.thread_id = t.id AND r.status = 'waiting_for_input';
INSERT INTO daemons (host, instance, version) VALUES ('host', 'place', '1');
INSERT INTO full_streams (holder, daemon_id, streams, limit_streams)
SELECT 'user ' || u.id, gen_random_uuid(), 20, 20 FROM users u;
UPDATE maintainer SET epoch = 1, daemon_id = (SELECT id FROM daemons);
UPDATE runs SET status = 'running', ended_at = NULL, owner_id = (SELECT id FROM daemons), epoch = 1
WHERE id = (SELECT min(r.id::text)::uuid FROM runs r
            JOIN users u ON u.id = r.created_by_user_id WHERE u.login = 'user3');
-- Deleted threads whose contents are still there.
WITH deleted AS (
    UPDATE threads t SET deleted_at = t.created_at, updated_at = t.updated_at - interval '1 hour'
    FROM users u WHERE u.id = t.created_by_user_id AND u.login ~ '[689]$' RETURNING t.id)
INSERT INTO threads_to_empty (thread_id, due_at) SELECT id, clock_timestamp() FROM deleted;
INSERT INTO responses_to_empty (run_id, thread_id, due_at) SELECT r.id, r.thread_id, clock_timestamp() FROM runs r;
WITH closed AS (
    INSERT INTO orgs (slug, name, type, closed_at, erase_at)
    VALUES ('closed', 'closed', 'workspace', clock_timestamp(), clock_timestamp() + interval '1 day')
    RETURNING id, erase_at),
owned AS (
    INSERT INTO org_members (org_id, user_id, role)
    SELECT c.id, u.id, 'owner' FROM closed c, users u WHERE u.login = 'user1')
INSERT INTO erasures (kind, org_id, due_at) SELECT 'org', c.id, c.erase_at FROM closed c;
INSERT INTO erasures (kind, org_id, user_id, due_at)
SELECT 'member', u.personal_org_id, u.id, clock_timestamp() + interval '1 day' FROM users u;
INSERT INTO former_members (user_id, org_id) SELECT u.id, u.personal_org_id FROM users u;
INSERT INTO privacy_journal (kind, subject_id) SELECT 'thread', t.id FROM threads t;
WITH made AS (
    INSERT INTO exports (org_id, user_id, is_of_org, state, pieces, expires_at)
    SELECT u.personal_org_id, u.id, false, 'ready', 2, clock_timestamp() + interval '1 day' FROM users u RETURNING id)
INSERT INTO export_pieces (export_id, nth, content) SELECT m.id, n, 'text' FROM made m, generate_series(1, 2) AS n;
WITH made AS (
    INSERT INTO files (org_id, created_by_user_id, name, mime_type, bytes, sha256, state, pieces, derived_pieces,
                       counted_bytes, end_user, unused_since, check_due_at)
    SELECT u.personal_org_id, u.id, 'a.png', 'image/png', 1, sha256('x'), CASE WHEN n % 50 = 0 THEN 'checking'
        ELSE 'ready' END, 1, 1, 4096, CASE WHEN n % 10 = 0 THEN 'customer' || n END, clock_timestamp(),
        CASE WHEN n % 50 = 0 THEN clock_timestamp() END
    FROM users u, generate_series(1, CASE WHEN u.login = 'user1' THEN 3000 ELSE 2 END) AS n RETURNING id),
pieces AS (INSERT INTO file_pieces (file_id, nth, content) SELECT m.id, 1, 'x' FROM made m)
INSERT INTO file_derived_pieces (file_id, nth, content) SELECT m.id, 1, 'x' FROM made m;
WITH f AS (SELECT q.id, q.org_id, row_number() OVER (PARTITION BY q.org_id ORDER BY q.id) AS n FROM files q),
m AS (SELECT q.org_id, q.thread_id, q.id, row_number() OVER (PARTITION BY q.org_id ORDER BY q.id) AS n FROM messages q),
h AS (SELECT q.org_id, q.run_id, row_number() OVER (PARTITION BY q.org_id ORDER BY q.run_id) AS n FROM run_histories q),
named AS (
    INSERT INTO message_files (org_id, thread_id, message_id, file_id)
    SELECT m.org_id, m.thread_id, m.id, f.id FROM f JOIN m ON m.org_id = f.org_id AND m.n = f.n),
given AS (
    INSERT INTO run_files (org_id, run_id, file_id)
    SELECT h.org_id, h.run_id, f.id FROM f JOIN h ON h.org_id = f.org_id AND h.n = f.n)
UPDATE messages q SET parts = json_build_array(json_build_object('type', 'text', 'text', q.content),
    json_build_object('type', 'image', 'file_id', f.id, 'mime_type', 'image/png'))
FROM m JOIN f ON f.org_id = m.org_id AND f.n = m.n WHERE q.thread_id = m.thread_id AND q.id = m.id;
UPDATE llm_models SET input_types = '{text,image}';
-- Uploads in the midst of their transaction.
INSERT INTO files (org_id, created_by_user_id, name, mime_type, bytes, sha256, pieces)
SELECT u.personal_org_id, u.id, 'begun ' || n, 'image/png', 1, sha256('x'), n
FROM users u, generate_series(0, 1) AS n WHERE u.login = 'user1';
INSERT INTO endings (kind, subject_id, due_at)
SELECT 'sessions', uuidv7(), clock_timestamp() + interval '1 day' FROM generate_series(1, 4000);
RESET session_replication_role;
SELECT account_runs_recount();
ANALYZE;
