-- Authentication. Every request of a caller begins with one of these, in the same batch as its statement.

-- name: authenticate
-- Identifies the caller and makes it the transaction's; raises when the caller may not pass. Answers what
-- lib/account/caller.h reads.
-- $1 token_hash bytea, $2 is_key boolean, $3 org_id uuid or null, $4 permission text or null, $5 takes_key boolean,
-- $6 context jsonb
SELECT concat_ws(' ', user_id, org_id, role, platform_admin, coalesce(session_id::text, '-'),
                 coalesce(api_key_id::text, '-'), permissions) AS caller
FROM authenticate($1, $2, $3, $4, $5, $6);

-- name: authenticate_by_token
-- The same for an access token when the context asks nothing but what writes and needs_proof say.
-- $1 token_hash bytea, $2 org_id uuid or null, $3 permission text or null, $4 writes boolean, $5 needs_proof boolean,
-- $6 context text (JSON)
SELECT authenticate_by_token($1, $2, $3, $4, $5, $6) AS caller;

-- name: set_request_context
-- The context of an anonymous request, or of the second batch of a caller's.
-- $1 org_id uuid or null, $2 user_id uuid or null, $3 context jsonb
SELECT set_request_context($1, $2, $3);

-- name: audit_denials
-- Reports attempts that were refused, some time after their answers. A batch that is sent again is reported once.
-- $1 writer_id uuid, $2 batch bigint (its number, from 1), $3 denials jsonb,
-- $4 dropped bigint (how many were given up before)
SELECT audit_denials($1, $2, $3, $4);

-- name: commit_lightly
-- The transaction of this batch does not wait for the disk.
SELECT set_config('synchronous_commit', 'off', true);

-- name: requests_granted
-- How many requests a minute an organization's entitlements grant; null: nothing is said.
-- $1 org_id uuid
SELECT entitlement_integer($1, 'limit.requests_per_minute', NULL) AS granted;

-- name: row_is_of_platform
-- Whether the platform has this tool, MCP server, provider of models or persona. Asked before anybody is known: then
-- row-level security shows nobody the rows of organizations.
-- $1 row_id uuid
SELECT EXISTS (SELECT FROM tools WHERE id = $1 AND org_id IS NULL)
       OR EXISTS (SELECT FROM mcp_servers WHERE id = $1 AND org_id IS NULL)
       OR EXISTS (SELECT FROM llm_providers WHERE id = $1 AND org_id IS NULL)
       OR EXISTS (SELECT FROM personas WHERE id = $1 AND org_id IS NULL) AS is_of_platform;
