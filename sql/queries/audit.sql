-- The audit log, for who may read it.

-- name: audit_page
-- $1 wanted_org uuid, $2 action text, $3 actor uuid, $4 target_type text, $5 since timestamptz, $6 until timestamptz
-- (each may be null), $7 limit integer, $8 before uuid or null
SELECT body, next FROM audit_page($1, $2, $3, $4, $5, $6, $7, $8);
