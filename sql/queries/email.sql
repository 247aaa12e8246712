-- Mailed tokens and codes: addresses are verified and changed, sessions begin without a password.

-- name: email_verification_send
-- $1 mail jsonb, $2 limit_verification_mails_per_minute integer, $3 limit_verification_mails_per_hour integer
SELECT email_verification_send($1, $2, $3);

-- name: email_change_begin
-- $1 email text, $2 own_hash text or null (a session that may do without), $3 mail jsonb,
-- $4 limit_verification_mails_per_hour integer, $5 terms jsonb
SELECT email_change_begin($1, $2, $3, $4, $5);

-- name: email_confirm
-- $1 given_hash bytea, $2 mail jsonb (the way back, for a change), $3 auth_email_token_seconds integer
SELECT email_confirm($1, $2, $3);

-- name: email_revert
-- $1 given_hash bytea
SELECT email_revert($1);

-- name: login_code_subject
-- Whose code it will be, or nobody's id.
-- $1 email text
SELECT subject_id, secret_id, name_key($1) AS name_key FROM login_code_subject($1);

-- name: login_code_send
-- Stores the code and queues its mail.
-- $1 email text, $2 subject_id uuid, $3 otp jsonb, $4 limits jsonb
SELECT login_code_send($1, $2, $3, $4);

-- name: login_code_verify
-- Answers ok, refused or suspended.
-- $1 email text, $2 hmac bytea, $3 limits jsonb, $4 access_hash bytea, $5 refresh_hash bytea, $6 terms jsonb
SELECT login_code_verify($1, $2, $3, $4, $5, $6) AS outcome;
