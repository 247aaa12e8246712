-- Statements that the connections of lib/postgres need for themselves: to begin a session, and to share a flush of
-- commits.

-- name: flush_log
-- The smallest transaction whose commit waits for the log: a message that nobody reads.
SELECT pg_logical_emit_message(true, 'hostler', '');

-- name: server_start
-- Which start of which server answers.
SELECT pg_postmaster_start_time();

-- name: pin_settings
-- Gives the session these settings, as far as this version of Postgres has them; answers which process serves it, as
-- the process itself knows. Every name is qualified, because search_path is one of them.
-- $1 setting_names text[], $2 setting_values text[]
SELECT pg_catalog.count(pg_catalog.set_config(pinned.name, pinned.setting, false)) AS pinned,
       pg_catalog.pg_backend_pid() AS server_pid
FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]))
     AS pinned (name, setting)
WHERE pg_catalog.current_setting(pinned.name, true) IS NOT NULL;

-- name: server_process
-- Which process serves this transaction.
SELECT pg_backend_pid() AS server_pid;
