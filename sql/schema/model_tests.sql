-- Tests of models. The API writes what it wants tested and waits, a daemon claims the row and makes the calls as a run
-- would, and the waiting request answers what the daemon stored. A row serves that one request: nothing else reads it.
-- When no daemon claims it in time, or its daemon dies, the request says so, and the row is removed later.

CREATE TABLE model_tests (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid REFERENCES orgs,
    model_id uuid NOT NULL,  -- llm_models keeps its rows
    created_by uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    claim_until timestamptz NOT NULL,  -- then the request that asked has given up
    claimed_at timestamptz,
    result json  -- {ok, checks: [{name, ok, code, message, duration_ms}]}
);
CREATE INDEX model_tests_due ON model_tests (claim_until) WHERE claimed_at IS NULL;
CREATE INDEX model_tests_time ON model_tests (created_at);
SELECT make_scoped_table('model_tests');
GRANT SELECT ON model_tests TO hostler_api;

-- POST …:test. Answers the test's id. 10 a minute for a scope: each is three calls of a provider or more.
CREATE OR REPLACE FUNCTION llm_model_test(provider uuid, model uuid, claim_seconds integer) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    m llm_models := llm_model_of_scope(provider, model, false);
    test uuid;
BEGIN
    PERFORM attempt_or_fail('llm_models.test', coalesce(m.org_id::text, 'platform'), 10, interval '1 minute',
                            'rate_limit.exceeded');
    INSERT INTO model_tests (org_id, model_id, created_by, claim_until)
    VALUES (m.org_id, m.id, current_user_id(), clock_timestamp() + make_interval(secs => claim_seconds))
    RETURNING id INTO STRICT test;
    PERFORM audit('llm_models.test', 'llm_model', m.id::text, m.org_id);
    RETURN test;
END
$$;

-- Takes the oldest test that waits, but none of the organizations and users that others go before (lib/loop/shares.h);
-- the platform is the organization of zeros. No row: none waits.
CREATE OR REPLACE FUNCTION model_test_claim(full_orgs uuid[])
RETURNS TABLE (test_id uuid, org_id uuid, is_org_scope boolean, model text, provider_kind text, base_url text,
               secret_id uuid, secret_org_id uuid, secret_kind text, key_version integer, wrapped_key bytea,
               sealed bytea, created_by uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    t model_tests;
BEGIN
    UPDATE model_tests q SET claimed_at = clock_timestamp()
    WHERE q.id = (SELECT d.id FROM model_tests d
                  WHERE d.claimed_at IS NULL AND d.claim_until > clock_timestamp()
                        AND coalesce(d.org_id, '00000000-0000-0000-0000-000000000000') <> ALL (full_orgs)
                        AND d.created_by <> ALL (full_orgs)
                  ORDER BY d.claim_until LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING q.* INTO t;
    IF t.id IS NOT NULL THEN
        RETURN QUERY
        SELECT t.id, t.org_id, t.org_id IS NOT NULL, m.model, l.provider_kind, l.base_url, s.id, s.org_id, s.kind,
            s.key_version, s.wrapped_key, s.sealed, t.created_by
        FROM llm_models m JOIN llm_providers l ON l.id = m.provider_id LEFT JOIN secrets s ON s.id = l.secret_id
        WHERE m.id = t.model_id;
    END IF;
END
$$;

-- A test is over. Stored once; of one whose row is gone nothing is.
CREATE OR REPLACE FUNCTION model_test_store(test uuid, result json) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE model_tests t SET result = model_test_store.result WHERE t.id = test AND t.result IS NULL;
    RETURN FOUND;
END
$$;

-- Maintenance: tests that nobody waits for any more, at most so many; answers how many.
CREATE OR REPLACE FUNCTION model_tests_prune(at_most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    WITH gone AS (
        DELETE FROM model_tests t WHERE t.id IN (
            SELECT q.id FROM model_tests q WHERE q.created_at < statement_timestamp() - interval '10 minutes'
            ORDER BY q.created_at LIMIT at_most FOR UPDATE SKIP LOCKED)
        RETURNING t.id)
    SELECT count(*) FROM gone
$$;
REVOKE EXECUTE ON FUNCTION llm_model_test FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION model_test_claim, model_test_store, model_tests_prune FROM hostler_api;
