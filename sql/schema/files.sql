-- Uploaded files: their bytes in pieces, and what is derived from them for models. hostler-files looks at each of them,
-- the pool asks it for the type, the daemon for the rest (file_checks.sql).

CREATE TABLE files (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    created_by_user_id uuid NOT NULL REFERENCES users,
    name text NOT NULL,
    mime_type text COLLATE "C" NOT NULL,  -- as the bytes say
    bytes bigint NOT NULL CHECK (bytes > 0),
    sha256 bytea NOT NULL CHECK (length(sha256) = 32),
    width integer,  -- upright; null unless it is an image that was decoded
    height integer,
    state text COLLATE "C" NOT NULL DEFAULT 'checking' CHECK (state IN ('checking', 'ready', 'refused')),
    refusal text COLLATE "C",  -- an error code
    end_user text COLLATE "C",
    metadata json NOT NULL DEFAULT '{}',
    pieces integer NOT NULL DEFAULT 0,
    counted_bytes bigint NOT NULL DEFAULT 0,  -- in credit_accounts.stored_bytes
    derived_type text COLLATE "C",  -- of the bytes that models get
    derived_bytes integer,
    derived_pieces integer,
    check_due_at timestamptz,  -- null: nothing is left to check
    checks integer NOT NULL DEFAULT 0,  -- that began; the number of the one that is under way
    unused_since timestamptz,  -- null: a message refers to it. -infinity: the last thread that did is gone
    search tsvector NOT NULL DEFAULT '',  -- words_vector() of the name
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    is_of_request boolean NOT NULL DEFAULT false,  -- a request had its bytes: it goes with the text of that request
    deleted_at timestamptz  -- gone for everybody; maintenance removes the row
);
CREATE INDEX files_creator ON files (org_id, created_by_user_id, id) WHERE deleted_at IS NULL;
CREATE INDEX files_of_end_user ON files (org_id, created_by_user_id, end_user, id)
    WHERE end_user IS NOT NULL AND deleted_at IS NULL;
-- For the erasure of an end user, of all creators.
CREATE INDEX files_any_end_user ON files (org_id, end_user, id) WHERE end_user IS NOT NULL;
CREATE INDEX files_to_check ON files (org_id, created_by_user_id, id) WHERE check_due_at IS NOT NULL;
CREATE INDEX files_unused ON files (unused_since) WHERE unused_since IS NOT NULL;
CREATE INDEX files_search ON files USING gin (org_id, search) WITH (gin_pending_list_limit = 8192);
CREATE INDEX files_deleted ON files (deleted_at) WHERE deleted_at IS NOT NULL;
SELECT make_tenant_table('files');
GRANT SELECT ON files TO hostler_api, hostler_runner;

CREATE TABLE file_pieces (
    file_id uuid NOT NULL REFERENCES files ON DELETE CASCADE,
    nth integer NOT NULL,  -- from 1; each but the last has file_piece_bytes()
    content bytea NOT NULL,
    PRIMARY KEY (file_id, nth)
);
-- Images are compressed already.
ALTER TABLE file_pieces ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE file_derived_pieces (
    file_id uuid NOT NULL REFERENCES files ON DELETE CASCADE,
    nth integer NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (file_id, nth)
);
ALTER TABLE file_derived_pieces ALTER COLUMN content SET STORAGE EXTERNAL;

-- Bytes that an organization uploaded on a day (UTC), also of files that were deleted or refused since.
CREATE TABLE upload_days (
    org_id uuid PRIMARY KEY REFERENCES orgs,
    day date NOT NULL,
    bytes bigint NOT NULL CHECK (bytes > 0)
) WITH (fillfactor = 75);
SELECT make_tenant_table('upload_days');

-- The members of a file, in their order, as clients read them.
CREATE OR REPLACE FUNCTION file_item(f files) RETURNS TABLE (id uuid, org_id uuid, created_by_user_id uuid, name text,
    mime_type text, bytes bigint, sha256 text, width integer, height integer, pages integer, text_bytes bigint,
    state text, refusal text, end_user text, metadata json, created_at timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT f.id, f.org_id, f.created_by_user_id, f.name, f.mime_type, f.bytes, encode(f.sha256, 'hex'), f.width,
        f.height, NULL::integer, NULL::bigint, f.state, f.refusal, f.end_user, f.metadata, f.created_at
$$;

-- The file for its creator; raises the 404 or 403.
CREATE OR REPLACE FUNCTION file_of_caller(file uuid) RETURNS files
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    found_file files;
BEGIN
    SELECT * INTO found_file FROM files f WHERE f.id = file AND f.org_id = current_org() AND f.deleted_at IS NULL;
    IF found_file.id IS NULL THEN
        PERFORM fail_missing('files.not_found', 'files', file);
    END IF;
    IF found_file.created_by_user_id <> current_user_id() THEN
        PERFORM fail('policy.denied', 'file_of_another');
    END IF;
    RETURN found_file;
END
$$;

CREATE OR REPLACE FUNCTION file_piece_bytes() RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT 262144 $$;

-- POST /v1/files, before the bytes: whether a file of this size may come.
CREATE OR REPLACE FUNCTION file_admit(file_bytes bigint, limit_file_bytes bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    bytes_max CONSTANT bigint := entitlement_integer(current_org(), 'limit.file_bytes', limit_file_bytes);
BEGIN
    IF file_bytes > bytes_max THEN
        PERFORM fail('files.too_large', 'over_limit', jsonb_build_object('bytes', file_bytes, 'limit', bytes_max));
    END IF;
END
$$;

-- The row, invisible until file_finish() and the commit. A user has two large uploads at a time.
-- wanted: {name, words (search_words() of the name), mime_type, bytes, sha256, end_user, metadata}.
CREATE OR REPLACE FUNCTION file_begin(wanted json) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    large_bytes CONSTANT bigint := 1048576;
    file_bytes CONSTANT bigint := (wanted ->> 'bytes')::bigint;
    slot CONSTANT text := 'upload ' || current_user_id();
    file uuid;
BEGIN
    IF file_bytes > large_bytes AND NOT pg_try_advisory_xact_lock(hashtextextended(slot || ' 1', 0))
       AND NOT pg_try_advisory_xact_lock(hashtextextended(slot || ' 2', 0)) THEN
        PERFORM fail('rate_limit.exceeded', 'uploads_at_once');
    END IF;
    INSERT INTO files (org_id, created_by_user_id, name, mime_type, bytes, sha256, end_user, metadata, search)
    VALUES (current_org(), current_user_id(), wanted ->> 'name', wanted ->> 'mime_type', file_bytes,
            decode(wanted ->> 'sha256', 'hex'), wanted ->> 'end_user', coalesce(wanted -> 'metadata', '{}'),
            words_vector(wanted ->> 'words'))
    RETURNING id INTO file;
    RETURN file;
END
$$;

-- One piece of the file that this transaction began.
CREATE OR REPLACE FUNCTION file_add_piece(file uuid, piece_nth integer, piece bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    UPDATE files f SET pieces = piece_nth
    WHERE f.id = file AND f.org_id = current_org() AND f.created_by_user_id = current_user_id()
          AND f.check_due_at IS NULL AND f.state = 'checking' AND f.pieces = piece_nth - 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'piece % of file %: not the next one', piece_nth, file;
    END IF;
    INSERT INTO file_pieces (file_id, nth, content) VALUES (file, piece_nth, piece);
END
$$;

-- Counts bytes of an upload for the day. They stay counted when the file is deleted or refused.
CREATE OR REPLACE FUNCTION upload_count(file_bytes bigint, limit_upload_bytes_per_day bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org CONSTANT uuid := current_org();
    bytes_max CONSTANT bigint := entitlement_integer(org, 'limit.upload_bytes_per_day', limit_upload_bytes_per_day);
BEGIN
    INSERT INTO upload_days AS d (org_id, day, bytes) VALUES (org, utc_day(clock_timestamp()), file_bytes)
    ON CONFLICT (org_id) DO UPDATE SET day = excluded.day,
        bytes = CASE WHEN d.day = excluded.day THEN d.bytes + excluded.bytes ELSE excluded.bytes END;
    IF bytes_max > 0 AND (SELECT d.bytes FROM upload_days d WHERE d.org_id = org) > bytes_max THEN
        PERFORM fail('limits.reached', 'uploads_of_day', jsonb_build_object('limit', bytes_max));
    END IF;
END
$$;

-- Counts the file whose pieces are all there, and gives it to those who check it. The account is locked last, for the
-- time of the commit alone.
CREATE OR REPLACE FUNCTION file_finish(file uuid, limit_stored_bytes bigint, limit_upload_bytes_per_day bigint)
RETURNS SETOF files
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    counted_least CONSTANT bigint := 4096;
    made files;
BEGIN
    UPDATE files f SET check_due_at = clock_timestamp(), unused_since = f.created_at,
        counted_bytes = greatest(f.bytes, counted_least)
    WHERE f.id = file AND f.org_id = current_org() AND f.created_by_user_id = current_user_id()
          AND f.check_due_at IS NULL AND f.state = 'checking'
          AND f.pieces = (f.bytes + file_piece_bytes() - 1) / file_piece_bytes()
    RETURNING * INTO STRICT made;
    PERFORM audit('files.create', 'file', file::text, made.org_id, NULL,
                  jsonb_build_object('mime_type', made.mime_type, 'bytes', made.bytes));
    PERFORM upload_count(made.bytes, limit_upload_bytes_per_day);
    PERFORM stored_bytes_add(made.counted_bytes, limit_stored_bytes);
    RETURN NEXT made;
END
$$;

-- GET /v1/files/{file_id}/content: what describes the bytes, once they may be read.
CREATE OR REPLACE FUNCTION file_content(file uuid)
RETURNS TABLE (name text, mime_type text, bytes bigint, sha256 text, pieces integer)
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    f files := file_of_caller(file);
BEGIN
    IF f.state = 'checking' THEN
        PERFORM fail('files.not_ready', 'still_checking');
    ELSIF f.state = 'refused' THEN
        PERFORM fail('files.refused', 'content_was_refused', jsonb_build_object('refusal', f.refusal));
    END IF;
    RETURN QUERY SELECT f.name, f.mime_type, f.bytes, encode(f.sha256, 'hex'), f.pieces;
END
$$;

-- Bytes of one piece, from byte `skipped` (0 is the first), at most so many. No row when the file is gone.
CREATE OR REPLACE FUNCTION file_piece(file uuid, of_user uuid, piece_nth integer, skipped integer, taken integer)
RETURNS SETOF bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT substring(p.content FROM skipped + 1 FOR taken)
    FROM files f JOIN file_pieces p ON p.file_id = f.id AND p.nth = piece_nth
    WHERE f.id = file AND f.created_by_user_id = of_user AND f.state = 'ready' AND f.deleted_at IS NULL
$$;

-- Removes a file with its bytes and all that was derived from them, and gives back what it counted. The row of the
-- file, then the account.
CREATE OR REPLACE FUNCTION file_remove(file uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    gone files;
BEGIN
    DELETE FROM files f WHERE f.id = file RETURNING * INTO gone;
    UPDATE credit_accounts a SET stored_bytes = a.stored_bytes - gone.counted_bytes
    WHERE a.org_id = gone.org_id AND gone.counted_bytes > 0;
END
$$;

-- DELETE /v1/files/{file_id}
CREATE OR REPLACE FUNCTION file_delete(file uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    f files := file_of_caller(file);
BEGIN
    PERFORM audit('files.delete', 'file', file::text, f.org_id,
                  jsonb_build_object('mime_type', f.mime_type, 'bytes', f.bytes));
    PERFORM file_remove(file);
END
$$;

-- Maintenance: removes one file that was marked as gone, or to which no message has referred for so many days. Answers
-- whether there was one. One at a time, because each may have hundreds of pieces.
CREATE OR REPLACE FUNCTION files_prune(files_unused_days integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    over uuid;
BEGIN
    SELECT f.id INTO over FROM files f WHERE f.deleted_at <= statement_timestamp() ORDER BY f.deleted_at LIMIT 1
    FOR UPDATE SKIP LOCKED;
    IF over IS NULL THEN
        SELECT f.id INTO over FROM files f
        WHERE f.unused_since <= statement_timestamp() - make_interval(days => files_unused_days)
        ORDER BY f.unused_since LIMIT 1 FOR UPDATE SKIP LOCKED;
    END IF;
    IF over IS NULL THEN
        RETURN false;
    END IF;
    PERFORM file_remove(over);
    RETURN true;
END
$$;
REVOKE EXECUTE ON FUNCTION file_remove, upload_count FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION file_admit, file_begin, file_add_piece, file_finish, file_content, file_piece, file_delete
    FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION files_prune FROM hostler_api;
