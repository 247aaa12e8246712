-- The minimum cost of the same work in Postgres: tables with the columns and the most needed indexes of ours, without
-- row security, foreign keys, rules, search, audit, reasons of a refusal and all settings of an operator. For
-- floors.py.
CREATE TABLE tokens (hash bytea PRIMARY KEY, user_id uuid NOT NULL, org_id uuid NOT NULL,
    expires_at timestamptz NOT NULL);
CREATE TABLE accounts (org_id uuid PRIMARY KEY, balance bigint NOT NULL DEFAULT 0, held bigint NOT NULL DEFAULT 0,
    active_runs integer NOT NULL DEFAULT 0, stored_bytes bigint NOT NULL DEFAULT 0);
CREATE TABLE threads (id uuid PRIMARY KEY, org_id uuid NOT NULL, user_id uuid NOT NULL, active_run_id uuid,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()) WITH (fillfactor = 80);
CREATE TABLE messages (id uuid NOT NULL, org_id uuid NOT NULL, thread_id uuid NOT NULL, run_id uuid, user_id uuid,
    role text NOT NULL, content text NOT NULL, created_at timestamptz NOT NULL, PRIMARY KEY (thread_id, id));
CREATE TABLE runs (id uuid PRIMARY KEY, org_id uuid NOT NULL, thread_id uuid NOT NULL, user_id uuid NOT NULL,
    status text NOT NULL DEFAULT 'running', owner_id uuid, epoch bigint NOT NULL DEFAULT 0,
    source text NOT NULL DEFAULT 'api', trace_id text NOT NULL, persona_id text NOT NULL, model text NOT NULL,
    input_tokens bigint NOT NULL DEFAULT 0, output_tokens bigint NOT NULL DEFAULT 0,
    cost bigint NOT NULL DEFAULT 0, credits bigint NOT NULL DEFAULT 0,
    last_seq bigint NOT NULL DEFAULT 0, metadata json NOT NULL DEFAULT '{{}}', created_at timestamptz NOT NULL,
    started_at timestamptz, ended_at timestamptz, error_code text, error_message text) WITH (fillfactor = 80);
CREATE INDEX runs_of_user ON runs (org_id, user_id, id);
CREATE INDEX runs_of_thread ON runs (thread_id, id);
CREATE INDEX runs_claimable ON runs (org_id, user_id, id) WHERE status = 'running' AND owner_id IS NULL;
CREATE TABLE events (run_id uuid NOT NULL, seq bigint NOT NULL, type text NOT NULL, data json NOT NULL,
    created_at timestamptz NOT NULL, PRIMARY KEY (run_id, seq));
CREATE TABLE usage (id uuid PRIMARY KEY, org_id uuid NOT NULL, run_id uuid NOT NULL, model text NOT NULL,
    input_tokens bigint NOT NULL, output_tokens bigint NOT NULL, cost bigint NOT NULL, created_at timestamptz NOT NULL);

-- Ordered by time, like ours.
CREATE FUNCTION id_now() RETURNS uuid LANGUAGE sql AS $$
    SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000000)::bigint), 16, '0')
            || substr(gen_random_uuid()::text, 20))::uuid
$$;
CREATE FUNCTION id_of(kind text, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$ SELECT md5(kind || n)::uuid $$;

INSERT INTO tokens SELECT sha256(n::text::bytea), id_of('user', n), id_of('org', n), 'infinity'
FROM generate_series(1, 64) n;
INSERT INTO accounts (org_id) SELECT id_of('org', n) FROM generate_series(1, 64) n;
INSERT INTO threads SELECT id_of('thread', n), id_of('org', n % 64 + 1), id_of('user', n % 64 + 1)
FROM generate_series(1, 20000) n;
INSERT INTO messages SELECT id_now(), id_of('org', n % 64 + 1), id_of('thread', n), NULL, id_of('user', n % 64 + 1),
    'user', '[delay 0] [words 1]', clock_timestamp() FROM generate_series(1, 20000) n;
INSERT INTO runs (id, org_id, thread_id, user_id, status, trace_id, persona_id, model, created_at, ended_at)
SELECT id_of('run', n), id_of('org', n % 64 + 1), id_of('thread', n), id_of('user', n % 64 + 1), 'completed',
    md5(n::text), 'normal@1', 'fake', clock_timestamp(), clock_timestamp() FROM generate_series(1, 3200) n;
INSERT INTO events SELECT id_of('run', n), seq, 'message.delta', '{{"content":"some words that a model said"}}',
    clock_timestamp() FROM generate_series(1, 3200) n, generate_series(1, 5) seq;
VACUUM ANALYZE;
