-- Callers that have reached their limit of streams at a daemon. Each daemon counts its own, and decides finally when a
-- stream is opened (sse-relay/open_streams.h). By its reports here the API refuses a call that a stream answers before
-- anything of it exists. It reports full callers for a second, and looks once a second. So a run that begins within
-- that time of the last stream exists when the daemon refuses its stream.

CREATE TABLE full_streams (
    holder text COLLATE "C" NOT NULL,  -- network, user or organization, a blank, and its address or id
    daemon_id uuid NOT NULL,
    streams bigint NOT NULL,  -- that are open there
    limit_streams bigint NOT NULL CHECK (limit_streams > 0),
    PRIMARY KEY (holder, daemon_id)
);
CREATE INDEX full_streams_of_daemon ON full_streams (daemon_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON full_streams TO hostler_runner;

-- Raises streams.limit_exceeded when the caller could open no stream anywhere: by their network, by themself with a
-- token of their own, or by their organization, at every daemon that lives. An organization that was granted more since
-- is not full any more.
-- By its indexes, whatever the statistics of a table say that is empty most of the time.
CREATE OR REPLACE FUNCTION streams_check() RETURNS void
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE
    request CONSTANT jsonb := current_request();
    holders CONSTANT text[] := ARRAY[
        'network ' || host(network_of((request ->> 'client_ip')::inet)),
        CASE WHEN request ->> 'session_id' IS NOT NULL THEN 'user ' || current_user_id() END,
        'organization ' || current_org()];
    is_full boolean;
    nth integer;
    count_max bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM full_streams f WHERE f.holder = ANY (holders)) THEN
        RETURN;
    END IF;
    SELECT bool_and(h.nth IS NOT NULL), min(h.nth), (array_agg(h.limit_now ORDER BY h.nth))[1]
    INTO is_full, nth, count_max
    FROM daemons d
    LEFT JOIN LATERAL (
        SELECT array_position(holders, f.holder) AS nth, l.limit_now
        FROM full_streams f
        CROSS JOIN LATERAL (
            SELECT CASE WHEN f.holder = holders[3]
                THEN entitlement_integer(current_org(), 'limit.streams', f.limit_streams)
                ELSE f.limit_streams END AS limit_now) AS l
        WHERE f.daemon_id = d.id AND f.holder = ANY (holders) AND f.streams >= l.limit_now AND l.limit_now > 0
        ORDER BY 1 LIMIT 1) AS h ON true
    WHERE d.stopped_at IS NULL AND d.heartbeat_at > clock_timestamp() - interval '10 seconds';
    IF is_full AND nth = 1 THEN
        PERFORM fail('streams.limit_exceeded', 'streams_of_network', jsonb_build_object('count_max', count_max));
    ELSIF is_full AND nth = 2 THEN
        PERFORM fail('streams.limit_exceeded', 'streams_of_user', jsonb_build_object('count_max', count_max));
    ELSIF is_full THEN
        PERFORM fail('streams.limit_exceeded', 'streams_of_org', jsonb_build_object('count_max', count_max));
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION streams_check FROM hostler_api, hostler_runner;
