-- The steps of a whole run as functions, for instructions.py, which puts the statements of sql/queries between the
-- braces. Those of the event log and of the streams have their sessions’ settings (DatabaseOptions::plans_once). In
-- single-user mode there is neither a protocol nor another process: what is counted is the backend alone.
CREATE TABLE bench_callers (n integer PRIMARY KEY, user_id uuid, org_id uuid, thread_id uuid, token_hash bytea);
INSERT INTO bench_callers VALUES {callers};
SELECT token_grants_keep(s.id, '127.0.0.1') FROM sessions s JOIN bench_callers c ON c.user_id = s.user_id;
INSERT INTO daemons (id, host, instance, version, heartbeat_at)
VALUES ('{daemon}', 'bench', 'bench', '0', clock_timestamp());
GRANT SELECT ON bench_callers TO hostler_api, hostler_runner;

CREATE FUNCTION bench_caller(which integer) RETURNS bench_callers LANGUAGE plpgsql AS $$
DECLARE
    c bench_callers;
BEGIN
    SELECT * INTO c FROM bench_callers b WHERE b.n = which;
    PERFORM set_config('hostler.org_id', c.org_id::text, true), set_config('hostler.user_id', c.user_id::text, true),
        set_config('hostler.permissions', '{{data.threads.write,data.runs.read,data.runs.write}}', true),
        set_config('hostler.request', '{{"trace_id": "0123456789abcdef0123456789abcdef"}}', true);
    RETURN c;
END
$$;

CREATE FUNCTION bench_run(which integer) RETURNS uuid
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    c bench_callers := bench_caller(which);
BEGIN
    RETURN (SELECT id FROM runs WHERE thread_id = c.thread_id ORDER BY id DESC LIMIT 1);
END
$$;

-- The runs of a flight.
CREATE FUNCTION bench_flight(nth integer, OUT ids uuid[], OUT epochs bigint[], OUT threads uuid[])
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    SELECT array_agg(p.id), array_agg(p.epoch), array_agg(p.thread_id) INTO ids, epochs, threads
    FROM (SELECT id, epoch, thread_id FROM runs WHERE owner_id = '{daemon}' ORDER BY id LIMIT 8 OFFSET 8 * nth) AS p;
END
$$;

CREATE FUNCTION bench_authenticate(which integer, permission text, writes boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    c bench_callers := bench_caller(which);
BEGIN
    PERFORM authenticate_by_token(c.token_hash, NULL, permission, writes, false,
        '{{"trace_id": "0123456789abcdef0123456789abcdef", "client_ip": "127.0.0.1", "user_agent": "bench"}}');
END
$$;

CREATE FUNCTION bench_post_message(which integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c bench_callers := bench_caller(which);
BEGIN
    PERFORM message_create(c.thread_id, '[delay 0] [words 50]', '0 50 delay words', 0);
END
$$;

CREATE FUNCTION bench_post_run(which integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c bench_callers := bench_caller(which);
BEGIN
    PERFORM item FROM run_create(c.thread_id, NULL, NULL, 'reject', '{{}}', 1000000, 0, 1000000, 0, 0, 1000, NULL,
                                 NULL);
END
$$;

CREATE FUNCTION bench_claim() RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    claimed record;
BEGIN
    FOR claimed IN {run_claim} LOOP
    END LOOP;
END
$$;

CREATE FUNCTION bench_open(which integer) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    run uuid := bench_run(which);
    opened record;
BEGIN
    FOR opened IN {stream_open} LOOP
    END LOOP;
END
$$;

CREATE FUNCTION bench_page(which integer) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    run uuid := bench_run(which);
    event record;
BEGIN
    FOR event IN {event_page} LOOP
    END LOOP;
END
$$;

CREATE FUNCTION bench_show(which integer) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    run uuid := bench_run(which);
    shown record;
BEGIN
    FOR shown IN {run_show} LOOP
    END LOOP;
END
$$;

-- An event of each run of a flight.
CREATE FUNCTION bench_append(nth integer, number bigint) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    ids uuid[];
    epochs bigint[];
    threads uuid[];
    stored record;
BEGIN
    SELECT * INTO ids, epochs, threads FROM bench_flight(nth);
    FOR stored IN {event_append} LOOP
    END LOOP;
END
$$;

-- A flight's turns and ends: fifty words each.
CREATE FUNCTION bench_commit() RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ids uuid[];
    epochs bigint[];
    threads uuid[];
    locked record;
    none constant bigint[] := array_fill(0::bigint, ARRAY[8]);
    blank constant text[] := array_fill(''::text, ARRAY[8]);
    yes constant boolean[] := array_fill(true, ARRAY[8]);
BEGIN
    SELECT * INTO ids, epochs, threads FROM bench_flight(0);
    FOR locked IN {thread_lock} LOOP
    END LOOP;
    PERFORM FROM runs_commit('{daemon}', ids, epochs, array_fill(3::bigint, ARRAY[8]), array_fill(1::bigint, ARRAY[8]),
        blank, array_fill(20::bigint, ARRAY[8]), array_fill(50::bigint, ARRAY[8]),
        none, none, yes, array_fill(10000::bigint, ARRAY[8]), none, array_fill('completed'::text, ARRAY[8]), blank,
        blank, array_fill(repeat('word ', 50), ARRAY[8]), array_fill('word'::text, ARRAY[8]),
        array_fill(false, ARRAY[8]), array_fill(400::bigint, ARRAY[8]), none);
END
$$;
