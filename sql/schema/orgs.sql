-- Organizations, their members and invitations, as their members see and change them.
--
-- The organization that a path names is the tenant by the time these functions run (authenticate). Changes of members
-- lock the organization's row first, so of two owners who demote each other at once, one comes second.

CREATE OR REPLACE FUNCTION org_json(o orgs, role text) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', o.id, 'slug', o.slug, 'name', o.name, 'type', o.type, 'role', role,
        'require_factor', o.require_factor, 'created_at', rfc3339(o.created_at), 'erase_at', rfc3339(o.erase_at))
$$;

-- An organization as the audit log keeps it.
CREATE OR REPLACE FUNCTION org_state(o orgs) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_build_object('slug', o.slug, 'name', o.name, 'type', o.type, 'require_factor', o.require_factor)
$$;

CREATE OR REPLACE FUNCTION member_json(m org_members, u users) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('user_id', m.user_id, 'login', u.login, 'username', u.username, 'email', u.email,
        'role', m.role, 'created_at', rfc3339(m.created_at))
$$;

-- Locks the organization until the end of the transaction, then checks the caller's permission again, because the role
-- may have changed while the lock was waited for. permission: or null. Answers the caller's role.
CREATE OR REPLACE FUNCTION org_hold(permission text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own_role text;
BEGIN
    PERFORM 1 FROM orgs WHERE id = current_org() FOR NO KEY UPDATE;
    SELECT role INTO own_role FROM org_members WHERE org_id = current_org() AND user_id = current_user_id();
    IF own_role IS NULL THEN
        PERFORM fail('orgs.not_found', 'not_a_member');
    ELSIF permission IS NOT NULL AND NOT permission = ANY (role_permissions(own_role)) THEN
        PERFORM fail('auth.forbidden', 'permission_missing', jsonb_build_object('permission', permission));
    END IF;
    RETURN own_role;
END
$$;

-- Raises orgs.last_owner when the organization, whose row is locked, has no other active owner than this one.
CREATE OR REPLACE FUNCTION org_spare_owner(org uuid, of_user uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM org_members m JOIN users u ON u.id = m.user_id AND u.status = 'active'
                   WHERE m.org_id = org AND m.role = 'owner' AND m.user_id <> of_user) THEN
        PERFORM fail('orgs.last_owner', 'nobody_else');
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION only_owners() RETURNS void
LANGUAGE sql AS $$
    SELECT fail('auth.forbidden', 'touches_owners', jsonb_build_object('permission', 'org.manage'))
$$;

-- POST /v1/orgs. grant_credits: what a new workspace gets. limit_workspaces_per_user: how many the caller may own
-- then; 0: any number. The lock makes that exact.
CREATE OR REPLACE FUNCTION org_create(new_slug text, new_name text, grant_credits bigint,
    limit_workspaces_per_user bigint) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    owned bigint;
    created orgs;
BEGIN
    IF limit_workspaces_per_user > 0 THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('workspaces ' || current_user_id(), 0));
        SELECT count(*) INTO owned FROM org_members m JOIN orgs o ON o.id = m.org_id
        WHERE m.user_id = current_user_id() AND m.role = 'owner' AND o.type = 'workspace';
        IF owned >= limit_workspaces_per_user THEN
            PERFORM fail('limits.reached', 'all_used', jsonb_build_object(
                'key', 'limit.workspaces_per_user', 'limit', limit_workspaces_per_user, 'used', owned));
        END IF;
    END IF;
    INSERT INTO orgs (slug, name, type) VALUES (new_slug, new_name, 'workspace')
    ON CONFLICT (slug) DO NOTHING RETURNING * INTO created;
    IF created.id IS NULL THEN
        PERFORM fail('orgs.slug_taken');
    END IF;
    INSERT INTO org_members (org_id, user_id, role) VALUES (created.id, current_user_id(), 'owner');
    INSERT INTO credit_accounts (org_id) VALUES (created.id);
    IF grant_credits > 0 THEN
        PERFORM credit_post(created.id, grant_credits, 'initial_grant', 'org', created.id::text);
    END IF;
    PERFORM audit('orgs.create', 'org', created.id::text, created.id, NULL, org_state(created));
    RETURN org_json(created, 'owner');
END
$$;

-- GET /v1/orgs: those the caller belongs to; of a session that is confined to one, that one.
CREATE OR REPLACE FUNCTION org_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    only_one uuid := (SELECT s.confined_org_id FROM sessions s
                      WHERE s.id = (current_request() ->> 'session_id')::uuid);
BEGIN
    RETURN QUERY SELECT o.id, org_json(o, m.role) FROM org_members m JOIN orgs o ON o.id = m.org_id
    WHERE m.user_id = current_user_id() AND (only_one IS NULL OR m.org_id = only_one)
          AND (before IS NULL OR m.org_id < before)
    ORDER BY m.org_id DESC LIMIT page_limit;
END
$$;

CREATE OR REPLACE FUNCTION org_show() RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN (SELECT org_json(o, m.role) FROM orgs o
        JOIN org_members m ON m.org_id = o.id AND m.user_id = current_user_id()
    WHERE o.id = current_org());
END
$$;

-- PATCH /v1/orgs/{org_id}: changes holds only what is to change.
CREATE OR REPLACE FUNCTION org_update(changes jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own_role text := org_hold('org.manage');
    old_state orgs;
    new_state orgs;
BEGIN
    SELECT * INTO STRICT old_state FROM orgs WHERE id = current_org();
    IF old_state.type = 'personal' AND changes ->> 'slug' <> old_state.slug THEN
        PERFORM fail('orgs.personal', 'slug_is_fixed');
    END IF;
    BEGIN
        UPDATE orgs SET slug = coalesce(changes ->> 'slug', slug), name = coalesce(changes ->> 'name', name),
            require_factor = coalesce((changes ->> 'require_factor')::boolean, require_factor)
        WHERE id = old_state.id RETURNING * INTO new_state;
    EXCEPTION WHEN unique_violation THEN
        PERFORM fail('orgs.slug_taken');
    END;
    PERFORM audit('orgs.update', 'org', old_state.id::text, old_state.id, org_state(old_state), org_state(new_state));
    RETURN org_json(new_state, own_role);
END
$$;

-- GET …/members, newest memberships first. before: the user_id of the last member that a client saw, or, as a link has
-- it, the membership's id, which still tells the place when the member has left meanwhile.
CREATE OR REPLACE FUNCTION member_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    place uuid := coalesce((SELECT m.id FROM org_members m WHERE m.org_id = current_org() AND m.user_id = before),
                           before);
BEGIN
    RETURN QUERY SELECT m.id, member_json(m, u) FROM org_members m JOIN users u ON u.id = m.user_id
    WHERE m.org_id = current_org() AND u.status <> 'deleted' AND (place IS NULL OR m.id < place)
    ORDER BY m.id DESC LIMIT page_limit;
END
$$;

-- The member, or its 404; the 403 of who is no owner but means one.
CREATE OR REPLACE FUNCTION member_of_org(of_user uuid, own_role text) RETURNS org_members
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    m org_members;
BEGIN
    SELECT q.* INTO m FROM org_members q JOIN users u ON u.id = q.user_id AND u.status <> 'deleted'
    WHERE q.org_id = current_org() AND q.user_id = of_user;
    IF m.user_id IS NULL THEN
        PERFORM fail('members.not_found', 'user_not_in_org', jsonb_build_object('org_id', current_org()));
    ELSIF m.role = 'owner' AND own_role <> 'owner' THEN
        PERFORM only_owners();
    END IF;
    RETURN m;
END
$$;

-- For dispatch: the 403 and 404 of the path's member come before a fault of the body.
CREATE OR REPLACE FUNCTION member_check(of_user uuid) RETURNS void
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT member_of_org(of_user, (SELECT role FROM org_members
                               WHERE org_id = current_org() AND user_id = current_user_id()))
$$;

-- PATCH …/members/{user_id}.
CREATE OR REPLACE FUNCTION member_update(of_user uuid, new_role text) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own_role text := org_hold('org.members.manage');
    old_state org_members := member_of_org(of_user, own_role);
    new_state org_members;
    u users;
BEGIN
    IF new_role = 'owner' AND own_role <> 'owner' THEN
        PERFORM only_owners();
    ELSIF old_state.role = 'owner' AND new_role <> 'owner' THEN
        PERFORM org_spare_owner(old_state.org_id, of_user);
    END IF;
    UPDATE org_members SET role = new_role WHERE org_id = old_state.org_id AND user_id = of_user
        RETURNING * INTO new_state;
    SELECT * INTO STRICT u FROM users WHERE id = of_user;
    PERFORM audit('orgs.member_role', 'member', of_user::text, old_state.org_id, jsonb_build_object('role',
        old_state.role),
                  jsonb_build_object('role', new_role));
    RETURN member_json(new_state, u);
END
$$;

-- Cleans up after a membership that ended: its keys and the member's runs in the organization. Connections end by the
-- trigger mcp_member_left().
CREATE OR REPLACE FUNCTION membership_ended(gone org_members, why text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM ending_begin('api_keys', gone.user_id, gone.org_id,
                         what => jsonb_build_object('membership_id', gone.id));
    PERFORM user_stop_runs(gone.user_id, gone.org_id, why);
END
$$;

-- DELETE …/members/{user_id}: of somebody else by users who may manage members, of oneself by anybody. The member's
-- keys end for good, also if the user comes back. The member's runs there are cancelled, and notified as above.
CREATE OR REPLACE FUNCTION member_remove(of_user uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    permission text := CASE WHEN of_user <> current_user_id() THEN 'org.members.manage' END;
    own_role text;
    old_state org_members;
    dead_keys bigint;
BEGIN
    -- Users are held before organizations, but nobody whom the caller could not remove anyway.
    IF permission IS NULL OR has_permission(permission) THEN
        PERFORM member_check(of_user);
        PERFORM user_hold_alone(of_user);
    END IF;
    own_role := org_hold(permission);
    old_state := member_of_org(of_user, own_role);
    IF old_state.role = 'owner' THEN
        PERFORM org_spare_owner(old_state.org_id, of_user);
    END IF;
    dead_keys := api_keys_living_count(of_user, old_state.org_id, '-infinity');
    DELETE FROM org_members WHERE org_id = old_state.org_id AND user_id = of_user;
    PERFORM membership_ended(old_state, 'member_removed');
    PERFORM audit('orgs.member_removed', 'member', of_user::text, old_state.org_id, jsonb_build_object('role',
        old_state.role),
                  jsonb_build_object('api_keys_revoked', dead_keys));
END
$$;
REVOKE EXECUTE ON FUNCTION org_hold, org_spare_owner, member_of_org, membership_ended FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION org_create, org_page, org_show, org_update, member_page, member_check, member_update,
    member_remove
    FROM hostler_runner;
