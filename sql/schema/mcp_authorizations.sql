-- Authorizations of MCP servers on their way through a browser: begun by POST :connect, brought back to the callback
-- by the browser of the same session, exchanged for tokens by a daemon. Reached through these functions only.
--
-- A code works once. If a daemon dies with it, the authorization has failed, and the user starts again. The code is
-- useless without the verifier, which is sealed.
CREATE TABLE mcp_authorizations (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    server_id uuid NOT NULL REFERENCES mcp_servers,
    user_id uuid NOT NULL REFERENCES users,  -- who began it
    session_id uuid NOT NULL,
    is_of_org boolean NOT NULL,  -- the connection will be the organization's
    state_hash bytea NOT NULL UNIQUE CHECK (length(state_hash) = 32),
    cookie_hash bytea CHECK (length(cookie_hash) = 32),  -- marks the browser while auth.cookie_samesite is none
    status text NOT NULL DEFAULT 'begun' CHECK (status IN ('begun', 'returned', 'exchanging', 'done', 'failed')),
    -- Values at the beginning, unchanged by later findings:
    issuer text NOT NULL,
    tells_issuer boolean NOT NULL,
    token_endpoint text NOT NULL,
    revocation_endpoint text,
    resource text NOT NULL,
    redirect_uri text NOT NULL,
    client_id text NOT NULL,
    client_method text NOT NULL,
    scopes text[] NOT NULL,
    secret_id uuid,  -- the verifier (RFC 7636)
    code text,
    error text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    claimed_until timestamptz,
    tries integer NOT NULL DEFAULT 0,
    due_at timestamptz,  -- of one that is tried again: not before
    FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id)
);
CREATE INDEX mcp_authorizations_user ON mcp_authorizations (user_id, server_id, id);
CREATE INDEX mcp_authorizations_session ON mcp_authorizations (session_id, server_id, id);
CREATE INDEX mcp_authorizations_secret ON mcp_authorizations (secret_id) WHERE secret_id IS NOT NULL;
CREATE INDEX mcp_authorizations_due ON mcp_authorizations (created_at) WHERE status IN ('returned', 'exchanging');
CREATE INDEX mcp_authorizations_server ON mcp_authorizations (server_id)
    WHERE status IN ('begun', 'returned', 'exchanging');
CREATE INDEX mcp_authorizations_time ON mcp_authorizations (created_at);
SELECT make_tenant_table('mcp_authorizations');

-- The caller's connection as the server's object has it; null: it takes no OAuth. error: why its tokens are not
-- refreshed now, since failing_since; else why the newest authorization came to nothing, or is tried again.
CREATE OR REPLACE FUNCTION mcp_connection_json(s mcp_servers) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT json_build_object('state', coalesce(c.state, 'none'),
        'per', coalesce(s.authorization_settings #>> '{per}', 'user'), 'scopes', coalesce(c.scopes, '{}'),
        'wanted_scopes', c.wanted_scopes, 'connected_at', rfc3339(c.connected_at),
        'expires_at', rfc3339(c.expires_at), 'can_connect', EXISTS (
            SELECT FROM mcp_discoveries d WHERE d.server_id = s.id),
        'error', coalesce(c.fault, newest.error), 'failing_since', rfc3339(c.failing_since))
    FROM (SELECT) AS one
    LEFT JOIN mcp_connections c ON c.server_id = s.id AND c.org_id = current_org()
         AND c.owner_id = mcp_owner_id(mcp_connection_user(s, current_user_id())) AND c.state <> 'ending'
         AND NOT mcp_connection_is_over(c)
    LEFT JOIN LATERAL (
        SELECT a.error FROM mcp_authorizations a
        WHERE a.server_id = s.id AND a.user_id = current_user_id() AND a.org_id = current_org()
        ORDER BY a.id DESC LIMIT 1) AS newest ON true
    WHERE s.authorization_kind = 'oauth'
$$;

-- The server, when the caller may connect with it: their organization's or the platform's, of OAuth. For the
-- organization only by who manages its personas; for themselves, who may start runs.
CREATE OR REPLACE FUNCTION mcp_server_to_connect(server uuid) RETURNS mcp_servers
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    s mcp_servers;
    permission text;
BEGIN
    SELECT * INTO s FROM mcp_servers q
    WHERE q.id = server AND q.deleted_at IS NULL AND (q.org_id = current_org() OR (q.org_id IS NULL AND q.is_active));
    IF s.id IS NULL THEN
        PERFORM fail_missing('mcp_servers.not_found', 'mcp_servers', server);
    END IF;
    permission := CASE WHEN mcp_connection_user(s, current_user_id()) IS NULL THEN 'data.personas.manage'
                       ELSE 'data.runs.write' END;
    IF NOT has_permission(permission) THEN
        PERFORM fail('auth.forbidden', 'org_scope_denied', jsonb_build_object('permission', permission));
    END IF;
    RETURN s;
END
$$;

-- POST /v1/mcp-servers/{server_id}:connect: what the address of the authorization server's page is made of. verifier:
-- sealed. Of one session and server the ten newest may come back.
CREATE OR REPLACE FUNCTION mcp_authorization_begin(server uuid, new_state bytea, verifier jsonb, new_cookie bytea)
RETURNS TABLE (authorization_endpoint text, client_id text, redirect_uri text, resource text, scopes text,
    origin text, authorization_server text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    s mcp_servers := mcp_server_to_connect(server);
    d mcp_discoveries;
    c mcp_connections;
    wanted text[];
    session uuid := (current_request() ->> 'session_id')::uuid;
    older uuid[];
BEGIN
    IF s.authorization_kind <> 'oauth' THEN
        PERFORM fail('mcp_servers.not_connectable', 'takes_no_oauth');
    END IF;
    SELECT * INTO d FROM mcp_discoveries q WHERE q.server_id = s.id;
    IF d.server_id IS NULL THEN
        PERFORM fail('mcp_servers.not_connectable', 'not_discovered');
    END IF;
    SELECT * INTO c FROM mcp_connections q
    WHERE q.server_id = s.id AND q.org_id = current_org() AND q.state <> 'ending' AND NOT mcp_connection_is_over(q)
          AND q.owner_id = mcp_owner_id(mcp_connection_user(s, current_user_id()));
    wanted := CASE WHEN c.wanted_scopes IS NOT NULL THEN c.wanted_scopes ELSE d.scopes END;
    WITH gone AS (
        DELETE FROM mcp_authorizations a WHERE a.id IN (
            SELECT q.id FROM mcp_authorizations q
            WHERE q.session_id = session AND q.server_id = s.id AND q.status = 'begun' ORDER BY q.id DESC OFFSET 9)
        RETURNING a.secret_id)
    SELECT array_agg(gone.secret_id) INTO older FROM gone;
    DELETE FROM secrets q WHERE q.id = ANY (older);
    INSERT INTO mcp_authorizations (org_id, server_id, user_id, session_id, is_of_org, state_hash, cookie_hash,
        issuer, tells_issuer, token_endpoint, revocation_endpoint, resource, redirect_uri, client_id, client_method,
        scopes, secret_id)
    VALUES (current_org(), s.id, current_user_id(), session, mcp_connection_user(s, current_user_id()) IS NULL,
        new_state, new_cookie, d.issuer, d.tells_issuer, d.token_endpoint, d.revocation_endpoint, d.resource,
        d.redirect_uri, d.client_id, d.client_method, wanted,
        mcp_sealed_insert(current_org(), 'mcp_verifier', verifier));
    RETURN QUERY SELECT d.authorization_endpoint, d.client_id, d.redirect_uri, d.resource,
        array_to_string(wanted, ' '), url_shown_origin(s.url), d.issuer;
END
$$;

-- Whether who began the authorization may still make the connection: as mcp_server_to_connect() asked, and in the
-- session in which they began.
CREATE OR REPLACE FUNCTION mcp_may_connect(a mcp_authorizations) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM users u JOIN org_members m ON m.user_id = u.id AND m.org_id = a.org_id
        JOIN sessions q ON q.id = a.session_id AND q.user_id = u.id
        JOIN mcp_servers s ON s.id = a.server_id AND s.deleted_at IS NULL AND s.authorized_since <= a.created_at
        WHERE u.id = a.user_id AND u.status = 'active' AND session_lives(q)
              AND CASE WHEN a.is_of_org THEN 'data.personas.manage' ELSE 'data.runs.write' END
                  = ANY (role_permissions(m.role)))
$$;

-- The same until the transaction ends: neither session nor role change meanwhile. Their end is parted from it
-- (user_hold_alone) by the caller, before anything is locked.
CREATE OR REPLACE FUNCTION mcp_may_connect_held(a mcp_authorizations) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM FROM sessions q WHERE q.id = a.session_id FOR SHARE;
    PERFORM FROM org_members m WHERE m.org_id = a.org_id AND m.user_id = a.user_id FOR SHARE;
    -- By a statement of its own: it sees what was committed before the locks were free.
    RETURN mcp_may_connect(a);
END
$$;

-- GET /v1/auth/mcp/callback: the browser is back. Only in the session that began it, as the session's cookie shows or
-- the one that was set for this authorization, within 10 minutes, once. outcome:
--   ok              a daemon exchanges the code
--   invalid_state   there is no such authorization, for this session, or who began it may not connect any more
--   wrong_issuer    somebody else answered (RFC 9207): nothing of the answer is used
--   refused         the authorization server, or the person, said no
CREATE OR REPLACE FUNCTION mcp_authorization_return(given_state bytea, given_cookie bytea, refresh_hashes bytea,
    race_seconds bigint, given_issuer text, given_code text, given_error text)
RETURNS TABLE (server_id uuid, outcome text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    a mcp_authorizations;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(uuid_hash_extended(q.user_id, 0)) FROM mcp_authorizations q
    WHERE q.state_hash = given_state;
    SELECT q.* INTO a FROM mcp_authorizations q
    JOIN sessions s ON s.id = q.session_id AND s.user_id = q.user_id
    WHERE q.state_hash = given_state AND q.status = 'begun'
          AND q.created_at > clock_timestamp() - interval '10 minutes' AND session_lives(s)
          AND CASE WHEN q.cookie_hash IS NOT NULL THEN q.cookie_hash = given_cookie ELSE EXISTS (
              SELECT FROM refresh_tokens t
              WHERE t.hash = ANY (hashes_of(refresh_hashes)) AND t.session_id = q.session_id
                    AND t.expires_at > clock_timestamp()
                    AND coalesce(clock_timestamp() < t.rotated_at + make_interval(secs => race_seconds), true)) END
    FOR UPDATE OF q;
    IF a.id IS NULL OR a.status <> 'begun' THEN
        outcome := 'invalid_state';
        RETURN NEXT;
        RETURN;
    ELSIF NOT mcp_may_connect_held(a) THEN
        PERFORM mcp_authorization_fail(a.id, 'who began it may not connect any more');
        outcome := 'invalid_state';
        RETURN NEXT;
        RETURN;
    END IF;
    outcome := CASE
        WHEN a.tells_issuer AND given_issuer IS NULL OR given_issuer <> a.issuer THEN 'wrong_issuer'
        WHEN given_error IS NOT NULL OR given_code IS NULL THEN 'refused'
        ELSE 'ok' END;
    server_id := a.server_id;
    IF outcome = 'ok' THEN
        UPDATE mcp_authorizations q SET status = 'returned', code = given_code WHERE q.id = a.id;
    ELSE
        PERFORM mcp_authorization_fail(a.id, outcome);
    END IF;
    RETURN NEXT;
END
$$;

-- It came to nothing.
CREATE OR REPLACE FUNCTION mcp_authorization_fail(authorization_id uuid, why text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    verifier uuid := (SELECT q.secret_id FROM mcp_authorizations q WHERE q.id = authorization_id FOR UPDATE);
BEGIN
    UPDATE mcp_authorizations q SET status = 'failed', code = NULL, secret_id = NULL, error = left(why, 500)
    WHERE q.id = authorization_id;
    DELETE FROM secrets q WHERE q.id = verifier;
END
$$;

-- A daemon takes one whose code came back, with all that the exchange needs, of an organization that is not among those
-- that others go before; no row: none is due. Those that a daemon died with come to nothing, as do those of who may not
-- connect any more.
CREATE OR REPLACE FUNCTION mcp_exchange_claim(full_orgs uuid[])
RETURNS TABLE (authorization_id uuid, server_id uuid, org_id uuid, token_endpoint text, resource text,
    redirect_uri text, client_id text, client_method text, client_secret json, code text, verifier json,
    https_only boolean, is_org_scope boolean, user_id uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    a mcp_authorizations;
BEGIN
    PERFORM mcp_authorization_fail(q.id, 'interrupted') FROM mcp_authorizations q
    WHERE q.status = 'exchanging' AND q.claimed_until <= clock_timestamp();
    LOOP
        SELECT * INTO a FROM mcp_authorizations q
        WHERE q.status = 'returned' AND q.org_id <> ALL (full_orgs) AND q.user_id <> ALL (full_orgs)
              AND coalesce(q.due_at <= clock_timestamp(), true)
        ORDER BY q.created_at LIMIT 1 FOR UPDATE SKIP LOCKED;
        IF a.id IS NULL THEN
            RETURN;
        END IF;
        EXIT WHEN mcp_may_connect(a);
        PERFORM mcp_authorization_fail(a.id, 'who began it may not connect any more');
    END LOOP;
    UPDATE mcp_authorizations q SET status = 'exchanging', claimed_until = clock_timestamp() + interval '1 minute',
        tries = q.tries + 1
    WHERE q.id = a.id;
    RETURN QUERY SELECT a.id, a.server_id, a.org_id, a.token_endpoint, a.resource, a.redirect_uri, a.client_id,
        a.client_method, mcp_client_secret(a.server_id, a.issuer, a.client_id), a.code, mcp_sealed(a.secret_id),
        mcp_https_only(s), s.org_id IS NOT NULL, a.user_id
    FROM mcp_servers s WHERE s.id = a.server_id;
END
$$;

-- The connection that the authorization would make, with these tokens; it is no row.
CREATE OR REPLACE FUNCTION mcp_connection_of(a mcp_authorizations, tokens uuid, got_refresh_token boolean)
RETURNS mcp_connections
LANGUAGE sql STABLE AS $$
    SELECT jsonb_populate_record(NULL::mcp_connections, jsonb_build_object(
        'org_id', a.org_id, 'server_id', a.server_id, 'user_id', CASE WHEN NOT a.is_of_org THEN a.user_id END,
        'issuer', a.issuer, 'token_endpoint', a.token_endpoint, 'revocation_endpoint', a.revocation_endpoint,
        'resource', a.resource, 'client_id', a.client_id, 'client_method', a.client_method,
        'scopes', to_jsonb(a.scopes), 'secret_id', tokens, 'token_number', 1,
        'has_refresh_token', got_refresh_token, 'connected_by', a.user_id))
$$;

-- The exchange ended. new_tokens: sealed; null: it failed, and why: for good, or to be tried again while the code may
-- hold, ten minutes. Then the server's tools are listed again, when the connection is of who may manage it, and runs
-- that waited for the connection go on. Tokens that nobody may have, and those in whose place others come, are
-- revoked. Answers whether there is a connection now.
CREATE OR REPLACE FUNCTION mcp_exchange_end(authorization_id uuid, new_tokens jsonb, lifetime bigint,
    got_refresh_token boolean, why text, is_final boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    a mcp_authorizations;
    s mcp_servers;
    c mcp_connections;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(uuid_hash_extended(q.user_id, 0)) FROM mcp_authorizations q
    WHERE q.id = authorization_id;
    -- Locks the server before the authorization, like every change of the server.
    SELECT * INTO a FROM mcp_authorizations q WHERE q.id = authorization_id;
    IF a.id IS NULL THEN
        RETURN false;
    END IF;
    SELECT * INTO s FROM mcp_servers q WHERE q.id = a.server_id AND q.deleted_at IS NULL FOR NO KEY UPDATE;
    SELECT * INTO a FROM mcp_authorizations q WHERE q.id = authorization_id FOR UPDATE;
    IF EXISTS (SELECT FROM secrets q WHERE q.id = (new_tokens ->> 'id')::uuid) THEN
        RETURN a.status = 'done';  -- it was said before
    ELSIF a.status = 'exchanging' AND new_tokens IS NULL AND NOT is_final
          AND a.created_at > clock_timestamp() - interval '10 minutes' THEN
        UPDATE mcp_authorizations q SET status = 'returned', claimed_until = NULL, error = left(why, 500),
            due_at = clock_timestamp() + make_interval(secs => 2 ^ least(q.tries, 6))
        WHERE q.id = a.id;
        RETURN false;
    END IF;
    -- A user who left the organization meanwhile, or lost the permission or the session, has no connection there.
    IF s.id IS NULL OR new_tokens IS NULL OR a.status <> 'exchanging' OR NOT mcp_may_connect_held(a) THEN
        IF a.status = 'exchanging' THEN
            PERFORM mcp_authorization_fail(a.id, coalesce(why, 'the server is gone, or who began it may not connect'));
        END IF;
        IF new_tokens IS NOT NULL THEN
            PERFORM mcp_tokens_end(mcp_connection_of(a, mcp_sealed_insert(a.org_id, 'mcp_connection', new_tokens),
                                                     got_refresh_token));
        END IF;
        RETURN false;
    END IF;
    SELECT * INTO c FROM mcp_connections q
    WHERE q.server_id = a.server_id AND q.org_id = a.org_id AND q.state <> 'ending'
          AND q.owner_id = mcp_owner_id(CASE WHEN NOT a.is_of_org THEN a.user_id END) FOR UPDATE;
    IF mcp_connection_is_over(c) THEN
        PERFORM mcp_connection_end(c.id);  -- by the sweep otherwise
        c := NULL;
    END IF;
    PERFORM mcp_tokens_end(c);
    IF c.id IS NULL THEN
        INSERT INTO mcp_connections (org_id, server_id, user_id, state, issuer, token_endpoint, resource, client_id,
            client_method, scopes, has_refresh_token, connected_by)
        VALUES (a.org_id, a.server_id, CASE WHEN NOT a.is_of_org THEN a.user_id END, 'expired', a.issuer,
            a.token_endpoint, a.resource, a.client_id, a.client_method, a.scopes, false, a.user_id)
        RETURNING * INTO c;
    END IF;
    UPDATE mcp_connections q SET state = 'connected', issuer = a.issuer, token_endpoint = a.token_endpoint,
        revocation_endpoint = a.revocation_endpoint, resource = a.resource, client_id = a.client_id,
        client_method = a.client_method, scopes = a.scopes, wanted_scopes = NULL,
        secret_id = mcp_sealed_insert(a.org_id, 'mcp_connection', new_tokens), token_number = q.token_number + 1,
        has_refresh_token = got_refresh_token, expires_at = clock_timestamp() + make_interval(secs => lifetime),
        refresh_at = mcp_refresh_time(lifetime, got_refresh_token), claim_id = NULL, claimed_until = NULL, tries = 0,
        fault = NULL, failing_since = NULL, connected_by = a.user_id, connected_at = clock_timestamp()
    WHERE q.id = c.id
    RETURNING * INTO c;
    UPDATE mcp_authorizations q SET status = 'done', code = NULL, secret_id = NULL, error = NULL WHERE q.id = a.id;
    DELETE FROM secrets q WHERE q.id = a.secret_id;
    PERFORM audit('mcp_servers.connect', 'mcp_server', s.id::text, a.org_id, NULL,
                  jsonb_build_object('is_of_org', a.is_of_org, 'scopes', mcp_state_cut(to_jsonb(a.scopes)),
                                     'issuer', left(a.issuer, 1000)), 'ok', a.user_id);
    IF mcp_may_list_with(s, c) THEN
        PERFORM mcp_listing_wanted(s.id);
    END IF;
    PERFORM mcp_runs_go_on(s.id, a.org_id, CASE WHEN NOT a.is_of_org THEN a.user_id END);
    RETURN true;
END
$$;

-- DELETE /v1/mcp-servers/{server_id}/connection: the caller's, or the organization's.
CREATE OR REPLACE FUNCTION mcp_disconnect(server uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    s mcp_servers := mcp_server_to_connect(server);
    c mcp_connections;
BEGIN
    SELECT * INTO c FROM mcp_connections q
    WHERE q.server_id = s.id AND q.org_id = current_org() AND q.state <> 'ending'
          AND q.owner_id = mcp_owner_id(mcp_connection_user(s, current_user_id())) FOR UPDATE;
    IF c.id IS NOT NULL THEN
        PERFORM mcp_connection_end(c.id);
        PERFORM audit('mcp_servers.disconnect', 'mcp_server', s.id::text, current_org(),
                      jsonb_build_object('is_of_org', c.user_id IS NULL,
                                         'scopes', mcp_state_cut(to_jsonb(c.scopes))), NULL);
    END IF;
END
$$;

-- Maintenance: authorizations of before yesterday, at most so many; answers how many.
CREATE OR REPLACE FUNCTION mcp_authorizations_prune(at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    ended uuid[];
    ended_count bigint;
BEGIN
    WITH gone AS (
        DELETE FROM mcp_authorizations a WHERE a.id IN (
            SELECT q.id FROM mcp_authorizations q WHERE q.created_at < statement_timestamp() - interval '1 day'
            ORDER BY q.created_at LIMIT at_most FOR UPDATE SKIP LOCKED)
        RETURNING a.secret_id)
    SELECT array_agg(gone.secret_id), count(*) INTO ended, ended_count FROM gone;
    DELETE FROM secrets q WHERE q.id = ANY (ended);
    RETURN ended_count;
END
$$;

REVOKE EXECUTE ON FUNCTION mcp_server_to_connect, mcp_authorization_fail, mcp_may_connect, mcp_may_connect_held
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION mcp_authorization_begin, mcp_authorization_return, mcp_disconnect
    FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION mcp_exchange_claim, mcp_exchange_end, mcp_authorizations_prune FROM hostler_api;
