-- hostlerctl privacy replay: deletions since a backup was made are applied again to what it revived. Run before the
-- programs start, so that nobody sees it meanwhile.

-- The end users of an organization whose name has this hash.
CREATE OR REPLACE FUNCTION end_users_of_hash(org uuid, salt uuid, hash bytea) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT n.name FROM (
        SELECT t.end_user AS name FROM threads t WHERE t.org_id = org AND t.end_user IS NOT NULL
        UNION SELECT r.end_user FROM runs r WHERE r.org_id = org AND r.end_user IS NOT NULL
        UNION SELECT u.end_user FROM usage_of_end_user u WHERE u.org_id = org
        UNION SELECT u.end_user FROM usage_records u WHERE u.org_id = org AND u.end_user IS NOT NULL) AS n
    WHERE end_user_hash(salt, n.name) = hash
$$;

CREATE OR REPLACE FUNCTION privacy_replay_user(of_user uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM users u WHERE u.id = of_user AND u.status <> 'deleted') THEN
        RETURN false;
    END IF;
    PERFORM last_admin_guard(of_user);
    PERFORM workspaces_hand_over(of_user, 0);
    PERFORM user_delete(of_user);
    PERFORM audit('users.delete', 'user', of_user::text, NULL, '{"status": "active"}',
                  '{"status": "deleted", "replayed": true}');
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION privacy_replay_org(kind text, org uuid, ends_at timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    o orgs;
BEGIN
    SELECT * INTO o FROM orgs q WHERE q.id = org FOR NO KEY UPDATE;
    IF o.id IS NULL OR (kind = 'org_closed') = (o.closed_at IS NOT NULL) THEN
        RETURN false;
    ELSIF kind = 'org_closed' THEN
        PERFORM org_close(org, 0);
        UPDATE orgs q SET erase_at = ends_at WHERE q.id = org;
        UPDATE erasures e SET due_at = ends_at WHERE e.org_id = org AND e.kind = 'org';
        PERFORM audit('orgs.delete', 'org', org::text, org, NULL, '{"replayed": true}');
    ELSE
        DELETE FROM erasures e WHERE e.org_id = org AND e.kind IN ('org', 'org_stop');
        UPDATE orgs q SET closed_at = NULL, erase_at = NULL WHERE q.id = org;
        PERFORM ending_begin('mcp_org_rest', org);
        PERFORM audit('orgs.restore', 'org', org::text, org, NULL, '{"replayed": true}');
    END IF;
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION privacy_replay_talk(kind text, subject uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
    t threads;
BEGIN
    IF kind = 'thread' THEN
        SELECT * INTO t FROM threads q WHERE q.id = subject AND q.deleted_at IS NULL FOR UPDATE;
        IF t.id IS NOT NULL THEN
            PERFORM thread_stop(t, NULL, 'thread_deleted');
            UPDATE threads q SET deleted_at = clock_timestamp(), updated_at = clock_timestamp() WHERE q.id = t.id;
            INSERT INTO threads_to_empty (thread_id) VALUES (t.id);
            PERFORM privacy_note('thread', t.org_id, t.id);
        END IF;
        RETURN t.id IS NOT NULL;
    END IF;
    SELECT * INTO r FROM runs q WHERE q.id = subject AND q.deleted_at IS NULL;
    SELECT * INTO t FROM threads q WHERE q.id = r.thread_id FOR UPDATE;
    IF t.id IS NOT NULL THEN
        PERFORM response_hide(r, t);
    END IF;
    RETURN t.id IS NOT NULL;
END
$$;

CREATE OR REPLACE FUNCTION privacy_replay_end_user(org uuid, salt uuid, hash bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    name text;
    is_applied boolean := false;
BEGIN
    FOR name IN SELECT n FROM end_users_of_hash(org, salt, hash) AS n LOOP
        PERFORM erasure_begin('end_user', org, NULL, name);
        PERFORM privacy_note('end_user', org, NULL, name);
        is_applied := true;
    END LOOP;
    RETURN is_applied;
END
$$;

-- Applies a line of the journal as privacy_journal_page() printed it. applied is false when there is nothing to delete
-- any more, or nothing yet in this backup; fault says why the line could not be applied.
CREATE OR REPLACE FUNCTION privacy_replay(entry jsonb, OUT applied boolean, OUT fault text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    kind CONSTANT text := entry ->> 'kind';
    org CONSTANT uuid := entry ->> 'org_id';
    subject CONSTANT uuid := entry ->> 'subject_id';
BEGIN
    applied := CASE kind
        WHEN 'user' THEN privacy_replay_user(subject)
        WHEN 'org_closed' THEN privacy_replay_org(kind, org, (entry ->> 'erase_at')::timestamptz)
        WHEN 'org_restored' THEN privacy_replay_org(kind, org, NULL)
        WHEN 'end_user' THEN privacy_replay_end_user(org, (entry ->> 'name_salt')::uuid,
                                                     decode(entry ->> 'name_hash', 'hex'))
        WHEN 'thread' THEN privacy_replay_talk(kind, subject)
        WHEN 'response' THEN privacy_replay_talk(kind, subject) END;
    IF applied IS NULL THEN
        fault := 'there is no such kind: ' || kind;
    END IF;
EXCEPTION WHEN OTHERS THEN
    applied := false;
    fault := SQLERRM;
END
$$;
REVOKE EXECUTE ON FUNCTION end_users_of_hash, privacy_replay_user, privacy_replay_org, privacy_replay_talk,
    privacy_replay_end_user, privacy_replay FROM hostler_api, hostler_runner;
