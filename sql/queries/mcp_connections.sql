-- OAuth of MCP servers: what the API and the daemon do about connections. sql/schema/mcp_connections.sql,
-- mcp_authorizations.sql.

-- name: mcp_authorization_begin
-- $1 server_id uuid, $2 state_hash bytea, $3 verifier jsonb, $4 cookie_hash bytea or null
SELECT authorization_endpoint, client_id, redirect_uri, resource, scopes, origin, authorization_server
FROM mcp_authorization_begin($1, $2, $3, $4);

-- name: mcp_consent
-- What a person reads before they authorize.
-- $1 server_id uuid, $2 run_id uuid
SELECT origin, authorization_server, scopes FROM mcp_consent($1, $2);

-- name: mcp_authorization_return
-- $1 state_hash bytea, $2 cookie_hash bytea or null, $3 refresh_hashes bytea (of 32 bytes each),
-- $4 auth_refresh_race_seconds bigint, $5 issuer text or null, $6 code text or null, $7 error text or null
SELECT server_id, outcome FROM mcp_authorization_return($1, $2, $3, $4, $5, $6, $7);

-- name: mcp_disconnect
-- $1 server_id uuid
SELECT mcp_disconnect($1);

-- name: mcp_work_notify
-- Tells the daemons that there is something to do for MCP servers; one that is lost is made good by their polls.
SELECT set_config('synchronous_commit', 'off', true), pg_notify('hostler_mcp', '');

-- name: mcp_credential
-- Nothing: the server may not be spoken to at this address.
-- $1 server_id uuid, $2 org_id uuid or null, $3 user_id uuid or null, $4 is_listing boolean, $5 url text,
-- $6 connection_id uuid or null (whose call is to be cancelled)
SELECT kind, settings, secret, url, connection_id, state, tokens, token_number, expires_in, has_refresh_token,
    is_of_user, server_org_id, https_only
FROM mcp_credential($1, $2, $3, $4, $5, $6);

-- name: mcp_discovery_store
-- $1 server_id uuid, $2 found jsonb, $3 secret jsonb or null
SELECT mcp_discovery_store($1, $2, $3) AS is_stored;

-- name: mcp_client_known
-- $1 server_id uuid, $2 issuer text, $3 redirect_uri text
SELECT k.client_id, k.client_method, k.client_kind, mcp_given_issuer($1) AS given_issuer
FROM (SELECT) AS one LEFT JOIN mcp_client_known($1, $2, $3) AS k ON true;

-- name: mcp_token_refused
-- $1 connection_id uuid, $2 token_number bigint, $3 status integer, $4 scopes text[]
SELECT mcp_token_refused($1, $2, $3, $4) AS verdict;

-- name: mcp_connections_due
-- $1 at_most integer, $2 full_orgs uuid[] (and users, as all claims for lib/loop/shares.h)
SELECT connection_id, token_number, is_ending, org_id, user_id FROM mcp_connections_due($1, $2);

-- name: mcp_connection_claim
-- $1 connection_id uuid, $2 token_number bigint, $3 claim_id uuid, $4 to_revoke boolean
SELECT state, token_endpoint, revocation_endpoint, resource, client_id, client_method, client_secret,
    tokens, org_id, https_only, is_org_scope
FROM mcp_connection_claim($1, $2, $3, $4);

-- name: mcp_refresh_end
-- $1 connection_id uuid, $2 claim_id uuid, $3 tokens jsonb or null, $4 lifetime bigint or null,
-- $5 has_refresh_token boolean, $6 is_final boolean, $7 why text or null
SELECT mcp_refresh_end($1, $2, $3, $4, $5, $6, $7);

-- name: mcp_revocation_end
-- $1 connection_id uuid, $2 claim_id uuid, $3 is_done boolean
SELECT mcp_revocation_end($1, $2, $3);

-- name: mcp_exchange_claim
-- An authorization whose code is to be exchanged.
-- $1 full_orgs uuid[]
SELECT authorization_id, server_id, org_id, token_endpoint, resource, redirect_uri, client_id, client_method,
    client_secret, code, verifier, https_only, is_org_scope, user_id
FROM mcp_exchange_claim($1);

-- name: mcp_exchange_end
-- $1 authorization_id uuid, $2 tokens jsonb or null, $3 lifetime bigint or null, $4 has_refresh_token boolean,
-- $5 why text or null, $6 is_final boolean
SELECT mcp_exchange_end($1, $2, $3, $4, $5, $6) AS is_connected;
