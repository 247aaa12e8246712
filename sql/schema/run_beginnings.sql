-- Calls that begin a run and do more in the same transaction: post the message that it answers, make its thread, or
-- answer with its stream. run_create() does the work in a thread that exists.

-- Raises what keeps the caller from a call that begins a run and does more than that. writes: it posts a message or
-- makes the thread. follows: its answer is the run's stream.
CREATE OR REPLACE FUNCTION run_begin_check(writes boolean, follows boolean) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF writes AND NOT has_permission('data.threads.write') THEN
        PERFORM fail('auth.forbidden', 'permission_missing', jsonb_build_object('permission', 'data.threads.write'));
    ELSIF follows AND NOT has_permission('data.runs.read') THEN
        PERFORM fail('auth.forbidden', 'permission_missing', jsonb_build_object('permission', 'data.runs.read'));
    ELSIF follows THEN
        PERFORM streams_check();
    END IF;
END
$$;

-- Raises the same for a call whose body has a fault, before that fault is reported, and what keeps the caller from
-- the thread that the body names. thread: null when the body names none.
CREATE OR REPLACE FUNCTION run_begin_guard(thread uuid, writes boolean, follows boolean) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM run_begin_check(writes, follows);
    IF thread IS NOT NULL THEN
        PERFORM thread_of_caller(thread, false);
    END IF;
END
$$;

-- POST /v1/runs without thread_id: a new thread, its first message and the run that answers it, all of it or nothing.
-- title_words: the words of the title. end_user, thread_metadata: the thread's.
CREATE OR REPLACE FUNCTION thread_begin(title text, title_words text, is_private boolean, end_user text,
    thread_metadata json, content text, words text, follows boolean, route uuid, persona_id text, metadata json,
    limit_concurrent_runs bigint, limit_concurrent_runs_per_user bigint, limit_stored_bytes bigint,
    credit_run_hold bigint, limit_waiting_runs bigint, function_tools json, response_format json,
    budget json DEFAULT NULL, parts json DEFAULT NULL, OUT item json)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    began_at CONSTANT timestamptz := clock_timestamp();
    moment CONSTANT timestamptz := began_at + interval '1 microsecond';  -- of the run; the message stands before it
    thread uuid;
    run uuid;
BEGIN
    PERFORM run_begin_check(true, follows);
    INSERT INTO threads (org_id, created_by_user_id, title, is_private, end_user, metadata, active_run_id, created_at,
                         updated_at, search)
    VALUES (current_org(), current_user_id(), thread_begin.title, thread_begin.is_private, thread_begin.end_user,
            thread_metadata, uuidv7_of(moment), began_at, moment, words_vector(title_words))
    RETURNING id, active_run_id INTO thread, run;
    item := run_insert(run, thread, moment, route, thread_begin.persona_id, thread_begin.end_user,
                       thread_begin.metadata, 'api', false, limit_concurrent_runs, limit_concurrent_runs_per_user, NULL,
                       limit_stored_bytes, credit_run_hold, limit_waiting_runs, function_tools,
                       thread_begin.response_format, message => content, words => thread_begin.words,
                       own_unit => budget ->> 'unit', own_amount => budget_of_run_read(budget),
                       message_parts => thread_begin.parts);
END
$$;
REVOKE EXECUTE ON FUNCTION run_begin_check, run_begin_guard, thread_begin FROM hostler_runner;
