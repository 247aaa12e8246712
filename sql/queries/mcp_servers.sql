-- MCP servers of the platform and of organizations, and their tools. The scope is part of the request's context.

-- name: mcp_server_page
-- $1 limit integer, $2 before uuid or null
SELECT id, item FROM mcp_server_page($1::integer + 1, $2) ORDER BY id DESC;

-- name: mcp_server_create
-- $1 wanted jsonb, $2 secret jsonb or null, $3 limit_mcp_servers bigint
SELECT mcp_server_create($1, $2, $3) AS item;

-- name: mcp_server_show
-- $1 server_id uuid
SELECT mcp_server_json(mcp_server_of_reader($1)) AS item;

-- name: mcp_server_update
-- $1 server_id uuid, $2 changes jsonb, $3 secret jsonb or null
SELECT mcp_server_update($1, $2, $3) AS item;

-- name: mcp_server_delete
-- Soft.
-- $1 server_id uuid
SELECT mcp_server_delete($1);

-- name: mcp_server_refresh
-- Its tools are listed again, soon.
-- $1 server_id uuid
SELECT mcp_server_refresh($1) AS item;

-- name: mcp_tool_page
-- $1 server_id uuid, $2 limit integer, $3 before uuid or null
SELECT id, item FROM mcp_tool_page($1, $2::integer + 1, $3) ORDER BY id DESC;

-- name: mcp_tool_approve
-- What the server says of it now may be offered.
-- $1 server_id uuid, $2 tool_name text, $3 hash text or null
SELECT mcp_tool_approve($1, $2, $3) AS item;

-- name: mcp_server_guard
-- Raises what keeps the caller from changing the server.
-- $1 server_id uuid
SELECT (mcp_server_of_scope($1, false)).id;

-- name: mcp_server_reader_guard
-- Raises what keeps the caller from seeing the server.
-- $1 server_id uuid
SELECT (mcp_server_of_reader($1)).id;
