-- For token_grants_test.cpp, behind authentication.sql: users, sessions, members, rules and tokens change at random;
-- behind each change, and again when what tokens grant was kept, the user calls. `checked` tells what was kept then and
-- whether authenticate_by_token() said what authenticate_fully() says.
CREATE TABLE checked (change integer, is_granted boolean, passes boolean, is_same boolean);
SELECT setseed(0.17);
DO $$
DECLARE
    changes constant text[] := ARRAY[
        'UPDATE users SET status = ''suspended'' WHERE id = $1',
        'UPDATE users SET platform_admin = NOT platform_admin WHERE id = $1',
        'UPDATE users SET email_verified_at = CASE WHEN email_verified_at IS NULL THEN now() END WHERE id = $1',
        'UPDATE sessions SET revoked_at = now() WHERE user_id = $1',
        'UPDATE org_members m SET role = (ARRAY[''owner'', ''admin'', ''member''])[1 + floor(3 * random())]
         FROM users u WHERE u.id = $1 AND m.user_id = u.id AND m.org_id = u.personal_org_id',
        'DELETE FROM org_members WHERE user_id = $1',
        'INSERT INTO ip_rules (org_id, type, cidr) SELECT personal_org_id, ''allowlist'', ''10.0.0.0/8'' FROM users
         WHERE id = $1 ON CONFLICT DO NOTHING',
        'UPDATE access_tokens t SET expires_at = now() - interval ''1 s'' FROM sessions s
         WHERE s.user_id = $1 AND t.session_id = s.id',
        'UPDATE users SET personal_org_id = (SELECT id FROM orgs ORDER BY random() LIMIT 1) WHERE id = $1'];
    -- All is well again; half of the time, or soon nobody would pass.
    mends constant text[] := ARRAY[
        'UPDATE users SET status = ''active'', platform_admin = false WHERE id = $1',
        'UPDATE sessions SET revoked_at = NULL WHERE user_id = $1',
        'DELETE FROM ip_rules USING users u WHERE u.id = $1 AND ip_rules.org_id = u.personal_org_id',
        'INSERT INTO org_members (org_id, user_id, role) SELECT personal_org_id, id, ''owner'' FROM users WHERE id = $1
         ON CONFLICT DO NOTHING',
        'UPDATE access_tokens t SET expires_at = now() + interval ''1 hour'' FROM sessions s
         WHERE s.user_id = $1 AND t.session_id = s.id'];
    named constant text[] := ARRAY['well', 'unproved', 'member', 'ruled', 'administrator'];
    name text;
    of_user users;
    mend text;
    change integer;
    c calls;
BEGIN
    FOR i IN 1 .. 1500 LOOP
        name := named[1 + floor(5 * random())];
        SELECT u.* INTO of_user FROM users u WHERE u.login = name;
        IF random() < 0.5 THEN
            change := 0;
            FOREACH mend IN ARRAY mends LOOP
                EXECUTE mend USING of_user.id;
            END LOOP;
        ELSE
            change := 1 + floor(cardinality(changes) * random());
            EXECUTE changes[change] USING of_user.id;
        END IF;
        FOR is_kept IN 0 .. 1 LOOP
            SELECT n, sha256(convert_to('a' || of_user.login, 'UTF8')), false,
                (ARRAY[NULL, u.personal_org_id, (SELECT id FROM orgs ORDER BY random() LIMIT 1)])
                    [1 + floor(3 * random())],
                (ARRAY[NULL, 'data.runs.read', 'org.manage', 'data.secrets', 'platform_admin'])
                    [1 + floor(5 * random())],
                true, (ARRAY['{"client_ip": "10.0.0.1"}', '{"client_ip": "192.0.2.1", "needs_proof": true}',
                             '{"client_ip": "10.0.0.1", "writes": true}'])[1 + floor(3 * random())]::jsonb
            INTO c FROM users u, (SELECT i) AS number(n) WHERE u.id = of_user.id;
            INSERT INTO checked
            SELECT change, t.user_id IS NOT NULL, fast.passes, (fast.passes, fast.reported) IS NOT DISTINCT FROM
                (whole.passes, whole.reported)
            FROM access_tokens t, outcome('authenticate_by_token', c) AS fast, outcome('authenticate_fully', c) AS whole
            WHERE t.hash = c.hash;
            PERFORM token_grants_keep(s.id, (c.context ->> 'client_ip')::inet) FROM sessions s
            WHERE s.user_id = of_user.id;
        END LOOP;
    END LOOP;
END
$$;
