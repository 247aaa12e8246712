-- Users as platform administrators see and change them. Behind access.authenticate with platform_admin.

-- name: admin_user_page
-- $1 q text or null, $2 status text or null, $3 limit integer, $4 before uuid or null
SELECT id, item FROM admin_user_page($1, $2, $3::integer + 1, $4) ORDER BY id DESC;

-- name: admin_user_show
-- $1 user_id uuid
SELECT admin_user_show($1) AS item;

-- name: admin_user_guard
-- Raises when there is no such user.
-- $1 user_id uuid
SELECT (admin_user($1)).id;

-- name: admin_user_update
-- $1 user_id uuid, $2 changes jsonb (only the members that change)
SELECT admin_user_update($1, $2) AS item;

-- name: admin_user_delete
-- $1 user_id uuid, $2 privacy_org_delete_days integer
SELECT admin_user_delete($1, $2);
