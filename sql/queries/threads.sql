-- Threads and messages. Each begins behind access.authenticate in the same batch.

-- name: thread_create
-- $1 title text or null, $2 is_private boolean, $3 end_user text or null, $4 metadata json,
-- $5 words text (of the title)
WITH made AS (
    INSERT INTO threads (org_id, created_by_user_id, title, is_private, end_user, metadata, search)
    VALUES (current_org(), current_user_id(), $1, $2, $3, $4, words_vector($5))
    RETURNING threads AS t)
SELECT item.* FROM made, thread_item(made.t) AS item;

-- name: thread_page
-- A page of the caller's threads, newest first.
-- $1 limit integer, $2 before uuid or null
SELECT item.* FROM threads t, thread_item(t) AS item
WHERE t.org_id = current_org() AND t.created_by_user_id = current_user_id() AND t.deleted_at IS NULL
      AND t.id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
ORDER BY t.id DESC LIMIT $1::integer + 1;

-- name: thread_page_of_end_user
-- The same of those that are for one end user.
-- $1 end_user text, $2 limit integer, $3 before uuid or null
SELECT item.* FROM threads t, thread_item(t) AS item
WHERE t.org_id = current_org() AND t.created_by_user_id = current_user_id() AND t.deleted_at IS NULL
      AND t.end_user = $1 AND t.id < coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
ORDER BY t.id DESC LIMIT $2::integer + 1;

-- name: thread_show
-- Only when the look finds none of the caller's the rest is asked, which says why.
-- $1 thread_id uuid
(SELECT item.* FROM threads t, thread_item(t) AS item
 WHERE t.id = $1 AND t.org_id = current_org() AND t.created_by_user_id = current_user_id() AND t.deleted_at IS NULL)
UNION ALL
(SELECT item.* FROM thread_of_caller($1, false) AS t, thread_item(t) AS item)
LIMIT 1;

-- name: thread_update
-- $1 thread_id uuid, $2 has_title boolean, $3 title text or null, $4 metadata json or null (null: as it is),
-- $5 words text (of the title)
WITH changed AS (
    UPDATE threads SET title = CASE WHEN $2 THEN $3 ELSE title END, metadata = coalesce($4, metadata),
        search = CASE WHEN $2 THEN words_vector($5) ELSE search END,
        updated_at = moment_after(updated_at, clock_timestamp())
    WHERE id = (SELECT (thread_of_caller($1, true)).id)
    RETURNING threads AS t)
SELECT item.* FROM changed, thread_item(changed.t) AS item;

-- name: thread_delete
-- Soft; cancels its runs. What was said in it is removed later (threads_empty).
-- $1 thread_id uuid
SELECT thread_delete($1) AS stopped;

-- name: thread_search
-- A page of the caller's threads that hold every word.
-- $1 query text (empty: nothing is looked for), $2 limit integer, $3 before uuid or null
SELECT item.* FROM thread_search(nullif($1, '')::tsquery, $2::integer + 1, $3) AS t, thread_item(t) AS item
ORDER BY t.id DESC;

-- name: thread_guard
-- Raises what keeps the caller from the thread.
-- $1 thread_id uuid
SELECT (thread_of_caller($1, false)).id;

-- name: message_create
-- $1 thread_id uuid, $2 content text, $3 words text, $4 limit_stored_bytes bigint, $5 parts json or null
SELECT message_create($1, $2, $3, $4, NULL, $5) AS item;

-- name: message_page
-- In the order in which they are read: with after alone the oldest first.
-- $1 thread_id uuid, $2 limit integer, $3 before uuid or null, $4 after uuid or null
SELECT item.* FROM message_page($1, $2, $3, $4) AS item;
