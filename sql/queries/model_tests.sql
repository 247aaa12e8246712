-- Tests of models: the request that asks for one and waits, the daemon that makes the calls.

-- name: llm_model_test
-- $1 provider_id uuid, $2 model_id uuid, $3 claim_seconds integer
SELECT llm_model_test($1, $2, $3) AS test_id;

-- name: model_test_notify
-- Tells the daemons that a test waits; one that is lost is made good by their polls.
SELECT set_config('synchronous_commit', 'off', true), pg_notify('hostler_model_tests', '');

-- name: llm_model_test_result
-- What is known of a test that the caller asked for; no row: it is gone.
-- $1 test_id uuid
SELECT claimed_at IS NOT NULL AS is_claimed, result FROM model_tests
WHERE id = $1 AND (org_id = current_org() OR org_id IS NULL);

-- name: model_test_claim
-- The test that waits longest. As hostler_runner.
-- $1 full_orgs uuid[] (and users, as all claims for lib/loop/shares.h)
SELECT test_id, org_id, is_org_scope, model, provider_kind, base_url, secret_id, secret_org_id, secret_kind,
    key_version, wrapped_key, sealed, created_by
FROM model_test_claim($1);

-- name: model_test_store
-- As hostler_runner.
-- $1 test_id uuid, $2 result json
SELECT model_test_store($1, $2) AS is_stored;

-- name: model_learn
-- Keeps what a run learned of a model.
-- $1 model_id uuid, $2 learned json
SELECT model_learn($1, $2);
