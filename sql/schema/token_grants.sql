-- What an access token grants in its user's personal organization, kept in the token's row for
-- authenticate_by_token(). Whatever changes it makes the row forget it in the same transaction, by triggers here: so no
-- function that ends or changes something can leave one out, and whoever sees the change sees nothing granted. What
-- is asked rarely or matters most is never kept: other organizations, platform administrators, API keys. Of IP rules an
-- address is kept that they admit; calls from others ask them. Rules are made and removed, never changed: each time the
-- organization's count of them changes, and its row makes tokens forget.
--
-- token_grants_keep() reads session, user, membership and organization and holds them until its commit, in the version
-- that is committed last; one that somebody is changing right now it passes over, and keeps nothing. So a change comes
-- behind its commit, and forgets what it wrote, or it comes behind the change. It waits for nobody, wherever in the
-- order of locks it is called. Under READ COMMITTED, as everything here.

-- Forgets what the tokens of a user grant. Tokens are held behind their session, sessions in the order of their ids:
-- whoever ends one holds it already. Tokens that are over by half a day, which no clock's step brings back, are left to
-- auth_prune().
CREATE OR REPLACE FUNCTION token_grants_forget(of_user uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    -- All of them, also those whose tokens keep nothing: who ends them later in this transaction would lock these
    -- behind the others.
    PERFORM FROM sessions s WHERE s.user_id = of_user AND s.revoked_at IS NULL ORDER BY s.id FOR NO KEY UPDATE;
    UPDATE access_tokens AS t SET user_id = NULL, personal_org_id = NULL, role = NULL, is_proved = NULL,
        admitted_address = NULL
    FROM sessions s
    WHERE s.user_id = of_user AND s.revoked_at IS NULL AND t.session_id = s.id AND t.user_id IS NOT NULL
          AND t.expires_at > clock_timestamp() - interval '12 hours';
END
$$;

CREATE OR REPLACE FUNCTION token_grants_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    CASE TG_TABLE_NAME
        WHEN 'sessions' THEN
            UPDATE access_tokens AS t SET user_id = NULL, personal_org_id = NULL, role = NULL, is_proved = NULL,
                admitted_address = NULL
            WHERE t.session_id = OLD.id AND t.user_id IS NOT NULL
                  AND t.expires_at > clock_timestamp() - interval '12 hours';
        WHEN 'users' THEN PERFORM token_grants_forget(OLD.id);
        WHEN 'org_members' THEN
            PERFORM token_grants_forget(u.id) FROM users u
            WHERE u.id = OLD.user_id AND u.personal_org_id = OLD.org_id;
        WHEN 'orgs' THEN
            PERFORM token_grants_forget(u.id) FROM org_members m JOIN users u ON u.id = m.user_id
            WHERE m.org_id = OLD.id AND u.personal_org_id = OLD.id;
    END CASE;
    RETURN NULL;
END
$$;
CREATE TRIGGER token_grants_changed AFTER UPDATE OF revoked_at, user_id ON sessions FOR EACH ROW
    WHEN ((OLD.revoked_at, OLD.user_id) IS DISTINCT FROM (NEW.revoked_at, NEW.user_id))
    EXECUTE FUNCTION token_grants_changed();
CREATE TRIGGER token_grants_changed AFTER UPDATE OF status, platform_admin, email_verified_at, personal_org_id ON users
    FOR EACH ROW WHEN ((OLD.status, OLD.platform_admin, OLD.email_verified_at, OLD.personal_org_id)
        IS DISTINCT FROM (NEW.status, NEW.platform_admin, NEW.email_verified_at, NEW.personal_org_id))
    EXECUTE FUNCTION token_grants_changed();
CREATE TRIGGER token_grants_changed AFTER UPDATE OR DELETE ON org_members FOR EACH ROW
    EXECUTE FUNCTION token_grants_changed();
-- A workspace is nobody's personal organization, and may have thousands of members.
CREATE TRIGGER token_grants_changed AFTER UPDATE OF ip_rule_count, type ON orgs FOR EACH ROW
    WHEN (OLD.type = 'personal' AND (OLD.ip_rule_count, OLD.type) IS DISTINCT FROM (NEW.ip_rule_count, NEW.type))
    EXECUTE FUNCTION token_grants_changed();

-- Whether what a token grants may be used from the context's address; of IP rules one is kept that they admit.
CREATE OR REPLACE FUNCTION token_admits(org uuid, admitted inet, context text) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
DECLARE
    address inet := context::json ->> 'client_ip';
BEGIN
    RETURN address = admitted OR ip_admits(org, address);
END
$$;

-- Writes down what the tokens of a session grant, if they may be used from the address and do not know it yet.
CREATE OR REPLACE FUNCTION token_grants_keep(session uuid, address inet) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    -- A statement of its own: the one behind it sees all rules that were committed before the organization was held,
    -- and finds the same one.
    PERFORM FROM sessions s JOIN users u ON u.id = s.user_id JOIN orgs o ON o.id = u.personal_org_id
    WHERE s.id = session FOR SHARE OF u, o SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    UPDATE access_tokens AS t
    SET user_id = now.user_id, personal_org_id = now.org_id, role = now.role, is_proved = now.is_proved,
        admitted_address = now.admitted_address
    FROM (SELECT a.hash, m.user_id, m.org_id, m.role, u.email_verified_at IS NOT NULL AS is_proved,
                 CASE WHEN o.ip_rule_count > 0 THEN address END AS admitted_address
          FROM access_tokens a JOIN sessions s ON s.id = a.session_id JOIN users u ON u.id = s.user_id
          JOIN orgs o ON o.id = u.personal_org_id JOIN org_members m ON m.org_id = o.id AND m.user_id = u.id
          WHERE a.session_id = session AND a.user_id IS NULL AND a.expires_at > clock_timestamp()
                AND s.revoked_at IS NULL AND u.status = 'active' AND NOT u.platform_admin
                AND o.type = 'personal' AND (o.ip_rule_count = 0 OR ip_admits(o.id, address))
          FOR SHARE OF s, u, o, m SKIP LOCKED FOR NO KEY UPDATE OF a SKIP LOCKED) AS now
    WHERE t.hash = now.hash;
END
$$;
REVOKE EXECUTE ON FUNCTION token_admits, token_grants_forget, token_grants_changed, token_grants_keep
    FROM hostler_api, hostler_runner;
