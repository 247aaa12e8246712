-- Statements of the daemon about runs: claims and leases, and the writing of events. As hostler_runner.

-- name: listening_check
-- Whether the server at the other end of the connection that LISTENs still answers.
SELECT true AS is_there;

-- name: run_claim
-- Takes runs that nobody owns, and answers all that a fresh one begins with; need not be durable: what a crash takes
-- back is free again. An epoch is never given twice, also when the sequence went back with what a server lost: its low
-- bits are random. When more wait than are wanted, runs_round_robin() says which; served_nth then counts from 1, and
-- more may wait. history: the thread's visible messages as run_history answers them, newest first, each as its role's
-- first letter (A and the run's id for an answer whose turns are stored), its bytes, a colon and its content; null when
-- there are more than 64, when they have more than 32 times message_bytes together, or one is longer than
-- message_bytes or has images, or the run has turns: then run_history is asked. Its function is not called here: it
-- would make the claim a fifth dearer. octet_length() unpacks no content. given_history: that of a run that was given
-- one, null when it is longer than those, or not all that the model gets; then run_given_history is asked. How many are
-- wanted is hidden in a SELECT, so that one plan looks as good as a plan for each call: making that takes longer than
-- the claim.
-- $1 daemon_id uuid, $2 limit bigint, $3 message_bytes integer, $4 after_org_id uuid, $5 org_ids uuid[],
-- $6 user_ids uuid[] (see runs_round_robin), $7 limit_agent_turns bigint, $8 limit_tool_calls bigint,
-- $9 limit_run_seconds bigint, $10 round_org_ids uuid[], $11 round_user_ids uuid[]
WITH few AS MATERIALIZED (
    SELECT r.id, r.after_input FROM runs r
    WHERE r.status = 'running' AND NOT r.queued AND r.owner_id IS NULL
          AND NOT run_creator_ended(r.org_id, r.created_by_user_id, r.created_at)
    ORDER BY r.org_id, r.created_by_user_id, r.id LIMIT (SELECT $2::bigint + 1) FOR UPDATE SKIP LOCKED),
free AS MATERIALIZED (
    SELECT few.id, few.after_input, 0::bigint AS served_nth FROM few WHERE (SELECT count(*) FROM few) <= $2
    UNION ALL
    SELECT fair.id, fair.after_input, fair.served_nth FROM runs_round_robin($2, $4, $5, $6, $10, $11) AS fair
    WHERE (SELECT count(*) FROM few) > $2),
claimed AS (
    UPDATE runs r SET owner_id = $1, epoch = (nextval('run_epochs') << 20) | (random() * 1048575)::bigint,
        started_at = coalesce(r.started_at, clock_timestamp()),
        active_since = coalesce(r.active_since, clock_timestamp()), after_input = false, tried_with = 0
    FROM (SELECT set_config('synchronous_commit', 'off', true)) AS asynchronous
    WHERE r.id = ANY (ARRAY(SELECT free.id FROM free))
    RETURNING r.id, r.org_id, r.thread_id, r.created_by_user_id, r.epoch, r.source, r.persona_id, r.model, r.trace_id,
        r.last_seq, r.turns, r.tool_calls, r.crash_count, r.take_overs, r.trials,
        r.cancel_requested_at IS NOT NULL AS is_cancelled, coalesce(r.cancel_reason, 'requested') AS cancel_reason,
        run_worked_ms(r) AS worked_ms, r.persona_row_id, r.model_id, r.credits_exhausted, r.response_format,
        CASE WHEN r.last_seq > 0 THEN run_event_bytes(r.id) ELSE 0 END AS event_bytes,
        CASE WHEN r.turns > 0 THEN run_result_bytes(r.id) ELSE r.result_bytes END AS result_bytes, r.tools,
        r.history_bytes, r.is_bare, r.sampling, r.client_facts, r.budget_amount, r.routes)
SELECT c.id, c.org_id, c.thread_id, c.created_by_user_id, c.epoch, c.source, c.persona_id, c.model, c.trace_id,
    c.last_seq, c.turns, c.tool_calls, c.crash_count, c.take_overs, c.trials, c.is_cancelled, c.cancel_reason,
    c.worked_ms, c.event_bytes, c.result_bytes, free.after_input, free.served_nth, c.model_id AS route_id, c.routes IS NOT NULL AS has_chain,
    route.context_tokens,
    persona.system_prompt, persona.tools, persona.confirm_tools, persona.temperature, persona.max_turns,
    c.tools AS function_tools, c.response_format, c.credits_exhausted, coalesce(granted.turns, $7) AS limit_turns,
    coalesce(granted.tool_calls, $8) AS limit_tool_calls, coalesce(granted.seconds, $9) AS limit_seconds,
    route.is_org_scope, route.provider_kind, route.base_url, route.secret_id, route.secret_org_id, route.secret_kind,
    route.key_version, route.wrapped_key, route.sealed, route.learned, route.max_output_tokens, route.takes_images,
    route.input_price, route.output_price, c.budget_amount IS NOT NULL OR account.budgets > 0 AS is_budgeted,
    unheld_credits_max(account.balance, account.held, account.turns_held, account.active_runs) AS unheld_max,
    thread.history,
    c.history_bytes IS NOT NULL AS has_own_history,
    c.history_bytes IS NOT NULL AND (SELECT h.is_hidden FROM threads h WHERE h.id = c.thread_id) AS is_hidden,
    c.is_bare, c.sampling, c.client_facts ->> 'context' AS client_context,
    CASE WHEN c.history_bytes <= 32 * $3 AND c.client_facts -> 'instructions' IS NULL THEN (
        SELECT h.messages FROM run_histories h WHERE h.run_id = c.id AND h.put_back IS NULL) END AS given_history
FROM claimed c
JOIN free ON free.id = c.id
LEFT JOIN LATERAL (
    SELECT p.system_prompt, to_json(p.tools) AS tools, to_json(p.confirm_tools) AS confirm_tools, p.temperature,
        p.max_turns
    FROM personas p WHERE p.id = c.persona_row_id OFFSET 0) AS persona ON true
LEFT JOIN LATERAL (
    SELECT m.context_tokens, m.max_output_tokens, 'image' = ANY (m.input_types) AS takes_images,
        model_input_price(m) AS input_price,
        model_output_price(m) AS output_price, model_learned(m) AS learned, m.org_id IS NOT NULL AS is_org_scope,
        l.provider_kind, l.base_url, s.id AS secret_id, s.org_id AS secret_org_id, s.kind AS secret_kind,
        s.key_version, s.wrapped_key, s.sealed
    FROM llm_models m JOIN llm_providers l ON l.id = m.provider_id LEFT JOIN secrets s ON s.id = l.secret_id
    WHERE m.id = c.model_id OFFSET 0) AS route ON true
JOIN credit_accounts account ON account.org_id = c.org_id
LEFT JOIN LATERAL (
    SELECT CASE WHEN count(*) <= 64 AND sum(octet_length(recent.content)) <= 32 * $3
                     AND count(*) = count(*) FILTER (WHERE octet_length(recent.content) <= $3 AND recent.is_text)
        THEN string_agg(concat(CASE WHEN recent.has_turns THEN 'A' || recent.place ELSE left(recent.role, 1) END,
                               octet_length(recent.content), ':', recent.content), ''
                        ORDER BY recent.place DESC, recent.id DESC)
            FILTER (WHERE octet_length(recent.content) <= $3) END AS history
    FROM (SELECT m.id, coalesce(m.run_id, m.id) AS place, m.role, m.content, m.has_turns, m.parts IS NULL AS is_text
          FROM messages m
          WHERE m.thread_id = c.thread_id AND m.hidden_by_run_id IS NULL
          ORDER BY m.id DESC LIMIT 65) AS recent) AS thread
    ON c.turns = 0 AND c.history_bytes IS NULL
CROSS JOIN LATERAL (
    SELECT max(g.value::bigint) FILTER (WHERE g.key = 'limit.agent_turns') AS turns,
        max(g.value::bigint) FILTER (WHERE g.key = 'limit.tool_calls') AS tool_calls,
        max(g.value::bigint) FILTER (WHERE g.key = 'limit.run_seconds') AS seconds
    FROM entitlements_granted(c.org_id) AS g WHERE g.value_type = 'integer') AS granted;

-- name: runs_wait
-- Whether a claim would find something; costs a quarter of one that finds nothing.
SELECT count(*) > 0 AS runs_wait FROM (
    SELECT r.id FROM runs r WHERE r.status = 'running' AND NOT r.queued AND r.owner_id IS NULL
    ORDER BY r.org_id, r.created_by_user_id, r.id LIMIT 1) AS first;

-- name: run_owners
-- The other daemons that own runs, each with the number of its heartbeats, null of one that nobody knows: a walk from
-- owner to owner.
-- $1 daemon_id uuid
WITH RECURSIVE owners AS (
    (SELECT r.owner_id FROM runs r WHERE r.owner_id IS NOT NULL ORDER BY r.owner_id LIMIT 1)
    UNION ALL
    SELECT (SELECT r.owner_id FROM runs r WHERE r.owner_id > o.owner_id ORDER BY r.owner_id LIMIT 1)
    FROM owners o WHERE o.owner_id IS NOT NULL)
SELECT o.owner_id, d.heartbeats FROM owners o LEFT JOIN daemons d ON d.id = o.owner_id
WHERE o.owner_id IS NOT NULL AND o.owner_id <> $1 ORDER BY o.owner_id;

-- name: run_free
-- The lease of another daemon is over when it had no further heartbeat: all its runs are free, and it is marked
-- as stopped. What somebody holds is freed by the next call.
-- $1 lost_id uuid, $2 heartbeats bigint or null
WITH marked AS (
    UPDATE daemons SET stopped_at = coalesce(stopped_at, clock_timestamp())
    WHERE id = $1 AND heartbeats = $2 RETURNING id),
lost AS (
    SELECT id FROM marked
    UNION ALL
    SELECT $1 WHERE $2::bigint IS NULL AND NOT EXISTS (SELECT FROM daemons WHERE id = $1))
SELECT freed.id FROM lost CROSS JOIN LATERAL runs_after_crash(lost.id, false) AS freed(id);

-- name: run_trial
-- Notes which runs of the daemon are on trial together; all others of it are not any more. Need not be durable: what
-- it is read for is the daemon's own end.
-- $1 daemon_id uuid, $2 run_ids uuid[]
UPDATE runs r SET tried_with = CASE WHEN r.id = ANY ($2) THEN cardinality($2::uuid[]) ELSE 0 END
FROM (SELECT set_config('synchronous_commit', 'off', true)) AS asynchronous
WHERE r.owner_id = $1 AND (r.tried_with > 0 OR r.id = ANY ($2));

-- name: run_owned
-- The runs that the daemon owns, by id, a page of them.
-- $1 daemon_id uuid, $2 after_id uuid, $3 limit bigint
SELECT id, epoch FROM runs WHERE owner_id = $1 AND id > $2 ORDER BY id LIMIT $3;

-- name: run_release
-- Gives back runs that the daemon owns and does not execute: it never heard of its claim, or gave the run up. Counts
-- as a crash, so that no run comes back for ever. What somebody holds stays until the next call.
-- $1 daemon_id uuid, $2 run_ids uuid[], $3 epochs bigint[]
UPDATE runs r SET owner_id = NULL, last_seq = run_last_seq_now(r.id),
    crash_count = r.crash_count + 1, take_overs = r.take_overs + 1
FROM (SELECT runs.id FROM unnest($2::uuid[], $3::bigint[]) AS orphan(run_id, run_epoch)
      JOIN runs ON runs.id = orphan.run_id AND runs.owner_id = $1 AND runs.epoch = orphan.run_epoch
      ORDER BY runs.id FOR UPDATE OF runs SKIP LOCKED) AS locked
WHERE r.id = locked.id;

-- name: run_abandon
-- Ends a run whose end could not be written ten times, with as much of it as can be.
-- $1 run_id uuid, $2 epoch bigint, $3 code text, $4 message text
SELECT run_abandon($1, $2, $3, $4) AS has_ended;

-- name: run_cancel_requests
-- The daemon's runs that somebody cancelled, and those whose creator or organization ended and that the sweep has not
-- reached yet.
-- $1 daemon_id uuid
SELECT id, coalesce(cancel_reason, 'requested') AS cancel_reason FROM runs
WHERE owner_id = $1 AND cancel_requested_at IS NOT NULL
UNION ALL
SELECT r.id, ended.reason
FROM (SELECT q.id, q.org_id, q.created_by_user_id, q.created_at FROM runs q
      WHERE q.owner_id = $1 AND q.cancel_requested_at IS NULL
            AND EXISTS (SELECT FROM endings e WHERE e.kind IN ('runs', 'org_runs')) OFFSET 0) AS r
CROSS JOIN LATERAL (
    SELECT e.reason FROM endings e
    WHERE ((e.kind = 'runs' AND e.subject_id = r.created_by_user_id
            AND (e.within_org IS NULL OR e.within_org = r.org_id))
           OR (e.kind = 'org_runs' AND e.subject_id = r.org_id)) AND e.ended_at >= r.created_at
    LIMIT 1) AS ended;

-- name: run_load
-- What a run is made of, and what bounds it; the settings are those of runs without entitlements. A run that took a
-- turn goes on with the prompt, tools and temperature that its persona had when it began.
-- $1 run_id uuid, $2 limit_agent_turns bigint, $3 limit_tool_calls bigint, $4 limit_run_seconds bigint
SELECT coalesce(begun.state ->> 'system_prompt', p.system_prompt) AS system_prompt,
    coalesce(begun.state ->> 'tools', to_json(p.tools)::text) AS tools, to_json(p.confirm_tools) AS confirm_tools,
    CASE WHEN begun.state IS NULL THEN p.temperature ELSE (begun.state ->> 'temperature')::double precision END
        AS temperature,
    p.max_turns, r.is_bare, r.sampling, r.client_facts ->> 'context' AS client_context, r.tools AS function_tools,
    r.response_format, r.credits_exhausted,
    limits.turns_max AS limit_turns, limits.tool_calls_max AS limit_tool_calls, limits.seconds_max AS limit_seconds,
    r.model_id AS route_id, r.model, r.routes IS NOT NULL AS has_chain, m.context_tokens,
    m.org_id IS NOT NULL AS is_org_scope, l.provider_kind, l.base_url, model_learned(m) AS learned, m.max_output_tokens,
    'image' = ANY (m.input_types) AS takes_images,
    model_input_price(m) AS input_price, model_output_price(m) AS output_price,
    r.budget_amount IS NOT NULL OR a.budgets > 0 AS is_budgeted,
    unheld_credits_max(a.balance, a.held, a.turns_held, a.active_runs) AS unheld_max,
    s.id AS secret_id, s.org_id AS secret_org_id, s.kind AS secret_kind, s.key_version, s.wrapped_key, s.sealed
FROM runs r
JOIN personas p ON p.id = r.persona_row_id
JOIN llm_models m ON m.id = r.model_id
JOIN llm_providers l ON l.id = m.provider_id
JOIN credit_accounts a ON a.org_id = r.org_id
CROSS JOIN run_limits(r.org_id, $2, $3, $4) AS limits
LEFT JOIN secrets s ON s.id = l.secret_id
LEFT JOIN LATERAL (
    SELECT e.state FROM jsonb_array_elements(p.earlier) WITH ORDINALITY AS e(state, nth)
    WHERE r.turns > 0 AND (e.state ->> 'until')::numeric > extract(epoch FROM r.started_at)
    ORDER BY e.nth LIMIT 1) AS begun ON true
WHERE r.id = $1;

-- name: run_history
-- The thread's newest visible messages, newest first, until they have more than bytes_max together. Those that came
-- since the run began are for the next one: a run that goes on tells its model what it told it before.
-- $1 run_id uuid, $2 bytes_max bigint
SELECT m.id, m.role, m.content, m.turns_of, m.parts
FROM runs r CROSS JOIN LATERAL thread_newest_messages(r.thread_id, 1000, $2,
                                                      uuidv7_floor(r.started_at + interval '1 millisecond')) AS m
WHERE r.id = $1
ORDER BY m.place DESC, m.id DESC;

-- name: run_turns
-- The finished turns of a run.
-- $1 run_id uuid
SELECT turn, parts, last_seq FROM run_turns WHERE run_id = $1 ORDER BY turn;

-- name: event_append
-- The group commit: events of many runs in one statement, only of those that the daemon still owns.
-- Answers when they were written, and whose were not: the positions in run_ids of runs that are not the daemon's,
-- between blanks. The share lock holds off a take-over until the commit. LATERAL: each run is looked up by its id; as a
-- plain join Postgres reads all that the daemon owns, or all runs, for every batch. An event finds its run by its
-- position in an array: a join of the two lists compares each of the one with each of the other, ten times the rest at
-- 1,000 runs.
-- It is for the server that has what the runs wrote before; another one refuses it, and event_append_again asks.
-- $1 daemon_id uuid, $2 run_ids uuid[] (each once), $3 epochs bigint[],
-- $4 positions bigint[] (of each event: the position of its run in run_ids, from 1), $5 seqs bigint[], $6 types text[],
-- $7 data json[], $8 server bigint (see server_number)
WITH moment AS (
    SELECT date_trunc('milliseconds', clock_timestamp()) AS at WHERE server_is($8)),
owned AS MATERIALIZED (
    SELECT array_agg(coalesce(locked.id, '00000000-0000-0000-0000-000000000000') ORDER BY w.position) AS ids
    FROM unnest($2::uuid[], $3::bigint[]) WITH ORDINALITY AS w(run_id, epoch, position)
    LEFT JOIN LATERAL (SELECT r.id FROM runs r
        WHERE r.id = w.run_id AND r.epoch = w.epoch AND r.owner_id = $1 FOR SHARE OF r) AS locked ON true),
inserted AS (
    INSERT INTO run_events (run_id, seq, type, data, created_at)
    SELECT owned.ids[e.position], e.seq, e.type, e.data, moment.at
    FROM moment CROSS JOIN owned
    CROSS JOIN unnest($4::bigint[], $5::bigint[], $6::text[], $7::json[]) AS e(position, seq, type, data)
    WHERE owned.ids[e.position] <> '00000000-0000-0000-0000-000000000000')
SELECT rfc3339(moment.at) AS created_at,
    array_to_string(array_positions(owned.ids, '00000000-0000-0000-0000-000000000000'), ' ') AS lost_positions
FROM moment CROSS JOIN owned;

-- name: runs_disown
-- Before event_append_again: a run whose newest events a server does not have, because it lagged the previous one, goes
-- back to where its stored events end, and to the daemon that claims it next.
-- $1 daemon_id uuid, $2 run_ids uuid[], $3 epochs bigint[], $4 first_seqs bigint[] (that are to be written)
UPDATE runs r SET owner_id = NULL, last_seq = stored.seq, take_overs = r.take_overs + 1
FROM (SELECT owned.id, owned.seq
      FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) AS w(run_id, epoch, first_seq)
      CROSS JOIN LATERAL (
          SELECT o.id, greatest(o.last_seq, (SELECT e.seq FROM run_events e WHERE e.run_id = o.id
                                             ORDER BY e.seq DESC LIMIT 1)) AS seq
          FROM runs o WHERE o.id = w.run_id AND o.epoch = w.epoch AND o.owner_id = $1 FOR UPDATE OF o) AS owned
      WHERE owned.seq < w.first_seq - 1) AS stored
WHERE r.id = stored.id
RETURNING r.id;

-- name: event_append_again
-- A batch whose answer was lost is sent again: what is there already is the same. Apart from event_append, because
-- looking for what is there costs as much as half of the insert. Columns as event_append, and which server this is.
-- $1 daemon_id uuid, $2 run_ids uuid[], $3 epochs bigint[], $4 positions bigint[], $5 seqs bigint[], $6 types text[],
-- $7 data json[]
WITH moment AS (SELECT date_trunc('milliseconds', clock_timestamp()) AS at),
owned AS MATERIALIZED (
    SELECT array_agg(coalesce(locked.id, '00000000-0000-0000-0000-000000000000') ORDER BY w.position) AS ids
    FROM unnest($2::uuid[], $3::bigint[]) WITH ORDINALITY AS w(run_id, epoch, position)
    LEFT JOIN LATERAL (SELECT r.id FROM runs r
        WHERE r.id = w.run_id AND r.epoch = w.epoch AND r.owner_id = $1 FOR SHARE OF r) AS locked ON true),
inserted AS (
    INSERT INTO run_events (run_id, seq, type, data, created_at)
    SELECT owned.ids[e.position], e.seq, e.type, e.data, moment.at
    FROM moment CROSS JOIN owned
    CROSS JOIN unnest($4::bigint[], $5::bigint[], $6::text[], $7::json[]) AS e(position, seq, type, data)
    WHERE owned.ids[e.position] <> '00000000-0000-0000-0000-000000000000'
    ON CONFLICT (run_id, seq) DO NOTHING)
SELECT rfc3339(moment.at) AS created_at,
    array_to_string(array_positions(owned.ids, '00000000-0000-0000-0000-000000000000'), ' ') AS lost_positions,
    server_number() AS server
FROM moment CROSS JOIN owned;

-- name: runs_blocked
-- Which of these runs would wait for a row that somebody else holds; it waits for none itself.
-- $1 run_ids uuid[], $2 paid_ids uuid[] (turns, outcomes), $3 ended_ids uuid[]
SELECT id FROM runs_blocked($1, $2, $3);

-- name: thread_lock
-- Before the runs of these threads end in this transaction.
-- $1 thread_ids uuid[]
SELECT count(*) FROM (SELECT id FROM unnest($1::uuid[]) AS ended(id) ORDER BY id) AS wanted
CROSS JOIN LATERAL (SELECT t.id FROM threads t WHERE t.id = wanted.id FOR UPDATE) AS locked;

-- name: runs_commit
-- Turns of runs that the daemon owns, and the ends of runs, all of a flight at once: an element of each array a run,
-- in the order of their ids; without a turn when its number is 0, without an end when the status is empty. Answers
-- the runs that are the daemon's. The threads of those that end are locked.
-- $1 daemon_id uuid, $2 run_ids uuid[], $3 epochs bigint[], $4 last_seqs bigint[], $5 turns bigint[],
-- $6 parts text[] (empty: the turn is not stored), $7 input_tokens bigint[], $8 output_tokens bigint[],
-- $9 cache_read_tokens bigint[], $10 cache_write_tokens bigint[], $11 measured boolean[], $12 credits_per_usd bigint[],
-- $13 run_holds bigint[], $14 statuses text[], $15 codes text[] (empty: no failure), $16 messages text[],
-- $17 answers text[], $18 words text[] (of the answers), $19 incomplete boolean[],
-- $20 event_bytes bigint[], $21 result_bytes bigint[] (of all events and results of the run that are stored with this)
SELECT id, may_go_on, is_budgeted, unheld_max
FROM runs_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21);

-- name: turns_hold
-- Takes what turns may cost at most, before their models are asked; need not be durable. Elements of each array as for
-- runs_commit. Answers a row for each run that the daemon has (turn_hold). wait_seconds: of an exhausted budget; null
-- when it never renews.
-- $1 daemon_id uuid, $2 run_ids uuid[], $3 epochs bigint[], $4 route_ids uuid[], $5 input_tokens bigint[],
-- $6 output_tokens bigint[], $7 budget_min_output_tokens bigint, $8 credits_per_usd bigint
SELECT h.run_id, h.outcome, h.output_tokens, h.is_lowered, h.lowered_by, h.waits_for,
    (h.exhausted ->> 'wait_seconds')::bigint AS wait_seconds, h.exhausted ->> 'name' AS budget_name,
    h.exhausted ->> 'budget_id' AS budget_id, h.exhausted ->> 'renews_at' AS renews_at,
    h.exhausted ->> 'decided_at' AS decided_at, coalesce(h.exhausted ->> 'on_exhausted' = 'wait', false) AS may_wait
FROM (SELECT set_config('synchronous_commit', 'off', true)) AS asynchronous
CROSS JOIN turns_hold($1, $2, $3, $4, $5, $6, $7, $8) AS h;

-- name: run_output
-- The answer of a run that completes in this transaction, in the form of its format. Called after its event and before
-- its end, which takes it from its daemon.
-- $1 daemon_id uuid, $2 run_id uuid, $3 epoch bigint, $4 output json
UPDATE runs SET output = $4 WHERE id = $2 AND owner_id = $1 AND epoch = $3;

-- name: run_tool_results
-- The results of a run's tool calls so far.
-- $1 run_id uuid
SELECT turn, tool_call_id, tool_name, result, error_code, error_message, last_seq FROM run_tool_results
WHERE run_id = $1 ORDER BY turn, last_seq;

-- name: run_inputs
-- What humans answered to the run.
-- $1 run_id uuid
SELECT turn, tool_call_id, content, decision, arguments, reason FROM run_inputs WHERE run_id = $1;

-- name: run_tool_admit
-- Whether a tool may be called on the platform's account; need not be durable: a crash ends the call too.
-- $1 org_id uuid, $2 run_id uuid, $3 epoch bigint, $4 cost bigint, $5 limit_platform_tool_calls bigint
SELECT run_tool_admit($1, $2, $3, $4, $5) AS admission
FROM (SELECT set_config('synchronous_commit', 'off', true)) AS asynchronous;

-- name: account_lock
-- Before tool calls of these organizations are paid for in this transaction.
-- $1 org_ids uuid[]
SELECT credit_lock($1);

-- name: run_tool_commit
-- $1 daemon_id uuid, $2 run_id uuid, $3 epoch bigint, $4 turn integer, $5 tool_call_id text, $6 tool_name text,
-- $7 result json or null, $8 error_code text or null, $9 error_message text or null, $10 duration_ms bigint,
-- $11 last_seq bigint, $12 cost bigint
SELECT run_tool_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) AS locked;

-- name: run_wait
-- $1 daemon_id uuid, $2 run_id uuid, $3 epoch bigint, $4 last_seq bigint, $5 request jsonb,
-- $6 run_input_seconds bigint
SELECT run_wait($1, $2, $3, $4, $5, $6) AS locked;

-- name: event_notify
-- Tells the other daemons which runs have new events.
-- $1 run_ids text (with spaces between)
SELECT set_config('synchronous_commit', 'off', true), pg_notify('hostler_events', $1);

-- name: new_id
-- An id for what is written later.
SELECT public.uuidv7();
