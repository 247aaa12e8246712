-- Why: a daemon's predecessor was whoever had registered with its host's name and its socket's path; two hosts of one
-- name freed each other's runs. Now it is whoever had the very lock that the daemon holds on its place.
-- Locks: daemons, ACCESS EXCLUSIVE for a moment (a column without a default).
-- Compatible from: 00045

-- Of the lock on the place: random, known to who has the lock, and to nobody before this boot of the host. NULL of
-- daemons of earlier versions.
ALTER TABLE daemons ADD COLUMN lock_id uuid;

DROP FUNCTION daemon_start(text, text, text);

-- A daemon begins. Whoever had its lock before is dead, so what that one owned is free at once, without waiting for
-- leases. Daemons of earlier versions name no lock: they are told apart by host and place, and free nothing else.
CREATE FUNCTION daemon_start(host text, place text, version text, lock_id uuid DEFAULT NULL) RETURNS uuid
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    me uuid;
    dead uuid[] := ARRAY(SELECT d.id FROM daemons d
        WHERE d.host = daemon_start.host AND d.place = daemon_start.place
          AND d.lock_id IS NOT DISTINCT FROM daemon_start.lock_id AND d.stopped_at IS NULL);
BEGIN
    -- What the predecessor sent last may still be on its way to the disk: the lock waits for it.
    UPDATE runs r SET owner_id = NULL, lease_until = NULL, last_seq = run_last_seq_now(r.id),
        crash_count = r.crash_count + 1, take_overs = r.take_overs + 1
    FROM (SELECT id FROM runs WHERE owner_id = ANY (dead) ORDER BY id FOR UPDATE) AS held
    WHERE r.id = held.id;
    UPDATE outbox SET owner_id = NULL, lease_until = NULL WHERE owner_id = ANY (dead);
    UPDATE daemons AS d SET stopped_at = clock_timestamp() WHERE d.id = ANY (dead);
    INSERT INTO daemons (host, place, version, lock_id)
    VALUES (daemon_start.host, daemon_start.place, daemon_start.version, daemon_start.lock_id)
    RETURNING id INTO me;
    RETURN me;
END
$$;
REVOKE EXECUTE ON FUNCTION daemon_start FROM hostler_api;
