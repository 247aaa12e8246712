-- What /readyz asks the database.

-- name: schema_version
-- The newest migration that was applied.
SELECT max(version) AS version FROM schema_migrations;
