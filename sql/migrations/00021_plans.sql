-- Why: plans, subscriptions, overrides of entitlements, and the one resolver that every limit comes from.
-- Locks: none, everything is new.

CREATE TABLE plans (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    name text NOT NULL UNIQUE,
    display_name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE plan_entitlements (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    plan_id uuid NOT NULL REFERENCES plans ON DELETE CASCADE,
    key text NOT NULL,
    value text NOT NULL,
    value_type text NOT NULL CHECK (value_type IN ('integer', 'boolean', 'string')),
    UNIQUE (plan_id, key)
);
GRANT SELECT ON plans, plan_entitlements TO hostler_api, hostler_runner;

-- An active subscription whose period ended is expired, whether or not a sweep has written so.
CREATE TABLE subscriptions (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    plan_id uuid NOT NULL REFERENCES plans,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'cancelled', 'expired')),
    current_period_start timestamptz NOT NULL,
    current_period_end timestamptz NOT NULL,
    cancelled_at timestamptz,
    months_granted integer NOT NULL DEFAULT 0,
    next_grant_at timestamptz,  -- the monthly date that is not granted yet; null: none follows
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (current_period_end > current_period_start),
    CHECK ((status = 'cancelled') = (cancelled_at IS NOT NULL))
);
CREATE UNIQUE INDEX subscriptions_active ON subscriptions (org_id) WHERE status = 'active';
CREATE UNIQUE INDEX subscriptions_org ON subscriptions (org_id, id);
CREATE INDEX subscriptions_due ON subscriptions (next_grant_at) WHERE status = 'active';
CREATE INDEX subscriptions_period ON subscriptions (current_period_end) WHERE status = 'active';

-- Each monthly date of a subscription is granted once, however often or late the job runs.
CREATE TABLE subscription_grants (
    subscription_id uuid NOT NULL,
    org_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    amount bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (subscription_id, due_at),
    FOREIGN KEY (org_id, subscription_id) REFERENCES subscriptions (org_id, id)
);

CREATE TABLE entitlement_overrides (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    key text NOT NULL,
    value text NOT NULL,
    value_type text NOT NULL CHECK (value_type IN ('integer', 'boolean', 'string')),
    reason text,
    expires_at timestamptz,
    created_by_user_id uuid NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (org_id, key)
);

DO $$
DECLARE
    tenant_table text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['subscriptions', 'subscription_grants', 'entitlement_overrides'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('CREATE POLICY tenant ON %I USING (org_id = current_org()) WITH CHECK (org_id = current_org())',
                       tenant_table);
    END LOOP;
END
$$;
GRANT SELECT ON subscriptions, entitlement_overrides TO hostler_api, hostler_runner;

CREATE FUNCTION plan_json(p plans) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', p.id, 'name', p.name, 'display_name', p.display_name,
        'created_at', rfc3339(p.created_at),
        'entitlements', coalesce((SELECT json_agg(json_build_object('id', e.id, 'key', e.key, 'value', e.value,
                                     'value_type', e.value_type) ORDER BY e.id)
                                  FROM plan_entitlements e WHERE e.plan_id = p.id), '[]'))
$$;

CREATE FUNCTION subscription_status(s subscriptions) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN s.status = 'active' AND s.current_period_end <= clock_timestamp() THEN 'expired' ELSE s.status END
$$;

CREATE FUNCTION subscription_json(s subscriptions) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', s.id, 'org_id', s.org_id, 'plan_id', s.plan_id, 'status', subscription_status(s),
        'current_period_start', rfc3339(s.current_period_start), 'current_period_end', rfc3339(s.current_period_end),
        'cancelled_at', rfc3339(s.cancelled_at), 'created_at', rfc3339(s.created_at))
$$;

CREATE FUNCTION entitlement_override_json(o entitlement_overrides) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', o.id, 'org_id', o.org_id, 'key', o.key, 'value', o.value,
        'value_type', o.value_type, 'reason', o.reason, 'expires_at', rfc3339(o.expires_at),
        'created_by_user_id', o.created_by_user_id, 'created_at', rfc3339(o.created_at))
$$;

-- What stands above settings and defaults: an override that has not expired, else the active plan's. For definers.
CREATE FUNCTION entitlements_granted(org uuid)
RETURNS TABLE (key text, value text, value_type text, source text, expires_at timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT DISTINCT ON (g.key) g.key, g.value, g.value_type, g.source, g.expires_at FROM (
        SELECT o.key, o.value, o.value_type, 'override' AS source, o.expires_at, 1 AS rank
        FROM entitlement_overrides o
        WHERE o.org_id = org AND (o.expires_at IS NULL OR o.expires_at > clock_timestamp())
        UNION ALL
        SELECT e.key, e.value, e.value_type, 'plan', s.current_period_end, 2
        FROM subscriptions s JOIN plan_entitlements e ON e.plan_id = s.plan_id
        WHERE s.org_id = org AND s.status = 'active'
              AND s.current_period_start <= clock_timestamp() AND s.current_period_end > clock_timestamp()) AS g
    ORDER BY g.key, g.rank
$$;

-- A limit for an organization: what was granted, else what the settings say.
CREATE FUNCTION entitlement_integer(org uuid, wanted_key text, setting bigint) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN coalesce((SELECT g.value::bigint FROM entitlements_granted(org) g
                     WHERE g.key = wanted_key AND g.value_type = 'integer'), setting);
END
$$;

-- What bounds one run of an organization, from the settings' values, in one look.
CREATE FUNCTION run_limits(org uuid, turns_setting bigint, calls_setting bigint, seconds_setting bigint,
                           OUT turns_max bigint, OUT tool_calls_max bigint, OUT seconds_max bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    SELECT coalesce(max(g.value::bigint) FILTER (WHERE g.key = 'limit.agent_turns'), turns_setting),
           coalesce(max(g.value::bigint) FILTER (WHERE g.key = 'limit.tool_calls'), calls_setting),
           coalesce(max(g.value::bigint) FILTER (WHERE g.key = 'limit.run_seconds'), seconds_setting)
    INTO turns_max, tool_calls_max, seconds_max
    FROM entitlements_granted(org) g WHERE g.value_type = 'integer';
END
$$;

-- GET /v1/entitlements. known: [{key, value, value_type, source}] of the settings that are limits.
CREATE FUNCTION entitlement_list(wanted_org uuid, known json) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid := coalesce(wanted_org, current_org());
BEGIN
    IF org <> current_org() AND NOT is_platform_admin() AND NOT EXISTS
        (SELECT 1 FROM org_members m WHERE m.org_id = org AND m.user_id = current_user_id()) THEN
        PERFORM fail('orgs.not_found');
    END IF;
    IF NOT EXISTS (SELECT 1 FROM orgs WHERE id = org) THEN
        PERFORM fail('orgs.not_found');
    END IF;
    RETURN coalesce((
        SELECT json_agg(json_build_object('key', coalesce(g.key, k.key), 'value', coalesce(g.value, k.value),
            'value_type', coalesce(g.value_type, k.value_type), 'source', coalesce(g.source, k.source),
            'expires_at', rfc3339(g.expires_at)) ORDER BY coalesce(g.key, k.key))
        FROM entitlements_granted(org) g
        FULL JOIN json_to_recordset(known) AS k(key text, value text, value_type text, source text) ON k.key = g.key),
        '[]');
END
$$;

-- wanted: {name, display_name, entitlements: [{key, value, value_type}]}, checked by the handler.
CREATE FUNCTION plan_create(wanted jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    made plans;
BEGIN
    PERFORM need_platform_admin();
    INSERT INTO plans (name, display_name) VALUES (wanted ->> 'name', wanted ->> 'display_name')
    ON CONFLICT (name) DO NOTHING RETURNING * INTO made;
    IF made.id IS NULL THEN
        PERFORM fail('plans.exists');
    END IF;
    INSERT INTO plan_entitlements (plan_id, key, value, value_type)
    SELECT made.id, e.value ->> 'key', e.value ->> 'value', e.value ->> 'value_type'
    FROM jsonb_array_elements(wanted -> 'entitlements') WITH ORDINALITY AS e(value, n) ORDER BY e.n;
    PERFORM audit('plans.create', 'plan', made.id::text, NULL, NULL, plan_json(made)::jsonb);
    RETURN plan_json(made);
END
$$;

CREATE FUNCTION plan_show(wanted uuid) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    p plans;
BEGIN
    SELECT * INTO p FROM plans WHERE id = wanted;
    IF p.id IS NULL THEN
        PERFORM fail('plans.not_found', 'GET /v1/plans lists the plans there are.');
    END IF;
    RETURN plan_json(p);
END
$$;

-- Grants what is due of a subscription by now: at its start, and on each monthly date inside its period, counted from
-- the start in UTC (of January 31st that is the last day of February, then March 31st). The amount is the entitlement
-- credits.monthly_grant; what would pass the bounds of a balance is cut. The account's row serialises the grants.
CREATE FUNCTION subscription_grant(subscription uuid) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    s subscriptions;
    due timestamptz;
    month integer;
    monthly bigint;
    fitting bigint;
    granted integer := 0;
BEGIN
    SELECT * INTO STRICT s FROM subscriptions WHERE id = subscription;
    PERFORM credit_lock(ARRAY[s.org_id]);
    SELECT * INTO STRICT s FROM subscriptions WHERE id = subscription;
    IF s.status <> 'active' OR s.next_grant_at IS NULL THEN
        RETURN 0;
    END IF;
    monthly := coalesce(
        (SELECT o.value::bigint FROM entitlement_overrides o WHERE o.org_id = s.org_id
         AND o.key = 'credits.monthly_grant' AND o.value_type = 'integer'
         AND (o.expires_at IS NULL OR o.expires_at > clock_timestamp())),
        (SELECT e.value::bigint FROM plan_entitlements e WHERE e.plan_id = s.plan_id
         AND e.key = 'credits.monthly_grant' AND e.value_type = 'integer'), 0);
    month := s.months_granted;
    LOOP
        due := (s.current_period_start AT TIME ZONE 'UTC' + make_interval(months => month)) AT TIME ZONE 'UTC';
        IF due >= s.current_period_end OR month > 1200 THEN
            due := NULL;
        END IF;
        EXIT WHEN due IS NULL OR due > clock_timestamp();
        INSERT INTO subscription_grants (subscription_id, org_id, due_at, amount)
        SELECT s.id, s.org_id, due, least(monthly, 9223372036854775807 - greatest(a.balance, 0))
        FROM credit_accounts a WHERE a.org_id = s.org_id RETURNING amount INTO STRICT fitting;
        IF fitting > 0 THEN
            PERFORM credit_post(s.org_id, fitting, 'monthly_grant', 'subscription', s.id::text, NULL);
            granted := granted + 1;
        END IF;
        month := month + 1;
    END LOOP;
    UPDATE subscriptions SET months_granted = month, next_grant_at = due WHERE id = s.id;
    RETURN granted;
END
$$;
REVOKE EXECUTE ON FUNCTION subscription_grant FROM hostler_api, hostler_runner;

-- The daemon's job: what is due, and what has run out; at most at_most of each. Answers how many grants were made.
CREATE FUNCTION subscription_upkeep(at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    moment timestamptz := clock_timestamp();
    due_ids uuid[] := ARRAY(SELECT id FROM subscriptions WHERE status = 'active' AND next_grant_at <= moment
                            ORDER BY next_grant_at LIMIT at_most);
    ended_ids uuid[] := ARRAY(SELECT id FROM subscriptions WHERE status = 'active' AND current_period_end <= moment
                              ORDER BY current_period_end LIMIT at_most);
    each_one record;
    granted integer := 0;
BEGIN
    FOR each_one IN SELECT s.id FROM subscriptions s WHERE s.id = ANY (due_ids || ended_ids)
                    ORDER BY s.org_id, s.id LOOP
        granted := granted + subscription_grant(each_one.id);
        UPDATE subscriptions SET status = 'expired'
        WHERE id = each_one.id AND status = 'active' AND current_period_end <= moment;
    END LOOP;
    RETURN granted;
END
$$;
REVOKE EXECUTE ON FUNCTION subscription_upkeep FROM hostler_api;

CREATE FUNCTION subscription_create(org uuid, plan uuid, period_start timestamptz, period_end timestamptz) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    made subscriptions;
BEGIN
    PERFORM need_platform_admin();
    PERFORM 1 FROM credit_accounts WHERE org_id = org FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM fail('validation.error', 'there is no such organization', '{"field": "org_id", "fault": "unknown"}');
    END IF;
    IF NOT EXISTS (SELECT 1 FROM plans WHERE id = plan) THEN
        PERFORM fail('validation.error', 'there is no such plan', '{"field": "plan_id", "fault": "unknown"}');
    END IF;
    -- The one before may have dates that no sweep has seen.
    PERFORM subscription_grant(s.id) FROM subscriptions s
    WHERE s.org_id = org AND s.status = 'active' AND s.current_period_end <= clock_timestamp();
    UPDATE subscriptions SET status = 'expired'
    WHERE org_id = org AND status = 'active' AND current_period_end <= clock_timestamp();
    INSERT INTO subscriptions (org_id, plan_id, current_period_start, current_period_end, next_grant_at)
    VALUES (org, plan, period_start, period_end, period_start)
    ON CONFLICT (org_id) WHERE status = 'active' DO NOTHING RETURNING * INTO made;
    IF made.id IS NULL THEN
        PERFORM fail('subscriptions.active_exists', 'Cancel it first: DELETE /v1/subscriptions/{id}.');
    END IF;
    PERFORM subscription_grant(made.id);
    PERFORM audit('subscriptions.create', 'subscription', made.id::text, org, NULL, subscription_json(made)::jsonb);
    RETURN subscription_json(made);
END
$$;

-- The subscription of the caller's organization, any for platform admins; or its 404.
CREATE FUNCTION subscription_of_caller(wanted uuid) RETURNS subscriptions
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    s subscriptions;
BEGIN
    SELECT * INTO s FROM subscriptions WHERE id = wanted AND (org_id = current_org() OR is_platform_admin());
    IF s.id IS NULL THEN
        PERFORM fail_missing('subscriptions.not_found', 'subscriptions', wanted);
    END IF;
    RETURN s;
END
$$;

-- Two statements: one with OR would read everybody's subscriptions to find an organization's.
CREATE FUNCTION subscription_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF is_platform_admin() THEN
        RETURN QUERY SELECT s.id, subscription_json(s) FROM subscriptions s
            WHERE before IS NULL OR s.id < before ORDER BY s.id DESC LIMIT page_limit;
    ELSE
        RETURN QUERY SELECT s.id, subscription_json(s) FROM subscriptions s
            WHERE s.org_id = current_org() AND (before IS NULL OR s.id < before) ORDER BY s.id DESC LIMIT page_limit;
    END IF;
END
$$;

CREATE FUNCTION subscription_cancel(wanted uuid) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    was subscriptions := subscription_of_caller(wanted);
    now_is subscriptions;
BEGIN
    PERFORM need_platform_admin();
    PERFORM subscription_grant(wanted);
    UPDATE subscriptions SET status = 'cancelled', cancelled_at = clock_timestamp()
    WHERE id = wanted AND status = 'active' AND current_period_end > clock_timestamp() RETURNING * INTO now_is;
    IF now_is.id IS NULL THEN
        PERFORM fail('subscriptions.not_active', format('The subscription is %s.', subscription_status(was)));
    END IF;
    PERFORM audit('subscriptions.cancel', 'subscription', was.id::text, was.org_id, subscription_json(was)::jsonb,
                  subscription_json(now_is)::jsonb);
    RETURN subscription_json(now_is);
END
$$;

-- POST /v1/entitlement-overrides: one an organization and key; is_new tells 201 from 200.
CREATE FUNCTION entitlement_override_set(wanted jsonb, OUT is_new boolean, OUT item json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid := (wanted ->> 'org_id')::uuid;
    was entitlement_overrides;
    now_is entitlement_overrides;
BEGIN
    PERFORM need_platform_admin();
    PERFORM 1 FROM credit_accounts WHERE org_id = org FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM fail('validation.error', 'there is no such organization', '{"field": "org_id", "fault": "unknown"}');
    END IF;
    SELECT * INTO was FROM entitlement_overrides WHERE org_id = org AND key = wanted ->> 'key';
    INSERT INTO entitlement_overrides (org_id, key, value, value_type, reason, expires_at, created_by_user_id)
    VALUES (org, wanted ->> 'key', wanted ->> 'value', wanted ->> 'value_type', wanted ->> 'reason',
            (wanted ->> 'expires_at')::timestamptz, current_user_id())
    ON CONFLICT (org_id, key) DO UPDATE SET value = excluded.value, value_type = excluded.value_type,
        reason = excluded.reason, expires_at = excluded.expires_at, created_by_user_id = excluded.created_by_user_id
    RETURNING * INTO now_is;
    is_new := was.id IS NULL;
    item := entitlement_override_json(now_is);
    PERFORM audit('entitlements.override_set', 'entitlement_override', now_is.id::text, org,
        CASE WHEN is_new THEN NULL ELSE entitlement_override_json(was)::jsonb END, item::jsonb);
END
$$;

CREATE FUNCTION entitlement_override_page(org uuid, page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM need_platform_admin();
    IF NOT EXISTS (SELECT 1 FROM orgs WHERE orgs.id = org) THEN
        PERFORM fail('orgs.not_found');
    END IF;
    RETURN QUERY SELECT o.id, entitlement_override_json(o) FROM entitlement_overrides o
        WHERE o.org_id = org AND (before IS NULL OR o.id < before) ORDER BY o.id DESC LIMIT page_limit;
END
$$;

CREATE FUNCTION entitlement_override_delete(wanted uuid, org uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    was entitlement_overrides;
BEGIN
    PERFORM need_platform_admin();
    DELETE FROM entitlement_overrides WHERE id = wanted AND (org IS NULL OR org_id = org) RETURNING * INTO was;
    IF was.id IS NULL THEN
        PERFORM fail('entitlement_overrides.not_found');
    END IF;
    PERFORM audit('entitlements.override_deleted', 'entitlement_override', was.id::text, was.org_id,
                  entitlement_override_json(was)::jsonb);
END
$$;
