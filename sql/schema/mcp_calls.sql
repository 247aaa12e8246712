-- Calls of remote tools: which of them a run is offered since its first turn, and each call as it is made.

-- Tools of an organization's personas, or of the platform's, whose names are given (key__tool, or key__* for all of a
-- server): the approved definitions, in the approved words, of active servers. scopes: the organization's before the
-- platform's; nth: the place of the name. Each tool once.
CREATE OR REPLACE FUNCTION mcp_tools_offered(scopes uuid[], names text[])
RETURNS TABLE (nth bigint, tool_name text, item json)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT DISTINCT ON (f.tool_name) f.nth, f.tool_name, f.item
    FROM (SELECT n.nth, t.tool_name, json_build_object(
              'server_id', s.id, 'tool', t.name, 'hash', a.hash, 'trust', s.trust,
              'is_read_only', coalesce(a.definition::jsonb #> '{annotations,readOnlyHint}' = 'true', false),
              'is_idempotent', coalesce(a.definition::jsonb #> '{annotations,idempotentHint}' = 'true', false),
              'name', t.tool_name, 'description', coalesce(a.definition::jsonb ->> 'description', ''),
              'parameters_text', (a.definition::json -> 'inputSchema')::text) AS item
          FROM unnest(names) WITH ORDINALITY AS n (name, nth)
          CROSS JOIN LATERAL (
              SELECT w.* FROM unnest(scopes) WITH ORDINALITY AS o (id, nth)
              CROSS JOIN LATERAL (
                  SELECT q.* FROM mcp_servers q
                  WHERE coalesce(q.org_id, '00000000-0000-0000-0000-000000000000') = o.id
                        AND q.key = split_part(n.name, '__', 1) AND q.deleted_at IS NULL OFFSET 0) AS w
              ORDER BY o.nth LIMIT 1) AS s
          JOIN mcp_tools t ON t.server_id = s.id AND t.state = 'approved'
               AND (t.tool_name = n.name OR n.name = s.key || '__*')
          JOIN mcp_approvals a ON a.tool_id = t.id AND a.hash = t.hash
          WHERE n.name LIKE '%\_\_%' AND s.is_active AND mcp_is_allowed(s, t.name)) AS f
    ORDER BY f.tool_name, f.nth
$$;

-- Whether a name in a persona means a tool of an MCP server of the scope or the platform, or all of a server's. One
-- that is new or changed may be named: it is offered when it is approved.
CREATE OR REPLACE FUNCTION mcp_name_is_known(scope_id uuid, name text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (
        SELECT FROM mcp_servers s
        WHERE coalesce(s.org_id, '00000000-0000-0000-0000-000000000000')
                  IN ('00000000-0000-0000-0000-000000000000',
                      coalesce(scope_id, '00000000-0000-0000-0000-000000000000'))
              AND s.key = split_part(mcp_name_is_known.name, '__', 1) AND s.deleted_at IS NULL
              AND (mcp_name_is_known.name = s.key || '__*'
                   OR EXISTS (SELECT FROM mcp_tools t
                              WHERE t.server_id = s.id AND t.tool_name = mcp_name_is_known.name)))
$$;

-- Before a call of a remote tool is sent: whether it may be, and what it is sent with. The try is counted before its
-- first byte leaves. state:
--   send     it may be; the try is counted, once a try_id
--   result   there is one: early
--   unknown  a daemon died while the call was under way, and it must not be repeated
--   used_up  likewise, and it was tried as often as it may be
--   changed  what was offered is not what is approved and listed now: tool.definition_changed
--   gone     the server or the tool is gone, switched off, or not at the address that the call began with
--   away     it goes on without us (mcp_tasks.sql): remote_state tells whether a person is asked first
--   fenced   the run is another daemon's
-- tries_known: those that the caller made itself. remote_state: what the daemon keeps of the call between tries
-- (mcp_call_keep). The run is locked.
CREATE OR REPLACE FUNCTION mcp_call_begin(run uuid, run_epoch bigint, turn_number integer, call_id text, name text,
    server uuid, tool text, offered_hash text, is_idempotent boolean, tries_known integer, tries_max integer,
    this_try uuid)
RETURNS TABLE (state text, tries integer, early json, remote_state json, authorizations integer, url text,
    server_key text, is_org_scope boolean, protocol_version text, discovery json, definition text, org_id uuid,
    creator_id uuid, is_by_key boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
    asked run_asked_calls;
    s mcp_servers;
    t mcp_tools;
    refusal text;
    goes_on boolean;
BEGIN
    SELECT * INTO r FROM runs q WHERE q.id = run AND q.epoch = run_epoch AND q.owner_id IS NOT NULL FOR NO KEY UPDATE;
    IF r.id IS NULL THEN
        state := 'fenced';
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT * INTO asked FROM run_asked_calls a WHERE a.run_id = run AND a.tool_call_id = call_id FOR UPDATE;
    SELECT * INTO s FROM mcp_servers q
    WHERE q.id = server AND mcp_may_speak(q, q.url, r.org_id)
          AND q.url = coalesce(asked.remote_state ->> 'url', q.url);
    SELECT * INTO t FROM mcp_tools q WHERE q.server_id = s.id AND q.name = tool;
    refusal := mcp_tool_refusal(s, tool, offered_hash);
    -- A try that was counted before, or a call that is gone on with: nothing is repeated.
    goes_on := coalesce(asked.remote_state IS NOT NULL OR asked.try_id = this_try, false);
    state := CASE
        WHEN asked.early IS NOT NULL THEN 'result'
        WHEN asked.remote_state ->> 'away' IS NOT NULL THEN 'away'
        -- It was gone on with (runner/tools/mcp_state.h), and no answer of ours came.
        WHEN asked.remote_state ->> 'stage' = 'sent' AND NOT is_idempotent THEN 'unknown'
        WHEN NOT goes_on AND coalesce(asked.tries, 0) <> tries_known AND NOT is_idempotent THEN 'unknown'
        WHEN NOT goes_on AND coalesce(asked.tries, 0) >= tries_max THEN 'used_up'
        WHEN s.id IS NULL THEN 'gone'
        ELSE coalesce(refusal, 'send') END;
    IF state = 'send' THEN
        INSERT INTO run_asked_calls AS a (run_id, org_id, tool_call_id, turn, tool_name, answered_by, tries, try_id)
        VALUES (r.id, r.org_id, call_id, turn_number, name, 'mcp', 1, this_try)
        ON CONFLICT (run_id, tool_call_id) DO UPDATE
            SET tries = a.tries + (a.try_id IS DISTINCT FROM this_try)::integer, try_id = this_try
        RETURNING a.* INTO STRICT asked;
        UPDATE mcp_tools q SET used_at = clock_timestamp()
        WHERE q.id = t.id AND coalesce(q.used_at < clock_timestamp() - interval '1 minute', true);
    END IF;
    tries := asked.tries;
    early := asked.early;
    remote_state := asked.remote_state;
    authorizations := coalesce(asked.authorizations, 0);
    url := s.url;
    server_key := s.key;
    definition := (SELECT a.definition FROM mcp_approvals a WHERE a.tool_id = t.id AND a.hash = offered_hash);
    is_org_scope := s.org_id IS NOT NULL;
    protocol_version := s.protocol_version;
    discovery := s.discovery;
    org_id := r.org_id;
    creator_id := r.created_by_user_id;
    is_by_key := r.is_by_key;
    RETURN NEXT;
END
$$;

-- State of a call for its next owner (a task, a request's state), under the lock of the run. authorizations: as many
-- more as were asked for. Answers whether it was kept; not if the run is another daemon's.
CREATE OR REPLACE FUNCTION mcp_call_keep(run uuid, run_epoch bigint, call_id text, kept json,
    more_authorizations integer)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM FROM runs q WHERE q.id = run AND q.epoch = run_epoch AND q.owner_id IS NOT NULL FOR NO KEY UPDATE;
    IF FOUND THEN
        UPDATE run_asked_calls a SET remote_state = kept, authorizations = a.authorizations + more_authorizations
        WHERE a.run_id = run AND a.tool_call_id = call_id AND a.answered_by = 'mcp';
    END IF;
    RETURN FOUND;
END
$$;

-- Own result of a call that a take-over must not repeat.
CREATE OR REPLACE FUNCTION mcp_call_end(run uuid, run_epoch bigint, call_id text, own json) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM FROM runs q WHERE q.id = run AND q.epoch = run_epoch AND q.owner_id IS NOT NULL FOR NO KEY UPDATE;
    IF FOUND THEN
        UPDATE run_asked_calls a SET closed = true, early = coalesce(a.early, own), remote_state = NULL
        WHERE a.run_id = run AND a.tool_call_id = call_id AND a.answered_by = 'mcp';
        -- Cancels its part that continues at its server.
        UPDATE mcp_tasks t SET due_at = clock_timestamp() WHERE t.run_id = run AND t.tool_call_id = call_id;
    END IF;
    RETURN FOUND;
END
$$;

-- The advisory lock between runs that begin to wait for a connection and the statement that makes it; who: null for the
-- organization's.
CREATE OR REPLACE FUNCTION mcp_connecting_lock(server uuid, org uuid, who uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT hashtextextended('mcp connecting ' || server::text || ' ' || org::text || ' ' || coalesce(who::text, ''), 0)
$$;

-- Whether the connection that a run begins to wait for, in this transaction, is there by now. Where somebody makes it
-- at this moment, it is: the run calls again, and waits again should it come to nothing. Who makes it later waits for
-- this transaction and finds the run. Waits for no lock itself, since the runs and accounts of many others are locked.
CREATE OR REPLACE FUNCTION mcp_has_connected(r runs) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    server uuid := (r.input_request ->> 'server_id')::uuid;
    who uuid := (SELECT mcp_connection_user(s, r.created_by_user_id) FROM mcp_servers s WHERE s.id = server);
BEGIN
    IF NOT pg_try_advisory_xact_lock_shared(mcp_connecting_lock(server, r.org_id, who)) THEN
        RETURN true;
    END IF;
    -- A statement of its own, so that it sees everything that was committed before the lock was free. A connection from
    -- which more is wanted than was granted does not count, and nobody connects with a server that has no OAuth any
    -- more.
    RETURN NOT EXISTS (
        SELECT FROM mcp_servers s
        WHERE s.id = server AND s.deleted_at IS NULL AND s.is_active AND s.authorization_kind = 'oauth'
    ) OR EXISTS (
        SELECT FROM mcp_connections c
        WHERE c.server_id = server AND c.org_id = r.org_id AND c.state = 'connected' AND c.wanted_scopes IS NULL
              AND c.owner_id = mcp_owner_id(who) AND NOT mcp_connection_rests(c));
END
$$;

-- Facts for a person before they authorize for a call of the run: the origin that gets the token, the authorization
-- server, and the requested scopes. No row: no answer of the server named its authorization server.
CREATE OR REPLACE FUNCTION mcp_consent(server uuid, run uuid)
RETURNS TABLE (origin text, authorization_server text, scopes json)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT url_shown_origin(s.url), d.issuer, to_json(coalesce(c.wanted_scopes, d.scopes))
    FROM runs r JOIN mcp_servers s ON s.id = server JOIN mcp_discoveries d ON d.server_id = s.id
    LEFT JOIN mcp_connections c ON c.server_id = s.id AND c.org_id = r.org_id AND c.state <> 'ending'
         AND c.owner_id = mcp_owner_id(mcp_connection_user(s, r.created_by_user_id))
    WHERE r.id = run
$$;

-- Runs that wait for somebody to connect with the server go on: those of one user, or of all of the organization's.
-- The connection was written by this transaction. Locks those that begin to wait out (mcp_has_connected), then runs,
-- then the account.
CREATE OR REPLACE FUNCTION mcp_runs_go_on(server uuid, org uuid, who uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    waiting uuid[];
    r runs;
BEGIN
    PERFORM pg_advisory_xact_lock(mcp_connecting_lock(server, org, who));
    -- All of them before the first goes on, which locks the account.
    waiting := ARRAY(
        SELECT q.id FROM runs q
        WHERE q.org_id = org AND q.status = 'waiting_for_input' AND (who IS NULL OR q.created_by_user_id = who)
              AND q.input_request ->> 'kind' = 'authorization'
              AND (q.input_request ->> 'server_id') COLLATE "C" = server::text
        ORDER BY q.id FOR NO KEY UPDATE);
    FOR r IN SELECT q.* FROM runs q WHERE q.id = ANY (waiting) ORDER BY q.id LOOP
        PERFORM run_go_on(r);
    END LOOP;
END
$$;

REVOKE EXECUTE ON FUNCTION mcp_runs_go_on, mcp_has_connected FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION mcp_tools_offered FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION mcp_name_is_known FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION mcp_call_begin, mcp_call_keep, mcp_call_end, mcp_consent FROM hostler_api;
