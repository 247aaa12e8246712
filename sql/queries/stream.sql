-- Statements of the relay. As hostler_runner; opening comes after access.authenticate in the same batch.

-- name: stream_open
-- The run, for callers that may read it. It and its thread must still exist. Looks for a run of the organization that
-- the caller may read; only if it finds none the rest is asked, which raises why. And how many streams the organization
-- may hold open. input_seq: the number of the newest run.input_provided, which is among a run's last events while
-- anybody asks for it; of a run that was given some of the results that it waits for that of the newest. Where the
-- newest answer of a client is wanted (runs.client_answer): behind which event its own answer begins, and its facts.
-- $1 run_id uuid, $2 limit_streams bigint, $3 wants_input_seq boolean, $4 wants_answer boolean
SELECT r.id, r.status IN ('completed', 'failed', 'cancelled') AS is_ended,
    CASE WHEN r.owner_id IS NULL THEN r.last_seq
         ELSE coalesce((SELECT e.seq FROM run_events e WHERE e.run_id = $1 ORDER BY e.seq DESC LIMIT 1), 0)
    END AS last_seq,
    -- Most organizations have none; so many look-ups less are half of what this costs.
    CASE WHEN EXISTS (SELECT FROM entitlement_overrides o WHERE o.org_id = current_org())
              OR EXISTS (SELECT FROM subscriptions s WHERE s.org_id = current_org() AND s.status = 'active')
         THEN entitlement_integer(current_org(), 'limit.streams', $2) ELSE $2 END AS limit_streams,
    CASE WHEN $4 THEN (coalesce(r.client_facts, '{}')::jsonb || coalesce(r.client_answer -> 'facts', '{}')::jsonb)::json
         WHEN r.source = 'openai' AND r.client_facts -> 'metadata' IS NOT NULL
         THEN (r.client_facts::jsonb || jsonb_build_object('metadata', r.metadata))::json  -- which may be newer
         ELSE r.client_facts END AS client_facts,
    r.response_format IS NOT NULL AS is_checked,
    CASE WHEN $4 THEN (r.client_answer ->> 'behind_seq')::bigint
         WHEN $3 THEN (SELECT e.seq FROM run_events e
                       WHERE e.run_id = $1
                             AND (e.type = 'run.input_provided'
                                  OR (e.type = 'tool.result' AND r.status = 'waiting_for_input' AND e.seq = r.last_seq))
                       ORDER BY e.seq DESC LIMIT 1) END AS input_seq
FROM runs r
WHERE r.id = coalesce(
    (SELECT f.id FROM runs f JOIN threads t ON t.id = f.thread_id
     WHERE f.id = $1 AND f.org_id = current_org() AND (t.deleted_at IS NULL OR t.is_hidden) AND f.deleted_at IS NULL
           AND may_read_run(f.created_by_user_id, t.is_private, current_user_id(),
                            has_permission('org.runs.read_all'))),
    run_id_of_reader($1));

-- name: event_page
-- The next events of a run. usage: what it took, with its last event, where it is wanted.
-- $1 run_id uuid, $2 after bigint, $3 wants_usage boolean, $4 rows_max bigint, $5 bytes_max bigint
SELECT 1::bigint AS number, page.seq, page.type, page.data, rfc3339(page.created_at) AS created_at, page.has_next,
    CASE WHEN $3 AND page.type IN ('run.completed', 'run.failed', 'run.cancelled') THEN run_usage($1) END AS usage
FROM event_page($1, $2, $4, $5) AS page
ORDER BY page.seq;

-- name: event_pages
-- The same of several runs, each a page.
-- $1 run_ids uuid[], $2 afters bigint[], $3 usage_wanted boolean[], $4 rows_max bigint (of each run),
-- $5 bytes_max bigint (of each run)
SELECT followed.number, page.seq, page.type, page.data, rfc3339(page.created_at) AS created_at, page.has_next,
    CASE WHEN followed.wants_usage AND page.type IN ('run.completed', 'run.failed', 'run.cancelled')
         THEN run_usage(followed.run_id) END AS usage
FROM unnest($1::uuid[], $2::bigint[], $3::boolean[]) WITH ORDINALITY AS followed(run_id, after, wants_usage, number)
CROSS JOIN LATERAL event_page(followed.run_id, followed.after, $4, $5) AS page
ORDER BY followed.number, page.seq;

-- name: stream_stored
-- Those of the followed runs of which less is stored than subscribers were sent, and how much.
-- $1 run_ids uuid[], $2 seqs bigint[]
SELECT f.run_id, stored.seq
FROM unnest($1::uuid[], $2::bigint[]) AS f(run_id, seq)
CROSS JOIN LATERAL (
    SELECT greatest(r.last_seq, (SELECT e.seq FROM run_events e WHERE e.run_id = r.id
                                 ORDER BY e.seq DESC LIMIT 1)) AS seq
    FROM runs r WHERE r.id = f.run_id) AS stored
WHERE stored.seq < f.seq;

-- name: stream_resumed
-- The number of the run's newest run.resumed, if there is one.
-- $1 run_id uuid
SELECT max(e.seq) AS seq FROM run_events e
WHERE e.run_id = $1 AND e.type = 'run.resumed' AND (SELECT r.take_overs > 0 FROM runs r WHERE r.id = $1);

-- name: stream_recheck
-- Which of these subscribers may not go on: their session or key is dead, their user not active, their
-- organization closed, their membership gone, the thread or response deleted, the run no longer theirs to read, their
-- address excluded by an IP rule, their identity provider done with them or not the one that is required. One look-up
-- each, never a join over whole tables.
-- $1 session_ids uuid[] (all zero:
-- none), $2 api_key_ids uuid[] (likewise), $3 org_ids uuid[], $4 run_ids uuid[], $5 addresses text[]
SELECT f.number
FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[]) WITH ORDINALITY
    AS f(session_id, api_key_id, org_id, run_id, address, number)
WHERE NOT coalesce((
    SELECT ((u.platform_admin AND s.id IS NOT NULL AND s.confined_org_id IS NULL)
            OR may_read_run(r.created_by_user_id, t.is_private, u.id,
                            r.org_id = f.org_id AND 'org.runs.read_all' = ANY (role_permissions(m.role))))
        AND (o.ip_rule_count = 0 OR ip_admits(o.id, f.address::inet))
        AND CASE WHEN o.required_provider_id IS NULL THEN true
                 WHEN s.id IS NULL THEN is_linked_with(u.id, o.required_provider_id)
                 ELSE coalesce(s.provider_id = o.required_provider_id, false) END
    FROM (SELECT q.org_id, q.thread_id, q.created_by_user_id, q.deleted_at FROM runs q WHERE q.id = f.run_id OFFSET 0)
        AS r
    CROSS JOIN LATERAL (
        SELECT h.is_private, h.deleted_at, h.is_hidden FROM threads h WHERE h.id = r.thread_id OFFSET 0) AS t
    LEFT JOIN LATERAL (
        SELECT e.id, e.user_id, e.revoked_at, e.epoch, e.identity_id, e.provider_id, e.confined_org_id, e.ends_at
        FROM sessions e WHERE e.id = f.session_id OFFSET 0) AS s
        ON s.revoked_at IS NULL AND coalesce(s.ends_at > clock_timestamp(), true)
           AND CASE WHEN s.identity_id IS NULL THEN true ELSE identity_holds(s.identity_id) END
    LEFT JOIN LATERAL (
        SELECT a.user_id, a.revoked_at, a.expires_at, a.user_epoch, a.membership_id, a.created_at FROM api_keys a
        WHERE a.id = f.api_key_id OFFSET 0) AS k
        ON k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
    CROSS JOIN LATERAL (
        SELECT n.id, n.status, n.platform_admin, n.session_epoch, n.key_epoch, n.keys_kept_before FROM users n
        WHERE n.id = coalesce(s.user_id, k.user_id) OFFSET 0) AS u
    CROSS JOIN LATERAL (
        SELECT d.role, d.id FROM org_members d WHERE d.org_id = f.org_id AND d.user_id = u.id OFFSET 0) AS m
    CROSS JOIN LATERAL (SELECT g.id, g.ip_rule_count, g.closed_at, g.required_provider_id FROM orgs g
                        WHERE g.id = f.org_id OFFSET 0) AS o
    WHERE (t.deleted_at IS NULL OR t.is_hidden) AND r.deleted_at IS NULL AND u.status = 'active' AND o.closed_at IS NULL
          AND (s.id IS NULL OR s.epoch = u.session_epoch)
          AND (k.user_id IS NULL OR ((k.user_epoch = u.key_epoch OR k.created_at < u.keys_kept_before)
                                     AND (k.membership_id = m.id OR k.membership_id IS NULL)))), false);
