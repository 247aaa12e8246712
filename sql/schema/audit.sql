-- The audit log: what was changed, tried and refused, by whom.

CREATE TABLE audit_logs (
    id uuid NOT NULL DEFAULT public.uuidv7(),
    org_id uuid,
    actor_user_id uuid,
    actor_api_key_id uuid,
    action text COLLATE "C" NOT NULL,
    target_type text,
    target_id text COLLATE "C",
    trace_id text,
    client_ip inet,
    user_agent text,
    before_state jsonb,
    after_state jsonb,
    result text NOT NULL DEFAULT 'ok' CHECK (result IN ('ok', 'denied', 'failed')),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- How often it happened within a minute; more than once for denials alone, which denial_key tells apart.
    count bigint NOT NULL DEFAULT 1 CHECK (count > 0),
    denial_key uuid,
    CONSTRAINT audit_logs_states_are_objects CHECK (
        jsonb_typeof(before_state) = 'object' AND jsonb_typeof(after_state) = 'object'),
    CONSTRAINT audit_logs_action_has_an_area CHECK (action ~ '^[a-z_]+\.[a-z_]+$'),
    PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE INDEX audit_logs_org ON audit_logs (org_id, id);
CREATE INDEX audit_logs_actor ON audit_logs (actor_user_id, id);
CREATE INDEX audit_logs_action ON audit_logs (action, id);
CREATE INDEX audit_logs_org_actor ON audit_logs (org_id, actor_user_id, id);
CREATE INDEX audit_logs_org_action ON audit_logs (org_id, action, id);
CREATE INDEX audit_logs_denial ON audit_logs (denial_key, id) WHERE denial_key IS NOT NULL;
-- For the erasure of a user: logins to the account that failed.
CREATE INDEX audit_logs_failed_logins ON audit_logs (target_id, id)
    WHERE actor_user_id IS NULL AND target_type = 'user';
CREATE INDEX audit_logs_invited ON audit_logs (target_id)
    WHERE action IN ('invitations.create', 'invitations.revoke');
SELECT make_tenant_table('audit_logs');
GRANT SELECT ON audit_logs TO hostler_api;

-- A state in the form that the log keeps, of at most 4 KiB. A longer one loses the ends of its long members, as text,
-- and, if they are too many for that, all but the first of them; "truncated" says so. So no caller fills the log with
-- changes, and a page of rows stays small.
CREATE OR REPLACE FUNCTION audit_state(state jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
DECLARE
    bytes_max CONSTANT integer := 4096;
    chars_max integer;
    shorter jsonb := CASE WHEN jsonb_typeof(state) = 'object' THEN state ELSE jsonb_build_object('value', state) END;
BEGIN
    IF state IS NULL OR octet_length(state::text) <= bytes_max THEN
        RETURN state;
    END IF;
    FOREACH chars_max IN ARRAY ARRAY[1000, 250, 60] LOOP
        SELECT jsonb_object_agg(m.key, CASE WHEN length(m.value::text) <= chars_max THEN m.value
                                            ELSE to_jsonb(left(m.value #>> '{}', chars_max)) END)
        INTO shorter FROM jsonb_each(shorter) AS m;
        EXIT WHEN octet_length(shorter::text) < bytes_max - 19;  -- beside "truncated": true
    END LOOP;
    SELECT jsonb_object_agg(m.key, m.value) INTO shorter
    FROM (SELECT key, value, sum(octet_length(to_jsonb(key)::text) + octet_length(value::text) + 4) OVER (ORDER BY key)
                             AS bytes FROM jsonb_each(shorter)) AS m
    WHERE m.bytes < bytes_max;
    RETURN coalesce(shorter, '{}') || '{"truncated": true}';
END
$$;

-- A row of the audit log, in the transaction of what it tells. org: null for platform matters.
CREATE OR REPLACE FUNCTION audit(action text, target_type text, target_id text, org uuid DEFAULT current_org(),
                                 before_state jsonb DEFAULT NULL, after_state jsonb DEFAULT NULL,
                                 result text DEFAULT 'ok', actor uuid DEFAULT current_user_id()) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    request jsonb := current_request();
BEGIN
    INSERT INTO audit_logs (org_id, actor_user_id, actor_api_key_id, action, target_type, target_id,
                            trace_id, client_ip, user_agent, before_state, after_state, result)
    SELECT org, actor, (request ->> 'api_key_id')::uuid, action, target_type, left(target_id, 200),
           request ->> 'trace_id', (request ->> 'client_ip')::inet, left(request ->> 'user_agent', 500),
           audit_state(before_state), audit_state(after_state), result;
END
$$;

CREATE OR REPLACE FUNCTION audit_json(a audit_logs) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', a.id, 'org_id', a.org_id, 'actor_user_id', a.actor_user_id,
        'actor_api_key_id', a.actor_api_key_id, 'action', a.action, 'target_type', a.target_type,
        'target_id', a.target_id, 'trace_id', a.trace_id, 'client_ip', host(a.client_ip),
        'user_agent', a.user_agent, 'before_state', a.before_state, 'after_state', a.after_state,
        'result', a.result, 'count', a.count, 'created_at', rfc3339(a.created_at))
$$;

-- Whose rows the caller may read: an organization, or null for all, platform rows too. wanted: as asked for, or null.
CREATE OR REPLACE FUNCTION audit_org(wanted uuid) RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := coalesce(wanted, current_org());
    own_role text;
BEGIN
    IF is_platform_admin() THEN
        IF wanted IS NOT NULL AND NOT EXISTS (SELECT 1 FROM orgs WHERE id = wanted) THEN
            PERFORM fail('orgs.not_found');
        END IF;
        RETURN wanted;
    END IF;
    SELECT role INTO own_role FROM org_members WHERE org_id = scope_id AND user_id = current_user_id();
    IF own_role IS NULL THEN
        PERFORM fail('orgs.not_found');
    ELSIF NOT 'org.audit.read' = ANY (role_permissions(own_role)) THEN
        PERFORM fail('auth.forbidden', 'permission_missing', jsonb_build_object('permission', 'org.audit.read'));
    END IF;
    RETURN scope_id;
END
$$;

-- The newest rows from low to below high, by the narrowest index there is: those of the organization (null: of all)
-- and, of the filters, of the actor, else of the action. What else is asked for is for the caller to look at. Months
-- are read from the newest on, and no more of them than the rows need: in the order of an index, whatever the
-- statistics are, since one who looks idle there would be read whole and sorted.
CREATE OR REPLACE FUNCTION audit_window(org uuid, actor uuid, wanted_action text, low uuid, high uuid, rows_max integer)
RETURNS SETOF audit_logs
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET enable_sort = off SET enable_bitmapscan = off AS $$
BEGIN
    IF org IS NOT NULL AND actor IS NOT NULL THEN
        RETURN QUERY SELECT a.* FROM audit_logs a WHERE a.org_id = org AND a.actor_user_id = actor
            AND a.id >= low AND a.id < high ORDER BY a.id DESC LIMIT rows_max;
    ELSIF org IS NOT NULL AND wanted_action IS NOT NULL THEN
        RETURN QUERY SELECT a.* FROM audit_logs a WHERE a.org_id = org AND a.action = wanted_action
            AND a.id >= low AND a.id < high ORDER BY a.id DESC LIMIT rows_max;
    ELSIF org IS NOT NULL THEN
        RETURN QUERY SELECT a.* FROM audit_logs a WHERE a.org_id = org
            AND a.id >= low AND a.id < high ORDER BY a.id DESC LIMIT rows_max;
    ELSIF actor IS NOT NULL THEN
        RETURN QUERY SELECT a.* FROM audit_logs a WHERE a.actor_user_id = actor
            AND a.id >= low AND a.id < high ORDER BY a.id DESC LIMIT rows_max;
    ELSIF wanted_action IS NOT NULL THEN
        RETURN QUERY SELECT a.* FROM audit_logs a WHERE a.action = wanted_action
            AND a.id >= low AND a.id < high ORDER BY a.id DESC LIMIT rows_max;
    ELSE
        RETURN QUERY SELECT a.* FROM audit_logs a WHERE a.id >= low AND a.id < high ORDER BY a.id DESC LIMIT rows_max;
    END IF;
END
$$;

-- GET /v1/audit-logs. At most 10,000 rows are looked at: a page of rare rows may end early, and says so by its
-- next_before. An id is made a moment before its row's time, so ids bound the times by a second more. The page is cut
-- as page_of() cuts one, but here while rows are read: those from before audit_state() may have a MiB each, and 201 of
-- them would be collected several times over.
CREATE OR REPLACE FUNCTION audit_page(wanted_org uuid, wanted_action text, actor uuid, wanted_target text,
    wanted_target_id text, since timestamptz, until timestamptz, page_limit integer, before uuid, OUT body text,
    OUT next uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid := audit_org(wanted_org);
    epoch constant timestamptz := '1970-01-02T00:00:00Z';
    low uuid := uuidv7_floor(greatest(since - interval '1 s', epoch));
    high uuid := least(before, 'ffffffff-ffff-ffff-ffff-ffffffffffff',
                       CASE WHEN until IS NOT NULL THEN uuidv7_floor(greatest(until, epoch) + interval '1 s') END);
    rows_max integer := page_limit + 1;
    looked_at integer := 0;
    in_window integer;
    last_id uuid;
    item text;
    items text[] := '{}';
    bytes bigint := 0;
    a audit_logs;
BEGIN
    LOOP
        in_window := 0;
        FOR a IN SELECT w.* FROM audit_window(org, actor, wanted_action, low, high, rows_max) w LOOP
            in_window := in_window + 1;
            high := a.id;
            IF (wanted_action IS NULL OR a.action = wanted_action) AND (actor IS NULL OR a.actor_user_id = actor)
               AND (wanted_target IS NULL OR a.target_type = wanted_target)
               AND (wanted_target_id IS NULL OR a.target_id = wanted_target_id)
               AND (since IS NULL OR a.created_at >= since) AND (until IS NULL OR a.created_at < until) THEN
                item := CASE WHEN cardinality(items) < page_limit THEN audit_json(a) END;
                bytes := bytes + octet_length(item);
                IF item IS NULL OR (bytes > 4194304 AND last_id IS NOT NULL) THEN
                    next := last_id;
                    EXIT;
                END IF;
                last_id := a.id;
                items := items || item;
            END IF;
        END LOOP;
        looked_at := looked_at + in_window;
        EXIT WHEN next IS NOT NULL OR in_window < rows_max OR looked_at >= 10000;
        rows_max := 1000;
    END LOOP;
    next := coalesce(next, CASE WHEN looked_at >= 10000 AND in_window = rows_max THEN high END);
    body := format('{"data":[%s],"has_more":%s,"next_before":%s}', array_to_string(items, ','),
                   (next IS NOT NULL)::text, coalesce('"' || next || '"', 'null'));
END
$$;

-- Partitions of this month to three months ahead. Answers how many were made.
CREATE OR REPLACE FUNCTION audit_logs_make_partitions() RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT month_partitions_make('audit_logs', 3)
$$;

SELECT audit_logs_make_partitions();

-- Drops the oldest month of which every row is older, whole; 0 days: nothing ever. Answers how many it dropped, 0 or
-- 1.
CREATE OR REPLACE FUNCTION audit_logs_prune(retention_days integer) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT CASE WHEN retention_days > 0 THEN
        month_partitions_expire('audit_logs', make_interval(days => retention_days)) ELSE 0 END
$$;

-- The newest batch of denials that a process wrote: one that is sent again counts once.
CREATE TABLE audit_writers (
    id uuid PRIMARY KEY,
    last_batch bigint NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Adds a row to the one of its denial_key in its minute, or becomes that row. Concurrent writers of the same row come
-- one after the other.
CREATE OR REPLACE FUNCTION audit_gather(entry audit_logs) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    minute timestamptz := date_trunc('minute', entry.created_at);
BEGIN
    IF EXISTS (SELECT FROM users u WHERE u.id = entry.actor_user_id AND u.status = 'deleted') THEN
        entry.client_ip := NULL;
        entry.user_agent := NULL;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('audit ' || entry.denial_key, 0));
    UPDATE audit_logs a SET count = a.count + entry.count
    WHERE a.denial_key = entry.denial_key AND a.id >= uuidv7_floor(minute)
          AND a.id < uuidv7_floor(minute + interval '1 minute');
    IF NOT FOUND THEN
        INSERT INTO audit_logs (id, org_id, actor_user_id, actor_api_key_id, action, target_type, target_id, trace_id,
                                client_ip, user_agent, after_state, result, created_at, count, denial_key)
        SELECT entry.id, entry.org_id, entry.actor_user_id, entry.actor_api_key_id, entry.action, entry.target_type,
               entry.target_id, entry.trace_id, entry.client_ip, entry.user_agent, entry.after_state, entry.result,
               entry.created_at, entry.count, entry.denial_key;
    END IF;
END
$$;

-- Denials as the row they are or belong to: those of one caller on one route with one code. An array of {org_id,
-- user_id, api_key_hash (hex), route, code, target, trace_id, client_ip, user_agent, count, age_ms (of the first)}.
CREATE OR REPLACE FUNCTION audit_denial_rows(denials jsonb) RETURNS SETOF audit_logs
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT uuidv7_at((extract(epoch FROM d.at) * 1000000)::bigint), d.org_id, d.user_id, k.id, 'access.denied',
           'request', left(d.target, 200), d.trace_id, d.client_ip, left(d.user_agent, 500), NULL::jsonb,
           jsonb_build_object('code', d.code, 'route', d.route), 'denied', d.at, d.count,
           encode(substr(sha256(convert_to(concat_ws('|', 'denied', coalesce(d.org_id::text, '-'),
               coalesce(d.user_id::text, '-'), coalesce(k.id::text, '-'), d.code, d.route), 'UTF8')), 1, 16),
               'hex')::uuid
    FROM (SELECT e.*, clock_timestamp() - least(e.age_ms, 86400000) * interval '1 ms' AS at
          FROM jsonb_to_recordset(denials) AS e(org_id uuid, user_id uuid, api_key_hash text, route text, code text,
              target text, trace_id text, client_ip inet, user_agent text, count bigint, age_ms bigint)) AS d
    -- Limited, so that it is looked up by its index for each of the few.
    LEFT JOIN LATERAL (SELECT a.id FROM api_keys a WHERE a.hash = decode(d.api_key_hash, 'hex') LIMIT 1) AS k ON true
$$;

-- Records denials, some time after their answers. A process (writer) numbers its batches, and a batch that it sends
-- again because no answer came changes nothing. dropped: how many it had to drop before.
CREATE OR REPLACE FUNCTION audit_denials(writer uuid, batch bigint, denials jsonb, dropped bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    entry audit_logs;
BEGIN
    IF batch = 1 THEN
        DELETE FROM audit_writers WHERE id IN (
            SELECT id FROM audit_writers WHERE updated_at < clock_timestamp() - interval '1 day'
            FOR UPDATE SKIP LOCKED);
    END IF;
    INSERT INTO audit_writers AS w (id, last_batch) VALUES (writer, batch)
    ON CONFLICT (id) DO UPDATE SET last_batch = excluded.last_batch, updated_at = clock_timestamp()
    WHERE w.last_batch < excluded.last_batch;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    FOR entry IN SELECT r.* FROM audit_denial_rows(denials) AS r ORDER BY r.denial_key, r.id LOOP
        PERFORM audit_gather(entry);
    END LOOP;
    IF dropped > 0 THEN
        entry := NULL;
        entry.created_at := clock_timestamp();
        entry.id := uuidv7_at((extract(epoch FROM entry.created_at) * 1000000)::bigint);
        entry.action := 'access.denials_dropped';
        entry.result := 'failed';
        entry.count := dropped;
        entry.denial_key := '00000000-0000-0000-0000-000000000000';
        PERFORM audit_gather(entry);
    END IF;
END
$$;

-- A login that failed: of a known user by the id, of nobody by the keyed hash that the request brings (login_hmac).
-- login_method: null for a password.
CREATE OR REPLACE FUNCTION audit_login_failed(candidate uuid, login_method text DEFAULT NULL) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT audit('auth.login', 'user', candidate::text, NULL, NULL,
        nullif(jsonb_strip_nulls(jsonb_build_object('by', login_method, 'login_hmac',
            CASE WHEN candidate IS NULL THEN current_request() ->> 'login_hmac' END)), '{}'), 'failed', NULL)
$$;

-- Called when a user is deleted: removes their address and name from the log. An address stands in invitations to it,
-- and in test mails, where the words of the mail server may repeat it. It stays there if they did not prove that it is
-- theirs, because otherwise anybody could remove it from the acts of others. The name of a personal organization is
-- made of its owner's. gone: the user as they were.
CREATE OR REPLACE FUNCTION audit_forget(address text, entered text, org uuid, at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    taken bigint;
    most bigint;
BEGIN
    UPDATE audit_logs SET before_state = before_state - 'email', after_state = after_state - 'email'
    WHERE id IN (
        SELECT a.id FROM audit_logs a
        WHERE a.action IN ('invitations.create', 'invitations.revoke')
              AND a.target_id IN (SELECT i.id::text FROM org_invitations i WHERE i.email_key = address)
              AND (a.before_state ? 'email' OR a.after_state ? 'email')
        LIMIT at_most);
    GET DIAGNOSTICS most = ROW_COUNT;
    UPDATE audit_logs SET after_state = after_state - ARRAY['to', 'error']
    WHERE id IN (SELECT a.id FROM audit_logs a
                 WHERE a.action = 'email.test' AND address IS NOT NULL
                       AND name_key(a.after_state ->> 'to') IN (address, entered) LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    most := greatest(most, taken);
    UPDATE audit_logs SET before_state = before_state - 'name', after_state = after_state - 'name'
    WHERE id IN (SELECT a.id FROM audit_logs a
                 WHERE a.action = 'orgs.update' AND a.org_id = org
      AND (a.before_state ? 'name' OR a.after_state ? 'name')
                 LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    RETURN greatest(most, taken);
END
$$;
REVOKE EXECUTE ON FUNCTION audit_state, audit_org, audit_window, audit_gather, audit_denial_rows, audit_login_failed,
    audit_forget FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION audit_page FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION audit_logs_make_partitions, audit_logs_prune FROM hostler_api;
