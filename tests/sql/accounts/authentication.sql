-- For authentication_test.cpp: users by what is the matter with them, each with an access token and a key; calls of
-- theirs; and what authenticate(), authenticate_fully() and, where it may be asked, authenticate_by_token() say of
-- each: the answer, what it makes of the transaction, its locks, or the error.
SELECT register_user(name, name || '@example.org', name || '@example.org', 'hash', 'en', NULL,
    sha256(convert_to('a' || name, 'UTF8')),
    sha256(convert_to('r' || name, 'UTF8')), '{"credit.initial_grant": 0, "invite.default_max_uses": 1,
    "auth.access_token_seconds": 900, "auth.refresh_token_seconds": 900, "auth.registration_mode": "open"}')
FROM unnest(ARRAY['well', 'unproved', 'suspended', 'administrator', 'logged_out', 'expired', 'ended_key', 'old_key',
    'scoped', 'member', 'nowhere', 'ruled', 'shut_out']) AS name;
INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash)
SELECT personal_org_id, id, 'key', 'hst_', sha256(convert_to('k' || login, 'UTF8')) FROM users;
UPDATE users SET email_verified_at = clock_timestamp() WHERE login <> 'unproved';
UPDATE users SET status = 'suspended' WHERE login = 'suspended';
UPDATE users SET platform_admin = true WHERE login = 'administrator';
UPDATE sessions SET revoked_at = clock_timestamp()
WHERE user_id = (SELECT id FROM users WHERE login = 'logged_out');
UPDATE access_tokens SET expires_at = clock_timestamp() - interval '1 s' WHERE hash = sha256('aexpired');
UPDATE api_keys SET revoked_at = clock_timestamp() WHERE hash = sha256('kended_key');
UPDATE api_keys SET expires_at = clock_timestamp() - interval '1 s' WHERE hash = sha256('kold_key');
UPDATE api_keys SET scopes = '{data.runs.read,org.manage,nonsense}' WHERE hash = sha256('kscoped');
INSERT INTO org_members (org_id, user_id, role)
SELECT o.personal_org_id, u.id, 'member' FROM users u, users o WHERE u.login = 'member' AND o.login = 'well';
DELETE FROM org_members WHERE user_id = (SELECT id FROM users WHERE login = 'nowhere');
INSERT INTO ip_rules (org_id, type, cidr)
SELECT personal_org_id, 'allowlist', CASE login WHEN 'ruled' THEN '10.0.0.0/8'::cidr ELSE '192.0.2.1/32' END
FROM users WHERE login IN ('ruled', 'shut_out');
CREATE TABLE calls AS
SELECT row_number() OVER () AS n, token.hash, token.is_key, org, need, takes_key, context::jsonb AS context
FROM (SELECT sha256(convert_to(kind || login, 'UTF8')) AS hash, kind = 'k' AS is_key
      FROM users, unnest(ARRAY['a', 'k']) AS kind UNION ALL VALUES (sha256(''), true), (sha256(''), false)) AS token,
     (SELECT NULL::uuid AS org UNION ALL SELECT personal_org_id FROM users WHERE login IN ('well', 'ruled')) AS orgs,
     unnest(ARRAY[NULL, 'data.runs.read', 'org.manage', 'platform_admin', 'nonsense']) AS need,
     unnest(ARRAY[true, false]) AS takes_key,
     unnest(ARRAY['{}', '{"client_ip": "10.0.0.1"}', '{"client_ip": "10.0.0.1", "is_risky": true}',
         '{"client_ip": "10.0.0.1", "is_risky": true, "needs_proof": true, "is_replay": true}',
         '{"client_ip": "192.0.2.1", "needs_proof": true}', '{"client_ip": "10.0.0.1", "writes": true}',
         '{"client_ip": "10.0.0.1", "writes": true, "ends": "self"}',
         (SELECT json_build_object('client_ip', '192.0.2.1', 'org_named', personal_org_id)::text
          FROM users WHERE login = 'ruled'),
         '{"session_id": "x", "api_key_id": "y", "permissions": ["org.manage"], "platform_admin": true}']) AS context;
CREATE TABLE outcomes (way text, n bigint, passes boolean, reported text);

SELECT caller_seen(id, NULL, '10.0.0.1') FROM sessions;

-- Returns what one way says of one call; changes nothing.
CREATE FUNCTION outcome(way text, c calls, OUT passes boolean, OUT reported text) LANGUAGE plpgsql AS $$
DECLARE
    hint text;
    detail text;
BEGIN
    EXECUTE format(CASE way WHEN 'authenticate_by_token'
        THEN 'SELECT %I($1, $3, $4, $6 ? ''writes'', $6 ? ''needs_proof'', $6::text)'
        ELSE 'SELECT concat_ws('' '', a.user_id, a.org_id, a.role, a.platform_admin,
                  coalesce(a.session_id::text, ''-''), coalesce(a.api_key_id::text, ''-''), a.permissions)
              FROM %I($1, $2, $3, $4, $5, $6) AS a' END, way) INTO reported
    USING c.hash, c.is_key, c.org, c.need, c.takes_key, c.context;
    reported := concat_ws(' ', reported, current_org(), current_user_id(), current_permissions(), current_request(),
        (SELECT string_agg(DISTINCT l.mode || l.objid, ' ') FROM pg_locks l
         WHERE l.locktype = 'advisory' AND l.pid = pg_backend_pid()));
    RAISE EXCEPTION USING ERRCODE = 'UT000', MESSAGE = reported;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS reported = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT, detail = PG_EXCEPTION_DETAIL;
    passes := sqlstate = 'UT000';
    reported := concat_ws(' ', reported, hint, detail);
END
$$;
INSERT INTO outcomes (way, n, passes, reported)
SELECT way, c.n, answer.passes, answer.reported
FROM unnest(ARRAY['authenticate', 'authenticate_fully', 'authenticate_by_token']) AS way, calls c,
     LATERAL outcome(way, c) AS answer
WHERE way <> 'authenticate_by_token' OR NOT (c.is_key OR c.context ?| '{is_risky,is_replay,ends,org_named}');
