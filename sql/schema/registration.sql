-- Registration with invitation codes, the first administrator, the user's own profile.
--
-- `settings` has settings under their own names, as for sessions.

CREATE TABLE invite_codes (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    user_id uuid NOT NULL REFERENCES users,
    code text COLLATE "C" NOT NULL UNIQUE,
    max_uses integer NOT NULL CHECK (max_uses >= 0),
    use_count integer NOT NULL DEFAULT 0 CHECK (use_count <= max_uses),
    is_active boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    search_text text NOT NULL DEFAULT ''  -- code, and login and email of its owner, as they are now
);
CREATE INDEX invite_codes_user ON invite_codes (user_id, id);
CREATE INDEX invite_codes_search ON invite_codes USING gin (search_text gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX invite_codes_search_short ON invite_codes USING gin (short_pieces(search_text)) WITH (fastupdate = off);

CREATE TABLE referrals (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    inviter_user_id uuid NOT NULL REFERENCES users,
    invitee_user_id uuid NOT NULL UNIQUE REFERENCES users,
    invite_code_id uuid NOT NULL REFERENCES invite_codes,
    credited boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (inviter_user_id <> invitee_user_id)
);
CREATE INDEX referrals_inviter ON referrals (inviter_user_id, id);

-- A new invitation code of a user: 8 characters of an alphabet of 32 without 0 O 1 I, from 40 random bits.
CREATE OR REPLACE FUNCTION invite_code_make(owner uuid, uses_max integer) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    alphabet constant text := 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
    random_bits bigint;
    created uuid;
BEGIN
    LOOP
        random_bits := ('x' || left(replace(gen_random_uuid()::text, '-', ''), 10))::bit(40)::bigint;
        INSERT INTO invite_codes (user_id, code, max_uses)
        SELECT owner, string_agg(substr(alphabet, (random_bits >> (5 * i) & 31)::integer + 1, 1), ''), uses_max
        FROM generate_series(0, 7) AS i
        ON CONFLICT (code) DO NOTHING RETURNING id INTO created;
        EXIT WHEN created IS NOT NULL;
    END LOOP;
    RETURN created;
END
$$;

CREATE OR REPLACE FUNCTION invite_code_holds(given_code text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (SELECT 1 FROM invite_codes c JOIN users u ON u.id = c.user_id
                   WHERE c.code = upper(btrim(given_code)) AND c.is_active AND c.use_count < c.max_uses
                         AND u.status = 'active')
$$;

-- Counts a use of a code and pays both rewards; false when the code does not hold. The guard in the UPDATE is
-- tested again after the wait for its row, so no code is used too often.
CREATE OR REPLACE FUNCTION invite_code_use(given_code text, invitee uuid, invitee_org uuid, settings jsonb)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    invite invite_codes;
    inviter_org uuid;
    referral uuid;
    inviter_reward bigint := (settings ->> 'credit.invite_reward')::bigint;
    invitee_reward bigint := (settings ->> 'credit.invitee_reward')::bigint;
BEGIN
    UPDATE invite_codes AS c SET use_count = use_count + 1
    FROM users u
    WHERE c.code = upper(btrim(given_code)) AND c.is_active AND c.use_count < c.max_uses
          AND u.id = c.user_id AND u.status = 'active'
    RETURNING c.id, c.user_id INTO invite.id, invite.user_id;
    IF invite.id IS NULL THEN
        RETURN false;
    END IF;
    SELECT personal_org_id INTO STRICT inviter_org FROM users WHERE id = invite.user_id;
    inviter_reward := least(inviter_reward, credit_room(inviter_org));
    invitee_reward := least(invitee_reward, credit_room(invitee_org));
    INSERT INTO referrals (inviter_user_id, invitee_user_id, invite_code_id, credited)
    VALUES (invite.user_id, invitee, invite.id, inviter_reward > 0)
    RETURNING id INTO referral;
    IF inviter_reward > 0 THEN
        PERFORM credit_post(inviter_org, inviter_reward, 'referral_reward', 'referral', referral::text);
    END IF;
    IF invitee_reward > 0 THEN
        PERFORM credit_post(invitee_org, invitee_reward, 'invitee_reward', 'referral', referral::text);
    END IF;
    RETURN true;
END
$$;

-- Refuses a name that becomes an address, or begins or ends with a blank, in the form in which names are compared.
CREATE OR REPLACE FUNCTION name_check(name text, field text) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
BEGIN
    IF position('@' IN name_key(name)) > 0 OR name_key(name) = '' OR btrim(name_key(name)) <> name_key(name) THEN
        PERFORM fail('validation.error', 'name_not_comparable', jsonb_build_object('field', field));
    END IF;
END
$$;

-- Gives a name to a user: false when it, or one that looks like it, is somebody else's. look: {skeleton, icu}, as
-- lib/account makes it; null: to be made later. Names that look alike come one after the other.
CREATE OR REPLACE FUNCTION user_name_take(new_name text, look jsonb, of_user uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    owner uuid;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('name ' || (look ->> 'skeleton'), 0));
    IF user_name_looks_taken(new_name, look, of_user) THEN
        RETURN false;
    END IF;
    INSERT INTO user_names (name_key, user_id, skeleton, icu)
    VALUES (name_key(new_name), of_user, look ->> 'skeleton', look ->> 'icu')
    ON CONFLICT (name_key) DO UPDATE SET skeleton = excluded.skeleton, icu = excluded.icu
        WHERE user_names.user_id = of_user
    RETURNING user_id INTO owner;
    RETURN owner IS NOT NULL;
END
$$;

-- Returns whether another user has a name that looks like this one. Two names in ASCII never conflict here.
CREATE OR REPLACE FUNCTION user_name_looks_taken(new_name text, look jsonb, except_id uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (SELECT FROM user_names n
                   WHERE n.skeleton = look ->> 'skeleton' AND n.user_id IS DISTINCT FROM except_id
                         AND (new_name ~ '[^[:ascii:]]' OR n.name_key ~ '[^[:ascii:]]'))
$$;

-- POST /v1/auth/register, and hostlerctl (without hashes: no session; mode open; without mail: none is sent). Creates
-- all parts of an account in one transaction. code_is_valid: false if an invitation code was given and is invalid. The
-- count by network comes before everything that another registration may have locked, and only created accounts count:
-- a user who mistypes is not locked out, and a refusal mails nobody. new_email_key: as users has it; look: of the
-- login, as user_name_take() takes it; invitation_hash: of the token that only an invitation's mail has, or null.
-- is_invited: it admits, and proves the address.
CREATE OR REPLACE FUNCTION register_user(new_login text, new_email text, new_email_key text, new_password_hash text,
    new_locale text, given_code text, access_hash bytea, refresh_hash bytea, settings jsonb, mail jsonb DEFAULT NULL,
    look jsonb DEFAULT NULL, invitation_hash bytea DEFAULT NULL,
    OUT new_user_id uuid, OUT new_org_id uuid, OUT code_is_valid boolean, OUT is_invited boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    quota integer := coalesce((settings ->> 'limit.registrations_per_network_hour')::integer, 0);
    initial_grant bigint := (settings ->> 'credit.initial_grant')::bigint;
    taken text;
BEGIN
    IF quota > 0 THEN
        PERFORM attempt_or_fail('auth.register', request_network()::text, quota, interval '1 hour',
                                'auth.rate_limited');
    END IF;
    is_invited := registration_check(new_login, new_email_key, given_code, invitation_hash, settings);
    taken := registration_taken(new_login, new_email_key, look);
    IF taken = 'auth.login_exists' THEN
        PERFORM fail('auth.login_exists');
    ELSIF taken = 'auth.email_exists' THEN
        PERFORM fail('auth.email_exists');
    END IF;
    new_user_id := public.uuidv7();
    new_org_id := public.uuidv7();
    INSERT INTO users (id, login, username, email, email_key, email_verified_at, password_hash, personal_org_id, locale)
    VALUES (new_user_id, new_login, new_login, new_email, new_email_key,
            CASE WHEN is_invited THEN clock_timestamp() END, new_password_hash, new_org_id, new_locale)
    ON CONFLICT (email_key) WHERE status <> 'deleted' DO NOTHING;
    IF NOT FOUND THEN
        PERFORM fail('auth.email_exists');
    END IF;
    IF NOT user_name_take(new_login, look, new_user_id) THEN
        PERFORM fail('auth.login_exists');
    END IF;
    INSERT INTO orgs (id, slug, name, type)
    VALUES (new_org_id, new_org_id::text, new_login || '''s workspace', 'personal');
    INSERT INTO org_members (org_id, user_id, role) VALUES (new_org_id, new_user_id, 'owner');
    INSERT INTO credit_accounts (org_id) VALUES (new_org_id);
    IF initial_grant > 0 THEN
        PERFORM credit_post(new_org_id, initial_grant, 'initial_grant', 'user', new_user_id::text);
    END IF;
    PERFORM invite_code_make(new_user_id, (settings ->> 'invite.default_max_uses')::integer);
    code_is_valid := given_code IS NULL OR invite_code_use(given_code, new_user_id, new_org_id, settings);
    IF settings ->> 'auth.registration_mode' = 'invite_only' AND NOT code_is_valid THEN
        PERFORM fail('auth.invite_code_invalid', 'code_does_not_hold');
    END IF;
    PERFORM audit('auth.register', 'user', new_user_id::text, new_org_id, NULL,
                  jsonb_build_object('referred', given_code IS NOT NULL AND code_is_valid) || CASE WHEN is_invited
                      THEN '{"email_verified": true}'::jsonb ELSE '{}' END, 'ok', new_user_id);
    IF mail IS NOT NULL AND NOT is_invited THEN
        PERFORM email_verification_first(new_user_id, mail, (settings ->> 'auth.email_token_seconds')::integer);
    END IF;
    IF access_hash IS NOT NULL THEN
        PERFORM session_begin(new_user_id, 'register', access_hash, refresh_hash,
                              (settings ->> 'auth.access_token_seconds')::integer,
                              (settings ->> 'auth.refresh_token_seconds')::integer,
                              (settings ->> 'limit.sessions_per_user')::integer);
    END IF;
END
$$;

-- hostlerctl admin promote. Nothing over HTTP makes a platform administrator.
CREATE OR REPLACE FUNCTION user_promote(name text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    of_user uuid := user_named(name);
BEGIN
    IF of_user IS NULL THEN
        PERFORM fail('users.not_found');
    END IF;
    UPDATE users SET platform_admin = true WHERE id = of_user AND NOT platform_admin;
    IF FOUND THEN
        PERFORM audit('users.update', 'user', of_user::text, NULL, '{"platform_admin": false}',
                      '{"platform_admin": true}');
    END IF;
    RETURN of_user;
END
$$;

-- The caller's profile, with role and rights in the organization the request acts in.
CREATE OR REPLACE FUNCTION me_json() RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN (SELECT json_build_object('id', u.id, 'login', u.login, 'username', u.username, 'email', u.email,
        'email_verified', u.email_verified_at IS NOT NULL, 'locale', u.locale, 'timezone', u.timezone,
        'avatar_url', u.avatar_url, 'created_at', rfc3339(u.created_at), 'last_login_at', rfc3339(u.last_login_at),
        'org_id', o.id, 'org_name', o.name, 'role', m.role,
        'permissions', to_json(array_remove(current_permissions(), 'platform_admin')),
        'platform_admin', is_platform_admin())
    FROM users u
    JOIN org_members m ON m.user_id = u.id AND m.org_id = current_org()
    JOIN orgs o ON o.id = m.org_id
    WHERE u.id = current_user_id());
END
$$;

-- Gives a user, whose row is locked, another username; users.username_exists when it is somebody else's.
CREATE OR REPLACE FUNCTION user_rename(u users, new_name text, look jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF name_key(new_name) <> name_key(u.username) THEN
        PERFORM name_check(new_name, 'username');
        IF NOT user_name_take(new_name, look, u.id) THEN
            PERFORM fail('users.username_exists');
        END IF;
        DELETE FROM user_names WHERE user_id = u.id AND name_key NOT IN (name_key(u.login), name_key(new_name));
    END IF;
    UPDATE users SET username = new_name WHERE id = u.id;
END
$$;

-- PATCH /v1/me: changes holds only what is to change; username_look: of a username, as user_name_take() takes it.
CREATE OR REPLACE FUNCTION me_update(changes jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users;
    new_name text := changes ->> 'username';
BEGIN
    SELECT * INTO STRICT me FROM users WHERE id = current_user_id() FOR NO KEY UPDATE;
    IF new_name IS NOT NULL THEN
        PERFORM user_rename(me, new_name, changes -> 'username_look');
    END IF;
    UPDATE users SET locale = coalesce(changes ->> 'locale', locale),
        timezone = coalesce(changes ->> 'timezone', timezone),
        avatar_url = CASE WHEN changes ? 'avatar_url' THEN changes ->> 'avatar_url' ELSE avatar_url END
    WHERE id = me.id;
    RETURN me_json();
END
$$;

CREATE OR REPLACE FUNCTION invite_code_search_text(code text, u users) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT name_key(code) || E'\n' || name_key(u.login) || E'\n' || name_key(u.email)
$$;

CREATE OR REPLACE FUNCTION invite_codes_fill_search() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    SELECT invite_code_search_text(NEW.code, u) INTO STRICT NEW.search_text FROM users u WHERE u.id = NEW.user_id;
    RETURN NEW;
END
$$;
CREATE TRIGGER invite_codes_search BEFORE INSERT ON invite_codes
    FOR EACH ROW EXECUTE FUNCTION invite_codes_fill_search();

CREATE OR REPLACE FUNCTION users_refill_code_search() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE invite_codes c SET search_text = invite_code_search_text(c.code, NEW) WHERE c.user_id = NEW.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER users_code_search AFTER UPDATE OF login, email ON users
    FOR EACH ROW WHEN (OLD.login <> NEW.login OR OLD.email <> NEW.email)
    EXECUTE FUNCTION users_refill_code_search();

-- The code of what is in the way of an account of these names; null: nothing.
CREATE OR REPLACE FUNCTION registration_taken(new_login text, new_email_key text, look jsonb) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT CASE WHEN EXISTS (SELECT 1 FROM user_names WHERE name_key = name_key(new_login))
             OR user_name_looks_taken(new_login, look, NULL) THEN 'auth.login_exists'
        WHEN EXISTS (SELECT 1 FROM users WHERE email_key = new_email_key AND status <> 'deleted')
             OR email_is_kept(new_email_key, NULL)
            THEN 'auth.email_exists' END
$$;

-- Refuses a registration for its login's form, for its invitation code, or because it is closed and no invitation opens
-- it. Returns whether the invitation counts: in open mode always, else while auth.invitations_register is on.
CREATE OR REPLACE FUNCTION registration_check(new_login text, new_email_key text, given_code text,
    invitation_hash bytea, settings jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    mode text := settings ->> 'auth.registration_mode';
    needs_code boolean := coalesce(mode = 'invite_only', false);
    is_invited boolean := invitation_hash IS NOT NULL
        AND (mode = 'open' OR coalesce((settings ->> 'auth.invitations_register')::boolean, false))
        AND invitation_proves(invitation_hash, new_email_key);
BEGIN
    PERFORM name_check(new_login, 'login');
    IF mode = 'disabled' AND NOT is_invited THEN
        PERFORM fail('auth.invite_code_invalid', 'token_does_not_hold');
    ELSIF needs_code AND given_code IS NULL THEN
        PERFORM fail('auth.invite_code_required', 'none_given');
    ELSIF needs_code AND NOT invite_code_holds(given_code) THEN
        PERFORM fail('auth.invite_code_invalid', 'code_does_not_hold');
    END IF;
    RETURN is_invited;
END
$$;

-- Runs before the password is hashed, which is the main cost of a registration. Everything that can be refused by then
-- is refused. limit.registrations_per_network_hour is how many accounts a network makes within an hour; 0: any number.
-- A name that somebody has is answered, not raised, so that it is counted: this route reveals as much as POST
-- /v1/auth/check. A network that got limit.checks_per_minute such answers gets none for a while, not even that a name
-- is free.
CREATE OR REPLACE FUNCTION registration_begin(new_login text, new_email_key text, given_code text, settings jsonb,
    look jsonb DEFAULT NULL, invitation_hash bytea DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    quota integer := coalesce((settings ->> 'limit.registrations_per_network_hour')::integer, 0);
    told_max integer := (settings ->> 'limit.checks_per_minute')::integer;
    oldest timestamptz;
    taken text;
BEGIN
    PERFORM attempt_guard('auth.register_taken', request_network()::text, told_max, interval '1 minute',
                          'auth.rate_limited');
    IF quota > 0 THEN
        SELECT a.at INTO oldest FROM attempts a
        WHERE a.kind = 'auth.register' AND a.subject = request_network()::text
              AND a.at > clock_timestamp() - interval '1 hour'
        ORDER BY a.at DESC OFFSET quota - 1 LIMIT 1;
        IF oldest IS NOT NULL THEN
            PERFORM fail_for_now('auth.rate_limited', oldest + interval '1 hour');
        END IF;
    END IF;
    PERFORM registration_check(new_login, new_email_key, given_code, invitation_hash, settings);
    taken := registration_taken(new_login, new_email_key, look);
    IF taken IS NOT NULL THEN
        PERFORM set_config('synchronous_commit', 'off', true);  -- a count need not survive a crash
        PERFORM attempt_or_fail('auth.register_taken', request_network()::text, told_max, interval '1 minute',
                                'auth.rate_limited');
    END IF;
    RETURN taken;
END
$$;
REVOKE EXECUTE ON FUNCTION invite_code_make, invite_code_holds, invite_code_use, user_promote, user_rename,
    invite_code_search_text, invite_codes_fill_search, users_refill_code_search, registration_check,
    registration_taken, user_name_take, user_name_looks_taken
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION register_user, me_json, me_update, registration_begin FROM hostler_runner;
