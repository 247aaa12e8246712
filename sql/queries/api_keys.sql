-- API keys of the caller.

-- name: api_key_create
-- $1 wanted jsonb, $2 key_hash bytea, $3 limit_api_keys bigint
SELECT api_key_create($1, $2, $3) AS item;

-- name: api_key_page
-- $1 limit integer, $2 before uuid or null
SELECT page.body, page.next
FROM (SELECT array_agg(id ORDER BY id DESC) AS ids, array_agg(item ORDER BY id DESC) AS items
      FROM api_key_page($1::integer + 1, $2)) AS found, page_of(found.ids, found.items, $1) AS page;

-- name: api_key_revoke
-- $1 key_id uuid
SELECT api_key_revoke($1);
