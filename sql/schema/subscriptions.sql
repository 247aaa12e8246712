-- Subscriptions of organizations to plans, and their monthly grants.

-- An active subscription whose period ended is expired, whether or not a poll has written so.
CREATE TABLE subscriptions (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    plan_id uuid NOT NULL REFERENCES plans,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'cancelled', 'expired')),
    current_period_start timestamptz NOT NULL,
    current_period_end timestamptz NOT NULL,
    cancelled_at timestamptz,
    months_granted integer NOT NULL DEFAULT 0,
    next_grant_at timestamptz,  -- the monthly date that is not granted yet; null: none follows
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (current_period_end > current_period_start),
    CHECK ((status = 'cancelled') = (cancelled_at IS NOT NULL))
);
CREATE UNIQUE INDEX subscriptions_active ON subscriptions (org_id) WHERE status = 'active';
CREATE UNIQUE INDEX subscriptions_org ON subscriptions (org_id, id);
CREATE INDEX subscriptions_due ON subscriptions (next_grant_at) WHERE status = 'active';
CREATE INDEX subscriptions_period ON subscriptions (current_period_end) WHERE status = 'active';
SELECT make_tenant_table('subscriptions');
GRANT SELECT ON subscriptions TO hostler_api, hostler_runner;

-- Each monthly date of a subscription is granted once, however often or late the job runs.
CREATE TABLE subscription_grants (
    subscription_id uuid NOT NULL,
    org_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    amount bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (subscription_id, due_at),
    FOREIGN KEY (org_id, subscription_id) REFERENCES subscriptions (org_id, id)
);
CREATE INDEX subscription_grants_day ON subscription_grants (org_id, due_at);
SELECT make_tenant_table('subscription_grants');

CREATE OR REPLACE FUNCTION subscription_status(s subscriptions) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN s.status = 'active' AND s.current_period_end <= clock_timestamp() THEN 'expired' ELSE s.status END
$$;

CREATE OR REPLACE FUNCTION subscription_json(s subscriptions) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', s.id, 'org_id', s.org_id, 'plan_id', s.plan_id, 'status', subscription_status(s),
        'current_period_start', rfc3339(s.current_period_start), 'current_period_end', rfc3339(s.current_period_end),
        'cancelled_at', rfc3339(s.cancelled_at), 'created_at', rfc3339(s.created_at))
$$;

-- Grants what is due of a subscription by now: at its start, and on each monthly date inside its period, counted from
-- the start in UTC (of January 31st that is the last day of February, then March 31st). The amount is the entitlement
-- credits.monthly_grant, without what an earlier subscription of the organization granted for the same day (UTC), so
-- that cancelling and subscribing again grants a month once. An amount that would pass the bounds of a balance is cut.
-- The row of the account serialises the grants.
CREATE OR REPLACE FUNCTION subscription_grant(subscription uuid) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    s subscriptions;
    due timestamptz;
    month integer;
    monthly bigint;
    before bigint;  -- granted for the same day
    fitting bigint;
    granted integer := 0;
BEGIN
    SELECT * INTO STRICT s FROM subscriptions WHERE id = subscription;
    PERFORM credit_lock(ARRAY[s.org_id]);
    SELECT * INTO STRICT s FROM subscriptions WHERE id = subscription;
    IF s.status <> 'active' OR s.next_grant_at IS NULL THEN
        RETURN 0;
    END IF;
    monthly := coalesce(
        (SELECT o.value::bigint FROM entitlement_overrides o WHERE o.org_id = s.org_id
         AND o.key = 'credits.monthly_grant' AND o.value_type = 'integer'
         AND (o.expires_at IS NULL OR o.expires_at > clock_timestamp())),
        (SELECT e.value::bigint FROM plan_entitlements e WHERE e.plan_id = s.plan_id
         AND e.key = 'credits.monthly_grant' AND e.value_type = 'integer'), 0);
    month := s.months_granted;
    LOOP
        due := (s.current_period_start AT TIME ZONE 'UTC' + make_interval(months => month)) AT TIME ZONE 'UTC';
        IF due >= s.current_period_end THEN
            due := NULL;
        END IF;
        EXIT WHEN due IS NULL OR due > clock_timestamp();
        SELECT least(coalesce(sum(g.amount), 0), monthly) INTO before FROM subscription_grants g
        WHERE g.org_id = s.org_id AND g.due_at >= date_trunc('day', due, 'UTC')
              AND g.due_at < date_trunc('day', due, 'UTC') + interval '1 day';
        INSERT INTO subscription_grants (subscription_id, org_id, due_at, amount)
        VALUES (s.id, s.org_id, due, least(monthly - before, credit_room(s.org_id)))
        RETURNING amount INTO STRICT fitting;
        IF fitting > 0 THEN
            PERFORM credit_post(s.org_id, fitting, 'monthly_grant', 'subscription', s.id::text, NULL);
            granted := granted + 1;
        END IF;
        month := month + 1;
    END LOOP;
    UPDATE subscriptions SET months_granted = month, next_grant_at = due WHERE id = s.id;
    RETURN granted;
END
$$;

-- The daemon's job: what is due, and what has run out; at most at_most of each. Answers how many grants were made.
CREATE OR REPLACE FUNCTION subscription_maintenance(at_most integer, OUT granted integer, OUT more boolean,
                                                    OUT fault text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET lock_timeout = '100ms' AS $$
DECLARE
    moment timestamptz := clock_timestamp();
    ids uuid[] := ARRAY(
        SELECT s.id FROM subscriptions s JOIN credit_accounts a ON a.org_id = s.org_id
        WHERE s.status = 'active' AND s.next_grant_at <= moment
        ORDER BY s.next_grant_at LIMIT at_most
        FOR UPDATE OF a SKIP LOCKED FOR NO KEY UPDATE OF s SKIP LOCKED);
    wanted uuid;
    created integer;
    failed integer := 0;
BEGIN
    ids := ids || ARRAY(
        SELECT s.id FROM subscriptions s JOIN credit_accounts a ON a.org_id = s.org_id
        WHERE s.status = 'active' AND s.current_period_end <= moment AND s.next_grant_at IS NULL
        ORDER BY s.current_period_end LIMIT at_most - cardinality(ids)
        FOR UPDATE OF a SKIP LOCKED FOR NO KEY UPDATE OF s SKIP LOCKED);
    granted := 0;
    FOREACH wanted IN ARRAY ids LOOP
        BEGIN
            created := subscription_grant(wanted);
            UPDATE subscriptions SET status = 'expired' WHERE id = wanted AND current_period_end <= moment;
            granted := granted + created;
        EXCEPTION WHEN others THEN
            failed := failed + 1;
            fault := coalesce(fault, format('subscription %s: %s', wanted, SQLERRM));
            BEGIN
                UPDATE subscriptions SET next_grant_at = moment + interval '1 minute' WHERE id = wanted;
            EXCEPTION WHEN others THEN
                NULL;  -- the row can not be written at all, and keeps its place in the next page
            END;
        END;
    END LOOP;
    more := cardinality(ids) = at_most;
    IF failed > 1 THEN
        fault := format('%s subscriptions failed, the first: %s', failed, fault);
    END IF;
END
$$;

-- For POST /v1/subscriptions, which reports all at once.
CREATE OR REPLACE FUNCTION subscription_unknowns(org uuid, plan uuid,
                                                 OUT is_org_unknown boolean, OUT is_plan_unknown boolean,
                                                 OUT is_plan_retired boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM need_platform_admin();
    is_org_unknown := org IS NOT NULL AND NOT EXISTS (SELECT FROM credit_accounts a WHERE a.org_id = org);
    is_plan_unknown := plan IS NOT NULL AND NOT EXISTS (SELECT FROM plans p WHERE p.id = plan);
    is_plan_retired := plan IS NOT NULL AND EXISTS (SELECT FROM plans p WHERE p.id = plan AND p.is_retired);
END
$$;

CREATE OR REPLACE FUNCTION subscription_create(org uuid, plan uuid, period_start timestamptz, period_end timestamptz)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    created subscriptions;
    is_retired boolean;
BEGIN
    PERFORM need_platform_admin();
    PERFORM 1 FROM credit_accounts WHERE org_id = org FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM fail('validation.error', 'org_unknown');
    END IF;
    -- Locked: nobody subscribes after the plan is retired.
    SELECT p.is_retired INTO is_retired FROM plans p WHERE p.id = plan FOR SHARE;
    IF NOT FOUND THEN
        PERFORM fail('validation.error', 'plan_unknown');
    ELSIF is_retired THEN
        PERFORM fail('validation.error', 'plan_retired');
    END IF;
    -- The one before may have dates that no poll has seen.
    PERFORM subscription_grant(s.id) FROM subscriptions s
    WHERE s.org_id = org AND s.status = 'active' AND s.current_period_end <= clock_timestamp();
    UPDATE subscriptions SET status = 'expired'
    WHERE org_id = org AND status = 'active' AND current_period_end <= clock_timestamp();
    INSERT INTO subscriptions (org_id, plan_id, current_period_start, current_period_end, next_grant_at)
    VALUES (org, plan, period_start, period_end, period_start)
    ON CONFLICT (org_id) WHERE status = 'active' DO NOTHING RETURNING * INTO created;
    IF created.id IS NULL THEN
        PERFORM fail('subscriptions.active_exists', 'one_is_active');
    END IF;
    PERFORM subscription_grant(created.id);
    PERFORM audit('subscriptions.create', 'subscription', created.id::text, org, NULL,
                  subscription_json(created)::jsonb);
    RETURN subscription_json(created);
END
$$;

-- The subscription of the caller's organization, any for platform admins; or its 404.
CREATE OR REPLACE FUNCTION subscription_of_caller(wanted uuid) RETURNS subscriptions
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    s subscriptions;
BEGIN
    SELECT * INTO s FROM subscriptions WHERE id = wanted AND (org_id = current_org() OR is_platform_admin());
    IF s.id IS NULL THEN
        PERFORM fail_missing('subscriptions.not_found', 'subscriptions', wanted);
    END IF;
    RETURN s;
END
$$;

-- Two statements: one with OR would read everybody's subscriptions to find an organization's.
CREATE OR REPLACE FUNCTION subscription_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF is_platform_admin() THEN
        RETURN QUERY SELECT s.id, subscription_json(s) FROM subscriptions s
            WHERE before IS NULL OR s.id < before ORDER BY s.id DESC LIMIT page_limit;
    ELSE
        RETURN QUERY SELECT s.id, subscription_json(s) FROM subscriptions s
            WHERE s.org_id = current_org() AND (before IS NULL OR s.id < before) ORDER BY s.id DESC LIMIT page_limit;
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION subscription_cancel(wanted uuid) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state subscriptions := subscription_of_caller(wanted);
    new_state subscriptions;
BEGIN
    PERFORM need_platform_admin();
    PERFORM subscription_grant(wanted);
    UPDATE subscriptions SET status = 'cancelled', cancelled_at = clock_timestamp()
    WHERE id = wanted AND status = 'active' AND current_period_end > clock_timestamp() RETURNING * INTO new_state;
    IF new_state.id IS NULL THEN
        -- Read again, because somebody else may have cancelled it while this waited for the account.
        PERFORM fail('subscriptions.not_active', 'subscription_has_status', jsonb_build_object(
            'status', (SELECT subscription_status(s) FROM subscriptions s WHERE s.id = wanted)));
    END IF;
    PERFORM audit('subscriptions.cancel', 'subscription', old_state.id::text, old_state.org_id,
                  subscription_json(old_state)::jsonb,
                  subscription_json(new_state)::jsonb);
    RETURN subscription_json(new_state);
END
$$;
REVOKE EXECUTE ON FUNCTION subscription_grant FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION subscription_maintenance FROM hostler_api;
REVOKE EXECUTE ON FUNCTION subscription_json, subscription_unknowns, subscription_create, subscription_of_caller,
    subscription_page, subscription_cancel
    FROM hostler_runner;
