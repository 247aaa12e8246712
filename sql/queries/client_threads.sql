-- Requests of clients that name a thread and read the answer in the same request. Each answers item {run_id} and the
-- daemons and subscribers to notify.

-- name: client_chat_begin
-- $1 client_id text, $2 end_user text or null, $3 content text, $4 words text, $5 route_id uuid or null,
-- $6 persona_id text or null, $7 metadata json, $8 tools json or null, $9 client_facts json or null,
-- $10 limit_concurrent_runs bigint, $11 limit_concurrent_runs_per_user bigint, $12 limit_queued_runs bigint,
-- $13 limit_stored_bytes bigint, $14 credit_run_hold bigint, $15 limit_waiting_runs bigint,
-- $16 message_id text or null, $17 sends_again boolean, $18 parts json or null
SELECT item, stopped
FROM client_chat_begin($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18);

-- name: client_chat_input
-- $1 client_id text, $2 request_id text, $3 content text or null, $4 decision text or null, $5 arguments json or null,
-- $6 reason text or null, $7 elicited text or null, $8 abandons boolean, $9 client_facts json or null,
-- $10 limit_input_bytes bigint
SELECT item, stopped FROM client_chat_input($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: client_chat_results
-- $1 client_id text, $2 results json, $3 client_facts json or null
SELECT item, stopped FROM client_chat_results($1, $2, $3);
