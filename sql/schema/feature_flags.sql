-- Feature flags with overrides for organizations, for platform administrators.

CREATE TABLE feature_flags (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    key text COLLATE "C" NOT NULL UNIQUE,
    description text NOT NULL DEFAULT '',
    default_value boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT ON feature_flags TO hostler_api, hostler_runner;

CREATE TABLE feature_flag_overrides (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    flag_id uuid NOT NULL REFERENCES feature_flags ON DELETE CASCADE,
    org_id uuid NOT NULL REFERENCES orgs,
    enabled boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (flag_id, org_id)
);
CREATE INDEX feature_flag_overrides_org ON feature_flag_overrides (org_id);
SELECT make_tenant_table('feature_flag_overrides');
GRANT SELECT ON feature_flag_overrides TO hostler_api, hostler_runner;

CREATE OR REPLACE FUNCTION feature_flag_json(f feature_flags) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', f.id, 'key', f.key, 'description', f.description, 'default_value', f.default_value,
                             'created_at', rfc3339(f.created_at))
$$;

CREATE OR REPLACE FUNCTION flag_override_json(o feature_flag_overrides, flag_key text) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('org_id', o.org_id, 'flag_key', flag_key, 'enabled', o.enabled,
                             'created_at', rfc3339(o.created_at))
$$;

-- The flag, or its 404. lock: hold it against changes until the transaction ends.
CREATE OR REPLACE FUNCTION feature_flag_named(wanted_key text, lock boolean) RETURNS feature_flags
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    f feature_flags;
BEGIN
    PERFORM need_platform_admin();
    IF lock THEN
        SELECT * INTO f FROM feature_flags WHERE key = wanted_key FOR UPDATE;
    ELSE
        SELECT * INTO f FROM feature_flags WHERE key = wanted_key;
    END IF;
    IF f.id IS NULL THEN
        PERFORM fail('feature_flags.not_found', 'flag_unknown');
    END IF;
    RETURN f;
END
$$;

CREATE OR REPLACE FUNCTION feature_flag_create(new_key text, new_description text, new_default boolean) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    created feature_flags;
BEGIN
    PERFORM need_platform_admin();
    INSERT INTO feature_flags (key, description, default_value) VALUES (new_key, new_description, new_default)
    ON CONFLICT (key) DO NOTHING RETURNING * INTO created;
    IF created.id IS NULL THEN
        PERFORM fail('feature_flags.exists');
    END IF;
    PERFORM audit('feature_flags.create', 'feature_flag', created.key, NULL, NULL, feature_flag_json(created)::jsonb);
    RETURN feature_flag_json(created);
END
$$;

CREATE OR REPLACE FUNCTION feature_flag_update(wanted_key text, new_default boolean) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state feature_flags := feature_flag_named(wanted_key, true);
    new_state feature_flags;
BEGIN
    UPDATE feature_flags SET default_value = new_default WHERE id = old_state.id RETURNING * INTO new_state;
    PERFORM audit('feature_flags.update', 'feature_flag', old_state.key, NULL, feature_flag_json(old_state)::jsonb,
                  feature_flag_json(new_state)::jsonb);
    RETURN feature_flag_json(new_state);
END
$$;

CREATE OR REPLACE FUNCTION feature_flag_delete(wanted_key text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state feature_flags := feature_flag_named(wanted_key, true);
BEGIN
    DELETE FROM feature_flags WHERE id = old_state.id;
    PERFORM audit('feature_flags.delete', 'feature_flag', old_state.key, NULL, feature_flag_json(old_state)::jsonb);
END
$$;

CREATE OR REPLACE FUNCTION feature_flag_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM need_platform_admin();
    RETURN QUERY SELECT f.id, feature_flag_json(f) FROM feature_flags f
        WHERE before IS NULL OR f.id < before ORDER BY f.id DESC LIMIT page_limit;
END
$$;

-- POST …/org-overrides: is_new tells 201 from 200.
CREATE OR REPLACE FUNCTION flag_override_set(wanted_key text, org uuid, new_enabled boolean, OUT is_new boolean,
    OUT item json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    f feature_flags := feature_flag_named(wanted_key, true);
    old_state feature_flag_overrides;
    new_state feature_flag_overrides;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM orgs WHERE id = org) THEN
        PERFORM fail('validation.error', 'org_unknown');
    END IF;
    SELECT * INTO old_state FROM feature_flag_overrides WHERE flag_id = f.id AND org_id = org;
    INSERT INTO feature_flag_overrides (flag_id, org_id, enabled) VALUES (f.id, org, new_enabled)
    ON CONFLICT (flag_id, org_id) DO UPDATE SET enabled = excluded.enabled RETURNING * INTO new_state;
    is_new := old_state.id IS NULL;
    item := flag_override_json(new_state, f.key);
    PERFORM audit('feature_flags.override_set', 'feature_flag', f.key, org,
        CASE WHEN is_new THEN NULL ELSE flag_override_json(old_state, f.key)::jsonb END, item::jsonb);
END
$$;

CREATE OR REPLACE FUNCTION flag_override_delete(wanted_key text, org uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    f feature_flags := feature_flag_named(wanted_key, true);
    old_state feature_flag_overrides;
BEGIN
    DELETE FROM feature_flag_overrides WHERE flag_id = f.id AND org_id = org RETURNING * INTO old_state;
    IF old_state.id IS NULL THEN
        PERFORM fail('feature_flags.not_found', 'no_override');
    END IF;
    PERFORM audit('feature_flags.override_deleted', 'feature_flag', f.key, org, flag_override_json(old_state,
        f.key)::jsonb);
END
$$;

-- The cursor of a page of overrides is the organization's id.
CREATE OR REPLACE FUNCTION flag_override_page(wanted_key text, page_limit integer, before uuid)
RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    f feature_flags := feature_flag_named(wanted_key, false);
BEGIN
    RETURN QUERY SELECT o.org_id, flag_override_json(o, f.key) FROM feature_flag_overrides o
        WHERE o.flag_id = f.id AND (before IS NULL OR o.org_id < before) ORDER BY o.org_id DESC LIMIT page_limit;
END
$$;

CREATE OR REPLACE FUNCTION feature_flag_evaluate(wanted_key text, org uuid) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    f feature_flags := feature_flag_named(wanted_key, false);
    o feature_flag_overrides;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM orgs WHERE id = org) THEN
        PERFORM fail('orgs.not_found');
    END IF;
    SELECT * INTO o FROM feature_flag_overrides WHERE flag_id = f.id AND org_id = org;
    RETURN json_build_object('key', f.key, 'value', coalesce(o.enabled, f.default_value),
                             'reason', CASE WHEN o.id IS NULL THEN 'default' ELSE 'override' END);
END
$$;
REVOKE EXECUTE ON FUNCTION feature_flag_json, flag_override_json, feature_flag_named, feature_flag_create,
    feature_flag_update, feature_flag_delete, feature_flag_page, flag_override_set, flag_override_delete,
    flag_override_page, feature_flag_evaluate
    FROM hostler_runner;
