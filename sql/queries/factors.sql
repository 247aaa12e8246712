-- Second factors: of the caller, of logins that wait for one, and as administrators and operators reset them.

-- name: factor_token_secrets
-- The sealed TOTP secrets that may answer for a token, and the clock of codes; raises the token's 401 and the 429.
-- $1 token_hash bytea, $2 auth_factor_failures_per_hour integer
SELECT clock, secrets FROM factor_token_secrets($1, $2);

-- name: factor_login
-- Answers ok or refused.
-- $1 token_hash bytea, $2 answer jsonb, $3 access_hash bytea, $4 refresh_hash bytea,
-- $5 auth_factor_failures_per_hour integer, $6 settings jsonb (values by names of settings)
SELECT factor_login($1, $2, $3, $4, $5, $6) AS outcome;

-- name: own_totp_secrets
-- The same of the caller.
-- $1 auth_factor_failures_per_hour integer
SELECT clock, secrets FROM own_totp_secrets($1);

-- name: session_prove_by_factor
-- Answers ok or refused.
-- $1 answer jsonb, $2 auth_factor_failures_per_hour integer
SELECT session_prove_by_factor($1, $2) AS outcome;

-- name: own_factors
-- The factors of the caller.
SELECT own_factors() AS item;

-- name: totp_create
-- A secret that waits for its first code.
-- $1 name text, $2 secret jsonb, $3 auth_require_factor text, $4 auth_fresh_seconds integer
SELECT factor_id, email FROM totp_create($1, $2, $3, $4);

-- name: totp_pending
-- The sealed secret that waits for its first code; raises the 404.
-- $1 factor_id uuid
SELECT clock, secrets FROM totp_pending($1);

-- name: totp_confirm
-- $1 factor_id uuid, $2 step bigint, $3 code_hashes bytea (of 32 bytes each), $4 auth_require_factor text,
-- $5 auth_fresh_seconds integer
SELECT totp_confirm($1, $2, $3, $4, $5) AS is_first;

-- name: factor_guard
-- Raises the 404 of a factor that is not the caller's.
-- $1 factor_id uuid
SELECT factor_check($1);

-- name: factor_delete
-- $1 factor_id uuid
SELECT factor_delete($1);

-- name: recovery_codes_renew
-- $1 code_hashes bytea (of 32 bytes each)
SELECT recovery_codes_renew($1);

-- name: admin_factors_reset
-- $1 user_id uuid
SELECT admin_factors_reset($1);

-- name: passkey_begin
-- $1 challenge_hash bytea, $2 auth_require_factor text, $3 auth_fresh_seconds integer
SELECT user_id, email, username, known FROM passkey_begin($1, $2, $3);

-- name: passkey_create
-- $1 name text, $2 challenge_hash bytea, $3 credential_id bytea, $4 public_key bytea, $5 algorithm integer,
-- $6 sign_count bigint, $7 code_hashes bytea (of 32 bytes each), $8 auth_require_factor text,
-- $9 auth_fresh_seconds integer
SELECT item, is_first FROM passkey_create($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: passkey_key
-- The key of a passkey; nulls when nobody has it.
-- $1 credential_id bytea
SELECT public_key, algorithm, user_id FROM passkey_key($1);

-- name: passkey_login_begin
-- $1 challenge_hash bytea, $2 limit_checks_per_minute integer
SELECT passkey_login_begin($1, $2);

-- name: passkey_confirm_begin
-- $1 challenge_hash bytea
SELECT passkey_confirm_begin($1) AS known;

-- name: passkey_login
-- Answers ok, refused or suspended.
-- $1 answer jsonb, $2 access_hash bytea, $3 refresh_hash bytea, $4 settings jsonb (values by names of settings)
SELECT passkey_login($1, $2, $3, $4) AS outcome;

-- name: user_factors
-- $1 login text (or username, or email)
SELECT item FROM factors_of_operator($1);

-- name: user_factors_reset
-- Answers how many are gone.
-- $1 login text (or username, or email)
SELECT factors_reset_by_operator($1);

-- name: factors_optional
-- auth.require_factor is as the file and the environment say.
SELECT factors_optional();

-- name: factors_optional_in
-- $1 org_name text
SELECT factors_optional_in($1);
