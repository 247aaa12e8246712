-- Why: administrators find and read users. Locks: users, exclusively, for a column and its indexes.

CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- Every piece of one or two characters, for searches in which trigrams find nothing to look up. Costs so much that a
-- plan evaluates it for few rows only.
CREATE FUNCTION short_pieces(content text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 2000 SET search_path = pg_catalog AS $$
    SELECT array_agg(DISTINCT substr(content, i, n))
    FROM generate_series(1, length(content)) AS i, generate_series(1, 2) AS n
$$;

-- What somebody typed, as a part of a text of name_key: a pattern in which % and _ are themselves; and, when the typed
-- holds no three letters or digits in a row, pieces that must occur. Nulls when nothing was typed.
CREATE FUNCTION part_sought(typed text, OUT pattern text, OUT pieces text[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = public, pg_catalog AS $$
    SELECT '%' || regexp_replace(key, '([\\%_])', '\\\1', 'g') || '%',
           CASE WHEN length(key) = 1 THEN ARRAY[key]
                WHEN key !~ '[[:alnum:]]{3}' THEN
                    ARRAY(SELECT DISTINCT substr(key, i, 2) FROM generate_series(1, length(key) - 1) AS i) END
    FROM (SELECT name_key(nullif(typed, '')) AS key) AS sought WHERE key <> ''
$$;

-- Names hold no line feed, and no search does: what is found lies within one of them.
ALTER TABLE users ADD COLUMN search_text text NOT NULL
    GENERATED ALWAYS AS (name_key(login) || E'\n' || name_key(username) || E'\n' || name_key(email)) STORED;
-- Without pending lists: a search costs the same whenever it comes, and users are written seldom.
CREATE INDEX users_search ON users USING gin (search_text gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX users_search_short ON users USING gin (short_pieces(search_text)) WITH (fastupdate = off);
CREATE INDEX users_status ON users (status, id);

CREATE FUNCTION admin_user_json(u users) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', u.id, 'login', u.login, 'username', u.username, 'email', u.email,
        'status', u.status, 'avatar_url', u.avatar_url, 'locale', u.locale, 'timezone', u.timezone,
        'last_login_at', rfc3339(u.last_login_at), 'created_at', rfc3339(u.created_at))
$$;

CREATE FUNCTION admin_user_detail_json(u users) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT json_build_object('id', u.id, 'login', u.login, 'username', u.username, 'email', u.email,
        'status', u.status, 'avatar_url', u.avatar_url, 'locale', u.locale, 'timezone', u.timezone,
        'last_login_at', rfc3339(u.last_login_at), 'created_at', rfc3339(u.created_at),
        'email_verified', u.email_verified_at IS NOT NULL, 'platform_admin', u.platform_admin,
        'orgs', coalesce((SELECT json_agg(json_build_object('org_id', o.id, 'name', o.name, 'role', m.role)
                                          ORDER BY o.id)
                          FROM org_members m JOIN orgs o ON o.id = m.org_id WHERE m.user_id = u.id), '[]'))
$$;
REVOKE EXECUTE ON FUNCTION admin_user_detail_json FROM hostler_api, hostler_runner;

-- The user, deleted ones too; or the 404.
CREATE FUNCTION admin_user(who uuid) RETURNS users
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    u users;
BEGIN
    PERFORM need_platform_admin();
    SELECT * INTO u FROM users WHERE id = who;
    IF u.id IS NULL THEN
        PERFORM fail('users.not_found');
    END IF;
    RETURN u;
END
$$;

CREATE FUNCTION admin_user_show(who uuid) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT admin_user_detail_json(admin_user(who))
$$;

-- Newest first. Planned anew each time: whether the search index or the order of ids is shorter depends on what is
-- sought.
CREATE FUNCTION admin_user_page(typed text, wanted_status text, page_limit integer, before uuid)
RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    sought text;
    sought_pieces text[];
BEGIN
    PERFORM need_platform_admin();
    SELECT p.pattern, p.pieces INTO sought, sought_pieces FROM part_sought(typed) AS p;
    RETURN QUERY SELECT u.id, admin_user_json(u) FROM users u
        WHERE (before IS NULL OR u.id < before) AND (wanted_status IS NULL OR u.status = wanted_status)
              AND (sought IS NULL OR u.search_text LIKE sought)
              AND (sought_pieces IS NULL OR short_pieces(u.search_text) @> sought_pieces)
        ORDER BY u.id DESC LIMIT page_limit;
END
$$;
REVOKE EXECUTE ON FUNCTION admin_user, admin_user_show, admin_user_page FROM hostler_runner;
