-- Budgets as hostlerctl shows and changes them, for any organization. Never used by the services.

-- name: operator_budgets
-- An organization's budgets, the oldest first.
-- $1 org_name text (id, slug, or somebody's login)
SELECT b.id, b.name, b.subject_type, b.subject_id, b.unit, budget_amount(b.unit, b.amount)::text AS amount, b.period,
    b.time_zone, b.on_exhausted, b.is_active, budget_json(b)::text AS item,
    coalesce(budget_json(b) ->> 'spent', '') AS spent, coalesce(budget_json(b) ->> 'held', '') AS held
FROM budgets b WHERE b.org_id = org_of_operator($1) AND b.deleted_at IS NULL ORDER BY b.id;

-- name: operator_budget_create
-- $1 org_name text (id, slug, or somebody's login), $2 wanted jsonb (subject_id may be missing: the organization)
SELECT budget_create(CASE WHEN w.wanted ? 'subject_id' THEN w.wanted
                          ELSE w.wanted || jsonb_build_object('subject_id', o.id) END, o.id, 0) AS item
FROM (SELECT org_of_operator($1) AS id) AS o, (SELECT $2::jsonb AS wanted) AS w;

-- name: operator_budget_update
-- $1 budget_id uuid, $2 changes jsonb
SELECT budget_update($1, $2) AS item;

-- name: operator_budget_delete
-- $1 budget_id uuid
SELECT budget_delete($1);
