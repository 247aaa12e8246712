-- The old address of a changed account takes it back, for some days; until then nobody else has it.

-- Links that went to the old address of an account when another took its place. Until its end nobody else can have the
-- old address, because otherwise a second account would be made to hold it. Statements that lock both lock the user
-- first, then the mailed secrets: these rows, email_tokens, login_codes.
CREATE TABLE email_reverts (
    hash bytea PRIMARY KEY CHECK (length(hash) = 32),
    user_id uuid NOT NULL REFERENCES users,
    email text NOT NULL,            -- what comes back
    email_key text COLLATE "C" NOT NULL,
    asked_at timestamptz NOT NULL,  -- the change that it takes back, and all later ones
    expires_at timestamptz NOT NULL
);
CREATE INDEX email_reverts_user ON email_reverts (user_id);
CREATE INDEX email_reverts_email ON email_reverts (email_key);
CREATE INDEX email_reverts_expiry ON email_reverts (expires_at);

-- Whether a way back of another user leads to the address. A minute longer than the link is good, for one that is
-- being followed.
CREATE OR REPLACE FUNCTION email_is_kept(address_key text, except_id uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (SELECT 1 FROM email_reverts WHERE email_key = address_key
                   AND user_id IS DISTINCT FROM except_id AND expires_at > clock_timestamp() - interval '1 minute')
$$;

-- After the row is written, since only then everybody who had the address has committed. An address that comes
-- without a proof was set by an administrator, or by the account's end: no way leads back from there.
CREATE OR REPLACE FUNCTION email_set() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.email_verified_at IS NULL THEN
        DELETE FROM email_reverts WHERE user_id = NEW.id;
    END IF;
    IF email_is_kept(NEW.email_key, NEW.id) THEN
        PERFORM fail('auth.email_exists');
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER users_email_new AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION email_set();
CREATE TRIGGER users_email_set AFTER UPDATE OF email_key ON users
    FOR EACH ROW WHEN (OLD.email_key <> NEW.email_key) EXECUTE FUNCTION email_set();

-- Things that an account's personal organization was set up to call or to believe since then. Their author would read
-- and answer the owner's next messages. IP rules are removed and connections end. The rest is switched off, for the
-- owner to look at: models of its providers are no default any more; tools, MCP servers, providers of tools, webhook
-- endpoints, and personas, whose prompts may describe how to use all these. The audit log has everything that was only
-- changed. Answers how many.
CREATE OR REPLACE FUNCTION personal_settings_off(user_row users, since timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET enable_seqscan = off AS $$
DECLARE
    org CONSTANT uuid := user_row.personal_org_id;
    changed uuid[];
    endpoint uuid;
    off bigint;
    off_count bigint;
BEGIN
    -- No CASE: which months there is no need to read is worked out before anything of a plan, and fails without an end.
    IF isfinite(since) THEN
        changed := ARRAY(
            SELECT a.target_id::uuid FROM audit_logs a
            WHERE a.org_id = org AND a.id >= uuidv7_floor(since) AND a.action IN (
                'llm_providers.update', 'tools.update', 'mcp_servers.update', 'webhooks.update', 'personas.update'));
    END IF;
    UPDATE llm_models m SET is_default = false FROM llm_providers p
    WHERE m.org_id = org AND m.is_default AND m.deleted_at IS NULL AND p.id = m.provider_id
          AND (p.created_at >= since OR m.created_at >= since OR p.id = ANY (changed));
    GET DIAGNOSTICS off_count = ROW_COUNT;
    UPDATE tools SET is_active = false
    WHERE org_id = org AND deleted_at IS NULL AND is_active AND (created_at >= since OR id = ANY (changed));
    GET DIAGNOSTICS off = ROW_COUNT;
    off_count := off_count + off;
    UPDATE mcp_servers SET is_active = false
    WHERE org_id = org AND deleted_at IS NULL AND is_active AND (created_at >= since OR id = ANY (changed));
    GET DIAGNOSTICS off = ROW_COUNT;
    off_count := off_count + off;
    UPDATE personas SET is_active = false
    WHERE org_id = org AND deleted_at IS NULL AND is_active AND (created_at >= since OR id = ANY (changed));
    GET DIAGNOSTICS off = ROW_COUNT;
    off_count := off_count + off;
    UPDATE tool_providers SET is_active = false, updated_at = clock_timestamp()
    WHERE org_id = org AND is_active AND updated_at >= since;
    GET DIAGNOSTICS off = ROW_COUNT;
    off_count := off_count + off;
    PERFORM mcp_connection_end(c.id) FROM mcp_connections c
    WHERE (c.org_id = org OR c.user_id = user_row.id) AND c.state <> 'ending' AND c.connected_at >= since;
    GET DIAGNOSTICS off = ROW_COUNT;
    off_count := off_count + off;
    FOR endpoint IN UPDATE webhook_endpoints SET enabled = false, failing_since = NULL
                    WHERE org_id = org AND enabled AND (created_at >= since OR id = ANY (changed)) RETURNING id LOOP
        PERFORM webhook_cancel_pending(endpoint);
        off_count := off_count + 1;
    END LOOP;
    DELETE FROM ip_rules WHERE org_id = org AND created_at >= since;
    GET DIAGNOSTICS off = ROW_COUNT;
    RETURN off_count + off;
END
$$;

-- Takes an account away from everybody who had it: no session, no password, no mailed secret, and no API key or setting
-- made since then. Answers the text for the audit log. The caller has locked the user exclusively (user_hold_alone),
-- because a write that was admitted before would come after it.
CREATE OR REPLACE FUNCTION account_taken_back(user_row users, since timestamptz) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    dead_keys bigint;
BEGIN
    UPDATE users SET password_hash = NULL WHERE id = user_row.id;
    PERFORM sessions_end(user_row.id, NULL);
    DELETE FROM email_tokens WHERE user_id = user_row.id;
    DELETE FROM login_codes WHERE user_id = user_row.id;
    PERFORM factors_end(user_row.id, since);
    PERFORM identities_end(user_row.id, since);
    dead_keys := api_keys_end(user_row.id, since);
    RETURN jsonb_build_object('password_voided', user_row.password_hash IS NOT NULL, 'api_keys_revoked', dead_keys,
                              'settings_switched_off', personal_settings_off(user_row, since));
END
$$;

-- Mails the way back to the address that was the user's until now.
CREATE OR REPLACE FUNCTION email_revert_queue(old_state users, asked_at timestamptz, mail jsonb,
    auth_email_revert_seconds integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    over_at timestamptz := clock_timestamp() - interval '1 hour';
BEGIN
    -- Each new one takes away some that are over: the table grows no longer than links live.
    DELETE FROM email_reverts WHERE hash IN (
        SELECT hash FROM email_reverts WHERE expires_at < over_at ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED);
    INSERT INTO email_reverts (hash, user_id, email, email_key, asked_at, expires_at)
    VALUES (decode(mail ->> 'token_hash', 'hex'), old_state.id, old_state.email, old_state.email_key,
            email_revert_queue.asked_at,
            clock_timestamp() + make_interval(secs => auth_email_revert_seconds));
    PERFORM mail_queue('email_changed', old_state.email, old_state.locale,
                       jsonb_build_object('username', old_state.username,
                                          'days', ceil(auth_email_revert_seconds / 86400.0)),
                       mail -> 'secret', old_state.email_key, old_state.id,
                       clock_timestamp() + make_interval(secs => auth_email_revert_seconds));
END
$$;

-- POST /v1/auth/email/revert, with the token: the address is the old one again, and the user who changed it is out.
-- They knew the password or had a session, so neither stays, nor do keys and settings made since they asked for the
-- change.
-- Links of later changes are void with these; the link of an earlier change still leads further back.
CREATE OR REPLACE FUNCTION email_revert(given_hash bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    back email_reverts;
    user_row users;
BEGIN
    PERFORM user_hold_alone(r.user_id) FROM email_reverts r WHERE r.hash = given_hash;
    SELECT u.* INTO user_row FROM users u JOIN email_reverts r ON r.user_id = u.id
    WHERE r.hash = given_hash AND u.status <> 'deleted' FOR NO KEY UPDATE OF u;
    SELECT * INTO back FROM email_reverts
    WHERE hash = given_hash AND user_id = user_row.id AND expires_at > clock_timestamp();
    IF back.hash IS NULL THEN
        PERFORM fail('email.token_invalid', 'revert_link_dead');
    END IF;
    DELETE FROM email_reverts WHERE user_id = user_row.id AND asked_at >= back.asked_at;
    UPDATE users SET email = back.email, email_key = back.email_key, email_verified_at = clock_timestamp()
    WHERE id = user_row.id;
    PERFORM audit('auth.email_reverted', 'user', user_row.id::text, user_row.personal_org_id,
                  jsonb_build_object('email_verified', user_row.email_verified_at IS NOT NULL),
                  '{"email_verified": true}' || account_taken_back(user_row, back.asked_at), 'ok', user_row.id);
END
$$;
REVOKE EXECUTE ON FUNCTION email_is_kept, email_set, personal_settings_off, account_taken_back, email_revert_queue
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION email_revert FROM hostler_runner;
