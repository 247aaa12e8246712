-- Threads and their messages, with full text search.

CREATE TABLE threads (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    created_by_user_id uuid NOT NULL REFERENCES users,
    title text,
    is_private boolean NOT NULL DEFAULT false,
    end_user text COLLATE "C",  -- whom of its users an app opened it for, by a name of the app's
    metadata json NOT NULL DEFAULT '{}',
    active_run_id uuid,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz,
    -- Thread of one run that was given its history (chat_runs.sql), and that serves this run only: it counts as deleted
    -- from the beginning, so that nobody sees it. Only the check whether the run may be read ignores that.
    is_hidden boolean NOT NULL DEFAULT false,
    -- By which a client of a foreign protocol names it, its creator's alone; null: its id is its name.
    client_id client_name,
    search tsvector,  -- words_vector() of the title
    UNIQUE (org_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.01);
CREATE UNIQUE INDEX threads_client_id ON threads (org_id, created_by_user_id, client_id)
    WHERE client_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX threads_creator ON threads (org_id, created_by_user_id, id) WHERE deleted_at IS NULL;
CREATE INDEX threads_of_end_user ON threads (org_id, created_by_user_id, end_user, id)
    WHERE end_user IS NOT NULL AND deleted_at IS NULL;
-- For the erasure of an end user alone, also of deleted threads: a hash, so that pages of threads do not read it.
CREATE INDEX threads_any_end_user ON threads (org_id, hashtext(end_user), id) WHERE end_user IS NOT NULL;
CREATE INDEX threads_search ON threads USING gin (org_id, search) WITH (gin_pending_list_limit = 8192);
SELECT make_tenant_table('threads');
GRANT SELECT, INSERT ON threads TO hostler_api;
GRANT UPDATE (title, search, metadata, updated_at, deleted_at, active_run_id) ON threads TO hostler_api;
GRANT SELECT, UPDATE ON threads TO hostler_runner;

-- Ensures that a hidden one is deleted. A trigger of the few statements that touch these, because Postgres reads the
-- text of a CHECK again for every one that writes a row, as each message and run does.
CREATE OR REPLACE FUNCTION threads_keep() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
BEGIN
    IF NEW.is_hidden AND NEW.deleted_at IS NULL THEN
        RAISE EXCEPTION 'thread %: hidden and not deleted', NEW.id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER threads_keep BEFORE INSERT OR UPDATE OF is_hidden, deleted_at ON threads
    FOR EACH ROW EXECUTE FUNCTION threads_keep();

-- hidden_by_run_id: a run that was started by :retry took this message's place; the message comes
-- back when that run fails.
CREATE TABLE messages (
    id uuid NOT NULL DEFAULT public.uuidv7(),
    org_id uuid NOT NULL,
    thread_id uuid NOT NULL,
    run_id uuid,
    created_by_user_id uuid,
    role message_role NOT NULL,
    content text NOT NULL,
    incomplete boolean NOT NULL DEFAULT false,
    has_turns boolean NOT NULL DEFAULT false,  -- the run's turns, with its tool calls, are stored (run_turns)
    hidden_by_run_id uuid,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    search tsvector NOT NULL DEFAULT '',  -- words_vector() of the content
    client_id text COLLATE "C",  -- of a user's: what the client of a foreign protocol calls it, which may repeat itself
    parts json,  -- of a user's with images: [{type, text | file_id, mime_type, detail}]; null: the content is all of it
    PRIMARY KEY (thread_id, id),
    FOREIGN KEY (org_id, thread_id) REFERENCES threads (org_id, id)
);
CREATE INDEX messages_hidden ON messages (hidden_by_run_id) WHERE hidden_by_run_id IS NOT NULL;
-- With the content: a client may call all its messages the same.
CREATE INDEX messages_client_id ON messages (thread_id, client_id, hashtextextended(content, 0))
    WHERE client_id IS NOT NULL;
CREATE INDEX messages_search ON messages USING gin (org_id, search) WITH (gin_pending_list_limit = 8192);
SELECT make_tenant_table('messages');

GRANT SELECT, INSERT ON messages TO hostler_api;
GRANT SELECT, INSERT, UPDATE ON messages TO hostler_runner;

-- The members of a thread, in their order, as clients read them (fcgi/http/items.h). Postgres puts such a function into
-- the statement that reads from it.
CREATE OR REPLACE FUNCTION thread_item(t threads) RETURNS TABLE (id uuid, org_id uuid, created_by_user_id uuid,
    title text, is_private boolean, end_user text, metadata json, active_run_id uuid, created_at timestamptz,
    updated_at timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT t.id, t.org_id, t.created_by_user_id, t.title, t.is_private, t.end_user, t.metadata, t.active_run_id,
        t.created_at, t.updated_at
$$;

-- Parts as clients and models see them, with what is known of their files (file_parts() of files.sql).
CREATE OR REPLACE FUNCTION message_parts(m messages) RETURNS json
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF m.parts IS NOT NULL THEN
        RETURN file_parts(m.org_id, m.parts);
    END IF;
    RETURN CASE WHEN m.content = '' THEN '[]' ELSE concat('[{"type":"text","text":', to_json(m.content), '}]') END;
END
$$;

CREATE OR REPLACE FUNCTION message_item(m messages) RETURNS TABLE (id uuid, org_id uuid, thread_id uuid, run_id uuid,
    created_by_user_id uuid, role text, content text, parts json, incomplete boolean, created_at timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT m.id, m.org_id, m.thread_id, m.run_id, m.created_by_user_id, m.role, m.content, message_parts(m),
        m.incomplete, m.created_at
$$;

-- The same as text, for the message that message_create() made: concatenated, because json_build_object() and
-- row_to_json() look at the types of all members again for each row, which takes five and two times as long.
CREATE OR REPLACE FUNCTION message_text(m messages) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT concat('{"id":"', m.id, '","org_id":"', m.org_id, '","thread_id":"', m.thread_id,
        '","run_id":', coalesce('"' || m.run_id || '"', 'null'),
        ',"created_by_user_id":', coalesce('"' || m.created_by_user_id || '"', 'null'), ',"role":"', m.role,
        '","content":', to_json(m.content), ',"parts":', message_parts(m), ',"incomplete":', m.incomplete::text,
        ',"created_at":"', rfc3339(m.created_at), '"}')
$$;

CREATE OR REPLACE FUNCTION message_json(m messages) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT message_text(m)::json
$$;

-- Ends with a 404. When a user (not a key, which has one organization) asks for what another organization of theirs
-- has, the error says so: one row of `thing`, a table with org_id, by its id. own_column: it must hold the user,
-- too. Only members of that organization can tell the answer from that of an id nobody has.
CREATE OR REPLACE FUNCTION fail_missing(code text, thing text, thing_id uuid, own_column text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    found_row jsonb;
    elsewhere uuid;
BEGIN
    IF current_request() ->> 'api_key_id' IS NULL THEN
        EXECUTE format('SELECT to_jsonb(t) FROM %I t WHERE t.id = $1', thing) INTO found_row USING thing_id;
        SELECT m.org_id INTO elsewhere FROM org_members m
        WHERE m.org_id = (found_row ->> 'org_id')::uuid AND m.user_id = current_user_id()
              AND m.org_id <> current_org() AND found_row ->> 'deleted_at' IS NULL
              AND (own_column IS NULL OR found_row ->> own_column = current_user_id()::text);
    END IF;
    IF elsewhere IS NULL THEN
        PERFORM fail(code);
    END IF;
    PERFORM fail(code, 'in_another_org', jsonb_build_object('org_id', elsewhere));
END
$$;

-- The thread for its creator; raises the 404 or 403. lock: hold it until the end of the transaction.
-- Everything that changes a run or a thread's runs locks the thread first.
CREATE OR REPLACE FUNCTION thread_of_caller(thread uuid, lock boolean) RETURNS threads
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
DECLARE
    found_thread threads;
BEGIN
    IF lock THEN
        SELECT * INTO found_thread FROM threads WHERE id = thread AND deleted_at IS NULL FOR UPDATE;
    ELSE
        SELECT * INTO found_thread FROM threads WHERE id = thread AND deleted_at IS NULL;
    END IF;
    IF found_thread.id IS NULL THEN
        PERFORM fail_missing('threads.not_found', 'threads', thread);
    END IF;
    IF found_thread.created_by_user_id <> current_user_id() THEN
        PERFORM fail('policy.denied', 'thread_of_another');
    END IF;
    RETURN found_thread;
END
$$;

-- POST /v1/threads/{thread_id}/messages. Counted in the statement that writes it: thread first, then the account.
CREATE OR REPLACE FUNCTION message_create(thread uuid, content text, words text, limit_stored_bytes bigint,
    client_id text DEFAULT NULL, parts json DEFAULT NULL) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    org uuid := current_org();
    moment timestamptz;
    stored_parts json;
    item json;
    is_entitled boolean;
    bytes_max bigint := limit_stored_bytes;
BEGIN
    LOOP
        UPDATE threads t SET updated_at = moment_after(t.updated_at, clock_timestamp())
        WHERE t.id = thread AND t.org_id = org AND t.created_by_user_id = current_user_id() AND t.deleted_at IS NULL
        RETURNING t.updated_at, EXISTS (SELECT FROM entitlement_overrides o WHERE o.org_id = org)
            OR EXISTS (SELECT FROM subscriptions s WHERE s.org_id = org AND s.status = 'active')
        INTO moment, is_entitled;
        EXIT WHEN FOUND;
        -- Says what is wrong with it; a thread that came only now is found in the next round.
        PERFORM thread_of_caller_locked(thread);
    END LOOP;
    IF parts IS NOT NULL THEN
        stored_parts := file_parts_taken(parts);
    END IF;
    -- Most have no entitlements; which they have costs as much to ask as the message.
    IF is_entitled THEN
        bytes_max := entitlement_integer(org, 'limit.stored_bytes', limit_stored_bytes);
    END IF;
    WITH counted AS (
        UPDATE credit_accounts a SET stored_bytes = a.stored_bytes + octet_length(message_create.content)
        WHERE a.org_id = org AND (bytes_max = 0 OR a.stored_bytes + octet_length(message_create.content) <= bytes_max)
        RETURNING a.org_id)
    INSERT INTO messages (id, org_id, thread_id, created_by_user_id, role, content, created_at, search, client_id,
        parts)
    SELECT uuidv7_of(moment), counted.org_id, thread, current_user_id(), 'user', message_create.content, moment,
        words_vector(message_create.words), message_create.client_id, stored_parts
    FROM counted
    RETURNING message_json(messages) INTO item;
    IF item IS NULL THEN
        PERFORM stored_bytes_refused(bytes_max, a.stored_bytes) FROM credit_accounts a WHERE a.org_id = org;
    END IF;
    IF stored_parts IS NOT NULL THEN
        PERFORM message_files_keep(org, thread, (item ->> 'id')::uuid, stored_parts);
    END IF;
    RETURN item;
END
$$;

-- The messages of one page and one further: from the newest, from one back, or from one on. They may be megabytes:
-- when not all fit into a page, then those that do and one further. Planned once, in the order of the key.
CREATE OR REPLACE FUNCTION message_page(thread uuid, page_limit integer, before uuid, after uuid)
RETURNS TABLE (id uuid, org_id uuid, thread_id uuid, run_id uuid, created_by_user_id uuid, role text, content text,
    parts json, incomplete boolean, created_at timestamptz)
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    page_bytes_max CONSTANT bigint := 4194304;
    is_forward boolean := after IS NOT NULL AND before IS NULL;
    lower_end uuid := coalesce(after, '00000000-0000-0000-0000-000000000000');
    upper_end uuid := coalesce(before, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    rows_read bigint := page_limit + 1;
BEGIN
    IF NOT EXISTS (SELECT FROM threads t WHERE t.id = thread AND t.deleted_at IS NULL
                   AND t.created_by_user_id = current_user_id()) THEN
        PERFORM thread_of_caller(thread, false);
    END IF;
    IF is_forward THEN
        IF (SELECT sum(octet_length(p.content)) FROM (
                SELECT m.content FROM messages m
                WHERE m.thread_id = thread AND m.id > lower_end AND m.hidden_by_run_id IS NULL
                ORDER BY m.id LIMIT rows_read) AS p) > page_bytes_max THEN
            rows_read := (SELECT 1 + greatest(1, count(*) FILTER (WHERE p.bytes <= page_bytes_max)) FROM (
                SELECT sum(octet_length(m.content)) OVER (ORDER BY m.id) AS bytes FROM messages m
                WHERE m.thread_id = thread AND m.id > lower_end AND m.hidden_by_run_id IS NULL
                ORDER BY m.id LIMIT rows_read) AS p);
        END IF;
        RETURN QUERY SELECT item.* FROM messages m, message_item(m) AS item
            WHERE m.thread_id = thread AND m.id > lower_end AND m.hidden_by_run_id IS NULL
            ORDER BY m.id LIMIT rows_read;
        RETURN;
    END IF;
    IF (SELECT sum(octet_length(p.content)) FROM (
            SELECT m.content FROM messages m
            WHERE m.thread_id = thread AND m.id > lower_end AND m.id < upper_end AND m.hidden_by_run_id IS NULL
            ORDER BY m.id DESC LIMIT rows_read) AS p) > page_bytes_max THEN
        rows_read := (SELECT 1 + greatest(1, count(*) FILTER (WHERE p.bytes <= page_bytes_max)) FROM (
            SELECT sum(octet_length(m.content)) OVER (ORDER BY m.id DESC) AS bytes FROM messages m
            WHERE m.thread_id = thread AND m.id > lower_end AND m.id < upper_end AND m.hidden_by_run_id IS NULL
            ORDER BY m.id DESC LIMIT rows_read) AS p);
    END IF;
    RETURN QUERY SELECT item.* FROM messages m, message_item(m) AS item
        WHERE m.thread_id = thread AND m.id > lower_end AND m.id < upper_end AND m.hidden_by_run_id IS NULL
        ORDER BY m.id DESC LIMIT rows_read;
END
$$;

-- The visible messages of a thread that a model may read, newest first: at most so many, only until they pass bytes_max
-- together, and only before the id `before`, if it is given. In the order of the key, whatever the statistics are: a
-- thread that Postgres takes for a short one it would read whole, and sort. A loop, because it stops reading. place,
-- then id: the order in which a model gets them. An answer stands where its run began, before messages that came while
-- it ran, which it does not answer. turns_of: the run whose turns are stored beside the message, or null.
CREATE OR REPLACE FUNCTION thread_newest_messages(thread uuid, at_most bigint, bytes_max bigint, before uuid)
RETURNS TABLE (id uuid, place uuid, role text, content text, turns_of uuid, parts json)
LANGUAGE plpgsql STABLE ROWS 100 SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    bytes bigint := 0;
BEGIN
    FOR id, place, role, content, turns_of, parts IN
        SELECT m.id, coalesce(m.run_id, m.id), m.role, m.content, CASE WHEN m.has_turns THEN m.run_id END,
            CASE WHEN m.parts IS NOT NULL THEN file_parts(m.org_id, m.parts) END
        FROM messages m
        WHERE m.thread_id = thread AND m.hidden_by_run_id IS NULL
              AND m.id < coalesce(before, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid) ORDER BY m.id DESC LIMIT at_most
    LOOP
        RETURN NEXT;
        bytes := bytes + octet_length(content);
        EXIT WHEN bytes > bytes_max;
    END LOOP;
END
$$;

-- The caller's threads whose title, or a message, or the name of a file holds every word, newest first. words: see
-- search_query() (lib/search_words.h); null finds none. SECURITY DEFINER: text search cannot use an index under
-- row-level security; the organization and user are the caller's.
CREATE OR REPLACE FUNCTION thread_search(words tsquery, page_limit integer, before uuid) RETURNS SETOF threads
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT t.*
    FROM threads t
    WHERE t.org_id = current_org() AND t.created_by_user_id = current_user_id() AND t.deleted_at IS NULL
          AND (before IS NULL OR t.id < before)
          AND t.id IN (
              SELECT named.id FROM threads named
              WHERE named.org_id = current_org() AND named.search @@ words
              UNION
              SELECT m.thread_id FROM messages m
              WHERE m.org_id = current_org() AND m.search @@ words AND m.hidden_by_run_id IS NULL
              UNION
              SELECT n.thread_id FROM files f JOIN message_files n ON n.file_id = f.id
              WHERE f.org_id = current_org() AND f.search @@ words AND f.created_by_user_id = current_user_id()
                    AND f.deleted_at IS NULL)
    ORDER BY t.id DESC LIMIT page_limit
$$;

-- Maintenance: merges new words into the trees of the search. A message of 64 KiB has thousands. An INSERT leaves them
-- in a list, and would merge the list of all, in tenths of a second and with its locks held, when that has grown to its
-- limit: maintenance is sooner. Answers how many pages of the lists it took.
CREATE OR REPLACE FUNCTION search_merge() RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT gin_clean_pending_list('messages_search') + gin_clean_pending_list('threads_search')
        + gin_clean_pending_list('files_search')
$$;

-- The caller's thread of this name, which is its id or its client_id, or null. Not locked.
CREATE OR REPLACE FUNCTION thread_named(name text) RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    thread uuid;
BEGIN
    IF name ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN
        SELECT t.id INTO thread FROM threads t
        WHERE t.id = name::uuid AND t.org_id = current_org() AND t.created_by_user_id = current_user_id()
              AND t.deleted_at IS NULL;
    END IF;
    IF thread IS NULL THEN
        SELECT t.id INTO thread FROM threads t
        WHERE t.org_id = current_org() AND t.created_by_user_id = current_user_id() AND t.client_id = name
              AND t.deleted_at IS NULL;
    END IF;
    RETURN thread;
END
$$;

-- The same, created if missing, with the end user. Of two first uses at once one creates it.
CREATE OR REPLACE FUNCTION client_thread(name text, end_user text) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    thread uuid;
BEGIN
    LOOP
        thread := thread_named(name);
        EXIT WHEN thread IS NOT NULL;
        INSERT INTO threads (org_id, created_by_user_id, end_user, client_id)
        VALUES (current_org(), current_user_id(), client_thread.end_user, name)
        ON CONFLICT (org_id, created_by_user_id, client_id) WHERE client_id IS NOT NULL AND deleted_at IS NULL
            DO NOTHING
        RETURNING id INTO thread;
        EXIT WHEN FOUND;
    END LOOP;
    RETURN thread;
END
$$;
REVOKE EXECUTE ON FUNCTION message_create, client_thread, thread_named FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION thread_newest_messages, search_merge FROM hostler_api;
