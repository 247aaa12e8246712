-- What the daemon asks of webhook tools: which a run is offered, and each call of them. As hostler_runner.

-- name: run_offer_tools
-- $1 run_id uuid, $2 epoch bigint, $3 names text[], $4 taken text[]
SELECT offered, added FROM run_offer_tools($1, $2, $3, $4);

-- name: webhook_call_begin
-- Whether a webhook tool's call may be sent, and all that it is made of.
-- $1 run_id uuid, $2 epoch bigint, $3 turn integer, $4 tool_call_id text, $5 tool_id uuid, $6 tries_known integer,
-- $7 tries_max integer
SELECT state, tries, early, url, timeout_seconds, is_repeatable, is_org_scope, asked_at, now_seconds, thread_id,
    end_user, metadata, secrets
FROM webhook_call_begin($1, $2, $3, $4, $5, $6, $7);

-- name: webhook_call_end
-- It was answered; what came by token before counts instead.
-- $1 run_id uuid, $2 epoch bigint, $3 tool_call_id text, $4 is_accepted boolean
SELECT webhook_call_end($1, $2, $3, $4) AS early;
