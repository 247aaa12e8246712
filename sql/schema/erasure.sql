-- Erasure: what a user, a member of an organization, an organization or an end user left is removed page by page by
-- maintenance. Threads go through deleted_threads.sql; names and texts elsewhere are overwritten; facts of the audit
-- log and the access log, the ledger and usage sums stay. What each step does: erasure_steps.sql, org_erasure.sql,
-- end_users.sql.

-- One row per subject whose erasure has not ended. A user's begins one for each organization they were in (member). An
-- organization is stopped (org_stop) before it is erased. Its owners are notified by pages, too, of that and of
-- exports.
CREATE TABLE erasures (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    kind text NOT NULL CHECK (kind IN ('user', 'member', 'org', 'org_stop', 'export_mails', 'end_user')),
    org_id uuid,
    user_id uuid,
    end_user text,
    nth_step integer NOT NULL DEFAULT 1,
    after_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',  -- the step has done the rows up to this one
    due_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX erasures_due ON erasures (due_at);
CREATE INDEX erasures_org ON erasures (org_id);
SELECT make_tenant_table('erasures');

-- Organizations that a user was a member of: what they left there is found by them.
CREATE TABLE former_members (
    user_id uuid NOT NULL,
    org_id uuid NOT NULL,
    PRIMARY KEY (user_id, org_id)
);
SELECT make_tenant_table('former_members');

CREATE OR REPLACE FUNCTION former_member_note() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    INSERT INTO former_members (user_id, org_id) VALUES (OLD.user_id, OLD.org_id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER former_member_note AFTER DELETE ON org_members FOR EACH ROW EXECUTE FUNCTION former_member_note();

-- Begins an erasure in the transaction that decides it.
CREATE OR REPLACE FUNCTION erasure_begin(what text, org uuid, of_user uuid DEFAULT NULL, name text DEFAULT NULL,
    not_before timestamptz DEFAULT clock_timestamp()) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    INSERT INTO erasures (kind, org_id, user_id, end_user, due_at) VALUES (what, org, of_user, name, not_before)
$$;

-- A user is deleted: their threads everywhere and their personal organization are erased.
CREATE OR REPLACE FUNCTION erasure_begin_user(gone users) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM erasure_begin('user', NULL, gone.id);
    PERFORM erasure_begin('org', gone.personal_org_id);
    PERFORM privacy_note('user', NULL, gone.id);
END
$$;

-- The steps of an erasure, in their order.
CREATE OR REPLACE FUNCTION erasure_steps(kind text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE kind
        WHEN 'user' THEN ARRAY['orgs', 'audit', 'failed_logins', 'access_log']
        WHEN 'member' THEN ARRAY['threads', 'runs', 'files', 'api_keys', 'outbox', 'scim']
        WHEN 'org_stop' THEN ARRAY['owner_mails']
        WHEN 'export_mails' THEN ARRAY['owner_mails']
        WHEN 'org' THEN ARRAY['threads', 'runs', 'files', 'usage', 'usage_days', 'usage_months', 'ledger',
            'api_keys', 'personas', 'llm_models', 'llm_providers', 'tools', 'tool_providers', 'mcp_connections',
            'mcp_servers', 'budgets', 'outbox', 'webhooks', 'invitations', 'ip_rules', 'scim', 'members', 'audit',
            'org', 'access_log']
        WHEN 'end_user' THEN ARRAY['threads', 'runs', 'files', 'usage', 'usage_months', 'budgets', 'outbox'] END
$$;

-- The rows that a page worked on: fewer than at_most end the step.
CREATE OR REPLACE FUNCTION erasure_page_of(e erasures, step text, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN CASE step
        WHEN 'orgs' THEN erase_user_orgs(e, at_most)
        WHEN 'owner_mails' THEN erase_owner_mails(e, at_most)
        WHEN 'threads' THEN erase_threads(e, at_most)
        WHEN 'runs' THEN erase_runs(e, at_most)
        WHEN 'files' THEN erase_files(e, at_most)
        WHEN 'usage' THEN erase_usage(e, at_most)
        WHEN 'usage_days' THEN erase_usage_days(e, at_most)
        WHEN 'usage_months' THEN erase_usage_months(e, at_most)
        WHEN 'api_keys' THEN erase_api_keys(e, at_most)
        WHEN 'budgets' THEN erase_budgets(e, at_most)
        WHEN 'outbox' THEN erase_outbox(e, at_most)
        WHEN 'scim' THEN erase_scim(e, at_most)
        WHEN 'audit' THEN erase_audit(e, at_most)
        WHEN 'failed_logins' THEN erase_failed_logins(e, at_most)
        WHEN 'access_log' THEN erase_access_log(e, at_most)
        ELSE erase_org_rows(e, step, at_most) END;
END
$$;

-- Maintenance: a page of the erasure that waits longest, so that they take turns. A page that fails is tried again in a
-- minute and does not hold up the others. more: there was one that is due.
CREATE OR REPLACE FUNCTION erasures_page(at_most integer, OUT more boolean, OUT fault text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    e erasures;
    steps text[];
    done uuid[];
BEGIN
    SELECT * INTO e FROM erasures q WHERE q.due_at <= statement_timestamp() ORDER BY q.due_at LIMIT 1
    FOR UPDATE SKIP LOCKED;
    more := e.id IS NOT NULL;
    IF NOT more THEN
        RETURN;
    END IF;
    steps := erasure_steps(e.kind);
    BEGIN
        done := coalesce(erasure_page_of(e, steps[e.nth_step], at_most), '{}');
    EXCEPTION WHEN OTHERS THEN
        fault := format('erasure %s, step %s: %s', e.id, steps[e.nth_step], SQLERRM);
        UPDATE erasures SET due_at = clock_timestamp() + interval '1 minute' WHERE id = e.id;
        RETURN;
    END;
    IF cardinality(done) >= at_most THEN
        UPDATE erasures SET after_id = done[cardinality(done)], due_at = clock_timestamp() WHERE id = e.id;
    ELSIF e.nth_step < cardinality(steps) THEN
        UPDATE erasures SET nth_step = e.nth_step + 1, after_id = DEFAULT, due_at = clock_timestamp() WHERE id = e.id;
    ELSE
        DELETE FROM erasures WHERE id = e.id;
    END IF;
END
$$;

-- Queues deleted threads to be emptied of everything, also those that were emptied before.
CREATE OR REPLACE FUNCTION threads_empty_whole(thread_ids uuid[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    INSERT INTO threads_to_empty (thread_id, is_whole)
    SELECT t.id, true FROM threads t WHERE t.id = ANY (thread_ids) AND t.deleted_at IS NOT NULL ORDER BY t.id
    ON CONFLICT (thread_id) DO UPDATE SET is_whole = true, run_id = excluded.run_id
$$;

-- Deletes threads for good, of any owner: their runs are cancelled, and their content is removed. Threads, then their
-- runs, then accounts are locked, each in the order of ids.
CREATE OR REPLACE FUNCTION threads_erase(thread_ids uuid[], why text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    active uuid[];
    thread_row threads;
BEGIN
    PERFORM 1 FROM threads t WHERE t.id = ANY (thread_ids) ORDER BY t.id FOR UPDATE;
    active := ARRAY(SELECT r.id FROM runs r WHERE r.thread_id = ANY (thread_ids) AND r.ended_at IS NULL);
    PERFORM 1 FROM runs r WHERE r.id = ANY (active) ORDER BY r.id FOR UPDATE;
    PERFORM credit_lock(ARRAY(SELECT r.org_id FROM runs r WHERE r.id = ANY (active) AND r.ended_at IS NULL));
    FOR thread_row IN SELECT t.* FROM threads t WHERE t.id = ANY (thread_ids) ORDER BY t.id LOOP
        PERFORM pg_notify('hostler_control', run::text) FROM unnest(thread_stop(thread_row, NULL, why)) AS run;
    END LOOP;
    UPDATE threads t SET deleted_at = coalesce(t.deleted_at, clock_timestamp()), end_user = NULL,
        updated_at = CASE WHEN t.deleted_at IS NULL THEN clock_timestamp() ELSE t.updated_at END
    WHERE t.id = ANY (thread_ids);
    PERFORM threads_empty_whole(thread_ids);
END
$$;
REVOKE EXECUTE ON FUNCTION former_member_note, erasure_begin, erasure_begin_user, erasure_page_of,
    threads_empty_whole, threads_erase FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION erasures_page FROM hostler_api;
