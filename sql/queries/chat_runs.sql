-- Runs that are given their history whole: how the API makes them, and what the daemon reads of them.

-- name: chat_run_create
-- $1 persona_id text or null, $2 route_id uuid or null, $3 history json, $4 sampling json or null,
-- $5 end_user text or null, $6 metadata json, $7 keeps boolean, $8 limit_concurrent_runs bigint,
-- $9 limit_concurrent_runs_per_user bigint, $10 limit_stored_bytes bigint, $11 credit_run_hold bigint,
-- $12 response_format json or null, $13 tools json or null, $14 answered_calls text[], $15 missing_calls text[]
SELECT item FROM chat_run_create($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15);

-- name: run_given_history
-- What a run was given in place of its thread's messages.
-- $1 run_id uuid
SELECT g.messages FROM run_given_messages($1) AS g (messages) WHERE g.messages IS NOT NULL;

-- name: run_streamed_text
-- What subscribers were shown as the answer so far.
-- $1 run_id uuid
SELECT run_streamed_text($1);
