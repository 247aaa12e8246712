-- Passkeys: challenges, how passkeys are added, and logins with a passkey alone. The programs verify signatures
-- (lib/account/webauthn.h); what may be used, and that it is used once, is said here.

-- Challenges that were given out. Each serves once, within five minutes, for the purpose and whom it was made for. That
-- of a login that waits for a factor is made of its token, and so has no row.
CREATE TABLE webauthn_challenges (
    hash bytea PRIMARY KEY CHECK (length(hash) = 32),
    purpose text NOT NULL CHECK (purpose IN ('create', 'login', 'confirm')),
    user_id uuid REFERENCES users,  -- null: of a login, whose user nobody knows yet
    session_id uuid,                -- of create and confirm
    expires_at timestamptz NOT NULL,
    CONSTRAINT webauthn_challenges_whose CHECK ((purpose = 'login') = (user_id IS NULL)
                                                AND (user_id IS NULL) = (session_id IS NULL))
);
CREATE INDEX webauthn_challenges_user ON webauthn_challenges (user_id);
CREATE INDEX webauthn_challenges_expiry ON webauthn_challenges (expires_at);

-- For the caller, in their session.
CREATE OR REPLACE FUNCTION challenge_begin(challenge_hash bytea, what text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    INSERT INTO webauthn_challenges (hash, purpose, user_id, session_id, expires_at)
    VALUES (challenge_hash, what, current_user_id(), (current_request() ->> 'session_id')::uuid,
            clock_timestamp() + interval '5 minutes')
$$;

-- Takes a challenge of the caller's session. Returns whether there was one that serves.
CREATE OR REPLACE FUNCTION challenge_taken(challenge_hash bytea, what text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    DELETE FROM webauthn_challenges
    WHERE hash = challenge_hash AND purpose = what AND user_id = current_user_id()
          AND session_id = (current_request() ->> 'session_id')::uuid AND expires_at > clock_timestamp();
    RETURN FOUND;
END
$$;

-- The credentials of a user, in hex, as options for a browser name them.
CREATE OR REPLACE FUNCTION passkey_ids(of_user uuid) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT coalesce(jsonb_agg(encode(f.credential_id, 'hex') ORDER BY f.id), '[]') FROM factors f
    WHERE f.user_id = of_user AND f.type = 'passkey'
$$;

-- POST /v1/me/factors/passkeys:begin. known: passkeys that the account has.
CREATE OR REPLACE FUNCTION passkey_begin(challenge_hash bytea, auth_require_factor text, auth_fresh_seconds integer,
    OUT user_id uuid, OUT email text, OUT username text, OUT known jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users := factor_adding(auth_require_factor, auth_fresh_seconds);
BEGIN
    PERFORM challenge_begin(challenge_hash, 'create');
    user_id := me.id;
    email := me.email;
    username := me.username;
    known := passkey_ids(me.id);
END
$$;

-- POST /v1/me/factors/passkeys, after the credential was read. Returns the factor; is_first: with recovery codes.
CREATE OR REPLACE FUNCTION passkey_create(new_name text, challenge_hash bytea, new_credential_id bytea,
    new_public_key bytea, new_algorithm integer, new_sign_count bigint, code_hashes bytea, auth_require_factor text,
    auth_fresh_seconds integer, OUT item json, OUT is_first boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users := factor_adding(auth_require_factor, auth_fresh_seconds);
    added factors;
BEGIN
    IF NOT challenge_taken(challenge_hash, 'create') THEN
        PERFORM fail('auth.factor_invalid', 'challenge_over');
    END IF;
    INSERT INTO factors (user_id, type, name, confirmed_at, credential_id, public_key, algorithm, sign_count)
    VALUES (me.id, 'passkey', new_name, clock_timestamp(), new_credential_id, new_public_key, new_algorithm,
            new_sign_count)
    ON CONFLICT (credential_id) WHERE credential_id IS NOT NULL DO NOTHING RETURNING * INTO added;
    IF added.id IS NULL THEN
        PERFORM fail('factors.exists');
    END IF;
    is_first := factor_added(me, added, code_hashes);
    item := factor_json(added);
END
$$;

-- The key of a credential, to verify an answer; nulls when nobody has it.
CREATE OR REPLACE FUNCTION passkey_key(wanted_credential_id bytea, OUT public_key bytea, OUT algorithm integer,
    OUT user_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT f.public_key, f.algorithm, f.user_id FROM factors f
    WHERE f.credential_id = wanted_credential_id
$$;

-- Takes the answer of a passkey: {type: passkey, credential_id, challenge (both in hex), is_right, sign_count}.
-- is_right: its signature is. A counter that does not rise was copied with its key: it is refused, and audited. One
-- that stays 0 does not count.
CREATE OR REPLACE FUNCTION passkey_taken(user_row users, answer jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    counted bigint := (answer ->> 'sign_count')::bigint;
    used factors;
BEGIN
    SELECT * INTO used FROM factors
    WHERE credential_id = decode(answer ->> 'credential_id', 'hex') AND user_id = user_row.id FOR UPDATE;
    IF used.id IS NULL OR NOT (answer ->> 'is_right')::boolean THEN
        RETURN false;
    ELSIF counted <= used.sign_count AND (counted > 0 OR used.sign_count > 0) THEN
        PERFORM audit('factors.counter_fell', 'factor', used.id::text, user_row.personal_org_id,
                      jsonb_build_object('sign_count', used.sign_count), jsonb_build_object('sign_count', counted),
                      'denied', user_row.id);
        RETURN false;
    END IF;
    UPDATE factors SET sign_count = counted, last_used_at = clock_timestamp() WHERE id = used.id;
    RETURN true;
END
$$;

-- POST /v1/auth/passkey:begin: a challenge of no certain user.
CREATE OR REPLACE FUNCTION passkey_login_begin(challenge_hash bytea, limit_checks_per_minute integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM attempt_or_fail('auth.passkey', request_network()::text, limit_checks_per_minute, interval '1 minute',
                            'auth.rate_limited');
    INSERT INTO webauthn_challenges (hash, purpose, expires_at)
    VALUES (challenge_hash, 'login', clock_timestamp() + interval '5 minutes');
END
$$;

-- The same with a caller: for POST /v1/auth/confirm. Returns the caller's passkeys.
CREATE OR REPLACE FUNCTION passkey_confirm_begin(challenge_hash bytea) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM challenge_begin(challenge_hash, 'confirm');
    RETURN passkey_ids(current_user_id());
END
$$;

-- POST /v1/auth/passkey: a login with a passkey alone, which verified its user. Returns ok, refused or suspended; what
-- it wrote is to be committed in each case. The challenge is used up in each case.
CREATE OR REPLACE FUNCTION passkey_login(answer jsonb, access_hash bytea, refresh_hash bytea, settings jsonb)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    user_row users;
    is_asked boolean;
    begun uuid;
BEGIN
    DELETE FROM webauthn_challenges
    WHERE hash = decode(answer ->> 'challenge', 'hex') AND purpose = 'login' AND expires_at > clock_timestamp();
    is_asked := FOUND;
    SELECT u.* INTO user_row FROM users u
    WHERE u.id = (SELECT f.user_id FROM factors f
                  WHERE f.credential_id = decode(answer ->> 'credential_id', 'hex')) FOR NO KEY UPDATE;
    IF user_row.id IS NULL OR NOT is_asked OR NOT passkey_taken(user_row, answer) THEN
        PERFORM audit_login_failed(user_row.id, 'passkey');
        RETURN 'refused';
    ELSIF user_row.status <> 'active' THEN
        PERFORM audit('auth.login', 'user', user_row.id::text, user_row.personal_org_id, NULL, '{"by": "passkey"}',
                      'denied', user_row.id);
        RETURN 'suspended';
    END IF;
    begun := session_begin(user_row.id, 'passkey', access_hash, refresh_hash,
                           (settings ->> 'auth.access_token_seconds')::integer,
                           (settings ->> 'auth.refresh_token_seconds')::integer,
                           (settings ->> 'limit.sessions_per_user')::integer);
    UPDATE sessions SET factor_proved_at = clock_timestamp() WHERE id = begun;
    PERFORM audit('auth.login', 'session', begun::text, user_row.personal_org_id, NULL, '{"by": "passkey"}', 'ok',
                  user_row.id);
    RETURN 'ok';
END
$$;
REVOKE EXECUTE ON FUNCTION challenge_begin, challenge_taken, passkey_ids, passkey_taken FROM hostler_api,
    hostler_runner;
REVOKE EXECUTE ON FUNCTION passkey_begin, passkey_create, passkey_key, passkey_login_begin, passkey_confirm_begin,
    passkey_login FROM hostler_runner;
