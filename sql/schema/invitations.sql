-- Invitations into organizations: one open one an address, which ends with its inviter's right to invite.

CREATE TABLE org_invitations (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    email text NOT NULL,
    email_key text COLLATE "C" NOT NULL,
    role text NOT NULL CHECK (role IN ('member', 'admin')),
    invited_by_user_id uuid REFERENCES users,  -- null: SCIM invited
    scim_user_id uuid,  -- for whom it did (scim_users.id)
    token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),  -- of the token that the inviter saw
    -- Hash of the token that only the mail carries. Its holder reads the mail of the address.
    mail_token_hash bytea UNIQUE CHECK (length(mail_token_hash) = 32),
    expires_at timestamptz NOT NULL DEFAULT clock_timestamp() + interval '7 days',
    accepted_at timestamptz,
    revoked_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,  -- its inviter lost the right, or it was over when its address was invited again
    CHECK ((invited_by_user_id IS NULL) <> (scim_user_id IS NULL)),
    CHECK (accepted_at IS NULL OR revoked_at IS NULL),
    CHECK (num_nonnulls(accepted_at, revoked_at, ended_at) <= 1)
);
CREATE INDEX org_invitations_org ON org_invitations (org_id, id);
CREATE INDEX org_invitations_inviter ON org_invitations (invited_by_user_id);
CREATE INDEX org_invitations_open_of ON org_invitations (invited_by_user_id, id)
    WHERE accepted_at IS NULL AND revoked_at IS NULL AND ended_at IS NULL;
CREATE INDEX org_invitations_open ON org_invitations (org_id, id)
    WHERE accepted_at IS NULL AND revoked_at IS NULL AND ended_at IS NULL;
CREATE UNIQUE INDEX org_invitations_one_an_address ON org_invitations (org_id, email_key)
    WHERE accepted_at IS NULL AND revoked_at IS NULL AND ended_at IS NULL;
CREATE INDEX org_invitations_email ON org_invitations (email_key);
SELECT make_tenant_table('org_invitations');

CREATE OR REPLACE FUNCTION invitation_json(i org_invitations) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', i.id, 'org_id', i.org_id, 'email', i.email, 'role', i.role,
        'invited_by_user_id', i.invited_by_user_id, 'expires_at', rfc3339(i.expires_at),
        'created_at', rfc3339(i.created_at))
$$;

-- POST …/invitations. mail: {token_hash (hex), secret: {"token"} sealed (mail_queue)}, a token of its own.
-- registration: how the invited may register: open, code (with an invitation code), closed.
CREATE OR REPLACE FUNCTION invitation_create(new_email text, new_email_key text, new_role text, new_hash bytea,
    mail jsonb, registration text, invite_member_seconds integer, limit_invitations_per_inviter_day integer,
    limit_invitations_per_recipient_day integer) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own_role text := org_hold('org.members.manage');
    org_row orgs;
    inviter users;
    invitee users;
    is_member boolean;
    is_open boolean;
    created org_invitations;
BEGIN
    SELECT * INTO STRICT org_row FROM orgs WHERE id = current_org();
    IF org_row.type = 'personal' THEN
        PERFORM fail('orgs.personal', 'takes_no_members');
    END IF;
    SELECT * INTO STRICT inviter FROM users WHERE id = current_user_id();
    SELECT * INTO invitee FROM users u WHERE u.email_key = new_email_key AND u.status <> 'deleted';
    UPDATE org_invitations i SET ended_at = clock_timestamp()
    WHERE i.org_id = org_row.id AND i.email_key = new_email_key AND i.accepted_at IS NULL
          AND i.revoked_at IS NULL AND i.ended_at IS NULL AND NOT invitation_serves(i);
    -- In one look: who accepts meanwhile is either still invited or a member.
    SELECT EXISTS (SELECT 1 FROM org_members WHERE org_id = org_row.id AND user_id = invitee.id),
           EXISTS (SELECT 1 FROM org_invitations i
                   WHERE i.org_id = org_row.id AND i.email_key = new_email_key AND i.accepted_at IS NULL
                         AND i.revoked_at IS NULL AND i.ended_at IS NULL)
    INTO is_member, is_open;
    IF is_member THEN
        PERFORM fail('invitations.already_member');
    ELSIF is_open THEN
        PERFORM fail('invitations.exists', 'invitation_is_open');
    END IF;
    PERFORM invitation_count(inviter.id, new_email_key, limit_invitations_per_inviter_day,
                             limit_invitations_per_recipient_day);
    INSERT INTO org_invitations (org_id, email, email_key, role, invited_by_user_id, token_hash, mail_token_hash,
        expires_at)
    VALUES (org_row.id, new_email, new_email_key, new_role, inviter.id, new_hash, decode(mail ->> 'token_hash', 'hex'),
            clock_timestamp() + make_interval(secs => invite_member_seconds)) RETURNING * INTO created;
    PERFORM mail_queue('invitation', new_email, coalesce(invitee.locale, inviter.locale), jsonb_build_object(
        'org_name', org_row.name, 'inviter', inviter.username, 'role', new_role,
        'expires_at', rfc3339(created.expires_at),
        'needs_code', CASE registration WHEN 'code' THEN 'yes' ELSE '' END,
        'is_closed', CASE registration WHEN 'closed' THEN 'yes' ELSE '' END), mail -> 'secret', new_email_key,
        created.id, created.expires_at);
    PERFORM audit('invitations.create', 'invitation', created.id::text, org_row.id, NULL,
                  invitation_json(created)::jsonb);
    RETURN invitation_json(created);
END
$$;

-- GET …/invitations: those that nobody accepted or revoked and whose inviter may still invite; expires_at tells
-- whether one still serves.
CREATE OR REPLACE FUNCTION invitation_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN QUERY SELECT i.id, invitation_json(i) FROM org_invitations i
    WHERE i.org_id = current_org() AND i.accepted_at IS NULL AND i.revoked_at IS NULL AND i.ended_at IS NULL
          AND (before IS NULL OR i.id < before)
          AND (i.scim_user_id IS NOT NULL OR inviter_may_invite(i.org_id, i.invited_by_user_id))
    ORDER BY i.id DESC LIMIT page_limit;
END
$$;

CREATE OR REPLACE FUNCTION invitation_revoke(invitation uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state org_invitations;
BEGIN
    UPDATE org_invitations SET revoked_at = clock_timestamp()
    WHERE id = invitation AND org_id = current_org() AND accepted_at IS NULL AND revoked_at IS NULL
          AND ended_at IS NULL
    RETURNING * INTO old_state;
    IF old_state.id IS NULL THEN
        PERFORM fail('invitations.not_found');
    END IF;
    PERFORM audit('invitations.revoke', 'invitation', old_state.id::text, old_state.org_id,
                  invitation_json(old_state)::jsonb);
END
$$;

-- POST /v1/org-invitations/{token}/accept: by the user whose verified mail address it was sent to. Like all changes of
-- members it locks the organization first, so a hand-over of a workspace to a remaining member sees the new one.
CREATE OR REPLACE FUNCTION invitation_accept(given_hash bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    i org_invitations;
    me users;
BEGIN
    SELECT * INTO i FROM org_invitations WHERE token_hash = given_hash OR mail_token_hash = given_hash;
    PERFORM 1 FROM orgs o WHERE o.id = i.org_id FOR NO KEY UPDATE;
    SELECT * INTO i FROM org_invitations WHERE id = i.id FOR UPDATE;
    IF i.id IS NULL OR i.revoked_at IS NOT NULL THEN
        PERFORM fail('invitations.not_found');
    END IF;
    SELECT * INTO STRICT me FROM users WHERE id = current_user_id();
    IF me.email_key <> i.email_key THEN
        PERFORM fail('invitations.email_mismatch', 'address_of_another');
    ELSIF me.email_verified_at IS NULL THEN
        PERFORM fail('invitations.email_mismatch', 'address_not_verified');
    ELSIF i.accepted_at IS NOT NULL THEN
        PERFORM fail('invitations.already_accepted');
    ELSIF NOT invitation_serves(i) THEN
        PERFORM fail('invitations.expired', 'invitation_too_old');
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

CREATE OR REPLACE FUNCTION inviter_may_invite(org uuid, inviter uuid) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT 1 FROM org_members m JOIN users u ON u.id = m.user_id
                   WHERE m.org_id = org AND m.user_id = inviter AND u.status = 'active'
                         AND 'org.members.manage' = ANY (role_permissions(m.role)))
$$;

-- Whether somebody may still accept it: it ends with its inviter's right to invite.
CREATE OR REPLACE FUNCTION invitation_serves(i org_invitations) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT num_nonnulls(i.accepted_at, i.revoked_at, i.ended_at) = 0 AND i.expires_at > clock_timestamp()
        AND EXISTS (SELECT FROM orgs o WHERE o.id = i.org_id AND o.closed_at IS NULL)
        AND (i.scim_user_id IS NOT NULL OR inviter_may_invite(i.org_id, i.invited_by_user_id))
$$;

-- Returns whether this is the hash of the token in an invitation's mail to the address, and the invitation is open.
CREATE OR REPLACE FUNCTION invitation_proves(given_hash bytea, address_key text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (SELECT FROM org_invitations i
                   WHERE i.mail_token_hash = given_hash AND i.email_key = address_key AND invitation_serves(i))
$$;

-- When a user loses the right to invite, their invitations end for good. They do not come back with the right, which
-- nobody sees in the list until then.
CREATE OR REPLACE FUNCTION invitations_end() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    inviter uuid := (to_jsonb(OLD) ->> CASE TG_TABLE_NAME WHEN 'users' THEN 'id' ELSE 'user_id' END)::uuid;
    org uuid := to_jsonb(OLD) ->> 'org_id';  -- null of a user: in all of them
BEGIN
    IF (org IS NULL OR NOT inviter_may_invite(org, inviter))
       AND EXISTS (SELECT FROM org_invitations i
                   WHERE i.invited_by_user_id = inviter AND i.accepted_at IS NULL AND i.revoked_at IS NULL
                         AND i.ended_at IS NULL) THEN
        PERFORM ending_begin('invitations', inviter, org);
    END IF;
    RETURN NULL;
END
$$;

-- The sweep of invitations_end(): what was open at the end stays over, also when the inviter may invite again.
CREATE OR REPLACE FUNCTION ending_page_invitations(e endings, at_most integer, is_whole boolean) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    -- Considers everything that they ever invited; an organization's open ones may be thousands of others'.
    page uuid[] := ARRAY(
        SELECT i.id FROM org_invitations i
        WHERE i.invited_by_user_id = e.subject_id AND i.accepted_at IS NULL AND i.revoked_at IS NULL
              AND i.ended_at IS NULL AND (e.within_org IS NULL OR i.org_id = e.within_org)
          AND i.created_at <= e.ended_at
              AND (e.cursor_id IS NULL OR i.id > e.cursor_id)
        ORDER BY i.id LIMIT at_most);
BEGIN
    IF is_whole AND cardinality(page) = at_most THEN
        RETURN ending_again();
    END IF;
    UPDATE org_invitations SET ended_at = e.ended_at
    WHERE id = ANY (page) AND num_nonnulls(accepted_at, revoked_at, ended_at) = 0;
    RETURN CASE WHEN cardinality(page) = at_most THEN page[at_most] END;
END
$$;
CREATE TRIGGER invitations_end AFTER UPDATE OF role OR DELETE ON org_members FOR EACH ROW
    EXECUTE FUNCTION invitations_end();
CREATE TRIGGER invitations_end AFTER UPDATE OF status ON users FOR EACH ROW
    WHEN (OLD.status = 'active' AND NEW.status <> 'active') EXECUTE FUNCTION invitations_end();

-- Counts an invitation over all organizations of its inviter and all inviters of its recipient; 0: any number.
CREATE OR REPLACE FUNCTION invitation_count(inviter uuid, recipient_key text, limit_invitations_per_inviter_day integer,
    limit_invitations_per_recipient_day integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF limit_invitations_per_inviter_day > 0 THEN
        PERFORM attempt_or_fail('invitations.by', inviter::text, limit_invitations_per_inviter_day,
                                interval '1 day', 'invitations.rate_limited');
    END IF;
    IF limit_invitations_per_recipient_day > 0 THEN
        BEGIN
            PERFORM attempt_or_fail('invitations.to', recipient_key, limit_invitations_per_recipient_day,
                                    interval '1 day', 'invitations.rate_limited');
        EXCEPTION WHEN SQLSTATE 'HS000' THEN
            -- When others invited the address is not this inviter's to know: a whole day suffices in any case.
            PERFORM fail('invitations.rate_limited', 'recipient_has_enough');
        END;
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION invitation_create, invitation_page, invitation_revoke, invitation_accept
    FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION inviter_may_invite, invitation_serves, invitation_proves, invitations_end,
    ending_page_invitations, invitation_count
    FROM hostler_api, hostler_runner;
