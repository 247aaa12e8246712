-- Administrators find, read, change and delete users.

-- Converts a typed text into a search for a part of a text of name_key: a pattern in which % and _ are themselves. If
-- the text has no three letters or digits in a row, also pieces that must occur. Nulls if nothing was typed.
CREATE OR REPLACE FUNCTION part_sought(typed text, OUT pattern text, OUT pieces text[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT '%' || regexp_replace(key, '([\\%_])', '\\\1', 'g') || '%',
           CASE WHEN length(key) = 1 THEN ARRAY[key]
                WHEN key !~ '[[:alnum:]]{3}' THEN
                    ARRAY(SELECT DISTINCT substr(key, i, 2) FROM generate_series(1, length(key) - 1) AS i) END
    FROM (SELECT name_key(nullif(typed, '')) AS key) AS sought WHERE key <> ''
$$;

CREATE OR REPLACE FUNCTION admin_user_json(u users) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', u.id, 'login', u.login, 'username', u.username, 'email', u.email,
        'status', u.status, 'avatar_url', u.avatar_url, 'locale', u.locale, 'timezone', u.timezone,
        'last_login_at', rfc3339(u.last_login_at), 'created_at', rfc3339(u.created_at))
$$;

CREATE OR REPLACE FUNCTION admin_user_detail_json(u users) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT json_build_object('id', u.id, 'login', u.login, 'username', u.username, 'email', u.email,
        'status', u.status, 'avatar_url', u.avatar_url, 'locale', u.locale, 'timezone', u.timezone,
        'last_login_at', rfc3339(u.last_login_at), 'created_at', rfc3339(u.created_at),
        'email_verified', u.email_verified_at IS NOT NULL, 'platform_admin', u.platform_admin,
        'orgs', coalesce((SELECT json_agg(json_build_object('org_id', o.id, 'name', o.name, 'role', m.role)
                                          ORDER BY o.id)
                          FROM org_members m JOIN orgs o ON o.id = m.org_id WHERE m.user_id = u.id), '[]'))
$$;

-- The user, deleted ones too; or the 404.
CREATE OR REPLACE FUNCTION admin_user(of_user uuid) RETURNS users
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    u users;
BEGIN
    PERFORM need_platform_admin();
    SELECT * INTO u FROM users WHERE id = of_user;
    IF u.id IS NULL THEN
        PERFORM fail('users.not_found');
    END IF;
    RETURN u;
END
$$;

CREATE OR REPLACE FUNCTION admin_user_show(of_user uuid) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT admin_user_detail_json(admin_user(of_user))
$$;

-- Newest first. Planned again each time, because the best index (search, or order of ids) depends on the query.
CREATE OR REPLACE FUNCTION admin_user_page(typed text, wanted_status text, page_limit integer, before uuid)
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

-- Another address is not verified unless that is said with it; what was mailed to the old one is void.
CREATE OR REPLACE FUNCTION user_set_email(u users, new_email text, new_email_key text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF new_email = u.email THEN
        RETURN;
    END IF;
    IF new_email_key = u.email_key THEN
        UPDATE users SET email = new_email WHERE id = u.id;
    ELSE
        UPDATE users SET email = new_email, email_key = new_email_key, email_verified_at = NULL WHERE id = u.id;
        DELETE FROM email_tokens WHERE user_id = u.id;
        DELETE FROM login_codes WHERE user_id = u.id;
    END IF;
EXCEPTION WHEN unique_violation THEN
    PERFORM fail('auth.email_exists');
END
$$;

-- Tells the address that an account had that an administrator set another, or whether it counts as proved.
CREATE OR REPLACE FUNCTION email_set_mail(old_state users, is_another boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM mail_queue('email_set', old_state.email, old_state.locale, jsonb_strip_nulls(jsonb_build_object(
        'username', old_state.username, 'is_another', nullif(is_another, false))), NULL, old_state.email_key,
        old_state.id);
END
$$;

-- The part of a profile that the audit log keeps. It outlives the user, so it has neither names nor address, nor hashes
-- of them.
CREATE OR REPLACE FUNCTION user_audit_state(u users) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('email_verified', u.email_verified_at IS NOT NULL, 'locale', u.locale,
        'timezone', u.timezone)
$$;

-- PATCH /v1/admin/users/{user_id}: changes holds only what is to change, username_look beside a username and email_key
-- beside an address. A deleted user does not come back.
CREATE OR REPLACE FUNCTION admin_user_update(of_user uuid, changes jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state users := admin_user(of_user);
    new_state users;
    named_anew jsonb;
BEGIN
    IF of_user = current_user_id() AND changes ->> 'status' = 'suspended' THEN
        PERFORM fail('users.self', 'suspends_self');
    END IF;
    IF changes ? 'status' THEN
        PERFORM user_set_status(of_user, changes ->> 'status');
    END IF;
    SELECT * INTO old_state FROM users WHERE id = of_user AND status <> 'deleted' FOR NO KEY UPDATE;
    IF old_state.id IS NULL THEN
        PERFORM fail('users.not_found', 'user_deleted');
    END IF;
    -- With the proof of the address the factors go: DELETE …/factors refuses that.
    IF old_state.platform_admin AND old_state.has_factor AND of_user <> current_user_id()
       AND (changes ->> 'email_key' <> old_state.email_key OR changes ->> 'email_verified' = 'false') THEN
        PERFORM fail('auth.forbidden', 'factors_of_admin');
    END IF;
    IF changes ? 'username' THEN
        PERFORM user_rename(old_state, changes ->> 'username', changes -> 'username_look');
    END IF;
    IF changes ? 'email' THEN
        PERFORM user_set_email(old_state, changes ->> 'email', changes ->> 'email_key');
    END IF;
    UPDATE users SET locale = coalesce(changes ->> 'locale', locale),
        timezone = coalesce(changes ->> 'timezone', timezone),
        email_verified_at = CASE (changes ->> 'email_verified')::boolean
            WHEN true THEN coalesce(email_verified_at, clock_timestamp()) WHEN false THEN NULL
            ELSE email_verified_at END
    WHERE id = of_user RETURNING * INTO new_state;
    named_anew := jsonb_build_object('username_changed', new_state.username <> old_state.username,
                                     'email_changed', new_state.email <> old_state.email);
    IF new_state.email <> old_state.email
       OR (new_state.email_verified_at IS NULL) <> (old_state.email_verified_at IS NULL) THEN
        PERFORM email_set_mail(old_state, new_state.email <> old_state.email);
    END IF;
    IF user_audit_state(new_state) <> user_audit_state(old_state) OR named_anew @? '$.* ? (@ == true)' THEN
        PERFORM audit('users.update', 'user', of_user::text, NULL, user_audit_state(old_state),
                      user_audit_state(new_state) || named_anew);
    END IF;
    RETURN admin_user_detail_json(new_state);
END
$$;

-- Before an administrator deletes a user: workspaces that have no other active owner get their longest-serving admin
-- as one, else their longest-serving member, those who are active before those who are not; those without any other
-- member are closed, as by DELETE /v1/orgs/{org_id}.
CREATE OR REPLACE FUNCTION workspaces_hand_over(of_user uuid, privacy_org_delete_days integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    workspace uuid;
    heir org_members;
BEGIN
    PERFORM 1 FROM orgs o WHERE o.type = 'workspace'
        AND o.id IN (SELECT m.org_id FROM org_members m WHERE m.user_id = of_user)
    ORDER BY o.id FOR NO KEY UPDATE;
    FOR workspace IN
        SELECT o.id FROM orgs o JOIN org_members m ON m.org_id = o.id
        WHERE m.user_id = of_user AND m.role = 'owner' AND o.type = 'workspace' ORDER BY o.id
    LOOP
        SELECT m.* INTO heir FROM org_members m JOIN users u ON u.id = m.user_id
        WHERE m.org_id = workspace AND m.user_id <> of_user
        ORDER BY u.status = 'active' DESC, m.role = 'owner' DESC, m.role = 'admin' DESC, m.created_at, m.user_id
        LIMIT 1;
        IF heir.role IS NULL THEN
            PERFORM org_close(workspace, privacy_org_delete_days);
        ELSIF heir.role <> 'owner' THEN
            UPDATE org_members SET role = 'owner' WHERE org_id = workspace AND user_id = heir.user_id;
            PERFORM audit('orgs.member_role', 'member', heir.user_id::text, workspace,
                          jsonb_build_object('role', heir.role), '{"role": "owner"}');
        END IF;
        DELETE FROM org_members WHERE org_id = workspace AND user_id = of_user;
    END LOOP;
END
$$;

-- DELETE /v1/admin/users/{user_id}.
CREATE OR REPLACE FUNCTION admin_user_delete(of_user uuid, privacy_org_delete_days integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state users := admin_user(of_user);
BEGIN
    IF of_user = current_user_id() THEN
        PERFORM fail('users.self', 'deletes_self');
    END IF;
    PERFORM last_admin_guard(of_user);  -- first, as everywhere: its lock stands before those of organizations
    PERFORM workspaces_hand_over(of_user, privacy_org_delete_days);
    PERFORM user_delete(of_user);
    PERFORM audit('users.delete', 'user', of_user::text, NULL, jsonb_build_object('status', old_state.status),
                  '{"status": "deleted"}');
END
$$;
REVOKE EXECUTE ON FUNCTION admin_user_detail_json, user_set_email, email_set_mail, user_audit_state,
    workspaces_hand_over FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION admin_user, admin_user_show, admin_user_page, admin_user_update, admin_user_delete FROM
    hostler_runner;
