-- Plans, subscriptions, entitlements.

-- name: plan_create
-- $1 wanted jsonb
SELECT plan_create($1) AS item;

-- name: plan_show
-- $1 plan_id uuid
SELECT plan_show($1) AS item;

-- name: plan_update
-- $1 plan_id uuid, $2 is_retired boolean
SELECT plan_update($1, $2) AS item;

-- name: plan_guard
-- Raises the 404.
-- $1 plan_id uuid
SELECT plan_show($1) IS NOT NULL;

-- name: plan_page
-- $1 limit integer, $2 before uuid or null
SELECT id, plan_json(plans) AS item FROM plans WHERE $2::uuid IS NULL OR id < $2
ORDER BY id DESC LIMIT $1::integer + 1;

-- name: subscription_unknowns
-- Whether there is no such organization, no such plan, or a retired one. All are false for null.
-- $1 org_id uuid or null, $2 plan_id uuid or null
SELECT is_org_unknown, is_plan_unknown, is_plan_retired FROM subscription_unknowns($1, $2);

-- name: subscription_create
-- $1 org_id uuid, $2 plan_id uuid, $3 period_start timestamptz, $4 period_end timestamptz
SELECT subscription_create($1, $2, $3, $4) AS item;

-- name: subscription_show
-- $1 subscription_id uuid
SELECT subscription_json(s) AS item FROM subscription_of_caller($1) AS s;

-- name: subscription_page
-- $1 limit integer, $2 before uuid or null
SELECT id, item FROM subscription_page($1::integer + 1, $2) ORDER BY id DESC;

-- name: subscription_cancel
-- $1 subscription_id uuid
SELECT subscription_cancel($1) AS item;

-- name: entitlement_list
-- $1 org_id uuid or null, $2 known json
SELECT entitlement_list($1, $2) AS item;

-- name: entitlement_override_set
-- $1 wanted jsonb
SELECT item, is_new FROM entitlement_override_set($1);

-- name: entitlement_override_page
-- $1 org_id uuid, $2 limit integer, $3 before uuid or null
SELECT id, item FROM entitlement_override_page($1, $2::integer + 1, $3) ORDER BY id DESC;

-- name: entitlement_override_guard
-- Raises when there is no such override.
-- $1 override_id uuid
SELECT entitlement_override_guard($1);

-- name: entitlement_override_delete
-- $1 override_id uuid, $2 org_id uuid or null
SELECT entitlement_override_delete($1, $2);
