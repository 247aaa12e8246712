-- Invitation codes and referrals, for platform administrators. Behind access.authenticate with platform_admin.

-- name: admin_invite_code_page
-- $1 q text or null, $2 limit integer, $3 before uuid or null
SELECT id, item FROM admin_invite_code_page($1, $2::integer + 1, $3) ORDER BY id DESC;

-- name: admin_invite_code_show
-- Raises when there is no such code.
-- $1 invite_code_id uuid
SELECT admin_invite_code_show($1) AS item;

-- name: admin_invite_code_update
-- $1 invite_code_id uuid, $2 changes jsonb (max_uses, is_active or both)
SELECT admin_invite_code_update($1, $2) AS item;

-- name: referral_page
-- $1 inviter_user_id uuid or null, $2 limit integer, $3 before uuid or null
SELECT id, item FROM referral_page($1, $2::integer + 1, $3) ORDER BY id DESC;

-- name: referral_tree
-- $1 user_id uuid, $2 nodes_max integer
SELECT referral_tree($1, $2) AS item;
