-- Why: the daemon commits steps of many runs in one transaction. When somebody else holds a row that one of them
-- wants, it asks whose rows are held, so that the others commit at once.
-- Locks: none, everything is new.
-- Compatible from: 00045

-- Which of these runs would have to wait for a row now. All of them write events; those of paid (turns, endings) want
-- their organization's account too, those of ended their thread and what webhook messages hang from. Waits for nothing;
-- what it found free is locked until its transaction ends, which need not be durable.
CREATE FUNCTION runs_held_up(written uuid[], paid uuid[], ended uuid[]) RETURNS TABLE (id uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    free_runs uuid[];
    free_threads uuid[];
    free_accounts uuid[];
    free_endpoints uuid[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    free_runs := ARRAY(SELECT r.id FROM runs r WHERE r.id = ANY (written) AND r.id <> ALL (ended)
                       FOR NO KEY UPDATE SKIP LOCKED)
              || ARRAY(SELECT r.id FROM runs r WHERE r.id = ANY (ended) FOR UPDATE SKIP LOCKED);
    free_threads := ARRAY(SELECT t.id FROM threads t
        WHERE t.id IN (SELECT r.thread_id FROM runs r WHERE r.id = ANY (ended)) FOR UPDATE SKIP LOCKED);
    free_accounts := ARRAY(SELECT a.org_id FROM credit_accounts a
        WHERE a.org_id IN (SELECT r.org_id FROM runs r WHERE r.id = ANY (paid)) FOR UPDATE SKIP LOCKED);
    free_endpoints := ARRAY(SELECT e.id FROM webhook_endpoints e
        WHERE e.enabled AND e.org_id IN (SELECT r.org_id FROM runs r WHERE r.id = ANY (ended))
        FOR KEY SHARE SKIP LOCKED);
    RETURN QUERY SELECT r.id FROM runs r WHERE r.id = ANY (written)
        AND (r.id <> ALL (free_runs)
             OR (r.id = ANY (paid) AND r.org_id <> ALL (free_accounts))
             OR (r.id = ANY (ended) AND r.thread_id <> ALL (free_threads))
             OR (r.id = ANY (ended) AND EXISTS (SELECT FROM webhook_endpoints e
                 WHERE e.org_id = r.org_id AND e.enabled AND e.id <> ALL (free_endpoints))));
END
$$;
REVOKE EXECUTE ON FUNCTION runs_held_up FROM hostler_api;
