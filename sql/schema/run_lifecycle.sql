-- Changes of a run: cancelling and ending. Its beginning: run_creation.sql; commits of a daemon: run_commits.sql.

-- Ends a run, in the transaction of its terminal event, as the commit of a flight does (runs_commit). The caller holds
-- the locks of thread and run, has read r behind them, and has checked that it may end the run.
CREATE OR REPLACE FUNCTION run_end(r runs, new_status text, final_seq bigint, code text, message text,
                        answer text, is_incomplete boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    none constant bigint[] := '{0}';
BEGIN
    PERFORM FROM runs_commit(r.owner_id, ARRAY[r.id], ARRAY[r.epoch], ARRAY[final_seq], none,
        ARRAY[''], none, none, none, none, ARRAY[false], none, none,
        ARRAY[new_status], ARRAY[coalesce(code, '')], ARRAY[coalesce(message, '')], ARRAY[coalesce(answer, '')],
        ARRAY[search_words(coalesce(answer, ''))], ARRAY[is_incomplete], ARRAY[run_event_bytes(r.id)],
        ARRAY[run_result_bytes(r.id)]);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'run % has ended, or another owner', r.id;
    END IF;
END
$$;

-- The answer that subscribers of a run were shown: its deltas, without those that a take-over, a fall-back or a repair
-- discarded.
CREATE OR REPLACE FUNCTION run_streamed_text(run uuid) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT coalesce(string_agg(e.data ->> 'content', '' ORDER BY e.seq), '')
    FROM (SELECT seq, type, data, min((data ->> 'discard_after_seq')::bigint) FILTER (WHERE type <> 'message.delta')
              OVER (ORDER BY seq DESC) AS kept_until
          FROM run_events
          WHERE run_id = run AND type IN ('message.delta', 'run.resumed', 'run.fell_back', 'output.repair')) AS e
    WHERE e.type = 'message.delta' AND e.data ->> 'channel' IS NULL AND e.seq <= coalesce(e.kept_until, e.seq)
$$;

-- The same as its thread is to keep it: one that nobody is shown keeps nothing.
CREATE OR REPLACE FUNCTION run_message_text(r runs) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT CASE WHEN r.history_bytes IS NOT NULL AND (SELECT t.is_hidden FROM threads t WHERE t.id = r.thread_id)
                THEN '' ELSE run_streamed_text(r.id) END
$$;

-- Cancels a run whose thread is locked: at once if no daemon owns it, else by asking the owner, who reports the same
-- reason. The first of several reasons counts. A terminal run stays as it is. True if an owner must be notified.
CREATE OR REPLACE FUNCTION run_cancel_locked(run uuid, why text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
BEGIN
    SELECT * INTO STRICT r FROM runs WHERE id = run FOR UPDATE;
    IF r.status NOT IN ('running', 'waiting_for_input') THEN
        RETURN false;
    END IF;
    IF r.owner_id IS NOT NULL THEN
        UPDATE runs SET cancel_requested_at = clock_timestamp(), cancel_reason = why
        WHERE id = run AND cancel_requested_at IS NULL;
        RETURN true;
    END IF;
    INSERT INTO run_events (run_id, seq, type, data)
    VALUES (run, r.last_seq + 1, 'run.cancelled', json_build_object('reason', coalesce(r.cancel_reason, why)));
    PERFORM run_end(r, 'cancelled', r.last_seq + 1, NULL, NULL, run_message_text(r), true);
    RETURN true;
END
$$;

-- Ends a run as failed whose end cannot be written as it should: a partition is missing, a trigger refuses its message.
-- What cannot be written of it is left out, its event, then its answer, then its webhook messages; what it holds and
-- keeps others from is free. False when somebody else has it. Epochs are given once.
CREATE OR REPLACE FUNCTION run_abandon(run uuid, run_epoch bigint, code text, message text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
    final_seq bigint;
    answer text;
BEGIN
    PERFORM FROM threads t WHERE t.id = (SELECT o.thread_id FROM runs o WHERE o.id = run) FOR UPDATE;
    SELECT * INTO r FROM runs o WHERE o.id = run AND o.owner_id IS NOT NULL AND o.epoch = run_epoch FOR UPDATE;
    IF r.id IS NULL THEN
        RETURN false;
    END IF;
    final_seq := run_last_seq_now(run);
    BEGIN
        answer := run_message_text(r);
        INSERT INTO run_events (run_id, seq, type, data)
        VALUES (run, final_seq + 1, 'run.failed', json_build_object('code', code, 'message', message));
        final_seq := final_seq + 1;
    EXCEPTION WHEN OTHERS THEN
        RAISE WARNING 'run % ends without its event: %', run, SQLERRM;
    END;
    PERFORM pg_notify('hostler_control', run::text);
    BEGIN
        PERFORM run_end(r, 'failed', final_seq, code, message, answer, true);
        RETURN true;
    EXCEPTION WHEN OTHERS THEN
        RAISE WARNING 'run % ends without its answer: %', run, SQLERRM;
    END;
    BEGIN
        PERFORM run_end(r, 'failed', final_seq, code, message, NULL, true);
        RETURN true;
    EXCEPTION WHEN OTHERS THEN
        RAISE WARNING 'run % ends without its webhook messages: %', run, SQLERRM;
    END;
    PERFORM set_config('hostler.webhooks', 'off', true);
    PERFORM run_end(r, 'failed', final_seq, code, message, NULL, true);
    RETURN true;
END
$$;

-- Channel on which a request to a run is announced: its owner listens on a channel of its own. A run that nobody owns
-- was changed by the API, and its subscribers may be anywhere.
CREATE OR REPLACE FUNCTION run_control_channel(run uuid) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN coalesce((SELECT daemon_channel(r.owner_id) FROM runs r WHERE r.id = run), 'hostler_control');
END
$$;

-- POST /v1/runs/{run_id}:cancel: the creator, org.runs.read_all or a platform admin, in every state.
CREATE OR REPLACE FUNCTION run_cancel(run uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := run_of_reader(run);
BEGIN
    PERFORM 1 FROM threads WHERE id = r.thread_id FOR UPDATE;
    IF run_cancel_locked(run, 'requested') THEN
        PERFORM audit('runs.cancel', 'run', run::text, r.org_id, jsonb_build_object('status', r.status),
                      jsonb_build_object('reason', 'requested'));
    END IF;
END
$$;

-- A statement that locks runs and an account locks the runs first, because a daemon that commits a turn does.
CREATE OR REPLACE FUNCTION thread_runs_lock(thread uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM 1 FROM runs WHERE thread_id = thread AND status IN ('running', 'waiting_for_input') ORDER BY id FOR UPDATE;
END
$$;

-- Cancels the queued runs of a locked thread, then the active one; not `except_id`. Answers the daemons and subscribers
-- to notify.
CREATE OR REPLACE FUNCTION thread_stop(thread_row threads, except_id uuid, why text) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    stopped uuid[] := ARRAY(SELECT id FROM runs WHERE org_id = thread_row.org_id AND thread_id = thread_row.id
                            AND queued
                            AND id IS DISTINCT FROM except_id ORDER BY id);
    waiting uuid;
BEGIN
    IF thread_row.active_run_id IS NOT NULL THEN
        stopped := stopped || thread_row.active_run_id;
    END IF;
    PERFORM thread_runs_lock(thread_row.id);
    FOREACH waiting IN ARRAY stopped LOOP
        PERFORM run_cancel_locked(waiting, why);
    END LOOP;
    RETURN stopped;
END
$$;

-- DELETE /v1/threads/{thread_id}: queued and active runs are cancelled, and answered for the notification. What was
-- said in it is removed by maintenance (deleted_threads.sql).
CREATE OR REPLACE FUNCTION thread_delete(thread uuid) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    thread_row threads := thread_of_caller_locked(thread);
    stopped uuid[] := thread_stop(thread_row, NULL, 'thread_deleted');
BEGIN
    UPDATE threads SET deleted_at = clock_timestamp(), updated_at = clock_timestamp() WHERE id = thread_row.id;
    INSERT INTO threads_to_empty (thread_id) VALUES (thread_row.id);
    PERFORM privacy_note('thread', thread_row.org_id, thread_row.id);
    PERFORM audit('threads.delete', 'thread', thread_row.id::text, thread_row.org_id, jsonb_build_object(
        'created_by_user_id', thread_row.created_by_user_id, 'is_private', thread_row.is_private));
    RETURN stopped;
END
$$;

-- Which of these runs would have to wait for a row now. All of them write events; those of paid (turns, outcomes) want
-- their organization's account too, those of ended their thread and what webhook messages hang from. Waits for
-- nothing; what it found free is locked until its transaction ends, which need not be durable.
CREATE OR REPLACE FUNCTION runs_blocked(written uuid[], paid uuid[], ended uuid[]) RETURNS TABLE (id uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    free_runs uuid[];
    free_threads uuid[];
    free_accounts uuid[];
    free_endpoints uuid[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    free_runs := ARRAY(SELECT r.id FROM runs r WHERE r.id = ANY (written) AND r.id <> ALL (ended)
                       FOR NO KEY UPDATE SKIP LOCKED)
              || ARRAY(SELECT r.id FROM runs r WHERE r.id = ANY (ended) FOR UPDATE SKIP LOCKED);
    free_threads := ARRAY(SELECT t.id FROM threads t
        WHERE t.id IN (SELECT r.thread_id FROM runs r WHERE r.id = ANY (ended)) FOR UPDATE SKIP LOCKED);
    free_accounts := ARRAY(SELECT a.org_id FROM credit_accounts a
        WHERE a.org_id IN (SELECT r.org_id FROM runs r WHERE r.id = ANY (paid)) FOR UPDATE SKIP LOCKED);
    free_endpoints := ARRAY(SELECT e.id FROM webhook_endpoints e
        WHERE e.enabled AND e.org_id IN (SELECT r.org_id FROM runs r WHERE r.id = ANY (ended))
        FOR KEY SHARE SKIP LOCKED);
    RETURN QUERY SELECT r.id FROM runs r WHERE r.id = ANY (written)
        AND (r.id <> ALL (free_runs)
             OR (r.id = ANY (paid) AND r.org_id <> ALL (free_accounts))
             OR (r.id = ANY (ended) AND r.thread_id <> ALL (free_threads))
             OR (r.id = ANY (ended) AND EXISTS (SELECT FROM webhook_endpoints e
                 WHERE e.org_id = r.org_id AND e.enabled AND e.id <> ALL (free_endpoints))));
END
$$;
REVOKE EXECUTE ON FUNCTION run_abandon, run_end, run_streamed_text, run_message_text, run_cancel_locked, runs_blocked
    FROM hostler_api;
REVOKE EXECUTE ON FUNCTION thread_stop, thread_runs_lock FROM hostler_api, hostler_runner;
