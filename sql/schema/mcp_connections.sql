-- OAuth of MCP servers: what a daemon found out of a server's authorization server, and the connections of users and
-- organizations with it. How a connection comes about: mcp_authorizations.sql; how tokens are refreshed and revoked:
-- mcp_upkeep.sql. Reached through these functions only.
--
-- The tokens of a connection are a secret of their own. New ones get the next token_number, so that a 401 to old tokens
-- ends nothing new.

CREATE TABLE mcp_discoveries (
    server_id uuid PRIMARY KEY REFERENCES mcp_servers,
    org_id uuid REFERENCES orgs,  -- the server's
    url text NOT NULL,  -- of the server then
    resource text NOT NULL,
    issuer text NOT NULL,
    authorization_endpoint text NOT NULL,
    token_endpoint text NOT NULL,
    revocation_endpoint text,
    tells_issuer boolean NOT NULL,  -- in its answers (RFC 9207)
    scopes text[] NOT NULL,  -- to ask for at first
    redirect_uri text NOT NULL,
    client_id text NOT NULL,
    client_method text NOT NULL CHECK (client_method IN ('none', 'client_secret_basic', 'client_secret_post')),
    -- given: with the server; document: the URL of ours; registered: by the authorization server, for us
    client_kind text NOT NULL CHECK (client_kind IN ('given', 'document', 'registered')),
    secret_id uuid REFERENCES secrets,  -- of a registered client
    found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    FOREIGN KEY (org_id, server_id) REFERENCES mcp_servers (org_id, id),
    FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id)
);
CREATE INDEX mcp_discoveries_secret ON mcp_discoveries (secret_id) WHERE secret_id IS NOT NULL;
SELECT make_scoped_table('mcp_discoveries');

-- Whose a connection is, never null: no index serves IS NOT DISTINCT FROM. of_user: null for the organization.
CREATE OR REPLACE FUNCTION mcp_owner_id(of_user uuid) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(of_user, '00000000-0000-0000-0000-000000000000')
$$;

CREATE TABLE mcp_connections (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    server_id uuid NOT NULL REFERENCES mcp_servers,
    user_id uuid REFERENCES users,  -- null: the organization's
    owner_id uuid NOT NULL GENERATED ALWAYS AS (mcp_owner_id(user_id)) STORED,
    state text NOT NULL CHECK (state IN ('connected', 'expired', 'ending')),  -- ending: to be revoked, and gone
    issuer text NOT NULL,
    token_endpoint text NOT NULL,
    revocation_endpoint text,
    resource text NOT NULL,
    client_id text NOT NULL,
    client_method text NOT NULL,
    scopes text[] NOT NULL,  -- asked for when it came about
    wanted_scopes text[],  -- that the server wants besides; null: none
    secret_id uuid,
    token_number bigint NOT NULL DEFAULT 1,
    has_refresh_token boolean NOT NULL,
    expires_at timestamptz,
    refresh_at timestamptz,  -- by a daemon, unasked; also when an ending one is to be revoked
    claimed_until timestamptz,  -- a daemon refreshes or revokes until then
    claim_id uuid,
    tries integer NOT NULL DEFAULT 0,
    fault text,  -- why the tokens are not refreshed, while that is tried again; null: nothing is wrong
    failing_since timestamptz,
    ending_since timestamptz,
    connected_by uuid NOT NULL REFERENCES users,
    connected_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (org_id, id),
    FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id)
);
CREATE UNIQUE INDEX mcp_connections_owner ON mcp_connections (server_id, org_id, owner_id)
    WHERE state <> 'ending';
-- For the sweep of those that another client has (ending_page_mcp_clients).
CREATE INDEX mcp_connections_connected ON mcp_connections (server_id, id) WHERE state = 'connected';
CREATE INDEX mcp_connections_user ON mcp_connections (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX mcp_connections_secret ON mcp_connections (secret_id) WHERE secret_id IS NOT NULL;
CREATE INDEX mcp_connections_refresh ON mcp_connections (refresh_at) WHERE refresh_at IS NOT NULL;
CREATE INDEX mcp_connections_claim ON mcp_connections (claim_id) WHERE claim_id IS NOT NULL;
CREATE INDEX mcp_connections_failing ON mcp_connections (failing_since) WHERE failing_since IS NOT NULL;
SELECT make_tenant_table('mcp_connections');

-- {id, org_id, key_version, wrapped_key, sealed}, bytes in hex; null: none.
CREATE OR REPLACE FUNCTION mcp_sealed(secret uuid) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT json_build_object('id', s.id, 'org_id', s.org_id, 'kind', s.kind, 'key_version', s.key_version,
                             'wrapped_key', encode(s.wrapped_key, 'hex'), 'sealed', encode(s.sealed, 'hex'))
    FROM secrets s WHERE s.id = secret
$$;

-- A secret that a program sealed; null: none.
CREATE OR REPLACE FUNCTION mcp_sealed_insert(of_org uuid, of_kind text, secret jsonb) RETURNS uuid
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT secret_insert(of_org, of_kind, secret) WHERE jsonb_typeof(secret) = 'object'
$$;

-- The scopes of both, each once, in their order.
CREATE OR REPLACE FUNCTION mcp_scopes_union(a text[], b text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(scope ORDER BY nth), '{}')
    FROM (SELECT s.scope, min(s.nth) AS nth
          FROM unnest(coalesce(a, '{}') || coalesce(b, '{}')) WITH ORDINALITY AS s (scope, nth)
          GROUP BY s.scope) AS each_once
$$;

-- Whose connection a call of the server shows: the user's or the organization's.
CREATE OR REPLACE FUNCTION mcp_connection_user(s mcp_servers, who uuid) RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN coalesce(s.authorization_settings #>> '{per}', 'user') = 'user' THEN who END
$$;

-- Whether all that concerns the server goes by https: an organization's, but where the operator lets it name one of
-- their own by http.
CREATE OR REPLACE FUNCTION mcp_https_only(s mcp_servers) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT s.org_id IS NOT NULL AND s.url LIKE 'https:%'
$$;

-- Whether the connection is over, though the sweep has not ended it yet: its server is gone or called in another way
-- since then, or its user is no member of the organization any more, or one again.
CREATE OR REPLACE FUNCTION mcp_connection_is_over(c mcp_connections) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT NOT EXISTS (
            SELECT FROM mcp_servers s
            WHERE s.id = c.server_id AND s.deleted_at IS NULL AND s.authorized_since <= c.connected_at)
        OR (c.user_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM org_members m
            WHERE m.org_id = c.org_id AND m.user_id = c.user_id AND m.created_at <= c.connected_at))
$$;

-- Whether the connection's tokens are not to be used or refreshed for now: it is over, another client has it, or its
-- owner, themselves or by their personal organization, is not active. A workspace's connection is its own, independent
-- of its maker.
CREATE OR REPLACE FUNCTION mcp_connection_rests(c mcp_connections) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT mcp_connection_is_over(c) OR EXISTS (
        SELECT FROM users u
        WHERE u.id = c.connected_by AND u.status <> 'active'
              AND (c.user_id IS NOT NULL OR u.personal_org_id = c.org_id)
        UNION ALL SELECT FROM orgs o WHERE o.id = c.org_id AND o.closed_at IS NOT NULL
        UNION ALL SELECT FROM mcp_discoveries d
        WHERE d.server_id = c.server_id AND (d.issuer <> c.issuer OR d.client_id <> c.client_id))
$$;

-- Whether a listing may use the connection. Everybody who may use the server is offered the result, so the connection
-- belongs to somebody who may manage the server: for the platform's an administrator, else the organization or a member
-- with the permission.
CREATE OR REPLACE FUNCTION mcp_may_list_with(s mcp_servers, c mcp_connections) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN s.org_id IS NULL THEN EXISTS (
            SELECT FROM users u WHERE u.id = c.connected_by AND u.platform_admin AND u.status = 'active')
        WHEN c.user_id IS NULL THEN true
        ELSE EXISTS (
            SELECT FROM org_members m
            WHERE m.org_id = s.org_id AND m.user_id = c.user_id
                  AND 'data.personas.manage' = ANY (role_permissions(m.role))) END
$$;

-- Credentials for a call of a server: its settings, and for OAuth the connection: the user's or organization's, for a
-- listing the newest of those who may manage the server. state: unasked while nobody is connected and no answer of the
-- server said how. No row: the server may not be contacted at this address (mcp_may_speak). So address and secret come
-- from one read: a caller that asked for an address gets nothing that another one is shown.
-- last_of: a connection whose call is to be cancelled at the server: its tokens, also while it ends or rests.
CREATE OR REPLACE FUNCTION mcp_credential(server uuid, org uuid, who uuid, is_listing boolean, address text,
    last_of uuid)
RETURNS TABLE (kind text, settings json, secret json, url text, connection_id uuid, state text, tokens json,
    token_number bigint, expires_in bigint, has_refresh_token boolean, is_of_user boolean, server_org_id uuid,
    https_only boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    s mcp_servers;
    c mcp_connections;
BEGIN
    SELECT * INTO s FROM mcp_servers q WHERE q.id = server AND mcp_may_speak(q, address, org);
    IF s.id IS NULL THEN
        RETURN;
    END IF;
    IF last_of IS NOT NULL THEN
        SELECT * INTO c FROM mcp_connections q
        WHERE q.id = last_of AND q.server_id = s.id AND q.org_id = org AND q.secret_id IS NOT NULL;
        c.has_refresh_token := c.has_refresh_token AND c.state = 'connected';
        c.state := CASE WHEN c.id IS NOT NULL THEN 'connected' END;
    ELSIF s.authorization_kind = 'oauth' AND is_listing THEN
        SELECT * INTO c FROM mcp_connections q
        WHERE q.server_id = s.id AND q.state = 'connected' AND mcp_may_list_with(s, q) AND NOT mcp_connection_rests(q)
        ORDER BY q.connected_at DESC LIMIT 1;
    ELSIF s.authorization_kind = 'oauth' THEN
        SELECT * INTO c FROM mcp_connections q
        WHERE q.server_id = s.id AND q.org_id = org AND q.state <> 'ending'
              AND q.owner_id = mcp_owner_id(mcp_connection_user(s, who)) AND NOT mcp_connection_rests(q);
    END IF;
    kind := s.authorization_kind;
    settings := s.authorization_settings;
    secret := mcp_sealed(s.secret_id);
    url := s.url;
    connection_id := c.id;
    state := coalesce(c.state, CASE WHEN NOT EXISTS (SELECT FROM mcp_discoveries d WHERE d.server_id = s.id)
                                    THEN 'unasked' END);
    tokens := mcp_sealed(c.secret_id);
    token_number := c.token_number;
    expires_in := extract(epoch FROM c.expires_at - clock_timestamp())::bigint;
    has_refresh_token := c.has_refresh_token;
    is_of_user := coalesce(s.authorization_settings #>> '{per}', 'user') = 'user';
    server_org_id := s.org_id;
    https_only := mcp_https_only(s);
    RETURN NEXT;
END
$$;

-- Stores a daemon's findings about a server, as members of mcp_discoveries; url: the server's at that time. secret: of
-- a client that the authorization server registered now. Connections with another issuer, or by another client, are
-- over, because credentials of one mean nothing to another. Their tokens are revoked at their issuer. Answers whether
-- it was stored: not if the server has changed.
CREATE OR REPLACE FUNCTION mcp_discovery_store(server uuid, facts jsonb, secret jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    s mcp_servers;
    old_one mcp_discoveries;
    new_one mcp_discoveries;
BEGIN
    SELECT * INTO s FROM mcp_servers q WHERE q.id = server AND q.deleted_at IS NULL FOR NO KEY UPDATE;
    IF s.id IS NULL OR s.url <> (facts ->> 'url') OR s.authorization_kind <> 'oauth' THEN
        RETURN false;
    END IF;
    SELECT * INTO old_one FROM mcp_discoveries d WHERE d.server_id = server FOR UPDATE;
    new_one := jsonb_populate_record(old_one, facts - 'server_id' - 'org_id' - 'secret_id' - 'found_at');
    IF old_one.issuer IS DISTINCT FROM new_one.issuer OR old_one.client_id IS DISTINCT FROM new_one.client_id
       OR secret IS NOT NULL OR new_one.client_kind <> 'registered' THEN
        new_one.secret_id := mcp_sealed_insert(s.org_id, 'mcp_client', secret);
    END IF;
    DELETE FROM mcp_discoveries d WHERE d.server_id = server;
    INSERT INTO mcp_discoveries (server_id, org_id, url, resource, issuer, authorization_endpoint, token_endpoint,
        revocation_endpoint, tells_issuer, scopes, redirect_uri, client_id, client_method, client_kind, secret_id)
    VALUES (s.id, s.org_id, new_one.url, new_one.resource, new_one.issuer, new_one.authorization_endpoint,
        new_one.token_endpoint, new_one.revocation_endpoint, new_one.tells_issuer, coalesce(new_one.scopes, '{}'),
        new_one.redirect_uri, new_one.client_id, new_one.client_method, new_one.client_kind, new_one.secret_id);
    DELETE FROM secrets q WHERE q.id = old_one.secret_id AND new_one.secret_id IS DISTINCT FROM old_one.secret_id;
    IF (old_one.issuer, old_one.client_id) IS DISTINCT FROM (new_one.issuer, new_one.client_id) THEN
        PERFORM ending_begin('mcp_clients', server);
    END IF;
    RETURN true;
END
$$;

-- The client as which Hostler is known to the server's authorization server, when it is this one and was not told with
-- the server: so that nobody registers twice.
CREATE OR REPLACE FUNCTION mcp_client_known(server uuid, of_issuer text, of_redirect text)
RETURNS TABLE (client_id text, client_method text, client_kind text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT d.client_id, d.client_method, d.client_kind FROM mcp_discoveries d
    WHERE d.server_id = server AND d.issuer = of_issuer AND d.redirect_uri = of_redirect
          AND d.client_kind = 'registered'
$$;

-- Whether the issuer is the one that a client told with the server belongs to: the first that was found.
CREATE OR REPLACE FUNCTION mcp_given_issuer(server uuid) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT d.issuer FROM mcp_discoveries d WHERE d.server_id = server AND d.client_kind = 'given'
$$;

-- The secret with which the connection's client shows who it is, sealed; null: a public client, or one that the
-- authorization server does not know any more. A server's own secret has the member client_secret.
CREATE OR REPLACE FUNCTION mcp_client_secret(of_server uuid, of_issuer text, of_client text) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT mcp_sealed(CASE d.client_kind WHEN 'given' THEN s.secret_id WHEN 'registered' THEN d.secret_id END)
    FROM mcp_discoveries d JOIN mcp_servers s ON s.id = d.server_id
    WHERE d.server_id = of_server AND d.issuer = of_issuer AND d.client_id = of_client
$$;

-- The server refused the tokens of that number, with 401 or, for want of scopes, with 403. What is to be done:
--   retry    there are newer tokens
--   connect  somebody has to authorize; what the server wants is remembered
--   refused  it wants no more than it was granted
CREATE OR REPLACE FUNCTION mcp_token_refused(connection uuid, number bigint, status integer, challenged text[])
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    c mcp_connections;
BEGIN
    SELECT * INTO c FROM mcp_connections q WHERE q.id = connection AND q.state <> 'ending' FOR UPDATE;
    IF c.id IS NULL OR (c.state = 'expired' AND c.token_number = number) THEN
        RETURN 'connect';
    ELSIF c.token_number <> number THEN
        RETURN 'retry';
    ELSIF status = 403 AND challenged <@ c.scopes THEN
        RETURN 'refused';
    END IF;
    UPDATE mcp_connections q SET wanted_scopes = mcp_scopes_union(c.scopes, challenged) WHERE q.id = c.id;
    IF status = 401 THEN
        PERFORM mcp_tokens_end(c);
        PERFORM mcp_connection_expire(c.id);
    END IF;
    RETURN 'connect';
END
$$;

-- Its tokens are not valid any more; its owner has to authorize again.
CREATE OR REPLACE FUNCTION mcp_connection_expire(connection uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_secret uuid := (SELECT q.secret_id FROM mcp_connections q WHERE q.id = connection FOR UPDATE);
BEGIN
    UPDATE mcp_connections q SET state = 'expired', secret_id = NULL, refresh_at = NULL, has_refresh_token = false,
        claim_id = NULL, claimed_until = NULL, fault = NULL, failing_since = NULL
    WHERE q.id = connection;
    DELETE FROM secrets q WHERE q.id = old_secret
        AND NOT EXISTS (SELECT FROM mcp_connections c WHERE c.secret_id = q.id);
END
$$;

REVOKE EXECUTE ON FUNCTION mcp_sealed, mcp_sealed_insert, mcp_client_secret, mcp_connection_expire,
    mcp_connection_rests, mcp_connection_is_over, mcp_may_list_with FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION mcp_credential, mcp_discovery_store, mcp_client_known, mcp_given_issuer, mcp_token_refused
    FROM hostler_api;
