-- From which addresses an organization may be used. Enforced inside authenticate(), which reads orgs.ip_rule_count
-- anyway and looks further only when it is not 0.

CREATE TABLE ip_rules (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs ON DELETE CASCADE,
    type text COLLATE "C" NOT NULL CHECK (type IN ('allowlist', 'blocklist')),
    cidr cidr NOT NULL,
    note text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Which rules hold an address is asked here, by some look-ups however many rules there are: ip_admits().
    CONSTRAINT ip_rules_once UNIQUE (org_id, type, cidr)
);
CREATE INDEX ip_rules_org ON ip_rules (org_id, id);
SELECT make_tenant_table('ip_rules');
GRANT SELECT ON ip_rules TO hostler_api;

-- The organization's count, in the transaction of the rules; its row's lock also makes two changes follow each other.
-- Once a statement: thousands of rules that go together would make as many versions of the row.
CREATE OR REPLACE FUNCTION ip_rules_counted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid;
    rules integer;
BEGIN
    FOR org, rules IN SELECT r.org_id, count(*) FROM changed r GROUP BY r.org_id ORDER BY r.org_id LOOP
        UPDATE orgs SET ip_rule_count = ip_rule_count + CASE TG_OP WHEN 'INSERT' THEN rules ELSE -rules END
        WHERE id = org;
    END LOOP;
    RETURN NULL;
END
$$;
CREATE TRIGGER ip_rules_made AFTER INSERT ON ip_rules REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION ip_rules_counted();
CREATE TRIGGER ip_rules_removed AFTER DELETE ON ip_rules REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION ip_rules_counted();

-- The rule of that kind that holds the address, or null. In their order a network stands before all that it holds: the
-- last rule that is not behind the address holds it, or whatever holds the address holds that rule too, and is looked
-- for next.
CREATE OR REPLACE FUNCTION ip_rule_holding(org uuid, kind text, address inet) RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 100
SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    behind cidr := set_masklen(address, CASE family(address) WHEN 4 THEN 32 ELSE 128 END);
    nearest cidr;
    rule uuid;
BEGIN
    LOOP
        SELECT r.cidr, r.id INTO nearest, rule FROM ip_rules r
        WHERE r.org_id = org AND r.type = kind AND r.cidr <= behind
        ORDER BY r.cidr DESC LIMIT 1;
        IF nearest IS NULL OR family(nearest) <> family(behind) THEN
            RETURN NULL;
        ELSIF nearest >>= behind THEN
            RETURN rule;
        END IF;
        behind := inet_merge(nearest, behind);  -- wider each time
    END LOOP;
END
$$;

-- Whether the organization's rules let the address in: no blocklist rule holds it and, when there is any allowlist
-- rule, one of those does. An address that is not known is let in by no rule. As ip_rule_holding(), for both kinds in
-- one statement: the start of one costs more than what it looks up.
CREATE OR REPLACE FUNCTION ip_admits(org uuid, address inet) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER COST 1000
SET search_path = public, pg_catalog SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    network cidr := set_masklen(address, CASE family(address) WHEN 4 THEN 32 ELSE 128 END);
    -- Next searched network: wider each time.
    blocked cidr := network;
    allowed cidr := network;
    blocklisted cidr;
    allowlisted cidr;
    has_allowlist boolean;
BEGIN
    IF address IS NULL THEN
        RETURN NOT EXISTS (SELECT FROM ip_rules r WHERE r.org_id = org);
    END IF;
    LOOP
        SELECT (SELECT r.cidr FROM ip_rules r WHERE r.org_id = org AND r.type = 'blocklist' AND r.cidr <= blocked
                ORDER BY r.cidr DESC LIMIT 1),
            (SELECT r.cidr FROM ip_rules r WHERE r.org_id = org AND r.type = 'allowlist' AND r.cidr <= allowed
             ORDER BY r.cidr DESC LIMIT 1),
            EXISTS (SELECT FROM ip_rules r WHERE r.org_id = org AND r.type = 'allowlist')
        INTO blocklisted, allowlisted, has_allowlist;
        blocklisted := CASE WHEN family(blocklisted) = family(network) THEN blocklisted END;
        allowlisted := CASE WHEN family(allowlisted) = family(network) THEN allowlisted END;
        IF blocklisted >>= network OR (has_allowlist AND allowlisted IS NULL) THEN
            RETURN false;
        ELSIF blocklisted IS NULL AND (NOT has_allowlist OR allowlisted >>= network) THEN
            RETURN true;
        END IF;
        blocked := coalesce(inet_merge(blocklisted, blocked), blocked);
        allowed := coalesce(inet_merge(allowlisted, allowed), allowed);
    END LOOP;
END
$$;

-- The same for an organization that path or query names. Callers without access there get that answer elsewhere.
CREATE OR REPLACE FUNCTION ip_admits_named(named uuid, address inet, of_user uuid, is_admin boolean) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT NOT EXISTS (
        SELECT FROM orgs o
        WHERE o.id = named AND o.ip_rule_count > 0
          AND (is_admin OR EXISTS (SELECT FROM org_members m WHERE m.org_id = o.id AND m.user_id = of_user))
          AND NOT ip_admits(o.id, address))
$$;

-- Whether a caller with too high a risk is refused: everybody except platform administrators, who could not fix the
-- settings otherwise.
CREATE OR REPLACE FUNCTION is_rejected(context jsonb, platform_admin boolean) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT context ? 'is_risky' AND NOT platform_admin
$$;

-- Raises risk.rejected if is_rejected(). For operations that find out their caller by themselves: logging in,
-- refreshing.
CREATE OR REPLACE FUNCTION risk_check(of_user uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF is_rejected(current_request(),
                   coalesce((SELECT u.platform_admin FROM users u WHERE u.id = of_user), false)) THEN
        PERFORM fail('risk.rejected');
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION ip_rule_json(rule ip_rules) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_build_object('id', rule.id, 'org_id', rule.org_id, 'type', rule.type, 'cidr', rule.cidr,
        'note', rule.note, 'created_at', rfc3339(rule.created_at))
$$;

CREATE OR REPLACE FUNCTION ip_rule_lockout_fail() RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM fail('ip_rules.would_lock_out', 'address_left_out', jsonb_build_object('address', host(request_ip())));
END
$$;

-- POST /v1/ip-rules.
CREATE OR REPLACE FUNCTION ip_rule_create(rule_type text, network cidr, rule_note text, is_forced boolean) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    created ip_rules;
BEGIN
    INSERT INTO ip_rules (org_id, type, cidr, note) VALUES (current_org(), rule_type, network, rule_note)
    ON CONFLICT ON CONSTRAINT ip_rules_once DO NOTHING
    RETURNING id, org_id, type, cidr, note, created_at INTO created;
    IF created.id IS NULL THEN
        PERFORM fail('ip_rules.exists', 'network_listed', jsonb_build_object('type', rule_type, 'cidr', network));
    END IF;
    IF NOT is_forced AND NOT ip_admits(created.org_id, request_ip()) THEN
        PERFORM ip_rule_lockout_fail();
    END IF;
    PERFORM audit('ip_rules.create', 'ip_rule', created.id::text, created.org_id, NULL, ip_rule_json(created)::jsonb);
    RETURN ip_rule_json(created);
END
$$;

CREATE OR REPLACE FUNCTION ip_rule_guard(rule uuid) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM ip_rules r WHERE r.id = rule AND r.org_id = current_org()) THEN
        PERFORM fail_missing('ip_rules.not_found', 'ip_rules', rule);
    END IF;
END
$$;

-- DELETE /v1/ip-rules/{rule_id}.
CREATE OR REPLACE FUNCTION ip_rule_delete(rule uuid, is_forced boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state ip_rules;
BEGIN
    DELETE FROM ip_rules r WHERE r.id = rule AND r.org_id = current_org()
    RETURNING r.id, r.org_id, r.type, r.cidr, r.note, r.created_at INTO old_state;
    IF old_state.id IS NULL THEN
        PERFORM fail_missing('ip_rules.not_found', 'ip_rules', rule);
    END IF;
    IF NOT is_forced AND NOT ip_admits(old_state.org_id, request_ip()) THEN
        PERFORM ip_rule_lockout_fail();
    END IF;
    PERFORM audit('ip_rules.delete', 'ip_rule', old_state.id::text, old_state.org_id, ip_rule_json(old_state)::jsonb);
END
$$;

-- GET /v1/ip-rules/check: whether the caller's organization lets the address in, and by which rule (null: none).
CREATE OR REPLACE FUNCTION ip_rule_check(address inet) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT json_build_object('passes', ip_admits(current_org(), address),
        'rule_id', coalesce(ip_rule_holding(current_org(), 'blocklist', address),
                            ip_rule_holding(current_org(), 'allowlist', address)))
$$;

-- An organization as an operator names it: by its id, its slug, or a login for somebody's personal one.
-- named: as lib/account makes it (login_key).
CREATE OR REPLACE FUNCTION org_of_operator(named text) RETURNS uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    found uuid := (SELECT o.id FROM orgs o WHERE o.id::text = named);
    of_login uuid;
BEGIN
    IF found IS NULL THEN
        SELECT o.id INTO found FROM orgs o WHERE o.slug = named;
        SELECT u.personal_org_id INTO of_login FROM users u WHERE u.id = user_named(named);
        -- Anybody may give an organization the slug that is somebody else's login.
        IF found <> of_login THEN
            PERFORM fail('orgs.not_found', 'named_twice',
                         jsonb_build_object('of_slug', found, 'of_login', of_login));
        END IF;
    END IF;
    IF coalesce(found, of_login) IS NULL THEN
        PERFORM fail('orgs.not_found');
    END IF;
    RETURN coalesce(found, of_login);
END
$$;

-- hostlerctl ip-rules delete: the way out of a lock-out. rule: one of them, or null for all. Answers how many went.
CREATE OR REPLACE FUNCTION ip_rules_remove(named text, rule uuid) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    org uuid := org_of_operator(named);
    old_state ip_rules;
    count integer := 0;
BEGIN
    FOR old_state IN DELETE FROM ip_rules r WHERE r.org_id = org AND (rule IS NULL OR r.id = rule)
               RETURNING r.id, r.org_id, r.type, r.cidr, r.note, r.created_at LOOP
        PERFORM audit('ip_rules.delete', 'ip_rule', old_state.id::text, old_state.org_id,
                      ip_rule_json(old_state)::jsonb);
        count := count + 1;
    END LOOP;
    IF rule IS NOT NULL AND count = 0 THEN
        PERFORM fail('ip_rules.not_found');
    END IF;
    RETURN count;
END
$$;
REVOKE EXECUTE ON FUNCTION ip_rule_holding, ip_admits_named, risk_check, ip_rules_counted,
    org_of_operator, ip_rules_remove FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION ip_rule_create, ip_rule_guard, ip_rule_delete, ip_rule_lockout_fail, ip_rule_check
    FROM hostler_runner;
