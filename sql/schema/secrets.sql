-- What is encrypted.

-- What is encrypted. The data key of each secret is wrapped by the key file's key; both are bound to
-- the row's id, organization and kind (lib/config/secret_box.h). Never read without need.
CREATE TABLE secrets (
    id uuid PRIMARY KEY,
    org_id uuid,  -- null: the platform's
    kind text NOT NULL,
    key_version integer NOT NULL,
    wrapped_key bytea NOT NULL,
    sealed bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (org_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE secrets ENABLE ROW LEVEL SECURITY;
ALTER TABLE secrets FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON secrets
    USING (org_id = current_org() OR (org_id IS NULL AND is_platform_admin()))
    WITH CHECK (org_id = current_org() OR (org_id IS NULL AND is_platform_admin()));
GRANT SELECT, INSERT, DELETE ON secrets TO hostler_api;
GRANT SELECT ON secrets TO hostler_runner;
