-- The daemon's listings of MCP servers' tools. As hostler_runner.

-- name: mcp_listing_claim
-- The server that is due longest, for so many seconds.
-- $1 listing_id uuid, $2 claim_seconds integer, $3 full_orgs uuid[]
SELECT server_id, org_id, key, url, is_org_scope, authorization_kind, per, protocol_version, discovery,
    created_by
FROM mcp_listing_claim($1, $2, $3);

-- name: mcp_listing_store
-- What came of it: stored, or fenced.
-- $1 server_id uuid, $2 listing_id uuid, $3 outcome json
SELECT mcp_listing_store($1, $2, $3) AS state;
