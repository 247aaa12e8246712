-- Statements of the daemon about fall-back chains and the circuit breakers of models. As hostler_runner.

-- name: run_routes
-- The routes of a run's chain, in their order, as far as they still exist. is_left_out: the breaker is open, or
-- another run tries the model. may_try: the model has been left out for long enough.
-- $1 run_id uuid
SELECT m.id AS route_id, m.model, m.context_tokens, m.max_output_tokens, 'image' = ANY (m.input_types) AS takes_images,
    model_input_price(m) AS input_price,
    model_output_price(m) AS output_price, model_learned(m) AS learned, m.org_id IS NOT NULL AS is_org_scope,
    l.provider_kind, l.base_url, s.id AS secret_id, s.org_id AS secret_org_id, s.kind AS secret_kind, s.key_version,
    s.wrapped_key, s.sealed, m.breaker_state <> 'closed' AS is_left_out,
    coalesce(m.breaker_retry_at <= clock_timestamp(), false) AS may_try
FROM runs r
CROSS JOIN LATERAL unnest(r.routes) WITH ORDINALITY AS chained (model_id, nth)
JOIN llm_models m ON m.id = chained.model_id AND (m.org_id IS NULL OR m.org_id = r.org_id)
JOIN llm_providers l ON l.id = m.provider_id
LEFT JOIN secrets s ON s.id = l.secret_id
WHERE r.id = $1 AND ((m.deleted_at IS NULL AND l.deleted_at IS NULL) OR m.id = r.model_id)
ORDER BY chained.nth;

-- name: run_fall_back
-- Another route stands in for the run's: what it costs from now on is that route's.
-- $1 daemon_id uuid, $2 run_id uuid, $3 epoch bigint, $4 route_id uuid
UPDATE runs r SET model_id = m.id, model = m.model, provider_kind = l.provider_kind, credential_name = l.name
FROM llm_models m JOIN llm_providers l ON l.id = m.provider_id
WHERE r.id = $2 AND r.owner_id = $1 AND r.epoch = $3 AND m.id = $4;

-- name: model_attempts_report
-- How attempts at models ended. Need not be durable.
-- $1 model_ids uuid[], $2 org_ids uuid[], $3 ages_ms bigint[], $4 attempts bigint[], $5 failed bigint[],
-- $6 newest_failed bigint[] (since the last success among them)
SELECT model_attempts_report($1, $2, $3, $4, $5, $6)::text AS reported
FROM (SELECT set_config('synchronous_commit', 'off', true)) AS asynchronous;

-- name: model_probe_begin
-- Whether this run may try a model that is left out.
-- $1 model_id uuid
SELECT model_probe_begin($1) AS may_try;

-- name: models_suspected
-- Those of the models of which some attempts failed lately, so that successes count too.
-- $1 model_ids uuid[]
SELECT m.id FROM llm_models m
WHERE m.id = ANY ($1) AND (m.breaker_state <> 'closed' OR CASE WHEN m.org_id IS NULL
    THEN m.breaker_failed_at > clock_timestamp() - interval '1 minute' ELSE m.breaker_failures > 0 END);
