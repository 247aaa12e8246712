-- The events of runs, by month, and their end.

-- data is kept as the text that was sent (json, not jsonb): whoever replays reads the same bytes as
-- whoever was there. Partitioned by the run's id, which begins with its time: one partition a read.
CREATE TABLE run_events (
    run_id uuid NOT NULL,
    seq bigint NOT NULL CHECK (seq > 0),
    type text NOT NULL,
    data json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run_id, seq)
) PARTITION BY RANGE (run_id);
GRANT SELECT, INSERT ON run_events TO hostler_runner;

-- Which start of which server this is: a standby that was promoted is another one than its primary was.
CREATE OR REPLACE FUNCTION server_number() RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
$$;

-- Fails as a lost connection does on any other: whoever wrote to that one looks what this one has.
CREATE OR REPLACE FUNCTION server_is(server bigint) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = public, pg_catalog AS $$
BEGIN
    IF server <> server_number() THEN
        RAISE EXCEPTION 'another server' USING ERRCODE = 'connection_failure';
    END IF;
    RETURN true;
END
$$;

-- For migrate and the daemon's maintenance.
CREATE OR REPLACE FUNCTION run_events_make_partitions() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM month_partitions_make('run_events', 3);
END
$$;

SELECT run_events_make_partitions();

-- Drops the oldest month whose events are all beyond retention, whole; at most one a call, so that its lock on the
-- table is short (see oldest_partition_drop). A month with unfinished runs is passed over: these still write. What a
-- run came to stays in its row, and its stream answers runs.events_expired. Answers how many were dropped.
CREATE OR REPLACE FUNCTION run_events_prune(retention_days integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET lock_timeout = '200ms' AS $$
DECLARE
    kept_from timestamptz := (clock_timestamp() AT TIME ZONE 'UTC' - make_interval(days => retention_days))
                             AT TIME ZONE 'UTC';
    expired record;
BEGIN
    FOR expired IN
        SELECT p.partition, p.begins, p.ends FROM range_partitions('run_events') p WHERE p.ends <= kept_from
        ORDER BY p.ends
    LOOP
        CONTINUE WHEN EXISTS (
            WITH unfinished AS MATERIALIZED (
                SELECT id FROM runs WHERE ended_at IS NULL AND NOT queued
                UNION ALL SELECT id FROM runs WHERE queued)
            SELECT FROM unfinished WHERE id >= uuidv7_floor(expired.begins) AND id < uuidv7_floor(expired.ends));
        EXECUTE format('DROP TABLE %s', expired.partition);
        RETURN 1;
    END LOOP;
    RETURN 0;
END
$$;
REVOKE EXECUTE ON FUNCTION run_events_make_partitions, run_events_prune, server_is FROM hostler_api;
