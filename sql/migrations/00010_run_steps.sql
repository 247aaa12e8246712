-- Why: tool results as committed steps, runs that wait for a human, limits of turns and tool calls.
-- Locks: ALTER TABLE runs takes ACCESS EXCLUSIVE for a moment (new columns without a rewrite).

-- A tool call's result. A call that has one is never made again.
CREATE TABLE run_tool_results (
    run_id uuid NOT NULL,
    org_id uuid NOT NULL,
    turn integer NOT NULL CHECK (turn > 0),
    tool_call_id text NOT NULL,
    tool_name text NOT NULL,
    result json,
    error_code text,
    error_message text,
    duration_ms bigint NOT NULL DEFAULT 0,
    last_seq bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run_id, turn, tool_call_id),
    FOREIGN KEY (org_id, run_id) REFERENCES runs (org_id, id),
    CHECK ((result IS NULL) = (error_code IS NOT NULL))
);

-- What a human answered to a waiting run, once a request.
CREATE TABLE run_inputs (
    run_id uuid NOT NULL,
    request_id uuid NOT NULL,
    org_id uuid NOT NULL,
    turn integer NOT NULL,
    tool_call_id text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('question', 'tool_confirmation')),
    content text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run_id, request_id),
    UNIQUE (run_id, turn, tool_call_id),
    FOREIGN KEY (org_id, run_id) REFERENCES runs (org_id, id)
);

DO $$
DECLARE
    tenant_table text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['run_tool_results', 'run_inputs'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('CREATE POLICY tenant ON %I USING (org_id = current_org()) WITH CHECK (org_id = current_org())',
                       tenant_table);
    END LOOP;
END
$$;
GRANT SELECT, INSERT ON run_tool_results TO hostler_runner;
GRANT SELECT ON run_inputs TO hostler_runner;

-- active_since: the wall clock of the run's work; null while it waits for a human. after_input: the next
-- claim goes on where an answer was awaited, and takes nothing over.
ALTER TABLE runs ADD COLUMN active_since timestamptz, ADD COLUMN after_input boolean NOT NULL DEFAULT false;

-- Milliseconds a run has worked, without its waits. As volatile as its clock, or Postgres would not put it into the
-- statement that calls it.
CREATE FUNCTION run_worked_ms(r runs) RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT r.worked_ms + coalesce((extract(epoch FROM clock_timestamp() - r.active_since) * 1000)::bigint, 0)
$$;

-- A tool's result of an owned run; false for a run that was lost. Sent again, it changes nothing.
CREATE FUNCTION run_tool_commit(owner uuid, run uuid, run_epoch bigint, turn_number integer, call_id text, name text,
    outcome json, code text, message text, took_ms bigint, final_seq bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
BEGIN
    SELECT * INTO r FROM runs WHERE id = run AND owner_id = owner AND epoch = run_epoch FOR NO KEY UPDATE;
    IF r.id IS NULL THEN
        RETURN false;
    END IF;
    INSERT INTO run_tool_results (run_id, org_id, turn, tool_call_id, tool_name, result, error_code, error_message,
                                  duration_ms, last_seq)
    VALUES (r.id, r.org_id, turn_number, call_id, name, outcome, code, left(message, 2000), took_ms, final_seq)
    ON CONFLICT (run_id, turn, tool_call_id) DO NOTHING;
    UPDATE runs SET crash_count = 0 WHERE id = r.id AND crash_count <> 0;
    RETURN true;
END
$$;
REVOKE EXECUTE ON FUNCTION run_tool_commit FROM hostler_api;

-- An owned run begins to wait: it has no owner any more. request: {request_id, kind, message, turn,
-- tool_call_id, tool_name, arguments}. When a cancel was asked for meanwhile, the run is cancelled instead.
CREATE FUNCTION run_wait(owner uuid, run uuid, run_epoch bigint, final_seq bigint, request jsonb, wait_seconds bigint)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
BEGIN
    SELECT * INTO r FROM runs WHERE id = run AND owner_id = owner AND epoch = run_epoch FOR NO KEY UPDATE;
    IF r.id IS NULL THEN
        RETURN false;
    END IF;
    UPDATE runs SET status = 'waiting_for_input', owner_id = NULL, lease_until = NULL, last_seq = final_seq,
        input_request = request, input_deadline = clock_timestamp() + make_interval(secs => wait_seconds),
        worked_ms = run_worked_ms(r), active_since = NULL, crash_count = 0
    WHERE id = r.id
    RETURNING * INTO STRICT r;
    PERFORM webhook_queue(r, 'run.waiting_for_input', clock_timestamp());
    IF r.cancel_requested_at IS NOT NULL THEN
        PERFORM run_cancel_locked(run, 'requested');
    END IF;
    RETURN true;
END
$$;
REVOKE EXECUTE ON FUNCTION run_wait FROM hostler_api;

-- The run, for its creator: who may only read it hears so before anything else.
CREATE FUNCTION run_of_creator(run uuid) RETURNS runs
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := run_of_reader(run);
BEGIN
    IF r.created_by_user_id <> current_user_id() THEN
        PERFORM fail('policy.denied', 'Only the creator of a run answers for it.');
    END IF;
    RETURN r;
END
$$;

-- POST /v1/runs/{run_id}/input: by the creator, while the run waits; of any number of answers one wins. bytes_setting:
-- limit.input_bytes of the settings.
CREATE FUNCTION run_input(run uuid, content text, bytes_setting bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := run_of_creator(run);
    request jsonb;
    word text := lower(btrim(content, E' \t\r\n'));
    answer jsonb;
    bytes_max bigint := entitlement_integer(r.org_id, 'limit.input_bytes', bytes_setting);
BEGIN
    IF octet_length(content) > bytes_max THEN
        PERFORM fail('validation.error', format('must have at most %s bytes', bytes_max),
                     '{"field": "content", "fault": "too_long"}');
    END IF;
    SELECT * INTO STRICT r FROM runs WHERE id = run FOR NO KEY UPDATE;
    IF r.status <> 'waiting_for_input' THEN
        PERFORM fail('runs.not_waiting', format('The run is %s.', r.status));
    END IF;
    request := r.input_request;
    IF request ->> 'kind' = 'tool_confirmation' AND word NOT IN ('approve', 'deny') THEN
        answer := json_object_or_null(content);
        IF answer IS NULL OR coalesce(answer ->> 'decision', '') NOT IN ('approve', 'deny')
           OR (answer ? 'arguments' AND jsonb_typeof(answer -> 'arguments') <> 'object') THEN
            PERFORM fail('validation.error',
                'answer approve, deny, or {"decision": "approve" or "deny", "arguments": {…}, "reason": "…"}',
                '{"field": "content", "fault": "bad_format"}');
        END IF;
    END IF;
    INSERT INTO run_inputs (run_id, request_id, org_id, turn, tool_call_id, kind, content)
    VALUES (run, (request ->> 'request_id')::uuid, r.org_id, (request ->> 'turn')::integer,
            request ->> 'tool_call_id', request ->> 'kind', run_input.content);
    INSERT INTO run_events (run_id, seq, type, data)
    VALUES (run, r.last_seq + 1, 'run.input_provided', json_build_object('request_id', request ->> 'request_id'));
    UPDATE runs SET status = 'running', last_seq = r.last_seq + 1, input_request = NULL, input_deadline = NULL,
        active_since = clock_timestamp(), after_input = true
    WHERE id = run;
END
$$;

CREATE FUNCTION json_object_or_null(content text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
DECLARE
    parsed jsonb;
BEGIN
    parsed := content::jsonb;
    RETURN CASE WHEN jsonb_typeof(parsed) = 'object' THEN parsed END;
EXCEPTION WHEN others THEN
    RETURN NULL;
END
$$;

-- Ends runs that nobody answered in time. Answers how many. Locks threads, then runs, then accounts.
CREATE FUNCTION run_expire_inputs(at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    late record;
    r runs;
    late_runs runs[] := '{}';
BEGIN
    FOR late IN SELECT id, thread_id FROM runs
                WHERE status = 'waiting_for_input' AND input_deadline < clock_timestamp()
                ORDER BY input_deadline LIMIT at_most LOOP
        PERFORM 1 FROM threads WHERE id = late.thread_id FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        SELECT * INTO r FROM runs WHERE id = late.id AND status = 'waiting_for_input'
            AND input_deadline < clock_timestamp() FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        late_runs := late_runs || r;
    END LOOP;
    PERFORM credit_lock(ARRAY(SELECT org_id FROM unnest(late_runs)));
    FOREACH r IN ARRAY late_runs LOOP
        INSERT INTO run_events (run_id, seq, type, data)
        VALUES (r.id, r.last_seq + 1, 'run.failed',
                json_build_object('code', 'run.input_timeout', 'message', 'Nobody answered in time.'));
        PERFORM run_end(r, 'failed', r.last_seq + 1, 'run.input_timeout', 'Nobody answered in time.',
            (SELECT coalesce(string_agg(t.text, '' ORDER BY t.turn), '') FROM run_turns t WHERE t.run_id = r.id), true);
        PERFORM pg_notify('hostler_control', r.id::text);
    END LOOP;
    RETURN cardinality(late_runs);
END
$$;
REVOKE EXECUTE ON FUNCTION run_expire_inputs FROM hostler_api;
