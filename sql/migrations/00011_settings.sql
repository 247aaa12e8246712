-- Why: every process reads all live settings, secret ones sealed, without an administrator's rights.
-- Locks: none.

CREATE FUNCTION settings_all()
RETURNS TABLE (key text, value jsonb, secret_id uuid, secret_kind text, key_version integer,
               wrapped_key bytea, sealed bytea)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT t.key, t.value, s.id, s.kind, s.key_version, s.wrapped_key, s.sealed
    FROM settings t LEFT JOIN secrets s ON s.id = t.secret_id ORDER BY t.key
$$;
