-- Sessions and their tokens, and what counts failed logins (logins.sql). Reached through these functions only.

CREATE TABLE sessions (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    user_id uuid NOT NULL REFERENCES users,
    begun_by text NOT NULL CHECK (begun_by IN ('register', 'password', 'otp', 'passkey', 'sso')),
    client_ip inet,
    neighbourhood inet,  -- of client_ip, for is_at_home()
    user_agent text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    revoked_at timestamptz,
    refresh_reused boolean NOT NULL DEFAULT false,  -- a token came back after its rotation: somebody copied it
    -- Time at which its last user proved who they are: at its begin, or by POST /v1/auth/confirm.
    proved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    confirmed_at timestamptz,      -- by POST /v1/auth/confirm
    factor_proved_at timestamptz,  -- by a second factor, at the login or by POST /v1/auth/confirm
    code_proved_at timestamptz,    -- by a mailed code, likewise
    epoch bigint NOT NULL DEFAULT 0,  -- users.session_epoch when it began; in a later epoch it is over
    -- For a session that began with an identity provider. It is over with its link (identity_holds).
    identity_id uuid,
    provider_id uuid,
    provider_sid text COLLATE "C",  -- the provider's own session
    confined_org_id uuid,  -- it acts in this organization alone
    ends_at timestamptz,   -- then the provider is needed again
    CONSTRAINT sessions_of_providers CHECK ((begun_by = 'sso') = (identity_id IS NOT NULL)
        AND num_nulls(identity_id, provider_id, ends_at) IN (0, 3))
);
CREATE INDEX sessions_identity ON sessions (identity_id) WHERE identity_id IS NOT NULL AND revoked_at IS NULL;
CREATE INDEX sessions_provider_sid ON sessions (provider_id, provider_sid)
    WHERE provider_sid IS NOT NULL AND revoked_at IS NULL;
CREATE INDEX sessions_user ON sessions (user_id, id);
CREATE INDEX sessions_living ON sessions (user_id, epoch, id) WHERE revoked_at IS NULL;
CREATE INDEX sessions_home ON sessions (user_id, neighbourhood, created_at);
GRANT SELECT ON sessions TO hostler_runner;

CREATE TABLE access_tokens (
    hash bytea PRIMARY KEY CHECK (length(hash) = 32),
    session_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
    expires_at timestamptz NOT NULL,
    -- Its rights in the user's personal organization, or nulls while unknown: token_grants.sql.
    user_id uuid,
    personal_org_id uuid,
    role text,
    is_proved boolean,
    admitted_address inet,  -- null: it has no IP rules
    CONSTRAINT access_tokens_grant CHECK (num_nulls(user_id, personal_org_id, role, is_proved) IN (0, 4))
) WITH (fillfactor = 75);
CREATE INDEX access_tokens_session ON access_tokens (session_id);
CREATE INDEX access_tokens_expiry ON access_tokens (expires_at);
-- Tokens that keep a grant: few of each user (token_grants.sql).
CREATE INDEX access_tokens_granting ON access_tokens (user_id, expires_at) WHERE user_id IS NOT NULL;
GRANT SELECT ON access_tokens TO hostler_runner;

CREATE TABLE refresh_tokens (
    hash bytea PRIMARY KEY CHECK (length(hash) = 32),
    session_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
    expires_at timestamptz NOT NULL,
    rotated_at timestamptz
);
CREATE INDEX refresh_tokens_session ON refresh_tokens (session_id);
CREATE INDEX refresh_tokens_expiry ON refresh_tokens (expires_at);

CREATE TABLE login_failures (
    login_key text COLLATE "C" NOT NULL,
    client_ip inet NOT NULL,  -- the network: request_network()
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    is_forgiven boolean NOT NULL DEFAULT false  -- by a success from the same network; the wider limits count it
);
CREATE INDEX login_failures_login ON login_failures (login_key, at);
CREATE INDEX login_failures_address ON login_failures (client_ip, at);
CREATE INDEX login_failures_at ON login_failures (at);

-- Whether a session lives: neither it nor all of its user's were ended since it began. What its user may do is another
-- matter.
CREATE OR REPLACE FUNCTION session_lives(s sessions) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT s.revoked_at IS NULL AND s.epoch = (SELECT u.session_epoch FROM users u WHERE u.id = s.user_id)
        AND coalesce(s.ends_at > clock_timestamp(), true)
        AND CASE WHEN s.identity_id IS NULL THEN true ELSE identity_holds(s.identity_id) END
$$;

CREATE OR REPLACE FUNCTION request_ip() RETURNS inet
LANGUAGE sql STABLE AS $$
    SELECT coalesce((current_request() ->> 'client_ip')::inet, '0.0.0.0')
$$;

-- Network from which the request comes, for all counts by it, because the owner of one address of version 6 has 2^64 of
-- them.
CREATE OR REPLACE FUNCTION request_network() RETURNS inet
LANGUAGE sql STABLE AS $$
    SELECT network_of(request_ip())
$$;

-- The neighbourhood of an address, in which somebody who comes back is likely to be found: 24 bits of version 4, 64 of
-- version 6.
CREATE OR REPLACE FUNCTION neighbourhood_of(address inet) RETURNS inet
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE family(network_of(address)) WHEN 4 THEN network(set_masklen(network_of(address), 24))::inet
        ELSE network_of(address) END
$$;

-- Whether the user came in from the request's neighbourhood within 30 days. Asked at every guess of their password, as
-- the next one is: both are planned once a connection, which a function in SQL is at each call.
CREATE OR REPLACE FUNCTION is_at_home(of_user uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    here inet := neighbourhood_of(request_ip());
BEGIN
    RETURN EXISTS (SELECT 1 FROM sessions s
                   WHERE s.user_id = of_user AND s.neighbourhood = here
                         AND s.created_at > clock_timestamp() - interval '30 days');
END
$$;

-- The user of a login, username or email; null for none. typed: as lib/account makes it (login_key).
CREATE OR REPLACE FUNCTION user_named(typed text) RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    sought text := name_key(typed);
    named uuid;
BEGIN
    IF position('@' IN sought) > 0 THEN
        SELECT u.id INTO named FROM users u WHERE u.email_key = sought AND u.status <> 'deleted';
    ELSE
        SELECT n.user_id INTO named FROM user_names n WHERE n.name_key = sought;
    END IF;
    RETURN named;
END
$$;

-- POST /v1/auth/check. It says of a name what registration does: an address that comes back to its account exists.
CREATE OR REPLACE FUNCTION login_exists(typed text, max_per_minute integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);  -- a count need not survive a crash
    PERFORM attempt_or_fail('auth.check', request_network()::text, max_per_minute, interval '1 minute',
                            'auth.rate_limited');
    RETURN user_named(typed) IS NOT NULL OR email_is_kept(typed, NULL);
END
$$;

-- A new session with its first pair of tokens. Refused if the risk of the request is too high, whatever the way to log
-- in. The user is locked before the session, so that the session has the epoch of its commit. A user has at most
-- limit_sessions_per_user sessions: the oldest idle ones make room (a thousand at once, if the limit has fallen).
-- provenance: of a session that an identity provider begins, {identity_id, provider_id, org_id (it is confined to),
-- sid, seconds}. A login in the usual way links the account to the provider that waits for that (sso_logins.sql).
CREATE OR REPLACE FUNCTION session_begin(of_user uuid, how text, access_hash bytea, refresh_hash bytea,
    auth_access_token_seconds integer, auth_refresh_token_seconds integer,
    limit_sessions_per_user integer DEFAULT NULL, provenance jsonb DEFAULT NULL) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    cookie_hashes jsonb := current_request() -> 'sso_flows';
    now_epoch bigint;
    begun uuid;
BEGIN
    PERFORM risk_check(of_user);
    UPDATE users SET last_login_at = clock_timestamp(), last_seen_at = clock_timestamp() WHERE id = of_user
    RETURNING session_epoch INTO STRICT now_epoch;
    UPDATE sessions SET revoked_at = clock_timestamp()
    WHERE id IN (SELECT s.id FROM sessions s
                 WHERE s.id = ANY (ARRAY(
                     SELECT q.id FROM sessions q
                     WHERE q.user_id = of_user AND q.epoch = now_epoch AND q.revoked_at IS NULL
                     ORDER BY q.last_seen_at DESC, q.id DESC
                     OFFSET coalesce(limit_sessions_per_user, 100) - 1 LIMIT 1000))
                 ORDER BY s.id FOR NO KEY UPDATE);
    INSERT INTO sessions (user_id, begun_by, client_ip, neighbourhood, user_agent, epoch, code_proved_at,
        identity_id, provider_id, provider_sid, confined_org_id, ends_at)
    VALUES (of_user, how, request_ip(), neighbourhood_of(request_ip()),
            left(coalesce(current_request() ->> 'user_agent', ''), 500), now_epoch,
            CASE how WHEN 'otp' THEN clock_timestamp() END, (provenance ->> 'identity_id')::uuid,
            (provenance ->> 'provider_id')::uuid, provenance ->> 'sid', (provenance ->> 'org_id')::uuid,
            clock_timestamp() + make_interval(secs => (provenance ->> 'seconds')::double precision))
    RETURNING id INTO begun;
    IF cookie_hashes IS NOT NULL AND how IN ('password', 'otp', 'passkey') THEN
        PERFORM sso_link_waiting(of_user, cookie_hashes);
    END IF;
    PERFORM session_tokens(begun, access_hash, refresh_hash, auth_access_token_seconds, auth_refresh_token_seconds);
    RETURN begun;
END
$$;

-- They end with the session at the latest.
CREATE OR REPLACE FUNCTION session_tokens(session uuid, access_hash bytea, refresh_hash bytea,
    auth_access_token_seconds integer, auth_refresh_token_seconds integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    latest timestamptz := coalesce((SELECT s.ends_at FROM sessions s WHERE s.id = session), 'infinity');
BEGIN
    INSERT INTO access_tokens (hash, session_id, expires_at) VALUES (access_hash, session,
        least(latest, clock_timestamp() + make_interval(secs => auth_access_token_seconds)));
    INSERT INTO refresh_tokens (hash, session_id, expires_at) VALUES (refresh_hash, session,
        least(latest, clock_timestamp() + make_interval(secs => auth_refresh_token_seconds)));
END
$$;

-- Splits concatenated hashes of 32 bytes each.
CREATE OR REPLACE FUNCTION hashes_of(given bytea) RETURNS bytea[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT array_agg(substr(given, 32 * n + 1, 32) ORDER BY n) FROM generate_series(0, length(given) / 32 - 1) AS n
$$;

-- Returns the hash of the first token that is valid. If none is, returns one whose session is active or ended by reuse,
-- so that reuse is judged. null: none is known.
CREATE OR REPLACE FUNCTION refresh_token_chosen(given bytea[], auth_refresh_race_seconds integer) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT t.hash FROM refresh_tokens t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
    CROSS JOIN LATERAL (SELECT t.expires_at > clock_timestamp() AS is_kept, session_lives(s) AND u.status = 'active'
        AS goes_on, coalesce(clock_timestamp() < t.rotated_at + make_interval(secs => auth_refresh_race_seconds), true)
        AS is_unused) AS l
    WHERE t.hash = ANY (given)
    ORDER BY l.is_kept AND l.goes_on AND l.is_unused DESC, l.is_kept DESC, l.goes_on OR s.refresh_reused DESC,
             array_position(given, t.hash)
    LIMIT 1
$$;

-- POST /v1/auth/refresh. Answers ok (the new pair is stored), invalid, or reused (the session is over); what it wrote
-- is to be committed in each case. Requests with the same token come one after the other.
CREATE OR REPLACE FUNCTION session_refresh(given_hashes bytea, access_hash bytea, refresh_hash bytea,
    auth_access_token_seconds integer, auth_refresh_token_seconds integer, auth_refresh_race_seconds integer)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    given_hash bytea := refresh_token_chosen(hashes_of(given_hashes), auth_refresh_race_seconds);
    token refresh_tokens;
    read_row record;
BEGIN
    SELECT * INTO token FROM refresh_tokens WHERE hash = given_hash FOR UPDATE;
    IF token.hash IS NULL OR token.expires_at <= clock_timestamp() THEN
        RETURN 'invalid';
    END IF;
    -- A statement that locks both locks the user first, then the session.
    PERFORM 1 FROM users WHERE id = (SELECT user_id FROM sessions WHERE id = token.session_id) FOR NO KEY UPDATE;
    SELECT s.id, session_lives(s) AS lives, s.refresh_reused, u.id AS user_id, u.status, u.personal_org_id
    INTO STRICT read_row
    FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = token.session_id FOR UPDATE OF s;
    IF read_row.refresh_reused THEN
        RETURN 'reused';
    ELSIF NOT read_row.lives OR read_row.status <> 'active' THEN
        RETURN 'invalid';
    ELSIF clock_timestamp() >= token.rotated_at + make_interval(secs => auth_refresh_race_seconds) THEN
        UPDATE sessions SET revoked_at = clock_timestamp(), refresh_reused = true WHERE id = read_row.id;
        PERFORM audit('auth.refresh_reuse', 'session', read_row.id::text, read_row.personal_org_id, NULL, NULL,
                      'denied',
                      read_row.user_id);
        RETURN 'reused';
    END IF;
    PERFORM risk_check(read_row.user_id);
    UPDATE refresh_tokens SET rotated_at = coalesce(rotated_at, clock_timestamp()) WHERE hash = given_hash;
    PERFORM session_tokens(read_row.id, access_hash, refresh_hash, auth_access_token_seconds,
                           auth_refresh_token_seconds);
    UPDATE sessions SET last_seen_at = clock_timestamp() WHERE id = read_row.id;
    UPDATE users SET last_seen_at = clock_timestamp() WHERE id = read_row.user_id;
    RETURN 'ok';
END
$$;

-- POST /v1/auth/logout: the caller's session, or all of the user's.
CREATE OR REPLACE FUNCTION session_end(is_all boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own uuid := (current_request() ->> 'session_id')::uuid;
BEGIN
    IF is_all THEN
        PERFORM sessions_end(current_user_id(), NULL);
    ELSE
        UPDATE sessions SET revoked_at = clock_timestamp()
        WHERE id = own AND user_id = current_user_id() AND revoked_at IS NULL;
    END IF;
    PERFORM audit('auth.logout', 'session', own::text, current_org(), NULL, jsonb_build_object('all', is_all));
END
$$;

-- Takes away what is over, at most so many rows of each: counters, codes and tokens a day after their end, and
-- sessions with the last of their refresh tokens. For the daemon's maintenance.
CREATE OR REPLACE FUNCTION auth_prune(at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    ended timestamptz := clock_timestamp() - interval '1 day';
    ended_sessions uuid[];
    taken bigint;
    highest bigint := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('auth prune', 0)) THEN
        RETURN 0;
    END IF;
    DELETE FROM attempts WHERE ctid IN (SELECT ctid FROM attempts WHERE at < ended ORDER BY at LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    highest := greatest(highest, taken);
    DELETE FROM login_failures WHERE ctid IN
        (SELECT ctid FROM login_failures WHERE at < ended ORDER BY at LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    highest := greatest(highest, taken);
    DELETE FROM email_tokens WHERE hash IN
        (SELECT hash FROM email_tokens WHERE expires_at < ended ORDER BY expires_at LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    highest := greatest(highest, taken);
    DELETE FROM login_codes WHERE email_key IN
        (SELECT email_key FROM login_codes WHERE expires_at < ended ORDER BY expires_at LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    highest := greatest(highest, taken);
    DELETE FROM factor_tokens WHERE hash IN
        (SELECT hash FROM factor_tokens WHERE expires_at < ended ORDER BY expires_at LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    highest := greatest(highest, taken, factors_pending_prune(ended, at_most));
    DELETE FROM webauthn_challenges WHERE hash IN
        (SELECT hash FROM webauthn_challenges WHERE expires_at < ended ORDER BY expires_at LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    highest := greatest(highest, taken);
    DELETE FROM access_tokens WHERE hash IN
        (SELECT hash FROM access_tokens WHERE expires_at < ended ORDER BY expires_at LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    highest := greatest(highest, taken);
    WITH gone AS (
        DELETE FROM refresh_tokens WHERE hash IN
            (SELECT hash FROM refresh_tokens WHERE expires_at < ended ORDER BY expires_at LIMIT at_most)
        RETURNING session_id)
    SELECT array_agg(DISTINCT session_id), count(*) INTO ended_sessions, taken FROM gone;
    highest := greatest(highest, taken);
    DELETE FROM sessions s WHERE s.id = ANY (ended_sessions)
        AND NOT EXISTS (SELECT 1 FROM refresh_tokens r WHERE r.session_id = s.id);
    RETURN highest;
END
$$;

-- Ends sessions of a user, all but one, by the user's next epoch: their tokens are dead with the commit, their streams
-- within 5 s, however many there are. The sweep revokes each of them.
CREATE OR REPLACE FUNCTION sessions_end(of_user uuid, except_id uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    next_epoch bigint;
BEGIN
    UPDATE users SET session_epoch = session_epoch + 1 WHERE id = of_user
    RETURNING session_epoch INTO STRICT next_epoch;
    UPDATE sessions SET epoch = next_epoch
    WHERE id = except_id AND user_id = of_user AND epoch = next_epoch - 1 AND revoked_at IS NULL;
    PERFORM ending_begin('sessions', of_user, what => jsonb_build_object('epoch', next_epoch));
END
$$;

-- The sweep of sessions_end(): sessions of earlier epochs, each revoked as of the end.
CREATE OR REPLACE FUNCTION ending_page_sessions(e endings, at_most integer, is_whole boolean) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    page uuid[] := ARRAY(
        SELECT q.id FROM (
            SELECT s.id FROM sessions s
            WHERE s.user_id = e.subject_id AND s.epoch < (e.facts ->> 'epoch')::bigint AND s.revoked_at IS NULL
            LIMIT at_most) AS q
        ORDER BY q.id);
BEGIN
    IF is_whole AND cardinality(page) = at_most THEN
        RETURN ending_again();
    END IF;
    PERFORM FROM sessions s WHERE s.id = ANY (page) ORDER BY s.id FOR NO KEY UPDATE;
    UPDATE sessions s SET revoked_at = e.ended_at WHERE s.id = ANY (page) AND s.revoked_at IS NULL;
    RETURN CASE WHEN cardinality(page) = at_most THEN page[at_most] END;
END
$$;

REVOKE EXECUTE ON FUNCTION session_begin, session_tokens, user_named, sessions_end, ending_page_sessions, is_at_home,
    refresh_token_chosen FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION auth_prune FROM hostler_api;
REVOKE EXECUTE ON FUNCTION login_exists, session_refresh, session_end FROM hostler_runner;
