-- Live settings.

-- name: settings_all
-- What administrators changed; a secret one comes sealed.
SELECT key, value, secret_id, secret_kind, key_version, wrapped_key, sealed FROM settings_all();
