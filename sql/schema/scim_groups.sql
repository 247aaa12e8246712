-- SCIM groups of an organization. Their names, or their external ids, are those of the role_map of the organization's
-- identity providers: a group that it names gives its members the role admin or member, never owner.
--
-- Groups have users of scim_users as members, and no groups. limit.members bounds how many a change touches.

CREATE TABLE scim_groups (
    org_id uuid NOT NULL REFERENCES orgs,
    id uuid NOT NULL DEFAULT public.uuidv7(),
    display_name text NOT NULL,
    display_key text COLLATE "C" NOT NULL,  -- name_key() of it
    external_id text COLLATE "C",
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, id),
    UNIQUE (org_id, display_key)
);
CREATE INDEX scim_groups_external ON scim_groups (org_id, external_id) WHERE external_id IS NOT NULL;
SELECT make_tenant_table('scim_groups');

CREATE TABLE scim_group_members (
    org_id uuid NOT NULL,
    group_id uuid NOT NULL,
    member_id uuid NOT NULL,  -- scim_users.id
    PRIMARY KEY (org_id, group_id, member_id),
    FOREIGN KEY (org_id, group_id) REFERENCES scim_groups ON DELETE CASCADE,
    FOREIGN KEY (org_id, member_id) REFERENCES scim_users ON DELETE CASCADE
);
CREATE INDEX scim_group_members_member ON scim_group_members (org_id, member_id);
SELECT make_tenant_table('scim_group_members');

-- The role that the groups of a user give: the highest that matches; null for none.
CREATE OR REPLACE FUNCTION scim_group_role(org uuid, of_member uuid) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT min(role.given)  -- admin comes before member
    FROM scim_group_members m JOIN scim_groups g ON g.org_id = m.org_id AND g.id = m.group_id
    JOIN identity_providers p ON p.org_id = org AND p.is_active
    CROSS JOIN LATERAL (VALUES (p.role_map ->> g.display_name), (p.role_map ->> g.external_id)) AS role (given)
    WHERE m.org_id = org AND m.member_id = of_member AND role.given IN ('admin', 'member')
$$;

-- Gives users the role of their groups, where that changed; to no owner and no platform administrator. The
-- organization's row is locked.
CREATE OR REPLACE FUNCTION scim_roles_renew(org uuid, of_members uuid[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    WITH wanted AS (
        SELECT s.id, s.user_id, s.group_role AS old_role, scim_group_role(org, s.id) AS new_role FROM scim_users s
        WHERE s.org_id = org AND s.id = ANY (of_members)),
    changed AS (
        UPDATE scim_users s SET group_role = w.new_role FROM wanted w
        WHERE s.org_id = org AND s.id = w.id AND w.old_role IS DISTINCT FROM w.new_role
        RETURNING w.user_id, w.old_role, w.new_role)
    UPDATE org_members m SET role = coalesce(c.new_role, 'member')
    FROM changed c JOIN users u ON u.id = c.user_id AND NOT u.platform_admin
    WHERE m.org_id = org AND m.user_id = c.user_id AND m.role <> 'owner'
          AND m.role <> coalesce(c.new_role, 'member') AND (c.new_role IS NOT NULL OR c.old_role = 'admin')
$$;

-- A provider came, went, or names other groups.
CREATE OR REPLACE FUNCTION scim_roles_of_provider() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid := CASE TG_OP WHEN 'DELETE' THEN OLD.org_id ELSE NEW.org_id END;
BEGIN
    IF org IS NOT NULL AND EXISTS (SELECT FROM scim_groups g WHERE g.org_id = org) THEN
        PERFORM FROM orgs o WHERE o.id = org FOR NO KEY UPDATE;
        PERFORM scim_roles_renew(org, ARRAY(SELECT DISTINCT m.member_id FROM scim_group_members m
                                            WHERE m.org_id = org));
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER scim_roles AFTER INSERT OR DELETE OR UPDATE OF role_map, is_active ON identity_providers
    FOR EACH ROW EXECUTE FUNCTION scim_roles_of_provider();

-- For dispatch: the 404 of the path's group comes before a fault of the body.
CREATE OR REPLACE FUNCTION scim_group_check(scim_id uuid) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM scim_groups g WHERE g.org_id = scim_org() AND g.id = scim_id) THEN
        PERFORM fail('scim.not_found');
    END IF;
END
$$;

-- A group as a client of SCIM reads it (RFC 7643, section 4.2).
CREATE OR REPLACE FUNCTION scim_group_json(g scim_groups, site text, with_members boolean) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object('schemas', '["urn:ietf:params:scim:schemas:core:2.0:Group"]'::jsonb,
        'id', g.id, 'externalId', g.external_id, 'displayName', g.display_name,
        'members', CASE WHEN with_members THEN coalesce((
            SELECT jsonb_agg(jsonb_build_object('value', m.member_id, 'display', s.user_name, 'type', 'User')
                             ORDER BY m.member_id)
            FROM scim_group_members m JOIN scim_users s ON s.org_id = m.org_id AND s.id = m.member_id
            WHERE m.org_id = g.org_id AND m.group_id = g.id), '[]') END,
        'meta', jsonb_build_object('resourceType', 'Group', 'created', rfc3339(g.created_at),
            'lastModified', rfc3339(g.updated_at), 'location', site || '/v1/scim/v2/Groups/' || g.id)))
$$;

-- GET /v1/scim/v2/Groups/{resource_id}.
CREATE OR REPLACE FUNCTION scim_group_show(scim_id uuid, site text, with_members boolean) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM scim_group_check(scim_id);
    RETURN (SELECT scim_group_json(g, site, with_members) FROM scim_groups g
            WHERE g.org_id = scim_org() AND g.id = scim_id);
END
$$;

-- GET /v1/scim/v2/Groups. conditions: {id, display_name, external_id, member_id}. With members a page ends after 20,000
-- of them, so that its text stays small.
CREATE OR REPLACE FUNCTION scim_group_page(conditions jsonb, start_index bigint, page_limit bigint, site text,
    with_members boolean) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    members_max constant integer := 20000;
    org uuid := scim_org();
    page jsonb;
    total bigint;
BEGIN
    WITH found AS MATERIALIZED (
        SELECT g FROM scim_groups g
        WHERE g.org_id = org AND (NOT conditions ? 'id' OR g.id::text = conditions ->> 'id')
              AND (NOT conditions ? 'display_name' OR g.display_key = name_key(conditions ->> 'display_name'))
              AND (NOT conditions ? 'external_id' OR g.external_id = conditions ->> 'external_id')
              AND (NOT conditions ? 'member_id' OR EXISTS (
                  SELECT FROM scim_group_members m
                  WHERE m.org_id = org AND m.group_id = g.id AND m.member_id::text = conditions ->> 'member_id'))),
    asked AS (
        SELECT (f.g).id, f.g FROM found f ORDER BY (f.g).id OFFSET start_index - 1 LIMIT page_limit),
    sized AS (
        SELECT a.id, a.g, row_number() OVER w AS nth, sum(CASE WHEN with_members THEN (
            SELECT count(*) FROM scim_group_members m WHERE m.org_id = org AND m.group_id = a.id) ELSE 0 END)
            OVER w AS members
        FROM asked a WINDOW w AS (ORDER BY a.id))
    SELECT (SELECT count(*) FROM found),
           coalesce((SELECT jsonb_agg(scim_group_json(s.g, site, with_members) ORDER BY s.id) FROM sized s
                     WHERE s.nth = 1 OR s.members <= members_max), '[]')
    INTO total, page;
    RETURN scim_list_json(total, start_index, page);
END
$$;

-- Stores rows of members that have none, and refuses ids of nobody.
CREATE OR REPLACE FUNCTION scim_members_adopt(org uuid, wanted uuid[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    nobody uuid;
BEGIN
    INSERT INTO scim_users SELECT (f.r).* FROM (
        SELECT scim_user_of_member(m, u) AS r
        FROM org_members m JOIN users u ON u.id = m.user_id AND u.status <> 'deleted'
        WHERE m.org_id = org AND m.user_id = ANY (wanted)
              AND NOT EXISTS (SELECT FROM scim_users s WHERE s.org_id = org AND s.user_id = m.user_id)
        OFFSET 0) AS f
    ON CONFLICT (org_id, id) DO NOTHING;
    SELECT w INTO nobody FROM unnest(wanted) AS w
    WHERE NOT EXISTS (SELECT FROM scim_users s WHERE s.org_id = org AND s.id = w) LIMIT 1;
    IF nobody IS NOT NULL THEN
        PERFORM fail('scim.invalid_value', 'member_unknown', jsonb_build_object('value', nobody));
    END IF;
END
$$;

-- A step of a change of members: add, remove or set. Returns the members that it touched.
CREATE OR REPLACE FUNCTION scim_group_step(g scim_groups, step text, wanted uuid[]) RETURNS uuid[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    touched uuid[] := '{}';
    gone uuid[] := '{}';
BEGIN
    IF step IN ('remove', 'set') THEN
        WITH removed AS (
            DELETE FROM scim_group_members m
            WHERE m.org_id = g.org_id AND m.group_id = g.id AND (m.member_id = ANY (wanted)) = (step = 'remove')
            RETURNING m.member_id)
        SELECT coalesce(array_agg(r.member_id), '{}') INTO gone FROM removed r;
    END IF;
    IF step IN ('add', 'set') THEN
        PERFORM scim_members_adopt(g.org_id, wanted);
        WITH added AS (
            INSERT INTO scim_group_members (org_id, group_id, member_id)
            SELECT DISTINCT g.org_id, g.id, w FROM unnest(wanted) AS w
            ON CONFLICT DO NOTHING RETURNING member_id)
        SELECT coalesce(array_agg(a.member_id), '{}') INTO touched FROM added a;
    END IF;
    RETURN touched || gone;
END
$$;

-- POST, PUT and PATCH of groups: steps in their order, of {do: name, external, add, remove, set; value or ids}. A new
-- group (scim_id null) begins with its name.
CREATE OR REPLACE FUNCTION scim_group_write(scim_id uuid, steps jsonb, site text, with_members boolean) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    groups_max constant integer := 1000;
    org uuid := scim_org();
    g scim_groups;
    old_state jsonb;
    step jsonb;
    touched uuid[] := '{}';
    renamed boolean := false;
BEGIN
    PERFORM scim_hold(NULL);
    IF scim_id IS NULL THEN
        IF (SELECT count(*) FROM scim_groups q WHERE q.org_id = org) >= groups_max THEN
            PERFORM fail('limits.reached', 'scim_groups_are_enough', jsonb_build_object('limit', groups_max));
        END IF;
        g.org_id := org;
        g.id := public.uuidv7();
        INSERT INTO scim_groups (org_id, id, display_name, display_key) VALUES (org, g.id, g.id::text, g.id::text);
    END IF;
    SELECT * INTO g FROM scim_groups q WHERE q.org_id = org AND q.id = coalesce(scim_id, g.id) FOR UPDATE;
    IF g.id IS NULL THEN
        PERFORM fail('scim.not_found');
    END IF;
    old_state := CASE WHEN scim_id IS NOT NULL THEN scim_group_state(g) END;
    FOR step IN SELECT e FROM jsonb_array_elements(steps) AS e LOOP
        IF step ->> 'do' = 'name' THEN
            g.display_name := step ->> 'value';
            g.display_key := name_key(g.display_name);
            renamed := true;
        ELSIF step ->> 'do' = 'external' THEN
            g.external_id := step ->> 'value';
            renamed := true;
        ELSE
            touched := touched || scim_group_step(g, step ->> 'do',
                ARRAY(SELECT i::uuid FROM jsonb_array_elements_text(step -> 'ids') AS i));
        END IF;
    END LOOP;
    g.updated_at := clock_timestamp();
    BEGIN
        UPDATE scim_groups q SET display_name = g.display_name, display_key = g.display_key,
            external_id = g.external_id, updated_at = g.updated_at
        WHERE q.org_id = org AND q.id = g.id;
    EXCEPTION WHEN unique_violation THEN
        PERFORM fail('scim.exists', 'group_exists');
    END;
    IF renamed THEN
        touched := touched || ARRAY(SELECT m.member_id FROM scim_group_members m
                                    WHERE m.org_id = org AND m.group_id = g.id);
    END IF;
    PERFORM scim_roles_renew(org, touched);
    PERFORM audit('scim.group_changed', 'scim_group', g.id::text, org, old_state, scim_group_state(g));
    RETURN scim_group_json(g, site, with_members);
END
$$;

-- A group as the audit log keeps it.
CREATE OR REPLACE FUNCTION scim_group_state(g scim_groups) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT jsonb_build_object('display_name', g.display_name, 'external_id', g.external_id, 'members', (
        SELECT count(*) FROM scim_group_members m WHERE m.org_id = g.org_id AND m.group_id = g.id))
$$;

-- DELETE /v1/scim/v2/Groups/{resource_id}: its members lose the role that it gave.
CREATE OR REPLACE FUNCTION scim_group_delete(scim_id uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid := scim_org();
    gone scim_groups;
    old_state jsonb;
    touched uuid[];
BEGIN
    PERFORM scim_hold(NULL);
    SELECT * INTO gone FROM scim_groups g WHERE g.org_id = org AND g.id = scim_id FOR UPDATE;
    IF gone.id IS NULL THEN
        PERFORM fail('scim.not_found');
    END IF;
    old_state := scim_group_state(gone);
    touched := ARRAY(SELECT m.member_id FROM scim_group_members m WHERE m.org_id = org AND m.group_id = gone.id);
    DELETE FROM scim_groups g WHERE g.org_id = org AND g.id = gone.id;
    PERFORM scim_roles_renew(org, touched);
    PERFORM audit('scim.group_changed', 'scim_group', gone.id::text, org, old_state);
END
$$;
REVOKE EXECUTE ON FUNCTION scim_group_role, scim_roles_renew, scim_roles_of_provider, scim_group_json,
    scim_members_adopt, scim_group_step, scim_group_state FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION scim_group_check, scim_group_show, scim_group_page, scim_group_write, scim_group_delete
    FROM hostler_runner;
