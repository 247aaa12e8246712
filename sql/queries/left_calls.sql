-- Calls of function tools with which runs end, and what later runs get back of these. As hostler_runner.

-- name: run_leave_calls
-- The calls with which a run ends in this transaction, for its creator's next request to answer; before its end.
-- $1 daemon_id uuid, $2 run_id uuid, $3 epoch bigint, $4 tool_call_ids text[]
INSERT INTO run_left_calls (run_id, tool_call_id, org_id, created_by_user_id)
SELECT r.id, c.id, r.org_id, r.created_by_user_id FROM runs r CROSS JOIN unnest($4::text[]) AS c (id)
WHERE r.id = $2 AND r.owner_id = $1 AND r.epoch = $3;

-- name: run_put_back
-- The turns of earlier runs that stand in what a run was given in place of what its client knows of them.
-- $1 run_id uuid, $2 bytes_max bigint
SELECT run_id, parts, results FROM run_put_back($1, $2);

-- name: thread_turns
-- The stored turns of earlier runs of a thread, of the newest ones as many as have bytes_max together.
-- $1 org_id uuid, $2 run_ids uuid[] (newest first), $3 bytes_max bigint, $4 result_bytes_max bigint
SELECT run_id, is_answer, parts, results FROM thread_turns($1, $2, $3, $4);
