-- Why: API keys are made, listed and revoked by their users. Locks: api_keys, briefly, while a check is added.

ALTER TABLE api_keys ADD CHECK (cardinality(scopes) <= 100);
REVOKE INSERT ON api_keys FROM hostler_api;
REVOKE UPDATE (revoked_at) ON api_keys FROM hostler_api;

CREATE FUNCTION api_key_json(k api_keys) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', k.id, 'org_id', k.org_id, 'user_id', k.user_id, 'name', k.name,
        'key_prefix', k.key_prefix, 'scopes', to_json(k.scopes), 'expires_at', rfc3339(k.expires_at),
        'revoked_at', rfc3339(k.revoked_at), 'last_used_at', rfc3339(k.last_used_at),
        'created_at', rfc3339(k.created_at))
$$;

-- A key as the audit log keeps it.
CREATE FUNCTION api_key_state(k api_keys) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT jsonb_build_object('name', k.name, 'user_id', k.user_id, 'key_prefix', k.key_prefix,
        'scopes', to_jsonb(k.scopes), 'expires_at', rfc3339(k.expires_at), 'revoked_at', rfc3339(k.revoked_at))
$$;

-- POST /v1/api-keys. wanted: {name, key_prefix, scopes, expires_at}; known scopes only. The membership is held, so
-- that a key cannot be made behind its end.
CREATE FUNCTION api_key_create(wanted jsonb, new_hash bytea) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    wanted_scopes text[] := ARRAY(SELECT DISTINCT s FROM jsonb_array_elements_text(wanted -> 'scopes') AS s ORDER BY s);
    scope text;
    made api_keys;
BEGIN
    PERFORM 1 FROM org_members WHERE org_id = current_org() AND user_id = current_user_id() FOR SHARE;
    IF NOT FOUND THEN
        PERFORM fail('orgs.not_found');
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

-- GET /v1/api-keys: the caller's own in the organization, revoked ones too.
CREATE FUNCTION api_key_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE sql STABLE AS $$
    SELECT k.id, api_key_json(k) FROM api_keys k
    WHERE k.org_id = current_org() AND k.user_id = current_user_id() AND (before IS NULL OR k.id < before)
    ORDER BY k.id DESC LIMIT page_limit
$$;

-- The first revocation counts. For definer functions.
CREATE FUNCTION api_key_end(was api_keys) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    now_is api_keys;
BEGIN
    UPDATE api_keys SET revoked_at = clock_timestamp() WHERE id = was.id AND revoked_at IS NULL RETURNING * INTO now_is;
    IF now_is.id IS NOT NULL THEN
        PERFORM audit('api_keys.revoke', 'api_key', was.id::text, was.org_id, api_key_state(was),
                      api_key_state(now_is));
    END IF;
END
$$;

-- DELETE /v1/api-keys/{key_id}.
CREATE FUNCTION api_key_revoke(wanted uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    was api_keys;
BEGIN
    SELECT * INTO was FROM api_keys
    WHERE id = wanted AND org_id = current_org() AND user_id = current_user_id() FOR UPDATE;
    IF was.id IS NULL THEN
        PERFORM fail_missing('api_keys.not_found', 'api_keys', wanted, 'user_id');
    END IF;
    PERFORM api_key_end(was);
END
$$;

-- hostlerctl apikey revoke: by the key's id, or by what somebody found lying about.
CREATE FUNCTION api_key_revoke_found(wanted uuid, found_hash bytea, OUT id uuid, OUT key_prefix text, OUT login text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    was api_keys;
BEGIN
    SELECT * INTO was FROM api_keys k WHERE k.id = wanted OR k.hash = found_hash FOR UPDATE;
    IF was.id IS NULL THEN
        PERFORM fail('api_keys.not_found');
    END IF;
    PERFORM api_key_end(was);
    SELECT was.id, was.key_prefix, u.login INTO id, key_prefix, login FROM users u WHERE u.id = was.user_id;
END
$$;
REVOKE EXECUTE ON FUNCTION api_key_end, api_key_revoke_found FROM hostler_api;
REVOKE EXECUTE ON FUNCTION api_key_end, api_key_revoke_found, api_key_create, api_key_page, api_key_revoke
    FROM hostler_runner;
