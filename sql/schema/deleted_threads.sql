-- Remains of deleted threads. Nobody can read them or bring them back, so their content is removed and no longer counts
-- as stored: messages, events, histories, results, texts of turns, metadata and end users. The rows of their runs stay
-- with their usage. So do the usage records, with the end user's name until the end user is deleted (end_users.sql).

-- Threads of which something is to be removed. Without a foreign key, because threads stay, and one would make each
-- change of a thread more expensive.
CREATE TABLE threads_to_empty (
    thread_id uuid PRIMARY KEY,
    -- Its streams end, and its run, when the daemon hears of it: until then they may read, and write.
    due_at timestamptz NOT NULL DEFAULT clock_timestamp() + interval '10 minutes',
    run_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',  -- its runs up to this one are empty
    -- Their creator, end user or organization is erased (erasure.sql): turns that other threads may be given back go
    -- too.
    is_whole boolean NOT NULL DEFAULT false
);
CREATE INDEX threads_to_empty_due ON threads_to_empty (due_at);

-- Removes the oldest messages of a thread, at most so many; how many, and their bytes.
CREATE OR REPLACE FUNCTION thread_messages_remove(thread uuid, at_most integer, OUT removed bigint, OUT bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_sort = off SET enable_bitmapscan = off
AS $$
BEGIN
    WITH gone AS (
        DELETE FROM messages m
        WHERE m.thread_id = thread AND m.id <= coalesce((
            SELECT q.id FROM messages q WHERE q.thread_id = thread ORDER BY q.id OFFSET at_most - 1 LIMIT 1),
            'ffffffff-ffff-ffff-ffff-ffffffffffff')
        RETURNING octet_length(m.content) AS bytes)
    SELECT count(*), coalesce(sum(g.bytes), 0) INTO removed, bytes FROM gone g;
END
$$;

-- Removes the oldest events of a run that has ended and is locked, at most so many, and with the last ones all else
-- that was said in it; is_empty: nothing is left. freed_before: of older runs the account counts no events any more.
-- Answers how many bytes less are stored. Turns and results that a response left to its client stay, and count, unless
-- is_whole: those that go on from it in other threads get them put back (left_calls.sql). What a call cost stays with
-- its row.
CREATE OR REPLACE FUNCTION run_empty(r runs, at_most integer, freed_before uuid, is_whole boolean,
    OUT is_empty boolean, OUT bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_sort = off SET enable_bitmapscan = off
AS $$
DECLARE
    may_be_put_back CONSTANT boolean := r.source = 'openai' AND r.tools IS NOT NULL AND NOT is_whole;
    removed bigint;
    results_left bigint := 0;
BEGIN
    WITH gone AS (
        DELETE FROM run_events e
        WHERE e.run_id = r.id AND e.seq <= coalesce((
            SELECT q.seq FROM run_events q WHERE q.run_id = r.id ORDER BY q.seq OFFSET at_most - 1 LIMIT 1),
            9223372036854775807)
        RETURNING octet_length(e.data::text) AS bytes)
    SELECT count(*), coalesce(sum(g.bytes), 0) INTO removed, bytes FROM gone g;
    is_empty := removed < at_most;
    IF NOT is_empty THEN
        bytes := least(bytes, r.event_bytes);
        UPDATE runs q SET event_bytes = q.event_bytes - run_empty.bytes WHERE q.id = r.id;
        bytes := CASE WHEN r.id >= freed_before THEN bytes ELSE 0 END;
        RETURN;
    END IF;
    DELETE FROM run_left_calls c WHERE c.run_id = r.id;
    DELETE FROM run_histories h WHERE h.run_id = r.id;
    DELETE FROM run_inputs i WHERE i.run_id = r.id;
    -- A task that must still be cancelled at its server needs the call's row, but no part of its content.
    DELETE FROM run_asked_calls a WHERE a.run_id = r.id AND NOT EXISTS (
        SELECT FROM mcp_tasks t WHERE t.run_id = a.run_id AND t.tool_call_id = a.tool_call_id);
    UPDATE run_asked_calls a SET early = NULL, remote_state = NULL
    WHERE a.run_id = r.id AND (a.early IS NOT NULL OR a.remote_state IS NOT NULL);
    IF may_be_put_back THEN
        results_left := (SELECT coalesce(sum(octet_length(t.result::text)), 0) FROM run_tool_results t
                         WHERE t.run_id = r.id)
            + (SELECT coalesce(sum(octet_length(t.parts::text)), 0) FROM run_turns t WHERE t.run_id = r.id);
    ELSE
        DELETE FROM run_turns t WHERE t.run_id = r.id;
        DELETE FROM run_tool_results t WHERE t.run_id = r.id AND t.credits = 0;
        UPDATE run_tool_results t SET result = CASE WHEN t.result IS NOT NULL THEN 'null'::json END,
            error_message = CASE WHEN t.error_code IS NOT NULL THEN '' END
        WHERE t.run_id = r.id;
    END IF;
    UPDATE runs q SET event_bytes = 0, result_bytes = results_left, history_bytes = NULL, output = NULL, tools = NULL,
        offered_tools = NULL, response_format = NULL, client_facts = NULL, client_answer = NULL, end_user = NULL,
        metadata = '{}', sampling = NULL,
        error_message = CASE WHEN q.error_code = 'output.schema_mismatch' OR is_whole AND q.error_code IS NOT NULL
                             THEN '' ELSE q.error_message END
    WHERE q.id = r.id;
    bytes := CASE WHEN r.id >= freed_before THEN r.event_bytes ELSE 0 END + r.result_bytes - results_left;
END
$$;

-- Maintenance: a page of the thread that is due longest, which is its next messages, then the next events of a run, at
-- most so many, then its title. Not before its last run ended ten minutes ago. What is removed and what that gives
-- back commit together, so that it goes on where it stopped, whatever became of it. Answers whether there was one that
-- is due. Locks what run_events_free() goes on behind, then a run, then the account.
CREATE OR REPLACE FUNCTION threads_empty(at_most integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_sort = off SET enable_bitmapscan = off
AS $$
DECLARE
    due threads_to_empty;
    thread record;
    freed_before uuid;
    r runs;
    removed bigint;
    freed bigint;
    is_empty boolean;
BEGIN
    SELECT * INTO due FROM threads_to_empty e WHERE e.due_at <= statement_timestamp()
    ORDER BY e.due_at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF due.thread_id IS NULL THEN
        RETURN false;
    END IF;
    SELECT t.org_id,
        t.active_run_id IS NOT NULL OR t.updated_at > statement_timestamp() - interval '10 minutes' AS is_in_use
    INTO STRICT thread FROM threads t WHERE t.id = due.thread_id AND t.deleted_at IS NOT NULL;
    IF thread.is_in_use THEN
        UPDATE threads_to_empty e SET due_at = clock_timestamp() + interval '10 minutes'
        WHERE e.thread_id = due.thread_id;
        RETURN true;
    END IF;
    SELECT f.before_run_id INTO STRICT freed_before FROM run_events_freed f FOR SHARE;
    SELECT m.removed, m.bytes INTO removed, freed FROM thread_messages_remove(due.thread_id, at_most) AS m;
    IF removed = 0 THEN
        SELECT * INTO r FROM runs q WHERE q.thread_id = due.thread_id AND q.id > due.run_id
        ORDER BY q.thread_id, q.id LIMIT 1 FOR NO KEY UPDATE;
        IF r.id IS NULL THEN
            UPDATE threads t SET title = NULL, search = NULL, metadata = '{}', end_user = NULL, client_id = NULL
            WHERE t.id = due.thread_id;
            DELETE FROM threads_to_empty e WHERE e.thread_id = due.thread_id;
            RETURN true;
        END IF;
        SELECT o.is_empty, o.bytes INTO is_empty, freed FROM run_empty(r, at_most, freed_before, due.is_whole) AS o;
        IF is_empty THEN
            UPDATE threads_to_empty e SET run_id = r.id WHERE e.thread_id = due.thread_id;
        END IF;
    END IF;
    UPDATE credit_accounts a SET stored_bytes = a.stored_bytes - freed WHERE a.org_id = thread.org_id AND freed <> 0;
    RETURN true;
END
$$;
REVOKE EXECUTE ON FUNCTION thread_messages_remove, run_empty FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION threads_empty FROM hostler_api;
