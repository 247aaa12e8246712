-- The steps of erasures (erasure.sql) that organizations alone have: what they set up loses its names, texts and
-- addresses. Rows that runs and the ledger name stay, without words.

-- Personas, models and providers. Runs name the rows of the first two for ever (models_and_personas_stay).
CREATE OR REPLACE FUNCTION erase_org_models(e erasures, step text, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    page uuid[];
BEGIN
    CASE step
        WHEN 'personas' THEN
            page := ARRAY(SELECT p.id FROM personas p WHERE p.org_id = e.org_id AND p.id > e.after_id
                ORDER BY p.org_id, p.id LIMIT at_most);
            UPDATE personas p SET persona_key = 'deleted', version = '', display_name = '', description = '',
                system_prompt = '', tools = '{}', confirm_tools = '{}', model = NULL, response_format = NULL,
                earlier = '[]', is_active = false, deleted_at = coalesce(p.deleted_at, clock_timestamp())
            WHERE p.id = ANY (page);
        WHEN 'llm_models' THEN
            page := ARRAY(SELECT m.id FROM llm_models m WHERE m.org_id = e.org_id AND m.id > e.after_id
                ORDER BY m.org_id, m.id LIMIT at_most);
            UPDATE llm_models m SET model = 'deleted', is_default = false, learned = NULL, learned_at = NULL,
                deleted_at = coalesce(m.deleted_at, clock_timestamp())
            WHERE m.id = ANY (page);
        WHEN 'llm_providers' THEN
            page := ARRAY(SELECT p.id FROM llm_providers p WHERE p.org_id = e.org_id AND p.id > e.after_id
                ORDER BY p.org_id, p.id LIMIT at_most);
            WITH sealed AS (SELECT p.secret_id FROM llm_providers p WHERE p.id = ANY (page) AND p.secret_id IS NOT NULL)
            DELETE FROM secrets s USING sealed WHERE s.id = sealed.secret_id;  -- sets the provider's to null
            UPDATE llm_providers p SET name = 'deleted', base_url = NULL, key_prefix = NULL,
                deleted_at = coalesce(p.deleted_at, clock_timestamp())
            WHERE p.id = ANY (page);
    END CASE;
    RETURN page;
END
$$;

-- Tools, their servers and connections. Daemons revoke the tokens of connections that end, and take these away.
CREATE OR REPLACE FUNCTION erase_org_tools(e erasures, step text, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    page uuid[];
    secret_ids uuid[];
BEGIN
    CASE step
        WHEN 'tools' THEN
            page := ARRAY(SELECT t.id FROM tools t WHERE t.org_id = e.org_id AND t.id > e.after_id
                ORDER BY t.org_id, t.id LIMIT at_most);
            secret_ids := ARRAY(SELECT t.secret_id FROM tools t WHERE t.id = ANY (page) AND t.secret_id IS NOT NULL
                UNION SELECT o.secret_id FROM tool_old_secrets o WHERE o.tool_id = ANY (page));
            UPDATE tools t SET name = 'deleted', description = '', parameters = '{}', url = '', secret_id = NULL,
                is_active = false, deleted_at = coalesce(t.deleted_at, clock_timestamp())
            WHERE t.id = ANY (page);
            DELETE FROM tool_old_secrets o WHERE o.tool_id = ANY (page);
        WHEN 'tool_providers' THEN
            page := ARRAY(SELECT p.id FROM tool_providers p WHERE p.org_id = e.org_id LIMIT at_most);
            secret_ids := ARRAY(SELECT p.secret_id FROM tool_providers p
                            WHERE p.id = ANY (page) AND p.secret_id IS NOT NULL);
            DELETE FROM tool_providers p WHERE p.id = ANY (page);
        WHEN 'mcp_connections' THEN
            page := ARRAY(SELECT c.id FROM mcp_connections c WHERE c.org_id = e.org_id AND c.id > e.after_id
                ORDER BY c.org_id, c.id LIMIT at_most);
            PERFORM mcp_connection_end(c.id) FROM unnest(page) AS c (id);
        WHEN 'mcp_servers' THEN
            page := ARRAY(SELECT s.id FROM mcp_servers s WHERE s.org_id = e.org_id AND s.id > e.after_id
                ORDER BY s.org_id, s.id LIMIT at_most);
            secret_ids := ARRAY(SELECT s.secret_id FROM mcp_servers s
                                WHERE s.id = ANY (page) AND s.secret_id IS NOT NULL
                UNION SELECT d.secret_id FROM mcp_discoveries d
                      WHERE d.server_id = ANY (page) AND d.secret_id IS NOT NULL);
            UPDATE mcp_servers s SET key = 'deleted', url = '', secret_id = NULL, authorization_settings = '{}',
                allowed_tools = '{}', discovery = NULL, listing_id = NULL, listing_left_out = NULL,
                listing_message = CASE WHEN s.listing_message IS NOT NULL THEN '' END, is_active = false,
                deleted_at = coalesce(s.deleted_at, clock_timestamp())
            WHERE s.id = ANY (page);
            DELETE FROM mcp_discoveries d WHERE d.server_id = ANY (page);
            DELETE FROM mcp_tools t WHERE t.server_id = ANY (page);
    END CASE;
    DELETE FROM secrets s WHERE s.id = ANY (secret_ids);
    RETURN page;
END
$$;

-- Invitations and what is kept of their mails, which name the organization.
CREATE OR REPLACE FUNCTION erase_org_invitations(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    page uuid[] := ARRAY(SELECT i.id FROM org_invitations i WHERE i.org_id = e.org_id AND i.id > e.after_id
                         ORDER BY i.org_id, i.id LIMIT at_most);
    mails uuid[] := ARRAY(
        SELECT o.id FROM org_invitations i
        JOIN outbox o ON o.kind = 'mail' AND o.recipient_key = i.email_key
        WHERE i.id = ANY (page) AND o.template = 'invitation'
              AND o.fields ->> 'org_name' = (SELECT g.name FROM orgs g WHERE g.id = e.org_id));
BEGIN
    PERFORM outbox_forget_secret(m.id) FROM unnest(mails) AS m (id);
    UPDATE outbox o SET status = CASE o.status WHEN 'delivered' THEN o.status ELSE 'cancelled' END,
        next_attempt_at = NULL, owner_id = NULL, lease_until = NULL, recipient = '', recipient_key = '', fields = '{}',
        last_error = NULL
    WHERE o.id = ANY (mails);
    UPDATE org_invitations i SET email = 'deleted-' || i.id || '@deleted.invalid',
        email_key = 'deleted-' || i.id || '@deleted.invalid',
        revoked_at = CASE WHEN num_nonnulls(i.accepted_at, i.revoked_at, i.ended_at) = 0 THEN clock_timestamp()
                     ELSE i.revoked_at END
    WHERE i.id = ANY (page);
    RETURN page;
END
$$;

-- The notes that administrators wrote into the ledger; amounts and balances stay.
CREATE OR REPLACE FUNCTION erase_ledger_notes(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    page uuid[] := ARRAY(SELECT t.id FROM credit_transactions t WHERE t.org_id = e.org_id AND t.note IS NOT NULL
                         LIMIT at_most);
BEGIN
    PERFORM set_config('hostler.erasing', 'on', true);
    UPDATE credit_transactions t SET note = NULL WHERE t.id = ANY (page);
    PERFORM set_config('hostler.erasing', '', true);
    RETURN page;
END
$$;

-- The organization's own row is the last, with what has a row or few for each organization.
CREATE OR REPLACE FUNCTION erase_org_row(e erasures) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE entitlement_overrides o SET reason = NULL WHERE o.org_id = e.org_id AND o.reason IS NOT NULL;
    DELETE FROM model_tests t WHERE t.org_id = e.org_id;  -- of ten minutes, ten a minute
    DELETE FROM feature_flag_overrides o WHERE o.org_id = e.org_id;
    UPDATE subscriptions s SET status = 'cancelled', cancelled_at = clock_timestamp(), next_grant_at = NULL
    WHERE s.org_id = e.org_id AND s.status = 'active';
    PERFORM identity_providers_erase(e.org_id);
    PERFORM exports_end(e.org_id, false);
    UPDATE orgs o SET slug = 'deleted-' || o.id, name = 'deleted-' || o.id, erased_at = clock_timestamp(),
        closed_at = coalesce(o.closed_at, clock_timestamp()), erase_at = NULL
    WHERE o.id = e.org_id;
END
$$;

-- A page of any other step.
CREATE OR REPLACE FUNCTION erase_org_rows(e erasures, step text, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    page uuid[] := '{}';
BEGIN
    CASE step
        WHEN 'ledger' THEN page := erase_ledger_notes(e, at_most);
        WHEN 'personas', 'llm_models', 'llm_providers' THEN page := erase_org_models(e, step, at_most);
        WHEN 'tools', 'tool_providers', 'mcp_connections', 'mcp_servers' THEN
            page := erase_org_tools(e, step, at_most);
        WHEN 'webhooks' THEN
            page := ARRAY(SELECT w.id FROM webhook_endpoints w WHERE w.org_id = e.org_id AND w.id > e.after_id
                ORDER BY w.org_id, w.id LIMIT at_most);
            UPDATE webhook_endpoints w SET deleted_at = coalesce(w.deleted_at, clock_timestamp()), enabled = false,
                secret_id = NULL, url = ''
            WHERE w.id = ANY (page);
            DELETE FROM webhook_old_secrets o WHERE o.endpoint_id = ANY (page);
            DELETE FROM secrets s WHERE s.org_id = e.org_id AND s.kind = 'webhook';
        WHEN 'invitations' THEN page := erase_org_invitations(e, at_most);
        WHEN 'ip_rules' THEN
            page := ARRAY(SELECT r.id FROM ip_rules r WHERE r.org_id = e.org_id ORDER BY r.org_id, r.id LIMIT at_most);
            DELETE FROM ip_rules r WHERE r.id = ANY (page);
        WHEN 'members' THEN
            -- The owner of a personal organization, who is deleted, stays its only one.
            page := ARRAY(SELECT m.user_id FROM org_members m JOIN orgs o ON o.id = m.org_id
                WHERE m.org_id = e.org_id AND o.type = 'workspace' ORDER BY m.user_id LIMIT at_most);
            DELETE FROM org_members m WHERE m.org_id = e.org_id AND m.user_id = ANY (page);
        WHEN 'org' THEN PERFORM erase_org_row(e);
    END CASE;
    RETURN page;
END
$$;
REVOKE EXECUTE ON FUNCTION erase_org_models, erase_org_tools, erase_org_invitations, erase_ledger_notes,
    erase_org_row, erase_org_rows FROM hostler_api, hostler_runner;
