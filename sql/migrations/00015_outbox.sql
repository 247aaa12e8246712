-- Why: mails and webhook deliveries are rows, written in the transaction of what caused them. Locks: none, all is new.

CREATE TABLE outbox (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    org_id uuid REFERENCES orgs ON DELETE CASCADE,  -- null: the platform's, as every mail to a user
    kind text NOT NULL CHECK (kind IN ('mail', 'webhook')),
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed', 'cancelled')),
    -- Of a mail: its template (a file's name), to whom, in which language, and what it says. What is secret in
    -- it, a JSON object too, is a row of secrets.
    template text,
    recipient text,
    locale text,
    fields jsonb,
    secret_id uuid,
    -- Of a webhook: to which endpoint, what happened, the body that every attempt sends.
    endpoint_id uuid,
    event_type text,
    body text,
    trace_id text NOT NULL DEFAULT '',
    -- The first attempts_before attempts were made before somebody asked for it to be sent again.
    attempts integer NOT NULL DEFAULT 0,
    attempts_before integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz DEFAULT clock_timestamp(),
    -- A daemon that attempts it now, as for runs: it writes nothing once the lease went to another.
    owner_id uuid,
    epoch bigint NOT NULL DEFAULT 0,
    lease_until timestamptz,
    last_status_code integer,
    last_error text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    delivered_at timestamptz,
    CHECK (kind <> 'mail' OR (template IS NOT NULL AND recipient IS NOT NULL AND locale IS NOT NULL
                              AND fields IS NOT NULL)),
    CHECK (kind <> 'webhook' OR (org_id IS NOT NULL AND endpoint_id IS NOT NULL AND event_type IS NOT NULL
                                 AND body IS NOT NULL)),
    CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL)),
    CHECK ((owner_id IS NULL) = (lease_until IS NULL)),
    CHECK (owner_id IS NULL OR status = 'pending')
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX outbox_mails_due ON outbox (next_attempt_at) WHERE status = 'pending' AND kind = 'mail';
CREATE INDEX outbox_webhooks_due ON outbox (endpoint_id, next_attempt_at)
    WHERE status = 'pending' AND kind = 'webhook';
CREATE INDEX outbox_of_endpoint ON outbox (endpoint_id, id);
CREATE INDEX outbox_owned ON outbox (owner_id) WHERE owner_id IS NOT NULL;
CREATE INDEX outbox_org ON outbox (org_id) WHERE org_id IS NOT NULL;
CREATE INDEX outbox_over ON outbox (created_at) WHERE status <> 'pending';
CREATE INDEX outbox_failed ON outbox (created_at) WHERE status = 'failed';
CREATE SEQUENCE outbox_epochs;
GRANT USAGE ON SEQUENCE outbox_epochs TO hostler_runner;
ALTER TABLE outbox ENABLE ROW LEVEL SECURITY;
ALTER TABLE outbox FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON outbox USING (org_id = current_org()) WITH CHECK (org_id = current_org());
GRANT SELECT, UPDATE, DELETE ON outbox TO hostler_runner;

-- Queues a mail in the caller's transaction. secret: what only the mail may say, sealed outside of the database
-- as kind mail with no organization (lib/secret_box.h, secret_json), or null. For definer functions only.
CREATE FUNCTION mail_queue(mail_template text, mail_recipient text, mail_locale text, mail_fields jsonb,
                           secret jsonb DEFAULT NULL) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    queued uuid;
BEGIN
    IF secret IS NOT NULL THEN
        INSERT INTO secrets (id, org_id, kind, key_version, wrapped_key, sealed)
        VALUES ((secret ->> 'id')::uuid, NULL, 'mail', (secret ->> 'key_version')::integer,
                decode(secret ->> 'wrapped_key', 'base64'), decode(secret ->> 'sealed', 'base64'));
    END IF;
    INSERT INTO outbox (kind, template, recipient, locale, fields, secret_id)
    VALUES ('mail', mail_template, mail_recipient, mail_locale, mail_fields, (secret ->> 'id')::uuid)
    RETURNING id INTO queued;
    RETURN queued;
END
$$;
REVOKE EXECUTE ON FUNCTION mail_queue FROM hostler_api, hostler_runner;
