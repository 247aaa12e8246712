-- Order of the runs that wait (contract section 4).

-- Which of the runs that wait are taken when there are fewer slots: in turns over the organizations that wait, within
-- them over creators, and of each the oldest first. The organizations behind after_org_id come first, then from the
-- beginning; within one the creators behind who was served last there (user_ids, beside org_ids). So each gets its
-- turn, claim by claim, though a claim reads few runs, however many wait: it walks the index from one organization and
-- creator to the next.
--
-- A creator who waits in several of these organizations has one turn for all of them, in one that is drawn by lot;
-- their others go after everybody who waits. So do all of theirs when they had a turn in this round: round_user_ids,
-- beside round_org_ids (runner/agent/round_robin.h).
--
-- Locks what it answers, and skips what others lock: when they hold all of it, it takes what comes. At most 32 at once,
-- of as many organizations; served_nth: in this order.
CREATE OR REPLACE FUNCTION runs_round_robin(slots bigint, after_org_id uuid, org_ids uuid[], user_ids uuid[],
    round_org_ids uuid[], round_user_ids uuid[])
RETURNS TABLE (id uuid, after_input boolean, served_nth bigint)
LANGUAGE plpgsql ROWS 32 SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    the_end constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    slots_now constant bigint := least(slots, 32);
    orgs_max constant integer := 32;
    of_org bigint;
    orgs uuid[];
BEGIN
    WITH RECURSIVE org AS (
        SELECT after_org_id AS org_id, 0 AS nth, false AS is_wrapped
        UNION ALL
        SELECT next.org_id, o.nth + 1, next.is_wrapped FROM org o CROSS JOIN LATERAL (
            (SELECT r.org_id, o.is_wrapped FROM runs r
             WHERE r.status = 'running' AND NOT r.queued AND r.owner_id IS NULL AND r.org_id > o.org_id
                   AND r.org_id <= CASE WHEN o.is_wrapped THEN after_org_id ELSE the_end END
             ORDER BY r.org_id, r.created_by_user_id, r.id LIMIT 1)
            UNION ALL
            (SELECT r.org_id, true FROM runs r
             WHERE r.status = 'running' AND NOT r.queued AND r.owner_id IS NULL AND NOT o.is_wrapped
                   AND r.org_id <= after_org_id
             ORDER BY r.org_id, r.created_by_user_id, r.id LIMIT 1)
            LIMIT 1) AS next
        WHERE o.nth < orgs_max)
    SELECT array_agg(o.org_id ORDER BY o.nth) INTO orgs FROM org o WHERE o.nth > 0;
    IF orgs IS NULL THEN
        RETURN;
    END IF;
    of_org := ceil(slots_now::numeric / cardinality(orgs));
    RETURN QUERY WITH RECURSIVE creator AS (
        SELECT o.org_id, o.nth, behind.user_id AS start, behind.user_id, 0 AS nth_of_org, false AS is_wrapped
        FROM unnest(orgs) WITH ORDINALITY AS o (org_id, nth)
        CROSS JOIN LATERAL (SELECT coalesce(
            (SELECT u.user_id FROM unnest(org_ids, user_ids) AS u (org_id, user_id) WHERE u.org_id = o.org_id LIMIT 1),
            '00000000-0000-0000-0000-000000000000') AS user_id) AS behind
        UNION ALL
        SELECT c.org_id, c.nth, c.start, next.user_id, c.nth_of_org + 1, next.is_wrapped
        FROM creator c CROSS JOIN LATERAL (
            (SELECT r.created_by_user_id AS user_id, c.is_wrapped FROM runs r
             WHERE r.status = 'running' AND NOT r.queued AND r.owner_id IS NULL AND r.org_id = c.org_id
                   AND r.created_by_user_id > c.user_id
                   AND r.created_by_user_id <= CASE WHEN c.is_wrapped THEN c.start ELSE the_end END
             ORDER BY r.org_id, r.created_by_user_id, r.id LIMIT 1)
            UNION ALL
            (SELECT r.created_by_user_id, true FROM runs r
             WHERE r.status = 'running' AND NOT r.queued AND r.owner_id IS NULL AND NOT c.is_wrapped
                   AND r.org_id = c.org_id AND r.created_by_user_id <= c.start
             ORDER BY r.org_id, r.created_by_user_id, r.id LIMIT 1)
            LIMIT 1) AS next
        -- Two at least: the first may have had a turn elsewhere.
        WHERE c.nth_of_org < greatest(of_org, 2)),
    creators AS (
        SELECT o.org_id, o.nth, o.user_id, o.nth_of_org, count(*) OVER (PARTITION BY o.nth) AS of_its_org,
            count(*) OVER (PARTITION BY o.user_id) AS orgs, random() AS lot
        FROM creator o WHERE o.nth_of_org > 0),
    waiting AS (
        SELECT c.org_id, c.nth, c.user_id, c.nth_of_org, c.orgs, c.lot, r.id,
            row_number() OVER (PARTITION BY c.nth, c.nth_of_org ORDER BY r.id) AS nth_of_creator
        FROM creators c
        CROSS JOIN LATERAL (
            SELECT r.id FROM runs r
            WHERE r.status = 'running' AND NOT r.queued AND r.owner_id IS NULL
                  AND r.org_id = c.org_id AND r.created_by_user_id = c.user_id
                  AND NOT run_creator_ended(r.org_id, r.created_by_user_id, r.created_at)
            ORDER BY r.org_id, r.created_by_user_id, r.id
            LIMIT ceil(greatest(of_org::numeric / c.of_its_org,
                                slots_now::numeric / (SELECT count(DISTINCT o.user_id) FROM creators o) / c.orgs))
            ) AS r)
    SELECT l.id, l.after_input, row_number() OVER (ORDER BY l.nth) AS served_nth
    FROM (SELECT r.id, r.after_input, f.nth
          FROM (SELECT t.id, row_number() OVER (ORDER BY t.had_turn, greatest(t.place, t.nth_of_user), t.nth) AS nth
                FROM (SELECT p.id, p.place, p.nth, p.had_turn,
                          dense_rank() OVER (PARTITION BY p.user_id ORDER BY p.lot) AS nth_of_user
                      FROM (SELECT w.id, w.user_id, w.nth, w.lot,
                                row_number() OVER (PARTITION BY w.nth ORDER BY w.nth_of_creator, w.nth_of_org) AS place,
                                EXISTS (SELECT FROM unnest(round_org_ids, round_user_ids) AS h (org_id, user_id)
                                        WHERE h.user_id = w.user_id
                                          AND (h.org_id <> w.org_id OR w.orgs > 1)) AS had_turn
                            FROM waiting w) AS p) AS t) AS f
          -- Not all that runs_claimable says: it would be read whole. A run that waits is never queued again.
          JOIN runs r ON r.id = f.id
          WHERE r.status = 'running' AND r.owner_id IS NULL
          ORDER BY f.nth LIMIT slots_now FOR UPDATE OF r SKIP LOCKED) AS l
    ORDER BY served_nth;
    IF NOT FOUND THEN
        RETURN QUERY SELECT r.id, r.after_input, 1::bigint FROM runs r
        WHERE r.status = 'running' AND NOT r.queued AND r.owner_id IS NULL
              AND NOT run_creator_ended(r.org_id, r.created_by_user_id, r.created_at)
        ORDER BY r.org_id, r.created_by_user_id, r.id LIMIT slots_now FOR UPDATE SKIP LOCKED;
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION runs_round_robin FROM hostler_api;
