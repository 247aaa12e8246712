-- The acting caller: the caller of a request becomes the tenant, the user and the request of its transaction.

-- The acting caller, set by authenticate() or by the statement that begins an anonymous request, for the transaction
-- only. After its end the settings are '', not NULL.
CREATE OR REPLACE FUNCTION current_org() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT nullif(current_setting('hostler.org_id', true), '')::uuid
$$;

CREATE OR REPLACE FUNCTION current_user_id() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT nullif(current_setting('hostler.user_id', true), '')::uuid
$$;

CREATE OR REPLACE FUNCTION current_request() RETURNS jsonb LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(nullif(current_setting('hostler.request', true), ''), '{}')::jsonb
$$;

-- The caller's permissions, platform_admin among them: a setting of its own, because an array is read in a fraction of
-- the time that the JSON of the request takes.
CREATE OR REPLACE FUNCTION current_permissions() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(nullif(current_setting('hostler.permissions', true), ''), '{}')::text[]
$$;

CREATE OR REPLACE FUNCTION has_permission(permission text) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT permission = ANY (current_permissions())
$$;

CREATE OR REPLACE FUNCTION is_platform_admin() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT 'platform_admin' = ANY (current_permissions())
$$;

-- The caller that authenticate() refuses, for the access log, the audit log and the rate limit (lib/identity.h). A user
-- who is not a member of the requested organization is refused in their personal one.
CREATE OR REPLACE FUNCTION refused_caller(is_key boolean, org uuid, of_user uuid) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN is_key THEN 'api_key' ELSE 'user' END || ' ' || org || ' ' || of_user
$$;

-- Makes somebody the caller of the transaction. request: without what they may do.
CREATE OR REPLACE FUNCTION set_caller(org uuid, of_user uuid, permissions text[], platform_admin boolean, request jsonb)
RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM set_config('hostler.org_id', coalesce(org::text, ''), true),
            set_config('hostler.user_id', coalesce(of_user::text, ''), true),
            set_config('hostler.permissions', CASE WHEN platform_admin THEN permissions || 'platform_admin'::text
                ELSE permissions END::text, true),
            set_config('hostler.request', request::text, true);
END
$$;

-- Finds the caller by one look-up after the other. authenticate() falls back on it if its one statement finds no caller
-- that may pass, or if it must ask more. Raises the first fault that exists.
CREATE OR REPLACE FUNCTION authenticate_fully(token_hash bytea, is_key boolean, org uuid, permission text,
    takes_key boolean, context jsonb, OUT user_id uuid, OUT org_id uuid, OUT role text, OUT platform_admin boolean,
    OUT session_id uuid, OUT api_key_id uuid, OUT permissions text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    of_user record;
BEGIN
    -- A statement of its own, so that later ones see everything that was committed while it waited.
    IF context ? 'writes' THEN
        PERFORM caller_hold(token_hash, is_key, context ->> 'ends');
    END IF;
    IF is_key THEN
        SELECT k.id AS key_id, k.user_id, k.org_id, k.scopes, m.role,
               k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
               AND (k.user_epoch = u.key_epoch OR k.created_at < u.keys_kept_before)
               AND coalesce(k.membership_id = m.id, true) AND u.status = 'active' AND m.role IS NOT NULL AS alive,
               o.ip_rule_count, u.email_verified_at, u.personal_org_id, o.closed_at, o.erase_at, o.required_provider_id,
               o.required_provider_id IS NULL OR is_linked_with(k.user_id, o.required_provider_id) AS is_provided
        INTO of_user
        FROM api_keys k JOIN users u ON u.id = k.user_id JOIN orgs o ON o.id = k.org_id
        LEFT JOIN org_members m ON m.org_id = k.org_id AND m.user_id = k.user_id
        WHERE k.hash = token_hash;
        IF NOT FOUND OR NOT of_user.alive THEN
            PERFORM fail('auth.invalid_api_key', 'key_is_dead');
        END IF;
        IF NOT takes_key THEN
            PERFORM fail('auth.user_token_required', 'key_used',
                         refused => refused_caller(is_key, of_user.org_id, of_user.user_id));
        END IF;
        IF org IS NOT NULL AND org <> of_user.org_id THEN
            PERFORM fail('orgs.not_found', 'key_of_another_org',
                         refused => refused_caller(is_key, of_user.personal_org_id, of_user.user_id));
        END IF;
        api_key_id := of_user.key_id;
        platform_admin := false;
        permissions := role_permissions(of_user.role);
        IF cardinality(of_user.scopes) > 0 THEN
            permissions := ARRAY(SELECT p FROM unnest(permissions) AS p WHERE p = ANY (of_user.scopes));
        END IF;
    ELSE
        SELECT t.session_id, t.expires_at <= clock_timestamp() AS expired, s.user_id,
               s.revoked_at IS NULL AND s.epoch = u.session_epoch AND u.status = 'active'
               AND (s.identity_id IS NULL OR identity_holds(s.identity_id)) AS alive,
               u.platform_admin AND s.confined_org_id IS NULL AS platform_admin,
               CASE WHEN coalesce(s.confined_org_id = o.id, true) THEN m.role END AS role,
               coalesce(org, s.confined_org_id, u.personal_org_id) AS org_id, o.ip_rule_count, u.email_verified_at,
               coalesce(s.confined_org_id, u.personal_org_id) AS personal_org_id, s.confined_org_id,
               s.proved_at, o.closed_at, o.erase_at, u.has_factor, coalesce(o.require_factor, false) AS require_factor,
               s.provider_id, o.required_provider_id,
               o.required_provider_id IS NULL OR coalesce(o.required_provider_id = s.provider_id, false)
               OR sso_way_back(context, m.role, s.id) AS is_provided
        INTO of_user
        FROM access_tokens t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
        LEFT JOIN orgs o ON o.id = coalesce(org, s.confined_org_id, u.personal_org_id)
        LEFT JOIN org_members m ON m.org_id = o.id AND m.user_id = u.id
        WHERE t.hash = token_hash;
        IF NOT FOUND OR NOT of_user.alive THEN
            PERFORM fail('auth.invalid_token', 'session_ended');
        END IF;
        IF of_user.expired THEN
            PERFORM fail('auth.token_expired', 'access_token_expired');
        END IF;
        IF of_user.role IS NULL THEN
            PERFORM fail('orgs.not_found', 'not_a_member',
                         refused => refused_caller(is_key, of_user.personal_org_id, of_user.user_id));
        END IF;
        session_id := of_user.session_id;
        platform_admin := of_user.platform_admin;
        permissions := role_permissions(of_user.role);
    END IF;
    user_id := of_user.user_id;
    org_id := of_user.org_id;
    role := of_user.role;
    IF of_user.closed_at IS NOT NULL THEN
        PERFORM org_closed_fail(of_user.erase_at, refused_caller(is_key, of_user.personal_org_id, user_id));
    END IF;
    IF NOT context ? 'is_replay' THEN
        IF of_user.email_verified_at IS NULL AND context ? 'needs_proof' THEN
            PERFORM fail('auth.email_unverified', 'address_not_verified',
                         refused => refused_caller(is_key, org_id, user_id));
        END IF;
        IF (of_user.ip_rule_count > 0 AND NOT ip_admits(org_id, (context ->> 'client_ip')::inet))
           OR (context ? 'org_named' AND NOT ip_admits_named((context ->> 'org_named')::uuid,
                   (context ->> 'client_ip')::inet, user_id, platform_admin)) THEN
            PERFORM fail('ip.blocked', 'ip_rules_deny', refused => refused_caller(is_key, org_id, user_id));
        END IF;
        IF NOT of_user.is_provided THEN
            PERFORM sso_required_fail(of_user.required_provider_id, refused_caller(is_key, org_id, user_id));
        END IF;
        IF NOT is_key AND context ? 'org_named' THEN
            PERFORM sso_named_check((context ->> 'org_named')::uuid, user_id, platform_admin, session_id,
                                    refused_caller(is_key, org_id, user_id));
        END IF;
        IF NOT is_key AND context ? 'own_account' THEN
            PERFORM fail('auth.sso_session', 'session_is_confined', refused => refused_caller(is_key, org_id, user_id))
            WHERE of_user.confined_org_id IS NOT NULL;
        END IF;
        IF NOT is_key AND NOT context ? 'before_factor' THEN
            IF NOT of_user.has_factor AND (platform_admin OR NOT sso_proves_factor(of_user.provider_id))
               AND (of_user.require_factor OR asks_for_factor(context, platform_admin)
                    OR (context ? 'org_named'
                        AND lacks_factor_named((context ->> 'org_named')::uuid, user_id, platform_admin))) THEN
                PERFORM fail('auth.factor_setup_required', 'factor_missing',
                             refused => refused_caller(is_key, org_id, user_id));
            END IF;
        END IF;
        IF is_rejected(context, platform_admin) THEN
            PERFORM fail('risk.rejected', refused => refused_caller(is_key, org_id, user_id));
        END IF;
    END IF;
    IF permission = 'platform_admin' THEN
        IF NOT platform_admin THEN
            PERFORM fail('auth.forbidden', 'platform_admin_missing', jsonb_build_object('permission', permission),
                         refused => refused_caller(is_key, org_id, user_id));
        END IF;
    ELSIF permission IS NOT NULL AND NOT permission = ANY (permissions) THEN
        PERFORM fail('auth.forbidden', 'permission_missing', jsonb_build_object('permission', permission),
                     refused => refused_caller(is_key, org_id, user_id));
    END IF;
    -- A key is no login.
    IF context ? 'fresh_seconds' AND NOT is_key THEN
        IF of_user.proved_at <= clock_timestamp() - make_interval(secs => (context ->> 'fresh_seconds')::integer) THEN
            PERFORM fail('auth.fresh_login_required', 'proved_long_ago',
                         refused => refused_caller(is_key, org_id, user_id));
        END IF;
    END IF;
    PERFORM set_caller(org_id, user_id, permissions, platform_admin,
        context || jsonb_build_object('api_key_id', api_key_id, 'session_id', session_id));
END
$$;

-- Authenticates by one look-up, then the caller's identity becomes the transaction's (tenant, user, request).
-- token_hash: SHA-256 of the token; is_key: it begins with hst_. org: X-Org-Id or null (the user's own; a key's own).
-- permission: the one needed, 'platform_admin', or null. takes_key: whether the route admits keys. context: {trace_id,
-- client_ip, user_agent, org_named, is_risky, is_replay, writes, ends, needs_proof, needs_factor, before_factor,
-- fresh_seconds, own_account, sso_exempt_seconds}: org_named is an organization in path or query, is_risky asks to
-- refuse all but platform admins, is_replay not to check address and risk (the audit of a refusal), writes to hold the
-- user until the transaction ends, ends is the user whom the call ends, needs_proof refuses callers without verified
-- address, needs_factor those without a second factor whom auth.require_factor or an organization asks for one,
-- before_factor asks for none, fresh_seconds refuses those whose session was proved longer ago, own_account sessions of
-- organizations' identity providers, sso_exempt_seconds admits owners with a factor where a provider is required.
-- Raises the 401, 403 or 404.
CREATE OR REPLACE FUNCTION authenticate(token_hash bytea, is_key boolean, org uuid, permission text, takes_key boolean,
    context jsonb, OUT user_id uuid, OUT org_id uuid, OUT role text, OUT platform_admin boolean, OUT session_id uuid,
    OUT api_key_id uuid, OUT permissions text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    ids text;
BEGIN
    IF context ?| '{writes,is_risky,org_named,fresh_seconds}' THEN
        IF context ?| '{ends,is_risky,org_named,fresh_seconds}' THEN
            SELECT f.user_id, f.org_id, f.role, f.platform_admin, f.session_id, f.api_key_id, f.permissions
            INTO user_id, org_id, role, platform_admin, session_id, api_key_id, permissions
            FROM authenticate_fully(token_hash, is_key, org, permission, takes_key, context) AS f;
            RETURN;
        END IF;
        -- A statement of its own, so that later ones see everything that was committed while it waited.
        IF is_key THEN
            PERFORM pg_advisory_xact_lock_shared(uuid_hash_extended(k.user_id, 0))
            FROM api_keys k WHERE k.hash = token_hash;
        ELSE
            PERFORM pg_advisory_xact_lock_shared(uuid_hash_extended(s.user_id, 0))
            FROM access_tokens t JOIN sessions s ON s.id = t.session_id WHERE t.hash = token_hash;
        END IF;
    END IF;
    -- One row after the other, each by its key: joined freely, with statistics of a system that had few users, the plan
    -- begins with all that are active.
    IF is_key THEN
        SELECT k.user_id, k.org_id, m.role, false, k.id, CASE WHEN cardinality(k.scopes) > 0
            THEN ARRAY(SELECT p FROM unnest(role_permissions(m.role)) AS p WHERE p = ANY (k.scopes))
            ELSE role_permissions(m.role) END, '"session_id": null, "api_key_id": "' || k.id || '"}'
        INTO user_id, org_id, role, platform_admin, api_key_id, permissions, ids
        FROM (SELECT a.id, a.user_id, a.org_id, a.scopes, a.revoked_at, a.expires_at, a.user_epoch, a.membership_id,
                  a.created_at
              FROM api_keys a WHERE a.hash = token_hash OFFSET 0) AS k
        CROSS JOIN LATERAL (
            SELECT n.status, n.email_verified_at, n.key_epoch, n.keys_kept_before FROM users n
            WHERE n.id = k.user_id OFFSET 0) AS u
        CROSS JOIN LATERAL (
            SELECT r.role, r.id FROM org_members r WHERE r.org_id = k.org_id AND r.user_id = k.user_id OFFSET 0) AS m
        CROSS JOIN LATERAL (
            SELECT g.ip_rule_count, g.required_provider_id FROM orgs g
            WHERE g.id = k.org_id AND g.closed_at IS NULL OFFSET 0) AS o
        WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
              AND (k.user_epoch = u.key_epoch OR k.created_at < u.keys_kept_before)
              AND (k.membership_id = m.id OR k.membership_id IS NULL)
              AND u.status = 'active' AND takes_key AND (org IS NULL OR org = k.org_id)
              AND (u.email_verified_at IS NOT NULL OR NOT context ? 'needs_proof')
              AND (o.ip_rule_count = 0 OR ip_admits(k.org_id, (context ->> 'client_ip')::inet))
              AND CASE WHEN o.required_provider_id IS NULL THEN true
                       ELSE is_linked_with(k.user_id, o.required_provider_id) END;
    ELSE
        SELECT s.user_id, m.org_id, m.role, u.platform_admin AND s.confined_org_id IS NULL, t.session_id,
               role_permissions(m.role),
               '"api_key_id": null, "session_id": "' || t.session_id || '"}'
        INTO user_id, org_id, role, platform_admin, session_id, permissions, ids
        FROM (SELECT a.session_id, a.expires_at FROM access_tokens a WHERE a.hash = token_hash OFFSET 0) AS t
        CROSS JOIN LATERAL (
            SELECT e.user_id, e.revoked_at, e.epoch, e.identity_id, e.provider_id, e.confined_org_id FROM sessions e
            WHERE e.id = t.session_id OFFSET 0) AS s
        CROSS JOIN LATERAL (
            SELECT n.status, n.email_verified_at, n.platform_admin, n.personal_org_id, n.session_epoch, n.has_factor
            FROM users n
            WHERE n.id = s.user_id OFFSET 0) AS u
        CROSS JOIN LATERAL (
            SELECT r.org_id, r.role FROM org_members r
            WHERE r.org_id = coalesce(org, s.confined_org_id, u.personal_org_id) AND r.user_id = s.user_id OFFSET 0)
            AS m
        CROSS JOIN LATERAL (
            SELECT g.ip_rule_count, g.require_factor, g.required_provider_id FROM orgs g
            WHERE g.id = m.org_id AND g.closed_at IS NULL OFFSET 0) AS o
        WHERE t.expires_at > clock_timestamp() AND s.revoked_at IS NULL AND s.epoch = u.session_epoch
              AND u.status = 'active' AND (u.email_verified_at IS NOT NULL OR NOT context ? 'needs_proof')
              AND (u.has_factor OR NOT (o.require_factor OR asks_for_factor(context, u.platform_admin))
                   OR context ? 'before_factor' OR (sso_proves_factor(s.provider_id) AND NOT u.platform_admin))
              AND (o.ip_rule_count = 0 OR ip_admits(m.org_id, (context ->> 'client_ip')::inet))
              AND CASE WHEN s.identity_id IS NULL THEN true ELSE identity_holds(s.identity_id) END
              AND (s.confined_org_id IS NULL OR (s.confined_org_id = m.org_id AND NOT context ? 'own_account'))
              AND (o.required_provider_id IS NULL OR o.required_provider_id = s.provider_id);
    END IF;
    IF ids IS NULL
       OR NOT (permission IS NULL OR permission = ANY (permissions)
               OR (permission = 'platform_admin' AND platform_admin)) THEN
        SELECT f.user_id, f.org_id, f.role, f.platform_admin, f.session_id, f.api_key_id, f.permissions
        INTO user_id, org_id, role, platform_admin, session_id, api_key_id, permissions
        FROM authenticate_fully(token_hash, is_key, org, permission, takes_key, context) AS f;
        RETURN;
    END IF;
    -- An expression and not a statement, whose start costs more than this. The caller's members are put behind those
    -- of the context as text: whatever they are called there, the last ones count.
    ids := set_config('hostler.org_id', org_id::text, true) || set_config('hostler.user_id', user_id::text, true)
        || set_config('hostler.permissions', CASE WHEN platform_admin THEN permissions || 'platform_admin'::text
               ELSE permissions END::text, true)
        || set_config('hostler.request', CASE WHEN context = '{}' THEN '{' ELSE left(context::text, -1) || ', ' END
               || ids, true);
END
$$;

-- The same at a single look, for an access token and a context that asks nothing but writes and needs_proof (the two
-- parameters tell what it says): the token's row keeps what the token grants in its user's personal organization
-- (token_grants.sql). When it does not, or does not grant what is needed, authenticate() finds out. Answers user,
-- organization, role, platform_admin, session, no API key ("-") and permissions as one text with blanks between
-- (lib/account/caller.h): a function that answers columns costs the statement around it as much as its look-up. The
-- context stays the text that came, with the caller's members after its own.
CREATE OR REPLACE FUNCTION authenticate_by_token(token_hash bytea, org uuid, permission text, writes boolean,
    needs_proof boolean, context text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    caller text;
BEGIN
    IF writes THEN
        -- A statement of its own, so that the next one sees everything that was committed while it waited.
        PERFORM pg_advisory_xact_lock_shared(uuid_hash_extended(t.user_id, 0))
        FROM access_tokens t WHERE t.hash = token_hash AND t.user_id IS NOT NULL;
    END IF;
    IF FOUND OR NOT writes THEN
        -- A caller that passes becomes the transaction's caller, in the same statement. The permissions of a role are
        -- worked out when this is planned. The start of each function that it names costs as much as a tenth of the
        -- look-up.
        SELECT concat_ws(' ', set_config('hostler.user_id', t.user_id::text, true),
            set_config('hostler.org_id', t.personal_org_id::text, true), t.role, 'f', t.session_id, '-',
            set_config('hostler.permissions', CASE t.role WHEN 'owner' THEN role_permissions_text('owner')
                WHEN 'admin' THEN role_permissions_text('admin') ELSE role_permissions_text('member') END, true),
            CASE WHEN set_config('hostler.request', concat(left(context, -1), ', "api_key_id": null, "session_id": "',
                t.session_id, '"}'), true) IS NULL THEN 'never' END)
        INTO caller
        FROM access_tokens t
        WHERE t.hash = token_hash AND t.expires_at > clock_timestamp() AND t.user_id IS NOT NULL
              AND (org IS NULL OR org = t.personal_org_id) AND (t.is_proved OR NOT needs_proof)
              AND (t.admitted_address IS NULL OR token_admits(t.personal_org_id, t.admitted_address, context))
              AND (permission IS NULL OR permission = ANY (CASE t.role WHEN 'owner' THEN role_permissions('owner')
                       WHEN 'admin' THEN role_permissions('admin') ELSE role_permissions('member') END))
              AND context <> '{}';
    END IF;
    IF caller IS NULL THEN
        SELECT concat_ws(' ', a.user_id, a.org_id, a.role, a.platform_admin, a.session_id, '-', a.permissions)
        INTO caller FROM authenticate(token_hash, false, org, permission, true, context::jsonb) AS a;
    END IF;
    RETURN caller;
END
$$;

-- The context of a request that has no caller, and of the second batch of one that has: that one's context says what
-- the caller may do.
CREATE OR REPLACE FUNCTION set_request_context(org uuid, of_user uuid, context jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM set_caller(org, of_user, ARRAY(SELECT p FROM jsonb_array_elements_text(context -> 'permissions') AS p),
        (context ->> 'platform_admin')::boolean, context);
END
$$;

-- For functions that only platform administrators may call. A caller that reaches one in another way is refused too.
CREATE OR REPLACE FUNCTION need_platform_admin() RETURNS void
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
BEGIN
    IF NOT is_platform_admin() THEN
        PERFORM fail('auth.forbidden', 'platform_admin_missing', jsonb_build_object('permission', 'platform_admin'));
    END IF;
END
$$;

-- The organization that the request's scope means: null for the platform. Raises the 403 of who may not act there.
CREATE OR REPLACE FUNCTION scope_org(permission text) RETURNS uuid
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    is_org boolean := coalesce(current_request() ->> 'scope' = 'org', false);
BEGIN
    IF is_org AND NOT has_permission(permission) THEN
        PERFORM fail('auth.forbidden', 'org_scope_denied', jsonb_build_object('permission', permission));
    ELSIF NOT is_org AND NOT is_platform_admin() THEN
        PERFORM fail('auth.forbidden', 'platform_scope_denied');
    END IF;
    RETURN CASE WHEN is_org THEN current_org() END;
END
$$;

-- Before the first statement that checks or changes what the end of the user ends.
CREATE OR REPLACE FUNCTION user_hold_alone(of_user uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(uuid_hash_extended(of_user, 0));
END
$$;

-- Locks the owner of the token before anything of theirs is read. ends: the user whom the call ends, if any: a user's
-- id, or self. A user who ends themself takes the exclusive lock at once, because two that hold it shared and then want
-- more wait for ever.
CREATE OR REPLACE FUNCTION caller_hold(token_hash bytea, is_key boolean, ends text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    of_user uuid;
BEGIN
    IF is_key THEN
        SELECT k.user_id INTO of_user FROM api_keys k WHERE k.hash = token_hash;
    ELSE
        SELECT s.user_id INTO of_user FROM access_tokens t JOIN sessions s ON s.id = t.session_id
            WHERE t.hash = token_hash;
    END IF;
    IF of_user IS NULL THEN
        RETURN;
    ELSIF ends = 'self' OR ends = of_user::text THEN
        PERFORM pg_advisory_xact_lock(uuid_hash_extended(of_user, 0));
    ELSE
        PERFORM pg_advisory_xact_lock_shared(uuid_hash_extended(of_user, 0));
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION authenticate_fully, user_hold_alone, caller_hold FROM hostler_api, hostler_runner;
