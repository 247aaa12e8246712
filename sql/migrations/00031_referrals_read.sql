-- Why: administrators find and change invitation codes, and see who brought whom. Locks: invite_codes and users,
-- exclusively, for a column with its indexes and a trigger.

-- What a code is found by: code, and login and email of its owner, as they are now.
ALTER TABLE invite_codes ADD COLUMN search_text text NOT NULL DEFAULT '';
CREATE FUNCTION invite_code_search_text(code text, u users) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT name_key(code) || E'\n' || name_key(u.login) || E'\n' || name_key(u.email)
$$;
CREATE FUNCTION invite_codes_fill_search() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    SELECT invite_code_search_text(NEW.code, u) INTO STRICT NEW.search_text FROM users u WHERE u.id = NEW.user_id;
    RETURN NEW;
END
$$;
CREATE TRIGGER invite_codes_search BEFORE INSERT ON invite_codes
    FOR EACH ROW EXECUTE FUNCTION invite_codes_fill_search();
CREATE FUNCTION users_refill_code_search() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE invite_codes c SET search_text = invite_code_search_text(c.code, NEW) WHERE c.user_id = NEW.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER users_code_search AFTER UPDATE OF login, email ON users
    FOR EACH ROW WHEN (OLD.login <> NEW.login OR OLD.email <> NEW.email)
    EXECUTE FUNCTION users_refill_code_search();
UPDATE invite_codes c SET search_text = invite_code_search_text(c.code, u) FROM users u WHERE u.id = c.user_id;
CREATE INDEX invite_codes_search ON invite_codes USING gin (search_text gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX invite_codes_search_short ON invite_codes USING gin (short_pieces(search_text)) WITH (fastupdate = off);

CREATE FUNCTION admin_invite_code_json(c invite_codes, user_login text, user_email text) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', c.id, 'user_id', c.user_id, 'code', c.code, 'max_uses', c.max_uses,
        'use_count', c.use_count, 'is_active', c.is_active, 'created_at', rfc3339(c.created_at),
        'user_login', user_login, 'user_email', user_email)
$$;

-- The code, or its 404.
CREATE FUNCTION admin_invite_code_show(wanted uuid) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    item json;
BEGIN
    PERFORM need_platform_admin();
    SELECT admin_invite_code_json(c, u.login, u.email) INTO item
    FROM invite_codes c JOIN users u ON u.id = c.user_id WHERE c.id = wanted;
    IF item IS NULL THEN
        PERFORM fail('invite_codes.not_found');
    END IF;
    RETURN item;
END
$$;

-- Newest first; planned as admin_user_page is.
CREATE FUNCTION admin_invite_code_page(typed text, page_limit integer, before uuid)
RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    sought text;
    sought_pieces text[];
BEGIN
    PERFORM need_platform_admin();
    SELECT p.pattern, p.pieces INTO sought, sought_pieces FROM part_sought(typed) AS p;
    RETURN QUERY SELECT c.id, admin_invite_code_json(c, u.login, u.email)
        FROM invite_codes c JOIN users u ON u.id = c.user_id
        WHERE (before IS NULL OR c.id < before) AND (sought IS NULL OR c.search_text LIKE sought)
              AND (sought_pieces IS NULL OR short_pieces(c.search_text) @> sought_pieces)
        ORDER BY c.id DESC LIMIT page_limit;
END
$$;

-- changes holds max_uses, is_active or both. Waits for registrations that use the code just now.
CREATE FUNCTION admin_invite_code_update(wanted uuid, changes jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    was invite_codes;
    now_is invite_codes;
BEGIN
    PERFORM need_platform_admin();
    SELECT * INTO was FROM invite_codes WHERE id = wanted FOR NO KEY UPDATE;
    IF was.id IS NULL THEN
        PERFORM fail('invite_codes.not_found');
    ELSIF (changes ->> 'max_uses')::integer < was.use_count THEN
        PERFORM fail('validation.error', format('must not be below the %s uses there were', was.use_count),
                     '{"field": "max_uses", "fault": "out_of_range"}');
    END IF;
    UPDATE invite_codes SET max_uses = coalesce((changes ->> 'max_uses')::integer, max_uses),
        is_active = coalesce((changes ->> 'is_active')::boolean, is_active)
    WHERE id = wanted RETURNING * INTO now_is;
    PERFORM audit('invite_codes.update', 'invite_code', was.id::text, NULL,
                  jsonb_build_object('max_uses', was.max_uses, 'is_active', was.is_active),
                  jsonb_build_object('max_uses', now_is.max_uses, 'is_active', now_is.is_active));
    RETURN admin_invite_code_show(wanted);
END
$$;

CREATE FUNCTION referral_json(r referrals, inviter_login text, invitee_login text) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', r.id, 'inviter_user_id', r.inviter_user_id, 'inviter_login', inviter_login,
        'invitee_user_id', r.invitee_user_id, 'invitee_login', invitee_login, 'invite_code_id', r.invite_code_id,
        'credited', r.credited, 'created_at', rfc3339(r.created_at))
$$;

-- Newest first, of one inviter or of all.
CREATE FUNCTION referral_page(inviter uuid, page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    PERFORM need_platform_admin();
    RETURN QUERY SELECT r.id, referral_json(r, u.login, v.login)
        FROM referrals r JOIN users u ON u.id = r.inviter_user_id JOIN users v ON v.id = r.invitee_user_id
        WHERE (inviter IS NULL OR r.inviter_user_id = inviter) AND (before IS NULL OR r.id < before)
        ORDER BY r.id DESC LIMIT page_limit;
END
$$;

CREATE FUNCTION referral_node_json(u users, inviter uuid, depth integer) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('user_id', u.id, 'login', u.login, 'inviter_id', inviter, 'depth', depth,
        'created_at', rfc3339(u.created_at))
$$;

-- Whom a user brought, and they in turn: level after level, ten at most and nodes_max nodes in all, so that neither a
-- long chain nor a wide level costs more than that. Of a user who brought very many, the first count.
CREATE FUNCTION referral_tree(root uuid, nodes_max integer) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    nodes uuid[] := ARRAY[(admin_user(root)).id];
    inviters uuid[] := ARRAY[NULL]::uuid[];
    depths integer[] := ARRAY[0];
    level uuid[] := nodes;
    level_inviters uuid[];
BEGIN
    FOR depth IN 1..10 LOOP
        SELECT array_agg(found.invitee_user_id ORDER BY found.id), array_agg(found.inviter ORDER BY found.id)
        INTO level, level_inviters
        FROM (SELECT r.id, r.invitee_user_id, l.inviter
              FROM unnest(level) AS l(inviter)
              CROSS JOIN LATERAL (SELECT f.id, f.invitee_user_id FROM referrals f WHERE f.inviter_user_id = l.inviter
                                  ORDER BY f.id LIMIT nodes_max - cardinality(nodes)) AS r
              ORDER BY r.id LIMIT nodes_max - cardinality(nodes)) AS found;
        EXIT WHEN level IS NULL;
        nodes := nodes || level;
        inviters := inviters || level_inviters;
        depths := depths || array_fill(depth, ARRAY[cardinality(level)]);
    END LOOP;
    RETURN (SELECT json_agg(referral_node_json(u, n.inviter, n.depth) ORDER BY n.depth, u.created_at, n.place)
            FROM unnest(nodes, inviters, depths) WITH ORDINALITY AS n(user_id, inviter, depth, place)
            JOIN users u ON u.id = n.user_id);
END
$$;

REVOKE EXECUTE ON FUNCTION invite_code_search_text, invite_codes_fill_search, users_refill_code_search,
    admin_invite_code_json, referral_json, referral_node_json FROM hostler_api;
REVOKE EXECUTE ON FUNCTION invite_code_search_text, invite_codes_fill_search, users_refill_code_search,
    admin_invite_code_json, admin_invite_code_show, admin_invite_code_page, admin_invite_code_update, referral_json,
    referral_page, referral_node_json, referral_tree FROM hostler_runner;
