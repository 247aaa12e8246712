-- Personas and routes as the models of OpenAI's API (contract section 11).

-- org: of the persona or the route; null: the platform's. input_types: of the route, or of the persona's model.
CREATE OR REPLACE FUNCTION openai_model_json(name text, created_at timestamptz, org uuid, input_types text[])
RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', name, 'object', 'model', 'created', floor(extract(epoch FROM created_at))::bigint,
                             'owned_by', CASE WHEN org IS NULL THEN 'platform' ELSE 'org' END,
                             'input_types', coalesce(input_types, '{text}'))
$$;

-- GET /v1/openai/models: personas by key and version, and by key alone for the newest, own before the platform's, as
-- persona_resolve() finds them; then routes. That API has no pages: of each kind, own and the platform's, the newest
-- 1,000. An organization keeps 200 of each unless limit.personas and limit.llm_models say otherwise.
CREATE OR REPLACE FUNCTION openai_model_list() RETURNS json
LANGUAGE sql STABLE AS $$
    WITH named AS (
        (SELECT p.id, p.org_id, p.persona_key, p.version, p.created_at, p.model FROM personas p
         WHERE p.org_id = current_org() AND p.deleted_at IS NULL AND p.is_active ORDER BY p.id DESC LIMIT 1000)
        UNION ALL
        (SELECT p.id, p.org_id, p.persona_key, p.version, p.created_at, p.model FROM personas p
         WHERE p.org_id IS NULL AND p.deleted_at IS NULL AND p.is_active ORDER BY p.id DESC LIMIT 1000)
    ), routes AS (
        (SELECT m.id, m.org_id, m.created_at, m.model, m.is_default, m.input_types
         FROM llm_models m CROSS JOIN LATERAL provider_of(m) l
         WHERE m.org_id = current_org() AND m.deleted_at IS NULL AND l.deleted_at IS NULL ORDER BY m.id DESC LIMIT 1000)
        UNION ALL
        (SELECT m.id, m.org_id, m.created_at, m.model, m.is_default, m.input_types
         FROM llm_models m CROSS JOIN LATERAL provider_of(m) l
         WHERE m.org_id IS NULL AND m.deleted_at IS NULL AND l.deleted_at IS NULL ORDER BY m.id DESC LIMIT 1000)
    ), named_routes AS (  -- as route_resolve() finds them; a persona of the platform finds the platform's alone
        SELECT DISTINCT ON (w.name, w.is_of_platform) w.name, w.is_of_platform, r.input_types
        FROM routes r
        CROSS JOIN LATERAL (VALUES (r.model, false), (r.id::text, false), (r.model, true), (r.id::text, true))
            AS w (name, is_of_platform)
        WHERE r.org_id IS NULL OR NOT w.is_of_platform
        ORDER BY w.name, w.is_of_platform, r.org_id IS NULL, r.id
    ), default_route AS (
        SELECT r.input_types FROM routes r WHERE r.is_default ORDER BY r.org_id IS NULL, r.id LIMIT 1
    ), models AS (
        SELECT 1 AS kind, n.id, k.name, n.created_at, n.org_id,
            coalesce(r.input_types, (SELECT d.input_types FROM default_route d)) AS input_types
        FROM named n
        LEFT JOIN named_routes r ON r.name = n.model AND r.is_of_platform = (n.org_id IS NULL)
        CROSS JOIN LATERAL (VALUES (n.persona_key), (n.persona_key || '@' || n.version)) AS k(name)
        UNION ALL
        SELECT 2, r.id, 'route:' || r.id, r.created_at, r.org_id, r.input_types FROM routes r
    ), chosen AS (
        SELECT DISTINCT ON (m.name) m.kind, m.id, m.name, m.created_at, m.org_id, m.input_types FROM models m
        ORDER BY m.name, m.org_id IS NULL, m.id DESC
    )
    SELECT json_build_object('object', 'list', 'data',
        coalesce(json_agg(openai_model_json(c.name, c.created_at, c.org_id, c.input_types)
                          ORDER BY c.kind, c.id DESC, c.name), '[]'))
    FROM chosen c
$$;

-- GET /v1/openai/models/{model}: called as it was asked for. Raises runs.unknown_persona or runs.unknown_route.
CREATE OR REPLACE FUNCTION openai_model_show(persona_id text, route uuid) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN route IS NULL
        THEN (SELECT openai_model_json(persona_id, p.created_at, p.org_id, (
                  SELECT m.input_types FROM llm_models m JOIN llm_providers l ON l.id = m.provider_id
                  CROSS JOIN LATERAL (SELECT coalesce(p.model IN (m.model, m.id::text)
                      AND (m.org_id IS NULL OR p.org_id IS NOT NULL), false) AS is_named) AS n
                  WHERE m.deleted_at IS NULL AND l.deleted_at IS NULL
                        AND (m.org_id = current_org() OR m.org_id IS NULL) AND (m.is_default OR n.is_named)
                  ORDER BY n.is_named DESC, m.org_id IS NULL, m.id LIMIT 1))
              FROM persona_resolve(persona_id) AS p)
        ELSE (SELECT openai_model_json('route:' || route, m.created_at, m.org_id, m.input_types)
              FROM route_resolve(route, NULL, false) AS m) END
$$;
