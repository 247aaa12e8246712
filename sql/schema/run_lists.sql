-- Runs in lists: of an organization, of an end user, of a thread.

-- The runs of the current organization, newest first: all of them for org.runs.read_all (except those of other people's
-- private threads), the caller's own otherwise. One plan serves every caller, and is made once, because planning again
-- for each call, as Postgres may choose to, takes longer than reading the page. To make it independent of statistics,
-- each form names the two ends of its part of an index and that index's order, which no other index has: those of id
-- alone hold everybody's runs. OFFSET 0 keeps the look for a run's creator apart: then Postgres remembers the users
-- that it found, which a join does not.
CREATE OR REPLACE FUNCTION run_page(page_limit integer, before uuid, wanted_status text) RETURNS TABLE (run_id uuid,
    org_id uuid, thread_id uuid, status text, model text, persona_id text, end_user text, metadata json,
    total_input_tokens bigint, total_output_tokens bigint, total_cost_usd double precision, duration_ms bigint,
    cache_hit_rate double precision, credits_used bigint, created_at timestamptz, completed_at timestamptz,
    failed_at timestamptz, created_by_user_id uuid, created_by_user_name text, created_by_email text,
    waiting json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan
SET enable_sort = off SET enable_incremental_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    org uuid := current_org();
    of_user uuid := current_user_id();
    upper_end uuid := coalesce(before, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
BEGIN
    IF NOT has_permission('org.runs.read_all') AND wanted_status IS NOT NULL THEN
        -- All of somebody's would be read for a status that few of them have.
        RETURN QUERY SELECT item.* FROM run_marked_page(page_limit, before, wanted_status, NULL, NULL, NULL) AS item;
    ELSIF NOT has_permission('org.runs.read_all') THEN
        RETURN QUERY
            SELECT item.*
            FROM runs r CROSS JOIN LATERAL (
                SELECT c.username, c.email FROM users c WHERE c.id = r.created_by_user_id OFFSET 0) AS u
            CROSS JOIN LATERAL run_list_item(r, u.username, u.email) AS item
            WHERE (r.org_id, r.created_by_user_id) >= (org, of_user)
                  AND (r.org_id, r.created_by_user_id, r.id) < (org, of_user, upper_end)
            ORDER BY r.org_id DESC, r.created_by_user_id DESC, r.id DESC LIMIT page_limit;
    ELSIF wanted_status IS NULL THEN
        RETURN QUERY
            SELECT item.*
            FROM runs r CROSS JOIN LATERAL (
                SELECT c.username, c.email FROM users c WHERE c.id = r.created_by_user_id OFFSET 0) AS u
            CROSS JOIN LATERAL run_list_item(r, u.username, u.email) AS item
            WHERE r.org_id >= org AND (r.org_id, r.id) < (org, upper_end)
                  AND may_read_run(r.created_by_user_id,
                                   (SELECT t.is_private FROM threads t WHERE t.id = r.thread_id), of_user, true)
            ORDER BY r.org_id DESC, r.id DESC LIMIT page_limit;
    ELSE
        RETURN QUERY
            SELECT item.*
            FROM runs r CROSS JOIN LATERAL (
                SELECT c.username, c.email FROM users c WHERE c.id = r.created_by_user_id OFFSET 0) AS u
            CROSS JOIN LATERAL run_list_item(r, u.username, u.email) AS item
            WHERE (r.org_id, r.status) >= (org, wanted_status)
                  AND (r.org_id, r.status, r.id) < (org, wanted_status, upper_end)
                  AND may_read_run(r.created_by_user_id,
                                   (SELECT t.is_private FROM threads t WHERE t.id = r.thread_id), of_user, true)
            ORDER BY r.org_id DESC, r.status DESC, r.id DESC LIMIT page_limit;
    END IF;
END
$$;

-- The same of the runs of an end user, of those whose metadata has a member of that name and value, or of both.
-- Metadata has no index, since every run would pay for it: so many runs are looked at for a page and no more, the
-- newest first. When they hold fewer than a page, a last row has nothing but the id of the last one that was looked
-- at: the next page goes on there.
CREATE OR REPLACE FUNCTION run_marked_page(page_limit integer, before uuid, wanted_status text, wanted_end_user text,
    metadata_name text, metadata_value text) RETURNS TABLE (run_id uuid,
    org_id uuid, thread_id uuid, status text, model text, persona_id text, end_user text, metadata json,
    total_input_tokens bigint, total_output_tokens bigint, total_cost_usd double precision, duration_ms bigint,
    cache_hit_rate double precision, credits_used bigint, created_at timestamptz, completed_at timestamptz,
    failed_at timestamptz, created_by_user_id uuid, created_by_user_name text, created_by_email text,
    waiting json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan
SET enable_sort = off SET enable_incremental_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    looked_at_max CONSTANT integer := 10000;
    org uuid := current_org();
    of_user uuid := current_user_id();
    reads_all boolean := has_permission('org.runs.read_all');
    upper_end uuid := coalesce(before, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    looked_at integer := 0;
    found_runs integer := 0;
    r runs;
BEGIN
    -- One of the three: the conditions without a column are asked once, before anything is read.
    FOR r IN
        (SELECT e.* FROM runs e
         WHERE wanted_end_user IS NOT NULL AND (e.org_id, e.end_user) >= (org, wanted_end_user)
               AND (e.org_id, e.end_user, e.id) < (org, wanted_end_user, upper_end) AND e.end_user IS NOT NULL
         ORDER BY e.org_id DESC, e.end_user DESC, e.id DESC LIMIT looked_at_max)
        UNION ALL
        (SELECT o.* FROM runs o
         WHERE wanted_end_user IS NULL AND reads_all AND o.org_id >= org AND (o.org_id, o.id) < (org, upper_end)
         ORDER BY o.org_id DESC, o.id DESC LIMIT looked_at_max)
        UNION ALL
        (SELECT u.* FROM runs u
         WHERE wanted_end_user IS NULL AND NOT reads_all AND (u.org_id, u.created_by_user_id) >= (org, of_user)
               AND (u.org_id, u.created_by_user_id, u.id) < (org, of_user, upper_end)
         ORDER BY u.org_id DESC, u.created_by_user_id DESC, u.id DESC LIMIT looked_at_max)
    LOOP
        looked_at := looked_at + 1;
        IF (wanted_status IS NULL OR r.status = wanted_status)
           AND (metadata_name IS NULL OR r.metadata ->> metadata_name = metadata_value)
           AND (r.created_by_user_id = of_user OR reads_all) THEN
            IF may_read_run(r.created_by_user_id, (SELECT t.is_private FROM threads t WHERE t.id = r.thread_id),
                            of_user, reads_all) THEN
                RETURN QUERY SELECT item.* FROM users u CROSS JOIN LATERAL run_list_item(r, u.username, u.email) AS item
                    WHERE u.id = r.created_by_user_id;
                found_runs := found_runs + 1;
                EXIT WHEN found_runs = page_limit;
            END IF;
        END IF;
        IF looked_at = looked_at_max THEN
            run_id := r.id;
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;

-- The runs of a thread, newest first, for its creator.
CREATE OR REPLACE FUNCTION thread_run_page(thread uuid, page_limit integer, before uuid) RETURNS TABLE (run_id uuid,
    status text, end_user text, metadata json, created_at timestamptz, waiting json)
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    upper_end uuid := coalesce(before, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
BEGIN
    IF NOT EXISTS (SELECT FROM threads t WHERE t.id = thread AND t.deleted_at IS NULL
                   AND t.created_by_user_id = current_user_id()) THEN
        PERFORM thread_of_caller(thread, false);
    END IF;
    RETURN QUERY
        SELECT r.id, r.status, r.end_user, r.metadata, r.created_at,
            CASE WHEN r.input_request IS NOT NULL THEN run_waiting(r.input_request, r.created_at) END
        FROM runs r
        WHERE r.thread_id = thread AND r.id < upper_end
        ORDER BY r.id DESC LIMIT page_limit;
END
$$;
