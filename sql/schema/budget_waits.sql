-- Runs that wait for a budget, and alerts of budgets: what maintenance does for both.

-- Percents of a budget that were spent in a window, each once. Maintenance tells webhooks and the organization's owners
-- and administrators.
CREATE TABLE budget_alerts (
    budget_id uuid NOT NULL,
    end_user text COLLATE "C" NOT NULL,
    begins_at timestamptz NOT NULL,
    percent integer NOT NULL,
    org_id uuid NOT NULL,
    reached_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    after_user_id uuid,  -- users up to this one have their mail; null: nobody has yet
    done_at timestamptz,
    PRIMARY KEY (budget_id, end_user, begins_at, percent),
    FOREIGN KEY (org_id, budget_id) REFERENCES budgets (org_id, id)
);
CREATE INDEX budget_alerts_open ON budget_alerts (reached_at) WHERE done_at IS NULL;
CREATE INDEX budget_alerts_of_end_user ON budget_alerts (org_id, end_user) WHERE end_user <> '';
SELECT make_tenant_table('budget_alerts');

CREATE INDEX runs_waiting_for_budget ON runs ((input_request ->> 'budget_id') COLLATE "C", id)
    WHERE status = 'waiting_for_input' AND input_request ->> 'kind' = 'budget';
CREATE INDEX runs_waiting_for_renewal ON runs (((input_request ->> 'renews_at') COLLATE "C"))
    WHERE status = 'waiting_for_input' AND input_request ->> 'kind' = 'budget';

-- Whether a run that is about to wait for a budget may go on at once: the budget was raised or removed, bounds nothing
-- any more, or has a new window since the decision. Holds off changes of the budget until the wait is stored.
CREATE OR REPLACE FUNCTION budget_has_changed(request jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    b budgets;
BEGIN
    SELECT * INTO b FROM budgets WHERE id = (request ->> 'budget_id')::uuid AND deleted_at IS NULL FOR SHARE;
    RETURN b.id IS NULL OR NOT b.is_active OR b.changed_at > (request ->> 'decided_at')::timestamptz
        OR coalesce((request ->> 'renews_at')::timestamptz <= clock_timestamp(), false);
END
$$;

-- Lets a run go on that waited for a budget and is locked, or cancels it when the key that made it is over: the rights
-- of a caller are checked again after a wait. The account is locked by the caller.
CREATE OR REPLACE FUNCTION budget_go_on(r runs) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF r.api_key_id IS NULL OR EXISTS (
        SELECT FROM api_keys k
        JOIN users u ON u.id = k.user_id
        JOIN org_members m ON m.org_id = k.org_id AND m.user_id = k.user_id
        WHERE k.id = r.api_key_id AND api_key_lives(k, u, m.id)
              AND coalesce(k.expires_at, 'infinity') > clock_timestamp()) THEN
        PERFORM run_go_on(r);
        RETURN;
    END IF;
    -- Threads are locked before runs: what somebody else has is left for the next page.
    PERFORM FROM threads t WHERE t.id = r.thread_id FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        PERFORM run_cancel_locked(r.id, 'key_revoked');
        PERFORM pg_notify('hostler_control', r.id::text);
    END IF;
END
$$;

-- Ends a run as failed that nobody owns. Thread, run and account are locked by the caller.
CREATE OR REPLACE FUNCTION run_fail_waiting(r runs, code text, message text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    INSERT INTO run_events (run_id, seq, type, data)
    VALUES (r.id, r.last_seq + 1, 'run.failed', json_build_object('code', code, 'message', message));
    PERFORM run_end(r, 'failed', r.last_seq + 1, code, message, run_message_text(r), true);
    PERFORM pg_notify('hostler_control', r.id::text);
END
$$;

-- A run begins to wait for a budget, with the request {request_id, kind, message, budget_id, name, renews_at,
-- decided_at, waiting_max}: it goes on at once when the budget changed since it was found exhausted, and fails when as
-- many runs wait as may. Thread, run and account are locked by the caller.
CREATE OR REPLACE FUNCTION budget_wait_begun(r runs) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    waiting_max CONSTANT bigint := entitlement_integer(r.org_id, 'limit.waiting_runs',
                                                       (r.input_request ->> 'waiting_max')::bigint);
BEGIN
    IF budget_has_changed(r.input_request) THEN
        PERFORM run_go_on(r);
    ELSIF (SELECT a.waiting_runs FROM credit_accounts a WHERE a.org_id = r.org_id) > waiting_max THEN
        PERFORM run_fail_waiting(r, 'budget.exhausted', 'Too little is left of ' || (r.input_request ->> 'name')
                                                        || ', and as many runs wait as may.');
    END IF;
END
$$;

-- In the transaction of a change after which runs that wait for the budget go on. Maintenance wakes them, page by page.
CREATE OR REPLACE FUNCTION budget_wake(budget uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    INSERT INTO endings (kind, subject_id) VALUES ('budget_waits', budget)
$$;

-- A page of the work of budget_wake(): the oldest runs first. Those that began to wait after the change stay. Locks
-- runs, then accounts.
CREATE OR REPLACE FUNCTION ending_page_budget_waits(e endings, at_most integer) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    runs_max constant integer := greatest(at_most / 4, 1);
    page uuid[] := ARRAY(
        SELECT q.id FROM runs q
        WHERE q.status = 'waiting_for_input' AND q.input_request ->> 'kind' = 'budget'
              AND (q.input_request ->> 'budget_id') COLLATE "C" = e.subject_id::text
              AND (q.input_request ->> 'decided_at')::timestamptz <= e.ended_at
        ORDER BY q.id LIMIT runs_max);
BEGIN
    IF cardinality(page) = 0 THEN
        RETURN NULL;
    END IF;
    PERFORM budget_runs_go_on(page);
    RETURN page[cardinality(page)];
END
$$;

-- Lets these runs go on that wait for a budget. What somebody else has locked stays. Answers how many were free.
CREATE OR REPLACE FUNCTION budget_runs_go_on(run_ids uuid[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    free uuid[] := ARRAY(
        SELECT q.id FROM runs q
        WHERE q.id = ANY (run_ids) AND q.status = 'waiting_for_input' AND q.input_request ->> 'kind' = 'budget'
        ORDER BY q.id FOR UPDATE SKIP LOCKED);
    r runs;
BEGIN
    PERFORM credit_lock(ARRAY(SELECT q.org_id FROM runs q WHERE q.id = ANY (free)));
    FOR r IN SELECT q.* FROM runs q WHERE q.id = ANY (free) ORDER BY q.id LOOP
        PERFORM budget_go_on(r);
    END LOOP;
    RETURN cardinality(free);
END
$$;

-- Maintenance: lets runs go on whose budget has a new window. Answers how many.
CREATE OR REPLACE FUNCTION budget_renewals(at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN budget_runs_go_on(ARRAY(
        SELECT q.id FROM runs q
        WHERE q.status = 'waiting_for_input' AND q.input_request ->> 'kind' = 'budget'
              AND (q.input_request ->> 'renews_at') COLLATE "C" <= rfc3339(clock_timestamp())
        ORDER BY (q.input_request ->> 'renews_at') COLLATE "C" LIMIT at_most));
END
$$;

-- The alert as webhooks and mails tell it. end_user: of a budget of one end user, or for each, the name; else null.
CREATE OR REPLACE FUNCTION budget_alert_json(a budget_alerts, b budgets) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT json_build_object('type', 'budget.threshold', 'timestamp', rfc3339(a.reached_at), 'data',
        json_build_object('budget', budget_json(b, a.end_user, greatest(a.begins_at, b.created_at)),
            'percent', a.percent,
            'end_user', nullif(CASE WHEN b.subject_type = 'end_user' AND b.subject_id <> '*' THEN b.subject_id
                               ELSE a.end_user END, '')))
$$;

-- Maintenance: tells the oldest alert that is not done, a page of its mails at a time. Answers how many rows of work.
CREATE OR REPLACE FUNCTION budget_alerts_send(at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    a budget_alerts;
    b budgets;
    page uuid[];
    message json;
BEGIN
    SELECT * INTO a FROM budget_alerts o WHERE o.done_at IS NULL ORDER BY o.reached_at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF a.budget_id IS NULL THEN
        RETURN 0;
    END IF;
    SELECT * INTO b FROM budgets WHERE id = a.budget_id AND deleted_at IS NULL;
    message := budget_alert_json(a, b);
    IF a.after_user_id IS NULL AND b.id IS NOT NULL THEN
        INSERT INTO outbox (org_id, kind, endpoint_id, event_type, body)
        SELECT e.org_id, 'webhook', e.id, 'budget.threshold', message::text
        FROM (SELECT id, org_id FROM webhook_endpoints
              WHERE org_id = a.org_id AND enabled AND 'budget.threshold' = ANY (events) ORDER BY id
              FOR KEY SHARE) AS e;
    END IF;
    page := ARRAY(
        SELECT m.user_id FROM org_members m
        WHERE m.org_id = a.org_id AND m.role IN ('owner', 'admin') AND b.id IS NOT NULL
              AND m.user_id > coalesce(a.after_user_id, '00000000-0000-0000-0000-000000000000')
        ORDER BY m.user_id LIMIT at_most);
    PERFORM mail_queue('budget_threshold', u.email, u.locale, jsonb_strip_nulls(jsonb_build_object(
        'username', u.username, 'org_name', o.name, 'budget_name', b.name, 'percent', a.percent::text,
        'spent', message #>> '{data,budget,spent}', 'amount', message #>> '{data,budget,amount}',
        'unit', CASE b.unit WHEN 'usd' THEN 'dollars' ELSE 'credits' END, 'end_user', message #>> '{data,end_user}',
        'renews_at', message #>> '{data,budget,renews_at}')))
    FROM unnest(page) AS p (user_id) JOIN users u ON u.id = p.user_id, orgs o
    WHERE o.id = a.org_id AND u.status = 'active' AND u.email_verified_at IS NOT NULL;
    UPDATE budget_alerts o SET after_user_id = coalesce(page[cardinality(page)], o.after_user_id),
        done_at = CASE WHEN cardinality(page) < at_most THEN clock_timestamp() END
    WHERE o.budget_id = a.budget_id AND o.end_user = a.end_user AND o.begins_at = a.begins_at
          AND o.percent = a.percent;
    RETURN 1 + cardinality(page);
END
$$;

REVOKE EXECUTE ON FUNCTION run_fail_waiting, budget_wait_begun, budget_wake, budget_go_on, budget_runs_go_on,
    budget_has_changed, ending_page_budget_waits, budget_alert_json FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION budget_renewals, budget_alerts_send FROM hostler_api;
