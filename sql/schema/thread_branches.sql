-- Threads that begin as another one did: POST /v1/threads/{thread_id}:branch.

-- A new thread of the caller with what one of theirs holds before a message of the user, and with new content in that
-- message's place. The other thread stays as it is. A copy belongs to no run, so that its text is all that it has, and
-- it outlives the other thread. Copies stand in the order in which a model reads them (thread_newest_messages).
CREATE OR REPLACE FUNCTION thread_branch(thread uuid, message uuid, content text, words text,
    limit_stored_bytes bigint) RETURNS threads
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan SET enable_sort = off SET enable_bitmapscan = off AS $$
DECLARE
    messages_max CONSTANT integer := 1000;
    text_bytes_max CONSTANT bigint := 4194304;
    began_at CONSTANT timestamptz := clock_timestamp();
    source threads;
    made threads;
    message_role text;
    copied_count integer;
    copied_bytes bigint;
    bytes_max bigint;
BEGIN
    source := thread_of_caller_locked(thread);
    SELECT m.role INTO message_role FROM messages m
    WHERE m.thread_id = thread AND m.id = message AND m.hidden_by_run_id IS NULL;
    IF message_role IS NULL THEN
        PERFORM fail('validation.error', 'message_not_in_thread');
    ELSIF message_role <> 'user' THEN
        PERFORM fail('validation.error', 'message_not_of_user');
    END IF;
    SELECT count(*), coalesce(sum(octet_length(p.content)), 0) INTO copied_count, copied_bytes FROM (
        SELECT m.content FROM messages m
        WHERE m.thread_id = thread AND m.id < message AND m.hidden_by_run_id IS NULL
        ORDER BY m.id DESC LIMIT messages_max + 1) AS p;
    IF copied_count > messages_max OR copied_bytes > text_bytes_max THEN
        PERFORM fail('validation.error', 'branch_too_long');
    END IF;
    INSERT INTO threads (org_id, created_by_user_id, title, is_private, end_user, metadata, search, created_at,
                         updated_at)
    VALUES (source.org_id, source.created_by_user_id, source.title, source.is_private, source.end_user,
            source.metadata, source.search, began_at, began_at + make_interval(secs => (copied_count + 1) * 1e-6))
    RETURNING * INTO made;
    bytes_max := entitlement_integer(source.org_id, 'limit.stored_bytes', limit_stored_bytes);
    copied_bytes := copied_bytes + octet_length(thread_branch.content);
    UPDATE credit_accounts a SET stored_bytes = a.stored_bytes + copied_bytes
    WHERE a.org_id = source.org_id AND (bytes_max = 0 OR a.stored_bytes + copied_bytes <= bytes_max);
    IF NOT FOUND THEN
        PERFORM stored_bytes_refused(bytes_max, a.stored_bytes) FROM credit_accounts a
        WHERE a.org_id = source.org_id;
    END IF;
    INSERT INTO messages (id, org_id, thread_id, created_by_user_id, role, content, incomplete, created_at, search)
    SELECT uuidv7_of(c.moment), source.org_id, made.id, c.created_by_user_id, c.role, c.content, c.incomplete,
        c.moment, c.search
    FROM (SELECT m.created_by_user_id, m.role, m.content, m.incomplete, m.search, began_at + make_interval(
              secs => row_number() OVER (ORDER BY coalesce(m.run_id, m.id), m.id) * 1e-6) AS moment
          FROM messages m
          WHERE m.thread_id = thread AND m.id < message AND m.hidden_by_run_id IS NULL) AS c;
    INSERT INTO messages (id, org_id, thread_id, created_by_user_id, role, content, created_at, search)
    VALUES (uuidv7_of(made.updated_at), source.org_id, made.id, current_user_id(), 'user', thread_branch.content,
            made.updated_at, words_vector(thread_branch.words));
    RETURN made;
END
$$;
REVOKE EXECUTE ON FUNCTION thread_branch FROM hostler_runner;
