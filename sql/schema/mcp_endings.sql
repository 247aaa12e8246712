-- Ends of MCP servers and connections: a server that is deleted, switched off or called in another way, and connections
-- whose user or server ended. One row decides (mcp_servers.authorized_since, a membership, a user's status); everything
-- that depends on it is swept (endings.sql).

-- A server that the caller changes or deletes is gone, or is another one: nothing of its authorization holds any more.
CREATE OR REPLACE FUNCTION mcp_server_forget(server uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE mcp_servers s SET authorized_since = clock_timestamp()
    WHERE s.id = server AND (s.org_id = current_org() OR (s.org_id IS NULL AND is_platform_admin()));
    IF FOUND THEN
        WITH gone AS (DELETE FROM mcp_discoveries d WHERE d.server_id = server RETURNING d.secret_id)
        DELETE FROM secrets q USING gone WHERE q.id = gone.secret_id;
        PERFORM ending_begin('mcp_server', server);
    END IF;
END
$$;

-- The sweep of mcp_server_forget(): connections and authorizations from before.
CREATE OR REPLACE FUNCTION ending_page_mcp_server(e endings, at_most integer, is_whole boolean) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    since timestamptz := (SELECT s.authorized_since FROM mcp_servers s WHERE s.id = e.subject_id);
    connections uuid[] := ARRAY(
        SELECT c.id FROM mcp_connections c
        WHERE c.server_id = e.subject_id AND c.state <> 'ending' AND c.connected_at < since
        LIMIT at_most);
    authorizations uuid[] := ARRAY(
        SELECT a.id FROM mcp_authorizations a
        WHERE a.server_id = e.subject_id AND a.status IN ('begun', 'returned', 'exchanging') AND a.created_at < since
        LIMIT at_most);
BEGIN
    IF is_whole AND greatest(cardinality(connections), cardinality(authorizations)) = at_most THEN
        RETURN ending_again();
    END IF;
    PERFORM mcp_connection_end(c.id) FROM unnest(connections) AS c (id) ORDER BY c.id;
    PERFORM mcp_authorization_fail(a.id, 'the server is another one now') FROM unnest(authorizations) AS a (id)
    ORDER BY a.id;
    RETURN CASE WHEN greatest(cardinality(connections), cardinality(authorizations)) = at_most THEN e.subject_id END;
END
$$;

-- The sweep of mcp_discovery_store(): connections that another client, or a client of another authorization server, has
-- are expired. Until then their tokens rest (mcp_connection_rests).
CREATE OR REPLACE FUNCTION ending_page_mcp_clients(e endings, at_most integer, is_whole boolean) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    page uuid[] := ARRAY(
        SELECT c.id FROM mcp_connections c
        WHERE c.server_id = e.subject_id AND c.state = 'connected' AND (e.cursor_id IS NULL OR c.id > e.cursor_id)
        ORDER BY c.id LIMIT at_most);
    over mcp_connections;
BEGIN
    IF is_whole AND cardinality(page) = at_most THEN
        RETURN ending_again();
    END IF;
    FOR over IN SELECT c.* FROM mcp_connections c JOIN mcp_discoveries d ON d.server_id = c.server_id
                WHERE c.id = ANY (page) AND c.state = 'connected'
                      AND (c.issuer <> d.issuer OR c.client_id <> d.client_id)
                ORDER BY c.id FOR UPDATE OF c
    LOOP
        PERFORM mcp_tokens_end(over);
        UPDATE mcp_connections c SET state = 'expired', secret_id = NULL, refresh_at = NULL, has_refresh_token = false,
            wanted_scopes = NULL, scopes = '{}', claim_id = NULL, claimed_until = NULL, fault = NULL,
            failing_since = NULL
        WHERE c.id = over.id;
    END LOOP;
    RETURN CASE WHEN cardinality(page) = at_most THEN page[at_most] END;
END
$$;

-- A user who leaves an organization loses their connections there.
CREATE OR REPLACE FUNCTION mcp_member_left() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF EXISTS (SELECT FROM mcp_connections q WHERE q.user_id = old.user_id AND q.org_id = old.org_id) THEN
        PERFORM ending_begin('mcp_connections', old.user_id, old.org_id);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER mcp_member_left AFTER DELETE ON org_members FOR EACH ROW EXECUTE FUNCTION mcp_member_left();

-- The sweep of a user's connections: in the organization that they left, or, of who is deleted, all of them and those
-- of their personal organization.
CREATE OR REPLACE FUNCTION ending_page_mcp_connections(e endings, at_most integer, is_whole boolean) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own uuid := (SELECT u.personal_org_id FROM users u WHERE u.id = e.subject_id);
    page uuid[] := ARRAY(
        SELECT c.id FROM mcp_connections c
        WHERE (c.user_id = e.subject_id OR (e.within_org IS NULL AND c.org_id = own)) AND c.state <> 'ending'
              AND (e.within_org IS NULL OR c.org_id = e.within_org) AND c.connected_at <= e.ended_at
        LIMIT at_most);
    authorizations uuid[] := ARRAY(
        SELECT a.id FROM mcp_authorizations a
        WHERE e.within_org IS NULL AND a.user_id = e.subject_id AND a.status IN ('begun', 'returned')
        LIMIT at_most);
BEGIN
    IF is_whole AND greatest(cardinality(page), cardinality(authorizations)) = at_most THEN
        RETURN ending_again();
    END IF;
    PERFORM mcp_connection_end(c.id) FROM unnest(page) AS c (id) ORDER BY c.id;
    PERFORM mcp_authorization_fail(a.id, 'the account is deleted') FROM unnest(authorizations) AS a (id)
    ORDER BY a.id;
    RETURN CASE WHEN greatest(cardinality(page), cardinality(authorizations)) = at_most THEN e.subject_id END;
END
$$;

-- The servers of a deleted user's personal organization are gone like those that somebody deletes
-- (mcp_server_delete), so many at most. Answers the most rows of one table.
CREATE OR REPLACE FUNCTION mcp_servers_end(org uuid, at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    -- Each has 128 tools at most.
    page uuid[] := ARRAY(SELECT s.id FROM mcp_servers s WHERE s.org_id = org AND s.deleted_at IS NULL
                         ORDER BY s.id LIMIT greatest(at_most / 20, 1) FOR UPDATE);
    sealed_ids uuid[];
BEGIN
    UPDATE mcp_servers SET deleted_at = clock_timestamp(), is_active = false, secret_id = NULL, listing_id = NULL,
        discovery = NULL, listing_left_out = NULL
    WHERE id = ANY (page);
    DELETE FROM mcp_tools WHERE server_id = ANY (page);
    DELETE FROM mcp_discoveries WHERE server_id = ANY (page);
    IF cardinality(page) = greatest(at_most / 20, 1) THEN
        RETURN at_most;
    END IF;
    sealed_ids := ARRAY(SELECT q.id FROM secrets q WHERE q.org_id = org AND q.kind IN ('mcp_server', 'mcp_client')
                    ORDER BY q.id LIMIT at_most);
    DELETE FROM secrets WHERE id = ANY (sealed_ids);
    RETURN cardinality(sealed_ids);
END
$$;

-- Runs that wait for somebody to connect with a server that the caller deletes, switches off or makes another one go
-- on, page by page: they call it again, and hear what it is by now. Of the platform's those of every organization.
CREATE OR REPLACE FUNCTION mcp_waits_end(server uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM ending_begin('mcp_waits', s.id) FROM mcp_servers s
    WHERE s.id = server AND (s.org_id = current_org() OR (s.org_id IS NULL AND is_platform_admin()));
END
$$;

-- The sweep of mcp_waits_end(). A run that begins to wait at the moment of the switch may have seen the server as it
-- was: so there is a last look five seconds later. Locks runs, then accounts.
CREATE OR REPLACE FUNCTION ending_page_mcp_waits(e endings, at_most integer, is_whole boolean) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    late constant timestamptz := e.ended_at + interval '5 seconds';
    runs_max constant integer := greatest(at_most / 4, 1);
    page uuid[] := ARRAY(
        SELECT q.id FROM runs q
        WHERE q.status = 'waiting_for_input' AND q.input_request ->> 'kind' = 'authorization'
              AND (q.input_request ->> 'server_id') COLLATE "C" = e.subject_id::text
              AND coalesce((q.input_request ->> 'since')::timestamptz <= late, true)
              AND (e.cursor_id IS NULL OR q.id > e.cursor_id)
        ORDER BY q.id LIMIT runs_max FOR NO KEY UPDATE);
    r runs;
BEGIN
    IF is_whole AND cardinality(page) = runs_max THEN
        RETURN ending_again();
    END IF;
    PERFORM credit_lock(ARRAY(SELECT q.org_id FROM runs q WHERE q.id = ANY (page)));
    FOR r IN SELECT q.* FROM runs q WHERE q.id = ANY (page) ORDER BY q.id LOOP
        PERFORM run_go_on(r);
    END LOOP;
    RETURN CASE WHEN cardinality(page) = runs_max THEN page[runs_max]
                WHEN clock_timestamp() <= late THEN ending_again() END;
END
$$;
REVOKE EXECUTE ON FUNCTION mcp_member_left, mcp_servers_end, ending_page_mcp_server,
    ending_page_mcp_connections, ending_page_mcp_clients, ending_page_mcp_waits FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION mcp_server_forget, mcp_waits_end FROM hostler_runner;
