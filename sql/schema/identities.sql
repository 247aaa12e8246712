-- Links between accounts and what OpenID providers call the same people (identity_providers.sql). A link is keyed by
-- provider, its epoch and the subject; another issuer is another epoch.
--
-- An account has links only while its address is proved, as with second factors.

CREATE TABLE identities (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    user_id uuid NOT NULL REFERENCES users,
    provider_id uuid NOT NULL,  -- one that is deleted leaves them to the sweep
    epoch bigint NOT NULL,      -- identity_providers.epoch when it was made; of an earlier one it is over
    sub text COLLATE "C" NOT NULL,
    grant_id uuid,              -- org_domains.id by which it was made; without that row it is over
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_used_at timestamptz,
    UNIQUE (provider_id, epoch, sub)
);
CREATE INDEX identities_user ON identities (user_id, id);

-- Whether a link counts: neither it nor its provider nor its domain's grant ended since.
CREATE OR REPLACE FUNCTION identity_holds(identity uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM identities i JOIN identity_providers p ON p.id = i.provider_id AND p.epoch = i.epoch
        WHERE i.id = identity AND p.is_active
              AND (i.grant_id IS NULL OR EXISTS (SELECT FROM org_domains g WHERE g.id = i.grant_id)));
END
$$;

-- Whether the user has a link of this provider that counts: an API key goes on while its owner has one.
CREATE OR REPLACE FUNCTION is_linked_with(of_user uuid, provider uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN EXISTS (SELECT FROM identities i
                   WHERE i.user_id = of_user AND i.provider_id = provider AND identity_holds(i.id));
END
$$;

CREATE OR REPLACE FUNCTION identities_mail(user_row users, what text, name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM mail_queue('identities_changed', user_row.email, user_row.locale, jsonb_build_object(
        'username', user_row.username, what, true, 'name', name), NULL, user_row.email_key, user_row.id);
END
$$;

-- A new link of a user, whose row is locked: mailed and audited. One of the same subject that does not count any more
-- goes. Returns its id; null when somebody else has it.
CREATE OR REPLACE FUNCTION identity_link(u users, p identity_providers, subject text, by_grant uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    identities_max constant integer := 20;
    linked uuid;
BEGIN
    DELETE FROM identities i WHERE i.provider_id = p.id AND i.epoch = p.epoch AND i.sub = subject
        AND NOT identity_holds(i.id);
    IF (SELECT count(*) FROM identities i WHERE i.user_id = u.id) >= identities_max THEN
        PERFORM fail('limits.reached', 'identities_are_enough', jsonb_build_object('limit', identities_max));
    END IF;
    INSERT INTO identities (user_id, provider_id, epoch, sub, grant_id) VALUES (u.id, p.id, p.epoch, subject, by_grant)
    ON CONFLICT DO NOTHING RETURNING id INTO linked;
    IF linked IS NOT NULL THEN
        PERFORM identities_mail(u, 'linked', p.display_name);
        PERFORM audit('identity.linked', 'identity', linked::text, u.personal_org_id, NULL,
                      jsonb_build_object('provider_key', p.key), 'ok', u.id);
    END IF;
    RETURN linked;
END
$$;

CREATE OR REPLACE FUNCTION identity_json(i identities, p identity_providers) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_build_object('id', i.id, 'provider_key', p.key, 'display_name', p.display_name, 'issuer', p.issuer,
        'created_at', rfc3339(i.created_at), 'last_used_at', rfc3339(i.last_used_at))
$$;

-- GET /v1/me/identities: those that count, oldest first. An account has few.
CREATE OR REPLACE FUNCTION own_identities() RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT coalesce(json_agg(identity_json(i, p) ORDER BY i.id), '[]')
    FROM identities i JOIN identity_providers p ON p.id = i.provider_id
    WHERE i.user_id = current_user_id() AND identity_holds(i.id)
$$;

-- DELETE /v1/me/identities/{identity_id}: sessions that began with it are over, too.
CREATE OR REPLACE FUNCTION identity_unlink(identity uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    me users;
    gone identities;
    p identity_providers;
BEGIN
    SELECT * INTO STRICT me FROM users WHERE id = current_user_id() FOR NO KEY UPDATE;
    DELETE FROM identities i WHERE i.id = identity AND i.user_id = me.id RETURNING i.* INTO gone;
    IF gone.id IS NULL THEN
        PERFORM fail('identities.not_found');
    END IF;
    SELECT * INTO p FROM identity_providers WHERE id = gone.provider_id;
    PERFORM identities_mail(me, 'unlinked', coalesce(p.display_name, ''));
    PERFORM audit('identity.unlinked', 'identity', gone.id::text, me.personal_org_id,
                  jsonb_build_object('provider_key', p.key));
END
$$;

-- Removes the links of a user that were made since then.
CREATE OR REPLACE FUNCTION identities_end(of_user uuid, since timestamptz) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    DELETE FROM identities i WHERE i.user_id = of_user AND i.created_at >= since
$$;

-- The proof of an address came or went: no link that was made before it counts.
CREATE OR REPLACE FUNCTION identities_end_with_proof() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM identities_end(NEW.id, '-infinity');
    RETURN NULL;
END
$$;
CREATE TRIGGER users_proof_unlinks AFTER UPDATE OF email_verified_at ON users FOR EACH ROW
    WHEN ((OLD.email_verified_at IS NULL) <> (NEW.email_verified_at IS NULL))
    EXECUTE FUNCTION identities_end_with_proof();

-- The sweep of identity_provider_ended(): links of earlier epochs.
CREATE OR REPLACE FUNCTION ending_page_identities(e endings, at_most integer, is_whole boolean) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    page uuid[] := ARRAY(
        SELECT i.id FROM identities i WHERE i.provider_id = e.subject_id AND i.epoch < (e.facts ->> 'epoch')::bigint
        LIMIT at_most);
BEGIN
    IF is_whole AND cardinality(page) = at_most THEN
        RETURN ending_again();
    END IF;
    DELETE FROM identities i WHERE i.id = ANY (page);
    RETURN CASE WHEN cardinality(page) = at_most THEN page[at_most] END;
END
$$;

-- hostlerctl identity list: the links of a user.
CREATE OR REPLACE FUNCTION identities_of_operator(name text) RETURNS TABLE (item json)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_catalog AS $$
BEGIN
    RETURN QUERY SELECT identity_json(i, p) FROM identities i JOIN identity_providers p ON p.id = i.provider_id
    WHERE i.user_id = user_of_operator(name) AND identity_holds(i.id) ORDER BY i.id LIMIT 100;
END
$$;
REVOKE EXECUTE ON FUNCTION identities_mail, identity_link,
    identities_end, identities_end_with_proof, ending_page_identities, identities_of_operator
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION own_identities, identity_unlink FROM hostler_runner;
