-- Holds and charges of runs, and the ledger that nobody can change.
--
-- Locks are taken in this order: threads first, then runs, then accounts in the order of their ids, then budgets.

-- balance is the sum of the organization's transactions at every commit; held is the sum of what runs reserve. Because
-- they are counted here, a new run costs the same however many others exist. Every statement that begins or ends one
-- locks this row.
CREATE TABLE credit_accounts (
    org_id uuid PRIMARY KEY REFERENCES orgs,
    balance bigint NOT NULL DEFAULT 0,
    held amount_from_zero NOT NULL DEFAULT 0,
    entries bigint NOT NULL DEFAULT 0,  -- the number of its newest transaction
    active_runs count_from_zero NOT NULL DEFAULT 0,  -- none of ended, queued, waiting
    queued_runs count_from_zero NOT NULL DEFAULT 0,
    -- Bytes of the messages, events and results that are kept for it: what it posted, and of runs what was there when
    -- a turn or an end was last committed. Those of a deleted thread until maintenance removes them (threads_empty).
    stored_bytes bigint NOT NULL DEFAULT 0,
    waiting_runs count_from_zero NOT NULL DEFAULT 0,  -- those that wait apart (waits_apart)
    turns_held amount_from_zero NOT NULL DEFAULT 0,  -- what turns hold of the balance (budget_holds.sql), beside `held`
    budgets count_from_zero NOT NULL DEFAULT 0  -- of the organization; of none nothing is looked up
) WITH (autovacuum_vacuum_scale_factor = 0.01);
SELECT make_tenant_table('credit_accounts');
GRANT SELECT ON credit_accounts TO hostler_api, hostler_runner;

-- The ledger. number counts an organization's rows from 1 without gaps, in the order of their commits.
CREATE TABLE credit_transactions (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL REFERENCES credit_accounts,
    number bigint NOT NULL,
    amount bigint NOT NULL,
    balance_after bigint NOT NULL,
    type text NOT NULL CHECK (type IN ('initial_grant', 'referral_reward', 'invitee_reward', 'admin_adjustment',
        'admin_bulk_adjustment', 'admin_reset', 'redemption', 'consumption', 'monthly_grant')),
    reference_type text,
    reference_id text,
    note text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX credit_transactions_number ON credit_transactions (org_id, number);
CREATE INDEX credit_transactions_notes ON credit_transactions (org_id) WHERE note IS NOT NULL;
SELECT make_tenant_table('credit_transactions');
GRANT SELECT ON credit_transactions TO hostler_api;

-- How much a balance can take; locks the account. Nobody is refused a gift, or anything with it, for having too much.
CREATE OR REPLACE FUNCTION credit_room(org uuid) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT 9223372036854775807 - greatest(a.balance, 0) FROM credit_accounts a WHERE a.org_id = org FOR NO KEY UPDATE
$$;

-- One row of the ledger and the balance with it. Locks the account. int64 overflow is an error, of the field that says
-- what is posted. held_change: by how much what runs hold changes in the same step.
CREATE OR REPLACE FUNCTION credit_post(org uuid, amount bigint, kind text, reference_type text DEFAULT NULL,
                            reference_id text DEFAULT NULL, note text DEFAULT NULL, held_change bigint DEFAULT 0)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    account credit_accounts;
BEGIN
    UPDATE credit_accounts SET balance = balance + credit_post.amount, held = held + held_change, entries = entries + 1
    WHERE org_id = org
          AND balance::numeric + credit_post.amount BETWEEN -9223372036854775808 AND 9223372036854775807
    RETURNING * INTO account;
    IF NOT FOUND THEN
        PERFORM fail('validation.error', 'balance_out_of_bounds',
                     jsonb_build_object('field', CASE kind WHEN 'redemption' THEN 'code' ELSE 'amount' END));
    END IF;
    INSERT INTO credit_transactions (org_id, number, amount, balance_after, type, reference_type, reference_id, note)
    VALUES (org, account.entries, amount, account.balance, kind, credit_post.reference_type, credit_post.reference_id,
            credit_post.note);
    RETURN account.balance;
END
$$;

-- The ledger is append-only for everybody, its owner too. The erasure of an organization alone takes notes out of it
-- (org_erasure.sql).
CREATE OR REPLACE FUNCTION credit_transactions_refuse_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('hostler.erasing', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'the ledger is append-only';
END
$$;
CREATE TRIGGER credit_transactions_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON credit_transactions
    FOR EACH STATEMENT EXECUTE FUNCTION credit_transactions_refuse_change();

CREATE OR REPLACE FUNCTION credit_lock(org_ids uuid[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM 1 FROM credit_accounts WHERE org_id = ANY (org_ids) ORDER BY org_id FOR UPDATE;
END
$$;

-- A route that costs nothing: its runs hold nothing.
CREATE OR REPLACE FUNCTION model_is_free(price llm_models) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT price.multiplier = 0 OR (price.input_usd_per_mtok = 0 AND price.output_usd_per_mtok = 0
                                    AND price.cache_read_usd_per_mtok = 0 AND price.cache_write_usd_per_mtok = 0)
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

-- The dearest price of a model's input, and that of its output, with its multiplier: dollars a million tokens.
CREATE OR REPLACE FUNCTION model_input_price(price llm_models) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (greatest(price.input_usd_per_mtok, price.cache_read_usd_per_mtok, price.cache_write_usd_per_mtok)
            * price.multiplier)::double precision
$$;

CREATE OR REPLACE FUNCTION model_output_price(price llm_models) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (price.output_usd_per_mtok * price.multiplier)::double precision
$$;

CREATE OR REPLACE FUNCTION model_credits(price llm_models, cost_nano_usd bigint, credits_per_usd bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT least(1e15, ceil(cost_nano_usd * credits_per_usd::numeric * price.multiplier / 1e9))::bigint
$$;

-- Recounts all accounts, for operators who changed runs by hand. Stop the programs before it.
CREATE OR REPLACE FUNCTION account_runs_recount() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    UPDATE credit_accounts a SET active_runs = live.active, queued_runs = live.queued, waiting_runs = live.apart
    FROM (SELECT c.org_id, count(r.id) FILTER (WHERE NOT r.queued AND NOT waits_apart(r.input_request)) AS active,
                 count(r.id) FILTER (WHERE r.queued) AS queued,
                 count(r.id) FILTER (WHERE waits_apart(r.input_request)) AS apart
          FROM credit_accounts c LEFT JOIN runs r ON r.org_id = c.org_id AND r.ended_at IS NULL
          GROUP BY c.org_id) AS live
    WHERE a.org_id = live.org_id AND (a.active_runs, a.queued_runs, a.waiting_runs)
          IS DISTINCT FROM (live.active, live.queued, live.apart)
$$;

CREATE OR REPLACE FUNCTION credit_transaction_json(t credit_transactions) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', t.id, 'org_id', t.org_id, 'amount', t.amount, 'balance_after', t.balance_after,
        'type', t.type, 'reference_type', t.reference_type, 'reference_id', t.reference_id, 'note', t.note,
        'created_at', rfc3339(t.created_at))
$$;

-- An organization's ledger, newest first, behind the transaction `before`.
CREATE OR REPLACE FUNCTION credit_transaction_page(org uuid, page_limit integer, before uuid)
RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    newest bigint := CASE WHEN before IS NULL THEN 9223372036854775807 ELSE
        (SELECT t.number - 1 FROM credit_transactions t WHERE t.id = before AND t.org_id = org) END;
BEGIN
    IF org <> current_org() THEN
        PERFORM need_platform_admin();
    END IF;
    RETURN QUERY SELECT t.id, credit_transaction_json(t) FROM credit_transactions t
        WHERE t.org_id = org AND t.number <= newest ORDER BY t.number DESC LIMIT page_limit;
END
$$;

-- GET /v1/admin/credits and /v1/me/credits: what stands above the page of transactions.
CREATE OR REPLACE FUNCTION credit_account_json(org uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    account credit_accounts;
BEGIN
    IF org <> current_org() THEN
        PERFORM need_platform_admin();
    END IF;
    SELECT * INTO account FROM credit_accounts WHERE org_id = org;
    IF account.org_id IS NULL THEN
        PERFORM fail('orgs.not_found');
    END IF;
    RETURN jsonb_build_object('org_id', account.org_id, 'balance', account.balance,
                              'balance_text', account.balance::text, 'available', account.balance - account.held);
END
$$;

-- POST /v1/admin/credits/adjust, and hostlerctl credits adjust. Never below zero.
CREATE OR REPLACE FUNCTION credit_adjust(org uuid, amount bigint, note text) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state bigint;
    new_state bigint;
BEGIN
    PERFORM need_platform_admin();
    SELECT balance INTO old_state FROM credit_accounts WHERE org_id = org FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM fail('orgs.not_found', 'no_such_org');
    END IF;
    IF amount < 0 AND old_state::numeric + amount < 0 THEN
        PERFORM fail('credits.insufficient', 'below_zero', jsonb_build_object('balance', old_state));
    END IF;
    new_state := credit_post(org, amount, 'admin_adjustment', 'user', current_user_id()::text, credit_adjust.note);
    PERFORM audit('credits.adjust', 'org', org::text, org, jsonb_build_object('balance', old_state),
                  jsonb_build_object('balance', new_state, 'amount', amount, 'note', credit_adjust.note));
    RETURN json_build_object('org_id', org, 'balance', new_state, 'balance_text', new_state::text);
END
$$;

-- Changes of all accounts that are more than one transaction should lock: maintenance makes them page by page, one
-- change after the other, and each account's is a transaction with where it goes on. amount: null sets to zero.
CREATE TABLE credit_bulk_changes (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    amount bigint,
    kind text NOT NULL,
    note text,
    actor_user_id uuid NOT NULL REFERENCES users,
    after_org_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',  -- up to it accounts are changed
    last_org_id uuid NOT NULL,  -- accounts behind it are newer
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    done_at timestamptz
);
CREATE INDEX credit_bulk_changes_open ON credit_bulk_changes (id) WHERE done_at IS NULL;
CREATE INDEX credit_bulk_changes_actor ON credit_bulk_changes (actor_user_id);

-- By how much a balance changes: by amount, but not below zero nor beyond bigint; without an amount to zero. Nothing
-- that a balance may be makes it fail: one account would stop the changes of all others.
CREATE OR REPLACE FUNCTION credit_bulk_amount(balance bigint, amount bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN amount IS NULL THEN -greatest(balance, -9223372036854775807)
                WHEN amount > 0 THEN least(amount::numeric, 9223372036854775807::numeric - balance)::bigint
                ELSE greatest(amount, -greatest(balance, 0)) END
$$;

-- One row of the ledger for every one of these accounts, which are locked, whose balance changes by what is asked for.
-- Answers how many changed.
CREATE OR REPLACE FUNCTION credit_change_many(org_ids uuid[], amount bigint, kind text, note text, actor uuid)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    affected bigint;
BEGIN
    WITH changed AS (
        UPDATE credit_accounts AS a SET balance = a.balance + c.change, entries = a.entries + 1
        FROM (SELECT b.org_id, credit_bulk_amount(b.balance, credit_change_many.amount) AS change
              FROM credit_accounts b WHERE b.org_id = ANY (org_ids)) AS c
        WHERE c.org_id = a.org_id AND c.change <> 0
        RETURNING a.org_id, c.change, a.balance, a.entries)
    INSERT INTO credit_transactions (org_id, number, amount, balance_after, type, reference_type, reference_id, note)
    SELECT org_id, entries, change, balance, kind, 'user', actor::text, credit_change_many.note FROM changed;
    GET DIAGNOSTICS affected = ROW_COUNT;
    RETURN affected;
END
$$;

-- Refuses what would take a balance beyond bigint.
CREATE OR REPLACE FUNCTION credit_bulk_check(amount bigint) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF amount > 0 AND EXISTS (SELECT 1 FROM credit_accounts WHERE balance > 9223372036854775807 - amount) THEN
        PERFORM fail('validation.error', 'balance_out_of_bounds', jsonb_build_object('field', 'amount'));
    END IF;
END
$$;

-- Changes all accounts: at once, locked in the order of their ids, when they are few and no earlier change is under
-- way; else that is left to maintenance, which takes seconds for 100,000. Answers how many change. One call after the
-- other, so that each is behind those before it.
CREATE OR REPLACE FUNCTION credit_change_all(amount bigint, kind text, note text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    accounts_max constant bigint := 10000;
    is_at_once boolean;
    locked uuid[];
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('change of all credits', 0));
    is_at_once := NOT EXISTS (SELECT FROM credit_bulk_changes WHERE done_at IS NULL)
        AND (SELECT count(*) FROM (SELECT FROM credit_accounts LIMIT accounts_max + 1) AS counted) <= accounts_max;
    IF is_at_once THEN
        locked := ARRAY(SELECT org_id FROM credit_accounts ORDER BY org_id FOR UPDATE);
    END IF;
    PERFORM credit_bulk_check(amount);
    IF is_at_once THEN
        RETURN credit_change_many(locked, amount, kind, note, current_user_id());
    END IF;
    INSERT INTO credit_bulk_changes (amount, kind, note, actor_user_id, last_org_id)
    SELECT credit_change_all.amount, credit_change_all.kind, credit_change_all.note, current_user_id(), a.org_id
    FROM credit_accounts a ORDER BY a.org_id DESC LIMIT 1;
    RETURN (SELECT count(*) FROM credit_accounts a
            WHERE credit_bulk_amount(a.balance, credit_change_all.amount) <> 0);
END
$$;

-- Maintenance: the next accounts of the oldest change that is not done. Answers how many it looked at. One at a time,
-- and it waits for no account for long.
CREATE OR REPLACE FUNCTION credit_bulk_page(at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET lock_timeout = '200ms' AS $$
DECLARE
    bulk credit_bulk_changes;
    page uuid[];
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('pages of credits', 0)) THEN
        RETURN 0;
    END IF;
    SELECT * INTO bulk FROM credit_bulk_changes WHERE done_at IS NULL ORDER BY id LIMIT 1;
    IF bulk.id IS NULL THEN
        RETURN 0;
    END IF;
    page := ARRAY(SELECT a.org_id FROM credit_accounts a
                  WHERE a.org_id > bulk.after_org_id AND a.org_id <= bulk.last_org_id
                  ORDER BY a.org_id LIMIT at_most FOR UPDATE);
    PERFORM credit_change_many(page, bulk.amount, bulk.kind, bulk.note, bulk.actor_user_id);
    UPDATE credit_bulk_changes SET after_org_id = coalesce(page[cardinality(page)], after_org_id),
        done_at = CASE WHEN cardinality(page) < at_most THEN clock_timestamp() END
    WHERE id = bulk.id;
    RETURN cardinality(page);
END
$$;

-- The effect that a change of all would have at this moment: how many accounts, and the sum for all balances together.
-- Changes nothing. amount: null sets to zero.
CREATE OR REPLACE FUNCTION credit_bulk_preview(amount bigint) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM need_platform_admin();
    PERFORM credit_bulk_check(amount);
    RETURN (SELECT json_build_object('affected', count(*), 'total',
                       least(greatest(coalesce(sum(c.change), 0), -9223372036854775807), 9223372036854775807))
            FROM (SELECT credit_bulk_amount(a.balance, credit_bulk_preview.amount) AS change
                  FROM credit_accounts a) AS c
            WHERE c.change <> 0);
END
$$;

CREATE OR REPLACE FUNCTION credit_bulk_adjust(amount bigint, note text) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    affected bigint;
BEGIN
    PERFORM need_platform_admin();
    affected := credit_change_all(amount, 'admin_bulk_adjustment', note);
    PERFORM audit('credits.bulk_adjust', 'org', NULL, NULL, NULL,
                  jsonb_build_object('amount', amount, 'affected', affected, 'note', note));
    RETURN json_build_object('affected', affected);
END
$$;

CREATE OR REPLACE FUNCTION credit_reset_all(note text) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    affected bigint;
BEGIN
    PERFORM need_platform_admin();
    affected := credit_change_all(NULL, 'admin_reset', note);
    PERFORM audit('credits.reset_all', 'org', NULL, NULL, NULL,
                  jsonb_build_object('affected', affected, 'note', note));
    RETURN json_build_object('affected', affected);
END
$$;
REVOKE EXECUTE ON FUNCTION credit_room, credit_post, credit_bulk_amount, credit_bulk_check, credit_change_many,
    credit_change_all, account_runs_recount
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION credit_bulk_page FROM hostler_api;
REVOKE EXECUTE ON FUNCTION credit_lock FROM hostler_api;
REVOKE EXECUTE ON FUNCTION credit_account_json, credit_transaction_page, credit_adjust, credit_bulk_adjust,
    credit_bulk_preview, credit_reset_all
    FROM hostler_runner;
