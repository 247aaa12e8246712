-- Webhook tools of the platform (org_id null) and of organizations: what models may call on an app's own servers. What
-- becomes of a call: asked_calls.sql.

CREATE TABLE tools (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid REFERENCES orgs,
    name text COLLATE "C" NOT NULL,
    description text NOT NULL,
    parameters text NOT NULL,  -- a JSON Schema; as text, because jsonb does not keep the order of members
    url text NOT NULL,
    timeout_seconds integer NOT NULL DEFAULT 30 CHECK (timeout_seconds BETWEEN 1 AND 600),
    is_repeatable boolean NOT NULL DEFAULT false,
    is_active boolean NOT NULL DEFAULT true,
    secret_id uuid REFERENCES secrets CHECK (secret_id IS NOT NULL OR deleted_at IS NOT NULL),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz,
    UNIQUE (org_id, id),
    FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id)
);
CREATE UNIQUE INDEX tools_name ON tools (coalesce(org_id, '00000000-0000-0000-0000-000000000000'), name)
    WHERE deleted_at IS NULL;
CREATE INDEX tools_org ON tools (org_id, id) WHERE deleted_at IS NULL;
CREATE INDEX tools_secret ON tools (secret_id) WHERE secret_id IS NOT NULL;
SELECT make_scoped_table('tools');
GRANT SELECT, INSERT, UPDATE ON tools TO hostler_api;

-- After a rotation the secret before signs too, each to its own end.
CREATE TABLE tool_old_secrets (
    secret_id uuid PRIMARY KEY REFERENCES secrets,
    org_id uuid,
    tool_id uuid NOT NULL REFERENCES tools,
    until timestamptz NOT NULL,
    FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id),
    FOREIGN KEY (org_id, tool_id) REFERENCES tools (org_id, id)
);
CREATE INDEX tool_old_secrets_tool ON tool_old_secrets (tool_id, until);
CREATE INDEX tool_old_secrets_until ON tool_old_secrets (until);
SELECT make_scoped_table('tool_old_secrets');
GRANT SELECT, INSERT, DELETE ON tool_old_secrets TO hostler_api;

-- The url of the platform's own servers is for its administrators.
CREATE OR REPLACE FUNCTION tool_json(t tools) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_build_object('id', t.id, 'scope', CASE WHEN t.org_id IS NULL THEN 'platform' ELSE 'org' END,
        'name', t.name, 'description', t.description, 'parameters', t.parameters::json,
        'url', CASE WHEN t.org_id IS NOT NULL OR coalesce(current_request() ->> 'scope', '') <> 'org' THEN t.url END,
        'timeout_seconds', t.timeout_seconds, 'is_repeatable', t.is_repeatable, 'is_active', t.is_active,
        'created_at', rfc3339(t.created_at))
$$;

-- A tool as the audit log keeps it; of what may be long the beginning.
CREATE OR REPLACE FUNCTION tool_state(t tools) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT jsonb_build_object('name', t.name, 'description', left(t.description, 1000),
        'parameters', left(t.parameters, 1000), 'url', t.url, 'timeout_seconds', t.timeout_seconds,
        'is_repeatable', t.is_repeatable, 'is_active', t.is_active)
$$;

-- GET /v1/tools: the scope's; of an organization's also the platform's that its personas may name. As many as fit into
-- a page, and one further; see fcgi/http/items.h.
CREATE OR REPLACE FUNCTION tool_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('data.personas.manage');
BEGIN
    RETURN QUERY
    SELECT t.id, tool_json(t)
    FROM (SELECT s.id, coalesce(sum(s.bytes) OVER (ORDER BY s.id DESC
              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
          FROM (SELECT q.id, octet_length(q.parameters) + octet_length(q.description) AS bytes FROM tools q
                WHERE (q.org_id = scope_id OR (q.org_id IS NULL AND (scope_id IS NULL OR q.is_active)))
                      AND q.deleted_at IS NULL AND (before IS NULL OR q.id < before)
                ORDER BY q.id DESC LIMIT page_limit) AS s) AS sized
    JOIN tools t ON t.id = sized.id
    WHERE sized.bytes_before <= 4194304
    ORDER BY t.id DESC;
END
$$;

-- The tool, when the request's scope has it. lock: hold it against changes until the transaction ends.
CREATE OR REPLACE FUNCTION tool_of_scope(tool uuid, lock boolean) RETURNS tools
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('data.personas.manage');
    t tools;
BEGIN
    IF lock THEN
        PERFORM 1 FROM tools WHERE id = tool AND org_id IS NOT DISTINCT FROM scope_id FOR UPDATE;
    END IF;
    SELECT * INTO t FROM tools WHERE id = tool AND deleted_at IS NULL AND org_id IS NOT DISTINCT FROM scope_id;
    IF t.id IS NULL THEN
        PERFORM fail_missing('tools.not_found', 'tools', CASE WHEN scope_id IS NOT NULL THEN tool END);
    END IF;
    RETURN t;
END
$$;

-- A signing secret of the scope, sealed by the API.
CREATE OR REPLACE FUNCTION tool_secret_insert(scope_id uuid, secret jsonb) RETURNS uuid
LANGUAGE sql SET search_path = public, pg_catalog AS $$
    SELECT secret_insert(scope_id, 'tool', secret)
$$;

-- wanted: all members of a tool that a client may set.
CREATE OR REPLACE FUNCTION tool_create(wanted jsonb, secret jsonb, limit_tools bigint) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('data.personas.manage');
    created tools;
BEGIN
    IF scope_id IS NOT NULL THEN
        PERFORM limit_check('limit.tools', limit_tools);
    END IF;
    INSERT INTO tools (org_id, name, description, parameters, url, timeout_seconds, is_repeatable, is_active, secret_id)
    SELECT scope_id, w.name, w.description, w.parameters, w.url, w.timeout_seconds, w.is_repeatable, w.is_active,
        tool_secret_insert(scope_id, secret)
    FROM jsonb_populate_record(NULL::tools, wanted) AS w
    ON CONFLICT DO NOTHING RETURNING * INTO created;
    IF created.id IS NULL THEN
        PERFORM fail('tools.exists', 'name_in_scope', jsonb_build_object('name', wanted ->> 'name'));
    END IF;
    PERFORM audit('tools.create', 'tool', created.id::text, scope_id, NULL, tool_state(created));
    RETURN tool_json(created);
END
$$;

-- changes: the members that change.
CREATE OR REPLACE FUNCTION tool_update(tool uuid, changes jsonb) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    old_state tools := tool_of_scope(tool, true);
    new_state tools := jsonb_populate_record(old_state, changes);
BEGIN
    BEGIN
        UPDATE tools SET name = new_state.name, description = new_state.description,
            parameters = new_state.parameters, url = new_state.url, timeout_seconds = new_state.timeout_seconds,
            is_repeatable = new_state.is_repeatable, is_active = new_state.is_active
        WHERE id = old_state.id;
    EXCEPTION WHEN unique_violation THEN
        PERFORM fail('tools.exists', 'name_in_scope', jsonb_build_object('name', new_state.name));
    END;
    PERFORM audit('tools.update', 'tool', old_state.id::text, old_state.org_id, tool_state(old_state),
                  tool_state(new_state));
    RETURN tool_json(new_state);
END
$$;

-- Soft: calls under way keep their answer, personas that name it continue without it. Its secrets and its long members
-- are removed. Runs have their own copy, and otherwise repeated deletions and creations would fill the disk.
CREATE OR REPLACE FUNCTION tool_delete(tool uuid) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    t tools := tool_of_scope(tool, true);
    ended uuid[] := ARRAY(SELECT o.secret_id FROM tool_old_secrets o WHERE o.tool_id = t.id);
BEGIN
    UPDATE tools SET deleted_at = clock_timestamp(), secret_id = NULL, description = '', parameters = '{}'
    WHERE id = t.id;
    DELETE FROM tool_old_secrets WHERE tool_id = t.id;
    DELETE FROM secrets WHERE id = ANY (ended || t.secret_id);
    PERFORM audit('tools.delete', 'tool', t.id::text, t.org_id, tool_state(t));
END
$$;

-- A new signing secret; the one before signs too for 24 hours.
CREATE OR REPLACE FUNCTION tool_rotate(tool uuid, secret jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    t tools := tool_of_scope(tool, true);
BEGIN
    PERFORM old_secrets_check(ARRAY(SELECT o.until FROM tool_old_secrets o
                                    WHERE o.tool_id = t.id AND o.until > clock_timestamp()));
    UPDATE tools SET secret_id = tool_secret_insert(t.org_id, secret) WHERE id = t.id;
    INSERT INTO tool_old_secrets (secret_id, org_id, tool_id, until)
    VALUES (t.secret_id, t.org_id, t.id, clock_timestamp() + interval '24 hours');
    PERFORM audit('tools.secret_rotated', 'tool', t.id::text, t.org_id, NULL, NULL);
END
$$;

-- Maintenance: old signing secrets that are over, at most so many; answers how many.
CREATE OR REPLACE FUNCTION tool_secrets_prune(at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    ended uuid[] := ARRAY(SELECT o.secret_id FROM tool_old_secrets o WHERE o.until <= statement_timestamp()
                          ORDER BY o.until LIMIT at_most FOR UPDATE SKIP LOCKED);
BEGIN
    DELETE FROM tool_old_secrets WHERE secret_id = ANY (ended);
    DELETE FROM secrets WHERE id = ANY (ended);
    RETURN cardinality(ended);
END
$$;

-- With what a call of the tool is signed, newest first: [{id, org_id, key_version, wrapped_key, sealed}], bytes in hex.
CREATE OR REPLACE FUNCTION tool_secrets_json(t tools) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT json_agg(json_build_object('id', s.id, 'org_id', s.org_id, 'key_version', s.key_version,
                                      'wrapped_key', encode(s.wrapped_key, 'hex'), 'sealed', encode(s.sealed, 'hex'))
                    ORDER BY s.created_at DESC, s.id DESC)
    FROM unnest(ARRAY(SELECT o.secret_id FROM tool_old_secrets o
                      WHERE o.tool_id = t.id AND o.until > statement_timestamp()) || t.secret_id) AS held (secret_id)
    CROSS JOIN LATERAL (SELECT * FROM secrets q WHERE q.id = held.secret_id OFFSET 0) AS s
$$;

-- The first of the names that no tool of the scope or the platform has, webhook or remote: others: [{name, nth}].
CREATE OR REPLACE FUNCTION tools_check(scope_id uuid, others jsonb) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    unknown_nth integer;
BEGIN
    SELECT min(o.nth) INTO unknown_nth FROM jsonb_to_recordset(coalesce(others, '[]')) AS o (name text, nth integer)
    WHERE NOT EXISTS (SELECT FROM tools t
                      WHERE coalesce(t.org_id, '00000000-0000-0000-0000-000000000000')
                                IN ('00000000-0000-0000-0000-000000000000',
                                    coalesce(scope_id, '00000000-0000-0000-0000-000000000000'))
                            AND t.name = o.name AND t.deleted_at IS NULL)
          AND NOT mcp_name_is_known(scope_id, o.name);
    IF unknown_nth IS NOT NULL THEN
        PERFORM fail('validation.error', 'tool_unknown', jsonb_build_object('nth', unknown_nth));
    END IF;
END
$$;

REVOKE EXECUTE ON FUNCTION tool_page, tool_of_scope, tool_secret_insert, tool_create, tool_update, tool_delete,
    tool_rotate, tools_check FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION tool_secrets_prune FROM hostler_api;
REVOKE EXECUTE ON FUNCTION tool_secrets_json FROM hostler_api, hostler_runner;
