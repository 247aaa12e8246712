-- Bearer tokens by which an identity service provisions the members of an organization (SCIM 2.0, docs/scim.md). A
-- token belongs to the organization, and acts as nobody: it reaches the functions of scim_*.sql only.

CREATE TABLE scim_tokens (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs,
    hash bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
    token_prefix text NOT NULL,
    created_by_user_id uuid NOT NULL REFERENCES users,
    expires_at timestamptz,
    last_used_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX scim_tokens_org ON scim_tokens (org_id, id);
CREATE INDEX scim_tokens_maker ON scim_tokens (created_by_user_id);
SELECT make_tenant_table('scim_tokens');

CREATE OR REPLACE FUNCTION scim_token_json(t scim_tokens) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', t.id, 'org_id', t.org_id, 'token_prefix', t.token_prefix,
        'created_by_user_id', t.created_by_user_id, 'expires_at', rfc3339(t.expires_at),
        'last_used_at', rfc3339(t.last_used_at), 'created_at', rfc3339(t.created_at))
$$;

-- POST /v1/orgs/{org_id}/scim-tokens. Two at most, so that one can be replaced while the other serves.
CREATE OR REPLACE FUNCTION scim_token_create(new_hash bytea, new_prefix text, new_expires_at timestamptz) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    tokens_max constant integer := 2;
    created scim_tokens;
BEGIN
    PERFORM org_hold('org.manage');
    IF (SELECT o.type FROM orgs o WHERE o.id = current_org()) = 'personal' THEN
        PERFORM fail('orgs.personal', 'takes_no_members');
    ELSIF (SELECT count(*) FROM scim_tokens t WHERE t.org_id = current_org()) >= tokens_max THEN
        PERFORM fail('limits.reached', 'scim_tokens_are_enough', jsonb_build_object('limit', tokens_max));
    END IF;
    INSERT INTO scim_tokens (org_id, hash, token_prefix, created_by_user_id, expires_at)
    VALUES (current_org(), new_hash, new_prefix, current_user_id(), new_expires_at) RETURNING * INTO created;
    PERFORM audit('scim_tokens.create', 'scim_token', created.id::text, created.org_id, NULL,
                  scim_token_json(created)::jsonb - ARRAY['id', 'org_id', 'created_at', 'last_used_at']);
    RETURN scim_token_json(created);
END
$$;

-- GET /v1/orgs/{org_id}/scim-tokens: newest first.
CREATE OR REPLACE FUNCTION scim_token_list() RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT coalesce(json_agg(scim_token_json(t) ORDER BY t.id DESC), '[]') FROM scim_tokens t
    WHERE t.org_id = current_org()
$$;

-- DELETE /v1/orgs/{org_id}/scim-tokens/{scim_token_id}: waits for a write that the token is in.
CREATE OR REPLACE FUNCTION scim_token_delete(token_id uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    gone scim_tokens;
BEGIN
    DELETE FROM scim_tokens t WHERE t.id = token_id AND t.org_id = current_org() RETURNING t.* INTO gone;
    IF gone.id IS NULL THEN
        PERFORM fail('scim_tokens.not_found');
    END IF;
    PERFORM audit('scim_tokens.delete', 'scim_token', gone.id::text, gone.org_id,
                  scim_token_json(gone)::jsonb - ARRAY['id', 'org_id', 'created_at', 'last_used_at']);
END
$$;

-- Authenticates a request below /v1/scim/v2: the token's organization becomes the transaction's tenant, without a user
-- and without permissions. context: as authenticate() takes it. A write keeps the token until it ends. Answers what
-- lib/account/caller.h reads.
CREATE OR REPLACE FUNCTION scim_authenticate(token_hash bytea, context jsonb) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    t scim_tokens;
    o orgs;
    refused text;
BEGIN
    IF context ? 'writes' THEN
        SELECT * INTO t FROM scim_tokens q WHERE q.hash = token_hash FOR KEY SHARE;
    ELSE
        SELECT * INTO t FROM scim_tokens q WHERE q.hash = token_hash;
    END IF;
    IF t.id IS NULL OR t.expires_at <= clock_timestamp() THEN
        PERFORM fail('auth.invalid_token', 'scim_token_is_dead');
    END IF;
    SELECT * INTO STRICT o FROM orgs q WHERE q.id = t.org_id;
    refused := 'scim ' || o.id || ' -';
    IF o.closed_at IS NOT NULL THEN
        PERFORM org_closed_fail(o.erase_at, refused);
    ELSIF o.ip_rule_count > 0 AND NOT context ? 'is_replay'
          AND NOT ip_admits(o.id, (context ->> 'client_ip')::inet) THEN
        PERFORM fail('ip.blocked', 'ip_rules_deny', refused => refused);
    ELSIF is_rejected(context, false) THEN
        PERFORM fail('risk.rejected', refused => refused);
    END IF;
    IF coalesce(t.last_used_at < clock_timestamp() - interval '1 minute', true) THEN
        UPDATE scim_tokens SET last_used_at = clock_timestamp()
        WHERE id IN (SELECT q.id FROM scim_tokens q WHERE q.id = t.id FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    PERFORM set_caller(o.id, NULL, '{}', false, context || jsonb_build_object('scim_token_id', t.id));
    RETURN concat_ws(' ', '-', o.id, 'scim', 'f', '-', '-', '{}');
END
$$;

-- The organization of a request by a token of SCIM. Nobody else reaches what is asked by it.
CREATE OR REPLACE FUNCTION scim_org() RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF NOT current_request() ? 'scim_token_id' THEN
        PERFORM fail('auth.invalid_token', 'scim_token_is_dead');
    END IF;
    RETURN current_org();
END
$$;
REVOKE EXECUTE ON FUNCTION scim_org FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION scim_token_create, scim_token_list, scim_token_delete, scim_authenticate
    FROM hostler_runner;
