-- The first answers of calls that carried an Idempotency-Key, kept a day, written with their effect.

-- slot: SHA-256 of caller, path and key. The answer itself is sealed in secrets (kind idempotency).
CREATE TABLE idempotency_records (
    slot bytea PRIMARY KEY CHECK (length(slot) = 32),
    org_id uuid NOT NULL,
    body_hash bytea NOT NULL CHECK (length(body_hash) = 32),
    secret_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    counted_bytes bigint NOT NULL DEFAULT 0  -- of the sealed answer, in credit_accounts.stored_bytes
) WITH (autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX idempotency_records_age ON idempotency_records (created_at);
CREATE INDEX idempotency_records_counted ON idempotency_records (org_id) WHERE counted_bytes > 0;
SELECT make_tenant_table('idempotency_records');

-- The caller is the API key, or the user in the organization. call_hash: SHA-256 of path and key.
CREATE OR REPLACE FUNCTION idempotency_slot(call_hash bytea) RETURNS bytea
LANGUAGE sql STABLE AS $$
    SELECT sha256(call_hash || convert_to(
        coalesce('key ' || (current_request() ->> 'api_key_id'),
                 'user ' || current_user_id() || ' in ' || current_org()), 'UTF8'))
$$;

CREATE OR REPLACE FUNCTION idempotency_age_max() RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT interval '24 hours' $$;

-- Begins a call: nobody else runs it until this transaction ends. Answers the sealed first answer, or nulls; and an
-- id for the one to come.
CREATE OR REPLACE FUNCTION idempotency_begin(call_hash bytea, wanted_body_hash bytea,
    OUT secret_id uuid, OUT key_version integer, OUT wrapped_key bytea, OUT sealed bytea, OUT new_secret_id uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    own_slot bytea := idempotency_slot(call_hash);
    first_body_hash bytea;
    is_first boolean := pg_try_advisory_xact_lock(hashtextextended('idempotency ' || encode(own_slot, 'hex'), 0));
BEGIN
    -- A statement of its own, so that it sees what the last holder of the lock committed. Also of a slot that somebody
    -- holds: those who repeat a call that is over hold it too.
    SELECT r.body_hash, s.id, s.key_version, s.wrapped_key, s.sealed
    INTO first_body_hash, secret_id, key_version, wrapped_key, sealed
    FROM idempotency_records r JOIN secrets s ON s.id = r.secret_id
    WHERE r.slot = own_slot AND r.created_at > clock_timestamp() - idempotency_age_max();
    IF first_body_hash <> wanted_body_hash THEN
        PERFORM fail('idempotency.key_reused', 'another_body');
    ELSIF first_body_hash IS NULL AND NOT is_first THEN
        PERFORM fail('idempotency.in_progress', 'first_call_runs');
    END IF;
    new_secret_id := public.uuidv7();
END
$$;

-- Keeps the answer of the call that this transaction began. secret: {id, key_version, wrapped_key, sealed}, bytes in
-- base64, sealed for the caller's organization. A long answer, which repeats what was sent, counts as stored while it
-- is kept. Short ones do not: limit.requests_per_minute bounds them, and most of their calls need no lock of the
-- account, which is the last one here.
CREATE OR REPLACE FUNCTION idempotency_keep(call_hash bytea, body_hash bytea, secret jsonb, limit_stored_bytes bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    short_bytes_max CONSTANT bigint := 4096;
    own_slot bytea := idempotency_slot(call_hash);
    sealed bytea := decode(secret ->> 'sealed', 'base64');
    counted bigint := CASE WHEN octet_length(sealed) > short_bytes_max THEN octet_length(sealed) ELSE 0 END;
    freed bigint;
BEGIN
    -- A row older than a day may still exist.
    WITH old AS (
        DELETE FROM idempotency_records r WHERE r.slot = own_slot RETURNING r.secret_id, r.counted_bytes),
    gone AS (DELETE FROM secrets s USING old WHERE s.id = old.secret_id)
    SELECT sum(o.counted_bytes) INTO freed FROM old o;
    INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed)
    VALUES ((secret ->> 'id')::uuid, current_org(), 'idempotency', (secret ->> 'key_version')::integer,
            decode(secret ->> 'wrapped_key', 'base64'), sealed);
    INSERT INTO idempotency_records (slot, org_id, body_hash, secret_id, counted_bytes)
    VALUES (own_slot, current_org(), idempotency_keep.body_hash, (secret ->> 'id')::uuid, counted);
    IF freed > 0 THEN
        UPDATE credit_accounts a SET stored_bytes = a.stored_bytes - freed WHERE a.org_id = current_org();
    END IF;
    IF counted > 0 THEN
        PERFORM stored_bytes_add(counted, limit_stored_bytes);
    END IF;
END
$$;

-- Takes away what is older than a day, at most so many, and gives back what that counted. For the daemon's maintenance.
-- Locks the accounts first, as a call does that has its account when it puts a new answer in an old one's place.
CREATE OR REPLACE FUNCTION idempotency_prune(at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    ended timestamptz := clock_timestamp() - idempotency_age_max();
    old_slots bytea[];
    old_secrets uuid[];
    org_ids uuid[];
    freed bigint[];
BEGIN
    SELECT array_agg(o.slot), array_agg(o.org_id) FILTER (WHERE o.counted_bytes > 0) INTO old_slots, org_ids
    FROM (SELECT r.slot, r.org_id, r.counted_bytes FROM idempotency_records r WHERE r.created_at <= ended
          ORDER BY r.created_at LIMIT at_most) AS o;
    PERFORM FROM credit_accounts a WHERE a.org_id = ANY (org_ids) ORDER BY a.org_id FOR UPDATE;
    WITH gone AS (
        DELETE FROM idempotency_records r WHERE r.slot = ANY (ARRAY(
            SELECT l.slot FROM idempotency_records l WHERE l.slot = ANY (old_slots) AND l.created_at <= ended
            FOR UPDATE SKIP LOCKED))
        RETURNING r.secret_id, r.org_id, r.counted_bytes)
    SELECT array_agg(g.secret_id), array_agg(g.org_id), array_agg(g.counted_bytes) INTO old_secrets, org_ids, freed
    FROM gone g;
    DELETE FROM secrets WHERE id = ANY (old_secrets);
    UPDATE credit_accounts a SET stored_bytes = a.stored_bytes - f.bytes
    FROM (SELECT o.org_id, sum(o.bytes)::bigint AS bytes FROM unnest(org_ids, freed) AS o (org_id, bytes)
          WHERE o.bytes > 0 GROUP BY o.org_id) AS f
    WHERE a.org_id = f.org_id;
    RETURN coalesce(cardinality(old_secrets), 0);
END
$$;
REVOKE EXECUTE ON FUNCTION idempotency_prune FROM hostler_api;
REVOKE EXECUTE ON FUNCTION idempotency_begin, idempotency_keep FROM hostler_runner;
