-- A user takes their data with them, an owner those of an organization: NDJSON, made page by page by maintenance, kept
-- in pieces for 24 hours after the last one. The pool compresses each piece when it is read.

CREATE TABLE exports (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,  -- of a person's: their personal organization
    user_id uuid NOT NULL REFERENCES users,  -- who asked, and alone may read it
    is_of_org boolean NOT NULL,
    client_ip inet,  -- of who asked: organizations whose IP rules do not admit it are left out
    state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'ready', 'failed')),
    error text,
    due_at timestamptz NOT NULL DEFAULT clock_timestamp(),  -- of its next page
    -- Where it goes on.
    part text NOT NULL DEFAULT 'begin',
    org_at uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    thread_at uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    row_at uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    number_at bigint NOT NULL DEFAULT 0,
    pieces integer NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz  -- null while it runs
);
CREATE UNIQUE INDEX exports_running ON exports (org_id, is_of_org) WHERE state = 'running';
CREATE INDEX exports_due ON exports (due_at) WHERE state = 'running';
CREATE INDEX exports_expiry ON exports (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX exports_failed ON exports (id) WHERE state = 'failed' AND pieces > 0;
CREATE INDEX exports_user ON exports (user_id);
CREATE INDEX exports_org ON exports (org_id);
SELECT make_tenant_table('exports');

CREATE TABLE export_pieces (
    export_id uuid NOT NULL REFERENCES exports ON DELETE CASCADE,
    nth integer NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (export_id, nth)
);

CREATE OR REPLACE FUNCTION export_json(x exports) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', x.id, 'org_id', CASE WHEN x.is_of_org THEN x.org_id END, 'state', x.state,
        'bytes', x.bytes, 'error', x.error, 'created_at', rfc3339(x.created_at), 'expires_at', rfc3339(x.expires_at))
$$;

-- POST /v1/me/export and POST /v1/orgs/{org_id}/export. The caller's login is fresh. of_org: the acting organization,
-- whose owner the caller is. Its owners are notified.
CREATE OR REPLACE FUNCTION export_create(of_org boolean) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org CONSTANT uuid := CASE WHEN of_org THEN current_org()
                         ELSE (SELECT u.personal_org_id FROM users u WHERE u.id = current_user_id()) END;
    created exports;
BEGIN
    INSERT INTO exports (org_id, user_id, is_of_org, client_ip)
    VALUES (org, current_user_id(), of_org, (current_request() ->> 'client_ip')::inet)
    ON CONFLICT (org_id, is_of_org) WHERE state = 'running' DO NOTHING
    RETURNING * INTO created;
    IF created.id IS NULL THEN
        PERFORM fail('exports.running');
    END IF;
    -- One is kept: the ones before are over.
    UPDATE exports x SET expires_at = clock_timestamp()
    WHERE x.org_id = org AND x.is_of_org = of_org AND x.user_id = current_user_id() AND x.id <> created.id
          AND x.expires_at > clock_timestamp();
    IF of_org THEN
        PERFORM audit('orgs.export', 'org', org::text, org, NULL, jsonb_build_object('export_id', created.id));
    ELSE
        PERFORM audit('users.export', 'user', current_user_id()::text, org, NULL,
                      jsonb_build_object('export_id', created.id));
    END IF;
    RETURN export_json(created);
END
$$;

-- Exports that the organization has, or those of the organization only, are over: one row each, and each user has one.
-- exports_prune() removes them with their pieces.
CREATE OR REPLACE FUNCTION exports_end(org uuid, only_of_org boolean) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    UPDATE exports x SET state = CASE x.state WHEN 'running' THEN 'failed' ELSE x.state END,
        expires_at = clock_timestamp(), client_ip = NULL
    WHERE x.org_id = org AND (x.is_of_org OR NOT only_of_org) AND coalesce(x.expires_at > clock_timestamp(), true)
$$;

-- Whether its maker may read it still: of an organization as one of its owners.
CREATE OR REPLACE FUNCTION export_is_right(x exports) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (SELECT FROM users u WHERE u.id = x.user_id AND u.status = 'active')
        AND (NOT x.is_of_org OR EXISTS (
            SELECT FROM org_members m JOIN orgs o ON o.id = m.org_id AND o.closed_at IS NULL
            WHERE m.org_id = x.org_id AND m.user_id = x.user_id AND m.role = 'owner'))
$$;

-- The caller's export, or its 404. One of an organization is shown where that organization's IP rules let the caller
-- in.
CREATE OR REPLACE FUNCTION export_of_caller(export uuid) RETURNS exports
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    x exports;
BEGIN
    SELECT * INTO x FROM exports q WHERE q.id = export AND q.user_id = current_user_id();
    IF x.id IS NULL OR NOT export_is_right(x) OR x.expires_at <= clock_timestamp() THEN
        PERFORM fail('exports.not_found');
    ELSIF x.is_of_org AND NOT ip_admits(x.org_id, (current_request() ->> 'client_ip')::inet) THEN
        PERFORM fail('ip.blocked', 'ip_rules_deny');
    END IF;
    RETURN x;
END
$$;

-- GET /v1/exports/{export_id}
CREATE OR REPLACE FUNCTION export_show(export uuid) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT export_json(export_of_caller(export))
$$;

-- GET /v1/exports/{export_id}/content: how many pieces there are, and the first.
CREATE OR REPLACE FUNCTION export_content(export uuid) RETURNS TABLE (pieces integer, content text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    x exports := export_of_caller(export);
BEGIN
    IF x.state = 'failed' THEN
        PERFORM fail('exports.not_ready', 'failed');
    ELSIF x.state <> 'ready' THEN
        PERFORM fail('exports.not_ready', 'still_running');
    END IF;
    RETURN QUERY SELECT x.pieces, coalesce((SELECT p.content FROM export_pieces p
                                            WHERE p.export_id = x.id AND p.nth = 1), '');
END
$$;

-- A further piece of an answer that has begun; no row when the right to it has ended meanwhile.
CREATE OR REPLACE FUNCTION export_piece(export uuid, of_user uuid, wanted_nth integer) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT p.content FROM exports x JOIN export_pieces p ON p.export_id = x.id AND p.nth = wanted_nth
    WHERE x.id = export AND x.user_id = of_user AND x.state = 'ready' AND export_is_right(x)
$$;

-- Maintenance: removes pieces of an export that is over or failed, at most so many, and with the last ones an export
-- that is over. Answers at_most when there was one.
CREATE OR REPLACE FUNCTION exports_prune(at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    over exports;
    removed bigint;
BEGIN
    SELECT * INTO over FROM exports x WHERE x.expires_at <= statement_timestamp() ORDER BY x.expires_at LIMIT 1
    FOR UPDATE SKIP LOCKED;
    IF over.id IS NULL THEN
        SELECT * INTO over FROM exports x WHERE x.state = 'failed' AND x.pieces > 0 ORDER BY x.id LIMIT 1
        FOR UPDATE SKIP LOCKED;
    END IF;
    IF over.id IS NULL THEN
        RETURN 0;
    END IF;
    DELETE FROM export_pieces p WHERE p.export_id = over.id AND p.nth IN (
        SELECT q.nth FROM export_pieces q WHERE q.export_id = over.id ORDER BY q.nth LIMIT at_most);
    GET DIAGNOSTICS removed = ROW_COUNT;
    IF removed < at_most AND over.expires_at <= statement_timestamp() THEN
        DELETE FROM exports x WHERE x.id = over.id;
    ELSIF removed < at_most THEN
        UPDATE exports x SET pieces = 0 WHERE x.id = over.id;
    END IF;
    RETURN at_most;
END
$$;
REVOKE EXECUTE ON FUNCTION exports_end, export_is_right, export_of_caller FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION export_create, export_show, export_content, export_piece FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION exports_prune FROM hostler_api;
