-- The access log of nginx: written by the daemon's tailer, read by administrators.

-- name: access_log_append
-- Appends what was read of a file; answers how far the file is read, also when that was elsewhere, and what was left
-- out.
-- $1 file text, $2 bytes_from bigint, $3 bytes_to bigint, $4 entries json
SELECT bytes_read, skipped, bad_entry, reason FROM access_log_append($1, $2, $3, $4);

-- name: access_log_page
-- Behind access.authenticate. next: where the next page begins, when there is one.
-- $1 wanted jsonb
SELECT found.page AS body, CASE WHEN (found.page ->> 'has_more')::boolean
    THEN coalesce(found.page ->> 'next_since', found.page ->> 'next_before') END AS next
FROM (SELECT access_log_page($1) AS page OFFSET 0) AS found;
