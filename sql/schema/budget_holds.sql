-- Holds of turns. A hold is the most that a turn may cost. It is taken before the model is asked, and its cost replaces
-- it when the turn is stored (runs_commit).
--
-- A hold bounds the output that the model is asked for, so a budget is never passed by output. What is spent lowers the
-- output limit. What other turns hold makes a turn wait until a hold ends.

-- A run holds for one turn at a time, or for its tool calls. epoch: of the daemon that took it; of any other, or of a
-- run that nobody owns, the hold is over (turn_holds_expire). The arrays have an element for each budget; that of the
-- run's own budget has the run's id.
CREATE TABLE turn_holds (
    run_id uuid PRIMARY KEY,
    org_id uuid NOT NULL,
    epoch bigint NOT NULL,
    credits bigint NOT NULL,  -- of the balance
    budget_ids uuid[] NOT NULL,
    end_users text[] NOT NULL,
    begin_times timestamptz[] NOT NULL,
    amounts bigint[] NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);
SELECT make_tenant_table('turn_holds');

-- The budgets of a run's organization, member, key, end user, persona and thread, those that bound nothing too.
CREATE OR REPLACE FUNCTION budgets_of_run(r runs) RETURNS SETOF budgets
LANGUAGE sql STABLE ROWS 3 AS $$
    SELECT b.*
    FROM (VALUES ('org', r.org_id::text), ('member', r.created_by_user_id::text), ('api_key', r.api_key_id::text),
                 ('end_user', nullif(r.end_user, '*')), ('end_user', '*'),
                 ('persona', CASE WHEN NOT r.is_bare THEN split_part(r.persona_id, '@', 1) END),
                 ('thread', r.thread_id::text)) AS s (subject_type, subject_id)
    CROSS JOIN LATERAL (
        SELECT q.* FROM budgets q
        WHERE q.org_id = r.org_id AND q.subject_type = s.subject_type AND q.subject_id = s.subject_id
              AND q.deleted_at IS NULL
        OFFSET 0) AS b
$$;

-- The window of a budget that a run counts in now.
CREATE OR REPLACE FUNCTION budget_window_of_run(b budgets, r runs, moment timestamptz)
RETURNS TABLE (end_user text, begins_at timestamptz, renews_at timestamptz)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT CASE WHEN budget_is_for_each(b) THEN coalesce(r.end_user, '') ELSE '' END, w.begins_at, w.renews_at
    FROM budget_window(b.period, b.time_zone, b.created_at, moment) AS w
$$;

-- How many credits a turn may cost without a hold: so few that the turns of all active runs of the account fit into
-- what is available, however many hold nothing. The eighth of each run's share makes that true for 5,000 runs that
-- begin one after the other.
CREATE OR REPLACE FUNCTION unheld_credits_max(balance bigint, held bigint, turns_held bigint, active_runs integer)
RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (greatest(0, balance::numeric - greatest(held, turns_held)) / (8 * (1 + active_runs)))::bigint
$$;

-- Replaces the holds of these runs by what they cost: of each the cost in nano-dollars and in credits, 0 for nothing.
-- The runs and their accounts are locked by the caller, each run named once. What was held counts in the window of the
-- hold, anything else in the window of `moment`, so that no window is passed by a turn that ends in the next one.
CREATE OR REPLACE FUNCTION turn_holds_replace(run_ids uuid[], costs bigint[], credits bigint[], moment timestamptz)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
BEGIN
    WITH released AS (
        DELETE FROM turn_holds h WHERE h.run_id = ANY (run_ids)
        RETURNING h.run_id, h.org_id, h.credits, h.budget_ids, h.end_users, h.begin_times, h.amounts),
    held AS MATERIALIZED (
        SELECT h.run_id, k.budget_id, k.end_user, k.begins_at, k.amount
        FROM released h
        CROSS JOIN LATERAL unnest(h.budget_ids, h.end_users, h.begin_times, h.amounts)
            AS k (budget_id, end_user, begins_at, amount)),
    charged AS (
        SELECT b.id AS budget_id, coalesce(h.end_user, w.end_user) AS end_user,
            coalesce(h.begins_at, w.begins_at) AS begins_at,
            CASE b.unit WHEN 'usd' THEN c.cost ELSE c.credits END AS spent
        FROM unnest(run_ids, costs, credits) AS c (run_id, cost, credits)
        JOIN runs r ON r.id = c.run_id
        CROSS JOIN LATERAL budgets_of_run(r) AS b
        CROSS JOIN LATERAL budget_window_of_run(b, r, moment) AS w
        -- One of several calls' holds, so that the cost counts once.
        LEFT JOIN LATERAL (SELECT q.end_user, q.begins_at FROM held q
                           WHERE q.run_id = c.run_id AND q.budget_id = b.id
                           ORDER BY q.begins_at LIMIT 1) AS h ON true
        WHERE c.cost > 0 OR c.credits > 0),
    changed AS (
        SELECT c.budget_id, c.end_user, c.begins_at, sum(c.spent) AS spent, sum(c.held) AS held
        FROM (SELECT o.budget_id, o.end_user, o.begins_at, o.spent, 0 AS held FROM charged o WHERE o.spent > 0
              UNION ALL
              SELECT h.budget_id, h.end_user, h.begins_at, 0, -h.amount FROM held h) AS c
        GROUP BY c.budget_id, c.end_user, c.begins_at),
    counted AS (
        INSERT INTO budget_windows AS w (budget_id, end_user, begins_at, org_id, renews_at, spent, held)
        SELECT c.budget_id, c.end_user, c.begins_at, b.org_id,
            CASE WHEN b.period <> 'total' THEN
                (SELECT n.renews_at FROM budget_window(b.period, b.time_zone, b.created_at, c.begins_at) AS n) END,
            c.spent, c.held
        FROM changed c JOIN budgets b ON b.id = c.budget_id
        ON CONFLICT (budget_id, end_user, begins_at) DO UPDATE SET
            spent = saturated(w.spent::numeric + excluded.spent), held = greatest(0, w.held + excluded.held)
        RETURNING w.budget_id, w.end_user, w.begins_at, w.org_id, w.spent),
    freed AS (
        UPDATE credit_accounts a SET turns_held = greatest(0, a.turns_held - f.credits)
        FROM (SELECT h.org_id, sum(h.credits)::bigint AS credits FROM released h WHERE h.credits > 0
              GROUP BY h.org_id) AS f
        WHERE a.org_id = f.org_id)
    INSERT INTO budget_alerts (budget_id, end_user, begins_at, percent, org_id)
    SELECT c.budget_id, c.end_user, c.begins_at, p.percent, c.org_id
    FROM counted c JOIN budgets b ON b.id = c.budget_id AND b.is_active AND b.deleted_at IS NULL
    CROSS JOIN LATERAL unnest(b.alert_percents) AS p (percent)
    WHERE c.spent > 0 AND c.spent::numeric * 100 >= p.percent * b.amount::numeric
    ON CONFLICT DO NOTHING;
END
$$;

-- The bounds of a turn of a run, in the order of their checks: the balance, the run's own budget, its budgets.
CREATE OR REPLACE FUNCTION turn_bounds(r runs, balance bigint, is_free boolean, turns_held bigint, moment timestamptz)
RETURNS TABLE (budget_id uuid, end_user text, begins_at timestamptz, renews_at timestamptz, name text, unit text,
    on_exhausted text, amount bigint, spent bigint, held bigint)
LANGUAGE sql STABLE AS $$
    SELECT NULL::uuid, '', NULL::timestamptz, NULL::timestamptz, '', 'credits', 'fail', balance, 0::bigint, turns_held
    WHERE NOT is_free
    UNION ALL
    SELECT r.id, '', r.created_at, NULL, 'the budget of the run', r.budget_unit, 'fail', r.budget_amount,
        CASE r.budget_unit WHEN 'usd' THEN r.total_cost_nano_usd ELSE r.credits_used END, 0
    WHERE r.budget_amount IS NOT NULL
    UNION ALL
    SELECT b.id, w.end_user, w.begins_at, w.renews_at, b.name, b.unit, b.on_exhausted, b.amount, coalesce(k.spent, 0),
        coalesce(k.held, 0)
    FROM budgets_of_run(r) AS b
    CROSS JOIN LATERAL budget_window_of_run(b, r, moment) AS w
    LEFT JOIN LATERAL (
        SELECT c.spent, c.held FROM budget_windows c
        WHERE c.budget_id = b.id AND c.end_user = w.end_user AND c.begins_at = w.begins_at) AS k ON true
    WHERE b.is_active
$$;

-- Takes the hold of a turn at a model, in place of one that the run had. The run and its account are locked by the
-- caller.
-- outcome: held; wait (for what other turns hold, by waits_for); exhausted (by the budget `exhausted`); credits (the
-- balance is). output_tokens: what the model may be asked for. is_lowered: that is less than was wanted, because of
-- lowered_by: null for the balance.
CREATE OR REPLACE FUNCTION turn_hold(r runs, route uuid, tokens_in bigint, tokens_wanted bigint, tokens_min bigint,
    credits_per_usd bigint, OUT outcome text, OUT output_tokens bigint, OUT is_lowered boolean, OUT lowered_by text,
    OUT waits_for uuid, OUT exhausted jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    moment CONSTANT timestamptz := clock_timestamp();
    m llm_models;
    account credit_accounts;
    bound record;
    input_cost numeric;  -- nano-dollars, at the dearest price of input
    token_cost numeric;  -- likewise of one token of output
    credit_rate numeric;  -- credits of a nano-dollar
    cost_max numeric;  -- nano-dollars that are left of a bound
    tokens numeric;
    cost numeric;
    credits numeric;
    needed numeric;
    earliest timestamptz;
    nth integer;
    -- The bounds in their order; rests: what other turns' holds leave of each.
    bound_ids uuid[] := '{}';
    bound_users text[] := '{}';
    bound_begins timestamptz[] := '{}';
    bound_renewals timestamptz[] := '{}';
    units text[] := '{}';
    rests numeric[] := '{}';
    -- The budgets that get a hold.
    ids uuid[] := '{}';
    users text[] := '{}';
    begins timestamptz[] := '{}';
    renewals timestamptz[] := '{}';
    amounts bigint[] := '{}';
BEGIN
    IF EXISTS (SELECT FROM turn_holds h WHERE h.run_id = r.id) THEN
        PERFORM turn_holds_replace(ARRAY[r.id], '{0}', '{0}', moment);
    END IF;
    SELECT * INTO STRICT m FROM llm_models WHERE id = route;
    SELECT * INTO STRICT account FROM credit_accounts WHERE org_id = r.org_id;
    input_cost := ceil(1000 * tokens_in * greatest(m.input_usd_per_mtok, m.cache_read_usd_per_mtok,
                                                   m.cache_write_usd_per_mtok));
    token_cost := 1000 * m.output_usd_per_mtok;
    credit_rate := credits_per_usd * m.multiplier / 1000000000;
    output_tokens := tokens_wanted;
    is_lowered := false;
    outcome := 'held';
    FOR bound IN SELECT * FROM turn_bounds(r, account.balance, model_is_free(m), account.turns_held, moment) LOOP
        CONTINUE WHEN input_cost + token_cost = 0 OR (bound.unit = 'credits' AND credit_rate = 0);
        cost_max := bound.amount::numeric - bound.spent;
        bound_ids := array_append(bound_ids, bound.budget_id);
        bound_users := bound_users || bound.end_user;
        bound_begins := array_append(bound_begins, bound.begins_at);
        bound_renewals := array_append(bound_renewals, bound.renews_at);
        units := units || bound.unit;
        rests := rests || (cost_max - bound.held);
        IF bound.unit = 'credits' THEN
            cost_max := floor(cost_max / credit_rate);
        END IF;
        tokens := CASE WHEN token_cost > 0 THEN floor((cost_max - input_cost) / token_cost)
                       WHEN cost_max >= input_cost THEN tokens_wanted ELSE -1 END;
        IF tokens < least(tokens_min, tokens_wanted) OR tokens < 1 THEN
            outcome := CASE WHEN bound.budget_id IS NULL THEN 'credits' ELSE 'exhausted' END;
            IF exhausted IS NULL OR bound.on_exhausted = 'fail'
               OR bound.renews_at < coalesce(earliest, 'infinity') THEN
                exhausted := jsonb_build_object('budget_id', bound.budget_id, 'name', bound.name,
                    'renews_at', rfc3339(bound.renews_at), 'on_exhausted', bound.on_exhausted);
            END IF;
            earliest := least(earliest, bound.renews_at);
            EXIT WHEN bound.on_exhausted = 'fail';
        ELSIF tokens < output_tokens THEN
            output_tokens := tokens;
            is_lowered := true;
            lowered_by := nullif(bound.name, '');
        END IF;
    END LOOP;
    IF exhausted IS NOT NULL THEN
        exhausted := exhausted || jsonb_build_object('decided_at', moment, 'wait_seconds',
            ceil(extract(epoch FROM earliest - moment))::bigint + 3600);
        RETURN;
    END IF;
    cost := ceil(input_cost + output_tokens * token_cost);
    credits := CASE WHEN model_is_free(m) THEN 0 ELSE ceil(cost * credit_rate) END;
    FOR nth IN 1 .. cardinality(bound_ids) LOOP
        needed := CASE units[nth] WHEN 'usd' THEN cost ELSE credits END;
        CONTINUE WHEN needed = 0;
        IF rests[nth] < needed THEN
            outcome := 'wait';
            waits_for := coalesce(bound_ids[nth], r.org_id);
            RETURN;
        END IF;
        CONTINUE WHEN bound_ids[nth] IS NULL OR bound_ids[nth] = r.id;
        ids := ids || bound_ids[nth];
        users := users || bound_users[nth];
        begins := begins || bound_begins[nth];
        renewals := array_append(renewals, bound_renewals[nth]);
        amounts := amounts || needed::bigint;
    END LOOP;
    IF cost = 0 THEN
        RETURN;
    END IF;
    INSERT INTO budget_windows AS w (budget_id, end_user, begins_at, org_id, renews_at, held)
    SELECT k.budget_id, k.end_user, k.begins_at, r.org_id, k.renews_at, k.amount
    FROM unnest(ids, users, begins, renewals, amounts) AS k (budget_id, end_user, begins_at, renews_at, amount)
    ON CONFLICT (budget_id, end_user, begins_at) DO UPDATE SET held = w.held + excluded.held;
    INSERT INTO turn_holds (run_id, org_id, epoch, credits, budget_ids, end_users, begin_times, amounts)
    VALUES (r.id, r.org_id, r.epoch, credits::bigint, ids, users, begins, amounts);
    IF credits > 0 THEN
        UPDATE credit_accounts SET turns_held = turns_held + credits::bigint WHERE org_id = r.org_id;
    END IF;
END
$$;

-- Takes the holds of turns that daemons begin, an element of each array a run, in the order of their ids, no run twice.
-- Answers a row for each run that the daemon still has. Need not be durable: Postgres forgets the daemon's claim in the
-- same crash, or the turn's cost is counted anyway.
CREATE OR REPLACE FUNCTION turns_hold(owner uuid, run_ids uuid[], epochs bigint[], model_ids uuid[], tokens_in bigint[],
    tokens_wanted bigint[], tokens_min bigint, credits_per_usd bigint)
RETURNS TABLE (run_id uuid, outcome text, output_tokens bigint, is_lowered boolean, lowered_by text, waits_for uuid,
    exhausted jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    held_ids uuid[];
    r runs;
    nth integer;
BEGIN
    held_ids := ARRAY(
        SELECT owned.id FROM unnest(run_ids, epochs) AS w (run_id, epoch)
        CROSS JOIN LATERAL (SELECT q.id FROM runs q
            WHERE q.id = w.run_id AND q.epoch = w.epoch AND q.owner_id = owner FOR NO KEY UPDATE OF q) AS owned);
    PERFORM FROM credit_accounts a WHERE a.org_id IN (SELECT q.org_id FROM runs q WHERE q.id = ANY (held_ids))
        ORDER BY a.org_id FOR UPDATE;
    FOR nth IN 1 .. cardinality(run_ids) LOOP
        CONTINUE WHEN run_ids[nth] <> ALL (held_ids);
        SELECT * INTO STRICT r FROM runs q WHERE q.id = run_ids[nth];
        run_id := r.id;
        SELECT h.outcome, h.output_tokens, h.is_lowered, h.lowered_by, h.waits_for, h.exhausted
        INTO outcome, output_tokens, is_lowered, lowered_by, waits_for, exhausted
        FROM turn_hold(r, model_ids[nth], tokens_in[nth], tokens_wanted[nth], tokens_min, credits_per_usd) AS h;
        RETURN NEXT;
    END LOOP;
END
$$;

-- Takes the hold of a tool call that costs credits: false when a budget of credits has too little left. The run and its
-- account are locked by the caller.
CREATE OR REPLACE FUNCTION tool_hold(r runs, cost bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    moment CONSTANT timestamptz := clock_timestamp();
    h turn_holds;
    bound record;
    of_run bigint;
BEGIN
    SELECT * INTO h FROM turn_holds o WHERE o.run_id = r.id;
    IF h.run_id IS NOT NULL AND h.epoch <> r.epoch THEN
        PERFORM turn_holds_replace(ARRAY[r.id], '{0}', '{0}', moment);
        h := NULL;
    END IF;
    of_run := coalesce((SELECT sum(k.amount) FROM unnest(h.budget_ids, h.amounts) AS k (budget_id, amount)
                        WHERE k.budget_id = r.id), 0);
    FOR bound IN SELECT * FROM turn_bounds(r, 0, true, 0, moment) AS b WHERE b.unit = 'credits' LOOP
        IF bound.budget_id = r.id THEN
            bound.held := of_run;
        END IF;
        IF bound.amount::numeric - bound.spent - bound.held < cost THEN
            RETURN false;
        END IF;
    END LOOP;
    IF h.run_id IS NULL THEN
        INSERT INTO turn_holds (run_id, org_id, epoch, credits, budget_ids, end_users, begin_times, amounts)
        VALUES (r.id, r.org_id, r.epoch, 0, '{}', '{}', '{}', '{}');
    END IF;
    FOR bound IN SELECT * FROM turn_bounds(r, 0, true, 0, moment) AS b WHERE b.unit = 'credits' LOOP
        UPDATE turn_holds o SET budget_ids = o.budget_ids || bound.budget_id,
            end_users = o.end_users || bound.end_user, begin_times = o.begin_times || bound.begins_at,
            amounts = o.amounts || cost
        WHERE o.run_id = r.id;
        IF bound.budget_id <> r.id THEN
            INSERT INTO budget_windows AS w (budget_id, end_user, begins_at, org_id, renews_at, held)
            VALUES (bound.budget_id, bound.end_user, bound.begins_at, r.org_id, bound.renews_at, cost)
            ON CONFLICT (budget_id, end_user, begins_at) DO UPDATE SET held = w.held + excluded.held;
        END IF;
    END LOOP;
    RETURN true;
END
$$;

-- Replaces the hold of one tool call by what it cost. Other calls of the run keep theirs. Locked as for tool_hold().
CREATE OR REPLACE FUNCTION tool_hold_replace(r runs, cost bigint, charged bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    moment CONSTANT timestamptz := clock_timestamp();
    h turn_holds;
    calls bigint;
BEGIN
    SELECT * INTO h FROM turn_holds o WHERE o.run_id = r.id;
    -- How many calls hold: each added one element for each budget.
    calls := coalesce((SELECT max(k.calls) FROM (SELECT count(*) AS calls FROM unnest(h.budget_ids) AS i (id)
                                                 GROUP BY i.id) AS k), 0);
    PERFORM turn_holds_replace(ARRAY[r.id], '{0}', ARRAY[charged], moment);
    IF calls > 1 AND h.epoch = r.epoch THEN
        WITH kept AS (
            SELECT k.budget_id, k.end_user, k.begins_at, k.amount,
                row_number() OVER (PARTITION BY k.budget_id ORDER BY k.amount <> cost, k.nth DESC) AS nth_of_budget
            FROM unnest(h.budget_ids, h.end_users, h.begin_times, h.amounts) WITH ORDINALITY
                AS k (budget_id, end_user, begins_at, amount, nth)),
        held AS (
            INSERT INTO turn_holds (run_id, org_id, epoch, credits, budget_ids, end_users, begin_times, amounts)
            SELECT r.id, r.org_id, r.epoch, 0, array_agg(k.budget_id), array_agg(k.end_user), array_agg(k.begins_at),
                array_agg(k.amount)
            FROM kept k WHERE k.nth_of_budget > 1 HAVING count(*) > 0)
        UPDATE budget_windows w SET held = w.held + k.amount
        FROM (SELECT o.budget_id, o.end_user, o.begins_at, sum(o.amount)::bigint AS amount FROM kept o
              WHERE o.nth_of_budget > 1 GROUP BY o.budget_id, o.end_user, o.begins_at) AS k
        WHERE w.budget_id = k.budget_id AND w.end_user = k.end_user AND w.begins_at = k.begins_at;
    END IF;
END
$$;

-- Maintenance: ends holds of turns whose daemon does not have the run any more. Answers how many. Locks runs, then
-- accounts.
CREATE OR REPLACE FUNCTION turn_holds_expire(at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    lost uuid[];
BEGIN
    lost := ARRAY(
        SELECT r.id FROM turn_holds h CROSS JOIN LATERAL (
            SELECT o.id FROM runs o WHERE o.id = h.run_id AND (o.owner_id IS NULL OR o.epoch <> h.epoch)
            FOR NO KEY UPDATE SKIP LOCKED) AS r
        LIMIT at_most);
    PERFORM FROM credit_accounts a WHERE a.org_id IN (SELECT r.org_id FROM runs r WHERE r.id = ANY (lost))
        ORDER BY a.org_id FOR UPDATE;
    -- A new owner may have taken its own hold meanwhile.
    lost := ARRAY(SELECT h.run_id FROM turn_holds h JOIN runs r ON r.id = h.run_id
                  WHERE h.run_id = ANY (lost) AND (r.owner_id IS NULL OR r.epoch <> h.epoch));
    PERFORM turn_holds_replace(lost, array_fill(0::bigint, ARRAY[cardinality(lost)]),
                         array_fill(0::bigint, ARRAY[cardinality(lost)]), clock_timestamp());
    RETURN cardinality(lost);
END
$$;
REVOKE EXECUTE ON FUNCTION turn_holds_replace, turn_hold, tool_hold, tool_hold_replace, turn_bounds
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION turns_hold, turn_holds_expire FROM hostler_api;
