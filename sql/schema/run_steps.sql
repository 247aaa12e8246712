-- Tool results as committed steps, runs that wait for a human, limits of turns and tool calls.

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
SELECT make_tenant_table('run_tool_results');
GRANT SELECT, INSERT ON run_tool_results TO hostler_runner;

-- Bytes of a run's results; as run_event_bytes().
CREATE OR REPLACE FUNCTION run_result_bytes(run uuid) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN (SELECT coalesce(sum(octet_length(t.result::text)), 0) FROM run_tool_results t WHERE t.run_id = run);
END
$$;

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
    -- What the API read of an answer to a confirmation; arguments: those that were edited, as the tool gets them.
    decision text,
    arguments json,
    reason text,
    PRIMARY KEY (run_id, request_id),
    UNIQUE (run_id, turn, tool_call_id),
    FOREIGN KEY (org_id, run_id) REFERENCES runs (org_id, id)
);
SELECT make_tenant_table('run_inputs');
GRANT SELECT ON run_inputs TO hostler_runner;

-- Milliseconds a run has worked, without its waits. As volatile as its clock, or Postgres would not put it into the
-- statement that calls it.
CREATE OR REPLACE FUNCTION run_worked_ms(r runs) RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT r.worked_ms + coalesce((extract(epoch FROM clock_timestamp() - r.active_since) * 1000)::bigint, 0)
$$;

-- A tool's result of an owned run; false for a run that was lost. Sent again, it changes nothing.
CREATE OR REPLACE FUNCTION run_tool_commit(owner uuid, run uuid, run_epoch bigint, turn_number integer, call_id text,
    name text,
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

-- An owned run begins to wait: it has no owner any more. request: {request_id, kind, message, turn,
-- tool_call_id, tool_name, arguments}. When a cancel was asked for meanwhile, the run is cancelled instead.
CREATE OR REPLACE FUNCTION run_wait(owner uuid, run uuid, run_epoch bigint, final_seq bigint, request jsonb,
    wait_seconds bigint)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
BEGIN
    SELECT * INTO r FROM runs WHERE id = run AND owner_id = owner AND epoch = run_epoch FOR NO KEY UPDATE;
    IF r.id IS NULL THEN
        RETURN false;
    END IF;
    UPDATE runs SET status = 'waiting_for_input', owner_id = NULL, last_seq = final_seq,
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

-- The run, for its creator: who may only read it hears so before anything else.
CREATE OR REPLACE FUNCTION run_of_creator(run uuid) RETURNS runs
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := run_of_reader(run);
BEGIN
    IF r.created_by_user_id <> current_user_id() THEN
        PERFORM fail('policy.denied', 'only_creator_answers');
    END IF;
    RETURN r;
END
$$;

-- POST /v1/runs/{run_id}/input: by the creator, while the run waits; of any number of answers one wins.
-- bytes_setting: limit.input_bytes of the settings. decision, arguments and reason: what the API read, should a
-- confirmation be asked for; without a decision, fault says why the content is none: neither, decision, arguments or
-- reason (not of their form), or json, with the byte where it ends to be JSON and what the API found there. A question
-- takes any content.
CREATE OR REPLACE FUNCTION run_input(run uuid, content text, bytes_setting bigint, decision text, arguments json,
    reason text, fault text, json_offset bigint, json_found text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := run_of_creator(run);
    bytes_max bigint := entitlement_integer(r.org_id, 'limit.input_bytes', bytes_setting);
    decides boolean;
BEGIN
    IF octet_length(content) > bytes_max THEN
        PERFORM fail('validation.error', 'content_too_long', jsonb_build_object('bytes_max', bytes_max));
    END IF;
    SELECT * INTO STRICT r FROM runs WHERE id = run FOR NO KEY UPDATE;
    IF r.status <> 'waiting_for_input' THEN
        PERFORM fail('runs.not_waiting', 'run_has_status', jsonb_build_object('status', r.status));
    END IF;
    decides := r.input_request ->> 'kind' = 'tool_confirmation';
    IF decides AND decision IS NULL THEN
        CASE fault
            WHEN 'neither' THEN PERFORM fail('validation.error', 'content_decides_nothing');
            WHEN 'decision' THEN PERFORM fail('validation.error', 'decision_malformed');
            WHEN 'arguments' THEN PERFORM fail('validation.error', 'arguments_malformed');
            WHEN 'reason' THEN PERFORM fail('validation.error', 'reason_malformed');
            WHEN 'json' THEN PERFORM fail('validation.error', 'content_is_no_json',
                                          jsonb_build_object('offset', json_offset, 'found', json_found));
        END CASE;
    END IF;
    INSERT INTO run_inputs (run_id, request_id, org_id, turn, tool_call_id, kind, content, decision, arguments, reason)
    SELECT run, (r.input_request ->> 'request_id')::uuid, r.org_id, (r.input_request ->> 'turn')::integer,
           r.input_request ->> 'tool_call_id', r.input_request ->> 'kind', run_input.content,
           CASE WHEN decides THEN run_input.decision END, CASE WHEN decides THEN run_input.arguments END,
           CASE WHEN decides THEN run_input.reason END;
    INSERT INTO run_events (run_id, seq, type, data)
    VALUES (run, r.last_seq + 1, 'run.input_provided',
            json_build_object('request_id', r.input_request ->> 'request_id'));
    UPDATE runs SET status = 'running', last_seq = r.last_seq + 1, input_request = NULL, input_deadline = NULL,
        active_since = clock_timestamp(), after_input = true
    WHERE id = run;
END
$$;

-- Ends runs that nobody answered in time. Answers how many. Locks threads, then runs, then accounts.
CREATE OR REPLACE FUNCTION run_expire_inputs(at_most integer) RETURNS integer
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

-- Answers from before the decision was stored have none.
ALTER TABLE run_inputs ADD CONSTRAINT run_inputs_decision CHECK (
        CASE kind WHEN 'tool_confirmation' THEN coalesce(decision IN ('approve', 'deny'), false)
                  ELSE decision IS NULL AND reason IS NULL END
        AND (arguments IS NULL OR coalesce(decision = 'approve' AND json_typeof(arguments) = 'object', false)))
        NOT VALID;
REVOKE EXECUTE ON FUNCTION run_tool_commit, run_wait, run_expire_inputs, run_result_bytes FROM hostler_api;
