-- The daemons that are at work, and who they are. A daemon is known by its host's name, its instance and the id in its
-- lock file: hosts of one name leave each other's runs alone.

CREATE TABLE daemons (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
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

-- Frees what a daemon that died owned, and tells what of it may be to blame. Three crashes without a step fail a run:
-- the third is counted only of one that was alone, as the daemon's only run, or twice on trial (runner/agent/trials.h);
-- all others may be its neighbours. What somebody holds stays for the next call, or is waited for.
CREATE OR REPLACE FUNCTION runs_after_crash(dead uuid, waits boolean) RETURNS SETOF uuid
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    is_only boolean := (SELECT count(*) FROM (SELECT FROM runs r WHERE r.owner_id = dead LIMIT 2) AS owned) = 1
        AND (waits OR coalesce((SELECT d.runs <= 1 FROM daemons d WHERE d.id = dead), false));
    locked uuid[];
BEGIN
    IF waits THEN
        locked := ARRAY(SELECT r.id FROM runs r WHERE r.owner_id = dead ORDER BY r.id FOR UPDATE);
    ELSE
        locked := ARRAY(SELECT r.id FROM runs r WHERE r.owner_id = dead ORDER BY r.id FOR UPDATE SKIP LOCKED);
    END IF;
    RETURN QUERY UPDATE runs r SET owner_id = NULL, last_seq = run_last_seq_now(r.id), take_overs = r.take_overs + 1,
        crash_count = CASE
            WHEN r.crash_count <> 2 OR is_only OR (r.tried_with = 1 AND r.trials > 0) THEN r.crash_count + 1
            ELSE 2 END,
        trials = CASE WHEN r.crash_count = 0 THEN 0 WHEN r.tried_with > 0 THEN r.trials + 1 ELSE r.trials END,
        tried_with = 0
    WHERE r.id = ANY (locked)
    RETURNING r.id;
END
$$;

-- A daemon begins. The earlier holder of its lock is dead, so everything that it owned is free at once, without waiting
-- for its lease. Daemons of earlier versions name no lock. They are distinguished by host and instance, and free
-- nothing else.
CREATE OR REPLACE FUNCTION daemon_start(host text, instance text, version text, lock_id uuid DEFAULT NULL) RETURNS uuid
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    me uuid;
    dead uuid[] := ARRAY(SELECT d.id FROM daemons d
        WHERE d.host = daemon_start.host AND d.instance = daemon_start.instance
          AND d.lock_id IS NOT DISTINCT FROM daemon_start.lock_id AND d.stopped_at IS NULL);
BEGIN
    -- Writes of the predecessor may still be on their way to the disk: the lock waits for them.
    PERFORM runs_after_crash(d.id, true) FROM unnest(dead) AS d(id);
    UPDATE outbox SET owner_id = NULL, lease_until = NULL WHERE owner_id = ANY (dead);
    UPDATE daemons AS d SET stopped_at = clock_timestamp() WHERE d.id = ANY (dead);
    -- A daemon that lives anyway reports it again (runner/full_streams.h).
    DELETE FROM full_streams f USING daemons d
    WHERE f.daemon_id = d.id
          AND (d.stopped_at IS NOT NULL OR d.heartbeat_at < clock_timestamp() - interval '30 seconds');
    -- Removes daemons without heartbeat for a month, because every look for a live one reads them all.
    DELETE FROM daemons d WHERE d.heartbeat_at < clock_timestamp() - interval '30 days'
        AND NOT EXISTS (SELECT FROM runs r WHERE r.owner_id = d.id);
    INSERT INTO daemons (host, instance, version, lock_id)
    VALUES (daemon_start.host, daemon_start.instance, daemon_start.version, daemon_start.lock_id)
    RETURNING id INTO me;
    RETURN me;
END
$$;
REVOKE EXECUTE ON FUNCTION daemon_start, runs_after_crash FROM hostler_api;
