-- On top of many_rows.sql: a system at work, and one of everything that grows with one user, thread or run. For
-- rows_read_test.cpp, which runs it behind the ANALYZE of the idle system.
SET session_replication_role = replica;  -- no foreign keys, no triggers: speed

-- Runs in threads of users other than user1 to user3: claimable runs, owned runs, runs that wait.
CREATE TEMP TABLE begun AS
SELECT id, row_number() OVER () AS n
FROM (SELECT DISTINCT ON (r.thread_id) r.id FROM runs r
      WHERE NOT EXISTS (SELECT FROM users u
                        WHERE u.id = r.created_by_user_id AND u.login IN ('user1', 'user2', 'user3'))
      ORDER BY r.thread_id, r.id) AS first_of_thread;
UPDATE runs r SET status = 'running', ended_at = NULL FROM begun b WHERE b.id = r.id AND b.n <= 2000;
UPDATE runs r SET status = 'running', ended_at = NULL, owner_id = (SELECT id FROM daemons), epoch = 1
FROM begun b WHERE b.id = r.id AND b.n BETWEEN 2001 AND 3000;
UPDATE runs r SET status = 'waiting_for_input', ended_at = NULL, input_deadline = clock_timestamp() + interval '1 day',
    input_request = json_build_object('kind', 'question', 'turn', 2, 'tool_call_id', 'c',
                                      'request_id', gen_random_uuid())
FROM begun b WHERE b.id = r.id AND b.n BETWEEN 3001 AND 3500;

-- user1: 2,000 threads more with a run each, and 2,000 messages and events of the thread and run that are asked for.
CREATE TEMP TABLE large AS
SELECT u.id AS user_id, u.personal_org_id AS org_id,
       (SELECT t.id FROM threads t WHERE t.created_by_user_id = u.id AND t.org_id = u.personal_org_id
        ORDER BY t.id LIMIT 1) AS thread_id
FROM users u WHERE u.login = 'user1';
CREATE TEMP TABLE opened AS
WITH made AS (INSERT INTO threads (id, org_id, created_by_user_id, title)
              SELECT uuidv7(), l.org_id, l.user_id, 'thread ' || n FROM large l, generate_series(1, 2000) AS n
              RETURNING id, org_id, created_by_user_id) TABLE made;
INSERT INTO messages (id, org_id, thread_id, created_by_user_id, role, content, search)
SELECT uuidv7(), l.org_id, l.thread_id, l.user_id, 'user', 'message ' || n, words_vector('message ' || n)
FROM large l, generate_series(1, 2000) AS n;
INSERT INTO runs (id, org_id, thread_id, created_by_user_id, status, source, trace_id, persona_id, persona_row_id,
                  model_id, model, provider_kind, credential_name, last_seq, ended_at)
SELECT uuidv7(), o.org_id, o.id, o.created_by_user_id, 'completed', 'api', 'x', 'normal@1', p.id, m.id, 'model',
       'openai', 'own', 3, clock_timestamp()
FROM opened o, (SELECT id FROM personas WHERE persona_key = 'normal') AS p, (SELECT id FROM llm_models LIMIT 1) AS m;
INSERT INTO run_events (run_id, seq, type, data)
SELECT (SELECT r.id FROM runs r JOIN large l USING (thread_id) ORDER BY r.id LIMIT 1), n, 'message.delta',
       '{"content": "x"}'
FROM generate_series(100, 2099) AS n;
INSERT INTO usage_records (id, org_id, run_id, turn, user_id, model, input_tokens, output_tokens, cache_read_tokens,
                           cache_write_tokens, cost_nano_usd, measured)
SELECT uuidv7(), r.org_id, r.id, 2, r.created_by_user_id, 'model', 1, 1, 0, 0, 1, true
FROM runs r JOIN opened o ON o.id = r.thread_id;
INSERT INTO audit_logs (id, org_id, actor_user_id, action, target_type, target_id)
SELECT uuidv7(), org_id, user_id, 'auth.login', 'session', 'x' FROM large, generate_series(1, 2000);
INSERT INTO credit_transactions (id, org_id, number, amount, balance_after, type)
SELECT uuidv7(), org_id, n, 1, 1, 'consumption' FROM large, generate_series(9, 2008) AS n;
UPDATE credit_accounts a SET entries = 2008 FROM large l WHERE l.org_id = a.org_id;
INSERT INTO outbox (org_id, kind, endpoint_id, event_type, body, status, next_attempt_at)
SELECT l.org_id, 'webhook', (SELECT e.id FROM webhook_endpoints e WHERE e.org_id = l.org_id LIMIT 1), 'run.completed',
       '{}', 'delivered', NULL
FROM large l, generate_series(1, 2000);
RESET session_replication_role;
SELECT account_runs_recount();
