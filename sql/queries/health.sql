-- Statements of /readyz.

-- name: schema_version
-- The newest migration that was applied, and whether programs made for another version work on it: it is theirs, or
-- every later one says that it leaves them working.
-- $1 version text (theirs)
SELECT max(version) AS version,
       coalesce(max(version) >= $1, false)
       AND coalesce(max(compatible_from) FILTER (WHERE version > $1) <= $1, true) AS fits
FROM schema_migrations;
