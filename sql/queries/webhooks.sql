-- Webhook endpoints of the caller's organization and what was sent to them.

-- name: webhook_create
-- $1 url text, $2 events text[], $3 secret jsonb, $4 limit_webhook_endpoints bigint
SELECT webhook_create($1, $2, $3, $4) AS item;

-- name: webhook_page
-- $1 limit integer, $2 before uuid or null
SELECT id, webhook_json(webhook_endpoints) AS item FROM webhook_endpoints
WHERE org_id = current_org() AND deleted_at IS NULL AND ($2::uuid IS NULL OR id < $2)
ORDER BY id DESC LIMIT $1::integer + 1;

-- name: webhook_show
-- $1 endpoint_id uuid
SELECT webhook_json(w) AS item FROM webhook_of_org($1, false) AS w;

-- name: webhook_guard
-- Raises when the organization has no such endpoint.
-- $1 endpoint_id uuid
SELECT id FROM webhook_of_org($1, false);

-- name: webhook_update
-- $1 endpoint_id uuid, $2 changes jsonb
SELECT webhook_update($1, $2) AS item;

-- name: webhook_delete
-- $1 endpoint_id uuid
SELECT webhook_delete($1) AS item;

-- name: webhook_rotate
-- $1 endpoint_id uuid, $2 secret jsonb
SELECT webhook_rotate($1, $2);

-- name: webhook_delivery_page
-- $1 endpoint_id uuid, $2 limit integer, $3 before uuid or null
SELECT id, item FROM webhook_delivery_page($1, $2::integer + 1, $3) ORDER BY id DESC;

-- name: webhook_redeliver
-- $1 endpoint_id uuid, $2 delivery_id uuid
SELECT webhook_redeliver($1, $2) AS item;

-- name: webhook_test
-- $1 endpoint_id uuid
SELECT webhook_test($1) AS item;
