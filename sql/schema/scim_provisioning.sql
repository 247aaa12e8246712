-- Changes of an organization's members by SCIM: it makes accounts in the organization's own domains, invites everybody
-- else, and ends memberships. It changes no login, address or password of an account.
--
-- Each write holds the user, if there is one, then locks the organization's row, as every change of members does.
--
-- `wanted` is a whole user as the service wrote it: {user_name, external_id, display_name, active (null: as it was),
-- attributes, email, email_key, email_keys}; email is null when it wrote no address. `facts`: of the account that would
-- be made (sso_logins.sql). `mail`: of an invitation, as invitation_create() takes it. `settings`: values by the names
-- of settings, and registration, as invitation_create() takes it.

CREATE OR REPLACE FUNCTION scim_hold(of_user uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF of_user IS NOT NULL THEN
        PERFORM user_hold_alone(of_user);
        PERFORM FROM users u WHERE u.id = of_user FOR NO KEY UPDATE;
    END IF;
    PERFORM FROM orgs o WHERE o.id = scim_org() FOR NO KEY UPDATE;
END
$$;

-- The user of the id, held. Raises scim.not_found.
CREATE OR REPLACE FUNCTION scim_user_hold(scim_id uuid) RETURNS scim_users
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r scim_users := scim_user_find(scim_id);
    of_user uuid := r.user_id;
BEGIN
    PERFORM scim_hold(of_user);
    r := scim_user_find(scim_id);
    IF r.id IS NULL THEN
        PERFORM fail('scim.not_found');
    ELSIF r.user_id IS DISTINCT FROM of_user THEN
        PERFORM scim_hold(r.user_id);  -- somebody accepted meanwhile
    END IF;
    RETURN r;
END
$$;

-- Stores the row of a member that has none. For one that is stored, nothing happens.
CREATE OR REPLACE FUNCTION scim_user_adopt(r scim_users) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    INSERT INTO scim_users SELECT r.* ON CONFLICT (org_id, id) DO NOTHING
$$;

-- Refuses names and addresses that another user of the organization has. The organization's row is locked.
CREATE OR REPLACE FUNCTION scim_user_single(scim_id uuid, wanted jsonb, is_waiting boolean) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid := scim_org();
    owner_id uuid := (SELECT u.id FROM users u
                      WHERE is_waiting AND u.email_key = wanted ->> 'email_key' AND u.status <> 'deleted');
BEGIN
    IF EXISTS (SELECT FROM scim_users s WHERE s.org_id = org AND s.id <> scim_id
               AND s.user_name_key = name_key(wanted ->> 'user_name'))
       OR EXISTS (SELECT FROM scim_users s WHERE is_waiting AND s.org_id = org AND s.id <> scim_id
                  AND s.user_id IS NULL AND s.email_key = wanted ->> 'email_key')
       OR EXISTS (SELECT FROM scim_users s WHERE s.org_id = org AND s.id <> scim_id AND s.user_id = owner_id) THEN
        PERFORM fail('scim.exists', 'user_exists');
    END IF;
END
$$;

-- Refuses more rows than twice limit.members, of which half may be people who are no members any more.
CREATE OR REPLACE FUNCTION scim_users_check(org uuid, settings jsonb) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    allowed bigint := 2 * entitlement_integer(org, 'limit.members', (settings ->> 'limit.members')::bigint);
BEGIN
    IF allowed > 0 AND EXISTS (SELECT FROM scim_users s WHERE s.org_id = org OFFSET allowed - 1) THEN
        PERFORM fail('limits.reached', 'scim_users_are_enough', jsonb_build_object('limit', allowed));
    END IF;
END
$$;

-- A membership begins, or begins again. The trigger scim_member_joined() notes it in the row.
CREATE OR REPLACE FUNCTION scim_member_begin(org uuid, of_user uuid, settings jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM members_check(org, (settings ->> 'limit.members')::bigint);
    INSERT INTO org_members (org_id, user_id, role) VALUES (org, of_user, 'member') ON CONFLICT DO NOTHING;
    IF EXISTS (SELECT FROM users u
               WHERE u.id = of_user AND u.status = 'suspended' AND u.suspended_by_org_id = org) THEN
        PERFORM user_set_status(of_user, 'active');
    END IF;
END
$$;

-- Invites the person of a row, unless an invitation to the address is open. Nothing of it tells whether the address has
-- an account. has_domain: whether its domain is the organization's own; then only the address's own limit counts.
CREATE OR REPLACE FUNCTION scim_invite(r scim_users, has_domain boolean, mail jsonb, settings jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org_row orgs;
    created org_invitations;
BEGIN
    SELECT * INTO STRICT org_row FROM orgs o WHERE o.id = r.org_id;
    UPDATE org_invitations i SET ended_at = clock_timestamp()
    WHERE i.org_id = r.org_id AND i.email_key = r.email_key AND i.accepted_at IS NULL AND i.revoked_at IS NULL
          AND i.ended_at IS NULL AND NOT invitation_serves(i);
    IF EXISTS (SELECT FROM org_invitations i
               WHERE i.org_id = r.org_id AND i.email_key = r.email_key AND i.accepted_at IS NULL
                     AND i.revoked_at IS NULL AND i.ended_at IS NULL) THEN
        RETURN;
    END IF;
    PERFORM invitation_count(r.org_id, r.email_key,
        CASE WHEN has_domain THEN 0 ELSE (settings ->> 'limit.invitations_per_inviter_day')::integer END,
        (settings ->> 'limit.invitations_per_recipient_day')::integer);
    -- Nobody sees the first token: only the mail leads to the invitation.
    INSERT INTO org_invitations (org_id, email, email_key, role, scim_user_id, token_hash, mail_token_hash, expires_at)
    VALUES (r.org_id, r.email, r.email_key, 'member', r.id, sha256(convert_to(gen_random_uuid()::text, 'UTF8')),
            decode(mail ->> 'token_hash', 'hex'),
            clock_timestamp() + make_interval(secs => (settings ->> 'invite.member_seconds')::double precision))
    RETURNING * INTO created;
    PERFORM mail_queue('invitation', r.email, coalesce((
            SELECT u.locale FROM users u WHERE u.email_key = r.email_key AND u.status <> 'deleted'), 'en'),
        jsonb_build_object('org_name', org_row.name, 'inviter', org_row.name, 'role', 'member',
            'expires_at', rfc3339(created.expires_at),
            'needs_code', CASE settings ->> 'registration' WHEN 'code' THEN 'yes' ELSE '' END,
            'is_closed', CASE settings ->> 'registration' WHEN 'closed' THEN 'yes' ELSE '' END),
        mail -> 'secret', r.email_key, created.id, created.expires_at);
END
$$;

-- Leads the person of a row into the organization: at once where the account is the organization's own, else by an
-- invitation.
CREATE OR REPLACE FUNCTION scim_user_bring(r scim_users, facts jsonb, mail jsonb, settings jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    u users;
    has_domain boolean;
    made uuid;
BEGIN
    SELECT * INTO u FROM users q
    WHERE q.status <> 'deleted'
          AND (q.id = r.user_id OR (r.user_id IS NULL AND q.email_key = r.email_key));
    PERFORM FROM org_domains g
    WHERE g.org_id = r.org_id AND g.domain = substring(r.email_key FROM '[^@]*$') FOR SHARE;
    has_domain := FOUND;
    IF EXISTS (SELECT FROM org_members m WHERE m.org_id = r.org_id AND m.user_id = u.id) THEN
        UPDATE scim_users s SET user_id = u.id WHERE s.org_id = r.org_id AND s.id = r.id;
    ELSIF u.id IS NULL AND has_domain THEN
        -- The organization makes it as its provider would.
        made := sso_user_create(jsonb_populate_record(NULL::identity_providers,
            jsonb_build_object('org_id', r.org_id, 'key', 'scim')), facts, settings);
        IF made IS NULL THEN
            PERFORM scim_invite(r, has_domain, mail, settings);
        ELSE
            PERFORM scim_member_begin(r.org_id, made, settings);
        END IF;
    ELSIF has_domain AND u.made_by_org_id = r.org_id AND u.email_verified_at IS NOT NULL THEN
        PERFORM scim_member_begin(r.org_id, u.id, settings);
    ELSIF u.id = r.user_id AND NOT r.has_left THEN
        PERFORM scim_member_begin(r.org_id, u.id, settings);
    ELSE
        PERFORM scim_invite(r, has_domain, mail, settings);
    END IF;
END
$$;

-- Ends the membership of a row, or its invitation. An account that the organization made, and that belongs to no other
-- workspace, is suspended. Platform administrators and the last owner stay.
CREATE OR REPLACE FUNCTION scim_user_leave(r scim_users) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    u users;
    m org_members;
BEGIN
    UPDATE org_invitations i SET revoked_at = clock_timestamp()
    WHERE i.org_id = r.org_id AND i.email_key = r.email_key AND i.scim_user_id IS NOT NULL AND i.accepted_at IS NULL
          AND i.revoked_at IS NULL AND i.ended_at IS NULL;
    SELECT * INTO u FROM users q WHERE q.id = r.user_id;
    SELECT * INTO m FROM org_members q WHERE q.org_id = r.org_id AND q.user_id = r.user_id;
    IF m.id IS NOT NULL THEN
        IF u.platform_admin THEN
            PERFORM fail('scim.protected');
        ELSIF m.role = 'owner' THEN
            PERFORM org_spare_owner(r.org_id, u.id);
        END IF;
        DELETE FROM org_members q WHERE q.org_id = r.org_id AND q.user_id = u.id;
        PERFORM membership_ended(m, 'member_removed');
        IF u.made_by_org_id = r.org_id AND u.status = 'active' AND NOT EXISTS (
            SELECT FROM org_members q JOIN orgs o ON o.id = q.org_id
            WHERE q.user_id = u.id AND o.type = 'workspace') THEN
            PERFORM user_set_status(u.id, 'suspended');
            UPDATE users q SET suspended_by_org_id = r.org_id WHERE q.id = u.id;
        END IF;
    END IF;
    UPDATE scim_users s SET is_active = false, updated_at = clock_timestamp()
    WHERE s.org_id = r.org_id AND s.id = r.id;
END
$$;

-- A user as the audit log keeps it: without what the service wrote, which goes with the person.
CREATE OR REPLACE FUNCTION scim_user_state(r scim_users) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('user_id', r.user_id, 'active', r.is_active, 'scim_token_id',
                              current_request() ->> 'scim_token_id')
$$;

-- POST /v1/scim/v2/Users. A member's address adopts the membership.
CREATE OR REPLACE FUNCTION scim_user_create(wanted jsonb, facts jsonb, mail jsonb, settings jsonb, site text)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid := scim_org();
    is_wanted boolean := coalesce((wanted ->> 'active')::boolean, true);
    member_id uuid;
    r scim_users;
BEGIN
    PERFORM scim_hold((SELECT u.id FROM users u WHERE u.email_key = wanted ->> 'email_key' AND u.status <> 'deleted'));
    PERFORM scim_user_single('00000000-0000-0000-0000-000000000000', wanted, true);
    PERFORM scim_users_check(org, settings);
    SELECT m.user_id INTO member_id FROM users u JOIN org_members m ON m.org_id = org AND m.user_id = u.id
    WHERE u.email_key = wanted ->> 'email_key' AND u.status <> 'deleted';
    INSERT INTO scim_users (org_id, id, user_id, user_name, user_name_key, external_id, display_name, display_key,
        email, email_key, email_keys, attributes, is_active)
    VALUES (org, coalesce(member_id, public.uuidv7()), member_id, wanted ->> 'user_name',
        name_key(wanted ->> 'user_name'), wanted ->> 'external_id', wanted ->> 'display_name',
        name_key(wanted ->> 'display_name'), wanted ->> 'email', wanted ->> 'email_key',
        ARRAY(SELECT jsonb_array_elements_text(wanted -> 'email_keys')), wanted -> 'attributes', is_wanted)
    RETURNING * INTO r;
    IF member_id IS NOT NULL AND NOT is_wanted THEN
        PERFORM scim_user_leave(r);
    ELSIF member_id IS NULL AND is_wanted THEN
        PERFORM scim_user_bring(r, facts, mail, settings);
    END IF;
    SELECT * INTO STRICT r FROM scim_users s WHERE s.org_id = org AND s.id = r.id;
    PERFORM audit('scim.user_created', 'scim_user', r.id::text, org, NULL, scim_user_state(r));
    RETURN scim_user_json(r, site);
END
$$;

-- The begin of a PATCH: the user as a document, held until the new state is written in the same transaction.
CREATE OR REPLACE FUNCTION scim_user_open(scim_id uuid) RETURNS jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT scim_user_document(scim_user_hold(scim_id))
$$;

-- PUT /v1/scim/v2/Users/{resource_id}, and the end of a PATCH: the user becomes what is wanted. While nobody accepted,
-- another address is invited in place of the old one.
CREATE OR REPLACE FUNCTION scim_user_put(scim_id uuid, wanted jsonb, facts jsonb, mail jsonb, settings jsonb, site text)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid := scim_org();
    r scim_users := scim_user_hold(scim_id);
    old_state jsonb := scim_user_state(r);
    was_active boolean := r.is_active;
    is_wanted boolean := coalesce((wanted ->> 'active')::boolean, r.is_active);
    is_moved boolean := r.user_id IS NULL AND wanted ->> 'email_key' <> r.email_key;
BEGIN
    PERFORM scim_user_single(r.id, wanted, r.user_id IS NULL);
    PERFORM scim_user_adopt(r);
    IF is_moved OR (was_active AND NOT is_wanted) THEN
        PERFORM scim_user_leave(r);
    END IF;
    UPDATE scim_users s SET user_name = wanted ->> 'user_name', user_name_key = name_key(wanted ->> 'user_name'),
        external_id = wanted ->> 'external_id', display_name = wanted ->> 'display_name',
        display_key = name_key(wanted ->> 'display_name'), attributes = wanted -> 'attributes',
        email_keys = ARRAY(SELECT jsonb_array_elements_text(wanted -> 'email_keys')),
        email = CASE WHEN is_moved THEN wanted ->> 'email' ELSE s.email END,
        email_key = CASE WHEN is_moved THEN wanted ->> 'email_key' ELSE s.email_key END,
        is_active = is_wanted, updated_at = clock_timestamp()
    WHERE s.org_id = org AND s.id = r.id RETURNING * INTO r;
    IF is_wanted AND NOT EXISTS (SELECT FROM org_members m WHERE m.org_id = org AND m.user_id = r.user_id) THEN
        PERFORM scim_user_bring(r, facts, mail, settings);
    END IF;
    SELECT * INTO STRICT r FROM scim_users s WHERE s.org_id = org AND s.id = r.id;
    PERFORM audit(CASE WHEN was_active AND NOT r.is_active THEN 'scim.user_ended' ELSE 'scim.user_updated' END,
                  'scim_user', r.id::text, org, old_state, scim_user_state(r));
    RETURN scim_user_json(r, site);
END
$$;

-- DELETE /v1/scim/v2/Users/{resource_id}: the membership ends, and what the service wrote goes.
CREATE OR REPLACE FUNCTION scim_user_delete(scim_id uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r scim_users := scim_user_hold(scim_id);
BEGIN
    PERFORM scim_user_leave(r);
    DELETE FROM scim_users s WHERE s.org_id = r.org_id AND s.id = r.id;
    PERFORM audit('scim.user_ended', 'scim_user', r.id::text, r.org_id, scim_user_state(r));
END
$$;

-- Somebody became a member, in whatever way: the row that waits for their proved address is theirs, and they have the
-- role of its groups.
CREATE OR REPLACE FUNCTION scim_member_joined() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    address text := (SELECT u.email_key FROM users u WHERE u.id = NEW.user_id AND u.email_verified_at IS NOT NULL);
    given_role text;
BEGIN
    UPDATE scim_users s SET user_id = NEW.user_id, is_active = true, has_left = false, updated_at = clock_timestamp()
    WHERE s.org_id = NEW.org_id AND s.id = (
        SELECT q.id FROM scim_users q
        WHERE q.org_id = NEW.org_id AND (q.user_id = NEW.user_id OR (q.user_id IS NULL AND q.email_key = address))
        ORDER BY q.user_id LIMIT 1)
    RETURNING s.group_role INTO given_role;
    IF given_role = 'admin' AND NEW.role = 'member' THEN
        UPDATE org_members m SET role = given_role WHERE m.org_id = NEW.org_id AND m.user_id = NEW.user_id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER scim_member_joined AFTER INSERT ON org_members FOR EACH ROW WHEN (NEW.role <> 'owner')
    EXECUTE FUNCTION scim_member_joined();

-- A membership ended, in whatever way. Who left by themself comes back by an invitation only.
CREATE OR REPLACE FUNCTION scim_member_gone() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE scim_users s SET is_active = false, has_left = coalesce(current_user_id() = OLD.user_id, false),
        updated_at = clock_timestamp()
    WHERE s.org_id = OLD.org_id AND s.user_id = OLD.user_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER scim_member_gone AFTER DELETE ON org_members FOR EACH ROW EXECUTE FUNCTION scim_member_gone();

-- Whether SCIM keeps somebody out of an organization: it says that they are inactive.
CREATE OR REPLACE FUNCTION scim_keeps_out(org uuid, of_user uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (SELECT FROM scim_users s WHERE s.org_id = org AND s.user_id = of_user AND NOT s.is_active)
        OR EXISTS (SELECT FROM scim_users s JOIN users u ON u.id = of_user AND u.email_key = s.email_key
                   WHERE s.org_id = org AND s.user_id IS NULL AND NOT s.is_active)
$$;

-- Whether SCIM made the account for an organization, whose provider then needs no other proof of who it is.
CREATE OR REPLACE FUNCTION scim_made(org uuid, u users) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT coalesce(u.made_by_org_id = org, false) AND NOT u.platform_admin
        AND EXISTS (SELECT FROM scim_users s WHERE s.org_id = org AND s.user_id = u.id)
$$;
REVOKE EXECUTE ON FUNCTION scim_hold, scim_user_hold, scim_user_adopt, scim_user_single, scim_users_check,
    scim_member_begin, scim_invite, scim_user_bring, scim_user_leave, scim_user_state, scim_member_joined,
    scim_member_gone, scim_keeps_out, scim_made FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION scim_user_create, scim_user_open, scim_user_put, scim_user_delete FROM hostler_runner;
