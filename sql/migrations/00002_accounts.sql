-- Why: users, organizations, members, sessions, tokens, API keys, invitation codes, credit accounts, audit.
-- Locks: none, everything is new.
--
-- users, sessions and tokens belong to no organization; the API role reaches them only through the
-- SECURITY DEFINER functions below and in later migrations.

CREATE TABLE users (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    login text NOT NULL,
    username text NOT NULL,
    email text NOT NULL,
    email_verified_at timestamptz,
    password_hash text,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'deleted')),
    platform_admin boolean NOT NULL DEFAULT false,
    personal_org_id uuid NOT NULL,
    avatar_url text,
    locale text NOT NULL DEFAULT 'en',
    timezone text NOT NULL DEFAULT 'UTC',
    last_login_at timestamptz,
    last_seen_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz
);
CREATE UNIQUE INDEX users_email_key ON users (name_key(email)) WHERE status <> 'deleted';

-- Logins and usernames share one name space, whatever their case.
CREATE TABLE user_names (
    name_key text PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users
);
CREATE INDEX user_names_user ON user_names (user_id);

CREATE TABLE orgs (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    slug text NOT NULL UNIQUE,
    name text NOT NULL,
    type text NOT NULL CHECK (type IN ('personal', 'workspace')),
    ip_rule_count integer NOT NULL DEFAULT 0,  -- maintained with ip_rules: authenticate() reads no more than this
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
ALTER TABLE users ADD FOREIGN KEY (personal_org_id) REFERENCES orgs DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE org_members (
    org_id uuid NOT NULL REFERENCES orgs,
    user_id uuid NOT NULL REFERENCES users,
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (org_id, user_id)
);
CREATE INDEX org_members_user ON org_members (user_id);

CREATE TABLE sessions (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    user_id uuid NOT NULL REFERENCES users,
    begun_by text NOT NULL CHECK (begun_by IN ('register', 'password', 'otp')),
    client_ip inet,
    user_agent text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    revoked_at timestamptz
);
CREATE INDEX sessions_user ON sessions (user_id, id);

CREATE TABLE access_tokens (
    hash bytea PRIMARY KEY CHECK (length(hash) = 32),
    session_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
);
CREATE INDEX access_tokens_session ON access_tokens (session_id);
CREATE INDEX access_tokens_expiry ON access_tokens (expires_at);

CREATE TABLE refresh_tokens (
    hash bytea PRIMARY KEY CHECK (length(hash) = 32),
    session_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
    expires_at timestamptz NOT NULL,
    rotated_at timestamptz
);
CREATE INDEX refresh_tokens_session ON refresh_tokens (session_id);
CREATE INDEX refresh_tokens_expiry ON refresh_tokens (expires_at);

CREATE TABLE login_failures (
    login_key text NOT NULL,
    client_ip inet NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX login_failures_login ON login_failures (login_key, at);
CREATE INDEX login_failures_address ON login_failures (client_ip, at);

CREATE TABLE api_keys (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    user_id uuid NOT NULL,
    name text NOT NULL,
    key_prefix text NOT NULL,
    hash bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    scopes text[] NOT NULL DEFAULT '{}',
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    FOREIGN KEY (user_id) REFERENCES users
);
CREATE INDEX api_keys_owner ON api_keys (org_id, user_id, id);

CREATE TABLE invite_codes (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    user_id uuid NOT NULL REFERENCES users,
    code text NOT NULL UNIQUE,
    max_uses integer NOT NULL CHECK (max_uses >= 0),
    use_count integer NOT NULL DEFAULT 0 CHECK (use_count <= max_uses),
    is_active boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX invite_codes_user ON invite_codes (user_id, id);

CREATE TABLE referrals (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    inviter_user_id uuid NOT NULL REFERENCES users,
    invitee_user_id uuid NOT NULL UNIQUE REFERENCES users,
    invite_code_id uuid NOT NULL REFERENCES invite_codes,
    credited boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (inviter_user_id <> invitee_user_id)
);
CREATE INDEX referrals_inviter ON referrals (inviter_user_id, id);

-- balance is the sum of the organization's transactions at every commit; held is what runs reserve.
CREATE TABLE credit_accounts (
    org_id uuid PRIMARY KEY REFERENCES orgs,
    balance bigint NOT NULL DEFAULT 0,
    held bigint NOT NULL DEFAULT 0 CHECK (held >= 0),
    entries bigint NOT NULL DEFAULT 0  -- the number of its newest transaction
);
-- The ledger. number counts an organization's rows from 1 without gaps, in the order of their commits.
CREATE TABLE credit_transactions (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    org_id uuid NOT NULL REFERENCES credit_accounts,
    number bigint NOT NULL,
    amount bigint NOT NULL,
    balance_after bigint NOT NULL,
    type text NOT NULL CHECK (type IN ('initial_grant', 'referral_reward', 'invitee_reward', 'admin_adjustment',
        'admin_bulk_adjustment', 'admin_reset', 'redemption', 'consumption', 'monthly_grant')),
    reference_type text,
    reference_id text,
    note text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX credit_transactions_number ON credit_transactions (org_id, number);

CREATE TABLE audit_logs (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    org_id uuid,
    actor_user_id uuid,
    actor_api_key_id uuid,
    action text NOT NULL,
    target_type text,
    target_id text,
    trace_id text,
    client_ip inet,
    user_agent text,
    before_state jsonb,
    after_state jsonb,
    result text NOT NULL DEFAULT 'ok' CHECK (result IN ('ok', 'denied', 'failed')),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX audit_logs_org ON audit_logs (org_id, id);
CREATE INDEX audit_logs_actor ON audit_logs (actor_user_id, id);
CREATE INDEX audit_logs_action ON audit_logs (action, id);

-- Forced row-level security on every table with an organization.
DO $$
DECLARE
    tenant_table text;
BEGIN
    FOREACH tenant_table IN ARRAY
        ARRAY['org_members', 'api_keys', 'credit_accounts', 'credit_transactions', 'audit_logs'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('CREATE POLICY tenant ON %I USING (org_id = current_org()) WITH CHECK (org_id = current_org())',
                       tenant_table);
    END LOOP;
END
$$;
GRANT SELECT ON org_members, api_keys, credit_accounts, credit_transactions, audit_logs TO hostler_api;
GRANT INSERT ON api_keys TO hostler_api;
GRANT UPDATE (revoked_at) ON api_keys TO hostler_api;

-- A row of the audit log, in the transaction of what it tells. org: null for platform matters.
CREATE FUNCTION audit(action text, target_type text, target_id text, org uuid DEFAULT current_org(),
                      before_state jsonb DEFAULT NULL, after_state jsonb DEFAULT NULL,
                      result text DEFAULT 'ok', actor uuid DEFAULT current_user_id()) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    request jsonb := current_request();
BEGIN
    INSERT INTO audit_logs (org_id, actor_user_id, actor_api_key_id, action, target_type, target_id,
                            trace_id, client_ip, user_agent, before_state, after_state, result)
    SELECT org, actor, (request ->> 'api_key_id')::uuid, action, target_type, target_id, request ->> 'trace_id',
           (request ->> 'client_ip')::inet, left(request ->> 'user_agent', 500), before_state, after_state, result;
END
$$;

-- One row of the ledger and the balance with it. Locks the account. int64 overflow is an error. held_change: by how
-- much what runs hold changes in the same step.
CREATE FUNCTION credit_post(org uuid, amount bigint, kind text, reference_type text DEFAULT NULL,
                            reference_id text DEFAULT NULL, note text DEFAULT NULL, held_change bigint DEFAULT 0)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    account credit_accounts;
BEGIN
    UPDATE credit_accounts SET balance = balance + credit_post.amount, held = held + held_change, entries = entries + 1
    WHERE org_id = org
          AND balance::numeric + credit_post.amount BETWEEN -9223372036854775808 AND 9223372036854775807
    RETURNING * INTO account;
    IF NOT FOUND THEN
        PERFORM fail('validation.error', 'would pass the bounds of a balance',
                     '{"field": "amount", "fault": "out_of_range"}');
    END IF;
    INSERT INTO credit_transactions (org_id, number, amount, balance_after, type, reference_type, reference_id, note)
    VALUES (org, account.entries, amount, account.balance, kind, credit_post.reference_type, credit_post.reference_id,
            credit_post.note);
    RETURN account.balance;
END
$$;
REVOKE EXECUTE ON FUNCTION credit_post FROM hostler_api, hostler_runner;

-- Whom authenticate() refuses: for the access log, taken out before the client sees the error (lib/access_note.h).
CREATE FUNCTION refused_caller(is_key boolean, org uuid, who uuid) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object('caller', jsonb_build_object(
        'type', CASE WHEN is_key THEN 'api_key' ELSE 'user' END, 'org_id', org, 'user_id', who))
$$;

-- Who calls: one look-up, then the caller's identity becomes the transaction's (tenant, user, request).
-- token_hash: SHA-256 of the token; is_key: it begins with hst_. org: X-Org-Id or null (the user's own;
-- a key's own). need: a permission, 'platform_admin', or null. takes_key: whether the route admits keys.
-- context: {trace_id, client_ip, user_agent, org_named, is_risky, is_retold}: org_named is an organization in path or
-- query, is_risky asks to refuse all but platform admins, is_retold not to judge address and risk (the audit of a
-- refusal). Raises the 401, 403 or 404 when the caller may not pass.
CREATE FUNCTION authenticate(token_hash bytea, is_key boolean, org uuid, need text, takes_key boolean, context jsonb,
    OUT user_id uuid, OUT org_id uuid, OUT role text, OUT platform_admin boolean, OUT session_id uuid,
    OUT api_key_id uuid, OUT permissions text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    who record;
BEGIN
    IF is_key THEN
        SELECT k.id AS key_id, k.user_id, k.org_id, k.scopes, m.role,
               k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
               AND u.status = 'active' AND m.role IS NOT NULL AS alive, o.ip_rule_count
        INTO who
        FROM api_keys k JOIN users u ON u.id = k.user_id JOIN orgs o ON o.id = k.org_id
        LEFT JOIN org_members m ON m.org_id = k.org_id AND m.user_id = k.user_id
        WHERE k.hash = token_hash;
        IF NOT FOUND OR NOT who.alive THEN
            PERFORM fail('auth.invalid_api_key', 'The key is unknown, revoked or expired.');
        END IF;
        IF NOT takes_key THEN
            PERFORM fail('auth.user_token_required', 'Use the access token of a login.',
                         refused_caller(is_key, who.org_id, who.user_id));
        END IF;
        IF org IS NOT NULL AND org <> who.org_id THEN
            PERFORM fail('orgs.not_found', 'The key belongs to another organization.');
        END IF;
        api_key_id := who.key_id;
        platform_admin := false;
        permissions := role_permissions(who.role);
        IF cardinality(who.scopes) > 0 THEN
            permissions := ARRAY(SELECT p FROM unnest(permissions) AS p WHERE p = ANY (who.scopes));
        END IF;
    ELSE
        SELECT t.session_id, t.expires_at <= clock_timestamp() AS expired, s.user_id,
               s.revoked_at IS NULL AND u.status = 'active' AS alive, u.platform_admin, m.role,
               coalesce(org, u.personal_org_id) AS org_id, o.ip_rule_count
        INTO who
        FROM access_tokens t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id
        LEFT JOIN orgs o ON o.id = coalesce(org, u.personal_org_id)
        LEFT JOIN org_members m ON m.org_id = coalesce(org, u.personal_org_id) AND m.user_id = u.id
        WHERE t.hash = token_hash;
        IF NOT FOUND OR NOT who.alive THEN
            PERFORM fail('auth.invalid_token', 'Log in again.');
        END IF;
        IF who.expired THEN
            PERFORM fail('auth.token_expired', 'POST /v1/auth/refresh gives a new one.');
        END IF;
        IF who.role IS NULL THEN
            PERFORM fail('orgs.not_found', 'You belong to no organization with this id.');
        END IF;
        session_id := who.session_id;
        platform_admin := who.platform_admin;
        permissions := role_permissions(who.role);
    END IF;
    user_id := who.user_id;
    org_id := who.org_id;
    role := who.role;
    IF NOT context ? 'is_retold' THEN
        IF (who.ip_rule_count > 0 AND NOT ip_admits(org_id, (context ->> 'client_ip')::inet))
           OR (context ? 'org_named' AND NOT ip_admits_named((context ->> 'org_named')::uuid,
                   (context ->> 'client_ip')::inet, user_id, platform_admin)) THEN
            PERFORM fail('ip.blocked', 'The IP rules of the organization do not let this address in.',
                         refused_caller(is_key, org_id, user_id));
        END IF;
        IF context ? 'is_risky' AND NOT platform_admin THEN
            PERFORM fail('risk.rejected', '', refused_caller(is_key, org_id, user_id));
        END IF;
    END IF;
    IF need = 'platform_admin' THEN
        IF NOT platform_admin THEN
            PERFORM fail('auth.forbidden', 'This needs platform_admin.',
                         refused_caller(is_key, org_id, user_id) || jsonb_build_object('permission', need));
        END IF;
    ELSIF need IS NOT NULL AND NOT need = ANY (permissions) THEN
        PERFORM fail('auth.forbidden', format('This needs the permission %s.', need),
                     refused_caller(is_key, org_id, user_id) || jsonb_build_object('permission', need));
    END IF;
    PERFORM set_config('hostler.org_id', org_id::text, true),
            set_config('hostler.user_id', user_id::text, true),
            set_config('hostler.request', (context || jsonb_build_object('api_key_id', api_key_id,
                'session_id', session_id, 'platform_admin', platform_admin,
                'permissions', to_jsonb(permissions)))::text, true);
END
$$;

-- The context of a request that has no caller, and of the second batch of one that has.
CREATE FUNCTION enter(org uuid, who uuid, context jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM set_config('hostler.org_id', coalesce(org::text, ''), true),
            set_config('hostler.user_id', coalesce(who::text, ''), true),
            set_config('hostler.request', context::text, true);
END
$$;

-- A denied attempt, told after the answer (its own transaction was rolled back).
CREATE FUNCTION audit_denied(who uuid, org uuid, code text, target text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT audit('access.denied', 'request', target, org, NULL, jsonb_build_object('code', code), 'denied', who)
$$;
