-- Accounts end: suspended, or deleted with all that is personal in them.

-- Raises users.last_admin when nobody else is an active platform administrator. Statements that take the mark or the
-- life of one call this first, and have the user alone from then on, so that they come one after the other.
CREATE OR REPLACE FUNCTION last_admin_guard(of_user uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM user_hold_alone(of_user);
    PERFORM pg_advisory_xact_lock(hashtextextended('platform admins', 0));
    IF EXISTS (SELECT 1 FROM users WHERE id = of_user AND platform_admin AND status = 'active')
       AND NOT EXISTS (SELECT 1 FROM users WHERE platform_admin AND status = 'active' AND id <> of_user) THEN
        PERFORM fail('users.last_admin', 'nobody_else');
    END IF;
END
$$;

-- Raises orgs.last_owner when a workspace has no other owner than the user. A suspended owner does not count, because
-- nobody could act for the workspace. Members of an organization change under the lock of its row, here in the order of
-- ids.
CREATE OR REPLACE FUNCTION last_owner_guard(of_user uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    alone text;
BEGIN
    PERFORM 1 FROM orgs o WHERE o.type = 'workspace'
        AND o.id IN (SELECT m.org_id FROM org_members m WHERE m.user_id = of_user AND m.role = 'owner')
    ORDER BY o.id FOR NO KEY UPDATE;
    SELECT o.slug INTO alone FROM org_members m JOIN orgs o ON o.id = m.org_id AND o.type = 'workspace'
    WHERE m.user_id = of_user AND m.role = 'owner' AND o.closed_at IS NULL AND NOT EXISTS (
        SELECT 1 FROM org_members other JOIN users u ON u.id = other.user_id AND u.status = 'active'
        WHERE other.org_id = m.org_id AND other.role = 'owner' AND other.user_id <> of_user
        OFFSET 0)  -- asked of each workspace: as a join it reads the owners of all, without statistics
    ORDER BY o.id LIMIT 1;
    IF alone IS NOT NULL THEN
        PERFORM fail('orgs.last_owner', 'user_owns_alone', jsonb_build_object('slug', alone));
    END IF;
END
$$;

-- Ends the runs of a user, in one organization or in all: from now on none of them gets a further step. The sweep
-- cancels each of them for this reason.
CREATE OR REPLACE FUNCTION user_stop_runs(of_user uuid, org uuid, why text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT ending_begin('runs', of_user, org, why)
$$;

-- The newest runs that an ending of kind runs or org_runs has still to end, so many at most.
CREATE OR REPLACE FUNCTION ending_runs(e endings, at_most integer) RETURNS TABLE (run_id uuid, thread_id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    IF e.kind = 'org_runs' THEN
        RETURN QUERY
        SELECT q.id, q.thread_id FROM unnest(ARRAY['running', 'waiting_for_input']) AS s (status)
        CROSS JOIN LATERAL (
            SELECT r.id, r.thread_id FROM runs r
            WHERE r.org_id = e.subject_id AND r.status = s.status AND r.created_at <= e.ended_at
                  AND (r.owner_id IS NULL OR r.cancel_requested_at IS NULL)
                  AND r.id < coalesce(e.cursor_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
            ORDER BY r.org_id DESC, r.status DESC, r.id DESC LIMIT at_most) AS q
        ORDER BY q.id DESC LIMIT at_most;
    ELSE
        RETURN QUERY
        SELECT r.id, r.thread_id FROM runs r
        WHERE r.created_by_user_id = e.subject_id AND r.ended_at IS NULL AND r.created_at <= e.ended_at
              AND (e.within_org IS NULL OR r.org_id = e.within_org)
              AND (r.owner_id IS NULL OR r.cancel_requested_at IS NULL)
              AND (e.cursor_id IS NULL OR r.id < e.cursor_id)
        ORDER BY r.id DESC LIMIT at_most;
    END IF;
END
$$;

-- The sweep of user_stop_runs() and of a closed organization, newest first: a queued run goes before the run that it
-- waits for. Locks threads, then runs, then accounts, each in the order of ids, as everybody who locks several. A run
-- that cannot be ended stops no other; it is tried again, and until then nobody claims it.
CREATE OR REPLACE FUNCTION ending_page_runs(e endings, at_most integer, is_whole boolean) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    runs_max constant integer := greatest(at_most / 8, 1);  -- ending one costs as much as eight other rows
    page uuid[];
    thread_ids uuid[];
    run uuid;
BEGIN
    SELECT array_agg(q.id ORDER BY q.id DESC), array_agg(DISTINCT q.thread_id) INTO page, thread_ids
    FROM (SELECT n.run_id AS id, n.thread_id FROM ending_runs(e, runs_max) AS n) AS q;
    IF page IS NULL THEN
        e.cursor_id := NULL;
        RETURN CASE WHEN EXISTS (SELECT FROM ending_runs(e, 1)) THEN ending_again() END;
    END IF;
    IF is_whole AND cardinality(page) = runs_max THEN
        RETURN ending_again();
    END IF;
    PERFORM FROM threads t WHERE t.id = ANY (thread_ids) ORDER BY t.id FOR UPDATE;
    PERFORM FROM runs r WHERE r.id = ANY (page) ORDER BY r.id FOR UPDATE;
    PERFORM credit_lock(ARRAY(SELECT r.org_id FROM runs r WHERE r.id = ANY (page) AND r.ended_at IS NULL));
    FOREACH run IN ARRAY page LOOP
        BEGIN
            PERFORM run_cancel_locked(run, e.reason);
            PERFORM pg_notify('hostler_control', run::text);
        EXCEPTION WHEN others THEN
            RAISE WARNING 'run % is not cancelled yet: %', run, SQLERRM;
        END;
    END LOOP;
    RETURN CASE WHEN cardinality(page) = runs_max THEN page[runs_max]
                WHEN EXISTS (SELECT FROM runs r WHERE r.id = ANY (page) AND r.ended_at IS NULL AND r.owner_id IS NULL)
                THEN ending_again() END;
END
$$;

-- A user is suspended, or active again. Meanwhile the MCP servers of their personal organization are not listed
-- (mcp_listing_claim), and nobody shows tokens that rest (mcp_connection_rests). The sweep takes both out of what is
-- due; when the user is active again, tokens that can be are refreshed, since the old ones may be over. A page goes by
-- the user's status of its moment, whichever change began it.
CREATE OR REPLACE FUNCTION ending_page_mcp_rest(e endings, at_most integer, is_whole boolean) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    u users;
    -- Not infinity, of which no difference can be made (metrics_facts).
    never constant timestamptz := clock_timestamp() + interval '100 years';
    far constant timestamptz := clock_timestamp() + interval '50 years';
    servers uuid[];
    connections uuid[];
BEGIN
    SELECT * INTO STRICT u FROM users q WHERE q.id = e.subject_id FOR SHARE;
    servers := ARRAY(SELECT q.id FROM mcp_servers q
                     WHERE q.org_id = u.personal_org_id AND q.deleted_at IS NULL
                           AND (q.listing_due_at > far) = (u.status = 'active')
                     LIMIT at_most);
    connections := ARRAY(SELECT q.id FROM mcp_connections q
                         WHERE (q.user_id = u.id OR q.org_id = u.personal_org_id) AND q.state = 'connected'
                               AND CASE WHEN u.status = 'active' THEN q.refresh_at IS NULL AND q.has_refresh_token
                                   ELSE q.refresh_at IS NOT NULL END
                         LIMIT at_most);
    IF is_whole AND greatest(cardinality(servers), cardinality(connections)) = at_most THEN
        RETURN ending_again();
    END IF;
    PERFORM FROM mcp_servers s WHERE s.id = ANY (servers) ORDER BY s.id FOR NO KEY UPDATE;
    UPDATE mcp_servers s SET listing_id = NULL,
        listing_due_at = CASE WHEN u.status = 'active' THEN clock_timestamp() ELSE never END
    WHERE s.id = ANY (servers) AND s.deleted_at IS NULL;
    PERFORM FROM mcp_connections c WHERE c.id = ANY (connections) ORDER BY c.id FOR NO KEY UPDATE;
    UPDATE mcp_connections c SET refresh_at = CASE WHEN u.status = 'active' THEN clock_timestamp() END
    WHERE c.id = ANY (connections) AND c.state = 'connected';
    RETURN CASE WHEN greatest(cardinality(servers), cardinality(connections)) = at_most THEN e.subject_id END;
END
$$;

-- Makes a user active or suspended, by an administrator of either kind. Suspending ends sessions and keys for good, so
-- that a thief has none when the user is active again. It also ends a pending change of the address and cancels the
-- user's runs. MCP servers and connections rest meanwhile.
CREATE OR REPLACE FUNCTION user_set_status(of_user uuid, new_status text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state text;
    new_state jsonb := jsonb_build_object('status', new_status);
BEGIN
    IF new_status = 'suspended' THEN
        PERFORM last_admin_guard(of_user);
    END IF;
    -- From now on SCIM of an organization does not make it active again.
    UPDATE users SET suspended_by_org_id = NULL WHERE id = of_user AND suspended_by_org_id IS NOT NULL;
    SELECT status INTO old_state FROM users WHERE id = of_user AND status <> 'deleted' FOR NO KEY UPDATE;
    IF old_state IS NULL THEN
        PERFORM fail('users.not_found');
    ELSIF old_state = new_status THEN
        RETURN;
    END IF;
    UPDATE users SET status = new_status WHERE id = of_user;
    PERFORM ending_begin('mcp_rest', of_user);
    IF new_status = 'suspended' THEN
        PERFORM sessions_end(of_user, NULL);
        DELETE FROM email_tokens t WHERE t.user_id = of_user AND t.is_change;
        new_state := new_state || jsonb_build_object('api_keys_revoked', api_keys_end(of_user, '-infinity'));
        PERFORM user_stop_runs(of_user, NULL, 'user_suspended');
    END IF;
    PERFORM audit(CASE new_status WHEN 'suspended' THEN 'users.suspend' ELSE 'users.activate' END, 'user',
                  of_user::text,
                  NULL, jsonb_build_object('status', old_state), new_state);
END
$$;

-- Removes the personal part of an account's row, and everything that leads to it: names, address, password, ways to log
-- in. Login and address are free again. The rest is swept. A daemon that is sending a mail to the user meanwhile finds
-- that the mail is no longer its own, and writes nothing. The record of what others sent to an address, and how often,
-- is only forgotten for users who proved that it is theirs. Otherwise anybody could take it back, or begin to count
-- again.
CREATE OR REPLACE FUNCTION user_scrub(gone users) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    nobody text := 'deleted-' || gone.id;
    -- And those that lead back to the account, which are nobody else's.
    addresses text[] := ARRAY(SELECT gone.email_key UNION SELECT r.email_key FROM email_reverts r
                              WHERE r.user_id = gone.id AND r.expires_at > clock_timestamp());
BEGIN
    UPDATE users SET status = 'deleted', deleted_at = clock_timestamp(), login = nobody, username = nobody,
        email = nobody || '@deleted.invalid', email_key = nobody || '@deleted.invalid', email_verified_at = NULL,
        password_hash = NULL, platform_admin = false,
        avatar_url = NULL, locale = 'en', timezone = 'UTC'
    WHERE id = gone.id;
    DELETE FROM user_names WHERE user_id = gone.id;
    UPDATE orgs SET name = nobody WHERE id = gone.personal_org_id;
    DELETE FROM ip_rules WHERE org_id = gone.personal_org_id;
    DELETE FROM email_tokens WHERE user_id = gone.id;
    DELETE FROM login_codes WHERE user_id = gone.id;
    IF gone.email_verified_at IS NOT NULL THEN
        DELETE FROM attempts WHERE kind IN ('otp.email', 'otp.email_day', 'invitations.to')
            AND subject = gone.email_key;
    END IF;
    PERFORM ending_begin('user_sessions', gone.id);
    PERFORM ending_begin('mcp_connections', gone.id);
    PERFORM ending_begin('user', gone.id, what => jsonb_build_object('addresses', to_jsonb(addresses),
        'proved', CASE WHEN gone.email_verified_at IS NOT NULL THEN gone.email_key END,
        'entered', name_key(gone.email)));
END
$$;

-- Deletes a user, by themself or by an administrator, who says so in the audit log: sessions, tokens, keys and
-- memberships of workspaces are dead, runs get no further step, what is personal goes. The personal organization stays,
-- as the ledger's. Raises users.not_found, users.last_admin, orgs.last_owner.
CREATE OR REPLACE FUNCTION user_delete(of_user uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    gone users;
BEGIN
    PERFORM last_admin_guard(of_user);
    SELECT * INTO gone FROM users WHERE id = of_user AND status <> 'deleted' FOR NO KEY UPDATE;
    IF gone.id IS NULL THEN
        PERFORM fail('users.not_found');
    END IF;
    PERFORM last_owner_guard(of_user);
    UPDATE invite_codes SET is_active = false WHERE user_id = of_user AND is_active;
    PERFORM user_scrub(gone);
    PERFORM erasure_begin_user(gone);
    PERFORM ending_begin('memberships', of_user);
    PERFORM api_keys_end(of_user, '-infinity');
    PERFORM user_stop_runs(of_user, NULL, 'user_deleted');
END
$$;

-- Called by hostlerctl, for a login, username or address; nobody is the actor. Raises users.not_found.
CREATE OR REPLACE FUNCTION user_of_operator(name text) RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    of_user uuid := user_named(name);
BEGIN
    IF of_user IS NULL THEN
        PERFORM fail('users.not_found');
    END IF;
    RETURN of_user;
END
$$;

CREATE OR REPLACE FUNCTION user_demote(name text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    of_user uuid := user_of_operator(name);
BEGIN
    PERFORM last_admin_guard(of_user);
    UPDATE users SET platform_admin = false WHERE id = of_user AND platform_admin;
    IF FOUND THEN
        PERFORM audit('users.update', 'user', of_user::text, NULL, '{"platform_admin": true}',
                      '{"platform_admin": false}');
    END IF;
    RETURN of_user;
END
$$;

-- One session that lives, by its id.
CREATE OR REPLACE FUNCTION session_revoke_by_operator(session uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE sessions AS s SET revoked_at = clock_timestamp() WHERE s.id = session AND session_lives(s);
    IF NOT FOUND THEN
        PERFORM fail('sessions.not_found');
    END IF;
    PERFORM audit('auth.session_revoked', 'session', session::text, NULL);
END
$$;

-- All sessions of a user; how many lived. The audit log names the newest thousand.
CREATE OR REPLACE FUNCTION sessions_revoke_by_operator(name text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    of_user uuid := user_of_operator(name);
    living uuid[] := ARRAY(
        SELECT s.id FROM sessions s
        WHERE s.user_id = of_user AND s.revoked_at IS NULL
              AND s.epoch = (SELECT u.session_epoch FROM users u WHERE u.id = of_user)
        ORDER BY s.id DESC LIMIT 1000);
BEGIN
    PERFORM sessions_end(of_user, NULL);
    PERFORM audit('auth.session_revoked', 'session', s.id::text, NULL) FROM unnest(living) AS s (id);
    RETURN cardinality(living);
END
$$;

-- hostlerctl admin create and promote: the operator vouches for the address, so that no administrator is shut out by
-- asking for proved ones.
CREATE OR REPLACE FUNCTION user_promote_proved(name text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    of_user uuid := user_promote(name);
BEGIN
    UPDATE users SET email_verified_at = clock_timestamp() WHERE id = of_user AND email_verified_at IS NULL;
    IF FOUND THEN
        PERFORM audit('auth.email_verified', 'user', of_user::text, NULL, '{"email_verified": false}',
                      '{"email_verified": true}');
    END IF;
    RETURN of_user;
END
$$;
REVOKE EXECUTE ON FUNCTION user_of_operator, user_demote, session_revoke_by_operator, sessions_revoke_by_operator,
    last_admin_guard, last_owner_guard, user_set_status, user_stop_runs, ending_runs, ending_page_runs,
    ending_page_mcp_rest, user_scrub, user_delete,
    user_promote_proved
    FROM hostler_api, hostler_runner;
