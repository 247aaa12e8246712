-- What the connections of lib/postgres ask for themselves, so that commits may share a flush.

-- name: flush_log
-- The smallest transaction whose commit waits for the log: a message that nobody reads.
SELECT pg_logical_emit_message(true, 'hostler', '');

-- name: server_start
-- Which start of which server answers.
SELECT pg_postmaster_start_time();
