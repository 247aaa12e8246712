-- Feature flags and their overrides.

-- name: feature_flag_create
-- $1 key text, $2 description text, $3 default_value boolean
SELECT feature_flag_create($1, $2, $3) AS item;

-- name: feature_flag_show
-- $1 key text
SELECT feature_flag_json(f) AS item FROM feature_flag_named($1, false) AS f;

-- name: feature_flag_guard
-- Raises when there is no such flag.
-- $1 key text
SELECT (feature_flag_named($1, false)).id;

-- name: feature_flag_update
-- $1 key text, $2 default_value boolean
SELECT feature_flag_update($1, $2) AS item;

-- name: feature_flag_delete
-- With its overrides.
-- $1 key text
SELECT feature_flag_delete($1);

-- name: feature_flag_page
-- $1 limit integer, $2 before uuid or null
SELECT id, item FROM feature_flag_page($1::integer + 1, $2) ORDER BY id DESC;

-- name: flag_override_set
-- $1 key text, $2 org_id uuid, $3 enabled boolean
SELECT item, is_new FROM flag_override_set($1, $2, $3);

-- name: flag_override_delete
-- $1 key text, $2 org_id uuid
SELECT flag_override_delete($1, $2);

-- name: flag_override_page
-- $1 key text, $2 limit integer, $3 before uuid or null
SELECT id, item FROM flag_override_page($1, $2::integer + 1, $3) ORDER BY id DESC;

-- name: feature_flag_evaluate
-- What holds for an organization, and why.
-- $1 key text, $2 org_id uuid
SELECT feature_flag_evaluate($1, $2) AS item;

-- name: feature_flags_mine
-- What holds for the caller's organization.
SELECT coalesce(json_agg(json_build_object('key', f.key, 'value', coalesce(o.enabled, f.default_value),
    'reason', CASE WHEN o.id IS NULL THEN 'default' ELSE 'override' END) ORDER BY f.key), '[]') AS item
FROM feature_flags f LEFT JOIN feature_flag_overrides o ON o.flag_id = f.id AND o.org_id = current_org();
