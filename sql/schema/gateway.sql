-- The gateway's settings are changed together, with one row of the audit log.

-- PUT /v1/admin/gateway-config. wanted: values by the names of settings ("gateway.ip_mode"), checked by the program,
-- where their bounds stand; what is absent stays.
CREATE OR REPLACE FUNCTION gateway_config_set(wanted jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    setting_key text;
    old_state settings;
    before_state jsonb := '{}';
BEGIN
    PERFORM need_platform_admin();
    FOR setting_key IN SELECT name FROM jsonb_object_keys(wanted) AS name ORDER BY name LOOP
        old_state := setting_take(setting_key);
        before_state := before_state || jsonb_build_object(setting_key, old_state.value);
        INSERT INTO settings (key, value, updated_by_user_id)
        VALUES (setting_key, wanted -> setting_key, current_user_id());
    END LOOP;
    PERFORM audit('gateway.config_set', 'gateway_config', NULL, NULL, before_state, wanted);
    PERFORM pg_notify('hostler_settings', '');
END
$$;

-- hostlerctl gateway reset: what administrators stored goes, file and environment count again.
CREATE OR REPLACE FUNCTION gateway_config_reset() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    setting_key text;
    old_state settings;
    before_state jsonb := '{}';
BEGIN
    FOREACH setting_key IN ARRAY
        ARRAY['gateway.ip_mode', 'gateway.risk_reject_threshold', 'gateway.trusted_cidrs'] LOOP
        old_state := setting_take(setting_key);
        before_state := before_state || jsonb_build_object(setting_key, old_state.value);
    END LOOP;
    PERFORM audit('gateway.config_set', 'gateway_config', NULL, NULL, before_state, '{}');
    PERFORM pg_notify('hostler_settings', '');
END
$$;
REVOKE EXECUTE ON FUNCTION gateway_config_set FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION gateway_config_reset FROM hostler_api, hostler_runner;
