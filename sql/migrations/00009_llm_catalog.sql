-- Why: providers and models are listed, made, changed and taken away at both scopes. Locks: llm_providers and
-- llm_models, for writes, while the indexes are made (few rows).
--
-- The scope is part of the request ("scope" in current_request(): platform, also when absent, or org). The functions
-- run as their caller, so row-level security holds in them too.

CREATE INDEX llm_providers_org ON llm_providers (org_id, id) WHERE deleted_at IS NULL;
CREATE INDEX llm_models_org ON llm_models (org_id, id) WHERE deleted_at IS NULL;

-- The organization that the request's scope means: null for the platform. Raises the 403 of who may not act there.
CREATE FUNCTION scope_org(permission text) RETURNS uuid
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    is_org boolean := coalesce(current_request() ->> 'scope' = 'org', false);
BEGIN
    IF is_org AND NOT has_permission(permission) THEN
        PERFORM fail('auth.forbidden', format('This needs the permission %s.', permission));
    ELSIF NOT is_org AND NOT is_platform_admin() THEN
        PERFORM fail('auth.forbidden', 'This needs platform_admin.');
    END IF;
    RETURN CASE WHEN is_org THEN current_org() END;
END
$$;

CREATE FUNCTION llm_model_json(m llm_models) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', m.id, 'provider_id', m.provider_id, 'model', m.model, 'is_default', m.is_default,
        'context_tokens', m.context_tokens, 'input_usd_per_mtok', m.input_usd_per_mtok::double precision,
        'output_usd_per_mtok', m.output_usd_per_mtok::double precision,
        'cache_read_usd_per_mtok', m.cache_read_usd_per_mtok::double precision,
        'cache_write_usd_per_mtok', m.cache_write_usd_per_mtok::double precision,
        'multiplier', m.multiplier::double precision, 'created_at', rfc3339(m.created_at))
$$;

CREATE FUNCTION llm_provider_json(p llm_providers) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_build_object('id', p.id, 'scope', CASE WHEN p.org_id IS NULL THEN 'platform' ELSE 'org' END,
        'name', p.name, 'provider_kind', p.provider_kind, 'key_prefix', p.key_prefix, 'base_url', p.base_url,
        'models', coalesce((SELECT json_agg(llm_model_json(m) ORDER BY m.id DESC) FROM llm_models m
                            WHERE m.provider_id = p.id AND m.deleted_at IS NULL), '[]'),
        'created_at', rfc3339(p.created_at))
$$;

-- A provider as the audit log keeps it.
CREATE FUNCTION llm_provider_state(p llm_providers) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT jsonb_build_object('name', p.name, 'provider_kind', p.provider_kind, 'key_prefix', p.key_prefix,
                              'base_url', p.base_url)
$$;

-- The provider, when the scope has it. lock: hold it against changes until the transaction ends.
CREATE FUNCTION llm_provider_of_scope(provider uuid, lock boolean) RETURNS llm_providers
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    place uuid := scope_org('data.llm_providers.manage');
    p llm_providers;
BEGIN
    IF lock THEN
        PERFORM 1 FROM llm_providers WHERE id = provider FOR UPDATE;
    END IF;
    SELECT * INTO p FROM llm_providers
    WHERE id = provider AND deleted_at IS NULL AND org_id IS NOT DISTINCT FROM place;
    IF p.id IS NULL THEN
        PERFORM fail_missing('llm_providers.not_found', 'llm_providers', CASE WHEN place IS NOT NULL THEN provider END);
    END IF;
    RETURN p;
END
$$;

CREATE FUNCTION llm_model_of_scope(provider uuid, model uuid, lock boolean) RETURNS llm_models
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    p llm_providers := llm_provider_of_scope(provider, lock);
    m llm_models;
BEGIN
    SELECT * INTO m FROM llm_models WHERE id = llm_model_of_scope.model AND provider_id = p.id AND deleted_at IS NULL;
    IF m.id IS NULL THEN
        PERFORM fail('llm_models.not_found');
    END IF;
    RETURN m;
END
$$;

CREATE FUNCTION llm_provider_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    place uuid := scope_org('data.llm_providers.manage');
BEGIN
    RETURN QUERY SELECT p.id, llm_provider_json(p) FROM llm_providers p
        WHERE (p.org_id = place OR (place IS NULL AND p.org_id IS NULL)) AND p.deleted_at IS NULL
              AND (before IS NULL OR p.id < before)
        ORDER BY p.id DESC LIMIT page_limit;
END
$$;

CREATE FUNCTION llm_model_page(provider uuid, page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    p llm_providers := llm_provider_of_scope(provider, false);
BEGIN
    RETURN QUERY SELECT m.id, llm_model_json(m) FROM llm_models m
        WHERE m.provider_id = p.id AND m.deleted_at IS NULL AND (before IS NULL OR m.id < before)
        ORDER BY m.id DESC LIMIT page_limit;
END
$$;

-- GET /v1/models: what a run of the caller may name as its route.
CREATE FUNCTION model_choice_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE sql STABLE AS $$
    SELECT m.id, json_build_object('route_id', m.id, 'model', m.model, 'provider_name', p.name,
        'scope', CASE WHEN m.org_id IS NULL THEN 'platform' ELSE 'org' END, 'is_default', m.is_default)
    FROM llm_models m JOIN llm_providers p ON p.id = m.provider_id
    WHERE (m.org_id = current_org() OR m.org_id IS NULL) AND m.deleted_at IS NULL AND p.deleted_at IS NULL
          AND (before IS NULL OR m.id < before)
    ORDER BY m.id DESC LIMIT page_limit
$$;

-- secret: {id, key_version, wrapped_key, sealed} (bytes in base64), sealed for this scope and the kind llm_provider.
CREATE FUNCTION llm_provider_secret(place uuid, secret jsonb) RETURNS uuid
LANGUAGE sql AS $$
    INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed)
    VALUES ((secret ->> 'id')::uuid, place, 'llm_provider', (secret ->> 'key_version')::integer,
            decode(secret ->> 'wrapped_key', 'base64'), decode(secret ->> 'sealed', 'base64'))
    RETURNING id
$$;

-- wanted: {name, provider_kind, base_url, key_prefix}; secret: as above, or null without a key.
CREATE FUNCTION llm_provider_create(wanted jsonb, secret jsonb) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    place uuid := scope_org('data.llm_providers.manage');
    made llm_providers;
BEGIN
    INSERT INTO llm_providers (org_id, name, provider_kind, base_url, key_prefix, secret_id)
    VALUES (place, wanted ->> 'name', wanted ->> 'provider_kind', wanted ->> 'base_url', wanted ->> 'key_prefix',
            CASE WHEN secret IS NOT NULL THEN llm_provider_secret(place, secret) END)
    ON CONFLICT DO NOTHING RETURNING * INTO made;
    IF made.id IS NULL THEN
        PERFORM fail('llm_providers.exists');
    END IF;
    PERFORM audit('llm_providers.create', 'llm_provider', made.id::text, place, NULL, llm_provider_state(made));
    RETURN llm_provider_json(made);
END
$$;

-- changes: what changes of {name, provider_kind, base_url, key_prefix}; with key_prefix the key changes: to `secret`,
-- or to none.
CREATE FUNCTION llm_provider_update(provider uuid, changes jsonb, secret jsonb) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    was llm_providers := llm_provider_of_scope(provider, true);
    now_is llm_providers := jsonb_populate_record(was, changes);
BEGIN
    IF changes ? 'key_prefix' THEN
        now_is.secret_id := CASE WHEN secret IS NOT NULL THEN llm_provider_secret(was.org_id, secret) END;
    END IF;
    UPDATE llm_providers SET name = now_is.name, provider_kind = now_is.provider_kind, base_url = now_is.base_url,
        key_prefix = now_is.key_prefix, secret_id = now_is.secret_id
    WHERE id = was.id;
    IF was.secret_id IS DISTINCT FROM now_is.secret_id THEN
        DELETE FROM secrets WHERE id = was.secret_id;
    END IF;
    PERFORM audit('llm_providers.update', 'llm_provider', was.id::text, was.org_id, llm_provider_state(was),
                  llm_provider_state(now_is));
    RETURN llm_provider_json(now_is);
EXCEPTION WHEN unique_violation THEN
    PERFORM fail('llm_providers.exists');
END
$$;

-- Soft: old runs keep the names. The key is gone at once; a turn in flight has it already.
CREATE FUNCTION llm_provider_delete(provider uuid) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    p llm_providers := llm_provider_of_scope(provider, true);
BEGIN
    UPDATE llm_models SET deleted_at = clock_timestamp() WHERE provider_id = p.id AND deleted_at IS NULL;
    UPDATE llm_providers SET deleted_at = clock_timestamp(), secret_id = NULL WHERE id = p.id;
    DELETE FROM secrets WHERE id = p.secret_id;
    PERFORM audit('llm_providers.delete', 'llm_provider', p.id::text, p.org_id, llm_provider_state(p));
END
$$;

-- Takes the default's mark from the scope's other models; whoever marks waits here for whoever marks first.
CREATE FUNCTION llm_default_clear(place uuid) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('llm default ' || coalesce(place::text, ''), 0));
    UPDATE llm_models SET is_default = false
    WHERE coalesce(org_id, '00000000-0000-0000-0000-000000000000')
          = coalesce(place, '00000000-0000-0000-0000-000000000000') AND is_default AND deleted_at IS NULL;
END
$$;

-- wanted: all members of a model that a client may set.
CREATE FUNCTION llm_model_create(provider uuid, wanted jsonb) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    p llm_providers := llm_provider_of_scope(provider, true);
    made llm_models;
BEGIN
    IF (wanted ->> 'is_default')::boolean THEN
        PERFORM llm_default_clear(p.org_id);
    END IF;
    INSERT INTO llm_models (org_id, provider_id, model, is_default, context_tokens, input_usd_per_mtok,
        output_usd_per_mtok, cache_read_usd_per_mtok, cache_write_usd_per_mtok, multiplier)
    SELECT p.org_id, p.id, w.model, w.is_default, w.context_tokens, w.input_usd_per_mtok, w.output_usd_per_mtok,
        w.cache_read_usd_per_mtok, w.cache_write_usd_per_mtok, w.multiplier
    FROM jsonb_populate_record(NULL::llm_models, wanted) AS w
    ON CONFLICT (provider_id, model) WHERE deleted_at IS NULL DO NOTHING RETURNING * INTO made;
    IF made.id IS NULL THEN
        PERFORM fail('llm_models.exists');
    END IF;
    PERFORM audit('llm_models.create', 'llm_model', made.id::text, p.org_id, NULL, llm_model_json(made)::jsonb);
    RETURN llm_model_json(made);
END
$$;

-- changes: the members that change.
CREATE FUNCTION llm_model_update(provider uuid, model uuid, changes jsonb) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    was llm_models := llm_model_of_scope(provider, model, true);
    now_is llm_models := jsonb_populate_record(was, changes);
BEGIN
    IF now_is.is_default AND NOT was.is_default THEN
        PERFORM llm_default_clear(was.org_id);
    END IF;
    UPDATE llm_models AS m SET model = now_is.model, is_default = now_is.is_default,
        context_tokens = now_is.context_tokens, input_usd_per_mtok = now_is.input_usd_per_mtok,
        output_usd_per_mtok = now_is.output_usd_per_mtok, cache_read_usd_per_mtok = now_is.cache_read_usd_per_mtok,
        cache_write_usd_per_mtok = now_is.cache_write_usd_per_mtok, multiplier = now_is.multiplier
    WHERE m.id = was.id RETURNING * INTO now_is;
    PERFORM audit('llm_models.update', 'llm_model', was.id::text, was.org_id, llm_model_json(was)::jsonb,
                  llm_model_json(now_is)::jsonb);
    RETURN llm_model_json(now_is);
EXCEPTION WHEN unique_violation THEN
    PERFORM fail('llm_models.exists');
END
$$;

CREATE FUNCTION llm_model_delete(provider uuid, model uuid) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    m llm_models := llm_model_of_scope(provider, model, true);
BEGIN
    UPDATE llm_models SET deleted_at = clock_timestamp() WHERE id = m.id;
    PERFORM audit('llm_models.delete', 'llm_model', m.id::text, m.org_id, llm_model_json(m)::jsonb);
END
$$;
