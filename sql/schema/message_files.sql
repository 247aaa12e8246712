-- Files in messages: which messages name which files, the parts of a message, and what a request to a model needs of
-- its files.

-- The files to which messages refer. A file goes with the last of them.
CREATE TABLE message_files (
    org_id uuid NOT NULL,
    thread_id uuid NOT NULL,
    message_id uuid NOT NULL,
    file_id uuid NOT NULL REFERENCES files ON DELETE CASCADE,
    PRIMARY KEY (thread_id, message_id, file_id),
    FOREIGN KEY (thread_id, message_id) REFERENCES messages ON DELETE CASCADE
);
CREATE INDEX message_files_file ON message_files (file_id);
SELECT make_tenant_table('message_files');

-- The files that the given history of a run names. A row goes with the history.
CREATE TABLE run_files (
    org_id uuid NOT NULL,
    run_id uuid NOT NULL REFERENCES run_histories ON DELETE CASCADE,
    file_id uuid NOT NULL REFERENCES files ON DELETE CASCADE,
    PRIMARY KEY (run_id, file_id)
);
CREATE INDEX run_files_file ON run_files (file_id);
SELECT make_tenant_table('run_files');

-- A file goes with the last thread that refers to it: the next page of maintenance removes it. An upload that only
-- given histories named is unused from now on. The lock of the file makes the removals of its last two references take
-- turns, so that the second one sees that none is left.
CREATE OR REPLACE FUNCTION file_reference_gone() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM FROM files f WHERE f.id = OLD.file_id FOR NO KEY UPDATE;
    UPDATE files f SET unused_since = CASE WHEN TG_TABLE_NAME = 'run_files' AND NOT f.is_of_request
        THEN clock_timestamp() ELSE '-infinity' END
    WHERE f.id = OLD.file_id AND NOT EXISTS (SELECT FROM message_files o WHERE o.file_id = OLD.file_id)
          AND NOT EXISTS (SELECT FROM run_files o WHERE o.file_id = OLD.file_id);
    RETURN NULL;
END
$$;
CREATE TRIGGER file_reference_gone AFTER DELETE ON message_files FOR EACH ROW EXECUTE FUNCTION file_reference_gone();
CREATE TRIGGER file_reference_gone AFTER DELETE ON run_files FOR EACH ROW EXECUTE FUNCTION file_reference_gone();

-- Locks the caller's files of these ids, in their order, until the commit.
CREATE OR REPLACE FUNCTION files_lock(file_ids uuid[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT FROM files q
    WHERE q.id = ANY (file_ids) AND q.org_id = current_org() AND q.created_by_user_id = current_user_id()
    ORDER BY q.id FOR NO KEY UPDATE
$$;

-- Stores the file whose bytes a request has in itself. upload: as file_begin() takes it, with data (base64) and the
-- settings limit_file_bytes, limit_stored_bytes and limit_upload_bytes_per_day.
CREATE OR REPLACE FUNCTION file_of_request(upload json) RETURNS files
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    size CONSTANT integer := file_piece_bytes();
    content CONSTANT bytea := decode(upload ->> 'data', 'base64');
    file uuid;
    stored files;
BEGIN
    PERFORM file_admit(octet_length(content), (upload ->> 'limit_file_bytes')::bigint);
    PERFORM user_runs_lock();  -- before the account, as everywhere
    file := file_begin(upload);
    FOR nth IN 1 .. (octet_length(content) + size - 1) / size LOOP
        PERFORM file_add_piece(file, nth, substring(content FROM (nth - 1) * size + 1 FOR size));
    END LOOP;
    PERFORM file_finish(file, (upload ->> 'limit_stored_bytes')::bigint,
                        (upload ->> 'limit_upload_bytes_per_day')::bigint);
    UPDATE files f SET is_of_request = true WHERE f.id = file AND f.org_id = current_org()
    RETURNING * INTO stored;
    RETURN stored;
END
$$;

-- The file that an image part names, or brings as `upload`. Raises what is wrong with it: it must be an image of the
-- caller's own in this organization, and not refused. field: of the request's body, for errors.
CREATE OR REPLACE FUNCTION file_of_part(part jsonb, field text) RETURNS files
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    f files;
BEGIN
    IF part ? 'upload' THEN
        RETURN file_of_request((part -> 'upload')::json);
    END IF;
    SELECT * INTO f FROM files q
    WHERE q.id = (part ->> 'file_id')::uuid AND q.org_id = current_org() AND q.created_by_user_id = current_user_id()
          AND q.deleted_at IS NULL;
    IF f.id IS NULL THEN
        PERFORM fail('files.not_found', 'named_by_input', jsonb_build_object('file_id', part ->> 'file_id',
            'field', field));
    ELSIF f.state = 'refused' THEN
        PERFORM fail('files.refused', 'file_was_refused', jsonb_build_object('file_id', f.id, 'refusal', f.refusal,
            'field', field));
    ELSIF f.mime_type NOT LIKE 'image/%' THEN
        PERFORM fail('validation.error', 'file_is_no_image', jsonb_build_object('file_id', f.id, 'field', field));
    END IF;
    RETURN f;
END
$$;

-- Parts of a message as they are stored: each image with the type of its file, which stays when the file is gone. Locks
-- the files until the message is stored. Called with the thread locked, before the account.
CREATE OR REPLACE FUNCTION file_parts_taken(parts json) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    taken jsonb := '[]';
    part jsonb;
    nth integer := 0;
    f files;
BEGIN
    PERFORM files_lock(ARRAY(SELECT (p.part ->> 'file_id')::uuid FROM json_array_elements(parts) AS p (part)));
    FOR part IN SELECT p.value FROM jsonb_array_elements(parts::jsonb) WITH ORDINALITY AS p (value, n) ORDER BY p.n LOOP
        IF part ->> 'type' = 'image' THEN
            f := file_of_part(part, coalesce(part ->> 'field', 'content.' || nth || '.file_id'));
            part := part - ARRAY['upload', 'field'] || jsonb_build_object('file_id', f.id, 'mime_type', f.mime_type);
        END IF;
        taken := taken || jsonb_build_array(part);
        nth := nth + 1;
    END LOOP;
    RETURN taken;
END
$$;

-- The same for the messages of a given history, of which most have no parts.
CREATE OR REPLACE FUNCTION history_parts_taken(history json) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    taken text[] := '{}';
    item json;
BEGIN
    IF strpos(history::text, '"parts":') = 0 THEN
        RETURN history;
    END IF;
    PERFORM files_lock(ARRAY(
        SELECT (p.part ->> 'file_id')::uuid
        FROM json_array_elements(history) AS h (item), json_array_elements(h.item -> 'parts') AS p (part)));
    FOR item IN SELECT h.value FROM json_array_elements(history) WITH ORDINALITY AS h (value, n) ORDER BY h.n LOOP
        IF item -> 'parts' IS NOT NULL THEN
            item := item::jsonb || jsonb_build_object('parts', file_parts_taken(item -> 'parts')::jsonb);
        END IF;
        taken := taken || item::text;
    END LOOP;
    RETURN '[' || array_to_string(taken, ',') || ']';
END
$$;

-- Stored parts as clients and models see them, with the facts of their files. A file that is gone leaves its id and
-- type.
CREATE OR REPLACE FUNCTION file_parts(org uuid, parts json) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_agg(CASE
        WHEN p.part ->> 'type' <> 'image' THEN p.part
        WHEN f.id IS NULL THEN json_build_object('type', 'image', 'file_id', p.part ->> 'file_id',
            'mime_type', p.part ->> 'mime_type', 'is_deleted', true)
        ELSE json_build_object('type', 'image', 'file_id', f.id, 'name', f.name, 'mime_type', f.mime_type,
            'bytes', f.bytes, 'width', f.width, 'height', f.height, 'detail', p.part ->> 'detail',
            'is_deleted', false) END ORDER BY p.nth)
    FROM json_array_elements(parts) WITH ORDINALITY AS p (part, nth)
    LEFT JOIN files f ON f.id = (p.part ->> 'file_id')::uuid AND f.org_id = org AND f.deleted_at IS NULL
$$;

-- Notes which files a new message refers to. file_parts_taken() locked them.
CREATE OR REPLACE FUNCTION message_files_keep(org uuid, thread uuid, message uuid, parts json) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    named CONSTANT uuid[] := ARRAY(
        SELECT DISTINCT (p.part ->> 'file_id')::uuid FROM json_array_elements(parts) AS p (part)
        WHERE p.part ->> 'type' = 'image');
BEGIN
    INSERT INTO message_files (org_id, thread_id, message_id, file_id)
    SELECT org, thread, message, n.id FROM unnest(named) AS n (id);
    UPDATE files f SET unused_since = NULL WHERE f.id = ANY (named) AND f.unused_since IS NOT NULL;
END
$$;

-- The same of the given history of a run, whose parts were taken.
CREATE OR REPLACE FUNCTION run_files_keep(org uuid, run uuid, history json) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    named uuid[];
BEGIN
    IF strpos(history::text, '"file_id"') = 0 THEN
        RETURN;
    END IF;
    named := ARRAY(
        SELECT DISTINCT f.id
        FROM json_array_elements(history) AS h (item), json_array_elements(h.item -> 'parts') AS p (part)
        JOIN files f ON f.id = (p.part ->> 'file_id')::uuid AND f.org_id = run_files_keep.org);
    INSERT INTO run_files (org_id, run_id, file_id) SELECT org, run, n.id FROM unnest(named) AS n (id);
    UPDATE files f SET unused_since = NULL WHERE f.id = ANY (named) AND f.unused_since IS NOT NULL;
END
$$;

-- Raises runs.input_unsupported for a run that would send an image of its thread to models that take none. Looks at
-- the newest messages only, which every request has: a daemon finds out about older ones, because it knows what the
-- context budget leaves out. models: those that the run may ask.
CREATE OR REPLACE FUNCTION run_images_check(thread uuid, models uuid[]) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    image_bytes CONSTANT integer := 16384;  -- about as many as the largest image counts
    takes_images boolean;
    lacking text;
    bytes bigint := 0;
    bytes_sent bigint;
    item record;
    shown files;
BEGIN
    -- A third of what a daemon sends at most (history_bytes_max() of runner/agent/conversation.cpp).
    SELECT bool_or('image' = ANY (l.input_types)), min(l.context_tokens)::bigint / 4 * 3,
        max(l.model) FILTER (WHERE l.id = models[1])
    INTO takes_images, bytes_sent, lacking FROM llm_models l WHERE l.id = ANY (models);
    IF takes_images THEN
        RETURN;
    END IF;
    FOR item IN SELECT m.id, octet_length(m.content) AS bytes, m.parts IS NOT NULL AS has_parts FROM messages m
                WHERE m.thread_id = thread AND m.org_id = current_org() AND m.hidden_by_run_id IS NULL
                ORDER BY m.id DESC LIMIT 1000 LOOP
        IF item.has_parts THEN
            SELECT f.* INTO shown FROM message_files n JOIN files f ON f.id = n.file_id
            WHERE n.thread_id = thread AND n.message_id = item.id AND f.deleted_at IS NULL LIMIT 1;
            IF FOUND THEN
                PERFORM fail('runs.input_unsupported', 'model_lacks_images', jsonb_build_object('model', lacking,
                    'message_id', item.id, 'file_id', shown.id, 'name', shown.name));
            END IF;
            bytes := bytes + image_bytes;
        END IF;
        bytes := bytes + item.bytes;
        EXIT WHEN bytes > bytes_sent;
    END LOOP;
END
$$;

-- The same for the images of a given history, and of the message that is stored with a run. A longer history may be
-- cut, which a daemon knows.
CREATE OR REPLACE FUNCTION given_images_check(history json, models uuid[]) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    takes_images boolean;
    lacking text;
    bytes_sent bigint;
    shown files;
BEGIN
    SELECT bool_or('image' = ANY (l.input_types)), min(l.context_tokens)::bigint / 4 * 3,
        max(l.model) FILTER (WHERE l.id = models[1])
    INTO takes_images, bytes_sent, lacking FROM llm_models l WHERE l.id = ANY (models);
    IF takes_images OR octet_length(history::text) > bytes_sent THEN
        RETURN;
    END IF;
    SELECT f.* INTO shown
    FROM json_array_elements(history) AS h (item), json_array_elements(h.item -> 'parts') AS p (part)
    JOIN files f ON f.id = (p.part ->> 'file_id')::uuid AND f.org_id = current_org() AND f.deleted_at IS NULL LIMIT 1;
    IF FOUND THEN
        PERFORM fail('runs.input_unsupported', 'model_lacks_image', jsonb_build_object('model', lacking,
            'file_id', shown.id, 'name', shown.name));
    END IF;
END
$$;

-- The messages that were copied into a thread refer to the same files.
CREATE OR REPLACE FUNCTION message_files_copy(original uuid, copy uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    INSERT INTO message_files (org_id, thread_id, message_id, file_id)
    SELECT o.org_id, copy, o.message_id, o.file_id FROM message_files o
    JOIN messages m ON m.thread_id = copy AND m.id = o.message_id
    WHERE o.thread_id = original
$$;

-- For the daemon: what is known of the files that messages name, without bytes. No row for one that is gone.
CREATE OR REPLACE FUNCTION files_sent(org uuid, file_ids uuid[])
RETURNS TABLE (id uuid, state text, refusal text, name text, width integer, height integer, derived_bytes integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT f.id, f.state, f.refusal, f.name, f.width, f.height, f.derived_bytes
    FROM files f WHERE f.id = ANY (file_ids) AND f.org_id = org AND f.deleted_at IS NULL
$$;

-- The bytes that a model gets of a file, as base64 in one line. No row when it is gone.
CREATE OR REPLACE FUNCTION file_derived(org uuid, file uuid) RETURNS TABLE (derived_type text, base64 text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT f.derived_type,
        (SELECT replace(encode(string_agg(p.content, ''::bytea ORDER BY p.nth), 'base64'), E'\n', '')
         FROM file_derived_pieces p WHERE p.file_id = f.id)
    FROM files f WHERE f.id = file AND f.org_id = org AND f.deleted_at IS NULL
$$;
REVOKE EXECUTE ON FUNCTION file_reference_gone, files_lock, file_of_request, file_of_part, file_parts_taken,
    history_parts_taken, message_files_keep, run_files_keep, message_files_copy, run_images_check, given_images_check
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION files_sent, file_derived FROM hostler_api;
