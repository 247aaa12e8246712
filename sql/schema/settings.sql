-- Live settings that administrators changed; everything else comes from file, environment, default. Every process reads
-- all of them, secret ones sealed.

CREATE TABLE settings (
    key text COLLATE "C" PRIMARY KEY,
    value jsonb,
    secret_id uuid,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_by_user_id uuid,
    CHECK ((value IS NULL) <> (secret_id IS NULL)),
    FOREIGN KEY (secret_id) REFERENCES secrets
);
GRANT SELECT ON settings TO hostler_api, hostler_runner;

CREATE OR REPLACE FUNCTION settings_all()
RETURNS TABLE (key text, value jsonb, secret_id uuid, secret_kind text, key_version integer,
               wrapped_key bytea, sealed bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT t.key, t.value, s.id, s.kind, s.key_version, s.wrapped_key, s.sealed
    FROM settings t LEFT JOIN secrets s ON s.id = t.secret_id ORDER BY t.key
$$;

-- Form of a setting in an audit row.
CREATE OR REPLACE FUNCTION setting_state(stored settings) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN stored.secret_id IS NOT NULL THEN jsonb_build_object('secret', true)
                WHEN stored.key IS NOT NULL THEN jsonb_build_object('value', stored.value) END
$$;

-- Takes a setting's row away, with its secret. Answers the row as it was, or nulls.
CREATE OR REPLACE FUNCTION setting_take(setting_key text) RETURNS settings
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    old_state settings;
BEGIN
    -- Two writes of one setting come one after the other, also when there is no row yet.
    PERFORM pg_advisory_xact_lock(hashtext('hostler setting'), hashtext(setting_key));
    DELETE FROM settings s WHERE s.key = setting_key
    RETURNING s.key, s.value, s.secret_id, s.updated_at, s.updated_by_user_id INTO old_state;
    DELETE FROM secrets WHERE id = old_state.secret_id;
    RETURN old_state;
END
$$;

-- PUT. value, or for a secret setting {id, key_version, wrapped_key, sealed} (bytes in base64), sealed for the kind
-- 'setting:' and the key. The value was checked by the caller: the bounds stand in the program. The stored key of
-- web_fetch.provider delta is sent only where it was meant: another address needs the key again.
CREATE OR REPLACE FUNCTION setting_set(setting_key text, new_value jsonb, secret jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    delta_url constant text := 'https://api.firecrawl.dev';  -- its maker's (runner/tools/tool_provider.cpp)
    old_state settings;
    new_row settings;
BEGIN
    PERFORM need_platform_admin();
    old_state := setting_take(setting_key);
    IF setting_key = 'web_fetch.delta_base_url'
       AND EXISTS (SELECT FROM settings s WHERE s.key = 'web_fetch.delta_api_key')
       AND url_origin(coalesce(nullif(new_value #>> '{}', ''), delta_url))
           <> url_origin(coalesce(nullif(old_state.value #>> '{}', ''), delta_url)) THEN
        PERFORM fail('validation.error', 'key_meant_elsewhere',
                     jsonb_build_object('key', 'web_fetch.delta_api_key'));
    END IF;
    IF secret IS NOT NULL THEN
        PERFORM secret_insert(NULL, 'setting:' || setting_key, secret);
    END IF;
    INSERT INTO settings (key, value, secret_id, updated_by_user_id)
    VALUES (setting_key, new_value, (secret ->> 'id')::uuid, current_user_id())
    RETURNING key, value, secret_id, updated_at, updated_by_user_id INTO new_row;
    PERFORM audit('settings.set', 'setting', setting_key, NULL, setting_state(old_state), setting_state(new_row));
    PERFORM pg_notify('hostler_settings', '');
END
$$;

-- DELETE. Nothing happens when it is not stored.
CREATE OR REPLACE FUNCTION setting_unset(setting_key text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state settings;
BEGIN
    PERFORM need_platform_admin();
    old_state := setting_take(setting_key);
    IF old_state.key IS NULL THEN
        RETURN;
    END IF;
    PERFORM audit('settings.unset', 'setting', setting_key, NULL, setting_state(old_state), NULL);
    PERFORM pg_notify('hostler_settings', '');
END
$$;
REVOKE EXECUTE ON FUNCTION setting_state, setting_take FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION setting_set, setting_unset FROM hostler_runner;
