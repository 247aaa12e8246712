-- Budgets, as the API shows and changes them.

-- name: budget_page
-- The organization's budgets that the caller may read, newest first. end_user: whose windows of budgets for each end
-- user are shown.
-- $1 limit integer, $2 before uuid or null, $3 subject_type text or null, $4 end_user text or null
SELECT id, item FROM budget_page($1::integer + 1, $2, $3, $4);

-- name: budget_create
-- $1 wanted jsonb, $2 org_id uuid or null (another one, for platform administrators), $3 limit_budgets bigint
SELECT budget_create($1, $2, $3) AS item;

-- name: budget_create_guard
-- Raises when the caller may make no budget.
SELECT FROM budget_create_guard();

-- name: budget_guard
-- Raises when the caller may not change the budget.
-- $1 budget_id uuid
SELECT FROM budget_of_caller($1, true);

-- name: budget_read_guard
-- Raises when the caller may not read the budget.
-- $1 budget_id uuid
SELECT FROM budget_of_caller($1, false);

-- name: budget_show
-- $1 budget_id uuid, $2 end_user text or null
SELECT budget_json(b, $2) AS item FROM budget_of_caller($1, false) AS b;

-- name: budget_update
-- $1 budget_id uuid, $2 changes jsonb
SELECT budget_update($1, $2) AS item;

-- name: budget_delete
-- $1 budget_id uuid
SELECT budget_delete($1);
