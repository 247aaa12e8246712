-- Usage by month, day, model and end user: of the organization the request acts in, and of the platform.

-- name: usage_summary
-- $1 year integer or null, $2 month integer or null
SELECT usage_summary(current_org(), $1, $2) AS item;

-- name: usage_daily
-- $1 start date or null, $2 end date or null
SELECT usage_daily(current_org(), $1, $2) AS item;

-- name: usage_by_model
-- $1 year integer or null, $2 month integer or null
SELECT usage_by_model(current_org(), $1, $2) AS item;

-- name: usage_by_end_user
-- after_cost and after_end_user: of the last row of the page before.
-- $1 year integer or null, $2 month integer or null, $3 limit integer, $4 after_cost bigint or null,
-- $5 after_end_user text or null
SELECT body, next FROM usage_by_end_user($1, $2, $3, $4, $5);

-- name: platform_usage_summary
-- $1 year integer or null, $2 month integer or null
SELECT usage_summary(NULL, $1, $2) AS item;

-- name: platform_usage_daily
-- $1 start date or null, $2 end date or null
SELECT usage_daily(NULL, $1, $2) AS item;

-- name: platform_usage_by_model
-- $1 year integer or null, $2 month integer or null
SELECT usage_by_model(NULL, $1, $2) AS item;
