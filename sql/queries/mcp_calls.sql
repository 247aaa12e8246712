-- Calls of remote tools by the daemon. As hostler_runner.

-- name: mcp_call_begin
-- Whether a call may be sent, and with what.
-- $1 run_id uuid, $2 epoch bigint, $3 turn integer, $4 tool_call_id text, $5 tool_name text, $6 server_id uuid,
-- $7 tool text, $8 hash text, $9 is_idempotent boolean, $10 tries_known integer, $11 tries_max integer, $12 try_id uuid
SELECT state, tries, early, remote_state, authorizations, url, server_key, is_org_scope, protocol_version, discovery,
    definition, org_id, creator_id, is_by_key
FROM mcp_call_begin($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);

-- name: mcp_call_keep
-- Keeps the state that the next owner of the call needs.
-- $1 run_id uuid, $2 epoch bigint, $3 tool_call_id text, $4 remote_state json or null, $5 more_authorizations integer
SELECT mcp_call_keep($1, $2, $3, $4, $5) AS is_kept;

-- name: mcp_call_end
-- The result of a call that nobody may repeat.
-- $1 run_id uuid, $2 epoch bigint, $3 tool_call_id text, $4 result json
SELECT mcp_call_end($1, $2, $3, $4) AS is_kept;
