-- Endings: the work that is left after somebody or something ended.
--
-- An end is one row: a user's status, an epoch, a membership that is gone, a server's mark. Every reader decides by
-- that row, so the end holds from its commit on, however much hangs on it. What hangs on it is swept here, in pages,
-- by the maintainer (runner/maintenance/jobs.cpp). An end with little work is swept by its own transaction.
--
-- To add a kind: write a function ending_page_<kind>(e endings, at_most integer, is_whole boolean) RETURNS uuid, name
-- it in ending_page(), and call ending_begin('<kind>', ...) in the transaction of the end. The function does at most
-- so many rows of work. It answers null when nothing is left, else the cursor that the next page finds in e.cursor_id
-- (null in the first page), or ending_again() to start over in five seconds. is_whole: it is called by
-- ending_begin(); when that many rows or more are there, it changes nothing and answers ending_again().

CREATE TABLE endings (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    kind text COLLATE "C" NOT NULL,
    subject_id uuid NOT NULL,  -- the user, the organization or the MCP server
    within_org uuid,  -- only what is in this organization; null: everywhere
    reason text NOT NULL DEFAULT '',
    facts jsonb NOT NULL DEFAULT '{}',  -- what a page needs to know of the time of the end
    ended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    cursor_id uuid,
    due_at timestamptz NOT NULL DEFAULT clock_timestamp(),  -- the ending that waits longest goes first
    failures integer NOT NULL DEFAULT 0
);
CREATE INDEX endings_subject ON endings (kind, subject_id);
CREATE INDEX endings_due ON endings (due_at);
GRANT SELECT ON endings TO hostler_runner;

-- Whether a run's organization, its creator, or their membership ended while the run is not swept yet. Such a run
-- gets no further step. The table is empty but for a minute after an end.
CREATE OR REPLACE FUNCTION run_creator_ended(of_org uuid, creator uuid, run_created_at timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM endings e
        WHERE e.kind = 'runs' AND e.subject_id = creator AND (e.within_org IS NULL OR e.within_org = of_org)
              AND e.ended_at >= run_created_at)
        OR EXISTS (
        SELECT FROM endings e
        WHERE e.kind = 'org_runs' AND e.subject_id = of_org AND e.ended_at >= run_created_at)
$$;

-- The cursor with which a page asks for another look from the beginning, in five seconds.
CREATE OR REPLACE FUNCTION ending_again() RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid
$$;

-- Does a page of an ending. Answers the cursor of the next one; null: all is done.
CREATE OR REPLACE FUNCTION ending_page(e endings, at_most integer, is_whole boolean) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    CASE e.kind
        WHEN 'runs', 'org_runs' THEN RETURN ending_page_runs(e, at_most, is_whole);
        WHEN 'sessions' THEN RETURN ending_page_sessions(e, at_most, is_whole);
        WHEN 'api_keys' THEN RETURN ending_page_api_keys(e, at_most, is_whole);
        WHEN 'invitations' THEN RETURN ending_page_invitations(e, at_most, is_whole);
        WHEN 'memberships' THEN RETURN ending_page_memberships(e, at_most, is_whole);
        WHEN 'identities' THEN RETURN ending_page_identities(e, at_most, is_whole);
        WHEN 'mcp_rest' THEN RETURN ending_page_mcp_rest(e, at_most, is_whole);
        WHEN 'mcp_org_rest' THEN RETURN ending_page_mcp_org_rest(e, at_most, is_whole);
        WHEN 'mcp_connections' THEN RETURN ending_page_mcp_connections(e, at_most, is_whole);
        WHEN 'mcp_server' THEN RETURN ending_page_mcp_server(e, at_most, is_whole);
        WHEN 'mcp_clients' THEN RETURN ending_page_mcp_clients(e, at_most, is_whole);
        WHEN 'mcp_waits' THEN RETURN ending_page_mcp_waits(e, at_most, is_whole);
        WHEN 'budget_waits' THEN RETURN ending_page_budget_waits(e, at_most);
        WHEN 'user_sessions' THEN RETURN ending_page_user_sessions(e, at_most, is_whole);
        WHEN 'user' THEN RETURN ending_page_user(e, at_most, is_whole);
    END CASE;
END
$$;

-- Does a page of an ending, and notes what is left of it. A page that fails is undone; the ending waits then, longer
-- each time, up to a minute. Answers what went wrong, else null.
CREATE OR REPLACE FUNCTION ending_step(e endings, at_most integer, is_whole boolean) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    next_cursor uuid;
BEGIN
    next_cursor := ending_page(e, at_most, is_whole);
    IF next_cursor IS NULL THEN
        DELETE FROM endings q WHERE q.id = e.id;
    ELSIF next_cursor = ending_again() THEN
        UPDATE endings q SET cursor_id = NULL, failures = 0,
            due_at = clock_timestamp() + CASE WHEN is_whole THEN interval '0' ELSE interval '5 seconds' END
        WHERE q.id = e.id;
    ELSE
        UPDATE endings q SET cursor_id = next_cursor, due_at = clock_timestamp(), failures = 0 WHERE q.id = e.id;
    END IF;
    RETURN NULL;
EXCEPTION WHEN others THEN
    UPDATE endings q SET failures = q.failures + 1,
        due_at = clock_timestamp() + least(interval '1 second' * 2 ^ least(q.failures, 6), interval '1 minute')
    WHERE q.id = e.id;
    RETURN format('ending %s of %s %s: %s', e.id, e.kind, e.subject_id, SQLERRM);
END
$$;

-- In the transaction of an end, after the row that decides is written: the sweep that has to follow. What a small page
-- can do is done now, unless somebody holds a row of it: an end waits for nobody.
CREATE OR REPLACE FUNCTION ending_begin(of_kind text, subject uuid, org uuid DEFAULT NULL, why text DEFAULT '',
    what jsonb DEFAULT '{}') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    at_once constant integer := 40;
    e endings;
    waits text := current_setting('lock_timeout');
BEGIN
    INSERT INTO endings (kind, subject_id, within_org, reason, facts) VALUES (of_kind, subject, org, why, what)
    RETURNING * INTO e;
    PERFORM set_config('lock_timeout', '50ms', true);
    PERFORM ending_step(e, at_once, true);
    PERFORM set_config('lock_timeout', waits, true);
END
$$;

-- Maintenance: a page of the ending that waits longest. more: another one is due.
CREATE OR REPLACE FUNCTION ending_continue(at_most integer, OUT more boolean, OUT fault text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    e endings;
    -- In a variable, which an index serves.
    moment timestamptz := clock_timestamp();
BEGIN
    SELECT * INTO e FROM endings q WHERE q.due_at <= moment
    ORDER BY q.due_at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF e.id IS NULL THEN
        more := false;
        RETURN;
    END IF;
    fault := ending_step(e, at_most, false);
    moment := clock_timestamp();
    more := (SELECT true FROM endings q WHERE q.due_at <= moment ORDER BY q.due_at LIMIT 1) IS NOT NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION ending_page, ending_step, ending_begin FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION run_creator_ended, ending_continue FROM hostler_api;
