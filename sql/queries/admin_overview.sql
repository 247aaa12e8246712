-- The platform at a glance, for platform administrators. Behind access.authenticate with platform_admin.

-- name: dashboard_show
-- The numbers.
SELECT dashboard_json() AS item;

-- name: node_list
-- The live daemons and pools, and the database's report about itself and the work in it.
SELECT node_list() AS nodes, id, name, started_at, server_version, now_ms, connections_max, connections,
       connections_of_pools, synchronous_standby_names, is_watched_over, is_durable, transaction_s, outbox_failed,
       outbox_wait_s, mails_refused, mail_failing_s, mail_fault, mail_error, admins, daemons, unclaimed, mcp_failing,
       mcp_failing_s
FROM database_facts();
