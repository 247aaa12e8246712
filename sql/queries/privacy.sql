-- hostlerctl privacy: the journal of deletions, and its replay on a backup that was restored.

-- name: privacy_journal_page
-- $1 after uuid, $2 limit integer
SELECT id, item FROM privacy_journal_page($1, $2);

-- name: privacy_replay
-- Applies a line of the journal; not applied and no fault: there is nothing to delete.
-- $1 entry jsonb
SELECT coalesce(applied, false) AS applied, fault FROM privacy_replay($1);
