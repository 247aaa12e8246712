-- Why: what an account hangs on, its address and its password, does not pass to whoever holds it for a moment: an
-- address changes with the password, the old one may be taken back, and the first proof of an address by code ends
-- what was there before it. Locks: users, against writes, for a foreign key and two triggers.

-- Ways back: links that went to the old address of an account when another took its place. Until its end the old
-- address is nobody else's, else a second account would be made to hold it. Whoever locks both locks the user first,
-- then what was mailed to them: these rows, email_tokens, login_codes.
CREATE TABLE email_reverts (
    hash bytea PRIMARY KEY CHECK (length(hash) = 32),
    user_id uuid NOT NULL REFERENCES users,
    email text NOT NULL,            -- what comes back
    asked_at timestamptz NOT NULL,  -- the change that it takes back, and all later ones
    expires_at timestamptz NOT NULL
);
CREATE INDEX email_reverts_user ON email_reverts (user_id);
CREATE INDEX email_reverts_email ON email_reverts (name_key(email));
CREATE INDEX email_reverts_expiry ON email_reverts (expires_at);

-- Whether a way back of another user leads to the address. A minute longer than the link is good, for one that is
-- being followed.
CREATE FUNCTION email_is_kept(address text, spared uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (SELECT 1 FROM email_reverts WHERE name_key(email) = name_key(address)
                   AND user_id IS DISTINCT FROM spared AND expires_at > clock_timestamp() - interval '1 minute')
$$;

-- After the row is written, since only then everybody who had the address has committed. An address that comes without
-- a proof was set by an administrator, or by the account's end: no way leads back from there.
CREATE FUNCTION email_set() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.email_verified_at IS NULL THEN
        DELETE FROM email_reverts WHERE user_id = NEW.id;
    END IF;
    IF email_is_kept(NEW.email, NEW.id) THEN
        PERFORM fail('auth.email_exists');
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER users_email_new AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION email_set();
CREATE TRIGGER users_email_set AFTER UPDATE OF email ON users
    FOR EACH ROW WHEN (name_key(OLD.email) <> name_key(NEW.email)) EXECUTE FUNCTION email_set();

CREATE OR REPLACE FUNCTION email_is_taken(address text, spared uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (SELECT 1 FROM users WHERE name_key(email) = name_key(address) AND status <> 'deleted'
                   AND id <> spared) OR email_is_kept(address, spared)
$$;

-- Takes an account out of the hands that had it: no session, no password, nothing that was mailed, and no API key made
-- since then. What the audit log says of it.
CREATE FUNCTION account_taken_back(who users, keys_since timestamptz) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    dead_keys bigint;
BEGIN
    UPDATE users SET password_hash = NULL WHERE id = who.id;
    PERFORM sessions_end(who.id, NULL);  -- before the keys: api_key_create() holds its session
    DELETE FROM email_tokens WHERE user_id = who.id;
    DELETE FROM login_codes WHERE user_id = who.id;
    UPDATE api_keys SET revoked_at = clock_timestamp()
    WHERE user_id = who.id AND revoked_at IS NULL AND created_at >= keys_since;
    GET DIAGNOSTICS dead_keys = ROW_COUNT;
    RETURN jsonb_build_object('password_voided', who.password_hash IS NOT NULL, 'api_keys_revoked', dead_keys);
END
$$;

-- Whether the caller's session lives and began so lately by a mailed code that it may do without the password.
CREATE OR REPLACE FUNCTION may_forget_password(terms jsonb) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (SELECT 1 FROM sessions WHERE id = (current_request() ->> 'session_id')::uuid AND begun_by = 'otp'
                   AND revoked_at IS NULL
                   AND created_at > clock_timestamp() - make_interval(secs => (terms ->> 'forgot_seconds')::integer))
$$;

-- POST /v1/me/email. The newest address that was asked for is the one; nothing happens when it is verified already.
-- checked_hash: what the given password was checked with, or null in a session that may do without.
DROP FUNCTION email_change_begin(text, jsonb, integer);
CREATE FUNCTION email_change_begin(address text, checked_hash text, mail jsonb, most_per_hour integer, terms jsonb)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users := own_row_locked(checked_hash, terms);
BEGIN
    IF email_is_taken(address, me.id) THEN
        PERFORM fail('auth.email_exists');
    ELSIF address = me.email AND me.email_verified_at IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM attempt_or_fail('email.change', me.id::text, most_per_hour, interval '1 hour', 'email.rate_limited');
    DELETE FROM email_tokens t WHERE t.user_id = me.id AND t.is_change;
    PERFORM email_token_queue(me, address, true, mail);
END
$$;

-- Mails the way back to the address that was the user's until now.
CREATE FUNCTION email_revert_queue(was users, asked_at timestamptz, mail jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    seconds integer := (mail ->> 'seconds')::integer;
    over_at timestamptz := clock_timestamp() - interval '1 hour';
BEGIN
    -- Each new one takes away some that are over: the table grows no longer than links live.
    DELETE FROM email_reverts WHERE hash IN (
        SELECT hash FROM email_reverts WHERE expires_at < over_at ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED);
    INSERT INTO email_reverts (hash, user_id, email, asked_at, expires_at)
    VALUES (decode(mail ->> 'token_hash', 'hex'), was.id, was.email, email_revert_queue.asked_at,
            clock_timestamp() + make_interval(secs => seconds));
    PERFORM mail_queue('email_changed', was.email, was.locale,
                       jsonb_build_object('username', was.username, 'days', ceil(seconds / 86400.0)), mail -> 'secret');
END
$$;

-- A confirmed change: the tokens and codes that went to the old address are void. One that nobody ever proved gets no
-- way back: it would hand the account to a stranger. The audit log names no address.
DROP FUNCTION email_change_finish(users, text);
CREATE FUNCTION email_change_finish(was users, address text, asked_at timestamptz, mail jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF email_is_taken(address, was.id) THEN
        PERFORM fail('auth.email_exists');
    END IF;
    BEGIN
        UPDATE users SET email = address, email_verified_at = clock_timestamp() WHERE id = was.id;
    EXCEPTION WHEN unique_violation THEN
        PERFORM fail('auth.email_exists');
    END;
    DELETE FROM email_tokens WHERE user_id = was.id;
    DELETE FROM login_codes WHERE user_id = was.id;
    IF was.email_verified_at IS NOT NULL AND name_key(was.email) <> name_key(address) THEN
        PERFORM email_revert_queue(was, asked_at, mail);
    END IF;
    PERFORM audit('auth.email_changed', 'user', was.id::text, was.personal_org_id,
                  jsonb_build_object('email_verified', was.email_verified_at IS NOT NULL),
                  '{"email_verified": true}', 'ok', was.id);
END
$$;

-- POST /v1/auth/email/verify/confirm, by whoever has the token. It serves once. mail: the way back, for a change.
-- token_seconds: how long such tokens live, which tells when the change was asked for.
DROP FUNCTION email_confirm(bytea);
CREATE FUNCTION email_confirm(given_hash bytea, mail jsonb, token_seconds integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    token email_tokens;
    who users;
BEGIN
    SELECT u.* INTO who FROM users u JOIN email_tokens t ON t.user_id = u.id
    WHERE t.hash = given_hash AND u.status <> 'deleted' FOR NO KEY UPDATE OF u;
    DELETE FROM email_tokens AS t
    WHERE t.hash = given_hash AND t.user_id = who.id AND t.expires_at > clock_timestamp()
    RETURNING t.hash, t.user_id, t.email, t.is_change, t.expires_at INTO token;
    IF token.hash IS NULL OR (NOT token.is_change AND who.email <> token.email) THEN
        PERFORM fail('email.token_invalid', 'POST /v1/auth/email/verify/send mails another one.');
    ELSIF token.is_change THEN
        PERFORM email_change_finish(who, token.email, token.expires_at - make_interval(secs => token_seconds), mail);
    ELSE
        PERFORM email_verified(who);
    END IF;
END
$$;

-- POST /v1/auth/email/revert, by whoever has the token: the address is the old one again, and whoever changed it is
-- out. They knew the password or held a session, so neither stays, nor do keys made since they asked for the change.
-- Ways back of later changes are void with these; one of an earlier change still leads further back.
CREATE FUNCTION email_revert(given_hash bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    back email_reverts;
    who users;
BEGIN
    SELECT u.* INTO who FROM users u JOIN email_reverts r ON r.user_id = u.id
    WHERE r.hash = given_hash AND u.status <> 'deleted' FOR NO KEY UPDATE OF u;
    SELECT * INTO back FROM email_reverts
    WHERE hash = given_hash AND user_id = who.id AND expires_at > clock_timestamp();
    IF back.hash IS NULL THEN
        PERFORM fail('email.token_invalid', 'The link serves once; ask an administrator when it is too old.');
    END IF;
    DELETE FROM email_reverts WHERE user_id = who.id AND asked_at >= back.asked_at;
    UPDATE users SET email = back.email, email_verified_at = clock_timestamp() WHERE id = who.id;
    PERFORM audit('auth.email_reverted', 'user', who.id::text, who.personal_org_id,
                  jsonb_build_object('email_verified', who.email_verified_at IS NOT NULL),
                  '{"email_verified": true}' || account_taken_back(who, back.asked_at), 'ok', who.id);
END
$$;

-- Raises `code` when the subject had `most` attempts of a kind within the time; counts nothing.
CREATE FUNCTION attempt_guard(what text, whose text, most integer, period interval, code text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    oldest timestamptz;
BEGIN
    SELECT at INTO oldest FROM attempts WHERE kind = what AND subject = whose AND at > clock_timestamp() - period
    ORDER BY at DESC OFFSET most - 1 LIMIT 1;
    IF oldest IS NOT NULL THEN
        PERFORM fail_for_now(code, oldest + period);
    END IF;
END
$$;

-- POST /v1/auth/email/otp/send: the newest code takes the place of the one before. code: {hmac (hex), seconds,
-- secret (the mail's, sealed)}. limits: {otp_window_seconds, otp_sends_per_email, otp_sends_per_ip,
-- otp_sends_per_email_day (0: any number)}.
CREATE OR REPLACE FUNCTION login_code_send(address text, subject uuid, code jsonb, limits jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    period interval := make_interval(secs => (limits ->> 'otp_window_seconds')::integer);
    most_per_day integer := (limits ->> 'otp_sends_per_email_day')::integer;
    seconds integer := (code ->> 'seconds')::integer;
    who users;
    queued uuid;
BEGIN
    PERFORM attempt_or_fail('otp.ip', request_ip()::text, (limits ->> 'otp_sends_per_ip')::integer, period,
                            'auth.otp_rate_limited');
    PERFORM attempt_or_fail('otp.email', name_key(address), (limits ->> 'otp_sends_per_email')::integer, period,
                            'auth.otp_rate_limited');
    IF most_per_day > 0 THEN
        PERFORM attempt_or_fail('otp.email_day', name_key(address), most_per_day, interval '1 day',
                                'auth.otp_rate_limited');
    END IF;
    SELECT * INTO who FROM users WHERE id = subject AND name_key(email) = name_key(address) AND status <> 'deleted';
    INSERT INTO login_codes (email_key, user_id, hmac, expires_at)
    VALUES (name_key(address), who.id, decode(code ->> 'hmac', 'hex'),
            clock_timestamp() + make_interval(secs => seconds))
    ON CONFLICT (email_key) DO UPDATE SET user_id = excluded.user_id, hmac = excluded.hmac, guesses = 0,
        expires_at = excluded.expires_at;
    queued := mail_queue('login_code', coalesce(who.email, address), coalesce(who.locale, 'en'),
                         jsonb_build_object('username', coalesce(who.username, ''), 'minutes', ceil(seconds / 60.0)),
                         code -> 'secret');
    IF who.id IS NULL THEN
        DELETE FROM outbox WHERE id = queued;
        DELETE FROM secrets WHERE id = (code -> 'secret' ->> 'id')::uuid;
    END IF;
END
$$;

-- A login by code that is the first proof of an address: whoever registered it, perhaps to lie in wait for its owner,
-- has nothing any more.
CREATE FUNCTION email_first_proved(who users) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE users SET email_verified_at = clock_timestamp() WHERE id = who.id;
    PERFORM audit('auth.email_verified', 'user', who.id::text, who.personal_org_id, '{"email_verified": false}',
                  '{"email_verified": true}' || account_taken_back(who, '-infinity'), 'ok', who.id);
END
$$;

-- POST /v1/auth/email/otp/verify. Answers ok, refused or suspended; what it wrote is to be committed in each case.
-- Guesses at one code come one after the other; after otp_guesses wrong ones it is locked until the next is sent, and
-- after otp_failures_per_account_day (0: any number) wrong ones within a day no code of the account is taken, nor one
-- of an address that nobody has. limits: these two.
DROP FUNCTION login_code_verify(text, bytea, integer, bytea, bytea, jsonb);
CREATE FUNCTION login_code_verify(address text, given_hmac bytea, limits jsonb, access_hash bytea, refresh_hash bytea,
                                  terms jsonb) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    failures_max integer := (limits ->> 'otp_failures_per_account_day')::integer;
    counted text;
    code login_codes;
    who users;
    begun uuid;
BEGIN
    SELECT * INTO who FROM users WHERE name_key(email) = name_key(address) AND status <> 'deleted' FOR NO KEY UPDATE;
    SELECT * INTO code FROM login_codes WHERE email_key = name_key(address) FOR UPDATE;
    counted := coalesce(who.id::text, name_key(address));
    IF failures_max > 0 THEN
        PERFORM attempt_guard('otp.failure', counted, failures_max, interval '1 day', 'auth.otp_rate_limited');
    END IF;
    IF code.guesses >= (limits ->> 'otp_guesses')::integer THEN
        PERFORM fail_for_now('auth.otp_locked', code.expires_at);
    ELSIF code.user_id IS NULL OR code.user_id IS DISTINCT FROM who.id OR code.hmac <> given_hmac
          OR code.expires_at <= clock_timestamp() THEN
        IF code.expires_at > clock_timestamp() THEN
            UPDATE login_codes SET guesses = guesses + 1 WHERE email_key = code.email_key;
            INSERT INTO attempts (kind, subject) VALUES ('otp.failure', counted);
        END IF;
        PERFORM audit_login_failed(who.id, 'otp');
        RETURN 'refused';
    END IF;
    DELETE FROM login_codes WHERE email_key = code.email_key;
    IF who.status <> 'active' THEN
        PERFORM audit('auth.login', 'user', who.id::text, who.personal_org_id, NULL, '{"by": "otp"}', 'denied', who.id);
        RETURN 'suspended';
    END IF;
    IF who.email_verified_at IS NULL THEN
        PERFORM email_first_proved(who);
    END IF;
    begun := session_begin(who.id, 'otp', access_hash, refresh_hash, terms);
    PERFORM audit('auth.login', 'session', begun::text, who.personal_org_id, NULL, '{"by": "otp"}', 'ok', who.id);
    RETURN 'ok';
END
$$;

-- Tells the user that the password is another, and which API keys live on: the newest 20 by name. Not to an address
-- that nobody proved, which may be a stranger's.
CREATE FUNCTION password_changed_mail(who users) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    named jsonb;
    living bigint;
BEGIN
    IF who.email_verified_at IS NULL THEN
        RETURN;
    END IF;
    SELECT count(*), jsonb_agg(jsonb_build_object(
        'name', CASE WHEN length(k.name) > 60 THEN left(k.name, 59) || '…' ELSE k.name END, 'prefix', k.key_prefix)
        ORDER BY k.id DESC) FILTER (WHERE k.place <= 20)
    INTO living, named
    FROM (SELECT a.id, a.name, a.key_prefix, row_number() OVER (ORDER BY a.id DESC) AS place
          FROM api_keys a JOIN org_members m ON m.org_id = a.org_id AND m.user_id = a.user_id
          WHERE a.user_id = who.id AND a.revoked_at IS NULL
                AND (a.expires_at IS NULL OR a.expires_at > clock_timestamp())) AS k;
    PERFORM mail_queue('password_changed', who.email, who.locale, jsonb_strip_nulls(jsonb_build_object(
        'username', who.username, 'keys', named, 'key_count', nullif(living, 0),
        'more', nullif(greatest(living - 20, 0), 0))));
END
$$;

-- POST /v1/me/password: the caller's other sessions end.
CREATE OR REPLACE FUNCTION own_password_set(checked_hash text, new_hash text, terms jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users := own_row_locked(checked_hash, terms);
BEGIN
    UPDATE users SET password_hash = new_hash WHERE id = me.id;
    PERFORM sessions_end(me.id, (current_request() ->> 'session_id')::uuid);
    PERFORM password_changed_mail(me);
    PERFORM audit('auth.password_changed', 'user', me.id::text, me.personal_org_id, NULL,
                  jsonb_build_object('forgotten', checked_hash IS NULL));
END
$$;

-- POST /v1/api-keys. wanted: {name, key_prefix, scopes, expires_at}; known scopes only. Membership and session are
-- held, so that a key cannot be made behind the end of either.
CREATE OR REPLACE FUNCTION api_key_create(wanted jsonb, new_hash bytea) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    wanted_scopes text[] := ARRAY(SELECT DISTINCT s FROM jsonb_array_elements_text(wanted -> 'scopes') AS s ORDER BY s);
    scope text;
    ended timestamptz;
    made api_keys;
BEGIN
    PERFORM 1 FROM org_members WHERE org_id = current_org() AND user_id = current_user_id() FOR SHARE;
    IF NOT FOUND THEN
        PERFORM fail('orgs.not_found');
    END IF;
    SELECT revoked_at INTO ended FROM sessions WHERE id = (current_request() ->> 'session_id')::uuid FOR SHARE;
    IF ended IS NOT NULL THEN
        PERFORM fail('auth.invalid_token', 'Log in again.');
    END IF;
    FOREACH scope IN ARRAY wanted_scopes LOOP
        IF NOT has_permission(scope) THEN
            PERFORM fail('api_keys.scope_forbidden', format('You do not have %s yourself here.', scope),
                         jsonb_build_object('permission', scope));
        END IF;
    END LOOP;
    INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash, scopes, expires_at)
    VALUES (current_org(), current_user_id(), wanted ->> 'name', wanted ->> 'key_prefix', new_hash, wanted_scopes,
            (wanted ->> 'expires_at')::timestamptz)
    RETURNING * INTO made;
    PERFORM audit('api_keys.create', 'api_key', made.id::text, made.org_id, NULL, api_key_state(made));
    RETURN api_key_json(made);
END
$$;

REVOKE EXECUTE ON FUNCTION email_is_kept, email_set, account_taken_back, email_revert_queue, email_change_finish,
    attempt_guard, email_first_proved, password_changed_mail FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION email_change_begin, email_confirm, email_revert, login_code_verify FROM hostler_runner;
