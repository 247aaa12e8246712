-- Why: the audit log grew without end. Denials of one caller on one route are one row a minute, a target is short, and
-- months are partitions that go whole. What names somebody is a keyed hash, and goes with its user.
-- Locks: audit_logs, exclusively, while its failed logins, changed profiles and ids are read: seconds for a million
-- rows. They stay where they are, as the partition of this month and all before it, and go when this month does.

DROP FUNCTION audit_page, audit_window, audit_json, audit_denied;

-- count: how often it happened within a minute; more than once for denials alone, which denial_key tells apart.
ALTER TABLE audit_logs
    ADD COLUMN count bigint NOT NULL DEFAULT 1 CHECK (count > 0),
    ADD COLUMN denial_key uuid;
-- A list of names reverses these.
UPDATE audit_logs SET after_state = nullif(after_state - 'login_sha256', '{}') WHERE after_state ? 'login_sha256';
UPDATE audit_logs SET before_state = before_state - ARRAY['username_sha256', 'email_sha256'],
    after_state = after_state - ARRAY['username_sha256', 'email_sha256']
WHERE action = 'users.update';

DO $$
DECLARE
    this_month timestamp := date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC');
    until_now text := 'audit_logs_' || to_char(this_month, 'YYYY_MM');
    index name;
BEGIN
    EXECUTE format('ALTER TABLE audit_logs RENAME TO %I', until_now);
    FOR index IN SELECT i.indexrelid::regclass::text FROM pg_index i WHERE i.indrelid = until_now::regclass LOOP
        EXECUTE format('ALTER INDEX %I RENAME TO %I', index, replace(index, 'audit_logs', until_now));
    END LOOP;
    EXECUTE format('CREATE TABLE audit_logs (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (id)',
                   until_now);
    ALTER TABLE audit_logs ADD PRIMARY KEY (id);
    CREATE INDEX audit_logs_org ON audit_logs (org_id, id);
    CREATE INDEX audit_logs_actor ON audit_logs (actor_user_id, id);
    CREATE INDEX audit_logs_action ON audit_logs (action, id);
    CREATE INDEX audit_logs_org_actor ON audit_logs (org_id, actor_user_id, id);
    CREATE INDEX audit_logs_org_action ON audit_logs (org_id, action, id);
    EXECUTE format('ALTER TABLE audit_logs ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', until_now,
                   uuidv7_floor((this_month + interval '1 month') AT TIME ZONE 'UTC'));
    -- Partitions are reached through their parent only.
    EXECUTE format('DROP POLICY tenant ON %I', until_now);
    EXECUTE format('REVOKE ALL ON %I FROM hostler_api', until_now);
END
$$;
CREATE INDEX audit_logs_denial ON audit_logs (denial_key, id) WHERE denial_key IS NOT NULL;
CREATE INDEX audit_logs_invited ON audit_logs (name_key(coalesce(after_state, before_state) ->> 'email'))
    WHERE action IN ('invitations.create', 'invitations.revoke');
ALTER TABLE audit_logs ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_logs FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON audit_logs USING (org_id = current_org()) WITH CHECK (org_id = current_org());
GRANT SELECT ON audit_logs TO hostler_api;

-- Partitions of this month to three months ahead. Answers how many were made.
CREATE FUNCTION audit_logs_make_partitions() RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT month_partitions_make('audit_logs', 3)
$$;
SELECT audit_logs_make_partitions();

-- Drops the oldest month of which every row is older, whole; 0 days: nothing ever. Answers how many it dropped, 0 or 1.
CREATE FUNCTION audit_logs_prune(retention_days integer) RETURNS integer
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
           request ->> 'trace_id', (request ->> 'client_ip')::inet, left(request ->> 'user_agent', 500), before_state,
           after_state, result;
END
$$;

-- Adds a row to the one of its denial_key in its minute, or is that row. Whoever writes the same at once comes one
-- after the other.
CREATE FUNCTION audit_gather(told audit_logs) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    minute timestamptz := date_trunc('minute', told.created_at);
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('audit ' || told.denial_key, 0));
    UPDATE audit_logs a SET count = a.count + told.count
    WHERE a.denial_key = told.denial_key AND a.id >= uuidv7_floor(minute)
          AND a.id < uuidv7_floor(minute + interval '1 minute');
    IF NOT FOUND THEN
        INSERT INTO audit_logs (id, org_id, actor_user_id, actor_api_key_id, action, target_type, target_id, trace_id,
                                client_ip, user_agent, after_state, result, created_at, count, denial_key)
        SELECT told.id, told.org_id, told.actor_user_id, told.actor_api_key_id, told.action, told.target_type,
               told.target_id, told.trace_id, told.client_ip, told.user_agent, told.after_state, told.result,
               told.created_at, told.count, told.denial_key;
    END IF;
END
$$;

-- Denials as the row they are or belong to: those of one caller on one route with one code. An array of {org_id,
-- user_id, api_key_hash (hex), route, code, target, trace_id, client_ip, user_agent, count, age_ms (of the first)}.
CREATE FUNCTION audit_denial_rows(denials jsonb) RETURNS SETOF audit_logs
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

-- Tells of denials, some time after their answers: a process (writer) numbers its batches, and one that it sends again
-- because no answer came changes nothing. dropped: how many it had to give up before.
CREATE FUNCTION audit_denials(writer uuid, batch bigint, denials jsonb, dropped bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    told audit_logs;
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
    FOR told IN SELECT r.* FROM audit_denial_rows(denials) AS r ORDER BY r.denial_key, r.id LOOP
        PERFORM audit_gather(told);
    END LOOP;
    IF dropped > 0 THEN
        told := NULL;
        told.created_at := clock_timestamp();
        told.id := uuidv7_at((extract(epoch FROM told.created_at) * 1000000)::bigint);
        told.action := 'access.denials_dropped';
        told.result := 'failed';
        told.count := dropped;
        told.denial_key := '00000000-0000-0000-0000-000000000000';
        PERFORM audit_gather(told);
    END IF;
END
$$;

-- A login that failed: of a known user by the id, of nobody by the keyed hash that the request brings (login_hmac).
-- way: how somebody tried to log in, null for a password.
CREATE FUNCTION audit_login_failed(candidate uuid, way text DEFAULT NULL) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT audit('auth.login', 'user', candidate::text, NULL, NULL,
        nullif(jsonb_strip_nulls(jsonb_build_object('by', way, 'login_hmac',
            CASE WHEN candidate IS NULL THEN current_request() ->> 'login_hmac' END)), '{}'), 'failed', NULL)
$$;

-- When a user is deleted: addresses that invitations told of are taken out of the log. gone: the user as they were.
CREATE FUNCTION audit_forget(gone users) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    UPDATE audit_logs SET before_state = before_state - 'email', after_state = after_state - 'email'
    WHERE action IN ('invitations.create', 'invitations.revoke')
          AND name_key(coalesce(after_state, before_state) ->> 'email') = name_key(gone.email)
$$;

-- The second half, after the password was checked against checked_hash. Answers ok, refused, suspended or risky; what
-- it wrote is to be committed in each case. new_hash: the same password with today's parameters, or null.
CREATE OR REPLACE FUNCTION login_finish(typed text, candidate uuid, is_right boolean, checked_hash text, new_hash text,
    access_hash bytea, refresh_hash bytea, terms jsonb) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    key text := coalesce(candidate::text, name_key(typed));
    who users;
    begun uuid;
BEGIN
    SELECT * INTO who FROM users WHERE id = candidate AND password_hash = checked_hash AND is_right FOR NO KEY UPDATE;
    IF who.id IS NULL THEN
        PERFORM set_config('synchronous_commit', 'off', true);  -- a guess need not wait for the disk
        PERFORM login_failed(key, terms);
        PERFORM audit_login_failed(candidate);
        RETURN 'refused';
    END IF;
    PERFORM login_guard(key, terms);
    IF who.status <> 'active' THEN
        PERFORM audit('auth.login', 'user', who.id::text, who.personal_org_id, NULL, NULL, 'denied', who.id);
        RETURN 'suspended';
    END IF;
    IF current_request() ? 'is_risky' AND NOT who.platform_admin THEN
        PERFORM audit('auth.login', 'user', who.id::text, who.personal_org_id, NULL, NULL, 'denied', who.id);
        RETURN 'risky';
    END IF;
    UPDATE login_failures SET is_forgiven = true
    WHERE login_key = key AND client_ip = request_ip() AND NOT is_forgiven;
    IF new_hash IS NOT NULL THEN
        UPDATE users SET password_hash = new_hash WHERE id = who.id;
    END IF;
    begun := session_begin(who.id, 'password', access_hash, refresh_hash, terms);
    PERFORM audit('auth.login', 'session', begun::text, who.personal_org_id, NULL, NULL, 'ok', who.id);
    RETURN 'ok';
END
$$;

-- What the audit log keeps of a profile. It outlives the user: neither names nor address, nor hashes of them.
CREATE OR REPLACE FUNCTION user_audit_state(u users) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('email_verified', u.email_verified_at IS NOT NULL, 'locale', u.locale,
        'timezone', u.timezone)
$$;

-- PATCH /v1/admin/users/{user_id}: changes holds only what is to change. A deleted user does not come back.
CREATE OR REPLACE FUNCTION admin_user_update(who uuid, changes jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    was users := admin_user(who);
    now_is users;
    named_anew jsonb;
BEGIN
    IF who = current_user_id() AND changes ->> 'status' = 'suspended' THEN
        PERFORM fail('users.self', 'Another administrator may suspend you.');
    END IF;
    IF changes ? 'status' THEN
        PERFORM user_set_status(who, changes ->> 'status');
    END IF;
    SELECT * INTO was FROM users WHERE id = who AND status <> 'deleted' FOR NO KEY UPDATE;
    IF was.id IS NULL THEN
        PERFORM fail('users.not_found', 'The user is deleted.');
    END IF;
    IF changes ? 'username' THEN
        PERFORM user_rename(was, changes ->> 'username');
    END IF;
    IF changes ? 'email' THEN
        PERFORM user_set_email(was, changes ->> 'email');
    END IF;
    UPDATE users SET locale = coalesce(changes ->> 'locale', locale),
        timezone = coalesce(changes ->> 'timezone', timezone),
        email_verified_at = CASE (changes ->> 'email_verified')::boolean
            WHEN true THEN coalesce(email_verified_at, clock_timestamp()) WHEN false THEN NULL
            ELSE email_verified_at END
    WHERE id = who RETURNING * INTO now_is;
    named_anew := jsonb_build_object('username_changed', now_is.username <> was.username,
                                     'email_changed', now_is.email <> was.email);
    IF user_audit_state(now_is) <> user_audit_state(was) OR named_anew @? '$.* ? (@ == true)' THEN
        PERFORM audit('users.update', 'user', who::text, NULL, user_audit_state(was),
                      user_audit_state(now_is) || named_anew);
    END IF;
    RETURN admin_user_detail_json(now_is);
END
$$;

CREATE FUNCTION audit_json(a audit_logs) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', a.id, 'org_id', a.org_id, 'actor_user_id', a.actor_user_id,
        'actor_api_key_id', a.actor_api_key_id, 'action', a.action, 'target_type', a.target_type,
        'target_id', a.target_id, 'trace_id', a.trace_id, 'client_ip', host(a.client_ip),
        'user_agent', a.user_agent, 'before_state', a.before_state, 'after_state', a.after_state,
        'result', a.result, 'count', a.count, 'created_at', rfc3339(a.created_at))
$$;

-- The newest rows from low to below high, by the narrowest index there is: those of the organization (null: of all)
-- and, of the filters, of the actor, else of the action. What else is asked for is for the caller to look at. Months
-- are read from the newest on, and no more of them than the rows need.
CREATE FUNCTION audit_window(org uuid, actor uuid, wanted_action text, low uuid, high uuid, rows_max integer)
RETURNS SETOF audit_logs
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
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
-- next_before. An id is made a moment before its row's time, so ids bound the times by a second more.
CREATE FUNCTION audit_page(wanted_org uuid, wanted_action text, actor uuid, wanted_target text, since timestamptz,
    until timestamptz, page_limit integer, before uuid, OUT body text, OUT next uuid)
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
    ids uuid[] := '{}';
    items json[] := '{}';
    a audit_logs;
    page record;
BEGIN
    LOOP
        in_window := 0;
        FOR a IN SELECT w.* FROM audit_window(org, actor, wanted_action, low, high, rows_max) w LOOP
            in_window := in_window + 1;
            high := a.id;
            IF (wanted_action IS NULL OR a.action = wanted_action) AND (actor IS NULL OR a.actor_user_id = actor)
               AND (wanted_target IS NULL OR a.target_type = wanted_target)
               AND (since IS NULL OR a.created_at >= since) AND (until IS NULL OR a.created_at < until) THEN
                ids := ids || a.id;
                items := items || audit_json(a);
            END IF;
            EXIT WHEN cardinality(ids) > page_limit;
        END LOOP;
        looked_at := looked_at + in_window;
        EXIT WHEN cardinality(ids) > page_limit OR in_window < rows_max OR looked_at >= 10000;
        rows_max := 1000;
    END LOOP;
    SELECT p.body, p.next INTO page FROM page_of(ids, items, page_limit) p;
    next := coalesce(page.next, CASE WHEN looked_at >= 10000 AND in_window = rows_max THEN high END);
    body := format('{"data":%s,"has_more":%s,"next_before":%s}', page.body, (next IS NOT NULL)::text,
                   coalesce('"' || next || '"', 'null'));
END
$$;
REVOKE EXECUTE ON FUNCTION audit_window, audit_gather, audit_denial_rows, audit_login_failed, audit_forget,
    audit_logs_make_partitions, audit_logs_prune FROM hostler_api;
REVOKE EXECUTE ON FUNCTION audit_window, audit_page, audit_gather, audit_denial_rows, audit_login_failed, audit_forget
    FROM hostler_runner;
