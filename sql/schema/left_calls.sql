-- Calls of function tools with which a run ended: in a form in which nobody waits for a client, its next request
-- answers them, as part of the history that it gives whole. That history then gets the run's turns back in place of
-- what the client knows of them.

-- Goes with the run's events, and with its history when that is forgotten (chat_runs.sql).
CREATE TABLE run_left_calls (
    run_id uuid NOT NULL,
    tool_call_id text COLLATE "C" NOT NULL,
    org_id uuid NOT NULL,
    created_by_user_id uuid NOT NULL,  -- the run's
    PRIMARY KEY (run_id, tool_call_id),
    FOREIGN KEY (org_id, run_id) REFERENCES runs (org_id, id)
);
CREATE INDEX run_left_calls_of_user ON run_left_calls (org_id, created_by_user_id, tool_call_id, run_id);
SELECT make_tenant_table('run_left_calls');
GRANT INSERT ON run_left_calls TO hostler_runner;

-- The caller's runs that left these calls, each once, oldest first; null: none did. Reads a row a call, of many the
-- newest 100 to 200: the first that is looked up stays the same one while a hundred more come, so that what a model is
-- sent keeps its beginning. Should two runs have called one thing the same, it is the newer one's.
CREATE OR REPLACE FUNCTION left_calls_runs(call_ids text[]) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    calls CONSTANT integer := coalesce(cardinality(call_ids), 0);
    passed_over CONSTANT integer := CASE WHEN calls <= 200 THEN 0 ELSE (calls - 101) / 100 * 100 END;
BEGIN
    RETURN (
        SELECT array_agg(DISTINCT left_one.run_id) FROM unnest(call_ids[passed_over + 1:]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT c.run_id FROM run_left_calls c
            WHERE c.org_id = current_org() AND c.created_by_user_id = current_user_id() AND c.tool_call_id = wanted.id
            ORDER BY c.org_id DESC, c.created_by_user_id DESC, c.tool_call_id DESC, c.run_id DESC LIMIT 1) AS left_one);
END
$$;

-- Raises what is wrong with the outputs that a run is given, by its request's member: each of missing_calls is one that
-- the caller's earlier runs left to them, and where one of the calls that a run left has its output, all of them have.
CREATE OR REPLACE FUNCTION left_calls_check(answered_calls text[], missing_calls text[], member text) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    call_id text;
    left_by uuid[] := left_calls_runs(missing_calls);
BEGIN
    SELECT m.id INTO call_id FROM unnest(missing_calls) AS m (id)
    WHERE NOT EXISTS (SELECT FROM run_left_calls c WHERE c.run_id = ANY (left_by) AND c.tool_call_id = m.id) LIMIT 1;
    IF FOUND THEN
        PERFORM fail('validation.error', 'call_unknown', jsonb_build_object('call_id', call_id, 'field', member));
    END IF;
    left_by := left_by || left_calls_runs(answered_calls);
    SELECT c.tool_call_id INTO call_id FROM run_left_calls c
    WHERE c.run_id = ANY (left_by) AND c.tool_call_id <> ALL (answered_calls || missing_calls) LIMIT 1;
    IF FOUND THEN
        PERFORM fail('validation.error', 'call_unanswered', jsonb_build_object('call_id', call_id, 'field', member));
    END IF;
END
$$;

-- For the daemon: the turns of the runs that are put back into what a run was given, with the results of their calls:
-- [{tool_call_id, result (its JSON as text) or error_code and error_message}]; in their order, but of no more of the
-- newest runs than have bytes_max together.
CREATE OR REPLACE FUNCTION run_put_back(run uuid, bytes_max bigint)
RETURNS TABLE (run_id uuid, parts json, results json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    earlier uuid[] := (SELECT h.put_back FROM run_histories h WHERE h.run_id = run);
    first_nth integer := coalesce(cardinality(earlier), 0) + 1;
    bytes bigint := 0;
BEGIN
    WHILE first_nth > 1 LOOP
        bytes := bytes
            + (SELECT coalesce(sum(octet_length(t.parts::text)), 0) FROM run_turns t
               WHERE t.run_id = earlier[first_nth - 1])
            + (SELECT coalesce(sum(octet_length(coalesce(r.result::text, r.error_message))), 0) FROM run_tool_results r
               WHERE r.run_id = earlier[first_nth - 1]);
        EXIT WHEN bytes > bytes_max;
        first_nth := first_nth - 1;
    END LOOP;
    RETURN QUERY
        SELECT t.run_id, t.parts, coalesce((
            SELECT json_agg(json_build_object('tool_call_id', r.tool_call_id, 'result', r.result::text,
                                              'error_code', r.error_code, 'error_message', r.error_message))
            FROM run_tool_results r WHERE r.run_id = t.run_id AND r.turn = t.turn), '[]')
        FROM unnest(earlier[first_nth:]) AS e (id)
        CROSS JOIN LATERAL (SELECT q.run_id, q.turn, q.parts FROM run_turns q
                            WHERE q.run_id = e.id OFFSET 0) AS t
        ORDER BY t.run_id, t.turn;
END
$$;
-- For the daemon: the turns of earlier runs of a thread, run by run as they are named, newest first, until they have
-- more than bytes_max together; of each run its turns in order. is_answer: it is the run's last turn. results: as
-- run_put_back() answers them; of a longer one the first result_bytes_max characters, and is_cut.
CREATE OR REPLACE FUNCTION thread_turns(org uuid, run_ids uuid[], bytes_max bigint, result_bytes_max bigint)
RETURNS TABLE (run_id uuid, is_answer boolean, parts json, results json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    wanted uuid;
    bytes bigint := 0;
BEGIN
    FOREACH wanted IN ARRAY run_ids LOOP
        FOR run_id, is_answer, parts, results IN
            SELECT t.run_id, t.turn = r.turns AND r.status = 'completed', t.parts, coalesce((
                SELECT json_agg(json_build_object('tool_call_id', x.tool_call_id,
                    'result', left(x.result::text, result_bytes_max::integer),
                    'is_cut', length(x.result::text) > result_bytes_max,
                    'error_code', x.error_code, 'error_message', x.error_message))
                FROM run_tool_results x WHERE x.run_id = t.run_id AND x.turn = t.turn), '[]')
            FROM runs r JOIN run_turns t ON t.run_id = r.id
            WHERE r.id = wanted AND r.org_id = org ORDER BY t.turn
        LOOP
            RETURN NEXT;
            bytes := bytes + octet_length(parts::text) + octet_length(results::text);
        END LOOP;
        EXIT WHEN bytes > bytes_max;
    END LOOP;
END
$$;
REVOKE EXECUTE ON FUNCTION left_calls_runs, left_calls_check FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION run_put_back, thread_turns FROM hostler_api;
