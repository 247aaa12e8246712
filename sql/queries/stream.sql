-- What the relay asks. As hostler_runner, behind access.authenticate in the same batch.

-- name: stream_open
-- The run, for whoever may read it; its thread must still be there. $1 run uuid
SELECT r.id, r.status IN ('completed', 'failed', 'cancelled') AS is_ended, run_last_seq(r) AS last_seq
FROM run_of_reader($1) AS r
WHERE EXISTS (SELECT 1 FROM threads t WHERE t.id = r.thread_id AND t.deleted_at IS NULL);

-- name: event_after
-- A page of a run's events, in order. $1 run uuid, $2 after bigint, $3 limit integer
SELECT seq, type, data, rfc3339(created_at) AS created_at FROM run_events
WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3;

-- name: event_after_many
-- The new events of several followed runs at once. $1 run_ids uuid[], $2 afters bigint[], $3 limit integer a run
SELECT e.run_id, e.seq, e.type, e.data, rfc3339(e.created_at) AS created_at
FROM unnest($1::uuid[], $2::bigint[]) AS followed(run_id, after)
CROSS JOIN LATERAL (
    SELECT run_id, seq, type, data, created_at FROM run_events
    WHERE run_events.run_id = followed.run_id AND run_events.seq > followed.after
    ORDER BY run_events.seq LIMIT $3) AS e
ORDER BY e.run_id, e.seq;

-- name: stream_recheck
-- Which of these followers may go on: their session or key is alive, their user active, their membership
-- there, their thread not deleted. $1 session_ids uuid[] (all zero: none), $2 api_key_ids uuid[] (likewise),
-- $3 org_ids uuid[], $4 run_ids uuid[]
SELECT f.number
FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[]) WITH ORDINALITY
    AS f(session_id, api_key_id, org_id, run_id, number)
JOIN runs r ON r.id = f.run_id
JOIN threads t ON t.id = r.thread_id AND t.deleted_at IS NULL
LEFT JOIN sessions s ON s.id = f.session_id AND s.revoked_at IS NULL
LEFT JOIN api_keys k ON k.id = f.api_key_id AND k.revoked_at IS NULL
     AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
JOIN users u ON u.id = coalesce(s.user_id, k.user_id) AND u.status = 'active'
JOIN org_members m ON m.org_id = f.org_id AND m.user_id = u.id
WHERE r.created_by_user_id = u.id OR u.platform_admin
      OR (m.role IN ('owner', 'admin') AND NOT t.is_private AND r.org_id = f.org_id);
