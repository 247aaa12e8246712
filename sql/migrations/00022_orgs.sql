-- Why: organizations, their members and invitations. Locks: none, the table is new.
--
-- The organization that a path names is the tenant by the time these functions run (authenticate). Whoever changes
-- members locks the organization's row first: of two owners who demote each other at once, one comes second.

CREATE TABLE org_invitations (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    email text NOT NULL,
    role text NOT NULL CHECK (role IN ('member', 'admin')),
    invited_by_user_id uuid NOT NULL REFERENCES users,
    token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    expires_at timestamptz NOT NULL DEFAULT clock_timestamp() + interval '7 days',
    accepted_at timestamptz,
    revoked_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (accepted_at IS NULL OR revoked_at IS NULL)
);
CREATE INDEX org_invitations_open ON org_invitations (org_id, id) WHERE accepted_at IS NULL AND revoked_at IS NULL;
CREATE INDEX org_invitations_inviter ON org_invitations (invited_by_user_id);
ALTER TABLE org_invitations ENABLE ROW LEVEL SECURITY;
ALTER TABLE org_invitations FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON org_invitations USING (org_id = current_org()) WITH CHECK (org_id = current_org());

CREATE FUNCTION org_json(o orgs, role text) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', o.id, 'slug', o.slug, 'name', o.name, 'type', o.type, 'role', role,
        'created_at', rfc3339(o.created_at))
$$;

-- An organization as the audit log keeps it.
CREATE FUNCTION org_state(o orgs) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_build_object('slug', o.slug, 'name', o.name, 'type', o.type)
$$;

CREATE FUNCTION member_json(m org_members, u users) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('user_id', m.user_id, 'login', u.login, 'username', u.username, 'email', u.email,
        'role', m.role, 'created_at', rfc3339(m.created_at))
$$;

CREATE FUNCTION invitation_json(i org_invitations) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', i.id, 'org_id', i.org_id, 'email', i.email, 'role', i.role,
        'invited_by_user_id', i.invited_by_user_id, 'expires_at', rfc3339(i.expires_at),
        'created_at', rfc3339(i.created_at))
$$;

-- Locks the organization until the end of the transaction, then asks anew what the caller may: the role may have
-- changed while the lock was waited for. need: a permission, or null. Answers the caller's role.
CREATE FUNCTION org_hold(need text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own_role text;
BEGIN
    PERFORM 1 FROM orgs WHERE id = current_org() FOR NO KEY UPDATE;
    SELECT role INTO own_role FROM org_members WHERE org_id = current_org() AND user_id = current_user_id();
    IF own_role IS NULL THEN
        PERFORM fail('orgs.not_found', 'You belong to no organization with this id.');
    ELSIF need IS NOT NULL AND NOT need = ANY (role_permissions(own_role)) THEN
        PERFORM fail('auth.forbidden', format('This needs the permission %s.', need),
                     jsonb_build_object('permission', need));
    END IF;
    RETURN own_role;
END
$$;

-- Raises orgs.last_owner when the organization, whose row is locked, has no other owner than this one.
CREATE FUNCTION org_spare_owner(org uuid, who uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM org_members WHERE org_id = org AND role = 'owner' AND user_id <> who) THEN
        PERFORM fail('orgs.last_owner', 'Make somebody else an owner first.');
    END IF;
END
$$;

CREATE FUNCTION only_owners() RETURNS void
LANGUAGE sql AS $$
    SELECT fail('auth.forbidden', 'Only owners make, change or remove owners.', '{"permission": "org.manage"}')
$$;

-- POST /v1/orgs. grant_credits: what a new workspace gets.
CREATE FUNCTION org_create(new_slug text, new_name text, grant_credits bigint) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    made orgs;
BEGIN
    INSERT INTO orgs (slug, name, type) VALUES (new_slug, new_name, 'workspace')
    ON CONFLICT (slug) DO NOTHING RETURNING * INTO made;
    IF made.id IS NULL THEN
        PERFORM fail('orgs.slug_taken');
    END IF;
    INSERT INTO org_members (org_id, user_id, role) VALUES (made.id, current_user_id(), 'owner');
    INSERT INTO credit_accounts (org_id) VALUES (made.id);
    IF grant_credits > 0 THEN
        PERFORM credit_post(made.id, grant_credits, 'initial_grant', 'org', made.id::text);
    END IF;
    PERFORM audit('orgs.create', 'org', made.id::text, made.id, NULL, org_state(made));
    RETURN org_json(made, 'owner');
END
$$;

-- GET /v1/orgs: those the caller belongs to.
CREATE FUNCTION org_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN QUERY SELECT o.id, org_json(o, m.role) FROM org_members m JOIN orgs o ON o.id = m.org_id
    WHERE m.user_id = current_user_id() AND (before IS NULL OR m.org_id < before)
    ORDER BY m.org_id DESC LIMIT page_limit;
END
$$;

CREATE FUNCTION org_show() RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN (SELECT org_json(o, m.role) FROM orgs o
        JOIN org_members m ON m.org_id = o.id AND m.user_id = current_user_id()
    WHERE o.id = current_org());
END
$$;

-- PATCH /v1/orgs/{org_id}: changes holds only what is to change.
CREATE FUNCTION org_update(changes jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own_role text := org_hold('org.manage');
    was orgs;
    now_is orgs;
BEGIN
    SELECT * INTO STRICT was FROM orgs WHERE id = current_org();
    IF was.type = 'personal' AND changes ->> 'slug' <> was.slug THEN
        PERFORM fail('orgs.personal', 'The slug of a personal organization is its id.');
    END IF;
    BEGIN
        UPDATE orgs SET slug = coalesce(changes ->> 'slug', slug), name = coalesce(changes ->> 'name', name)
        WHERE id = was.id RETURNING * INTO now_is;
    EXCEPTION WHEN unique_violation THEN
        PERFORM fail('orgs.slug_taken');
    END;
    PERFORM audit('orgs.update', 'org', was.id::text, was.id, org_state(was), org_state(now_is));
    RETURN org_json(now_is, own_role);
END
$$;

-- The cursor of a page of members is the user's id; users who came last stand first.
CREATE FUNCTION member_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN QUERY SELECT m.user_id, member_json(m, u) FROM org_members m JOIN users u ON u.id = m.user_id
    WHERE m.org_id = current_org() AND (before IS NULL OR m.user_id < before)
    ORDER BY m.user_id DESC LIMIT page_limit;
END
$$;

-- The member, or its 404; the 403 of who is no owner but means one.
CREATE FUNCTION member_of_org(who uuid, own_role text) RETURNS org_members
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    m org_members;
BEGIN
    SELECT * INTO m FROM org_members WHERE org_id = current_org() AND user_id = who;
    IF m.user_id IS NULL THEN
        PERFORM fail('members.not_found', format('GET /v1/orgs/%s/members lists the members.', current_org()));
    ELSIF m.role = 'owner' AND own_role <> 'owner' THEN
        PERFORM only_owners();
    END IF;
    RETURN m;
END
$$;

-- For dispatch: the 403 and 404 of the path's member come before a fault of the body.
CREATE FUNCTION member_check(who uuid) RETURNS void
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT member_of_org(who, (SELECT role FROM org_members
                               WHERE org_id = current_org() AND user_id = current_user_id()))
$$;

-- PATCH …/members/{user_id}.
CREATE FUNCTION member_update(who uuid, new_role text) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own_role text := org_hold('org.members.manage');
    was org_members := member_of_org(who, own_role);
    now_is org_members;
    u users;
BEGIN
    IF new_role = 'owner' AND own_role <> 'owner' THEN
        PERFORM only_owners();
    ELSIF was.role = 'owner' AND new_role <> 'owner' THEN
        PERFORM org_spare_owner(was.org_id, who);
    END IF;
    UPDATE org_members SET role = new_role WHERE org_id = was.org_id AND user_id = who RETURNING * INTO now_is;
    SELECT * INTO STRICT u FROM users WHERE id = who;
    PERFORM audit('orgs.member_role', 'member', who::text, was.org_id, jsonb_build_object('role', was.role),
                  jsonb_build_object('role', new_role));
    RETURN member_json(now_is, u);
END
$$;

-- DELETE …/members/{user_id}: of somebody else by who may manage members, of oneself by anybody. The member's keys
-- are dead for good, also when the user comes back.
CREATE FUNCTION member_remove(who uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own_role text := org_hold(CASE WHEN who <> current_user_id() THEN 'org.members.manage' END);
    was org_members := member_of_org(who, own_role);
    dead_keys bigint;
BEGIN
    IF was.role = 'owner' THEN
        PERFORM org_spare_owner(was.org_id, who);
    END IF;
    DELETE FROM org_members WHERE org_id = was.org_id AND user_id = who;
    UPDATE api_keys SET revoked_at = clock_timestamp()
    WHERE org_id = was.org_id AND user_id = who AND revoked_at IS NULL;
    GET DIAGNOSTICS dead_keys = ROW_COUNT;
    PERFORM audit('orgs.member_removed', 'member', who::text, was.org_id, jsonb_build_object('role', was.role),
                  jsonb_build_object('api_keys_revoked', dead_keys));
END
$$;

-- POST …/invitations. secret: {"token"} sealed for the mail (mail_queue).
CREATE FUNCTION invitation_create(new_email text, new_role text, new_hash bytea, secret jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own_role text := org_hold('org.members.manage');
    place orgs;
    inviter users;
    invitee users;
    made org_invitations;
BEGIN
    SELECT * INTO STRICT place FROM orgs WHERE id = current_org();
    IF place.type = 'personal' THEN
        PERFORM fail('orgs.personal', 'POST /v1/orgs makes a workspace, which takes members.');
    END IF;
    SELECT * INTO STRICT inviter FROM users WHERE id = current_user_id();
    SELECT * INTO invitee FROM users u WHERE name_key(u.email) = name_key(new_email) AND u.status <> 'deleted';
    IF EXISTS (SELECT 1 FROM org_members WHERE org_id = place.id AND user_id = invitee.id) THEN
        PERFORM fail('invitations.already_member');
    END IF;
    INSERT INTO org_invitations (org_id, email, role, invited_by_user_id, token_hash)
    VALUES (place.id, new_email, new_role, inviter.id, new_hash) RETURNING * INTO made;
    PERFORM mail_queue('invitation', new_email, coalesce(invitee.locale, inviter.locale), jsonb_build_object(
        'org_name', place.name, 'inviter', inviter.username, 'role', new_role,
        'expires_at', rfc3339(made.expires_at)), secret);
    PERFORM audit('invitations.create', 'invitation', made.id::text, place.id, NULL, invitation_json(made)::jsonb);
    RETURN invitation_json(made);
END
$$;

-- GET …/invitations: those that nobody accepted or revoked; expires_at tells whether one still serves.
CREATE FUNCTION invitation_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN QUERY SELECT i.id, invitation_json(i) FROM org_invitations i
    WHERE i.org_id = current_org() AND i.accepted_at IS NULL AND i.revoked_at IS NULL
          AND (before IS NULL OR i.id < before)
    ORDER BY i.id DESC LIMIT page_limit;
END
$$;

CREATE FUNCTION invitation_revoke(invitation uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    was org_invitations;
BEGIN
    UPDATE org_invitations SET revoked_at = clock_timestamp()
    WHERE id = invitation AND org_id = current_org() AND accepted_at IS NULL AND revoked_at IS NULL
    RETURNING * INTO was;
    IF was.id IS NULL THEN
        PERFORM fail('invitations.not_found');
    END IF;
    PERFORM audit('invitations.revoke', 'invitation', was.id::text, was.org_id, invitation_json(was)::jsonb);
END
$$;

-- POST /v1/org-invitations/{token}/accept: by the user whose verified mail address it was sent to.
CREATE FUNCTION invitation_accept(given_hash bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    i org_invitations;
    me users;
BEGIN
    SELECT * INTO i FROM org_invitations WHERE token_hash = given_hash FOR UPDATE;
    IF i.id IS NULL OR i.revoked_at IS NOT NULL THEN
        PERFORM fail('invitations.not_found');
    END IF;
    SELECT * INTO STRICT me FROM users WHERE id = current_user_id();
    IF name_key(me.email) <> name_key(i.email) THEN
        PERFORM fail('invitations.email_mismatch', 'Log in as the user who has that address.');
    ELSIF me.email_verified_at IS NULL THEN
        PERFORM fail('invitations.email_mismatch', 'Verify your address first: POST /v1/auth/email/verify/send.');
    ELSIF i.accepted_at IS NOT NULL THEN
        PERFORM fail('invitations.already_accepted');
    ELSIF i.expires_at <= clock_timestamp() THEN
        PERFORM fail('invitations.expired', 'Ask for another one.');
    END IF;
    INSERT INTO org_members (org_id, user_id, role) VALUES (i.org_id, me.id, i.role) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        PERFORM fail('invitations.already_member');
    END IF;
    UPDATE org_invitations SET accepted_at = clock_timestamp() WHERE id = i.id;
    PERFORM audit('invitations.accept', 'invitation', i.id::text, i.org_id, NULL,
                  jsonb_build_object('user_id', me.id, 'role', i.role));
END
$$;

REVOKE EXECUTE ON FUNCTION org_hold, org_spare_owner, member_of_org FROM hostler_api;
REVOKE EXECUTE ON FUNCTION org_hold, org_spare_owner, member_of_org, org_create, org_page, org_show, org_update,
    member_page, member_check, member_update, member_remove, invitation_create, invitation_page, invitation_revoke,
    invitation_accept FROM hostler_runner;
