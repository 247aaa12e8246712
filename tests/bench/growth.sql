-- Fills the tables for growth.py, which puts numbers and ids between the braces. Never meant for real data: triggers
-- are off while rows come in.
SET session_replication_role = replica;
CREATE TEMP TABLE grown AS SELECT uuidv7() AS user_id, uuidv7() AS org_id, uuidv7() AS thread_id, n
FROM generate_series(1, {users}) n;
INSERT INTO orgs (id, slug, name, type) SELECT org_id, org_id::text, 'grown', 'personal' FROM grown;
INSERT INTO users (id, login, username, email, email_key, personal_org_id, last_seen_at)
SELECT user_id, 'grown' || n, 'grown' || n, 'grown' || n || '@bench.invalid',
       'grown' || n || '@bench.invalid', org_id, clock_timestamp() FROM grown;
INSERT INTO user_names SELECT 'grown' || n, user_id FROM grown;
INSERT INTO org_members (org_id, user_id, role) SELECT org_id, user_id, 'owner' FROM grown;
INSERT INTO credit_accounts (org_id) SELECT org_id FROM grown;
INSERT INTO grown SELECT '{user}', '{org}', '{thread}', {users} + n FROM generate_series(1, {users} / 10) n;
INSERT INTO threads (id, org_id, created_by_user_id) SELECT thread_id, org_id, user_id FROM grown WHERE n <= {users};
CREATE TEMP TABLE grown_runs AS SELECT uuidv7() AS id, g.* FROM grown g, generate_series(1, 10);
INSERT INTO runs (id, org_id, thread_id, created_by_user_id, status, source, trace_id, persona_id, persona_row_id,
    model_id, model, provider_kind, credential_name, last_seq, turns, started_at, ended_at)
SELECT g.id, g.org_id, g.thread_id, g.user_id, 'completed', 'api', t.trace_id, t.persona_id, t.persona_row_id,
    t.model_id, t.model, t.provider_kind, t.credential_name, 10, 1, clock_timestamp(), clock_timestamp()
FROM grown_runs g, (SELECT * FROM runs WHERE id = '{run}') t;
INSERT INTO run_events (run_id, seq, type, data)
SELECT id, seq, 'message.delta', '{{"content":"streaming "}}' FROM grown_runs, generate_series(1, 10) seq;
SET session_replication_role = origin;
INSERT INTO ip_rules (org_id, type, cidr)
SELECT '{org}', 'blocklist', ('10.' || n / 256 || '.' || n % 256 || '.0/24')::cidr FROM generate_series(1, {rules}) n;
UPDATE orgs SET ip_rule_count = greatest(ip_rule_count, {rules}) WHERE id = '{org}';
SELECT platform_recount();
