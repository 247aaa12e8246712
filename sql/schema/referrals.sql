-- Administrators find and change invitation codes, and see who brought whom.

CREATE OR REPLACE FUNCTION admin_invite_code_json(c invite_codes, user_login text, user_email text) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', c.id, 'user_id', c.user_id, 'code', c.code, 'max_uses', c.max_uses,
        'use_count', c.use_count, 'is_active', c.is_active, 'created_at', rfc3339(c.created_at),
        'user_login', user_login, 'user_email', user_email)
$$;

-- The code, or its 404.
CREATE OR REPLACE FUNCTION admin_invite_code_show(wanted uuid) RETURNS json
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
CREATE OR REPLACE FUNCTION admin_invite_code_page(typed text, page_limit integer, before uuid)
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
CREATE OR REPLACE FUNCTION admin_invite_code_update(wanted uuid, changes jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state invite_codes;
    new_state invite_codes;
BEGIN
    PERFORM need_platform_admin();
    SELECT * INTO old_state FROM invite_codes WHERE id = wanted FOR NO KEY UPDATE;
    IF old_state.id IS NULL THEN
        PERFORM fail('invite_codes.not_found');
    ELSIF (changes ->> 'max_uses')::integer < old_state.use_count THEN
        PERFORM fail('validation.error', 'below_use_count', jsonb_build_object('use_count', old_state.use_count));
    END IF;
    UPDATE invite_codes SET max_uses = coalesce((changes ->> 'max_uses')::integer, max_uses),
        is_active = coalesce((changes ->> 'is_active')::boolean, is_active)
    WHERE id = wanted RETURNING * INTO new_state;
    PERFORM audit('invite_codes.update', 'invite_code', old_state.id::text, NULL,
                  jsonb_build_object('max_uses', old_state.max_uses, 'is_active', old_state.is_active),
                  jsonb_build_object('max_uses', new_state.max_uses, 'is_active', new_state.is_active));
    RETURN admin_invite_code_show(wanted);
END
$$;

CREATE OR REPLACE FUNCTION referral_json(r referrals, inviter_login text, invitee_login text) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', r.id, 'inviter_user_id', r.inviter_user_id, 'inviter_login', inviter_login,
        'invitee_user_id', r.invitee_user_id, 'invitee_login', invitee_login, 'invite_code_id', r.invite_code_id,
        'credited', r.credited, 'created_at', rfc3339(r.created_at))
$$;

-- Newest first, of one inviter or of all.
CREATE OR REPLACE FUNCTION referral_page(inviter uuid, page_limit integer, before uuid)
RETURNS TABLE (id uuid, item json)
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

CREATE OR REPLACE FUNCTION referral_node_json(u users, inviter uuid, depth integer) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('user_id', u.id, 'login', u.login, 'inviter_id', inviter, 'depth', depth,
        'created_at', rfc3339(u.created_at))
$$;

-- Users whom a user invited, and their invitees in turn: level after level, ten at most and nodes_max nodes in all, so
-- that neither a long chain nor a wide level costs more than that. If there are more, the first count.
CREATE OR REPLACE FUNCTION referral_tree(root uuid, nodes_max integer) RETURNS json
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
    RETURN (SELECT json_agg(referral_node_json(u, n.inviter, n.depth) ORDER BY n.depth, u.created_at, n.ordinal)
            FROM unnest(nodes, inviters, depths) WITH ORDINALITY AS n(user_id, inviter, depth, ordinal)
            JOIN users u ON u.id = n.user_id);
END
$$;
REVOKE EXECUTE ON FUNCTION admin_invite_code_json, referral_json, referral_node_json FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION admin_invite_code_show, admin_invite_code_page, admin_invite_code_update, referral_page,
    referral_tree
    FROM hostler_runner;
