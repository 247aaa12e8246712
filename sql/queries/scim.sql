-- SCIM: tokens of organizations, and what an identity service does by them.

-- name: scim_authenticate
-- Identifies the token's organization and makes it the transaction's; raises when the request may not pass. Answers
-- what lib/account/caller.h reads.
-- $1 token_hash bytea, $2 context jsonb
SELECT scim_authenticate($1, $2) AS caller;

-- name: scim_token_create
-- $1 token_hash bytea, $2 token_prefix text, $3 expires_at timestamptz or null
SELECT scim_token_create($1, $2, $3) AS item;

-- name: scim_token_list
-- The tokens of the organization acted in.
SELECT scim_token_list() AS item;

-- name: scim_token_delete
-- $1 scim_token_id uuid
SELECT scim_token_delete($1);

-- name: scim_user_guard
-- The 404 of the path's user.
-- $1 scim_id uuid
SELECT scim_user_check($1);

-- name: scim_user_page
-- A list of users. A filter that nobody can meet (is_void) answers none.
-- $1 conditions jsonb, $2 start_index bigint, $3 limit bigint, $4 is_void boolean, $5 site text
SELECT CASE WHEN $4 THEN scim_list_void($2) ELSE scim_user_page($1, $2, $3, $5) END AS item;

-- name: scim_user_show
-- $1 scim_id uuid, $2 site text
SELECT scim_user_show($1, $2) AS item;

-- name: scim_user_create
-- $1 wanted jsonb, $2 facts jsonb, $3 mail jsonb, $4 settings jsonb (values by names of settings), $5 site text
SELECT item, item #>> '{meta,location}' AS location FROM scim_user_create($1, $2, $3, $4, $5) AS item;

-- name: scim_user_open
-- The user as a document, held until the end of the transaction.
-- $1 scim_id uuid
SELECT scim_user_open($1) AS document;

-- name: scim_user_put
-- $1 scim_id uuid, $2 wanted jsonb, $3 facts jsonb, $4 mail jsonb, $5 settings jsonb (values by names of settings),
-- $6 site text
SELECT scim_user_put($1, $2, $3, $4, $5, $6) AS item;

-- name: scim_user_delete
-- $1 scim_id uuid
SELECT scim_user_delete($1);

-- name: scim_group_guard
-- The 404 of the path's group.
-- $1 scim_id uuid
SELECT scim_group_check($1);

-- name: scim_group_page
-- A list of groups. A filter that no group can meet (is_void) answers none.
-- $1 conditions jsonb, $2 start_index bigint, $3 limit bigint, $4 is_void boolean, $5 site text, $6 with_members boolean
SELECT CASE WHEN $4 THEN scim_list_void($2) ELSE scim_group_page($1, $2, $3, $5, $6) END AS item;

-- name: scim_group_show
-- $1 scim_id uuid, $2 site text, $3 with_members boolean
SELECT scim_group_show($1, $2, $3) AS item;

-- name: scim_group_write
-- A new group (scim_id null), or steps of a change.
-- $1 scim_id uuid or null, $2 steps jsonb, $3 site text, $4 with_members boolean
SELECT item, item #>> '{meta,location}' AS location FROM scim_group_write($1, $2, $3, $4) AS item;

-- name: scim_group_delete
-- $1 scim_id uuid
SELECT scim_group_delete($1);
