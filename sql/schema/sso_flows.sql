-- Logins with OpenID providers on their way through a browser (POST /v1/auth/sso/start, GET /v1/auth/sso/callback), and
-- what the pool asks daemons to ask a provider: its metadata, the exchange of a code, its keys for a logout token.
-- Reached through these functions only.
--
-- A flow belongs to the browser with its cookie. Verifier and nonce are made of the cookie, so that nothing here helps
-- to finish a flow. Who signs in is decided in sso_logins.sql.

CREATE TABLE sso_flows (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    provider_id uuid NOT NULL REFERENCES identity_providers ON DELETE CASCADE,
    epoch bigint NOT NULL,
    state_hash bytea NOT NULL UNIQUE CHECK (length(state_hash) = 32),
    cookie_hash bytea NOT NULL UNIQUE CHECK (length(cookie_hash) = 32),
    return_to text NOT NULL,
    -- begun, returned (a daemon exchanges the code), linking (the user signs in as usual), done
    status text NOT NULL DEFAULT 'begun' CHECK (status IN ('begun', 'returned', 'linking', 'done')),
    call_id uuid,
    link_user_id uuid REFERENCES users,  -- of linking, as the next two
    link_sub text,
    link_grant_id uuid,
    expires_at timestamptz NOT NULL DEFAULT clock_timestamp() + interval '10 minutes'
);
CREATE INDEX sso_flows_provider ON sso_flows (provider_id);
CREATE INDEX sso_flows_user ON sso_flows (link_user_id) WHERE link_user_id IS NOT NULL;
CREATE INDEX sso_flows_expiry ON sso_flows (expires_at);

-- The waiting request reads the result; nobody else does. A row without one after its time is removed.
CREATE TABLE sso_calls (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    kind text NOT NULL CHECK (kind IN ('discovery', 'exchange', 'logout')),
    holder uuid NOT NULL,  -- shares the slots of daemons: the organization, or the provider of the platform
    provider_id uuid,      -- null: a discovery
    request json,          -- {issuer}, {code, verifier, nonce, redirect_uri} or {logout_token}
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    claim_until timestamptz NOT NULL DEFAULT clock_timestamp() + interval '5 seconds',
    claimed_at timestamptz,
    result json
);
CREATE INDEX sso_calls_due ON sso_calls (claim_until) WHERE claimed_at IS NULL;
CREATE INDEX sso_calls_time ON sso_calls (created_at);

-- Logout tokens that were used: each serves once.
CREATE TABLE sso_logouts (
    provider_id uuid NOT NULL REFERENCES identity_providers ON DELETE CASCADE,
    jti text COLLATE "C" NOT NULL,
    used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (provider_id, jti)
);
CREATE INDEX sso_logouts_time ON sso_logouts (used_at);

-- GET /v1/auth/sso/providers: at most twenty (identity_provider_create).
CREATE OR REPLACE FUNCTION sso_provider_list() RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT coalesce(json_agg(json_build_object('key', p.key, 'display_name', p.display_name) ORDER BY p.id), '[]')
    FROM identity_providers p WHERE p.org_id IS NULL AND p.is_active
$$;

-- POST /v1/auth/sso/start: by the provider's key, or by the domain of an address: an organization's provider goes
-- before the platform's.
CREATE OR REPLACE FUNCTION sso_begin(wanted_key text, email_domain text, new_state bytea, new_cookie bytea,
    new_return_to text)
RETURNS TABLE (provider_key text, authorization_endpoint text, client_id text, scopes text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    p identity_providers;
BEGIN
    IF wanted_key IS NOT NULL THEN
        SELECT * INTO p FROM identity_providers q WHERE q.key = wanted_key AND q.is_active;
    ELSE
        SELECT * INTO p FROM identity_providers q WHERE q.domains @> ARRAY[email_domain] AND q.is_active
        ORDER BY q.org_id IS NULL, NOT q.is_required, q.id LIMIT 1;
    END IF;
    IF p.id IS NULL THEN
        PERFORM fail('auth.sso_no_provider');
    END IF;
    INSERT INTO sso_flows (provider_id, epoch, state_hash, cookie_hash, return_to)
    VALUES (p.id, p.epoch, new_state, new_cookie, new_return_to);
    RETURN QUERY SELECT p.key, p.authorization_endpoint, p.client_id, array_to_string(p.scopes, ' ');
END
$$;

-- A login that came to nothing, for the audit log.
CREATE OR REPLACE FUNCTION sso_refused(p identity_providers, code text, of_user uuid DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM audit('auth.sso_login', 'identity_provider', p.id::text, p.org_id, NULL,
                  jsonb_build_object('provider_key', p.key, 'code', code), 'denied', of_user);
    RETURN code;
END
$$;

-- GET /v1/auth/sso/callback/{provider_key}: the browser is back. Only with the cookie of its flow, by the provider with
-- which it began, within ten minutes, once. outcome: ok, and the call of a daemon that exchanges the code; or the code
-- of the fault.
CREATE OR REPLACE FUNCTION sso_return(wanted_key text, given_state bytea, given_cookie bytea, given_issuer text,
    given_code text, secrets json, site text, OUT outcome text, OUT flow_id uuid, OUT new_call_id uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    p identity_providers;
    f sso_flows;
BEGIN
    SELECT * INTO p FROM identity_providers q WHERE q.key = wanted_key;
    UPDATE sso_flows q SET status = 'returned'
    WHERE q.state_hash = given_state AND q.cookie_hash = given_cookie AND q.status = 'begun'
          AND q.expires_at > clock_timestamp() AND q.provider_id = p.id AND q.epoch = p.epoch AND p.is_active
    RETURNING q.* INTO f;
    IF f.id IS NULL THEN
        outcome := 'auth.sso_state_invalid';
    ELSIF (p.tells_issuer AND given_issuer IS NULL) OR given_issuer <> p.issuer THEN
        outcome := 'auth.sso_failed';
    ELSIF given_code IS NULL THEN
        outcome := 'auth.sso_refused';
    ELSE
        outcome := 'ok';
        flow_id := f.id;
        INSERT INTO sso_calls (kind, holder, provider_id, request)
        VALUES ('exchange', coalesce(p.org_id, p.id), p.id, json_build_object('code', given_code,
            'verifier', secrets -> 'verifier', 'nonce', secrets -> 'nonce',
            'redirect_uri', site || '/v1/auth/sso/callback/' || p.key))
        RETURNING id INTO new_call_id;
        UPDATE sso_flows q SET call_id = new_call_id WHERE q.id = f.id;
        RETURN;
    END IF;
    IF p.id IS NOT NULL THEN
        PERFORM sso_refused(p, outcome);
    END IF;
END
$$;

-- Before a provider is stored: a daemon reads the issuer's metadata. Ten a minute for a scope.
CREATE OR REPLACE FUNCTION sso_discovery_begin(issuer text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('org.manage');
    asked uuid;
BEGIN
    PERFORM attempt_or_fail('identity.discovery', coalesce(scope_id::text, 'platform'), 10, interval '1 minute',
                            'rate_limit.exceeded');
    INSERT INTO sso_calls (kind, holder, request)
    VALUES ('discovery', coalesce(scope_id, '00000000-0000-0000-0000-000000000000'),
            json_build_object('issuer', issuer))
    RETURNING id INTO asked;
    RETURN asked;
END
$$;

-- POST /v1/auth/sso/backchannel-logout/{provider_key}: a daemon checks the token. Null: there is no such provider.
CREATE OR REPLACE FUNCTION sso_logout_begin(wanted_key text, logout_token text, limit_checks_per_minute integer)
RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    asked uuid;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM attempt_or_fail('sso.logout', request_network()::text, limit_checks_per_minute * 10, interval '1 minute',
                            'auth.rate_limited');
    INSERT INTO sso_calls (kind, holder, provider_id, request)
    SELECT 'logout', coalesce(p.org_id, p.id), p.id, json_build_object('logout_token', logout_token)
    FROM identity_providers p WHERE p.key = wanted_key AND p.is_active
    RETURNING id INTO asked;
    RETURN asked;
END
$$;

-- The result of a call; null while it is under way.
CREATE OR REPLACE FUNCTION sso_call_result(call_id uuid, OUT result json, OUT is_claimed boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT c.result, c.claimed_at IS NOT NULL FROM sso_calls c WHERE c.id = call_id
$$;

-- Ends the sessions that a logout token means: of the provider's session, else of its subject, that began before it
-- was made, or in the same second, because a token knows no parts of one; and the logins that wait for a second factor.
-- A token serves once. Returns how many; more than at_most at a time are left for the caller's next call.
-- Returns null when the token was used.
CREATE OR REPLACE FUNCTION sso_logout_finish(call_id uuid, is_first boolean, at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    c sso_calls;
    claims json;
    began_before timestamptz;
    page uuid[];
BEGIN
    SELECT * INTO c FROM sso_calls q WHERE q.id = call_id AND q.kind = 'logout';
    claims := c.result -> 'claims';
    IF claims IS NULL THEN
        RETURN NULL;
    END IF;
    IF is_first THEN
        INSERT INTO sso_logouts (provider_id, jti)
        SELECT p.id, claims ->> 'jti' FROM identity_providers p WHERE p.id = c.provider_id
        ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
        PERFORM audit('auth.sso_logout', 'identity_provider', p.id::text, p.org_id, NULL,
                      jsonb_build_object('provider_key', p.key), 'ok', NULL)
        FROM identity_providers p WHERE p.id = c.provider_id;
    END IF;
    began_before := to_timestamp((claims ->> 'iat')::double precision + 1);
    IF claims ->> 'sid' IS NOT NULL THEN
        DELETE FROM factor_tokens t
        WHERE (t.provenance ->> 'sid') COLLATE "C" = claims ->> 'sid'
              AND t.provenance ->> 'provider_id' = c.provider_id::text
              AND t.expires_at < began_before + interval '5 minutes';
        page := ARRAY(SELECT s.id FROM sessions s
                      WHERE s.provider_id = c.provider_id AND s.provider_sid = claims ->> 'sid'
                            AND s.revoked_at IS NULL AND s.created_at < began_before
                            AND (claims ->> 'sub' IS NULL OR EXISTS (
                                SELECT FROM identities i WHERE i.id = s.identity_id AND i.sub = claims ->> 'sub'))
                      LIMIT at_most);
    ELSE
        DELETE FROM factor_tokens t USING identities i
        WHERE i.provider_id = c.provider_id AND i.sub = claims ->> 'sub' AND t.user_id = i.user_id
              AND t.provenance ->> 'provider_id' = c.provider_id::text
              AND t.expires_at < began_before + interval '5 minutes';
        page := ARRAY(SELECT s.id FROM identity_providers p
                      JOIN identities i ON i.provider_id = p.id AND i.epoch = p.epoch AND i.sub = claims ->> 'sub'
                      JOIN sessions s ON s.identity_id = i.id AND s.revoked_at IS NULL AND s.created_at < began_before
                      WHERE p.id = c.provider_id LIMIT at_most);
    END IF;
    PERFORM FROM sessions s WHERE s.id = ANY (page) ORDER BY s.id FOR NO KEY UPDATE;
    UPDATE sessions s SET revoked_at = coalesce(s.revoked_at, clock_timestamp()) WHERE s.id = ANY (page);
    RETURN cardinality(page);
END
$$;

-- A daemon takes the oldest call that waits, but none of the holders that others go before; no row: none waits. With
-- all that it needs of the provider.
CREATE OR REPLACE FUNCTION sso_call_claim(full_holders uuid[])
RETURNS TABLE (call_id uuid, kind text, holder uuid, request json, provider_id uuid, issuer text, client_id text,
    client_method text, token_endpoint text, jwks_uri text, userinfo_endpoint text, keys json, keys_age_s bigint,
    groups_claim text, secret_id uuid, secret_org_id uuid, secret_kind text, key_version integer, wrapped_key bytea,
    sealed bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    c sso_calls;
BEGIN
    SELECT * INTO c FROM sso_calls d
    WHERE d.claimed_at IS NULL AND d.claim_until > clock_timestamp() AND d.holder <> ALL (full_holders)
    ORDER BY d.claim_until LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF c.id IS NOT NULL THEN
        UPDATE sso_calls q SET claimed_at = clock_timestamp(), request = NULL WHERE q.id = c.id;
        RETURN QUERY
        SELECT c.id, c.kind, c.holder, c.request, p.id, p.issuer, p.client_id, p.client_method, p.token_endpoint,
            p.jwks_uri, p.userinfo_endpoint, p.keys,
            extract(epoch FROM clock_timestamp() - p.keys_read_at)::bigint, p.groups_claim, s.id, s.org_id, s.kind,
            s.key_version, s.wrapped_key, s.sealed
        FROM (SELECT) AS one LEFT JOIN identity_providers p ON p.id = c.provider_id
        LEFT JOIN secrets s ON s.id = p.secret_id;
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION sso_call_store(call uuid, new_result json) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE sso_calls c SET result = new_result WHERE c.id = call AND c.result IS NULL;
    RETURN FOUND;
END
$$;

-- Whether a daemon may read the provider's keys again: one a minute. Otherwise the keys that are stored serve.
CREATE OR REPLACE FUNCTION sso_keys_turn(provider uuid, OUT is_turn boolean, OUT stored json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE identity_providers p SET keys_tried_at = clock_timestamp()
    WHERE p.id = provider AND coalesce(p.keys_tried_at < clock_timestamp() - interval '1 minute', true);
    is_turn := FOUND;
    SELECT p.keys INTO stored FROM identity_providers p WHERE p.id = provider;
END
$$;

-- Stores keys that were read from this address, if it is still the provider's.
CREATE OR REPLACE FUNCTION sso_keys_store(provider uuid, read_from text, new_keys json) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE identity_providers p SET keys = new_keys, keys_read_at = clock_timestamp()
    WHERE p.id = provider AND p.jwks_uri = read_from;
    RETURN FOUND;
END
$$;

-- Maintenance: what is over, at most so many rows of each; answers the most of any.
CREATE OR REPLACE FUNCTION sso_prune(at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    taken bigint;
    highest bigint := 0;
BEGIN
    DELETE FROM sso_flows WHERE id IN (
        SELECT f.id FROM sso_flows f WHERE f.expires_at < statement_timestamp() - interval '1 minute'
        ORDER BY f.expires_at LIMIT at_most FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS highest = ROW_COUNT;
    DELETE FROM sso_calls WHERE id IN (
        SELECT c.id FROM sso_calls c WHERE c.created_at < statement_timestamp() - interval '5 minutes'
        ORDER BY c.created_at LIMIT at_most FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS taken = ROW_COUNT;
    highest := greatest(highest, taken);
    DELETE FROM sso_logouts WHERE (provider_id, jti) IN (
        SELECT l.provider_id, l.jti FROM sso_logouts l WHERE l.used_at < statement_timestamp() - interval '1 hour'
        ORDER BY l.used_at LIMIT at_most FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS taken = ROW_COUNT;
    RETURN greatest(highest, taken);
END
$$;
REVOKE EXECUTE ON FUNCTION sso_refused FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION sso_provider_list, sso_begin, sso_return, sso_discovery_begin, sso_logout_begin,
    sso_call_result, sso_logout_finish FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION sso_call_claim, sso_call_store, sso_keys_turn, sso_keys_store, sso_prune FROM hostler_api;
