-- Remains of deleted responses (responses.sql). DELETE hides them at once. Maintenance removes here their messages,
-- events, histories, results and texts of turns, and their part of stored bytes.

CREATE TABLE responses_to_empty (
    run_id uuid PRIMARY KEY,  -- the response; what follows it in its thread was deleted with it
    thread_id uuid NOT NULL,
    due_at timestamptz NOT NULL DEFAULT clock_timestamp() + interval '10 minutes',
    after_run_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'  -- its runs up to this one are empty
);
CREATE INDEX responses_to_empty_due ON responses_to_empty (due_at);

-- Removes at most so many of the messages that a deleted run hides; how many, and their bytes.
CREATE OR REPLACE FUNCTION run_messages_remove(run uuid, thread uuid, at_most integer, OUT removed bigint,
    OUT bytes bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    WITH gone AS (
        DELETE FROM messages m
        WHERE m.thread_id = thread AND m.id = ANY (ARRAY(
            SELECT q.id FROM messages q WHERE q.hidden_by_run_id = run AND q.thread_id = thread LIMIT at_most))
        RETURNING octet_length(m.content) AS bytes)
    SELECT count(*), coalesce(sum(g.bytes), 0) INTO removed, bytes FROM gone g;
END
$$;

-- Maintenance: a page of the deleted response that is due longest, as threads_empty() does of a thread. A run that has
-- not ended, or ended less than ten minutes ago, is waited for.
CREATE OR REPLACE FUNCTION responses_empty(at_most integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    due responses_to_empty;
    freed_before uuid;
    r runs;
    removed bigint;
    freed bigint;
    emptied_bytes bigint;
    is_empty boolean;
BEGIN
    SELECT * INTO due FROM responses_to_empty e WHERE e.due_at <= statement_timestamp()
    ORDER BY e.due_at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF due.run_id IS NULL THEN
        RETURN false;
    END IF;
    SELECT f.before_run_id INTO STRICT freed_before FROM run_events_freed f FOR SHARE;
    SELECT * INTO r FROM runs q
    WHERE q.thread_id = due.thread_id AND q.id > due.after_run_id AND q.id >= due.run_id AND q.deleted_at IS NOT NULL
    ORDER BY q.thread_id, q.id LIMIT 1 FOR NO KEY UPDATE;
    IF r.id IS NULL THEN
        DELETE FROM responses_to_empty e WHERE e.run_id = due.run_id;
        RETURN true;
    ELSIF r.ended_at IS NULL OR r.ended_at > statement_timestamp() - interval '10 minutes' THEN
        UPDATE responses_to_empty e SET due_at = clock_timestamp() + interval '10 minutes'
        WHERE e.run_id = due.run_id;
        RETURN true;
    END IF;
    SELECT m.removed, m.bytes INTO removed, freed FROM run_messages_remove(r.id, due.thread_id, at_most) AS m;
    IF removed < at_most THEN
        SELECT o.is_empty, o.bytes INTO is_empty, emptied_bytes FROM run_empty(r, at_most, freed_before, true) AS o;
        freed := freed + emptied_bytes;
        IF is_empty THEN
            UPDATE responses_to_empty e SET after_run_id = r.id WHERE e.run_id = due.run_id;
        END IF;
    END IF;
    UPDATE credit_accounts a SET stored_bytes = a.stored_bytes - freed WHERE a.org_id = r.org_id AND freed <> 0;
    RETURN true;
END
$$;
REVOKE EXECUTE ON FUNCTION run_messages_remove FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION responses_empty FROM hostler_api;
