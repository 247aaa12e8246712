-- Why: partitions are made and dropped without standing in anybody's way, and each periodic job of the daemon is a
-- short transaction of its own: grants in pages that a locked account or a broken row does not hold up, and prunes
-- that say whether more is to be taken away.
-- Locks: none, functions alone are made and replaced.

-- A partition's bound as a time. Bounds of uuids are ids of a moment (uuidv7_floor).
CREATE FUNCTION partition_bound_time(bound text) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN bound = 'MINVALUE' THEN '-infinity'
        WHEN bound = 'MAXVALUE' THEN 'infinity'
        WHEN bound ~ '^''[0-9a-f]{8}-[0-9a-f]{4}-' THEN
            to_timestamp(('x' || substr(bound, 2, 8) || substr(bound, 11, 4))::bit(48)::bigint / 1000.0)
        ELSE trim(both '''' FROM bound)::timestamptz
    END
$$;

-- The partitions of a table that is parted by range of a time, or of ids that begin with one. Without the default one.
CREATE FUNCTION range_partitions(parent regclass)
RETURNS TABLE (partition regclass, begins timestamptz, ends timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT c.oid::regclass, partition_bound_time(bound[1]), partition_bound_time(bound[2])
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    CROSS JOIN regexp_match(pg_get_expr(c.relpartbound, c.oid), '^FOR VALUES FROM \((.*)\) TO \((.*)\)$') AS bound
    WHERE i.inhparent = parent AND bound IS NOT NULL
$$;

-- Makes a partition of [begins, ends), unless there is one of some of that time. Answers whether it did.
-- Readers and writers of the table go on: the new table is made like it (that only reads its definition) and attached
-- (SHARE UPDATE EXCLUSIVE on the parent, no scan since it is empty), where CREATE TABLE PARTITION OF would lock the
-- parent ACCESS EXCLUSIVE. A foreign key of the parent is the exception: to attach locks the table that it names SHARE
-- ROW EXCLUSIVE, so that its writers wait until the commit. Rights and policies are the parent's, as of any partition.
CREATE FUNCTION range_partition_make(parent regclass, name text, begins timestamptz, ends timestamptz) RETURNS boolean
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
CREATE FUNCTION month_partitions_make(parent regclass, months_ahead integer) RETURNS integer
LANGUAGE plpgsql SET search_path = public, pg_catalog SET lock_timeout = '200ms' AS $$
DECLARE
    now_utc timestamp := clock_timestamp() AT TIME ZONE 'UTC';
    this_month timestamp := date_trunc('month', now_utc);
    missing record;
    made integer := 0;
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
        made := made + range_partition_make(parent, (SELECT relname FROM pg_class WHERE oid = parent)
            || to_char(missing.month, '_YYYY_MM'), missing.begins, missing.ends)::integer;
    END LOOP;
    RETURN made;
END
$$;

-- How many months behind this one have their partitions, without a gap; -1: this one has none.
CREATE FUNCTION month_partitions_ahead(parent regclass) RETURNS integer
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
-- ACCESS EXCLUSIVE from here to the commit, behind whoever reads it. Whoever comes later waits behind this one, so it
-- gives up after a short wait (a backup holds it off for hours) and comes again. DETACH CONCURRENTLY locks less, but
-- no function and no transaction may run it, and nobody but the owner.
CREATE FUNCTION oldest_partition_drop(parent regclass, ended_by timestamptz) RETURNS integer
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
CREATE FUNCTION month_partitions_expire(parent regclass, keep interval) RETURNS integer
LANGUAGE sql AS $$
    SELECT oldest_partition_drop(parent, (clock_timestamp() AT TIME ZONE 'UTC' - keep) AT TIME ZONE 'UTC')
$$;
-- Those that change a table are for functions of the owner, one a table.
REVOKE EXECUTE ON FUNCTION range_partition_make, month_partitions_make, oldest_partition_drop, month_partitions_expire
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION partition_bound_time, range_partitions, month_partitions_ahead FROM hostler_api;

-- For migrate and the daemon's maintenance.
CREATE OR REPLACE FUNCTION run_events_make_partitions() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM month_partitions_make('run_events', 3);
END
$$;

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

-- A day's partition (UTC), when there is none.
CREATE OR REPLACE FUNCTION access_log_make_partition(day date) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    partition text := 'access_log_' || to_char(day, 'YYYY_MM_DD');
BEGIN
    IF to_regclass(partition) IS NULL THEN
        PERFORM range_partition_make('access_log', partition, day::timestamp AT TIME ZONE 'UTC',
                                     (day + 1)::timestamp AT TIME ZONE 'UTC');
    END IF;
END
$$;

-- Partitions of today and three days ahead.
CREATE FUNCTION access_log_make_partitions() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog SET lock_timeout = '200ms' AS $$
    SELECT access_log_make_partition(utc_day((extract(epoch FROM clock_timestamp()) * 1000000)::bigint) + ahead)
    FROM generate_series(0, 3) AS ahead
$$;

-- Drops the oldest day beyond retention, whole. Answers how many it dropped: 0 or 1.
DROP FUNCTION access_log_upkeep(integer);
CREATE FUNCTION access_log_prune(retention_days integer) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT oldest_partition_drop('access_log',
        (date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') - make_interval(days => retention_days))
        AT TIME ZONE 'UTC')
$$;

-- Forgets files that were read long ago, at most so many. Answers how many.
CREATE FUNCTION access_log_files_prune(at_most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    WITH gone AS (
        DELETE FROM access_log_files WHERE file = ANY (ARRAY(
            SELECT file FROM access_log_files WHERE updated_at < now() - interval '2 days'
            ORDER BY updated_at LIMIT at_most FOR UPDATE SKIP LOCKED))
        RETURNING 1)
    SELECT count(*) FROM gone
$$;
REVOKE EXECUTE ON FUNCTION access_log_make_partitions, access_log_prune, access_log_files_prune FROM hostler_api;

-- The daemon's job: a page of what is due, and of what has run out. Passes over accounts that somebody else holds; a
-- subscription that fails is rolled back by itself and looked at again a minute later (next_grant_at: the monthly date
-- is counted from the start), so neither keeps back those behind it. at_most: fewer than 64, so that the
-- subtransactions stay where everybody's snapshots find them. Answers how many grants were made, whether more is due,
-- and what went wrong.
DROP FUNCTION subscription_upkeep(integer);
CREATE FUNCTION subscription_upkeep(at_most integer, OUT granted integer, OUT more boolean, OUT fault text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET lock_timeout = '100ms' AS $$
DECLARE
    moment timestamptz := clock_timestamp();
    ids uuid[] := ARRAY(
        SELECT s.id FROM subscriptions s JOIN credit_accounts a ON a.org_id = s.org_id
        WHERE s.status = 'active' AND s.next_grant_at <= moment
        ORDER BY s.next_grant_at LIMIT at_most
        FOR UPDATE OF a SKIP LOCKED FOR NO KEY UPDATE OF s SKIP LOCKED);
    wanted uuid;
    made integer;
    failed integer := 0;
BEGIN
    ids := ids || ARRAY(
        SELECT s.id FROM subscriptions s JOIN credit_accounts a ON a.org_id = s.org_id
        WHERE s.status = 'active' AND s.current_period_end <= moment AND s.next_grant_at IS NULL
        ORDER BY s.current_period_end LIMIT at_most - cardinality(ids)
        FOR UPDATE OF a SKIP LOCKED FOR NO KEY UPDATE OF s SKIP LOCKED);
    granted := 0;
    FOREACH wanted IN ARRAY ids LOOP
        BEGIN
            made := subscription_grant(wanted);
            UPDATE subscriptions SET status = 'expired' WHERE id = wanted AND current_period_end <= moment;
            granted := granted + made;
        EXCEPTION WHEN others THEN
            failed := failed + 1;
            fault := coalesce(fault, format('subscription %s: %s', wanted, SQLERRM));
            BEGIN
                UPDATE subscriptions SET next_grant_at = moment + interval '1 minute' WHERE id = wanted;
            EXCEPTION WHEN others THEN
                NULL;  -- the row can not be written at all, and keeps its place in the next page
            END;
        END;
    END LOOP;
    more := cardinality(ids) = at_most;
    IF failed > 1 THEN
        fault := format('%s subscriptions failed, the first: %s', failed, fault);
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION subscription_upkeep FROM hostler_api;

-- Takes away what is over, at most so many rows of each table: counters, codes and tokens a day after their end, and
-- sessions with the last of their refresh tokens. Answers how many rows it took of the table of which it took most.
-- One at a time: two that each take one of a session's last tokens would both leave the session.
DROP FUNCTION auth_prune(integer);
CREATE FUNCTION auth_prune(at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    ended timestamptz := clock_timestamp() - interval '1 day';
    ended_sessions uuid[];
    taken bigint;
    most bigint := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('auth prune', 0)) THEN
        RETURN 0;
    END IF;
    DELETE FROM attempts WHERE ctid IN (SELECT ctid FROM attempts WHERE at < ended ORDER BY at LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    most := greatest(most, taken);
    DELETE FROM login_failures WHERE ctid IN
        (SELECT ctid FROM login_failures WHERE at < ended ORDER BY at LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    most := greatest(most, taken);
    DELETE FROM email_tokens WHERE hash IN
        (SELECT hash FROM email_tokens WHERE expires_at < ended ORDER BY expires_at LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    most := greatest(most, taken);
    DELETE FROM login_codes WHERE email_key IN
        (SELECT email_key FROM login_codes WHERE expires_at < ended ORDER BY expires_at LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    most := greatest(most, taken);
    DELETE FROM access_tokens WHERE hash IN
        (SELECT hash FROM access_tokens WHERE expires_at < ended ORDER BY expires_at LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    most := greatest(most, taken);
    WITH gone AS (
        DELETE FROM refresh_tokens WHERE hash IN
            (SELECT hash FROM refresh_tokens WHERE expires_at < ended ORDER BY expires_at LIMIT at_most)
        RETURNING session_id)
    SELECT array_agg(DISTINCT session_id), count(*) INTO ended_sessions, taken FROM gone;
    most := greatest(most, taken);
    DELETE FROM sessions s WHERE s.id = ANY (ended_sessions)
        AND NOT EXISTS (SELECT 1 FROM refresh_tokens r WHERE r.session_id = s.id);
    RETURN most;
END
$$;
REVOKE EXECUTE ON FUNCTION auth_prune FROM hostler_api;

-- Takes away what is older than a day, at most so many. Answers how many.
DROP FUNCTION idempotency_prune(integer);
CREATE FUNCTION idempotency_prune(at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    ended timestamptz := clock_timestamp() - idempotency_age_max();
    old_slots bytea[];
    old_secrets uuid[];
BEGIN
    SELECT array_agg(o.slot), array_agg(o.secret_id) INTO old_slots, old_secrets
    FROM (SELECT r.slot, r.secret_id FROM idempotency_records r WHERE r.created_at <= ended
          ORDER BY r.created_at LIMIT at_most FOR UPDATE SKIP LOCKED) AS o;
    DELETE FROM idempotency_records WHERE slot = ANY (old_slots);
    DELETE FROM secrets WHERE id = ANY (old_secrets);
    RETURN coalesce(cardinality(old_slots), 0);
END
$$;
REVOKE EXECUTE ON FUNCTION idempotency_prune FROM hostler_api;
