-- OpenID providers with which people sign in: of the platform, or of one organization; and the mail domains that the
-- platform granted to organizations. Reached through functions only.
--
-- Links and sessions name the epoch of their provider. With a new epoch all of them are over at once, however many
-- there are: another issuer, another client, a provider that is switched off or deleted.

-- A domain, as A-labels, belongs to one organization. Links and sessions name the grant by which they were made, so
-- that they end with its row.
CREATE TABLE org_domains (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    domain text COLLATE "C" NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX org_domains_org ON org_domains (org_id, id);
SELECT make_tenant_table('org_domains');

CREATE TABLE identity_providers (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid REFERENCES orgs,  -- null: the platform's
    key text COLLATE "C" NOT NULL UNIQUE CHECK (key ~ '^[a-z0-9-]{1,32}$'),
    display_name text NOT NULL,
    issuer text COLLATE "C" NOT NULL,
    client_id text COLLATE "C" NOT NULL,
    secret_id uuid REFERENCES secrets,
    scopes text[] NOT NULL,
    domains text[] COLLATE "C" NOT NULL DEFAULT '{}',
    trust_email boolean NOT NULL DEFAULT false,
    has_second_factor boolean NOT NULL DEFAULT false,
    groups_claim text,
    role_map jsonb NOT NULL DEFAULT '{}',  -- {group: admin or member}
    create_users boolean NOT NULL DEFAULT false,
    is_required boolean NOT NULL DEFAULT false CHECK (NOT is_required OR org_id IS NOT NULL),
    is_active boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- From the issuer's metadata when the provider was written:
    authorization_endpoint text NOT NULL,
    token_endpoint text NOT NULL,
    jwks_uri text NOT NULL,
    userinfo_endpoint text,         -- for claims that the ID token lacks
    tells_issuer boolean NOT NULL,  -- in its answers (RFC 9207)
    client_method text NOT NULL,    -- how the client shows its secret
    keys json NOT NULL,             -- those of its JWKS that may sign
    keys_read_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    keys_tried_at timestamptz,
    epoch bigint NOT NULL DEFAULT 0,
    UNIQUE (issuer, client_id),
    FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id)
);
CREATE INDEX identity_providers_org ON identity_providers (org_id, id);
CREATE INDEX identity_providers_secret ON identity_providers (secret_id) WHERE secret_id IS NOT NULL;
CREATE INDEX identity_providers_domains ON identity_providers USING gin (domains) WITH (fastupdate = off);
SELECT make_scoped_table('identity_providers');

CREATE OR REPLACE FUNCTION identity_provider_json(p identity_providers) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_build_object('id', p.id, 'scope', CASE WHEN p.org_id IS NULL THEN 'platform' ELSE 'org' END,
        'org_id', p.org_id, 'key', p.key, 'display_name', p.display_name, 'issuer', p.issuer, 'client_id', p.client_id,
        'client_secret_set', p.secret_id IS NOT NULL, 'scopes', p.scopes, 'domains', p.domains,
        'trust_email', p.trust_email, 'has_second_factor', p.has_second_factor, 'groups_claim', p.groups_claim,
        'role_map', p.role_map, 'create_users', p.create_users, 'is_required', p.is_required,
        'is_active', p.is_active, 'created_at', rfc3339(p.created_at))
$$;

-- A provider as the audit log keeps it.
CREATE OR REPLACE FUNCTION identity_provider_state(p identity_providers) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT identity_provider_json(p)::jsonb - ARRAY['id', 'created_at', 'org_id']
$$;

-- The provider, when the scope has it; locked. A platform administrator also reaches those of organizations, by_id, for
-- the two members that only they set.
CREATE OR REPLACE FUNCTION identity_provider_of_scope(provider uuid, by_id boolean) RETURNS identity_providers
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('org.manage');
    p identity_providers;
BEGIN
    SELECT * INTO p FROM identity_providers
    WHERE id = provider AND (org_id IS NOT DISTINCT FROM scope_id OR (by_id AND scope_id IS NULL)) FOR UPDATE;
    IF p.id IS NULL THEN
        PERFORM fail('identity_providers.not_found');
    END IF;
    RETURN p;
END
$$;

-- For dispatch: the 404 of the path's provider comes before a fault of the body.
CREATE OR REPLACE FUNCTION identity_provider_check(provider uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('org.manage');
BEGIN
    IF NOT EXISTS (SELECT FROM identity_providers p
                   WHERE p.id = provider AND (scope_id IS NULL OR p.org_id = scope_id)) THEN
        PERFORM fail('identity_providers.not_found');
    END IF;
END
$$;

-- The issuer that a provider has, for the handler that changes it.
CREATE OR REPLACE FUNCTION identity_provider_issuer(provider uuid) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN (SELECT p.issuer FROM identity_provider_of_scope(provider, true) AS p);
END
$$;

-- GET /v1/identity-providers.
CREATE OR REPLACE FUNCTION identity_provider_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    scope_id uuid := scope_org('org.manage');
BEGIN
    PERFORM sso_way_back_mail();
    RETURN QUERY SELECT p.id, identity_provider_json(p) FROM identity_providers p
    WHERE (p.org_id = scope_id OR (scope_id IS NULL AND p.org_id IS NULL)) AND (before IS NULL OR p.id < before)
    ORDER BY p.id DESC LIMIT page_limit;
END
$$;

-- Refuses domains that the platform did not grant to the organization. Returns them in order, each once.
CREATE OR REPLACE FUNCTION identity_domains(of_org uuid, wanted text[]) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    denied text;
BEGIN
    IF of_org IS NOT NULL THEN
        PERFORM FROM org_domains g WHERE g.org_id = of_org AND g.domain = ANY (wanted) FOR SHARE;
        SELECT d INTO denied FROM unnest(wanted) AS d
        WHERE NOT EXISTS (SELECT FROM org_domains g WHERE g.org_id = of_org AND g.domain = d) LIMIT 1;
        IF denied IS NOT NULL THEN
            PERFORM fail('identity.domain_not_granted', 'domain_of_nobody', jsonb_build_object('domain', denied));
        END IF;
    END IF;
    RETURN ARRAY(SELECT DISTINCT d FROM unnest(wanted) AS d ORDER BY 1);
END
$$;

-- Keeps orgs.required_provider_id. The provider's row is locked.
CREATE OR REPLACE FUNCTION identity_required_keep(of_org uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    required uuid[];
BEGIN
    PERFORM FROM orgs o WHERE o.id = of_org FOR NO KEY UPDATE;
    required := ARRAY(SELECT p.id FROM identity_providers p
                      WHERE p.org_id = of_org AND p.is_required AND p.is_active LIMIT 2);
    IF cardinality(required) > 1 THEN
        PERFORM fail('validation.error', 'another_is_required');
    END IF;
    UPDATE orgs SET required_provider_id = required[1]
    WHERE id = of_org AND required_provider_id IS DISTINCT FROM required[1];
END
$$;

-- Links and sessions of a provider end, by its next epoch, which is stored already. The sweep removes the links.
CREATE OR REPLACE FUNCTION identity_provider_ended(p identity_providers, next_epoch bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT ending_begin('identities', p.id, p.org_id, what => jsonb_build_object('epoch', next_epoch))
$$;

-- POST /v1/identity-providers. wanted: members by their names; secret: sealed, or null; discovered: what the issuer's
-- metadata and keys say.
CREATE OR REPLACE FUNCTION identity_provider_create(wanted jsonb, secret jsonb, discovered jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    providers_max constant integer := 20;
    scope_id uuid := scope_org('org.manage');
    created identity_providers;
BEGIN
    PERFORM sso_way_back_mail();
    PERFORM pg_advisory_xact_lock(hashtextextended('identity providers ' || coalesce(scope_id::text, ''), 0));
    IF (SELECT count(*) FROM identity_providers p
        WHERE p.org_id = scope_id OR (scope_id IS NULL AND p.org_id IS NULL)) >= providers_max THEN
        PERFORM fail('limits.reached', 'identity_providers_are_enough', jsonb_build_object('limit', providers_max));
    END IF;
    created := jsonb_populate_record(NULL::identity_providers, '{"domains": [], "trust_email": false,
        "has_second_factor": false, "role_map": {}, "create_users": false, "is_required": false, "is_active": true}'
        || wanted || discovered || jsonb_build_object('id', public.uuidv7(), 'org_id', scope_id, 'epoch', 0,
        'created_at', clock_timestamp(), 'keys_read_at', clock_timestamp()));
    created.domains := identity_domains(scope_id, created.domains);
    IF secret IS NOT NULL THEN
        created.secret_id := secret_insert(scope_id, 'identity_provider', secret);
    END IF;
    INSERT INTO identity_providers SELECT created.* ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        PERFORM fail('identity_providers.exists');
    END IF;
    IF scope_id IS NOT NULL THEN
        PERFORM identity_required_keep(scope_id);
    END IF;
    PERFORM audit('identity_providers.create', 'identity_provider', created.id::text, scope_id, NULL,
                  identity_provider_state(created));
    RETURN identity_provider_json(created);
END
$$;

-- PATCH /v1/identity-providers/{provider_id}. changes: members by their names; with client_secret_set the secret
-- changes: to `secret`, or to none. discovered: of another issuer, or null. Of an organization's provider a platform
-- administrator changes by its id what only they set: another issuer does not have it.
CREATE OR REPLACE FUNCTION identity_provider_update(provider uuid, changes jsonb, secret jsonb, discovered jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state identity_providers := identity_provider_of_scope(provider, true);
    new_state identity_providers := jsonb_populate_record(old_state, (changes - 'client_secret_set')
        || coalesce('{"userinfo_endpoint": null}' || discovered, '{}'));
    is_foreign boolean := old_state.org_id IS NOT NULL AND scope_org('org.manage') IS NULL;
    is_elsewhere boolean := new_state.issuer <> old_state.issuer;
BEGIN
    IF is_foreign AND changes - ARRAY['trust_email', 'has_second_factor'] <> '{}' THEN
        PERFORM fail('identity_providers.not_found');
    ELSIF is_elsewhere AND discovered IS NULL THEN
        PERFORM fail('identity.discovery_failed', 'issuer_changed');
    ELSIF is_elsewhere AND old_state.secret_id IS NOT NULL AND NOT changes ? 'client_secret_set' THEN
        PERFORM fail('validation.error', 'secret_needed', jsonb_build_object('field', 'client_secret'));
    ELSIF new_state.is_required AND new_state.org_id IS NULL THEN
        PERFORM fail('validation.error', 'platform_requires_nobody');
    END IF;
    PERFORM sso_way_back_mail();
    IF is_elsewhere AND old_state.org_id IS NOT NULL THEN
        new_state.trust_email := false;
        new_state.has_second_factor := false;
    END IF;
    IF changes ? 'domains' THEN
        new_state.domains := identity_domains(old_state.org_id, new_state.domains);
    END IF;
    IF changes ? 'client_secret_set' THEN
        new_state.secret_id := CASE WHEN secret IS NOT NULL
            THEN secret_insert(old_state.org_id, 'identity_provider', secret) END;
    END IF;
    IF is_elsewhere OR new_state.client_id <> old_state.client_id OR (old_state.is_active AND NOT new_state.is_active)
    THEN
        new_state.epoch := old_state.epoch + 1;
    END IF;
    UPDATE identity_providers SET display_name = new_state.display_name, issuer = new_state.issuer,
        client_id = new_state.client_id, secret_id = new_state.secret_id, scopes = new_state.scopes,
        domains = new_state.domains, trust_email = new_state.trust_email,
        has_second_factor = new_state.has_second_factor, groups_claim = new_state.groups_claim,
        role_map = new_state.role_map, create_users = new_state.create_users, is_required = new_state.is_required,
        is_active = new_state.is_active, authorization_endpoint = new_state.authorization_endpoint,
        token_endpoint = new_state.token_endpoint, jwks_uri = new_state.jwks_uri,
        userinfo_endpoint = new_state.userinfo_endpoint,
        tells_issuer = new_state.tells_issuer, client_method = new_state.client_method, keys = new_state.keys,
        keys_read_at = CASE WHEN discovered IS NULL THEN keys_read_at ELSE clock_timestamp() END,
        epoch = new_state.epoch
    WHERE id = old_state.id;
    IF old_state.secret_id IS DISTINCT FROM new_state.secret_id THEN
        DELETE FROM secrets WHERE id = old_state.secret_id;
    END IF;
    IF old_state.org_id IS NOT NULL THEN
        PERFORM identity_required_keep(old_state.org_id);
    END IF;
    IF new_state.epoch <> old_state.epoch THEN
        PERFORM identity_provider_ended(old_state, new_state.epoch);
    END IF;
    PERFORM audit('identity_providers.update', 'identity_provider', old_state.id::text, old_state.org_id,
                  identity_provider_state(old_state), identity_provider_state(new_state));
    RETURN identity_provider_json(new_state);
EXCEPTION WHEN unique_violation THEN
    PERFORM fail('identity_providers.exists');
END
$$;

-- DELETE /v1/identity-providers/{provider_id}: with it go its links and sessions.
CREATE OR REPLACE FUNCTION identity_provider_delete(provider uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    p identity_providers := identity_provider_of_scope(provider, false);
BEGIN
    PERFORM sso_way_back_mail();
    PERFORM identity_provider_remove(p);
    PERFORM audit('identity_providers.delete', 'identity_provider', p.id::text, p.org_id, identity_provider_state(p));
END
$$;

CREATE OR REPLACE FUNCTION identity_provider_remove(p identity_providers) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    DELETE FROM identity_providers WHERE id = p.id;
    DELETE FROM secrets WHERE id = p.secret_id;
    IF p.org_id IS NOT NULL THEN
        PERFORM identity_required_keep(p.org_id);
    END IF;
    PERFORM identity_provider_ended(p, p.epoch + 1);
END
$$;

-- POST /v1/admin/org-domains.
CREATE OR REPLACE FUNCTION org_domain_grant(org uuid, new_domain text) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    granted org_domains;
BEGIN
    PERFORM need_platform_admin();
    IF NOT EXISTS (SELECT FROM orgs o WHERE o.id = org AND o.erased_at IS NULL) THEN
        PERFORM fail('validation.error', 'org_unknown');
    END IF;
    INSERT INTO org_domains (org_id, domain) VALUES (org, new_domain) ON CONFLICT DO NOTHING RETURNING * INTO granted;
    IF granted.id IS NULL THEN
        PERFORM fail('org_domains.exists');
    END IF;
    PERFORM audit('org_domains.grant', 'org_domain', granted.id::text, org, NULL,
                  jsonb_build_object('domain', new_domain));
    RETURN org_domain_json(granted);
END
$$;

CREATE OR REPLACE FUNCTION org_domain_json(g org_domains) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_build_object('id', g.id, 'org_id', g.org_id, 'domain', g.domain, 'created_at', rfc3339(g.created_at))
$$;

-- GET /v1/admin/org-domains: of one organization, or of all (null).
CREATE OR REPLACE FUNCTION org_domain_page(org uuid, page_limit integer, before uuid)
RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM need_platform_admin();
    IF org IS NULL THEN
        RETURN QUERY SELECT g.id, org_domain_json(g) FROM org_domains g WHERE before IS NULL OR g.id < before
        ORDER BY g.id DESC LIMIT page_limit;
    ELSE
        RETURN QUERY SELECT g.id, org_domain_json(g) FROM org_domains g
        WHERE g.org_id = org AND (before IS NULL OR g.id < before)
        ORDER BY g.org_id DESC, g.id DESC LIMIT page_limit;
    END IF;
END
$$;

-- DELETE /v1/admin/org-domains/{domain_id}: providers of the organization name the domain no more, and what was made
-- by it is over.
CREATE OR REPLACE FUNCTION org_domain_revoke(grant_id uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    gone org_domains;
BEGIN
    PERFORM need_platform_admin();
    UPDATE identity_providers p SET domains = array_remove(p.domains, g.domain)
    FROM org_domains g WHERE g.id = grant_id AND p.org_id = g.org_id AND g.domain = ANY (p.domains);
    DELETE FROM org_domains g WHERE g.id = grant_id RETURNING g.* INTO gone;
    IF gone.id IS NULL THEN
        PERFORM fail('org_domains.not_found');
    END IF;
    PERFORM audit('org_domains.revoke', 'org_domain', gone.id::text, gone.org_id,
                  jsonb_build_object('domain', gone.domain));
END
$$;

-- hostlerctl org sso --off: the organization requires no provider any more.
CREATE OR REPLACE FUNCTION sso_off_by_operator(org_name text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid := org_of_operator(org_name);
    p identity_providers;
    switched integer := 0;
BEGIN
    FOR p IN SELECT * FROM identity_providers q WHERE q.org_id = org AND q.is_required FOR UPDATE LOOP
        UPDATE identity_providers SET is_required = false WHERE id = p.id;
        PERFORM audit('identity_providers.update', 'identity_provider', p.id::text, org, '{"is_required": true}',
                      '{"is_required": false}');
        switched := switched + 1;
    END LOOP;
    PERFORM identity_required_keep(org);
    RETURN switched;
END
$$;

-- Erasure of an organization: its providers and domains go.
CREATE OR REPLACE FUNCTION identity_providers_erase(org uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM identity_provider_remove(p) FROM identity_providers p WHERE p.org_id = org;
    DELETE FROM org_domains WHERE org_id = org;
END
$$;
REVOKE EXECUTE ON FUNCTION identity_provider_of_scope, identity_domains, identity_required_keep,
    identity_provider_ended, identity_provider_remove, sso_off_by_operator, identity_providers_erase
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION identity_provider_check, identity_provider_issuer, identity_provider_page,
    identity_provider_create, identity_provider_update, identity_provider_delete, org_domain_grant, org_domain_page,
    org_domain_revoke FROM hostler_runner;
