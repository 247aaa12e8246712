-- The daemons that are at work, and who they are. A daemon is known by its host's name, its instance and the id in its
-- lock file: hosts of one name leave each other's runs alone.

CREATE TABLE daemons (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    host text NOT NULL,
    instance text NOT NULL,  -- the stream socket: one daemon at a time has it
    version text NOT NULL,
    runs integer NOT NULL DEFAULT 0,
    streams integer NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    stopped_at timestamptz,
    -- Random, known to who has the lock file, and to nobody before this boot of the host.
    lock_id uuid,
    room integer NOT NULL DEFAULT 0,  -- for further runs, when it was heard of last
    heartbeats bigint NOT NULL DEFAULT 0  -- how many; who has none for a lease has no runs any more
);
GRANT SELECT, INSERT, UPDATE, DELETE ON daemons TO hostler_runner;
GRANT SELECT ON daemons TO hostler_api;

-- Where a daemon hears what concerns it alone: with the id of a run of its, that something was asked; empty, that
-- there is a new run. Null for none.
CREATE OR REPLACE FUNCTION daemon_channel(daemon uuid) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT 'hostler_daemon_' || replace(daemon::text, '-', '')
$$;

-- A daemon begins. Whoever had its lock before is dead, so what that one owned is free at once, without waiting for
-- its lease. Daemons of earlier versions name no lock: they are told apart by host and instance, and free nothing else.
CREATE OR REPLACE FUNCTION daemon_start(host text, instance text, version text, lock_id uuid DEFAULT NULL) RETURNS uuid
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    me uuid;
    dead uuid[] := ARRAY(SELECT d.id FROM daemons d
        WHERE d.host = daemon_start.host AND d.instance = daemon_start.instance
          AND d.lock_id IS NOT DISTINCT FROM daemon_start.lock_id AND d.stopped_at IS NULL);
BEGIN
    -- What the predecessor sent last may still be on its way to the disk: the lock waits for it.
    UPDATE runs r SET owner_id = NULL, last_seq = run_last_seq_now(r.id),
        crash_count = r.crash_count + 1, take_overs = r.take_overs + 1
    FROM (SELECT id FROM runs WHERE owner_id = ANY (dead) ORDER BY id FOR UPDATE) AS locked
    WHERE r.id = locked.id;
    UPDATE outbox SET owner_id = NULL, lease_until = NULL WHERE owner_id = ANY (dead);
    UPDATE daemons AS d SET stopped_at = clock_timestamp() WHERE d.id = ANY (dead);
    INSERT INTO daemons (host, instance, version, lock_id)
    VALUES (daemon_start.host, daemon_start.instance, daemon_start.version, daemon_start.lock_id)
    RETURNING id INTO me;
    RETURN me;
END
$$;
REVOKE EXECUTE ON FUNCTION daemon_start FROM hostler_api;
