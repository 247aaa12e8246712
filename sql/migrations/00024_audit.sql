-- Why: the audit log is read, with filters. Locks: audit_logs, for writes, while indexes are made and checks added.

ALTER TABLE audit_logs
    ADD CONSTRAINT audit_logs_states_are_objects CHECK (jsonb_typeof(before_state) = 'object'
        AND jsonb_typeof(after_state) = 'object'),
    ADD CONSTRAINT audit_logs_action_has_an_area CHECK (action ~ '^[a-z_]+\.[a-z_]+$');
CREATE INDEX audit_logs_org_actor ON audit_logs (org_id, actor_user_id, id);
CREATE INDEX audit_logs_org_action ON audit_logs (org_id, action, id);

CREATE FUNCTION audit_json(a audit_logs) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', a.id, 'org_id', a.org_id, 'actor_user_id', a.actor_user_id,
        'actor_api_key_id', a.actor_api_key_id, 'action', a.action, 'target_type', a.target_type,
        'target_id', a.target_id, 'trace_id', a.trace_id, 'client_ip', host(a.client_ip),
        'user_agent', a.user_agent, 'before_state', a.before_state, 'after_state', a.after_state,
        'result', a.result, 'created_at', rfc3339(a.created_at))
$$;

-- Whose rows the caller may read: an organization, or null for all, platform rows too. wanted: as asked for, or null.
CREATE FUNCTION audit_org(wanted uuid) RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    place uuid := coalesce(wanted, current_org());
    own_role text;
BEGIN
    IF is_platform_admin() THEN
        IF wanted IS NOT NULL AND NOT EXISTS (SELECT 1 FROM orgs WHERE id = wanted) THEN
            PERFORM fail('orgs.not_found');
        END IF;
        RETURN wanted;
    END IF;
    SELECT role INTO own_role FROM org_members WHERE org_id = place AND user_id = current_user_id();
    IF own_role IS NULL THEN
        PERFORM fail('orgs.not_found');
    ELSIF NOT 'org.audit.read' = ANY (role_permissions(own_role)) THEN
        PERFORM fail('auth.forbidden', 'This needs the permission org.audit.read.',
                     '{"permission": "org.audit.read"}');
    END IF;
    RETURN place;
END
$$;

-- The newest rows from low to below high, by the narrowest index there is: those of the organization (null: of all)
-- and, of the filters, of the actor, else of the action. What else is asked for is for the caller to look at.
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
REVOKE EXECUTE ON FUNCTION audit_org, audit_window FROM hostler_api;
REVOKE EXECUTE ON FUNCTION audit_org, audit_window, audit_page FROM hostler_runner;
