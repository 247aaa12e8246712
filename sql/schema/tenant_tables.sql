-- Makes a table a tenant's.

-- Forced row-level security for a table of organizations' rows: each sees and writes its own.
CREATE OR REPLACE FUNCTION make_tenant_table(tenant_table regclass) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', tenant_table);
    EXECUTE format('CREATE POLICY tenant ON %s USING (org_id = current_org()) WITH CHECK (org_id = current_org())',
                   tenant_table);
END
$$;

-- The same for a table with the platform's rows too (org_id null): everybody sees these, platform administrators
-- write them.
CREATE OR REPLACE FUNCTION make_scoped_table(scoped_table regclass) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', scoped_table);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', scoped_table);
    EXECUTE format('CREATE POLICY tenant ON %s USING (org_id = current_org() OR org_id IS NULL)
                    WITH CHECK (org_id = current_org() OR (org_id IS NULL AND is_platform_admin()))', scoped_table);
END
$$;
REVOKE EXECUTE ON FUNCTION make_tenant_table, make_scoped_table FROM hostler_api, hostler_runner;
