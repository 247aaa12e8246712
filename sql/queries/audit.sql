-- The audit log, for who may read it.

-- name: audit_page
-- $1 org_id uuid or null, $2 action text or null, $3 actor_user_id uuid or null, $4 target_type text or null,
-- $5 target_id text or null, $6 since timestamptz or null, $7 until timestamptz or null, $8 limit integer,
-- $9 before uuid or null
SELECT body, next FROM audit_page($1, $2, $3, $4, $5, $6, $7, $8, $9);
