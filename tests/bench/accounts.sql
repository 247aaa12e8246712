-- Accounts as registration makes them, with credits, a token and threads; accounts.py puts the rest between the braces.
CREATE TEMP TABLE wanted (login text, hash bytea);
INSERT INTO wanted VALUES {hashes};
CREATE TEMP TABLE made AS
SELECT w.login, w.hash, r.new_user_id AS user_id, r.new_org_id AS org_id
FROM wanted w, register_user(w.login, w.login || '@bench.invalid', w.login || '@bench.invalid', NULL, 'en', NULL,
    NULL, NULL,
    '{{"auth.registration_mode": "open", "credit.initial_grant": 1000000000000, "invite.default_max_uses": 1}}') r;
WITH begun AS (INSERT INTO sessions (user_id, begun_by) SELECT user_id, 'password' FROM made
               RETURNING id, user_id)
INSERT INTO access_tokens (hash, session_id, expires_at)
SELECT m.hash, b.id, clock_timestamp() + interval '1 day' FROM made m JOIN begun b USING (user_id);
CREATE TEMP TABLE opened AS
WITH t AS (INSERT INTO threads (org_id, created_by_user_id)
           SELECT org_id, user_id FROM made, generate_series(1, {each})
           RETURNING id, org_id, created_by_user_id) TABLE t;
INSERT INTO messages (org_id, thread_id, role, content, created_by_user_id, search)
SELECT org_id, id, 'user', '{message}', created_by_user_id, words_vector('{words}') FROM opened;
SELECT login, user_id, org_id, coalesce((SELECT string_agg(id::text, ',') FROM opened o
    WHERE o.org_id = m.org_id), '') FROM made m;
