-- Accounts end: suspended, or deleted with all that is personal in them.

-- Raises users.last_admin when nobody else is an active platform administrator. Whoever takes the mark or the life
-- of one asks this first, and has the user alone from then on: they come one after the other.
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

-- Raises orgs.last_owner when a workspace has no other owner than the user. A suspended owner is none: nobody could
-- act for the workspace. Members of an organization change behind the lock of its row, here in the order of ids: of
-- all whose member the user is, since the user's end takes them out.
CREATE OR REPLACE FUNCTION last_owner_guard(of_user uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    alone text;
BEGIN
    PERFORM 1 FROM orgs o WHERE o.type = 'workspace'
        AND o.id IN (SELECT m.org_id FROM org_members m WHERE m.user_id = of_user)
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

-- The connections of a user and of their personal organization.
CREATE OR REPLACE FUNCTION mcp_connections_of(of_user uuid) RETURNS uuid[]
LANGUAGE sql STABLE AS $$
    SELECT ARRAY(SELECT c.id FROM mcp_connections c WHERE c.user_id = of_user
                 UNION SELECT c.id FROM mcp_connections c
                 WHERE c.org_id = (SELECT u.personal_org_id FROM users u WHERE u.id = of_user))
$$;

-- A user is suspended, or active again. Meanwhile the MCP servers of their personal organization are not listed, and
-- nobody asks for tokens that rest; behind it those that can are refreshed at once, since the old ones may be over.
CREATE OR REPLACE FUNCTION mcp_user_rests(of_user uuid, rests boolean) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    UPDATE mcp_servers s SET listing_id = NULL,
        -- Not infinity, of which no difference can be made (metrics_facts).
        listing_due_at = clock_timestamp() + CASE WHEN rests THEN interval '100 years' ELSE interval '0' END
    WHERE s.org_id = (SELECT u.personal_org_id FROM users u WHERE u.id = of_user) AND s.deleted_at IS NULL;
    UPDATE mcp_connections q SET refresh_at = CASE WHEN NOT rests AND q.has_refresh_token THEN clock_timestamp() END
    WHERE q.id = ANY (mcp_connections_of(of_user)) AND q.state = 'connected'
$$;

-- Who is deleted is connected nowhere, and neither is their personal organization, whose servers are gone like those
-- that somebody deletes (mcp_server_delete): nobody is asked in the name of who is gone.
CREATE OR REPLACE FUNCTION mcp_user_end(gone users) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own uuid[];
BEGIN
    WITH ended AS (
        UPDATE mcp_servers SET deleted_at = clock_timestamp(), is_active = false, secret_id = NULL, listing_id = NULL,
            discovery = NULL, listing_left_out = NULL
        WHERE org_id = gone.personal_org_id AND deleted_at IS NULL RETURNING id)
    SELECT array_agg(ended.id) INTO own FROM ended;
    DELETE FROM mcp_tools WHERE server_id = ANY (own);
    PERFORM mcp_connection_end(of_user.id) FROM unnest(mcp_connections_of(gone.id)) AS of_user (id);
    PERFORM mcp_authorization_fail(q.id, 'the account is deleted') FROM mcp_authorizations q
    WHERE q.user_id = gone.id AND q.status IN ('begun', 'returned');
    DELETE FROM mcp_discoveries WHERE server_id = ANY (own);
    DELETE FROM secrets WHERE org_id = gone.personal_org_id AND kind IN ('mcp_server', 'mcp_client');
END
$$;

-- Makes a user active or suspended, by an administrator of either kind. Suspending ends sessions and keys for good, and
-- a change of the address that was asked for: whoever had them before has none when the user is active again; and
-- cancels the user's runs. MCP servers and connections rest meanwhile. That is rare enough for the notification to go
-- with the commit.
CREATE OR REPLACE FUNCTION user_set_status(of_user uuid, new_status text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state text;
    new_state jsonb := jsonb_build_object('status', new_status);
    dead_keys bigint;
BEGIN
    IF new_status = 'suspended' THEN
        PERFORM last_admin_guard(of_user);
    END IF;
    SELECT status INTO old_state FROM users WHERE id = of_user AND status <> 'deleted' FOR NO KEY UPDATE;
    IF old_state IS NULL THEN
        PERFORM fail('users.not_found');
    ELSIF old_state = new_status THEN
        RETURN;
    END IF;
    UPDATE users SET status = new_status WHERE id = of_user;
    PERFORM mcp_user_rests(of_user, new_status = 'suspended');
    IF new_status = 'suspended' THEN
        PERFORM sessions_end(of_user, NULL);
        DELETE FROM email_tokens t WHERE t.user_id = of_user AND t.is_change;
        UPDATE api_keys SET revoked_at = clock_timestamp() WHERE user_id = of_user AND revoked_at IS NULL;
        GET DIAGNOSTICS dead_keys = ROW_COUNT;
        PERFORM pg_notify('hostler_control', run::text) FROM unnest(user_stop_runs(of_user, NULL,
            'user_suspended')) AS run;
        new_state := new_state || jsonb_build_object('api_keys_revoked', dead_keys);
    END IF;
    PERFORM audit(CASE new_status WHEN 'suspended' THEN 'users.suspend' ELSE 'users.activate' END, 'user',
                  of_user::text,
                  NULL, jsonb_build_object('status', old_state), new_state);
END
$$;

-- Cancels the user's runs wherever they are, and answers them for the daemons' notification.
CREATE OR REPLACE FUNCTION user_stop_runs(of_user uuid, org uuid, why text) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    active uuid[];
    thread_ids uuid[];
    thread_row threads;
    stopped uuid[] := '{}';
BEGIN
    SELECT array_agg(r.id), array_agg(DISTINCT r.thread_id) INTO active, thread_ids
    FROM runs r WHERE r.created_by_user_id = of_user AND r.ended_at IS NULL AND (org IS NULL OR r.org_id = org);
    -- Threads, then runs, then accounts, before the first run ends: the order of everybody who locks several.
    PERFORM 1 FROM threads t WHERE t.id = ANY (thread_ids) ORDER BY t.id FOR UPDATE;
    PERFORM 1 FROM runs r WHERE r.id = ANY (active) ORDER BY r.id FOR UPDATE;
    PERFORM credit_lock(ARRAY(SELECT r.org_id FROM runs r WHERE r.id = ANY (active) AND r.ended_at IS NULL));
    FOR thread_row IN SELECT t.* FROM threads t WHERE t.id = ANY (thread_ids) ORDER BY t.id LOOP
        stopped := stopped || thread_stop(thread_row, NULL, why);
    END LOOP;
    RETURN stopped;
END
$$;

-- The keys for providers of models and tools that the personal organization of a deleted user kept: nobody asks a
-- provider in its name any more.
CREATE OR REPLACE FUNCTION provider_keys_end(org uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE llm_providers SET secret_id = NULL, key_prefix = NULL WHERE org_id = org AND secret_id IS NOT NULL;
    UPDATE tool_providers SET secret_id = NULL, key_prefix = NULL, is_active = false
    WHERE org_id = org AND secret_id IS NOT NULL;
    DELETE FROM secrets WHERE org_id = org AND kind IN ('llm_provider', 'tool_provider');
END
$$;

-- What the personal organization of a deleted user told of its runs and called in them: its webhooks and tools, their
-- addresses and what signs them. Messages that wait go with their endpoint (webhook_prune).
CREATE OR REPLACE FUNCTION endpoints_end(org uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    endpoints uuid[];
    called uuid[];
BEGIN
    WITH ended AS (
        UPDATE webhook_endpoints SET deleted_at = clock_timestamp(), enabled = false, secret_id = NULL
        WHERE org_id = org AND deleted_at IS NULL RETURNING id)
    SELECT array_agg(id) INTO endpoints FROM ended;
    WITH ended AS (
        UPDATE tools SET deleted_at = clock_timestamp(), secret_id = NULL, description = '', parameters = '{}'
        WHERE org_id = org AND deleted_at IS NULL RETURNING id)
    SELECT array_agg(id) INTO called FROM ended;
    DELETE FROM webhook_old_secrets WHERE endpoint_id = ANY (endpoints);
    DELETE FROM tool_old_secrets WHERE tool_id = ANY (called);
    DELETE FROM secrets WHERE org_id = org AND kind IN ('webhook', 'tool');
END
$$;

-- What is personal in an account: names, address, password, whence somebody came or may come, and the address in mails,
-- counters and invitations of others. Login and address are free again. A daemon that is sending a mail to the user
-- meanwhile finds that the mail is no longer its own, and writes nothing. What others sent to an address, and how
-- often, is only forgotten for who proved that it is theirs: else anybody could take it back, or begin to count anew.
CREATE OR REPLACE FUNCTION user_scrub(gone users) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    nobody text := 'deleted-' || gone.id;
    -- And those that lead back to the account, which are nobody else's.
    addresses text[] := ARRAY(SELECT name_key(gone.email) UNION SELECT name_key(r.email) FROM email_reverts r
                              WHERE r.user_id = gone.id AND r.expires_at > clock_timestamp());
BEGIN
    UPDATE users SET status = 'deleted', deleted_at = clock_timestamp(), login = nobody, username = nobody,
        email = nobody || '@deleted.invalid', email_verified_at = NULL, password_hash = NULL, platform_admin = false,
        avatar_url = NULL, locale = 'en', timezone = 'UTC'
    WHERE id = gone.id;
    DELETE FROM user_names WHERE user_id = gone.id;
    UPDATE orgs SET name = nobody WHERE id = gone.personal_org_id;
    PERFORM mcp_user_end(gone);
    PERFORM provider_keys_end(gone.personal_org_id);
    PERFORM endpoints_end(gone.personal_org_id);
    DELETE FROM access_tokens WHERE session_id IN (SELECT id FROM sessions WHERE user_id = gone.id);
    DELETE FROM refresh_tokens WHERE session_id IN (SELECT id FROM sessions WHERE user_id = gone.id);
    UPDATE sessions SET revoked_at = coalesce(revoked_at, clock_timestamp()), client_ip = NULL, neighbourhood = NULL,
        user_agent = ''
    WHERE user_id = gone.id;
    DELETE FROM ip_rules WHERE org_id = gone.personal_org_id;
    DELETE FROM email_tokens WHERE user_id = gone.id;
    DELETE FROM login_codes WHERE user_id = gone.id;
    DELETE FROM login_failures WHERE login_key = gone.id::text;
    PERFORM audit_forget(gone);
    PERFORM outbox_forget_secret(o.id) FROM outbox o
    WHERE o.kind = 'mail' AND name_key(o.recipient) = ANY (addresses)
          AND (gone.email_verified_at IS NOT NULL OR o.template <> 'invitation');
    UPDATE outbox SET status = CASE status WHEN 'delivered' THEN status ELSE 'cancelled' END, next_attempt_at = NULL,
        owner_id = NULL, lease_until = NULL, recipient = '', fields = '{}', last_error = NULL
    WHERE kind = 'mail' AND name_key(recipient) = ANY (addresses)
          AND (gone.email_verified_at IS NOT NULL OR template <> 'invitation');
    IF gone.email_verified_at IS NOT NULL THEN
        DELETE FROM attempts WHERE kind IN ('otp.email', 'otp.email_day', 'invitations.to')
            AND subject = name_key(gone.email);
        UPDATE org_invitations SET email = nobody || '@deleted.invalid',
            revoked_at = CASE WHEN num_nonnulls(accepted_at, revoked_at, ended_at) = 0 THEN clock_timestamp()
                         ELSE revoked_at END
        WHERE name_key(email) = name_key(gone.email);
    END IF;
END
$$;

-- Deletes a user, by themself or by an administrator, who says so in the audit log: sessions, tokens and keys are
-- dead, memberships of workspaces and what is personal are gone, runs are cancelled and answered for the notification.
-- The personal organization stays, as the ledger's. Raises users.not_found, users.last_admin, orgs.last_owner.
CREATE OR REPLACE FUNCTION user_delete(of_user uuid) RETURNS uuid[]
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
    DELETE FROM org_members WHERE user_id = of_user AND org_id <> gone.personal_org_id;
    UPDATE api_keys SET revoked_at = clock_timestamp() WHERE user_id = of_user AND revoked_at IS NULL;
    UPDATE invite_codes SET is_active = false WHERE user_id = of_user AND is_active;
    PERFORM user_scrub(gone);
    PERFORM erasure_begin_user(gone);
    RETURN user_stop_runs(of_user, NULL, 'user_deleted');
END
$$;

-- What hostlerctl does, for a login, username or address; nobody is the actor. Raises users.not_found.
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
    UPDATE sessions SET revoked_at = clock_timestamp() WHERE id = session AND revoked_at IS NULL;
    IF NOT FOUND THEN
        PERFORM fail('sessions.not_found');
    END IF;
    PERFORM audit('auth.session_revoked', 'session', session::text, NULL);
END
$$;

-- All sessions of a user; how many lived.
CREATE OR REPLACE FUNCTION sessions_revoke_by_operator(name text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    of_user uuid := user_of_operator(name);
    -- Held, so that none ends by itself meanwhile.
    ended uuid[] := ARRAY(SELECT id FROM sessions WHERE user_id = of_user AND revoked_at IS NULL ORDER BY id
                          FOR NO KEY UPDATE);
    ended_one uuid;
BEGIN
    FOREACH ended_one IN ARRAY ended LOOP
        PERFORM session_revoke_by_operator(ended_one);
    END LOOP;
    RETURN cardinality(ended);
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
    last_admin_guard, last_owner_guard, user_set_status, user_stop_runs, user_scrub, user_delete, user_promote_proved,
    provider_keys_end, endpoints_end, mcp_connections_of, mcp_user_rests, mcp_user_end
    FROM hostler_api, hostler_runner;
