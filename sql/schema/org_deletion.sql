-- Deletion of a workspace: it stops at once, its owners are notified, and until privacy.org_delete_days are over an
-- owner or a platform administrator can bring it back. Then it is erased (erasure.sql).

-- Nobody acts in an organization that is being deleted. refused: as of fail().
CREATE OR REPLACE FUNCTION org_closed_fail(erase_at timestamptz, refused text) RETURNS void
LANGUAGE sql STABLE SET search_path = public, pg_catalog AS $$
    SELECT fail('orgs.not_found', 'org_is_deleted',
                jsonb_build_object('erase_at', coalesce(rfc3339(erase_at), 'now')), refused => refused)
$$;

CREATE OR REPLACE FUNCTION org_deletion_json(o orgs) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', o.id, 'slug', o.slug, 'closed_at', rfc3339(o.closed_at),
        'erase_at', rfc3339(o.erase_at))
$$;

-- The sweep of a workspace that is closed or restored (endings.sql). MCP servers of a closed one are not listed and no
-- tokens are asked for in its name (mcp_server_rests, mcp_connection_rests). The sweep takes both out of what is due,
-- or back in: see ending_page_mcp_rest(). A page goes by the organization's row of its moment.
CREATE OR REPLACE FUNCTION ending_page_mcp_org_rest(e endings, at_most integer, is_whole boolean) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    is_open boolean;
    never constant timestamptz := clock_timestamp() + interval '100 years';
    far constant timestamptz := clock_timestamp() + interval '50 years';
    servers uuid[];
    connections uuid[];
BEGIN
    SELECT o.closed_at IS NULL INTO STRICT is_open FROM orgs o WHERE o.id = e.subject_id FOR SHARE;
    servers := ARRAY(SELECT q.id FROM mcp_servers q
                     WHERE q.org_id = e.subject_id AND q.deleted_at IS NULL AND (q.listing_due_at > far) = is_open
                     LIMIT at_most);
    connections := ARRAY(SELECT q.id FROM mcp_connections q
                         WHERE q.org_id = e.subject_id AND q.state = 'connected'
                               AND CASE WHEN is_open THEN q.refresh_at IS NULL AND q.has_refresh_token
                                   ELSE q.refresh_at IS NOT NULL END
                         LIMIT at_most);
    IF is_whole AND greatest(cardinality(servers), cardinality(connections)) = at_most THEN
        RETURN ending_again();
    END IF;
    PERFORM FROM mcp_servers s WHERE s.id = ANY (servers) ORDER BY s.id FOR NO KEY UPDATE;
    UPDATE mcp_servers s SET listing_id = NULL,
        listing_due_at = CASE WHEN is_open THEN clock_timestamp() ELSE never END
    WHERE s.id = ANY (servers) AND s.deleted_at IS NULL;
    PERFORM FROM mcp_connections c WHERE c.id = ANY (connections) ORDER BY c.id FOR NO KEY UPDATE;
    UPDATE mcp_connections c SET refresh_at = CASE WHEN is_open THEN clock_timestamp() END
    WHERE c.id = ANY (connections) AND c.state = 'connected';
    RETURN CASE WHEN greatest(cardinality(servers), cardinality(connections)) = at_most THEN e.subject_id END;
END
$$;

-- Stops an organization whose row is locked: closed_at decides, for callers, streams, runs and MCP servers. Everything
-- that depends on it is swept (endings.sql), and its owners are notified by pages (org_stop). Notes its end; answers
-- the row.
CREATE OR REPLACE FUNCTION org_close(org uuid, privacy_org_delete_days integer) RETURNS orgs
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    closed orgs;
BEGIN
    UPDATE orgs o SET closed_at = clock_timestamp(),
        erase_at = clock_timestamp() + make_interval(days => privacy_org_delete_days)
    WHERE o.id = org AND o.closed_at IS NULL RETURNING * INTO closed;
    IF closed.id IS NOT NULL THEN
        PERFORM erasure_begin('org_stop', org, current_user_id());
        PERFORM erasure_begin('org', org, not_before => closed.erase_at);
        PERFORM privacy_note('org_closed', org, ends_at => closed.erase_at);
        PERFORM ending_begin('org_runs', org, why => 'org_deleted');
        PERFORM ending_begin('mcp_org_rest', org);
        PERFORM exports_end(org, true);
    END IF;
    RETURN closed;
END
$$;

-- DELETE /v1/orgs/{org_id} {slug}, by an owner whose login is fresh.
CREATE OR REPLACE FUNCTION org_delete(typed_slug text, privacy_org_delete_days integer) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own_role text := org_hold('org.manage');
    old_state orgs;
    closed orgs;
BEGIN
    SELECT * INTO STRICT old_state FROM orgs WHERE id = current_org();
    IF old_state.type = 'personal' THEN
        PERFORM fail('orgs.personal', 'ends_with_its_user');
    ELSIF old_state.closed_at IS NOT NULL THEN
        PERFORM org_closed_fail(old_state.erase_at, '');
    ELSIF typed_slug <> old_state.slug THEN
        PERFORM fail('validation.error', 'slug_is_another', jsonb_build_object('slug', old_state.slug));
    END IF;
    closed := org_close(old_state.id, privacy_org_delete_days);
    PERFORM audit('orgs.delete', 'org', closed.id::text, closed.id, org_state(old_state),
                  jsonb_build_object('erase_at', rfc3339(closed.erase_at)));
    RETURN org_deletion_json(closed);
END
$$;

-- POST /v1/orgs/{org_id}:restore, by an owner or a platform administrator, who becomes its owner when it has no member
-- any more. Raises the 404 of everybody else, and 409 when there is nothing to restore or nothing to bring back.
CREATE OR REPLACE FUNCTION org_restore(org uuid) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state orgs;
    restored orgs;
    own_role text;
BEGIN
    SELECT * INTO old_state FROM orgs o WHERE o.id = org FOR NO KEY UPDATE;
    SELECT m.role INTO own_role FROM org_members m WHERE m.org_id = org AND m.user_id = current_user_id();
    IF old_state.id IS NULL OR (own_role IS NULL AND NOT is_platform_admin()) THEN
        PERFORM fail('orgs.not_found', 'not_a_member');
    ELSIF own_role IS DISTINCT FROM 'owner' AND NOT is_platform_admin() THEN
        PERFORM fail('auth.forbidden', 'permission_missing', jsonb_build_object('permission', 'org.manage'));
    ELSIF old_state.closed_at IS NULL THEN
        PERFORM fail('orgs.not_deleted');
    END IF;
    -- From its first page on it is too late.
    DELETE FROM erasures e WHERE e.id IN (
        SELECT q.id FROM erasures q WHERE q.org_id = org AND q.kind = 'org' AND q.due_at = old_state.erase_at
        FOR UPDATE);
    IF NOT FOUND THEN
        PERFORM fail('orgs.erased');
    END IF;
    DELETE FROM erasures e WHERE e.org_id = org AND e.kind = 'org_stop';
    UPDATE orgs o SET closed_at = NULL, erase_at = NULL WHERE o.id = org RETURNING * INTO restored;
    PERFORM ending_begin('mcp_org_rest', org);
    IF NOT EXISTS (SELECT FROM org_members m WHERE m.org_id = org) THEN
        INSERT INTO org_members (org_id, user_id, role) VALUES (org, current_user_id(), 'owner');
        own_role := 'owner';
    END IF;
    PERFORM privacy_note('org_restored', org);
    PERFORM audit('orgs.restore', 'org', org::text, org,
                  jsonb_build_object('erase_at', rfc3339(old_state.erase_at)), org_state(restored));
    RETURN org_json(restored, own_role);
END
$$;

-- The mail about an organization to an owner: that it is deleted, or that somebody exports it.
CREATE OR REPLACE FUNCTION org_mail(template text, o orgs, owner uuid, actor uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM mail_queue(template, u.email, u.locale, jsonb_strip_nulls(jsonb_build_object('username', u.username,
        'org_name', o.name, 'slug', o.slug, 'actor', (SELECT a.username FROM users a WHERE a.id = actor),
        'erase_day', to_char(o.erase_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'))))
    FROM users u WHERE u.id = owner AND u.status = 'active' AND u.email_verified_at IS NOT NULL;
END
$$;

-- A page of the owners to notify.
CREATE OR REPLACE FUNCTION erase_owner_mails(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    page uuid[] := ARRAY(
        SELECT m.user_id FROM org_members m WHERE m.org_id = e.org_id AND m.role = 'owner' AND m.user_id > e.after_id
        ORDER BY m.user_id LIMIT at_most);
BEGIN
    PERFORM org_mail(CASE e.kind WHEN 'org_stop' THEN 'org_deleted' ELSE 'org_exported' END, o, p.user_id, e.user_id)
    FROM unnest(page) AS p (user_id), orgs o WHERE o.id = e.org_id;
    RETURN page;
END
$$;

REVOKE EXECUTE ON FUNCTION ending_page_mcp_org_rest, org_close, org_mail, erase_owner_mails
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION org_deletion_json, org_delete, org_restore FROM hostler_runner;
