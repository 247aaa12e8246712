-- Why: the functions and tables that every later migration uses: ids, errors, times, the tenant of a
-- transaction, roles and their permissions, settings. Locks: none, everything is new.
--
-- Run by hostlerctl migrate as hostler_owner, in one transaction. The roles exist already: they
-- belong to the cluster and are made by hostlerctl setup-database.

GRANT USAGE ON SCHEMA public TO hostler_api, hostler_runner;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO hostler_api, hostler_runner;

CREATE TABLE schema_migrations (
    version text PRIMARY KEY CHECK (version ~ '^[0-9]{5}$'),
    name text NOT NULL,
    checksum bytea NOT NULL,
    -- The oldest schema whose programs still work on this one: during an upgrade both are at work.
    compatible_from text NOT NULL CHECK (compatible_from ~ '^[0-9]{5}$' AND compatible_from <= version),
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT ON schema_migrations TO hostler_api, hostler_runner;

-- UUIDv7 with microseconds (RFC 9562 method 3): ids made by one session one after the other are in
-- order, and an id is also a time by the database's clock: its milliseconds, the version, 12 bits of their fraction.
-- One expression that looks at the clock once, so that Postgres puts it into the statements whose default it is.
CREATE FUNCTION uuidv7() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT (left(overlay(lpad(to_hex(trunc(extract(epoch FROM clock_timestamp()) * 65536000)::bigint), 16, '0')
                         PLACING '7' FROM 13 FOR 0), 16)
            || substr(gen_random_uuid()::text, 20))::uuid
$$;

-- The least id of a moment: bounds of partitions and of time filters over ids.
CREATE FUNCTION uuidv7_floor(moment timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- Times as clients see them: RFC 3339, UTC, milliseconds.
CREATE FUNCTION rfc3339(moment timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- Ends the transaction with an error of the API: code as on the wire, detail for the client, members
-- for the problem document ("retry_after" becomes the header, "field" and "fault" a fault of the input, "status" the
-- status where a code has two).
CREATE FUNCTION fail(code text, detail text DEFAULT '', members jsonb DEFAULT '{}') RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'HS000', MESSAGE = code, DETAIL = detail, HINT = members::text;
END
$$;

-- Who acts, set by authenticate() or by the statement that begins an anonymous request, for the
-- transaction only. After it ended the settings are '', not NULL.
CREATE FUNCTION current_org() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT nullif(current_setting('hostler.org_id', true), '')::uuid
$$;
CREATE FUNCTION current_user_id() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT nullif(current_setting('hostler.user_id', true), '')::uuid
$$;
-- {trace_id, client_ip, user_agent, api_key_id, session_id, permissions, platform_admin}
CREATE FUNCTION current_request() RETURNS jsonb LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(nullif(current_setting('hostler.request', true), ''), '{}')::jsonb
$$;
CREATE FUNCTION has_permission(permission text) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(current_request() -> 'permissions' ? permission, false)
$$;
CREATE FUNCTION is_platform_admin() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce((current_request() ->> 'platform_admin')::boolean, false)
$$;

-- Case-insensitive identity of logins, usernames and addresses.
CREATE FUNCTION name_key(name text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT lower(normalize(name, NFKC) COLLATE "und-x-icu")
$$;

-- The permissions of a role (contract section 2). platform_admin is a mark on the user instead.
CREATE FUNCTION role_permissions(role text) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN role IN ('owner', 'admin', 'member') THEN
        ARRAY['data.threads.read', 'data.threads.write', 'data.runs.read', 'data.runs.write',
              'data.api_keys.manage', 'data.subscriptions.read', 'data.usage.read']
        || CASE WHEN role IN ('owner', 'admin') THEN
            ARRAY['data.secrets', 'data.webhooks.manage', 'data.llm_providers.manage', 'data.personas.manage',
                  'org.members.manage', 'org.audit.read', 'org.ip_rules.manage', 'org.runs.read_all']
        ELSE ARRAY[]::text[] END
        || CASE WHEN role = 'owner' THEN ARRAY['org.manage'] ELSE ARRAY[]::text[] END
    ELSE ARRAY[]::text[] END
$$;

-- Words for the search index. Chinese, Japanese and Korean text has no spaces: each pair of its
-- characters becomes a word, so that a word of two characters is found. At most the first 32,768
-- characters count, so that the index entry stays below the megabyte that a tsvector may have.
CREATE FUNCTION search_words(content text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    t text := left(content, 32768);
BEGIN
    IF t !~ '[\u2E80-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF]' THEN
        RETURN t;
    END IF;
    RETURN regexp_replace(t, '([\u2E80-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF]{2})', ' \1 ', 'g') || ' ' ||
        regexp_replace(
            regexp_replace(
                t, '(^|[^\u2E80-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF])([\u2E80-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF])',
                '\1\2 ', 'g'),
            '([\u2E80-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF]{2})', ' \1 ', 'g');
END
$$;
CREATE FUNCTION search_vector(content text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN to_tsvector('pg_catalog.simple', search_words(content));
END
$$;
-- What somebody typed, as a query: every word must occur, at least as the beginning of one. Null
-- when nothing of it is a word.
CREATE FUNCTION search_query(typed text) RETURNS tsquery
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = public, pg_catalog AS $$
    SELECT string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || ''':*', ' & ')::tsquery
    FROM unnest(to_tsvector('pg_catalog.simple', search_words(left(typed, 500)))) AS word(lexeme, positions, weights)
    WHERE length(lexeme) > 1 OR typed !~ '[\u2E80-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF]{2}'
$$;

-- A page of a list, from rows read one further than page_limit: those that fit into 4 MiB of text, at least one, as
-- an array; and the id of the last of them when more exist.
CREATE FUNCTION page_of(ids uuid[], items json[], page_limit integer) RETURNS TABLE (body text, next uuid)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce('[' || string_agg(item, ',' ORDER BY n) || ']', '[]'),
           CASE WHEN max(n) < cardinality(ids) THEN ids[max(n)] END
    FROM (SELECT n, item::text AS item, sum(octet_length(item::text)) OVER (ORDER BY n) AS bytes
          FROM unnest(items) WITH ORDINALITY AS read(item, n)) AS sized
    WHERE n <= page_limit AND (n = 1 OR bytes <= 4194304)
$$;

-- Live settings that an administrator changed; everything else comes from file, environment, default.
CREATE TABLE settings (
    key text PRIMARY KEY,
    value jsonb,
    secret_id uuid,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_by_user_id uuid,
    CHECK ((value IS NULL) <> (secret_id IS NULL))
);
GRANT SELECT ON settings TO hostler_api, hostler_runner;
GRANT INSERT, UPDATE, DELETE ON settings TO hostler_api;

-- What is encrypted. The data key of each secret is wrapped by the key file's key; both are bound to
-- the row's id, organization and kind (lib/secret_box.h). Never read without need.
CREATE TABLE secrets (
    id uuid PRIMARY KEY,
    org_id uuid,  -- null: the platform's
    kind text NOT NULL,
    key_version integer NOT NULL,
    wrapped_key bytea NOT NULL,
    sealed bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (org_id, id)
);
ALTER TABLE secrets ENABLE ROW LEVEL SECURITY;
ALTER TABLE secrets FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON secrets
    USING (org_id = current_org() OR (org_id IS NULL AND is_platform_admin()))
    WITH CHECK (org_id = current_org() OR (org_id IS NULL AND is_platform_admin()));
GRANT SELECT, INSERT, DELETE ON secrets TO hostler_api;
GRANT SELECT ON secrets TO hostler_runner;
