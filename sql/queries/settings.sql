-- Live settings that administrators changed: read by every process, written behind access.authenticate.

-- name: settings_all
-- What administrators changed; a secret one comes sealed.
SELECT key, value, secret_id, secret_kind, key_version, wrapped_key, sealed FROM settings_all();

-- name: setting_set
-- Behind access.authenticate.
-- $1 key text, $2 value jsonb or null, $3 secret jsonb or null ({id, key_version, wrapped_key, sealed})
SELECT setting_set($1, $2, $3);

-- name: setting_unset
-- Behind access.authenticate.
-- $1 key text
SELECT setting_unset($1);
