-- Second factors of accounts: TOTP and passkeys, recovery codes, and the logins that wait for a factor.
--
-- An account has factors only while its address is proved: the trigger users_proof_changed removes them when the proof
-- comes or goes. users.has_factor says whether a factor counts, so that logins and requests read no further table.
-- Every change of factors locks the user first. Reached through functions only.

CREATE TABLE factors (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    user_id uuid NOT NULL REFERENCES users,
    type text NOT NULL CHECK (type IN ('totp', 'passkey')),
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    confirmed_at timestamptz,               -- null: a TOTP secret whose first code is still to come; it does not count
    last_used_at timestamptz,
    secret_id uuid REFERENCES secrets,      -- of a TOTP
    last_step bigint NOT NULL DEFAULT 0,    -- of a TOTP: the newest step that was accepted
    credential_id bytea,                    -- of a passkey, as the next three
    public_key bytea,                       -- as lib/account/webauthn.h has it
    algorithm integer,                      -- of COSE
    sign_count bigint NOT NULL DEFAULT 0,   -- 0: the authenticator does not count
    CONSTRAINT factors_parts CHECK (
        (type = 'totp') = (secret_id IS NOT NULL) AND (type = 'passkey') = (credential_id IS NOT NULL)
        AND num_nulls(credential_id, public_key, algorithm) IN (0, 3) AND (type = 'totp' OR confirmed_at IS NOT NULL))
);
CREATE INDEX factors_user ON factors (user_id, id);
CREATE INDEX factors_pending ON factors (created_at) WHERE confirmed_at IS NULL;
CREATE INDEX factors_secret ON factors (secret_id);
CREATE UNIQUE INDEX factors_credential ON factors (credential_id) WHERE credential_id IS NOT NULL;

-- Codes that each serve once in place of a factor. A code that served is gone.
CREATE TABLE recovery_codes (
    user_id uuid NOT NULL REFERENCES users,
    hash bytea NOT NULL CHECK (length(hash) = 32),  -- SHA-256; a code has 80 random bits
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (user_id, hash)
);

-- Logins that wait for a factor. A token serves one login, from the address and user agent that began it.
CREATE TABLE factor_tokens (
    hash bytea PRIMARY KEY CHECK (length(hash) = 32),
    user_id uuid NOT NULL REFERENCES users,
    begun_by text NOT NULL CHECK (begun_by IN ('password', 'otp', 'sso')),
    provenance jsonb,  -- of a login with an identity provider, as session_begin() takes it
    client_ip inet NOT NULL,
    user_agent text NOT NULL,
    epoch bigint NOT NULL,  -- users.session_epoch of its begin: what ends sessions ends it
    failures integer NOT NULL DEFAULT 0,
    has_challenge boolean NOT NULL DEFAULT true,  -- for a passkey, which serves once (lib: challenge_of_token)
    expires_at timestamptz NOT NULL
);
CREATE INDEX factor_tokens_user ON factor_tokens (user_id);
CREATE INDEX factor_tokens_expiry ON factor_tokens (expires_at);
-- The session of an identity provider, whose end ends them.
CREATE INDEX factor_tokens_sid ON factor_tokens ((provenance ->> 'sid') COLLATE "C")
    WHERE provenance ->> 'sid' IS NOT NULL;

-- The clock of TOTP. Tests replace it.
CREATE OR REPLACE FUNCTION factor_clock() RETURNS timestamptz
LANGUAGE sql VOLATILE AS $$
    SELECT clock_timestamp()
$$;

-- Keeps users.has_factor.
CREATE OR REPLACE FUNCTION factors_counted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    of_user uuid := coalesce(NEW.user_id, OLD.user_id);
    counts boolean := EXISTS (SELECT FROM factors f WHERE f.user_id = of_user AND f.confirmed_at IS NOT NULL);
BEGIN
    UPDATE users SET has_factor = counts WHERE id = of_user AND has_factor <> counts;
    RETURN NULL;
END
$$;
CREATE TRIGGER factors_counted AFTER INSERT OR DELETE OR UPDATE OF confirmed_at ON factors
    FOR EACH ROW EXECUTE FUNCTION factors_counted();

-- Removes the factors of a user that were added since then, recovery codes likewise, and every login that waits for
-- one. Without a factor left, no recovery code stays. Returns how many factors that counted are gone.
CREATE OR REPLACE FUNCTION factors_end(of_user uuid, since timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    gone_secrets uuid[];
    gone bigint;
BEGIN
    DELETE FROM factor_tokens WHERE user_id = of_user;
    DELETE FROM webauthn_challenges WHERE user_id = of_user;
    WITH removed AS (
        DELETE FROM factors WHERE user_id = of_user AND (created_at >= since OR confirmed_at IS NULL)
        RETURNING secret_id, confirmed_at)
    SELECT array_agg(r.secret_id), count(r.confirmed_at) INTO gone_secrets, gone FROM removed AS r;
    DELETE FROM secrets WHERE id = ANY (gone_secrets);
    DELETE FROM recovery_codes WHERE user_id = of_user
        AND (created_at >= since OR NOT EXISTS (SELECT FROM factors WHERE user_id = of_user));
    RETURN gone;
END
$$;

-- Secrets whose first code never came. Returns how many.
CREATE OR REPLACE FUNCTION factors_pending_prune(ended timestamptz, at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    gone_secrets uuid[];
BEGIN
    WITH removed AS (
        DELETE FROM factors WHERE id IN (
            SELECT f.id FROM factors f WHERE f.confirmed_at IS NULL AND f.created_at < ended
            ORDER BY f.created_at LIMIT at_most FOR UPDATE SKIP LOCKED)
        RETURNING secret_id)
    SELECT coalesce(array_agg(r.secret_id), '{}') INTO gone_secrets FROM removed AS r;
    DELETE FROM secrets WHERE id = ANY (gone_secrets);
    RETURN cardinality(gone_secrets);
END
$$;

-- The proof of an address came or went: nothing that was added before it serves.
CREATE OR REPLACE FUNCTION factors_end_with_proof() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    gone bigint := factors_end(NEW.id, '-infinity');
BEGIN
    IF gone > 0 AND NEW.status <> 'deleted' THEN
        PERFORM audit('factors.reset', 'user', NEW.id::text, NEW.personal_org_id, NULL,
                      jsonb_build_object('factors', gone, 'by', 'proof'));
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER users_proof_changed AFTER UPDATE OF email_verified_at ON users FOR EACH ROW
    WHEN ((OLD.email_verified_at IS NULL) <> (NEW.email_verified_at IS NULL))
    EXECUTE FUNCTION factors_end_with_proof();

-- Mails the user what happened to their factors; what: added, removed, reset, recovery_used or codes_made. name: of
-- the factor, or null.
CREATE OR REPLACE FUNCTION factors_mail(user_row users, what text, name text, codes_left bigint DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM mail_queue('factors_changed', user_row.email, user_row.locale, jsonb_strip_nulls(jsonb_build_object(
        'username', user_row.username, what, true, 'name', name, 'left', codes_left)), NULL, user_row.email_key,
        user_row.id);
END
$$;

-- The possible answers to a login: {types, passkeys}, the types of factors, those used last first, and the passkeys'
-- ids in hex.
CREATE OR REPLACE FUNCTION factors_asked(of_user uuid) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT jsonb_build_object('types', coalesce(jsonb_agg(t.type ORDER BY t.used DESC NULLS LAST, t.type), '[]'),
        'passkeys', passkey_ids(of_user))
    FROM (SELECT f.type, max(f.last_used_at) AS used FROM factors f
          WHERE f.user_id = of_user AND f.confirmed_at IS NOT NULL GROUP BY f.type) AS t
$$;

-- A login that was right so far waits for a factor, for five minutes. Returns what the client may answer with.
CREATE OR REPLACE FUNCTION factor_token_begin(user_row users, how text, token_hash bytea,
    provenance jsonb DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    INSERT INTO factor_tokens (hash, user_id, begun_by, provenance, client_ip, user_agent, epoch, expires_at)
    VALUES (token_hash, user_row.id, how, factor_token_begin.provenance, request_ip(),
            coalesce(current_request() ->> 'user_agent', ''),
            user_row.session_epoch, clock_timestamp() + interval '5 minutes');
    RETURN factors_asked(user_row.id);
END
$$;

-- Returns the token that this browser may still use, locked after its user. Raises the 401 otherwise.
CREATE OR REPLACE FUNCTION factor_token_held(token_hash bytea) RETURNS factor_tokens
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    token factor_tokens;
BEGIN
    PERFORM FROM users u WHERE u.id = (SELECT t.user_id FROM factor_tokens t WHERE t.hash = token_hash)
    FOR NO KEY UPDATE;
    SELECT t.* INTO token FROM factor_tokens t JOIN users u ON u.id = t.user_id
    WHERE t.hash = token_hash AND t.expires_at > clock_timestamp() AND t.client_ip = request_ip()
          AND t.user_agent = coalesce(current_request() ->> 'user_agent', '') AND t.epoch = u.session_epoch
          AND u.status = 'active' AND u.has_factor
    FOR UPDATE OF t;
    IF token.hash IS NULL THEN
        PERFORM fail('auth.invalid_token', 'factor_token_over');
    END IF;
    RETURN token;
END
$$;

-- The TOTP secrets that a code may belong to, sealed, and the clock that codes go by, in seconds. Raises
-- auth.rate_limited after too many wrong answers in this account.
CREATE OR REPLACE FUNCTION totp_secrets(of_user uuid, auth_factor_failures_per_hour integer,
    OUT clock bigint, OUT secrets jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM attempt_guard('factor.failure', of_user::text, auth_factor_failures_per_hour, interval '1 hour',
                          'auth.rate_limited');
    clock := floor(extract(epoch FROM factor_clock()));
    SELECT coalesce(jsonb_agg(jsonb_build_object('factor_id', f.id, 'secret_id', s.id, 'key_version', s.key_version,
        'wrapped_key', encode(s.wrapped_key, 'hex'), 'sealed', encode(s.sealed, 'hex'))), '[]') INTO secrets
    FROM factors f JOIN secrets s ON s.id = f.secret_id
    WHERE f.user_id = of_user AND f.confirmed_at IS NOT NULL;
END
$$;

-- POST /v1/auth/factor, before the answer is checked.
CREATE OR REPLACE FUNCTION factor_token_secrets(token_hash bytea, auth_factor_failures_per_hour integer,
    OUT clock bigint, OUT secrets jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    token factor_tokens := factor_token_held(token_hash);
BEGIN
    SELECT t.clock, t.secrets INTO clock, secrets FROM totp_secrets(token.user_id, auth_factor_failures_per_hour) AS t;
END
$$;

-- Takes an answer if it is right. answer: {type: totp, matches: [{factor_id, step}]}, where the code fits these steps
-- of these secrets, {type: recovery, hash (hex)}, or {type: passkey, …} (passkeys.sql). Each step and each recovery
-- code is taken once, also of several requests at a time, by a guard in the statement.
CREATE OR REPLACE FUNCTION factor_taken(user_row users, answer jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    match jsonb;
    codes_left bigint;
BEGIN
    IF answer ->> 'type' = 'totp' THEN
        FOR match IN SELECT m FROM jsonb_array_elements(answer -> 'matches') AS m LOOP
            UPDATE factors SET last_step = (match ->> 'step')::bigint, last_used_at = clock_timestamp()
            WHERE id = (match ->> 'factor_id')::uuid AND user_id = user_row.id AND confirmed_at IS NOT NULL
                  AND last_step < (match ->> 'step')::bigint;
            IF FOUND THEN
                RETURN true;
            END IF;
        END LOOP;
    ELSIF answer ->> 'type' = 'passkey' THEN
        RETURN passkey_taken(user_row, answer);
    ELSIF answer ->> 'type' = 'recovery' AND user_row.has_factor THEN
        DELETE FROM recovery_codes WHERE user_id = user_row.id AND hash = decode(answer ->> 'hash', 'hex');
        IF FOUND THEN
            SELECT count(*) INTO codes_left FROM recovery_codes WHERE user_id = user_row.id;
            PERFORM audit('factors.recovery_used', 'user', user_row.id::text, user_row.personal_org_id, NULL,
                          jsonb_build_object('codes_left', codes_left), 'ok', user_row.id);
            PERFORM factors_mail(user_row, 'recovery_used', NULL, codes_left);
            RETURN true;
        END IF;
    END IF;
    RETURN false;
END
$$;

-- Counts a wrong answer for the account.
CREATE OR REPLACE FUNCTION factor_failed(of_user uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    INSERT INTO attempts (kind, subject) VALUES ('factor.failure', of_user::text)
$$;

-- POST /v1/auth/factor: the login goes on when the answer is right. Returns ok or refused; what it wrote is to be
-- committed in each case. The fifth wrong answer ends the token.
CREATE OR REPLACE FUNCTION factor_login(token_hash bytea, answer jsonb, access_hash bytea, refresh_hash bytea,
    auth_factor_failures_per_hour integer, settings jsonb) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    wrong_answers_max constant integer := 5;
    token factor_tokens := factor_token_held(token_hash);
    user_row users;
    begun uuid;
BEGIN
    SELECT * INTO STRICT user_row FROM users WHERE id = token.user_id;
    PERFORM attempt_guard('factor.failure', user_row.id::text, auth_factor_failures_per_hour, interval '1 hour',
                          'auth.rate_limited');
    UPDATE factor_tokens SET has_challenge = false WHERE hash = token.hash AND answer ->> 'type' = 'passkey';
    IF NOT token.has_challenge AND answer ->> 'type' = 'passkey' OR NOT factor_taken(user_row, answer) THEN
        UPDATE factor_tokens SET failures = failures + 1 WHERE hash = token.hash;
        DELETE FROM factor_tokens WHERE hash = token.hash AND failures >= wrong_answers_max;
        PERFORM factor_failed(user_row.id);
        PERFORM audit_login_failed(user_row.id, 'factor');
        RETURN 'refused';
    END IF;
    DELETE FROM factor_tokens WHERE hash = token.hash;
    begun := session_begin(user_row.id, token.begun_by, access_hash, refresh_hash,
                           (settings ->> 'auth.access_token_seconds')::integer,
                           (settings ->> 'auth.refresh_token_seconds')::integer,
                           (settings ->> 'limit.sessions_per_user')::integer, token.provenance);
    UPDATE sessions SET factor_proved_at = clock_timestamp() WHERE id = begun;
    PERFORM audit(CASE token.begun_by WHEN 'sso' THEN 'auth.sso_login' ELSE 'auth.login' END, 'session', begun::text,
                  coalesce((token.provenance ->> 'org_id')::uuid, user_row.personal_org_id), NULL,
                  jsonb_build_object('by', token.begun_by, 'factor', answer ->> 'type'), 'ok', user_row.id);
    RETURN 'ok';
END
$$;

-- POST /v1/auth/confirm {code, recovery_code or credential}: before the answer is checked, and after. Returns ok or
-- refused; what it wrote is to be committed in each case.
CREATE OR REPLACE FUNCTION own_totp_secrets(auth_factor_failures_per_hour integer, OUT clock bigint, OUT secrets jsonb)
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT t.clock, t.secrets FROM totp_secrets(current_user_id(), auth_factor_failures_per_hour) AS t
$$;

CREATE OR REPLACE FUNCTION session_prove_by_factor(answer jsonb, auth_factor_failures_per_hour integer) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users;
    is_asked boolean := true;
BEGIN
    SELECT * INTO STRICT me FROM users WHERE id = current_user_id() FOR NO KEY UPDATE;
    PERFORM attempt_guard('factor.failure', me.id::text, auth_factor_failures_per_hour, interval '1 hour',
                          'auth.rate_limited');
    IF answer ->> 'type' = 'passkey' THEN
        is_asked := challenge_taken(decode(answer ->> 'challenge', 'hex'), 'confirm');
    END IF;
    IF NOT is_asked OR NOT factor_taken(me, answer) THEN
        PERFORM factor_failed(me.id);
        PERFORM audit('auth.confirm', 'user', me.id::text, current_org(), NULL,
                      jsonb_build_object('by', answer ->> 'type'), 'failed');
        RETURN 'refused';
    END IF;
    PERFORM session_proved(answer ->> 'type');
    RETURN 'ok';
END
$$;

-- Raises the 422 of an account that proves sessions with its factor alone.
CREATE OR REPLACE FUNCTION factor_proof_fail() RETURNS void
LANGUAGE sql AS $$
    SELECT fail('auth.factor_required', 'factor_proves')
$$;

-- Whether the caller's session was confirmed within five minutes, as current_password would: in an account with a
-- factor by that factor, or the login was.
CREATE OR REPLACE FUNCTION session_is_confirmed(me users) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (SELECT FROM sessions s
                   WHERE s.id = (current_request() ->> 'session_id')::uuid AND s.user_id = me.id AND session_lives(s)
                         AND CASE WHEN me.has_factor THEN s.factor_proved_at ELSE s.confirmed_at END
                             > clock_timestamp() - interval '5 minutes')
$$;

-- Whether auth.require_factor asks this caller for a second factor, as the context says it.
CREATE OR REPLACE FUNCTION asks_for_factor(context jsonb, platform_admin boolean) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE context ->> 'needs_factor' WHEN 'everyone' THEN true WHEN 'platform_admins' THEN platform_admin
        ELSE false END
$$;

-- Whether an organization asks its members for a factor that the user has not. named: of a request; is_admin: platform
-- administrators act in organizations that they do not belong to.
CREATE OR REPLACE FUNCTION lacks_factor_named(named uuid, of_user uuid, is_admin boolean) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (
        SELECT FROM orgs o
        WHERE o.id = named AND o.require_factor
              AND (is_admin OR EXISTS (SELECT FROM org_members m WHERE m.org_id = o.id AND m.user_id = of_user)))
$$;
REVOKE EXECUTE ON FUNCTION factors_counted, factors_end, factors_pending_prune, factors_end_with_proof, factors_mail,
    factors_asked, factor_token_begin, factor_token_held, totp_secrets, factor_taken, factor_failed,
    factor_proof_fail, session_is_confirmed, lacks_factor_named FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION factor_token_secrets, factor_login, own_totp_secrets, session_prove_by_factor FROM
    hostler_runner;
