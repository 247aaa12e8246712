-- Why: accounts end: suspended, or deleted with all that is personal in them. Locks: runs, users, api_keys
-- and org_members, for an index each.

CREATE INDEX runs_active_of_user ON runs (created_by_user_id) WHERE ended_at IS NULL;
CREATE INDEX users_admins ON users (id) WHERE platform_admin;
CREATE INDEX api_keys_user ON api_keys (user_id);
CREATE INDEX org_members_owners ON org_members (org_id, user_id) WHERE role = 'owner';

-- Ends sessions of a user, all but one: their tokens are dead with the commit, their streams within 5 s.
CREATE FUNCTION sessions_end(who uuid, spared uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    UPDATE sessions SET revoked_at = clock_timestamp()
    WHERE user_id = who AND revoked_at IS NULL AND id IS DISTINCT FROM spared
$$;

-- Raises users.last_admin when nobody else is an active platform administrator. Whoever takes the mark or the life
-- of one asks this first: they come one after the other.
CREATE FUNCTION last_admin_guard(who uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('platform admins', 0));
    IF EXISTS (SELECT 1 FROM users WHERE id = who AND platform_admin AND status = 'active')
       AND NOT EXISTS (SELECT 1 FROM users WHERE platform_admin AND status = 'active' AND id <> who) THEN
        PERFORM fail('users.last_admin', 'Make somebody else an administrator first: hostlerctl admin promote.');
    END IF;
END
$$;

-- Raises orgs.last_owner when a workspace has no other owner than the user. Owners of an organization change behind
-- the lock of its row, here in the order of ids.
CREATE FUNCTION last_owner_guard(who uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    alone text;
BEGIN
    PERFORM 1 FROM orgs o WHERE o.type = 'workspace'
        AND o.id IN (SELECT m.org_id FROM org_members m WHERE m.user_id = who AND m.role = 'owner')
    ORDER BY o.id FOR NO KEY UPDATE;
    SELECT o.slug INTO alone FROM org_members m JOIN orgs o ON o.id = m.org_id AND o.type = 'workspace'
    WHERE m.user_id = who AND m.role = 'owner' AND NOT EXISTS (
        SELECT 1 FROM org_members other WHERE other.org_id = m.org_id AND other.role = 'owner' AND other.user_id <> who)
    ORDER BY o.id LIMIT 1;
    IF alone IS NOT NULL THEN
        PERFORM fail('orgs.last_owner', format('Give the organization %s another owner first.', alone));
    END IF;
END
$$;

-- Makes a user active or suspended, by an administrator of either kind. Suspending ends sessions and keys for good:
-- whoever had them before has none when the user is active again.
CREATE FUNCTION user_set_status(who uuid, new_status text) RETURNS void
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
        now_is := now_is || jsonb_build_object('api_keys_revoked', dead_keys);
    END IF;
    PERFORM audit(CASE new_status WHEN 'suspended' THEN 'users.suspend' ELSE 'users.activate' END, 'user', who::text,
                  NULL, jsonb_build_object('status', was), now_is);
END
$$;

-- Cancels the user's runs wherever they are, and answers them for the daemons' bell.
CREATE FUNCTION user_stop_runs(who uuid) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    place threads;
    stopped uuid[] := '{}';
BEGIN
    -- Threads, then runs, then accounts, before the first run ends: the order of everybody who locks several.
    PERFORM 1 FROM threads t WHERE t.id IN (
        SELECT r.thread_id FROM runs r WHERE r.created_by_user_id = who AND r.ended_at IS NULL)
    ORDER BY t.id FOR UPDATE OF t;
    PERFORM 1 FROM runs r WHERE r.created_by_user_id = who AND r.ended_at IS NULL ORDER BY r.id FOR UPDATE;
    PERFORM credit_lock(ARRAY(SELECT r.org_id FROM runs r WHERE r.created_by_user_id = who AND r.ended_at IS NULL));
    FOR place IN
        SELECT t.* FROM threads t WHERE t.id IN (
            SELECT r.thread_id FROM runs r WHERE r.created_by_user_id = who AND r.ended_at IS NULL)
        ORDER BY t.id FOR UPDATE OF t
    LOOP
        stopped := stopped || thread_stop(place, NULL, 'user_deleted');
    END LOOP;
    RETURN stopped;
END
$$;

-- What is personal in an account: names, address, password, whence somebody came. Login and address are free again.
CREATE FUNCTION user_scrub(gone users) RETURNS void
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
    UPDATE outbox SET status = 'cancelled', next_attempt_at = NULL
    WHERE kind = 'mail' AND status = 'pending' AND name_key(recipient) = name_key(gone.email);
END
$$;

-- Deletes a user, by themself or by an administrator, who says so in the audit log: sessions, tokens and keys are
-- dead, memberships of workspaces and what is personal are gone, runs are cancelled and answered for the bell.
-- The personal organization stays, as the ledger's. Raises users.not_found, users.last_admin, orgs.last_owner.
CREATE FUNCTION user_delete(who uuid) RETURNS uuid[]
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
    RETURN user_stop_runs(who);
END
$$;
-- What hostlerctl does, for a login, username or address; nobody is the actor. Raises users.not_found.
CREATE FUNCTION user_of_operator(name text) RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    who uuid := user_named(name);
BEGIN
    IF who IS NULL THEN
        PERFORM fail('users.not_found');
    END IF;
    RETURN who;
END
$$;

CREATE FUNCTION user_demote(name text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    who uuid := user_of_operator(name);
BEGIN
    PERFORM last_admin_guard(who);
    UPDATE users SET platform_admin = false WHERE id = who AND platform_admin;
    IF FOUND THEN
        PERFORM audit('users.update', 'user', who::text, NULL, '{"platform_admin": true}', '{"platform_admin": false}');
    END IF;
    RETURN who;
END
$$;

-- One session that lives, by its id.
CREATE FUNCTION session_revoke_by_operator(session uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE sessions SET revoked_at = clock_timestamp() WHERE id = session AND revoked_at IS NULL;
    IF NOT FOUND THEN
        PERFORM fail('sessions.not_found');
    END IF;
    PERFORM audit('auth.session_revoked', 'session', session::text, NULL);
END
$$;

-- All sessions of a user; how many lived.
CREATE FUNCTION sessions_revoke_by_operator(name text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    who uuid := user_of_operator(name);
    ended uuid[] := ARRAY(SELECT id FROM sessions WHERE user_id = who AND revoked_at IS NULL ORDER BY id);
    ended_one uuid;
BEGIN
    FOREACH ended_one IN ARRAY ended LOOP
        PERFORM session_revoke_by_operator(ended_one);
    END LOOP;
    RETURN cardinality(ended);
END
$$;

REVOKE EXECUTE ON FUNCTION user_of_operator, user_demote, session_revoke_by_operator, sessions_revoke_by_operator
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION sessions_end, last_admin_guard, last_owner_guard, user_set_status, user_stop_runs,
    user_scrub, user_delete FROM hostler_api, hostler_runner;
