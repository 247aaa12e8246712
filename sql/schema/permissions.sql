-- The permissions of roles.

-- The permissions of a role (contract section 2). platform_admin is a mark on the user instead. Called with a constant
-- it is one: authenticate_by_token() relies on that.
CREATE OR REPLACE FUNCTION role_permissions(role text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN role IN ('owner', 'admin', 'member') THEN
        ARRAY['data.threads.read', 'data.threads.write', 'data.runs.read', 'data.runs.write',
              'data.api_keys.manage', 'data.subscriptions.read', 'data.usage.read']
        || CASE WHEN role IN ('owner', 'admin') THEN
            ARRAY['data.secrets', 'data.webhooks.manage', 'data.llm_providers.manage', 'data.personas.manage',
                  'org.members.manage', 'org.audit.read', 'org.ip_rules.manage', 'org.runs.read_all']
        ELSE ARRAY[]::text[] END
        || CASE WHEN role = 'owner' THEN ARRAY['org.manage', 'data.end_users.delete'] ELSE ARRAY[]::text[] END
    ELSE ARRAY[]::text[] END
$$;

-- The same as the text of an array.
CREATE OR REPLACE FUNCTION role_permissions_text(role text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN role_permissions(role)::text;
END
$$;
