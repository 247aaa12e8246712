-- Why: nobody fills a stranger's mailbox in the operator's name. Invitations are counted by inviter and recipient, and
-- are one an address; registrations are counted by network; a mail that has become pointless is not sent, and login
-- codes are found before all other mails. Locks: org_invitations exclusively, to close what is doubled and index the
-- rest, then outbox, for a column and an index. That is the order of everybody who invites, and nobody else needs both.
-- Compatible from: 00045

-- The network of an address, as counters take it: one host is an address of version 4, also in its form of version 6,
-- or 64 bits of version 6, which is what a client gets.
CREATE FUNCTION network_of(address inet) RETURNS inet
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE WHEN family(address) = 4 THEN set_masklen(address, 32)
        WHEN set_masklen(address, 128) << '::ffff:0:0/96'
        THEN '0.0.0.0'::inet + (set_masklen(address, 128) - '::ffff:0:0'::inet)
        ELSE network(set_masklen(address, 64))::inet END
$$;

-- ---------------------------------------------------------------- invitations

-- It was over, for its age or its inviter's loss of the right to invite, when its address was invited again.
ALTER TABLE org_invitations ADD COLUMN ended_at timestamptz,
    ADD CHECK (num_nonnulls(accepted_at, revoked_at, ended_at) <= 1);

CREATE FUNCTION inviter_may_invite(org uuid, inviter uuid) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT 1 FROM org_members m JOIN users u ON u.id = m.user_id
                   WHERE m.org_id = org AND m.user_id = inviter AND u.status = 'active'
                         AND 'org.members.manage' = ANY (role_permissions(m.role)))
$$;

-- Whether somebody may still accept it: it ends with its inviter's right to invite.
CREATE FUNCTION invitation_serves(i org_invitations) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT num_nonnulls(i.accepted_at, i.revoked_at, i.ended_at) = 0 AND i.expires_at > clock_timestamp()
        AND inviter_may_invite(i.org_id, i.invited_by_user_id)
$$;
REVOKE EXECUTE ON FUNCTION inviter_may_invite, invitation_serves FROM hostler_api, hostler_runner;

-- Of several to one address the newest that serves goes on.
UPDATE org_invitations SET ended_at = clock_timestamp()
FROM (SELECT i.id, row_number() OVER (PARTITION BY i.org_id, name_key(i.email)
                                      ORDER BY invitation_serves(i) DESC, i.id DESC) AS nth
      FROM org_invitations i WHERE i.accepted_at IS NULL AND i.revoked_at IS NULL) AS open
WHERE open.id = org_invitations.id AND open.nth > 1;

DROP INDEX org_invitations_open;
CREATE INDEX org_invitations_open ON org_invitations (org_id, id)
    WHERE accepted_at IS NULL AND revoked_at IS NULL AND ended_at IS NULL;
CREATE UNIQUE INDEX org_invitations_one_an_address ON org_invitations (org_id, name_key(email))
    WHERE accepted_at IS NULL AND revoked_at IS NULL AND ended_at IS NULL;

-- POST …/invitations. secret: {"token"} sealed for the mail (mail_queue). terms: {seconds (it is valid), inviter_day,
-- recipient_day (how many are sent within 24 hours by one user, to one address; 0: any number)}. The organization's
-- row is locked: of several invitations to one address at once the first is made. What is refused counts for nobody.
DROP FUNCTION invitation_create(text, text, bytea, jsonb);
CREATE FUNCTION invitation_create(new_email text, new_role text, new_hash bytea, secret jsonb,
                                  terms jsonb DEFAULT '{"seconds": 604800}') RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own_role text := org_hold('org.members.manage');
    place orgs;
    inviter users;
    invitee users;
    is_member boolean;
    is_open boolean;
    made org_invitations;
BEGIN
    SELECT * INTO STRICT place FROM orgs WHERE id = current_org();
    IF place.type = 'personal' THEN
        PERFORM fail('orgs.personal', 'POST /v1/orgs makes a workspace, which takes members.');
    END IF;
    SELECT * INTO STRICT inviter FROM users WHERE id = current_user_id();
    SELECT * INTO invitee FROM users u WHERE name_key(u.email) = name_key(new_email) AND u.status <> 'deleted';
    UPDATE org_invitations i SET ended_at = clock_timestamp()
    WHERE i.org_id = place.id AND name_key(i.email) = name_key(new_email) AND i.accepted_at IS NULL
          AND i.revoked_at IS NULL AND i.ended_at IS NULL AND NOT invitation_serves(i);
    -- In one look: who accepts meanwhile is either still invited or a member.
    SELECT EXISTS (SELECT 1 FROM org_members WHERE org_id = place.id AND user_id = invitee.id),
           EXISTS (SELECT 1 FROM org_invitations i
                   WHERE i.org_id = place.id AND name_key(i.email) = name_key(new_email) AND i.accepted_at IS NULL
                         AND i.revoked_at IS NULL AND i.ended_at IS NULL)
    INTO is_member, is_open;
    IF is_member THEN
        PERFORM fail('invitations.already_member');
    ELSIF is_open THEN
        PERFORM fail('invitations.exists', 'DELETE it first to send another one.');
    END IF;
    PERFORM invitation_count(inviter.id, new_email, terms);
    INSERT INTO org_invitations (org_id, email, role, invited_by_user_id, token_hash, expires_at)
    VALUES (place.id, new_email, new_role, inviter.id, new_hash,
            clock_timestamp() + make_interval(secs => (terms ->> 'seconds')::integer)) RETURNING * INTO made;
    PERFORM mail_queue('invitation', new_email, coalesce(invitee.locale, inviter.locale), jsonb_build_object(
        'org_name', place.name, 'inviter', inviter.username, 'role', new_role,
        'expires_at', rfc3339(made.expires_at)), secret);
    PERFORM audit('invitations.create', 'invitation', made.id::text, place.id, NULL, invitation_json(made)::jsonb);
    RETURN invitation_json(made);
END
$$;

-- Counts an invitation over all organizations of its inviter and all inviters of its recipient.
CREATE FUNCTION invitation_count(inviter uuid, recipient text, terms jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    inviter_most integer := coalesce((terms ->> 'inviter_day')::integer, 0);
    recipient_most integer := coalesce((terms ->> 'recipient_day')::integer, 0);
BEGIN
    IF inviter_most > 0 THEN
        PERFORM attempt_or_fail('invitations.by', inviter::text, inviter_most, interval '1 day',
                                'invitations.rate_limited');
    END IF;
    IF recipient_most > 0 THEN
        BEGIN
            PERFORM attempt_or_fail('invitations.to', name_key(recipient), recipient_most, interval '1 day',
                                    'invitations.rate_limited');
        EXCEPTION WHEN SQLSTATE 'HS000' THEN
            -- When others invited the address is not this inviter's to know: a whole day suffices in any case.
            PERFORM fail('invitations.rate_limited', '', '{"retry_after": 86400}');
        END;
    END IF;
END
$$;

-- GET …/invitations: those that nobody accepted or revoked and whose inviter may still invite; expires_at tells
-- whether one still serves.
CREATE OR REPLACE FUNCTION invitation_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN QUERY SELECT i.id, invitation_json(i) FROM org_invitations i
    WHERE i.org_id = current_org() AND i.accepted_at IS NULL AND i.revoked_at IS NULL AND i.ended_at IS NULL
          AND (before IS NULL OR i.id < before) AND inviter_may_invite(i.org_id, i.invited_by_user_id)
    ORDER BY i.id DESC LIMIT page_limit;
END
$$;

CREATE OR REPLACE FUNCTION invitation_revoke(invitation uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    was org_invitations;
BEGIN
    UPDATE org_invitations SET revoked_at = clock_timestamp()
    WHERE id = invitation AND org_id = current_org() AND accepted_at IS NULL AND revoked_at IS NULL
          AND ended_at IS NULL
    RETURNING * INTO was;
    IF was.id IS NULL THEN
        PERFORM fail('invitations.not_found');
    END IF;
    PERFORM audit('invitations.revoke', 'invitation', was.id::text, was.org_id, invitation_json(was)::jsonb);
END
$$;

-- POST /v1/org-invitations/{token}/accept: by the user whose verified mail address it was sent to.
CREATE OR REPLACE FUNCTION invitation_accept(given_hash bytea) RETURNS void
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
    ELSIF NOT invitation_serves(i) THEN
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
REVOKE EXECUTE ON FUNCTION invitation_count FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION invitation_create FROM hostler_runner;

-- ---------------------------------------------------------------- registrations

-- What refuses a registration for its names or its invitation code.
CREATE FUNCTION registration_check(new_login text, new_email text, given_code text, terms jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    needs_code boolean := coalesce(terms ->> 'registration_mode' = 'invite_only', false);
BEGIN
    PERFORM name_check(new_login, 'login');
    IF needs_code AND given_code IS NULL THEN
        PERFORM fail('auth.invite_code_required', 'Ask somebody who has an account.');
    ELSIF needs_code AND NOT invite_code_holds(given_code) THEN
        PERFORM fail('auth.invite_code_invalid', 'Ask whoever invited you for another one.');
    ELSIF EXISTS (SELECT 1 FROM user_names WHERE name_key = name_key(new_login)) THEN
        PERFORM fail('auth.login_exists');
    ELSIF EXISTS (SELECT 1 FROM users WHERE name_key(email) = name_key(new_email) AND status <> 'deleted') THEN
        PERFORM fail('auth.email_exists');
    END IF;
END
$$;

-- Before the password is hashed, which is what a registration costs: whatever can be refused by then is refused. terms
-- has registrations_hour too: how many accounts a network makes within an hour; 0: any number.
CREATE FUNCTION registration_begin(new_login text, new_email text, given_code text, terms jsonb) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    most integer := coalesce((terms ->> 'registrations_hour')::integer, 0);
    oldest timestamptz;
BEGIN
    IF most > 0 THEN
        SELECT a.at INTO oldest FROM attempts a
        WHERE a.kind = 'auth.register' AND a.subject = network_of(request_ip())::text
              AND a.at > clock_timestamp() - interval '1 hour'
        ORDER BY a.at DESC OFFSET most - 1 LIMIT 1;
        IF oldest IS NOT NULL THEN
            PERFORM fail_for_now('auth.rate_limited', oldest + interval '1 hour');
        END IF;
    END IF;
    PERFORM registration_check(new_login, new_email, given_code, terms);
END
$$;

-- POST /v1/auth/register, and hostlerctl (without hashes: no session; mode open; without mail: none is sent). All
-- that an account is made of, in one transaction. code_held: false when an invitation code was given and does not hold.
-- The count by network comes before everything that another registration may hold, and only an account that is made
-- counts: whoever mistypes is not locked out, and what is refused mails nobody.
CREATE OR REPLACE FUNCTION register_user(new_login text, new_email text, new_password_hash text, new_locale text,
    given_code text, access_hash bytea, refresh_hash bytea, terms jsonb, mail jsonb DEFAULT NULL,
    OUT new_user_id uuid, OUT new_org_id uuid, OUT code_held boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    most integer := coalesce((terms ->> 'registrations_hour')::integer, 0);
    initial_grant bigint := (terms ->> 'initial_grant')::bigint;
BEGIN
    IF most > 0 THEN
        PERFORM attempt_or_fail('auth.register', network_of(request_ip())::text, most, interval '1 hour',
                                'auth.rate_limited');
    END IF;
    PERFORM registration_check(new_login, new_email, given_code, terms);
    new_user_id := uuidv7();
    new_org_id := uuidv7();
    INSERT INTO users (id, login, username, email, password_hash, personal_org_id, locale)
    VALUES (new_user_id, new_login, new_login, new_email, new_password_hash, new_org_id, new_locale)
    ON CONFLICT (name_key(email)) WHERE status <> 'deleted' DO NOTHING;
    IF NOT FOUND THEN
        PERFORM fail('auth.email_exists');
    END IF;
    INSERT INTO user_names (name_key, user_id) VALUES (name_key(new_login), new_user_id) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        PERFORM fail('auth.login_exists');
    END IF;
    INSERT INTO orgs (id, slug, name, type)
    VALUES (new_org_id, new_org_id::text, new_login || '''s workspace', 'personal');
    INSERT INTO org_members (org_id, user_id, role) VALUES (new_org_id, new_user_id, 'owner');
    INSERT INTO credit_accounts (org_id) VALUES (new_org_id);
    IF initial_grant > 0 THEN
        PERFORM credit_post(new_org_id, initial_grant, 'initial_grant', 'user', new_user_id::text);
    END IF;
    PERFORM invite_code_make(new_user_id, (terms ->> 'invite_max_uses')::integer);
    code_held := given_code IS NULL OR invite_code_use(given_code, new_user_id, new_org_id, terms);
    IF terms ->> 'registration_mode' = 'invite_only' AND NOT code_held THEN
        PERFORM fail('auth.invite_code_invalid', 'Ask whoever invited you for another one.');
    END IF;
    PERFORM audit('auth.register', 'user', new_user_id::text, new_org_id, NULL,
                  jsonb_build_object('referred', given_code IS NOT NULL AND code_held), 'ok', new_user_id);
    IF mail IS NOT NULL THEN
        PERFORM email_verification_first(new_user_id, mail);
    END IF;
    IF access_hash IS NOT NULL THEN
        PERFORM session_begin(new_user_id, 'register', access_hash, refresh_hash, terms);
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION registration_check FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION registration_begin FROM hostler_runner;

-- ---------------------------------------------------------------- mails

-- Of a mail: until when what it says holds; null: always.
ALTER TABLE outbox ADD COLUMN expires_at timestamptz;

-- A mail says itself how long it holds: for so many minutes, or until a time.
CREATE FUNCTION mail_end(fields jsonb, queued_at timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce((fields ->> 'expires_at')::timestamptz,
                    queued_at + (fields ->> 'minutes')::double precision * interval '1 minute')
$$;

UPDATE outbox SET expires_at = mail_end(fields, created_at) WHERE kind = 'mail' AND status = 'pending';
CREATE INDEX outbox_codes_due ON outbox (next_attempt_at)
    WHERE status = 'pending' AND kind = 'mail' AND template = 'login_code';

-- Queues a mail in the caller's transaction. secret: what only the mail may say, sealed outside of the database
-- as kind mail with no organization (lib/secret_box.h, secret_json), or null. For definer functions only.
-- A mail whose fields say minutes or expires_at is not sent later than that.
CREATE OR REPLACE FUNCTION mail_queue(mail_template text, mail_recipient text, mail_locale text, mail_fields jsonb,
                                      secret jsonb DEFAULT NULL) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    queued uuid;
BEGIN
    IF secret IS NOT NULL THEN
        INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed)
        VALUES ((secret ->> 'id')::uuid, NULL, 'mail', (secret ->> 'key_version')::integer,
                decode(secret ->> 'wrapped_key', 'base64'), decode(secret ->> 'sealed', 'base64'));
    END IF;
    INSERT INTO outbox (kind, template, recipient, locale, fields, secret_id, expires_at)
    VALUES ('mail', mail_template, mail_recipient, mail_locale, mail_fields, (secret ->> 'id')::uuid,
            mail_end(mail_fields, clock_timestamp()))
    RETURNING id INTO queued;
    RETURN queued;
END
$$;
REVOKE EXECUTE ON FUNCTION mail_end FROM hostler_api, hostler_runner;
