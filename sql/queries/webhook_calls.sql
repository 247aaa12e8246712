-- Statements of the daemon about webhook tools: the tools that a run is offered, and each call of them. As
-- hostler_runner.

-- name: run_offer_tools
-- $1 run_id uuid, $2 epoch bigint, $3 names text[], $4 taken text[]
SELECT offered, added FROM run_offer_tools($1, $2, $3, $4);

-- name: webhook_call_begin
-- Whether a webhook tool's call may be sent, and all that it is made of.
-- $1 run_id uuid, $2 epoch bigint, $3 turn integer, $4 tool_call_id text, $5 tool_name text, $6 tool_id uuid,
-- $7 tries_known integer, $8 tries_max integer, $9 try_id uuid
SELECT state, tries, early, url, timeout_seconds, is_repeatable, is_org_scope, asked_at, now_seconds, thread_id,
    end_user, metadata, secrets
FROM webhook_call_begin($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: webhook_call_end
-- It was answered; what came by token before counts instead.
-- $1 run_id uuid, $2 epoch bigint, $3 tool_call_id text, $4 is_accepted boolean,
-- $5 result json or null (its own, when nobody may repeat the call)
SELECT webhook_call_end($1, $2, $3, $4, $5) AS early;

-- name: run_early_results
-- Results that came for calls of the run and that nobody took.
-- $1 run_id uuid
SELECT a.turn, a.tool_call_id, a.tool_name, a.early,
    greatest(0, extract(epoch FROM clock_timestamp() - a.asked_at) * 1000)::bigint AS duration_ms
FROM run_early_calls($1) AS a ORDER BY a.asked_at, a.tool_call_id;
