-- An app forgets one of its own users (runs.end_user, threads.end_user).

-- POST /v1/end-users:delete. Their threads, of all creators in the organization, are erased page by page, marks and the
-- name in usage too. Raises end_users.not_found for a name that nobody has, also if it is already erased. The audit log
-- does not contain the name, so neither does the row by which it would be found.
CREATE OR REPLACE FUNCTION end_user_delete(name text) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org CONSTANT uuid := current_org();
BEGIN
    IF NOT EXISTS (
        SELECT FROM threads t WHERE t.org_id = org AND hashtext(t.end_user) = hashtext(name) AND t.end_user = name
        UNION ALL SELECT FROM runs r WHERE r.org_id = org AND r.end_user = name
        UNION ALL SELECT FROM files f WHERE f.org_id = org AND f.end_user = end_user_delete.name
        UNION ALL SELECT FROM usage_records u WHERE u.org_id = org AND u.end_user = name
        UNION ALL SELECT FROM erasures e WHERE e.org_id = org AND e.kind = 'end_user' AND e.end_user = name) THEN
        PERFORM fail('end_users.not_found');
    END IF;
    -- One erasure a name: a client that repeats its request adds none.
    PERFORM pg_advisory_xact_lock(hashtextextended('end user ' || org || ' ' || name, 0));
    IF NOT EXISTS (SELECT FROM erasures e WHERE e.org_id = org AND e.kind = 'end_user' AND e.end_user = name
                   AND e.nth_step = 1 AND e.after_id = '00000000-0000-0000-0000-000000000000') THEN
        PERFORM erasure_begin('end_user', org, NULL, name);
    END IF;
    PERFORM privacy_note('end_user', org, NULL, name);
    PERFORM audit('end_users.delete', 'org', org::text, org);
    RETURN json_build_object('status', 'erasing');
END
$$;
REVOKE EXECUTE ON FUNCTION end_user_delete FROM hostler_runner;
