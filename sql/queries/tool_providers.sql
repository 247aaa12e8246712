-- Tool providers at both scopes; the scope is part of the request's context.

-- name: tool_provider_list
-- Every group and provider of the scope.
SELECT tool_provider_list() AS item;

-- name: tool_provider_resolved
-- Who serves each group for the organization, and why.
-- $1 legacy jsonb
SELECT tool_providers_resolved($1) AS item;

-- name: tool_provider_check
-- The guard of the paths: raises for names that do not exist.
-- $1 group text, $2 provider text
SELECT tool_provider_check($1, $2);

-- name: tool_provider_switch
-- $1 group text, $2 provider text, $3 active boolean
SELECT tool_provider_switch($1, $2, $3);

-- name: tool_provider_credential_set
-- $1 group text, $2 provider text, $3 base_url text or null, $4 key_prefix text or null, $5 secret jsonb or null
SELECT tool_provider_credential_set($1, $2, $3, $4, $5);

-- name: tool_provider_credential_delete
-- $1 group text, $2 provider text
SELECT tool_provider_credential_delete($1, $2);

-- name: tool_provider_resolve
-- For the runner: who serves a group for an organization.
-- $1 org_id uuid, $2 group text
SELECT provider_name, base_url, is_org_scope, is_configured, secret_id, secret_org_id, key_version, wrapped_key, sealed
FROM tool_provider_resolve($1, $2);
