-- Why: where models come from (providers, models with prices), and personas. A null org_id is the
-- platform's. Locks: none, everything is new.
--
-- Foreign keys name the organization too, so that no row can point into another one; without an
-- organization they hold nothing, hence those of the id alone beside them.

CREATE TABLE llm_providers (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    org_id uuid REFERENCES orgs,
    name text NOT NULL,
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

-- Prices are dollars per million tokens; cost is kept in integer nano-dollars. The id is the route_id.
CREATE TABLE llm_models (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    org_id uuid REFERENCES orgs,
    provider_id uuid NOT NULL REFERENCES llm_providers,
    model text NOT NULL,
    is_default boolean NOT NULL DEFAULT false,
    context_tokens integer NOT NULL DEFAULT 128000 CHECK (context_tokens > 0),
    input_usd_per_mtok numeric(14, 6) NOT NULL DEFAULT 0 CHECK (input_usd_per_mtok >= 0),
    output_usd_per_mtok numeric(14, 6) NOT NULL DEFAULT 0 CHECK (output_usd_per_mtok >= 0),
    cache_read_usd_per_mtok numeric(14, 6) NOT NULL DEFAULT 0 CHECK (cache_read_usd_per_mtok >= 0),
    cache_write_usd_per_mtok numeric(14, 6) NOT NULL DEFAULT 0 CHECK (cache_write_usd_per_mtok >= 0),
    multiplier numeric(10, 4) NOT NULL DEFAULT 1 CHECK (multiplier >= 0),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz,
    FOREIGN KEY (org_id, provider_id) REFERENCES llm_providers (org_id, id)
);
CREATE UNIQUE INDEX llm_models_name ON llm_models (provider_id, model) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX llm_models_default ON llm_models (coalesce(org_id, '00000000-0000-0000-0000-000000000000'))
    WHERE is_default AND deleted_at IS NULL;

CREATE TABLE personas (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    org_id uuid REFERENCES orgs,
    persona_key text NOT NULL,
    version text NOT NULL,
    display_name text NOT NULL,
    description text NOT NULL DEFAULT '',
    system_prompt text NOT NULL DEFAULT '',
    tools text[] NOT NULL DEFAULT '{}',
    confirm_tools text[] NOT NULL DEFAULT '{}',
    model text,
    max_turns integer CHECK (max_turns > 0),
    temperature double precision CHECK (temperature BETWEEN 0 AND 2),
    is_active boolean NOT NULL DEFAULT true,
    built_in boolean NOT NULL DEFAULT false,  -- changed by administrators, but never gone
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz,
    CHECK (NOT built_in OR (org_id IS NULL AND deleted_at IS NULL))
);
CREATE UNIQUE INDEX personas_version
    ON personas (coalesce(org_id, '00000000-0000-0000-0000-000000000000'), persona_key, version)
    WHERE deleted_at IS NULL;

INSERT INTO personas (built_in, persona_key, version, display_name, description, system_prompt, tools) VALUES
    (true, 'normal', '1', 'Normal', 'Answers, and uses every tool there is.',
     'You are a helpful assistant. Answer in the language of the user. Use a tool when it helps; '
     || 'say so when something cannot be found out.',
     ARRAY['web_search', 'web_fetch', 'ask_user']),
    (true, 'search', '1', 'Search', 'Looks things up before it answers.',
     'You are a research assistant. Search the web before you answer, read the best pages, and name your sources.',
     ARRAY['web_search', 'web_fetch']);

-- What runs name stays, marked as deleted at most. That holds instead of foreign keys of runs: theirs would lock the
-- one model and the one persona that most runs share, once for every run that begins, and those that begin at the same
-- moment would keep a list of each other there, at more cost than all else that a new run does.
CREATE FUNCTION models_and_personas_stay() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    RAISE EXCEPTION '% keeps its rows: runs name them', TG_TABLE_NAME;
END
$$;
CREATE TRIGGER llm_models_stay BEFORE DELETE OR TRUNCATE OR UPDATE OF id ON llm_models
    FOR EACH STATEMENT EXECUTE FUNCTION models_and_personas_stay();
CREATE TRIGGER personas_stay BEFORE DELETE OR TRUNCATE OR UPDATE OF id ON personas
    FOR EACH STATEMENT EXECUTE FUNCTION models_and_personas_stay();

-- Own rows and the platform's can be seen; the platform's are changed by platform admins only.
DO $$
DECLARE
    scoped_table text;
BEGIN
    FOREACH scoped_table IN ARRAY ARRAY['llm_providers', 'llm_models', 'personas'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', scoped_table);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', scoped_table);
        EXECUTE format('CREATE POLICY tenant ON %I USING (org_id = current_org() OR org_id IS NULL)
                        WITH CHECK (org_id = current_org() OR (org_id IS NULL AND is_platform_admin()))', scoped_table);
    END LOOP;
END
$$;
GRANT SELECT, INSERT, UPDATE ON llm_providers, llm_models, personas TO hostler_api;
GRANT SELECT ON llm_providers, llm_models, personas TO hostler_runner;

-- The model of a new run: route_id, else the persona's (by id or name, own before the platform's), else
-- the organization's default, else the platform's. Raises runs.unknown_route or runs.no_model.
CREATE FUNCTION route_resolve(route uuid, persona_model text) RETURNS llm_models
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    chosen llm_models;
BEGIN
    IF route IS NOT NULL THEN
        SELECT m.* INTO chosen FROM llm_models m JOIN llm_providers p ON p.id = m.provider_id
        WHERE m.id = route AND m.deleted_at IS NULL AND p.deleted_at IS NULL
              AND (m.org_id = current_org() OR m.org_id IS NULL);
        IF chosen.id IS NULL THEN
            PERFORM fail('runs.unknown_route', 'GET /v1/models lists the routes there are.');
        END IF;
        RETURN chosen;
    END IF;
    SELECT m.* INTO chosen FROM llm_models m JOIN llm_providers p ON p.id = m.provider_id
    WHERE m.deleted_at IS NULL AND p.deleted_at IS NULL AND (m.org_id = current_org() OR m.org_id IS NULL)
          AND (m.is_default OR persona_model IN (m.model, m.id::text))
    ORDER BY coalesce(persona_model IN (m.model, m.id::text), false) DESC, m.org_id IS NULL, m.id
    LIMIT 1;
    IF chosen.id IS NULL THEN
        PERFORM fail('runs.no_model', 'An administrator adds one with POST /v1/llm-providers.');
    END IF;
    RETURN chosen;
END
$$;

-- persona_key@version, or a bare key for the newest; own before the platform's.
CREATE FUNCTION persona_resolve(persona_id text) RETURNS personas
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    chosen personas;
    wanted_key text := split_part(coalesce(persona_id, 'normal@1'), '@', 1);
    wanted_version text := nullif(split_part(coalesce(persona_id, 'normal@1'), '@', 2), '');
BEGIN
    SELECT p.* INTO chosen FROM personas p
    WHERE p.persona_key = wanted_key AND (wanted_version IS NULL OR p.version = wanted_version)
          AND p.deleted_at IS NULL AND p.is_active AND (p.org_id = current_org() OR p.org_id IS NULL)
    ORDER BY p.org_id IS NULL, p.id DESC LIMIT 1;
    IF chosen.id IS NULL THEN
        PERFORM fail('runs.unknown_persona', 'GET /v1/personas lists the personas there are.');
    END IF;
    RETURN chosen;
END
$$;
