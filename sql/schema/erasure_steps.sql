-- The steps of erasures (erasure.sql) that users, members, organizations and end users share. Each works on a page of
-- at most so many rows and answers their ids in order: fewer end the step.

-- The traces of a user in each of their organizations are an erasure of its own.
CREATE OR REPLACE FUNCTION erase_user_orgs(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    page uuid[] := ARRAY(
        SELECT q.org_id FROM (
            (SELECT f.org_id FROM former_members f WHERE f.user_id = e.user_id AND f.org_id > e.after_id
             ORDER BY f.org_id LIMIT at_most)
            UNION
            (SELECT m.org_id FROM org_members m WHERE m.user_id = e.user_id AND m.org_id > e.after_id
             ORDER BY m.org_id LIMIT at_most)) AS q
        ORDER BY q.org_id LIMIT at_most);
BEGIN
    PERFORM erasure_begin('member', o.id, e.user_id) FROM unnest(page) AS o (id);
    RETURN page;
END
$$;

-- Threads that are not deleted yet.
CREATE OR REPLACE FUNCTION erase_threads(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    page uuid[];
BEGIN
    CASE e.kind
        WHEN 'member' THEN
            page := ARRAY(SELECT t.id FROM threads t
                WHERE t.org_id = e.org_id AND t.created_by_user_id = e.user_id AND t.deleted_at IS NULL
                ORDER BY t.id LIMIT at_most);
        WHEN 'org' THEN
            page := ARRAY(SELECT t.id FROM threads t WHERE t.org_id = e.org_id AND t.deleted_at IS NULL
                ORDER BY t.org_id, t.created_by_user_id, t.id LIMIT at_most);
        ELSE
            -- Deleted ones too, because it is forgotten with the name.
            page := ARRAY(SELECT t.id FROM threads t
                WHERE t.org_id = e.org_id AND hashtext(t.end_user) = hashtext(e.end_user) AND t.end_user = e.end_user
                ORDER BY t.id LIMIT at_most);
    END CASE;
    PERFORM threads_erase(page, CASE e.kind WHEN 'member' THEN 'user_deleted' WHEN 'org' THEN 'org_deleted'
                                ELSE 'thread_deleted' END);
    RETURN page;
END
$$;

-- Runs: what is left of threads that were deleted or hidden before. Of an organization also the names that it gave to
-- personas, models and providers. A conversation without an end user in which a response named this one goes whole.
CREATE OR REPLACE FUNCTION erase_runs(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    page uuid[];
    thread_ids uuid[];
BEGIN
    CASE e.kind
        WHEN 'member' THEN
            page := ARRAY(SELECT r.id FROM runs r
                WHERE r.org_id = e.org_id AND r.created_by_user_id = e.user_id AND r.id > e.after_id
                ORDER BY r.id LIMIT at_most);
        WHEN 'org' THEN
            page := ARRAY(SELECT r.id FROM runs r WHERE r.org_id = e.org_id AND r.id > e.after_id
                ORDER BY r.id LIMIT at_most);
        ELSE
            page := ARRAY(SELECT r.id FROM runs r WHERE r.org_id = e.org_id AND r.end_user = e.end_user
                ORDER BY r.id LIMIT at_most);
    END CASE;
    thread_ids := ARRAY(SELECT DISTINCT r.thread_id FROM runs r WHERE r.id = ANY (page));
    IF e.kind = 'end_user' THEN
        PERFORM 1 FROM threads t WHERE t.id = ANY (thread_ids) ORDER BY t.id FOR UPDATE;
        PERFORM 1 FROM runs r WHERE r.id = ANY (page) ORDER BY r.id FOR UPDATE;
        UPDATE runs r SET end_user = NULL, metadata = '{}' WHERE r.id = ANY (page);
        PERFORM threads_erase(thread_ids, 'thread_deleted');
        RETURN page;
    END IF;
    PERFORM threads_empty_whole(thread_ids);
    IF e.kind = 'org' THEN
        UPDATE runs r SET persona_id = '', persona_model = '', credential_name = '',
            model = CASE WHEN is_platform_model(r.model) THEN r.model ELSE 'deleted' END
        WHERE r.id = ANY (page);
    END IF;
    RETURN page;
END
$$;

-- Files are marked as gone, without their names; files_prune() removes them one by one.
CREATE OR REPLACE FUNCTION erase_files(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    page uuid[];
BEGIN
    CASE e.kind
        WHEN 'member' THEN
            page := ARRAY(SELECT f.id FROM files f
                WHERE f.org_id = e.org_id AND f.created_by_user_id = e.user_id AND f.deleted_at IS NULL
                ORDER BY f.id LIMIT at_most);
        WHEN 'org' THEN
            page := ARRAY(SELECT f.id FROM files f WHERE f.org_id = e.org_id AND f.deleted_at IS NULL
                ORDER BY f.org_id, f.created_by_user_id, f.id LIMIT at_most);
        ELSE
            page := ARRAY(SELECT f.id FROM files f WHERE f.org_id = e.org_id AND f.end_user = e.end_user
                ORDER BY f.id LIMIT at_most);
    END CASE;
    UPDATE files f SET name = '', search = '', metadata = '{}', end_user = NULL, check_due_at = NULL,
        deleted_at = coalesce(f.deleted_at, clock_timestamp())
    WHERE f.id = ANY (page);
    RETURN page;
END
$$;

-- Keys are dead by now.
CREATE OR REPLACE FUNCTION erase_api_keys(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    page uuid[];
BEGIN
    IF e.kind = 'member' THEN
        page := ARRAY(SELECT k.id FROM api_keys k
            WHERE k.org_id = e.org_id AND k.user_id = e.user_id AND k.id > e.after_id ORDER BY k.id LIMIT at_most);
    ELSE
        page := ARRAY(SELECT k.id FROM api_keys k WHERE k.org_id = e.org_id AND k.id > e.after_id
            ORDER BY k.id LIMIT at_most);
    END IF;
    UPDATE api_keys k SET name = 'deleted', key_prefix = '', revoked_at = coalesce(k.revoked_at, clock_timestamp())
    WHERE k.id = ANY (page);
    RETURN page;
END
$$;

-- Webhook messages: of an organization they go whole, of a member's or end user's runs the marks in them.
CREATE OR REPLACE FUNCTION erase_outbox(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    page uuid[] := ARRAY(SELECT o.id FROM outbox o WHERE o.org_id = e.org_id AND o.id > e.after_id
                         ORDER BY o.id LIMIT at_most);
BEGIN
    IF e.kind = 'org' THEN
        DELETE FROM outbox o WHERE o.id = ANY (page);
        RETURN page;
    END IF;
    DELETE FROM outbox o WHERE o.id = ANY (page) AND o.event_type = 'budget.threshold'
        AND o.body::jsonb #>> '{data,end_user}' = e.end_user;
    UPDATE outbox o SET body = (o.body::jsonb || jsonb_build_object('data', (o.body::jsonb -> 'data')
        || '{"end_user": null, "metadata": {}, "error": null}'))::text
    WHERE o.id = ANY (page) AND o.kind = 'webhook' AND o.body::jsonb #> '{data,metadata}' IS NOT NULL
          AND CASE e.kind WHEN 'end_user' THEN o.body::jsonb #>> '{data,end_user}' = e.end_user
              ELSE EXISTS (SELECT FROM runs r WHERE r.id = (o.body::jsonb #>> '{data,run_id}')::uuid
                           AND r.created_by_user_id = e.user_id) END;
    RETURN page;
END
$$;

-- The audit log keeps who did what to what, when, and how it ended. Of a user's own acts address and user agent go, of
-- an organization's also what was changed. The target of a denial is a path, which may hold names: its route stays.
CREATE OR REPLACE FUNCTION erase_audit(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    page uuid[];
BEGIN
    IF e.kind = 'user' THEN
        page := ARRAY(SELECT a.id FROM audit_logs a WHERE a.actor_user_id = e.user_id AND a.id > e.after_id
            ORDER BY a.actor_user_id, a.id LIMIT at_most);
    ELSE
        page := ARRAY(SELECT a.id FROM audit_logs a WHERE a.org_id = e.org_id AND a.id > e.after_id
            ORDER BY a.org_id, a.id LIMIT at_most);
    END IF;
    UPDATE audit_logs a SET client_ip = NULL, user_agent = NULL,
        target_id = CASE WHEN a.target_type = 'request' THEN a.after_state ->> 'route' ELSE a.target_id END,
        before_state = CASE WHEN e.kind = 'user' THEN a.before_state END,
        after_state = CASE WHEN e.kind = 'user' OR a.target_type = 'request' THEN a.after_state END
    WHERE a.id = ANY (page);
    RETURN page;
END
$$;

-- Logins to the account that failed have no actor.
CREATE OR REPLACE FUNCTION erase_failed_logins(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    page uuid[] := ARRAY(
        SELECT a.id FROM audit_logs a
        WHERE a.target_id = e.user_id::text AND a.actor_user_id IS NULL AND a.target_type = 'user'
              AND a.id > e.after_id ORDER BY a.target_id, a.id LIMIT at_most);
BEGIN
    UPDATE audit_logs a SET client_ip = NULL, user_agent = NULL WHERE a.id = ANY (page);
    RETURN page;
END
$$;

-- Of a user, or of an organization: the facts of its members' requests stay.
CREATE OR REPLACE FUNCTION erase_access_log(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    page uuid[];
BEGIN
    IF e.kind = 'user' THEN
        page := ARRAY(SELECT l.id FROM access_log l WHERE l.user_id = e.user_id AND l.id > e.after_id
            ORDER BY l.user_id, l.id LIMIT at_most);
    ELSE
        page := ARRAY(SELECT l.id FROM access_log l WHERE l.org_id = e.org_id AND l.id > e.after_id
            ORDER BY l.org_id, l.id LIMIT at_most);
    END IF;
    UPDATE access_log l SET client_ip = NULL, user_agent = '', city = '' WHERE l.id = ANY (page);
    RETURN page;
END
$$;
REVOKE EXECUTE ON FUNCTION erase_user_orgs, erase_threads, erase_runs, erase_files, erase_api_keys, erase_outbox,
    erase_audit, erase_failed_logins, erase_access_log FROM hostler_api, hostler_runner;
