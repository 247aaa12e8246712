-- The ledger compared with what it is about, for `hostlerctl ledger verify`.

-- name: ledger_page
-- The next organizations whose ledgers hold that many rows together, at least one: the last of them, or null when none
-- follows.
-- $1 after_org_id uuid, $2 rows_max bigint
SELECT (array_agg(org_id ORDER BY org_id DESC))[1] AS last_org_id, count(*) AS accounts,
       coalesce(sum(entries), 0)::bigint AS transactions
FROM (SELECT org_id, entries, sum(entries + 1) OVER (ORDER BY org_id) AS rows_until, row_number() OVER (ORDER BY org_id)
      FROM (SELECT org_id, entries FROM credit_accounts WHERE org_id > $1 ORDER BY org_id LIMIT 10000) AS following)
    AS page
WHERE rows_until <= $2::bigint OR row_number = 1;

-- name: ledger_fault
-- The first row that is wrong of a page of organizations, or none: the ledger against itself, the accounts, the holds,
-- the charges, the usage, the bytes that are stored. What it compares commits together, so one page after the other
-- may be looked at.
-- $1 after_org_id uuid, $2 last_org_id uuid
WITH entry AS (
    SELECT t.id, t.org_id, t.number, t.amount, t.balance_after, t.type, t.reference_id,
           lag(t.number, 1, 0::bigint) OVER of_org AS number_before,
           lag(t.balance_after, 1, 0::bigint) OVER of_org AS balance_before
    FROM credit_transactions t WHERE t.org_id > $1 AND t.org_id <= $2
    WINDOW of_org AS (PARTITION BY t.org_id ORDER BY t.number)),
account AS (
    SELECT org_id, balance, held, entries, ARRAY[active_runs, queued_runs, waiting_runs]::bigint[] AS runs, stored_bytes
    FROM credit_accounts WHERE org_id > $1 AND org_id <= $2),
run AS (
    SELECT id, org_id, status, queued, waits_apart(input_request) AS is_apart, ended_at, credits_used, credits_held,
           event_bytes, result_bytes, end_user
    FROM runs WHERE org_id > $1 AND org_id <= $2),
stored AS (
    SELECT s.org_id, sum(s.bytes)::bigint AS bytes FROM (
        SELECT r.org_id, r.result_bytes + CASE WHEN r.id >= f.before_run_id THEN r.event_bytes ELSE 0 END AS bytes
        FROM run r CROSS JOIN run_events_freed f
        UNION ALL
        SELECT t.org_id, octet_length(m.content) FROM threads t JOIN messages m ON m.thread_id = t.id
        WHERE t.org_id > $1 AND t.org_id <= $2
        UNION ALL
        SELECT i.org_id, i.counted_bytes FROM idempotency_records i
        WHERE i.org_id > $1 AND i.org_id <= $2 AND i.counted_bytes > 0) AS s
    GROUP BY s.org_id),
newest AS (SELECT DISTINCT ON (org_id) org_id, number, balance_after FROM entry ORDER BY org_id, number DESC),
charged AS (SELECT reference_id AS run_id, -sum(amount) AS credits FROM entry WHERE type = 'consumption' GROUP BY 1),
usage AS (
    SELECT org_id, run_id, utc_day(created_at) AS day, utc_month(created_at) AS month, end_user, model, input_tokens,
           output_tokens, cost_nano_usd, credits
    FROM usage_records WHERE org_id > $1 AND org_id <= $2),
erasing AS (SELECT DISTINCT org_id FROM erasures WHERE kind IN ('org', 'end_user')),  -- whose names go page by page
tool AS (
    -- A run whose thread was deleted has no end user any more, but what its turns took has.
    SELECT t.org_id, t.run_id, utc_month(t.created_at) AS month, coalesce(r.end_user, u.end_user) AS end_user, t.credits
    FROM run_tool_results t JOIN run r ON r.id = t.run_id
    LEFT JOIN (SELECT DISTINCT ON (run_id) run_id, end_user FROM usage ORDER BY run_id) AS u ON u.run_id = t.run_id
    WHERE t.org_id > $1 AND t.org_id <= $2 AND t.credits > 0),
used AS (
    SELECT p.run_id, sum(p.credits) AS credits FROM (
        SELECT u.run_id, u.credits FROM usage u UNION ALL SELECT t.run_id, t.credits FROM tool t) AS p
    GROUP BY p.run_id),
holding AS (SELECT org_id, sum(credits_held) AS held FROM run WHERE credits_held > 0 GROUP BY org_id),
live AS (
    SELECT org_id, ARRAY[count(*) FILTER (WHERE NOT queued AND NOT is_apart), count(*) FILTER (WHERE queued),
                         count(*) FILTER (WHERE is_apart)] AS runs
    FROM run WHERE ended_at IS NULL GROUP BY org_id),
recorded AS (
    SELECT org_id, day, model, end_user IS NOT NULL AS has_end_user, count(*) AS record_count,
           saturated(sum(input_tokens)) AS input_tokens, saturated(sum(output_tokens)) AS output_tokens,
           saturated(sum(cost_nano_usd)) AS cost_nano_usd, saturated(sum(credits)) AS credits
    FROM usage GROUP BY 1, 2, 3, 4),
summed AS (
    SELECT org_id, day, model, has_end_user, record_count, input_tokens, output_tokens, cost_nano_usd, credits
    FROM usage_of_org WHERE org_id > $1 AND org_id <= $2),
of_end_user AS (
    SELECT p.org_id, p.month, p.end_user, sum(p.record_count)::bigint AS record_count,
           saturated(sum(p.input_tokens)) AS input_tokens, saturated(sum(p.output_tokens)) AS output_tokens,
           saturated(sum(p.cost_nano_usd)) AS cost_nano_usd, saturated(sum(p.credits)) AS credits
    FROM (SELECT u.org_id, u.month, u.end_user, 1 AS record_count, u.input_tokens, u.output_tokens, u.cost_nano_usd,
                 u.credits
          FROM usage u WHERE u.end_user IS NOT NULL
          UNION ALL
          SELECT t.org_id, t.month, coalesce(t.end_user, ''), 0, 0, 0, 0, t.credits FROM tool t) AS p
    GROUP BY 1, 2, 3),
summed_of_end_user AS (
    SELECT org_id, month, end_user, record_count, input_tokens, output_tokens, cost_nano_usd, credits
    FROM usage_of_end_user WHERE org_id > $1 AND org_id <= $2)
SELECT origin, id, org_id, what FROM (
    SELECT 1 AS rank, 'credit_transactions' AS origin, e.id::text AS id, e.org_id,
           CASE WHEN e.number <> e.number_before + 1 THEN format('number %s follows %s', e.number, e.number_before)
                ELSE format('balance_after is %s, but %s and %s make %s', e.balance_after, e.balance_before, e.amount,
                            e.balance_before::numeric + e.amount) END AS what
    FROM entry e
    WHERE e.number <> e.number_before + 1 OR e.balance_after <> e.balance_before::numeric + e.amount
    UNION ALL
    SELECT 2, 'credit_accounts', a.org_id::text, a.org_id,
           format('balance %s and %s entries, but the ledger says %s and %s', a.balance, a.entries,
                  coalesce(n.balance_after, 0), coalesce(n.number, 0))
    FROM account a LEFT JOIN newest n ON n.org_id = a.org_id
    WHERE a.balance <> coalesce(n.balance_after, 0) OR a.entries <> coalesce(n.number, 0)
    UNION ALL
    SELECT 3, 'credit_accounts', a.org_id::text, a.org_id,
           format('held is %s, but the runs hold %s', a.held, coalesce(h.held, 0))
    FROM account a LEFT JOIN holding h ON h.org_id = a.org_id WHERE a.held <> coalesce(h.held, 0)
    UNION ALL
    SELECT 4, 'runs', r.id::text, r.org_id, format('is %s and still holds %s', r.status, r.credits_held)
    FROM run r WHERE r.ended_at IS NOT NULL AND r.credits_held > 0
    UNION ALL
    SELECT 5, 'runs', r.id::text, r.org_id,
           format('credits_used is %s, its usage says %s, the ledger %s', r.credits_used, coalesce(u.credits, 0),
                  coalesce(c.credits, 0))
    FROM run r LEFT JOIN used u ON u.run_id = r.id LEFT JOIN charged c ON c.run_id = r.id::text
    WHERE r.credits_used <> coalesce(u.credits, 0) OR r.credits_used <> coalesce(c.credits, 0)
    UNION ALL
    SELECT 6, 'usage_of_org', coalesce(r.day, o.day) || ' ' || coalesce(r.model, o.model), coalesce(r.org_id, o.org_id),
           format('%s records are counted, there are %s', coalesce(o.record_count, 0), coalesce(r.record_count, 0))
    FROM summed o FULL JOIN recorded r ON r.org_id = o.org_id AND r.day = o.day AND r.model = o.model
                                         AND r.has_end_user = o.has_end_user
    WHERE (o.record_count, o.input_tokens, o.output_tokens, o.cost_nano_usd, o.credits)
          IS DISTINCT FROM (r.record_count, r.input_tokens, r.output_tokens, r.cost_nano_usd, r.credits)
          AND coalesce(r.org_id, o.org_id) NOT IN (SELECT q.org_id FROM erasing q)
    UNION ALL
    SELECT 7, 'credit_accounts', a.org_id::text, a.org_id,
           format('counts %s active, queued and waiting runs, there are %s', a.runs, coalesce(l.runs, '{0,0,0}'))
    FROM account a LEFT JOIN live l ON l.org_id = a.org_id WHERE a.runs <> coalesce(l.runs, '{0,0,0}')
    UNION ALL
    SELECT 8, 'credit_accounts', a.org_id::text, a.org_id,
           format('stored_bytes is %s, but messages, events, results and kept answers have %s', a.stored_bytes,
                  coalesce(s.bytes, 0))
    FROM account a LEFT JOIN stored s ON s.org_id = a.org_id WHERE a.stored_bytes <> coalesce(s.bytes, 0)
    UNION ALL
    SELECT 10, 'credit_accounts', a.org_id::text, a.org_id,
           format('turns_held is %s, but the turns hold %s', a.turns_held, coalesce(t.held, 0))
    FROM credit_accounts a
    LEFT JOIN (SELECT h.org_id, sum(h.credits) AS held FROM turn_holds h GROUP BY h.org_id) AS t ON t.org_id = a.org_id
    WHERE a.org_id > $1 AND a.org_id <= $2 AND a.turns_held <> coalesce(t.held, 0)
    UNION ALL
    SELECT 11, 'budget_windows', w.budget_id::text, w.org_id,
           format('held is %s, but the turns hold %s', w.held, coalesce(t.held, 0))
    FROM budget_windows w
    LEFT JOIN (
        SELECT k.budget_id, k.end_user, k.begins_at, sum(k.amount) AS held
        FROM turn_holds h CROSS JOIN LATERAL unnest(h.budget_ids, h.end_users, h.begin_times, h.amounts)
            AS k (budget_id, end_user, begins_at, amount)
        WHERE h.org_id > $1 AND h.org_id <= $2
        GROUP BY k.budget_id, k.end_user, k.begins_at) AS t
        ON t.budget_id = w.budget_id AND t.end_user = w.end_user AND t.begins_at = w.begins_at
    WHERE w.org_id > $1 AND w.org_id <= $2 AND w.held <> coalesce(t.held, 0)
    UNION ALL
    SELECT 9, 'usage_of_end_user', coalesce(e.month, o.month) || ' ' || coalesce(e.end_user, o.end_user),
           coalesce(e.org_id, o.org_id),
           format('%s records are counted, there are %s', coalesce(o.record_count, 0), coalesce(e.record_count, 0))
    FROM summed_of_end_user o FULL JOIN of_end_user e
         ON e.org_id = o.org_id AND e.month = o.month AND e.end_user = o.end_user
    WHERE (o.record_count, o.input_tokens, o.output_tokens, o.cost_nano_usd, o.credits)
          IS DISTINCT FROM (e.record_count, e.input_tokens, e.output_tokens, e.cost_nano_usd, e.credits)
          AND coalesce(e.org_id, o.org_id) NOT IN (SELECT q.org_id FROM erasing q)) AS fault
ORDER BY org_id, rank, id LIMIT 1;
