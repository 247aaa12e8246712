-- Why: what an organization's own models count and cost is what the organization says. It stands apart from the
-- platform's models in the platform's sums, and no sum can be filled by it so that others' turns fail. Locks:
-- usage_of_platform and platform_days, exclusively, while they are rewritten (a row a day, model and daemon; a row a
-- day). No transaction of a request or a daemon holds one of them and waits for the other.
--
-- The platform's sums are numeric: they stay exact beside whatever own models add. Sums of one organization or run stay
-- bigint and end at the largest: their tables are large, and their numbers are nobody else's.

ALTER TABLE usage_of_platform ALTER COLUMN input_tokens TYPE numeric, ALTER COLUMN output_tokens TYPE numeric,
    ALTER COLUMN cost_nano_usd TYPE numeric;
ALTER TABLE platform_days ALTER COLUMN input_tokens TYPE numeric, ALTER COLUMN output_tokens TYPE numeric,
    ALTER COLUMN cost_nano_usd TYPE numeric;

-- A sum as a bigint: the largest, when it is larger.
CREATE FUNCTION saturated(total numeric) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT least(total, 9223372036854775807)::bigint
$$;

-- Dollars per million tokens are thousands of nano-dollars per token. Cached tokens are part of input. No turn costs
-- more than a million dollars, whatever a provider counted.
CREATE OR REPLACE FUNCTION model_cost(price llm_models, input_tokens bigint, output_tokens bigint,
                                      cache_read_tokens bigint, cache_write_tokens bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT least(1e15, ceil(1000 *
        (greatest(input_tokens::numeric - cache_read_tokens - cache_write_tokens, 0) * price.input_usd_per_mtok
         + cache_read_tokens * price.cache_read_usd_per_mtok + cache_write_tokens * price.cache_write_usd_per_mtok
         + output_tokens * price.output_usd_per_mtok)))::bigint
$$;

-- Adds a new record to the sums. The account of its organization is locked, which orders the writers. is_own: of a
-- model of the organization's own, whose name says nothing to others.
DROP FUNCTION usage_add(usage_records, uuid);
CREATE FUNCTION usage_add(used usage_records, daemon uuid, is_own boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    INSERT INTO usage_of_org AS o (org_id, day, model, input_tokens, output_tokens, cost_nano_usd, record_count)
    VALUES (used.org_id, utc_day(used.created_at), used.model, used.input_tokens, used.output_tokens,
            used.cost_nano_usd, 1)
    ON CONFLICT (org_id, day, model) DO UPDATE SET
        input_tokens = saturated(o.input_tokens::numeric + excluded.input_tokens),
        output_tokens = saturated(o.output_tokens::numeric + excluded.output_tokens),
        cost_nano_usd = saturated(o.cost_nano_usd::numeric + excluded.cost_nano_usd),
        record_count = o.record_count + 1;
    INSERT INTO usage_of_platform AS p (day, model, daemon_id, input_tokens, output_tokens, cost_nano_usd, record_count)
    VALUES (utc_day(used.created_at), CASE WHEN is_own THEN 'own models' ELSE used.model END, daemon,
            used.input_tokens, used.output_tokens, used.cost_nano_usd, 1)
    ON CONFLICT (day, model, daemon_id) DO UPDATE SET input_tokens = p.input_tokens + excluded.input_tokens,
        output_tokens = p.output_tokens + excluded.output_tokens,
        cost_nano_usd = p.cost_nano_usd + excluded.cost_nano_usd, record_count = p.record_count + 1;
END
$$;
REVOKE EXECUTE ON FUNCTION usage_add FROM hostler_api, hostler_runner;

-- A finished turn of an owned run: the turn, its usage, the run's totals, what it costs. The single place where a
-- turn is paid for. held: false for a run that was lost; may_go_on: false when no credits are left for another turn.
CREATE OR REPLACE FUNCTION run_turn_commit(owner uuid, run uuid, run_epoch bigint, turn_number integer, turn_text text,
    calls json, turn_last_seq bigint, input_tokens bigint, output_tokens bigint, cache_read_tokens bigint,
    cache_write_tokens bigint, is_measured boolean, is_finished boolean, credits_per_usd bigint, run_hold bigint,
    OUT held boolean, OUT may_go_on boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
    price llm_models;
    used usage_records;
    room numeric;
BEGIN
    SELECT * INTO r FROM runs WHERE id = run AND owner_id = owner AND epoch = run_epoch FOR NO KEY UPDATE;
    held := r.id IS NOT NULL;
    may_go_on := held AND NOT r.credits_exhausted;
    IF NOT held THEN
        RETURN;
    END IF;
    SELECT * INTO STRICT price FROM llm_models WHERE id = r.model_id;
    -- What can be charged so that the run's sum and what is left of the account, its sign turned too, stay bigint.
    SELECT greatest(0, least(a.balance::numeric - a.held + 9223372036854775807, 9223372036854775807 - r.credits_used))
    INTO STRICT room FROM credit_accounts a WHERE a.org_id = r.org_id;
    INSERT INTO usage_records (org_id, run_id, turn, user_id, model, input_tokens, output_tokens, cache_read_tokens,
                               cache_write_tokens, cost_nano_usd, credits, measured)
    SELECT r.org_id, r.id, turn_number, r.created_by_user_id, r.model, input_tokens, output_tokens, cache_read_tokens,
           cache_write_tokens, cost, least(model_credits(price, cost, credits_per_usd), room), is_measured
    FROM model_cost(price, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens) AS cost
    ON CONFLICT (run_id, turn) DO NOTHING RETURNING * INTO used;
    -- A batch whose answer was lost is sent again; the turn is paid for once.
    IF used.id IS NULL THEN
        RETURN;
    END IF;
    -- A turn that was broken off is paid for, but is no step to go on from.
    IF is_finished THEN
        INSERT INTO run_turns (run_id, org_id, turn, text, tool_calls, last_seq)
        VALUES (r.id, r.org_id, turn_number, turn_text, calls, turn_last_seq);
    END IF;
    r.credits_held := credit_charge(r, used.credits,
                                    CASE WHEN model_is_free(price) THEN 0 ELSE greatest(run_hold, 1) END);
    -- A model is of its provider's organization.
    PERFORM usage_add(used, owner, price.org_id IS NOT NULL);
    may_go_on := model_is_free(price) OR r.credits_held > 0;
    UPDATE runs SET turns = turn_number, crash_count = 0,
        total_input_tokens = saturated(total_input_tokens::numeric + used.input_tokens),
        total_output_tokens = saturated(total_output_tokens::numeric + used.output_tokens),
        total_cached_tokens = saturated(total_cached_tokens::numeric + used.cache_read_tokens),
        total_cost_nano_usd = saturated(total_cost_nano_usd::numeric + used.cost_nano_usd),
        credits_used = credits_used + used.credits, credits_held = r.credits_held, credits_exhausted = NOT may_go_on
    WHERE id = r.id;
END
$$;

-- The sums of some days of the current organization; org null: of the platform, for its administrators.
DROP FUNCTION usage_rows(uuid, date, date);
CREATE FUNCTION usage_rows(org uuid, first_day date, last_day date)
RETURNS TABLE (day date, model text, input_tokens numeric, output_tokens numeric, cost_nano_usd numeric,
               record_count bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF org IS NULL THEN
        PERFORM need_platform_admin();
        RETURN QUERY SELECT p.day, p.model, p.input_tokens, p.output_tokens, p.cost_nano_usd, p.record_count
            FROM usage_of_platform p WHERE p.day BETWEEN first_day AND last_day;
    ELSE
        RETURN QUERY SELECT o.day, o.model, o.input_tokens::numeric, o.output_tokens::numeric,
            o.cost_nano_usd::numeric, o.record_count
            FROM usage_of_org o WHERE o.org_id = current_org() AND o.day BETWEEN first_day AND last_day;
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION usage_rows FROM hostler_runner;

CREATE OR REPLACE FUNCTION usage_summary(org uuid, wanted_year integer, wanted_month integer) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_build_object('year', extract(year FROM m.first_day)::integer,
        'month', extract(month FROM m.first_day)::integer,
        'total_input_tokens', saturated(coalesce(sum(u.input_tokens), 0)),
        'total_output_tokens', saturated(coalesce(sum(u.output_tokens), 0)),
        'total_cost_usd', usage_usd(sum(u.cost_nano_usd)), 'record_count', coalesce(sum(u.record_count), 0))
    FROM usage_month(wanted_year, wanted_month) AS m
    LEFT JOIN LATERAL usage_rows(org, m.first_day, m.last_day) AS u ON true
    GROUP BY m.first_day
$$;

-- Every day, also those without usage, the oldest first.
CREATE OR REPLACE FUNCTION usage_daily(org uuid, wanted_start date, wanted_end date) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_agg(json_build_object('date', each_day, 'input_tokens', saturated(coalesce(u.input_tokens, 0)),
        'output_tokens', saturated(coalesce(u.output_tokens, 0)), 'cost_usd', usage_usd(u.cost_nano_usd),
        'record_count', coalesce(u.record_count, 0)) ORDER BY each_day)
    FROM usage_days(wanted_start, wanted_end) AS d
    CROSS JOIN LATERAL (SELECT d.first_day + n AS each_day
                        FROM generate_series(0, d.last_day - d.first_day) AS n) AS days
    LEFT JOIN (
        SELECT r.day, sum(r.input_tokens) AS input_tokens, sum(r.output_tokens) AS output_tokens,
               sum(r.cost_nano_usd) AS cost_nano_usd, sum(r.record_count) AS record_count
        FROM usage_days(wanted_start, wanted_end) AS range, usage_rows(org, range.first_day, range.last_day) AS r
        GROUP BY r.day) AS u ON u.day = each_day
$$;

-- The most expensive first.
CREATE OR REPLACE FUNCTION usage_by_model(org uuid, wanted_year integer, wanted_month integer) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT coalesce(json_agg(json_build_object('model', s.model, 'input_tokens', saturated(s.input_tokens),
        'output_tokens', saturated(s.output_tokens), 'cost_usd', usage_usd(s.cost_nano_usd),
        'record_count', s.record_count)
        ORDER BY s.cost_nano_usd DESC, s.model), '[]')
    FROM (SELECT u.model, sum(u.input_tokens) AS input_tokens, sum(u.output_tokens) AS output_tokens,
                 sum(u.cost_nano_usd) AS cost_nano_usd, sum(u.record_count) AS record_count
          FROM usage_month(wanted_year, wanted_month) AS m, usage_rows(org, m.first_day, m.last_day) AS u
          GROUP BY u.model) AS s
$$;

-- GET /v1/admin/dashboard. Seen in 30 days: today or on one of the 30 days (UTC) before. A user's personal
-- organization has no other member, so only workspaces are looked at, one by one.
CREATE OR REPLACE FUNCTION dashboard_json() RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    today date := utc_day(clock_timestamp());
    first_day date := today - 30;
    active_workspaces bigint;
BEGIN
    PERFORM need_platform_admin();
    SELECT count(*) INTO active_workspaces FROM orgs o
    WHERE o.type = 'workspace' AND EXISTS (
        SELECT 1 FROM org_members m JOIN users u ON u.id = m.user_id
        WHERE m.org_id = o.id AND u.status <> 'deleted' AND u.last_seen_at >= first_day::timestamp AT TIME ZONE 'UTC');
    RETURN (
        SELECT json_build_object('total_users', coalesce(sum(t.users), 0)::bigint,
            'active_users_30d', coalesce(sum(t.seen_users) FILTER (WHERE t.day >= first_day), 0)::bigint,
            'total_runs', coalesce(sum(t.runs), 0)::bigint,
            'runs_today', coalesce(sum(t.runs) FILTER (WHERE t.day = today), 0)::bigint,
            'total_input_tokens', saturated(coalesce(sum(t.input_tokens), 0)),
            'total_output_tokens', saturated(coalesce(sum(t.output_tokens), 0)),
            'active_orgs', active_workspaces
                + coalesce(sum(t.seen_users) FILTER (WHERE t.day >= first_day), 0)::bigint,
            'total_cost_usd', usage_usd(sum(t.cost_nano_usd)))
        FROM (SELECT day, users, seen_users, runs, input_tokens, output_tokens, cost_nano_usd FROM platform_days
              UNION ALL
              SELECT day, users, seen_users, runs, input_tokens, output_tokens, cost_nano_usd FROM platform_deltas)
            AS t);
END
$$;
