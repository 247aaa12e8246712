-- Organizations, members, invitations. Those of a path act in the organization that it names.

-- name: org_create
-- $1 slug text, $2 name text, $3 credit_workspace_grant bigint, $4 limit_workspaces_per_user bigint
SELECT org_create($1, $2, $3, $4) AS item;

-- name: org_page
-- $1 limit integer, $2 before uuid or null
SELECT id, item FROM org_page($1::integer + 1, $2) ORDER BY id DESC;

-- name: org_show
-- The organization acted in.
SELECT org_show() AS item;

-- name: org_update
-- $1 changes jsonb (only the members that change)
SELECT org_update($1) AS item;

-- name: org_delete
-- Stops the organization acted in, to be erased later.
-- $1 slug text (as repeated by the caller), $2 privacy_org_delete_days integer
SELECT org_delete($1, $2) AS item;

-- name: org_restore
-- $1 org_id uuid (need not be acted in)
SELECT org_restore($1) AS item;

-- name: end_user_delete
-- $1 end_user text
SELECT end_user_delete($1) AS item;

-- name: member_page
-- $1 limit integer, $2 before uuid or null
SELECT id, item FROM member_page($1::integer + 1, $2) ORDER BY id DESC;

-- name: member_guard
-- The 404 or 403 of the path's member.
-- $1 org_id uuid (acted in already), $2 user_id uuid
SELECT member_check($2) FROM (SELECT $1::uuid) AS path (org_id);

-- name: member_update
-- $1 user_id uuid, $2 role text
SELECT member_update($1, $2) AS item;

-- name: member_remove
-- $1 user_id uuid
SELECT member_remove($1);

-- name: invitation_create
-- $1 email text, $2 email_key text, $3 role text, $4 token_hash bytea, $5 mail jsonb, $6 registration text,
-- $7 invite_member_seconds integer, $8 limit_invitations_per_inviter_day integer,
-- $9 limit_invitations_per_recipient_day integer
SELECT invitation_create($1, $2, $3, $4, $5, $6, $7, $8, $9) AS item;

-- name: invitation_page
-- $1 limit integer, $2 before uuid or null
SELECT id, item FROM invitation_page($1::integer + 1, $2) ORDER BY id DESC;

-- name: invitation_revoke
-- $1 invitation_id uuid
SELECT invitation_revoke($1);

-- name: invitation_accept
-- $1 token_hash bytea
SELECT invitation_accept($1);
