-- The steps of whole runs as functions, for bloat.py, which puts the statements of sql/queries between the braces. Each
-- call is a transaction, as it is one of the pool or of a daemon: so rows get as many versions as in an installation.
-- Each client of pgbench is a daemon.
CREATE EXTENSION IF NOT EXISTS pgstattuple;
CREATE TABLE bloat_callers (n integer PRIMARY KEY, user_id uuid, org_id uuid, token_hash bytea, thread_id uuid,
    refresh_hash bytea) WITH (fillfactor = 50);
INSERT INTO bloat_callers VALUES {callers};
CREATE FUNCTION bloat_daemon(client integer) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT ('00000000-0000-7000-8000-' || lpad(client::text, 12, '0'))::uuid
$$;
INSERT INTO daemons (id, host, instance, version, heartbeat_at)
SELECT bloat_daemon(n), 'bench', n::text, '0', clock_timestamp() FROM generate_series(0, {clients} - 1) AS n;

-- As the pool does it first in each request's transaction.
CREATE FUNCTION bloat_caller(which integer, permission text) RETURNS bloat_callers LANGUAGE plpgsql AS $$
DECLARE
    c bloat_callers;
BEGIN
    SELECT * INTO c FROM bloat_callers b WHERE b.n = which;
    PERFORM authenticate_by_token(c.token_hash, NULL, permission, true, false,
        '{{"trace_id": "0123456789abcdef0123456789abcdef", "client_ip": "127.0.0.1", "user_agent": "bench"}}');
    RETURN c;
END
$$;

-- A login. The eleventh session of a user ends the oldest.
CREATE FUNCTION bloat_login(which integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    seed text := gen_random_uuid()::text;
BEGIN
    PERFORM session_begin(c.user_id, 'password', sha256((seed || 'a')::bytea), sha256((seed || 'r')::bytea), 900,
                          2592000, 10)
    FROM bloat_callers c WHERE c.n = which;
    UPDATE bloat_callers SET refresh_hash = sha256((seed || 'r')::bytea) WHERE n = which;
END
$$;

CREATE FUNCTION bloat_refresh(which integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    seed text := gen_random_uuid()::text;
BEGIN
    PERFORM session_refresh(c.refresh_hash, sha256((seed || 'a')::bytea), sha256((seed || 'r')::bytea), 900,
                            2592000, 10)
    FROM bloat_callers c WHERE c.n = which;
END
$$;

CREATE FUNCTION bloat_thread(which integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c bloat_callers := bloat_caller(which, 'data.threads.write');
    thread uuid;
BEGIN
    INSERT INTO threads (org_id, created_by_user_id, title, is_private, metadata, search)
    VALUES (c.org_id, c.user_id, NULL, false, '{{}}', words_vector('')) RETURNING id INTO thread;
    UPDATE bloat_callers SET thread_id = thread WHERE n = which;
END
$$;

CREATE FUNCTION bloat_message(which integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c bloat_callers := bloat_caller(which, 'data.threads.write');
BEGIN
    PERFORM message_create(c.thread_id, '[delay 0] [words 50]', '0 50 delay words', 0);
END
$$;

-- Queued when another client has the run before.
CREATE FUNCTION bloat_run(which integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c bloat_callers := bloat_caller(which, 'data.runs.write');
BEGIN
    PERFORM item FROM run_create(c.thread_id, NULL, NULL, 'enqueue', '{{}}', 1000000, 0, 1000000, 0, {hold}, 1000, NULL,
                                 NULL);
END
$$;

CREATE FUNCTION bloat_claim(daemon uuid) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    claimed record;
BEGIN
    FOR claimed IN {run_claim} LOOP
    END LOOP;
END
$$;

-- The runs that a daemon has.
CREATE FUNCTION bloat_flight(daemon uuid, OUT ids uuid[], OUT epochs bigint[], OUT threads uuid[])
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    SELECT array_agg(p.id), array_agg(p.epoch), array_agg(p.thread_id) INTO ids, epochs, threads
    FROM (SELECT id, epoch, thread_id FROM runs WHERE owner_id = daemon ORDER BY id) AS p;
END
$$;

-- An event of each of them.
CREATE FUNCTION bloat_append(daemon uuid, number bigint) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    ids uuid[];
    epochs bigint[];
    threads uuid[];
    size integer;
    stored record;
BEGIN
    SELECT * INTO ids, epochs, threads FROM bloat_flight(daemon);
    size := coalesce(cardinality(ids), 0);
    IF size > 0 THEN
        FOR stored IN {event_append} LOOP
        END LOOP;
    END IF;
END
$$;

-- Their turns and ends: fifty words each. Answers how many runs ended.
CREATE FUNCTION bloat_commit(daemon uuid) RETURNS integer
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ids uuid[];
    epochs bigint[];
    threads uuid[];
    size integer;
    locked record;
BEGIN
    SELECT * INTO ids, epochs, threads FROM bloat_flight(daemon);
    size := coalesce(cardinality(ids), 0);
    IF size = 0 THEN
        RETURN 0;
    END IF;
    PERFORM bloat_append(daemon, 3);
    FOR locked IN {thread_lock} LOOP
    END LOOP;
    PERFORM FROM runs_commit(daemon, ids, epochs, array_fill(3::bigint, ARRAY[size]),
        array_fill(1::bigint, ARRAY[size]), array_fill(''::text, ARRAY[size]), array_fill(20::bigint, ARRAY[size]),
        array_fill(50::bigint, ARRAY[size]), array_fill(0::bigint, ARRAY[size]), array_fill(0::bigint, ARRAY[size]),
        array_fill(true, ARRAY[size]), array_fill(1000::bigint, ARRAY[size]), array_fill({hold}::bigint, ARRAY[size]),
        array_fill('completed'::text, ARRAY[size]), array_fill(''::text, ARRAY[size]),
        array_fill(''::text, ARRAY[size]), array_fill(repeat('word ', 50), ARRAY[size]),
        array_fill('word'::text, ARRAY[size]), array_fill(false, ARRAY[size]),
        array_fill(400::bigint, ARRAY[size]), array_fill(0::bigint, ARRAY[size]));
    RETURN size;
END
$$;

-- What the clients left.
CREATE PROCEDURE bloat_drain() LANGUAGE plpgsql AS $$
DECLARE
    client integer;
BEGIN
    FOR client IN 0..{clients} - 1 LOOP
        PERFORM bloat_append(bloat_daemon(client), 1), bloat_append(bloat_daemon(client), 2);
        PERFORM bloat_commit(bloat_daemon(client));
        COMMIT;
    END LOOP;
    LOOP
        PERFORM bloat_claim(bloat_daemon(0));
        PERFORM bloat_append(bloat_daemon(0), 1), bloat_append(bloat_daemon(0), 2);
        EXIT WHEN bloat_commit(bloat_daemon(0)) = 0;
        COMMIT;
    END LOOP;
END
$$;
