-- Redemption codes, made by platform administrators and redeemed by users.
--
-- value: of type credits a positive integer; of type entitlement key=value. The platform's, so without a tenant: the
-- API role reaches them through the functions below.

CREATE TABLE redemption_codes (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    code text COLLATE "C" NOT NULL UNIQUE,
    type text COLLATE "C" NOT NULL CHECK (type IN ('credits', 'entitlement')),
    value text NOT NULL,
    value_type text NOT NULL CHECK (value_type IN ('integer', 'boolean', 'string')),
    max_uses integer NOT NULL CHECK (max_uses > 0),
    use_count integer NOT NULL DEFAULT 0 CHECK (use_count BETWEEN 0 AND max_uses),
    expires_at timestamptz,
    is_active boolean NOT NULL DEFAULT true,
    batch_id text,
    created_by_user_id uuid NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX redemption_codes_type ON redemption_codes (type, id);
CREATE INDEX redemption_codes_words ON redemption_codes
    USING gin ((lower((code || ' ' || coalesce(batch_id, '')) COLLATE "default")) gin_trgm_ops) WITH (fastupdate = off);

-- A user redeems a code once.
CREATE TABLE redemptions (
    code_id uuid NOT NULL REFERENCES redemption_codes,
    user_id uuid NOT NULL REFERENCES users,
    org_id uuid NOT NULL REFERENCES orgs,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (code_id, user_id)
);
SELECT make_tenant_table('redemptions');

CREATE OR REPLACE FUNCTION redemption_code_json(c redemption_codes) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', c.id, 'code', c.code, 'type', c.type, 'value', c.value, 'max_uses', c.max_uses,
        'use_count', c.use_count, 'expires_at', rfc3339(c.expires_at), 'is_active', c.is_active,
        'batch_id', c.batch_id, 'created_by_user_id', c.created_by_user_id, 'created_at', rfc3339(c.created_at))
$$;

-- XXXX-XXXX-XXXX-XXXX of 32 letters and digits without 0 O 1 I: 80 random bits.
CREATE OR REPLACE FUNCTION redemption_code_text() RETURNS text
LANGUAGE sql VOLATILE AS $$
    SELECT string_agg(substr('ABCDEFGHJKLMNPQRSTUVWXYZ23456789', get_byte(bytes, i) % 32 + 1, 1)
                      || CASE WHEN i IN (3, 9, 13) THEN '-' ELSE '' END, '' ORDER BY i)
    -- Bytes 6 and 8 of a UUID are not all random.
    FROM (SELECT uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) AS bytes) AS drawn,
         unnest(ARRAY[0, 1, 2, 3, 4, 5, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17]) WITH ORDINALITY AS digit(i, n)
$$;

-- POST /v1/admin/redemption-codes/batch. wanted: {count, type, value, value_type, max_uses, expires_at, batch_id,
-- warning}, checked by the handler; a warning stands in each code.
CREATE OR REPLACE FUNCTION redemption_code_batch(wanted jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    created redemption_codes;
    items json[] := '{}';
BEGIN
    PERFORM need_platform_admin();
    WHILE cardinality(items) < (wanted ->> 'count')::integer LOOP
        INSERT INTO redemption_codes (code, type, value, value_type, max_uses, expires_at, batch_id, created_by_user_id)
        VALUES (redemption_code_text(), wanted ->> 'type', wanted ->> 'value', wanted ->> 'value_type',
                (wanted ->> 'max_uses')::integer, (wanted ->> 'expires_at')::timestamptz, wanted ->> 'batch_id',
                current_user_id())
        ON CONFLICT (code) DO NOTHING RETURNING * INTO created;
        IF created.id IS NOT NULL THEN
            items := items || CASE WHEN wanted ? 'warning'
                THEN (left(redemption_code_json(created)::text, -1) || ', "warning" : ' || (wanted -> 'warning')
                      || '}')::json
                ELSE redemption_code_json(created) END;
        END IF;
    END LOOP;
    PERFORM audit('redemption_codes.create', 'redemption_code', NULL, NULL, NULL,
                  wanted - 'value_type' - 'warning');
    RETURN array_to_json(items);
END
$$;

-- part: what code or batch_id contains, in any case. Three statements: each takes its own index.
CREATE OR REPLACE FUNCTION redemption_code_page(page_limit integer, before uuid, part text, wanted_type text)
RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    pattern text := '%' || replace(replace(replace(lower(part), '\', '\\'), '%', '\%'), '_', '\_') || '%';
BEGIN
    PERFORM need_platform_admin();
    IF part IS NOT NULL THEN
        RETURN QUERY SELECT c.id, redemption_code_json(c) FROM redemption_codes c
            WHERE lower((c.code || ' ' || coalesce(c.batch_id, '')) COLLATE "default") LIKE pattern
                  AND (wanted_type IS NULL OR c.type = wanted_type) AND (before IS NULL OR c.id < before)
            ORDER BY c.id DESC LIMIT page_limit;
    ELSIF wanted_type IS NOT NULL THEN
        RETURN QUERY SELECT c.id, redemption_code_json(c) FROM redemption_codes c
            WHERE c.type = wanted_type AND (before IS NULL OR c.id < before) ORDER BY c.id DESC LIMIT page_limit;
    ELSE
        RETURN QUERY SELECT c.id, redemption_code_json(c) FROM redemption_codes c
            WHERE before IS NULL OR c.id < before ORDER BY c.id DESC LIMIT page_limit;
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION redemption_code_guard(wanted uuid) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM need_platform_admin();
    IF NOT EXISTS (SELECT 1 FROM redemption_codes WHERE id = wanted) THEN
        PERFORM fail('redemption_codes.not_found');
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION redemption_code_switch(wanted uuid, is_on boolean) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state redemption_codes;
    new_state redemption_codes;
BEGIN
    PERFORM redemption_code_guard(wanted);
    SELECT * INTO STRICT old_state FROM redemption_codes WHERE id = wanted FOR NO KEY UPDATE;
    UPDATE redemption_codes SET is_active = is_on WHERE id = wanted RETURNING * INTO new_state;
    PERFORM audit('redemption_codes.update', 'redemption_code', wanted::text, NULL,
                  redemption_code_json(old_state)::jsonb - 'code', redemption_code_json(new_state)::jsonb - 'code');
    RETURN redemption_code_json(new_state);
END
$$;

-- Counts a try to redeem, in a transaction of its own, because a refused try counts too.
CREATE OR REPLACE FUNCTION redemption_try(max_per_minute integer) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT attempt_or_fail('me.redeem', current_user_id()::text, max_per_minute, interval '1 minute',
                           'rate_limit.exceeded')
$$;

-- Rank of a whole number of an entitlement: 0 of these limits means any number (lib/config/settings_table.h).
CREATE OR REPLACE FUNCTION entitlement_weight(of_key text, value text) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN value::bigint = 0 AND of_key = ANY (ARRAY[
            'limit.api_keys', 'limit.llm_models', 'limit.mcp_servers', 'limit.personas',
            'limit.platform_tool_calls_per_day', 'limit.stored_bytes', 'limit.streams', 'limit.tools',
            'limit.upload_bytes_per_day', 'limit.webhook_endpoints'])
        THEN 'infinity'::numeric ELSE value::numeric END
$$;

-- Whether a code made the override, and no administrator has set it since: they would be its maker then.
CREATE OR REPLACE FUNCTION redemption_made(o entitlement_overrides) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT EXISTS (
        SELECT FROM redemptions r
        WHERE r.code_id = substring(
                  o.reason FROM '^redemption code ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$')::uuid
              AND r.user_id = o.created_by_user_id AND r.org_id = o.org_id)
$$;

-- The override of an entitlement code, which has no end. One that an administrator set holds against codes: it may
-- restrict, or be what was paid for. Of the whole numbers of two codes the greater one stays.
CREATE OR REPLACE FUNCTION redemption_override(c redemption_codes, OUT old_state jsonb, OUT new_state jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    new_key constant text := split_part(c.value, '=', 1);
    new_value constant text := substr(c.value, position('=' IN c.value) + 1);
    o entitlement_overrides;
BEGIN
    PERFORM credit_lock(ARRAY[current_org()]);
    SELECT * INTO o FROM entitlement_overrides WHERE org_id = current_org() AND key = new_key;
    old_state := CASE WHEN o.id IS NOT NULL THEN entitlement_override_json(o)::jsonb END;
    IF o.id IS NOT NULL AND coalesce(o.expires_at, 'infinity') > clock_timestamp() THEN
        IF NOT redemption_made(o) THEN
            PERFORM fail('redemption_codes.inactive', 'override_holds', jsonb_build_object('key', new_key));
        END IF;
        IF o.value_type = 'integer' AND c.value_type = 'integer' THEN
            new_state := CASE WHEN entitlement_weight(new_key, o.value) >= entitlement_weight(new_key, new_value)
                              THEN old_state END;
        END IF;
    END IF;
    IF new_state IS NULL THEN
        INSERT INTO entitlement_overrides (org_id, key, value, value_type, reason, created_by_user_id)
        VALUES (current_org(), new_key, new_value, c.value_type, 'redemption code ' || c.id, current_user_id())
        ON CONFLICT (org_id, key) DO UPDATE SET value = excluded.value, value_type = excluded.value_type,
            reason = excluded.reason, expires_at = NULL, created_by_user_id = excluded.created_by_user_id
        RETURNING * INTO o;
        new_state := entitlement_override_json(o)::jsonb;
    END IF;
END
$$;

-- POST /v1/me/redeem. The code's row serialises its users; the account is locked after it. Codes that change a limit of
-- the whole organization are for its owners.
CREATE OR REPLACE FUNCTION redemption_redeem(typed text) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    c redemption_codes;
    override record;
    old_state jsonb;
    new_state jsonb;
BEGIN
    SELECT * INTO c FROM redemption_codes WHERE code = upper(btrim(typed)) FOR NO KEY UPDATE;
    IF c.id IS NULL THEN
        PERFORM fail('redemption_codes.not_found');
    ELSIF c.type = 'entitlement' AND NOT has_permission('org.manage') THEN
        PERFORM fail('auth.forbidden', 'permission_missing', jsonb_build_object('permission', 'org.manage'));
    ELSIF EXISTS (SELECT 1 FROM redemptions WHERE code_id = c.id AND user_id = current_user_id()) THEN
        PERFORM fail('redemption_codes.already_redeemed');
    ELSIF NOT c.is_active THEN
        PERFORM fail('redemption_codes.inactive');
    ELSIF c.expires_at <= clock_timestamp() THEN
        PERFORM fail('redemption_codes.expired');
    ELSIF c.use_count >= c.max_uses THEN
        PERFORM fail('redemption_codes.exhausted');
    END IF;
    UPDATE redemption_codes SET use_count = use_count + 1 WHERE id = c.id;
    INSERT INTO redemptions (code_id, user_id, org_id) VALUES (c.id, current_user_id(), current_org());
    new_state := jsonb_build_object('type', c.type, 'value', c.value);
    IF c.type = 'credits' THEN
        PERFORM credit_post(current_org(), c.value::bigint, 'redemption', 'redemption_code', c.id::text);
    ELSE
        override := redemption_override(c);
        old_state := jsonb_build_object('override', override.old_state);
        new_state := new_state || jsonb_build_object('override', override.new_state);
    END IF;
    PERFORM audit('redemption_codes.redeem', 'redemption_code', c.id::text, current_org(), old_state, new_state);
    RETURN json_build_object('code', c.code, 'type', c.type, 'value', c.value);
END
$$;
REVOKE EXECUTE ON FUNCTION redemption_code_text, redemption_made, redemption_override FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION redemption_code_batch, redemption_code_page, redemption_code_guard, redemption_code_switch,
    redemption_try, redemption_redeem
    FROM hostler_runner;
