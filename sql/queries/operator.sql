-- Statements of hostlerctl, as a superuser or as hostler_owner. Never used by the services.

-- name: setup_lock
-- Two setups at once would meet in the catalogue. Held until the session ends.
SELECT pg_advisory_lock(hashtext('hostler setup-database'));

-- name: setup_roles
-- The roles of the cluster; brings an existing role into form, never touches passwords.
DO $$
DECLARE
    wanted record;
    existing record;
BEGIN
    FOR wanted IN
        SELECT name, can_login, bypasses_rls FROM (VALUES
            ('hostler_owner', false, true), ('hostler_api', true, false), ('hostler_runner', true, true)
        ) AS roles (name, can_login, bypasses_rls)
    LOOP
        SELECT rolname, rolcanlogin, rolbypassrls, rolsuper OR rolcreaterole OR rolcreatedb AS has_more
        INTO existing FROM pg_roles WHERE rolname = wanted.name;
        IF NOT FOUND THEN
            EXECUTE format('CREATE ROLE %I', wanted.name);
            RAISE NOTICE 'role % made', wanted.name;
        END IF;
        IF existing.rolcanlogin IS DISTINCT FROM wanted.can_login
           OR existing.rolbypassrls IS DISTINCT FROM wanted.bypasses_rls
           OR coalesce(existing.has_more, false) THEN
            EXECUTE format('ALTER ROLE %I NOSUPERUSER NOCREATEROLE NOCREATEDB %s %s', wanted.name,
                CASE WHEN wanted.can_login THEN 'LOGIN' ELSE 'NOLOGIN' END,
                CASE WHEN wanted.bypasses_rls THEN 'BYPASSRLS' ELSE 'NOBYPASSRLS' END);
            IF existing.rolname IS NOT NULL THEN
                RAISE NOTICE 'role % brought into form', wanted.name;
            END IF;
        END IF;
    END LOOP;
    -- Refused tokens end statements by an error, in the API and where the relay opens a stream: they are the client's
    -- matter, not the log's. What the daemons did not expect they log themselves; Postgres still tells slow statements.
    FOR wanted IN SELECT rolname AS name FROM pg_roles
                  WHERE rolname IN ('hostler_api', 'hostler_runner')
                    AND NOT coalesce('log_min_messages=log' = ANY (rolconfig), false) LOOP
        EXECUTE format('ALTER ROLE %I SET log_min_messages = log', wanted.name);
    END LOOP;
    -- The doctor looks for transactions of all roles that stay open.
    IF NOT pg_has_role('hostler_owner', 'pg_read_all_stats', 'USAGE') THEN
        GRANT pg_read_all_stats TO hostler_owner;
    END IF;
END
$$;

-- name: setup_other_hosts
-- Whether daemons were here, or secrets are stored: by programs that have a key.
SELECT EXISTS (SELECT FROM daemons) OR EXISTS (SELECT FROM secrets) AS have_a_key;

-- name: setup_operator_text
-- GRANT and CREATE ROLE take no parameters: their text, or no row when the role is an operator.
-- $1 role text
SELECT concat(CASE WHEN NOT EXISTS (SELECT FROM pg_roles WHERE rolname = $1::text)
                   THEN format('CREATE ROLE %I LOGIN; ', $1::text) END,
              format('GRANT hostler_owner TO %I', $1::text)) AS text
WHERE NOT EXISTS (
    SELECT FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member JOIN pg_roles o ON o.oid = m.roleid
    WHERE r.rolname = $1::text AND o.rolname = 'hostler_owner');

-- name: setup_may_create
-- Whether this session may make roles and databases, and whose it is.
SELECT rolname AS session_role, rolsuper OR (rolcreaterole AND rolcreatedb) AS may_create
FROM pg_roles WHERE rolname = current_user;

-- name: setup_missing_roles
-- Those that setup_roles would make.
SELECT name FROM (VALUES ('hostler_owner'), ('hostler_api'), ('hostler_runner')) AS wanted (name)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) ORDER BY name;

-- name: database_form
-- Empty when there is no such database. locale: what it orders and compares text by, in one word where that is one.
-- $1 name text
SELECT pg_encoding_to_char(encoding) AS encoding,
       datlocprovider = 'c' AND lower(datcollate) IN ('c.utf-8', 'c.utf8') AND lower(datctype) IN ('c.utf-8', 'c.utf8')
           AS orders_by_code_point,
       CASE WHEN datlocprovider <> 'c' THEN 'ICU' WHEN datcollate = datctype THEN datcollate
            ELSE datcollate || ' and ' || datctype END AS locale
FROM pg_database WHERE datname = $1::text;

-- name: create_database_text
-- CREATE DATABASE takes no parameters and no transaction: its text. C.UTF-8 orders by code point, so that no upgrade
-- of the system's locales can break an index.
-- $1 name text
SELECT format('CREATE DATABASE %I OWNER hostler_owner TEMPLATE template0 ENCODING %L LOCALE %L',
              $1::text, 'UTF8', 'C.UTF-8');

-- name: setup_database
-- The current database belongs to hostler_owner; nobody else than the services may connect.
DO $$
BEGIN
    EXECUTE format('ALTER DATABASE %I OWNER TO hostler_owner', current_database());
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO hostler_api, hostler_runner', current_database());
    ALTER SCHEMA public OWNER TO pg_database_owner;
END
$$;

-- name: owner_facts
-- Whether this session may become hostler_owner.
SELECT current_user AS session_role,
       EXISTS (SELECT FROM pg_roles WHERE rolname = 'hostler_owner') AS role_exists,
       coalesce((SELECT pg_has_role(oid, 'MEMBER') FROM pg_roles WHERE rolname = 'hostler_owner'), false) AS may_become;

-- name: become_owner
-- From here on this session acts as hostler_owner, in the schema public.
SELECT set_config('role', 'hostler_owner', false), set_config('search_path', 'public', false);

-- name: migrate_try_lock
-- One migrate at a time and database. Held until the session ends.
SELECT pg_try_advisory_lock(hashtext('hostler migrate')) AS is_mine;

-- name: migrate_lock
-- As migrate_try_lock, but waits.
SELECT pg_advisory_lock(hashtext('hostler migrate'));

-- name: schema_tables
-- Which of the tables that describe the schema exist.
SELECT to_regclass('public.schema_migrations') IS NOT NULL AS has_migrations,
       to_regclass('public.schema_functions') IS NOT NULL AS has_functions;

-- name: schema_functions_checksum
-- Of the functions that were applied last.
SELECT checksum FROM schema_functions;

-- name: schema_functions_record
-- Told in the transaction that replaces them.
-- $1 checksum bytea
INSERT INTO schema_functions (checksum) VALUES ($1)
ON CONFLICT (is_only) DO UPDATE SET checksum = excluded.checksum, applied_at = clock_timestamp();

-- name: migrations_applied
-- What the database has, in the order it was applied.
SELECT version, name, checksum, rfc3339(applied_at) AS applied_at FROM schema_migrations ORDER BY version;

-- name: migration_limits
-- A step that cannot have its locks soon gives up, instead of making all others queue. Functions may name
-- objects that are created after them.
SELECT set_config('lock_timeout', '2s', true), set_config('statement_timeout', '0', true),
       set_config('check_function_bodies', 'off', true);

-- name: migration_record
-- Told in the transaction of the step itself.
-- $1 version text, $2 name text, $3 checksum bytea, $4 compatible_from text
INSERT INTO schema_migrations (version, name, checksum, compatible_from) VALUES ($1, $2, $3, $4);

-- name: admin_register
-- A user as by POST /v1/auth/register, without a session; no mode and no code stop an operator.
-- $1 login text, $2 email text, $3 email_key text, $4 password_hash text, $5 credit_initial_grant bigint,
-- $6 invite_default_max_uses integer, $7 look jsonb
SELECT new_user_id FROM register_user($1, $2, $3, $4, 'en', NULL, NULL, NULL, jsonb_build_object(
    'auth.registration_mode', 'open', 'credit.initial_grant', $5::bigint, 'invite.default_max_uses', $6::integer),
    NULL, $7);

-- name: admin_promote
-- Marks the user as platform administrator, and the address as verified. 404 for an unknown user.
-- $1 login text (or username, or email)
SELECT user_promote_proved($1);

-- name: operator_api_key_revoke
-- 404 for an unknown key.
-- $1 key_id uuid or null, $2 key_hash bytea or null
SELECT id, key_prefix, login FROM api_key_revoke_found($1, $2);

-- name: operator_org_list
-- Organizations, newest first; with a name only the one that has it as id or slug.
-- $1 limit bigint, $2 id_or_slug text or null
SELECT o.id, o.type, o.slug, o.name, rfc3339(o.created_at) AS created_at, coalesce(c.balance, 0) AS balance,
       (SELECT count(*) FROM org_members m WHERE m.org_id = o.id) AS member_count
FROM orgs o LEFT JOIN credit_accounts c ON c.org_id = o.id
WHERE $2::text IS NULL OR o.slug = $2 OR o.id::text = $2
ORDER BY o.id DESC LIMIT $1;

-- name: operator_member_list
-- $1 org_id uuid
SELECT m.user_id, u.login, u.email, m.role, u.status
FROM org_members m JOIN users u ON u.id = m.user_id WHERE m.org_id = $1 ORDER BY m.created_at, m.user_id;

-- name: operator_ip_rules
-- An organization's rules, the oldest first.
-- $1 org_name text (id, slug, or somebody's login)
SELECT r.id, r.type, r.cidr, coalesce(r.note, '') AS note, rfc3339(r.created_at) AS created_at
FROM ip_rules r WHERE r.org_id = org_of_operator($1) ORDER BY r.id;

-- name: operator_ip_rules_remove
-- How many went.
-- $1 org_name text, $2 rule_id uuid or null (all of them when null)
SELECT ip_rules_remove($1, $2) AS removed;

-- name: operator_credit_adjust
-- $1 org_name text (id, slug, or somebody's login), $2 amount bigint, $3 note text or null
SELECT credit_adjust(org_of_operator($1), $2, $3) AS item;

-- name: doctor_orgs_shut
-- Organizations that block all of IPv4 or of IPv6, or every network that they allow: how many, and some of their slugs.
SELECT count(*) AS orgs, array_to_string((array_agg(o.slug ORDER BY o.slug))[:5], ', ') AS slugs FROM (
    SELECT org_id FROM ip_rules WHERE type = 'blocklist' AND cidr IN ('0.0.0.0/0', '::/0')
    UNION
    SELECT a.org_id FROM ip_rules a WHERE a.type = 'allowlist' GROUP BY a.org_id
    HAVING bool_and(EXISTS (SELECT FROM ip_rules b
                            WHERE b.org_id = a.org_id AND b.type = 'blocklist' AND b.cidr >>= a.cidr))) AS shut
JOIN orgs o ON o.id = shut.org_id;

-- name: operator_gateway_reset
-- Forgets what administrators stored about the gateway.
SELECT gateway_config_reset();

-- name: backup_facts
-- What the open transaction sees, under a name that pg_dump can see it by too.
SELECT pg_export_snapshot() AS snapshot, (SELECT max(version) FROM schema_migrations) AS schema_version,
       rfc3339(clock_timestamp()) AS created_at,
       (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM orgs) AS orgs,
       (SELECT count(*) FROM messages) AS messages, (SELECT count(*) FROM runs) AS runs,
       (SELECT count(*) FROM credit_transactions) AS credit_transactions, (SELECT count(*) FROM secrets) AS secrets,
       (SELECT coalesce(max(key_version), 0) FROM secrets) AS key_version;

-- name: table_count
-- Of an empty database 0.
SELECT count(*) FROM pg_tables WHERE schemaname = 'public';

-- name: doctor_database
-- What the doctor looks at inside; needs a migrated schema.
SELECT server_version, now_ms, connections_max, connections, connections_of_pools, synchronous_standby_names,
       is_watched_over, is_durable, transaction_s, outbox_failed, outbox_wait_s, mails_refused,
       mail_failing_s, mail_fault, mail_error,
       (SELECT coalesce(max(key_version), 0) FROM secrets) AS key_version, admins, daemons, unclaimed,
       mcp_failing, mcp_failing_s
FROM platform_facts();

-- name: doctor_maintainer
-- Who does the periodic jobs; no host when nobody was heard of lately.
SELECT d.host, d.instance, rfc3339(m.since) AS since
FROM maintainer m LEFT JOIN daemons d ON d.id = m.daemon_id AND d.stopped_at IS NULL
    AND d.heartbeat_at > clock_timestamp() - interval '30 seconds';

-- name: doctor_jobs
-- Periodic jobs that failed when they were tried last, or are late: for three periods and two minutes nobody did them.
SELECT j.job, j.faults, j.fault, j.is_failing, j.late_s
FROM (SELECT job, faults, fault, coalesce(fault_at >= done_at, fault_at IS NOT NULL) AS is_failing,
          extract(epoch FROM clock_timestamp() - coalesce(greatest(done_at, m.since), m.since))::bigint AS late_s,
          period_ms
      FROM maintenance_jobs CROSS JOIN maintainer m) AS j
WHERE j.is_failing OR j.late_s > 120 + 3 * j.period_ms / 1000
ORDER BY j.job;

-- name: doctor_collations
-- Collations that changed since Postgres recorded their version, as with an upgrade of the system's locales or of ICU,
-- of those that indexes here depend on: by a column, or by a function that names one and makes what is indexed (in the
-- index, in a generated column, or in a column of its name). mend: the statement that records the new version after the
-- indexes are rebuilt.
WITH named AS MATERIALIZED (
    SELECT i.indexrelid, c.oid AS collation_oid
    FROM pg_index i JOIN pg_class k ON k.oid = i.indexrelid AND k.relnamespace = 'public'::regnamespace
    JOIN pg_proc p ON p.pronamespace = 'public'::regnamespace
        AND strpos(pg_get_expr(i.indexprs, i.indrelid), p.proname || '(') > 0
    JOIN pg_collation c ON strpos(p.prosrc, format('COLLATE "%s"', c.collname)) > 0
    WHERE i.indexprs IS NOT NULL AND k.relkind = 'i'
    UNION
    SELECT i.indexrelid, c.oid
    FROM pg_index i JOIN pg_class k ON k.oid = i.indexrelid AND k.relnamespace = 'public'::regnamespace
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.attgenerated <> ''
    JOIN pg_proc p ON p.pronamespace = 'public'::regnamespace
        AND (p.proname = a.attname OR strpos(pg_get_expr(d.adbin, d.adrelid), p.proname || '(') > 0)
    JOIN pg_collation c ON strpos(p.prosrc, format('COLLATE "%s"', c.collname)) > 0
    WHERE k.relkind = 'i'
    UNION
    SELECT i.indexrelid, u.collation_oid
    FROM pg_index i JOIN pg_class k ON k.oid = i.indexrelid AND k.relnamespace = 'public'::regnamespace
    CROSS JOIN unnest(i.indcollation) AS u (collation_oid)
    WHERE u.collation_oid <> 0 AND k.relkind = 'i'
), used AS MATERIALIZED (
    SELECT collation_oid, string_agg(indexrelid::regclass::text, ', ' ORDER BY indexrelid::regclass::text) AS indexes,
           count(*) AS count
    FROM named GROUP BY collation_oid
)
SELECT format('database %s', d.datname) AS name, d.datcollversion AS recorded,
       coalesce(pg_database_collation_actual_version(d.oid), 'none') AS actual, u.indexes, u.count,
       format('ALTER DATABASE %I REFRESH COLLATION VERSION', d.datname) AS mend
FROM pg_database d JOIN used u ON u.collation_oid = 'pg_catalog."default"'::regcollation
WHERE d.datname = current_database() AND d.datcollversion IS DISTINCT FROM pg_database_collation_actual_version(d.oid)
    AND d.datcollversion IS NOT NULL
UNION ALL
SELECT format('collation %s', c.collname), c.collversion, coalesce(pg_collation_actual_version(c.oid), 'none'),
       u.indexes, u.count, format('ALTER COLLATION %s REFRESH VERSION', c.oid::regcollation)
FROM used u JOIN pg_collation c ON c.oid = u.collation_oid
WHERE c.collversion IS NOT NULL AND c.collversion IS DISTINCT FROM pg_collation_actual_version(c.oid)
ORDER BY name;

-- name: doctor_server
-- What one server of several is: on one that follows, streams is false when it hears of nobody. timeline: which
-- history it writes or reads. Bytes that it replayed later than it received them.
SELECT pg_is_in_recovery() AS follows,
       CASE WHEN pg_is_in_recovery() THEN coalesce(r.received_tli, (SELECT timeline_id FROM pg_control_checkpoint()))
            ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer END AS timeline,
       coalesce(r.status = 'streaming', false) AS streams,
       coalesce(pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()), 0)::bigint AS behind_bytes,
       coalesce(host(inet_server_addr()), '') AS address,
       current_setting('synchronous_standby_names') AS synchronous_standby_names
FROM (SELECT) AS one LEFT JOIN pg_stat_wal_receiver r ON true;

-- name: doctor_standbys
-- Standbys of this server, and the lag of each.
SELECT application_name AS name, coalesce(host(client_addr), '') AS address, state, sync_state,
       coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn), 0)::bigint AS behind_bytes
FROM pg_stat_replication WHERE state IS NOT NULL AND application_name <> 'pg_basebackup' ORDER BY name;

-- name: doctor_small_memory
-- Before doctor_disk, in its transaction: what it sorts goes to the disk.
SELECT set_config('work_mem', '64kB', true);

-- name: doctor_disk
-- Whether the volume of the data takes anything: a file that is gone with the statement.
SELECT count(*) AS lines FROM (
    SELECT repeat(md5(nth::text), 30) AS line FROM generate_series(1, 2000) AS nth ORDER BY line) AS sorted;

-- name: admin_demote
-- Takes the mark away; raises users.last_admin.
-- $1 login text (or username, or email)
SELECT user_demote($1);

-- name: user_status_set
-- $1 login text (or username, or email), $2 status text (active or suspended)
SELECT user_set_status(user_of_operator($1), $2);

-- name: user_facts
-- Facts about a user for an operator.
-- $1 login text (or username, or email)
SELECT u.id, u.login, u.username, u.email, u.email_verified_at IS NOT NULL AS email_verified, u.status,
       u.platform_admin, rfc3339(u.created_at) AS created_at, rfc3339(u.last_login_at) AS last_login_at
FROM users u WHERE u.id = user_of_operator($1);

-- name: user_orgs
-- Where a user is a member.
-- $1 login text (or username, or email)
SELECT o.id AS org_id, o.slug, o.name, m.role FROM org_members m JOIN orgs o ON o.id = m.org_id
WHERE m.user_id = user_of_operator($1) ORDER BY o.id;

-- name: user_sessions
-- The sessions of a user that are not revoked, newest first.
-- $1 login text (or username, or email)
SELECT s.id, rfc3339(s.created_at) AS created_at, rfc3339(s.last_seen_at) AS last_seen_at,
       coalesce(host(s.client_ip), '') AS client_ip, s.user_agent
FROM sessions s WHERE s.user_id = user_of_operator($1) AND session_lives(s) ORDER BY s.id DESC LIMIT 100;

-- name: session_revoke_one
-- $1 session_id uuid
SELECT session_revoke_by_operator($1);

-- name: session_revoke_all
-- Ends every session of a user and answers how many.
-- $1 login text (or username, or email)
SELECT sessions_revoke_by_operator($1);
-- name: operator_set_context
-- An operator acts as a platform administrator without a name, until the transaction ends.
SELECT set_request_context(NULL, NULL, '{"platform_admin": true}');

-- name: operator_plans
-- The plans with their entitlements, the newest first.
SELECT coalesce(json_agg(plan_json(plans) ORDER BY id DESC), '[]') AS item FROM plans;

-- name: secrets_lock
-- One rotation at a time; the session holds it.
SELECT pg_try_advisory_lock(hashtextextended('hostler secret rotate', 0)) AS is_ours;

-- name: doctor_secrets
-- The newest, for whether a host's key file opens them.
SELECT id, org_id, kind, key_version, wrapped_key FROM secrets ORDER BY id DESC LIMIT 100;

-- name: secrets_to_rewrap
-- The next of those that are not under the newest key.
-- $1 key_version integer, $2 after_id uuid, $3 limit bigint
SELECT id, org_id, kind, key_version, wrapped_key FROM secrets
WHERE key_version < $1 AND id > $2 ORDER BY id LIMIT $3;

-- name: secrets_rewrap
-- Puts secrets under the newest key; one that is gone or another by now stays away.
-- $1 key_version integer, $2 wrapped jsonb ([{id, was, now}], the wrapped keys in base64)
WITH done AS (
    UPDATE secrets s SET key_version = $1, wrapped_key = decode(w.new_key, 'base64')
    FROM jsonb_to_recordset($2::jsonb) AS w(id uuid, old_key text, new_key text)
    WHERE s.id = w.id AND s.wrapped_key = decode(w.old_key, 'base64')
    RETURNING s.id)
SELECT count(*) AS rewrapped FROM done;
-- name: operator_run
-- A run as an operator follows it.
-- $1 run_id uuid
SELECT r.id, r.org_id, r.thread_id, r.status, r.queued, r.trace_id, r.persona_id, r.model, r.turns, r.tool_calls,
       r.total_input_tokens, r.total_output_tokens, r.credits_used, r.ended_at IS NOT NULL AS is_ended,
       coalesce(r.error_code, '') AS error_code
FROM runs r WHERE r.id = $1;

-- name: maintenance_clock_state
-- Whether maintenance goes by the database's clock; accept: from now on it does.
-- $1 accept boolean
SELECT is_held, accepted_at, now_at FROM maintenance_clock_state($1);
