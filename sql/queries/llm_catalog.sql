-- Model providers and models, at the request's scope; and what a caller may choose from.

-- name: llm_provider_page
-- A page of the scope's providers with their models.
-- $1 limit integer, $2 before uuid or null
SELECT id, item FROM llm_provider_page($1::integer + 1, $2) ORDER BY id DESC;

-- name: llm_provider_create
-- $1 wanted jsonb, $2 secret jsonb or null
SELECT llm_provider_create($1, $2) AS item;

-- name: llm_provider_update
-- $1 provider_id uuid, $2 changes jsonb, $3 secret jsonb or null
SELECT llm_provider_update($1, $2, $3) AS item;

-- name: llm_provider_delete
-- Soft, with its models.
-- $1 provider_id uuid
SELECT llm_provider_delete($1);

-- name: llm_provider_guard
-- Raises what keeps the caller from the provider.
-- $1 provider_id uuid
SELECT (llm_provider_of_scope($1, false)).id;

-- name: llm_model_page
-- A page of a provider's models.
-- $1 provider_id uuid, $2 limit integer, $3 before uuid or null
SELECT id, item FROM llm_model_page($1, $2::integer + 1, $3) ORDER BY id DESC;

-- name: llm_model_create
-- $1 provider_id uuid, $2 wanted jsonb, $3 limit_llm_models bigint
SELECT llm_model_create($1, $2, $3) AS item;

-- name: llm_model_update
-- $1 provider_id uuid, $2 model_id uuid, $3 changes jsonb
SELECT llm_model_update($1, $2, $3) AS item;

-- name: llm_model_delete
-- Soft.
-- $1 provider_id uuid, $2 model_id uuid
SELECT llm_model_delete($1, $2);

-- name: llm_model_guard
-- Raises what keeps the caller from the model.
-- $1 provider_id uuid, $2 model_id uuid
SELECT (llm_model_of_scope($1, $2, false)).id;

-- name: model_choice_page
-- A page of what a run may name as its route.
-- $1 limit integer, $2 before uuid or null
SELECT id, item FROM model_choice_page($1::integer + 1, $2) ORDER BY id DESC;
