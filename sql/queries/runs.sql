-- Runs, as the API sees them.

-- name: run_create
-- $1 thread_id uuid, $2 route_id uuid or null, $3 persona_id text or null, $4 strategy text,
-- $5 metadata json, $6 limit_concurrent_runs bigint, $7 limit_concurrent_runs_per_user bigint,
-- $8 limit_queued_runs bigint, $9 limit_stored_bytes bigint, $10 credit_run_hold bigint,
-- $11 limit_waiting_runs bigint, $12 tools json or null, $13 response_format json or null,
-- $14 budget json or null (the run's own)
SELECT item, stopped
FROM run_create($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, budget => $14);

-- name: run_begin
-- The same with the user's message that the run answers, or with the run's stream as the answer, or with both.
-- $1 thread_id uuid, $2 content text or null, $3 words text, $4 stream boolean, $5 route_id uuid or null,
-- $6 persona_id text or null, $7 strategy text, $8 metadata json, $9 limit_concurrent_runs bigint,
-- $10 limit_concurrent_runs_per_user bigint, $11 limit_queued_runs bigint, $12 limit_stored_bytes bigint,
-- $13 credit_run_hold bigint, $14 limit_waiting_runs bigint, $15 tools json or null, $16 response_format json or null,
-- $17 budget json or null (the run's own), $18 parts json or null
SELECT item, stopped
FROM run_create($1, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, NULL, $2, $3, $4, $17, $18);

-- name: thread_begin
-- A new thread, its first message and the run that answers it.
-- $1 title text or null, $2 title_words text, $3 is_private boolean, $4 end_user text or null,
-- $5 thread_metadata json, $6 content text, $7 words text, $8 stream boolean, $9 route_id uuid or null,
-- $10 persona_id text or null, $11 metadata json, $12 limit_concurrent_runs bigint,
-- $13 limit_concurrent_runs_per_user bigint, $14 limit_stored_bytes bigint, $15 credit_run_hold bigint,
-- $16 limit_waiting_runs bigint, $17 tools json or null, $18 response_format json or null,
-- $19 budget json or null (the run's own), $20 parts json or null
SELECT thread_begin($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) AS item;

-- name: run_begin_guard
-- Raises what keeps the caller from a call that begins a run, when its body has a fault.
-- $1 thread_id uuid or null, $2 writes boolean, $3 stream boolean
SELECT FROM run_begin_guard($1, $2, $3);

-- name: run_retry
-- $1 thread_id uuid, $2 limit_concurrent_runs bigint, $3 limit_concurrent_runs_per_user bigint,
-- $4 limit_queued_runs bigint, $5 limit_stored_bytes bigint, $6 credit_run_hold bigint, $7 limit_waiting_runs bigint
SELECT run_retry($1, $2, $3, $4, $5, $6, $7) AS item;

-- name: run_notify
-- Tells one daemon to look for new runs: one that had room when it was heard of last, else any; all of them when none
-- was heard of. Behind the durable transaction and not in it: a NOTIFY holds a lock of the whole database until its
-- commit is on disk.
SELECT set_config('synchronous_commit', 'off', true), pg_notify(coalesce((
    SELECT daemon_channel(d.id) FROM daemons d
    WHERE d.stopped_at IS NULL AND d.heartbeat_at > clock_timestamp() - interval '10 seconds'
    ORDER BY d.room > 0 DESC, random() LIMIT 1), 'hostler_runs'), '');

-- name: run_control_notify
-- Tells the daemons that something was asked of these runs, or that they ended: of a run that one owns that one alone.
-- $1 run_ids uuid[]
SELECT set_config('synchronous_commit', 'off', true), pg_notify(run_control_channel(run_id), run_id::text)
FROM unnest($1::uuid[]) AS run_id;

-- name: run_show
-- The run of the organization, when the caller may read it; without a row run_show_any is asked.
-- $1 run_id uuid
SELECT item.* FROM runs r CROSS JOIN LATERAL run_item(r) AS item
WHERE r.id = $1 AND r.org_id = current_org()
      AND may_read_run(r.created_by_user_id, (SELECT t.is_private FROM threads t WHERE t.id = r.thread_id),
                       current_user_id(), has_permission('org.runs.read_all'));

-- name: run_show_any
-- Any organization's for platform administrators; raises why others may not read it.
-- $1 run_id uuid
SELECT item.* FROM run_of_reader($1) AS r CROSS JOIN LATERAL run_item(r) AS item;

-- name: run_read_guard
-- Raises why the caller may not read it.
-- $1 run_id uuid
SELECT FROM run_of_reader($1);

-- name: run_turn_page
-- A page of what the run's turns took.
-- $1 run_id uuid, $2 limit integer, $3 before uuid or null
SELECT item.* FROM run_turn_page($1, $2::integer + 1, $3) AS item;

-- name: run_admin_show
-- Any organization's.
-- $1 run_id uuid
SELECT run_admin_json(r) AS item FROM run_of_reader($1) AS r;

-- name: run_page
-- A page of the organization's runs.
-- $1 status text or null, $2 limit integer, $3 before uuid or null
SELECT item.* FROM run_page($2::integer + 1, $3, $1) AS item;

-- name: run_marked_page
-- The same of those that an app marked so: by their end user, by a member of their metadata, or by both.
-- $1 status text or null, $2 end_user text or null, $3 metadata_name text or null, $4 metadata_value text or null,
-- $5 limit integer, $6 before uuid or null
SELECT item.* FROM run_marked_page($5::integer + 1, $6, $1, $2, $3, $4) AS item;

-- name: thread_run_page
-- A page of a thread's runs.
-- $1 thread_id uuid, $2 limit integer, $3 before uuid or null
SELECT item.* FROM thread_run_page($1, $2::integer + 1, $3) AS item;

-- name: run_update
-- $1 run_id uuid, $2 metadata json
SELECT item.* FROM run_update($1, $2) AS r CROSS JOIN LATERAL run_item(r) AS item;

-- name: run_cancel
-- $1 run_id uuid
SELECT run_cancel($1);

-- name: run_input
-- $1 run_id uuid, $2 content text, $3 limit_input_bytes bigint, $4 decision text or null, $5 arguments json or null,
-- $6 reason text or null, $7 fault text or null, $8 json_offset bigint or null, $9 json_found text or null,
-- $10 request_id uuid or null
SELECT run_input($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: run_confirms
-- The confirmation that a run asks its creator for; parameters: the schema that edited arguments must fit.
-- $1 run_id uuid
SELECT request_id, parameters FROM run_confirms($1);

-- name: run_tool_answer
-- $1 run_id uuid, $2 results json
SELECT run_tool_answer($1, $2) AS item;

-- name: run_tool_answer_by_token
-- Answers a call with its result_token.
-- $1 run_id uuid, $2 tool_call_id text, $3 result json
SELECT run_tool_answer_by_token($1, $2, $3) AS item;

-- name: run_guard
-- Raises what keeps the caller from answering for the run.
-- $1 run_id uuid
SELECT (run_of_creator($1)).id;
