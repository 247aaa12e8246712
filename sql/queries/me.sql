-- The calling user: profile, role and permissions.

-- name: me_show
-- The profile, with role and permissions in the current organization.
SELECT me_json() AS item;

-- name: me_update
-- $1 changes jsonb (only the members that change)
SELECT me_update($1) AS item;

-- name: own_password_begin
-- What the caller's password is checked with; raises the limits on failures.
-- $1 settings jsonb (values by names of settings)
SELECT stored_hash, login, email, may_forget, has_factor, is_confirmed FROM own_password_begin($1);

-- name: own_password_refused
-- Counts a wrong password.
-- $1 action text, $2 settings jsonb (values by names of settings)
SELECT own_password_refused($1, $2);

-- name: own_password_set
-- $1 own_hash text or null (forgotten, or confirmed), $2 new_hash text, $3 auth_forgot_password_seconds integer
SELECT own_password_set($1, $2, $3);

-- name: session_prove_by_password
-- $1 own_hash text
SELECT session_prove_by_password($1);

-- name: session_prove_by_code
-- Answers ok or refused.
-- $1 hmac bytea, $2 limit_otp_guesses integer, $3 limit_otp_failures_per_account_day integer
SELECT session_prove_by_code($1, $2, $3) AS outcome;

-- name: me_delete
-- Deletes the caller and answers the runs that were stopped.
-- $1 own_hash text or null (confirmed)
SELECT me_delete($1);

-- name: session_page
-- The caller's sessions that live.
-- $1 limit integer, $2 before uuid or null
SELECT id, item FROM session_page($1::integer + 1, $2) ORDER BY id DESC;

-- name: session_revoke
-- $1 session_id uuid
SELECT session_revoke($1);

-- name: caller_seen
-- After an answer.
-- $1 session_id uuid or null, $2 api_key_id uuid or null, $3 client_ip text (an IP address)
SELECT caller_seen($1, $2, $3::text::inet);

-- name: invite_code_own
-- The caller's active invitation code.
SELECT own_invite_code() AS item;

-- name: invite_code_reset
-- $1 invite_default_max_uses integer, $2 invite_reset_seconds integer
SELECT own_invite_code_reset($1, $2) AS item;
