-- What a run's turns were sent, rebuilt from stored rows: GET /v1/runs/{run_id}/turns/{turn}/request. The daemon builds
-- the same text in runner/agent (conversation.h, thread_turns.h). Opaque data of providers is left out everywhere.

-- The text of a stored turn, as text_of() of runner/models/parts.h.
CREATE OR REPLACE FUNCTION parts_text(parts json) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    all_text text := '';
    is_behind_call boolean := false;
    part record;
BEGIN
    FOR part IN SELECT p.item ->> 'type' AS kind, p.item ->> 'text' AS text FROM json_array_elements(parts) AS p (item)
    LOOP
        IF part.kind = 'call' THEN
            is_behind_call := true;
        ELSIF part.kind = 'text' AND part.text <> '' THEN
            all_text := all_text || CASE WHEN is_behind_call AND all_text <> '' THEN E'\n\n' ELSE '' END || part.text;
            is_behind_call := false;
        END IF;
    END LOOP;
    RETURN all_text;
END
$$;

-- The calls of a stored turn: [{tool_call_id, tool_name, arguments}]. Arguments are text, which may be no JSON.
CREATE OR REPLACE FUNCTION parts_calls(parts json) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(json_agg(json_build_object('tool_call_id', p.item ->> 'id', 'tool_name', p.item ->> 'name',
                                               'arguments', p.item ->> 'arguments') ORDER BY p.nth), '[]')
    FROM json_array_elements(parts) WITH ORDINALITY AS p (item, nth) WHERE p.item ->> 'type' = 'call'
$$;

-- One message that a model was sent, as JSON text. calls: null for none.
CREATE OR REPLACE FUNCTION sent_message(role text, content text, calls json, call_id text, name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT json_build_object('role', role, 'content', content, 'tool_calls', coalesce(calls, '[]'),
                             'tool_call_id', call_id, 'name', name)::text
$$;

-- A turn that called tools, with the results of its calls. content: what stands before its calls. bytes_max: of a
-- longer result the beginning, as models get those of earlier runs; 0: whole.
CREATE OR REPLACE FUNCTION sent_turn(run uuid, wanted_turn integer, content text, calls json, bytes_max bigint)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    pieces text[] := ARRAY[sent_message('assistant', content, calls, NULL, NULL)];
    call record;
    words text;
BEGIN
    FOR call IN
        SELECT c.id, x.tool_call_id, x.result, x.error_code, x.error_message
        FROM (SELECT e.item ->> 'tool_call_id' AS id, e.nth
              FROM json_array_elements(calls) WITH ORDINALITY AS e (item, nth)) AS c
        LEFT JOIN run_tool_results x ON x.run_id = run AND x.turn = wanted_turn AND x.tool_call_id = c.id
        ORDER BY c.nth
    LOOP
        words := CASE
            WHEN call.tool_call_id IS NULL
                THEN '{"error":{"code":"tool.timeout","message":"The call was not finished."}}'
            WHEN call.error_code IS NOT NULL
                THEN concat('{"error":{"code":', to_json(call.error_code), ',"message":',
                            to_json(call.error_message), '}}')
            WHEN json_typeof(call.result) = 'string' THEN call.result #>> '{}'
            ELSE call.result::text END;
        IF bytes_max > 0 AND octet_length(words) > bytes_max THEN
            words := left(words, bytes_max::integer) || '… (cut: the result is longer)';
        END IF;
        pieces := pieces || sent_message('tool', words, NULL, call.id, NULL);
    END LOOP;
    RETURN pieces;
END
$$;

-- An answer of an earlier run with the turns of that run, as the model of a later run gets it (add_turns() of
-- runner/agent/thread_turns.cpp).
CREATE OR REPLACE FUNCTION sent_answer(org uuid, run uuid, answer text, bytes_max bigint) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    pieces text[] := '{}';
    before text := '';
    rest text;  -- null: the answer does not begin with the text of the turns
    is_written boolean := false;
    turn record;
BEGIN
    FOR turn IN
        SELECT parts_text(t.parts) AS text FROM run_turns t
        WHERE t.run_id = run AND t.org_id = org AND json_array_length(parts_calls(t.parts)) > 0 ORDER BY t.turn
    LOOP
        before := before || CASE WHEN before <> '' AND turn.text <> '' THEN E'\n\n' ELSE '' END || turn.text;
    END LOOP;
    IF starts_with(answer, before) THEN
        rest := substr(answer, length(before) + 1);
        IF before <> '' AND starts_with(rest, E'\n\n') THEN
            rest := substr(rest, 3);
        END IF;
    END IF;
    FOR turn IN
        SELECT t.turn AS nth, parts_text(t.parts) AS text, parts_calls(t.parts) AS calls,
            t.turn = r.turns AND r.status = 'completed' AS is_answer
        FROM runs r JOIN run_turns t ON t.run_id = r.id WHERE r.id = run AND r.org_id = org ORDER BY t.turn
    LOOP
        IF json_array_length(turn.calls) > 0 THEN
            pieces := pieces || sent_turn(run, turn.nth, CASE WHEN rest IS NULL THEN '' ELSE turn.text END, turn.calls,
                                          bytes_max);
            is_written := false;
        ELSIF turn.is_answer AND rest IS NOT NULL THEN
            pieces := pieces || sent_message('assistant', turn.text, NULL, NULL, NULL);
            is_written := true;
        END IF;
    END LOOP;
    IF NOT is_written AND coalesce(rest, answer) <> '' THEN
        pieces := pieces || sent_message('assistant', coalesce(rest, answer), NULL, NULL, NULL);
    END IF;
    RETURN pieces;
END
$$;

-- What a run was given in place of its thread's messages, or these: newest first, in one form. turns_of: the run whose
-- turns stand beside an answer.
CREATE OR REPLACE FUNCTION sent_items(r runs, bytes_max bigint)
RETURNS TABLE (role text, content text, calls json, call_id text, name text, turns_of uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF r.source <> 'openai' THEN
        RETURN QUERY SELECT m.role, m.content, NULL::json, NULL::text, NULL::text, m.turns_of
            FROM thread_newest_messages(r.thread_id, 1000, bytes_max,
                                        uuidv7_floor(r.started_at + interval '1 millisecond')) AS m
            ORDER BY m.place DESC, m.id DESC;
        RETURN;
    END IF;
    RETURN QUERY SELECT g.item ->> 'role', coalesce(g.item ->> 'content', ''),
            (SELECT json_agg(json_build_object('tool_call_id', c.item ->> 'id', 'tool_name', c.item ->> 'name',
                                               'arguments', c.item ->> 'arguments') ORDER BY c.nth)
             FROM json_array_elements(CASE WHEN json_typeof(g.item -> 'tool_calls') = 'array'
                                           THEN g.item -> 'tool_calls' END) WITH ORDINALITY AS c (item, nth)),
            g.item ->> 'tool_call_id', g.item ->> 'name', (g.item ->> 'run_id')::uuid
        FROM json_array_elements(run_given_messages(r.id)) WITH ORDINALITY AS g (item, nth) ORDER BY g.nth DESC;
END
$$;

-- Messages of one piece of the conversation, put before those that are there: the newest come first.
CREATE OR REPLACE FUNCTION messages_before(newest_first text[], messages text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT newest_first || ARRAY(SELECT q.message FROM unnest(messages) WITH ORDINALITY AS q (message, nth)
                                 ORDER BY q.nth DESC)
$$;

CREATE OR REPLACE FUNCTION messages_bytes(messages text[]) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(sum(octet_length(m)), 0)::bigint FROM unnest(messages) AS m
$$;

-- What comes before a run's own turns: the newest that have bytes_max together, and one further. is_exact: whether that
-- is all of it, and in the form that the model got.
CREATE OR REPLACE FUNCTION sent_history(r runs, bytes_max bigint, result_bytes_max bigint,
    OUT newest_first text[], OUT bytes bigint, OUT is_exact boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    item record;
    messages text[];
BEGIN
    newest_first := '{}';
    bytes := 0;
    is_exact := true;
    FOR item IN SELECT s.role, s.content, s.calls, s.call_id, s.name, s.turns_of FROM sent_items(r, bytes_max) AS s LOOP
        -- The answer that a retry took the place of returns when the retry fails.
        CONTINUE WHEN bytes = 0 AND r.source = 'retry' AND item.role = 'assistant';
        IF bytes > bytes_max THEN
            is_exact := false;
            EXIT;
        END IF;
        messages := ARRAY[sent_message(item.role, item.content, item.calls, item.call_id, item.name)];
        IF item.turns_of IS NOT NULL THEN
            IF (SELECT q.result_bytes FROM runs q WHERE q.id = item.turns_of) <= bytes_max THEN
                messages := sent_answer(r.org_id, item.turns_of, item.content, result_bytes_max);
            ELSE
                is_exact := false;
            END IF;
        END IF;
        newest_first := messages_before(newest_first, messages);
        bytes := bytes + messages_bytes(messages);
    END LOOP;
END
$$;

-- A run's own turns before the wanted one, in the same form; newest_first is null when their text is gone. The turn
-- after an answer that did not fit the response format was sent its faults (runner/agent/answer_format.cpp).
CREATE OR REPLACE FUNCTION sent_turns(run uuid, wanted_turn integer, bytes_max bigint, repair_opening text,
    repair_closing text, OUT newest_first text[], OUT bytes bigint, OUT is_exact boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    t record;
    calls json;
    content text;
    faults text;
    messages text[];
BEGIN
    newest_first := '{}';
    bytes := 0;
    is_exact := true;
    FOR t IN SELECT q.turn, q.parts, q.last_seq FROM run_turns q
             WHERE q.run_id = run AND q.turn < wanted_turn ORDER BY q.turn DESC LOOP
        IF bytes > bytes_max THEN
            is_exact := false;
            EXIT;
        END IF;
        calls := parts_calls(t.parts);
        content := parts_text(t.parts);
        IF json_array_length(calls) > 0 THEN
            messages := sent_turn(run, t.turn, content, calls, 0);
        ELSE
            SELECT string_agg(concat(E'\n- ', nullif(f.item ->> 'pointer', '') || ': ', f.item ->> 'message'), ''
                              ORDER BY f.nth) INTO faults
            FROM run_events e, json_array_elements(e.data -> 'errors') WITH ORDINALITY AS f (item, nth)
            WHERE e.run_id = run AND e.seq = t.last_seq AND e.type = 'output.repair';
            IF faults IS NULL THEN
                newest_first := NULL;
                RETURN;
            END IF;
            content := CASE WHEN content ~ '\S' THEN content ELSE '(The answer was empty.)' END;
            messages := ARRAY[
                sent_message('assistant', content, NULL, NULL, NULL),
                sent_message('user', concat(repair_opening, ' The fault:', faults, E'\n', repair_closing), NULL, NULL,
                             NULL)];
        END IF;
        newest_first := messages_before(newest_first, messages);
        bytes := bytes + messages_bytes(messages);
    END LOOP;
END
$$;

-- Whether the model was asked for this turn: it answered, or it is asked now, or it failed.
CREATE OR REPLACE FUNCTION turn_was_sent(r runs, wanted_turn integer) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    last_turn integer;
BEGIN
    IF EXISTS (SELECT FROM usage_records u WHERE u.run_id = r.id AND u.turn = wanted_turn) THEN
        RETURN true;
    END IF;
    SELECT coalesce(max(u.turn), 0) INTO last_turn FROM usage_records u WHERE u.run_id = r.id;
    RETURN wanted_turn = last_turn + 1 AND r.started_at IS NOT NULL
        AND ((r.status = 'failed' AND r.error_code LIKE 'model.%')
             OR (r.status = 'running' AND NOT EXISTS (
                SELECT FROM run_turns t, json_array_elements(parts_calls(t.parts)) AS c (item)
                WHERE t.run_id = r.id AND t.turn = last_turn AND NOT EXISTS (
                    SELECT FROM run_tool_results x WHERE x.run_id = r.id AND x.turn = last_turn
                           AND x.tool_call_id = c.item ->> 'tool_call_id'))));
END
$$;

-- Names of the tools that a run was offered: built-in ones of its persona, webhook and remote tools, its own.
CREATE OR REPLACE FUNCTION tools_sent(r runs, persona_tools text[], built_in text[]) RETURNS text[]
LANGUAGE sql STABLE AS $$
    SELECT ARRAY(
        SELECT u.name FROM (
            SELECT 1 AS part, t.nth, t.name FROM unnest(persona_tools) WITH ORDINALITY AS t (name, nth)
            WHERE NOT r.is_bare AND t.name = ANY (built_in) AND NOT (r.source = 'openai' AND t.name = 'ask_user')
            UNION ALL
            SELECT 2, o.nth, o.item ->> 'name'
            FROM json_array_elements(r.offered_tools) WITH ORDINALITY AS o (item, nth)
            UNION ALL
            SELECT 3, f.nth, f.item ->> 'name'
            FROM json_array_elements(r.tools) WITH ORDINALITY AS f (item, nth)) AS u
        ORDER BY u.part, u.nth)
$$;

-- For everybody who may read the run's text. Shows the persona's prompt only to those who may manage the persona.
-- built_in: names of the built-in tools. Of the messages the newest, until they have text_bytes_max together.
CREATE OR REPLACE FUNCTION turn_request_json(wanted_run uuid, wanted_turn integer, built_in text[],
    result_bytes_max bigint, repair_opening text, repair_closing text) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    text_bytes_max CONSTANT bigint := 4194304;
    r runs := run_of_reader(wanted_run);
    p personas;
    own record;
    earlier record;
    newest_first text[];
    model_bytes_max bigint;
BEGIN
    IF run_id_of_reader(wanted_run) IS NULL THEN
        PERFORM fail('runs.not_found');
    ELSIF NOT turn_was_sent(r, wanted_turn) THEN
        PERFORM fail('runs.not_found', 'turn_unknown');
    ELSIF (SELECT count(*) FROM run_turns t WHERE t.run_id = r.id AND t.turn < wanted_turn) < wanted_turn - 1
          OR (r.source = 'openai' AND NOT EXISTS (SELECT FROM run_histories h WHERE h.run_id = r.id)) THEN
        PERFORM fail('runs.events_expired');
    END IF;
    SELECT * INTO STRICT p FROM personas q WHERE q.id = r.persona_row_id;
    own := sent_turns(r.id, wanted_turn, text_bytes_max, repair_opening, repair_closing);
    earlier := sent_history(r, text_bytes_max - least(own.bytes, text_bytes_max), result_bytes_max);
    newest_first := own.newest_first || earlier.newest_first;
    IF own.newest_first IS NULL OR cardinality(earlier.newest_first) = 0 THEN
        PERFORM fail('runs.events_expired');
    END IF;
    IF r.client_facts ->> 'context' <> '' THEN
        newest_first := newest_first || sent_message('system', r.client_facts ->> 'context', NULL, NULL, NULL);
    END IF;
    -- The daemon leaves out older text beyond the model's window: history_bytes_max() of runner/agent/conversation.h.
    model_bytes_max := (SELECT least(m.context_tokens / 4 * 9, 16777216) FROM llm_models m WHERE m.id = r.model_id);
    RETURN json_build_object('run_id', r.id, 'turn', wanted_turn, 'model', r.model, 'persona_id', r.persona_id,
        'system_prompt', CASE
            WHEN r.is_bare THEN NULL
            WHEN CASE WHEN p.org_id IS NULL THEN is_platform_admin()
                      ELSE p.org_id = current_org() AND has_permission('data.personas.manage') END
            THEN p.system_prompt END,
        'messages', (SELECT concat('[', string_agg(q.message, ',' ORDER BY q.nth DESC), ']')::json
                     FROM unnest(newest_first) WITH ORDINALITY AS q (message, nth)),
        'tools', tools_sent(r, p.tools, built_in),
        'temperature', coalesce(r.sampling -> 'temperature', CASE WHEN NOT r.is_bare THEN to_json(p.temperature) END),
        'sampling', coalesce(r.sampling, '{}'), 'response_format', r.response_format,
        'is_exact', own.is_exact AND earlier.is_exact AND own.bytes + earlier.bytes <= coalesce(model_bytes_max, 0)
            AND NOT EXISTS (SELECT FROM run_histories h WHERE h.run_id = r.id AND cardinality(h.put_back) > 0));
END
$$;
REVOKE EXECUTE ON FUNCTION turn_request_json FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION sent_turn, sent_answer, sent_items, sent_history, sent_turns, turn_was_sent, tools_sent
    FROM hostler_api, hostler_runner;
