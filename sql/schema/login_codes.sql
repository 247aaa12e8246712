-- Logins by a mailed code.
--
-- An address without a user gets a row and the same work, but no mail: neither answers nor times tell the two apart.
--
-- An address comes as its key: users.email_key.
--
-- Requests and wrong guesses of strangers count for strangers. Otherwise a few calls of anybody would keep somebody out
-- for a day. A caller who is_at_home() is counted separately, and so is one who proves a live session.

CREATE TABLE login_codes (
    email_key text COLLATE "C" PRIMARY KEY,
    user_id uuid REFERENCES users,  -- null: nobody has the address
    hmac bytea NOT NULL,            -- of user and code, by a key that the database does not have
    guesses integer[] NOT NULL DEFAULT '{0,0,0}',  -- wrong ones: by strangers, from home, in a session
    expires_at timestamptz NOT NULL
);
CREATE INDEX login_codes_user ON login_codes (user_id);
CREATE INDEX login_codes_expiry ON login_codes (expires_at);

-- The user who has the address, or an id of nobody. And an id for the mail's secret.
CREATE OR REPLACE FUNCTION login_code_subject(address text, OUT subject_id uuid, OUT secret_id uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    secret_id := public.uuidv7();
    SELECT id INTO subject_id FROM users WHERE email_key = address AND status <> 'deleted';
    subject_id := coalesce(subject_id, public.uuidv7());
END
$$;

-- POST /v1/auth/email/otp/send: the newest code takes the place of the one before. secret: the mail's, sealed. 0 sends
-- a day are any number.
CREATE OR REPLACE FUNCTION login_code_send(address text, subject uuid, new_hmac bytea, secret jsonb,
    auth_otp_seconds integer, limit_otp_window_seconds integer, limit_otp_sends_per_email integer,
    limit_otp_sends_per_ip integer, limit_otp_sends_per_email_day integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    period interval := make_interval(secs => limit_otp_window_seconds);
    user_row users;
    whose text;
    queued uuid;
BEGIN
    SELECT * INTO user_row FROM users WHERE id = subject AND email_key = address
        AND status <> 'deleted';
    whose := CASE WHEN is_at_home(user_row.id) THEN concat_ws(' ', user_row.id, request_network())
                  ELSE address END;
    PERFORM attempt_or_fail('otp.ip', request_network()::text, limit_otp_sends_per_ip, period,
                            'auth.otp_rate_limited');
    PERFORM attempt_or_fail('otp.email', whose, limit_otp_sends_per_email, period, 'auth.otp_rate_limited');
    IF limit_otp_sends_per_email_day > 0 THEN
        PERFORM attempt_or_fail('otp.email_day', whose, limit_otp_sends_per_email_day, interval '1 day',
                                'auth.otp_rate_limited');
    END IF;
    INSERT INTO login_codes (email_key, user_id, hmac, expires_at)
    VALUES (address, user_row.id, new_hmac, clock_timestamp() + make_interval(secs => auth_otp_seconds))
    ON CONFLICT (email_key) DO UPDATE SET user_id = excluded.user_id, hmac = excluded.hmac,
        guesses = '{0,0,0}', expires_at = excluded.expires_at;
    queued := mail_queue('login_code', coalesce(user_row.email, address), coalesce(user_row.locale, 'en'),
                         jsonb_build_object('username', coalesce(user_row.username, ''),
                                            'minutes', ceil(auth_otp_seconds / 60.0)), secret, address, user_row.id,
                         clock_timestamp() + make_interval(secs => auth_otp_seconds));
    IF user_row.id IS NULL THEN
        DELETE FROM outbox WHERE id = queued;
        DELETE FROM secrets WHERE id = (secret ->> 'id')::uuid;
    END IF;
END
$$;

-- Takes the code of an address if it is the user's, who is held (null: nobody's address), and answers whether it was.
-- Guesses at one code come one after the other; after limit_otp_guesses wrong ones it is locked, until the next is
-- sent, for those who guessed them: strangers, who is at home, or the session that is proved with it (null: none is).
-- After limit_otp_failures_per_account_day wrong ones within an hour, over all codes, this way in is closed to those
-- who gave them until the first of these is an hour old. How many codes are sent a day bounds the guesses of a day.
CREATE OR REPLACE FUNCTION login_code_take(address text, of_user uuid, given_hmac bytea, session uuid,
    limit_otp_guesses integer, limit_otp_failures_per_account_day integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    place CONSTANT integer := CASE WHEN session IS NOT NULL THEN 3 WHEN is_at_home(of_user) THEN 2 ELSE 1 END;
    counted CONSTANT text := CASE place WHEN 3 THEN session::text
                                        WHEN 2 THEN concat_ws(' ', of_user, request_network())
                                        ELSE coalesce(of_user::text, address) END;
    code login_codes;
    oldest timestamptz;
BEGIN
    SELECT * INTO code FROM login_codes WHERE email_key = address FOR UPDATE;
    IF limit_otp_failures_per_account_day > 0 THEN
        SELECT a.at INTO oldest FROM attempts a
        WHERE a.kind = 'otp.failure' AND a.subject = counted AND a.at > clock_timestamp() - interval '1 hour'
        ORDER BY a.at DESC OFFSET limit_otp_failures_per_account_day - 1 LIMIT 1;
        IF oldest IS NOT NULL THEN
            PERFORM fail('auth.otp_rate_limited', 'guessed_too_often', jsonb_build_object('retry_after_s',
                greatest(1, ceil(extract(epoch FROM oldest + interval '1 hour' - clock_timestamp()))::integer)));
        END IF;
    END IF;
    IF code.guesses[place] >= limit_otp_guesses THEN
        PERFORM fail('auth.otp_locked', 'next_code_serves');  -- waiting changes nothing, also not for its expiry
    ELSIF code.user_id IS NULL OR code.user_id IS DISTINCT FROM of_user OR code.hmac <> given_hmac
          OR code.expires_at <= clock_timestamp() THEN
        IF code.expires_at > clock_timestamp() THEN
            UPDATE login_codes SET guesses[place] = guesses[place] + 1 WHERE email_key = code.email_key;
            INSERT INTO attempts (kind, subject) VALUES ('otp.failure', counted);
        END IF;
        RETURN false;
    END IF;
    DELETE FROM login_codes WHERE email_key = code.email_key;
    RETURN true;
END
$$;

-- POST /v1/auth/email/otp/verify. Answers ok, refused, suspended or factor, as login_finish(); what it wrote is to be
-- committed in each case.
CREATE OR REPLACE FUNCTION login_code_verify(address text, given_hmac bytea, access_hash bytea, refresh_hash bytea,
    factor_hash bytea, limit_otp_guesses integer, limit_otp_failures_per_account_day integer,
    auth_access_token_seconds integer, auth_refresh_token_seconds integer,
    limit_sessions_per_user integer DEFAULT NULL, OUT outcome text, OUT factors jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    user_row users;
    begun uuid;
BEGIN
    -- Before their row, as everybody who wants both: see account_taken_back().
    PERFORM user_hold_alone(u.id) FROM users u WHERE u.email_key = address AND u.status <> 'deleted'
        AND u.email_verified_at IS NULL;
    SELECT * INTO user_row FROM users WHERE email_key = address
        AND status <> 'deleted' FOR NO KEY UPDATE;
    IF NOT login_code_take(address, user_row.id, given_hmac, NULL, limit_otp_guesses,
                           limit_otp_failures_per_account_day) THEN
        PERFORM audit_login_failed(user_row.id, 'otp');
        outcome := 'refused';
        RETURN;
    END IF;
    IF user_row.status <> 'active' THEN
        PERFORM audit('auth.login', 'user', user_row.id::text, user_row.personal_org_id, NULL, '{"by": "otp"}',
                      'denied', user_row.id);
        outcome := 'suspended';
        RETURN;
    END IF;
    IF user_row.email_verified_at IS NULL THEN
        PERFORM email_first_proved(user_row);  -- with it all factors are gone
    ELSIF user_row.has_factor THEN
        factors := factor_token_begin(user_row, 'otp', factor_hash);
        outcome := 'factor';
        RETURN;
    END IF;
    begun := session_begin(user_row.id, 'otp', access_hash, refresh_hash, auth_access_token_seconds,
                           auth_refresh_token_seconds, limit_sessions_per_user);
    PERFORM audit('auth.login', 'session', begun::text, user_row.personal_org_id, NULL, '{"by": "otp"}', 'ok',
                  user_row.id);
    outcome := 'ok';
END
$$;

-- POST /v1/auth/confirm {otp}: a code of the caller's own address proves the session again. It proves no address.
-- Answers ok or refused; what it wrote is to be committed in each case.
CREATE OR REPLACE FUNCTION session_prove_by_code(given_hmac bytea, limit_otp_guesses integer,
    limit_otp_failures_per_account_day integer) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users;
BEGIN
    SELECT * INTO STRICT me FROM users WHERE id = current_user_id() FOR NO KEY UPDATE;
    IF me.has_factor THEN
        PERFORM factor_proof_fail();
    END IF;
    IF NOT login_code_take(me.email_key, me.id, given_hmac, (current_request() ->> 'session_id')::uuid,
                           limit_otp_guesses, limit_otp_failures_per_account_day) THEN
        PERFORM audit('auth.confirm', 'user', me.id::text, current_org(), NULL, '{"by": "otp"}', 'failed');
        RETURN 'refused';
    END IF;
    PERFORM session_proved('otp');
    RETURN 'ok';
END
$$;
REVOKE EXECUTE ON FUNCTION login_code_take FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION login_code_subject, login_code_send, login_code_verify, session_prove_by_code
    FROM hostler_runner;
