-- Runs and their turns, and how they are shown.
--
-- The run row is the queue. A run is claimable while status = 'running', not queued, and without an owner. A claim
-- gives it an owner and an epoch from a sequence; every write of a daemon names both, so a daemon that lost the run
-- changes no row. The lease is the daemon's (daemons.beat): when it is over, its runs are freed. A change of a run's
-- state locks the thread's row first, then the run's.

CREATE SEQUENCE run_epochs;
GRANT USAGE ON SEQUENCE run_epochs TO hostler_runner;

-- Whether a run with this request waits for programs, for a person whom a server asks, or for a budget: it counts in
-- limit.waiting_runs instead of limit.concurrent_runs. One expression, which Postgres puts into what calls it.
CREATE OR REPLACE FUNCTION waits_apart(input_request jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(input_request ->> 'kind' IN ('tool_results', 'elicitation', 'authorization', 'budget'), false)
$$;

-- Whether it waits for results of calls.
CREATE OR REPLACE FUNCTION waits_for_results(input_request jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(input_request ->> 'kind' = 'tool_results', false)
$$;

CREATE TABLE runs (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL,
    thread_id uuid NOT NULL,
    created_by_user_id uuid NOT NULL REFERENCES users,
    status text COLLATE "C" NOT NULL DEFAULT 'running',
    queued boolean NOT NULL DEFAULT false,  -- behind another run of its thread
    source text NOT NULL,
    trace_id text NOT NULL,
    persona_id text NOT NULL,
    persona_row_id uuid NOT NULL,  -- of personas, as model_id of llm_models: see models_and_personas_stay()
    model_id uuid NOT NULL,
    model text NOT NULL,
    provider_kind text NOT NULL,
    credential_name text NOT NULL,
    persona_model text NOT NULL DEFAULT '',
    total_input_tokens bigint NOT NULL DEFAULT 0,
    total_output_tokens bigint NOT NULL DEFAULT 0,
    total_cached_tokens bigint NOT NULL DEFAULT 0,
    total_cost_nano_usd bigint NOT NULL DEFAULT 0,
    credits_used bigint NOT NULL DEFAULT 0,
    credits_held bigint NOT NULL DEFAULT 0,
    credits_exhausted boolean NOT NULL DEFAULT false,  -- the last turn took what there was
    last_seq bigint NOT NULL DEFAULT 0,  -- exact while nobody owns the run
    turns integer NOT NULL DEFAULT 0,
    tool_calls integer NOT NULL DEFAULT 0,
    worked_ms bigint NOT NULL DEFAULT 0,  -- wall time before the last wait or take-over
    owner_id uuid,
    epoch bigint NOT NULL DEFAULT 0,
    crash_count integer NOT NULL DEFAULT 0,  -- take-overs in a row without a committed step
    take_overs integer NOT NULL DEFAULT 0,
    tried_with integer NOT NULL DEFAULT 0,  -- on trial with so many, itself too (run_trial); 0: it is not
    trials integer NOT NULL DEFAULT 0,  -- of the last crashes: as often it was on trial
    cancel_requested_at timestamptz,
    input_request jsonb,
    input_deadline timestamptz,
    error_code text,
    error_message text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at timestamptz,
    ended_at timestamptz,
    active_since timestamptz,  -- the wall clock of the run's work; null while it waits for a human
    after_input boolean NOT NULL DEFAULT false,  -- the next claim goes on where an answer was awaited
    cancel_reason text,
    event_bytes bigint NOT NULL DEFAULT 0,  -- of them the account counts these, until their month is dropped
    result_bytes bigint NOT NULL DEFAULT 0,  -- likewise of results, output and what it declares, which stay
    end_user text COLLATE "C",  -- the thread's
    metadata json NOT NULL DEFAULT '{}',
    tools json,  -- function tools that the run declares; null: none
    offered_tools json,  -- webhook and remote tools that it is offered since its first turn; null: it named none
    -- Whether an API key made it: then nobody's own connections are used.
    is_by_key boolean NOT NULL DEFAULT (current_request() ->> 'api_key_id' IS NOT NULL),
    response_format json,  -- the answer's, its own or its persona's; null: any text
    output json,  -- the answer of a run that completed, as its format wants it
    history_bytes bigint,  -- of the history that it was given (chat_runs.sql); null: its thread's messages
    is_bare boolean NOT NULL DEFAULT false,  -- its model alone: nothing of its persona but the name
    sampling json,  -- what its model is to be asked with, by the names of OpenAI; null: nothing
    deleted_at timestamptz,  -- as a response: its text and events are shown to nobody
    -- Members that its client sent in a foreign protocol and gets back (lib/formats), and `context`, which the model
    -- gets after the persona's prompt; null: nothing.
    client_facts json,
    -- {behind_seq, facts}, when such a client answered the run last: the answer to that begins behind that event, with
    -- these facts before client_facts.
    client_answer json,
    -- The key that made it; null: a login did.
    api_key_id uuid DEFAULT (current_request() ->> 'api_key_id')::uuid,
    budget_unit text,  -- of its own budget; null: it has none
    budget_amount bigint,  -- credits, or nano-dollars
    routes uuid[],  -- its persona's chain (fallbacks.sql), the first one first; null: it has no other route
    FOREIGN KEY (org_id, thread_id) REFERENCES threads (org_id, id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);

-- After ANALYZE on an idle table the planner believes that it is empty, and that an empty index is as good as any whose
-- condition a statement fulfils. It would read all of it, for one claim or one outcome. So ended_at identifies a run
-- that has not ended where the queue uses its status, and there is one index of queued runs and one of owned ones.
CREATE UNIQUE INDEX runs_active_of_thread ON runs (thread_id) WHERE ended_at IS NULL AND NOT queued;
-- Waiting runs, in the order that runs_round_robin() walks.
CREATE INDEX runs_claimable ON runs (org_id, created_by_user_id, id)
    WHERE status = 'running' AND NOT queued AND owner_id IS NULL;
CREATE INDEX runs_queue ON runs (org_id, thread_id, id) WHERE queued;

CREATE INDEX runs_owner ON runs (owner_id, id) WHERE owner_id IS NOT NULL;
CREATE INDEX runs_cancelled ON runs (owner_id) WHERE cancel_requested_at IS NOT NULL AND owner_id IS NOT NULL;
CREATE INDEX runs_input_deadline ON runs (input_deadline) WHERE status = 'waiting_for_input';
CREATE UNIQUE INDEX runs_of_org ON runs (org_id, id);
CREATE INDEX runs_of_org_status ON runs (org_id, status, id);
CREATE INDEX runs_of_user ON runs (org_id, created_by_user_id, id);
CREATE INDEX runs_of_end_user ON runs (org_id, end_user, id) WHERE end_user IS NOT NULL;
CREATE INDEX runs_of_thread ON runs (thread_id, id);
CREATE INDEX runs_active_of_user ON runs (created_by_user_id, id) WHERE ended_at IS NULL;
-- Runs that wait for somebody to connect with an MCP server.
CREATE INDEX runs_waiting_for_server ON runs ((input_request ->> 'server_id') COLLATE "C", id)
    WHERE status = 'waiting_for_input' AND input_request ->> 'kind' = 'authorization';
SELECT make_tenant_table('runs');
GRANT SELECT ON runs TO hostler_api;
GRANT SELECT, UPDATE ON runs TO hostler_runner;

-- Rules for a run's row in each state, for every writer: a terminal state never changes, and no run completes while it
-- waits for a human. A trigger and not a CHECK, because Postgres reads and plans the text of a CHECK again for every
-- statement that writes a row.
CREATE OR REPLACE FUNCTION runs_check_state() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.status <> NEW.status
       AND (OLD.status NOT IN ('running', 'waiting_for_input')
            OR (OLD.status = 'waiting_for_input' AND NEW.status = 'completed')) THEN
        RAISE EXCEPTION 'run %: % cannot become %', OLD.id, OLD.status, NEW.status;
    END IF;
    IF (CASE NEW.status
            WHEN 'running' THEN NEW.ended_at IS NULL AND NEW.input_request IS NULL
                                AND NOT (NEW.queued AND NEW.owner_id IS NOT NULL)
            WHEN 'waiting_for_input' THEN NEW.ended_at IS NULL AND NEW.input_request IS NOT NULL AND NOT NEW.queued
                                          AND NEW.owner_id IS NULL
            ELSE NEW.status IN ('completed', 'failed', 'cancelled') AND NEW.ended_at IS NOT NULL
                 AND NEW.input_request IS NULL AND NOT NEW.queued AND NEW.owner_id IS NULL END
        AND NEW.credits_held >= 0 AND NEW.source IN ('api', 'retry', 'enqueue', 'openai')) IS NOT TRUE THEN
        RAISE EXCEPTION 'run %: % does not go with the rest of its row', NEW.id, NEW.status
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER runs_state
    BEFORE INSERT OR UPDATE OF status, queued, source, credits_held, owner_id, input_request, ended_at ON runs
    FOR EACH ROW EXECUTE FUNCTION runs_check_state();

-- A finished model turn that the run goes on from, also on another daemon after a take-over. The turn with which a run
-- ends is stored only when it has opaque data, for the thread's next run; its text is the run's answer. Any other turn
-- without calls is an answer that did not fit response_format: it was discarded, and the next turn repairs it.
CREATE TABLE run_turns (
    run_id uuid NOT NULL,
    org_id uuid NOT NULL,
    turn integer NOT NULL CHECK (turn > 0),
    -- The model's answer, in order: [{type: text, text}, {type: call, id, name, arguments}, {type: opaque, place,
    -- origin, data}] (runner/models/parts.h). Opaque values are the provider's own, which it wants back.
    parts json NOT NULL DEFAULT '[]',
    last_seq bigint NOT NULL,  -- the last event that belongs to it
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run_id, turn),
    FOREIGN KEY (org_id, run_id) REFERENCES runs (org_id, id)
);
SELECT make_tenant_table('run_turns');
GRANT SELECT, INSERT ON run_turns TO hostler_runner;

CREATE OR REPLACE FUNCTION run_duration_ms(r runs) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN r.started_at IS NULL THEN 0
        ELSE ((date_part('epoch', coalesce(r.ended_at, statement_timestamp()) - r.started_at) * 1e6)::bigint + 500)
            / 1000 END
$$;

CREATE OR REPLACE FUNCTION run_cache_hit_rate(r runs) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN r.total_input_tokens = 0 OR r.total_cached_tokens = 0 THEN 0
        ELSE round(r.total_cached_tokens::numeric / r.total_input_tokens, 4)::double precision END
$$;

CREATE OR REPLACE FUNCTION run_cost_usd(r runs) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT r.total_cost_nano_usd::double precision / 1e9
$$;

CREATE OR REPLACE FUNCTION run_last_seq(r runs) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF r.owner_id IS NULL THEN
        RETURN r.last_seq;
    END IF;
    RETURN coalesce((SELECT e.seq FROM run_events e WHERE e.run_id = r.id ORDER BY e.seq DESC LIMIT 1), 0);
END
$$;

-- The same for a statement that takes the run from its owner, with the run's row locked: events whose commit the lock
-- waited for are newer than the statement's snapshot. Numbers after an older one would be those of existing events.
CREATE OR REPLACE FUNCTION run_last_seq_now(run uuid) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN coalesce((SELECT e.seq FROM run_events e WHERE e.run_id = run ORDER BY e.seq DESC LIMIT 1), 0);
END
$$;

CREATE OR REPLACE FUNCTION run_queue_position(org uuid, thread uuid, run uuid) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT count(*) FROM runs q WHERE q.org_id = org AND q.thread_id = thread AND q.queued AND q.id <= run);
END
$$;

-- Answers of the run, as messages and streams of its thread: removed with the thread, or as a deleted response.
CREATE OR REPLACE FUNCTION run_output_text(r runs) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN coalesce((SELECT r.output::text FROM threads t
                     WHERE t.id = r.thread_id AND (t.deleted_at IS NULL OR t.is_hidden) AND r.deleted_at IS NULL),
                    'null');
END
$$;

-- The functions that make a row's members hold no query, so that Postgres puts them into the statement that calls them;
-- a function in SQL that it cannot put there is planned again at every call, which costs more than the rest.

-- A run as its detail shows it: its members in their order (fcgi/http/items.h).
CREATE OR REPLACE FUNCTION run_item(r runs) RETURNS TABLE (run_id uuid, org_id uuid, thread_id uuid,
    created_by_user_id uuid, status text, created_at timestamptz, trace_id text, model text, persona_id text,
    end_user text, metadata json, total_input_tokens bigint, total_output_tokens bigint,
    total_cost_usd double precision, credits_used bigint, cache_hit_rate double precision, duration_ms bigint,
    last_seq bigint, queued boolean, queue_position bigint, error json, completed_at timestamptz, failed_at timestamptz,
    output json, waiting json)
LANGUAGE sql STABLE AS $$
    SELECT r.id, r.org_id, r.thread_id, r.created_by_user_id, r.status, r.created_at, r.trace_id, r.model,
        r.persona_id, r.end_user, r.metadata, r.total_input_tokens, r.total_output_tokens, run_cost_usd(r),
        r.credits_used, run_cache_hit_rate(r), run_duration_ms(r),
        CASE WHEN r.owner_id IS NULL THEN r.last_seq ELSE run_last_seq(r) END, r.queued,
        CASE WHEN r.queued THEN run_queue_position(r.org_id, r.thread_id, r.id) END,
        CASE WHEN r.status = 'failed' THEN json_build_object('code', r.error_code, 'message', r.error_message) END,
        CASE WHEN r.status = 'completed' THEN r.ended_at END, CASE WHEN r.status = 'failed' THEN r.ended_at END,
        CASE WHEN r.output IS NOT NULL THEN run_output_text(r)::json END,
        CASE WHEN r.input_request IS NOT NULL THEN run_waiting(r.input_request, r.created_at) END
$$;

-- A run as lists show it: its members in their order (fcgi/http/items.h).
CREATE OR REPLACE FUNCTION run_list_item(r runs, creator_name text, creator_email text) RETURNS TABLE (run_id uuid,
    org_id uuid, thread_id uuid, status text, model text, persona_id text, end_user text, metadata json,
    total_input_tokens bigint, total_output_tokens bigint, total_cost_usd double precision, duration_ms bigint,
    cache_hit_rate double precision, credits_used bigint, created_at timestamptz, completed_at timestamptz,
    failed_at timestamptz, created_by_user_id uuid, created_by_user_name text, created_by_email text, waiting json)
LANGUAGE sql STABLE AS $$
    SELECT r.id, r.org_id, r.thread_id, r.status, r.model, r.persona_id, r.end_user, r.metadata, r.total_input_tokens,
        r.total_output_tokens, run_cost_usd(r), run_duration_ms(r), run_cache_hit_rate(r), r.credits_used, r.created_at,
        CASE WHEN r.status = 'completed' THEN r.ended_at END, CASE WHEN r.status = 'failed' THEN r.ended_at END,
        r.created_by_user_id, creator_name, creator_email,
        CASE WHEN r.input_request IS NOT NULL THEN run_waiting(r.input_request, r.created_at) END
$$;

-- The wait of a run; since only for requests that have it. In plpgsql, which Postgres does not inline into the calling
-- statements, because hardly any run waits, and each reader of a run would pay for setting it up.
CREATE OR REPLACE FUNCTION run_waiting(input_request jsonb, created_at timestamptz) RETURNS json
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    IF input_request ->> 'kind' = 'budget' THEN
        RETURN json_build_object('kind', 'budget', 'since', input_request ->> 'since',
            'message', input_request ->> 'message', 'budget_id', input_request ->> 'budget_id',
            'name', input_request ->> 'name', 'renews_at', input_request ->> 'renews_at');
    END IF;
    RETURN json_build_object('kind', input_request ->> 'kind',
        'since', coalesce(input_request ->> 'since', rfc3339(created_at)),
        'message', coalesce(input_request ->> 'message', ''));
END
$$;

CREATE OR REPLACE FUNCTION run_admin_json(r runs) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('run_id', r.id, 'org_id', r.org_id, 'thread_id', r.thread_id, 'status', r.status,
        'model', r.model, 'persona_id', r.persona_id, 'end_user', r.end_user, 'metadata', r.metadata,
        'provider_kind', r.provider_kind,
        'credential_name', r.credential_name, 'persona_model', r.persona_model, 'duration_ms', run_duration_ms(r),
        'total_input_tokens', r.total_input_tokens, 'total_output_tokens', r.total_output_tokens,
        'total_cost_usd', run_cost_usd(r), 'created_at', rfc3339(r.created_at),
        'completed_at', rfc3339(r.ended_at), 'trace_id', r.trace_id,
        'error', CASE WHEN r.status = 'failed' THEN
            json_build_object('code', r.error_code, 'message', r.error_message) END)
$$;

-- Readers of a run in an organization: its creator; with org.runs.read_all everybody's except those of private threads.
-- Platform admins may, too. Inlined into the queries that ask it.
CREATE OR REPLACE FUNCTION may_read_run(creator uuid, is_private boolean, reader uuid, reads_all boolean)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT creator = reader OR (reads_all AND NOT is_private)
$$;

-- The run, when the caller may read it. SECURITY DEFINER for the sake of platform admins and of the 404's hint.
CREATE OR REPLACE FUNCTION run_of_reader(run uuid) RETURNS runs
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
BEGIN
    SELECT * INTO r FROM runs WHERE id = run;
    IF r.id IS NULL OR (r.org_id <> current_org() AND NOT is_platform_admin()) THEN
        PERFORM fail_missing('runs.not_found', 'runs', run);
    END IF;
    IF NOT is_platform_admin()
       AND NOT may_read_run(r.created_by_user_id, (SELECT t.is_private FROM threads t WHERE t.id = r.thread_id),
                            current_user_id(), has_permission('org.runs.read_all')) THEN
        PERFORM fail('policy.denied', 'run_of_another');
    END IF;
    RETURN r;
END
$$;

-- The id of the run whose events the caller may read; null when it was deleted, as a response or with its thread.
CREATE OR REPLACE FUNCTION run_id_of_reader(run uuid) RETURNS uuid
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := run_of_reader(run);
BEGIN
    RETURN (SELECT r.id FROM threads t
            WHERE t.id = r.thread_id AND (t.deleted_at IS NULL OR t.is_hidden) AND r.deleted_at IS NULL);
END
$$;
REVOKE EXECUTE ON FUNCTION run_last_seq_now FROM hostler_api;
