-- Usage by day and model, for an organization and for the platform, and by month and end user, so that no answer reads
-- usage_records.
--
-- Written with the turn, in its transaction, and by nothing else: the sums cannot drift from the records. Days are
-- UTC.

CREATE TABLE usage_records (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL,
    run_id uuid NOT NULL,
    turn integer NOT NULL,
    user_id uuid NOT NULL,
    model text NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cache_read_tokens bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    cost_nano_usd bigint NOT NULL,
    credits bigint NOT NULL DEFAULT 0,
    measured boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    end_user text COLLATE "C",  -- the run's; empty: one that is erased
    UNIQUE (run_id, turn),
    CONSTRAINT usage_records_sound CHECK (
        least(input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_nano_usd, credits) >= 0)
);
CREATE INDEX usage_records_org ON usage_records (org_id, id);
CREATE INDEX usage_records_end_user ON usage_records (org_id, end_user, id) WHERE end_user IS NOT NULL;
SELECT make_tenant_table('usage_records');
GRANT SELECT ON usage_records TO hostler_api;
GRANT SELECT ON usage_records TO hostler_runner;

CREATE TABLE usage_of_org (
    org_id uuid NOT NULL,
    day date NOT NULL,
    model text COLLATE "C" NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cost_nano_usd bigint NOT NULL,
    record_count bigint NOT NULL,
    has_end_user boolean NOT NULL DEFAULT false,
    credits bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (org_id, day, model, has_end_user)
);
SELECT make_tenant_table('usage_of_org');
GRANT SELECT ON usage_of_org TO hostler_api;

CREATE OR REPLACE FUNCTION utc_month(moment timestamptz) RETURNS date
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT date_trunc('month', moment AT TIME ZONE 'UTC')::date
$$;

-- The turns of runs with an end user, and the credits of everybody's tool calls. end_user is '' for runs without one,
-- whose turns usage_of_org knows. So an app that names no end users pays nothing for this.
CREATE TABLE usage_of_end_user (
    org_id uuid NOT NULL,
    month date NOT NULL,
    end_user text COLLATE "C" NOT NULL,
    input_tokens bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    cost_nano_usd bigint NOT NULL DEFAULT 0,
    credits bigint NOT NULL DEFAULT 0,
    record_count bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (org_id, month, end_user)
) WITH (autovacuum_vacuum_scale_factor = 0.01);
-- The order of the answer, which is read page by page however many end users there are.
CREATE INDEX usage_of_end_user_cost ON usage_of_end_user (org_id, month, (-cost_nano_usd), end_user);
SELECT make_tenant_table('usage_of_end_user');
GRANT SELECT ON usage_of_end_user TO hostler_api;

-- Sums of all organizations. Each daemon adds to rows of its own, because they would wait for each other otherwise.
CREATE TABLE usage_of_platform (
    day date NOT NULL,
    model text COLLATE "C" NOT NULL,
    daemon_id uuid NOT NULL,
    input_tokens numeric NOT NULL,
    output_tokens numeric NOT NULL,
    cost_nano_usd numeric NOT NULL,
    record_count bigint NOT NULL,
    PRIMARY KEY (day, model, daemon_id)
);
CREATE INDEX usage_of_platform_model ON usage_of_platform (model);  -- for the erasure of an organization

-- The sums of some days of the current organization; org null: of the platform, for its administrators.
CREATE OR REPLACE FUNCTION usage_rows(org uuid, first_day date, last_day date)
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

-- A month, from numbers that may be null: the current one then.
CREATE OR REPLACE FUNCTION usage_month(wanted_year integer, wanted_month integer, OUT first_day date, OUT last_day date)
LANGUAGE sql STABLE AS $$
    SELECT first, (first + interval '1 month - 1 day')::date
    FROM (SELECT make_date(coalesce(wanted_year, extract(year FROM today)::integer),
                           coalesce(wanted_month, extract(month FROM today)::integer), 1) AS first
          FROM (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS today) AS clock) AS month
$$;

-- The days from start to end, both inclusive; absent: the last 30, ending today. 422 for more than 366.
CREATE OR REPLACE FUNCTION usage_days(wanted_start date, wanted_end date, OUT first_day date, OUT last_day date)
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
BEGIN
    last_day := coalesce(wanted_end, (clock_timestamp() AT TIME ZONE 'UTC')::date);
    first_day := coalesce(wanted_start, greatest(last_day - 29, '0001-01-01'));  -- no day before has a text
    IF first_day > last_day THEN
        PERFORM fail('validation.error', 'start_after_end');
    END IF;
    IF last_day - first_day >= 366 THEN
        PERFORM fail('validation.error', 'period_too_long');
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION usage_usd(cost_nano_usd numeric) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (coalesce(cost_nano_usd, 0) / 1e9)::double precision
$$;

-- Usage of a run: the sums of its turns.
CREATE OR REPLACE FUNCTION run_usage(wanted_run uuid) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_build_object('input_tokens', saturated(coalesce(sum(u.input_tokens), 0)),
        'output_tokens', saturated(coalesce(sum(u.output_tokens), 0)),
        'cache_read_tokens', saturated(coalesce(sum(u.cache_read_tokens), 0)),
        'cache_write_tokens', saturated(coalesce(sum(u.cache_write_tokens), 0)))
    FROM usage_records u WHERE u.run_id = wanted_run
$$;

-- Usage of each turn of a run, newest first, for everybody who may read the run. SECURITY DEFINER for platform admins,
-- who read the runs of every organization.
CREATE OR REPLACE FUNCTION run_turn_page(wanted_run uuid, page_limit integer, before uuid) RETURNS TABLE (id uuid,
    turn integer, input_tokens bigint, output_tokens bigint, cache_read_tokens bigint, cost_usd double precision,
    credits bigint, created_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT u.id, u.turn, u.input_tokens, u.output_tokens, u.cache_read_tokens, usage_usd(u.cost_nano_usd),
        u.credits + coalesce((SELECT sum(t.credits) FROM run_tool_results t
                              WHERE t.run_id = u.run_id AND t.turn = u.turn), 0)::bigint,
        u.created_at
    FROM run_of_reader(wanted_run) AS r JOIN usage_records u ON u.run_id = r.id
    WHERE u.turn < coalesce((SELECT b.turn FROM usage_records b WHERE b.id = before AND b.run_id = r.id), 2147483647)
    ORDER BY u.turn DESC LIMIT page_limit
$$;

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

-- A page of the end users of a month of the current organization, the most expensive first, then by name; the runs
-- without one are a row too, behind those of their cost. after_cost and after_end_user are of the last row of the page
-- before: the latter is null of the row without end user, the former is null for the first page. Answers a row further
-- than page_limit when there is one.
CREATE OR REPLACE FUNCTION usage_end_user_rows(wanted_year integer, wanted_month integer, page_limit integer,
    after_cost bigint, after_end_user text)
RETURNS TABLE (end_user text, input_tokens bigint, output_tokens bigint, cost_nano_usd bigint, credits bigint,
    record_count bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_bitmapscan = off SET enable_seqscan = off AS $$
DECLARE
    org uuid := current_org();
    first date := (usage_month(wanted_year, wanted_month)).first_day;
    last date := (usage_month(wanted_year, wanted_month)).last_day;
    -- The order is that of costs turned negative; behind the row without end user are those that cost less.
    lower_cost bigint := CASE WHEN after_cost IS NULL THEN -9223372036854775807
                              WHEN after_end_user IS NULL THEN 1 - after_cost ELSE -after_cost END;
BEGIN
    RETURN QUERY
        SELECT p.end_user, p.input_tokens, p.output_tokens, p.cost_nano_usd, p.credits, p.record_count
        FROM (
            (SELECT u.end_user::text AS end_user, u.input_tokens, u.output_tokens, u.cost_nano_usd, u.credits,
                 u.record_count
             FROM usage_of_end_user u
             WHERE (u.org_id, u.month) <= (org, first)
                   AND (u.org_id, u.month, -u.cost_nano_usd, u.end_user)
                       > (org, first, lower_cost, coalesce(after_end_user, ''))
                   AND u.end_user <> ''
             ORDER BY u.org_id, u.month, -u.cost_nano_usd, u.end_user LIMIT page_limit + 1)
            UNION ALL
            (SELECT NULL, n.input_tokens, n.output_tokens, n.cost_nano_usd, n.credits, n.record_count
             FROM (SELECT saturated(sum(t.input_tokens)) AS input_tokens,
                       saturated(sum(t.output_tokens)) AS output_tokens,
                       saturated(sum(t.cost_nano_usd)) AS cost_nano_usd, saturated(sum(t.credits)) AS credits,
                       sum(t.record_count)::bigint AS record_count
                   FROM (SELECT o.input_tokens, o.output_tokens, o.cost_nano_usd, o.credits, o.record_count
                         FROM usage_of_org o
                         WHERE o.org_id = org AND o.day BETWEEN first AND last AND NOT o.has_end_user
                         UNION ALL
                         SELECT c.input_tokens, c.output_tokens, c.cost_nano_usd, c.credits, c.record_count
                         FROM usage_of_end_user c WHERE c.org_id = org AND c.month = first AND c.end_user = '') AS t
                   HAVING count(*) > 0) AS n
             WHERE after_cost IS NULL OR n.cost_nano_usd < after_cost
                   OR (n.cost_nano_usd = after_cost AND after_end_user IS NOT NULL))) AS p
        ORDER BY p.cost_nano_usd DESC, p.end_user COLLATE "C" LIMIT page_limit + 1;
END
$$;

-- next: the cursor, <cost> or <cost>:<end_user> of the last row shown.
CREATE OR REPLACE FUNCTION usage_by_end_user(wanted_year integer, wanted_month integer, page_limit integer,
    after_cost bigint, after_end_user text) RETURNS TABLE (body text, next text)
LANGUAGE sql STABLE AS $$
    SELECT '[' || coalesce(string_agg(json_build_object('end_user', s.end_user, 'input_tokens', s.input_tokens,
            'output_tokens', s.output_tokens, 'cost_usd', usage_usd(s.cost_nano_usd), 'credits', s.credits,
            'record_count', s.record_count)::text, ',' ORDER BY s.nth) FILTER (WHERE s.nth <= page_limit), '') || ']',
        CASE WHEN count(*) > page_limit
             THEN min(concat_ws(':', s.cost_nano_usd, s.end_user)) FILTER (WHERE s.nth = page_limit) END
    FROM usage_end_user_rows(wanted_year, wanted_month, page_limit, after_cost, after_end_user)
        WITH ORDINALITY AS s (end_user, input_tokens, output_tokens, cost_nano_usd, credits, record_count, nth)
$$;
REVOKE EXECUTE ON FUNCTION usage_rows, usage_summary, usage_daily, usage_by_model, usage_end_user_rows,
    usage_by_end_user, run_turn_page FROM hostler_runner;
