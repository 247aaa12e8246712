-- Runs in the form of OpenAI's responses. Each continues a thread; its own input is stored beside it (run_histories),
-- as its model reads it, and the texts of users and assistants among that are messages of the thread besides: they have
-- the run's id, and ids before it. One that shall not be stored has a thread of its own that nobody is shown, as a chat
-- has (chat_runs.sql). client_facts are the members of the answer that repeat the request; of them `instructions` goes
-- only to this run's model.

-- Joins two arrays; earlier: null counts as empty. Both as compact JSON.
CREATE OR REPLACE FUNCTION json_arrays_joined(earlier json, later json) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN coalesce(earlier::text, '[]') = '[]' THEN later WHEN later::text = '[]' THEN earlier
        ELSE (left(earlier::text, -1) || ',' || substr(later::text, 2))::json END
$$;

-- Content of a thread before an id, in the form for a run, and the runs whose turns are put back into it
-- (left_calls.sql); later: the runs whose turns are already put back, for the part after the id. The thread's newest,
-- at most 1,000 pieces, up to 16 MiB, the maximum for a model. Walked from its end, in the order of the keys: a
-- response's own items in place of the messages that they became, and nothing before a response that was given its
-- whole history. Of a run whose turns are put back the text is in them.
CREATE OR REPLACE FUNCTION thread_context(thread uuid, before uuid, later uuid[], OUT context json, OUT put_back uuid[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    bytes_max CONSTANT bigint := 16777216;
    pieces text[] := '{}';
    bytes bigint := 0;
    piece record;
    json_text text;
BEGIN
    put_back := coalesce(later, '{}');
    FOR piece IN
        (SELECT m.id, m.role, m.content, m.parts, m.run_id, m.has_turns, NULL::json AS messages, NULL::json AS context,
             NULL::uuid[] AS earlier, true AS continues
         FROM messages m
         WHERE m.thread_id = thread AND m.id < before AND m.hidden_by_run_id IS NULL
               AND NOT (m.run_id IS NOT NULL AND m.id < m.run_id AND EXISTS (
                   SELECT FROM run_histories h JOIN runs q ON q.id = h.run_id
                   WHERE h.run_id = m.run_id AND q.thread_id = thread))
         ORDER BY m.thread_id DESC, m.id DESC LIMIT 1000)
        UNION ALL
        (SELECT r.id, NULL, NULL, NULL, r.id, false, h.messages, h.context, h.put_back, h.continues
         FROM runs r CROSS JOIN LATERAL (
             SELECT i.messages, i.context, i.put_back, i.continues FROM run_histories i WHERE i.run_id = r.id OFFSET 0
         ) AS h
         WHERE r.thread_id = thread AND r.id < before AND r.deleted_at IS NULL
         ORDER BY r.thread_id DESC, r.id DESC LIMIT 1000)
        ORDER BY id DESC
    LOOP
        IF piece.messages IS NOT NULL THEN
            -- The newest response knows of those before it.
            IF NOT coalesce(piece.earlier, '{}') <@ put_back THEN
                put_back := piece.earlier || put_back;
            END IF;
            json_text := json_arrays_joined(piece.context, piece.messages)::text;
            json_text := substr(json_text, 2, length(json_text) - 2);
        ELSE
            CONTINUE WHEN piece.run_id = ANY (put_back);
            json_text := json_strip_nulls(json_build_object('role', piece.role, 'content', piece.content,
                'parts', piece.parts, 'run_id', CASE WHEN piece.has_turns THEN piece.run_id END))::text;
        END IF;
        IF json_text <> '' THEN
            pieces := pieces || json_text;
        END IF;
        bytes := bytes + octet_length(json_text);
        EXIT WHEN bytes > bytes_max OR NOT piece.continues;
    END LOOP;
    context := concat('[', (SELECT string_agg(p.piece, ',' ORDER BY p.nth DESC)
                            FROM unnest(pieces) WITH ORDINALITY AS p (piece, nth)), ']')::json;
END
$$;

-- All that a run was given in place of its thread's messages.
CREATE OR REPLACE FUNCTION run_given_messages(run uuid) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    given record;
    instructions text;
    earlier json;
BEGIN
    SELECT h.messages, h.context, h.continues, h.put_back, r.thread_id, r.client_facts INTO given
    FROM run_histories h JOIN runs r ON r.id = h.run_id WHERE h.run_id = run;
    earlier := given.context;
    IF given.continues THEN
        earlier := (SELECT c.context FROM thread_context(given.thread_id, run, given.put_back) AS c);
    END IF;
    instructions := given.client_facts ->> 'instructions';
    RETURN json_arrays_joined(
        CASE WHEN instructions <> '' THEN json_build_array(json_build_object('role', 'system', 'content', instructions))
        END, json_arrays_joined(earlier, given.messages));
END
$$;

-- The response, when the caller may read it.
CREATE OR REPLACE FUNCTION response_of_reader(run uuid) RETURNS runs
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := run_of_reader(run);
BEGIN
    IF r.source <> 'openai' OR r.deleted_at IS NOT NULL
       OR NOT EXISTS (SELECT FROM threads t WHERE t.id = r.thread_id AND t.deleted_at IS NULL) THEN
        PERFORM fail('runs.not_found');
    END IF;
    RETURN r;
END
$$;

-- Counts what is written into threads beside what runs declare; the account's row is locked.
CREATE OR REPLACE FUNCTION stored_bytes_add(added bigint, limit_stored_bytes bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org CONSTANT uuid := current_org();
    bytes_max CONSTANT bigint := entitlement_integer(org, 'limit.stored_bytes', limit_stored_bytes);
BEGIN
    UPDATE credit_accounts a SET stored_bytes = a.stored_bytes + added
    WHERE a.org_id = org AND (bytes_max = 0 OR a.stored_bytes + added <= bytes_max);
    IF NOT FOUND THEN
        PERFORM stored_bytes_refused(bytes_max, a.stored_bytes) FROM credit_accounts a WHERE a.org_id = org;
    END IF;
END
$$;

-- A new thread like another one, without its messages; its id.
CREATE OR REPLACE FUNCTION thread_copy(original threads, moment timestamptz) RETURNS uuid
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    INSERT INTO threads (org_id, created_by_user_id, title, is_private, end_user, metadata, created_at, updated_at,
                         search)
    VALUES (original.org_id, original.created_by_user_id, original.title, original.is_private, original.end_user,
            original.metadata, moment, moment, original.search)
    RETURNING id
$$;

-- The messages of a thread before an id that a model may read, copied into another thread. Megabytes, and more of
-- words: called when nothing can refuse the request any more.
CREATE OR REPLACE FUNCTION thread_copy_messages(original uuid, before uuid, copy uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    INSERT INTO messages (id, org_id, thread_id, run_id, created_by_user_id, role, content, incomplete, has_turns,
                          created_at, search, parts)
    SELECT m.id, m.org_id, copy, m.run_id, m.created_by_user_id, m.role, m.content, m.incomplete, m.has_turns,
        m.created_at, m.search, m.parts
    FROM thread_newest_messages(original, 1000, 16777216, before) AS n
    JOIN messages m ON m.thread_id = original AND m.id = n.id;
    SELECT message_files_copy(original, copy)
$$;

-- POST /v1/openai/responses. items: the input of the response, as in run_histories; words: search_words() of each that
-- a person reads. previous: the response that it goes on from, in its thread if nothing followed it, else in a copy of
-- the thread up to there. conversation: the thread where it goes on from whatever is there. Of these one or none.
-- answered_calls, missing_calls: ids of calls that items have outputs of; of all, and of those that are not called in
-- items. opens_stream: the answer is the relay's. facts: as they are stored, with the conversation's id.
CREATE OR REPLACE FUNCTION response_create(persona_id text, route uuid, items json, words text[], previous uuid,
    conversation uuid, sampling json, end_user text, metadata json, keeps boolean, limit_concurrent_runs bigint,
    limit_concurrent_runs_per_user bigint, limit_stored_bytes bigint, credit_run_hold bigint, response_format json,
    function_tools json, answered_calls text[], missing_calls text[], client_facts json, opens_stream boolean,
    OUT item json, OUT facts json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    nothing_behind CONSTANT uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    put_back_max CONSTANT integer := 1000;  -- as of the pieces that a run is given
    is_bare CONSTANT boolean := route IS NOT NULL;
    base runs;
    found_thread threads;
    behind uuid := nothing_behind;
    earlier json;
    put_back uuid[] := coalesce(left_calls_runs(answered_calls), '{}');
    goes_on boolean;  -- in the thread that was found, when no deleted response is still at work there
    thread uuid;
    run uuid;
    moment timestamptz;
    run_moment timestamptz;
    bytes bigint := 0;
    own_bytes bigint;
    own_files json;  -- the messages with parts that items become
BEGIN
    -- The answer is what the run says.
    IF NOT has_permission('data.runs.read') THEN
        PERFORM fail('auth.forbidden', 'permission_missing', jsonb_build_object('permission', 'data.runs.read'));
    END IF;
    IF opens_stream THEN
        PERFORM streams_check();
    END IF;
    PERFORM left_calls_check(answered_calls, missing_calls, 'input');
    IF previous IS NOT NULL THEN
        BEGIN
            base := response_of_reader(previous);
        EXCEPTION WHEN SQLSTATE 'HS000' THEN
            IF SQLERRM = 'runs.not_found' THEN
                PERFORM fail('runs.not_found', 'previous_response_unknown');
            END IF;
            RAISE;
        END;
        found_thread := thread_of_caller_locked(base.thread_id);
        base := response_of_reader(previous);  -- as it is behind the lock
        IF base.ended_at IS NULL THEN
            PERFORM fail('runs.thread_busy', 'conversation_is_active', jsonb_build_object('active_run_id', base.id));
        END IF;
        behind := least(coalesce((
            SELECT m.id FROM messages m
            WHERE m.thread_id = found_thread.id AND m.id > base.id AND m.run_id IS DISTINCT FROM base.id
                  AND m.hidden_by_run_id IS NULL ORDER BY m.id LIMIT 1), nothing_behind), coalesce((
            SELECT r.id FROM runs r
            WHERE r.thread_id = found_thread.id AND r.id > base.id AND r.deleted_at IS NULL ORDER BY r.id LIMIT 1),
            nothing_behind));
    ELSIF conversation IS NOT NULL THEN
        IF NOT EXISTS (SELECT FROM threads t
                       WHERE t.id = conversation AND t.org_id = current_org() AND t.deleted_at IS NULL) THEN
            BEGIN
                PERFORM fail_missing('threads.not_found', 'threads', conversation);
            EXCEPTION WHEN SQLSTATE 'HS000' THEN
                IF SQLERRM = 'threads.not_found' THEN
                    PERFORM fail('threads.not_found', 'conversation_unknown');
                END IF;
                RAISE;
            END;
        END IF;
        found_thread := thread_of_caller_locked(conversation);
        IF found_thread.active_run_id IS NOT NULL THEN
            PERFORM fail('runs.thread_busy', 'conversation_is_active',
                         jsonb_build_object('active_run_id', found_thread.active_run_id));
        END IF;
    END IF;
    goes_on := found_thread.id IS NOT NULL AND keeps AND behind = nothing_behind AND found_thread.active_run_id IS NULL;
    IF goes_on THEN
        -- The newest response was given back what those before it were.
        put_back := coalesce((
            SELECT h.put_back FROM runs r JOIN run_histories h ON h.run_id = r.id
            WHERE r.thread_id = found_thread.id AND r.deleted_at IS NULL ORDER BY r.id DESC LIMIT 1), '{}') || put_back;
    ELSIF previous IS NOT NULL THEN
        SELECT c.context, c.put_back INTO earlier, put_back FROM thread_context(found_thread.id, behind, put_back) AS c;
    END IF;
    moment := moment_after(coalesce(found_thread.updated_at, '-infinity'), clock_timestamp());
    -- Behind the messages that its items become, a microsecond each.
    run_moment := moment + json_array_length(items) * interval '1 microsecond';
    run := uuidv7_of(run_moment);
    IF goes_on THEN
        thread := found_thread.id;
    ELSIF found_thread.id IS NOT NULL AND keeps THEN
        thread := thread_copy(found_thread, moment);
        bytes := (SELECT coalesce(sum(octet_length(n.content)), 0)
                  FROM thread_newest_messages(found_thread.id, 1000, 16777216, behind) AS n);
    ELSE
        INSERT INTO threads (org_id, created_by_user_id, end_user, created_at, updated_at, deleted_at, is_hidden)
        VALUES (current_org(), current_user_id(), coalesce(found_thread.end_user, response_create.end_user), moment,
                moment, CASE WHEN NOT keeps THEN moment END, NOT keeps)
        RETURNING id INTO thread;
    END IF;
    items := history_parts_taken(items);
    IF keeps THEN
        WITH shown AS (
            INSERT INTO messages (id, org_id, thread_id, run_id, created_by_user_id, role, content, created_at,
                                  search, parts)
            SELECT uuidv7_of(moment + (i.nth - 1) * interval '1 microsecond'), current_org(), thread, run,
                CASE WHEN i.item ->> 'role' = 'user' THEN current_user_id() END, i.item ->> 'role',
                i.item ->> 'content', moment + (i.nth - 1) * interval '1 microsecond',
                words_vector(words[i.nth]), i.item -> 'parts'
            FROM json_array_elements(items) WITH ORDINALITY AS i (item, nth)
            WHERE i.item ->> 'role' IN ('user', 'assistant')
                  AND (i.item ->> 'content' <> '' OR i.item -> 'parts' IS NOT NULL)
            RETURNING id, octet_length(content) AS bytes, parts)
        SELECT coalesce(sum(s.bytes), 0),
            json_agg(json_build_object('id', s.id, 'parts', s.parts)) FILTER (WHERE s.parts IS NOT NULL)
        INTO own_bytes, own_files FROM shown s;
        PERFORM message_files_keep(current_org(), thread, (o.shown ->> 'id')::uuid, o.shown -> 'parts')
        FROM json_array_elements(own_files) AS o (shown);
        PERFORM user_runs_lock();  -- before the account, as everywhere
        PERFORM stored_bytes_add(bytes + own_bytes, limit_stored_bytes);
        client_facts := (left(client_facts::text, -1) || ',"conversation":{"id":"conv_' || thread || '"}}')::json;
    END IF;
    UPDATE threads t SET active_run_id = run, updated_at = run_moment WHERE t.id = thread;
    item := run_insert(run, thread, run_moment, route, CASE WHEN NOT is_bare THEN response_create.persona_id END,
                       coalesce(found_thread.end_user, response_create.end_user), response_create.metadata, 'openai',
                       false, limit_concurrent_runs, limit_concurrent_runs_per_user, NULL, limit_stored_bytes,
                       credit_run_hold, NULL, response_create.function_tools, response_create.response_format,
                       history => json_arrays_joined(earlier, items),
                       sampling => response_create.sampling, is_bare => is_bare,
                       client_facts => response_create.client_facts);
    IF found_thread.id IS NOT NULL AND keeps AND NOT goes_on THEN
        PERFORM thread_copy_messages(found_thread.id, behind, thread);
    END IF;
    INSERT INTO run_histories (run_id, org_id, messages, keeps, put_back, context, continues)
    VALUES (run, current_org(), items, response_create.keeps,
            nullif(put_back[greatest(1, cardinality(put_back) - put_back_max + 1):], '{}'), earlier, goes_on);
    PERFORM run_files_keep(current_org(), run, json_arrays_joined(earlier, items));
    facts := client_facts;
END
$$;

-- POST /v1/openai/responses/{response}/cancel: as :cancel of its run.
CREATE OR REPLACE FUNCTION response_cancel(run uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF NOT has_permission('data.runs.read') THEN
        PERFORM fail('auth.forbidden', 'permission_missing', jsonb_build_object('permission', 'data.runs.read'));
    END IF;
    PERFORM response_of_reader(run);
    PERFORM run_cancel(run);
END
$$;

-- Hides a response and what follows it in its thread, which is locked; answers the runs that were stopped.
CREATE OR REPLACE FUNCTION response_hide(r runs, thread_row threads) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    stopped uuid[];
BEGIN
    -- Runs before the account, which what is stopped locks.
    UPDATE runs d SET deleted_at = clock_timestamp()
    WHERE d.thread_id = thread_row.id AND d.id >= r.id AND d.deleted_at IS NULL;
    stopped := thread_stop(thread_row, NULL, 'requested');
    -- Its own are at most 10,000 microseconds older.
    UPDATE messages m SET hidden_by_run_id = coalesce(m.run_id, r.id)
    WHERE m.thread_id = thread_row.id AND m.id >= uuidv7_floor(r.created_at - interval '20 milliseconds')
          AND (m.id > r.id OR m.run_id = r.id);
    -- Later input does not get their turns back.
    DELETE FROM run_left_calls c
    WHERE c.run_id = ANY (ARRAY(SELECT d.id FROM runs d WHERE d.thread_id = thread_row.id AND d.id >= r.id));
    INSERT INTO responses_to_empty (run_id, thread_id) VALUES (r.id, r.thread_id) ON CONFLICT (run_id) DO NOTHING;
    PERFORM privacy_note('response', r.org_id, r.id);
    RETURN stopped;
END
$$;

-- DELETE /v1/openai/responses/{response}: by its creator. It and what follows it in its thread are hidden, and what of
-- that is at work is cancelled, and answered for the notification; the runs' rows stay, as what they took does. Each
-- message is hidden by the run that it belongs to, so that no other run's end brings it back. Maintenance removes what
-- was said (deleted_responses.sql).
CREATE OR REPLACE FUNCTION response_delete(run uuid) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := response_of_reader(run);
    thread_row threads := thread_of_caller_locked(r.thread_id);
    stopped uuid[];
BEGIN
    r := response_of_reader(run);  -- as it is behind the lock
    stopped := response_hide(r, thread_row);
    PERFORM audit('responses.delete', 'run', r.id::text, r.org_id, jsonb_build_object(
        'created_by_user_id', r.created_by_user_id, 'status', r.status));
    RETURN stopped;
END
$$;

-- GET /v1/openai/responses/{response}/input_items: what it was given itself, by its creator.
CREATE OR REPLACE FUNCTION response_items(run uuid) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := response_of_reader(run);
    items json;
BEGIN
    IF r.org_id <> current_org() THEN
        PERFORM fail('runs.not_found');
    ELSIF r.created_by_user_id <> current_user_id() THEN
        PERFORM fail('policy.denied', 'thread_of_another');
    END IF;
    SELECT h.messages INTO items FROM run_histories h WHERE h.run_id = r.id;
    IF items IS NULL THEN
        PERFORM fail('runs.events_expired');
    END IF;
    RETURN items;
END
$$;
REVOKE EXECUTE ON FUNCTION response_create, response_cancel, response_delete, response_items, response_of_reader
    FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION run_given_messages FROM hostler_api;
REVOKE EXECUTE ON FUNCTION response_hide, stored_bytes_add, thread_copy, thread_copy_messages, thread_context
    FROM hostler_api, hostler_runner;
