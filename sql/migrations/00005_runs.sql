-- Why: runs, their events, turns and usage; the daemons that execute them. Locks: none, everything is new.
--
-- The run row is the queue. A run is claimable while status = 'running', not queued, and without an
-- owner or with a lapsed lease. A claim gives it an owner and an epoch from a sequence; every write of a
-- daemon names both, so a daemon that lost the run changes no row. Whoever changes a run's state locks
-- the thread's row first, then the run's.

CREATE TABLE daemons (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    host text NOT NULL,
    place text NOT NULL,  -- the stream socket: one daemon at a time has it
    version text NOT NULL,
    runs integer NOT NULL DEFAULT 0,
    streams integer NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    stopped_at timestamptz
);
GRANT SELECT, INSERT, UPDATE, DELETE ON daemons TO hostler_runner;
GRANT SELECT ON daemons TO hostler_api;

CREATE SEQUENCE run_epochs;
GRANT USAGE ON SEQUENCE run_epochs TO hostler_runner;

CREATE TABLE runs (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    org_id uuid NOT NULL,
    thread_id uuid NOT NULL,
    created_by_user_id uuid NOT NULL REFERENCES users,
    status text NOT NULL DEFAULT 'running'
        CHECK (status IN ('running', 'waiting_for_input', 'completed', 'failed', 'cancelled')),
    queued boolean NOT NULL DEFAULT false,  -- behind another run of its thread
    source text NOT NULL CHECK (source IN ('api', 'retry', 'enqueue')),
    trace_id text NOT NULL,
    persona_id text NOT NULL,
    persona_row_id uuid NOT NULL REFERENCES personas,
    model_id uuid NOT NULL REFERENCES llm_models,
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
    last_seq bigint NOT NULL DEFAULT 0,  -- exact while nobody owns the run
    turns integer NOT NULL DEFAULT 0,
    tool_calls integer NOT NULL DEFAULT 0,
    worked_ms bigint NOT NULL DEFAULT 0,  -- wall time before the last wait or take-over
    owner_id uuid,
    epoch bigint NOT NULL DEFAULT 0,
    lease_until timestamptz,
    crash_count integer NOT NULL DEFAULT 0,  -- take-overs in a row without a committed step
    take_overs integer NOT NULL DEFAULT 0,
    cancel_requested_at timestamptz,
    input_request jsonb,
    input_deadline timestamptz,
    error_code text,
    error_message text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at timestamptz,
    ended_at timestamptz,
    FOREIGN KEY (org_id, thread_id) REFERENCES threads (org_id, id),
    CHECK ((ended_at IS NOT NULL) = (status IN ('completed', 'failed', 'cancelled'))),
    CHECK (NOT queued OR (status = 'running' AND owner_id IS NULL)),
    CHECK (owner_id IS NULL OR status = 'running'),
    CHECK ((input_request IS NOT NULL) = (status = 'waiting_for_input')),
    CHECK ((owner_id IS NULL) = (lease_until IS NULL))
) WITH (fillfactor = 80);

-- Whoever writes: a terminal state never changes, and no run completes while it waits for a human.
CREATE FUNCTION runs_refuse_transition() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF OLD.status NOT IN ('running', 'waiting_for_input')
       OR (OLD.status = 'waiting_for_input' AND NEW.status = 'completed') THEN
        RAISE EXCEPTION 'run %: % cannot become %', OLD.id, OLD.status, NEW.status;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER runs_transition BEFORE UPDATE OF status ON runs
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION runs_refuse_transition();

CREATE UNIQUE INDEX runs_active_of_thread ON runs (thread_id)
    WHERE status IN ('running', 'waiting_for_input') AND NOT queued;
CREATE INDEX runs_queue_of_thread ON runs (thread_id, id) WHERE queued;
CREATE INDEX runs_claimable ON runs (id) WHERE status = 'running' AND NOT queued AND owner_id IS NULL;
CREATE INDEX runs_leased ON runs (lease_until) WHERE owner_id IS NOT NULL;
CREATE INDEX runs_owner ON runs (owner_id) WHERE owner_id IS NOT NULL;
CREATE INDEX runs_active_of_org ON runs (org_id)
    WHERE status IN ('running', 'waiting_for_input') AND NOT queued;
CREATE INDEX runs_queue_of_org ON runs (org_id) WHERE queued;
CREATE INDEX runs_input_deadline ON runs (input_deadline) WHERE status = 'waiting_for_input';
CREATE INDEX runs_of_org ON runs (org_id, id);
CREATE INDEX runs_of_org_status ON runs (org_id, status, id);
CREATE INDEX runs_of_user ON runs (org_id, created_by_user_id, id);
CREATE INDEX runs_of_thread ON runs (thread_id, id);

-- data is kept as the text that was sent (json, not jsonb): whoever replays reads the same bytes as
-- whoever was there. Partitioned by the run's id, which begins with its time: one partition a read.
CREATE TABLE run_events (
    run_id uuid NOT NULL,
    seq bigint NOT NULL CHECK (seq > 0),
    type text NOT NULL,
    data json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run_id, seq)
) PARTITION BY RANGE (run_id);

-- Makes the partitions of last month to three months ahead. Called by migrate and by the daemon's upkeep.
CREATE FUNCTION run_events_make_partitions() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    month timestamptz;
BEGIN
    FOR i IN -1..3 LOOP
        month := date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
                 + make_interval(months => i);
        EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF run_events FOR VALUES FROM (%L) TO (%L)',
            'run_events_' || to_char(month AT TIME ZONE 'UTC', 'YYYY_MM'), uuidv7_floor(month),
            uuidv7_floor((month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC'));
    END LOOP;
END
$$;
REVOKE EXECUTE ON FUNCTION run_events_make_partitions FROM hostler_api;
SELECT run_events_make_partitions();

-- A finished model turn. A run that is taken over goes on behind its last one.
CREATE TABLE run_turns (
    run_id uuid NOT NULL REFERENCES runs,
    org_id uuid NOT NULL,
    turn integer NOT NULL CHECK (turn > 0),
    text text NOT NULL,
    tool_calls json NOT NULL DEFAULT '[]',
    last_seq bigint NOT NULL,  -- the last event that belongs to it
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run_id, turn)
);

CREATE TABLE usage_records (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    org_id uuid NOT NULL,
    run_id uuid NOT NULL,
    turn integer NOT NULL,
    user_id uuid NOT NULL,
    model text NOT NULL,
    input_tokens bigint NOT NULL CHECK (input_tokens >= 0),
    output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
    cache_read_tokens bigint NOT NULL CHECK (cache_read_tokens >= 0),
    cache_write_tokens bigint NOT NULL CHECK (cache_write_tokens >= 0),
    cost_nano_usd bigint NOT NULL CHECK (cost_nano_usd >= 0),
    credits bigint NOT NULL DEFAULT 0 CHECK (credits >= 0),
    measured boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (run_id, turn)
);
CREATE INDEX usage_records_org ON usage_records (org_id, id);

DO $$
DECLARE
    tenant_table text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['runs', 'run_turns', 'usage_records'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('CREATE POLICY tenant ON %I USING (org_id = current_org()) WITH CHECK (org_id = current_org())',
                       tenant_table);
    END LOOP;
END
$$;
GRANT SELECT, INSERT ON runs TO hostler_api;
GRANT SELECT ON usage_records TO hostler_api;
GRANT SELECT, UPDATE ON runs TO hostler_runner;
GRANT SELECT, INSERT ON run_events, run_turns, usage_records TO hostler_runner;
GRANT SELECT ON users, orgs, org_members, sessions, access_tokens, api_keys TO hostler_runner;

CREATE FUNCTION run_duration_ms(r runs) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN r.started_at IS NULL THEN 0
        ELSE (extract(epoch FROM coalesce(r.ended_at, clock_timestamp()) - r.started_at) * 1000)::bigint END
$$;
CREATE FUNCTION run_cache_hit_rate(r runs) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN r.total_input_tokens = 0 THEN 0
        ELSE round(r.total_cached_tokens::numeric / r.total_input_tokens, 4)::double precision END
$$;
CREATE FUNCTION run_cost_usd(r runs) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (r.total_cost_nano_usd / 1e9)::double precision
$$;
CREATE FUNCTION run_last_seq(r runs) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT CASE WHEN r.owner_id IS NULL THEN r.last_seq
        ELSE coalesce((SELECT e.seq FROM run_events e WHERE e.run_id = r.id ORDER BY e.seq DESC LIMIT 1), 0) END
$$;

CREATE FUNCTION run_json(r runs) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_build_object('run_id', r.id, 'org_id', r.org_id, 'thread_id', r.thread_id,
        'created_by_user_id', r.created_by_user_id, 'status', r.status, 'created_at', rfc3339(r.created_at),
        'trace_id', r.trace_id, 'model', r.model, 'persona_id', r.persona_id,
        'total_input_tokens', r.total_input_tokens, 'total_output_tokens', r.total_output_tokens,
        'total_cost_usd', run_cost_usd(r), 'credits_used', r.credits_used,
        'cache_hit_rate', run_cache_hit_rate(r), 'duration_ms', run_duration_ms(r),
        'last_seq', run_last_seq(r),
        'queued', r.queued,
        'queue_position', CASE WHEN r.queued THEN
            (SELECT count(*) FROM runs q WHERE q.thread_id = r.thread_id AND q.queued AND q.id <= r.id) END,
        'error', CASE WHEN r.status = 'failed' THEN
            json_build_object('code', r.error_code, 'message', r.error_message) END,
        'completed_at', CASE WHEN r.status = 'completed' THEN rfc3339(r.ended_at) END,
        'failed_at', CASE WHEN r.status = 'failed' THEN rfc3339(r.ended_at) END)
$$;

CREATE FUNCTION run_list_json(r runs, user_name text, user_email text) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('run_id', r.id, 'org_id', r.org_id, 'thread_id', r.thread_id, 'status', r.status,
        'model', r.model, 'persona_id', r.persona_id, 'total_input_tokens', r.total_input_tokens,
        'total_output_tokens', r.total_output_tokens, 'total_cost_usd', run_cost_usd(r),
        'duration_ms', run_duration_ms(r), 'cache_hit_rate', run_cache_hit_rate(r), 'credits_used', r.credits_used,
        'created_at', rfc3339(r.created_at),
        'completed_at', CASE WHEN r.status = 'completed' THEN rfc3339(r.ended_at) END,
        'failed_at', CASE WHEN r.status = 'failed' THEN rfc3339(r.ended_at) END,
        'created_by_user_id', r.created_by_user_id, 'created_by_user_name', coalesce(user_name, ''),
        'created_by_email', coalesce(user_email, ''))
$$;

CREATE FUNCTION run_admin_json(r runs) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('run_id', r.id, 'org_id', r.org_id, 'thread_id', r.thread_id, 'status', r.status,
        'model', r.model, 'persona_id', r.persona_id, 'provider_kind', r.provider_kind,
        'credential_name', r.credential_name, 'persona_model', r.persona_model, 'duration_ms', run_duration_ms(r),
        'total_input_tokens', r.total_input_tokens, 'total_output_tokens', r.total_output_tokens,
        'total_cost_usd', run_cost_usd(r), 'created_at', rfc3339(r.created_at),
        'completed_at', rfc3339(r.ended_at), 'trace_id', r.trace_id,
        'error', CASE WHEN r.status = 'failed' THEN
            json_build_object('code', r.error_code, 'message', r.error_message) END)
$$;

-- The run, when the caller may see it: its creator, org.runs.read_all unless the thread is private,
-- a platform admin. SECURITY DEFINER for the sake of platform admins and of the 404's hint.
CREATE FUNCTION run_of_reader(run uuid) RETURNS runs
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
    place record;
BEGIN
    SELECT * INTO r FROM runs WHERE id = run;
    IF r.id IS NULL OR (r.org_id <> current_org() AND NOT is_platform_admin()) THEN
        PERFORM fail('runs.not_found', CASE WHEN EXISTS
            (SELECT 1 FROM org_members m WHERE m.org_id = r.org_id AND m.user_id = current_user_id())
            THEN format('Another organization of yours has this run: send X-Org-Id: %s.', r.org_id) ELSE '' END);
    END IF;
    IF r.created_by_user_id = current_user_id() OR is_platform_admin() THEN
        RETURN r;
    END IF;
    SELECT t.is_private INTO place FROM threads t WHERE t.id = r.thread_id;
    IF NOT has_permission('org.runs.read_all') OR place.is_private THEN
        PERFORM fail('policy.denied', 'The run belongs to somebody else in the organization.');
    END IF;
    RETURN r;
END
$$;

-- The runs of the current organization, newest first: all of them for org.runs.read_all (but those of
-- other people's private threads), the caller's own otherwise.
CREATE FUNCTION run_page(page_limit integer, before uuid, wanted_status text) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF has_permission('org.runs.read_all') THEN
        RETURN QUERY SELECT r.id, run_list_json(r, u.username, u.email)
            FROM runs r JOIN threads t ON t.id = r.thread_id JOIN users u ON u.id = r.created_by_user_id
            WHERE r.org_id = current_org() AND (before IS NULL OR r.id < before)
                  AND (wanted_status IS NULL OR r.status = wanted_status)
                  AND (NOT t.is_private OR r.created_by_user_id = current_user_id())
            ORDER BY r.id DESC LIMIT page_limit;
    ELSE
        RETURN QUERY SELECT r.id, run_list_json(r, u.username, u.email)
            FROM runs r JOIN users u ON u.id = r.created_by_user_id
            WHERE r.org_id = current_org() AND r.created_by_user_id = current_user_id()
                  AND (before IS NULL OR r.id < before) AND (wanted_status IS NULL OR r.status = wanted_status)
            ORDER BY r.id DESC LIMIT page_limit;
    END IF;
END
$$;

CREATE FUNCTION thread_run_page(thread uuid, page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM thread_of_caller(thread, false);
    RETURN QUERY SELECT r.id, json_build_object('run_id', r.id, 'status', r.status, 'created_at', rfc3339(r.created_at))
        FROM runs r WHERE r.thread_id = thread AND (before IS NULL OR r.id < before)
        ORDER BY r.id DESC LIMIT page_limit;
END
$$;

-- Makes the next queued run of a thread its active one. The thread is locked by the caller.
CREATE FUNCTION run_activate_next(thread uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    next_run uuid;
BEGIN
    UPDATE runs SET queued = false
    WHERE id = (SELECT q.id FROM runs q WHERE q.thread_id = thread AND q.queued ORDER BY q.id LIMIT 1)
    RETURNING id INTO next_run;
    UPDATE threads SET active_run_id = next_run, updated_at = clock_timestamp() WHERE id = thread;
    RETURN next_run;
END
$$;

-- Ends a run, in the transaction of its terminal event: state, assistant message, the message that a
-- failed retry had hidden, the thread's next run. The caller holds the thread's lock and has checked
-- that it may end the run. Everything else that belongs to the end of a run is added here.
CREATE FUNCTION run_end(run uuid, new_status text, final_seq bigint, code text, message text,
                        answer text, is_incomplete boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    ended runs;
BEGIN
    UPDATE runs SET status = new_status, queued = false, last_seq = final_seq, ended_at = clock_timestamp(),
        owner_id = NULL, lease_until = NULL, input_request = NULL, input_deadline = NULL,
        error_code = code, error_message = left(message, 2000)
    WHERE id = run AND status IN ('running', 'waiting_for_input')
    RETURNING * INTO STRICT ended;
    IF answer <> '' THEN
        INSERT INTO messages (org_id, thread_id, run_id, role, content, incomplete, hidden_by_run_id)
        VALUES (ended.org_id, ended.thread_id, ended.id, 'assistant', answer, is_incomplete,
                CASE WHEN ended.source = 'retry' AND new_status <> 'completed' THEN ended.id END);
    END IF;
    IF ended.source = 'retry' AND new_status <> 'completed' THEN
        UPDATE messages SET hidden_by_run_id = NULL WHERE hidden_by_run_id = ended.id AND run_id <> ended.id;
    END IF;
    IF (SELECT active_run_id FROM threads WHERE id = ended.thread_id) IS NOT DISTINCT FROM ended.id THEN
        PERFORM run_activate_next(ended.thread_id);
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION run_end, run_activate_next FROM hostler_api;

-- Cancels a run whose thread is locked: at once when no daemon owns it, else by asking the owner.
-- A terminal run stays as it is. True when an owner must be told.
CREATE FUNCTION run_cancel_locked(run uuid, why text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
BEGIN
    SELECT * INTO STRICT r FROM runs WHERE id = run FOR UPDATE;
    IF r.status NOT IN ('running', 'waiting_for_input') THEN
        RETURN false;
    END IF;
    IF r.owner_id IS NOT NULL THEN
        UPDATE runs SET cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp()) WHERE id = run;
        RETURN true;
    END IF;
    INSERT INTO run_events (run_id, seq, type, data)
    VALUES (run, r.last_seq + 1, 'run.cancelled', json_build_object('reason', why));
    PERFORM run_end(run, 'cancelled', r.last_seq + 1, NULL, NULL,
                    (SELECT coalesce(string_agg(t.text, '' ORDER BY t.turn), '') FROM run_turns t WHERE t.run_id = run),
                    true);
    RETURN true;
END
$$;
REVOKE EXECUTE ON FUNCTION run_cancel_locked FROM hostler_api;

-- POST /v1/runs/{run_id}:cancel: the creator, org.runs.read_all or a platform admin, in every state.
CREATE FUNCTION run_cancel(run uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := run_of_reader(run);
BEGIN
    PERFORM 1 FROM threads WHERE id = r.thread_id FOR UPDATE;
    IF run_cancel_locked(run, 'requested') THEN
        PERFORM audit('runs.cancel', 'run', run::text, r.org_id);
    END IF;
END
$$;

-- A new run of a thread that is locked and belongs to the caller. is_queued: behind the active one.
-- The account's row serialises the organization, so that its limits are exact.
CREATE FUNCTION run_insert(place threads, route uuid, persona_id text, run_source text, is_queued boolean,
                           active_max bigint, queued_max bigint) RETURNS runs
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    persona personas := persona_resolve(persona_id);
    chosen llm_models := route_resolve(route, persona.model);
    provider llm_providers;
    made runs;
BEGIN
    SELECT * INTO STRICT provider FROM llm_providers WHERE id = chosen.provider_id;
    IF NOT EXISTS (SELECT 1 FROM messages WHERE thread_id = place.id AND hidden_by_run_id IS NULL) THEN
        PERFORM fail('runs.no_messages', format('POST /v1/threads/%s/messages first.', place.id));
    END IF;
    PERFORM 1 FROM credit_accounts WHERE org_id = place.org_id FOR UPDATE;
    IF is_queued THEN
        IF (SELECT count(*) FROM runs WHERE org_id = place.org_id AND queued) >= queued_max THEN
            PERFORM fail('runs.limit_exceeded', format('At most %s runs of an organization may be queued.', queued_max),
                         '{"retry_after": 5}');
        END IF;
    ELSIF (SELECT count(*) FROM runs WHERE org_id = place.org_id AND status IN ('running', 'waiting_for_input')
           AND NOT queued) >= active_max THEN
        PERFORM fail('runs.limit_exceeded', format('At most %s runs of an organization may be active.', active_max),
                     '{"retry_after": 5}');
    END IF;
    INSERT INTO runs (org_id, thread_id, created_by_user_id, queued, source, trace_id, persona_id, persona_row_id,
                      model_id, model, provider_kind, credential_name, persona_model)
    VALUES (place.org_id, place.id, current_user_id(), is_queued, run_source,
            coalesce(current_request() ->> 'trace_id', ''), persona.persona_key || '@' || persona.version, persona.id,
            chosen.id, chosen.model, provider.provider_kind, provider.name, coalesce(persona.model, ''))
    RETURNING * INTO made;
    IF NOT is_queued THEN
        UPDATE threads SET active_run_id = made.id, updated_at = made.created_at WHERE id = place.id;
    END IF;
    RETURN made;
END
$$;
REVOKE EXECUTE ON FUNCTION run_insert FROM hostler_api;

CREATE FUNCTION run_busy(active uuid) RETURNS void
LANGUAGE sql SET search_path = public, pg_catalog AS $$
    SELECT fail('runs.thread_busy', 'Wait for it, cancel it, or choose a multitask_strategy.',
                jsonb_build_object('active_run_id', active))
$$;

-- POST /v1/threads/{thread_id}/runs. strategy: reject, enqueue or interrupt (contract section 4).
CREATE FUNCTION run_create(thread uuid, route uuid, persona_id text, strategy text,
                           active_max bigint, queued_max bigint) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    place threads;
    made runs;
    waiting uuid;
BEGIN
    place := thread_of_caller_locked(thread);
    IF place.active_run_id IS NOT NULL THEN
        IF strategy = 'reject' THEN
            -- What is wrong with the input is told before what is in the way.
            PERFORM route_resolve(route, (persona_resolve(persona_id)).model);
            PERFORM run_busy(place.active_run_id);
        END IF;
        made := run_insert(place, route, persona_id, 'enqueue', true, active_max, queued_max);
        IF strategy = 'interrupt' THEN
            FOR waiting IN SELECT id FROM runs WHERE thread_id = place.id AND queued AND id <> made.id ORDER BY id LOOP
                PERFORM run_cancel_locked(waiting, 'interrupted');
            END LOOP;
            PERFORM run_cancel_locked(place.active_run_id, 'interrupted');
        END IF;
    ELSE
        made := run_insert(place, route, persona_id, 'api', false, active_max, queued_max);
    END IF;
    RETURN json_build_object('run_id', made.id, 'trace_id', made.trace_id);
END
$$;

-- POST /v1/threads/{thread_id}:retry: the last answer is hidden, unless a run without an answer came behind
-- it; a run with the last one's route and persona begins.
CREATE FUNCTION run_retry(thread uuid, active_max bigint, queued_max bigint) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    place threads := thread_of_caller_locked(thread);
    last_run runs;
    answer uuid;
    made runs;
BEGIN
    IF place.active_run_id IS NOT NULL THEN
        PERFORM run_busy(place.active_run_id);
    END IF;
    SELECT * INTO last_run FROM runs WHERE thread_id = place.id ORDER BY id DESC LIMIT 1;
    IF last_run.id IS NULL THEN
        PERFORM fail('runs.nothing_to_retry', format('POST /v1/threads/%s/runs starts the first run.', place.id));
    END IF;
    SELECT id INTO answer FROM messages
    WHERE thread_id = place.id AND role = 'assistant' AND hidden_by_run_id IS NULL ORDER BY id DESC LIMIT 1;
    made := run_insert(place, last_run.model_id, last_run.persona_id, 'retry', false, active_max, queued_max);
    UPDATE messages SET hidden_by_run_id = made.id
    WHERE id = answer AND (run_id = last_run.id OR last_run.status = 'completed' OR id > (
        SELECT max(m.id::text)::uuid FROM messages m WHERE m.thread_id = place.id AND m.role = 'user'
        AND m.hidden_by_run_id IS NULL));
    RETURN json_build_object('run_id', made.id, 'trace_id', made.trace_id);
END
$$;

-- As thread_of_caller with its lock, for functions that run as the owner: names the organization itself.
CREATE FUNCTION thread_of_caller_locked(thread uuid) RETURNS threads
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    place threads;
BEGIN
    SELECT * INTO place FROM threads
    WHERE id = thread AND org_id = current_org() AND deleted_at IS NULL FOR UPDATE;
    IF place.id IS NULL THEN
        PERFORM thread_missing(thread);
    END IF;
    IF place.created_by_user_id <> current_user_id() THEN
        PERFORM fail('policy.denied', 'Only the creator of a thread reads and writes it.');
    END IF;
    RETURN place;
END
$$;
REVOKE EXECUTE ON FUNCTION thread_of_caller_locked FROM hostler_api;

-- DELETE /v1/threads/{thread_id}: soft; queued and active runs are cancelled. Answers the run that was
-- active, for the bell.
CREATE FUNCTION thread_delete(thread uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    place threads := thread_of_caller_locked(thread);
    waiting uuid;
BEGIN
    FOR waiting IN SELECT id FROM runs WHERE thread_id = place.id AND queued ORDER BY id LOOP
        PERFORM run_cancel_locked(waiting, 'thread_deleted');
    END LOOP;
    IF place.active_run_id IS NOT NULL THEN
        PERFORM run_cancel_locked(place.active_run_id, 'thread_deleted');
    END IF;
    UPDATE threads SET deleted_at = clock_timestamp(), updated_at = clock_timestamp() WHERE id = place.id;
    PERFORM audit('threads.delete', 'thread', place.id::text, place.org_id);
    RETURN place.active_run_id;
END
$$;

-- A daemon begins. place is its stream socket, which only one daemon of a host can hold (a file lock),
-- so what its predecessor at that place owned is free at once, without waiting for leases.
CREATE FUNCTION daemon_start(host text, place text, version text) RETURNS uuid
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    me uuid;
BEGIN
    UPDATE runs SET owner_id = NULL, lease_until = NULL, last_seq = run_last_seq(runs),
        crash_count = crash_count + 1, take_overs = take_overs + 1
    WHERE owner_id IN (SELECT d.id FROM daemons d WHERE d.host = daemon_start.host AND d.place = daemon_start.place
                       AND d.stopped_at IS NULL);
    UPDATE daemons AS d SET stopped_at = clock_timestamp()
    WHERE d.host = daemon_start.host AND d.place = daemon_start.place AND d.stopped_at IS NULL;
    INSERT INTO daemons (host, place, version) VALUES (daemon_start.host, daemon_start.place, daemon_start.version)
    RETURNING id INTO me;
    RETURN me;
END
$$;
REVOKE EXECUTE ON FUNCTION daemon_start FROM hostler_api;

-- A finished turn of an owned run: the turn, its usage, the run's totals; false for a run that was lost.
-- The single place where a turn is paid for.
CREATE FUNCTION run_turn_commit(owner uuid, run uuid, run_epoch bigint, turn_number integer, turn_text text,
    calls json, turn_last_seq bigint, input_tokens bigint, output_tokens bigint, cache_read_tokens bigint,
    cache_write_tokens bigint, is_measured boolean, is_finished boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
    price llm_models;
    cost bigint;
BEGIN
    SELECT * INTO r FROM runs WHERE id = run AND owner_id = owner AND epoch = run_epoch FOR NO KEY UPDATE;
    IF r.id IS NULL THEN
        RETURN false;
    END IF;
    SELECT * INTO STRICT price FROM llm_models WHERE id = r.model_id;
    -- Dollars per million tokens are thousands of nano-dollars per token. Cached tokens are part of input.
    cost := ceil(1000 * (greatest(input_tokens - cache_read_tokens - cache_write_tokens, 0) * price.input_usd_per_mtok
                         + cache_read_tokens * price.cache_read_usd_per_mtok
                         + cache_write_tokens * price.cache_write_usd_per_mtok
                         + output_tokens * price.output_usd_per_mtok));
    INSERT INTO usage_records (org_id, run_id, turn, user_id, model, input_tokens, output_tokens, cache_read_tokens,
                               cache_write_tokens, cost_nano_usd, measured)
    VALUES (r.org_id, r.id, turn_number, r.created_by_user_id, r.model, input_tokens, output_tokens,
            cache_read_tokens, cache_write_tokens, cost, is_measured)
    ON CONFLICT (run_id, turn) DO NOTHING;
    -- A batch whose answer was lost is sent again; the turn is paid for once.
    IF NOT FOUND THEN
        RETURN true;
    END IF;
    -- A turn that was broken off is paid for, but is no step to go on from.
    IF is_finished THEN
        INSERT INTO run_turns (run_id, org_id, turn, text, tool_calls, last_seq)
        VALUES (r.id, r.org_id, turn_number, turn_text, calls, turn_last_seq);
    END IF;
    UPDATE runs SET turns = turn_number, crash_count = 0,
        total_input_tokens = total_input_tokens + run_turn_commit.input_tokens,
        total_output_tokens = total_output_tokens + run_turn_commit.output_tokens,
        total_cached_tokens = total_cached_tokens + cache_read_tokens,
        total_cost_nano_usd = total_cost_nano_usd + cost
    WHERE id = r.id;
    RETURN true;
END
$$;
REVOKE EXECUTE ON FUNCTION run_turn_commit FROM hostler_api;

-- Ends an owned run; false for a run that was lost. The thread is locked by an earlier statement.
CREATE FUNCTION run_finish(owner uuid, run uuid, run_epoch bigint, new_status text, final_seq bigint,
    code text, message text, answer text, is_incomplete boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM 1 FROM runs WHERE id = run AND owner_id = owner AND epoch = run_epoch FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM run_end(run, new_status, final_seq, code, message, answer, is_incomplete);
    RETURN true;
END
$$;
REVOKE EXECUTE ON FUNCTION run_finish FROM hostler_api;
