-- The events of runs, by month, and their end.

-- data is kept as the text that was sent (json, not jsonb), so that a replay reads the same bytes as the live stream
-- had. Partitioned by the run's id, which begins with its time: one partition per read.
CREATE TABLE run_events (
    run_id uuid NOT NULL,
    seq bigint NOT NULL CHECK (seq > 0),
    type text NOT NULL,
    data json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run_id, seq)
) PARTITION BY RANGE (run_id);
GRANT SELECT, INSERT ON run_events TO hostler_runner;

-- The next events of a run, a page of them: it ends once it holds bytes_max, but has one event at least. 128 stands for
-- what an event is on the wire besides its data. has_next: more was there, but for bytes_max. What is stored is
-- measured first, so that large events are not unpacked only to be left out. Postgres puts it into the statement that
-- reads from it: where that names its one run, of the months only the run's is set up.
CREATE OR REPLACE FUNCTION event_page(run uuid, after bigint, rows_max bigint, bytes_max bigint)
RETURNS TABLE (seq bigint, type text, data json, created_at timestamptz, has_next boolean)
LANGUAGE sql STABLE AS $$
    SELECT page.seq, page.type, page.data, page.created_at, page.has_next
    FROM (
        SELECT small.seq, small.type, small.data, small.created_at, small.has_next,
            sum(octet_length(small.data::text) + 128) OVER (ORDER BY small.seq)
                - (octet_length(small.data::text) + 128) AS bytes_before
        FROM (
            SELECT e.seq, e.type, e.data, e.created_at, lead(e.seq) OVER w IS NOT NULL AS has_next,
                sum(pg_column_size(e.data) + 128) OVER w - (pg_column_size(e.data) + 128) AS stored_before
            FROM (SELECT r.seq, r.type, r.data, r.created_at FROM run_events r
                  WHERE r.run_id = run AND r.seq > after ORDER BY r.seq LIMIT rows_max) AS e
            WINDOW w AS (ORDER BY e.seq)) AS small
        WHERE small.stored_before < bytes_max) AS page
    WHERE page.bytes_before < bytes_max
$$;

-- Which start of which server this is: a standby that was promoted is another one than its primary was.
CREATE OR REPLACE FUNCTION server_number() RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint
$$;

-- Fails like a lost connection on any other server: a writer to that one checks what this one has.
CREATE OR REPLACE FUNCTION server_is(server bigint) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = public, pg_catalog AS $$
BEGIN
    IF server <> server_number() THEN
        RAISE EXCEPTION 'another server' USING ERRCODE = 'connection_failure';
    END IF;
    RETURN true;
END
$$;

-- Bytes of a run's events. Reads them all: for runs that had an owner, which counts them while it has the run.
CREATE OR REPLACE FUNCTION run_event_bytes(run uuid) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN (SELECT coalesce(sum(octet_length(e.data::text)), 0) FROM run_events e WHERE e.run_id = run);
END
$$;

-- Runs whose ids are lower have given back what their events took of credit_accounts.stored_bytes.
CREATE TABLE run_events_freed (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    before_run_id uuid NOT NULL
);
INSERT INTO run_events_freed (before_run_id) VALUES ('00000000-0000-0000-0000-000000000000');

-- Gives back what the events of dropped months took, and what histories took that their runs were given, which go
-- with them, as do the calls that were left to clients; by pages of runs in the order of their ids: the place where
-- it goes on commits with them. Apart from the drop, whose lock everybody waits for. Answers how many runs it read.
CREATE OR REPLACE FUNCTION run_events_free(at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET lock_timeout = '200ms' AS $$
DECLARE
    kept_from uuid := uuidv7_floor((SELECT min(p.begins) FROM range_partitions('run_events') AS p));
    freed_before uuid;
    last_run_id uuid;
    runs_read integer;
    org_ids uuid[];
    freed bigint[];
BEGIN
    SELECT f.before_run_id INTO freed_before FROM run_events_freed f
    WHERE f.before_run_id < kept_from FOR UPDATE SKIP LOCKED;
    IF freed_before IS NULL THEN
        RETURN 0;
    END IF;
    WITH page AS MATERIALIZED (
        SELECT r.id, r.org_id, r.event_bytes, r.history_bytes FROM runs r
        WHERE r.id >= freed_before AND r.id < kept_from
        ORDER BY r.id LIMIT at_most),
    dropped AS (
        DELETE FROM run_histories h WHERE h.run_id = ANY (ARRAY(
            SELECT p.id FROM page p WHERE p.history_bytes IS NOT NULL)) AND h.keeps
        RETURNING h.run_id),
    left_behind AS (
        DELETE FROM run_left_calls c WHERE c.run_id = ANY (ARRAY(SELECT p.id FROM page p))),
    shrunk AS (
        UPDATE runs r SET result_bytes = r.result_bytes - r.history_bytes, history_bytes = NULL
        WHERE r.id = ANY (ARRAY(SELECT d.run_id FROM dropped d))),
    of_org AS (
        SELECT p.org_id, sum(p.event_bytes + CASE WHEN d.run_id IS NULL THEN 0 ELSE p.history_bytes END)::bigint
            AS bytes
        FROM page p LEFT JOIN dropped d ON d.run_id = p.id GROUP BY p.org_id)
    SELECT (SELECT count(*) FROM page), (SELECT p.id FROM page p ORDER BY p.id DESC LIMIT 1),
        array_agg(o.org_id ORDER BY o.org_id), array_agg(o.bytes ORDER BY o.org_id)
    INTO runs_read, last_run_id, org_ids, freed FROM of_org o WHERE o.bytes > 0;
    PERFORM FROM credit_accounts a WHERE a.org_id = ANY (org_ids) ORDER BY a.org_id FOR UPDATE;
    UPDATE credit_accounts a SET stored_bytes = a.stored_bytes - f.bytes
    FROM unnest(org_ids, freed) AS f (org_id, bytes) WHERE a.org_id = f.org_id;
    UPDATE run_events_freed SET before_run_id =
        least(kept_from, (SELECT n.id FROM runs n WHERE n.id > last_run_id ORDER BY n.id LIMIT 1));
    RETURN runs_read;
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
REVOKE EXECUTE ON FUNCTION run_events_make_partitions, run_events_prune, run_event_bytes, run_events_free, server_is,
    event_page FROM hostler_api;
