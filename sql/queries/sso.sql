-- Logins with OpenID providers: begun and finished by the pool, with the help of daemons.

-- name: sso_provider_list
-- The platform's active providers, for the sign-in page.
SELECT sso_provider_list() AS item;

-- name: sso_begin
-- Begins a flow with the provider that is named, or with the one of the domain.
-- $1 provider_key text or null, $2 domain text or null, $3 state_hash bytea, $4 cookie_hash bytea, $5 return_to text
SELECT provider_key, authorization_endpoint, client_id, scopes FROM sso_begin($1, $2, $3, $4, $5);

-- name: sso_return
-- The browser is back; answers ok and the call to wait for, or the code of the fault.
-- $1 provider_key text, $2 state_hash bytea, $3 cookie_hash bytea or null, $4 issuer text or null,
-- $5 code text or null, $6 secrets json, $7 site text
SELECT outcome, flow_id, new_call_id AS call_id FROM sso_return($1, $2, $3, $4, $5, $6::json, $7);

-- name: sso_discovery_begin
-- $1 issuer text
SELECT sso_discovery_begin($1) AS call_id;

-- name: sso_logout_begin
-- $1 provider_key text, $2 logout_token text, $3 limit_checks_per_minute integer
SELECT sso_logout_begin($1, $2, $3) AS call_id;

-- name: sso_call_result
-- The result that a daemon stored; null while the call is under way.
-- $1 call_id uuid
SELECT result, coalesce(is_claimed, false) AS is_claimed FROM sso_call_result($1);

-- name: sso_logout_finish
-- Ends sessions; answers how many, or null for a token that does not serve.
-- $1 call_id uuid, $2 is_first boolean, $3 at_most integer
SELECT sso_logout_finish($1, $2, $3) AS ended;

-- name: sso_finish
-- Answers ok, factor, link, or the code of a refusal.
-- $1 flow_id uuid, $2 call_id uuid, $3 facts jsonb, $4 access_hash bytea, $5 refresh_hash bytea, $6 factor_hash bytea,
-- $7 auth_sso_session_seconds bigint, $8 limit_members bigint, $9 settings jsonb (values by names of settings)
SELECT outcome, factors, return_to FROM sso_finish($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: sso_notify
-- Wakes a daemon.
SELECT set_config('synchronous_commit', 'off', true), pg_notify('hostler_sso', '');

-- name: sso_call_claim
-- A daemon takes a call.
-- $1 full_holders uuid[]
SELECT call_id, kind, holder, request, provider_id, issuer, client_id, client_method, token_endpoint, jwks_uri,
    userinfo_endpoint, keys, keys_age_s, groups_claim, secret_id, secret_org_id, secret_kind, key_version,
    wrapped_key, sealed
FROM sso_call_claim($1);

-- name: sso_call_store
-- $1 call_id uuid, $2 result json
SELECT sso_call_store($1, $2);

-- name: sso_keys_turn
-- Whether the keys may be read again now, and those that are stored.
-- $1 provider_id uuid
SELECT is_turn, stored FROM sso_keys_turn($1);

-- name: sso_keys_store
-- $1 provider_id uuid, $2 jwks_uri text, $3 keys json
SELECT sso_keys_store($1, $2, $3);
