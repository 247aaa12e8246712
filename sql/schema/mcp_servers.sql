-- MCP servers of the platform (org_id null) and of organizations, whose tools models may call as key__tool. The API
-- says here what is wanted; the daemon lists a server's tools (mcp_listings.sql) and calls them (mcp_calls.sql).

CREATE TABLE mcp_servers (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid REFERENCES orgs,
    key text COLLATE "C" NOT NULL CHECK (key ~ '^[a-z0-9-]{1,32}$'),  -- stays: personas name it
    url text NOT NULL,
    authorization_kind text NOT NULL CHECK (authorization_kind IN ('none', 'bearer', 'headers', 'oauth')),
    -- The public part. headers: {names: []}; oauth: {client_id, scopes: [], per: user or org}; else {}.
    authorization_settings jsonb NOT NULL DEFAULT '{}',
    -- Sealed JSON of kind mcp_server: {token}, {headers: {name: value}} or {client_secret}.
    secret_id uuid REFERENCES secrets,
    allowed_tools text[] NOT NULL DEFAULT '{}',  -- as the server names them; empty: all
    trust text NOT NULL DEFAULT 'ask' CHECK (trust IN ('ask', 'run')),
    is_active boolean NOT NULL DEFAULT true,
    is_pinned boolean NOT NULL DEFAULT false,  -- it was listed once: what comes from now on is to be approved
    -- The last listing, or that one is wanted.
    listing_state text NOT NULL DEFAULT 'pending' CHECK (listing_state IN ('pending', 'ok', 'failed')),
    listing_at timestamptz,
    listing_code text,
    listing_message text,
    listing_left_out json,  -- tools that cannot be offered: [{name, reason}]
    listing_failures integer NOT NULL DEFAULT 0,  -- one after the other
    listing_due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    listing_id uuid,  -- the daemon's that is at it; until listing_due_at, then another takes it up
    protocol_version text,
    discovery json,  -- what the server said of itself; the daemon's alone
    -- Since when it is called as it is now: connections and authorizations from before are over.
    authorized_since timestamptz NOT NULL DEFAULT '-infinity',
    created_by uuid DEFAULT current_user_id(),  -- whose share its listings take
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz CHECK (deleted_at IS NULL OR secret_id IS NULL),
    UNIQUE (org_id, id),
    FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id),
    CHECK ((listing_state = 'failed') = (listing_code IS NOT NULL)),
    CHECK (authorization_kind NOT IN ('bearer', 'headers') OR secret_id IS NOT NULL OR deleted_at IS NOT NULL)
);
CREATE UNIQUE INDEX mcp_servers_key ON mcp_servers (coalesce(org_id, '00000000-0000-0000-0000-000000000000'), key)
    WHERE deleted_at IS NULL;
CREATE INDEX mcp_servers_secret ON mcp_servers (secret_id) WHERE secret_id IS NOT NULL;
CREATE INDEX mcp_servers_due ON mcp_servers (listing_due_at) WHERE deleted_at IS NULL AND is_active;
SELECT make_scoped_table('mcp_servers');
GRANT SELECT, INSERT, UPDATE ON mcp_servers TO hostler_api;
GRANT SELECT (listing_due_at, deleted_at, is_active) ON mcp_servers TO hostler_runner;

-- Whether the server may be spoken to now, at this address, for this organization (null: a listing of the platform's).
-- Every request that leaves for a server asks this first: calls, listings, polls and cancellations of tasks, answers on
-- open streams.
CREATE OR REPLACE FUNCTION mcp_may_speak(s mcp_servers, address text, org uuid) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(s.deleted_at IS NULL AND s.is_active AND s.url = address AND (s.org_id IS NULL OR s.org_id = org),
                    false)
$$;

-- The server, when the request's scope has it. lock: hold it against changes until the transaction ends.
CREATE OR REPLACE FUNCTION mcp_server_of_scope(server uuid, lock boolean) RETURNS mcp_servers
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('data.personas.manage');
    s mcp_servers;
BEGIN
    IF lock THEN
        PERFORM 1 FROM mcp_servers WHERE id = server AND org_id IS NOT DISTINCT FROM scope_id FOR UPDATE;
    END IF;
    SELECT * INTO s FROM mcp_servers
    WHERE id = server AND deleted_at IS NULL AND org_id IS NOT DISTINCT FROM scope_id;
    IF s.id IS NULL THEN
        PERFORM fail_missing('mcp_servers.not_found', 'mcp_servers', CASE WHEN scope_id IS NOT NULL THEN server END);
    END IF;
    RETURN s;
END
$$;

-- The same of one that is only read: with scope=org also the platform's, while they are active.
CREATE OR REPLACE FUNCTION mcp_server_of_reader(server uuid) RETURNS mcp_servers
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('data.personas.manage');
    s mcp_servers;
BEGIN
    SELECT * INTO s FROM mcp_servers
    WHERE id = server AND deleted_at IS NULL
          AND (org_id IS NOT DISTINCT FROM scope_id OR (org_id IS NULL AND is_active));
    IF s.id IS NULL THEN
        PERFORM fail_missing('mcp_servers.not_found', 'mcp_servers', CASE WHEN scope_id IS NOT NULL THEN server END);
    END IF;
    RETURN s;
END
$$;

-- Its tools are to be listed now, by whichever daemon comes first. A listing under way counts, unless it is_void: then
-- what it brings is not stored.
CREATE OR REPLACE FUNCTION mcp_listing_wanted(server uuid, is_void boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE mcp_servers s SET listing_state = 'pending', listing_code = NULL, listing_message = NULL,
        listing_due_at = CASE WHEN s.listing_id IS NULL OR is_void THEN clock_timestamp() ELSE s.listing_due_at END,
        listing_id = CASE WHEN NOT is_void THEN s.listing_id END
    WHERE s.id = server AND s.deleted_at IS NULL;
    PERFORM pg_notify('hostler_mcp', 'listings');
END
$$;

-- Whether the server is not listed for now: its organization is closed, or the user whose personal organization has it
-- is not active.
CREATE OR REPLACE FUNCTION mcp_server_rests(s mcp_servers) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT s.org_id IS NOT NULL AND EXISTS (
        SELECT FROM org_members m JOIN users u ON u.id = m.user_id
        WHERE m.org_id = s.org_id AND u.personal_org_id = s.org_id AND u.status <> 'active'
        UNION ALL SELECT FROM orgs o WHERE o.id = s.org_id AND o.closed_at IS NOT NULL)
$$;

-- The form for clients. The url and the faults of the platform's own are for its administrators.
CREATE OR REPLACE FUNCTION mcp_server_json(s mcp_servers) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    is_own boolean := s.org_id IS NOT NULL OR coalesce(current_request() ->> 'scope', '') <> 'org';
BEGIN
    RETURN json_build_object('id', s.id, 'scope', CASE WHEN s.org_id IS NULL THEN 'platform' ELSE 'org' END,
        'key', s.key, 'url', CASE WHEN is_own THEN s.url END,
        'authorization', mcp_authorization_json(s, is_own),
        'allowed_tools', s.allowed_tools, 'trust', s.trust, 'is_active', s.is_active,
        'listing', json_build_object('state', s.listing_state, 'at', rfc3339(s.listing_at),
            'error', CASE WHEN s.listing_code IS NOT NULL AND is_own
                THEN json_build_object('code', s.listing_code, 'message', s.listing_message) END,
            'protocol_version', s.protocol_version,
            'left_out', CASE WHEN is_own THEN coalesce(s.listing_left_out, '[]') ELSE '[]' END),
        'connection', mcp_connection_json(s), 'created_at', rfc3339(s.created_at));
END
$$;

-- How it is called, without what is secret.
CREATE OR REPLACE FUNCTION mcp_authorization_json(s mcp_servers, is_own boolean) RETURNS json
LANGUAGE sql STABLE SET search_path = public, pg_catalog AS $$
    SELECT CASE
        WHEN NOT is_own OR s.authorization_kind IN ('none', 'bearer')
            THEN json_build_object('type', s.authorization_kind)
        WHEN s.authorization_kind = 'headers'
            THEN json_build_object('type', 'headers', 'names', s.authorization_settings -> 'names')
        ELSE json_build_object('type', 'oauth', 'client_id', s.authorization_settings -> 'client_id',
            'has_client_secret', s.secret_id IS NOT NULL, 'scopes', s.authorization_settings -> 'scopes',
            'per', s.authorization_settings -> 'per') END
$$;

-- A value that is longer than the audit log keeps: the beginning of its text.
CREATE OR REPLACE FUNCTION mcp_state_cut(state jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN length(state::text) <= 1000 THEN state ELSE to_jsonb(left(state::text, 1000)) END
$$;

-- A server as the audit log keeps it.
CREATE OR REPLACE FUNCTION mcp_server_state(s mcp_servers) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('key', s.key, 'url', left(s.url, 1000),
        'authorization', mcp_state_cut(mcp_authorization_json(s, true)::jsonb),
        'allowed_tools', mcp_state_cut(to_jsonb(s.allowed_tools)), 'trust', s.trust, 'is_active', s.is_active)
$$;

-- GET /v1/mcp-servers: the scope's; of an organization's also the platform's that its personas may name. One further
-- than the page holds.
CREATE OR REPLACE FUNCTION mcp_server_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('data.personas.manage');
BEGIN
    RETURN QUERY
    SELECT q.id, mcp_server_json(q) FROM mcp_servers q
    WHERE (q.org_id = scope_id OR (q.org_id IS NULL AND (scope_id IS NULL OR q.is_active)))
          AND q.deleted_at IS NULL AND (before IS NULL OR q.id < before)
    ORDER BY q.id DESC LIMIT page_limit;
END
$$;

-- Secret part of a server, sealed by the API.
CREATE OR REPLACE FUNCTION mcp_secret_insert(scope_id uuid, secret jsonb) RETURNS uuid
LANGUAGE sql SET search_path = public, pg_catalog AS $$
    SELECT secret_insert(scope_id, 'mcp_server', secret) WHERE secret IS NOT NULL
$$;

-- wanted: all members of a server that a client may set. secret: null when it has none.
CREATE OR REPLACE FUNCTION mcp_server_create(wanted jsonb, secret jsonb, limit_mcp_servers bigint) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('data.personas.manage');
    created mcp_servers;
BEGIN
    IF scope_id IS NOT NULL THEN
        PERFORM limit_check('limit.mcp_servers', limit_mcp_servers);
    END IF;
    INSERT INTO mcp_servers (org_id, key, url, authorization_kind, authorization_settings, secret_id, allowed_tools,
                             trust, is_active)
    SELECT scope_id, w.key, w.url, w.authorization_kind, w.authorization_settings,
        mcp_secret_insert(scope_id, secret), w.allowed_tools, w.trust, w.is_active
    FROM jsonb_populate_record(NULL::mcp_servers, wanted) AS w
    ON CONFLICT DO NOTHING RETURNING * INTO created;
    IF created.id IS NULL THEN
        PERFORM fail('mcp_servers.exists', 'key_in_scope', jsonb_build_object('key', wanted ->> 'key'));
    END IF;
    PERFORM audit('mcp_servers.create', 'mcp_server', created.id::text, scope_id, NULL, mcp_server_state(created));
    PERFORM pg_notify('hostler_mcp', 'listings');
    RETURN mcp_server_json(created);
END
$$;

-- changes: the members that change; authorization_kind, authorization_settings and secret together. A secret goes to
-- the place that it was given for, or below it, and to no other: another origin or path needs it again. A new place,
-- other credentials and other allowed_tools are listed at once; what they show beyond what was approved needs an
-- approval.
CREATE OR REPLACE FUNCTION mcp_server_update(server uuid, changes jsonb, secret jsonb) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    old_state mcp_servers := mcp_server_of_scope(server, true);
    new_state mcp_servers := jsonb_populate_record(old_state, changes);
    is_authorized_anew boolean := changes ? 'authorization_kind';
    is_elsewhere boolean := new_state.url <> old_state.url;
BEGIN
    IF is_elsewhere AND NOT is_authorized_anew AND old_state.secret_id IS NOT NULL
       AND NOT url_is_below(new_state.url, old_state.url) THEN
        PERFORM fail('validation.error', 'secret_needed', jsonb_build_object('field', 'authorization'));
    END IF;
    IF is_authorized_anew THEN
        new_state.secret_id := mcp_secret_insert(old_state.org_id, secret);
    END IF;
    UPDATE mcp_servers SET url = new_state.url, authorization_kind = new_state.authorization_kind,
        authorization_settings = new_state.authorization_settings, secret_id = new_state.secret_id,
        allowed_tools = new_state.allowed_tools, trust = new_state.trust, is_active = new_state.is_active,
        protocol_version = CASE WHEN NOT is_elsewhere THEN new_state.protocol_version END,
        discovery = CASE WHEN NOT is_elsewhere THEN new_state.discovery END
    WHERE id = old_state.id;
    IF is_authorized_anew THEN
        DELETE FROM secrets WHERE id = old_state.secret_id;
    END IF;
    IF is_elsewhere OR is_authorized_anew THEN
        PERFORM mcp_server_forget(old_state.id);
    END IF;
    IF is_elsewhere OR is_authorized_anew OR new_state.allowed_tools <> old_state.allowed_tools
       OR (new_state.is_active AND NOT old_state.is_active) THEN
        PERFORM mcp_listing_wanted(old_state.id, true);
    END IF;
    PERFORM audit('mcp_servers.update', 'mcp_server', old_state.id::text, old_state.org_id,
                  mcp_server_state(old_state), mcp_server_state(new_state));
    IF is_elsewhere OR is_authorized_anew OR (old_state.is_active AND NOT new_state.is_active) THEN
        PERFORM mcp_waits_end(old_state.id);  -- after the switch, since those that wait may be many
    END IF;
    RETURN (SELECT mcp_server_json(s) FROM mcp_servers s WHERE s.id = old_state.id);
END
$$;

-- Soft: calls under way keep their answer, personas that name its tools go on without them. Its tools, approvals,
-- connections and secrets are gone.
CREATE OR REPLACE FUNCTION mcp_server_delete(server uuid) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    s mcp_servers := mcp_server_of_scope(server, true);
BEGIN
    PERFORM mcp_server_forget(s.id);
    UPDATE mcp_servers SET deleted_at = clock_timestamp(), secret_id = NULL, listing_id = NULL, discovery = NULL,
        listing_left_out = NULL WHERE id = s.id;
    DELETE FROM mcp_tools WHERE server_id = s.id;
    DELETE FROM secrets WHERE id = s.secret_id;
    PERFORM audit('mcp_servers.delete', 'mcp_server', s.id::text, s.org_id, mcp_server_state(s));
    PERFORM mcp_waits_end(s.id);
END
$$;

-- POST …:refresh.
CREATE OR REPLACE FUNCTION mcp_server_refresh(server uuid) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    s mcp_servers := mcp_server_of_scope(server, true);
BEGIN
    IF NOT s.is_active THEN
        PERFORM fail('mcp_servers.inactive', 'not_listed');
    END IF;
    PERFORM mcp_listing_wanted(s.id);
    PERFORM audit('mcp_servers.refresh', 'mcp_server', s.id::text, s.org_id, NULL, NULL);
    RETURN (SELECT mcp_server_json(q) FROM mcp_servers q WHERE q.id = s.id);
END
$$;

REVOKE EXECUTE ON FUNCTION mcp_server_of_scope, mcp_server_of_reader, mcp_listing_wanted, mcp_server_page,
    mcp_secret_insert, mcp_server_create, mcp_server_update, mcp_server_delete, mcp_server_refresh FROM hostler_runner;
