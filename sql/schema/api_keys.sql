-- API keys: made, listed and revoked by their users.

CREATE TABLE api_keys (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
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
    user_epoch bigint NOT NULL DEFAULT 0,  -- users.key_epoch when it was made
    membership_id uuid,  -- by which its maker was a member then: with that the key is over
    FOREIGN KEY (user_id) REFERENCES users,
    CHECK (cardinality(scopes) <= 100)
);
CREATE INDEX api_keys_org ON api_keys (org_id, id);
CREATE INDEX api_keys_owner ON api_keys (org_id, user_id, id);
CREATE INDEX api_keys_user ON api_keys (user_id);
CREATE INDEX api_keys_living ON api_keys (user_id, id) WHERE revoked_at IS NULL;
-- Counted for limit.api_keys, however many are dead.
CREATE INDEX api_keys_alive ON api_keys (org_id, coalesce(expires_at, 'infinity')) WHERE revoked_at IS NULL;
SELECT make_tenant_table('api_keys');
GRANT SELECT ON api_keys TO hostler_api;
GRANT SELECT ON api_keys TO hostler_runner;

CREATE OR REPLACE FUNCTION api_key_json(k api_keys) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', k.id, 'org_id', k.org_id, 'user_id', k.user_id, 'name', k.name,
        'key_prefix', k.key_prefix, 'scopes', to_json(k.scopes), 'expires_at', rfc3339(k.expires_at),
        'revoked_at', rfc3339(k.revoked_at), 'last_used_at', rfc3339(k.last_used_at),
        'created_at', rfc3339(k.created_at))
$$;

-- Whether neither the key nor all of its maker's were ended since it was made. What authenticate() asks besides: time,
-- and what the maker may do. membership: the maker's in the key's organization now.
CREATE OR REPLACE FUNCTION api_key_lives(k api_keys, u users, membership uuid) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT k.revoked_at IS NULL AND (k.user_epoch = u.key_epoch OR k.created_at < u.keys_kept_before)
        AND coalesce(k.membership_id = membership, true)
$$;

-- How many keys of a user live, in one organization or in all; a thousand at most: so many the audit log counts.
CREATE OR REPLACE FUNCTION api_keys_living_count(of_user uuid, org uuid, since timestamptz) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT count(*) FROM (
        SELECT FROM api_keys k
        WHERE k.user_id = of_user AND k.revoked_at IS NULL AND (org IS NULL OR k.org_id = org) AND k.created_at >= since
        LIMIT 1000) AS few
$$;

-- Ends all keys of a user that were made since then, by the user's next epoch. Their count, for the audit log.
CREATE OR REPLACE FUNCTION api_keys_end(of_user uuid, since timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    living bigint := api_keys_living_count(of_user, NULL, since);
    next_epoch bigint;
BEGIN
    UPDATE users SET key_epoch = key_epoch + 1, keys_kept_before = least(keys_kept_before, since) WHERE id = of_user
    RETURNING key_epoch INTO STRICT next_epoch;
    PERFORM ending_begin('api_keys', of_user, what => jsonb_build_object('epoch', next_epoch, 'since', since));
    RETURN living;
END
$$;

-- The sweep of api_keys_end(), and of a membership that is gone (facts: membership_id): each key is revoked as of the
-- end. When none is left, older keys need no look at keys_kept_before.
CREATE OR REPLACE FUNCTION ending_page_api_keys(e endings, at_most integer, is_whole boolean) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    of_epoch bigint := (e.facts ->> 'epoch')::bigint;
    page uuid[] := ARRAY(
        SELECT k.id FROM api_keys k
        WHERE k.user_id = e.subject_id AND k.revoked_at IS NULL AND (e.cursor_id IS NULL OR k.id > e.cursor_id)
              AND CASE WHEN of_epoch IS NOT NULL
                  THEN k.user_epoch < of_epoch AND k.created_at >= (e.facts ->> 'since')::timestamptz
                  ELSE k.org_id = e.within_org AND coalesce(k.membership_id = (e.facts ->> 'membership_id')::uuid,
                                                            k.created_at <= e.ended_at) END
        ORDER BY k.id LIMIT at_most FOR NO KEY UPDATE);
BEGIN
    IF is_whole AND cardinality(page) = at_most THEN
        RETURN ending_again();
    END IF;
    UPDATE api_keys k SET revoked_at = e.ended_at WHERE k.id = ANY (page);
    IF cardinality(page) = at_most THEN
        RETURN page[at_most];
    END IF;
    UPDATE users u SET keys_kept_before = 'infinity' WHERE u.id = e.subject_id AND u.key_epoch = of_epoch;
    RETURN NULL;
END
$$;

-- A key as the audit log keeps it.
CREATE OR REPLACE FUNCTION api_key_state(k api_keys) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT jsonb_build_object('name', k.name, 'user_id', k.user_id, 'key_prefix', k.key_prefix,
        'scopes', to_jsonb(k.scopes), 'expires_at', rfc3339(k.expires_at), 'revoked_at', rfc3339(k.revoked_at))
$$;

-- POST /v1/api-keys. wanted: {name, key_prefix, scopes, expires_at}; known scopes only. The locks on user, membership
-- and session make an end of these wait until the key is there: then the end covers it.
CREATE OR REPLACE FUNCTION api_key_create(wanted jsonb, new_hash bytea, limit_api_keys bigint) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    wanted_scopes text[] := ARRAY(SELECT DISTINCT s FROM jsonb_array_elements_text(wanted -> 'scopes') AS s ORDER BY s);
    scope text;
    maker users;
    membership uuid;
    session sessions;
    created api_keys;
BEGIN
    SELECT * INTO STRICT maker FROM users u WHERE u.id = current_user_id() FOR SHARE;
    SELECT m.id INTO membership FROM org_members m
    WHERE m.org_id = current_org() AND m.user_id = current_user_id() FOR SHARE;
    IF NOT FOUND THEN
        PERFORM fail('orgs.not_found');
    END IF;
    SELECT * INTO session FROM sessions WHERE id = (current_request() ->> 'session_id')::uuid FOR SHARE;
    IF session.id IS NOT NULL AND NOT session_lives(session) THEN
        PERFORM fail('auth.invalid_token', 'session_ended');
    END IF;
    FOREACH scope IN ARRAY wanted_scopes LOOP
        IF NOT has_permission(scope) THEN
            PERFORM fail('api_keys.scope_forbidden', 'beyond_maker', jsonb_build_object('permission', scope));
        END IF;
    END LOOP;
    PERFORM limit_check('limit.api_keys', limit_api_keys);
    INSERT INTO api_keys (org_id, user_id, name, key_prefix, hash, scopes, expires_at, membership_id, user_epoch)
    VALUES (current_org(), maker.id, wanted ->> 'name', wanted ->> 'key_prefix', new_hash, wanted_scopes,
        (wanted ->> 'expires_at')::timestamptz, membership, maker.key_epoch)
    RETURNING * INTO STRICT created;
    PERFORM audit('api_keys.create', 'api_key', created.id::text, created.org_id, NULL, api_key_state(created));
    RETURN api_key_json(created);
END
$$;

-- GET /v1/api-keys: the caller's own in the organization, revoked ones too.
CREATE OR REPLACE FUNCTION api_key_page(page_limit integer, before uuid) RETURNS TABLE (id uuid, item json)
LANGUAGE sql STABLE AS $$
    SELECT k.id, api_key_json(k) FROM api_keys k
    WHERE k.org_id = current_org() AND k.user_id = current_user_id() AND (before IS NULL OR k.id < before)
    ORDER BY k.id DESC LIMIT page_limit
$$;

-- The first revocation counts. For definer functions.
CREATE OR REPLACE FUNCTION api_key_end(old_state api_keys) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    new_state api_keys;
BEGIN
    UPDATE api_keys SET revoked_at = clock_timestamp() WHERE id = old_state.id AND revoked_at IS NULL
        RETURNING * INTO new_state;
    IF new_state.id IS NOT NULL THEN
        PERFORM audit('api_keys.revoke', 'api_key', old_state.id::text, old_state.org_id, api_key_state(old_state),
                      api_key_state(new_state));
    END IF;
END
$$;

-- DELETE /v1/api-keys/{key_id}.
CREATE OR REPLACE FUNCTION api_key_revoke(wanted uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state api_keys;
BEGIN
    SELECT * INTO old_state FROM api_keys
    WHERE id = wanted AND org_id = current_org() AND user_id = current_user_id() FOR UPDATE;
    IF old_state.id IS NULL THEN
        PERFORM fail_missing('api_keys.not_found', 'api_keys', wanted, 'user_id');
    END IF;
    PERFORM api_key_end(old_state);
END
$$;

-- hostlerctl apikey revoke: by the key's id, or by what somebody found lying about.
CREATE OR REPLACE FUNCTION api_key_revoke_found(wanted uuid, found_hash bytea, OUT id uuid, OUT key_prefix text,
    OUT login text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state api_keys;
BEGIN
    SELECT * INTO old_state FROM api_keys k WHERE k.id = wanted OR k.hash = found_hash FOR UPDATE;
    IF old_state.id IS NULL THEN
        PERFORM fail('api_keys.not_found');
    END IF;
    PERFORM api_key_end(old_state);
    SELECT old_state.id, old_state.key_prefix, u.login INTO id, key_prefix, login FROM users u
        WHERE u.id = old_state.user_id;
END
$$;
REVOKE EXECUTE ON FUNCTION api_key_end, api_key_revoke_found, api_key_lives, api_keys_living_count, api_keys_end,
    ending_page_api_keys FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION api_key_create, api_key_page, api_key_revoke FROM hostler_runner;
