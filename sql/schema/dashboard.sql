-- The dashboard's numbers without counting millions of rows.
--
-- Every transaction that adds something appends what it adds to platform_deltas: nobody waits for anybody. The daemon
-- rolls them up into platform_days, a row a day (UTC), every ten seconds. The sum of both is exact at every commit.
--
-- A workspace is counted on the day on which any of its members was seen last, orgs.seen_day. It changes behind the
-- lock of the organization's row, as members do, and behind that of the user's, as everywhere: once a day, by the first
-- member who is seen.

CREATE TABLE platform_days (
    day date PRIMARY KEY,
    users bigint NOT NULL DEFAULT 0,       -- registered that day and not deleted
    seen_users bigint NOT NULL DEFAULT 0,  -- of those not deleted: last seen that day
    runs bigint NOT NULL DEFAULT 0,
    input_tokens numeric NOT NULL DEFAULT 0,
    output_tokens numeric NOT NULL DEFAULT 0,
    cost_nano_usd numeric NOT NULL DEFAULT 0,
    seen_workspaces bigint NOT NULL DEFAULT 0  -- of those of that seen_day
);

CREATE TABLE platform_deltas (
    day date NOT NULL,
    users bigint NOT NULL DEFAULT 0,
    seen_users bigint NOT NULL DEFAULT 0,
    runs bigint NOT NULL DEFAULT 0,
    input_tokens bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    cost_nano_usd bigint NOT NULL DEFAULT 0,
    seen_workspaces bigint NOT NULL DEFAULT 0
);

CREATE OR REPLACE FUNCTION platform_count_workspace() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    INSERT INTO platform_deltas (day, seen_workspaces)
    SELECT v.day, v.change FROM (VALUES (OLD.seen_day, -1), (NEW.seen_day, 1)) AS v(day, change)
    WHERE v.day IS NOT NULL;
    RETURN NULL;
END
$$;
CREATE TRIGGER orgs_counted AFTER UPDATE OF seen_day ON orgs FOR EACH ROW
    WHEN (OLD.seen_day IS DISTINCT FROM NEW.seen_day) EXECUTE FUNCTION platform_count_workspace();

-- A member of a workspace, whose row is held, was seen on that day. Whether they are one is asked behind the lock: they
-- may have been taken out while it was waited for.
CREATE OR REPLACE FUNCTION workspace_seen(org uuid, of_user uuid, day date) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM FROM orgs o WHERE o.id = org FOR NO KEY UPDATE;
    UPDATE orgs o SET seen_day = day
    WHERE o.id = org AND coalesce(o.seen_day < day, day IS NOT NULL)
          AND EXISTS (SELECT FROM org_members m WHERE m.org_id = org AND m.user_id = of_user);
END
$$;

-- A user who was seen on that day does not count any more in a workspace: whether another member was seen then, and
-- when the last one was if not. A user who was seen before its last day changes nothing.
CREATE OR REPLACE FUNCTION workspace_unseen(org uuid, day date) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM FROM orgs o WHERE o.id = org FOR NO KEY UPDATE;
    IF EXISTS (SELECT FROM orgs o WHERE o.id = org AND o.seen_day = day)
       AND NOT EXISTS (SELECT FROM org_members m JOIN users u ON u.id = m.user_id
                       WHERE m.org_id = org AND u.status <> 'deleted' AND utc_day(u.last_seen_at) = day) THEN
        UPDATE orgs SET seen_day = (
            SELECT max(utc_day(u.last_seen_at)) FROM org_members m JOIN users u ON u.id = m.user_id
            WHERE m.org_id = org AND u.status <> 'deleted')
        WHERE id = org;
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION platform_count_member() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    day date;
BEGIN
    IF NOT EXISTS (SELECT FROM orgs o WHERE o.id = coalesce(NEW.org_id, OLD.org_id) AND o.type = 'workspace') THEN
        RETURN NULL;
    ELSIF TG_OP = 'INSERT' THEN
        SELECT utc_day(u.last_seen_at) INTO day FROM users u
        WHERE u.id = NEW.user_id AND u.status <> 'deleted' FOR SHARE;
        PERFORM workspace_seen(NEW.org_id, NEW.user_id, day);
    ELSE
        PERFORM workspace_unseen(OLD.org_id, utc_day(u.last_seen_at)) FROM users u WHERE u.id = OLD.user_id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER org_members_counted AFTER INSERT OR DELETE ON org_members FOR EACH ROW
    EXECUTE FUNCTION platform_count_member();

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
    -- A statement for all turns of a flight: one a turn costs each of them as much as its record does.
    INSERT INTO platform_deltas (day, input_tokens, output_tokens, cost_nano_usd)
    SELECT utc_day(n.created_at), n.input_tokens, n.output_tokens, n.cost_nano_usd FROM new_rows n;
    RETURN NULL;
END
$$;
CREATE TRIGGER usage_records_counted AFTER INSERT ON usage_records REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION platform_count_usage();

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
    IF NEW.status = 'deleted' OR coalesce(NEW.last_seen_at < OLD.last_seen_at, NEW.last_seen_at IS NULL) THEN
        PERFORM workspace_unseen(w.org_id, utc_day(OLD.last_seen_at))
        FROM (SELECT m.org_id FROM org_members m JOIN orgs o ON o.id = m.org_id
              WHERE m.user_id = NEW.id AND o.type = 'workspace' ORDER BY m.org_id) AS w;
    ELSE
        PERFORM workspace_seen(w.id, NEW.id, utc_day(NEW.last_seen_at))
        FROM (SELECT o.id FROM org_members m JOIN orgs o ON o.id = m.org_id
              WHERE m.user_id = NEW.id AND o.type = 'workspace'
                    AND (o.seen_day IS NULL OR o.seen_day < utc_day(NEW.last_seen_at))
              ORDER BY o.id) AS w;
    END IF;
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
        RETURNING day, users, seen_users, runs, input_tokens, output_tokens, cost_nano_usd, seen_workspaces)
    INSERT INTO platform_days AS d (day, users, seen_users, runs, input_tokens, output_tokens, cost_nano_usd,
        seen_workspaces)
    SELECT day, sum(users), sum(seen_users), sum(runs), sum(input_tokens), sum(output_tokens), sum(cost_nano_usd),
        sum(seen_workspaces)
    FROM taken GROUP BY day
    ON CONFLICT (day) DO UPDATE SET users = d.users + excluded.users, seen_users = d.seen_users + excluded.seen_users,
        runs = d.runs + excluded.runs, input_tokens = d.input_tokens + excluded.input_tokens,
        output_tokens = d.output_tokens + excluded.output_tokens,
        cost_nano_usd = d.cost_nano_usd + excluded.cost_nano_usd,
        seen_workspaces = d.seen_workspaces + excluded.seen_workspaces;
END
$$;

-- Recounts everything, for rows that were added without triggers (a bulk load with triggers off). Writers of the tables
-- wait meanwhile.
CREATE OR REPLACE FUNCTION platform_recount() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('platform roll up', 0));
    LOCK TABLE users IN SHARE MODE;
    LOCK TABLE orgs IN EXCLUSIVE MODE;
    LOCK TABLE org_members, runs, usage_records IN SHARE MODE;
    UPDATE orgs o SET seen_day = seen.day
    FROM (SELECT w.id, max(utc_day(u.last_seen_at)) AS day
          FROM orgs w LEFT JOIN org_members m ON m.org_id = w.id
              LEFT JOIN users u ON u.id = m.user_id AND u.status <> 'deleted'
          WHERE w.type = 'workspace' GROUP BY w.id) AS seen
    WHERE o.id = seen.id AND o.seen_day IS DISTINCT FROM seen.day;
    DELETE FROM platform_deltas;
    DELETE FROM platform_days;
    INSERT INTO platform_days (day, users, seen_users, runs, input_tokens, output_tokens, cost_nano_usd,
        seen_workspaces)
    SELECT day, sum(users), sum(seen_users), sum(runs), sum(input_tokens), sum(output_tokens), sum(cost_nano_usd),
        sum(seen_workspaces)
    FROM (SELECT utc_day(created_at), count(*), 0, 0, 0, 0, 0, 0 FROM users WHERE status <> 'deleted' GROUP BY 1
          UNION ALL
          SELECT utc_day(last_seen_at), 0, count(*), 0, 0, 0, 0, 0 FROM users
          WHERE status <> 'deleted' AND last_seen_at IS NOT NULL GROUP BY 1
          UNION ALL
          SELECT utc_day(created_at), 0, 0, count(*), 0, 0, 0, 0 FROM runs GROUP BY 1
          UNION ALL
          SELECT utc_day(created_at), 0, 0, 0, sum(input_tokens), sum(output_tokens), sum(cost_nano_usd), 0
          FROM usage_records GROUP BY 1
          UNION ALL
          SELECT seen_day, 0, 0, 0, 0, 0, 0, count(*) FROM orgs WHERE seen_day IS NOT NULL GROUP BY 1)
        AS counted(day, users, seen_users, runs, input_tokens, output_tokens, cost_nano_usd, seen_workspaces)
    GROUP BY day;
END
$$;

SELECT platform_recount();

-- GET /v1/admin/dashboard. Seen in 30 days: today or on one of the 29 days (UTC) before. A user's personal
-- organization has no other member, and counts with the user.
CREATE OR REPLACE FUNCTION dashboard_json() RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    today date := utc_day(clock_timestamp());
    first_day date := today - 29;
BEGIN
    PERFORM need_platform_admin();
    RETURN (
        SELECT json_build_object('total_users', coalesce(sum(t.users), 0)::bigint,
            'active_users_30d', coalesce(sum(t.seen_users) FILTER (WHERE t.day >= first_day), 0)::bigint,
            'total_runs', coalesce(sum(t.runs), 0)::bigint,
            'runs_today', coalesce(sum(t.runs) FILTER (WHERE t.day = today), 0)::bigint,
            'total_input_tokens', saturated(coalesce(sum(t.input_tokens), 0)),
            'total_output_tokens', saturated(coalesce(sum(t.output_tokens), 0)),
            'active_orgs', coalesce(sum(t.seen_workspaces + t.seen_users) FILTER (WHERE t.day >= first_day), 0)::bigint,
            'total_cost_usd', usage_usd(sum(t.cost_nano_usd)))
        FROM (SELECT day, users, seen_users, runs, input_tokens, output_tokens, cost_nano_usd, seen_workspaces
              FROM platform_days
              UNION ALL
              SELECT day, users, seen_users, runs, input_tokens, output_tokens, cost_nano_usd, seen_workspaces
              FROM platform_deltas) AS t);
END
$$;

-- Running programs: the daemons that reported lately and did not stop, and the pools by the connections that they have
-- here. A pool is known by its host (fcgi/worker.cpp names it), a daemon by its row.
CREATE OR REPLACE FUNCTION node_list() RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM need_platform_admin();
    RETURN (
        SELECT coalesce(json_agg(json_build_object('kind', n.kind, 'id', n.id, 'host', n.host, 'version', n.version,
                   'started_at', rfc3339(n.started_at), 'heartbeat_at', rfc3339(n.heartbeat_at), 'runs', n.runs,
                   'streams', n.streams, 'connections', n.connections,
                   'maintenance', maintenance_json(n.id), 'findings', '[]'::json)
               ORDER BY n.kind, n.host, n.id), '[]')
        FROM (SELECT 'daemon' AS kind, d.id, d.host, d.version, d.started_at, d.heartbeat_at, d.runs, d.streams,
                  NULL::bigint AS connections
              FROM daemons d
              WHERE d.stopped_at IS NULL AND d.heartbeat_at > clock_timestamp() - interval '30 seconds'
              UNION ALL
              -- two of one host while it is upgraded
              SELECT 'pool', md5('pool ' || p.host || ' ' || p.version)::uuid, p.host, p.version,
                  min(p.backend_start), clock_timestamp(), 0, 0, count(*)
              FROM (SELECT split_part(a.application_name, ' ', 3) AS host,
                        split_part(a.application_name, ' ', 2) AS version, a.backend_start
                    FROM pg_stat_activity a
                    WHERE a.datname = current_database() AND a.application_name LIKE 'hostler-api/%') AS p
              GROUP BY p.host, p.version) AS n);
END
$$;

-- Facts about an installation's database and the work in it; lib/health has the words for them.
CREATE OR REPLACE FUNCTION platform_facts() RETURNS TABLE (
    server_version text, now_ms bigint, connections_max integer, connections bigint, connections_of_pools bigint,
    synchronous_standby_names text, is_watched_over boolean, is_durable boolean, transaction_s bigint,
    outbox_failed bigint, outbox_wait_s bigint, mails_refused bigint, mail_failing_s bigint, mail_fault text,
    mail_error text, admins bigint, daemons bigint, unclaimed bigint, mcp_failing bigint, mcp_failing_s bigint)
LANGUAGE sql STABLE SET search_path = public, pg_catalog AS $$
    SELECT current_setting('server_version') AS server_version,
           (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms,
           -- for programs that are no superuser
           current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
               AS connections_max,
           client.connections, client.connections_of_pools, current_setting('synchronous_standby_names')
               AS synchronous_standby_names,
           -- Patroni alone gives it there; it names another standby when one is lost.
           (SELECT source = 'command line' FROM pg_settings WHERE name = 'cluster_name') AS is_watched_over,
           current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on'
               AND current_setting('synchronous_commit') <> 'off' AS is_durable,
           (SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::bigint FROM pg_stat_activity
            WHERE datname = current_database() AND backend_type = 'client backend') AS transaction_s,
           (SELECT count(*) FROM outbox WHERE status = 'failed') AS outbox_failed,
           (SELECT coalesce(max(extract(epoch FROM clock_timestamp() - due)), 0)::bigint FROM (
                SELECT min(next_attempt_at) AS due FROM outbox WHERE status = 'pending' AND kind = 'mail'
                UNION ALL
                SELECT min(next_attempt_at) FROM outbox WHERE status = 'pending' AND kind = 'webhook') AS oldest
            WHERE due < clock_timestamp()) AS outbox_wait_s,
           refused.mails AS mails_refused,
           coalesce(extract(epoch FROM clock_timestamp() - longest.first_failed_at), 0)::bigint AS mail_failing_s,
           longest.last_fault AS mail_fault, longest.last_error AS mail_error,
           -- at most one is counted: there may be many users
           (SELECT count(*) FROM (SELECT FROM users WHERE platform_admin AND status = 'active' LIMIT 1) AS one)
               AS admins,
           (SELECT count(*) FROM daemons
            WHERE stopped_at IS NULL AND heartbeat_at > clock_timestamp() - interval '30 seconds') AS daemons,
           (SELECT count(*) FROM runs WHERE status = 'running' AND NOT queued AND owner_id IS NULL
                AND created_at < clock_timestamp() - interval '1 minute') AS unclaimed,
           -- at most so many are counted: tenants have as many as they like
           (SELECT count(*) FROM (SELECT FROM mcp_connections WHERE failing_since IS NOT NULL LIMIT 1000) AS few)
               AS mcp_failing,
           (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(failing_since)), 0)::bigint
            FROM mcp_connections WHERE failing_since IS NOT NULL) AS mcp_failing_s
    FROM (SELECT count(*) AS connections,
              count(*) FILTER (WHERE application_name LIKE 'hostler-api/%') AS connections_of_pools
          FROM pg_stat_activity WHERE usesysid IS NOT NULL AND datid IS NOT NULL) AS client
    CROSS JOIN (SELECT count(*) AS mails FROM outbox
                WHERE status = 'pending' AND kind = 'mail' AND first_failed_at IS NOT NULL) AS refused
    LEFT JOIN (SELECT first_failed_at, last_fault, last_error FROM outbox
               WHERE status = 'pending' AND kind = 'mail' AND first_failed_at IS NOT NULL
               ORDER BY first_failed_at LIMIT 1) AS longest ON true
$$;

-- The same for administrators, with what names the database as a node.
CREATE OR REPLACE FUNCTION database_facts() RETURNS TABLE (
    id uuid, name text, started_at text,
    server_version text, now_ms bigint, connections_max integer, connections bigint, connections_of_pools bigint,
    synchronous_standby_names text, is_watched_over boolean, is_durable boolean, transaction_s bigint,
    outbox_failed bigint, outbox_wait_s bigint, mails_refused bigint, mail_failing_s bigint, mail_fault text,
    mail_error text, admins bigint, daemons bigint, unclaimed bigint, mcp_failing bigint, mcp_failing_s bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM need_platform_admin();
    RETURN QUERY
        SELECT md5('database ' || current_database())::uuid, current_database()::text,
               rfc3339(pg_postmaster_start_time()), f.server_version, f.now_ms, f.connections_max, f.connections,
               f.connections_of_pools, f.synchronous_standby_names, f.is_watched_over, f.is_durable, f.transaction_s,
               f.outbox_failed, f.outbox_wait_s, f.mails_refused, f.mail_failing_s, f.mail_fault, f.mail_error,
               f.admins, f.daemons, f.unclaimed, f.mcp_failing, f.mcp_failing_s
        FROM platform_facts() f;
END
$$;
REVOKE EXECUTE ON FUNCTION platform_count_runs, platform_count_usage, platform_count_new_users, platform_count_user,
    platform_count_workspace, platform_count_member, workspace_seen, workspace_unseen, platform_recount
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION platform_roll_up FROM hostler_api;
REVOKE EXECUTE ON FUNCTION platform_facts FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION dashboard_json, node_list, database_facts FROM hostler_runner;
