-- The daemon that does the periodic jobs, and their results. One daemon at a time is the maintainer, as long as its
-- heartbeats continue (daemons.heartbeats). A daemon that sees them stop takes its place. No clock has a part in that.

CREATE TABLE maintainer (
    -- A new one for each that takes the place. A key, so that who takes it waits for the commits of who had it.
    epoch bigint PRIMARY KEY,
    daemon_id uuid,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    is_only boolean NOT NULL DEFAULT true UNIQUE CHECK (is_only)
);
INSERT INTO maintainer (epoch) VALUES (0);
GRANT SELECT, UPDATE ON maintainer TO hostler_runner;

-- Facts about each job for people. Written by the maintainer, read by no job.
CREATE TABLE maintenance_jobs (
    job text COLLATE "C" PRIMARY KEY,
    period_ms bigint NOT NULL,
    done_at timestamptz,  -- its last page that was committed
    took_ms bigint,  -- and how long that took
    fault_at timestamptz,  -- when it failed last, or a part of it
    fault text,
    faults bigint NOT NULL DEFAULT 0
);
GRANT SELECT, INSERT, UPDATE, DELETE ON maintenance_jobs TO hostler_runner;

-- The daemon takes the place of whom it saw there, unless somebody did so before or the daemon is not known to live.
-- From then on the jobs are those of its version. Answers the epoch, no row when the place is another's.
CREATE OR REPLACE FUNCTION maintainer_take(daemon uuid, epoch_seen bigint, jobs text[], periods_ms bigint[])
RETURNS SETOF bigint
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    new_epoch bigint;
BEGIN
    UPDATE maintainer AS m SET epoch = m.epoch + 1, daemon_id = daemon, since = clock_timestamp()
    WHERE m.epoch = epoch_seen AND EXISTS (SELECT FROM daemons d WHERE d.id = daemon AND d.stopped_at IS NULL)
    RETURNING m.epoch INTO new_epoch;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    DELETE FROM maintenance_jobs j WHERE j.job <> ALL (jobs);
    INSERT INTO maintenance_jobs (job, period_ms)
    SELECT mine.job, mine.period_ms FROM unnest(jobs, periods_ms) AS mine(job, period_ms)
    ON CONFLICT (job) DO UPDATE SET period_ms = excluded.period_ms;
    RETURN NEXT new_epoch;
END
$$;

-- Whether the daemon is the maintainer of that epoch. Prevents that another takes its place until this commits. So it
-- is asked last, and only in a transaction that wrote something, because others change nothing.
CREATE OR REPLACE FUNCTION maintainer_is(daemon uuid, epoch_held bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM FROM maintainer m WHERE m.epoch = epoch_held AND m.daemon_id = daemon FOR KEY SHARE;
    RETURN FOUND;
END
$$;

-- The last statement of a job's page, whose transaction fails when the daemon is not the maintainer any more. The page
-- is noted when it wrote something, or the last note is ten seconds old: jobs that look each second and find nothing
-- write nothing.
CREATE OR REPLACE FUNCTION maintenance_done(daemon uuid, epoch_held bigint, done_job text) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    now_at timestamptz := clock_timestamp();
BEGIN
    IF pg_current_xact_id_if_assigned() IS NULL THEN
        IF EXISTS (SELECT FROM maintenance_jobs j WHERE j.job = done_job
                   AND j.done_at BETWEEN now_at - interval '10 seconds' AND now_at) THEN
            RETURN;
        END IF;
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    -- In this order: who takes the place locks it before the jobs.
    IF NOT maintainer_is(daemon, epoch_held) THEN
        RAISE EXCEPTION 'another daemon is the maintainer' USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    UPDATE maintenance_jobs AS j SET done_at = now_at,
        took_ms = extract(epoch FROM now_at - transaction_timestamp()) * 1000
    WHERE j.job = done_job;
END
$$;

-- Entry of this daemon in the administrators' list: null unless it is the maintainer.
CREATE OR REPLACE FUNCTION maintenance_json(daemon uuid) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN (
        SELECT json_build_object('epoch', m.epoch, 'since', rfc3339(m.since), 'jobs', (
            SELECT coalesce(json_agg(json_build_object('job', j.job, 'period_ms', j.period_ms,
                'done_at', rfc3339(j.done_at), 'took_ms', j.took_ms, 'faults', j.faults,
                'fault_at', rfc3339(j.fault_at), 'fault', j.fault) ORDER BY j.job), '[]')
            FROM maintenance_jobs j))
        FROM maintainer m WHERE m.daemon_id = daemon);
END
$$;
REVOKE EXECUTE ON FUNCTION maintainer_take, maintainer_is, maintenance_done FROM hostler_api;
REVOKE EXECUTE ON FUNCTION maintenance_json FROM hostler_api, hostler_runner;
