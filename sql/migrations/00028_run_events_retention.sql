-- Why: events of runs that are long over are dropped. Locks: none.

-- Drops the oldest month whose events are all beyond retention, whole; at most one a call, so that its lock on the
-- table is short. A month with unfinished runs is passed over: these still write. What a run came to stays in its row,
-- and its stream answers runs.events_expired. Answers how many were dropped. For upkeep.
CREATE FUNCTION run_events_prune(retention_days integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET lock_timeout = '200ms' AS $$
DECLARE
    kept_from text := to_char(clock_timestamp() AT TIME ZONE 'UTC' - make_interval(days => retention_days), 'YYYY_MM');
    expired name;
    month date;
BEGIN
    FOR expired IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'run_events'::regclass AND c.relname < 'run_events_' || kept_from
        ORDER BY c.relname
    LOOP
        month := to_date(right(expired, 7), 'YYYY_MM');
        CONTINUE WHEN EXISTS (
            WITH unfinished AS MATERIALIZED (
                SELECT id FROM runs WHERE ended_at IS NULL AND NOT queued
                UNION ALL SELECT id FROM runs WHERE queued)
            SELECT FROM unfinished WHERE id >= uuidv7_floor(month::timestamp AT TIME ZONE 'UTC')
                AND id < uuidv7_floor((month + interval '1 month') AT TIME ZONE 'UTC'));
        EXECUTE format('DROP TABLE %I', expired);
        RETURN 1;
    END LOOP;
    RETURN 0;
END
$$;
REVOKE EXECUTE ON FUNCTION run_events_prune FROM hostler_api;
