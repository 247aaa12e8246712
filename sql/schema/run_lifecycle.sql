-- What changes a run: it becomes active, is cancelled, paid for, ended. How it begins: run_creation.sql.

-- Makes the next queued run of a thread its active one. The thread is locked by the caller.
CREATE OR REPLACE FUNCTION run_activate_next(org uuid, thread uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    next_run uuid;
BEGIN
    WITH activated AS (
        UPDATE runs SET queued = false
        WHERE id = (SELECT q.id FROM runs q WHERE q.org_id = org AND q.thread_id = thread AND q.queued
                    ORDER BY q.id LIMIT 1)
        RETURNING id)
    UPDATE threads SET active_run_id = (SELECT id FROM activated), updated_at = clock_timestamp() WHERE id = thread
    RETURNING active_run_id INTO next_run;
    RETURN next_run;
END
$$;

-- Ends a run, in the transaction of its terminal event: state, assistant message, the message that a failed retry had
-- hidden, the thread's next run, what webhooks are told, the credits that were held and not used. The caller holds
-- the locks of thread and run, has read r behind them, and has checked that it may end the run. Everything else that
-- belongs to the end of a run is added here.
CREATE OR REPLACE FUNCTION run_end(r runs, new_status text, final_seq bigint, code text, message text,
                        answer text, is_incomplete boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    ended runs;
    next_run uuid;
BEGIN
    UPDATE runs SET status = new_status, queued = false, credits_held = 0, last_seq = final_seq,
        ended_at = clock_timestamp(), owner_id = NULL, lease_until = NULL, input_request = NULL, input_deadline = NULL,
        error_code = code, error_message = left(message, 2000)
    WHERE id = r.id AND status IN ('running', 'waiting_for_input')
    RETURNING * INTO STRICT ended;
    IF NOT r.queued THEN
        next_run := run_activate_next(r.org_id, r.thread_id);
    END IF;
    PERFORM account_run_ended(r.org_id, r.credits_held, r.queued, next_run);
    IF answer <> '' THEN
        INSERT INTO messages (org_id, thread_id, run_id, role, content, incomplete, hidden_by_run_id)
        VALUES (ended.org_id, ended.thread_id, ended.id, 'assistant', answer, is_incomplete,
                CASE WHEN ended.source = 'retry' AND new_status <> 'completed' THEN ended.id END);
    END IF;
    IF ended.source = 'retry' AND new_status <> 'completed' THEN
        UPDATE messages SET hidden_by_run_id = NULL WHERE hidden_by_run_id = ended.id AND run_id <> ended.id;
    END IF;
    PERFORM webhook_queue(ended, 'run.' || new_status, ended.ended_at);
END
$$;

-- What subscribers of a run were shown as its answer: its deltas, less those that a take-over discarded.
CREATE OR REPLACE FUNCTION run_streamed_text(run uuid) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT coalesce(string_agg(e.data ->> 'content', '' ORDER BY e.seq), '')
    FROM (SELECT seq, type, data, min((data ->> 'discard_after_seq')::bigint) FILTER (WHERE type = 'run.resumed')
              OVER (ORDER BY seq DESC) AS kept_until
          FROM run_events WHERE run_id = run AND type IN ('message.delta', 'run.resumed')) AS e
    WHERE e.type = 'message.delta' AND e.data ->> 'channel' IS NULL AND e.seq <= coalesce(e.kept_until, e.seq)
$$;

-- Cancels a run whose thread is locked: at once when no daemon owns it, else by asking the owner, who tells the same
-- reason. Of several reasons the first counts. A terminal run stays as it is. True when an owner must be told.
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
    PERFORM run_end(r, 'cancelled', r.last_seq + 1, NULL, NULL, run_streamed_text(run), true);
    RETURN true;
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

-- Whoever locks runs and an account locks the runs first: a daemon that commits a turn does.
CREATE OR REPLACE FUNCTION thread_runs_lock(thread uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM 1 FROM runs WHERE thread_id = thread AND status IN ('running', 'waiting_for_input') ORDER BY id FOR UPDATE;
END
$$;

-- Cancels the queued runs of a locked thread, then the active one; not `except_id`. Answers whose daemons and
-- subscribers must be told.
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

-- DELETE /v1/threads/{thread_id}: soft; queued and active runs are cancelled, and answered for the notification.
CREATE OR REPLACE FUNCTION thread_delete(thread uuid) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    thread_row threads := thread_of_caller_locked(thread);
    stopped uuid[] := thread_stop(thread_row, NULL, 'thread_deleted');
BEGIN
    UPDATE threads SET deleted_at = clock_timestamp(), updated_at = clock_timestamp() WHERE id = thread_row.id;
    PERFORM audit('threads.delete', 'thread', thread_row.id::text, thread_row.org_id, jsonb_build_object(
        'created_by_user_id', thread_row.created_by_user_id, 'is_private', thread_row.is_private));
    RETURN stopped;
END
$$;

-- A finished turn of an owned run: the turn, its usage, the run's totals, what it costs. The single place where a
-- turn is paid for. held: false for a run that was lost; may_go_on: false when no credits are left for another turn.
CREATE OR REPLACE FUNCTION run_turn_commit(owner uuid, run uuid, run_epoch bigint, turn_number integer, turn_text text,
    calls json, turn_last_seq bigint, input_tokens bigint, output_tokens bigint, cache_read_tokens bigint,
    cache_write_tokens bigint, is_measured boolean, is_finished boolean, credits_per_usd bigint, run_hold bigint,
    OUT held boolean, OUT may_go_on boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
    price llm_models;
    used usage_records;
    room numeric;
BEGIN
    SELECT * INTO r FROM runs WHERE id = run AND owner_id = owner AND epoch = run_epoch FOR NO KEY UPDATE;
    held := r.id IS NOT NULL;
    may_go_on := held AND NOT r.credits_exhausted;
    IF NOT held THEN
        RETURN;
    END IF;
    SELECT * INTO STRICT price FROM llm_models WHERE id = r.model_id;
    -- What can be charged so that the run's sum and what is left of the account, its sign turned too, stay bigint.
    SELECT greatest(0, least(a.balance::numeric - a.held + 9223372036854775807, 9223372036854775807 - r.credits_used))
    INTO STRICT room FROM credit_accounts a WHERE a.org_id = r.org_id;
    INSERT INTO usage_records (org_id, run_id, turn, user_id, model, input_tokens, output_tokens, cache_read_tokens,
                               cache_write_tokens, cost_nano_usd, credits, measured)
    SELECT r.org_id, r.id, turn_number, r.created_by_user_id, r.model, input_tokens, output_tokens, cache_read_tokens,
           cache_write_tokens, cost, least(model_credits(price, cost, credits_per_usd), room), is_measured
    FROM model_cost(price, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens) AS cost
    ON CONFLICT (run_id, turn) DO NOTHING RETURNING * INTO used;
    -- A batch whose answer was lost is sent again; the turn is paid for once.
    IF used.id IS NULL THEN
        RETURN;
    END IF;
    -- A turn that was broken off is paid for, but is no step to go on from.
    IF is_finished THEN
        INSERT INTO run_turns (run_id, org_id, turn, text, tool_calls, last_seq)
        VALUES (r.id, r.org_id, turn_number, turn_text, calls, turn_last_seq);
    END IF;
    r.credits_held := credit_charge(r, used.credits,
                                    CASE WHEN model_is_free(price) THEN 0 ELSE greatest(run_hold, 1) END);
    -- A model is of its provider's organization.
    PERFORM usage_add(used, owner, price.org_id IS NOT NULL);
    may_go_on := model_is_free(price) OR r.credits_held > 0;
    UPDATE runs SET turns = turn_number, crash_count = 0,
        total_input_tokens = saturated(total_input_tokens::numeric + used.input_tokens),
        total_output_tokens = saturated(total_output_tokens::numeric + used.output_tokens),
        total_cached_tokens = saturated(total_cached_tokens::numeric + used.cache_read_tokens),
        total_cost_nano_usd = saturated(total_cost_nano_usd::numeric + used.cost_nano_usd),
        credits_used = credits_used + used.credits, credits_held = r.credits_held, credits_exhausted = NOT may_go_on
    WHERE id = r.id;
END
$$;

-- Ends an owned run; false for a run that was lost. The thread is locked by an earlier statement.
CREATE OR REPLACE FUNCTION run_finish(owner uuid, run uuid, run_epoch bigint, new_status text, final_seq bigint,
    code text, message text, answer text, is_incomplete boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
BEGIN
    SELECT * INTO r FROM runs WHERE id = run AND owner_id = owner AND epoch = run_epoch FOR UPDATE;
    IF r.id IS NULL THEN
        RETURN false;
    END IF;
    PERFORM run_end(r, new_status, final_seq, code, message, answer, is_incomplete);
    RETURN true;
END
$$;

-- Which of these runs would have to wait for a row now. All of them write events; those of paid (turns, outcomes) want
-- their organization's account too, those of ended their thread and what webhook messages hang from. Waits for
-- nothing; what it found free is locked until its transaction ends, which need not be durable.
CREATE OR REPLACE FUNCTION runs_held_up(written uuid[], paid uuid[], ended uuid[]) RETURNS TABLE (id uuid)
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
REVOKE EXECUTE ON FUNCTION run_end, run_activate_next, run_streamed_text, run_cancel_locked, run_turn_commit,
    run_finish, runs_held_up
    FROM hostler_api;
REVOKE EXECUTE ON FUNCTION thread_stop, thread_runs_lock FROM hostler_api, hostler_runner;
