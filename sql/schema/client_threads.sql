-- Clients of protocols that send a conversation and read its next answer in one request (AI SDK, AG-UI). The new part
-- begins a run of the thread that they name, or answers the one that waits. Both answer {run_id}, and the daemons and
-- subscribers to notify. facts: runs.client_facts.

-- The newest user's message of the thread with this name of the client and the same text, or null. Clients that show
-- the thread's messages name a message by its id.
CREATE OR REPLACE FUNCTION client_message(thread uuid, message_id text, message text) RETURNS messages
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    m messages;
BEGIN
    SELECT * INTO m FROM messages q
    WHERE q.thread_id = thread AND q.client_id = message_id AND q.role = 'user'
          AND hashtextextended(q.content, 0) = hashtextextended(message, 0) AND q.content = message
    ORDER BY q.id DESC LIMIT 1;
    IF m.id IS NULL AND message_id ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN
        SELECT * INTO m FROM messages q
        WHERE q.thread_id = thread AND q.id = message_id::uuid AND q.role = 'user' AND q.content = message;
    END IF;
    RETURN m;
END
$$;

-- The run that answers a user's message: the newest before the user's next one.
CREATE OR REPLACE FUNCTION client_message_run(m messages) RETURNS runs
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    next_id uuid := (SELECT q.id FROM messages q
                     WHERE q.thread_id = m.thread_id AND q.id > m.id AND q.role = 'user' ORDER BY q.id LIMIT 1);
    r runs;
BEGIN
    SELECT * INTO r FROM runs q
    WHERE q.thread_id = m.thread_id AND q.id > m.id AND q.id < coalesce(next_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
          AND q.deleted_at IS NULL
    ORDER BY q.id DESC LIMIT 1;
    RETURN r;
END
$$;

-- Stores a message of the thread, which is created if it is missing, and a run after it, or nothing at all. A run that
-- is active there is interrupted. facts null: those of the AI SDK (ui_facts). Locks the thread, its runs, what counts
-- the caller's runs, then the account, as every interruption does. message_id: the client's name of the message, or
-- null. One that is there already came twice: its run is answered once more. sends_again: the client says that it sends
-- a message which it shows. Then a run that failed or was cancelled is retried, and a message that is there with other
-- words is refused.
CREATE OR REPLACE FUNCTION client_chat_begin(thread_name text, end_user text, message text, words text, route uuid,
    persona_id text, metadata json, function_tools json, facts json, limit_concurrent_runs bigint,
    limit_concurrent_runs_per_user bigint, limit_queued_runs bigint, limit_stored_bytes bigint, credit_run_hold bigint,
    limit_waiting_runs bigint, message_id text, sends_again boolean, parts json DEFAULT NULL, OUT item json,
    OUT stopped uuid[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    thread uuid;
    posted messages;
    posted_run runs;
BEGIN
    PERFORM ui_permissions_check('data.threads.write', 'data.runs.read');
    PERFORM streams_check();
    IF facts IS NULL THEN
        facts := ui_facts(persona_resolve(client_chat_begin.persona_id), function_tools);
    END IF;
    thread := client_thread(thread_name, client_chat_begin.end_user);
    PERFORM thread_of_caller_locked(thread);
    IF message_id IS NOT NULL THEN
        posted := client_message(thread, message_id, message);
        posted_run := client_message_run(posted);
        IF posted_run.id IS NOT NULL AND sends_again AND posted_run.status IN ('failed', 'cancelled') THEN
            item := ui_chat_retry(thread_name, NULL, message, limit_concurrent_runs, limit_concurrent_runs_per_user,
                                  limit_queued_runs, limit_stored_bytes, credit_run_hold, limit_waiting_runs);
            RETURN;
        ELSIF posted_run.id IS NOT NULL THEN
            item := json_build_object('run_id', posted_run.id);
            RETURN;
        ELSIF posted.id IS NULL AND sends_again AND EXISTS (
            SELECT FROM messages m WHERE m.thread_id = thread AND m.client_id = message_id) THEN
            PERFORM fail('validation.error', 'message_is_kept');
        END IF;
    END IF;
    PERFORM thread_runs_lock(thread);
    PERFORM user_runs_lock();
    IF posted.id IS NULL THEN
        PERFORM message_create(thread, message, words, client_chat_begin.limit_stored_bytes, message_id,
                               client_chat_begin.parts);
    END IF;
    SELECT c.item, c.stopped INTO STRICT item, stopped
    FROM run_create(thread, route, client_chat_begin.persona_id, 'interrupt', client_chat_begin.metadata,
                    client_chat_begin.limit_concurrent_runs, client_chat_begin.limit_concurrent_runs_per_user,
                    client_chat_begin.limit_queued_runs, client_chat_begin.limit_stored_bytes,
                    client_chat_begin.credit_run_hold, client_chat_begin.limit_waiting_runs,
                    client_chat_begin.function_tools, NULL, client_chat_begin.facts) AS c;
END
$$;

-- Active run in the caller's thread of this name, locked like the thread, or all null.
CREATE OR REPLACE FUNCTION client_chat_waiting(thread_name text) RETURNS runs
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    thread uuid := thread_named(thread_name);
    thread_row threads;
    r runs;
BEGIN
    PERFORM ui_permissions_check('data.runs.read');
    PERFORM streams_check();
    IF thread IS NOT NULL THEN
        thread_row := thread_of_caller_locked(thread);
        SELECT * INTO r FROM runs WHERE id = thread_row.active_run_id FOR NO KEY UPDATE;
    END IF;
    RETURN r;
END
$$;

-- The answer to it begins behind what is stored of the run now, but for an end that the answer itself is.
CREATE OR REPLACE FUNCTION client_chat_answered(run uuid, facts json, end_seq bigint, OUT item json, OUT stopped uuid[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE runs SET client_answer = json_build_object('behind_seq', coalesce(end_seq - 1, last_seq), 'facts', facts)
    WHERE id = run;
    item := json_build_object('run_id', run);
    stopped := ARRAY[run];
END
$$;

-- Answer of a person to the question, confirmation or elicitation with this id. content: of a question, text; decision,
-- arguments, reason: of a confirmation; elicited: of an elicitation, JSON as run_elicited() takes it, which may be the
-- content as well; each null if absent. abandons: no answer; a confirmation is denied, an elicitation cancelled, a
-- question ends the run.
CREATE OR REPLACE FUNCTION client_chat_input(thread_name text, request_id text, content text, decision text,
    arguments json, reason text, elicited text, abandons boolean, facts json, limit_input_bytes bigint,
    OUT item json, OUT stopped uuid[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := client_chat_waiting(thread_name);
    decides boolean;
    end_seq bigint;
BEGIN
    IF r.input_request IS NULL OR r.input_request ->> 'request_id' <> request_id THEN
        PERFORM fail('runs.not_waiting', 'interrupt_is_over');
    END IF;
    decides := r.input_request ->> 'kind' = 'tool_confirmation';
    IF r.input_request ->> 'kind' = 'elicitation' THEN
        PERFORM run_input(r.id, CASE WHEN abandons THEN '{"action": "cancel"}'
                                     ELSE coalesce(elicited, client_chat_input.content, '') END,
                          limit_input_bytes, NULL, NULL, NULL, NULL, NULL, NULL);
    ELSIF abandons AND NOT decides THEN
        PERFORM run_cancel(r.id);
        end_seq := r.last_seq + 1;
    ELSIF r.input_request ->> 'kind' = 'budget' THEN
        PERFORM fail('runs.other_answer', 'waits_for_budget', jsonb_build_object('name', r.input_request ->> 'name'));
    ELSIF r.input_request ->> 'kind' = 'authorization' THEN
        PERFORM fail('runs.other_answer', 'waits_for_connection',
                     jsonb_build_object('server', r.input_request ->> 'server_key'));
    ELSIF NOT abandons AND decides AND decision IS NULL THEN
        PERFORM fail('validation.error', 'confirmation_takes_approved');
    ELSIF NOT abandons AND NOT decides AND client_chat_input.content IS NULL THEN
        PERFORM fail('validation.error', 'question_takes_text');
    ELSE
        PERFORM run_input(r.id, coalesce(client_chat_input.content, ''), limit_input_bytes,
                          CASE WHEN abandons THEN 'deny' ELSE decision END, arguments, reason, NULL, NULL, NULL);
    END IF;
    SELECT a.item, a.stopped INTO STRICT item, stopped FROM client_chat_answered(r.id, facts, end_seq) AS a;
END
$$;

-- Results of the calls that the run asked its client for, all that are missing. results: as run_tool_answer()'s. Those
-- that calls had before say nothing, since clients repeat what the run itself told them.
CREATE OR REPLACE FUNCTION client_chat_results(thread_name text, results json, facts json,
    OUT item json, OUT stopped uuid[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := client_chat_waiting(thread_name);
    taken json;
    unknown_id text;
    missing text;
BEGIN
    IF r.input_request IS NULL OR NOT waits_for_results(r.input_request) THEN
        PERFORM fail('runs.not_waiting', 'no_results_awaited');
    END IF;
    SELECT json_agg(e.item ORDER BY e.nth) FILTER (WHERE t.run_id IS NULL),
        min(e.item ->> 'tool_call_id') FILTER (WHERE t.run_id IS NULL AND a.run_id IS NULL)
    INTO taken, unknown_id
    FROM json_array_elements(results) WITH ORDINALITY AS e (item, nth)
    LEFT JOIN run_asked_calls a ON a.run_id = r.id AND a.tool_call_id = e.item ->> 'tool_call_id'
    LEFT JOIN run_tool_results t ON t.run_id = r.id AND t.tool_call_id = e.item ->> 'tool_call_id';
    IF unknown_id IS NOT NULL THEN
        PERFORM fail('validation.error', 'result_of_no_call', jsonb_build_object('tool_call_id', unknown_id));
    ELSIF taken IS NULL THEN
        PERFORM fail('runs.tool_result_exists', 'call_has_result',
                     jsonb_build_object('tool_call_id', results #>> '{0,tool_call_id}'));
    END IF;
    missing := (
        SELECT string_agg(m.id, ', ')
        FROM json_array_elements_text(run_tool_answer(r.id, taken) -> 'missing') AS m (id)
        JOIN run_asked_calls a ON a.run_id = r.id AND a.tool_call_id = m.id AND a.answered_by = 'client');
    IF missing IS NOT NULL THEN
        PERFORM fail('validation.error', 'results_missing', jsonb_build_object('missing', missing));
    END IF;
    SELECT a.item, a.stopped INTO STRICT item, stopped FROM client_chat_answered(r.id, facts, NULL) AS a;
END
$$;
REVOKE EXECUTE ON FUNCTION client_chat_waiting, client_chat_answered, client_message, client_message_run
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION client_chat_begin, client_chat_input, client_chat_results FROM hostler_runner;
