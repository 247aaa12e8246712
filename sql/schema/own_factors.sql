-- Users add and remove their factors; administrators and operators reset them.

CREATE OR REPLACE FUNCTION factor_json(f factors) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', f.id, 'type', f.type, 'name', f.name, 'created_at', rfc3339(f.created_at),
        'last_used_at', rfc3339(f.last_used_at))
$$;

-- GET /v1/me/factors: those that count, oldest first. An account has few.
CREATE OR REPLACE FUNCTION own_factors() RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT coalesce(json_agg(factor_json(f) ORDER BY f.id), '[]') FROM factors f
    WHERE f.user_id = current_user_id() AND f.confirmed_at IS NOT NULL
$$;

-- Whether somebody asks the user for a factor: auth.require_factor, or an organization that they belong to.
CREATE OR REPLACE FUNCTION needs_factor(u users, auth_require_factor text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT auth_require_factor = 'everyone' OR (auth_require_factor = 'platform_admins' AND u.platform_admin)
        OR EXISTS (SELECT FROM org_members m JOIN orgs o ON o.id = m.org_id
                   WHERE m.user_id = u.id AND o.require_factor AND o.closed_at IS NULL)
$$;

-- The caller's row, locked, if they may add a factor now. A user who must have one and has none yet
-- proves by a mailed code that the account is theirs, because a stolen password is not enough then.
CREATE OR REPLACE FUNCTION factor_adding(auth_require_factor text, auth_fresh_seconds integer) RETURNS users
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    factors_max constant integer := 10;
    me users;
BEGIN
    SELECT * INTO STRICT me FROM users WHERE id = current_user_id() FOR NO KEY UPDATE;
    IF me.email_verified_at IS NULL THEN
        PERFORM fail('auth.email_unverified', 'address_not_verified');
    ELSIF (SELECT count(*) FROM factors f WHERE f.user_id = me.id AND f.confirmed_at IS NOT NULL) >= factors_max THEN
        PERFORM fail('limits.reached', 'factors_are_enough', jsonb_build_object('limit', factors_max));
    ELSIF NOT me.has_factor AND needs_factor(me, auth_require_factor) AND NOT EXISTS (
        SELECT FROM sessions s WHERE s.id = (current_request() ->> 'session_id')::uuid
            AND s.code_proved_at > clock_timestamp() - make_interval(secs => greatest(auth_fresh_seconds, 300))) THEN
        PERFORM fail('auth.fresh_login_required', 'code_not_mailed');
    END IF;
    RETURN me;
END
$$;

-- POST /v1/me/factors/totp: a secret that counts when its first code comes. The newest one that waits for it takes the
-- place of those before. secret: sealed, as secret_insert() takes it.
CREATE OR REPLACE FUNCTION totp_create(new_name text, secret jsonb, auth_require_factor text,
    auth_fresh_seconds integer, OUT factor_id uuid, OUT email text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users := factor_adding(auth_require_factor, auth_fresh_seconds);
    gone_secrets uuid[];
BEGIN
    WITH removed AS (
        DELETE FROM factors WHERE user_id = me.id AND confirmed_at IS NULL RETURNING factors.secret_id)
    SELECT array_agg(r.secret_id) INTO gone_secrets FROM removed AS r;
    DELETE FROM secrets WHERE id = ANY (gone_secrets);
    INSERT INTO factors (user_id, type, name, secret_id)
    VALUES (me.id, 'totp', new_name, secret_insert(NULL, 'totp', secret)) RETURNING id INTO factor_id;
    email := me.email;
END
$$;

-- The secret that waits for its first code, for an hour; or the 404.
CREATE OR REPLACE FUNCTION totp_pending(of_factor uuid, OUT clock bigint, OUT secrets jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    clock := floor(extract(epoch FROM factor_clock()));
    SELECT jsonb_build_array(jsonb_build_object('factor_id', f.id, 'secret_id', s.id, 'key_version', s.key_version,
        'wrapped_key', encode(s.wrapped_key, 'hex'), 'sealed', encode(s.sealed, 'hex'))) INTO secrets
    FROM factors f JOIN secrets s ON s.id = f.secret_id
    WHERE f.id = of_factor AND f.user_id = current_user_id() AND f.confirmed_at IS NULL
          AND f.created_at > clock_timestamp() - interval '1 hour';
    IF secrets IS NULL THEN
        PERFORM fail('factors.not_found', 'nothing_waits');
    END IF;
END
$$;

-- For dispatch: the 404 of the path's factor comes before a fault of the body.
CREATE OR REPLACE FUNCTION factor_check(of_factor uuid) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM factors f WHERE f.id = of_factor AND f.user_id = current_user_id()) THEN
        PERFORM fail('factors.not_found');
    END IF;
END
$$;

-- The ten codes of a user in place of those before. code_hashes: one behind the other.
CREATE OR REPLACE FUNCTION recovery_codes_set(of_user uuid, code_hashes bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    DELETE FROM recovery_codes WHERE user_id = of_user;
    INSERT INTO recovery_codes (user_id, hash) SELECT of_user, h FROM unnest(hashes_of(code_hashes)) AS h;
END
$$;

-- A factor counts from now on. The first one ends the user's other sessions and brings recovery codes. Returns whether
-- it was the first.
CREATE OR REPLACE FUNCTION factor_added(me users, added factors, code_hashes bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF NOT me.has_factor THEN
        PERFORM sessions_end(me.id, (current_request() ->> 'session_id')::uuid);
        PERFORM recovery_codes_set(me.id, code_hashes);
    END IF;
    PERFORM factors_mail(me, 'added', added.name);
    PERFORM audit('factors.create', 'factor', added.id::text, me.personal_org_id, NULL,
                  jsonb_build_object('type', added.type, 'is_first', NOT me.has_factor));
    RETURN NOT me.has_factor;
END
$$;

-- POST /v1/me/factors/totp/{factor_id}:confirm, after the code was found to be right for this step.
CREATE OR REPLACE FUNCTION totp_confirm(of_factor uuid, step bigint, code_hashes bytea, auth_require_factor text,
    auth_fresh_seconds integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users := factor_adding(auth_require_factor, auth_fresh_seconds);
    added factors;
BEGIN
    UPDATE factors AS f SET confirmed_at = clock_timestamp(), last_step = totp_confirm.step
    WHERE f.id = of_factor AND f.user_id = me.id AND f.confirmed_at IS NULL
    RETURNING f.* INTO added;
    IF added.id IS NULL THEN
        PERFORM fail('factors.not_found', 'nothing_waits');
    END IF;
    RETURN factor_added(me, added, code_hashes);
END
$$;

-- DELETE /v1/me/factors/{factor_id}. With the last factor the recovery codes go. Waiting logins end.
CREATE OR REPLACE FUNCTION factor_delete(of_factor uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users;
    gone factors;
BEGIN
    SELECT * INTO STRICT me FROM users WHERE id = current_user_id() FOR NO KEY UPDATE;
    DELETE FROM factors AS f WHERE f.id = of_factor AND f.user_id = me.id RETURNING f.* INTO gone;
    IF gone.id IS NULL THEN
        PERFORM fail('factors.not_found');
    END IF;
    DELETE FROM secrets WHERE id = gone.secret_id;
    DELETE FROM factor_tokens WHERE user_id = me.id;
    IF gone.confirmed_at IS NULL THEN
        RETURN;
    END IF;
    DELETE FROM recovery_codes WHERE user_id = me.id
        AND NOT EXISTS (SELECT FROM factors f WHERE f.user_id = me.id AND f.confirmed_at IS NOT NULL);
    PERFORM factors_mail(me, 'removed', gone.name);
    PERFORM audit('factors.delete', 'factor', gone.id::text, me.personal_org_id,
                  jsonb_build_object('type', gone.type), NULL);
END
$$;

-- POST /v1/me/recovery-codes.
CREATE OR REPLACE FUNCTION recovery_codes_renew(code_hashes bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users;
BEGIN
    SELECT * INTO STRICT me FROM users WHERE id = current_user_id() FOR NO KEY UPDATE;
    IF NOT me.has_factor THEN
        PERFORM fail('factors.not_found', 'none_yet');
    END IF;
    PERFORM recovery_codes_set(me.id, code_hashes);
    PERFORM factors_mail(me, 'codes_made', NULL);
    PERFORM audit('factors.reset', 'user', me.id::text, me.personal_org_id, NULL, '{"recovery_codes": 10}');
END
$$;

-- Removes all factors of somebody who lost them, and tells them by mail.
CREATE OR REPLACE FUNCTION factors_reset(u users) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    gone bigint := factors_end(u.id, '-infinity');
BEGIN
    IF gone > 0 THEN
        PERFORM factors_mail(u, 'reset', NULL);
        PERFORM audit('factors.reset', 'user', u.id::text, u.personal_org_id, NULL,
                      jsonb_build_object('factors', gone));
    END IF;
    RETURN gone;
END
$$;

-- DELETE /v1/admin/users/{user_id}/factors. Only the operator resets factors of platform administrators: else one
-- stolen account would open all of them.
CREATE OR REPLACE FUNCTION admin_factors_reset(of_user uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    u users := admin_user(of_user);
BEGIN
    SELECT * INTO u FROM users WHERE id = of_user AND status <> 'deleted' FOR NO KEY UPDATE;
    IF u.id IS NULL THEN
        PERFORM fail('users.not_found', 'user_deleted');
    ELSIF u.platform_admin THEN
        PERFORM fail('auth.forbidden', 'factors_of_admin');
    END IF;
    PERFORM factors_reset(u);
END
$$;

-- hostlerctl user factors LOGIN, and with --reset. Returns how many are gone.
CREATE OR REPLACE FUNCTION factors_of_operator(name text) RETURNS TABLE (item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    of_user uuid := user_of_operator(name);
BEGIN
    RETURN QUERY SELECT factor_json(f) FROM factors f
    WHERE f.user_id = of_user AND f.confirmed_at IS NOT NULL ORDER BY f.id;
END
$$;

CREATE OR REPLACE FUNCTION factors_reset_by_operator(name text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    of_user uuid := user_of_operator(name);
    u users;
BEGIN
    SELECT * INTO STRICT u FROM users WHERE id = of_user FOR NO KEY UPDATE;
    RETURN factors_reset(u);
END
$$;
-- hostlerctl user factors --optional: nobody asks for a factor any more, or an organization does not; for when nobody
-- gets in to say so.
CREATE OR REPLACE FUNCTION factors_optional() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state settings := setting_take('auth.require_factor');
BEGIN
    IF old_state.key IS NOT NULL THEN
        PERFORM audit('settings.unset', 'setting', 'auth.require_factor', NULL, setting_state(old_state), NULL);
        PERFORM pg_notify('hostler_settings', '');
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION factors_optional_in(org_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid := org_of_operator(org_name);
    old_state orgs;
    new_state orgs;
BEGIN
    SELECT * INTO STRICT old_state FROM orgs WHERE id = org FOR NO KEY UPDATE;
    UPDATE orgs SET require_factor = false WHERE id = org RETURNING * INTO STRICT new_state;
    PERFORM audit('orgs.update', 'org', org::text, org, org_state(old_state), org_state(new_state));
END
$$;
REVOKE EXECUTE ON FUNCTION factors_optional, factors_optional_in, factor_json, needs_factor, factor_adding,
    recovery_codes_set, factor_added, factors_reset, factors_of_operator, factors_reset_by_operator FROM hostler_api,
    hostler_runner;
REVOKE EXECUTE ON FUNCTION own_factors, factor_check, totp_create, totp_pending, totp_confirm, factor_delete,
    recovery_codes_renew, admin_factors_reset FROM hostler_runner;
