-- Whether maintenance goes by the database's clock. A clock that is wrong by days would end every session and every run
-- that waits, and drop what is younger than it looks. So maintenance keeps the last time that it accepted. While the
-- clock is more than 5 minutes before that, or more than 24 hours after it, no job deletes or ends anything. Tokens
-- that look expired are refused meanwhile, and their rows stay.
--
-- The clock is accepted again by an operator (hostlerctl maintenance clock --accept), or by itself when the clocks of
-- the daemons' hosts agree with it and are synchronized: after a weekend without power all is well.

CREATE TABLE maintenance_clock (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    accepted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO maintenance_clock DEFAULT VALUES;
GRANT SELECT, UPDATE ON maintenance_clock TO hostler_runner;

-- Clock of each daemon's host, as its heartbeats report it.
ALTER TABLE daemons ADD COLUMN clock_ahead_ms bigint,  -- of the database's
    ADD COLUMN is_clock_synchronized boolean NOT NULL DEFAULT false;

CREATE OR REPLACE FUNCTION maintenance_clock_holds(accepted_at timestamptz, now_at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT now_at < accepted_at - interval '5 minutes' OR now_at > accepted_at + interval '24 hours'
$$;

-- Whether all hosts of living daemons whose clocks are synchronized agree with the database, and there is one. A
-- heartbeat in the future is one from before the clock went back.
CREATE OR REPLACE FUNCTION maintenance_clock_is_confirmed(now_at timestamptz) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_catalog AS $$
    SELECT coalesce(bool_and(abs(d.clock_ahead_ms) <= 300000), false) FROM daemons d
    WHERE d.stopped_at IS NULL AND d.is_clock_synchronized AND d.clock_ahead_ms IS NOT NULL
          AND d.heartbeat_at BETWEEN now_at - interval '30 seconds' AND now_at
$$;

-- Before a round of a job that deletes or ends what is over: whether it may. Notes the time once a minute.
CREATE OR REPLACE FUNCTION maintenance_clock_pass() RETURNS boolean
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    now_at timestamptz := clock_timestamp();
    before timestamptz := (SELECT c.accepted_at FROM maintenance_clock c);
BEGIN
    IF maintenance_clock_holds(before, now_at) AND NOT maintenance_clock_is_confirmed(now_at) THEN
        RETURN false;
    END IF;
    IF now_at > before + interval '1 minute' OR maintenance_clock_holds(before, now_at) THEN
        PERFORM set_config('synchronous_commit', 'off', true);
        UPDATE maintenance_clock c SET accepted_at = now_at WHERE c.accepted_at = before;
    END IF;
    RETURN true;
END
$$;

-- In each page of such a job: its transaction fails when the clock changed since the round began.
CREATE OR REPLACE FUNCTION maintenance_clock_check() RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
BEGIN
    IF maintenance_clock_holds((SELECT c.accepted_at FROM maintenance_clock c), clock_timestamp()) THEN
        RAISE EXCEPTION 'the database clock is not accepted: hostlerctl maintenance clock'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
END
$$;

-- hostlerctl maintenance clock: the state; with accept, maintenance goes by the clock as it is now.
CREATE OR REPLACE FUNCTION maintenance_clock_state(accept boolean, OUT is_held boolean, OUT accepted_at text,
    OUT now_at text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    moment timestamptz := clock_timestamp();
    before timestamptz := (SELECT c.accepted_at FROM maintenance_clock c);
BEGIN
    IF accept THEN
        UPDATE maintenance_clock AS c SET accepted_at = moment;
        PERFORM audit('maintenance.clock_accepted', 'maintenance', 'clock', NULL,
                      jsonb_build_object('accepted_at', rfc3339(before)),
                      jsonb_build_object('accepted_at', rfc3339(moment)));
    END IF;
    is_held := NOT accept AND maintenance_clock_holds(before, moment);
    accepted_at := rfc3339(CASE WHEN accept THEN moment ELSE before END);
    now_at := rfc3339(moment);
END
$$;
REVOKE EXECUTE ON FUNCTION maintenance_clock_pass, maintenance_clock_check, maintenance_clock_is_confirmed
    FROM hostler_api;
REVOKE EXECUTE ON FUNCTION maintenance_clock_state FROM hostler_api, hostler_runner;
