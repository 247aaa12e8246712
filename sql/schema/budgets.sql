-- Budgets: what may be spent in a window of time for an organization, a member, an API key, an end user, a persona or a
-- thread. budget_holds.sql bounds turns by them, budget_waits.sql wakes the runs that wait for one.
--
-- Amounts are whole numbers: credits, or nano-dollars. Windows and holds change only while their organization's
-- account is locked. Locks are taken in the order threads, runs, accounts, budgets.

CREATE TABLE budgets (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    name text NOT NULL,
    subject_type text COLLATE "C" NOT NULL
        CHECK (subject_type IN ('org', 'member', 'api_key', 'end_user', 'persona', 'thread')),
    subject_id text COLLATE "C" NOT NULL,  -- of end_user: '*' bounds each of them by itself
    unit text NOT NULL CHECK (unit IN ('credits', 'usd')),
    amount bigint NOT NULL CHECK (amount > 0),
    period text NOT NULL CHECK (period IN ('day', 'month', 'total')),
    time_zone text NOT NULL,
    alert_percents integer[] NOT NULL DEFAULT '{}',
    on_exhausted text NOT NULL CHECK (on_exhausted IN ('wait', 'fail')),
    is_of_platform boolean NOT NULL,  -- a platform administrator made it; its organization may only read it
    is_active boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),  -- since then runs that waited for it go on
    deleted_at timestamptz,  -- gone but for the windows that budgets_prune() has still to remove
    UNIQUE (id, org_id)
);
-- Before budgets_org: of two indexes that cost the same while the table is small, Postgres takes the older one.
CREATE INDEX budgets_subject ON budgets (org_id, subject_type, subject_id) WHERE deleted_at IS NULL;
CREATE INDEX budgets_org ON budgets (org_id, id) WHERE deleted_at IS NULL;
CREATE INDEX budgets_deleted ON budgets (id) WHERE deleted_at IS NOT NULL;
SELECT make_tenant_table('budgets');
GRANT SELECT ON budgets TO hostler_api;

-- In the order of budgets_org, so that no plan reads the whole table for one row of an organization that has most.
CREATE OR REPLACE FUNCTION org_has_budgets(org uuid) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT (SELECT true FROM budgets b WHERE b.org_id = org AND b.deleted_at IS NULL ORDER BY b.org_id, b.id LIMIT 1)
        IS NOT NULL
$$;

-- Spending in a window, and the current holds of turns. end_user: for a budget of each end user, the name, or '' for
-- runs without one; '' for all other budgets.
CREATE TABLE budget_windows (
    budget_id uuid NOT NULL,
    end_user text COLLATE "C" NOT NULL,
    begins_at timestamptz NOT NULL,
    org_id uuid NOT NULL,
    renews_at timestamptz,  -- null: a total never does
    spent bigint NOT NULL DEFAULT 0,
    held bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (budget_id, end_user, begins_at),
    FOREIGN KEY (org_id, budget_id) REFERENCES budgets (org_id, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX budget_windows_over ON budget_windows (renews_at) WHERE renews_at IS NOT NULL;
CREATE INDEX budget_windows_of_end_user ON budget_windows (org_id, end_user) WHERE end_user <> '';
SELECT make_tenant_table('budget_windows');
GRANT SELECT ON budget_windows TO hostler_api;

-- The window of a moment, by the clock of a time zone: one row. A set, because Postgres puts only sets into the
-- statements that ask for them.
CREATE OR REPLACE FUNCTION budget_window(period text, time_zone text, created_at timestamptz, moment timestamptz)
RETURNS TABLE (begins_at timestamptz, renews_at timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
    SELECT CASE WHEN period = 'total' THEN created_at
                ELSE date_trunc(period, moment AT TIME ZONE time_zone) AT TIME ZONE time_zone END,
        CASE WHEN period <> 'total' THEN
            (date_trunc(period, moment AT TIME ZONE time_zone) + ('1 ' || period)::interval) AT TIME ZONE time_zone END
$$;

-- Whether a budget bounds each end user by itself.
CREATE OR REPLACE FUNCTION budget_is_for_each(b budgets) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT b.subject_type = 'end_user' AND b.subject_id = '*'
$$;

-- An amount as clients read it: credits, or dollars.
CREATE OR REPLACE FUNCTION budget_amount(unit text, amount numeric) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE unit WHEN 'usd' THEN trim_scale(amount / 1000000000) ELSE amount END
$$;

-- Why a budget in dollars may count less than its organization expects; null: it does not.
CREATE OR REPLACE FUNCTION budget_warning(b budgets) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF b.unit = 'usd' AND EXISTS (
        SELECT FROM llm_models m
        WHERE (m.org_id = b.org_id OR m.org_id IS NULL) AND m.deleted_at IS NULL AND m.input_usd_per_mtok = 0
              AND m.output_usd_per_mtok = 0 AND m.cache_read_usd_per_mtok = 0 AND m.cache_write_usd_per_mtok = 0) THEN
        RETURN 'Turns of models without prices count nothing in dollars.';
    END IF;
    RETURN NULL;
END
$$;

-- A budget with its window of a moment. of_end_user: whose window of a budget for each end user; null: nobody's.
CREATE OR REPLACE FUNCTION budget_json(b budgets, of_end_user text DEFAULT NULL,
    moment timestamptz DEFAULT clock_timestamp()) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    is_known CONSTANT boolean := NOT budget_is_for_each(b) OR of_end_user IS NOT NULL;
    current record;
    counted record;
BEGIN
    SELECT * INTO current FROM budget_window(b.period, b.time_zone, b.created_at, moment);
    SELECT coalesce(max(w.spent), 0) AS spent, coalesce(max(w.held), 0) AS held INTO counted
    FROM budget_windows w
    WHERE is_known AND w.budget_id = b.id AND w.begins_at = current.begins_at
          AND w.end_user = CASE WHEN budget_is_for_each(b) THEN of_end_user ELSE '' END;
    RETURN json_build_object('id', b.id, 'org_id', b.org_id, 'name', b.name,
        'subject', json_build_object('type', b.subject_type, 'id', b.subject_id), 'unit', b.unit,
        'amount', budget_amount(b.unit, b.amount), 'window', b.period, 'time_zone', b.time_zone,
        'alert_percents', to_json(b.alert_percents), 'on_exhausted', b.on_exhausted,
        'set_by', CASE WHEN b.is_of_platform THEN 'platform' ELSE 'org' END, 'is_active', b.is_active,
        'spent', CASE WHEN is_known THEN budget_amount(b.unit, counted.spent) END,
        'held', CASE WHEN is_known THEN budget_amount(b.unit, counted.held) END,
        'left', CASE WHEN is_known THEN
            budget_amount(b.unit, greatest(0, b.amount::numeric - counted.spent - counted.held)) END,
        'begins_at', rfc3339(current.begins_at), 'renews_at', rfc3339(current.renews_at),
        'created_at', rfc3339(b.created_at), 'warning', budget_warning(b));
END
$$;

-- A budget as the audit log keeps it. The name of an end user stays out of it.
CREATE OR REPLACE FUNCTION budget_state(b budgets) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT jsonb_build_object('name', b.name, 'subject_type', b.subject_type,
        'subject_id', CASE WHEN b.subject_type <> 'end_user' OR b.subject_id = '*' THEN b.subject_id END,
        'unit', b.unit, 'amount', budget_amount(b.unit, b.amount), 'window', b.period, 'time_zone', b.time_zone,
        'alert_percents', to_jsonb(b.alert_percents), 'on_exhausted', b.on_exhausted, 'is_active', b.is_active)
$$;

-- The amount that a client wrote, in credits or nano-dollars. Raises a fault of `field`.
CREATE OR REPLACE FUNCTION budget_amount_read(unit text, written text, field text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE SET search_path = public, pg_catalog AS $$
DECLARE
    amount numeric := CASE unit WHEN 'usd' THEN written::numeric * 1000000000 ELSE written::numeric END;
BEGIN
    IF amount <> trunc(amount) THEN
        IF unit = 'usd' THEN
            PERFORM fail('validation.error', 'budget_usd_decimals', jsonb_build_object('field', field));
        END IF;
        PERFORM fail('validation.error', 'budget_credits_whole', jsonb_build_object('field', field));
    ELSIF amount < 1 OR amount > 9223372036854775807 THEN
        PERFORM fail('validation.error', 'budget_amount_bounds', jsonb_build_object('field', field,
                     'amount_max', budget_amount(unit, 9223372036854775807)));
    END IF;
    RETURN amount::bigint;
END
$$;

-- The amount of a run's own budget: {unit, amount (as written)}; null: it has none.
CREATE OR REPLACE FUNCTION budget_of_run_read(budget json) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN budget IS NOT NULL THEN
        budget_amount_read(budget ->> 'unit', budget ->> 'amount', 'budget.amount') END
$$;

-- The same of a protocol whose clients can only name it in metadata: credits as decimal text. No row: it names none.
CREATE OR REPLACE FUNCTION budget_of_metadata(metadata json, OUT unit text, OUT amount bigint) RETURNS SETOF record
LANGUAGE plpgsql IMMUTABLE SET search_path = public, pg_catalog AS $$
DECLARE
    written CONSTANT text := metadata ->> 'hostler_budget';
BEGIN
    IF written IS NULL THEN
        RETURN;
    ELSIF written !~ '^[0-9]{1,19}$' THEN
        PERFORM fail('validation.error', 'budget_credits_whole',
                     jsonb_build_object('field', 'metadata.hostler_budget'));
    END IF;
    unit := 'credits';
    amount := budget_amount_read(unit, written, 'metadata.hostler_budget');
    RETURN NEXT;
END
$$;

-- Raises for a time zone that Postgres does not know by the name of the IANA's list.
CREATE OR REPLACE FUNCTION budget_zone_check(zone text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
BEGIN
    IF zone <> 'UTC' AND NOT EXISTS (SELECT FROM pg_timezone_names z WHERE z.name = zone AND zone !~ '^posix') THEN
        PERFORM fail('validation.error', 'budget_zone_unknown');
    END IF;
END
$$;

-- Raises when the organization has no such subject.
CREATE OR REPLACE FUNCTION budget_subject_check(org uuid, kind text, subject text) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    as_id CONSTANT uuid := CASE WHEN subject ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN subject END;
    is_known boolean := CASE kind
        WHEN 'org' THEN as_id = org
        WHEN 'member' THEN EXISTS (SELECT FROM org_members m WHERE m.org_id = org AND m.user_id = as_id)
        WHEN 'api_key' THEN EXISTS (SELECT FROM api_keys k WHERE k.org_id = org AND k.id = as_id)
        WHEN 'thread' THEN EXISTS (SELECT FROM threads t WHERE t.org_id = org AND t.id = as_id AND t.deleted_at IS NULL)
        WHEN 'persona' THEN EXISTS (
            SELECT FROM personas p
            WHERE (p.org_id = org OR p.org_id IS NULL) AND p.persona_key = subject AND p.deleted_at IS NULL)
        ELSE true END;
BEGIN
    IF is_known IS NOT TRUE THEN
        PERFORM fail('validation.error', 'budget_subject_unknown', jsonb_build_object('type', kind));
    END IF;
END
$$;

-- Whether a budget applies to a caller of its organization who may not manage it.
CREATE OR REPLACE FUNCTION budget_applies_to_caller(b budgets) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT CASE b.subject_type
        WHEN 'member' THEN b.subject_id = current_user_id()::text
        WHEN 'api_key' THEN EXISTS (
            SELECT FROM api_keys k
            WHERE k.id = b.subject_id::uuid AND k.org_id = b.org_id AND k.user_id = current_user_id())
        WHEN 'thread' THEN EXISTS (
            SELECT FROM threads t
            WHERE t.id = b.subject_id::uuid AND t.org_id = b.org_id AND t.created_by_user_id = current_user_id())
        ELSE true END
$$;

-- The budget, when the caller may read it, or change it.
CREATE OR REPLACE FUNCTION budget_of_caller(budget uuid, is_write boolean) RETURNS budgets
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    b budgets;
BEGIN
    IF is_write AND NOT is_platform_admin() AND NOT has_permission('org.manage') THEN
        PERFORM fail('auth.forbidden', 'permission_missing', jsonb_build_object('permission', 'org.manage'));
    END IF;
    SELECT * INTO b FROM budgets WHERE id = budget AND deleted_at IS NULL;
    IF b.id IS NULL OR (b.org_id <> current_org() AND NOT is_platform_admin()) THEN
        PERFORM fail_missing('budgets.not_found', 'budgets', budget);
    ELSIF is_platform_admin() THEN
        RETURN b;
    ELSIF is_write AND b.is_of_platform THEN
        PERFORM fail('policy.denied', 'budget_of_platform');
    ELSIF NOT has_permission('org.manage') AND NOT budget_applies_to_caller(b) THEN
        PERFORM fail('policy.denied', 'budget_of_another');
    END IF;
    RETURN b;
END
$$;

-- Raises what keeps the caller from making a budget, before the faults of the body.
CREATE OR REPLACE FUNCTION budget_create_guard() RETURNS void
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
BEGIN
    IF NOT is_platform_admin() AND NOT has_permission('org.manage') THEN
        PERFORM fail('auth.forbidden', 'permission_missing', jsonb_build_object('permission', 'org.manage'));
    END IF;
END
$$;

-- GET /v1/budgets. of_type: of subjects of this type; null: of all.
CREATE OR REPLACE FUNCTION budget_page(page_limit integer, before uuid, of_type text, of_end_user text)
RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    reads_all CONSTANT boolean := has_permission('org.manage') OR is_platform_admin();
BEGIN
    RETURN QUERY SELECT b.id, budget_json(b, of_end_user) FROM budgets b
        WHERE b.org_id = current_org() AND b.deleted_at IS NULL AND (before IS NULL OR b.id < before)
              AND (of_type IS NULL OR b.subject_type = of_type) AND (reads_all OR budget_applies_to_caller(b))
        ORDER BY b.id DESC LIMIT page_limit;
END
$$;

-- POST /v1/budgets. wanted: {name, subject_type, subject_id, unit, amount (as written), window, time_zone,
-- alert_percents, on_exhausted}. other_org: the organization that a platform administrator names; null: the caller's.
CREATE OR REPLACE FUNCTION budget_create(wanted jsonb, other_org uuid, limit_budgets bigint) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org CONSTANT uuid := coalesce(other_org, current_org());
    of_subject_max CONSTANT integer := 20;
    amount bigint;
    created budgets;
BEGIN
    PERFORM budget_create_guard();
    IF other_org IS NOT NULL THEN
        PERFORM need_platform_admin();
    ELSIF NOT has_permission('org.manage') THEN
        PERFORM fail('auth.forbidden', 'permission_missing', jsonb_build_object('permission', 'org.manage'));
    END IF;
    amount := budget_amount_read(wanted ->> 'unit', wanted ->> 'amount', 'amount');
    PERFORM budget_zone_check(wanted ->> 'time_zone');
    IF other_org IS NULL THEN
        PERFORM limit_check('limit.budgets', limit_budgets);
    END IF;
    UPDATE credit_accounts SET budgets = budgets + 1 WHERE org_id = org;
    IF NOT FOUND THEN
        PERFORM fail('validation.error', 'org_unknown');
    END IF;
    PERFORM budget_subject_check(org, wanted ->> 'subject_type', wanted ->> 'subject_id');
    IF (SELECT count(*) FROM budgets b
        WHERE b.org_id = org AND b.subject_type = wanted ->> 'subject_type' AND b.subject_id = wanted ->> 'subject_id'
              AND b.deleted_at IS NULL) >= of_subject_max THEN
        PERFORM fail('validation.error', 'budget_subject_full', jsonb_build_object('count_max', of_subject_max));
    END IF;
    INSERT INTO budgets (org_id, name, subject_type, subject_id, unit, amount, period, time_zone, alert_percents,
                         on_exhausted, is_of_platform)
    VALUES (org, wanted ->> 'name', wanted ->> 'subject_type', wanted ->> 'subject_id', wanted ->> 'unit', amount,
            wanted ->> 'window', wanted ->> 'time_zone',
            ARRAY(SELECT p::integer FROM jsonb_array_elements_text(wanted -> 'alert_percents') AS p),
            wanted ->> 'on_exhausted', other_org IS NOT NULL)
    RETURNING * INTO created;
    PERFORM audit('budgets.create', 'budget', created.id::text, org, NULL, budget_state(created));
    RETURN budget_json(created);
END
$$;

-- PATCH /v1/budgets/{budget_id}. changes: the members that change, amount as written. What waits for the budget goes on
-- when there is more room, when it bounds nothing any more, and when it no longer lets runs wait.
CREATE OR REPLACE FUNCTION budget_update(budget uuid, changes jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state budgets := budget_of_caller(budget, true);
    new_state budgets;
    wakes boolean;
BEGIN
    SELECT * INTO old_state FROM budgets WHERE id = old_state.id AND deleted_at IS NULL FOR NO KEY UPDATE;
    IF old_state.id IS NULL THEN
        PERFORM fail_missing('budgets.not_found', 'budgets', budget);
    END IF;
    new_state := jsonb_populate_record(old_state, changes - ARRAY['amount', 'alert_percents']);
    IF changes ? 'amount' THEN
        new_state.amount := budget_amount_read(old_state.unit, changes ->> 'amount', 'amount');
    END IF;
    IF changes ? 'alert_percents' THEN
        new_state.alert_percents :=
            ARRAY(SELECT p::integer FROM jsonb_array_elements_text(changes -> 'alert_percents') AS p);
    END IF;
    wakes := new_state.amount > old_state.amount OR (old_state.is_active AND NOT new_state.is_active)
        OR new_state.on_exhausted <> old_state.on_exhausted;
    UPDATE budgets SET name = new_state.name, amount = new_state.amount, alert_percents = new_state.alert_percents,
        on_exhausted = new_state.on_exhausted, is_active = new_state.is_active,
        changed_at = CASE WHEN wakes THEN clock_timestamp() ELSE changed_at END
    WHERE id = old_state.id RETURNING * INTO new_state;
    IF wakes THEN
        PERFORM budget_wake(old_state.id);
    END IF;
    PERFORM audit('budgets.update', 'budget', old_state.id::text, old_state.org_id, budget_state(old_state),
                  budget_state(new_state));
    RETURN budget_json(new_state);
END
$$;

-- DELETE /v1/budgets/{budget_id}. Its windows go page by page: a budget for each end user may have many.
CREATE OR REPLACE FUNCTION budget_delete(budget uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state budgets := budget_of_caller(budget, true);
BEGIN
    PERFORM FROM credit_accounts WHERE org_id = old_state.org_id FOR UPDATE;
    UPDATE budgets SET deleted_at = clock_timestamp() WHERE id = old_state.id AND deleted_at IS NULL;
    IF NOT FOUND THEN
        PERFORM fail_missing('budgets.not_found', 'budgets', budget);
    END IF;
    UPDATE credit_accounts SET budgets = budgets - 1 WHERE org_id = old_state.org_id;
    PERFORM budget_wake(old_state.id);
    PERFORM audit('budgets.delete', 'budget', old_state.id::text, old_state.org_id, budget_state(old_state));
END
$$;

-- Maintenance: removes windows and alerts of budgets that were deleted, the budgets after the last of them, and windows
-- that ended 400 days ago. Answers how many windows.
CREATE OR REPLACE FUNCTION budgets_prune(at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    budget uuid := (SELECT b.id FROM budgets b WHERE b.deleted_at IS NOT NULL
                    ORDER BY b.id LIMIT 1 FOR UPDATE SKIP LOCKED);
    gone integer;
BEGIN
    DELETE FROM budget_alerts a WHERE a.ctid = ANY (ARRAY(
        SELECT o.ctid FROM budget_alerts o WHERE o.budget_id = budget ORDER BY o.budget_id, o.end_user, o.begins_at
        LIMIT at_most FOR UPDATE));
    IF budget IS NOT NULL THEN
        DELETE FROM budget_windows w WHERE w.ctid = ANY (ARRAY(
            SELECT o.ctid FROM budget_windows o WHERE o.budget_id = budget
            ORDER BY o.budget_id, o.end_user, o.begins_at LIMIT at_most FOR UPDATE));
    ELSE
        DELETE FROM budget_windows w WHERE w.ctid = ANY (ARRAY(
            SELECT o.ctid FROM budget_windows o WHERE o.renews_at < statement_timestamp() - interval '400 days'
            ORDER BY o.renews_at LIMIT at_most FOR UPDATE));
    END IF;
    GET DIAGNOSTICS gone = ROW_COUNT;
    IF gone < at_most THEN
        DELETE FROM budgets b WHERE b.id = budget
            AND NOT EXISTS (SELECT FROM budget_alerts a WHERE a.budget_id = budget);
    END IF;
    RETURN gone;
END
$$;
REVOKE EXECUTE ON FUNCTION budget_of_caller, budget_applies_to_caller, budget_subject_check, budget_json
    FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION budget_page, budget_create_guard, budget_create, budget_update, budget_delete
    FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION budgets_prune FROM hostler_api;
