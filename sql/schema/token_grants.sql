-- Rights that an access token has in its user's personal organization, kept in the token's row for
-- authenticate_by_token(). A change of anything that decides them makes the row forget them in the same transaction, by
-- triggers here. So no function that ends or changes something can leave one out, and a reader that sees the change
-- sees nothing granted. Rare or very important checks are never kept: other organizations, platform administrators, API
-- keys, sessions of identity providers. For IP rules an address that they admit is kept; calls from others check them.
-- Rules are made and removed, never changed: each time the organization's count of them changes, and its row makes
-- tokens forget.
--
-- token_grants_keep() reads session, user, membership and organization and holds them until its commit, in the version
-- that is committed last; one that somebody is changing right now it passes over, and keeps nothing. So a change comes
-- after its commit, and forgets its values, or it comes after the change. It waits for nobody, wherever in the order of
-- locks it is called. Under READ COMMITTED, as everything here.

-- Forgets the rights of a user's tokens. Few have any (token_grants_keep). Tokens are locked after their session,
-- sessions in the order of their ids. A statement that ends one has locked it already.
CREATE OR REPLACE FUNCTION token_grants_forget(of_user uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM FROM sessions s WHERE s.id IN (SELECT t.session_id FROM access_tokens t WHERE t.user_id = of_user)
    ORDER BY s.id FOR NO KEY UPDATE;
    UPDATE access_tokens AS t SET user_id = NULL, personal_org_id = NULL, role = NULL, is_proved = NULL,
        admitted_address = NULL
    WHERE t.user_id = of_user;
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
CREATE TRIGGER token_grants_changed
    AFTER UPDATE OF status, platform_admin, email_verified_at, personal_org_id, session_epoch, has_factor ON users
    FOR EACH ROW WHEN ((OLD.status, OLD.platform_admin, OLD.email_verified_at, OLD.personal_org_id, OLD.session_epoch,
                        OLD.has_factor)
        IS DISTINCT FROM (NEW.status, NEW.platform_admin, NEW.email_verified_at, NEW.personal_org_id,
                          NEW.session_epoch, NEW.has_factor))
    EXECUTE FUNCTION token_grants_changed();
CREATE TRIGGER token_grants_changed AFTER UPDATE OR DELETE ON org_members FOR EACH ROW
    EXECUTE FUNCTION token_grants_changed();
-- A workspace is nobody's personal organization, and may have thousands of members.
CREATE TRIGGER token_grants_changed
    AFTER UPDATE OF ip_rule_count, type, require_factor, required_provider_id ON orgs FOR EACH ROW
    WHEN (OLD.type = 'personal' AND (OLD.ip_rule_count, OLD.type, OLD.require_factor, OLD.required_provider_id)
          IS DISTINCT FROM (NEW.ip_rule_count, NEW.type, NEW.require_factor, NEW.required_provider_id))
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

-- Writes down what the newest tokens of a session grant, if they may be used from the address and do not know it yet.
-- At most 64 tokens of a user keep something, beside those that are written at this moment: so that forgetting costs
-- the same, whatever the user does. The first to end make room.
CREATE OR REPLACE FUNCTION token_grants_keep(session uuid, address inet) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    of_user uuid := (SELECT s.user_id FROM sessions s WHERE s.id = session);
BEGIN
    -- A statement of its own, so that the next one sees all rules that were committed before the organization was
    -- locked, and finds the same one.
    PERFORM FROM sessions s JOIN users u ON u.id = s.user_id JOIN orgs o ON o.id = u.personal_org_id
    WHERE s.id = session FOR SHARE OF u, o SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF (SELECT count(*) FROM (SELECT FROM access_tokens t WHERE t.user_id = of_user LIMIT 64) AS few) = 64 THEN
        UPDATE access_tokens AS t SET user_id = NULL, personal_org_id = NULL, role = NULL, is_proved = NULL,
            admitted_address = NULL
        WHERE t.hash IN (SELECT q.hash FROM access_tokens q WHERE q.user_id = of_user
                         ORDER BY q.expires_at LIMIT 8 FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    UPDATE access_tokens AS t
    SET user_id = now.user_id, personal_org_id = now.org_id, role = now.role, is_proved = now.is_proved,
        admitted_address = now.admitted_address
    FROM (SELECT a.hash, m.user_id, m.org_id, m.role, u.email_verified_at IS NOT NULL AS is_proved,
                 CASE WHEN o.ip_rule_count > 0 THEN address END AS admitted_address
          FROM access_tokens a JOIN sessions s ON s.id = a.session_id JOIN users u ON u.id = s.user_id
          JOIN orgs o ON o.id = u.personal_org_id JOIN org_members m ON m.org_id = o.id AND m.user_id = u.id
          WHERE a.session_id = session AND a.user_id IS NULL AND a.expires_at > clock_timestamp()
                AND s.revoked_at IS NULL AND s.epoch = u.session_epoch AND u.status = 'active' AND NOT u.platform_admin
                AND s.provider_id IS NULL AND o.required_provider_id IS NULL
                AND o.type = 'personal' AND (u.has_factor OR NOT o.require_factor)
                AND (o.ip_rule_count = 0 OR ip_admits(o.id, address))
          ORDER BY a.expires_at DESC LIMIT 4
          FOR SHARE OF s, u, o, m SKIP LOCKED FOR NO KEY UPDATE OF a SKIP LOCKED) AS now
    WHERE t.hash = now.hash;
END
$$;
REVOKE EXECUTE ON FUNCTION token_admits, token_grants_forget, token_grants_changed, token_grants_keep
    FROM hostler_api, hostler_runner;
