-- Webhook tools of the platform and of organizations. The scope is part of the request's context.

-- name: tool_page
-- $1 limit integer, $2 before uuid or null
SELECT id, item FROM tool_page($1::integer + 1, $2) ORDER BY id DESC;

-- name: tool_create
-- $1 wanted jsonb, $2 secret jsonb, $3 limit_tools bigint
SELECT tool_create($1, $2, $3) AS item;

-- name: tool_update
-- $1 tool_id uuid, $2 changes jsonb
SELECT tool_update($1, $2) AS item;

-- name: tool_delete
-- Soft.
-- $1 tool_id uuid
SELECT tool_delete($1);

-- name: tool_rotate
-- $1 tool_id uuid, $2 secret jsonb
SELECT tool_rotate($1, $2);

-- name: tool_guard
-- Raises what keeps the caller from the tool.
-- $1 tool_id uuid
SELECT (tool_of_scope($1, false)).id;
