-- Commits of a daemon for the runs of one flight: charged turns, and ends. All of them in one statement, because one
-- per run costs Postgres six times as much.

-- Costs of turns, in the order of payment: by organization, then as they come. Each is paid from its run's hold, and
-- beyond it from the available credits. A hold that is used up is raised again, and none is kept that the balance does
-- not cover; the end of a run gives back what it holds. Each run sees the result of the one before. which: the runs, by
-- their position in the arrays. Runs and accounts are locked by the caller. Writes nothing.
CREATE OR REPLACE FUNCTION turns_charge(which bigint[], run_ids uuid[], turn_numbers bigint[], tokens_in bigint[],
    tokens_out bigint[], tokens_cache_read bigint[], tokens_cache_write bigint[], credits_per_usd bigint[],
    run_holds bigint[], statuses text[])
RETURNS TABLE (nth bigint, run_id uuid, org_id uuid, thread_id uuid, user_id uuid, model text, shown_model text,
    end_user text, is_new boolean, is_ended boolean, is_taken_back boolean, was_queued boolean, was_apart boolean,
    next_run_id uuid,
    is_notified boolean, cost bigint, credits bigint, number bigint, balance_after bigint, hold bigint,
    held_change bigint, may_go_on boolean, bytes_before bigint, is_budgeted boolean, has_hold boolean,
    unheld_max bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
    is_free boolean;
    used_before bigint;
    held_before bigint;
    account_balance bigint;
    account_held bigint;
    account_entries bigint;
    last_org_id uuid;
    held bigint;
    account_turns_held bigint;
    account_runs integer;
BEGIN
    FOR nth, run_id, org_id, thread_id, user_id, model, shown_model, end_user, is_new, is_ended, is_taken_back,
        was_queued, was_apart, next_run_id, is_notified, cost, credits, is_free, used_before, held_before, may_go_on,
        bytes_before, is_budgeted, has_hold,
        account_balance, account_held, account_entries, account_turns_held, account_runs IN
        SELECT p.nth, r.id, r.org_id, r.thread_id, r.created_by_user_id, r.model,
            -- A model is of its provider's organization.
            CASE WHEN m.org_id IS NULL THEN r.model ELSE 'own models' END, r.end_user,
            -- A batch whose answer was lost is sent again; a turn is paid for once.
            turn_numbers[p.nth] > 0 AND NOT EXISTS (
                SELECT FROM usage_records u WHERE u.run_id = r.id AND u.turn = turn_numbers[p.nth]),
            statuses[p.nth] <> '',
            statuses[p.nth] <> '' AND (
                r.deleted_at IS NOT NULL OR r.source = 'retry' AND statuses[p.nth] <> 'completed'),
            r.queued,
            waits_apart(r.input_request),
            CASE WHEN statuses[p.nth] <> '' AND NOT r.queued THEN (
                SELECT q.id FROM runs q WHERE q.org_id = r.org_id AND q.thread_id = r.thread_id AND q.queued
                ORDER BY q.id LIMIT 1) END,
            statuses[p.nth] <> '' AND EXISTS (
                SELECT FROM webhook_endpoints e WHERE e.org_id = r.org_id AND e.enabled
                    AND 'run.' || statuses[p.nth] = ANY (e.events)),
            c.cost, model_credits(m, c.cost, credits_per_usd[p.nth]), model_is_free(m), r.credits_used,
            r.credits_held, NOT r.credits_exhausted, r.event_bytes + r.result_bytes,
            a.budgets > 0 OR r.budget_amount IS NOT NULL,
            -- EXISTS may be planned as a read of the whole table.
            coalesce((SELECT true FROM turn_holds o WHERE o.run_id = r.id LIMIT 1), false),
            a.balance, a.held, a.entries, a.turns_held, a.active_runs
        FROM unnest(which) AS p (nth)
        JOIN runs r ON r.id = run_ids[p.nth]
        JOIN credit_accounts a ON a.org_id = r.org_id
        LEFT JOIN llm_models m ON m.id = r.model_id
        CROSS JOIN LATERAL (SELECT model_cost(m, tokens_in[p.nth], tokens_out[p.nth], tokens_cache_read[p.nth],
                                              tokens_cache_write[p.nth]) AS cost OFFSET 0) AS c
        ORDER BY r.org_id, p.nth
    LOOP
        IF last_org_id IS DISTINCT FROM org_id THEN
            last_org_id := org_id;
            balance_after := account_balance;
            held := account_held;
            number := account_entries;
        END IF;
        hold := held_before;
        IF is_new THEN
            -- The chargeable amount: the run's sum and the rest of the account, its sign turned too, stay bigint.
            credits := greatest(0, least(credits, balance_after::numeric - held + 9223372036854775807,
                                         9223372036854775807 - used_before));
            hold := greatest(held_before - credits, 0);
            IF hold = 0 AND NOT is_free THEN
                hold := greatest(run_holds[nth], 1);
            END IF;
            hold := greatest(0, least(hold, balance_after - credits - held + held_before));
            may_go_on := is_free OR hold > 0;
        ELSE
            cost := 0;
            credits := 0;
        END IF;
        IF is_ended THEN
            hold := 0;
        END IF;
        held_change := hold - held_before;
        held := held + held_change;
        balance_after := balance_after - credits;
        number := number + (credits > 0)::integer;
        unheld_max := unheld_credits_max(balance_after, held, account_turns_held, account_runs);
        RETURN NEXT;
    END LOOP;
END
$$;

-- Commits, of runs that one owner has: a finished turn each (its number, 0: none), which is paid for, and the end (the
-- terminal status, '': it goes on). The single place where a turn is paid for and where a run ends: state, assistant
-- message, the message that a failed retry had hidden, the thread's next run, webhook messages, usage and its sums, the
-- ledger. Everything else that belongs to the end of a run is added here.
--
-- An element of each array a run, in the order of their ids, no run twice. stored_events and stored_results: bytes of
-- all its events and results that are stored when this is, so that one that is sent again counts nothing. The threads
-- of those that end are locked by an earlier statement; here the runs, then their accounts. Answers the runs that the
-- owner has; not may_go_on: no credits are left for another turn; is_budgeted: the next turn needs a hold; without one
-- it may cost unheld_max credits.
CREATE OR REPLACE FUNCTION runs_commit(owner uuid, run_ids uuid[], epochs bigint[], final_seqs bigint[],
    turn_numbers bigint[], turn_parts text[], tokens_in bigint[], tokens_out bigint[],
    tokens_cache_read bigint[], tokens_cache_write bigint[], are_measured boolean[],
    credits_per_usd bigint[], run_holds bigint[], statuses text[], codes text[], failures text[], answers text[],
    answer_words text[], are_incomplete boolean[], stored_events bigint[], stored_results bigint[])
RETURNS TABLE (id uuid, may_go_on boolean, is_budgeted boolean, unheld_max bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
    which bigint[];
    org_ids uuid[];
    moment timestamptz;
    held_ids uuid[];
    go_on boolean[];
    budgeted boolean[];
    unheld bigint[];
    replaced_ids uuid[];
    replaced_costs bigint[];
    replaced_credits bigint[];
    next_ids uuid[];
    taken_back uuid[];
    notified uuid[];
BEGIN
    -- Told by status: of runs whose ended_at is null there are indexes that may look as small as the key's.
    IF '' = ANY (statuses) THEN
        SELECT array_agg(w.nth), array_agg(owned.org_id) INTO which, org_ids
        FROM unnest(run_ids, epochs, statuses) WITH ORDINALITY AS w (run_id, epoch, status, nth)
        CROSS JOIN LATERAL (SELECT r.org_id FROM runs r
            WHERE r.id = w.run_id AND r.epoch = w.epoch AND r.owner_id IS NOT DISTINCT FROM owner
                  AND r.status IN ('running', 'waiting_for_input') FOR NO KEY UPDATE OF r) AS owned
        WHERE w.status = '';
    END IF;
    IF '' <> ANY (statuses) THEN
        SELECT which || array_agg(w.nth), org_ids || array_agg(owned.org_id) INTO which, org_ids
        FROM unnest(run_ids, epochs, statuses) WITH ORDINALITY AS w (run_id, epoch, status, nth)
        CROSS JOIN LATERAL (SELECT r.org_id FROM runs r
            WHERE r.id = w.run_id AND r.epoch = w.epoch AND r.owner_id IS NOT DISTINCT FROM owner
                  AND r.status IN ('running', 'waiting_for_input') FOR UPDATE OF r) AS owned
        WHERE w.status <> '';
    END IF;
    IF which IS NULL THEN
        RETURN;
    END IF;
    PERFORM FROM credit_accounts a WHERE a.org_id = ANY (org_ids) ORDER BY a.org_id FOR UPDATE;
    -- The offer of a run may be stored by now, although its daemon, which stopped it then, never learned of it.
    IF 0 = ANY (turn_numbers) THEN
        stored_results := ARRAY(
            SELECT greatest(w.bytes, (SELECT r.result_bytes FROM runs r WHERE r.id = w.run_id))
            FROM unnest(run_ids, stored_results) WITH ORDINALITY AS w (run_id, bytes, nth) ORDER BY w.nth);
    END IF;
    moment := clock_timestamp();
    WITH step AS MATERIALIZED (
        SELECT c.nth, c.run_id, c.org_id, c.thread_id, c.user_id, c.model, c.shown_model, c.end_user, c.is_new,
            c.is_ended, c.is_taken_back, c.was_queued, c.was_apart, c.next_run_id, c.is_notified, c.cost, c.credits,
            c.number,
            c.balance_after, c.hold, c.held_change, c.may_go_on, c.is_budgeted, c.has_hold, c.unheld_max,
            CASE WHEN c.is_new OR c.is_ended THEN stored_events[c.nth] + stored_results[c.nth] - c.bytes_before
                 ELSE 0 END + CASE WHEN c.is_ended THEN octet_length(answers[c.nth]) ELSE 0 END AS stored_change
        FROM turns_charge(which, run_ids, turn_numbers, tokens_in, tokens_out, tokens_cache_read, tokens_cache_write,
                          credits_per_usd, run_holds, statuses) AS c),
    used AS (
        INSERT INTO usage_records (org_id, run_id, turn, user_id, model, input_tokens, output_tokens,
            cache_read_tokens, cache_write_tokens, cost_nano_usd, credits, measured, created_at, end_user)
        SELECT s.org_id, s.run_id, turn_numbers[s.nth], s.user_id, s.model, tokens_in[s.nth], tokens_out[s.nth],
            tokens_cache_read[s.nth], tokens_cache_write[s.nth], s.cost, s.credits, are_measured[s.nth], moment,
            s.end_user
        FROM step s WHERE s.is_new),
    -- A turn without parts is paid for and not stored: it was broken off, or the run ends with it.
    turned AS (
        INSERT INTO run_turns (run_id, org_id, turn, parts, last_seq)
        SELECT s.run_id, s.org_id, turn_numbers[s.nth], turn_parts[s.nth]::json, final_seqs[s.nth]
        FROM step s WHERE s.is_new AND turn_parts[s.nth] <> ''),
    -- The sums of usage: the account of an organization orders its writers, and each daemon has rows of its own.
    summed AS (
        INSERT INTO usage_of_org AS o (org_id, day, model, has_end_user, input_tokens, output_tokens, cost_nano_usd,
            credits, record_count)
        SELECT s.org_id, utc_day(moment), s.model, s.end_user IS NOT NULL, saturated(sum(tokens_in[s.nth])),
            saturated(sum(tokens_out[s.nth])), saturated(sum(s.cost)), saturated(sum(s.credits)), count(*)
        FROM step s WHERE s.is_new GROUP BY s.org_id, s.model, s.end_user IS NOT NULL
        ON CONFLICT (org_id, day, model, has_end_user) DO UPDATE SET
            input_tokens = saturated(o.input_tokens::numeric + excluded.input_tokens),
            output_tokens = saturated(o.output_tokens::numeric + excluded.output_tokens),
            cost_nano_usd = saturated(o.cost_nano_usd::numeric + excluded.cost_nano_usd),
            credits = saturated(o.credits::numeric + excluded.credits),
            record_count = o.record_count + excluded.record_count),
    summed_for_end_users AS (
        INSERT INTO usage_of_end_user AS e (org_id, month, end_user, input_tokens, output_tokens, cost_nano_usd,
            credits, record_count)
        SELECT s.org_id, utc_month(moment), s.end_user, saturated(sum(tokens_in[s.nth])),
            saturated(sum(tokens_out[s.nth])), saturated(sum(s.cost)), saturated(sum(s.credits)), count(*)
        FROM step s WHERE s.is_new AND s.end_user IS NOT NULL GROUP BY s.org_id, s.end_user
        ON CONFLICT (org_id, month, end_user) DO UPDATE SET
            input_tokens = saturated(e.input_tokens::numeric + excluded.input_tokens),
            output_tokens = saturated(e.output_tokens::numeric + excluded.output_tokens),
            cost_nano_usd = saturated(e.cost_nano_usd::numeric + excluded.cost_nano_usd),
            credits = saturated(e.credits::numeric + excluded.credits),
            record_count = e.record_count + excluded.record_count),
    summed_for_platform AS (
        INSERT INTO usage_of_platform AS p (day, model, daemon_id, input_tokens, output_tokens, cost_nano_usd,
            record_count)
        SELECT utc_day(moment), s.shown_model, owner, sum(tokens_in[s.nth]), sum(tokens_out[s.nth]), sum(s.cost),
            count(*)
        FROM step s WHERE s.is_new GROUP BY s.shown_model
        ON CONFLICT (day, model, daemon_id) DO UPDATE SET input_tokens = p.input_tokens + excluded.input_tokens,
            output_tokens = p.output_tokens + excluded.output_tokens,
            cost_nano_usd = p.cost_nano_usd + excluded.cost_nano_usd,
            record_count = p.record_count + excluded.record_count),
    entered AS (
        INSERT INTO credit_transactions (org_id, number, amount, balance_after, type, reference_type, reference_id)
        SELECT s.org_id, s.number, -s.credits, s.balance_after, 'consumption', 'run', s.run_id::text
        FROM step s WHERE s.credits > 0),
    -- Once per organization: its payment, the holds of its runs, their number, and their stored bytes. The only place
    -- where all counts go down: a run that ends was an active, a waiting or a queued one; the next queued one is active
    -- in its stead.
    paid AS (
        UPDATE credit_accounts a SET balance = a.balance - c.credits, held = a.held + c.held_change,
            entries = a.entries + c.entries, active_runs = a.active_runs - (c.ended - c.no_longer_queued - c.apart),
            waiting_runs = a.waiting_runs - c.apart,
            queued_runs = a.queued_runs - c.no_longer_queued, stored_bytes = a.stored_bytes + c.stored_change
        FROM (SELECT s.org_id, sum(s.credits)::bigint AS credits, sum(s.held_change)::bigint AS held_change,
                  sum(s.stored_change)::bigint AS stored_change,
                  count(*) FILTER (WHERE s.credits > 0) AS entries,
                  (count(*) FILTER (WHERE s.is_ended))::integer AS ended,
                  (count(*) FILTER (WHERE s.is_ended AND s.was_apart))::integer AS apart,
                  (count(*) FILTER (WHERE s.is_ended AND (s.was_queued OR s.next_run_id IS NOT NULL)))::integer
                      AS no_longer_queued
              FROM step s GROUP BY s.org_id) AS c
        WHERE a.org_id = c.org_id
              AND (c.entries > 0 OR c.held_change <> 0 OR c.ended > 0 OR c.stored_change <> 0)),
    answered AS (
        INSERT INTO messages (id, org_id, thread_id, run_id, role, content, incomplete, has_turns, hidden_by_run_id,
                              search)
        SELECT uuidv7_of(moment_after(t.updated_at, moment)), s.org_id, s.thread_id, s.run_id, 'assistant',
            answers[s.nth], are_incomplete[s.nth],
            -- Every turn but the last one is stored. An attempt that another route stood in for has a number too.
            CASE WHEN turn_numbers[s.nth] > 0 AND turn_parts[s.nth] <> '' THEN true
                 WHEN turn_numbers[s.nth] = 1 THEN false
                 -- EXISTS may be planned as a read of the whole table.
                 ELSE coalesce((SELECT true FROM run_turns o WHERE o.run_id = s.run_id LIMIT 1), false) END,
            CASE WHEN s.is_taken_back THEN s.run_id END,
            words_vector(answer_words[s.nth])
        FROM step s JOIN threads t ON t.id = s.thread_id WHERE s.is_ended AND answers[s.nth] <> ''),
    freed AS (
        UPDATE threads t SET active_run_id = s.next_run_id, updated_at = moment_after(t.updated_at, moment)
        FROM step s WHERE s.is_ended AND NOT s.was_queued AND t.id = s.thread_id),
    written AS (
        UPDATE runs r SET turns = CASE WHEN s.is_new THEN turn_numbers[s.nth] ELSE r.turns END,
            crash_count = CASE WHEN s.is_new THEN 0 ELSE r.crash_count END,
            total_input_tokens = saturated(r.total_input_tokens::numeric + s.is_new::integer * tokens_in[s.nth]),
            total_output_tokens = saturated(r.total_output_tokens::numeric + s.is_new::integer * tokens_out[s.nth]),
            total_cached_tokens = saturated(r.total_cached_tokens::numeric
                                            + s.is_new::integer * tokens_cache_read[s.nth]),
            total_cost_nano_usd = saturated(r.total_cost_nano_usd::numeric + s.cost),
            credits_used = r.credits_used + s.credits, credits_held = s.hold, credits_exhausted = NOT s.may_go_on,
            event_bytes = stored_events[s.nth], result_bytes = stored_results[s.nth],
            status = CASE WHEN s.is_ended THEN statuses[s.nth] ELSE r.status END,
            ended_at = CASE WHEN s.is_ended THEN moment END,
            queued = r.queued AND NOT s.is_ended,
            last_seq = CASE WHEN s.is_ended THEN final_seqs[s.nth] ELSE r.last_seq END,
            owner_id = CASE WHEN s.is_ended THEN NULL ELSE r.owner_id END,
            input_request = CASE WHEN s.is_ended THEN NULL ELSE r.input_request END,
            input_deadline = CASE WHEN s.is_ended THEN NULL ELSE r.input_deadline END,
            error_code = CASE WHEN s.is_ended THEN nullif(codes[s.nth], '') END,
            error_message = CASE WHEN s.is_ended AND codes[s.nth] <> '' THEN left(failures[s.nth], 2000) END
        FROM step s WHERE (s.is_new OR s.is_ended) AND r.id = s.run_id)
    SELECT array_agg(s.run_id), array_agg(s.may_go_on),
        array_agg(s.next_run_id) FILTER (WHERE s.next_run_id IS NOT NULL),
        array_agg(s.run_id) FILTER (WHERE s.is_taken_back),
        array_agg(s.run_id) FILTER (WHERE s.is_notified), array_agg(s.is_budgeted), array_agg(s.unheld_max),
        array_agg(s.run_id) FILTER (WHERE s.has_hold OR (s.is_budgeted AND s.is_new)),
        array_agg(s.cost) FILTER (WHERE s.has_hold OR (s.is_budgeted AND s.is_new)),
        array_agg(s.credits) FILTER (WHERE s.has_hold OR (s.is_budgeted AND s.is_new))
    INTO held_ids, go_on, next_ids, taken_back, notified, budgeted, unheld, replaced_ids, replaced_costs,
        replaced_credits
    FROM step s;
    IF replaced_ids IS NOT NULL THEN
        PERFORM turn_holds_replace(replaced_ids, replaced_costs, replaced_credits, moment);
    END IF;
    IF next_ids IS NOT NULL THEN
        UPDATE runs r SET queued = false WHERE r.id = ANY (next_ids);
    END IF;
    -- Cancels calls that still continue at servers of tools (mcp_tasks.sql).
    IF '' <> ANY (statuses) THEN
        UPDATE mcp_tasks t SET due_at = moment FROM unnest(run_ids, statuses) AS w (run_id, status)
        WHERE w.status <> '' AND t.run_id = w.run_id AND EXISTS (
            SELECT FROM runs r WHERE r.id = t.run_id AND r.ended_at IS NOT NULL);
    END IF;
    IF taken_back IS NOT NULL THEN
        UPDATE messages m SET hidden_by_run_id = NULL
        WHERE m.hidden_by_run_id = ANY (taken_back) AND m.run_id <> m.hidden_by_run_id;
    END IF;
    IF notified IS NOT NULL AND current_setting('hostler.webhooks', true) IS DISTINCT FROM 'off' THEN
        PERFORM webhook_queue(r, 'run.' || r.status, r.ended_at) FROM runs r
        WHERE r.id = ANY (notified) ORDER BY r.id;
    END IF;
    RETURN QUERY SELECT h.id, h.may_go_on, h.is_budgeted, h.unheld_max
        FROM unnest(held_ids, go_on, budgeted, unheld) AS h (id, may_go_on, is_budgeted, unheld_max);
END
$$;
REVOKE EXECUTE ON FUNCTION turns_charge FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION runs_commit FROM hostler_api;
