-- Users change their password, see and end their sessions, renew their invitation code, delete themselves.

-- Whether the caller's session lives and began so lately by a mailed code that it may do without the password.
CREATE OR REPLACE FUNCTION may_forget_password(auth_forgot_password_seconds integer) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (SELECT 1 FROM sessions s WHERE s.id = (current_request() ->> 'session_id')::uuid
                   AND s.begun_by = 'otp' AND session_lives(s)
                   AND s.created_at > clock_timestamp() - make_interval(secs => auth_forgot_password_seconds))
$$;

-- Values for checking the caller's own password. Guesses count like failed logins. is_confirmed: a proof of a moment
-- ago serves in place of the password. In an account with a factor nothing else does.
CREATE OR REPLACE FUNCTION own_password_begin(settings jsonb,
    OUT stored_hash text, OUT login text, OUT email text, OUT may_forget boolean, OUT has_factor boolean,
    OUT is_confirmed boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM login_guard(current_user_id()::text, settings);
    may_forget := may_forget_password((settings ->> 'auth.forgot_password_seconds')::integer);
    SELECT u.password_hash, u.login, u.email, u.has_factor, session_is_confirmed(u)
    INTO STRICT stored_hash, login, email, has_factor, is_confirmed FROM users u WHERE u.id = current_user_id();
END
$$;

-- A wrong current password: counted, and told under the action that it was given for.
CREATE OR REPLACE FUNCTION own_password_refused(wanted_action text, settings jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM login_failed(current_user_id()::text, settings);
    PERFORM audit(wanted_action, 'user', current_user_id()::text, current_org(), NULL, NULL, 'failed');
END
$$;

-- The caller's row, locked, if the password that was checked is still theirs; without one, when they may forget it or
-- confirmed the session a moment ago. An account with a factor needs a proof by it.
CREATE OR REPLACE FUNCTION own_row_locked(checked_hash text, auth_forgot_password_seconds integer) RETURNS users
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users;
BEGIN
    SELECT * INTO STRICT me FROM users WHERE id = current_user_id() FOR NO KEY UPDATE;
    IF me.has_factor AND NOT session_is_confirmed(me) THEN
        PERFORM factor_proof_fail();
    ELSIF checked_hash IS NULL AND (session_is_confirmed(me) OR may_forget_password(auth_forgot_password_seconds)) THEN
        RETURN me;
    ELSIF checked_hash IS DISTINCT FROM me.password_hash OR checked_hash IS NULL THEN
        PERFORM fail('auth.wrong_password', 'password_just_changed');
    END IF;
    RETURN me;
END
$$;

-- The caller's session is as good as one that begins now.
CREATE OR REPLACE FUNCTION session_proved(how text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own uuid := (current_request() ->> 'session_id')::uuid;
BEGIN
    UPDATE sessions AS s SET proved_at = clock_timestamp(), confirmed_at = clock_timestamp(),
        code_proved_at = CASE how WHEN 'otp' THEN clock_timestamp() ELSE code_proved_at END,
        factor_proved_at = CASE WHEN how IN ('totp', 'recovery', 'passkey') THEN clock_timestamp()
            ELSE factor_proved_at END
    WHERE s.id = own AND session_lives(s);
    IF NOT FOUND THEN
        PERFORM fail('auth.invalid_token', 'session_ended');
    END IF;
    PERFORM audit('auth.confirm', 'session', own::text, current_org(), NULL, jsonb_build_object('by', how));
END
$$;

-- POST /v1/auth/confirm {password}: proves the session again, if what was checked is still the caller's password.
CREATE OR REPLACE FUNCTION session_prove_by_password(checked_hash text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users;
BEGIN
    SELECT * INTO STRICT me FROM users WHERE id = current_user_id() FOR NO KEY UPDATE;
    IF me.has_factor THEN
        PERFORM factor_proof_fail();
    END IF;
    PERFORM own_row_locked(checked_hash, 0);
    PERFORM session_proved('password');
END
$$;

-- POST /v1/me/password: the caller's other sessions end, and with them the change of the address that one of them may
-- have requested. A thief with the old password would take the account by the link that was mailed to them.
CREATE OR REPLACE FUNCTION own_password_set(checked_hash text, new_hash text, auth_forgot_password_seconds integer)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users := own_row_locked(checked_hash, auth_forgot_password_seconds);
BEGIN
    UPDATE users SET password_hash = new_hash WHERE id = me.id;
    PERFORM sessions_end(me.id, (current_request() ->> 'session_id')::uuid);
    DELETE FROM email_tokens t WHERE t.user_id = me.id AND t.is_change;
    PERFORM password_changed_mail(me);
    PERFORM audit('auth.password_changed', 'user', me.id::text, me.personal_org_id, NULL,
                  jsonb_build_object('forgotten', checked_hash IS NULL));
END
$$;

-- DELETE /v1/me.
CREATE OR REPLACE FUNCTION me_delete(checked_hash text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users;
BEGIN
    PERFORM last_admin_guard(current_user_id());
    me := own_row_locked(checked_hash, 0);
    PERFORM user_delete(me.id);
    PERFORM audit('users.delete_self', 'user', me.id::text, me.personal_org_id, '{"status": "active"}',
                  '{"status": "deleted"}');
END
$$;

-- GET /v1/me/sessions: those that live, newest first.
CREATE OR REPLACE FUNCTION session_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN QUERY SELECT s.id, json_build_object('id', s.id, 'created_at', rfc3339(s.created_at),
        'last_seen_at', rfc3339(s.last_seen_at), 'client_ip', coalesce(host(s.client_ip), ''),
        'user_agent', s.user_agent,
        'provider_key', (SELECT p.key FROM identity_providers p WHERE p.id = s.provider_id),
        'current', s.id IS NOT DISTINCT FROM (current_request() ->> 'session_id')::uuid)
    FROM sessions s
    WHERE s.user_id = current_user_id() AND s.revoked_at IS NULL AND (before IS NULL OR s.id < before)
          AND s.epoch = (SELECT u.session_epoch FROM users u WHERE u.id = current_user_id())
          AND CASE WHEN s.identity_id IS NULL THEN true ELSE identity_holds(s.identity_id) END
          AND EXISTS (SELECT 1 FROM refresh_tokens r WHERE r.session_id = s.id AND r.expires_at > clock_timestamp())
    ORDER BY s.id DESC LIMIT page_limit;
END
$$;

-- DELETE /v1/me/sessions/{session_id}: one that lives.
CREATE OR REPLACE FUNCTION session_revoke(session uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE sessions AS s SET revoked_at = clock_timestamp()
    WHERE s.id = session AND s.user_id = current_user_id() AND session_lives(s);
    IF NOT FOUND THEN
        PERFORM fail('sessions.not_found');
    END IF;
    PERFORM audit('auth.session_revoked', 'session', session::text);
END
$$;

-- Notes that a session or an API key is in use, at most once a minute, and what the session's tokens grant to who calls
-- from this address; without waiting for the disk.
CREATE OR REPLACE FUNCTION caller_seen(session uuid, api_key uuid, address inet) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    stale timestamptz := clock_timestamp() - interval '1 minute';
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE users SET last_seen_at = clock_timestamp()
    WHERE id = (SELECT user_id FROM sessions WHERE id = session AND last_seen_at < stale);
    UPDATE sessions SET last_seen_at = clock_timestamp() WHERE id = session AND last_seen_at < stale;
    UPDATE api_keys SET last_used_at = clock_timestamp()
    WHERE id = api_key AND (last_used_at IS NULL OR last_used_at < stale);
    PERFORM token_grants_keep(session, address);  -- the last, since it holds what others wait for
END
$$;

-- A code of the caller's own, as administrators see it (referrals.sql).
CREATE OR REPLACE FUNCTION own_invite_code_json(code invite_codes) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT admin_invite_code_json(code, u.login, u.email) FROM users u WHERE u.id = code.user_id
$$;

-- GET /v1/me/invite-code: the one that is active.
CREATE OR REPLACE FUNCTION own_invite_code() RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own invite_codes;
BEGIN
    SELECT * INTO own FROM invite_codes WHERE user_id = current_user_id() AND is_active ORDER BY id DESC LIMIT 1;
    IF own.id IS NULL THEN
        PERFORM fail('invite_codes.not_found', 'user_has_none');
    END IF;
    RETURN own_invite_code_json(own);
END
$$;

-- POST /v1/me/invite-code/reset, once in so many seconds: counted from the last reset, not from registration.
CREATE OR REPLACE FUNCTION own_invite_code_reset(uses_max integer, pause_seconds integer) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    last_reset timestamptz;
    made_by uuid;
    made_id uuid;
    created invite_codes;
BEGIN
    SELECT u.invite_code_reset_at, u.made_by_org_id INTO STRICT last_reset, made_by FROM users u
    WHERE u.id = current_user_id() FOR NO KEY UPDATE;
    IF made_by IS NOT NULL THEN
        PERFORM fail('auth.forbidden', 'account_of_provider');
    END IF;
    IF clock_timestamp() < last_reset + make_interval(secs => pause_seconds) THEN
        PERFORM fail_for_now('invite_codes.reset_cooldown', last_reset + make_interval(secs => pause_seconds));
    END IF;
    UPDATE users SET invite_code_reset_at = clock_timestamp() WHERE id = current_user_id();
    UPDATE invite_codes SET is_active = false WHERE user_id = current_user_id() AND is_active;
    made_id := invite_code_make(current_user_id(), uses_max);
    SELECT * INTO STRICT created FROM invite_codes WHERE id = made_id;
    PERFORM audit('invite_codes.reset', 'invite_code', created.id::text);
    RETURN own_invite_code_json(created);
END
$$;

-- Tells the user that the password is another, and which API keys live on: the newest 20 by name. Not to an address
-- that nobody proved, which may be a stranger's.
CREATE OR REPLACE FUNCTION password_changed_mail(user_row users) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    named jsonb;
    living bigint;
BEGIN
    IF user_row.email_verified_at IS NULL THEN
        RETURN;
    END IF;
    SELECT count(*), jsonb_agg(jsonb_build_object(
        'name', CASE WHEN length(k.name) > 60 THEN left(k.name, 59) || '…' ELSE k.name END, 'prefix', k.key_prefix)
        ORDER BY k.id DESC) FILTER (WHERE k.ordinal <= 20)
    INTO living, named
    FROM (SELECT a.id, a.name, a.key_prefix, row_number() OVER (ORDER BY a.id DESC) AS ordinal
          FROM api_keys a JOIN org_members m ON m.org_id = a.org_id AND m.user_id = a.user_id
          WHERE a.user_id = user_row.id AND api_key_lives(a, user_row, m.id)
                AND (a.expires_at IS NULL OR a.expires_at > clock_timestamp())) AS k;
    PERFORM mail_queue('password_changed', user_row.email, user_row.locale, jsonb_strip_nulls(jsonb_build_object(
        'username', user_row.username, 'keys', named, 'key_count', nullif(living, 0),
        'more', nullif(greatest(living - 20, 0), 0))), NULL, user_row.email_key, user_row.id);
END
$$;
REVOKE EXECUTE ON FUNCTION may_forget_password, own_row_locked, password_changed_mail, session_proved,
    own_invite_code_json
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION own_password_begin, own_password_refused, own_password_set, me_delete, session_page,
    session_revoke, caller_seen, own_invite_code, own_invite_code_reset, session_prove_by_password
    FROM hostler_runner;
