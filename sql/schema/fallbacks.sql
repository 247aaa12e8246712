-- Which routes a persona may name, and the routes that stand in for one that fails: chains of personas, and the circuit
-- breaker of each model.
--
-- A chain is the route of a run and, after it, the fallback_routes of its persona. A daemon tries them in this order
-- (runner/agent/route_chain.h), and writes the one that it falls back to into the run's row. The breaker of a model is
-- open while runs that have another route leave it out. After 30 s one run tries it (half_open): its success closes
-- the breaker, its failure opens it again.

-- The operator of a model reads the prompts that it gets. Those of the built-in personas are published; those of the
-- platform's others are for the platform's models only.
CREATE OR REPLACE FUNCTION persona_route_check(model_org uuid, persona_org uuid, built_in boolean) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = public, pg_catalog AS $$
BEGIN
    IF model_org IS NOT NULL AND persona_org IS NULL AND NOT built_in THEN
        PERFORM fail('runs.persona_route', 'route_of_org');
    END IF;
END
$$;

-- Raises for routes that a persona may not fall back to: unknown ones, and its own model. scope_id: the persona's
-- organization, null for the platform's. is_given: the routes changed, else the model alone.
CREATE OR REPLACE FUNCTION fallback_routes_check(scope_id uuid, persona_model text, routes jsonb, is_given boolean)
RETURNS void
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    named uuid;
    nth bigint;
BEGIN
    IF jsonb_array_length(routes) = 0 THEN
        RETURN;
    END IF;
    IF is_given THEN
        SELECT w.nth - 1 INTO nth FROM jsonb_array_elements_text(routes) WITH ORDINALITY AS w (route, nth)
        WHERE NOT EXISTS (
            SELECT FROM llm_models m JOIN llm_providers p ON p.id = m.provider_id
            WHERE m.id = w.route::uuid AND m.deleted_at IS NULL AND p.deleted_at IS NULL
                  AND (m.org_id IS NULL OR m.org_id = scope_id))
        ORDER BY w.nth LIMIT 1;
        IF FOUND THEN
            PERFORM fail('validation.error', 'fallback_route_unknown', jsonb_build_object('nth', nth));
        END IF;
    END IF;
    -- The route that route_resolve() would find.
    SELECT m.id INTO named FROM llm_models m JOIN llm_providers p ON p.id = m.provider_id
    WHERE persona_model IN (m.model, m.id::text) AND m.deleted_at IS NULL AND p.deleted_at IS NULL
          AND (m.org_id IS NULL OR m.org_id = scope_id)
    ORDER BY m.org_id IS NULL, m.id LIMIT 1;
    IF FOUND AND routes ? named::text THEN
        PERFORM fail('validation.error', 'fallback_route_itself');
    END IF;
END
$$;

-- How attempts at models of the platform ended, of the last minute: only of models of which some failed. Organizations
-- are only counted, so their hashes do.
CREATE TABLE model_attempts (
    model_id uuid NOT NULL,
    began_at timestamptz NOT NULL,  -- of the five seconds in which they ended
    org_hash bigint NOT NULL,
    attempts integer NOT NULL,
    failures integer NOT NULL,
    PRIMARY KEY (model_id, began_at, org_hash)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);

-- Counts attempts at a model of the platform. failures: those of the last minute; is_down: so many failed, of so many
-- organizations, that the model is left out. The model is locked by the caller.
CREATE OR REPLACE FUNCTION model_attempts_count(model uuid, org_ids uuid[], ages_ms bigint[], attempts bigint[],
    failed bigint[], OUT failures integer, OUT is_down boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    moment CONSTANT timestamptz := clock_timestamp();
    attempts_min CONSTANT integer := 20;
    orgs_min CONSTANT integer := 3;
BEGIN
    DELETE FROM model_attempts a WHERE a.model_id = model AND a.began_at < moment - interval '65 seconds';
    INSERT INTO model_attempts AS a (model_id, began_at, org_hash, attempts, failures)
    SELECT model, date_bin('5 seconds', moment - w.age_ms * interval '1 millisecond', 'epoch'),
        hashtextextended(w.org_id::text, 0), sum(w.attempts), sum(w.failed)
    FROM unnest(org_ids, ages_ms, model_attempts_count.attempts, failed) AS w (org_id, age_ms, attempts, failed)
    GROUP BY 2, 3
    ON CONFLICT (model_id, began_at, org_hash) DO UPDATE SET attempts = a.attempts + excluded.attempts,
        failures = a.failures + excluded.failures;
    SELECT coalesce(sum(a.failures), 0), coalesce(sum(a.attempts) >= attempts_min
           AND 2 * sum(a.failures) >= sum(a.attempts)
           AND count(DISTINCT a.org_hash) FILTER (WHERE a.failures > 0) >= orgs_min, false)
    INTO failures, is_down
    FROM model_attempts a WHERE a.model_id = model AND a.began_at > moment - interval '1 minute';
END
$$;

-- For daemons: how attempts at models ended, an element of each array some attempts of an organization, oldest first.
-- Only connection faults, 5xx, 529 and silence are failures; what the model refused is not among the attempts.
-- newest_failed: how many failed since the last success among them.
CREATE OR REPLACE FUNCTION model_attempts_report(model_ids uuid[], org_ids uuid[], ages_ms bigint[], attempts bigint[],
    failed bigint[], newest_failed bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    moment CONSTANT timestamptz := clock_timestamp();
    left_out_for CONSTANT interval := '30 seconds';
    in_a_row_max CONSTANT integer := 5;
    reported record;
    m llm_models;
    is_down boolean;
    i integer;
BEGIN
    FOR m IN SELECT l.* FROM llm_models l WHERE l.id = ANY (model_ids) ORDER BY l.id FOR NO KEY UPDATE LOOP
        SELECT array_agg(w.org_id ORDER BY w.nth) AS org_ids, array_agg(w.age_ms ORDER BY w.nth) AS ages_ms,
            array_agg(w.attempts ORDER BY w.nth) AS attempts, array_agg(w.failed ORDER BY w.nth) AS failed,
            array_agg(w.newest ORDER BY w.nth) AS newest, sum(w.failed) > 0 AS any_failed,
            sum(w.attempts) > sum(w.failed) AS any_succeeded
        INTO reported
        FROM unnest(model_ids, org_ids, ages_ms, attempts, failed, newest_failed) WITH ORDINALITY
            AS w (model_id, org_id, age_ms, attempts, failed, newest, nth)
        WHERE w.model_id = m.id;
        IF m.org_id IS NULL THEN
            SELECT c.failures, c.is_down INTO m.breaker_failures, is_down
            FROM model_attempts_count(m.id, reported.org_ids, reported.ages_ms, reported.attempts,
                                      reported.failed) AS c;
        ELSE
            FOR i IN 1 .. cardinality(reported.attempts) LOOP
                m.breaker_failures := CASE WHEN reported.failed[i] < reported.attempts[i] THEN 0
                                           ELSE m.breaker_failures END + reported.newest[i];
            END LOOP;
            is_down := m.breaker_failures >= in_a_row_max;
        END IF;
        IF reported.any_failed THEN
            m.breaker_failed_at := moment;
            IF m.breaker_state = 'half_open' OR (m.breaker_state = 'closed' AND is_down) THEN
                m.breaker_state := 'open';
                m.breaker_since := moment;
                m.breaker_retry_at := moment + left_out_for;
            END IF;
        ELSIF reported.any_succeeded AND m.breaker_state = 'half_open' THEN
            m.breaker_state := 'closed';
            m.breaker_since := moment;
            m.breaker_failures := 0;
            m.breaker_failed_at := NULL;
            DELETE FROM model_attempts a WHERE a.model_id = m.id;
        END IF;
        UPDATE llm_models l SET breaker_state = m.breaker_state, breaker_since = m.breaker_since,
            breaker_retry_at = m.breaker_retry_at, breaker_failures = m.breaker_failures,
            breaker_failed_at = m.breaker_failed_at
        WHERE l.id = m.id;
    END LOOP;
END
$$;

-- For daemons: whether this run may try a model that is left out. True for one run, and for another one when no daemon
-- heard of the first for a minute.
CREATE OR REPLACE FUNCTION model_probe_begin(model uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE llm_models SET breaker_state = 'half_open', breaker_retry_at = clock_timestamp() + interval '1 minute',
        breaker_since = CASE breaker_state WHEN 'open' THEN clock_timestamp() ELSE breaker_since END
    WHERE id = model_probe_begin.model AND breaker_state <> 'closed' AND breaker_retry_at <= clock_timestamp();
    RETURN FOUND;
END
$$;
REVOKE EXECUTE ON FUNCTION fallback_routes_check FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION model_attempts_count FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION model_attempts_report, model_probe_begin FROM hostler_api;
