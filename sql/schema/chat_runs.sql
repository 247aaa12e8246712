-- Runs that are created with their whole history, like OpenAI's chat completions. Each has a thread of its own that
-- nobody sees, without messages. The history for its model is stored beside the run.

-- messages: [{role: system, user, assistant or tool, name, content, parts (of one with images, as messages.parts),
-- tool_calls: [{id, name, arguments}], tool_call_id}], oldest first, as the API read them. Removed with the run's
-- events (run_events_free); without keeps: 10 minutes after its end.
CREATE TABLE run_histories (
    run_id uuid PRIMARY KEY,
    org_id uuid NOT NULL,
    messages json NOT NULL,
    keeps boolean NOT NULL,
    put_back uuid[],  -- earlier runs whose left calls it answers, oldest first; null: none
    context json,  -- what comes before messages, of a response that goes on from a thread it is not in; null: nothing
    continues boolean NOT NULL DEFAULT false,  -- what its thread holds comes before them (responses.sql)
    FOREIGN KEY (org_id, run_id) REFERENCES runs (org_id, id)
);
CREATE INDEX run_histories_to_forget ON run_histories (run_id) WHERE NOT keeps;
SELECT make_tenant_table('run_histories');
GRANT SELECT ON run_histories TO hostler_runner;

-- Raises what a caller wants of a model that Anthropic's API has no word for, or bounds otherwise: it is passed on or
-- refused by name, never left out. A penalty of 0 asks for nothing; a stop sequence of white space alone is refused
-- there.
CREATE OR REPLACE FUNCTION anthropic_sampling_check(sampling json) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    unknown text := (SELECT min(m.key) FROM json_each_text(sampling) AS m
                     WHERE CASE WHEN m.key IN ('presence_penalty', 'frequency_penalty') THEN m.value::float8 <> 0
                                ELSE m.key = 'seed' END);
BEGIN
    IF unknown IS NOT NULL THEN
        PERFORM fail('validation.error', 'sampling_unknown_there', jsonb_build_object('field', unknown));
    ELSIF (sampling ->> 'temperature')::float8 > 1 THEN
        PERFORM fail('validation.error', 'temperature_over_one');
    ELSIF EXISTS (SELECT FROM json_array_elements_text(sampling -> 'stop') AS s (text) WHERE s.text !~ '\S') THEN
        PERFORM fail('validation.error', 'stop_is_blank');
    END IF;
END
$$;

-- POST /v1/openai/chat/completions. With a route: its model alone, without anything of a persona's, and its name in the
-- answer. The history counts as what a run declares does. function_tools: the caller's; a turn that calls one ends the
-- run (left_calls.sql). answered_calls: ids of the calls that the history answers, the newest last; missing_calls: of
-- those that it does not hold.
CREATE OR REPLACE FUNCTION chat_run_create(persona_id text, route uuid, history json, sampling json, end_user text,
    metadata json, keeps boolean, limit_concurrent_runs bigint, limit_concurrent_runs_per_user bigint,
    limit_stored_bytes bigint, credit_run_hold bigint, response_format json, function_tools json DEFAULT NULL,
    answered_calls text[] DEFAULT NULL, missing_calls text[] DEFAULT NULL, OUT item json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    is_bare CONSTANT boolean := route IS NOT NULL;
    moment CONSTANT timestamptz := clock_timestamp();
    thread uuid;
    run uuid;
    given json;  -- the history with the files that it names or brings
BEGIN
    -- The answer is what the run says.
    IF NOT has_permission('data.runs.read') THEN
        PERFORM fail('auth.forbidden', 'permission_missing', jsonb_build_object('permission', 'data.runs.read'));
    END IF;
    PERFORM streams_check();
    IF cardinality(answered_calls) > 0 THEN
        PERFORM left_calls_check(answered_calls, missing_calls, 'messages');
    END IF;
    given := history_parts_taken(chat_run_create.history);
    INSERT INTO threads (org_id, created_by_user_id, end_user, active_run_id, created_at, updated_at, deleted_at,
                         is_hidden)
    VALUES (current_org(), current_user_id(), chat_run_create.end_user, public.uuidv7(), moment, moment, moment, true)
    RETURNING id, active_run_id INTO thread, run;
    item := run_insert(run, thread, moment, route, CASE WHEN NOT is_bare THEN chat_run_create.persona_id END,
                       chat_run_create.end_user, chat_run_create.metadata, 'openai', false, limit_concurrent_runs,
                       limit_concurrent_runs_per_user, NULL, limit_stored_bytes, credit_run_hold, NULL,
                       chat_run_create.function_tools, chat_run_create.response_format,
                       history => given, sampling => chat_run_create.sampling, is_bare => is_bare,
                       client_facts => CASE WHEN is_bare THEN json_build_object('model', 'route:' || route) END);
    INSERT INTO run_histories (run_id, org_id, messages, keeps, put_back)
    VALUES (run, current_org(), given, chat_run_create.keeps,
            CASE WHEN cardinality(answered_calls) > 0 THEN left_calls_runs(answered_calls) END);
    PERFORM run_files_keep(current_org(), run, given);
END
$$;

-- An event's data without what a model or its caller said.
CREATE OR REPLACE FUNCTION event_without_text(type text, data json) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE type
        WHEN 'message.delta' THEN CASE WHEN data -> 'channel' IS NULL THEN '{"content":""}'
            ELSE json_build_object('channel', data -> 'channel', 'content', '') END
        WHEN 'tool.call' THEN json_build_object('tool_call_id', data -> 'tool_call_id',
            'tool_name', data -> 'tool_name', 'arguments', '{}'::json)
        WHEN 'tool.result' THEN CASE WHEN data -> 'error' IS NULL
            THEN json_build_object('tool_call_id', data -> 'tool_call_id', 'tool_name', data -> 'tool_name',
                'result', NULL, 'duration_ms', data -> 'duration_ms')
            ELSE json_build_object('tool_call_id', data -> 'tool_call_id', 'tool_name', data -> 'tool_name',
                'error', json_build_object('code', data #> '{error,code}', 'message', ''),
                'duration_ms', data -> 'duration_ms') END
        WHEN 'run.tool_calls' THEN json_build_object('calls', coalesce((
                SELECT json_agg(json_build_object('tool_call_id', c -> 'tool_call_id', 'tool_name', c -> 'tool_name',
                                                  'arguments', '{}'::json))
                FROM json_array_elements(data -> 'calls') AS c), '[]'))
        WHEN 'run.output' THEN '{"output":null}'
        WHEN 'output.repair' THEN json_build_object('attempt', data -> 'attempt', 'errors', '[]'::json,
            'discard_after_seq', data -> 'discard_after_seq')
        WHEN 'run.failed' THEN CASE WHEN data ->> 'code' = 'output.schema_mismatch'
            THEN json_build_object('code', data -> 'code', 'message', '') ELSE data END
        WHEN 'run.waiting_for_input' THEN json_build_object('request_id', data -> 'request_id',
            'kind', data -> 'kind', 'message', data -> 'message', 'calls', coalesce((
                SELECT json_agg(json_build_object('tool_call_id', c -> 'tool_call_id', 'tool_name', c -> 'tool_name',
                                                  'arguments', '{}'::json, 'answered_by', c -> 'answered_by'))
                FROM json_array_elements(data -> 'calls') AS c), '[]'))
        ELSE data END
$$;

-- Maintenance: of runs that ended 10 minutes ago and shall not be kept, the history and every text of theirs; at most
-- so many, answers how many. What they were and took stays. Locks what run_events_free() goes on behind, then runs,
-- then accounts.
CREATE OR REPLACE FUNCTION chat_runs_forget(at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    freed_before uuid;
    forgotten uuid[];
BEGIN
    SELECT f.before_run_id INTO STRICT freed_before FROM run_events_freed f FOR SHARE;
    forgotten := ARRAY(
        SELECT r.id FROM run_histories h CROSS JOIN LATERAL (
            SELECT o.id FROM runs o WHERE o.id = h.run_id AND o.ended_at < statement_timestamp() - interval '10 minutes'
            FOR UPDATE SKIP LOCKED) AS r
        WHERE NOT h.keeps AND h.run_id < uuidv7_floor(statement_timestamp() - interval '10 minutes')
        ORDER BY h.run_id LIMIT at_most);
    UPDATE run_events e SET data = event_without_text(e.type, e.data)
    WHERE e.run_id = ANY (forgotten)
          AND e.type IN ('message.delta', 'tool.call', 'tool.result', 'run.output', 'output.repair', 'run.failed',
                         'run.waiting_for_input', 'run.tool_calls');
    UPDATE run_turns t SET parts = '[]' WHERE t.run_id = ANY (forgotten);
    UPDATE run_tool_results t SET result = CASE WHEN t.result IS NOT NULL THEN 'null'::json END,
        error_message = CASE WHEN t.error_code IS NOT NULL THEN '' END
    WHERE t.run_id = ANY (forgotten);
    UPDATE run_asked_calls c SET early = NULL, remote_state = NULL
    WHERE c.run_id = ANY (forgotten) AND (c.early IS NOT NULL OR c.remote_state IS NOT NULL);
    DELETE FROM run_left_calls c WHERE c.run_id = ANY (forgotten);
    DELETE FROM run_histories h WHERE h.run_id = ANY (forgotten);
    PERFORM FROM credit_accounts a
    WHERE a.org_id IN (SELECT r.org_id FROM runs r WHERE r.id = ANY (forgotten)) ORDER BY a.org_id FOR UPDATE;
    WITH before AS MATERIALIZED (
        SELECT r.id, r.org_id, CASE WHEN r.id >= freed_before THEN r.event_bytes ELSE 0 END + r.result_bytes AS bytes
        FROM runs r WHERE r.id = ANY (forgotten)),
    emptied AS (
        UPDATE runs r SET output = NULL, history_bytes = NULL, client_facts = NULL, event_bytes = run_event_bytes(r.id),
            error_message = CASE WHEN r.error_code = 'output.schema_mismatch' THEN '' ELSE r.error_message END,
            result_bytes = run_result_bytes(r.id) - r.history_bytes - coalesce(octet_length(r.client_facts::text), 0)
        WHERE r.id = ANY (forgotten)
        RETURNING r.id, CASE WHEN r.id >= freed_before THEN r.event_bytes ELSE 0 END + r.result_bytes AS bytes)
    UPDATE credit_accounts a SET stored_bytes = a.stored_bytes - c.bytes
    FROM (SELECT b.org_id, sum(b.bytes - e.bytes)::bigint AS bytes
          FROM before b JOIN emptied e ON e.id = b.id GROUP BY b.org_id) AS c
    WHERE a.org_id = c.org_id;
    RETURN cardinality(forgotten);
END
$$;
REVOKE EXECUTE ON FUNCTION chat_run_create FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION anthropic_sampling_check FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION event_without_text, chat_runs_forget FROM hostler_api;
