-- Tables that are parted by time: their partitions are made ahead, and dropped whole.

-- A partition's bound as a time. Bounds of uuids are ids of a moment (uuidv7_floor).
CREATE OR REPLACE FUNCTION partition_bound_time(bound text) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN bound = 'MINVALUE' THEN '-infinity'
        WHEN bound = 'MAXVALUE' THEN 'infinity'
        WHEN bound ~ '^''[0-9a-f]{8}-[0-9a-f]{4}-' THEN
            to_timestamp(('x' || substr(bound, 2, 8) || substr(bound, 11, 4))::bit(48)::bigint / 1000.0)
        ELSE trim(both '''' FROM bound)::timestamptz
    END
$$;

-- The partitions of a table that is parted by range of a time, or of ids that begin with one. Without the default
-- one.
CREATE OR REPLACE FUNCTION range_partitions(parent regclass)
RETURNS TABLE (partition regclass, begins timestamptz, ends timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT c.oid::regclass, partition_bound_time(bound[1]), partition_bound_time(bound[2])
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    CROSS JOIN regexp_match(pg_get_expr(c.relpartbound, c.oid), '^FOR VALUES FROM \((.*)\) TO \((.*)\)$') AS bound
    WHERE i.inhparent = parent AND bound IS NOT NULL
$$;

-- Makes a partition of [begins, ends), unless there is one of some of that time. Answers whether it did. Readers and
-- writers of the table go on: the new table is made like it (that only reads its definition) and attached (SHARE
-- UPDATE EXCLUSIVE on the parent, no scan since it is empty), where CREATE TABLE PARTITION OF would lock the parent
-- ACCESS EXCLUSIVE. A foreign key of the parent is the exception: to attach locks the table that it names SHARE ROW
-- EXCLUSIVE, so that its writers wait until the commit. Rights and policies are the parent's, as of any partition.
CREATE OR REPLACE FUNCTION range_partition_make(parent regclass, name text, begins timestamptz, ends timestamptz)
RETURNS boolean
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    is_by_id boolean := (SELECT a.atttypid = 'uuid'::regtype FROM pg_partitioned_table t JOIN pg_attribute a
                         ON a.attrelid = t.partrelid AND a.attnum = t.partattrs[0] WHERE t.partrelid = parent);
BEGIN
    -- Several find at once that it is missing. This look is behind the lock, and sees what they made.
    PERFORM pg_advisory_xact_lock(hashtextextended('partitions of ' || parent, 0));
    IF EXISTS (SELECT FROM range_partitions(parent) p
               WHERE p.begins < range_partition_make.ends AND p.ends > range_partition_make.begins) THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE %s INCLUDING ALL)', name, parent);
    EXECUTE format('ALTER TABLE %s ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name,
                   CASE WHEN is_by_id THEN uuidv7_floor(begins)::text ELSE begins::text END,
                   CASE WHEN is_by_id THEN uuidv7_floor(ends)::text ELSE ends::text END);
    RETURN true;
END
$$;

-- Makes a table's partitions of this month (UTC) to months_ahead ahead, on a month's first day also last month's: its
-- last rows may not be there yet. A month of which some time is in a partition gets one of what is left. Answers how
-- many were made. Where all are there it reads the catalogue and locks nothing; else it gives up after a short wait,
-- and comes again.
CREATE OR REPLACE FUNCTION month_partitions_make(parent regclass, months_ahead integer) RETURNS integer
LANGUAGE plpgsql SET search_path = public, pg_catalog SET lock_timeout = '200ms' AS $$
DECLARE
    now_utc timestamp := clock_timestamp() AT TIME ZONE 'UTC';
    this_month timestamp := date_trunc('month', now_utc);
    missing record;
    created integer := 0;
BEGIN
    FOR missing IN
        SELECT m.month, greatest(m.begins, max(p.ends)) AS begins, m.ends
        FROM (SELECT month, month AT TIME ZONE 'UTC' AS begins, (month + interval '1 month') AT TIME ZONE 'UTC' AS ends
              FROM generate_series(
                  this_month - CASE WHEN extract(day FROM now_utc) = 1 THEN interval '1 month' ELSE '0' END,
                  this_month + make_interval(months => months_ahead), interval '1 month') AS month) AS m
        LEFT JOIN range_partitions(parent) p ON p.begins < m.ends AND p.ends > m.begins
        GROUP BY m.month, m.begins, m.ends HAVING coalesce(max(p.ends) < m.ends, true)
        ORDER BY m.month
    LOOP
        -- Another daemon is at it: nobody waits for that.
        EXIT WHEN NOT pg_try_advisory_xact_lock(hashtextextended('partitions of ' || parent, 0));
        created := created + range_partition_make(parent, (SELECT relname FROM pg_class WHERE oid = parent)
            || to_char(missing.month, '_YYYY_MM'), missing.begins, missing.ends)::integer;
    END LOOP;
    RETURN created;
END
$$;

-- How many months behind this one have their partitions, without a gap; -1: this one has none.
CREATE OR REPLACE FUNCTION month_partitions_ahead(parent regclass) RETURNS integer
LANGUAGE sql STABLE SET search_path = public, pg_catalog AS $$
    WITH p AS MATERIALIZED (SELECT begins, ends FROM range_partitions(parent)),
    months AS (
        SELECT n, (this_month + make_interval(months => n)) AT TIME ZONE 'UTC' AS begins,
               (this_month + make_interval(months => n + 1)) AT TIME ZONE 'UTC' AS ends
        FROM generate_series(0, 24) AS n, date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') AS this_month)
    SELECT coalesce(min(m.n), 25) - 1 FROM months m
    WHERE NOT EXISTS (SELECT FROM p WHERE p.begins <= m.begins AND p.ends > m.begins)
       OR NOT EXISTS (SELECT FROM p WHERE p.begins < m.ends AND p.ends >= m.ends)
$$;

-- Drops the oldest partition that ended by then, whole. Answers how many it dropped, 0 or 1: the parent is locked
-- ACCESS EXCLUSIVE from here to the commit, after its current readers. Later readers wait for this one, so it gives up
-- after a short wait (a backup holds it off for hours) and comes again. DETACH CONCURRENTLY locks less, but no function
-- and no transaction may run it, and only the owner may.
CREATE OR REPLACE FUNCTION oldest_partition_drop(parent regclass, ended_by timestamptz) RETURNS integer
LANGUAGE plpgsql SET search_path = public, pg_catalog SET lock_timeout = '200ms' AS $$
DECLARE
    expired regclass := (SELECT partition FROM range_partitions(parent) WHERE ends <= ended_by ORDER BY ends LIMIT 1);
BEGIN
    IF expired IS NULL THEN
        RETURN 0;
    END IF;
    EXECUTE format('DROP TABLE %s', expired);
    RETURN 1;
END
$$;

-- Drops the oldest partition whose rows are all older than keep.
CREATE OR REPLACE FUNCTION month_partitions_expire(parent regclass, keep interval) RETURNS integer
LANGUAGE sql AS $$
    SELECT oldest_partition_drop(parent, (clock_timestamp() AT TIME ZONE 'UTC' - keep) AT TIME ZONE 'UTC')
$$;
REVOKE EXECUTE ON FUNCTION range_partition_make, month_partitions_make, oldest_partition_drop, month_partitions_expire
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION partition_bound_time, range_partitions, month_partitions_ahead FROM hostler_api;
