-- How mail is sent, for platform administrators.

-- name: email_config_show
-- What is stored, the password sealed; no row when nothing is.
SELECT sender, smtp_host, smtp_port, smtp_user, smtp_tls_mode, secret_id, key_version, wrapped_key, sealed
FROM email_config_stored();

-- name: email_config_set
-- $1 wanted jsonb, $2 secret jsonb or null
SELECT email_config_set($1, $2);

-- name: email_test_audit
-- $1 recipient text, $2 error text or null
SELECT email_test_audit($1, $2);
