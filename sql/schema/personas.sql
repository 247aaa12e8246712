-- Personas of the platform (org_id null) and of organizations: system prompt, tools and model of an agent.

CREATE TABLE personas (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid REFERENCES orgs,
    persona_key text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    display_name text NOT NULL,
    description text NOT NULL DEFAULT '',
    system_prompt text NOT NULL DEFAULT '',
    tools text[] NOT NULL DEFAULT '{}',
    confirm_tools text[] NOT NULL DEFAULT '{}',
    model text,
    fallback_routes uuid[] NOT NULL DEFAULT '{}',  -- of llm_models, tried in this order after its own (fallbacks.sql)
    max_turns integer CHECK (max_turns > 0),
    temperature double precision CHECK (temperature BETWEEN 0 AND 2),
    response_format text,  -- JSON; as text, because jsonb, in which changes come, does not keep the order of members
    is_active boolean NOT NULL DEFAULT true,
    built_in boolean NOT NULL DEFAULT false,  -- changed by administrators, but never gone
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz,
    earlier jsonb NOT NULL DEFAULT '[]',  -- what its models were told until it changed; see persona_until
    CHECK (NOT built_in OR (org_id IS NULL AND deleted_at IS NULL))
);
CREATE UNIQUE INDEX personas_version
    ON personas (coalesce(org_id, '00000000-0000-0000-0000-000000000000'), persona_key, version)
    WHERE deleted_at IS NULL;
CREATE INDEX personas_org ON personas (org_id, id) WHERE deleted_at IS NULL;
CREATE INDEX personas_any ON personas (org_id, id);  -- to be erased
CREATE INDEX personas_kept ON personas (org_id, id)
    WHERE deleted_at IS NOT NULL AND (system_prompt <> '' OR response_format IS NOT NULL OR earlier <> '[]');
SELECT make_scoped_table('personas');
GRANT SELECT, INSERT, UPDATE ON personas TO hostler_api;
GRANT SELECT ON personas TO hostler_runner;
INSERT INTO personas (built_in, persona_key, version, display_name, description, system_prompt, tools) VALUES
    (true, 'normal', '1', 'Normal', 'Answers, and uses every tool there is.',
     'You are a helpful assistant. Answer in the language of the user. Use a tool when it helps; '
     || 'say so when something cannot be found out.',
     ARRAY['web_search', 'web_fetch', 'ask_user']),
    (true, 'search', '1', 'Search', 'Looks things up before it answers.',
     'You are a research assistant. Search the web before you answer, read the best pages, and name your sources.',
     ARRAY['web_search', 'web_fetch']);

-- persona_key@version, or a bare key for the newest; own before the platform's.
CREATE OR REPLACE FUNCTION persona_resolve(persona_id text) RETURNS personas
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
        PERFORM fail('runs.unknown_persona', 'persona_unknown');
    END IF;
    RETURN chosen;
END
$$;

-- Whether the caller may manage a persona, and therefore read its prompt.
CREATE OR REPLACE FUNCTION persona_is_managed(p personas) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p.org_id IS NULL THEN is_platform_admin() ELSE has_permission('data.personas.manage') END
$$;

CREATE OR REPLACE FUNCTION persona_json(p personas) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_build_object('id', p.id, 'scope', CASE WHEN p.org_id IS NULL THEN 'platform' ELSE 'org' END,
        'persona_key', p.persona_key, 'version', p.version, 'display_name', p.display_name,
        'description', p.description, 'system_prompt', CASE WHEN persona_is_managed(p) THEN p.system_prompt END,
        'tools', p.tools, 'confirm_tools', p.confirm_tools, 'model', p.model, 'fallback_routes', p.fallback_routes,
        'max_turns', p.max_turns, 'temperature', p.temperature, 'response_format', p.response_format::json,
        'is_active', p.is_active, 'created_at', rfc3339(p.created_at))
$$;

-- A persona as the audit log keeps it; of a prompt and a format their beginning.
CREATE OR REPLACE FUNCTION persona_state(p personas) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT jsonb_build_object('persona_key', p.persona_key, 'version', p.version, 'display_name', p.display_name,
        'description', p.description, 'system_prompt', left(p.system_prompt, 1000), 'tools', p.tools,
        'confirm_tools', p.confirm_tools, 'model', p.model, 'fallback_routes', p.fallback_routes,
        'max_turns', p.max_turns, 'temperature', p.temperature, 'response_format', left(p.response_format, 1000),
        'is_active', p.is_active)
$$;

-- GET /v1/personas: of the platform or of the caller's organization. Prompts and formats are long, so that only as many
-- are read as fit into a page, and one further; see fcgi/http/items.h. Prompts count for those who are shown them.
CREATE OR REPLACE FUNCTION persona_page(of_org boolean, page_limit integer, before uuid)
RETURNS TABLE (id uuid, item json)
LANGUAGE sql STABLE AS $$
    SELECT p.id, persona_json(p)
    FROM (SELECT s.id, coalesce(sum(s.bytes) OVER (ORDER BY s.id DESC
              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
          FROM (SELECT r.id, coalesce(octet_length(r.response_format), 0)
                    + CASE WHEN (SELECT CASE WHEN of_org THEN has_permission('data.personas.manage')
                                             ELSE is_platform_admin() END)
                           THEN octet_length(r.system_prompt) + octet_length(r.description) ELSE 0 END AS bytes
                FROM personas r
                WHERE ((of_org AND r.org_id = current_org()) OR (NOT of_org AND r.org_id IS NULL))
                      AND r.deleted_at IS NULL AND (before IS NULL OR r.id < before)
                ORDER BY r.id DESC LIMIT page_limit) AS s) AS sized
    JOIN personas p ON p.id = sized.id
    WHERE sized.bytes_before <= 4194304
    ORDER BY p.id DESC
$$;

-- The persona, when the request's scope has it. lock: hold it against changes until the transaction ends.
CREATE OR REPLACE FUNCTION persona_of_scope(persona uuid, lock boolean) RETURNS personas
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('data.personas.manage');
    p personas;
BEGIN
    IF lock THEN
        PERFORM 1 FROM personas WHERE id = persona AND org_id IS NOT DISTINCT FROM scope_id FOR UPDATE;
    END IF;
    SELECT * INTO p FROM personas WHERE id = persona AND deleted_at IS NULL AND org_id IS NOT DISTINCT FROM scope_id;
    IF p.id IS NULL THEN
        PERFORM fail_missing('personas.not_found', 'personas', CASE WHEN scope_id IS NOT NULL THEN persona END);
    END IF;
    RETURN p;
END
$$;

-- Removes the long members of deleted personas of the caller's organization: prompts and formats, as soon as no run
-- that has not ended asks for them. A run may name one that was deleted while it was created, hence the minute. Answers
-- how many are kept on: persona_create() bounds them, because otherwise repeated deletions and creations fill the disk,
-- few as may live at once.
CREATE OR REPLACE FUNCTION personas_free() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    kept uuid[] := ARRAY(
        SELECT p.id FROM personas p
        WHERE p.org_id = current_org() AND p.deleted_at IS NOT NULL
              AND (p.system_prompt <> '' OR p.response_format IS NOT NULL OR p.earlier <> '[]'));
    freed bigint;
BEGIN
    IF cardinality(kept) = 0 THEN
        RETURN 0;
    END IF;
    UPDATE personas SET system_prompt = '', response_format = NULL, earlier = '[]', description = '', tools = '{}',
        confirm_tools = '{}'
    WHERE id IN (SELECT p.id FROM personas p
                 WHERE p.id = ANY (kept) AND p.deleted_at < clock_timestamp() - interval '1 minute'
                       AND NOT EXISTS (SELECT FROM runs r WHERE r.org_id = current_org() AND r.persona_row_id = p.id
                                       AND r.status IN ('running', 'waiting_for_input'))
                 ORDER BY p.id FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS freed = ROW_COUNT;
    RETURN cardinality(kept) - freed;
END
$$;

-- wanted: all members of a persona that a client may set, and as other_tools those of its tools that are not built in.
CREATE OR REPLACE FUNCTION persona_create(wanted jsonb, limit_personas bigint) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('data.personas.manage');
    kept_max bigint := entitlement_integer(scope_id, 'limit.personas', limit_personas);
    kept bigint;
    created personas;
BEGIN
    IF scope_id IS NOT NULL THEN
        PERFORM limit_check('limit.personas', limit_personas);
        kept := personas_free();
        IF kept_max > 0 AND kept >= kept_max THEN
            PERFORM fail('limits.reached', 'all_used',
                         jsonb_build_object('key', 'limit.personas', 'limit', kept_max, 'used', kept));
        END IF;
    END IF;
    PERFORM tools_check(scope_id, wanted -> 'other_tools');
    PERFORM fallback_routes_check(scope_id, wanted ->> 'model', wanted -> 'fallback_routes', true);
    INSERT INTO personas (org_id, persona_key, version, display_name, description, system_prompt, tools, confirm_tools,
                          model, fallback_routes, max_turns, temperature, response_format, is_active)
    SELECT scope_id, w.persona_key, w.version, w.display_name, w.description, w.system_prompt, w.tools, w.confirm_tools,
        w.model, w.fallback_routes, w.max_turns, w.temperature, w.response_format, w.is_active
    FROM jsonb_populate_record(NULL::personas, wanted) AS w
    ON CONFLICT DO NOTHING RETURNING * INTO created;
    IF created.id IS NULL THEN
        PERFORM fail('personas.exists', 'version_taken',
                     jsonb_build_object('persona_key', wanted ->> 'persona_key', 'version', wanted ->> 'version'));
    END IF;
    PERFORM audit('personas.create', 'persona', created.id::text, scope_id, NULL, persona_state(created));
    RETURN persona_json(created);
END
$$;

-- The earlier states of a persona that changes, oldest first, with the one that it had until now: runs that took a turn
-- with it go on with that (run_load). The last four of them; a run that saw more changes goes on with the oldest kept.
CREATE OR REPLACE FUNCTION persona_until(old_state personas, new_state personas, moment timestamptz) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN (old_state.system_prompt, old_state.tools, old_state.temperature)
                     IS NOT DISTINCT FROM (new_state.system_prompt, new_state.tools, new_state.temperature)
        THEN old_state.earlier
        ELSE CASE WHEN jsonb_array_length(old_state.earlier) < 4 THEN old_state.earlier ELSE old_state.earlier - 0 END
             || jsonb_build_object('until', extract(epoch FROM moment), 'system_prompt', old_state.system_prompt,
                                   'tools', old_state.tools, 'temperature', old_state.temperature) END
$$;

-- changes: the members that change, with other_tools beside tools. Key and version stay: runs name them.
CREATE OR REPLACE FUNCTION persona_update(persona uuid, changes jsonb) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    old_state personas := persona_of_scope(persona, true);
    new_state personas := jsonb_populate_record(old_state, changes);
BEGIN
    IF old_state.built_in AND old_state.persona_key = 'normal' AND NOT new_state.is_active THEN
        PERFORM fail('personas.built_in', 'default_stays_active');
    END IF;
    PERFORM tools_check(old_state.org_id, changes -> 'other_tools');
    IF changes ?| ARRAY['model', 'fallback_routes'] THEN
        PERFORM fallback_routes_check(old_state.org_id, new_state.model, to_jsonb(new_state.fallback_routes),
                                      changes ? 'fallback_routes');
    END IF;
    UPDATE personas SET display_name = new_state.display_name, description = new_state.description,
        system_prompt = new_state.system_prompt, tools = new_state.tools, confirm_tools = new_state.confirm_tools,
        model = new_state.model, fallback_routes = new_state.fallback_routes, max_turns = new_state.max_turns,
        temperature = new_state.temperature, response_format = new_state.response_format,
        is_active = new_state.is_active, earlier = persona_until(old_state, new_state, clock_timestamp())
    WHERE id = old_state.id;
    PERFORM audit('personas.update', 'persona', old_state.id::text, old_state.org_id, persona_state(old_state),
                  persona_state(new_state));
    RETURN persona_json(new_state);
END
$$;

-- Soft: old runs keep its name, and running ones go on with it.
CREATE OR REPLACE FUNCTION persona_delete(persona uuid) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    p personas := persona_of_scope(persona, true);
BEGIN
    IF p.built_in THEN
        PERFORM fail('personas.built_in', 'stays');
    END IF;
    IF p.org_id IS NOT NULL THEN
        PERFORM personas_free();
    END IF;
    UPDATE personas SET deleted_at = clock_timestamp() WHERE id = p.id;
    PERFORM audit('personas.delete', 'persona', p.id::text, p.org_id, persona_state(p));
END
$$;
REVOKE EXECUTE ON FUNCTION personas_free FROM hostler_runner;
