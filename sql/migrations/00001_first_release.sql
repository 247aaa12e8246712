-- Why: what was installed before the first release becomes the first release: decisions, own models, the audit log by
-- month, hashes that no list of names reverses, one open invitation of an address, versions counted anew, counts of
-- runs, keys of messages by thread, what tokens grant, apps' marks, MCP servers with their tools and connections.
-- Locks: all of run_inputs, usage_of_platform, usage_of_org, usage_records, threads, platform_days, daemons, runs,
-- credit_accounts, messages, audit_logs, org_invitations, outbox, users, access_tokens, sessions, orgs, org_members,
-- api_keys, ip_rules and webhook_endpoints, exclusively: stop the programs before it.

DELETE FROM schema_migrations;
CREATE DOMAIN count_from_zero AS integer CHECK (VALUE >= 0);
CREATE DOMAIN amount_from_zero AS bigint CHECK (VALUE >= 0);
CREATE DOMAIN message_role AS text CHECK (VALUE IN ('user', 'assistant', 'tool'));
CREATE DOMAIN client_name AS text CHECK (length(VALUE) BETWEEN 1 AND 128);
CREATE TABLE schema_functions (is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), checksum bytea NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp());

-- ---------------------------------------------------------------- functions whose types change, or that are gone

DROP FUNCTION run_input(uuid, text, bigint), json_object_or_null(text), usage_add(usage_records, uuid),
    usage_rows(uuid, date, date), daemon_start(text, text, text), access_log_upkeep(integer),
    subscription_upkeep(integer), auth_prune(integer), idempotency_prune(integer), user_stop_runs(uuid), audit_page,
    audit_window, audit_json, audit_denied, invitation_create(text, text, bytea, jsonb), email_change_begin(text,
    jsonb, integer), email_change_finish(users, text), email_confirm(bytea), login_code_verify(text, bytea, integer,
    bytea, bytea, jsonb), fail(text, text, jsonb), refused_caller(boolean, uuid, uuid), caller_seen(uuid, uuid);
-- Settings have their own names in these.
DROP FUNCTION run_insert, run_create, run_retry, login_code_send, invite_code_use, register_user, session_begin,
    session_tokens, session_refresh, login_guard, login_failed, login_begin, login_finish, own_row_locked,
    may_forget_password, own_password_begin, own_password_refused, own_password_set;

-- ---------------------------------------------------------------- runs

-- Answers from before have no decision, which approves nothing.
ALTER TABLE run_inputs ADD COLUMN decision text, ADD COLUMN arguments json, ADD COLUMN reason text;
ALTER TABLE run_inputs ADD CONSTRAINT run_inputs_decision CHECK (
        CASE kind WHEN 'tool_confirmation' THEN coalesce(decision IN ('approve', 'deny'), false)
                  ELSE decision IS NULL AND reason IS NULL END
        AND (arguments IS NULL OR coalesce(decision = 'approve' AND json_typeof(arguments) = 'object', false)))
        NOT VALID;
-- What was answered by a word and is still to be executed, decided as its run would have been told.
UPDATE run_inputs AS i SET decision = lower(btrim(i.content, E' \t\r\n'))
FROM runs r
WHERE r.id = i.run_id AND r.ended_at IS NULL AND NOT r.queued AND i.kind = 'tool_confirmation'
      AND lower(btrim(i.content, E' \t\r\n')) IN ('approve', 'deny');
ALTER TABLE runs ADD COLUMN cancel_reason text;
ALTER TABLE daemons ADD COLUMN lock_id uuid, ADD COLUMN room integer NOT NULL DEFAULT 0, ADD COLUMN heartbeats bigint
    NOT NULL DEFAULT 0;
ALTER TABLE credit_accounts
    DROP CONSTRAINT credit_accounts_held_check, ALTER COLUMN held TYPE amount_from_zero,
    ADD COLUMN active_runs count_from_zero NOT NULL DEFAULT 0,
    ADD COLUMN queued_runs count_from_zero NOT NULL DEFAULT 0;
UPDATE credit_accounts a SET active_runs = live.active, queued_runs = live.queued
FROM (SELECT org_id, count(*) FILTER (WHERE NOT queued) AS active, count(*) FILTER (WHERE queued) AS queued
      FROM runs WHERE ended_at IS NULL GROUP BY org_id) AS live
WHERE a.org_id = live.org_id;
DROP INDEX runs_active_of_org, runs_claimable;
CREATE INDEX runs_claimable ON runs (org_id, created_by_user_id, id)
    WHERE status = 'running' AND NOT queued AND owner_id IS NULL;
ALTER TABLE runs DROP CONSTRAINT runs_check, DROP CONSTRAINT runs_check1, DROP CONSTRAINT runs_check2,
    DROP CONSTRAINT runs_check3, DROP CONSTRAINT runs_check4, DROP CONSTRAINT runs_credits_held_check,
    DROP CONSTRAINT runs_source_check, DROP CONSTRAINT runs_status_check, DROP COLUMN lease_until;
-- Replaced with the other functions, before this transaction ends.
CREATE FUNCTION runs_check_state() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE FUNCTION threads_keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
DROP TRIGGER runs_transition ON runs;
DROP FUNCTION runs_refuse_transition;
CREATE TRIGGER runs_state
    BEFORE INSERT OR UPDATE OF status, queued, source, credits_held, owner_id, input_request, ended_at ON runs
    FOR EACH ROW EXECUTE FUNCTION runs_check_state();

CREATE INDEX runs_cancelled ON runs (owner_id) WHERE cancel_requested_at IS NOT NULL AND owner_id IS NOT NULL;
ALTER TABLE runs SET (autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE runs ADD COLUMN tried_with integer NOT NULL DEFAULT 0, ADD COLUMN trials integer NOT NULL DEFAULT 0;
ALTER TABLE threads SET (autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE credit_accounts SET (autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE idempotency_records SET (autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE idempotency_records ADD COLUMN counted_bytes bigint NOT NULL DEFAULT 0;
CREATE INDEX idempotency_records_counted ON idempotency_records (org_id) WHERE counted_bytes > 0;
DROP FUNCTION idempotency_keep;
ALTER TABLE secrets SET (autovacuum_vacuum_scale_factor = 0.01);

-- ---------------------------------------------------------------- messages

ALTER TABLE messages DROP CONSTRAINT messages_pkey, ADD PRIMARY KEY (thread_id, id),
    DROP CONSTRAINT messages_role_check, ALTER COLUMN role TYPE message_role,
    ALTER COLUMN search DROP EXPRESSION, ALTER COLUMN search SET NOT NULL, ALTER COLUMN search SET DEFAULT '';
-- Words as the programs make them now; the pairs of Chinese, Japanese and Korean text are there.
UPDATE messages SET search = strip(search) || array_to_tsvector(ARRAY(
    SELECT DISTINCT w FROM regexp_split_to_table(lower(left(content, 32768)), '[^[:alnum:]]+') AS w
    WHERE w <> '' AND octet_length(w) <= 240));
DROP INDEX messages_thread;
-- See search_merge.
ALTER INDEX messages_search SET (gin_pending_list_limit = 8192);
ALTER INDEX threads_search SET (gin_pending_list_limit = 8192);
SELECT gin_clean_pending_list('messages_search'), gin_clean_pending_list('threads_search');

-- ---------------------------------------------------------------- sums

ALTER TABLE usage_of_platform ALTER COLUMN input_tokens TYPE numeric, ALTER COLUMN output_tokens TYPE numeric,
    ALTER COLUMN cost_nano_usd TYPE numeric;
ALTER TABLE platform_days ALTER COLUMN input_tokens TYPE numeric, ALTER COLUMN output_tokens TYPE numeric,
    ALTER COLUMN cost_nano_usd TYPE numeric, ADD COLUMN seen_workspaces bigint NOT NULL DEFAULT 0;
ALTER TABLE platform_deltas ADD COLUMN seen_workspaces bigint NOT NULL DEFAULT 0;
ALTER TABLE orgs ADD COLUMN seen_day date;
UPDATE orgs o SET seen_day = (SELECT max(utc_day(u.last_seen_at)) FROM org_members m JOIN users u ON u.id = m.user_id
    WHERE m.org_id = o.id AND u.status <> 'deleted') WHERE o.type = 'workspace';
INSERT INTO platform_deltas (day, seen_workspaces)
SELECT seen_day, count(*) FROM orgs WHERE seen_day IS NOT NULL GROUP BY seen_day;
CREATE FUNCTION platform_count_workspace() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE FUNCTION platform_count_member() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER org_members_counted AFTER INSERT OR DELETE ON org_members FOR EACH ROW EXECUTE FUNCTION
    platform_count_member();
CREATE TRIGGER orgs_counted AFTER UPDATE OF seen_day ON orgs FOR EACH ROW
    WHEN (OLD.seen_day IS DISTINCT FROM NEW.seen_day) EXECUTE FUNCTION platform_count_workspace();

-- ---------------------------------------------------------------- members

ALTER TABLE org_members ADD COLUMN id uuid;
UPDATE org_members SET id = uuidv7_at((extract(epoch FROM created_at) * 1000000)::bigint);
ALTER TABLE org_members ALTER COLUMN id SET NOT NULL, ALTER COLUMN id SET DEFAULT uuidv7();
CREATE INDEX org_members_newest ON org_members (org_id, id);

-- ---------------------------------------------------------------- audit log

ALTER TABLE audit_logs ADD COLUMN count bigint NOT NULL DEFAULT 1 CHECK (count > 0), ADD COLUMN denial_key uuid;
-- A list of names reverses these.
UPDATE audit_logs SET after_state = nullif(after_state - 'login_sha256', '{}') WHERE after_state ? 'login_sha256';
UPDATE audit_logs SET before_state = before_state - ARRAY['username_sha256', 'email_sha256'],
    after_state = after_state - ARRAY['username_sha256', 'email_sha256']
WHERE action = 'users.update';
-- Old rows stay where they are, as the partition of this month and all before it, and go when this month does.
DO $$
DECLARE
    this_month timestamp := date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC');
    until_now text := 'audit_logs_' || to_char(this_month, 'YYYY_MM');
    index name;
BEGIN
    EXECUTE format('ALTER TABLE audit_logs RENAME TO %I', until_now);
    FOR index IN SELECT i.indexrelid::regclass::text FROM pg_index i WHERE i.indrelid = until_now::regclass LOOP
        EXECUTE format('ALTER INDEX %I RENAME TO %I', index, replace(index, 'audit_logs', until_now));
    END LOOP;
    EXECUTE format('CREATE TABLE audit_logs (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (id)',
                   until_now);
    ALTER TABLE audit_logs ADD PRIMARY KEY (id);
    CREATE INDEX audit_logs_org ON audit_logs (org_id, id);
    CREATE INDEX audit_logs_actor ON audit_logs (actor_user_id, id);
    CREATE INDEX audit_logs_action ON audit_logs (action, id);
    CREATE INDEX audit_logs_org_actor ON audit_logs (org_id, actor_user_id, id);
    CREATE INDEX audit_logs_org_action ON audit_logs (org_id, action, id);
    EXECUTE format('ALTER TABLE audit_logs ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', until_now,
                   uuidv7_floor((this_month + interval '1 month') AT TIME ZONE 'UTC'));
    -- Partitions are reached through their parent only.
    EXECUTE format('DROP POLICY tenant ON %I', until_now);
    EXECUTE format('REVOKE ALL ON %I FROM hostler_api', until_now);
    -- The next month; those behind it are the daemons' work.
    EXECUTE format('CREATE TABLE %I PARTITION OF audit_logs FOR VALUES FROM (%L) TO (%L)',
                   'audit_logs_' || to_char(this_month + interval '1 month', 'YYYY_MM'),
                   uuidv7_floor((this_month + interval '1 month') AT TIME ZONE 'UTC'),
                   uuidv7_floor((this_month + interval '2 months') AT TIME ZONE 'UTC'));
END
$$;
CREATE INDEX audit_logs_denial ON audit_logs (denial_key, id) WHERE denial_key IS NOT NULL;
CREATE INDEX audit_logs_invited ON audit_logs (name_key(coalesce(after_state, before_state) ->> 'email'))
    WHERE action IN ('invitations.create', 'invitations.revoke');
GRANT SELECT ON audit_logs TO hostler_api;
CREATE TABLE audit_writers (id uuid PRIMARY KEY, last_batch bigint NOT NULL, updated_at timestamptz NOT NULL DEFAULT
    clock_timestamp());

-- ---------------------------------------------------------------- invitations and mails

ALTER TABLE org_invitations ADD COLUMN ended_at timestamptz, ADD CHECK (num_nonnulls(accepted_at, revoked_at, ended_at)
    <= 1);
-- Of doubled ones the newest that serves stays open.
UPDATE org_invitations SET ended_at = clock_timestamp()
FROM (SELECT i.id, row_number() OVER (
          PARTITION BY i.org_id, name_key(i.email)
          ORDER BY i.expires_at > clock_timestamp() AND EXISTS (
              SELECT 1 FROM org_members m JOIN users u ON u.id = m.user_id
              WHERE m.org_id = i.org_id AND m.user_id = i.invited_by_user_id AND u.status = 'active'
                    AND 'org.members.manage' = ANY (role_permissions(m.role))) DESC, i.id DESC) AS nth
      FROM org_invitations i WHERE i.accepted_at IS NULL AND i.revoked_at IS NULL) AS open
WHERE open.id = org_invitations.id AND open.nth > 1;
DROP INDEX org_invitations_open;
CREATE INDEX org_invitations_open ON org_invitations (org_id, id)
    WHERE accepted_at IS NULL AND revoked_at IS NULL AND ended_at IS NULL;
CREATE UNIQUE INDEX org_invitations_one_an_address ON org_invitations (org_id, name_key(email))
    WHERE accepted_at IS NULL AND revoked_at IS NULL AND ended_at IS NULL;

ALTER TABLE outbox ADD COLUMN expires_at timestamptz;
UPDATE outbox SET expires_at = coalesce((fields ->> 'expires_at')::timestamptz,
    created_at + (fields ->> 'minutes')::double precision * interval '1 minute')
WHERE kind = 'mail' AND status = 'pending';
CREATE INDEX outbox_codes_due ON outbox (next_attempt_at)
    WHERE status = 'pending' AND kind = 'mail' AND template = 'login_code';

-- ---------------------------------------------------------------- signing secrets

CREATE TABLE webhook_old_secrets (secret_id uuid PRIMARY KEY, org_id uuid NOT NULL, endpoint_id uuid NOT NULL, until
    timestamptz NOT NULL, FOREIGN KEY (org_id, endpoint_id) REFERENCES webhook_endpoints (org_id, id) ON DELETE
    CASCADE, FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id));
CREATE INDEX webhook_old_secrets_endpoint ON webhook_old_secrets (endpoint_id, until);
CREATE INDEX webhook_old_secrets_until ON webhook_old_secrets (until);
GRANT SELECT ON webhook_old_secrets TO hostler_runner;
INSERT INTO webhook_old_secrets (secret_id, org_id, endpoint_id, until)
SELECT previous_secret_id, org_id, id, previous_until FROM webhook_endpoints WHERE previous_secret_id IS NOT NULL;
ALTER TABLE webhook_endpoints DROP COLUMN previous_secret_id, DROP COLUMN previous_until;

CREATE INDEX outbox_recipient ON outbox (name_key(recipient)) WHERE kind = 'mail';
CREATE INDEX org_invitations_email ON org_invitations (name_key(email));
CREATE FUNCTION invitations_end() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER invitations_end AFTER UPDATE OF role OR DELETE ON org_members FOR EACH ROW
    EXECUTE FUNCTION invitations_end();
CREATE TRIGGER invitations_end AFTER UPDATE OF status ON users FOR EACH ROW
    WHEN (OLD.status = 'active' AND NEW.status <> 'active') EXECUTE FUNCTION invitations_end();

-- ---------------------------------------------------------------- addresses that are taken back

CREATE TABLE email_reverts (hash bytea PRIMARY KEY CHECK (length(hash) = 32), user_id uuid NOT NULL REFERENCES users,
    email text NOT NULL, asked_at timestamptz NOT NULL, expires_at timestamptz NOT NULL);
CREATE INDEX email_reverts_user ON email_reverts (user_id);
CREATE INDEX email_reverts_email ON email_reverts (name_key(email));
CREATE INDEX email_reverts_expiry ON email_reverts (expires_at);
-- Replaced with the other functions, before this transaction ends.
CREATE FUNCTION email_set() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER users_email_new AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION email_set();
CREATE TRIGGER users_email_set AFTER UPDATE OF email ON users
    FOR EACH ROW WHEN (name_key(OLD.email) <> name_key(NEW.email)) EXECUTE FUNCTION email_set();

-- ---------------------------------------------------------------- changes that are made by pages

ALTER TABLE webhook_endpoints ADD COLUMN cancel_before timestamptz, ADD COLUMN deleted_at timestamptz, ALTER COLUMN
    secret_id DROP NOT NULL, ADD CHECK (secret_id IS NOT NULL OR deleted_at IS NOT NULL);
CREATE INDEX webhook_endpoints_deleted ON webhook_endpoints (id) WHERE deleted_at IS NOT NULL;
CREATE INDEX webhook_endpoints_cancelled ON webhook_endpoints (id) WHERE cancel_before IS NOT NULL;
ALTER TABLE outbox ADD COLUMN is_put_off boolean NOT NULL DEFAULT false;
DROP INDEX outbox_webhooks_due;
CREATE INDEX outbox_webhooks_due ON outbox (is_put_off, endpoint_id, next_attempt_at)
    WHERE status = 'pending' AND kind = 'webhook';
CREATE INDEX outbox_webhooks_put_off ON outbox (next_attempt_at)
    WHERE status = 'pending' AND kind = 'webhook' AND is_put_off;
CREATE TABLE credit_bulk_changes (id uuid PRIMARY KEY DEFAULT uuidv7(), amount bigint, kind text NOT NULL, note text,
    actor_user_id uuid NOT NULL REFERENCES users, after_org_id uuid NOT NULL DEFAULT
    '00000000-0000-0000-0000-000000000000', last_org_id uuid NOT NULL, created_at timestamptz NOT NULL DEFAULT
    clock_timestamp(), done_at timestamptz);
CREATE INDEX credit_bulk_changes_open ON credit_bulk_changes (id) WHERE done_at IS NULL;
CREATE INDEX credit_bulk_changes_actor ON credit_bulk_changes (actor_user_id);

-- ---------------------------------------------------------------- what tokens grant

ALTER TABLE access_tokens ADD COLUMN user_id uuid, ADD COLUMN personal_org_id uuid, ADD COLUMN role text, ADD COLUMN
    is_proved boolean, ADD COLUMN admitted_address inet, ADD CONSTRAINT access_tokens_grant CHECK (num_nulls(user_id,
    personal_org_id, role, is_proved) IN (0, 4));
ALTER TABLE access_tokens SET (fillfactor = 75);
-- Replaced with the other functions, before this transaction ends.
DROP TRIGGER ip_rule_counted ON ip_rules;
DROP FUNCTION ip_rule_counted;
CREATE FUNCTION ip_rules_counted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER ip_rules_made AFTER INSERT ON ip_rules REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION ip_rules_counted();
CREATE TRIGGER ip_rules_removed AFTER DELETE ON ip_rules REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION ip_rules_counted();
CREATE FUNCTION token_grants_changed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER token_grants_changed AFTER UPDATE OF revoked_at, user_id ON sessions FOR EACH ROW
    WHEN ((OLD.revoked_at, OLD.user_id) IS DISTINCT FROM (NEW.revoked_at, NEW.user_id))
    EXECUTE FUNCTION token_grants_changed();
CREATE TRIGGER token_grants_changed AFTER UPDATE OF status, platform_admin, email_verified_at, personal_org_id ON users
    FOR EACH ROW WHEN ((OLD.status, OLD.platform_admin, OLD.email_verified_at, OLD.personal_org_id)
        IS DISTINCT FROM (NEW.status, NEW.platform_admin, NEW.email_verified_at, NEW.personal_org_id))
    EXECUTE FUNCTION token_grants_changed();
CREATE TRIGGER token_grants_changed AFTER UPDATE OR DELETE ON org_members FOR EACH ROW
    EXECUTE FUNCTION token_grants_changed();
CREATE TRIGGER token_grants_changed AFTER UPDATE OF ip_rule_count, type ON orgs FOR EACH ROW
    WHEN (OLD.type = 'personal' AND (OLD.ip_rule_count, OLD.type) IS DISTINCT FROM (NEW.ip_rule_count, NEW.type))
    EXECUTE FUNCTION token_grants_changed();

-- ---------------------------------------------------------------- rights
-- Columns whole: all but hashes of passwords and what searches read.
REVOKE SELECT ON users FROM hostler_runner;
GRANT SELECT (id, login, username, email, email_verified_at, status, platform_admin, personal_org_id, avatar_url,
    locale, timezone, last_login_at, last_seen_at, created_at, deleted_at, invite_code_reset_at) ON users
    TO hostler_runner;

-- ---------------------------------------------------------------- what an organization keeps
ALTER TABLE runs ADD COLUMN event_bytes bigint NOT NULL DEFAULT 0, ADD COLUMN result_bytes bigint NOT NULL DEFAULT 0,
    ADD COLUMN response_format json, ADD COLUMN output json;
ALTER TABLE personas ADD COLUMN response_format text, ADD COLUMN earlier jsonb NOT NULL DEFAULT '[]';
CREATE INDEX personas_kept ON personas (org_id, id)
    WHERE deleted_at IS NOT NULL AND (system_prompt <> '' OR response_format IS NOT NULL OR earlier <> '[]');
ALTER TABLE login_codes ALTER COLUMN guesses DROP DEFAULT,
    ALTER COLUMN guesses TYPE integer[] USING ARRAY[guesses, guesses, guesses],
    ALTER COLUMN guesses SET DEFAULT '{0,0,0}';
ALTER TABLE credit_accounts ADD COLUMN stored_bytes bigint NOT NULL DEFAULT 0;
CREATE TABLE run_events_freed (is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), before_run_id uuid NOT NULL);
INSERT INTO run_events_freed (before_run_id) VALUES ('00000000-0000-0000-0000-000000000000');
UPDATE runs r SET event_bytes = e.bytes
FROM (SELECT run_id, sum(octet_length(data::text)) AS bytes FROM run_events GROUP BY run_id) AS e WHERE r.id = e.run_id;
UPDATE runs r SET result_bytes = t.bytes
FROM (SELECT run_id, sum(octet_length(result::text)) AS bytes FROM run_tool_results WHERE result IS NOT NULL
      GROUP BY run_id) AS t WHERE r.id = t.run_id;
UPDATE credit_accounts a SET stored_bytes = s.bytes
FROM (SELECT org_id, sum(bytes) AS bytes FROM (
          SELECT org_id, octet_length(content) AS bytes FROM messages
          UNION ALL SELECT org_id, event_bytes + result_bytes FROM runs) AS kept GROUP BY org_id) AS s
WHERE a.org_id = s.org_id;

CREATE INDEX api_keys_alive ON api_keys (org_id, coalesce(expires_at, 'infinity')) WHERE revoked_at IS NULL;

-- ---------------------------------------------------------------- fresh logins
ALTER TABLE sessions ADD COLUMN neighbourhood inet, ADD COLUMN proved_at timestamptz;
UPDATE sessions
SET proved_at = created_at, neighbourhood = network(set_masklen(client_ip, 20 * family(client_ip) - 56));
CREATE INDEX sessions_home ON sessions (user_id, neighbourhood, created_at);
ALTER TABLE sessions ALTER COLUMN proved_at SET NOT NULL, ALTER COLUMN proved_at SET DEFAULT clock_timestamp();

-- ---------------------------------------------------------------- tools on the platform's account
ALTER TABLE run_tool_results ADD COLUMN credits bigint NOT NULL DEFAULT 0 CHECK (credits >= 0);
CREATE INDEX run_tool_results_paid ON run_tool_results (org_id) WHERE credits > 0;
CREATE TABLE tool_call_days ( org_id uuid PRIMARY KEY REFERENCES orgs, day date NOT NULL, calls bigint NOT NULL CHECK
    (calls > 0) ) WITH (fillfactor = 75);

-- ---------------------------------------------------------------- tools of apps
ALTER TABLE runs ADD COLUMN tools json, ADD COLUMN offered_tools json, ADD COLUMN history_bytes bigint, ADD COLUMN
    is_bare boolean NOT NULL DEFAULT false, ADD COLUMN sampling json, ADD COLUMN client_facts json, ADD COLUMN
    deleted_at timestamptz, ADD COLUMN client_answer json;
ALTER TABLE credit_accounts ADD COLUMN waiting_runs count_from_zero NOT NULL DEFAULT 0;
CREATE TABLE run_asked_calls (run_id uuid NOT NULL, org_id uuid NOT NULL, tool_call_id text NOT NULL, turn integer NOT
    NULL CHECK (turn > 0), tool_name text NOT NULL, answered_by text NOT NULL CHECK (answered_by IN ('client',
    'webhook')), asked_at timestamptz NOT NULL DEFAULT clock_timestamp(), tries integer NOT NULL DEFAULT 0, try_id uuid,
    accepted boolean NOT NULL DEFAULT false, closed boolean NOT NULL DEFAULT false, early json, PRIMARY KEY (run_id,
    tool_call_id), FOREIGN KEY (org_id, run_id) REFERENCES runs (org_id, id));
DROP FUNCTION IF EXISTS persona_check, ip_prefixes, run_update, run_text, run_json, run_text_of_reader, run_input,
    login_code_take, account_taken_back;
ALTER TABLE threads ALTER COLUMN search DROP EXPRESSION, ADD COLUMN is_hidden boolean NOT NULL DEFAULT false,
    ADD COLUMN client_id client_name;  -- runs that are given their history
UPDATE threads SET search = strip(search) || array_to_tsvector(ARRAY(
    SELECT DISTINCT w FROM regexp_split_to_table(lower(title), '[^[:alnum:]]+') AS w WHERE w <> ''))
WHERE title IS NOT NULL;
CREATE TRIGGER threads_keep BEFORE INSERT OR UPDATE OF is_hidden, deleted_at ON threads
    FOR EACH ROW EXECUTE FUNCTION threads_keep();
CREATE UNIQUE INDEX threads_client_id ON threads (org_id, created_by_user_id, client_id)
    WHERE client_id IS NOT NULL AND deleted_at IS NULL;
CREATE TABLE run_histories (run_id uuid PRIMARY KEY, org_id uuid NOT NULL, messages json NOT NULL, keeps boolean NOT
    NULL, put_back uuid[], context json, continues boolean NOT NULL DEFAULT false, FOREIGN KEY (org_id, run_id)
    REFERENCES runs (org_id, id));
CREATE INDEX run_histories_to_forget ON run_histories (run_id) WHERE NOT keeps;
GRANT SELECT ON run_histories TO hostler_runner;
CREATE TABLE run_left_calls (run_id uuid NOT NULL, tool_call_id text NOT NULL, org_id uuid NOT NULL, created_by_user_id
    uuid NOT NULL, PRIMARY KEY (run_id, tool_call_id), FOREIGN KEY (org_id, run_id) REFERENCES runs (org_id, id));
CREATE INDEX run_left_calls_of_user ON run_left_calls (org_id, created_by_user_id, tool_call_id, run_id);
GRANT INSERT ON run_left_calls TO hostler_runner;

CREATE TABLE threads_to_empty (thread_id uuid PRIMARY KEY, due_at timestamptz NOT NULL DEFAULT clock_timestamp() +
    interval '10 minutes', run_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000');
INSERT INTO threads_to_empty (thread_id) SELECT id FROM threads WHERE deleted_at IS NOT NULL;
CREATE INDEX threads_to_empty_due ON threads_to_empty (due_at);

-- ---------------------------------------------------------------- marks of apps
ALTER TABLE threads ADD COLUMN end_user text, ADD COLUMN metadata json NOT NULL DEFAULT '{}';
CREATE INDEX threads_of_end_user ON threads (org_id, created_by_user_id, end_user, id)
    WHERE end_user IS NOT NULL AND deleted_at IS NULL;
GRANT UPDATE (metadata, search) ON threads TO hostler_api;
ALTER TABLE runs ADD COLUMN end_user text, ADD COLUMN metadata json NOT NULL DEFAULT '{}';
CREATE INDEX runs_of_end_user ON runs (org_id, end_user, id) WHERE end_user IS NOT NULL;
ALTER TABLE usage_records ADD COLUMN end_user text, DROP CONSTRAINT usage_records_input_tokens_check,
    DROP CONSTRAINT usage_records_output_tokens_check, DROP CONSTRAINT usage_records_cache_read_tokens_check,
    DROP CONSTRAINT usage_records_cache_write_tokens_check, DROP CONSTRAINT usage_records_cost_nano_usd_check,
    DROP CONSTRAINT usage_records_credits_check, ADD CONSTRAINT usage_records_sound CHECK (
        least(input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_nano_usd, credits) >= 0);
DROP TRIGGER usage_records_counted ON usage_records;
CREATE TRIGGER usage_records_counted AFTER INSERT ON usage_records REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION platform_count_usage();
ALTER TABLE usage_of_org ADD COLUMN has_end_user boolean NOT NULL DEFAULT false, ADD COLUMN credits bigint NOT NULL
    DEFAULT 0, DROP CONSTRAINT usage_of_org_pkey, ADD PRIMARY KEY (org_id, day, model, has_end_user);
UPDATE usage_of_org o SET credits = u.credits
FROM (SELECT org_id, utc_day(created_at) AS day, model, least(sum(credits), 9223372036854775807)::bigint AS credits
      FROM usage_records GROUP BY 1, 2, 3) AS u
WHERE o.org_id = u.org_id AND o.day = u.day AND o.model = u.model AND u.credits > 0;
CREATE TABLE usage_of_end_user ( org_id uuid NOT NULL, month date NOT NULL, end_user text COLLATE "C" NOT NULL,
    input_tokens bigint NOT NULL DEFAULT 0, output_tokens bigint NOT NULL DEFAULT 0, cost_nano_usd bigint NOT NULL
    DEFAULT 0, credits bigint NOT NULL DEFAULT 0, record_count bigint NOT NULL DEFAULT 0, PRIMARY KEY (org_id, month,
    end_user) ) WITH (autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX usage_of_end_user_cost ON usage_of_end_user (org_id, month, (-cost_nano_usd), end_user);
GRANT SELECT ON usage_of_end_user TO hostler_api;

-- Nobody asked Anthropic to keep prompts before, so that nobody needed a price for it.
UPDATE llm_models m SET cache_read_usd_per_mtok = round(m.input_usd_per_mtok * 0.1, 6),
    cache_write_usd_per_mtok = least(round(m.input_usd_per_mtok * 1.25, 6), 1000000)
FROM llm_providers p WHERE p.id = m.provider_id AND p.provider_kind = 'anthropic'
    AND m.cache_read_usd_per_mtok = 0 AND m.cache_write_usd_per_mtok = 0;
-- A model that was deleted is no default any more.
UPDATE llm_models SET is_default = false WHERE deleted_at IS NOT NULL;
ALTER TABLE llm_models ADD CHECK (deleted_at IS NULL OR NOT is_default);
DROP INDEX llm_models_default;
CREATE UNIQUE INDEX llm_models_default ON llm_models (coalesce(org_id, '00000000-0000-0000-0000-000000000000'))
    WHERE is_default;
-- ---------------------------------------------------------------- names
ALTER TABLE daemons RENAME COLUMN place TO instance;
-- Their names, or those of their parameters, are others now; all functions are made again behind this.
DROP FUNCTION IF EXISTS access_log_append, account_taken_back, admin_user, admin_user_delete, admin_user_show,
    admin_user_update, api_key_end, credit_charge, credit_hold, credit_release, daemon_start, email_change_begin,
    email_change_finish, email_first_proved, email_is_kept, email_is_taken, email_revert_queue, email_token_queue,
    email_verification_first, email_verification_send, email_verified, enter, invite_code_json, ip_admits_named,
    last_admin_guard, last_owner_guard, llm_default_clear, llm_provider_secret, login_exists, member_check,
    member_of_org, member_remove, member_update, org_spare_owner, page_of, password_changed_mail, platform_fold,
    redemption_try, refused_caller, risk_check, run_activate_next, run_finish, run_insert, run_page, run_shown_text,
    run_turn_commit, session_begin, sessions_end, subscription_upkeep, thread_run_page, thread_search, thread_stop,
    usage_add, user_delete, user_hold_alone, user_set_status, user_stop_runs, workspaces_hand_over, account_run_refused,
    api_key_create, attempt_guard, attempt_or_fail, audit_gather, audit_login_failed, authenticate, authenticate_fully,
    llm_model_create, message_create, message_page, org_create, org_hold, persona_create, registration_begin,
    registration_check, route_resolve, run_list_text, runs_commit, thread_json, thread_item, thread_newest_messages,
    thread_text, thread_text_of_caller, run_list_item, turns_charge, webhook_create, run_tool_commit, run_expire_inputs,
    run_waiting, search_query, search_vector, search_words, response_create;
DROP VIEW run_list_items;

-- ---------------------------------------------------------------- one maintainer
CREATE TABLE maintainer ( epoch bigint PRIMARY KEY, daemon_id uuid, since timestamptz NOT NULL DEFAULT
    clock_timestamp(), is_only boolean NOT NULL DEFAULT true UNIQUE CHECK (is_only) );
INSERT INTO maintainer (epoch) VALUES (0);
CREATE TABLE maintenance_jobs ( job text PRIMARY KEY, period_ms bigint NOT NULL, done_at timestamptz, took_ms bigint,
    fault_at timestamptz, fault text, faults bigint NOT NULL DEFAULT 0 );
CREATE TABLE full_streams ( holder text NOT NULL, daemon_id uuid NOT NULL, streams bigint NOT NULL, limit_streams bigint
    NOT NULL CHECK (limit_streams > 0), PRIMARY KEY (holder, daemon_id) );
CREATE INDEX full_streams_of_daemon ON full_streams (daemon_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON full_streams TO hostler_runner;
GRANT SELECT, UPDATE ON maintainer, maintenance_jobs TO hostler_runner;
GRANT INSERT, DELETE ON maintenance_jobs TO hostler_runner;

-- ---------------------------------------------------------------- webhook tools
CREATE TABLE tools ( id uuid PRIMARY KEY DEFAULT uuidv7(), org_id uuid REFERENCES orgs, name text NOT NULL, description
    text NOT NULL, parameters text NOT NULL, url text NOT NULL, timeout_seconds integer NOT NULL DEFAULT 30 CHECK
    (timeout_seconds BETWEEN 1 AND 600), is_repeatable boolean NOT NULL DEFAULT false, is_active boolean NOT NULL
    DEFAULT true, secret_id uuid REFERENCES secrets CHECK (secret_id IS NOT NULL OR deleted_at IS NOT NULL), created_at
    timestamptz NOT NULL DEFAULT clock_timestamp(), deleted_at timestamptz, UNIQUE (org_id, id), FOREIGN KEY (org_id,
    secret_id) REFERENCES secrets (org_id, id) );
CREATE UNIQUE INDEX tools_name ON tools (coalesce(org_id, '00000000-0000-0000-0000-000000000000'), name)
    WHERE deleted_at IS NULL;
CREATE INDEX tools_org ON tools (org_id, id) WHERE deleted_at IS NULL;
CREATE INDEX tools_secret ON tools (secret_id) WHERE secret_id IS NOT NULL;
CREATE TABLE tool_old_secrets ( secret_id uuid PRIMARY KEY REFERENCES secrets, org_id uuid, tool_id uuid NOT NULL
    REFERENCES tools, until timestamptz NOT NULL, FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id),
    FOREIGN KEY (org_id, tool_id) REFERENCES tools (org_id, id) );
CREATE INDEX tool_old_secrets_tool ON tool_old_secrets (tool_id, until);
CREATE INDEX tool_old_secrets_until ON tool_old_secrets (until);
GRANT SELECT, INSERT, UPDATE ON tools TO hostler_api;
GRANT SELECT, INSERT, DELETE ON tool_old_secrets TO hostler_api;

-- ---------------------------------------------------------------- row security of what is new

DO $$
DECLARE
    new_table text;
    or_platforms text;
BEGIN
    FOREACH new_table IN ARRAY ARRAY['audit_logs', 'webhook_old_secrets', 'tool_call_days', 'run_asked_calls',
        'run_histories', 'run_left_calls', 'usage_of_end_user', 'tools', 'tool_old_secrets'] LOOP
        or_platforms := CASE WHEN new_table IN ('tools', 'tool_old_secrets') THEN ' OR org_id IS NULL' ELSE '' END;
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', new_table);
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', new_table);
        EXECUTE format('CREATE POLICY tenant ON %s USING (org_id = current_org()%s)
                        WITH CHECK (org_id = current_org()%s)', new_table, or_platforms, CASE WHEN or_platforms <> ''
                            THEN ' OR (org_id IS NULL AND is_platform_admin())' ELSE '' END);
    END LOOP;
END
$$;

-- ---------------------------------------------------------------- MCP servers
ALTER TABLE runs ADD COLUMN is_by_key boolean NOT NULL DEFAULT (current_request() ->> 'api_key_id' IS NOT NULL);
ALTER TABLE run_asked_calls DROP CONSTRAINT run_asked_calls_answered_by_check;
ALTER TABLE run_asked_calls ADD CONSTRAINT run_asked_calls_answered_by_check
    CHECK (answered_by IN ('client', 'webhook', 'mcp'));
ALTER TABLE run_asked_calls ADD COLUMN remote_state json, ADD COLUMN authorizations integer NOT NULL DEFAULT 0;

CREATE TABLE mcp_servers (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    org_id uuid REFERENCES orgs,
    key text NOT NULL CHECK (key ~ '^[a-z0-9-]{1,32}$'),
    url text NOT NULL,
    authorization_kind text NOT NULL CHECK (authorization_kind IN ('none', 'bearer', 'headers', 'oauth')),
    authorization_settings jsonb NOT NULL DEFAULT '{}',
    secret_id uuid REFERENCES secrets,
    allowed_tools text[] NOT NULL DEFAULT '{}',
    trust text NOT NULL DEFAULT 'ask' CHECK (trust IN ('ask', 'run')),
    is_active boolean NOT NULL DEFAULT true,
    is_pinned boolean NOT NULL DEFAULT false,
    listing_state text NOT NULL DEFAULT 'pending' CHECK (listing_state IN ('pending', 'ok', 'failed')),
    listing_at timestamptz,
    listing_code text,
    listing_message text,
    listing_left_out json,
    listing_failures integer NOT NULL DEFAULT 0,
    listing_due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    listing_id uuid,
    protocol_version text,
    discovery json,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz CHECK (deleted_at IS NULL OR secret_id IS NULL),
    UNIQUE (org_id, id),
    FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id),
    CHECK ((listing_state = 'failed') = (listing_code IS NOT NULL)),
    CHECK (authorization_kind NOT IN ('bearer', 'headers') OR secret_id IS NOT NULL OR deleted_at IS NOT NULL)
);
CREATE UNIQUE INDEX mcp_servers_key ON mcp_servers (coalesce(org_id, '00000000-0000-0000-0000-000000000000'), key)
    WHERE deleted_at IS NULL;
CREATE INDEX mcp_servers_secret ON mcp_servers (secret_id) WHERE secret_id IS NOT NULL;
CREATE INDEX mcp_servers_due ON mcp_servers (listing_due_at) WHERE deleted_at IS NULL AND is_active;
GRANT SELECT, INSERT, UPDATE ON mcp_servers TO hostler_api;
GRANT SELECT (listing_due_at, deleted_at, is_active) ON mcp_servers TO hostler_runner;
CREATE TABLE mcp_tools (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    server_id uuid NOT NULL REFERENCES mcp_servers,
    org_id uuid,
    name text NOT NULL,
    tool_name text NOT NULL CHECK (tool_name ~ '^[a-zA-Z0-9_-]{1,64}$'),
    definition text NOT NULL,
    hash text NOT NULL,
    state text NOT NULL CHECK (state IN ('approved', 'new', 'changed', 'gone')),
    listed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    used_at timestamptz,
    UNIQUE (org_id, id),
    FOREIGN KEY (org_id, server_id) REFERENCES mcp_servers (org_id, id)
);
CREATE UNIQUE INDEX mcp_tools_name ON mcp_tools (server_id, name);
CREATE UNIQUE INDEX mcp_tools_tool_name ON mcp_tools (server_id, tool_name);
CREATE INDEX mcp_tools_server ON mcp_tools (server_id, id);
GRANT SELECT, UPDATE, DELETE ON mcp_tools TO hostler_api;
CREATE TABLE mcp_approvals (
    tool_id uuid NOT NULL REFERENCES mcp_tools ON DELETE CASCADE,
    org_id uuid,
    hash text NOT NULL,
    definition text NOT NULL,
    approved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    approved_by_user_id uuid REFERENCES users,
    PRIMARY KEY (tool_id, hash),
    FOREIGN KEY (org_id, tool_id) REFERENCES mcp_tools (org_id, id) ON DELETE CASCADE
);
CREATE INDEX mcp_approvals_user ON mcp_approvals (approved_by_user_id) WHERE approved_by_user_id IS NOT NULL;
GRANT SELECT, INSERT, DELETE ON mcp_approvals TO hostler_api;
CREATE TABLE mcp_discoveries (
    server_id uuid PRIMARY KEY REFERENCES mcp_servers,
    org_id uuid REFERENCES orgs,
    url text NOT NULL,
    resource text NOT NULL,
    issuer text NOT NULL,
    authorization_endpoint text NOT NULL,
    token_endpoint text NOT NULL,
    revocation_endpoint text,
    tells_issuer boolean NOT NULL,
    scopes text[] NOT NULL,
    redirect_uri text NOT NULL,
    client_id text NOT NULL,
    client_method text NOT NULL CHECK (client_method IN ('none', 'client_secret_basic', 'client_secret_post')),
    client_kind text NOT NULL CHECK (client_kind IN ('given', 'document', 'registered')),
    secret_id uuid REFERENCES secrets,
    found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    FOREIGN KEY (org_id, server_id) REFERENCES mcp_servers (org_id, id),
    FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id)
);
CREATE INDEX mcp_discoveries_secret ON mcp_discoveries (secret_id) WHERE secret_id IS NOT NULL;
CREATE TABLE mcp_connections (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    server_id uuid NOT NULL REFERENCES mcp_servers,
    user_id uuid REFERENCES users,
    state text NOT NULL CHECK (state IN ('connected', 'expired', 'ending')),
    issuer text NOT NULL,
    token_endpoint text NOT NULL,
    revocation_endpoint text,
    resource text NOT NULL,
    client_id text NOT NULL,
    client_method text NOT NULL,
    scopes text[] NOT NULL,
    wanted_scopes text[],
    secret_id uuid,
    token_number bigint NOT NULL DEFAULT 1,
    has_refresh_token boolean NOT NULL,
    expires_at timestamptz,
    refresh_at timestamptz,
    claimed_until timestamptz,
    claim_id uuid,
    tries integer NOT NULL DEFAULT 0,
    connected_by uuid NOT NULL REFERENCES users,
    connected_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (org_id, id),
    FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id)
);
CREATE UNIQUE INDEX mcp_connections_owner ON mcp_connections (server_id, org_id, user_id) NULLS NOT DISTINCT
    WHERE state <> 'ending';
CREATE INDEX mcp_connections_user ON mcp_connections (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX mcp_connections_secret ON mcp_connections (secret_id) WHERE secret_id IS NOT NULL;
CREATE INDEX mcp_connections_refresh ON mcp_connections (refresh_at) WHERE refresh_at IS NOT NULL;
CREATE TABLE mcp_authorizations (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    server_id uuid NOT NULL REFERENCES mcp_servers,
    user_id uuid NOT NULL REFERENCES users,
    session_id uuid NOT NULL,
    is_of_org boolean NOT NULL,
    state_hash bytea NOT NULL UNIQUE CHECK (length(state_hash) = 32),
    status text NOT NULL DEFAULT 'begun' CHECK (status IN ('begun', 'returned', 'exchanging', 'done', 'failed')),
    issuer text NOT NULL,
    tells_issuer boolean NOT NULL,
    token_endpoint text NOT NULL,
    revocation_endpoint text,
    resource text NOT NULL,
    redirect_uri text NOT NULL,
    client_id text NOT NULL,
    client_method text NOT NULL,
    scopes text[] NOT NULL,
    secret_id uuid,
    code text,
    error text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    claimed_until timestamptz,
    FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id)
);
CREATE INDEX mcp_authorizations_user ON mcp_authorizations (user_id, server_id, id);
CREATE INDEX mcp_authorizations_session ON mcp_authorizations (session_id, server_id, id);
CREATE INDEX mcp_authorizations_secret ON mcp_authorizations (secret_id) WHERE secret_id IS NOT NULL;
CREATE INDEX mcp_authorizations_due ON mcp_authorizations (created_at) WHERE status IN ('returned', 'exchanging');
CREATE INDEX mcp_authorizations_time ON mcp_authorizations (created_at);
CREATE TABLE mcp_tasks (
    run_id uuid NOT NULL,
    org_id uuid NOT NULL,
    tool_call_id text NOT NULL,
    server_id uuid NOT NULL REFERENCES mcp_servers,
    task_id text,
    is_idempotent boolean NOT NULL,
    due_at timestamptz,
    claim_id uuid,
    failures integer NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, tool_call_id),
    FOREIGN KEY (org_id, run_id) REFERENCES runs (org_id, id)
);
CREATE INDEX mcp_tasks_due ON mcp_tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX mcp_tasks_claim ON mcp_tasks (claim_id) WHERE claim_id IS NOT NULL;
CREATE INDEX mcp_tasks_server ON mcp_tasks (server_id);
GRANT SELECT (due_at) ON mcp_tasks TO hostler_runner;

DO $$
DECLARE
    new_table text;
    or_platforms text;
BEGIN
    FOREACH new_table IN ARRAY ARRAY['mcp_servers', 'mcp_tools', 'mcp_approvals', 'mcp_discoveries', 'mcp_connections',
        'mcp_authorizations', 'mcp_tasks'] LOOP
        or_platforms := CASE WHEN new_table NOT IN ('mcp_connections', 'mcp_authorizations', 'mcp_tasks')
                             THEN ' OR org_id IS NULL' ELSE '' END;
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', new_table);
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', new_table);
        EXECUTE format('CREATE POLICY tenant ON %s USING (org_id = current_org()%s)
                        WITH CHECK (org_id = current_org()%s)', new_table, or_platforms, CASE WHEN or_platforms <> ''
                            THEN ' OR (org_id IS NULL AND is_platform_admin())' ELSE '' END);
    END LOOP;
END
$$;

-- Its body comes with the functions.
CREATE FUNCTION mcp_member_left() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER mcp_member_left AFTER DELETE ON org_members FOR EACH ROW EXECUTE FUNCTION mcp_member_left();
