-- Administrators set how mail is sent; what file and environment say holds until then.

CREATE TABLE email_config (
    is_the_one boolean PRIMARY KEY DEFAULT true CHECK (is_the_one),
    sender text NOT NULL,
    smtp_host text NOT NULL,
    smtp_port integer NOT NULL,
    smtp_user text NOT NULL,
    smtp_tls_mode text NOT NULL CHECK (smtp_tls_mode IN ('none', 'starttls', 'tls')),
    secret_id uuid REFERENCES secrets,  -- the password, sealed as kind email_config; null: none
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_by_user_id uuid
);
GRANT SELECT ON email_config TO hostler_runner;

CREATE OR REPLACE FUNCTION email_config_state(c email_config) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN c.sender IS NOT NULL THEN jsonb_build_object('from', c.sender, 'smtp_host', c.smtp_host,
        'smtp_port', c.smtp_port, 'smtp_user', c.smtp_user, 'smtp_tls_mode', c.smtp_tls_mode,
        'smtp_pass_set', c.secret_id IS NOT NULL) END
$$;

-- Whether administrators stored mail settings: anybody who queues a mail may ask.
CREATE OR REPLACE FUNCTION email_config_is_stored() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (SELECT 1 FROM email_config)
$$;

-- Stored settings with the password sealed, or no row.
CREATE OR REPLACE FUNCTION email_config_stored()
RETURNS TABLE (sender text, smtp_host text, smtp_port integer, smtp_user text,
    smtp_tls_mode text, secret_id uuid, key_version integer, wrapped_key bytea, sealed bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM need_platform_admin();
    RETURN QUERY SELECT c.sender, c.smtp_host, c.smtp_port, c.smtp_user, c.smtp_tls_mode, s.id, s.key_version,
        s.wrapped_key, s.sealed FROM email_config c LEFT JOIN secrets s ON s.id = c.secret_id;
END
$$;

-- PUT /v1/admin/email/config. secret: the new password, sealed, or null to keep the stored one, unless wanted says
-- drops_password. A password that stays is sent where and as it was meant: another server, or a weaker way there, needs
-- it again. Mails that wait for a later try, or for any settings at all, are due now: a new server is tried
-- for as long again.
CREATE OR REPLACE FUNCTION email_config_set(wanted jsonb, secret jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    strengths CONSTANT text[] := ARRAY['none', 'starttls', 'tls'];
    old_state email_config;
    new_state email_config;
BEGIN
    PERFORM need_platform_admin();
    PERFORM pg_advisory_xact_lock(hashtextextended('hostler email config', 0));
    SELECT * INTO old_state FROM email_config;
    IF old_state.secret_id IS NOT NULL AND secret IS NULL AND NOT (wanted ->> 'drops_password')::boolean
       AND (lower(wanted ->> 'smtp_host') <> lower(old_state.smtp_host)
            OR (wanted ->> 'smtp_port')::integer <> old_state.smtp_port
            OR array_position(strengths, wanted ->> 'smtp_tls_mode')
               < array_position(strengths, old_state.smtp_tls_mode)) THEN
        PERFORM fail('validation.error', 'secret_needed', jsonb_build_object('field', 'smtp_pass'));
    END IF;
    IF secret IS NOT NULL THEN
        PERFORM secret_insert(NULL, 'email_config', secret);
    END IF;
    DELETE FROM email_config;
    INSERT INTO email_config (sender, smtp_host, smtp_port, smtp_user, smtp_tls_mode, secret_id, updated_by_user_id)
    VALUES (wanted ->> 'from', wanted ->> 'smtp_host', (wanted ->> 'smtp_port')::integer, wanted ->> 'smtp_user',
            wanted ->> 'smtp_tls_mode', CASE WHEN NOT (wanted ->> 'drops_password')::boolean
                THEN coalesce((secret ->> 'id')::uuid, old_state.secret_id) END, current_user_id())
    RETURNING * INTO new_state;
    IF old_state.secret_id IS DISTINCT FROM new_state.secret_id THEN
        DELETE FROM secrets WHERE id = old_state.secret_id;
    END IF;
    UPDATE outbox SET next_attempt_at = clock_timestamp(), attempts_before = attempts, first_failed_at = NULL
    WHERE kind = 'mail' AND status = 'pending' AND next_attempt_at > clock_timestamp();
    PERFORM audit('email.config_set', 'email_config', 'email_config', NULL, email_config_state(old_state),
                  email_config_state(new_state));
    PERFORM pg_notify('hostler_settings', '');
END
$$;

-- POST /v1/admin/email/test, behind the attempt. error: the server's words, or null.
CREATE OR REPLACE FUNCTION email_test_audit(recipient text, error text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT audit('email.test', 'email_config', 'email_config', NULL, NULL,
                 jsonb_build_object('to', recipient, 'error', error),
                 CASE WHEN error IS NULL THEN 'ok' ELSE 'failed' END)
$$;
REVOKE EXECUTE ON FUNCTION email_config_state FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION email_config_is_stored, email_config_stored, email_config_set, email_test_audit
    FROM hostler_runner;
