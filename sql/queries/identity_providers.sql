-- OpenID providers, the domains of organizations, and the links of accounts.

-- name: identity_provider_page
-- A page of the scope's providers.
-- $1 limit integer, $2 before uuid or null
SELECT id, item FROM identity_provider_page($1::integer + 1, $2) ORDER BY id DESC;

-- name: identity_provider_guard
-- Raises the 404 of a provider that is not the scope's.
-- $1 provider_id uuid
SELECT identity_provider_check($1);

-- name: identity_provider_issuer
-- $1 provider_id uuid
SELECT identity_provider_issuer($1) AS issuer;

-- name: identity_provider_create
-- $1 wanted jsonb, $2 secret jsonb or null, $3 discovered jsonb
SELECT identity_provider_create($1, $2, $3) AS item;

-- name: identity_provider_update
-- $1 provider_id uuid, $2 changes jsonb, $3 secret jsonb or null, $4 discovered jsonb or null
SELECT identity_provider_update($1, $2, $3, $4) AS item;

-- name: identity_provider_delete
-- $1 provider_id uuid
SELECT identity_provider_delete($1);

-- name: org_domain_page
-- $1 of_org uuid or null, $2 limit integer, $3 before uuid or null
SELECT id, item FROM org_domain_page($1, $2::integer + 1, $3) ORDER BY id DESC;

-- name: org_domain_grant
-- $1 of_org uuid, $2 domain text
SELECT org_domain_grant($1, $2) AS item;

-- name: org_domain_revoke
-- $1 domain_id uuid
SELECT org_domain_revoke($1);

-- name: own_identities
-- The links of the caller.
SELECT own_identities() AS item;

-- name: identity_unlink
-- $1 identity_id uuid
SELECT identity_unlink($1);

-- name: sso_off
-- For hostlerctl: an organization requires no provider; answers how many were required.
-- $1 org_name text (slug or id)
SELECT sso_off_by_operator($1) AS switched;

-- name: user_identities
-- For hostlerctl.
-- $1 login text (or username, or email)
SELECT item FROM identities_of_operator($1);
