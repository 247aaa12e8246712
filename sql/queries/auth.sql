-- Registration, logins, sessions. They begin behind access.enter, but logout, which has a caller.

-- name: registration_begin
-- Refuses, before the password is hashed, what register_user would refuse now; a name that somebody has is answered
-- by its code, and counted.
-- $1 login text, $2 email_key text, $3 invite_code text or null, $4 settings jsonb (values by names of settings),
-- $5 look jsonb, $6 invitation_hash bytea or null
SELECT registration_begin($1, $2, $3, $4, $5, $6) AS taken;

-- name: register_user
-- An account with all that belongs to it, and its first session.
-- $1 login text, $2 email text, $3 email_key text, $4 password_hash text, $5 locale text, $6 invite_code text or null,
-- $7 access_hash bytea, $8 refresh_hash bytea, $9 settings jsonb (values by names of settings), $10 mail jsonb,
-- $11 look jsonb, $12 invitation_hash bytea or null
SELECT new_user_id, code_is_valid, is_invited, email_config_is_stored() AS mail_is_stored
FROM register_user($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);

-- name: login_begin
-- Whom a password must be checked for; raises the limits on failures.
-- $1 login text, $2 settings jsonb (values by names of settings)
SELECT candidate_id, stored_hash, coalesce(email_verified, false) AS email_verified, is_at_home,
       name_key($1) AS name_key
FROM login_begin($1, $2);

-- name: login_finish
-- Writes what became of a login and answers ok, refused, suspended, risky or factor.
-- $1 login text, $2 candidate_id uuid or null, $3 is_right boolean, $4 checked_hash text, $5 new_hash text or null,
-- $6 access_hash bytea, $7 refresh_hash bytea, $8 factor_hash bytea, $9 settings jsonb (values by names of settings)
SELECT outcome, factors FROM login_finish($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: session_refresh
-- Rotates the first refresh token that lives and answers ok, invalid or reused.
-- $1 given_hashes bytea (of 32 bytes each), $2 access_hash bytea, $3 refresh_hash bytea,
-- $4 auth_access_token_seconds integer,
-- $5 auth_refresh_token_seconds integer, $6 auth_refresh_race_seconds integer
SELECT session_refresh($1, $2, $3, $4, $5, $6) AS outcome;

-- name: session_end
-- Ends the caller's session, or all of the user's.
-- $1 is_all boolean
SELECT session_end($1);

-- name: login_exists
-- Whether somebody has this login, username or email.
-- $1 login text, $2 limit_checks_per_minute integer
SELECT login_exists($1, $2) AS is_taken;
