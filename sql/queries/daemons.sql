-- Statements about the daemons themselves: start, heartbeat, clock and stop. As hostler_runner.

-- name: daemon_start
-- Registers the daemon and frees what its predecessor owned: who had the lock of its instance before.
-- $1 host text, $2 instance text, $3 version text, $4 lock_id uuid
SELECT daemon_start($1, $2, $3, $4) AS id;

-- name: daemon_heartbeat
-- Its next heartbeat: its lease on all its runs. One that was marked as stopped and lives is known again; answers
-- whether it was marked. room: for how many further runs.
-- $1 daemon_id uuid, $2 runs integer, $3 streams integer, $4 room integer
UPDATE daemons AS d SET heartbeats = d.heartbeats + 1, heartbeat_at = clock_timestamp(), runs = $2, streams = $3,
    room = $4, stopped_at = NULL
FROM (SELECT id, stopped_at IS NOT NULL AS was_stopped FROM daemons WHERE id = $1 FOR UPDATE) AS before
WHERE d.id = before.id
RETURNING before.was_stopped;

-- name: daemon_clock
-- What the daemon's host says of the time, and whether its clock is synchronized; written when it is news.
-- $1 daemon_id uuid, $2 clock_ms bigint, $3 is_clock_synchronized boolean
UPDATE daemons AS d SET clock_ahead_ms = news.ahead_ms, is_clock_synchronized = $3
FROM (SELECT $2 - (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ahead_ms) AS news
WHERE d.id = $1 AND (d.is_clock_synchronized <> $3 OR d.clock_ahead_ms IS NULL
                     OR abs(d.clock_ahead_ms - news.ahead_ms) > 10000);

-- name: daemon_stop
-- Hands back every run at its last committed step.
-- $1 daemon_id uuid
WITH freed AS (
    UPDATE runs r SET owner_id = NULL, last_seq = run_last_seq_now(r.id),
        take_overs = r.take_overs + 1
    FROM (SELECT id FROM runs WHERE owner_id = $1 ORDER BY id FOR UPDATE) AS locked WHERE r.id = locked.id),
released AS (UPDATE outbox SET owner_id = NULL, lease_until = NULL WHERE owner_id = $1)
UPDATE daemons SET stopped_at = clock_timestamp() WHERE id = $1;

-- name: daemon_stop_free
-- daemon_stop when somebody holds a row of it: what is held is freed when its lease is over.
-- $1 daemon_id uuid
WITH freed AS (
    UPDATE runs r SET owner_id = NULL, last_seq = run_last_seq_now(r.id),
        take_overs = r.take_overs + 1
    FROM (SELECT id FROM runs WHERE owner_id = $1 ORDER BY id FOR UPDATE SKIP LOCKED) AS locked WHERE r.id = locked.id),
released AS (
    UPDATE outbox o SET owner_id = NULL, lease_until = NULL
    FROM (SELECT id FROM outbox WHERE owner_id = $1 FOR UPDATE SKIP LOCKED) AS locked WHERE o.id = locked.id)
UPDATE daemons SET stopped_at = clock_timestamp() WHERE id = $1;

-- name: daemons_alive
-- The number of other daemons that are notified of events.
-- $1 daemon_id uuid
SELECT count(*) AS others FROM daemons
WHERE id <> $1 AND stopped_at IS NULL AND heartbeat_at > clock_timestamp() - interval '30 seconds';

-- name: daemon_pass_on
-- A daemon that was notified of a new run and has no room reports that, and notifies another one that has. Every daemon
-- that passes it on has no room any more for the next, so it comes to an end.
-- $1 daemon_id uuid
WITH full_now AS (UPDATE daemons SET room = 0 WHERE id = $1)
SELECT set_config('synchronous_commit', 'off', true), pg_notify(daemon_channel(other.id), '')
FROM (SELECT d.id FROM daemons d
      WHERE d.id <> $1 AND d.room > 0 AND d.stopped_at IS NULL
            AND d.heartbeat_at > clock_timestamp() - interval '10 seconds'
      ORDER BY random() LIMIT 1) AS other;

-- name: full_streams_keep
-- Who has as many streams open at the daemon as may be, in place of what it said before. Need not be durable: it is
-- said again. holders: [{kind: network, user or organization, id, streams, limit_streams}], an id without its hyphens.
-- $1 daemon_id uuid, $2 holders json
WITH full_now AS MATERIALIZED (
    SELECT t.kind || ' ' || CASE t.kind WHEN 'network' THEN host(network_of(t.id::inet)) ELSE t.id::uuid::text END
            AS holder,
        t.streams, t.limit_streams, set_config('synchronous_commit', 'off', true)
    FROM json_to_recordset($2) AS t (kind text, id text, streams bigint, limit_streams bigint)),
no_more AS (
    DELETE FROM full_streams f
    WHERE f.daemon_id = $1 AND NOT EXISTS (SELECT FROM full_now t WHERE t.holder = f.holder))
INSERT INTO full_streams AS f (holder, daemon_id, streams, limit_streams)
SELECT t.holder, $1, t.streams, t.limit_streams FROM full_now t ORDER BY t.holder
ON CONFLICT (holder, daemon_id) DO UPDATE SET streams = excluded.streams, limit_streams = excluded.limit_streams
WHERE (f.streams, f.limit_streams) IS DISTINCT FROM (excluded.streams, excluded.limit_streams);
