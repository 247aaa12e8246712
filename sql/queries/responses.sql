-- Runs in the form of OpenAI's responses, as the API sees them.

-- name: response_create
-- $1 persona_id text or null, $2 route_id uuid or null, $3 items json, $4 words text[] (of each item),
-- $5 previous_run_id uuid or null, $6 thread_id uuid or null, $7 sampling json or null, $8 end_user text or null,
-- $9 metadata json, $10 keeps boolean, $11 limit_concurrent_runs bigint, $12 limit_concurrent_runs_per_user bigint,
-- $13 limit_stored_bytes bigint, $14 credit_run_hold bigint, $15 response_format json or null, $16 tools json or null,
-- $17 answered_calls text[], $18 missing_calls text[], $19 client_facts json, $20 opens_stream boolean
SELECT item, facts
FROM response_create($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20);

-- name: response_show
-- Who may read it, and what of it has no events. Its metadata may be other than when it was made.
-- $1 run_id uuid
SELECT r.ended_at IS NOT NULL AS is_ended, r.started_at IS NOT NULL AS has_begun,
    (coalesce(r.client_facts, '{}')::jsonb || jsonb_build_object('metadata', r.metadata))::json AS facts
FROM response_of_reader($1) AS r;

-- name: response_cancel
-- $1 run_id uuid
SELECT response_cancel($1);

-- name: response_delete
-- $1 run_id uuid
SELECT response_delete($1) AS stopped;

-- name: response_items
-- $1 run_id uuid
SELECT response_items($1) AS messages;
