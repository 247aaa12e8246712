-- API keys of the caller.

-- name: api_key_create
-- $1 wanted jsonb, $2 key_hash bytea, $3 limit_api_keys bigint
SELECT api_key_create($1, $2, $3) AS item;

-- name: api_key_page
-- $1 limit integer, $2 before uuid or null
SELECT id, item FROM api_key_page($1::integer + 1, $2) ORDER BY id DESC;

-- name: api_key_revoke
-- $1 key_id uuid
SELECT api_key_revoke($1);
