-- Calls that a run asked others to carry out, and their answers: calls of function tools, which its client answers
-- while the run waits, calls of webhook tools, which their servers answer at once or, by result_token, later, and calls
-- of remote tools (mcp_calls.sql).

-- A call that has its result is in run_tool_results too, and the result only there.
CREATE TABLE run_asked_calls (
    run_id uuid NOT NULL,
    org_id uuid NOT NULL,
    tool_call_id text COLLATE "C" NOT NULL,
    turn integer NOT NULL CHECK (turn > 0),
    tool_name text NOT NULL,
    answered_by text NOT NULL CHECK (answered_by IN ('client', 'webhook', 'mcp')),
    asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Columns of a webhook's and of a remote tool's call:
    tries integer NOT NULL DEFAULT 0,  -- begun; each is counted before its first byte leaves
    try_id uuid,  -- the newest's: whoever begins it again, because no answer of ours came, has it
    accepted boolean NOT NULL DEFAULT false,  -- 202: the result comes by token
    closed boolean NOT NULL DEFAULT false,  -- its own answer counts, or its end: no token does any more
    -- The result before it stands there, {tool_call_id, output} or {tool_call_id, error}: what came by token while the
    -- run did not wait, else the own answer of a call that nobody may repeat.
    early json,
    -- Columns of a remote tool's call:
    remote_state json,  -- what the daemon goes on with; null: it was sent, and nothing came yet
    authorizations integer NOT NULL DEFAULT 0,  -- so often somebody was asked to connect
    PRIMARY KEY (run_id, tool_call_id),
    FOREIGN KEY (org_id, run_id) REFERENCES runs (org_id, id)
);
SELECT make_tenant_table('run_asked_calls');

-- Results of calls that a waiting run, which is locked, asked for; that they may be given was checked. results:
-- [{tool_call_id, output} or {tool_call_id, error: {code, message}}], each call once. The run goes on when none is
-- missing: however many runs are active then. Answers those that are. Locks the account.
CREATE OR REPLACE FUNCTION run_results_store(r runs, results json) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    run uuid := r.id;
    missing json;
    final_seq bigint;
BEGIN
    WITH answered AS (
        INSERT INTO run_tool_results AS t (run_id, org_id, turn, tool_call_id, tool_name, result, error_code,
            error_message, duration_ms, last_seq)
        SELECT run, r.org_id, a.turn, a.tool_call_id, a.tool_name, e.item -> 'output', e.item #>> '{error,code}',
            e.item #>> '{error,message}',
            greatest(0, extract(epoch FROM clock_timestamp() - a.asked_at) * 1000)::bigint, r.last_seq + e.nth
        FROM json_array_elements(results) WITH ORDINALITY AS e (item, nth)
        JOIN run_asked_calls a ON a.run_id = run AND a.tool_call_id = e.item ->> 'tool_call_id'
        RETURNING t.tool_call_id, t.tool_name, t.result, t.error_code, t.error_message, t.duration_ms, t.last_seq)
    INSERT INTO run_events (run_id, seq, type, data)
    SELECT run, a.last_seq, 'tool.result', CASE WHEN a.error_code IS NULL
        THEN json_build_object('tool_call_id', a.tool_call_id, 'tool_name', a.tool_name, 'result', a.result,
                               'duration_ms', a.duration_ms)
        ELSE json_build_object('tool_call_id', a.tool_call_id, 'tool_name', a.tool_name, 'error',
                               json_build_object('code', a.error_code, 'message', a.error_message),
                               'duration_ms', a.duration_ms) END
    FROM answered a;
    UPDATE run_asked_calls a SET early = NULL
    FROM json_array_elements(results) AS e (item)
    WHERE a.run_id = run AND a.tool_call_id = e.item ->> 'tool_call_id' AND a.early IS NOT NULL;
    final_seq := r.last_seq + json_array_length(results);
    missing := (SELECT coalesce(json_agg(c.item ->> 'tool_call_id' ORDER BY c.nth), '[]')
        FROM jsonb_array_elements(r.input_request -> 'calls') WITH ORDINALITY AS c (item, nth)
        WHERE NOT EXISTS (SELECT FROM run_tool_results t
                          WHERE t.run_id = run AND t.turn = (r.input_request ->> 'turn')::integer
                                AND t.tool_call_id = c.item ->> 'tool_call_id'));
    IF json_array_length(missing) > 0 THEN
        UPDATE runs SET last_seq = final_seq WHERE id = run;
    ELSE
        r.last_seq := final_seq;
        PERFORM run_go_on(r);
    END IF;
    RETURN missing;
END
$$;

-- Calls whose results came by token and were not taken yet.
CREATE OR REPLACE FUNCTION run_early_calls(run uuid) RETURNS SETOF run_asked_calls
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT a.* FROM run_asked_calls a
    WHERE a.run_id = run AND a.early IS NOT NULL AND NOT EXISTS (
        SELECT FROM run_tool_results t
        WHERE t.run_id = a.run_id AND t.turn = a.turn AND t.tool_call_id = a.tool_call_id)
$$;

-- A run begins to wait for results of which some came by token before it did.
CREATE OR REPLACE FUNCTION run_take_early_results(r runs) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    early_ones json := (SELECT json_agg(a.early ORDER BY a.asked_at, a.tool_call_id) FROM run_early_calls(r.id) a);
BEGIN
    IF early_ones IS NOT NULL THEN
        PERFORM run_results_store(r, early_ones);
    END IF;
END
$$;

-- POST /v1/runs/{run_id}/tool-results: by the creator, results of calls that the run asked its client for, all of them
-- or none. results: [{tool_call_id, output} or {tool_call_id, error: {code, message}}], each call once. The run goes on
-- when none is missing. Of two that answer the same call one wins. Locks the run, then the account.
CREATE OR REPLACE FUNCTION run_tool_answer(run uuid, results json) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := run_of_creator(run);
    unknown_nth bigint;
    answered_id text;
    of_webhook boolean;
    of_server boolean;  -- a remote tool's
BEGIN
    SELECT * INTO STRICT r FROM runs WHERE id = run FOR NO KEY UPDATE;
    SELECT min(e.nth) FILTER (WHERE a.run_id IS NULL) - 1,
        min(t.tool_call_id), bool_or(a.answered_by = 'webhook'), bool_or(a.answered_by = 'mcp')
    INTO unknown_nth, answered_id, of_webhook, of_server
    FROM json_array_elements(results) WITH ORDINALITY AS e (item, nth)
    LEFT JOIN run_asked_calls a ON a.run_id = run AND a.tool_call_id = e.item ->> 'tool_call_id'
    LEFT JOIN run_tool_results t ON t.run_id = a.run_id AND t.turn = a.turn AND t.tool_call_id = a.tool_call_id;
    IF unknown_nth IS NOT NULL THEN
        PERFORM fail('validation.error', 'call_not_asked', jsonb_build_object('nth', unknown_nth));
    ELSIF of_webhook THEN
        PERFORM fail('policy.denied', 'only_webhook_answers');
    ELSIF answered_id IS NOT NULL THEN
        PERFORM fail('runs.tool_result_exists', 'call_has_result', jsonb_build_object('tool_call_id', answered_id));
    ELSIF r.status <> 'waiting_for_input' THEN
        PERFORM fail('runs.not_waiting', 'run_has_status', jsonb_build_object('status', r.status));
    ELSIF run_creator_ended(r.org_id, r.created_by_user_id, r.created_at) THEN
        PERFORM fail('runs.not_waiting', 'run_has_status', jsonb_build_object('status', 'cancelled'));
    ELSIF NOT waits_for_results(r.input_request) THEN
        PERFORM fail('runs.not_waiting', 'waits_for_no_results');
    ELSIF of_server THEN
        PERFORM fail('policy.denied', 'only_server_answers');
    END IF;
    RETURN json_build_object('ok', true, 'missing', run_results_store(r, results));
END
$$;

-- The same for the server of a webhook tool, which shows the call's result_token: the API checked it. From the moment
-- when the call was sent its result counts, unless the call's own answer was there before. Of a run that does not wait
-- yet it is kept until the daemon, or the wait, takes it. Locks the run, then the account.
CREATE OR REPLACE FUNCTION run_tool_answer_by_token(run uuid, call_id text, result json) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
    asked run_asked_calls;
    missing json;
BEGIN
    SELECT * INTO r FROM runs WHERE id = run FOR NO KEY UPDATE;
    SELECT * INTO asked FROM run_asked_calls a
    WHERE a.run_id = run AND a.tool_call_id = call_id AND a.answered_by = 'webhook' FOR UPDATE;
    IF asked.run_id IS NULL OR NOT EXISTS (
        SELECT FROM threads t WHERE t.id = r.thread_id AND (t.deleted_at IS NULL OR t.is_hidden)) THEN
        PERFORM fail('auth.invalid_token', 'wait_is_over');
    ELSIF asked.closed OR asked.early IS NOT NULL OR EXISTS (
        SELECT FROM run_tool_results t
        WHERE t.run_id = run AND t.turn = asked.turn AND t.tool_call_id = call_id) THEN
        PERFORM fail('runs.tool_result_exists', 'call_has_result', jsonb_build_object('tool_call_id', call_id));
    ELSIF r.ended_at IS NOT NULL OR run_creator_ended(r.org_id, r.created_by_user_id, r.created_at) THEN
        PERFORM fail('auth.invalid_token', 'wait_is_over');
    END IF;
    IF r.status = 'waiting_for_input' AND waits_for_results(r.input_request) THEN
        missing := run_results_store(r, json_build_array(result));
    ELSE
        UPDATE run_asked_calls SET early = result WHERE run_id = run AND tool_call_id = call_id;
        missing := (SELECT coalesce(json_agg(a.tool_call_id ORDER BY a.asked_at, a.tool_call_id), '[]')
                    FROM run_asked_calls a
                    WHERE a.run_id = run AND a.turn = asked.turn AND a.early IS NULL AND NOT EXISTS (
                        SELECT FROM run_tool_results t WHERE t.run_id = a.run_id AND t.turn = a.turn
                            AND t.tool_call_id = a.tool_call_id));
    END IF;
    RETURN json_build_object('ok', true, 'missing', missing);
END
$$;

-- Called before a webhook tool is called: whether it may be, and the parts of the request. Without this its result
-- could not be distinguished from that of a call that was never made. state:
--   send      it may be; the try is counted, once a try_id
--   result    there is one already: early
--   accepted  its server said 202 before
--   unknown   a daemon died while the call was under way, and it must not be repeated
--   used_up   likewise, and it was tried as often as it may be
--   gone      the tool was deleted or switched off
--   fenced    the run is another daemon's
-- tries_known: tries that the caller made itself, and may follow with another. A call that is not made any more accepts
-- no token from then on. The run is locked.
CREATE OR REPLACE FUNCTION webhook_call_begin(run uuid, run_epoch bigint, turn_number integer, call_id text,
    name text, tool uuid, tries_known integer, tries_max integer, this_try uuid)
RETURNS TABLE (state text, tries integer, early json, url text, timeout_seconds integer, is_repeatable boolean,
    is_org_scope boolean, asked_at text, now_seconds bigint, thread_id uuid, end_user text, metadata json, secrets json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
    asked run_asked_calls;
    called tools;
BEGIN
    SELECT * INTO r FROM runs q WHERE q.id = run AND q.epoch = run_epoch AND q.owner_id IS NOT NULL FOR NO KEY UPDATE;
    IF r.id IS NULL THEN
        state := 'fenced';
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT * INTO asked FROM run_asked_calls a WHERE a.run_id = run AND a.tool_call_id = call_id FOR UPDATE;
    SELECT * INTO called FROM tools t
    WHERE t.id = tool AND t.deleted_at IS NULL AND t.is_active AND (t.org_id IS NULL OR t.org_id = r.org_id);
    state := CASE
        WHEN asked.early IS NOT NULL THEN 'result'
        WHEN asked.accepted THEN 'accepted'
        WHEN called.id IS NOT NULL AND asked.try_id = this_try THEN 'send'
        WHEN coalesce(asked.tries, 0) <> tries_known AND NOT coalesce(called.is_repeatable, false) THEN 'unknown'
        WHEN coalesce(asked.tries, 0) >= tries_max THEN 'used_up'
        WHEN called.id IS NULL THEN 'gone'
        ELSE 'send' END;
    IF state = 'send' THEN
        INSERT INTO run_asked_calls AS a (run_id, org_id, tool_call_id, turn, tool_name, answered_by, tries, try_id)
        VALUES (r.id, r.org_id, call_id, turn_number, name, 'webhook', 1, this_try)
        ON CONFLICT (run_id, tool_call_id) DO UPDATE
            SET tries = a.tries + (a.try_id IS DISTINCT FROM this_try)::integer, try_id = this_try, closed = false
        RETURNING a.* INTO STRICT asked;
    ELSIF state IN ('unknown', 'used_up', 'gone') THEN
        UPDATE run_asked_calls a SET closed = true WHERE a.run_id = run AND a.tool_call_id = call_id;
    END IF;
    tries := asked.tries;
    early := asked.early;
    url := called.url;
    timeout_seconds := called.timeout_seconds;
    is_repeatable := called.is_repeatable;
    is_org_scope := called.org_id IS NOT NULL;
    asked_at := rfc3339(asked.asked_at);
    now_seconds := extract(epoch FROM clock_timestamp())::bigint;
    thread_id := r.thread_id;
    end_user := r.end_user;
    metadata := r.metadata;
    secrets := tool_secrets_json(called);
    RETURN NEXT;
END
$$;

-- A call of a webhook tool was answered: by 202 (then its result comes by token), or for good. Answers the result that
-- came by token meanwhile, which counts instead. From now on no token counts unless the answer was 202. own: its own
-- result, for a call that a take-over must not repeat; else null.
CREATE OR REPLACE FUNCTION webhook_call_end(run uuid, run_epoch bigint, call_id text, is_accepted boolean, own json)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    came json;
BEGIN
    PERFORM FROM runs q WHERE q.id = run AND q.epoch = run_epoch AND q.owner_id IS NOT NULL FOR NO KEY UPDATE;
    IF FOUND THEN
        UPDATE run_asked_calls a SET accepted = is_accepted, closed = NOT is_accepted, early = coalesce(a.early, own)
        WHERE a.run_id = run AND a.tool_call_id = call_id
        RETURNING a.early INTO came;
    END IF;
    RETURN came;
END
$$;

-- The webhook tools of these names, an organization's before the platform's; nth: the place of the name.
CREATE OR REPLACE FUNCTION webhook_tools_offered(scopes uuid[], names text[])
RETURNS TABLE (nth bigint, tool_name text, item json)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT n.nth, n.name, json_build_object('tool_id', t.id, 'name', t.name, 'description', t.description,
                                            'parameters', t.parameters::json)
    FROM unnest(names) WITH ORDINALITY AS n (name, nth)
    CROSS JOIN LATERAL (
        SELECT w.* FROM unnest(scopes) WITH ORDINALITY AS s (id, nth)
        CROSS JOIN LATERAL (
            SELECT q.* FROM tools q
            WHERE coalesce(q.org_id, '00000000-0000-0000-0000-000000000000') = s.id
                  AND q.name = n.name AND q.deleted_at IS NULL OFFSET 0) AS w
        ORDER BY s.nth LIMIT 1) AS t
    WHERE t.is_active
$$;

-- The webhook tools and remote tools that a run is offered, as they are when its first turn begins, for good:
-- [{tool_id, name, description, parameters}] and what mcp_tools_offered() answers, in the order of the names. names:
-- what its persona names besides the built-in tools; taken: names that the run's own tools have. Of two of a name the
-- webhook tool. What does not fit into 256 KiB together is left out. added: so many bytes of it are stored now. Null:
-- the run is another daemon's.
CREATE OR REPLACE FUNCTION run_offer_tools(run uuid, run_epoch bigint, names text[], taken text[],
    OUT offered json, OUT added bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
    scopes uuid[];  -- the organization's before the platform's; a persona of the platform means the platform's
BEGIN
    added := 0;
    SELECT * INTO r FROM runs q WHERE q.id = run AND q.epoch = run_epoch AND q.owner_id IS NOT NULL FOR NO KEY UPDATE;
    IF r.id IS NULL THEN
        RETURN;
    ELSIF r.offered_tools IS NOT NULL OR r.turns > 0 THEN
        offered := coalesce(r.offered_tools, '[]');
        RETURN;
    END IF;
    SELECT array_remove(ARRAY[p.org_id, '00000000-0000-0000-0000-000000000000'], NULL) INTO STRICT scopes
    FROM personas p WHERE p.id = r.persona_row_id;
    offered := (
        SELECT json_agg(sized.item ORDER BY sized.nth, sized.name)
        FROM (SELECT found.nth, found.name, found.item,
                  sum(octet_length(found.item::text)) OVER (ORDER BY found.nth, found.name) AS bytes
              FROM (SELECT DISTINCT ON (every.name) every.nth, every.name, every.item
                    FROM (SELECT false AS is_remote, w.nth, w.tool_name AS name, w.item
                          FROM webhook_tools_offered(scopes, names) AS w
                          UNION ALL
                          SELECT true, m.nth, m.tool_name, m.item FROM mcp_tools_offered(scopes, names) AS m) AS every
                    WHERE every.name <> ALL (taken)
                    ORDER BY every.name, every.is_remote) AS found) AS sized
        WHERE sized.bytes <= 262144);
    offered := coalesce(offered, '[]');
    added := CASE WHEN json_array_length(offered) > 0 THEN octet_length(offered::text) ELSE 0 END;
    UPDATE runs SET offered_tools = offered, result_bytes = result_bytes + added WHERE id = r.id;
    UPDATE credit_accounts SET stored_bytes = stored_bytes + added WHERE org_id = r.org_id AND added > 0;
END
$$;

-- The tools that a run declares have other names than the webhook tools and remote tools of its persona.
CREATE OR REPLACE FUNCTION tool_names_check(function_tools json, persona_tools text[], persona_org uuid) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    taken text;
BEGIN
    SELECT t.name INTO taken FROM json_array_elements(function_tools) AS f (item)
    CROSS JOIN LATERAL (
        SELECT q.name, q.is_active FROM tools q
        WHERE coalesce(q.org_id, '00000000-0000-0000-0000-000000000000')
                  IN ('00000000-0000-0000-0000-000000000000',
                      coalesce(persona_org, '00000000-0000-0000-0000-000000000000'))
              AND q.name = f.item ->> 'name' AND q.deleted_at IS NULL
        ORDER BY q.org_id NULLS LAST LIMIT 1) AS t
    WHERE f.item ->> 'name' = ANY (persona_tools) AND t.is_active
    LIMIT 1;
    IF taken IS NULL THEN
        SELECT f.item ->> 'name' INTO taken FROM json_array_elements(function_tools) AS f (item)
        WHERE f.item ->> 'name' LIKE '%\_\_%' AND f.item ->> 'name' IN (
            SELECT m.tool_name FROM mcp_tools_offered(
                array_remove(ARRAY[persona_org, '00000000-0000-0000-0000-000000000000'], NULL), persona_tools) AS m)
        LIMIT 1;
    END IF;
    IF taken IS NOT NULL THEN
        PERFORM fail('tools.name_taken', 'tool_of_persona', jsonb_build_object('name', taken));
    END IF;
END
$$;

REVOKE EXECUTE ON FUNCTION tool_names_check, webhook_tools_offered FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION run_results_store, run_take_early_results FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION run_early_calls FROM hostler_api;
REVOKE EXECUTE ON FUNCTION run_tool_answer, run_tool_answer_by_token FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION webhook_call_begin, webhook_call_end, run_offer_tools FROM hostler_api;
