-- Usage when names go (erasure.sql): the sums stay, without the name of an end user or of a model that only the erased
-- organization had.

CREATE OR REPLACE FUNCTION is_platform_model(name text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (SELECT FROM llm_models m WHERE m.org_id IS NULL AND m.model = name)
$$;

-- A record whose end user is erased keeps that it had one: usage_of_org counts by that.
CREATE OR REPLACE FUNCTION erase_usage(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    page uuid[];
BEGIN
    IF e.kind = 'end_user' THEN
        page := ARRAY(SELECT u.id FROM usage_records u WHERE u.org_id = e.org_id AND u.end_user = e.end_user
            ORDER BY u.id LIMIT at_most);
        UPDATE usage_records u SET end_user = '' WHERE u.id = ANY (page);
    ELSE
        page := ARRAY(SELECT u.id FROM usage_records u WHERE u.org_id = e.org_id AND u.id > e.after_id
            ORDER BY u.org_id, u.id LIMIT at_most);
        UPDATE usage_records u SET end_user = CASE WHEN u.end_user IS NOT NULL THEN '' END,
            model = CASE WHEN is_platform_model(u.model) THEN u.model ELSE 'deleted' END
        WHERE u.id = ANY (page);
    END IF;
    RETURN page;
END
$$;

-- The days of an organization by model: of models that only it had the name goes, here and in the platform's sums.
CREATE OR REPLACE FUNCTION erase_usage_days(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    rows_done integer;
    own text;
BEGIN
    SELECT u.model INTO own FROM usage_of_org u
    WHERE u.org_id = e.org_id AND u.model <> 'deleted' AND NOT is_platform_model(u.model) LIMIT 1;
    IF own IS NULL THEN
        RETURN '{}';
    END IF;
    IF NOT EXISTS (SELECT FROM llm_models m WHERE m.model = own AND m.org_id IS DISTINCT FROM e.org_id
                   AND m.deleted_at IS NULL) THEN
        WITH page AS (
            DELETE FROM usage_of_platform p WHERE (p.day, p.model, p.daemon_id) IN (
                SELECT q.day, q.model, q.daemon_id FROM usage_of_platform q WHERE q.model = own LIMIT at_most)
            RETURNING p.day, p.daemon_id, p.input_tokens, p.output_tokens, p.cost_nano_usd, p.record_count)
        INSERT INTO usage_of_platform AS p (day, model, daemon_id, input_tokens, output_tokens, cost_nano_usd,
                                            record_count)
        SELECT g.day, 'deleted', g.daemon_id, g.input_tokens, g.output_tokens, g.cost_nano_usd, g.record_count
        FROM page g
        ON CONFLICT (day, model, daemon_id) DO UPDATE SET input_tokens = p.input_tokens + excluded.input_tokens,
            output_tokens = p.output_tokens + excluded.output_tokens,
            cost_nano_usd = p.cost_nano_usd + excluded.cost_nano_usd,
            record_count = p.record_count + excluded.record_count;
        GET DIAGNOSTICS rows_done = ROW_COUNT;
        IF rows_done > 0 THEN
            RETURN array_fill(e.after_id, ARRAY[at_most]);
        END IF;
    END IF;
    WITH page AS (
        DELETE FROM usage_of_org u WHERE (u.org_id, u.day, u.model, u.has_end_user) IN (
            SELECT q.org_id, q.day, q.model, q.has_end_user FROM usage_of_org q
            WHERE q.org_id = e.org_id AND q.model = own LIMIT at_most)
        RETURNING u.day, u.has_end_user, u.input_tokens, u.output_tokens, u.cost_nano_usd, u.record_count, u.credits)
    INSERT INTO usage_of_org AS u (org_id, day, model, has_end_user, input_tokens, output_tokens, cost_nano_usd,
                                   record_count, credits)
    SELECT e.org_id, g.day, 'deleted', g.has_end_user, g.input_tokens, g.output_tokens, g.cost_nano_usd,
        g.record_count, g.credits
    FROM page g
    ON CONFLICT (org_id, day, model, has_end_user) DO UPDATE SET input_tokens = u.input_tokens + excluded.input_tokens,
        output_tokens = u.output_tokens + excluded.output_tokens,
        cost_nano_usd = u.cost_nano_usd + excluded.cost_nano_usd, record_count = u.record_count + excluded.record_count,
        credits = u.credits + excluded.credits;
    RETURN array_fill(e.after_id, ARRAY[at_most]);
END
$$;

-- The months by end user: sums are added to those without a name.
CREATE OR REPLACE FUNCTION erase_usage_months(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    rows_done integer;
BEGIN
    WITH page AS (
        DELETE FROM usage_of_end_user u WHERE (u.org_id, u.month, u.end_user) IN (
            SELECT q.org_id, q.month, q.end_user FROM usage_of_end_user q
            WHERE q.org_id = e.org_id AND q.end_user <> '' AND (e.kind = 'org' OR q.end_user = e.end_user)
            LIMIT at_most)
        RETURNING u.month, u.input_tokens, u.output_tokens, u.cost_nano_usd, u.credits, u.record_count),
    counted AS (
        INSERT INTO usage_of_end_user AS u (org_id, month, end_user, input_tokens, output_tokens, cost_nano_usd,
                                            credits, record_count)
        SELECT e.org_id, g.month, '', sum(g.input_tokens), sum(g.output_tokens), sum(g.cost_nano_usd), sum(g.credits),
            sum(g.record_count)
        FROM page g GROUP BY g.month
        ON CONFLICT (org_id, month, end_user) DO UPDATE SET input_tokens = u.input_tokens + excluded.input_tokens,
            output_tokens = u.output_tokens + excluded.output_tokens,
            cost_nano_usd = u.cost_nano_usd + excluded.cost_nano_usd, credits = u.credits + excluded.credits,
            record_count = u.record_count + excluded.record_count)
    SELECT count(*) INTO rows_done FROM page;
    RETURN array_fill(e.after_id, ARRAY[rows_done]);
END
$$;
-- A page of an erasure (erasure.sql): budgets and counts of an end user or an organization lose their names.
CREATE OR REPLACE FUNCTION erase_budgets(e erasures, at_most integer) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    page uuid[] := ARRAY(
        SELECT b.id FROM budgets b
        WHERE b.org_id = e.org_id AND b.deleted_at IS NULL
              AND (e.kind = 'org' OR (b.subject_type = 'end_user' AND b.subject_id = e.end_user))
        ORDER BY b.id LIMIT at_most);
    counted uuid[];
BEGIN
    UPDATE credit_accounts SET budgets = budgets - cardinality(page) WHERE org_id = e.org_id;
    UPDATE budgets b SET name = 'deleted', subject_id = '', deleted_at = clock_timestamp() WHERE b.id = ANY (page);
    IF e.kind = 'org' OR cardinality(page) = at_most THEN
        RETURN page;
    END IF;
    DELETE FROM budget_alerts a WHERE (a.budget_id, a.end_user, a.begins_at, a.percent) IN (
        SELECT o.budget_id, o.end_user, o.begins_at, o.percent FROM budget_alerts o
        WHERE o.org_id = e.org_id AND o.end_user = e.end_user AND o.end_user <> '' LIMIT at_most);
    WITH gone AS (
        DELETE FROM budget_windows w WHERE (w.budget_id, w.end_user, w.begins_at) IN (
            SELECT o.budget_id, o.end_user, o.begins_at FROM budget_windows o
            WHERE o.org_id = e.org_id AND o.end_user = e.end_user AND o.end_user <> ''
            LIMIT at_most)
        RETURNING w.budget_id)
    SELECT array_agg(g.budget_id) INTO counted FROM gone g;
    RETURN page || counted;
END
$$;
REVOKE EXECUTE ON FUNCTION is_platform_model, erase_budgets, erase_usage, erase_usage_days, erase_usage_months
    FROM hostler_api, hostler_runner;
