-- Mail addresses are verified, and changed, by a token that was mailed to them.
--
-- `mail` is what the program says of a mail with a token: {token_hash (hex), secret (what the mail alone may say,
-- sealed)}.

CREATE TABLE email_tokens (
    hash bytea PRIMARY KEY CHECK (length(hash) = 32),
    user_id uuid NOT NULL REFERENCES users,
    email text NOT NULL,  -- where it was sent: what it verifies
    email_key text COLLATE "C" NOT NULL,
    is_change boolean NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX email_tokens_user ON email_tokens (user_id);
CREATE INDEX email_tokens_expiry ON email_tokens (expires_at);

-- Queues the mail with a token for this address of the user.
CREATE OR REPLACE FUNCTION email_token_queue(user_row users, address text, address_key text, is_change boolean,
    mail jsonb, auth_email_token_seconds integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    INSERT INTO email_tokens (hash, user_id, email, email_key, is_change, expires_at)
    VALUES (decode(mail ->> 'token_hash', 'hex'), user_row.id, address, address_key, email_token_queue.is_change,
            clock_timestamp() + make_interval(secs => auth_email_token_seconds));
    PERFORM mail_queue(CASE WHEN is_change THEN 'change_email' ELSE 'verify_email' END, address, user_row.locale,
                       jsonb_build_object('username', user_row.username,
                                          'minutes', ceil(auth_email_token_seconds / 60.0)),
                       mail -> 'secret', address_key, user_row.id,
                       clock_timestamp() + make_interval(secs => auth_email_token_seconds));
END
$$;

-- The mail of a registration counts for the minute of the next one, not for its hour.
CREATE OR REPLACE FUNCTION email_verification_first(of_user uuid, mail jsonb, auth_email_token_seconds integer)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    new_user users;
BEGIN
    SELECT * INTO STRICT new_user FROM users WHERE id = of_user;
    INSERT INTO attempts (kind, subject) VALUES ('email.minute', of_user::text);
    PERFORM email_token_queue(new_user, new_user.email, new_user.email_key, false, mail, auth_email_token_seconds);
END
$$;

-- POST /v1/auth/email/verify/send. Nothing happens when the address is verified already.
CREATE OR REPLACE FUNCTION email_verification_send(mail jsonb, max_per_minute integer, max_per_hour integer,
    auth_email_token_seconds integer)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users;
BEGIN
    SELECT * INTO STRICT me FROM users WHERE id = current_user_id() FOR NO KEY UPDATE;
    IF me.email_verified_at IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM attempt_or_fail('email.minute', me.id::text, max_per_minute, interval '1 minute', 'email.rate_limited');
    PERFORM attempt_or_fail('email.hour', me.id::text, max_per_hour, interval '1 hour', 'email.rate_limited');
    PERFORM email_token_queue(me, me.email, me.email_key, false, mail, auth_email_token_seconds);
END
$$;

CREATE OR REPLACE FUNCTION email_is_taken(address_key text, except_id uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (SELECT 1 FROM users WHERE email_key = address_key AND status <> 'deleted'
                   AND id <> except_id) OR email_is_kept(address_key, except_id)
$$;

-- POST /v1/me/email. Only the newest requested address counts; a verified one changes nothing. Answers whether somebody
-- else has it, which is counted like a mail, so that frequent callers learn nothing.
CREATE OR REPLACE FUNCTION email_change_begin(address text, address_key text, checked_hash text, mail jsonb,
    max_per_hour integer, auth_forgot_password_seconds integer, auth_email_token_seconds integer)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users := own_row_locked(checked_hash, auth_forgot_password_seconds);
BEGIN
    IF address = me.email AND me.email_verified_at IS NOT NULL AND NOT email_is_kept(address_key, me.id) THEN
        RETURN false;
    END IF;
    PERFORM attempt_or_fail('email.change', me.id::text, max_per_hour, interval '1 hour', 'email.rate_limited');
    IF email_is_taken(address_key, me.id) THEN
        RETURN true;
    END IF;
    DELETE FROM email_tokens t WHERE t.user_id = me.id AND t.is_change;
    PERFORM email_token_queue(me, address, address_key, true, mail, auth_email_token_seconds);
    RETURN false;
END
$$;

-- Marks the address of a user as verified; says so when it was not.
CREATE OR REPLACE FUNCTION email_verified(user_row users) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE users SET email_verified_at = clock_timestamp() WHERE id = user_row.id AND email_verified_at IS NULL;
    IF FOUND THEN
        PERFORM audit('auth.email_verified', 'user', user_row.id::text, user_row.personal_org_id,
                      '{"email_verified": false}',
                      '{"email_verified": true}', 'ok', user_row.id);
    END IF;
END
$$;

-- A confirmed change: the tokens and codes that went to the old address are void. The audit log names no address.
CREATE OR REPLACE FUNCTION email_change_finish(old_state users, address text, address_key text,
    asked_at timestamptz, mail jsonb, auth_email_revert_seconds integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF email_is_taken(address_key, old_state.id) THEN
        PERFORM fail('auth.email_exists');
    END IF;
    BEGIN
        UPDATE users SET email = address, email_key = address_key, email_verified_at = clock_timestamp()
        WHERE id = old_state.id;
    EXCEPTION WHEN unique_violation THEN
        PERFORM fail('auth.email_exists');
    END;
    DELETE FROM email_tokens WHERE user_id = old_state.id;
    DELETE FROM login_codes WHERE user_id = old_state.id;
    IF old_state.email_verified_at IS NOT NULL AND old_state.email_key <> address_key THEN
        PERFORM email_revert_queue(old_state, asked_at, mail, auth_email_revert_seconds);
    END IF;
    PERFORM audit('auth.email_changed', 'user', old_state.id::text, old_state.personal_org_id,
                  jsonb_build_object('email_verified', old_state.email_verified_at IS NOT NULL),
                  '{"email_verified": true}', 'ok', old_state.id);
END
$$;

-- POST /v1/auth/email/verify/confirm, with the token. It works once.
CREATE OR REPLACE FUNCTION email_confirm(given_hash bytea, mail jsonb, auth_email_token_seconds integer,
    auth_email_revert_seconds integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    token email_tokens;
    user_row users;
BEGIN
    SELECT u.* INTO user_row FROM users u JOIN email_tokens t ON t.user_id = u.id
    WHERE t.hash = given_hash AND u.status <> 'deleted' FOR NO KEY UPDATE OF u;
    DELETE FROM email_tokens AS t
    WHERE t.hash = given_hash AND t.user_id = user_row.id AND t.expires_at > clock_timestamp()
    RETURNING t.hash, t.user_id, t.email, t.email_key, t.is_change, t.expires_at INTO token;
    IF token.hash IS NULL OR (NOT token.is_change AND user_row.email <> token.email) THEN
        PERFORM fail('email.token_invalid', 'verification_link_dead');
    ELSIF token.is_change THEN
        PERFORM email_change_finish(user_row, token.email, token.email_key,
            token.expires_at - make_interval(secs => auth_email_token_seconds), mail, auth_email_revert_seconds);
    ELSE
        PERFORM email_verified(user_row);
    END IF;
END
$$;

-- A login by code that is the first proof of an address: the user who registered it, perhaps to lie in wait for its
-- owner, loses everything, and nothing that they set up in the personal organization is called.
CREATE OR REPLACE FUNCTION email_first_proved(user_row users) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE users SET email_verified_at = clock_timestamp() WHERE id = user_row.id;
    PERFORM audit('auth.email_verified', 'user', user_row.id::text, user_row.personal_org_id,
                  '{"email_verified": false}',
                  '{"email_verified": true}' || account_taken_back(user_row, '-infinity'), 'ok', user_row.id);
END
$$;
REVOKE EXECUTE ON FUNCTION email_token_queue, email_verification_first, email_is_taken, email_verified,
    email_change_finish, email_first_proved
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION email_verification_send, email_change_begin, email_confirm FROM hostler_runner;
