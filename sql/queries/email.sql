-- Mailed tokens and codes: addresses are verified and changed, sessions begin without a password.

-- name: email_verification_send
-- $1 mail jsonb, $2 limit_verification_mails_per_minute integer, $3 limit_verification_mails_per_hour integer,
-- $4 auth_email_token_seconds integer
SELECT email_verification_send($1, $2, $3, $4);

-- name: email_change_begin
-- $1 email text, $2 email_key text, $3 own_hash text or null (a session that may do without), $4 mail jsonb,
-- $5 limit_verification_mails_per_hour integer, $6 auth_forgot_password_seconds integer,
-- $7 auth_email_token_seconds integer
SELECT email_change_begin($1, $2, $3, $4, $5, $6, $7) AS is_taken;

-- name: email_confirm
-- $1 given_hash bytea, $2 mail jsonb (the way back, for a change), $3 auth_email_token_seconds integer,
-- $4 auth_email_revert_seconds integer
SELECT email_confirm($1, $2, $3, $4);

-- name: email_revert
-- $1 given_hash bytea
SELECT email_revert($1);

-- name: login_code_subject
-- Whose code it will be, or nobody's id.
-- $1 email_key text
SELECT subject_id, secret_id FROM login_code_subject($1);

-- name: login_code_send
-- Stores the code and queues its mail.
-- $1 email_key text, $2 subject_id uuid, $3 hmac bytea, $4 secret jsonb, $5 auth_otp_seconds integer,
-- $6 limit_otp_window_seconds integer, $7 limit_otp_sends_per_email integer, $8 limit_otp_sends_per_ip integer,
-- $9 limit_otp_sends_per_email_day integer
SELECT login_code_send($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: login_code_verify
-- Answers ok, refused, suspended or factor.
-- $1 email_key text, $2 hmac bytea, $3 access_hash bytea, $4 refresh_hash bytea, $5 factor_hash bytea,
-- $6 limit_otp_guesses integer, $7 limit_otp_failures_per_account_day integer, $8 auth_access_token_seconds integer,
-- $9 auth_refresh_token_seconds integer, $10 limit_sessions_per_user integer
SELECT outcome, factors FROM login_code_verify($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);
