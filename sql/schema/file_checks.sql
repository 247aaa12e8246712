-- The daemon has each file checked by hostler-files, and stores what that derived from it for models. A check has a
-- number, so that the answer of one that took too long changes nothing.

-- The next file that is due, of the creator who comes after the last one that was served, so that creators and
-- organizations take turns. When no row comes, the caller begins at the lowest ids again. While a check is under way,
-- the file is due again in a minute, in case its daemon dies.
CREATE OR REPLACE FUNCTION file_check_claim(after_org uuid, after_user uuid)
RETURNS TABLE (id uuid, org_id uuid, user_id uuid, mime_type text, bytes bigint, pieces integer, checks integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_sort = off SET enable_bitmapscan = off
AS $$
DECLARE
    due uuid;
BEGIN
    SELECT f.id INTO due FROM files f
    WHERE f.check_due_at IS NOT NULL AND f.check_due_at <= statement_timestamp()
          AND (f.org_id, f.created_by_user_id) > (after_org, after_user)
    ORDER BY f.org_id, f.created_by_user_id, f.id LIMIT 1 FOR UPDATE SKIP LOCKED;
    RETURN QUERY UPDATE files f SET check_due_at = clock_timestamp() + interval '1 minute', checks = f.checks + 1
        WHERE f.id = due
        RETURNING f.id, f.org_id, f.created_by_user_id, f.mime_type, f.bytes, f.pieces, f.checks;
END
$$;

CREATE OR REPLACE FUNCTION file_check_piece(file uuid, piece_nth integer) RETURNS SETOF bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT p.content FROM file_pieces p WHERE p.file_id = file AND p.nth = piece_nth
$$;

-- The file is ready, with these bytes for models. False: another check has begun, or the file is gone.
CREATE OR REPLACE FUNCTION file_check_finish(file uuid, check_number integer, image_width integer,
    image_height integer, image_type text, image bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    size CONSTANT integer := file_piece_bytes();
    count_of_pieces CONSTANT integer := (octet_length(image) + size - 1) / size;
BEGIN
    UPDATE files f SET state = 'ready', check_due_at = NULL, width = image_width, height = image_height,
        derived_type = image_type, derived_bytes = octet_length(image), derived_pieces = count_of_pieces
    WHERE f.id = file AND f.state = 'checking' AND f.checks = check_number AND f.check_due_at IS NOT NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO file_derived_pieces (file_id, nth, content)
    SELECT file, n.nth, substring(image FROM (n.nth - 1) * size + 1 FOR size)
    FROM generate_series(1, count_of_pieces) AS n (nth);
    RETURN true;
END
$$;

-- The file is refused with an error code.
CREATE OR REPLACE FUNCTION file_check_refuse(file uuid, check_number integer, code text) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    UPDATE files f SET state = 'refused', refusal = code, check_due_at = NULL
    WHERE f.id = file AND f.state = 'checking' AND f.checks = check_number AND f.check_due_at IS NOT NULL
    RETURNING true
$$;

-- hostler-files is away: the file is due again after the pause, and the check did not count.
CREATE OR REPLACE FUNCTION file_check_postpone(file uuid, check_number integer, pause_ms integer) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    UPDATE files f SET checks = f.checks - 1,
        check_due_at = clock_timestamp() + pause_ms * interval '1 millisecond'
    WHERE f.id = file AND f.state = 'checking' AND f.checks = check_number AND f.check_due_at IS NOT NULL
    RETURNING true
$$;
-- The process that checked it died, perhaps for a reason of the host: the file is due again at once.
CREATE OR REPLACE FUNCTION file_check_again(file uuid, check_number integer) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    UPDATE files f SET check_due_at = clock_timestamp()
    WHERE f.id = file AND f.state = 'checking' AND f.checks = check_number AND f.check_due_at IS NOT NULL
    RETURNING true
$$;
REVOKE EXECUTE ON FUNCTION file_check_claim, file_check_piece, file_check_finish, file_check_refuse,
    file_check_postpone, file_check_again FROM hostler_api;
