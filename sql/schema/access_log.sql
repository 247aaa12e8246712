-- One row of every request, as nginx logged it, for administrators.
--
-- The daemon that tails nginx's files writes only here, through access_log_append(). The order of ids is the order of
-- commits, so a reader that continues from an id misses nothing.

CREATE TABLE access_log (
    id uuid PRIMARY KEY,
    at timestamptz NOT NULL,  -- when the request came
    trace_id text NOT NULL,
    method text NOT NULL,
    path text NOT NULL,
    status_code integer NOT NULL,
    duration_ms bigint NOT NULL,
    client_ip inet,  -- null: of a user who is deleted
    country text NOT NULL,
    city text NOT NULL,
    user_agent text NOT NULL,
    ua_type text NOT NULL,
    risk_score double precision NOT NULL,
    identity_type text NOT NULL,
    org_id uuid,  -- null with user_id: nobody was signed in
    user_id uuid
) PARTITION BY RANGE (id);

-- Other filters are answered by a bounded walk along the ids (access_log_page).
CREATE INDEX access_log_client ON access_log (client_ip, id);
CREATE INDEX access_log_user ON access_log (user_id, id) WHERE user_id IS NOT NULL;  -- for the erasure of a user
CREATE INDEX access_log_org ON access_log (org_id, id) WHERE org_id IS NOT NULL;  -- for that of an organization
SELECT make_tenant_table('access_log');

-- How far each of nginx's files is read: written with its rows. file: host, path and inode.
CREATE TABLE access_log_files (
    file text COLLATE "C" PRIMARY KEY,
    bytes_read bigint NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX access_log_files_updated ON access_log_files (updated_at);

-- The newest id's time in microseconds. Who writes holds this row until the commit.
CREATE TABLE access_log_tail (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    last_us bigint NOT NULL
);

INSERT INTO access_log_tail (last_us) VALUES (0);

-- Creates a day's partition (UTC) if it is missing.
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

CREATE OR REPLACE FUNCTION utc_day(us bigint) RETURNS date
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (to_timestamp(us / 1000000) AT TIME ZONE 'UTC')::date
$$;

-- The rows of an array of objects with the columns as members, at in seconds; ids from first_us on. Of a user who was
-- deleted meanwhile, and of an organization that was erased, neither address nor user agent.
CREATE OR REPLACE FUNCTION access_log_insert(entries json, first_us bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    INSERT INTO access_log (id, at, trace_id, method, path, status_code, duration_ms, client_ip, country, city,
                            user_agent, ua_type, risk_score, identity_type, org_id, user_id)
    SELECT uuidv7_at(first_us + e.n), to_timestamp(e.at), e.trace_id, e.method, e.path, e.status_code, e.duration_ms,
           CASE WHEN g.gone IS NULL THEN e.client_ip END, e.country, CASE WHEN g.gone IS NULL THEN e.city ELSE '' END,
           CASE WHEN g.gone IS NULL THEN e.user_agent ELSE '' END, e.ua_type, e.risk_score, e.identity_type, e.org_id,
           e.user_id
    FROM ROWS FROM (json_to_recordset(entries) AS (
        at double precision, trace_id text, method text, path text, status_code integer, duration_ms bigint,
        client_ip inet, country text, city text, user_agent text, ua_type text, risk_score double precision,
        identity_type text, org_id uuid, user_id uuid)) WITH ORDINALITY
        AS e(at, trace_id, method, path, status_code, duration_ms, client_ip, country, city, user_agent, ua_type,
             risk_score, identity_type, org_id, user_id, n)
    LEFT JOIN LATERAL (
        SELECT true AS gone FROM users q WHERE q.id = e.user_id AND q.status = 'deleted'
        UNION ALL SELECT true FROM orgs q WHERE q.id = e.org_id AND q.erased_at IS NOT NULL
        LIMIT 1) AS g ON true;
$$;

-- Appends what was read of a file, once: when the file is not read up to bytes_from (an answer that was lost, another
-- daemon), nothing is written. Answers how far it is read; and how many entries no row can be made of, with the first
-- of them and the reason: they are left out, so that one does not keep out all that follow.
CREATE OR REPLACE FUNCTION access_log_append(log_file text, bytes_from bigint, bytes_to bigint, entries json,
                                  OUT bytes_read bigint, OUT skipped integer, OUT bad_entry text, OUT reason text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    count integer := json_array_length(entries);
    first_us bigint;
    entry record;
BEGIN
    skipped := 0;
    -- From here to the commit nobody else appends.
    UPDATE access_log_tail SET last_us =
        greatest(last_us + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) + count
    RETURNING last_us - count INTO first_us;
    bytes_read := coalesce((SELECT f.bytes_read FROM access_log_files f WHERE f.file = log_file), 0);
    IF bytes_read <> bytes_from THEN
        RETURN;
    END IF;
    PERFORM access_log_make_partition(utc_day(first_us)), access_log_make_partition(utc_day(first_us + count));
    BEGIN
        PERFORM access_log_insert(entries, first_us);
    EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
        FOR entry IN SELECT e.value, e.n FROM json_array_elements(entries) WITH ORDINALITY AS e(value, n) LOOP
            BEGIN
                PERFORM access_log_insert(json_build_array(entry.value), first_us + entry.n - 1);
            EXCEPTION WHEN data_exception OR integrity_constraint_violation THEN
                skipped := skipped + 1;
                bad_entry := coalesce(bad_entry, entry.value::text);
                reason := coalesce(reason, SQLERRM);
            END;
        END LOOP;
    END;
    bytes_read := bytes_to;
    INSERT INTO access_log_files AS f (file, bytes_read) VALUES (log_file, bytes_to)
    ON CONFLICT (file) DO UPDATE SET bytes_read = excluded.bytes_read, updated_at = clock_timestamp();
END
$$;

SELECT access_log_make_partition((clock_timestamp() AT TIME ZONE 'UTC')::date + ahead)
FROM generate_series(0, 3) AS ahead;

CREATE OR REPLACE FUNCTION access_log_json(entry access_log, username text) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_build_object('id', entry.id, 'timestamp', rfc3339(entry.at), 'trace_id', entry.trace_id,
        'method', entry.method, 'path', entry.path, 'status_code', entry.status_code,
        'duration_ms', entry.duration_ms, 'client_ip', coalesce(host(entry.client_ip), ''), 'country', entry.country,
        'city', entry.city, 'user_agent', entry.user_agent, 'ua_type', entry.ua_type,
        'risk_score', entry.risk_score, 'identity_type', entry.identity_type,
        'org_id', coalesce(entry.org_id::text, ''), 'user_id', coalesce(entry.user_id::text, ''),
        'username', coalesce(username, ''))
$$;

-- GET /v1/admin/access-log. wanted: {limit, before, since, method, path, ip, country, risk_min, ua_type}. Walks along
-- the ids, newest first, or oldest first after since; with ip along that address's index. A walk ends after
-- rows_read_max rows: then the page may be short, has_more says so and next_before or next_since goes on from there.
-- With since, next_since is always present for clients that follow the log: the last id looked at, else the given one.
CREATE OR REPLACE FUNCTION access_log_page(wanted jsonb, rows_read_max integer DEFAULT 100000) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    page_limit integer := (wanted ->> 'limit')::integer;
    since uuid := coalesce((wanted ->> 'since')::uuid, '00000000-0000-0000-0000-000000000000');
    -- No partition of days to come is looked at.
    before uuid := coalesce((wanted ->> 'before')::uuid, uuidv7_floor(clock_timestamp() + interval '1 minute'));
    address inet := (wanted ->> 'ip')::inet;
    is_forward boolean := wanted ->> 'since' IS NOT NULL;
    -- A constant text in each of its four forms.
    walk text := 'FROM access_log WHERE id > $1 AND id < $2'
        || CASE WHEN address IS NULL THEN '' ELSE ' AND client_ip = $3' END
        || CASE WHEN is_forward THEN ' ORDER BY id' ELSE ' ORDER BY id DESC' END;
    found access_log[];
    last_id uuid;
    next_since uuid;
    data json;
BEGIN
    PERFORM need_platform_admin();
    EXECUTE 'SELECT array_agg(ROW(e.*)::access_log) FROM (SELECT * FROM (SELECT * ' || walk || ' LIMIT $4) AS walked '
        'WHERE ($5 IS NULL OR method = $5) AND ($6 IS NULL OR starts_with(path, $6)) AND ($7 IS NULL OR country = $7) '
        'AND ($8 IS NULL OR ua_type = $8) AND ($9 IS NULL OR risk_score >= $9) LIMIT $10) AS e'
    INTO found USING since, before, address, rows_read_max, wanted ->> 'method', wanted ->> 'path',
        wanted ->> 'country', wanted ->> 'ua_type', (wanted ->> 'risk_min')::double precision, page_limit + 1;
    IF cardinality(found) > page_limit THEN
        last_id := (found[page_limit]).id;
    ELSE
        -- Where the walk ended, when more was there than it read.
        EXECUTE 'SELECT id ' || walk || ' OFFSET $4 - 1 LIMIT 1'
        INTO last_id USING since, before, address, rows_read_max;
    END IF;
    IF is_forward THEN
        -- A walk that ended by itself looked at all there is.
        next_since := coalesce(last_id, (SELECT e.id FROM access_log e WHERE e.id > since AND e.id < before
                                         ORDER BY e.id DESC LIMIT 1), since);
    END IF;
    SELECT json_agg(access_log_json(found[n], u.username) ORDER BY n) INTO data
    FROM generate_series(1, least(coalesce(cardinality(found), 0), page_limit)) AS n
    LEFT JOIN users u ON u.id = (found[n]).user_id;
    RETURN json_build_object('data', coalesce(data, '[]'), 'has_more', last_id IS NOT NULL,
        'next_before', CASE WHEN NOT is_forward THEN last_id END, 'next_since', next_since);
END
$$;

-- Partitions of today and three days ahead.
CREATE OR REPLACE FUNCTION access_log_make_partitions() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog SET lock_timeout = '200ms' AS $$
    SELECT access_log_make_partition(utc_day((extract(epoch FROM clock_timestamp()) * 1000000)::bigint) + ahead)
    FROM generate_series(0, 3) AS ahead
$$;

CREATE OR REPLACE FUNCTION access_log_prune(retention_days integer) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT oldest_partition_drop('access_log',
        (date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') - make_interval(days => retention_days))
        AT TIME ZONE 'UTC')
$$;

-- Forgets files that were read long ago, at most so many. Answers how many.
CREATE OR REPLACE FUNCTION access_log_files_prune(at_most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    WITH gone AS (
        DELETE FROM access_log_files WHERE file = ANY (ARRAY(
            SELECT file FROM access_log_files WHERE updated_at < now() - interval '2 days'
            ORDER BY updated_at LIMIT at_most FOR UPDATE SKIP LOCKED))
        RETURNING 1)
    SELECT count(*) FROM gone
$$;
REVOKE EXECUTE ON FUNCTION access_log_append, access_log_make_partition, access_log_make_partitions, access_log_prune,
    access_log_files_prune
    FROM hostler_api;
REVOKE EXECUTE ON FUNCTION access_log_insert FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION access_log_page FROM hostler_runner;
