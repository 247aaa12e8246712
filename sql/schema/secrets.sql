-- Encrypted values of the platform and of organizations.

-- The data key of each secret is wrapped by the key file's key; both are bound to
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

-- A value that a program sealed, as secret_json() of lib/config/secret_box.h writes it, for this organization (null:
-- the platform's) and kind. With the caller's rights.
CREATE OR REPLACE FUNCTION secret_insert(of_org uuid, of_kind text, secret jsonb) RETURNS uuid
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    new_id uuid := secret ->> 'id';
BEGIN
    INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed)
    VALUES (new_id, of_org, of_kind, (secret ->> 'key_version')::integer,
            decode(secret ->> 'wrapped_key', 'base64'), decode(secret ->> 'sealed', 'base64'));
    RETURN new_id;
END
$$;
REVOKE EXECUTE ON FUNCTION secret_insert FROM hostler_runner;

-- Refuses the rotation of a webhook's or tool's signing secret while as many from before sign as may: each message is
-- signed with all of them, and each lives to its own end. alive: their ends.
CREATE OR REPLACE FUNCTION old_secrets_check(alive timestamptz[]) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    old_secrets_max constant integer := 10;
BEGIN
    IF cardinality(alive) >= old_secrets_max THEN
        PERFORM fail('limits.reached', 'old_secrets_sign', jsonb_build_object(
            'used', cardinality(alive), 'next_end', rfc3339((SELECT min(a.until) FROM unnest(alive) AS a (until)))));
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION old_secrets_check FROM hostler_runner;
