-- Calls that are to happen once (Idempotency-Key). Every statement here runs in the transaction of the call.

-- name: idempotency_begin
-- Locks the call until the transaction ends; raises when it is running, or was made with another body. The
-- sealed first answer, or nulls.
-- $1 call_hash bytea, $2 body_hash bytea
SELECT secret_id, key_version, wrapped_key, sealed, new_secret_id FROM idempotency_begin($1, $2);

-- name: idempotency_keep
-- $1 call_hash bytea, $2 body_hash bytea, $3 secret jsonb, $4 limit_stored_bytes bigint
SELECT idempotency_keep($1, $2, $3, $4);
