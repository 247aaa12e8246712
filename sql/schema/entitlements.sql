-- Entitlements of an organization: overrides, and the one resolver of every limit.

CREATE TABLE entitlement_overrides (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    key text COLLATE "C" NOT NULL,
    value text NOT NULL,
    value_type text NOT NULL CHECK (value_type IN ('integer', 'boolean', 'string')),
    reason text,
    expires_at timestamptz,
    created_by_user_id uuid NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (org_id, key)
);
SELECT make_tenant_table('entitlement_overrides');
GRANT SELECT ON entitlement_overrides TO hostler_api, hostler_runner;

CREATE OR REPLACE FUNCTION entitlement_override_json(o entitlement_overrides) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', o.id, 'org_id', o.org_id, 'key', o.key, 'value', o.value,
        'value_type', o.value_type, 'reason', o.reason, 'expires_at', rfc3339(o.expires_at),
        'created_by_user_id', o.created_by_user_id, 'created_at', rfc3339(o.created_at))
$$;

-- Values that win over settings and defaults: an override that has not expired, else the active plan's. For definers.
CREATE OR REPLACE FUNCTION entitlements_granted(org uuid)
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

-- The same for one key, at most one row. One statement that Postgres puts into those that call it.
CREATE OR REPLACE FUNCTION entitlement_granted(org uuid, wanted_key text) RETURNS TABLE (value text, value_type text)
LANGUAGE sql STABLE AS $$
    SELECT g.value, g.value_type FROM (
        SELECT o.value, o.value_type, 1 AS rank FROM entitlement_overrides o
        WHERE o.org_id = org AND o.key = wanted_key AND (o.expires_at IS NULL OR o.expires_at > clock_timestamp())
        UNION ALL
        SELECT e.value, e.value_type, 2
        FROM subscriptions s JOIN plan_entitlements e ON e.plan_id = s.plan_id AND e.key = wanted_key
        WHERE s.org_id = org AND s.status = 'active'
              AND s.current_period_start <= clock_timestamp() AND s.current_period_end > clock_timestamp()) AS g
    ORDER BY g.rank LIMIT 1
$$;

-- A limit for an organization: what was granted, else what the settings say.
CREATE OR REPLACE FUNCTION entitlement_integer(org uuid, wanted_key text, setting bigint) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    -- Most organizations have none; which they have costs several times as much to ask.
    IF EXISTS (SELECT FROM entitlement_overrides o WHERE o.org_id = org)
       OR EXISTS (SELECT FROM subscriptions s WHERE s.org_id = org AND s.status = 'active') THEN
        RETURN coalesce((SELECT g.value::bigint FROM entitlement_granted(org, wanted_key) g
                         WHERE g.value_type = 'integer'), setting);
    END IF;
    RETURN setting;
END
$$;

-- Used amount of a limit in an organization; null for limits that count nothing that is stored.
CREATE OR REPLACE FUNCTION limit_used(org uuid, limit_key text) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN CASE limit_key
        WHEN 'limit.stored_bytes' THEN (SELECT a.stored_bytes FROM credit_accounts a WHERE a.org_id = org)
        WHEN 'limit.llm_models' THEN (
            SELECT count(*) FROM llm_models m WHERE m.org_id = org AND m.deleted_at IS NULL)
        WHEN 'limit.personas' THEN (
            SELECT count(*) FROM personas p WHERE p.org_id = org AND p.deleted_at IS NULL)
        WHEN 'limit.api_keys' THEN (
            SELECT count(*) FROM api_keys k
            WHERE k.org_id = org AND k.revoked_at IS NULL
                  AND coalesce(k.expires_at, 'infinity') > clock_timestamp())
        WHEN 'limit.tools' THEN (SELECT count(*) FROM tools t WHERE t.org_id = org AND t.deleted_at IS NULL)
        WHEN 'limit.members' THEN (SELECT count(*) FROM org_members m WHERE m.org_id = org)
        WHEN 'limit.mcp_servers' THEN (
            SELECT count(*) FROM mcp_servers s WHERE s.org_id = org AND s.deleted_at IS NULL)
        WHEN 'limit.budgets' THEN (
            SELECT count(*) FROM budgets b WHERE b.org_id = org AND b.deleted_at IS NULL)
        WHEN 'limit.webhook_endpoints' THEN (
            SELECT count(*) FROM webhook_endpoints e WHERE e.org_id = org AND e.deleted_at IS NULL)
        WHEN 'limit.concurrent_runs' THEN (SELECT a.active_runs FROM credit_accounts a WHERE a.org_id = org)
        WHEN 'limit.queued_runs' THEN (SELECT a.queued_runs FROM credit_accounts a WHERE a.org_id = org)
        WHEN 'limit.waiting_runs' THEN (SELECT a.waiting_runs FROM credit_accounts a WHERE a.org_id = org)
        WHEN 'limit.upload_bytes_per_day' THEN coalesce(
            (SELECT d.bytes FROM upload_days d WHERE d.org_id = org AND d.day = utc_day(clock_timestamp())), 0)
        WHEN 'limit.platform_tool_calls_per_day' THEN coalesce(
            (SELECT d.calls FROM tool_call_days d
             WHERE d.org_id = org AND d.day = utc_day(clock_timestamp())), 0) END;
END
$$;

-- Raises limits.reached when the organization acted in has as many as it may. setting: what holds where no
-- entitlement does; 0: any number. Held until the transaction ends, the lock makes the limit exact.
CREATE OR REPLACE FUNCTION limit_check(limit_key text, setting bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    used_max bigint := entitlement_integer(current_org(), limit_key, setting);
    used bigint;
BEGIN
    IF used_max = 0 THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(limit_key || ' ' || current_org(), 0));
    used := limit_used(current_org(), limit_key);
    IF used >= used_max THEN
        PERFORM fail('limits.reached', 'all_used',
                     jsonb_build_object('key', limit_key, 'limit', used_max, 'used', used));
    END IF;
END
$$;

-- The 422 of an organization that keeps as many bytes as it may.
CREATE OR REPLACE FUNCTION stored_bytes_refused(bytes_max bigint, stored_bytes bigint) RETURNS void
LANGUAGE sql AS $$
    SELECT fail('limits.reached', 'all_used',
                jsonb_build_object('key', 'limit.stored_bytes', 'limit', bytes_max, 'used', stored_bytes))
$$;

-- GET /v1/entitlements. known: [{key, value, value_type, source}] of the settings that are limits.
CREATE OR REPLACE FUNCTION entitlement_list(wanted_org uuid, known json) RETURNS json
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
            'expires_at', rfc3339(g.expires_at), 'used', limit_used(org, coalesce(g.key, k.key)))
            ORDER BY coalesce(g.key, k.key))
        FROM entitlements_granted(org) g
        FULL JOIN json_to_recordset(known) AS k(key text, value text, value_type text, source text) ON k.key = g.key),
        '[]');
END
$$;

-- POST /v1/entitlement-overrides: one an organization and key; is_new tells 201 from 200.
CREATE OR REPLACE FUNCTION entitlement_override_set(wanted jsonb, OUT is_new boolean, OUT item json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid := (wanted ->> 'org_id')::uuid;
    old_state entitlement_overrides;
    new_state entitlement_overrides;
BEGIN
    PERFORM need_platform_admin();
    PERFORM 1 FROM credit_accounts WHERE org_id = org FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM fail('validation.error', 'org_unknown');
    END IF;
    SELECT * INTO old_state FROM entitlement_overrides WHERE org_id = org AND key = wanted ->> 'key';
    INSERT INTO entitlement_overrides (org_id, key, value, value_type, reason, expires_at, created_by_user_id)
    VALUES (org, wanted ->> 'key', wanted ->> 'value', wanted ->> 'value_type', wanted ->> 'reason',
            (wanted ->> 'expires_at')::timestamptz, current_user_id())
    ON CONFLICT (org_id, key) DO UPDATE SET value = excluded.value, value_type = excluded.value_type,
        reason = excluded.reason, expires_at = excluded.expires_at, created_by_user_id = excluded.created_by_user_id
    RETURNING * INTO new_state;
    is_new := old_state.id IS NULL;
    item := entitlement_override_json(new_state);
    PERFORM audit('entitlements.override_set', 'entitlement_override', new_state.id::text, org,
        CASE WHEN is_new THEN NULL ELSE entitlement_override_json(old_state)::jsonb END, item::jsonb);
END
$$;

CREATE OR REPLACE FUNCTION entitlement_override_page(org uuid, page_limit integer, before uuid)
RETURNS TABLE (id uuid, item json)
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

CREATE OR REPLACE FUNCTION entitlement_override_guard(wanted uuid) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM need_platform_admin();
    IF NOT EXISTS (SELECT 1 FROM entitlement_overrides WHERE id = wanted) THEN
        PERFORM fail('entitlement_overrides.not_found');
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION entitlement_override_delete(wanted uuid, org uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state entitlement_overrides;
BEGIN
    PERFORM need_platform_admin();
    DELETE FROM entitlement_overrides WHERE id = wanted AND (org IS NULL OR org_id = org) RETURNING * INTO old_state;
    IF old_state.id IS NULL THEN
        PERFORM fail('entitlement_overrides.not_found');
    END IF;
    PERFORM audit('entitlements.override_deleted', 'entitlement_override', old_state.id::text, old_state.org_id,
                  entitlement_override_json(old_state)::jsonb);
END
$$;
REVOKE EXECUTE ON FUNCTION limit_used, stored_bytes_refused FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION limit_check, entitlement_override_json, entitlement_list, entitlement_override_set,
    entitlement_override_guard,
    entitlement_override_page, entitlement_override_delete
    FROM hostler_runner;
