-- Logins by password and their limits.
--
-- Where many settings matter, `settings` has them under their own names (fcgi/identity/session_answer.h:
-- account_settings).
--
-- A success forgives the failures of its login from its network; the wider limits go on counting them.

-- Raises auth.rate_limited while one of the three limits on failed logins is reached. Who is at home is held up by the
-- failures of their own login there alone: not by those that strangers have elsewhere, nor by what others behind the
-- same address guess at.
CREATE OR REPLACE FUNCTION login_guard(key text, settings jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    period interval := make_interval(secs => (settings ->> 'limit.login_window_seconds')::integer);
    since timestamptz := clock_timestamp() - period;
    here inet := request_network();
    own timestamptz;
    of_others timestamptz;
BEGIN
    SELECT max(limits.at) FILTER (WHERE limits.is_own), max(limits.at) FILTER (WHERE NOT limits.is_own)
    INTO own, of_others FROM (
        (SELECT f.at, true AS is_own FROM login_failures f
         WHERE f.login_key = key AND f.client_ip = here AND f.at > since AND NOT f.is_forgiven
         ORDER BY f.at DESC OFFSET (settings ->> 'limit.login_failures_per_login_and_ip')::integer - 1 LIMIT 1)
        UNION ALL
        (SELECT f.at, false FROM login_failures f WHERE f.login_key = key AND f.at > since
         ORDER BY f.at DESC OFFSET (settings ->> 'limit.login_failures_per_login')::integer - 1 LIMIT 1)
        UNION ALL
        (SELECT f.at, false FROM login_failures f WHERE f.client_ip = here AND f.at > since
         ORDER BY f.at DESC OFFSET (settings ->> 'limit.login_failures_per_ip')::integer - 1 LIMIT 1)) AS limits;
    IF of_others IS NOT NULL AND key ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN
        IF is_at_home(key::uuid) THEN
            of_others := NULL;
        END IF;
    END IF;
    IF coalesce(own, of_others) IS NOT NULL THEN
        PERFORM fail_for_now('auth.rate_limited', greatest(own, of_others) + period);
    END IF;
END
$$;

-- Counts a failure, unless a limit was reached by then. Those who guess at once are counted one after the other.
CREATE OR REPLACE FUNCTION login_failed(key text, settings jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('login ' || key, 0));
    PERFORM pg_advisory_xact_lock(hashtextextended('login from ' || request_network()::text, 0));
    PERFORM login_guard(key, settings);
    INSERT INTO login_failures (login_key, client_ip) VALUES (key, request_network());
END
$$;

-- The first half of a login: whom the password must be checked for. Without a user nothing of the row is set.
-- Failures of a known user count together, whichever of the user's names was typed.
CREATE OR REPLACE FUNCTION login_begin(typed text, settings jsonb,
    OUT candidate_id uuid, OUT stored_hash text, OUT email_verified boolean, OUT is_at_home boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    candidate_id := user_named(typed);
    PERFORM login_guard(coalesce(candidate_id::text, name_key(typed)), settings);
    SELECT u.password_hash, u.email_verified_at IS NOT NULL INTO stored_hash, email_verified
    FROM users u WHERE u.id = candidate_id;
    is_at_home := is_at_home(candidate_id);
END
$$;

-- The second half, after the password was checked against checked_hash. Answers ok, refused, suspended, risky or
-- factor; what it wrote is to be committed in each case. new_hash: the same password with today's parameters, or null.
-- factor: a second factor is still asked for; the client may answer with factors (types) and the token of factor_hash.
CREATE OR REPLACE FUNCTION login_finish(typed text, candidate uuid, is_right boolean, checked_hash text, new_hash text,
    access_hash bytea, refresh_hash bytea, factor_hash bytea, settings jsonb, OUT outcome text, OUT factors jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    key text := coalesce(candidate::text, name_key(typed));
    user_row users;
    begun uuid;
BEGIN
    SELECT * INTO user_row FROM users WHERE id = candidate AND password_hash = checked_hash
        AND is_right FOR NO KEY UPDATE;
    IF user_row.id IS NULL THEN
        PERFORM set_config('synchronous_commit', 'off', true);  -- a guess need not wait for the disk
        PERFORM login_failed(key, settings);
        PERFORM audit_login_failed(candidate);
        outcome := 'refused';
        RETURN;
    END IF;
    PERFORM login_guard(key, settings);
    IF user_row.status <> 'active' THEN
        PERFORM audit('auth.login', 'user', user_row.id::text, user_row.personal_org_id, NULL, NULL, 'denied',
                      user_row.id);
        outcome := 'suspended';
        RETURN;
    END IF;
    IF is_rejected(current_request(), user_row.platform_admin) THEN
        PERFORM audit('auth.login', 'user', user_row.id::text, user_row.personal_org_id, NULL, NULL, 'denied',
                      user_row.id);
        outcome := 'risky';
        RETURN;
    END IF;
    UPDATE login_failures SET is_forgiven = true
    WHERE login_key = key AND client_ip = request_network() AND NOT is_forgiven;
    IF new_hash IS NOT NULL THEN
        UPDATE users SET password_hash = new_hash WHERE id = user_row.id;
    END IF;
    IF user_row.has_factor THEN
        factors := factor_token_begin(user_row, 'password', factor_hash);
        outcome := 'factor';
        RETURN;
    END IF;
    begun := session_begin(user_row.id, 'password', access_hash, refresh_hash,
                           (settings ->> 'auth.access_token_seconds')::integer,
                           (settings ->> 'auth.refresh_token_seconds')::integer,
                           (settings ->> 'limit.sessions_per_user')::integer);
    PERFORM audit('auth.login', 'session', begun::text, user_row.personal_org_id, NULL, NULL, 'ok', user_row.id);
    outcome := 'ok';
END
$$;

REVOKE EXECUTE ON FUNCTION login_guard, login_failed FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION login_begin, login_finish FROM hostler_runner;
