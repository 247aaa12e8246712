-- The user who signs in when an OpenID provider vouches for somebody (docs/sign-in.md), with which rights,
-- and how an account is linked.
--
-- `facts` is what a daemon checked and the pool worked out: {sub, sid, email, email_key, domain, is_verified, groups,
-- logins: [{login, look}], locale}; email_key and domain are null for an address that is no valid one.

-- The provider's word on an address counts when it says that the address is verified, and when the domain is one of
-- its own: granted to the organization, or named by the platform, whose providers may name none. Returns whether it
-- counts, and the grant.
CREATE OR REPLACE FUNCTION sso_vouches(p identity_providers, facts jsonb, OUT vouches boolean, OUT by_grant uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    given_domain text := facts ->> 'domain';
BEGIN
    vouches := given_domain IS NOT NULL AND facts ->> 'email_key' IS NOT NULL
        AND (p.trust_email OR coalesce((facts ->> 'is_verified')::boolean, false))
        AND (given_domain = ANY (p.domains) OR (p.org_id IS NULL AND p.domains = '{}'));
    IF vouches AND p.org_id IS NOT NULL THEN
        SELECT g.id INTO by_grant FROM org_domains g WHERE g.org_id = p.org_id AND g.domain = given_domain
        FOR SHARE;
        vouches := by_grant IS NOT NULL;
    END IF;
END
$$;

-- Makes an account with a proved address and no password. People of an organization's provider get no credits and no
-- invitation code, because its administrator makes any number of them. Returns null when the address or
-- every one of the names is taken meanwhile.
CREATE OR REPLACE FUNCTION sso_user_create(p identity_providers, facts jsonb, settings jsonb) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    new_id uuid := public.uuidv7();
    new_org_id uuid := public.uuidv7();
    initial_grant bigint := (settings ->> 'credit.initial_grant')::bigint;
    quota integer := coalesce((settings ->> 'limit.registrations_per_network_hour')::integer, 0);
    wanted jsonb;
    new_login text;
BEGIN
    IF email_is_kept(facts ->> 'email_key', NULL) THEN
        RETURN NULL;
    END IF;
    IF p.org_id IS NULL AND quota > 0 THEN
        PERFORM attempt_or_fail('auth.register', request_network()::text, quota, interval '1 hour',
                                'auth.rate_limited');
    END IF;
    SELECT w INTO wanted FROM jsonb_array_elements(facts -> 'logins') AS w
    WHERE NOT EXISTS (SELECT FROM user_names n WHERE n.name_key = name_key(w ->> 'login'))
          AND NOT user_name_looks_taken(w ->> 'login', w -> 'look', NULL) LIMIT 1;
    new_login := wanted ->> 'login';
    INSERT INTO users (id, login, username, email, email_key, email_verified_at, personal_org_id, locale,
        made_by_org_id)
    SELECT new_id, new_login, new_login, facts ->> 'email', facts ->> 'email_key', clock_timestamp(), new_org_id,
        coalesce(facts ->> 'locale', 'en'), p.org_id
    WHERE new_login IS NOT NULL
    ON CONFLICT (email_key) WHERE status <> 'deleted' DO NOTHING;
    IF NOT FOUND OR NOT user_name_take(new_login, wanted -> 'look', new_id) THEN
        RETURN NULL;
    END IF;
    INSERT INTO orgs (id, slug, name, type)
    VALUES (new_org_id, new_org_id::text, new_login || '''s workspace', 'personal');
    INSERT INTO org_members (org_id, user_id, role) VALUES (new_org_id, new_id, 'owner');
    INSERT INTO credit_accounts (org_id) VALUES (new_org_id);
    IF p.org_id IS NULL THEN
        IF initial_grant > 0 THEN
            PERFORM credit_post(new_org_id, initial_grant, 'initial_grant', 'user', new_id::text);
        END IF;
        PERFORM invite_code_make(new_id, (settings ->> 'invite.default_max_uses')::integer);
    END IF;
    PERFORM audit('auth.register', 'user', new_id::text, new_org_id, NULL,
                  jsonb_build_object('provider_key', p.key, 'email_verified', true), 'ok', new_id);
    RETURN new_id;
END
$$;

-- Finds the user of a subject that is not linked yet. outcome: ok, and the link that was made; link, when a user has
-- the address and must sign in as usual first; or the code of the refusal.
CREATE OR REPLACE FUNCTION sso_user_find(p identity_providers, facts jsonb, settings jsonb, OUT outcome text,
    OUT found_id uuid, OUT identity uuid, OUT by_grant uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    vouches boolean;
    u users;
BEGIN
    SELECT v.vouches, v.by_grant INTO vouches, by_grant FROM sso_vouches(p, facts) AS v;
    IF NOT vouches THEN
        outcome := 'auth.sso_unknown_user';
        RETURN;
    END IF;
    -- Before their row, as everybody who wants both: see account_taken_back().
    PERFORM user_hold_alone(q.id) FROM users q WHERE q.email_key = facts ->> 'email_key' AND q.status <> 'deleted'
        AND q.email_verified_at IS NULL;
    SELECT * INTO u FROM users q WHERE q.email_key = facts ->> 'email_key' AND q.status <> 'deleted' FOR NO KEY UPDATE;
    IF u.id IS NULL AND NOT p.create_users THEN
        outcome := 'auth.sso_unknown_user';
        RETURN;
    ELSIF u.id IS NULL AND p.org_id IS NULL AND settings ->> 'auth.registration_mode' <> 'open' THEN
        outcome := 'auth.registration_disabled';
        RETURN;
    ELSIF u.id IS NULL THEN
        found_id := sso_user_create(p, facts, settings);
        IF found_id IS NULL THEN
            PERFORM fail('auth.email_exists');  -- takes back what of the account is there
        END IF;
    ELSIF u.status <> 'active' THEN
        outcome := 'auth.user_suspended';
        RETURN;
    ELSIF scim_made(p.org_id, u) AND u.email_verified_at IS NOT NULL THEN
        found_id := u.id;
    ELSIF u.email_verified_at IS NOT NULL THEN
        outcome := 'link';
        found_id := u.id;
        RETURN;
    ELSIF u.platform_admin THEN
        outcome := 'auth.factor_setup_required';  -- nothing of an administrator ends by a provider's word
        RETURN;
    ELSE
        PERFORM email_first_proved(u);
        found_id := u.id;
    END IF;
    SELECT * INTO STRICT u FROM users q WHERE q.id = found_id FOR NO KEY UPDATE;
    identity := identity_link(u, p, facts ->> 'sub', by_grant);
    outcome := 'ok';
END
$$;

-- The role that the groups of a person give: the highest that matches, never owner.
CREATE OR REPLACE FUNCTION sso_role(p identity_providers, facts jsonb) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN EXISTS (
        SELECT FROM jsonb_array_elements_text(coalesce(facts -> 'groups', '[]')) AS g
        WHERE p.role_map ->> g = 'admin') THEN 'admin' ELSE 'member' END
$$;

-- The membership in the organization of the provider: begun, or its role renewed. A provider that names no groups_claim
-- leaves roles alone. Returns ok, or the code of the refusal.
CREATE OR REPLACE FUNCTION sso_member(p identity_providers, of_user uuid, facts jsonb, limit_members bigint)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    new_role text := sso_role(p, facts);
    old_role text;
BEGIN
    PERFORM FROM orgs o WHERE o.id = p.org_id AND o.closed_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN 'orgs.not_found';
    END IF;
    IF EXISTS (SELECT FROM scim_users s
               WHERE s.org_id = p.org_id AND s.user_id = of_user AND s.group_role = 'admin') THEN
        new_role := 'admin';
    END IF;
    SELECT m.role INTO old_role FROM org_members m WHERE m.org_id = p.org_id AND m.user_id = of_user;
    IF old_role IS NULL THEN
        IF EXISTS (SELECT FROM former_members f WHERE f.org_id = p.org_id AND f.user_id = of_user)
           OR scim_keeps_out(p.org_id, of_user) THEN
            RETURN 'auth.sso_removed';
        END IF;
        PERFORM members_check(p.org_id, limit_members);
        INSERT INTO org_members (org_id, user_id, role) VALUES (p.org_id, of_user, new_role);
        PERFORM audit('orgs.member_added', 'member', of_user::text, p.org_id, NULL,
                      jsonb_build_object('role', new_role, 'provider_key', p.key), 'ok', of_user);
    ELSIF old_role <> 'owner' AND old_role <> new_role AND p.groups_claim IS NOT NULL THEN
        UPDATE org_members SET role = new_role WHERE org_id = p.org_id AND user_id = of_user;
        PERFORM audit('orgs.member_role', 'member', of_user::text, p.org_id, jsonb_build_object('role', old_role),
                      jsonb_build_object('role', new_role, 'provider_key', p.key), 'ok', of_user);
    END IF;
    RETURN 'ok';
END
$$;

-- Refuses another member beyond limit.members. The organization's row is locked.
CREATE OR REPLACE FUNCTION members_check(org uuid, limit_members bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    allowed bigint := entitlement_integer(org, 'limit.members', limit_members);
BEGIN
    IF allowed > 0 AND EXISTS (SELECT FROM org_members m WHERE m.org_id = org OFFSET allowed - 1) THEN
        PERFORM fail('limits.reached', 'all_used', jsonb_build_object('key', 'limit.members', 'limit', allowed,
                                                                      'used', allowed));
    END IF;
END
$$;

-- The rest of a login: a second factor is asked for, or the session begins. provenance: as session_begin() takes it.
CREATE OR REPLACE FUNCTION sso_session(u users, p identity_providers, provenance jsonb, access_hash bytea,
    refresh_hash bytea, factor_hash bytea, settings jsonb, OUT outcome text, OUT factors jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    begun uuid;
BEGIN
    IF u.has_factor AND (u.platform_admin OR NOT p.has_second_factor) THEN
        outcome := 'factor';
        factors := factor_token_begin(u, 'sso', factor_hash, provenance);
        RETURN;
    END IF;
    begun := session_begin(u.id, 'sso', access_hash, refresh_hash,
                           (settings ->> 'auth.access_token_seconds')::integer,
                           (settings ->> 'auth.refresh_token_seconds')::integer,
                           (settings ->> 'limit.sessions_per_user')::integer, provenance);
    PERFORM audit('auth.sso_login', 'session', begun::text, coalesce(p.org_id, u.personal_org_id), NULL,
                  jsonb_build_object('provider_key', p.key), 'ok', u.id);
    outcome := 'ok';
END
$$;

-- The end of the callback, after a daemon checked the ID token. outcome: ok, factor (with factors), link, or the code
-- of the refusal. What it wrote is to be committed in each case.
CREATE OR REPLACE FUNCTION sso_finish(flow uuid, call uuid, facts jsonb, access_hash bytea, refresh_hash bytea,
    factor_hash bytea, auth_sso_session_seconds bigint, limit_members bigint, settings jsonb,
    OUT outcome text, OUT factors jsonb, OUT return_to text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    f sso_flows;
    p identity_providers;
    u users;
    who record;
    identity uuid;
    grant_id uuid;
BEGIN
    UPDATE sso_flows q SET status = 'done' WHERE q.id = flow AND q.call_id = call AND q.status = 'returned'
    RETURNING q.* INTO f;
    SELECT * INTO p FROM identity_providers q WHERE q.id = f.provider_id AND q.epoch = f.epoch AND q.is_active
    FOR SHARE;
    IF p.id IS NULL THEN
        outcome := 'auth.sso_state_invalid';
        RETURN;
    END IF;
    return_to := f.return_to;
    SELECT i.user_id, i.id INTO u.id, identity FROM identities i
    WHERE i.provider_id = p.id AND i.epoch = p.epoch AND i.sub = facts ->> 'sub' AND identity_holds(i.id);
    IF u.id IS NULL THEN
        SELECT * INTO who FROM sso_user_find(p, facts, settings);
        IF who.outcome = 'link' THEN
            UPDATE sso_flows q SET status = 'linking', link_user_id = who.found_id, link_sub = facts ->> 'sub',
                link_grant_id = who.by_grant, expires_at = clock_timestamp() + interval '10 minutes'
            WHERE q.id = f.id;
            outcome := 'link';
            RETURN;
        ELSIF who.outcome <> 'ok' THEN
            outcome := sso_refused(p, who.outcome);
            RETURN;
        END IF;
        u.id := who.found_id;
        identity := who.identity;
    END IF;
    SELECT * INTO u FROM users q WHERE q.id = u.id AND q.status <> 'deleted' FOR NO KEY UPDATE;
    -- The link may have ended while the row was waited for.
    IF u.id IS NULL OR NOT identity_holds(identity) THEN
        outcome := sso_refused(p, 'auth.sso_unknown_user');
    ELSIF u.status <> 'active' THEN
        outcome := sso_refused(p, 'auth.user_suspended', u.id);
    ELSIF u.platform_admin AND NOT u.has_factor THEN
        outcome := sso_refused(p, 'auth.factor_setup_required', u.id);
    ELSE
        outcome := CASE WHEN p.org_id IS NULL THEN 'ok' ELSE sso_member(p, u.id, facts, limit_members) END;
        IF outcome <> 'ok' THEN
            outcome := sso_refused(p, outcome, u.id);
            RETURN;
        END IF;
        UPDATE identities i SET last_used_at = clock_timestamp() WHERE i.id = identity;
        SELECT s.outcome, s.factors INTO outcome, factors
        FROM sso_session(u, p, jsonb_build_object('identity_id', identity, 'provider_id', p.id,
            'org_id', p.org_id, 'sid', facts ->> 'sid', 'seconds', auth_sso_session_seconds),
            access_hash, refresh_hash, factor_hash, settings) AS s;
    END IF;
END
$$;

-- A session began in the usual way: if the flow of one of the request's cookies waits for exactly this user, the user
-- is linked. Called by session_begin().
CREATE OR REPLACE FUNCTION sso_link_waiting(of_user uuid, cookie_hashes jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    f sso_flows;
    p identity_providers;
    u users;
BEGIN
    UPDATE sso_flows q SET status = 'done'
    WHERE q.id = (SELECT w.id FROM sso_flows w
                  WHERE w.cookie_hash = ANY (ARRAY(SELECT decode(h, 'hex')
                                                   FROM jsonb_array_elements_text(cookie_hashes) AS h))
                        AND w.status = 'linking' AND w.link_user_id = of_user AND w.expires_at > clock_timestamp()
                  ORDER BY w.id DESC LIMIT 1)
          AND q.status = 'linking'
    RETURNING q.* INTO f;
    IF f.id IS NULL THEN
        RETURN;
    END IF;
    SELECT * INTO p FROM identity_providers q WHERE q.id = f.provider_id AND q.epoch = f.epoch AND q.is_active
    FOR SHARE;
    SELECT * INTO u FROM users q WHERE q.id = of_user AND q.email_verified_at IS NOT NULL;
    IF p.id IS NOT NULL AND u.id IS NOT NULL
       AND (f.link_grant_id IS NULL OR EXISTS (SELECT FROM org_domains g WHERE g.id = f.link_grant_id)) THEN
        PERFORM identity_link(u, p, f.link_sub, f.link_grant_id);
    END IF;
END
$$;

-- Whether the provider with which a session began asked for a second factor itself.
CREATE OR REPLACE FUNCTION sso_proves_factor(provider uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN provider IS NOT NULL
        AND EXISTS (SELECT FROM identity_providers p WHERE p.id = provider AND p.has_second_factor);
END
$$;

-- Whether a request to an organization that requires a provider passes although its session did not begin with it: of
-- an owner with a second factor and a fresh login by it, for the provider's endpoints (context: sso_exempt_seconds).
CREATE OR REPLACE FUNCTION sso_way_back(context jsonb, role text, session uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN context ? 'sso_exempt_seconds' AND role = 'owner' AND EXISTS (
        SELECT FROM sessions s JOIN users u ON u.id = s.user_id
        WHERE s.id = session AND u.has_factor AND s.provider_id IS NULL
              AND s.factor_proved_at
                  > clock_timestamp() - make_interval(secs => (context ->> 'sso_exempt_seconds')::integer));
END
$$;

-- Tells all owners that somebody went that way; once an hour for a session.
CREATE OR REPLACE FUNCTION sso_way_back_mail() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    session uuid := (current_request() ->> 'session_id')::uuid;
    o orgs;
BEGIN
    SELECT * INTO o FROM orgs q WHERE q.id = current_org() AND q.required_provider_id IS NOT NULL;
    IF o.id IS NULL OR EXISTS (SELECT FROM sessions s WHERE s.id = session AND s.provider_id = o.required_provider_id)
       OR EXISTS (SELECT FROM attempts a WHERE a.kind = 'sso.exempt' AND a.subject = session::text
                  AND a.at > clock_timestamp() - interval '1 hour') THEN
        RETURN;
    END IF;
    INSERT INTO attempts (kind, subject) VALUES ('sso.exempt', session::text);
    PERFORM mail_queue('sso_way_back', u.email, u.locale, jsonb_build_object('username', u.username, 'org', o.name,
        'who', (SELECT w.login FROM users w WHERE w.id = current_user_id())), NULL, u.email_key, u.id)
    FROM (SELECT m.user_id FROM org_members m WHERE m.org_id = o.id AND m.role = 'owner' LIMIT 100) AS owners
    JOIN users u ON u.id = owners.user_id AND u.status = 'active';
END
$$;

-- Raises what keeps a session from the organization that path or query name: one that requires another provider, or
-- that the session is not confined to.
CREATE OR REPLACE FUNCTION sso_named_check(named uuid, of_user uuid, is_admin boolean, session uuid, refused text)
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    s sessions;
    required uuid;
BEGIN
    SELECT * INTO s FROM sessions q WHERE q.id = session;
    IF s.confined_org_id IS NOT NULL AND s.confined_org_id <> named THEN
        PERFORM fail('orgs.not_found', 'not_a_member', refused => refused);
    END IF;
    SELECT o.required_provider_id INTO required FROM orgs o
    WHERE o.id = named AND (is_admin OR EXISTS (
        SELECT FROM org_members m WHERE m.org_id = o.id AND m.user_id = of_user));
    IF required IS NOT NULL AND required IS DISTINCT FROM s.provider_id THEN
        PERFORM sso_required_fail(required, refused);
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION sso_required_fail(provider uuid, refused text) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM fail('auth.sso_required', 'session_of_another_way', jsonb_build_object('provider_key',
        (SELECT p.key FROM identity_providers p WHERE p.id = provider)), refused => refused);
END
$$;
REVOKE EXECUTE ON FUNCTION sso_vouches, sso_user_create, sso_user_find, sso_role, sso_member, sso_session,
    sso_link_waiting, sso_proves_factor, sso_way_back, sso_way_back_mail, sso_named_check, sso_required_fail,
    members_check FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION sso_finish FROM hostler_runner;
