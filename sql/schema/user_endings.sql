-- Remains of a deleted user, swept page by page (endings.sql): memberships, sessions and tokens, the address where
-- others keep it, and the usage of their personal organization. user_delete() begins these sweeps.

-- The sweep of a deleted user's memberships. Members of an organization change behind the lock of its row.
CREATE OR REPLACE FUNCTION ending_page_memberships(e endings, at_most integer, is_whole boolean) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    page uuid[] := ARRAY(
        SELECT m.org_id FROM org_members m
        WHERE m.user_id = e.subject_id AND m.org_id <> (SELECT u.personal_org_id FROM users u WHERE u.id = e.subject_id)
        LIMIT at_most);
BEGIN
    IF is_whole AND cardinality(page) = at_most THEN
        RETURN ending_again();
    END IF;
    PERFORM FROM orgs o WHERE o.id = ANY (page) ORDER BY o.id FOR NO KEY UPDATE;
    DELETE FROM org_members m WHERE m.user_id = e.subject_id AND m.org_id = ANY (page);
    RETURN CASE WHEN cardinality(page) = at_most THEN page[1] END;
END
$$;

-- The sweep of a deleted user's sessions: their tokens are gone, and whence somebody came.
CREATE OR REPLACE FUNCTION ending_page_user_sessions(e endings, at_most integer, is_whole boolean) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    seen constant uuid := coalesce(e.cursor_id, '00000000-0000-0000-0000-000000000000');
    page uuid[] := ARRAY(SELECT s.id FROM sessions s WHERE s.user_id = e.subject_id AND s.id > seen
                         ORDER BY s.id LIMIT at_most FOR NO KEY UPDATE);
    access bigint;
    refresh bigint;
BEGIN
    IF is_whole AND cardinality(page) = at_most THEN
        RETURN ending_again();
    END IF;
    DELETE FROM access_tokens WHERE hash IN (
        SELECT t.hash FROM access_tokens t WHERE t.session_id = ANY (page) LIMIT at_most);
    GET DIAGNOSTICS access = ROW_COUNT;
    DELETE FROM refresh_tokens WHERE hash IN (
        SELECT t.hash FROM refresh_tokens t WHERE t.session_id = ANY (page) LIMIT at_most);
    GET DIAGNOSTICS refresh = ROW_COUNT;
    IF greatest(access, refresh) = at_most THEN
        RETURN seen;
    END IF;
    UPDATE sessions s SET revoked_at = coalesce(s.revoked_at, e.ended_at), client_ip = NULL, neighbourhood = NULL,
        user_agent = ''
    WHERE s.id = ANY (page);
    RETURN CASE WHEN cardinality(page) = at_most THEN page[at_most] END;
END
$$;

-- The sweep of what else a deleted user leaves: the address in mails, counters, the audit log and invitations of
-- others; and of their personal organization MCP servers, keys for providers of models and tools, tools and webhooks
-- with their secrets. Nobody acts in its name any more; messages that wait go with their endpoint (webhook_prune).
-- Each statement takes so many rows at most. facts: addresses, as email_key has them; proved, the one that was proved
-- to be theirs; entered, what they entered as theirs, as name_key() has it.
CREATE OR REPLACE FUNCTION ending_page_user(e endings, at_most integer, is_whole boolean) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid := (SELECT u.personal_org_id FROM users u WHERE u.id = e.subject_id);
    addresses text[] := ARRAY(SELECT jsonb_array_elements_text(e.facts -> 'addresses'));
    proved text := e.facts ->> 'proved';
    page uuid[];
    taken bigint;
    logged bigint;
    most bigint := 0;
BEGIN
    DELETE FROM login_failures WHERE ctid IN (
        SELECT f.ctid FROM login_failures f WHERE f.login_key = e.subject_id::text LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    most := greatest(most, taken);
    logged := audit_forget(proved, e.facts ->> 'entered', org, at_most);
    most := greatest(most, logged);
    page := ARRAY(SELECT o.id FROM outbox o
                  WHERE o.kind = 'mail' AND o.recipient_key = ANY (addresses) AND o.created_at <= e.ended_at
                        AND (proved IS NOT NULL OR o.template <> 'invitation')
                  LIMIT at_most FOR NO KEY UPDATE);
    PERFORM outbox_forget_secret(o.id) FROM unnest(page) AS o (id);
    UPDATE outbox SET status = CASE status WHEN 'delivered' THEN status ELSE 'cancelled' END, next_attempt_at = NULL,
        owner_id = NULL, lease_until = NULL, recipient = '', recipient_key = '', fields = '{}', last_error = NULL
    WHERE id = ANY (page);
    most := greatest(most, cardinality(page));
    -- By its invitations the audit log is found, so they keep the address until the log has forgotten it.
    UPDATE org_invitations SET email = 'deleted-' || e.subject_id || '@deleted.invalid',
        email_key = 'deleted-' || e.subject_id || '@deleted.invalid',
        revoked_at = CASE WHEN num_nonnulls(accepted_at, revoked_at, ended_at) = 0 THEN e.ended_at ELSE revoked_at END
    WHERE logged < at_most
          AND id IN (SELECT i.id FROM org_invitations i WHERE i.email_key = proved AND i.created_at <= e.ended_at
                     LIMIT at_most);
    GET DIAGNOSTICS taken = ROW_COUNT;
    most := greatest(most, taken, mcp_servers_end(org, at_most), provider_keys_end(org, at_most),
                     endpoints_end(org, at_most));
    RETURN CASE WHEN most >= at_most THEN e.subject_id END;
END
$$;

-- The keys for providers of models and tools that the personal organization of a deleted user kept, so many at most:
-- nobody asks a provider in its name any more. Answers the most rows of one table.
CREATE OR REPLACE FUNCTION provider_keys_end(org uuid, at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    page uuid[] := ARRAY(SELECT s.id FROM secrets s WHERE s.org_id = org AND s.kind IN ('llm_provider', 'tool_provider')
                         ORDER BY s.id LIMIT at_most);
BEGIN
    UPDATE llm_providers SET secret_id = NULL, key_prefix = NULL WHERE org_id = org AND secret_id = ANY (page);
    UPDATE tool_providers SET secret_id = NULL, key_prefix = NULL, is_active = false
    WHERE org_id = org AND secret_id = ANY (page);
    DELETE FROM secrets WHERE id = ANY (page);
    RETURN cardinality(page);
END
$$;

-- Its webhooks and tools, their addresses and what signs them. Likewise.
CREATE OR REPLACE FUNCTION endpoints_end(org uuid, at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    ended uuid[];
    called bigint;
    page uuid[];
BEGIN
    ended := ARRAY(SELECT w.id FROM webhook_endpoints w WHERE w.org_id = org AND w.deleted_at IS NULL
                   ORDER BY w.id LIMIT at_most);
    UPDATE webhook_endpoints SET deleted_at = clock_timestamp(), enabled = false, secret_id = NULL
    WHERE id = ANY (ended);
    UPDATE tools SET deleted_at = clock_timestamp(), secret_id = NULL, description = '', parameters = '{}'
    WHERE id IN (SELECT t.id FROM tools t WHERE t.org_id = org AND t.deleted_at IS NULL LIMIT at_most);
    GET DIAGNOSTICS called = ROW_COUNT;
    page := CASE WHEN greatest(cardinality(ended), called) < at_most THEN
        ARRAY(SELECT s.id FROM secrets s WHERE s.org_id = org AND s.kind IN ('webhook', 'tool')
              ORDER BY s.id LIMIT at_most) END;
    DELETE FROM webhook_old_secrets WHERE secret_id = ANY (page);
    DELETE FROM tool_old_secrets WHERE secret_id = ANY (page);
    DELETE FROM secrets WHERE id = ANY (page);
    RETURN greatest(cardinality(ended), called, cardinality(page));
END
$$;
REVOKE EXECUTE ON FUNCTION ending_page_memberships, ending_page_user_sessions, ending_page_user, provider_keys_end,
    endpoints_end FROM hostler_api, hostler_runner;
