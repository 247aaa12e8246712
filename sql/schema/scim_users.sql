-- SCIM users of an organization, as an identity service reads them (docs/scim.md). A SCIM user is a membership: a row
-- keeps what the service wrote about a member, or about somebody who was invited for it. Members without a row are
-- shown too; such a row has the member's user id as its id, and is stored when it is written.
--
-- Writes: scim_provisioning.sql. Nothing here changes login, address or password of an account.

CREATE TABLE scim_users (
    org_id uuid NOT NULL REFERENCES orgs,
    id uuid NOT NULL DEFAULT public.uuidv7(),
    user_id uuid REFERENCES users,  -- null: nobody accepted yet
    user_name text NOT NULL,
    user_name_key text COLLATE "C" NOT NULL,  -- name_key() of it
    external_id text COLLATE "C",
    display_name text,
    display_key text COLLATE "C",
    email text NOT NULL,  -- by which the person is found or invited, as the service wrote it
    email_key text COLLATE "C" NOT NULL,
    email_keys text[] COLLATE "C" NOT NULL,  -- of all addresses that it wrote
    attributes jsonb NOT NULL,  -- all others, by their names in RFC 7643
    is_active boolean NOT NULL,  -- as the service asked; false as well when the membership ended in another way
    has_left boolean NOT NULL DEFAULT false,  -- of their own accord: only an invitation brings them back
    group_role text CHECK (group_role IN ('admin', 'member')),  -- by the groups' role_map
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, id),
    UNIQUE (org_id, user_name_key),
    UNIQUE (org_id, user_id)
);
CREATE INDEX scim_users_user ON scim_users (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX scim_users_external ON scim_users (org_id, external_id) WHERE external_id IS NOT NULL;
CREATE UNIQUE INDEX scim_users_waiting ON scim_users (org_id, email_key) WHERE user_id IS NULL;
CREATE INDEX scim_users_emails ON scim_users USING gin (org_id, email_keys) WITH (fastupdate = off);
SELECT make_tenant_table('scim_users');

-- A member of whom SCIM has no row, as one.
CREATE OR REPLACE FUNCTION scim_user_of_member(m org_members, u users) RETURNS scim_users
LANGUAGE sql STABLE AS $$
    SELECT ROW(m.org_id, u.id, u.id, u.email, name_key(u.email), NULL, u.username, name_key(u.username), u.email,
        u.email_key, ARRAY[u.email_key],
        jsonb_build_object('emails', jsonb_build_array(jsonb_build_object('value', u.email, 'type', 'work',
            'primary', true))),
        true, false, NULL, m.created_at, m.created_at)::scim_users
$$;

-- The row of an id, stored or of a member; null for none. The organization acted in.
CREATE OR REPLACE FUNCTION scim_user_find(scim_id uuid) RETURNS scim_users
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid := scim_org();
    r scim_users;
BEGIN
    SELECT * INTO r FROM scim_users s WHERE s.org_id = org AND s.id = scim_id;
    IF r.id IS NULL THEN
        SELECT (f.row_of).* INTO r FROM (
            SELECT scim_user_of_member(m, u) AS row_of FROM org_members m
            JOIN users u ON u.id = m.user_id AND u.status <> 'deleted'
            WHERE m.org_id = org AND m.user_id = scim_id
                  AND NOT EXISTS (SELECT FROM scim_users s WHERE s.org_id = org AND s.user_id = m.user_id)) AS f;
    END IF;
    RETURN r;
END
$$;

-- For dispatch: the 404 of the path's user comes before a fault of the body.
CREATE OR REPLACE FUNCTION scim_user_check(scim_id uuid) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF (SELECT f.id FROM scim_user_find(scim_id) AS f) IS NULL THEN
        PERFORM fail('scim.not_found');
    END IF;
END
$$;

-- The attributes that a PATCH changes, as one document.
CREATE OR REPLACE FUNCTION scim_user_document(r scim_users) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT r.attributes || jsonb_strip_nulls(jsonb_build_object('userName', r.user_name, 'externalId', r.external_id,
        'displayName', r.display_name, 'active', r.is_active))
$$;

-- A user as a client of SCIM reads it (RFC 7643, section 4.1). site: the address of this site, or empty.
CREATE OR REPLACE FUNCTION scim_user_json(r scim_users, site text) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT jsonb_build_object('schemas', '["urn:ietf:params:scim:schemas:core:2.0:User"]'::jsonb
            || CASE WHEN r.attributes ? 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
                    THEN '["urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"]'::jsonb ELSE '[]' END,
            'id', r.id)
        || scim_user_document(r)
        || jsonb_build_object('groups', coalesce((
                SELECT jsonb_agg(jsonb_build_object('value', g.id, 'display', g.display_name) ORDER BY g.id)
                FROM scim_group_members m JOIN scim_groups g ON g.org_id = m.org_id AND g.id = m.group_id
                WHERE m.org_id = r.org_id AND m.member_id = r.id), '[]'),
            'urn:hostler:scim:pending', (r.is_active OR r.user_id IS NULL) AND NOT EXISTS (
                SELECT FROM org_members m WHERE m.org_id = r.org_id AND m.user_id = r.user_id),
            'meta', jsonb_build_object('resourceType', 'User', 'created', rfc3339(r.created_at),
                'lastModified', rfc3339(r.updated_at), 'location', site || '/v1/scim/v2/Users/' || r.id))
$$;

-- GET /v1/scim/v2/Users/{resource_id}.
CREATE OR REPLACE FUNCTION scim_user_show(scim_id uuid, site text) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM scim_user_check(scim_id);
    RETURN scim_user_json(scim_user_find(scim_id), site);
END
$$;

-- Whether a user meets the conditions of a filter: {id, user_name_key, external_id, email_key, display_key, active}.
CREATE OR REPLACE FUNCTION scim_user_meets(r scim_users, conditions jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT (NOT conditions ? 'id' OR r.id::text = conditions ->> 'id')
        AND (NOT conditions ? 'user_name' OR r.user_name_key = name_key(conditions ->> 'user_name'))
        AND (NOT conditions ? 'external_id' OR coalesce(r.external_id = conditions ->> 'external_id', false))
        AND (NOT conditions ? 'email_key' OR (conditions ->> 'email_key') COLLATE "C" = ANY (r.email_keys))
        AND (NOT conditions ? 'display_name'
             OR coalesce(r.display_key = name_key(conditions ->> 'display_name'), false))
        AND (NOT conditions ? 'active' OR r.is_active = (conditions ->> 'active')::boolean)
$$;

-- The members of the organization without a row, by a condition that finds few, or all.
CREATE OR REPLACE FUNCTION scim_members_bare(org uuid, conditions jsonb) RETURNS SETOF scim_users
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    only_one uuid;
BEGIN
    IF conditions ? 'external_id' THEN
        RETURN;
    ELSIF conditions ? 'id' THEN
        only_one := (conditions ->> 'id')::uuid;
    ELSIF conditions ?| '{user_name,email_key}' THEN
        SELECT u.id INTO only_one FROM users u
        WHERE u.email_key = coalesce(conditions ->> 'user_name_email_key', conditions ->> 'email_key')
              AND u.status <> 'deleted';
    ELSE
        -- Within a subquery, which works a row out once and not once for each of its columns.
        RETURN QUERY SELECT (f.r).* FROM (
            SELECT scim_user_of_member(m, u) AS r FROM org_members m
            JOIN users u ON u.id = m.user_id AND u.status <> 'deleted'
            WHERE m.org_id = org
                  AND NOT EXISTS (SELECT FROM scim_users s WHERE s.org_id = org AND s.user_id = m.user_id)
            OFFSET 0) AS f;
        RETURN;
    END IF;
    RETURN QUERY SELECT (scim_user_of_member(m, u)).* FROM org_members m
    JOIN users u ON u.id = m.user_id AND u.status <> 'deleted'
    WHERE m.org_id = org AND m.user_id = only_one
          AND NOT EXISTS (SELECT FROM scim_users s WHERE s.org_id = org AND s.user_id = m.user_id);
END
$$;

-- The users that a filter may mean: few where an index serves it, else all of the organization.
CREATE OR REPLACE FUNCTION scim_users_near(org uuid, conditions jsonb) RETURNS SETOF scim_users
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF conditions ? 'external_id' THEN
        RETURN QUERY SELECT s.* FROM scim_users s
        WHERE s.org_id = org AND s.external_id = conditions ->> 'external_id';
    ELSIF conditions ? 'id' THEN
        RETURN QUERY SELECT s.* FROM scim_users s WHERE s.org_id = org AND s.id = (conditions ->> 'id')::uuid;
    ELSIF conditions ? 'user_name' THEN
        RETURN QUERY SELECT s.* FROM scim_users s
        WHERE s.org_id = org AND s.user_name_key = name_key(conditions ->> 'user_name');
    ELSIF conditions ? 'email_key' THEN
        RETURN QUERY SELECT s.* FROM scim_users s
        WHERE s.org_id = org AND s.email_keys @> ARRAY[conditions ->> 'email_key'] COLLATE "C";
    ELSE
        RETURN QUERY SELECT s.* FROM scim_users s WHERE s.org_id = org;
    END IF;
    RETURN QUERY SELECT b.* FROM scim_members_bare(org, conditions) AS b;
END
$$;

-- GET /v1/scim/v2/Users (RFC 7644, section 3.4.2). conditions: of scim_user_meets(), and user_name_email_key, the key
-- of the user_name as an address. limit.members bounds how many users there are.
CREATE OR REPLACE FUNCTION scim_user_page(conditions jsonb, start_index bigint, page_limit bigint, site text)
RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid := scim_org();
    page jsonb;
    total bigint;
BEGIN
    WITH found AS MATERIALIZED (
        SELECT n AS r FROM scim_users_near(org, conditions) AS n WHERE scim_user_meets(n, conditions)),
    shown AS (
        SELECT (f.r).id, f.r FROM found f ORDER BY (f.r).id OFFSET start_index - 1 LIMIT page_limit)
    SELECT (SELECT count(*) FROM found),
           coalesce((SELECT jsonb_agg(scim_user_json(s.r, site) ORDER BY s.id) FROM shown s), '[]')
    INTO total, page;
    RETURN scim_list_json(total, start_index, page);
END
$$;

CREATE OR REPLACE FUNCTION scim_list_json(total bigint, start_index bigint, page jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object('schemas', '["urn:ietf:params:scim:api:messages:2.0:ListResponse"]'::jsonb,
        'totalResults', total, 'startIndex', start_index, 'itemsPerPage', jsonb_array_length(page), 'Resources', page)
$$;

-- The list of a filter that nothing can meet.
CREATE OR REPLACE FUNCTION scim_list_void(start_index bigint) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT scim_list_json(0, start_index, '[]') WHERE scim_org() IS NOT NULL
$$;
REVOKE EXECUTE ON FUNCTION scim_user_of_member, scim_user_find, scim_user_document, scim_user_json, scim_user_meets,
    scim_members_bare, scim_users_near, scim_list_json FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION scim_user_check, scim_user_show, scim_user_page, scim_list_void FROM hostler_runner;
