-- How a run begins: created, queued, or as the retry of another.

-- Like thread_of_caller with its lock, for functions that run as the owner: names the organization itself.
CREATE OR REPLACE FUNCTION thread_of_caller_locked(thread uuid) RETURNS threads
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    thread_row threads;
BEGIN
    SELECT * INTO thread_row FROM threads
    WHERE id = thread AND org_id = current_org() AND deleted_at IS NULL FOR UPDATE;
    IF thread_row.id IS NULL THEN
        PERFORM fail_missing('threads.not_found', 'threads', thread);
    END IF;
    IF thread_row.created_by_user_id <> current_user_id() THEN
        PERFORM fail('policy.denied', 'thread_of_another');
    END IF;
    RETURN thread_row;
END
$$;

-- Finds out, under its lock, why the account of an organization has no room for a run; returns if it has room after
-- all. freed: as run_insert's. message_bytes: of the message that is stored with the run.
CREATE OR REPLACE FUNCTION account_run_refused(org uuid, is_queued boolean, count_max bigint, bytes_max bigint,
    hold bigint, freed bigint, message_bytes bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    account credit_accounts;
BEGIN
    SELECT * INTO STRICT account FROM credit_accounts WHERE org_id = org FOR UPDATE;
    IF bytes_max > 0 AND account.stored_bytes + message_bytes >= bytes_max THEN
        PERFORM stored_bytes_refused(bytes_max, account.stored_bytes);
    ELSIF is_queued AND account.queued_runs >= count_max THEN
        PERFORM fail('runs.limit_exceeded', 'queue_is_full', jsonb_build_object('count_max', count_max));
    ELSIF NOT is_queued AND account.active_runs >= count_max THEN
        PERFORM fail('runs.limit_exceeded', 'too_many_active', jsonb_build_object('count_max', count_max));
    ELSIF account.balance - account.held + freed < hold THEN
        PERFORM fail('credits.insufficient', 'run_not_covered',
                     jsonb_build_object('hold', hold, 'available', account.balance - account.held + freed));
    END IF;
END
$$;

-- A statement that locks the caller's runs in all organizations locks threads and runs before it, accounts after it.
CREATE OR REPLACE FUNCTION user_runs_lock() RETURNS void
LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('active runs ' || current_user_id(), 0))
$$;

-- Raises runs.limit_exceeded when the caller has as many active runs as anybody may, over all organizations whose own
-- limit nobody set for them.
CREATE OR REPLACE FUNCTION user_runs_check(limit_concurrent_runs_per_user bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM user_runs_lock();
    IF (SELECT count(*) FROM runs r
        WHERE r.created_by_user_id = current_user_id() AND r.ended_at IS NULL AND NOT r.queued
              AND NOT waits_apart(r.input_request)
              AND NOT EXISTS (SELECT FROM entitlement_granted(r.org_id, 'limit.concurrent_runs') AS g
                              WHERE g.value_type = 'integer')) >= limit_concurrent_runs_per_user THEN
        PERFORM fail('runs.limit_exceeded', 'runs_of_user',
                     jsonb_build_object('count_max', limit_concurrent_runs_per_user));
    END IF;
END
$$;

-- Raises runs.limit_exceeded when as many runs of an organization wait for results as may: asked of runs that may come
-- to wait themselves. One that waits or goes on is never refused, so those that are active then come on top.
CREATE OR REPLACE FUNCTION waiting_runs_check(org uuid, limit_waiting_runs bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    count_max bigint := entitlement_integer(org, 'limit.waiting_runs', limit_waiting_runs);
BEGIN
    IF (SELECT a.waiting_runs FROM credit_accounts a WHERE a.org_id = org) >= count_max THEN
        PERFORM fail('runs.limit_exceeded', 'too_many_waiting', jsonb_build_object('count_max', count_max));
    END IF;
END
$$;

-- Creates a run of a thread that is locked, belongs to the caller, and names the run already unless it is to be queued
-- after the active one. A success takes few statements, because each costs more than its reads. A failure looks further
-- for its reason. response_format: the run's own, which stands above its persona's; a retry repeats that of the last
-- run, whatever the persona says now. The account's row serialises the organization, so that its limits and its credits
-- are exact. Runs with the rights and settings of the functions that call it, since its own would cost a hundredth of a
-- POST: their search_path, and one plan for all, because planning again takes longer than the call. freed: credits that
-- the run holds which this one waits for, and which it gives back when it ends. history: the input of the run in place
-- of its thread's messages; chat_run_create() stores it. message, words: the user's message that is stored with the
-- run, a microsecond before `moment`, as message_create() stores one, with message_parts. own_unit, own_amount:
-- the run's own budget; other protocols name it in their metadata. chain: of the run that is repeated.
CREATE OR REPLACE FUNCTION run_insert(run uuid, thread uuid, moment timestamptz, route uuid, persona_id text,
    end_user text, metadata json, run_source text, is_queued boolean, limit_concurrent_runs bigint,
    limit_concurrent_runs_per_user bigint, limit_queued_runs bigint, limit_stored_bytes bigint, credit_run_hold bigint,
    limit_waiting_runs bigint, function_tools json, response_format json,
    freed bigint DEFAULT 0, history json DEFAULT NULL, sampling json DEFAULT NULL, is_bare boolean DEFAULT false,
    client_facts json DEFAULT NULL, message text DEFAULT NULL, words text DEFAULT NULL, own_unit text DEFAULT NULL,
    own_amount bigint DEFAULT NULL, chain uuid[] DEFAULT NULL, message_parts json DEFAULT NULL)
RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
    platform uuid := '00000000-0000-0000-0000-000000000000';  -- what indexes have in place of no organization
    org uuid := current_org();
    trace text := coalesce(current_request() ->> 'trace_id', '');
    wanted_key text := split_part(coalesce(persona_id, 'normal@1'), '@', 1);
    wanted_version text := nullif(split_part(coalesce(persona_id, 'normal@1'), '@', 2), '');
    limit_key text := CASE WHEN is_queued THEN 'limit.queued_runs' ELSE 'limit.concurrent_runs' END;
    chosen record;
    entitled bigint;
    count_max bigint;
    bytes_max bigint;
    hold bigint;
    wanted_format json;
    declared_bytes bigint;
    message_bytes bigint := coalesce(octet_length(message), 0);
    message_at timestamptz;
    message_id uuid;
    stored_parts json;
BEGIN
    SELECT p.id AS persona_row_id, p.persona_key, p.version, p.model AS persona_model, p.org_id AS persona_org_id,
           p.built_in, p.response_format AS persona_format, p.tools AS persona_tools,
           p.fallback_routes, d.id AS model_id,
           d.org_id AS model_org_id, d.model, d.is_free, d.provider_kind,
           d.name AS credential_name,
           history IS NOT NULL OR message IS NOT NULL OR EXISTS (
               SELECT FROM messages m WHERE m.thread_id = thread AND m.hidden_by_run_id IS NULL) AS has_messages,
           EXISTS (SELECT FROM entitlement_overrides o WHERE o.org_id = org)
               OR EXISTS (SELECT FROM subscriptions s WHERE s.org_id = org AND s.status = 'active') AS is_entitled,
           history IS NULL AND EXISTS (SELECT FROM message_files n WHERE n.thread_id = thread) AS has_files,
           NOT is_queued AND limit_concurrent_runs_per_user > 0
               AND limit_concurrent_runs * (SELECT count(*) FROM org_members o WHERE o.user_id = current_user_id())
                   > limit_concurrent_runs_per_user AS is_of_many
    INTO chosen
    FROM (SELECT a.id, a.org_id, a.persona_key, a.version, a.model, a.built_in, a.response_format, a.tools,
              a.fallback_routes
          FROM personas a
          WHERE coalesce(a.org_id, '00000000-0000-0000-0000-000000000000') IN (org, platform)
                AND a.persona_key = wanted_key AND (wanted_version IS NULL OR a.version = wanted_version)
                AND a.deleted_at IS NULL AND a.is_active
          ORDER BY a.org_id IS NULL, a.id DESC LIMIT 1) AS p
    LEFT JOIN LATERAL (
        SELECT m.id, m.org_id, m.model, model_is_free(m) AS is_free, l.provider_kind, l.name
        FROM llm_models m CROSS JOIN LATERAL provider_of(m) l
        WHERE route IS NULL AND p.model IS NULL AND m.is_default
              AND coalesce(m.org_id, '00000000-0000-0000-0000-000000000000') IN (org, platform)
        -- The organization's own comes first, in the order of the index.
        ORDER BY coalesce(m.org_id, '00000000-0000-0000-0000-000000000000') DESC LIMIT 1) AS d ON true;
    IF NOT FOUND THEN
        PERFORM fail('runs.unknown_persona', 'persona_unknown');
    END IF;
    IF chosen.model_id IS NULL THEN
        SELECT m.id, m.org_id, m.model, model_is_free(m), l.provider_kind, l.name
        INTO chosen.model_id, chosen.model_org_id, chosen.model, chosen.is_free, chosen.provider_kind,
             chosen.credential_name
        FROM route_resolve(route, chosen.persona_model, chosen.persona_org_id IS NULL) AS m
        JOIN llm_providers l ON l.id = m.provider_id;
    END IF;
    IF chosen.model_org_id IS NOT NULL AND chosen.persona_org_id IS NULL AND NOT chosen.built_in THEN
        PERFORM persona_route_check(chosen.model_org_id, chosen.persona_org_id, chosen.built_in);
    END IF;
    IF route IS NULL AND chosen.fallback_routes <> '{}' THEN
        chain := chosen.model_id || array_remove(chosen.fallback_routes, chosen.model_id);
    END IF;
    IF sampling IS NOT NULL AND chosen.provider_kind = 'anthropic' THEN
        PERFORM anthropic_sampling_check(sampling);
    END IF;
    IF NOT chosen.has_messages THEN
        PERFORM fail('runs.no_messages', 'thread_is_empty', jsonb_build_object('thread_id', thread));
    END IF;
    IF message_parts IS NOT NULL THEN
        stored_parts := file_parts_taken(message_parts);
        PERFORM given_images_check(json_build_array(json_build_object('parts', stored_parts)),
                                   coalesce(chain, ARRAY[chosen.model_id]));
    END IF;
    IF chosen.has_files THEN
        PERFORM run_images_check(thread, coalesce(chain, ARRAY[chosen.model_id]));
    ELSIF strpos(history::text, '"file_id"') > 0 THEN
        PERFORM given_images_check(history, coalesce(chain, ARRAY[chosen.model_id]));
    END IF;
    bytes_max := limit_stored_bytes;
    -- Most have none; which they have costs as much to ask as all else here.
    IF chosen.is_entitled THEN
        entitled := entitlement_integer(org, limit_key, NULL);
        bytes_max := entitlement_integer(org, 'limit.stored_bytes', limit_stored_bytes);
    END IF;
    IF chosen.is_of_many AND entitled IS NULL THEN
        PERFORM user_runs_check(limit_concurrent_runs_per_user);
    END IF;
    IF function_tools IS NOT NULL AND NOT is_bare THEN
        PERFORM tool_names_check(function_tools, chosen.persona_tools, chosen.persona_org_id);
    END IF;
    -- A run that ends with its calls waits for nobody.
    IF function_tools IS NOT NULL AND run_source <> 'openai' THEN
        PERFORM waiting_runs_check(org, limit_waiting_runs);
    END IF;
    IF own_amount IS NULL AND (run_source = 'openai' OR client_facts IS NOT NULL) THEN
        SELECT b.unit, b.amount INTO own_unit, own_amount
        FROM (SELECT 1) AS o LEFT JOIN budget_of_metadata(metadata) AS b ON true;
    END IF;
    wanted_format := CASE WHEN response_format IS NULL AND run_source <> 'retry' AND NOT is_bare
                          THEN chosen.persona_format::json
                          ELSE response_format END;
    declared_bytes := coalesce(octet_length(function_tools::text), 0) + coalesce(octet_length(wanted_format::text), 0)
        + coalesce(octet_length(history::text), 0) + coalesce(octet_length(client_facts::text), 0);
    hold := CASE WHEN chosen.is_free THEN 0 ELSE credit_run_hold END;
    count_max := coalesce(entitled, CASE WHEN is_queued THEN limit_queued_runs ELSE limit_concurrent_runs END);
    LOOP
        UPDATE credit_accounts a SET held = a.held + hold, active_runs = a.active_runs + (NOT is_queued)::integer,
            queued_runs = a.queued_runs + is_queued::integer,
            stored_bytes = a.stored_bytes + declared_bytes + message_bytes
        WHERE a.org_id = org AND CASE WHEN is_queued THEN a.queued_runs ELSE a.active_runs END < count_max
              AND (bytes_max = 0 OR a.stored_bytes + message_bytes < bytes_max)
              AND (chosen.is_free OR a.balance - a.held + freed >= hold);
        EXIT WHEN FOUND;
        PERFORM account_run_refused(org, is_queued, count_max, bytes_max,
                                    CASE WHEN NOT chosen.is_free THEN hold END, freed, message_bytes);
    END LOOP;
    INSERT INTO runs (id, org_id, thread_id, created_by_user_id, queued, source, trace_id, persona_id, persona_row_id,
                      model_id, model, provider_kind, credential_name, persona_model, credits_held, created_at,
                      end_user, metadata, tools, response_format, result_bytes, history_bytes, sampling, is_bare,
                      client_facts, budget_unit, budget_amount, routes)
    VALUES (run, org, thread, current_user_id(), is_queued, run_source, trace,
            chosen.persona_key || '@' || chosen.version, chosen.persona_row_id, chosen.model_id, chosen.model,
            chosen.provider_kind, chosen.credential_name, coalesce(chosen.persona_model, ''), hold, moment, end_user,
            metadata, function_tools, wanted_format, declared_bytes, octet_length(history::text), sampling, is_bare,
            client_facts, own_unit, own_amount, chain);
    IF message IS NULL THEN
        RETURN json_build_object('run_id', run, 'trace_id', trace);
    END IF;
    message_at := moment - interval '1 microsecond';
    message_id := uuidv7_of(message_at);
    INSERT INTO messages (id, org_id, thread_id, created_by_user_id, role, content, created_at, search, parts)
    VALUES (message_id, org, thread, current_user_id(), 'user', message, message_at, words_vector(words), stored_parts);
    IF stored_parts IS NOT NULL THEN
        PERFORM message_files_keep(org, thread, message_id, stored_parts);
    END IF;
    RETURN json_build_object('run_id', run, 'trace_id', trace, 'thread_id', thread, 'message_id', message_id);
END
$$;

CREATE OR REPLACE FUNCTION run_busy(active uuid) RETURNS void
LANGUAGE sql AS $$
    SELECT fail('runs.thread_busy', 'run_is_active', jsonb_build_object('active_run_id', active))
$$;

-- POST /v1/threads/{thread_id}/runs. strategy: reject, enqueue or interrupt (contract section 4). What interrupt stops
-- gives its places and credits back before the new run is counted; what is wrong with that one stops nothing. content,
-- words: the user's message that the run answers, stored with it. follows: the answer is the run's stream.
CREATE OR REPLACE FUNCTION run_create(thread uuid, route uuid, persona_id text, strategy text,
    metadata json, limit_concurrent_runs bigint, limit_concurrent_runs_per_user bigint, limit_queued_runs bigint,
    limit_stored_bytes bigint, credit_run_hold bigint, limit_waiting_runs bigint, function_tools json,
    response_format json, client_facts json DEFAULT NULL, content text DEFAULT NULL, words text DEFAULT NULL,
    follows boolean DEFAULT false, budget json DEFAULT NULL, parts json DEFAULT NULL, OUT item json,
    OUT stopped uuid[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    room_before CONSTANT interval := CASE WHEN content IS NULL THEN '0' ELSE '1 microsecond' END;  -- for the message
    run uuid;
    moment timestamptz;
    thread_row threads;
    thread_end_user text;
    persona personas;
    freed bigint;
BEGIN
    IF content IS NOT NULL OR follows THEN
        PERFORM run_begin_check(content IS NOT NULL, follows);
    END IF;
    LOOP
        -- Ids are made behind the lock, so that a thread's runs have them in their order.
        UPDATE threads t SET (active_run_id, updated_at) = (
            SELECT uuidv7_of(n.moment), n.moment
            FROM (SELECT moment_after(t.updated_at + room_before, clock_timestamp()) AS moment) AS n)
        WHERE t.id = thread AND t.org_id = current_org() AND t.created_by_user_id = current_user_id()
              AND t.deleted_at IS NULL AND t.active_run_id IS NULL
        RETURNING t.active_run_id, t.updated_at, t.end_user INTO run, moment, thread_end_user;
        IF FOUND THEN
            item := run_insert(run, thread, moment, route, persona_id, thread_end_user, metadata, 'api', false,
                               limit_concurrent_runs, limit_concurrent_runs_per_user, limit_queued_runs,
                               limit_stored_bytes, credit_run_hold, limit_waiting_runs, function_tools,
                               response_format, client_facts => run_create.client_facts,
                               message => run_create.content, words => run_create.words,
                               own_unit => budget ->> 'unit', own_amount => budget_of_run_read(budget),
                               message_parts => run_create.parts);
            RETURN;
        END IF;
        thread_row := thread_of_caller_locked(thread);
        EXIT WHEN thread_row.active_run_id IS NOT NULL;
    END LOOP;
    IF strategy = 'reject' THEN
        -- Report invalid input (422) before the busy thread (409).
        persona := persona_resolve(persona_id);
        PERFORM persona_route_check(m.org_id, persona.org_id, persona.built_in)
        FROM route_resolve(route, persona.model, persona.org_id IS NULL) AS m;
        PERFORM run_busy(thread_row.active_run_id);
    END IF;
    IF strategy = 'interrupt' THEN
        -- Runs to be cancelled are locked before the account, as everywhere.
        PERFORM thread_runs_lock(thread);
        PERFORM user_runs_lock();
        stopped := thread_stop(thread_row, NULL, 'interrupted');
        -- A run that nobody owned is over.
        UPDATE threads t SET (active_run_id, updated_at) = (
            SELECT uuidv7_of(n.moment), n.moment
            FROM (SELECT moment_after(t.updated_at + room_before, clock_timestamp()) AS moment) AS n)
        WHERE t.id = thread AND t.active_run_id IS NULL
        RETURNING t.active_run_id, t.updated_at INTO run, moment;
        SELECT r.credits_held INTO freed FROM runs r WHERE run IS NULL AND r.id = thread_row.active_run_id;
    END IF;
    IF run IS NULL THEN
        UPDATE threads t SET updated_at = moment_after(t.updated_at + room_before, clock_timestamp())
        WHERE t.id = thread
        RETURNING t.updated_at INTO moment;
    END IF;
    item := run_insert(coalesce(run, uuidv7_of(moment)), thread, moment, route, persona_id,
                       thread_row.end_user, metadata, 'enqueue', run IS NULL, limit_concurrent_runs,
                       limit_concurrent_runs_per_user, limit_queued_runs, limit_stored_bytes, credit_run_hold,
                       limit_waiting_runs, function_tools, response_format, coalesce(freed, 0),
                       client_facts => run_create.client_facts, message => run_create.content,
                       words => run_create.words, own_unit => budget ->> 'unit',
                       own_amount => budget_of_run_read(budget), message_parts => run_create.parts);
END
$$;

-- POST /v1/threads/{thread_id}:retry: the last answer is hidden, unless a message or a run that completed without text
-- came after it; a run with the last one's route, persona (or none), tools, response_format and metadata begins.
CREATE OR REPLACE FUNCTION run_retry(thread uuid, limit_concurrent_runs bigint,
    limit_concurrent_runs_per_user bigint, limit_queued_runs bigint, limit_stored_bytes bigint,
    credit_run_hold bigint, limit_waiting_runs bigint, client_facts json DEFAULT NULL) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    thread_row threads := thread_of_caller_locked(thread);
    last_run runs;
    answer uuid;
    run uuid;
    moment timestamptz;
    item json;
BEGIN
    IF thread_row.active_run_id IS NOT NULL THEN
        PERFORM run_busy(thread_row.active_run_id);
    END IF;
    SELECT * INTO last_run FROM runs WHERE thread_id = thread_row.id AND deleted_at IS NULL ORDER BY id DESC LIMIT 1;
    IF last_run.id IS NULL THEN
        PERFORM fail('runs.nothing_to_retry', 'thread_has_no_run', jsonb_build_object('thread_id', thread_row.id));
    END IF;
    SELECT id INTO answer FROM messages
    WHERE thread_id = thread_row.id AND role = 'assistant' AND hidden_by_run_id IS NULL
          AND (run_id IS NULL OR id > run_id)  -- not what a response was given
    ORDER BY id DESC LIMIT 1;
    UPDATE threads t SET active_run_id = uuidv7_of(moment_after(t.updated_at, clock_timestamp())),
        updated_at = moment_after(t.updated_at, clock_timestamp())
    WHERE t.id = thread_row.id
    RETURNING active_run_id, updated_at INTO run, moment;
    item := run_insert(run, thread_row.id, moment, coalesce(last_run.routes[1], last_run.model_id),
                       last_run.persona_id, thread_row.end_user, last_run.metadata, 'retry', false,
                       limit_concurrent_runs, limit_concurrent_runs_per_user, limit_queued_runs, limit_stored_bytes,
                       credit_run_hold, limit_waiting_runs, last_run.tools, last_run.response_format,
                       is_bare => last_run.is_bare, client_facts => run_retry.client_facts, own_unit => last_run.budget_unit,
                       own_amount => last_run.budget_amount, chain => last_run.routes);
    UPDATE messages SET hidden_by_run_id = run
    WHERE thread_id = thread_row.id AND id = answer
          AND (run_id = last_run.id OR last_run.status <> 'completed' AND id > (
        SELECT m.id FROM messages m WHERE m.thread_id = thread_row.id AND m.role = 'user'
        AND m.hidden_by_run_id IS NULL ORDER BY m.id DESC LIMIT 1));
    RETURN item;
END
$$;
REVOKE EXECUTE ON FUNCTION thread_of_caller_locked, run_insert FROM hostler_api;
REVOKE EXECUTE ON FUNCTION account_run_refused, user_runs_lock, user_runs_check, waiting_runs_check
    FROM hostler_api, hostler_runner;
