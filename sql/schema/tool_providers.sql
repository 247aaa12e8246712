-- Which back end serves the tool groups web_search and web_fetch, for the platform and for each organization.

-- The providers there are (contract section 5). A row of tool_providers exists once something was set.
CREATE OR REPLACE FUNCTION tool_provider_kinds()
RETURNS TABLE (group_name text, provider_name text, requires_api_key boolean, requires_base_url boolean)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    VALUES ('web_search', 'web_search.alpha', true, false), ('web_search', 'web_search.beta', false, true),
           ('web_fetch', 'web_fetch.gamma', true, false), ('web_fetch', 'web_fetch.delta', true, false)
$$;

CREATE TABLE tool_providers (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid REFERENCES orgs,  -- null: the platform's
    group_name text COLLATE "C" NOT NULL,
    provider_name text COLLATE "C" NOT NULL,
    is_active boolean NOT NULL DEFAULT false,
    base_url text,
    secret_id uuid REFERENCES secrets ON DELETE SET NULL,
    key_prefix text,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK ((secret_id IS NULL) = (key_prefix IS NULL)),
    FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id) ON DELETE SET NULL (secret_id)
);
CREATE INDEX tool_providers_secret ON tool_providers (secret_id) WHERE secret_id IS NOT NULL;
CREATE UNIQUE INDEX tool_providers_name ON tool_providers (org_id, provider_name) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX tool_providers_active ON tool_providers (org_id, group_name) NULLS NOT DISTINCT WHERE is_active;
ALTER TABLE tool_providers ENABLE ROW LEVEL SECURITY;
ALTER TABLE tool_providers FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tool_providers USING (org_id = current_org() OR org_id IS NULL)
    WITH CHECK (org_id = current_org() OR (org_id IS NULL AND is_platform_admin()));
GRANT SELECT, INSERT, UPDATE ON tool_providers TO hostler_api;
GRANT SELECT ON tool_providers TO hostler_runner;

-- GET /v1/tool-providers: both groups and all their providers, configured or not.
CREATE OR REPLACE FUNCTION tool_provider_list() RETURNS json
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('data.secrets');
BEGIN
    RETURN json_build_object('groups', (
        SELECT json_agg(json_build_object('group_name', g.group_name, 'providers', g.providers)
                        ORDER BY g.group_name DESC)
        FROM (
            SELECT k.group_name, json_agg(json_build_object(
                'group_name', k.group_name, 'provider_name', k.provider_name,
                'is_active', coalesce(p.is_active, false), 'key_prefix', p.key_prefix, 'base_url', p.base_url,
                'requires_api_key', k.requires_api_key, 'requires_base_url', k.requires_base_url,
                'configured', (NOT k.requires_api_key OR p.secret_id IS NOT NULL)
                              AND (NOT k.requires_base_url OR p.base_url IS NOT NULL))
                   ORDER BY k.provider_name) AS providers
            FROM tool_provider_kinds() k
            LEFT JOIN tool_providers p ON p.provider_name = k.provider_name
                 AND (p.org_id = scope_id OR (scope_id IS NULL AND p.org_id IS NULL))
            GROUP BY k.group_name) AS g));
END
$$;

-- GET /v1/tool-providers/resolved: who serves each group for the caller's organization, as tool_provider_resolve()
-- finds them, and else the settings' choice. legacy: {"web_search": {provider_name, configured}, …}, groups without one
-- absent.
CREATE OR REPLACE FUNCTION tool_providers_resolved(legacy jsonb) RETURNS json
LANGUAGE sql STABLE SET search_path = public, pg_catalog AS $$
    SELECT json_agg(json_build_object('group_name', g.group_name,
        'provider_name', coalesce(p.provider_name, legacy -> g.group_name ->> 'provider_name'),
        'source', coalesce(p.source, CASE WHEN legacy ? g.group_name THEN 'legacy' ELSE 'none' END),
        'configured', coalesce(p.is_configured, (legacy -> g.group_name ->> 'configured')::boolean, false))
        ORDER BY g.group_name DESC)
    FROM (SELECT DISTINCT k.group_name FROM tool_provider_kinds() k) AS g
    LEFT JOIN LATERAL (
        SELECT t.provider_name, CASE WHEN t.org_id IS NULL THEN 'platform' ELSE 'org' END AS source,
               (NOT k.requires_api_key OR t.secret_id IS NOT NULL)
               AND (NOT k.requires_base_url OR t.base_url IS NOT NULL) AS is_configured
        FROM tool_providers t JOIN tool_provider_kinds() k ON k.provider_name = t.provider_name
        WHERE t.group_name = g.group_name AND t.is_active AND (t.org_id = current_org() OR t.org_id IS NULL)
        ORDER BY t.org_id IS NULL LIMIT 1) AS p ON true
$$;

-- The row of a provider in the request's scope, created if missing, locked with its whole group: a change of a group of
-- a scope waits for the one under way. Raises the 404 of unknown names.
CREATE OR REPLACE FUNCTION tool_provider_hold(wanted_group text, wanted_provider text) RETURNS tool_providers
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('data.secrets');
    provider_row tool_providers;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM tool_provider_kinds() k
                   WHERE k.group_name = wanted_group AND k.provider_name = wanted_provider) THEN
        PERFORM fail('tool_providers.not_found', 'group_or_provider_unknown');
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('tool group ' || wanted_group || coalesce(scope_id::text, ''), 0));
    SELECT * INTO provider_row FROM tool_providers
    WHERE provider_name = wanted_provider AND (org_id = scope_id OR (scope_id IS NULL AND org_id IS NULL));
    IF provider_row.id IS NULL THEN
        INSERT INTO tool_providers (org_id, group_name, provider_name) VALUES (scope_id, wanted_group, wanted_provider)
        RETURNING * INTO provider_row;
    END IF;
    RETURN provider_row;
END
$$;

-- For dispatch: the 404 of unknown names comes before a fault of the body.
CREATE OR REPLACE FUNCTION tool_provider_check(wanted_group text, wanted_provider text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM scope_org('data.secrets');
    IF NOT EXISTS (SELECT 1 FROM tool_provider_kinds() k
                   WHERE k.group_name = wanted_group AND k.provider_name = wanted_provider) THEN
        PERFORM fail('tool_providers.not_found', 'group_or_provider_unknown');
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION tool_provider_state(p tool_providers) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_build_object('provider_name', p.provider_name, 'is_active', p.is_active, 'base_url', p.base_url,
                              'key_prefix', p.key_prefix)
$$;

-- PUT …/activate and …/deactivate: one switch; any other provider of the scope and group becomes inactive.
CREATE OR REPLACE FUNCTION tool_provider_switch(wanted_group text, wanted_provider text, active boolean) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    old_state tool_providers := tool_provider_hold(wanted_group, wanted_provider);
    new_state tool_providers := old_state;
BEGIN
    IF active THEN
        UPDATE tool_providers SET is_active = false, updated_at = clock_timestamp()
        WHERE group_name = old_state.group_name AND is_active AND id <> old_state.id
              AND (org_id = old_state.org_id OR (old_state.org_id IS NULL AND org_id IS NULL));
    END IF;
    UPDATE tool_providers SET is_active = active, updated_at = clock_timestamp() WHERE id = old_state.id;
    new_state.is_active := active;
    PERFORM audit(CASE WHEN active THEN 'tool_providers.activate' ELSE 'tool_providers.deactivate' END,
                  'tool_provider', old_state.provider_name, old_state.org_id, tool_provider_state(old_state),
                  tool_provider_state(new_state));
    PERFORM pg_notify('hostler_tools', '');
END
$$;

-- Where a provider's key is sent; without a base_url that is its maker's (runner/tools/tool_provider.cpp).
CREATE OR REPLACE FUNCTION tool_provider_origin(p tool_providers) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = public, pg_catalog AS $$
    SELECT url_origin(coalesce(p.base_url, CASE p.provider_name
        WHEN 'web_search.alpha' THEN 'https://api.tavily.com' WHEN 'web_fetch.gamma' THEN 'https://r.jina.ai'
        WHEN 'web_fetch.delta' THEN 'https://api.firecrawl.dev' ELSE '' END))
$$;

-- PUT …/credential: given values overwrite, absent ones stay. Together they must be complete. A key that stays is sent
-- only where it was meant: another address needs the key again.
-- secret: {id, key_version, wrapped_key, sealed} (bytes in base64), or null without a new key.
CREATE OR REPLACE FUNCTION tool_provider_credential_set(wanted_group text, wanted_provider text, new_base_url text,
                                             new_key_prefix text, secret jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    old_state tool_providers := tool_provider_hold(wanted_group, wanted_provider);
    new_state tool_providers := old_state;
    kind record;
BEGIN
    SELECT * INTO STRICT kind FROM tool_provider_kinds() k WHERE k.provider_name = wanted_provider;
    new_state.base_url := coalesce(new_base_url, old_state.base_url);
    IF kind.requires_api_key AND old_state.secret_id IS NULL AND secret IS NULL THEN
        PERFORM fail('validation.error', 'provider_needs_api_key',
                     jsonb_build_object('provider_name', wanted_provider));
    END IF;
    IF kind.requires_base_url AND new_state.base_url IS NULL THEN
        PERFORM fail('validation.error', 'provider_needs_base_url',
                     jsonb_build_object('provider_name', wanted_provider));
    END IF;
    IF secret IS NULL AND old_state.secret_id IS NOT NULL
       AND tool_provider_origin(new_state) <> tool_provider_origin(old_state) THEN
        PERFORM fail('validation.error', 'secret_needed', jsonb_build_object('field', 'api_key'));
    END IF;
    IF secret IS NOT NULL THEN
        new_state.secret_id := secret_insert(old_state.org_id, 'tool_provider', secret);
        new_state.key_prefix := new_key_prefix;
    END IF;
    UPDATE tool_providers SET base_url = new_state.base_url, secret_id = new_state.secret_id,
        key_prefix = new_state.key_prefix,
        updated_at = clock_timestamp() WHERE id = old_state.id;
    IF old_state.secret_id IS DISTINCT FROM new_state.secret_id THEN
        DELETE FROM secrets WHERE id = old_state.secret_id;
    END IF;
    PERFORM audit('tool_providers.credential_set', 'tool_provider', old_state.provider_name, old_state.org_id,
                  tool_provider_state(old_state), tool_provider_state(new_state));
    PERFORM pg_notify('hostler_tools', '');
END
$$;

-- DELETE …/credential: the secret is gone; base_url and activity stay.
CREATE OR REPLACE FUNCTION tool_provider_credential_delete(wanted_group text, wanted_provider text) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    old_state tool_providers := tool_provider_hold(wanted_group, wanted_provider);
    new_state tool_providers := old_state;
BEGIN
    IF old_state.secret_id IS NULL THEN
        RETURN;
    END IF;
    UPDATE tool_providers SET secret_id = NULL, key_prefix = NULL, updated_at = clock_timestamp()
        WHERE id = old_state.id;
    DELETE FROM secrets WHERE id = old_state.secret_id;
    new_state.key_prefix := NULL;
    PERFORM audit('tool_providers.credential_deleted', 'tool_provider', old_state.provider_name, old_state.org_id,
                  tool_provider_state(old_state), tool_provider_state(new_state));
    PERFORM pg_notify('hostler_tools', '');
END
$$;

-- The provider of a group for an organization: its own active one, else the platform's. No row: neither has one, and
-- the legacy settings decide. An active one that is not configured is answered as it is.
CREATE OR REPLACE FUNCTION tool_provider_resolve(org uuid, wanted_group text)
RETURNS TABLE (provider_name text, base_url text, is_org_scope boolean, is_configured boolean, secret_id uuid,
               secret_org_id uuid, key_version integer, wrapped_key bytea, sealed bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN QUERY SELECT p.provider_name, p.base_url, p.org_id IS NOT NULL,
           (NOT k.requires_api_key OR p.secret_id IS NOT NULL) AND (NOT k.requires_base_url OR p.base_url IS NOT NULL),
           s.id, s.org_id, s.key_version, s.wrapped_key, s.sealed
    FROM tool_providers p JOIN tool_provider_kinds() k ON k.provider_name = p.provider_name
    LEFT JOIN secrets s ON s.id = p.secret_id
    WHERE p.group_name = wanted_group AND p.is_active AND (p.org_id = org OR p.org_id IS NULL)
    ORDER BY p.org_id IS NULL LIMIT 1;
END
$$;
REVOKE EXECUTE ON FUNCTION tool_provider_resolve FROM hostler_api;
