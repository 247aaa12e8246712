-- Listings of MCP servers' tools by the daemon: which is due, and what came of it, in one transaction with the pins.

-- Takes the server that is due longest, if any, for so many seconds; behind them another daemon may take it. Not one of
-- the organizations that others go before (runner/oauth/org_turns.h); the platform is the one of zeros. listing: what
-- the daemon stores it with. No row: none is due.
CREATE OR REPLACE FUNCTION mcp_listing_claim(listing uuid, claim_seconds integer, full_orgs uuid[])
RETURNS TABLE (server_id uuid, org_id uuid, key text, url text, is_org_scope boolean, authorization_kind text,
               per text, protocol_version text, discovery json, created_by uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    s mcp_servers;
BEGIN
    UPDATE mcp_servers q SET listing_id = listing,
        listing_due_at = clock_timestamp() + make_interval(secs => claim_seconds)
    WHERE q.id = (SELECT d.id FROM mcp_servers d
                  WHERE d.listing_due_at <= statement_timestamp() AND d.deleted_at IS NULL AND d.is_active
                        AND coalesce(d.org_id, '00000000-0000-0000-0000-000000000000') <> ALL (full_orgs)
                        AND coalesce(d.created_by, d.id) <> ALL (full_orgs) AND NOT mcp_server_rests(d)
                  ORDER BY d.listing_due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING q.* INTO s;
    IF s.id IS NOT NULL THEN
        RETURN QUERY SELECT s.id, s.org_id, s.key, s.url, s.org_id IS NOT NULL, s.authorization_kind,
            s.authorization_settings #>> '{per}', s.protocol_version, s.discovery, s.created_by;
    END IF;
END
$$;

-- A listing is over. outcome: {error: {code, message}}, or {protocol_version, ttl_ms, discovery, left_out: [{name,
-- reason}], tools: [{name, definition}]}, a definition as the text that the server sent, each name once. Answers
-- stored, or fenced when the server was deleted, switched off, changed or listed by another daemon meanwhile.
-- Listed again when ttl_ms is over, 5 minutes to 24 hours, an hour when it is absent; after a failure sooner: 1 minute,
-- doubled up to an hour.
CREATE OR REPLACE FUNCTION mcp_listing_store(server uuid, listing uuid, outcome json) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    s mcp_servers;
    unfit json;
    now_at timestamptz := clock_timestamp();
BEGIN
    SELECT * INTO s FROM mcp_servers q
    WHERE q.id = server AND q.listing_id = listing AND mcp_may_speak(q, q.url, q.org_id) FOR UPDATE;
    IF s.id IS NULL THEN
        RETURN 'fenced';
    ELSIF outcome -> 'error' IS NOT NULL THEN
        PERFORM mcp_listing_fail(s, outcome #>> '{error,code}', outcome #>> '{error,message}');
        RETURN 'stored';
    END IF;
    unfit := mcp_tools_store(s, outcome -> 'tools');
    IF unfit IS NULL THEN
        PERFORM mcp_listing_fail(s, 'tool.too_many',
            'The server has more than 128 tools: name those that are wanted in allowed_tools.');
        RETURN 'stored';
    END IF;
    UPDATE mcp_servers SET listing_state = 'ok', listing_at = now_at, listing_code = NULL, listing_message = NULL,
        listing_left_out = json_arrays_joined(outcome -> 'left_out', unfit), listing_failures = 0, listing_id = NULL,
        listing_due_at = now_at + make_interval(secs => least(greatest(
            coalesce((outcome ->> 'ttl_ms')::numeric, 3600000), 300000), 86400000)::double precision / 1000),
        protocol_version = outcome ->> 'protocol_version', discovery = outcome -> 'discovery', is_pinned = true
    WHERE id = s.id;
    RETURN 'stored';
END
$$;

CREATE OR REPLACE FUNCTION mcp_listing_fail(s mcp_servers, code text, message text) RETURNS void
LANGUAGE sql SET search_path = public, pg_catalog AS $$
    UPDATE mcp_servers SET listing_state = 'failed', listing_at = clock_timestamp(), listing_code = code,
        listing_message = left(message, 2000), listing_id = NULL, listing_failures = least(listing_failures + 1, 100),
        listing_due_at = clock_timestamp() + interval '1 minute' * least(60, 2 ^ least(s.listing_failures, 6))
    WHERE id = s.id
$$;

-- A tool as it was listed, its definition read: null hash, what Postgres cannot keep or is longer than 64 KiB or
-- has numbers that jsonb makes so.
CREATE OR REPLACE FUNCTION mcp_listed_hash(name text, definition text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = public, pg_catalog AS $$
BEGIN
    IF octet_length(definition) > 65536 OR has_long_numbers(definition) OR length(name) NOT BETWEEN 1 AND 256
       OR (definition::jsonb ->> 'name') IS DISTINCT FROM name
       OR coalesce(jsonb_typeof(definition::jsonb -> 'inputSchema'), 'null') NOT IN ('object', 'null') THEN
        RETURN NULL;
    END IF;
    RETURN mcp_definition_hash(definition::json);
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN NULL;
END
$$;

-- Stores the current tools of the server, which is locked. Registering the server approves the tools of the first
-- listing. Later, new or changed tools wait for a person, and the audit log reports it. Answers those that cannot be
-- kept: [{name, reason}]; null, and nothing is stored, if they are more than 128.
CREATE OR REPLACE FUNCTION mcp_tools_store(s mcp_servers, tools json) RETURNS json
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    listed record;
    stored mcp_tools;
    names text[] := '{}';
    left_out jsonb := '[]';
    changes jsonb := '[]';
    bytes bigint := 0;
    old_tool mcp_tools;
BEGIN
    IF (SELECT count(*) FROM json_array_elements(tools) AS t (item)
        WHERE mcp_is_allowed(s, t.item ->> 'name')) > 128 THEN
        RETURN NULL;
    END IF;
    FOR listed IN SELECT t.item ->> 'name' AS name, t.item ->> 'definition' AS definition,
                      mcp_listed_hash(t.item ->> 'name', t.item ->> 'definition') AS hash
                  FROM json_array_elements(tools) WITH ORDINALITY AS t (item, nth)
                  WHERE mcp_is_allowed(s, t.item ->> 'name')
                  -- Names that need no other letters are taken first.
                  ORDER BY t.item ->> 'name' ~ '[^a-zA-Z0-9_-]', t.nth
    LOOP
        bytes := bytes + coalesce(octet_length(listed.definition), 0);
        IF listed.hash IS NULL OR listed.name = ANY (names) OR bytes > 2097152
           OR mcp_free_name(s, listed.name) IS NULL THEN
            left_out := left_out || jsonb_build_object('name', left(listed.name, 256),
                'reason', CASE WHEN listed.hash IS NULL THEN 'Its definition cannot be read, or is over 64 KiB.'
                    WHEN listed.name = ANY (names) THEN 'The name is there twice.'
                    WHEN bytes > 2097152 THEN 'The definitions are over 2 MiB together.'
                    ELSE 'Other tools of the server have its name for models.' END);
            CONTINUE;
        END IF;
        names := names || listed.name;
        SELECT * INTO old_tool FROM mcp_tools t WHERE t.server_id = s.id AND t.name = listed.name;
        stored := mcp_tool_store(s, listed.name, listed.definition, listed.hash);
        IF s.is_pinned AND (stored.state, stored.hash) IS DISTINCT FROM (old_tool.state, old_tool.hash) THEN
            changes := changes || jsonb_build_object('tool', stored.tool_name, 'state', stored.state,
                                                     'hash', stored.hash);
        END IF;
    END LOOP;
    changes := changes || mcp_tools_gone(s, names);
    IF jsonb_array_length(changes) > 0 THEN
        PERFORM audit('mcp_servers.definition_changed', 'mcp_server', s.id::text, s.org_id, NULL,
                      jsonb_build_object('key', s.key, 'tools', changes), actor => NULL);
    END IF;
    RETURN left_out;
END
$$;

-- Name of the tool for models and personas: the earlier one, else the first of its names that no other tool of the
-- server has; null: they all have one.
CREATE OR REPLACE FUNCTION mcp_free_name(s mcp_servers, listed_name text) RETURNS text
LANGUAGE sql STABLE SET search_path = public, pg_catalog AS $$
    SELECT coalesce(
        (SELECT t.tool_name FROM mcp_tools t WHERE t.server_id = s.id AND t.name = listed_name),
        (SELECT n.name FROM (VALUES (1, mcp_tool_name(s.key, listed_name)),
                                    (2, mcp_tool_name(s.key, listed_name, true))) AS n (nth, name)
         WHERE NOT EXISTS (SELECT FROM mcp_tools o WHERE o.server_id = s.id AND o.tool_name = n.name)
         ORDER BY n.nth LIMIT 1))
$$;

-- One tool of a listing.
CREATE OR REPLACE FUNCTION mcp_tool_store(s mcp_servers, listed_name text, listed_definition text, listed_hash text)
RETURNS mcp_tools
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    t mcp_tools;
BEGIN
    INSERT INTO mcp_tools AS q (server_id, org_id, name, tool_name, definition, hash, state)
    VALUES (s.id, s.org_id, listed_name, mcp_free_name(s, listed_name), listed_definition, listed_hash, 'new')
    ON CONFLICT (server_id, name) DO UPDATE
        SET definition = listed_definition, hash = listed_hash, listed_at = clock_timestamp()
    RETURNING q.* INTO STRICT t;
    IF NOT s.is_pinned THEN
        PERFORM mcp_approval_add(s, t, NULL);
    END IF;
    UPDATE mcp_tools q SET state = CASE
        WHEN EXISTS (SELECT FROM mcp_approvals a WHERE a.tool_id = t.id AND a.hash = listed_hash) THEN 'approved'
        WHEN EXISTS (SELECT FROM mcp_approvals a WHERE a.tool_id = t.id) THEN 'changed' ELSE 'new' END
    WHERE q.id = t.id
    RETURNING q.* INTO STRICT t;
    RETURN t;
END
$$;

-- Tools that a listing lacks are gone. The 128 newest of them are kept with their approval. A tool that comes back
-- unchanged is offered again. Answers which went now.
CREATE OR REPLACE FUNCTION mcp_tools_gone(s mcp_servers, names text[]) RETURNS jsonb
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    went jsonb;
BEGIN
    WITH ended AS (
        UPDATE mcp_tools t SET state = 'gone'
        WHERE t.server_id = s.id AND t.state <> 'gone' AND t.name <> ALL (names)
        RETURNING t.tool_name, t.name)
    SELECT coalesce(jsonb_agg(jsonb_build_object('tool', e.tool_name, 'state', 'gone') ORDER BY e.tool_name)
                    FILTER (WHERE mcp_is_allowed(s, e.name)), '[]') INTO went FROM ended e;
    DELETE FROM mcp_tools t
    WHERE t.id IN (SELECT q.id FROM mcp_tools q WHERE q.server_id = s.id AND q.state = 'gone'
                   ORDER BY q.listed_at DESC, q.id DESC OFFSET 128);
    RETURN went;
END
$$;

REVOKE EXECUTE ON FUNCTION mcp_listing_claim, mcp_listing_store FROM hostler_api;
REVOKE EXECUTE ON FUNCTION mcp_listing_fail, mcp_listed_hash, mcp_tools_store, mcp_tool_store, mcp_tools_gone,
    mcp_free_name
    FROM hostler_api, hostler_runner;
