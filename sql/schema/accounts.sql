-- Users, organizations, and who belongs to which. users and names belong to no organization: hostler_api reaches them
-- through functions only.

CREATE TABLE users (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    login text NOT NULL,
    username text NOT NULL,
    email text NOT NULL,      -- as it was entered: it is shown, and mail goes to it
    email_key text COLLATE "C" NOT NULL,  -- what spellings of one mailbox have in common (lib/mail_address.h)
    email_verified_at timestamptz,
    password_hash text,
    status text COLLATE "C" NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'deleted')),
    platform_admin boolean NOT NULL DEFAULT false,
    has_factor boolean NOT NULL DEFAULT false,  -- a second factor that counts (factors.sql)
    made_by_org_id uuid,  -- the organization whose provider or SCIM made it: no credits, no invitation code
    suspended_by_org_id uuid,  -- the organization whose SCIM suspended it, and may make it active again
    personal_org_id uuid NOT NULL,
    avatar_url text,
    locale text NOT NULL DEFAULT 'en',
    timezone text NOT NULL DEFAULT 'UTC',
    last_login_at timestamptz,
    last_seen_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz,
    invite_code_reset_at timestamptz,
    -- Sessions of an earlier epoch are over. So are keys of an earlier one, but those made before keys_kept_before;
    -- when the sweep has revoked them, that is infinity again (endings.sql).
    session_epoch bigint NOT NULL DEFAULT 0,
    key_epoch bigint NOT NULL DEFAULT 0,
    keys_kept_before timestamptz NOT NULL DEFAULT 'infinity',
    -- Matches lie within one of the lines.
    search_text text NOT NULL GENERATED ALWAYS AS (
        name_key(login) || E'\n' || name_key(username) || E'\n' || name_key(email)) STORED
);
CREATE UNIQUE INDEX users_email_key ON users (email_key) WHERE status <> 'deleted';
CREATE INDEX users_admins ON users (id) WHERE platform_admin;

-- Without pending lists: a search costs the same whenever it comes, and users are written seldom.
CREATE INDEX users_search ON users USING gin (search_text gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX users_search_short ON users USING gin (short_pieces(search_text)) WITH (fastupdate = off);
CREATE INDEX users_status ON users (status, id);
GRANT SELECT (id, login, username, email, email_verified_at, status, platform_admin, personal_org_id, avatar_url,
    locale, timezone, last_login_at, last_seen_at, created_at, deleted_at, invite_code_reset_at,
    session_epoch, key_epoch,
    keys_kept_before) ON users
    TO hostler_runner;

-- Logins and usernames share one name space, whatever their case. skeleton: what names that look alike have in common
-- (UTS 39), as the programs make it by the version `icu` of ICU; null: to be made. It is one user's alone where a name
-- is not ASCII.
CREATE TABLE user_names (
    name_key text COLLATE "C" PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users,
    skeleton text COLLATE "C",
    icu text COLLATE "C"
);
CREATE INDEX user_names_user ON user_names (user_id);
CREATE INDEX user_names_skeleton ON user_names (skeleton);
CREATE INDEX user_names_icu ON user_names (icu);

CREATE TABLE orgs (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    slug text COLLATE "C" NOT NULL UNIQUE,
    name text NOT NULL,
    type text NOT NULL CHECK (type IN ('personal', 'workspace')),
    ip_rule_count integer NOT NULL DEFAULT 0,  -- maintained with ip_rules: authenticate() reads no more than this
    require_factor boolean NOT NULL DEFAULT false,  -- members without a second factor may do nothing here
    required_provider_id uuid,  -- only sessions that this identity provider began act here
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_day date,  -- of a workspace: when a member was seen last (dashboard.sql)
    -- A workspace that is deleted stops at closed_at, can be restored until erase_at, and is erased then
    -- (org_deletion.sql).
    closed_at timestamptz,
    erase_at timestamptz,
    erased_at timestamptz
);
CREATE INDEX orgs_workspaces ON orgs (id) WHERE type = 'workspace';
GRANT SELECT ON orgs TO hostler_runner;
ALTER TABLE users ADD FOREIGN KEY (personal_org_id) REFERENCES orgs DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE org_members (
    org_id uuid NOT NULL REFERENCES orgs,
    user_id uuid NOT NULL REFERENCES users,
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    id uuid NOT NULL DEFAULT public.uuidv7(),  -- of the membership: members are listed by it
    PRIMARY KEY (org_id, user_id)
);
CREATE INDEX org_members_newest ON org_members (org_id, id);
CREATE INDEX org_members_user ON org_members (user_id);
CREATE INDEX org_members_owners ON org_members (org_id, user_id) WHERE role = 'owner';
CREATE INDEX org_members_owned ON org_members (user_id, org_id) WHERE role = 'owner';
SELECT make_tenant_table('org_members');
GRANT SELECT ON org_members TO hostler_api;
GRANT SELECT ON org_members TO hostler_runner;
