-- Journal of deletions, so that a restored backup can be brought to the same state: `hostlerctl privacy journal` prints
-- these rows to be kept beside backups, `hostlerctl privacy replay` applies them again (docs/privacy.md). They name
-- nobody: ids, and of an end user a salted hash of the name.

CREATE TABLE privacy_journal (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    kind text NOT NULL CHECK (kind IN ('user', 'org_closed', 'org_restored', 'end_user', 'thread', 'response')),
    org_id uuid,
    subject_id uuid,  -- the user, thread or response; null of an organization and of an end user
    name_salt uuid,
    name_hash bytea,  -- SHA-256 of salt and name of an end user
    erase_at timestamptz,  -- of an organization that was closed
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
SELECT make_tenant_table('privacy_journal');

CREATE OR REPLACE FUNCTION end_user_hash(salt uuid, name text) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT sha256(convert_to(salt || name, 'UTF8'))
$$;

-- Notes a deletion in the transaction that makes it.
CREATE OR REPLACE FUNCTION privacy_note(what text, org uuid, subject uuid DEFAULT NULL, name text DEFAULT NULL,
    ends_at timestamptz DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    salt CONSTANT uuid := CASE WHEN name IS NOT NULL THEN gen_random_uuid() END;
BEGIN
    INSERT INTO privacy_journal (kind, org_id, subject_id, name_salt, name_hash, erase_at)
    VALUES (what, org, subject, salt, end_user_hash(salt, name), ends_at);
END
$$;

-- A page of the journal in its order, as hostlerctl prints it.
CREATE OR REPLACE FUNCTION privacy_journal_page(after uuid, page_limit integer) RETURNS TABLE (id uuid, item json)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT j.id, json_strip_nulls(json_build_object('id', j.id, 'at', rfc3339(j.created_at), 'kind', j.kind,
        'org_id', j.org_id, 'subject_id', j.subject_id, 'name_salt', j.name_salt,
        'name_hash', encode(j.name_hash, 'hex'), 'erase_at', rfc3339(j.erase_at)))
    FROM privacy_journal j WHERE j.id > after ORDER BY j.id LIMIT page_limit
$$;

-- Maintenance: rows are kept for 400 days, longer than any sensible backup. Answers how many went.
CREATE OR REPLACE FUNCTION privacy_journal_prune(at_most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    WITH gone AS (
        DELETE FROM privacy_journal WHERE id = ANY (ARRAY(
            SELECT j.id FROM privacy_journal j WHERE j.id < uuidv7_floor(statement_timestamp() - interval '400 days')
            ORDER BY j.id LIMIT at_most))
        RETURNING 1)
    SELECT count(*) FROM gone
$$;
REVOKE EXECUTE ON FUNCTION end_user_hash, privacy_note, privacy_journal_page FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION privacy_journal_prune FROM hostler_api;
