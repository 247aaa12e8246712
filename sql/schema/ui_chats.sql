-- Chats of the AI SDK's useChat: threads by the names that apps give them (thread_named, client_thread), to which its
-- requests are turned into what the native calls do: a message and its run, a retry, answers to what a run waits for.

-- What the encoder is to know of a run before its events say it (lib/formats/ui_run.h): the tools whose calls are shown
-- only when it is known who makes them. Null: none.
CREATE OR REPLACE FUNCTION ui_facts(persona personas, function_tools json) RETURNS json
LANGUAGE plpgsql STABLE AS $$
DECLARE
    held json := (SELECT json_agg(DISTINCT n.name) FROM (
        SELECT unnest(persona.confirm_tools) UNION ALL
        SELECT f.item ->> 'name' FROM json_array_elements(function_tools) AS f (item)) AS n (name));
BEGIN
    RETURN CASE WHEN held IS NOT NULL THEN json_build_object('held', held) END;
END
$$;

-- Each request of a chat reads what it writes: the answer is what the run says.
CREATE OR REPLACE FUNCTION ui_permissions_check(VARIADIC permissions text[]) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
    missing text := (SELECT p.name FROM unnest(permissions) WITH ORDINALITY AS p (name, nth)
                     WHERE NOT has_permission(p.name) ORDER BY p.nth LIMIT 1);
BEGIN
    IF missing IS NOT NULL THEN
        PERFORM fail('auth.forbidden', 'permission_missing', jsonb_build_object('permission', missing));
    END IF;
END
$$;

-- POST /v1/ui/chat with regenerate-message. message_id: what the client calls the message that is to be made again, or
-- the user's that it answers, if it says so: of the thread only the last ones can be. question: the last text of the
-- user's that it shows, null when it sends none; tells which of them an id means that is the client's own.
CREATE OR REPLACE FUNCTION ui_chat_retry(chat text, message_id text, question text, limit_concurrent_runs bigint,
    limit_concurrent_runs_per_user bigint, limit_queued_runs bigint, limit_stored_bytes bigint, credit_run_hold bigint,
    limit_waiting_runs bigint) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    thread uuid := thread_named(chat);
    named uuid := CASE WHEN message_id ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN message_id::uuid END;
    last_run runs;
    last_said messages;
    is_older boolean;
    facts json;
BEGIN
    PERFORM ui_permissions_check('data.runs.read');
    PERFORM streams_check();
    IF thread IS NOT NULL THEN
        PERFORM thread_of_caller_locked(thread);
        SELECT * INTO last_run FROM runs r
        WHERE r.thread_id = thread AND r.deleted_at IS NULL ORDER BY r.id DESC LIMIT 1;
    END IF;
    IF last_run.id IS NULL THEN
        PERFORM fail('runs.nothing_to_retry', 'chat_has_no_run');
    END IF;
    SELECT * INTO last_said FROM messages m
    WHERE m.thread_id = thread AND m.role = 'user' AND m.hidden_by_run_id IS NULL ORDER BY m.id DESC LIMIT 1;
    is_older := CASE
        WHEN message_id IS NULL OR named = last_run.id OR named = last_said.id THEN false
        WHEN EXISTS (SELECT FROM runs r WHERE r.id = named AND r.thread_id = thread) THEN true
        WHEN EXISTS (SELECT FROM messages m WHERE m.thread_id = thread AND m.id = named AND m.role = 'user') THEN true
        ELSE question <> last_said.content END;
    IF is_older THEN
        PERFORM fail('validation.error', 'message_is_not_last');
    END IF;
    facts := ui_facts(persona_resolve(last_run.persona_id), last_run.tools);
    RETURN run_retry(thread, limit_concurrent_runs, limit_concurrent_runs_per_user, limit_queued_runs,
                     limit_stored_bytes, credit_run_hold, limit_waiting_runs, facts);
END
$$;

-- The same for a client whose last message, `content`, is the user's, which it names no other way. When the thread does
-- not end with it, what sent it was refused or lost on its way, and it is said now, as by client_chat_begin(): a retry
-- would answer the question before it. content null: the client shows no such message.
CREATE OR REPLACE FUNCTION ui_chat_again(chat text, message_id text, question text, content text, words text,
    end_user text, route uuid, persona_id text, metadata json, function_tools json, limit_concurrent_runs bigint,
    limit_concurrent_runs_per_user bigint, limit_queued_runs bigint, limit_stored_bytes bigint, credit_run_hold bigint,
    limit_waiting_runs bigint, OUT item json, OUT stopped uuid[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    thread uuid := thread_named(chat);
BEGIN
    IF thread IS NOT NULL THEN
        PERFORM thread_of_caller_locked(thread);
    END IF;
    IF content IS NULL OR message_id IS NOT NULL OR content = (
        SELECT m.content FROM messages m
        WHERE m.thread_id = thread AND m.role = 'user' AND m.hidden_by_run_id IS NULL ORDER BY m.id DESC LIMIT 1) THEN
        item := ui_chat_retry(chat, message_id, question, limit_concurrent_runs, limit_concurrent_runs_per_user,
                              limit_queued_runs, limit_stored_bytes, credit_run_hold, limit_waiting_runs);
    ELSE
        SELECT b.item, b.stopped INTO STRICT item, stopped
        FROM client_chat_begin(chat, end_user, content, words, route, persona_id, metadata, function_tools, NULL,
                               limit_concurrent_runs, limit_concurrent_runs_per_user, limit_queued_runs,
                               limit_stored_bytes, credit_run_hold, limit_waiting_runs, NULL, false) AS b;
    END IF;
END
$$;

-- POST /v1/ui/chat with what a message's tool calls lacked. results: [{tool_call_id, output or error, words}] of all
-- calls whose client gave one, words being what an answer to a question says; approvals: [{id, approved, reason}]. Of
-- them only what the run waits for counts, and of its client's calls none may be missing: else nothing is stored.
CREATE OR REPLACE FUNCTION ui_chat_answer(chat text, results json, approvals json, limit_input_bytes bigint)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
    asked uuid;  -- what the answer was found for, which may be over by the time that the run is locked
    missing text;
    wanted json;
    answer json;
    reason text;
BEGIN
    PERFORM ui_permissions_check('data.runs.read');
    PERFORM streams_check();
    SELECT * INTO r FROM runs a WHERE a.thread_id = thread_named(chat) AND a.ended_at IS NULL AND NOT a.queued;
    IF r.id IS NULL THEN
        PERFORM fail('runs.not_waiting', 'chat_is_idle');
    ELSIF r.status <> 'waiting_for_input' THEN
        PERFORM fail('runs.not_waiting', 'run_has_status', jsonb_build_object('status', r.status));
    END IF;
    asked := (r.input_request ->> 'request_id')::uuid;
    CASE r.input_request ->> 'kind'
        WHEN 'tool_results' THEN
            SELECT min(a.tool_call_id) FILTER (WHERE g.item IS NULL),
                json_agg(CASE WHEN g.item -> 'error' IS NULL
                    THEN json_build_object('tool_call_id', g.item -> 'tool_call_id', 'output', g.item -> 'output')
                    ELSE json_build_object('tool_call_id', g.item -> 'tool_call_id', 'error', g.item -> 'error') END
                    ORDER BY g.nth) FILTER (WHERE g.item IS NOT NULL)
            INTO missing, wanted
            FROM run_asked_calls a
            LEFT JOIN json_array_elements(results) WITH ORDINALITY AS g (item, nth)
                ON g.item ->> 'tool_call_id' = a.tool_call_id
            WHERE a.run_id = r.id AND a.turn = (r.input_request ->> 'turn')::integer AND a.answered_by = 'client'
                  AND NOT EXISTS (SELECT FROM run_tool_results t WHERE t.run_id = a.run_id AND t.turn = a.turn
                                  AND t.tool_call_id = a.tool_call_id);
            IF missing IS NOT NULL THEN
                PERFORM fail('runs.other_answer', 'waits_for_output', jsonb_build_object('tool_call_id', missing));
            ELSIF wanted IS NULL THEN
                PERFORM fail('runs.other_answer', 'waits_for_servers');
            END IF;
            PERFORM run_tool_answer(r.id, wanted);
        WHEN 'tool_confirmation' THEN
            SELECT g.item INTO answer FROM json_array_elements(approvals) AS g (item)
            WHERE g.item ->> 'id' = r.input_request ->> 'request_id' LIMIT 1;
            IF answer IS NULL THEN
                PERFORM fail('runs.other_answer', 'waits_for_approval',
                             jsonb_build_object('tool_call_id', r.input_request ->> 'tool_call_id',
                                                'approval_id', r.input_request ->> 'request_id'));
            END IF;
            reason := CASE WHEN NOT (answer ->> 'approved')::boolean THEN nullif(answer ->> 'reason', '') END;
            PERFORM run_input(r.id, answer::text, limit_input_bytes,
                              CASE WHEN (answer ->> 'approved')::boolean THEN 'approve' ELSE 'deny' END, NULL, reason,
                              NULL, NULL, NULL, asked);
        WHEN 'question' THEN
            SELECT g.item INTO answer FROM json_array_elements(results) AS g (item)
            WHERE g.item ->> 'tool_call_id' = r.input_request ->> 'tool_call_id' AND g.item ->> 'words' ~ '\S' LIMIT 1;
            IF answer IS NULL THEN
                PERFORM fail('runs.other_answer', 'waits_for_output',
                             jsonb_build_object('tool_call_id', r.input_request ->> 'tool_call_id'));
            END IF;
            PERFORM run_input(r.id, answer ->> 'words', limit_input_bytes, NULL, NULL, NULL, NULL, NULL, NULL, asked);
        ELSE
            PERFORM fail('runs.other_answer', 'waits_elsewhere', jsonb_build_object('run_id', r.id));
    END CASE;
    RETURN json_build_object('run_id', r.id);
END
$$;

-- POST /v1/ui/chat/{chat}/stop: as :cancel of the chat's run and of those queued behind it, which go first.
CREATE OR REPLACE FUNCTION ui_chat_stop(chat text) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    thread_row threads;
    stopped uuid[];
    run uuid;
BEGIN
    SELECT * INTO thread_row FROM threads t WHERE t.id = thread_named(chat) FOR UPDATE;
    stopped := ARRAY(SELECT r.id FROM runs r
                     WHERE r.org_id = thread_row.org_id AND r.thread_id = thread_row.id AND r.queued ORDER BY r.id)
        || thread_row.active_run_id;
    PERFORM thread_runs_lock(thread_row.id);
    FOREACH run IN ARRAY array_remove(stopped, NULL) LOOP
        PERFORM run_cancel(run);
    END LOOP;
    RETURN array_remove(stopped, NULL);
END
$$;

-- Whether a chat shows what an ended run said: not when another run took its place, and not the failure of a run that
-- would have taken the place of another.
CREATE OR REPLACE FUNCTION ui_run_is_shown(r runs) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    is_visible boolean := (
        SELECT m.hidden_by_run_id IS NULL FROM messages m
        WHERE m.thread_id = r.thread_id AND m.run_id = r.id AND m.role = 'assistant' AND m.id > r.id
              AND m.id < uuidv7_floor(r.ended_at + interval '1 minute') LIMIT 1);
BEGIN
    IF is_visible IS NOT NULL OR (r.source = 'retry' AND r.status <> 'completed') THEN
        RETURN coalesce(is_visible, false);
    END IF;
    RETURN (SELECT q.source FROM runs q
            WHERE q.thread_id = r.thread_id AND q.id > r.id
                  AND NOT (q.source = 'retry' AND q.status IN ('failed', 'cancelled'))
            ORDER BY q.id LIMIT 1) IS DISTINCT FROM 'retry';
END
$$;

-- GET /v1/ui/chat/{chat}/messages: of the thread's newest messages of users and ended runs, from `before` back, those
-- of a page, in their order: a message is a row; a run a row an event, of which deltas of one text are one.
-- Of a run whose events are gone its answer stands in content. A page holds 4 MiB or one of them. has_more: older ones
-- exist. Locks nothing.
CREATE OR REPLACE FUNCTION ui_chat_messages(chat text, page_limit integer, before uuid)
RETURNS TABLE (id uuid, role text, content text, made_at timestamptz, has_more boolean, facts json,
    is_checked boolean, usage json, seq bigint, type text, data json, created_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    page_bytes_max CONSTANT bigint := 4194304;
    thread uuid := thread_named(chat);
    upper_end uuid := coalesce(before, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
BEGIN
    PERFORM ui_permissions_check('data.threads.read', 'data.runs.read');
    RETURN QUERY
    WITH texts AS (
        SELECT m.id, m.content, m.created_at, octet_length(m.content)::bigint AS bytes FROM messages m
        WHERE m.thread_id = thread AND m.id < upper_end AND m.role = 'user' AND m.hidden_by_run_id IS NULL
        ORDER BY m.id DESC LIMIT page_limit + 1),
    ended AS (
        SELECT r.id, r.created_at, r.ended_at, r.client_facts, r.response_format IS NOT NULL AS is_checked,
            r.event_bytes AS bytes FROM runs r
        WHERE r.thread_id = thread AND r.id < upper_end AND r.ended_at IS NOT NULL AND r.started_at IS NOT NULL
              AND r.deleted_at IS NULL AND ui_run_is_shown(r)
        ORDER BY r.id DESC LIMIT page_limit + 1),
    listed AS (
        SELECT i.*, row_number() OVER w AS nth, sum(i.bytes) OVER w AS bytes_so_far
        FROM (SELECT s.id, 'user' AS role, s.content, s.created_at, NULL::timestamptz AS ended_at,
                     NULL::json AS client_facts, false AS is_checked, s.bytes FROM texts s
              UNION ALL
              SELECT e.id, 'assistant', NULL, e.created_at, e.ended_at, e.client_facts, e.is_checked, e.bytes
              FROM ended e) AS i
        WINDOW w AS (ORDER BY i.id DESC)),
    shown AS (
        SELECT l.* FROM listed l WHERE l.nth <= page_limit AND (l.nth = 1 OR l.bytes_so_far <= page_bytes_max))
    SELECT s.id, s.role,
        CASE WHEN s.role = 'user' THEN s.content
             WHEN e.seq IS NULL THEN (SELECT m.content FROM messages m
                 WHERE m.thread_id = thread AND m.run_id = s.id AND m.role = 'assistant' AND m.id > s.id
                       AND m.id < uuidv7_floor(s.ended_at + interval '1 minute') LIMIT 1) END,
        s.created_at, (SELECT count(*) FROM listed) > (SELECT count(*) FROM shown), s.client_facts,
        s.is_checked,
        CASE WHEN e.type IN ('run.completed', 'run.failed', 'run.cancelled') THEN run_usage(s.id) END,
        e.seq, e.type, e.data, e.created_at
    FROM shown s
    LEFT JOIN LATERAL (
        SELECT min(v.seq) AS seq, v.type, min(v.created_at) AS created_at,
            CASE WHEN v.type = 'message.delta'
                 THEN json_strip_nulls(json_build_object('channel', nullif(v.channel, 'separator'), 'content',
                          string_agg(v.data ->> 'content', '' ORDER BY v.seq)))
                 ELSE (array_agg(v.data))[1] END AS data
        FROM (SELECT a.seq, a.type, a.data, a.created_at, a.channel,
                     -- The same for deltas that nothing stands between.
                     CASE WHEN a.type = 'message.delta'
                          THEN a.seq - row_number() OVER (PARTITION BY a.type, a.channel ORDER BY a.seq)
                          ELSE -a.seq END AS piece
              FROM (SELECT x.seq, x.type, x.data, x.created_at,
                           -- The separator of two turns (lib/events/turn_separator.h) stays apart, so that formats
                           -- recognize it as in a stream.
                           CASE WHEN x.type <> 'message.delta' THEN NULL
                                WHEN x.data ->> 'channel' IS NULL AND x.data ->> 'content' = E'\n\n' THEN 'separator'
                                ELSE x.data ->> 'channel' END AS channel
                    FROM run_events x WHERE x.run_id = s.id AND s.role = 'assistant') AS a) AS v
        GROUP BY v.type, v.channel, v.piece) AS e ON true
    ORDER BY s.id, e.seq;
END
$$;
REVOKE EXECUTE ON FUNCTION ui_facts, ui_permissions_check, ui_run_is_shown, ui_chat_retry
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION ui_chat_again, ui_chat_answer, ui_chat_stop, ui_chat_messages
    FROM hostler_runner;
