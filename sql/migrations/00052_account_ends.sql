-- Why: the end of a user, or of a membership, covers what the user was writing at that moment, and the user's runs;
-- addresses that nobody proved may be kept out; runs tell why they were cancelled. Locks: runs exclusively, for a
-- column without default.
-- Compatible from: 00045
--
-- Whoever writes for a user holds that user, shared, from the transaction's first statement to its end: authenticate()
-- sees to it. Whoever ends a user, or a membership, holds the same alone. So a write is either committed before the
-- end looks for what there is to end, or authenticates behind it and is refused. It is an advisory lock, which writes
-- no row: a lock of the user's row would be a write for every write. Order: users, platform admins, rows.

ALTER TABLE runs ADD COLUMN cancel_reason text;

-- Before the first statement that judges or changes what the end of the user ends.
CREATE FUNCTION user_hold_alone(who uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(uuid_hash_extended(who, 0));
END
$$;

-- Holds whose token it is, before anything of theirs is read. ends: whom the call ends, if anybody: a user's id, or
-- self. Whoever ends themself holds themself alone at once: two who hold shared and then want more wait for ever.
CREATE FUNCTION caller_hold(token_hash bytea, is_key boolean, ends text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    who uuid;
BEGIN
    IF is_key THEN
        SELECT k.user_id INTO who FROM api_keys k WHERE k.hash = token_hash;
    ELSE
        SELECT s.user_id INTO who FROM access_tokens t JOIN sessions s ON s.id = t.session_id WHERE t.hash = token_hash;
    END IF;
    IF who IS NULL THEN
        RETURN;
    ELSIF ends = 'self' OR ends = who::text THEN
        PERFORM pg_advisory_xact_lock(uuid_hash_extended(who, 0));
    ELSE
        PERFORM pg_advisory_xact_lock_shared(uuid_hash_extended(who, 0));
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION user_hold_alone, caller_hold FROM hostler_api, hostler_runner;

-- Who calls: one look-up, then the caller's identity becomes the transaction's (tenant, user, request).
-- token_hash: SHA-256 of the token; is_key: it begins with hst_. org: X-Org-Id or null (the user's own;
-- a key's own). need: a permission, 'platform_admin', or null. takes_key: whether the route admits keys.
-- context: {trace_id, client_ip, user_agent, org_named, is_risky, is_retold, writes, ends, needs_proof}: org_named is
-- an organization in path or query, is_risky asks to refuse all but platform admins, is_retold not to judge address and
-- risk (the audit of a refusal), writes to hold the user until the transaction ends, ends whom the call ends,
-- needs_proof to refuse whose address is not verified. Raises the 401, 403 or 404 when the caller may not pass.
CREATE OR REPLACE FUNCTION authenticate(token_hash bytea, is_key boolean, org uuid, need text, takes_key boolean,
    context jsonb, OUT user_id uuid, OUT org_id uuid, OUT role text, OUT platform_admin boolean, OUT session_id uuid,
    OUT api_key_id uuid, OUT permissions text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    who record;
BEGIN
    -- A statement of its own: those behind it see what was committed while it waited.
    IF context ? 'writes' THEN
        PERFORM caller_hold(token_hash, is_key, context ->> 'ends');
    END IF;
    IF is_key THEN
        SELECT k.id AS key_id, k.user_id, k.org_id, k.scopes, m.role,
               k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
               AND u.status = 'active' AND m.role IS NOT NULL AS alive, o.ip_rule_count, u.email_verified_at
        INTO who
        FROM api_keys k JOIN users u ON u.id = k.user_id JOIN orgs o ON o.id = k.org_id
        LEFT JOIN org_members m ON m.org_id = k.org_id AND m.user_id = k.user_id
        WHERE k.hash = token_hash;
        IF NOT FOUND OR NOT who.alive THEN
            PERFORM fail('auth.invalid_api_key', 'The key is unknown, revoked or expired.');
        END IF;
        IF NOT takes_key THEN
            PERFORM fail('auth.user_token_required', 'Use the access token of a login.',
                         refused_caller(is_key, who.org_id, who.user_id));
        END IF;
        IF org IS NOT NULL AND org <> who.org_id THEN
            PERFORM fail('orgs.not_found', 'The key belongs to another organization.');
        END IF;
        api_key_id := who.key_id;
        platform_admin := false;
        permissions := role_permissions(who.role);
        IF cardinality(who.scopes) > 0 THEN
            permissions := ARRAY(SELECT p FROM unnest(permissions) AS p WHERE p = ANY (who.scopes));
        END IF;
    ELSE
        SELECT t.session_id, t.expires_at <= clock_timestamp() AS expired, s.user_id,
               s.revoked_at IS NULL AND u.status = 'active' AS alive, u.platform_admin, m.role,
               coalesce(org, u.personal_org_id) AS org_id, o.ip_rule_count, u.email_verified_at
        INTO who
        FROM access_tokens t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
        LEFT JOIN orgs o ON o.id = coalesce(org, u.personal_org_id)
        LEFT JOIN org_members m ON m.org_id = coalesce(org, u.personal_org_id) AND m.user_id = u.id
        WHERE t.hash = token_hash;
        IF NOT FOUND OR NOT who.alive THEN
            PERFORM fail('auth.invalid_token', 'Log in again.');
        END IF;
        IF who.expired THEN
            PERFORM fail('auth.token_expired', 'POST /v1/auth/refresh gives a new one.');
        END IF;
        IF who.role IS NULL THEN
            PERFORM fail('orgs.not_found', 'You belong to no organization with this id.');
        END IF;
        session_id := who.session_id;
        platform_admin := who.platform_admin;
        permissions := role_permissions(who.role);
    END IF;
    user_id := who.user_id;
    org_id := who.org_id;
    role := who.role;
    IF NOT context ? 'is_retold' THEN
        IF who.email_verified_at IS NULL AND context ? 'needs_proof' THEN
            PERFORM fail('auth.email_unverified', 'Verify your address first: POST /v1/auth/email/verify/send.',
                         refused_caller(is_key, org_id, user_id));
        END IF;
        IF (who.ip_rule_count > 0 AND NOT ip_admits(org_id, (context ->> 'client_ip')::inet))
           OR (context ? 'org_named' AND NOT ip_admits_named((context ->> 'org_named')::uuid,
                   (context ->> 'client_ip')::inet, user_id, platform_admin)) THEN
            PERFORM fail('ip.blocked', 'The IP rules of the organization do not let this address in.',
                         refused_caller(is_key, org_id, user_id));
        END IF;
        IF context ? 'is_risky' AND NOT platform_admin THEN
            PERFORM fail('risk.rejected', '', refused_caller(is_key, org_id, user_id));
        END IF;
    END IF;
    IF need = 'platform_admin' THEN
        IF NOT platform_admin THEN
            PERFORM fail('auth.forbidden', 'This needs platform_admin.',
                         refused_caller(is_key, org_id, user_id) || jsonb_build_object('permission', need));
        END IF;
    ELSIF need IS NOT NULL AND NOT need = ANY (permissions) THEN
        PERFORM fail('auth.forbidden', format('This needs the permission %s.', need),
                     refused_caller(is_key, org_id, user_id) || jsonb_build_object('permission', need));
    END IF;
    PERFORM set_config('hostler.org_id', org_id::text, true),
            set_config('hostler.user_id', user_id::text, true),
            set_config('hostler.request', (context || jsonb_build_object('api_key_id', api_key_id,
                'session_id', session_id, 'platform_admin', platform_admin,
                'permissions', to_jsonb(permissions)))::text, true);
END
$$;

-- Raises users.last_admin when nobody else is an active platform administrator. Whoever takes the mark or the life
-- of one asks this first, and has the user alone from then on: they come one after the other.
CREATE OR REPLACE FUNCTION last_admin_guard(who uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM user_hold_alone(who);
    PERFORM pg_advisory_xact_lock(hashtextextended('platform admins', 0));
    IF EXISTS (SELECT 1 FROM users WHERE id = who AND platform_admin AND status = 'active')
       AND NOT EXISTS (SELECT 1 FROM users WHERE platform_admin AND status = 'active' AND id <> who) THEN
        PERFORM fail('users.last_admin', 'Make somebody else an administrator first: hostlerctl admin promote.');
    END IF;
END
$$;

-- Raises orgs.last_owner when a workspace has no other owner than the user. A suspended owner is none: nobody could act
-- for the workspace. Members of an organization change behind the lock of its row, here in the order of ids: of all
-- whose member the user is, since the user's end takes them out.
CREATE OR REPLACE FUNCTION last_owner_guard(who uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    alone text;
BEGIN
    PERFORM 1 FROM orgs o WHERE o.type = 'workspace'
        AND o.id IN (SELECT m.org_id FROM org_members m WHERE m.user_id = who)
    ORDER BY o.id FOR NO KEY UPDATE;
    SELECT o.slug INTO alone FROM org_members m JOIN orgs o ON o.id = m.org_id AND o.type = 'workspace'
    WHERE m.user_id = who AND m.role = 'owner' AND NOT EXISTS (
        SELECT 1 FROM org_members other JOIN users u ON u.id = other.user_id AND u.status = 'active'
        WHERE other.org_id = m.org_id AND other.role = 'owner' AND other.user_id <> who)
    ORDER BY o.id LIMIT 1;
    IF alone IS NOT NULL THEN
        PERFORM fail('orgs.last_owner', format('Give the organization %s another owner first.', alone));
    END IF;
END
$$;

-- Raises orgs.last_owner when the organization, whose row is locked, has no other active owner than this one.
CREATE OR REPLACE FUNCTION org_spare_owner(org uuid, who uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM org_members m JOIN users u ON u.id = m.user_id AND u.status = 'active'
                   WHERE m.org_id = org AND m.role = 'owner' AND m.user_id <> who) THEN
        PERFORM fail('orgs.last_owner', 'Make somebody else an owner first.');
    END IF;
END
$$;

-- Before an administrator deletes a user: workspaces that have no other active owner get their longest-serving admin
-- as one, else their longest-serving member, those who are active before those who are not; those without any other
-- member are left empty.
CREATE OR REPLACE FUNCTION workspaces_hand_over(who uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    workspace uuid;
    heir org_members;
BEGIN
    PERFORM 1 FROM orgs o WHERE o.type = 'workspace'
        AND o.id IN (SELECT m.org_id FROM org_members m WHERE m.user_id = who)
    ORDER BY o.id FOR NO KEY UPDATE;
    FOR workspace IN
        SELECT o.id FROM orgs o JOIN org_members m ON m.org_id = o.id
        WHERE m.user_id = who AND m.role = 'owner' AND o.type = 'workspace' ORDER BY o.id
    LOOP
        SELECT m.* INTO heir FROM org_members m JOIN users u ON u.id = m.user_id
        WHERE m.org_id = workspace AND m.user_id <> who
        ORDER BY u.status = 'active' DESC, m.role = 'owner' DESC, m.role = 'admin' DESC, m.created_at, m.user_id
        LIMIT 1;
        IF heir.role <> 'owner' THEN
            UPDATE org_members SET role = 'owner' WHERE org_id = workspace AND user_id = heir.user_id;
            PERFORM audit('orgs.member_role', 'member', heir.user_id::text, workspace,
                          jsonb_build_object('role', heir.role), '{"role": "owner"}');
        END IF;
        DELETE FROM org_members WHERE org_id = workspace AND user_id = who;
    END LOOP;
END
$$;

-- Cancels a run whose thread is locked: at once when no daemon owns it, else by asking the owner, who tells the same
-- reason. Of several reasons the first counts. A terminal run stays as it is. True when an owner must be told.
CREATE OR REPLACE FUNCTION run_cancel_locked(run uuid, why text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
BEGIN
    SELECT * INTO STRICT r FROM runs WHERE id = run FOR UPDATE;
    IF r.status NOT IN ('running', 'waiting_for_input') THEN
        RETURN false;
    END IF;
    IF r.owner_id IS NOT NULL THEN
        UPDATE runs SET cancel_requested_at = clock_timestamp(), cancel_reason = why
        WHERE id = run AND cancel_requested_at IS NULL;
        RETURN true;
    END IF;
    INSERT INTO run_events (run_id, seq, type, data)
    VALUES (run, r.last_seq + 1, 'run.cancelled', json_build_object('reason', coalesce(r.cancel_reason, why)));
    PERFORM run_end(r, 'cancelled', r.last_seq + 1, NULL, NULL, run_shown_text(run), true);
    RETURN true;
END
$$;

-- Cancels the user's runs in the organization, or wherever they are (null), and answers them for the daemons' bell. The
-- user is held alone, so no further run begins meanwhile.
DROP FUNCTION user_stop_runs(uuid);
CREATE FUNCTION user_stop_runs(who uuid, org uuid, why text) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    active uuid[];
    places uuid[];
    place threads;
    stopped uuid[] := '{}';
BEGIN
    SELECT array_agg(r.id), array_agg(DISTINCT r.thread_id) INTO active, places
    FROM runs r WHERE r.created_by_user_id = who AND r.ended_at IS NULL AND (org IS NULL OR r.org_id = org);
    -- Threads, then runs, then accounts, before the first run ends: the order of everybody who locks several.
    PERFORM 1 FROM threads t WHERE t.id = ANY (places) ORDER BY t.id FOR UPDATE;
    PERFORM 1 FROM runs r WHERE r.id = ANY (active) ORDER BY r.id FOR UPDATE;
    PERFORM credit_lock(ARRAY(SELECT r.org_id FROM runs r WHERE r.id = ANY (active) AND r.ended_at IS NULL));
    FOR place IN SELECT t.* FROM threads t WHERE t.id = ANY (places) ORDER BY t.id LOOP
        stopped := stopped || thread_stop(place, NULL, why);
    END LOOP;
    RETURN stopped;
END
$$;
REVOKE EXECUTE ON FUNCTION user_stop_runs FROM hostler_api, hostler_runner;

-- Makes a user active or suspended, by an administrator of either kind. Suspending ends sessions and keys for good:
-- whoever had them before has none when the user is active again; and cancels the user's runs. That is rare enough for
-- the notification to go with the commit.
CREATE OR REPLACE FUNCTION user_set_status(who uuid, new_status text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    was text;
    now_is jsonb := jsonb_build_object('status', new_status);
    dead_keys bigint;
BEGIN
    IF new_status = 'suspended' THEN
        PERFORM last_admin_guard(who);
    END IF;
    SELECT status INTO was FROM users WHERE id = who AND status <> 'deleted' FOR NO KEY UPDATE;
    IF was IS NULL THEN
        PERFORM fail('users.not_found');
    ELSIF was = new_status THEN
        RETURN;
    END IF;
    UPDATE users SET status = new_status WHERE id = who;
    IF new_status = 'suspended' THEN
        PERFORM sessions_end(who, NULL);
        UPDATE api_keys SET revoked_at = clock_timestamp() WHERE user_id = who AND revoked_at IS NULL;
        GET DIAGNOSTICS dead_keys = ROW_COUNT;
        PERFORM pg_notify('hostler_control', run::text) FROM unnest(user_stop_runs(who, NULL, 'user_suspended')) AS run;
        now_is := now_is || jsonb_build_object('api_keys_revoked', dead_keys);
    END IF;
    PERFORM audit(CASE new_status WHEN 'suspended' THEN 'users.suspend' ELSE 'users.activate' END, 'user', who::text,
                  NULL, jsonb_build_object('status', was), now_is);
END
$$;

-- What is personal in an account: names, address, password, whence somebody came. Login and address are free again.
-- A daemon that is sending a mail to the user meanwhile finds that the mail is no longer its own, and writes nothing.
CREATE OR REPLACE FUNCTION user_scrub(gone users) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    nobody text := 'deleted-' || gone.id;
BEGIN
    UPDATE users SET status = 'deleted', deleted_at = clock_timestamp(), login = nobody, username = nobody,
        email = nobody || '@deleted.invalid', email_verified_at = NULL, password_hash = NULL, platform_admin = false,
        avatar_url = NULL, locale = 'en', timezone = 'UTC'
    WHERE id = gone.id;
    DELETE FROM user_names WHERE user_id = gone.id;
    UPDATE orgs SET name = nobody WHERE id = gone.personal_org_id;
    DELETE FROM access_tokens WHERE session_id IN (SELECT id FROM sessions WHERE user_id = gone.id);
    DELETE FROM refresh_tokens WHERE session_id IN (SELECT id FROM sessions WHERE user_id = gone.id);
    UPDATE sessions SET revoked_at = coalesce(revoked_at, clock_timestamp()), client_ip = NULL, user_agent = ''
    WHERE user_id = gone.id;
    DELETE FROM email_tokens WHERE user_id = gone.id;
    DELETE FROM login_codes WHERE user_id = gone.id;
    DELETE FROM login_failures WHERE login_key = gone.id::text;
    PERFORM audit_forget(gone);
    UPDATE outbox SET status = 'cancelled', next_attempt_at = NULL, owner_id = NULL, lease_until = NULL
    WHERE kind = 'mail' AND status = 'pending' AND name_key(recipient) = name_key(gone.email);
END
$$;

-- Deletes a user, by themself or by an administrator, who says so in the audit log: sessions, tokens and keys are
-- dead, memberships of workspaces and what is personal are gone, runs are cancelled and answered for the bell.
-- The personal organization stays, as the ledger's. Raises users.not_found, users.last_admin, orgs.last_owner.
CREATE OR REPLACE FUNCTION user_delete(who uuid) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    gone users;
BEGIN
    PERFORM last_admin_guard(who);
    SELECT * INTO gone FROM users WHERE id = who AND status <> 'deleted' FOR NO KEY UPDATE;
    IF gone.id IS NULL THEN
        PERFORM fail('users.not_found');
    END IF;
    PERFORM last_owner_guard(who);
    DELETE FROM org_members WHERE user_id = who AND org_id <> gone.personal_org_id;
    UPDATE api_keys SET revoked_at = clock_timestamp() WHERE user_id = who AND revoked_at IS NULL;
    UPDATE invite_codes SET is_active = false WHERE user_id = who AND is_active;
    PERFORM user_scrub(gone);
    RETURN user_stop_runs(who, NULL, 'user_deleted');
END
$$;

-- DELETE …/members/{user_id}: of somebody else by who may manage members, of oneself by anybody. The member's keys
-- are dead for good, also when the user comes back; the member's runs there are cancelled, and told of as above.
CREATE OR REPLACE FUNCTION member_remove(who uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    need text := CASE WHEN who <> current_user_id() THEN 'org.members.manage' END;
    own_role text;
    was org_members;
    dead_keys bigint;
BEGIN
    -- Users are held before organizations, but nobody whom the caller could not remove anyway.
    IF need IS NULL OR has_permission(need) THEN
        PERFORM member_check(who);
        PERFORM user_hold_alone(who);
    END IF;
    own_role := org_hold(need);
    was := member_of_org(who, own_role);
    IF was.role = 'owner' THEN
        PERFORM org_spare_owner(was.org_id, who);
    END IF;
    DELETE FROM org_members WHERE org_id = was.org_id AND user_id = who;
    UPDATE api_keys SET revoked_at = clock_timestamp()
    WHERE org_id = was.org_id AND user_id = who AND revoked_at IS NULL;
    GET DIAGNOSTICS dead_keys = ROW_COUNT;
    PERFORM pg_notify('hostler_control', run::text)
    FROM unnest(user_stop_runs(who, was.org_id, 'member_removed')) AS run;
    PERFORM audit('orgs.member_removed', 'member', who::text, was.org_id, jsonb_build_object('role', was.role),
                  jsonb_build_object('api_keys_revoked', dead_keys));
END
$$;

-- hostlerctl admin create and promote: the operator vouches for the address, so that no administrator is shut out by
-- asking for proved ones.
CREATE FUNCTION user_promote_proved(name text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    who uuid := user_promote(name);
BEGIN
    UPDATE users SET email_verified_at = clock_timestamp() WHERE id = who AND email_verified_at IS NULL;
    IF FOUND THEN
        PERFORM audit('auth.email_verified', 'user', who::text, NULL, '{"email_verified": false}',
                      '{"email_verified": true}');
    END IF;
    RETURN who;
END
$$;
REVOKE EXECUTE ON FUNCTION user_promote_proved FROM hostler_api, hostler_runner;
