-- The platform at a glance, for platform administrators. Behind access.authenticate with platform_admin.

-- name: dashboard_show
-- The numbers.
SELECT dashboard_json() AS item;

-- name: node_list
-- The daemons that live.
SELECT node_list() AS item;
