-- Threads and messages. Each begins behind access.authenticate in the same batch.

-- name: thread_create
-- $1 title text or null, $2 is_private boolean
INSERT INTO threads (org_id, created_by_user_id, title, is_private)
VALUES (current_org(), current_user_id(), $1, $2)
RETURNING thread_text(threads) AS item;

-- name: thread_page
-- A page of the caller's threads, newest first.
-- $1 limit integer, $2 before uuid or null
SELECT page.body, page.next
FROM (SELECT array_agg(id) AS ids, array_agg(item) AS items
      FROM (SELECT id, thread_text(threads) AS item FROM threads
            WHERE org_id = current_org() AND created_by_user_id = current_user_id() AND deleted_at IS NULL
                  AND ($2::uuid IS NULL OR id < $2)
            ORDER BY id DESC LIMIT $1::integer + 1) AS newest) AS found, page_of(found.ids, found.items, $1) AS page;

-- name: thread_show
-- $1 thread_id uuid
SELECT coalesce(
    (SELECT thread_text(t) FROM threads t
     WHERE t.id = $1 AND t.org_id = current_org() AND t.created_by_user_id = current_user_id()
           AND t.deleted_at IS NULL),
    thread_text_of_caller($1)) AS item;

-- name: thread_update
-- $1 thread_id uuid, $2 title text or null
UPDATE threads SET title = $2, updated_at = clock_timestamp()
WHERE id = (SELECT (thread_of_caller($1, true)).id)
RETURNING thread_text(threads) AS item;

-- name: thread_delete
-- Soft; cancels its runs.
-- $1 thread_id uuid
SELECT thread_delete($1) AS stopped;

-- name: thread_search
-- A page of the caller's threads that hold every word.
-- $1 q text, $2 limit integer, $3 before uuid or null
SELECT page.body, page.next
FROM (SELECT array_agg(id ORDER BY id DESC) AS ids, array_agg(item ORDER BY id DESC) AS items
      FROM thread_search($1, $2::integer + 1, $3)) AS found, page_of(found.ids, found.items, $2) AS page;

-- name: thread_guard
-- Raises what keeps the caller from the thread.
-- $1 thread_id uuid
SELECT (thread_of_caller($1, false)).id;

-- name: message_create
-- $1 thread_id uuid, $2 content text
SELECT message_create($1, $2) AS item;

-- name: message_page
-- Ascending within the page.
-- $1 thread_id uuid, $2 limit integer, $3 before uuid or null, $4 after uuid or null
SELECT body, next FROM message_page($1, $2, $3, $4);
