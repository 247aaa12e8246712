-- Tool results as committed steps, runs that wait for a human, limits of turns and tool calls.

-- A tool call's result. A call that has one is never made again.
CREATE TABLE run_tool_results (
    run_id uuid NOT NULL,
    org_id uuid NOT NULL,
    turn integer NOT NULL CHECK (turn > 0),
    tool_call_id text COLLATE "C" NOT NULL,
    tool_name text NOT NULL,
    result json,
    error_code text,
    error_message text,
    duration_ms bigint NOT NULL DEFAULT 0,
    last_seq bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    credits bigint NOT NULL DEFAULT 0 CHECK (credits >= 0),  -- that the call cost
    PRIMARY KEY (run_id, turn, tool_call_id),
    FOREIGN KEY (org_id, run_id) REFERENCES runs (org_id, id),
    CHECK ((result IS NULL) = (error_code IS NOT NULL))
);
CREATE INDEX run_tool_results_paid ON run_tool_results (org_id) WHERE credits > 0;
SELECT make_tenant_table('run_tool_results');
GRANT SELECT, INSERT ON run_tool_results TO hostler_runner;

-- Bytes of a run's turns and results, and of the tools, the format and the history that it was given; as
-- run_event_bytes().
CREATE OR REPLACE FUNCTION run_result_bytes(run uuid) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN (SELECT coalesce(sum(octet_length(t.result::text)), 0) FROM run_tool_results t WHERE t.run_id = run)
        + (SELECT coalesce(sum(octet_length(t.parts::text)), 0) FROM run_turns t WHERE t.run_id = run)
        + coalesce((SELECT coalesce(octet_length(r.tools::text), 0) + coalesce(octet_length(r.response_format::text), 0)
                        + coalesce(r.history_bytes, 0) + coalesce(octet_length(r.client_facts::text), 0)
                        + CASE WHEN json_array_length(r.offered_tools) > 0 THEN octet_length(r.offered_tools::text)
                               ELSE 0 END
                    FROM runs r WHERE r.id = run), 0);
END
$$;

-- Answers of a human to a waiting run, once per request.
CREATE TABLE run_inputs (
    run_id uuid NOT NULL,
    request_id uuid NOT NULL,
    org_id uuid NOT NULL,
    turn integer NOT NULL,
    tool_call_id text COLLATE "C" NOT NULL,
    kind text NOT NULL CHECK (kind IN ('question', 'tool_confirmation')),
    content text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The API's reading of an answer to a confirmation; arguments: the edited ones, as the tool gets them.
    decision text,
    arguments json,
    reason text,
    PRIMARY KEY (run_id, request_id),
    UNIQUE (run_id, turn, tool_call_id),
    FOREIGN KEY (org_id, run_id) REFERENCES runs (org_id, id)
);
SELECT make_tenant_table('run_inputs');
GRANT SELECT ON run_inputs TO hostler_runner;

-- Milliseconds a run has worked, without its waits. As volatile as its clock, or Postgres would not put it into the
-- statement that calls it.
CREATE OR REPLACE FUNCTION run_worked_ms(r runs) RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT r.worked_ms + coalesce((extract(epoch FROM clock_timestamp() - r.active_since) * 1000)::bigint, 0)
$$;

-- How many calls of tools on the platform's account an organization made on the day of its last one.
CREATE TABLE tool_call_days (
    org_id uuid PRIMARY KEY REFERENCES orgs,
    day date NOT NULL,
    calls bigint NOT NULL CHECK (calls > 0)
) WITH (fillfactor = 75);
SELECT make_tenant_table('tool_call_days');

-- Before a tool is called on the platform's account: whether it may be. Answers admitted, credits (less than the cost
-- is available), budget (less is left of one), limit (of the day) or fenced (the run is another daemon's). The cost is
-- held until the call's result, or the run's end; day_setting: limit.platform_tool_calls_per_day of the settings. Locks
-- the run, then the account, then the day; of a call that costs nothing the day alone.
CREATE OR REPLACE FUNCTION run_tool_admit(org uuid, run uuid, run_epoch bigint, cost bigint, day_setting bigint)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    calls_max bigint := entitlement_integer(org, 'limit.platform_tool_calls_per_day', day_setting);
    available numeric;
    r runs;
    is_budgeted boolean := false;
BEGIN
    IF cost > 0 THEN
        PERFORM FROM runs q WHERE q.id = run AND q.org_id = org AND q.epoch = run_epoch AND q.owner_id IS NOT NULL
            FOR NO KEY UPDATE;
        IF NOT FOUND THEN
            RETURN 'fenced';
        END IF;
        SELECT a.balance::numeric - a.held INTO STRICT available FROM credit_accounts a WHERE a.org_id = org FOR UPDATE;
        IF available < cost THEN
            RETURN 'credits';
        END IF;
        SELECT * INTO STRICT r FROM runs WHERE id = run;
        is_budgeted := r.budget_amount IS NOT NULL
            OR org_has_budgets(org);
        IF is_budgeted AND NOT tool_hold(r, cost) THEN
            RETURN 'budget';
        END IF;
    END IF;
    IF calls_max > 0 THEN
        INSERT INTO tool_call_days AS d (org_id, day, calls) VALUES (org, utc_day(clock_timestamp()), 1)
        ON CONFLICT (org_id) DO UPDATE SET day = excluded.day,
            calls = CASE WHEN d.day = excluded.day THEN d.calls + 1 ELSE 1 END
        WHERE d.day <> excluded.day OR d.calls < calls_max;
        IF NOT FOUND THEN
            IF is_budgeted THEN
                PERFORM tool_hold_replace(r, cost, 0);
            END IF;
            RETURN 'limit';
        END IF;
    END IF;
    IF cost > 0 THEN
        UPDATE credit_accounts SET held = held + cost WHERE org_id = org;
        UPDATE runs SET credits_held = credits_held + cost WHERE id = run;
    END IF;
    RETURN 'admitted';
END
$$;

-- A tool's result of an owned run, and what the call cost with it; false for a run that was lost. Sent again, it
-- changes nothing. Of a call that cost something the account is locked by an earlier statement, behind the runs.
CREATE OR REPLACE FUNCTION run_tool_commit(owner uuid, run uuid, run_epoch bigint, turn_number integer, call_id text,
    name text,
    outcome json, code text, message text, took_ms bigint, final_seq bigint, cost bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
    released bigint;
    charged bigint;
    moment timestamptz;
BEGIN
    SELECT * INTO r FROM runs WHERE id = run AND owner_id = owner AND epoch = run_epoch FOR NO KEY UPDATE;
    IF r.id IS NULL THEN
        RETURN false;
    END IF;
    INSERT INTO run_tool_results (run_id, org_id, turn, tool_call_id, tool_name, result, error_code, error_message,
                                  duration_ms, last_seq)
    VALUES (r.id, r.org_id, turn_number, call_id, name, outcome, code, left(message, 2000), took_ms, final_seq)
    ON CONFLICT (run_id, turn, tool_call_id) DO NOTHING;
    IF FOUND AND cost > 0 THEN
        -- Like for a turn: the sums stay bigint.
        SELECT least(cost, r.credits_held), greatest(0, least(cost, a.balance::numeric - a.held + 9223372036854775807,
                                                              9223372036854775807 - r.credits_used))
        INTO STRICT released, charged FROM credit_accounts a WHERE a.org_id = r.org_id FOR UPDATE;
        IF r.budget_amount IS NOT NULL OR EXISTS (SELECT FROM turn_holds h WHERE h.run_id = r.id)
           OR org_has_budgets(r.org_id) THEN
            PERFORM tool_hold_replace(r, cost, charged);
        END IF;
        IF charged > 0 THEN
            PERFORM credit_post(r.org_id, -charged, 'consumption', 'run', r.id::text, NULL, -released);
            UPDATE runs SET credits_used = credits_used + charged, credits_held = credits_held - released
            WHERE id = r.id;
            UPDATE run_tool_results t SET credits = charged
            WHERE t.run_id = r.id AND t.turn = turn_number AND t.tool_call_id = call_id
            RETURNING t.created_at INTO STRICT moment;
            INSERT INTO usage_of_end_user AS e (org_id, month, end_user, credits)
            VALUES (r.org_id, utc_month(moment), coalesce(r.end_user, ''), charged)
            ON CONFLICT (org_id, month, end_user) DO UPDATE
                SET credits = saturated(e.credits::numeric + excluded.credits);
        END IF;
    END IF;
    -- Kept until now, so that nothing stands twice.
    UPDATE run_asked_calls a SET early = NULL
    WHERE a.run_id = r.id AND a.tool_call_id = call_id AND a.early IS NOT NULL;
    UPDATE runs SET crash_count = 0 WHERE id = r.id AND crash_count <> 0;
    RETURN true;
END
$$;

-- An owned run begins to wait: it has no owner any more. request: {request_id, kind, message, turn, tool_call_id,
-- tool_name, arguments}; instead of the last three of kind tool_results {calls: [{tool_call_id, tool_name,
-- answered_by}]}; instead of the last one of elicitation {key, schema}, of authorization {server_id, server_key, url}.
-- Of budget: budget_waits.sql. When a cancel was asked for meanwhile, the run is cancelled instead; when what it waits
-- for came meanwhile, it goes on at once. Locks the run, then the account.
CREATE OR REPLACE FUNCTION run_wait(owner uuid, run uuid, run_epoch bigint, final_seq bigint, request jsonb,
    wait_seconds bigint)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs;
BEGIN
    SELECT * INTO r FROM runs WHERE id = run AND owner_id = owner AND epoch = run_epoch FOR NO KEY UPDATE;
    IF r.id IS NULL THEN
        RETURN false;
    END IF;
    UPDATE runs SET status = 'waiting_for_input', owner_id = NULL, last_seq = final_seq,
        input_request = request || jsonb_build_object('since', rfc3339(clock_timestamp())),
        input_deadline = clock_timestamp() + make_interval(secs => wait_seconds),
        worked_ms = run_worked_ms(r), active_since = NULL, crash_count = 0
    WHERE id = r.id
    RETURNING * INTO STRICT r;
    IF waits_apart(request) THEN
        -- Calls of webhooks are there since they were sent, and a client's since the run asked for it first: it may
        -- have continued without (mcp_task_end).
        INSERT INTO run_asked_calls (run_id, org_id, tool_call_id, turn, tool_name, answered_by)
        SELECT r.id, r.org_id, c ->> 'tool_call_id', (request ->> 'turn')::integer, c ->> 'tool_name', 'client'
        FROM jsonb_array_elements(request -> 'calls') AS c WHERE c ->> 'answered_by' = 'client'
        ON CONFLICT (run_id, tool_call_id) DO NOTHING;
        UPDATE credit_accounts SET active_runs = active_runs - 1, waiting_runs = waiting_runs + 1
        WHERE org_id = r.org_id;
    END IF;
    PERFORM webhook_queue(r, 'run.waiting_for_input', clock_timestamp());
    IF r.cancel_requested_at IS NOT NULL THEN
        PERFORM run_cancel_locked(run, 'requested');
    ELSIF waits_for_results(request) THEN
        PERFORM run_take_early_results(r);
    ELSIF request ->> 'kind' = 'authorization' AND mcp_has_connected(r) THEN
        PERFORM run_go_on(r);
    ELSIF request ->> 'kind' = 'budget' THEN
        PERFORM budget_wait_begun(r);
    END IF;
    RETURN true;
END
$$;

-- A run that waits, which is locked, has what it waited for: however many runs are active then. Locks the account of
-- one that waits apart. A run whose creator ended goes on waiting until it is swept.
CREATE OR REPLACE FUNCTION run_go_on(r runs) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF run_creator_ended(r.org_id, r.created_by_user_id, r.created_at) THEN
        RETURN;
    END IF;
    INSERT INTO run_events (run_id, seq, type, data)
    VALUES (r.id, r.last_seq + 1, 'run.input_provided',
            json_build_object('request_id', r.input_request ->> 'request_id'));
    UPDATE runs SET status = 'running', last_seq = r.last_seq + 1, input_request = NULL, input_deadline = NULL,
        active_since = clock_timestamp(), after_input = true
    WHERE id = r.id;
    IF waits_apart(r.input_request) THEN
        UPDATE credit_accounts SET active_runs = active_runs + 1, waiting_runs = waiting_runs - 1
        WHERE org_id = r.org_id;
    END IF;
END
$$;

-- The run, for its creator: who may only read it hears so before anything else.
CREATE OR REPLACE FUNCTION run_of_creator(run uuid) RETURNS runs
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := run_of_reader(run);
BEGIN
    IF r.created_by_user_id <> current_user_id() THEN
        PERFORM fail('policy.denied', 'only_creator_answers');
    END IF;
    RETURN r;
END
$$;

-- PATCH /v1/runs/{run_id}: by the creator, whatever became of the run.
CREATE OR REPLACE FUNCTION run_update(run uuid, new_metadata json) RETURNS runs
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := run_of_creator(run);
BEGIN
    UPDATE runs SET metadata = new_metadata WHERE id = r.id RETURNING * INTO STRICT r;
    RETURN r;
END
$$;

-- POST /v1/runs/{run_id}/input: by the creator, while the run waits; of any number of answers one wins. bytes_setting:
-- limit.input_bytes of the settings. decision, arguments and reason: the API's reading, in case the run asks for a
-- confirmation. Without a decision, fault says why the content is not one: neither, decision, arguments or reason (not
-- of their form), member (json_found names one that a decision does not have), denied_arguments, or json, with the byte
-- where it stops being JSON and what the API found there. A question takes any content. wanted_request: the answered
-- request; null: the current one, which perhaps nobody has seen.
CREATE OR REPLACE FUNCTION run_input(run uuid, content text, bytes_setting bigint, decision text, arguments json,
    reason text, fault text, json_offset bigint, json_found text, wanted_request uuid DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := run_of_creator(run);
    bytes_max bigint := entitlement_integer(r.org_id, 'limit.input_bytes', bytes_setting);
    decides boolean;
BEGIN
    IF octet_length(content) > bytes_max THEN
        PERFORM fail('validation.error', 'content_too_long', jsonb_build_object('bytes_max', bytes_max));
    END IF;
    SELECT * INTO STRICT r FROM runs WHERE id = run FOR NO KEY UPDATE;
    IF r.status <> 'waiting_for_input' THEN
        PERFORM fail('runs.not_waiting', 'run_has_status', jsonb_build_object('status', r.status));
    ELSIF (r.input_request ->> 'request_id')::uuid <> wanted_request THEN
        PERFORM fail('runs.not_waiting', 'request_is_over', jsonb_build_object('request_id', wanted_request));
    ELSIF run_creator_ended(r.org_id, r.created_by_user_id, r.created_at) THEN
        PERFORM fail('runs.not_waiting', 'run_has_status', jsonb_build_object('status', 'cancelled'));
    END IF;
    IF r.input_request ->> 'kind' = 'budget' THEN
        PERFORM fail('runs.other_answer', 'waits_for_budget', jsonb_build_object('name', r.input_request ->> 'name'));
    ELSIF waits_for_results(r.input_request) THEN
        PERFORM fail('runs.other_answer', 'waits_for_results');
    ELSIF r.input_request ->> 'kind' = 'authorization' THEN
        PERFORM fail('runs.other_answer', 'waits_for_connection',
                     jsonb_build_object('server', r.input_request ->> 'server_key'));
    ELSIF r.input_request ->> 'kind' = 'elicitation' THEN
        PERFORM run_elicited(r, content);
        RETURN;
    END IF;
    decides := r.input_request ->> 'kind' = 'tool_confirmation';
    IF decides AND decision IS NULL THEN
        CASE fault
            WHEN 'neither' THEN PERFORM fail('validation.error', 'content_decides_nothing');
            WHEN 'decision' THEN PERFORM fail('validation.error', 'decision_malformed');
            WHEN 'arguments' THEN PERFORM fail('validation.error', 'arguments_malformed');
            WHEN 'reason' THEN PERFORM fail('validation.error', 'reason_malformed');
            WHEN 'member' THEN PERFORM fail('validation.error', 'decision_lacks_member',
                                            jsonb_build_object('name', json_found));
            WHEN 'denied_arguments' THEN PERFORM fail('validation.error', 'denial_takes_no_arguments');
            WHEN 'json' THEN PERFORM fail('validation.error', 'content_is_no_json',
                                          jsonb_build_object('offset', json_offset, 'found', json_found));
        END CASE;
    END IF;
    INSERT INTO run_inputs (run_id, request_id, org_id, turn, tool_call_id, kind, content, decision, arguments, reason)
    SELECT run, (r.input_request ->> 'request_id')::uuid, r.org_id, (r.input_request ->> 'turn')::integer,
           r.input_request ->> 'tool_call_id', r.input_request ->> 'kind', run_input.content,
           CASE WHEN decides THEN run_input.decision END, CASE WHEN decides THEN run_input.arguments END,
           CASE WHEN decides THEN run_input.reason END;
    PERFORM run_go_on(r);
END
$$;

-- Confirmation that a run of the caller waits for, and the schema of the tool's arguments as its app or its server
-- declares it; null for a tool of ours. No row if it waits for none.
CREATE OR REPLACE FUNCTION run_confirms(run uuid) RETURNS TABLE (request_id uuid, parameters text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT (r.input_request ->> 'request_id')::uuid,
        (SELECT coalesce(t.item ->> 'parameters_text', t.item ->> 'parameters')
         FROM (SELECT 1 AS nth, f.item FROM json_array_elements(r.tools) AS f (item)
               UNION ALL SELECT 2, o.item FROM json_array_elements(r.offered_tools) AS o (item)) AS t
         WHERE t.item ->> 'name' = r.input_request ->> 'tool_name' ORDER BY t.nth LIMIT 1)
    FROM run_of_creator(run) AS r
    WHERE r.status = 'waiting_for_input' AND r.input_request ->> 'kind' = 'tool_confirmation'
$$;

-- Ends runs that nobody answered in time, each by itself: one that cannot be ended comes again in a minute and stops no
-- other. Locks threads, then runs, then accounts.
CREATE OR REPLACE FUNCTION run_expire_inputs(at_most integer, OUT ended integer, OUT more boolean, OUT fault text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    late record;
    r runs;
    late_runs runs[] := '{}';
    failed integer := 0;
BEGIN
    FOR late IN SELECT id, thread_id FROM runs
                WHERE status = 'waiting_for_input' AND input_deadline < clock_timestamp()
                ORDER BY input_deadline LIMIT at_most LOOP
        PERFORM 1 FROM threads WHERE id = late.thread_id FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        SELECT * INTO r FROM runs WHERE id = late.id AND status = 'waiting_for_input'
            AND input_deadline < clock_timestamp() FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        late_runs := late_runs || r;
    END LOOP;
    PERFORM credit_lock(ARRAY(SELECT org_id FROM unnest(late_runs)));
    ended := 0;
    FOREACH r IN ARRAY late_runs LOOP
        BEGIN
            INSERT INTO run_events (run_id, seq, type, data)
            VALUES (r.id, r.last_seq + 1, 'run.failed',
                    json_build_object('code', 'run.input_timeout', 'message', 'Nobody answered in time.'));
            PERFORM run_end(r, 'failed', r.last_seq + 1, 'run.input_timeout', 'Nobody answered in time.',
                run_message_text(r), true);
            PERFORM pg_notify('hostler_control', r.id::text);
            ended := ended + 1;
        EXCEPTION WHEN others THEN
            failed := failed + 1;
            fault := coalesce(fault, format('run %s: %s', r.id, SQLERRM));
            BEGIN
                UPDATE runs SET input_deadline = clock_timestamp() + interval '1 minute' WHERE id = r.id;
            EXCEPTION WHEN others THEN
                NULL;  -- the row can not be written at all, and keeps its place in the next page
            END;
        END;
    END LOOP;
    more := ended > 0 AND cardinality(late_runs) = at_most;
    IF failed > 1 THEN
        fault := format('%s runs failed, the first: %s', failed, fault);
    END IF;
END
$$;

-- Answers from before the decision was stored have none.
ALTER TABLE run_inputs ADD CONSTRAINT run_inputs_decision CHECK (
        CASE kind WHEN 'tool_confirmation' THEN coalesce(decision IN ('approve', 'deny'), false)
                  ELSE decision IS NULL AND reason IS NULL END
        AND (arguments IS NULL OR coalesce(decision = 'approve' AND json_typeof(arguments) = 'object', false)))
        NOT VALID;
REVOKE EXECUTE ON FUNCTION run_go_on FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION run_confirms FROM hostler_runner;
REVOKE EXECUTE ON FUNCTION run_tool_admit, run_tool_commit, run_wait, run_expire_inputs, run_result_bytes
    FROM hostler_api;
