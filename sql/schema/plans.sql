-- Plans and what they entitle to.

CREATE TABLE plans (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    name text COLLATE "C" NOT NULL UNIQUE,
    display_name text NOT NULL,
    is_retired boolean NOT NULL DEFAULT false,  -- nobody subscribes to it any more; subscriptions stay
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT ON plans TO hostler_api, hostler_runner;

CREATE TABLE plan_entitlements (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    plan_id uuid NOT NULL REFERENCES plans ON DELETE CASCADE,
    key text COLLATE "C" NOT NULL,
    value text NOT NULL,
    value_type text NOT NULL CHECK (value_type IN ('integer', 'boolean', 'string')),
    UNIQUE (plan_id, key)
);
GRANT SELECT ON plan_entitlements TO hostler_api, hostler_runner;

CREATE OR REPLACE FUNCTION plan_json(p plans) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', p.id, 'name', p.name, 'display_name', p.display_name,
        'is_retired', p.is_retired, 'created_at', rfc3339(p.created_at),
        'entitlements', coalesce((SELECT json_agg(json_build_object('id', e.id, 'key', e.key, 'value', e.value,
                                     'value_type', e.value_type) ORDER BY e.id)
                                  FROM plan_entitlements e WHERE e.plan_id = p.id), '[]'))
$$;

-- Limits of one run of an organization, from the settings' values, in one look.
CREATE OR REPLACE FUNCTION run_limits(org uuid, turns_setting bigint, calls_setting bigint, seconds_setting bigint,
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

-- wanted: {name, display_name, entitlements: [{key, value, value_type}]}, checked by the handler.
CREATE OR REPLACE FUNCTION plan_create(wanted jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    created plans;
BEGIN
    PERFORM need_platform_admin();
    INSERT INTO plans (name, display_name) VALUES (wanted ->> 'name', wanted ->> 'display_name')
    ON CONFLICT (name) DO NOTHING RETURNING * INTO created;
    IF created.id IS NULL THEN
        PERFORM fail('plans.exists');
    END IF;
    INSERT INTO plan_entitlements (plan_id, key, value, value_type)
    SELECT created.id, e.value ->> 'key', e.value ->> 'value', e.value ->> 'value_type'
    FROM jsonb_array_elements(wanted -> 'entitlements') WITH ORDINALITY AS e(value, n) ORDER BY e.n;
    PERFORM audit('plans.create', 'plan', created.id::text, NULL, NULL, plan_json(created)::jsonb);
    RETURN plan_json(created);
END
$$;

CREATE OR REPLACE FUNCTION plan_show(wanted uuid) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    p plans;
BEGIN
    SELECT * INTO p FROM plans WHERE id = wanted;
    IF p.id IS NULL THEN
        PERFORM fail('plans.not_found', 'plan_unknown');
    END IF;
    RETURN plan_json(p);
END
$$;
-- PATCH /v1/plans/{plan_id}. A change that changes nothing leaves no audit row.
CREATE OR REPLACE FUNCTION plan_update(wanted uuid, retire boolean) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state plans;
    new_state plans;
BEGIN
    PERFORM need_platform_admin();
    SELECT * INTO old_state FROM plans WHERE id = wanted FOR NO KEY UPDATE;
    IF old_state.id IS NULL THEN
        PERFORM fail('plans.not_found', 'plan_unknown');
    END IF;
    IF retire = old_state.is_retired THEN
        RETURN plan_json(old_state);
    END IF;
    UPDATE plans SET is_retired = retire WHERE id = wanted RETURNING * INTO new_state;
    PERFORM audit('plans.update', 'plan', wanted::text, NULL, plan_json(old_state)::jsonb, plan_json(new_state)::jsonb);
    RETURN plan_json(new_state);
END
$$;
REVOKE EXECUTE ON FUNCTION run_limits FROM hostler_api;
REVOKE EXECUTE ON FUNCTION plan_json, plan_create, plan_show, plan_update
    FROM hostler_runner;
