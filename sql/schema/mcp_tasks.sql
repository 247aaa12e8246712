-- Calls of remote tools that go on while no daemon has their run: as a task at their server (SEP-2663), which any
-- daemon asks for, or on the open stream of an older server, which one daemon holds (runner/tools/held_calls.h). The
-- run waits meanwhile like one whose results others owe. What is kept of the call between is its remote_state
-- (runner/tools/mcp_state.h).

CREATE TABLE mcp_tasks (
    run_id uuid NOT NULL,
    org_id uuid NOT NULL,
    tool_call_id text COLLATE "C" NOT NULL,
    server_id uuid NOT NULL REFERENCES mcp_servers,
    task_id text,  -- as the server names it; null: an open stream
    url text NOT NULL,  -- of the server when the call was sent: no other address is asked for it
    tool text NOT NULL,  -- as the server names it
    hash text NOT NULL,  -- of what was offered
    connection_id uuid,  -- of mcp_connections, as it was shown; null: none
    is_idempotent boolean NOT NULL,
    -- When it is asked for next; of a stream, and of one that a daemon is at, when that daemon is taken to be gone.
    -- Null: a person is asked first.
    due_at timestamptz,
    claim_id uuid,  -- of the daemon that is at it
    failures integer NOT NULL DEFAULT 0,  -- one after the other
    user_id uuid,  -- who created the run: whose share its polls take
    PRIMARY KEY (run_id, tool_call_id),
    FOREIGN KEY (org_id, run_id) REFERENCES runs (org_id, id)
);
CREATE INDEX mcp_tasks_due ON mcp_tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX mcp_tasks_of_user ON mcp_tasks (user_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX mcp_tasks_claim ON mcp_tasks (claim_id) WHERE claim_id IS NOT NULL;
CREATE INDEX mcp_tasks_server ON mcp_tasks (server_id);
CREATE INDEX mcp_tasks_connection ON mcp_tasks (connection_id) WHERE connection_id IS NOT NULL;
SELECT make_tenant_table('mcp_tasks');
GRANT SELECT (due_at) ON mcp_tasks TO hostler_runner;

-- Why a call that goes on at its server is not gone on with:
--   server        the server may not be spoken to, or has another address: nothing is sent
--   disconnected  the connection that began it ends: it is cancelled at its server with the last use of the tokens
--   gone          its tool is not there or not allowed any more: it is cancelled
--   changed       its tool is not what was offered: no answer of a person is sent
-- Null: it goes on.
CREATE OR REPLACE FUNCTION mcp_task_refusal(t mcp_tasks) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT CASE
        WHEN NOT mcp_may_speak(s, t.url, t.org_id) THEN 'server'
        WHEN t.connection_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM mcp_connections c WHERE c.id = t.connection_id AND c.state <> 'ending') THEN 'disconnected'
        ELSE mcp_tool_refusal(s, t.tool, t.hash) END
    FROM mcp_servers s WHERE s.id = t.server_id
$$;

-- The call goes on at its server: kept with what is to be known of it, in one transaction. task: null for a stream,
-- which the claim holds. address, connection: where and with what it was sent. Answers whether it was kept; not when
-- the run is another daemon's.
CREATE OR REPLACE FUNCTION mcp_task_begin(run uuid, run_epoch bigint, call_id text, server uuid, task text,
    address text, tool text, offered_hash text, connection uuid, idempotent boolean, kept json, holder uuid,
    due_ms bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF NOT mcp_call_keep(run, run_epoch, call_id, kept, 0) THEN
        RETURN false;
    END IF;
    INSERT INTO mcp_tasks (run_id, org_id, tool_call_id, server_id, task_id, url, tool, hash, connection_id,
        is_idempotent, due_at, claim_id, user_id)
    SELECT r.id, r.org_id, call_id, server, task, address, mcp_task_begin.tool, offered_hash, connection, idempotent,
        clock_timestamp() + make_interval(secs => due_ms / 1000.0), holder, r.created_by_user_id
    FROM runs r WHERE r.id = run
    ON CONFLICT (run_id, tool_call_id) DO NOTHING;
    RETURN true;
END
$$;

-- A person answered what its server asked, or connected with it: it is asked for again. kept: as mcp_call_keep.
CREATE OR REPLACE FUNCTION mcp_task_resume(run uuid, run_epoch bigint, call_id text, kept json) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF NOT mcp_call_keep(run, run_epoch, call_id, kept, 0) THEN
        RETURN false;
    END IF;
    UPDATE mcp_tasks t SET due_at = clock_timestamp()
    WHERE t.run_id = run AND t.tool_call_id = call_id AND t.task_id IS NOT NULL;
    RETURN true;
END
$$;

-- The task that is asked for next, locked: of nobody whose id is among those. The one that is due longest; when many
-- are passed over, one of whichever user comes next, from a random place on: so one look costs the same, however many
-- tasks somebody has.
CREATE OR REPLACE FUNCTION mcp_task_due(full_orgs uuid[]) RETURNS mcp_tasks
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    looked_at constant integer := 200;
    t mcp_tasks;
    who uuid := gen_random_uuid();
BEGIN
    SELECT d.* INTO t FROM mcp_tasks d
    WHERE (d.run_id, d.tool_call_id) IN (
              SELECT q.run_id, q.tool_call_id FROM mcp_tasks q WHERE q.due_at <= statement_timestamp()
              ORDER BY q.due_at LIMIT looked_at)
          AND d.due_at <= statement_timestamp() AND d.org_id <> ALL (full_orgs)
          AND coalesce(d.user_id, d.org_id) <> ALL (full_orgs)
    ORDER BY d.due_at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF FOUND OR (SELECT count(*) FROM (SELECT FROM mcp_tasks q WHERE q.due_at <= statement_timestamp()
                                       LIMIT looked_at) AS few) < looked_at THEN
        RETURN t;
    END IF;
    FOR step IN 1..looked_at LOOP
        who := coalesce((SELECT q.user_id FROM mcp_tasks q WHERE q.due_at IS NOT NULL AND q.user_id > who
                         ORDER BY q.user_id LIMIT 1),
                        (SELECT q.user_id FROM mcp_tasks q WHERE q.due_at IS NOT NULL AND q.user_id IS NOT NULL
                         ORDER BY q.user_id LIMIT 1));
        EXIT WHEN who IS NULL;
        CONTINUE WHEN who = ANY (full_orgs);
        SELECT d.* INTO t FROM mcp_tasks d
        WHERE d.user_id = who AND d.due_at <= statement_timestamp() AND d.org_id <> ALL (full_orgs)
        ORDER BY d.due_at LIMIT 1 FOR UPDATE SKIP LOCKED;
        EXIT WHEN FOUND;
    END LOOP;
    RETURN t;
END
$$;

-- Takes the task that is asked for next, for so many seconds, of no organization or user among those whose turn it is
-- not (lib/loop/shares.h). No row: none is due.
-- is_over: nobody waits for it any more, so it is to be cancelled. refusal: as mcp_task_refusal(). url: where the
-- call was sent.
CREATE OR REPLACE FUNCTION mcp_task_claim(claim uuid, claim_seconds integer, full_orgs uuid[])
RETURNS TABLE (run_id uuid, tool_call_id text, server_id uuid, task_id text, is_idempotent boolean, failures integer,
    url text, is_org_scope boolean, remote_state json, org_id uuid, creator_id uuid, is_by_key boolean, trace_id text,
    is_over boolean, refusal text, connection_id uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    due mcp_tasks;
    t mcp_tasks;
BEGIN
    -- Rows that a crash takes back are claimed again when their time is over; so are polls that changed nothing.
    PERFORM set_config('synchronous_commit', 'off', true);
    due := mcp_task_due(full_orgs);
    UPDATE mcp_tasks q SET claim_id = claim, due_at = clock_timestamp() + make_interval(secs => claim_seconds)
    WHERE q.run_id = due.run_id AND q.tool_call_id = due.tool_call_id
    RETURNING q.* INTO t;
    IF t.run_id IS NOT NULL THEN
        RETURN QUERY SELECT t.run_id, t.tool_call_id, t.server_id, t.task_id, t.is_idempotent, t.failures, t.url,
            s.org_id IS NOT NULL, a.remote_state, t.org_id, r.created_by_user_id, r.is_by_key, r.trace_id,
            r.ended_at IS NOT NULL OR a.closed, mcp_task_refusal(t), t.connection_id
        FROM runs r JOIN run_asked_calls a ON a.run_id = r.id AND a.tool_call_id = t.tool_call_id
        JOIN mcp_servers s ON s.id = t.server_id WHERE r.id = t.run_id;
    END IF;
END
$$;

-- Records the outcome of a poll, from the holder of the claim. verdict:
--   again    it is polled again in due_ms; has_failed: because its server was not reached
--   asks     its run continues, and asks a person; not while the run waits for another: then again
--   result   own: like mcp_call_end; the run continues when it waits for nothing else
--   repeat   the call is made again: its daemon died with it, and it is idempotent
--   gone     nothing is left to do
-- kept: the call's new state; null: unchanged. Answers whether the run continues. Locks the run, then the account.
CREATE OR REPLACE FUNCTION mcp_task_end(run uuid, call_id text, claim uuid, verdict text, kept json, own json,
    due_ms bigint, has_failed boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
    t mcp_tasks;
    waits boolean;  -- for the result of this call, among others
    asked boolean;  -- a person about this call
BEGIN
    SELECT * INTO r FROM runs q WHERE q.id = run FOR NO KEY UPDATE;
    SELECT * INTO t FROM mcp_tasks q
    WHERE q.run_id = run AND q.tool_call_id = call_id AND q.claim_id = claim FOR UPDATE;
    IF t.run_id IS NULL THEN
        RETURN false;
    END IF;
    waits := waits_for_results(r.input_request) AND r.input_request -> 'calls' @> jsonb_build_array(
        jsonb_build_object('tool_call_id', call_id));
    asked := r.input_request ->> 'kind' = 'elicitation' AND r.input_request ->> 'tool_call_id' = call_id;
    IF verdict = 'again' THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    IF verdict = 'again' OR (verdict = 'asks' AND NOT coalesce(waits, false)) THEN
        UPDATE mcp_tasks q SET claim_id = CASE WHEN q.task_id IS NULL THEN q.claim_id END,
            due_at = CASE WHEN r.ended_at IS NOT NULL AND verdict = 'asks' THEN clock_timestamp()
                          ELSE clock_timestamp() + make_interval(secs => due_ms / 1000.0) END,
            failures = CASE WHEN has_failed THEN least(q.failures + 1, 100) ELSE 0 END
        WHERE q.run_id = run AND q.tool_call_id = call_id;
        IF verdict = 'again' AND kept IS NOT NULL THEN
            UPDATE run_asked_calls a SET remote_state = kept WHERE a.run_id = run AND a.tool_call_id = call_id;
        END IF;
        RETURN false;
    ELSIF verdict = 'asks' THEN
        UPDATE run_asked_calls a SET remote_state = kept WHERE a.run_id = run AND a.tool_call_id = call_id;
        UPDATE mcp_tasks q SET failures = 0, claim_id = CASE WHEN q.task_id IS NULL THEN q.claim_id END,
            due_at = CASE WHEN q.task_id IS NULL THEN q.due_at END
        WHERE q.run_id = run AND q.tool_call_id = call_id;
        PERFORM run_go_on(r);
        RETURN true;
    END IF;
    DELETE FROM mcp_tasks q WHERE q.run_id = run AND q.tool_call_id = call_id;
    IF r.ended_at IS NOT NULL OR verdict = 'gone' THEN
        RETURN false;
    ELSIF verdict = 'repeat' THEN
        UPDATE run_asked_calls a SET remote_state = NULL WHERE a.run_id = run AND a.tool_call_id = call_id;
    ELSE
        UPDATE run_asked_calls a SET closed = true, remote_state = NULL,
            early = coalesce(a.early, CASE WHEN NOT coalesce(waits, false) THEN own END)
        WHERE a.run_id = run AND a.tool_call_id = call_id;
        IF waits THEN
            RETURN json_array_length(run_results_store(r, json_build_array(own))) = 0;
        END IF;
    END IF;
    IF waits OR asked THEN
        PERFORM run_go_on(r);
        RETURN true;
    END IF;
    RETURN false;
END
$$;

-- The streams that a daemon holds by this claim, which holds for so many seconds more: what was asked last on each, by
-- its number, and what a person answered. is_over, refusal: as mcp_task_claim; one that is over is due as it was, to
-- be forgotten.
CREATE OR REPLACE FUNCTION mcp_streams_held(claim uuid, claim_seconds integer)
RETURNS TABLE (run_id uuid, tool_call_id text, rounds integer, answers json, is_over boolean, refusal text)
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    UPDATE mcp_tasks t SET due_at = CASE WHEN r.ended_at IS NOT NULL OR a.closed THEN t.due_at
                                         ELSE clock_timestamp() + make_interval(secs => claim_seconds) END
    FROM runs r, run_asked_calls a
    WHERE t.claim_id = claim AND t.task_id IS NULL AND r.id = t.run_id
          AND a.run_id = t.run_id AND a.tool_call_id = t.tool_call_id
    RETURNING t.run_id, t.tool_call_id, (a.remote_state ->> 'rounds')::integer, a.remote_state -> 'answers',
        r.ended_at IS NOT NULL OR a.closed, mcp_task_refusal(t)
$$;

REVOKE EXECUTE ON FUNCTION mcp_task_due FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION mcp_task_refusal, mcp_task_begin, mcp_task_resume, mcp_task_claim, mcp_task_end,
    mcp_streams_held FROM hostler_api;
