-- Where models come from: providers, and models with prices, of the platform (org_id null) and of organizations.
--
-- Foreign keys name the organization too, so that no row can point into another one; without an organization they
-- hold nothing, hence those of the id alone beside them. The scope is part of the request ("scope" in
-- current_request(): platform, also when absent, or org). The functions run as their caller, so row-level security
-- holds in them too.

CREATE TABLE llm_providers (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid REFERENCES orgs,
    name text COLLATE "C" NOT NULL,
    provider_kind text NOT NULL CHECK (provider_kind IN ('openai', 'anthropic')),
    base_url text,
    secret_id uuid REFERENCES secrets ON DELETE SET NULL,
    key_prefix text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz,
    UNIQUE (org_id, id),
    FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id) ON DELETE SET NULL (secret_id)
);
CREATE UNIQUE INDEX llm_providers_name ON llm_providers (coalesce(org_id, '00000000-0000-0000-0000-000000000000'), name)
    WHERE deleted_at IS NULL;
CREATE INDEX llm_providers_secret ON llm_providers (secret_id) WHERE secret_id IS NOT NULL;
CREATE INDEX llm_providers_org ON llm_providers (org_id, id) WHERE deleted_at IS NULL;
SELECT make_scoped_table('llm_providers');
GRANT SELECT, INSERT, UPDATE ON llm_providers TO hostler_api;
GRANT SELECT ON llm_providers TO hostler_runner;

-- Prices are dollars per million tokens; cost is kept in integer nano-dollars. The id is the route_id.
CREATE TABLE llm_models (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid REFERENCES orgs,
    provider_id uuid NOT NULL REFERENCES llm_providers,
    model text COLLATE "C" NOT NULL,
    is_default boolean NOT NULL DEFAULT false,
    context_tokens integer NOT NULL DEFAULT 128000 CHECK (context_tokens > 0),
    input_usd_per_mtok numeric(14, 6) NOT NULL DEFAULT 0 CHECK (input_usd_per_mtok >= 0),
    output_usd_per_mtok numeric(14, 6) NOT NULL DEFAULT 0 CHECK (output_usd_per_mtok >= 0),
    cache_read_usd_per_mtok numeric(14, 6) NOT NULL DEFAULT 0 CHECK (cache_read_usd_per_mtok >= 0),
    cache_write_usd_per_mtok numeric(14, 6) NOT NULL DEFAULT 0 CHECK (cache_write_usd_per_mtok >= 0),
    multiplier numeric(10, 4) NOT NULL DEFAULT 1 CHECK (multiplier >= 0),
    max_output_tokens integer CHECK (max_output_tokens > 0),  -- of one turn; null: 8,192
    input_types text[] NOT NULL DEFAULT '{text}',  -- text, and perhaps image or pdf
    -- Members that the provider was found to refuse or require (runner/models/model_traits.h); null: nothing yet.
    learned json,
    learned_at timestamptz,
    -- Its circuit breaker (fallbacks.sql).
    breaker_state text NOT NULL DEFAULT 'closed' CHECK (breaker_state IN ('closed', 'open', 'half_open')),
    breaker_since timestamptz,
    breaker_retry_at timestamptz CHECK (breaker_state = 'closed' OR breaker_retry_at IS NOT NULL),
    breaker_failures integer NOT NULL DEFAULT 0,  -- the platform's: of the last minute; an organization's: in a row
    breaker_failed_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz CHECK (deleted_at IS NULL OR NOT is_default),
    FOREIGN KEY (org_id, provider_id) REFERENCES llm_providers (org_id, id)
);
CREATE UNIQUE INDEX llm_models_name ON llm_models (provider_id, model) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX llm_models_default ON llm_models (coalesce(org_id, '00000000-0000-0000-0000-000000000000'))
    WHERE is_default;
CREATE INDEX llm_models_any ON llm_models (org_id, id);  -- to be erased
CREATE INDEX llm_models_named ON llm_models (model);
CREATE INDEX llm_models_org ON llm_models (org_id, id) WHERE deleted_at IS NULL;
CREATE INDEX llm_models_left_out ON llm_models (org_id) WHERE breaker_state <> 'closed' AND deleted_at IS NULL;
SELECT make_scoped_table('llm_models');
GRANT SELECT, INSERT, UPDATE ON llm_models TO hostler_api;
GRANT SELECT ON llm_models TO hostler_runner;

-- Rows that runs name stay, and are at most marked as deleted. Runs have no foreign keys to them: these would lock the
-- one model and the one persona that most runs share, once for every run that begins. Runs that begin at the same
-- moment would keep a list of each other there, at more cost than the rest of a new run.
CREATE OR REPLACE FUNCTION models_and_personas_stay() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    RAISE EXCEPTION '% keeps its rows: runs name them', TG_TABLE_NAME;
END
$$;
CREATE TRIGGER llm_models_stay BEFORE DELETE OR TRUNCATE OR UPDATE OF id ON llm_models
    FOR EACH STATEMENT EXECUTE FUNCTION models_and_personas_stay();
CREATE TRIGGER personas_stay BEFORE DELETE OR TRUNCATE OR UPDATE OF id ON personas
    FOR EACH STATEMENT EXECUTE FUNCTION models_and_personas_stay();

-- By its key, whatever the statistics are: where Postgres has none, it would read the providers of everybody for one,
-- by an index whose condition all fulfil that are not deleted.
CREATE OR REPLACE FUNCTION provider_of(m llm_models) RETURNS SETOF llm_providers
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT l.* FROM (SELECT p.* FROM llm_providers p WHERE p.id = m.provider_id OFFSET 0) AS l
$$;

-- The model of a new run: route_id, else the persona's (by id or name, own before the platform's), else the
-- organization's default, else the platform's. A model that a persona of the platform names is looked for only among
-- the platform's models, because the platform does not mean an organization's model of that name. Raises
-- runs.unknown_route or runs.no_model.
CREATE OR REPLACE FUNCTION route_resolve(route uuid, persona_model text, is_of_platform boolean) RETURNS llm_models
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    chosen llm_models;
BEGIN
    IF route IS NOT NULL THEN
        SELECT m.* INTO chosen FROM llm_models m JOIN llm_providers p ON p.id = m.provider_id
        WHERE m.id = route AND m.deleted_at IS NULL AND p.deleted_at IS NULL
              AND (m.org_id = current_org() OR m.org_id IS NULL);
        IF chosen.id IS NULL THEN
            PERFORM fail('runs.unknown_route', 'route_unknown');
        END IF;
        RETURN chosen;
    END IF;
    SELECT m.* INTO chosen FROM llm_models m JOIN llm_providers p ON p.id = m.provider_id
    CROSS JOIN LATERAL (SELECT coalesce(persona_model IN (m.model, m.id::text)
                                        AND (m.org_id IS NULL OR NOT is_of_platform), false) AS is_named) AS n
    WHERE m.deleted_at IS NULL AND p.deleted_at IS NULL AND (m.org_id = current_org() OR m.org_id IS NULL)
          AND (m.is_default OR n.is_named)
    ORDER BY n.is_named DESC, m.org_id IS NULL, m.id
    LIMIT 1;
    IF chosen.id IS NULL THEN
        PERFORM fail('runs.no_model', 'none_configured');
    END IF;
    RETURN chosen;
END
$$;

-- Learned facts about a model. After a week they are learned again, because servers are upgraded.
CREATE OR REPLACE FUNCTION model_learned(m llm_models) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN m.learned_at > statement_timestamp() - interval '7 days' THEN m.learned END
$$;

CREATE OR REPLACE FUNCTION model_health_json(m llm_models) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('state', m.breaker_state, 'since', rfc3339(m.breaker_since), 'failures',
        CASE WHEN m.org_id IS NULL AND m.breaker_state = 'closed'
                  AND coalesce(m.breaker_failed_at, '-infinity') < statement_timestamp() - interval '1 minute'
             THEN 0 ELSE m.breaker_failures END)
$$;

CREATE OR REPLACE FUNCTION llm_model_json(m llm_models) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', m.id, 'provider_id', m.provider_id, 'model', m.model, 'is_default', m.is_default,
        'context_tokens', m.context_tokens, 'input_usd_per_mtok', m.input_usd_per_mtok::double precision,
        'output_usd_per_mtok', m.output_usd_per_mtok::double precision,
        'cache_read_usd_per_mtok', m.cache_read_usd_per_mtok::double precision,
        'cache_write_usd_per_mtok', m.cache_write_usd_per_mtok::double precision,
        'multiplier', m.multiplier::double precision, 'max_output_tokens', m.max_output_tokens,
        'input_types', m.input_types, 'learned', model_learned(m)::jsonb - 'origin', 'health', model_health_json(m),
        'created_at', rfc3339(m.created_at))
$$;

-- A model as the audit log keeps it.
CREATE OR REPLACE FUNCTION llm_model_state(m llm_models) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT llm_model_json(m)::jsonb - 'health'
$$;

-- For the daemon: keeps what a run learned of a model.
CREATE OR REPLACE FUNCTION model_learn(model uuid, what json) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    UPDATE llm_models m SET learned = what, learned_at = clock_timestamp() WHERE m.id = model_learn.model
$$;
REVOKE EXECUTE ON FUNCTION model_learn FROM hostler_api;

CREATE OR REPLACE FUNCTION llm_provider_json(p llm_providers) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_build_object('id', p.id, 'scope', CASE WHEN p.org_id IS NULL THEN 'platform' ELSE 'org' END,
        'name', p.name, 'provider_kind', p.provider_kind, 'key_prefix', p.key_prefix, 'base_url', p.base_url,
        'models', coalesce((SELECT json_agg(llm_model_json(m) ORDER BY m.id DESC) FROM llm_models m
                            WHERE m.provider_id = p.id AND m.deleted_at IS NULL), '[]'),
        'created_at', rfc3339(p.created_at))
$$;

-- A provider as the audit log keeps it.
CREATE OR REPLACE FUNCTION llm_provider_state(p llm_providers) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT jsonb_build_object('name', p.name, 'provider_kind', p.provider_kind, 'key_prefix', p.key_prefix,
                              'base_url', p.base_url)
$$;

-- Where a provider's key is sent; without a base_url that is its maker's (runner/models).
CREATE OR REPLACE FUNCTION llm_provider_origin(p llm_providers) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = public, pg_catalog AS $$
    SELECT url_origin(coalesce(p.base_url, CASE p.provider_kind WHEN 'openai' THEN 'https://api.openai.com'
                                           ELSE 'https://api.anthropic.com' END))
$$;

-- The provider, when the scope has it. lock: hold it against changes until the transaction ends.
CREATE OR REPLACE FUNCTION llm_provider_of_scope(provider uuid, lock boolean) RETURNS llm_providers
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('data.llm_providers.manage');
    p llm_providers;
BEGIN
    IF lock THEN
        PERFORM 1 FROM llm_providers WHERE id = provider AND org_id IS NOT DISTINCT FROM scope_id FOR UPDATE;
    END IF;
    SELECT * INTO p FROM llm_providers
    WHERE id = provider AND deleted_at IS NULL AND org_id IS NOT DISTINCT FROM scope_id;
    IF p.id IS NULL THEN
        PERFORM fail_missing('llm_providers.not_found', 'llm_providers',
                             CASE WHEN scope_id IS NOT NULL THEN provider END);
    END IF;
    RETURN p;
END
$$;

CREATE OR REPLACE FUNCTION llm_model_of_scope(provider uuid, model uuid, lock boolean) RETURNS llm_models
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

CREATE OR REPLACE FUNCTION llm_provider_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('data.llm_providers.manage');
BEGIN
    RETURN QUERY SELECT p.id, llm_provider_json(p) FROM llm_providers p
        WHERE (p.org_id = scope_id OR (scope_id IS NULL AND p.org_id IS NULL)) AND p.deleted_at IS NULL
              AND (before IS NULL OR p.id < before)
        ORDER BY p.id DESC LIMIT page_limit;
END
$$;

CREATE OR REPLACE FUNCTION llm_model_page(provider uuid, page_limit integer, before uuid)
RETURNS TABLE (id uuid, item json)
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
CREATE OR REPLACE FUNCTION model_choice_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE sql STABLE AS $$
    SELECT m.id, json_build_object('route_id', m.id, 'model', m.model, 'provider_name', p.name,
        'scope', CASE WHEN m.org_id IS NULL THEN 'platform' ELSE 'org' END, 'is_default', m.is_default,
        'input_types', m.input_types)
    FROM llm_models m CROSS JOIN LATERAL provider_of(m) p
    WHERE (m.org_id = current_org() OR m.org_id IS NULL) AND m.deleted_at IS NULL AND p.deleted_at IS NULL
          AND (before IS NULL OR m.id < before)
    ORDER BY m.id DESC LIMIT page_limit
$$;

-- secret: {id, key_version, wrapped_key, sealed} (bytes in base64), sealed for this scope and the kind llm_provider.
CREATE OR REPLACE FUNCTION llm_provider_secret(scope_id uuid, secret jsonb) RETURNS uuid
LANGUAGE sql AS $$
    SELECT secret_insert(scope_id, 'llm_provider', secret)
$$;

-- wanted: {name, provider_kind, base_url, key_prefix}; secret: as above, or null without a key.
CREATE OR REPLACE FUNCTION llm_provider_create(wanted jsonb, secret jsonb) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('data.llm_providers.manage');
    created llm_providers;
BEGIN
    INSERT INTO llm_providers (org_id, name, provider_kind, base_url, key_prefix, secret_id)
    VALUES (scope_id, wanted ->> 'name', wanted ->> 'provider_kind', wanted ->> 'base_url', wanted ->> 'key_prefix',
            CASE WHEN secret IS NOT NULL THEN llm_provider_secret(scope_id, secret) END)
    ON CONFLICT DO NOTHING RETURNING * INTO created;
    IF created.id IS NULL THEN
        PERFORM fail('llm_providers.exists');
    END IF;
    PERFORM audit('llm_providers.create', 'llm_provider', created.id::text, scope_id, NULL,
                  llm_provider_state(created));
    RETURN llm_provider_json(created);
END
$$;

-- changes: the changed members of {name, provider_kind, base_url, key_prefix}; with key_prefix the key changes: to
-- `secret`, or to none. base_urls: a new base_url as each kind of provider needs it, {openai, anthropic}. A key that
-- stays is sent only where it was meant: another address needs the key again.
CREATE OR REPLACE FUNCTION llm_provider_update(provider uuid, changes jsonb, secret jsonb) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    old_state llm_providers := llm_provider_of_scope(provider, true);
    new_state llm_providers := jsonb_populate_record(old_state, changes);
BEGIN
    IF changes ? 'base_urls' THEN
        new_state.base_url := changes -> 'base_urls' ->> new_state.provider_kind;
    END IF;
    IF changes ? 'key_prefix' THEN
        new_state.secret_id := CASE WHEN secret IS NOT NULL THEN llm_provider_secret(old_state.org_id, secret) END;
    ELSIF old_state.secret_id IS NOT NULL AND llm_provider_origin(new_state) <> llm_provider_origin(old_state) THEN
        PERFORM fail('validation.error', 'secret_needed', jsonb_build_object('field', 'api_key'));
    END IF;
    UPDATE llm_providers SET name = new_state.name, provider_kind = new_state.provider_kind,
        base_url = new_state.base_url,
        key_prefix = new_state.key_prefix, secret_id = new_state.secret_id
    WHERE id = old_state.id;
    IF old_state.secret_id IS DISTINCT FROM new_state.secret_id THEN
        DELETE FROM secrets WHERE id = old_state.secret_id;
    END IF;
    PERFORM audit('llm_providers.update', 'llm_provider', old_state.id::text, old_state.org_id,
                  llm_provider_state(old_state),
                  llm_provider_state(new_state));
    RETURN llm_provider_json(new_state);
EXCEPTION WHEN unique_violation THEN
    PERFORM fail('llm_providers.exists');
END
$$;

-- Soft: old runs keep the names. The key is gone at once; a turn in flight has it already.
CREATE OR REPLACE FUNCTION llm_provider_delete(provider uuid) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    p llm_providers := llm_provider_of_scope(provider, true);
BEGIN
    UPDATE llm_models SET deleted_at = clock_timestamp(), is_default = false
    WHERE provider_id = p.id AND deleted_at IS NULL;
    UPDATE llm_providers SET deleted_at = clock_timestamp(), secret_id = NULL WHERE id = p.id;
    DELETE FROM secrets WHERE id = p.secret_id;
    PERFORM audit('llm_providers.delete', 'llm_provider', p.id::text, p.org_id, llm_provider_state(p));
END
$$;

-- Removes the default's mark from the scope's other models. Concurrent changes of the mark wait here for each other.
CREATE OR REPLACE FUNCTION llm_default_clear(scope_id uuid) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('llm default ' || coalesce(scope_id::text, ''), 0));
    UPDATE llm_models SET is_default = false
    WHERE coalesce(org_id, '00000000-0000-0000-0000-000000000000')
          = coalesce(scope_id, '00000000-0000-0000-0000-000000000000') AND is_default AND deleted_at IS NULL;
END
$$;

-- wanted: all members of a model that a client may set.
CREATE OR REPLACE FUNCTION llm_model_create(provider uuid, wanted jsonb, limit_llm_models bigint) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    p llm_providers := llm_provider_of_scope(provider, true);
    created llm_models;
BEGIN
    IF p.org_id IS NOT NULL THEN
        PERFORM limit_check('limit.llm_models', limit_llm_models);
    END IF;
    IF (wanted ->> 'is_default')::boolean THEN
        PERFORM llm_default_clear(p.org_id);
    END IF;
    INSERT INTO llm_models (org_id, provider_id, model, is_default, context_tokens, input_usd_per_mtok,
        output_usd_per_mtok, cache_read_usd_per_mtok, cache_write_usd_per_mtok, multiplier, max_output_tokens,
        input_types)
    SELECT p.org_id, p.id, w.model, w.is_default, w.context_tokens, w.input_usd_per_mtok, w.output_usd_per_mtok,
        w.cache_read_usd_per_mtok, w.cache_write_usd_per_mtok, w.multiplier, w.max_output_tokens,
        coalesce(w.input_types, '{text}')
    FROM jsonb_populate_record(NULL::llm_models, wanted) AS w
    ON CONFLICT (provider_id, model) WHERE deleted_at IS NULL DO NOTHING RETURNING * INTO created;
    IF created.id IS NULL THEN
        PERFORM fail('llm_models.exists');
    END IF;
    PERFORM audit('llm_models.create', 'llm_model', created.id::text, p.org_id, NULL,
                  llm_model_state(created));
    RETURN llm_model_json(created);
END
$$;

-- changes: the members that change.
CREATE OR REPLACE FUNCTION llm_model_update(provider uuid, model uuid, changes jsonb) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    old_state llm_models := llm_model_of_scope(provider, model, true);
    new_state llm_models := jsonb_populate_record(old_state, changes);
BEGIN
    IF new_state.is_default AND NOT old_state.is_default THEN
        PERFORM llm_default_clear(old_state.org_id);
    END IF;
    UPDATE llm_models AS m SET model = new_state.model, is_default = new_state.is_default,
        context_tokens = new_state.context_tokens, input_usd_per_mtok = new_state.input_usd_per_mtok,
        output_usd_per_mtok = new_state.output_usd_per_mtok,
            cache_read_usd_per_mtok = new_state.cache_read_usd_per_mtok,
        cache_write_usd_per_mtok = new_state.cache_write_usd_per_mtok, multiplier = new_state.multiplier,
        max_output_tokens = new_state.max_output_tokens, input_types = new_state.input_types
    WHERE m.id = old_state.id RETURNING * INTO new_state;
    PERFORM audit('llm_models.update', 'llm_model', old_state.id::text, old_state.org_id,
                  llm_model_state(old_state), llm_model_state(new_state));
    RETURN llm_model_json(new_state);
EXCEPTION WHEN unique_violation THEN
    PERFORM fail('llm_models.exists');
END
$$;

CREATE OR REPLACE FUNCTION llm_model_delete(provider uuid, model uuid) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    m llm_models := llm_model_of_scope(provider, model, true);
BEGIN
    UPDATE llm_models SET deleted_at = clock_timestamp(), is_default = false WHERE id = m.id;
    PERFORM audit('llm_models.delete', 'llm_model', m.id::text, m.org_id, llm_model_state(m));
END
$$;
