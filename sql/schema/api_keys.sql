-- API keys: made, listed and revoked by their users.

CREATE TABLE api_keys (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    user_id uuid NOT NULL,
    name text NOT NULL,
    key_prefix text NOT NULL,
    hash bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    scopes text[] NOT NULL DEFAULT '{}',
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    FOREIGN KEY (user_id) REFERENCES users,
    CHECK (cardinality(scopes) <= 100)
);
CREATE INDEX api_keys_owner ON api_keys (org_id, user_id, id);
CREATE INDEX api_keys_user ON api_keys (user_id);
-- Counted for limit.api_keys, however many are dead.
CREATE INDEX api_keys_alive ON api_keys (org_id, coalesce(expires_at, 'infinity')) WHERE revoked_at IS NULL;
SELECT make_tenant_table('api_keys');
GRANT SELECT ON api_keys TO hostler_api;
GRANT SELECT ON api_keys TO hostler_runner;

CREATE OR REPLACE FUNCTION api_key_json(k api_keys) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', k.id, 'org_id', k.org_id, 'user_id', k.user_id, 'name', k.name,
        'key_prefix', k.key_prefix, 'scopes', to_json(k.scopes), 'expires_at', rfc3339(k.expires_at),
        'revoked_at', rfc3339(k.revoked_at), 'last_used_at', rfc3339(k.last_used_at),
        'created_at', rfc3339(k.created_at))
$$;

-- A key as the audit log keeps it.
CREATE OR REPLACE FUNCTION api_key_state(k api_keys) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT jsonb_build_object('name', k.name, 'user_id', k.user_id, 'key_prefix', k.key_prefix,
        'scopes', to_jsonb(k.scopes), 'expires_at', rfc3339(k.expires_at), 'revoked_at', rfc3339(k.revoked_at))
$$;

-- POST /v1/api-keys. wanted: {name, key_prefix, scopes, expires_at}; known scopes only. Membership and session are
-- held, so that a key cannot be made behind the end of either.
CREATE OR REPLACE FUNCTION api_key_create(wanted jsonb, new_hash bytea, limit_api_keys bigint) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    wanted_scopes text[] := ARRAY(SELECT DISTINCT s FROM jsonb_array_elements_text(wanted -> 'scopes') AS s ORDER BY s);
    scope text;
    ended timestamptz;
    created api_keys;
BEGIN
    PERFORM 1 FROM org_members WHERE org_id = current_org() AND user_id = current_user_id() FOR SHARE;
    IF NOT FOUND THEN
        PERFORM fail('orgs.not_found');
    END IF;
    SELECT revoked_at INTO ended FROM sessions WHERE id = (current_request() ->> 'session_id')::uuid FOR SHARE;
    IF ended IS NOT NULL THEN
        PERFORM fail('auth.invalid_token', 'session_ended');
    END IF;
    FOREACH scope IN ARRAY wanted_scopes LOOP
        IF NOT has_permission(scope) THEN
            PERFORM fail('api_keys.scope_forbidden', 'beyond_maker', jsonb_build_object('permission', scope));
        END IF;
    END LOOP;
    PERFORM limit_check('limit.api_keys', limit_api_keys);
    INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash, scopes, expires_at)
    VALUES (current_org(), current_user_id(), wanted ->> 'name', wanted ->> 'key_prefix', new_hash, wanted_scopes,
            (wanted ->> 'expires_at')::timestamptz)
    RETURNING * INTO created;
    PERFORM audit('api_keys.create', 'api_key', created.id::text, created.org_id, NULL, api_key_state(created));
    RETURN api_key_json(created);
END
$$;

-- GET /v1/api-keys: the caller's own in the organization, revoked ones too.
CREATE OR REPLACE FUNCTION api_key_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE sql STABLE AS $$
    SELECT k.id, api_key_json(k) FROM api_keys k
    WHERE k.org_id = current_org() AND k.user_id = current_user_id() AND (before IS NULL OR k.id < before)
    ORDER BY k.id DESC LIMIT page_limit
$$;

-- The first revocation counts. For definer functions.
CREATE OR REPLACE FUNCTION api_key_end(old_state api_keys) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    new_state api_keys;
BEGIN
    UPDATE api_keys SET revoked_at = clock_timestamp() WHERE id = old_state.id AND revoked_at IS NULL
        RETURNING * INTO new_state;
    IF new_state.id IS NOT NULL THEN
        PERFORM audit('api_keys.revoke', 'api_key', old_state.id::text, old_state.org_id, api_key_state(old_state),
                      api_key_state(new_state));
    END IF;
END
$$;

-- DELETE /v1/api-keys/{key_id}.
CREATE OR REPLACE FUNCTION api_key_revoke(wanted uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state api_keys;
BEGIN
    SELECT * INTO old_state FROM api_keys
    WHERE id = wanted AND org_id = current_org() AND user_id = current_user_id() FOR UPDATE;
    IF old_state.id IS NULL THEN
        PERFORM fail_missing('api_keys.not_found', 'api_keys', wanted, 'user_id');
    END IF;
    PERFORM api_key_end(old_state);
END
$$;

-- hostlerctl apikey revoke: by the key's id, or by what somebody found lying about.
CREATE OR REPLACE FUNCTION api_key_revoke_found(wanted uuid, found_hash bytea, OUT id uuid, OUT key_prefix text,
    OUT login text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state api_keys;
BEGIN
    SELECT * INTO old_state FROM api_keys k WHERE k.id = wanted OR k.hash = found_hash FOR UPDATE;
    IF old_state.id IS NULL THEN
        PERFORM fail('api_keys.not_found');
    END IF;
    PERFORM api_key_end(old_state);
    SELECT old_state.id, old_state.key_prefix, u.login INTO id, key_prefix, login FROM users u
        WHERE u.id = old_state.user_id;
END
$$;
REVOKE EXECUTE ON FUNCTION api_key_end, api_key_revoke_found FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION api_key_create, api_key_page, api_key_revoke FROM hostler_runner;
