-- The calling user: profile, role and permissions.

-- name: me_show
-- The profile, with role and permissions in the current organization.
SELECT me_json() AS item;

-- name: me_update
-- $1 changes jsonb: only the members that change
SELECT me_update($1) AS item;
