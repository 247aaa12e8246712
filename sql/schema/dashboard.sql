-- The dashboard's numbers without counting millions of rows.
--
-- Every transaction that adds something appends what it adds to platform_deltas: nobody waits for anybody. The daemon
-- rolls them up into platform_days, a row a day (UTC), every ten seconds. The sum of both is exact at every commit.

CREATE TABLE platform_days (
    day date PRIMARY KEY,
    users bigint NOT NULL DEFAULT 0,       -- registered that day and not deleted
    seen_users bigint NOT NULL DEFAULT 0,  -- of those not deleted: last seen that day
    runs bigint NOT NULL DEFAULT 0,
    input_tokens numeric NOT NULL DEFAULT 0,
    output_tokens numeric NOT NULL DEFAULT 0,
    cost_nano_usd numeric NOT NULL DEFAULT 0
);

CREATE TABLE platform_deltas (
    day date NOT NULL,
    users bigint NOT NULL DEFAULT 0,
    seen_users bigint NOT NULL DEFAULT 0,
    runs bigint NOT NULL DEFAULT 0,
    input_tokens bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    cost_nano_usd bigint NOT NULL DEFAULT 0
);

CREATE OR REPLACE FUNCTION platform_count_runs() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    INSERT INTO platform_deltas (day, runs) VALUES (utc_day(NEW.created_at), 1);
    RETURN NULL;
END
$$;
CREATE TRIGGER runs_counted AFTER INSERT ON runs FOR EACH ROW EXECUTE FUNCTION platform_count_runs();

CREATE OR REPLACE FUNCTION platform_count_usage() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    INSERT INTO platform_deltas (day, input_tokens, output_tokens, cost_nano_usd)
    VALUES (utc_day(NEW.created_at), NEW.input_tokens, NEW.output_tokens, NEW.cost_nano_usd);
    RETURN NULL;
END
$$;
CREATE TRIGGER usage_records_counted AFTER INSERT ON usage_records
    FOR EACH ROW EXECUTE FUNCTION platform_count_usage();

CREATE OR REPLACE FUNCTION platform_count_new_users() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    INSERT INTO platform_deltas (day, users)
    SELECT utc_day(n.created_at), count(*) FROM new_rows n WHERE n.status <> 'deleted' GROUP BY 1;
    INSERT INTO platform_deltas (day, seen_users)
    SELECT utc_day(n.last_seen_at), count(*) FROM new_rows n
    WHERE n.status <> 'deleted' AND n.last_seen_at IS NOT NULL GROUP BY 1;
    RETURN NULL;
END
$$;
CREATE TRIGGER users_counted_new AFTER INSERT ON users REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION platform_count_new_users();

CREATE OR REPLACE FUNCTION platform_count_user() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    INSERT INTO platform_deltas (day, users)
    SELECT utc_day(NEW.created_at), (NEW.status <> 'deleted')::integer - (OLD.status <> 'deleted')::integer
    WHERE (OLD.status = 'deleted') <> (NEW.status = 'deleted');
    INSERT INTO platform_deltas (day, seen_users)
    SELECT utc_day(v.at), v.change
    FROM (VALUES (OLD.last_seen_at, OLD.status, -1), (NEW.last_seen_at, NEW.status, 1)) AS v(at, status, change)
    WHERE v.at IS NOT NULL AND v.status <> 'deleted';
    RETURN NULL;
END
$$;

-- A user who is seen again on the same day changes nothing.
CREATE TRIGGER users_counted AFTER UPDATE OF status, last_seen_at ON users
    FOR EACH ROW WHEN ((OLD.status = 'deleted') <> (NEW.status = 'deleted')
                       OR utc_day(OLD.last_seen_at) IS DISTINCT FROM utc_day(NEW.last_seen_at))
    EXECUTE FUNCTION platform_count_user();

-- Rolls up what was appended into the days. For the daemons' maintenance, one at a time.
CREATE OR REPLACE FUNCTION platform_roll_up() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('platform roll up', 0)) THEN
        RETURN;
    END IF;
    WITH taken AS (
        DELETE FROM platform_deltas
        RETURNING day, users, seen_users, runs, input_tokens, output_tokens, cost_nano_usd)
    INSERT INTO platform_days AS d (day, users, seen_users, runs, input_tokens, output_tokens, cost_nano_usd)
    SELECT day, sum(users), sum(seen_users), sum(runs), sum(input_tokens), sum(output_tokens), sum(cost_nano_usd)
    FROM taken GROUP BY day
    ON CONFLICT (day) DO UPDATE SET users = d.users + excluded.users, seen_users = d.seen_users + excluded.seen_users,
        runs = d.runs + excluded.runs, input_tokens = d.input_tokens + excluded.input_tokens,
        output_tokens = d.output_tokens + excluded.output_tokens,
        cost_nano_usd = d.cost_nano_usd + excluded.cost_nano_usd;
END
$$;

-- Counts everything anew, for rows that came in behind the triggers' back (a bulk load with triggers off). Writers of
-- the tables wait meanwhile.
CREATE OR REPLACE FUNCTION platform_recount() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('platform roll up', 0));
    LOCK TABLE users, runs, usage_records IN SHARE MODE;
    DELETE FROM platform_deltas;
    DELETE FROM platform_days;
    INSERT INTO platform_days (day, users, seen_users, runs, input_tokens, output_tokens, cost_nano_usd)
    SELECT day, sum(users), sum(seen_users), sum(runs), sum(input_tokens), sum(output_tokens), sum(cost_nano_usd)
    FROM (SELECT utc_day(created_at), count(*), 0, 0, 0, 0, 0 FROM users WHERE status <> 'deleted' GROUP BY 1
          UNION ALL
          SELECT utc_day(last_seen_at), 0, count(*), 0, 0, 0, 0 FROM users
          WHERE status <> 'deleted' AND last_seen_at IS NOT NULL GROUP BY 1
          UNION ALL
          SELECT utc_day(created_at), 0, 0, count(*), 0, 0, 0 FROM runs GROUP BY 1
          UNION ALL
          SELECT utc_day(created_at), 0, 0, 0, sum(input_tokens), sum(output_tokens), sum(cost_nano_usd)
          FROM usage_records GROUP BY 1)
        AS counted(day, users, seen_users, runs, input_tokens, output_tokens, cost_nano_usd)
    GROUP BY day;
END
$$;

SELECT platform_recount();

-- GET /v1/admin/dashboard. Seen in 30 days: today or on one of the 29 days (UTC) before. A user's personal
-- organization has no other member, so only workspaces are looked at, one by one.
CREATE OR REPLACE FUNCTION dashboard_json() RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    today date := utc_day(clock_timestamp());
    first_day date := today - 29;
    active_workspaces bigint;
BEGIN
    PERFORM need_platform_admin();
    SELECT count(*) INTO active_workspaces FROM orgs o
    WHERE o.type = 'workspace' AND EXISTS (
        SELECT 1 FROM org_members m JOIN users u ON u.id = m.user_id
        WHERE m.org_id = o.id AND u.status <> 'deleted' AND u.last_seen_at >= first_day::timestamp AT TIME ZONE 'UTC');
    RETURN (
        SELECT json_build_object('total_users', coalesce(sum(t.users), 0)::bigint,
            'active_users_30d', coalesce(sum(t.seen_users) FILTER (WHERE t.day >= first_day), 0)::bigint,
            'total_runs', coalesce(sum(t.runs), 0)::bigint,
            'runs_today', coalesce(sum(t.runs) FILTER (WHERE t.day = today), 0)::bigint,
            'total_input_tokens', saturated(coalesce(sum(t.input_tokens), 0)),
            'total_output_tokens', saturated(coalesce(sum(t.output_tokens), 0)),
            'active_orgs', active_workspaces
                + coalesce(sum(t.seen_users) FILTER (WHERE t.day >= first_day), 0)::bigint,
            'total_cost_usd', usage_usd(sum(t.cost_nano_usd)))
        FROM (SELECT day, users, seen_users, runs, input_tokens, output_tokens, cost_nano_usd FROM platform_days
              UNION ALL
              SELECT day, users, seen_users, runs, input_tokens, output_tokens, cost_nano_usd FROM platform_deltas)
            AS t);
END
$$;

-- The daemons that live: those that were heard of lately and did not say good-bye.
CREATE OR REPLACE FUNCTION node_list() RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM need_platform_admin();
    RETURN (SELECT coalesce(json_agg(json_build_object('id', d.id, 'host', d.host, 'version', d.version,
                'started_at', rfc3339(d.started_at), 'heartbeat_at', rfc3339(d.heartbeat_at), 'runs', d.runs,
                'streams', d.streams) ORDER BY d.id), '[]')
            FROM daemons d
            WHERE d.stopped_at IS NULL AND d.heartbeat_at > clock_timestamp() - interval '30 seconds');
END
$$;
REVOKE EXECUTE ON FUNCTION platform_count_runs, platform_count_usage, platform_count_new_users, platform_count_user,
    platform_recount
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION platform_roll_up FROM hostler_api;
REVOKE EXECUTE ON FUNCTION dashboard_json, node_list FROM hostler_runner;
