-- Calls of remote tools that go on while no daemon has their run. As hostler_runner.

-- name: mcp_task_begin
-- The call goes on at its server, or on its open stream.
-- $1 run_id uuid, $2 epoch bigint, $3 tool_call_id text, $4 server_id uuid, $5 task_id text or null, $6 url text,
-- $7 tool text, $8 hash text, $9 connection_id uuid or null, $10 is_idempotent boolean, $11 remote_state json,
-- $12 claim_id uuid or null, $13 due_ms bigint
SELECT mcp_task_begin($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) AS is_kept;

-- name: mcp_task_resume
-- A person answered, or connected.
-- $1 run_id uuid, $2 epoch bigint, $3 tool_call_id text, $4 remote_state json
SELECT mcp_task_resume($1, $2, $3, $4) AS is_kept;

-- name: mcp_task_claim
-- The one that is due longest, for so many seconds.
-- $1 claim_id uuid, $2 claim_seconds integer, $3 full_orgs uuid[]
SELECT run_id, tool_call_id, server_id, task_id, is_idempotent, failures, url, is_org_scope, remote_state, org_id,
    creator_id, is_by_key, trace_id, is_over, refusal, connection_id
FROM mcp_task_claim($1, $2, $3);

-- name: mcp_task_end
-- What came of it.
-- $1 run_id uuid, $2 tool_call_id text, $3 claim_id uuid, $4 verdict text, $5 remote_state json or null,
-- $6 result json or null, $7 due_ms bigint, $8 has_failed boolean
SELECT mcp_task_end($1, $2, $3, $4, $5, $6, $7, $8) AS goes_on;

-- name: mcp_streams_held
-- The open streams that a daemon holds.
-- $1 claim_id uuid, $2 claim_seconds integer
SELECT run_id, tool_call_id, rounds, answers, is_over, refusal FROM mcp_streams_held($1, $2);
