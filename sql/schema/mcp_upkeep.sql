-- Upkeep of connections with MCP servers, by daemons: tokens are refreshed before they expire, and revoked when nobody
-- shows them any more. A refresh token counts once, so one daemon at a time has a connection. mcp_connections.sql has
-- the tables. Reached through these functions only.

-- When a daemon refreshes tokens that live so many seconds: 5 minutes before their end, of short ones a fifth.
CREATE OR REPLACE FUNCTION mcp_refresh_time(lifetime bigint, has_refresh_token boolean) RETURNS timestamptz
LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN has_refresh_token
        THEN clock_timestamp() + make_interval(secs => lifetime - least(300, lifetime / 5)) END
$$;

-- Connections that a daemon has to do something about: tokens about to expire, those that are ending; not of the
-- organizations and users that others go before (lib/loop/shares.h).
CREATE OR REPLACE FUNCTION mcp_connections_due(at_most integer, full_orgs uuid[])
RETURNS TABLE (connection_id uuid, token_number bigint, is_ending boolean, org_id uuid, user_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT c.id, c.token_number, c.state = 'ending', c.org_id, c.connected_by FROM mcp_connections c
    WHERE c.refresh_at <= statement_timestamp() AND coalesce(c.claimed_until <= clock_timestamp(), true)
          AND c.org_id <> ALL (full_orgs) AND c.connected_by <> ALL (full_orgs)
          AND (c.state = 'ending' OR NOT mcp_connection_rests(c))
    ORDER BY c.refresh_at LIMIT at_most
$$;

-- Calls that go on at the server with the tokens of a connection that ends: daemons cancel them there first, for two
-- minutes at most. Makes a page of them due. Answers whether there are any.
CREATE OR REPLACE FUNCTION mcp_calls_end(c mcp_connections) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF c.ending_since < clock_timestamp() - interval '2 minutes'
       OR NOT EXISTS (SELECT FROM mcp_tasks t WHERE t.connection_id = c.id) THEN
        RETURN false;
    END IF;
    UPDATE mcp_tasks t SET due_at = clock_timestamp()
    FROM (SELECT q.run_id, q.tool_call_id FROM mcp_tasks q
          WHERE q.connection_id = c.id AND q.claim_id IS NULL AND coalesce(q.due_at > clock_timestamp(), true)
          LIMIT 100 FOR UPDATE SKIP LOCKED) AS page
    WHERE t.run_id = page.run_id AND t.tool_call_id = page.tool_call_id;
    UPDATE mcp_connections q SET refresh_at = clock_timestamp() + interval '1 second' WHERE q.id = c.id;
    RETURN true;
END
$$;

-- Takes a connection, to refresh it or, when it ends, to revoke it, for a minute. One that ends is claimed for its
-- revocation only. state:
--   claimed  with all that is needed
--   changed  there are other tokens than those of that number
--   busy     another daemon does it; or calls that go on with the tokens are cancelled first
--   none     it has no refresh token, rests, is no more, or is not what the caller means
CREATE OR REPLACE FUNCTION mcp_connection_claim(connection uuid, number bigint, claim uuid, to_revoke boolean)
RETURNS TABLE (state text, token_endpoint text, revocation_endpoint text, resource text,
    client_id text, client_method text, client_secret json, tokens json, org_id uuid, https_only boolean,
    is_org_scope boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    c mcp_connections;
BEGIN
    SELECT * INTO c FROM mcp_connections q WHERE q.id = connection FOR UPDATE;
    state := CASE
        WHEN c.id IS NULL OR c.state = 'expired' OR (c.state = 'ending') <> to_revoke THEN 'none'
        WHEN c.token_number <> number THEN 'changed'
        WHEN c.claimed_until > clock_timestamp() THEN 'busy'
        WHEN c.state = 'connected' AND (NOT c.has_refresh_token OR mcp_connection_rests(c)) THEN 'none'
        ELSE 'claimed' END;
    IF state = 'claimed' AND to_revoke AND mcp_calls_end(c) THEN
        state := 'busy';
    END IF;
    IF state = 'claimed' THEN
        UPDATE mcp_connections q SET claim_id = claim, claimed_until = clock_timestamp() + interval '1 minute',
            tries = q.tries + 1
        WHERE q.id = c.id;
        token_endpoint := c.token_endpoint;
        revocation_endpoint := c.revocation_endpoint;
        resource := c.resource;
        client_id := c.client_id;
        client_method := c.client_method;
        client_secret := mcp_client_secret(c.server_id, c.issuer, c.client_id);
        tokens := mcp_sealed(c.secret_id);
        org_id := c.org_id;
        SELECT mcp_https_only(s), s.org_id IS NOT NULL INTO https_only, is_org_scope
        FROM mcp_servers s WHERE s.id = c.server_id;
    END IF;
    RETURN NEXT;
END
$$;

-- A refresh ended. new_tokens: sealed; null: it failed, for good or to be tried again, and why. New tokens of what ends
-- meanwhile are those to be revoked.
CREATE OR REPLACE FUNCTION mcp_refresh_end(connection uuid, claim uuid, new_tokens jsonb, lifetime bigint,
    got_refresh_token boolean, is_final boolean, why text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    c mcp_connections;
BEGIN
    SELECT * INTO c FROM mcp_connections q
    WHERE q.claim_id = claim AND (q.state = 'ending' OR (q.state = 'connected' AND q.id = connection)) FOR UPDATE;
    IF c.id IS NULL THEN
        RETURN;
    ELSIF c.state = 'ending' THEN
        UPDATE mcp_connections q SET claim_id = NULL, claimed_until = NULL, tries = 0, refresh_at = clock_timestamp(),
            secret_id = coalesce(mcp_sealed_insert(c.org_id, 'mcp_connection', new_tokens), q.secret_id),
            token_number = q.token_number + (new_tokens IS NOT NULL)::integer,
            has_refresh_token = CASE WHEN new_tokens IS NOT NULL THEN got_refresh_token ELSE q.has_refresh_token END
        WHERE q.id = c.id;
        DELETE FROM secrets q WHERE q.id = c.secret_id AND new_tokens IS NOT NULL;
    ELSIF new_tokens IS NOT NULL THEN
        UPDATE mcp_connections q SET secret_id = mcp_sealed_insert(c.org_id, 'mcp_connection', new_tokens),
            token_number = q.token_number + 1, has_refresh_token = got_refresh_token, tries = 0,
            expires_at = clock_timestamp() + make_interval(secs => lifetime),
            refresh_at = mcp_refresh_time(lifetime, got_refresh_token), claim_id = NULL, claimed_until = NULL,
            fault = NULL, failing_since = NULL
        WHERE q.id = c.id;
        DELETE FROM secrets q WHERE q.id = c.secret_id;
    ELSIF is_final THEN
        PERFORM mcp_connection_expire(c.id);
    ELSE
        UPDATE mcp_connections q SET claim_id = NULL, claimed_until = NULL, fault = left(why, 500),
            failing_since = coalesce(q.failing_since, clock_timestamp()),
            refresh_at = CASE WHEN q.refresh_at IS NOT NULL THEN
                clock_timestamp() + least(make_interval(secs => 5 * 2 ^ least(q.tries, 10)), interval '1 hour') END
        WHERE q.id = c.id;
    END IF;
END
$$;

-- The connection ends: nobody shows its tokens from now on, a daemon revokes them and takes it away. A refresh that is
-- under way ends first: what it brings is revoked.
CREATE OR REPLACE FUNCTION mcp_connection_end(connection uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    UPDATE mcp_connections q SET state = 'ending', refresh_at = clock_timestamp(), ending_since = clock_timestamp(),
        tries = 0, fault = NULL, failing_since = NULL
    WHERE q.id = connection AND q.state <> 'ending'
$$;

-- Tokens that the connection shows no more, because others take their place or the server takes them no more: they
-- become a connection of their own that ends, so that a daemon revokes them. A refresh of them that is under way ends
-- there too. The caller gives the connection other tokens, or none.
CREATE OR REPLACE FUNCTION mcp_tokens_end(c mcp_connections) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    INSERT INTO mcp_connections (org_id, server_id, user_id, state, issuer, token_endpoint, revocation_endpoint,
        resource, client_id, client_method, scopes, secret_id, token_number, has_refresh_token, refresh_at,
        claimed_until, claim_id, ending_since, connected_by)
    SELECT c.org_id, c.server_id, c.user_id, 'ending', c.issuer, c.token_endpoint, c.revocation_endpoint, c.resource,
        c.client_id, c.client_method, c.scopes, c.secret_id, c.token_number, c.has_refresh_token, clock_timestamp(),
        c.claimed_until, c.claim_id, clock_timestamp(), c.connected_by
    WHERE c.secret_id IS NOT NULL
$$;

-- A revocation ended: done, or tried three times.
CREATE OR REPLACE FUNCTION mcp_revocation_end(connection uuid, claim uuid, is_done boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    c mcp_connections;
BEGIN
    SELECT * INTO c FROM mcp_connections q WHERE q.id = connection AND q.claim_id = claim AND q.state = 'ending'
    FOR UPDATE;
    IF c.id IS NULL THEN
        RETURN;
    ELSIF is_done OR c.tries >= 3 THEN
        DELETE FROM mcp_connections q WHERE q.id = c.id;
        DELETE FROM secrets q WHERE q.id = c.secret_id;
    ELSE
        UPDATE mcp_connections q SET claim_id = NULL, claimed_until = NULL,
            refresh_at = clock_timestamp() + make_interval(secs => 30 * q.tries)
        WHERE q.id = c.id;
    END IF;
END
$$;

REVOKE EXECUTE ON FUNCTION mcp_refresh_time, mcp_connection_end, mcp_tokens_end, mcp_calls_end
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION mcp_connections_due, mcp_connection_claim, mcp_refresh_end, mcp_revocation_end
    FROM hostler_api;
