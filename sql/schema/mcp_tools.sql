-- Tools of MCP servers, pinned: of each what its server said last, and what of that a person approved. A tool is
-- offered while its server's last word is approved, and then in the words that were approved.

CREATE TABLE mcp_tools (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    server_id uuid NOT NULL REFERENCES mcp_servers,
    org_id uuid,
    name text COLLATE "C" NOT NULL,  -- as the server says it
    tool_name text COLLATE "C" NOT NULL CHECK (tool_name ~ '^[a-zA-Z0-9_-]{1,64}$'),  -- as models and personas do
    definition text NOT NULL,  -- as the server sent it last, byte for byte
    hash text NOT NULL,
    state text NOT NULL CHECK (state IN ('approved', 'new', 'changed', 'gone')),
    listed_at timestamptz NOT NULL DEFAULT clock_timestamp(),  -- when it was last there
    used_at timestamptz,
    UNIQUE (org_id, id),
    FOREIGN KEY (org_id, server_id) REFERENCES mcp_servers (org_id, id)
);
CREATE UNIQUE INDEX mcp_tools_name ON mcp_tools (server_id, name);
CREATE UNIQUE INDEX mcp_tools_tool_name ON mcp_tools (server_id, tool_name);
CREATE INDEX mcp_tools_server ON mcp_tools (server_id, id);
SELECT make_scoped_table('mcp_tools');
GRANT SELECT, UPDATE, DELETE ON mcp_tools TO hostler_api;

-- Approvals: by registering the server (approved_by_user_id null), or by a person. One per tool, but under oauth per
-- user several side by side, because a server may show each of its users something else.
CREATE TABLE mcp_approvals (
    tool_id uuid NOT NULL REFERENCES mcp_tools ON DELETE CASCADE,
    org_id uuid,
    hash text COLLATE "C" NOT NULL,
    definition text NOT NULL,
    approved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    approved_by_user_id uuid REFERENCES users,
    PRIMARY KEY (tool_id, hash),
    FOREIGN KEY (org_id, tool_id) REFERENCES mcp_tools (org_id, id) ON DELETE CASCADE
);
CREATE INDEX mcp_approvals_user ON mcp_approvals (approved_by_user_id) WHERE approved_by_user_id IS NOT NULL;
SELECT make_scoped_table('mcp_approvals');
GRANT SELECT, INSERT, DELETE ON mcp_approvals TO hostler_api;

-- Approved part of a definition: name, title, description, both schemas, all annotations. The order of members does not
-- matter. Raises values of JSON that Postgres cannot keep.
CREATE OR REPLACE FUNCTION mcp_definition_hash(definition json) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = public, pg_catalog AS $$
    SELECT encode(sha256(convert_to(jsonb_build_array(d -> 'name', d -> 'title', d -> 'description',
        d -> 'inputSchema', d -> 'outputSchema', d -> 'annotations')::text, 'UTF8')), 'hex')
    FROM (SELECT definition::jsonb AS d OFFSET 0) AS parsed
$$;

-- The name of a tool for models and personas. is_taken: the plain one belongs to another tool of the server.
CREATE OR REPLACE FUNCTION mcp_tool_name(key text, name text, is_taken boolean DEFAULT false) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = public, pg_catalog AS $$
    SELECT CASE WHEN length(plain) <= 64 AND NOT is_taken THEN plain
        ELSE left(plain, 58) || left(encode(sha256(convert_to(key || '__' || name, 'UTF8')), 'hex'), 6) END
    FROM (SELECT key || '__' || regexp_replace(name, '[^a-zA-Z0-9_-]', '_', 'g') AS plain OFFSET 0) AS mapped
$$;

-- Whether allowed_tools of its server have it.
CREATE OR REPLACE FUNCTION mcp_is_allowed(s mcp_servers, name text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT cardinality(s.allowed_tools) = 0 OR name = ANY (s.allowed_tools)
$$;

-- Why a tool of the server is not called as it was offered: gone (it is not listed, or allowed_tools leave it out),
-- changed (what was offered is not what is approved and listed now); null: it may be called.
CREATE OR REPLACE FUNCTION mcp_tool_refusal(s mcp_servers, tool text, offered_hash text) RETURNS text
LANGUAGE sql STABLE SET search_path = public, pg_catalog AS $$
    SELECT CASE WHEN t.id IS NULL THEN 'gone'
        WHEN t.state <> 'approved' OR NOT EXISTS (
            SELECT FROM mcp_approvals a WHERE a.tool_id = t.id AND a.hash = offered_hash) THEN 'changed' END
    FROM (SELECT) AS one
    LEFT JOIN mcp_tools t ON t.server_id = s.id AND t.name = tool AND t.state <> 'gone' AND mcp_is_allowed(s, t.name)
$$;

-- The members in which a tool differs from what was approved last: [{member, approved, now}], null for one that is
-- not there.
CREATE OR REPLACE FUNCTION mcp_tool_diff(approved json, now json) RETURNS json
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(json_agg(json_build_object('member', m.name, 'approved', approved -> m.key, 'now', now -> m.key)
                             ORDER BY m.nth), '[]')
    FROM (VALUES (1, 'name', 'name'), (2, 'title', 'title'), (3, 'description', 'description'),
                 (4, 'input_schema', 'inputSchema'), (5, 'output_schema', 'outputSchema'),
                 (6, 'annotations', 'annotations')) AS m (nth, name, key)
    WHERE (approved -> m.key)::jsonb IS DISTINCT FROM (now -> m.key)::jsonb
$$;

-- An approved tool as it was approved; else as its server describes it now, with the differences.
CREATE OR REPLACE FUNCTION mcp_tool_json(t mcp_tools) RETURNS json
LANGUAGE sql STABLE SET search_path = public, pg_catalog AS $$
    SELECT json_build_object('name', t.tool_name, 'original_name', t.name, 'state', t.state, 'hash', t.hash,
        'title', d.shown -> 'title', 'description', d.shown -> 'description',
        'input_schema', d.shown -> 'inputSchema', 'output_schema', d.shown -> 'outputSchema',
        'annotations', d.shown -> 'annotations',
        'diff', CASE WHEN t.state = 'changed' THEN mcp_tool_diff(a.definition::json, t.definition::json)
                     ELSE '[]' END,
        'approved_hashes', (SELECT coalesce(json_agg(q.hash ORDER BY q.approved_at DESC, q.hash), '[]')
                            FROM mcp_approvals q WHERE q.tool_id = t.id),
        'approved_at', rfc3339(a.approved_at), 'approved_by_user_id', a.approved_by_user_id,
        'listed_at', rfc3339(t.listed_at), 'used_at', rfc3339(t.used_at))
    FROM (SELECT 1) AS one
    LEFT JOIN LATERAL (SELECT q.* FROM mcp_approvals q WHERE q.tool_id = t.id
                       ORDER BY q.hash = t.hash DESC, q.approved_at DESC, q.hash LIMIT 1) AS a ON true
    CROSS JOIN LATERAL (SELECT CASE WHEN t.state = 'approved' THEN a.definition ELSE t.definition END::json AS shown
                        OFFSET 0) AS d
$$;

-- GET …/tools: newest first; as many as fit into a page, and one further (fcgi/http/items.h). Of the platform's
-- organizations are shown what is approved: the rest may be what a server shows one of them alone.
CREATE OR REPLACE FUNCTION mcp_tool_page(server uuid, page_limit integer, before uuid)
RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    s mcp_servers := mcp_server_of_reader(server);
    sees_all boolean := s.org_id IS NOT NULL OR coalesce(current_request() ->> 'scope', '') <> 'org';
BEGIN
    RETURN QUERY
    SELECT t.id, mcp_tool_json(t)
    FROM (SELECT r.id, coalesce(sum(r.bytes) OVER (ORDER BY r.id DESC
              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
          FROM (SELECT q.id, 2 * octet_length(q.definition) AS bytes FROM mcp_tools q
                WHERE q.server_id = s.id AND mcp_is_allowed(s, q.name) AND (sees_all OR q.state = 'approved')
                      AND (before IS NULL OR q.id < before)
                ORDER BY q.id DESC LIMIT page_limit) AS r) AS sized
    JOIN mcp_tools t ON t.id = sized.id
    WHERE sized.bytes_before <= 2097152
    ORDER BY t.id DESC;
END
$$;

-- POST …/tools/{tool}:approve: what the server says now may be offered. seen_hash: of what the approver was shown, or
-- null; another one meanwhile is a conflict. Approving what is approved changes nothing.
CREATE OR REPLACE FUNCTION mcp_tool_approve(server uuid, wanted text, seen_hash text) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    s mcp_servers := mcp_server_of_scope(server, true);
    t mcp_tools;
    before_hashes jsonb;
BEGIN
    SELECT q.* INTO t FROM mcp_tools q
    WHERE q.server_id = s.id AND q.tool_name = wanted AND mcp_is_allowed(s, q.name) FOR UPDATE;
    IF t.id IS NULL THEN
        PERFORM fail('tools.not_found');
    ELSIF seen_hash <> t.hash THEN
        PERFORM fail('mcp_servers.tool_changed', 'other_hash', jsonb_build_object('tool', wanted));
    ELSIF t.state = 'gone' THEN
        PERFORM fail('mcp_servers.tool_gone', 'not_listed_now', jsonb_build_object('tool', wanted));
    ELSIF t.state <> 'approved' THEN
        before_hashes := (SELECT jsonb_agg(a.hash ORDER BY a.approved_at, a.hash) FROM mcp_approvals a
                          WHERE a.tool_id = t.id);
        PERFORM mcp_approval_add(s, t, current_user_id());
        UPDATE mcp_tools SET state = 'approved' WHERE id = t.id RETURNING * INTO t;
        PERFORM audit('mcp_servers.approve', 'mcp_server', s.id::text, s.org_id,
                      jsonb_build_object('tool', wanted, 'hashes', before_hashes),
                      jsonb_build_object('tool', wanted, 'hash', t.hash,
                                         'definition', left(t.definition, 4000)));
    END IF;
    RETURN mcp_tool_json(t);
END
$$;

-- Approves the server's current definition. Under oauth per user it is added to the 16 newest of a tool; else it
-- replaces the old one.
CREATE OR REPLACE FUNCTION mcp_approval_add(s mcp_servers, t mcp_tools, approver uuid) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
BEGIN
    INSERT INTO mcp_approvals (tool_id, org_id, hash, definition, approved_by_user_id)
    VALUES (t.id, t.org_id, t.hash, t.definition, approver) ON CONFLICT DO NOTHING;
    DELETE FROM mcp_approvals a
    WHERE a.tool_id = t.id AND a.hash <> t.hash
          AND (s.authorization_settings #>> '{per}' IS DISTINCT FROM 'user'
               OR a.hash IN (SELECT q.hash FROM mcp_approvals q WHERE q.tool_id = t.id
                             ORDER BY q.approved_at DESC, q.hash OFFSET 16));
END
$$;

REVOKE EXECUTE ON FUNCTION mcp_tool_page, mcp_tool_approve FROM hostler_runner;
