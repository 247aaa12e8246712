-- Mails and webhook deliveries are rows, written in the transaction of what caused them; daemons claim them and
-- write what became of them.

CREATE TABLE outbox (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid REFERENCES orgs ON DELETE CASCADE,  -- null: the platform's, as every mail to a user
    kind text NOT NULL CHECK (kind IN ('mail', 'webhook')),
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed', 'cancelled')),
    -- For a mail: its template (a file's name), its recipient, language and content. Its secret part, a JSON object
    -- too, is a row of secrets.
    template text,
    recipient text,
    recipient_key text COLLATE "C",  -- users.email_key of the recipient
    locale text,
    fields jsonb,
    secret_id uuid,
    needs_secret boolean NOT NULL DEFAULT false,  -- it was queued with one: without it nobody sends it
    subject_id uuid,  -- what it is about: an invitation's id, else a user's; null: nothing that could end
    -- For a webhook: its endpoint, the event, the body that every attempt sends.
    endpoint_id uuid,
    event_type text,
    body text,
    trace_id text NOT NULL DEFAULT '',
    -- The first attempts_before attempts were made before somebody asked for it to be sent again.
    attempts integer NOT NULL DEFAULT 0,
    attempts_before integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz DEFAULT clock_timestamp(),
    -- For a webhook: its next attempt is later. Claims walk over endpoints that have others, however many wait for a
    -- later day; outbox_wake makes it due.
    is_put_off boolean NOT NULL DEFAULT false,
    -- A daemon that attempts it now, as for runs: it writes nothing once the lease went to another.
    owner_id uuid,
    epoch bigint NOT NULL DEFAULT 0,
    lease_until timestamptz,
    last_status_code integer,
    last_error text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    delivered_at timestamptz,
    expires_at timestamptz,  -- of a mail: until when what it says holds; null: always
    is_expired boolean NOT NULL DEFAULT false,  -- of a failed mail: it was given up because of that
    -- For a mail that waits for another try: since when it is tried, and why the last try failed (lib/mail/smtp.h,
    -- MailFault).
    first_failed_at timestamptz,
    last_fault text,
    CHECK (kind <> 'mail' OR (template IS NOT NULL AND recipient IS NOT NULL AND locale IS NOT NULL
                              AND fields IS NOT NULL)),
    CHECK (kind <> 'webhook' OR (org_id IS NOT NULL AND endpoint_id IS NOT NULL AND event_type IS NOT NULL
                                 AND body IS NOT NULL)),
    CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL)),
    CHECK ((owner_id IS NULL) = (lease_until IS NULL)),
    CHECK (owner_id IS NULL OR status = 'pending')
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX outbox_mails_due ON outbox (next_attempt_at) WHERE status = 'pending' AND kind = 'mail';
CREATE INDEX outbox_webhooks_due ON outbox (is_put_off, endpoint_id, next_attempt_at)
    WHERE status = 'pending' AND kind = 'webhook';
CREATE INDEX outbox_webhooks_put_off ON outbox (next_attempt_at)
    WHERE status = 'pending' AND kind = 'webhook' AND is_put_off;
CREATE INDEX outbox_recipient ON outbox (recipient_key) WHERE kind = 'mail';
CREATE INDEX outbox_of_endpoint ON outbox (endpoint_id, id);
CREATE INDEX outbox_owned ON outbox (owner_id) WHERE owner_id IS NOT NULL;
CREATE INDEX outbox_org ON outbox (org_id, id) WHERE org_id IS NOT NULL;
CREATE INDEX outbox_over ON outbox (created_at) WHERE status <> 'pending';
CREATE INDEX outbox_failed ON outbox (created_at) WHERE status = 'failed';
CREATE INDEX outbox_mails_tried ON outbox (first_failed_at)
    WHERE status = 'pending' AND kind = 'mail' AND first_failed_at IS NOT NULL;
CREATE INDEX outbox_kept_secrets ON outbox (expires_at) WHERE status = 'failed' AND secret_id IS NOT NULL;
CREATE INDEX outbox_codes_due ON outbox (next_attempt_at)
    WHERE status = 'pending' AND kind = 'mail' AND template = 'login_code';
SELECT make_tenant_table('outbox');
GRANT SELECT, UPDATE, DELETE ON outbox TO hostler_runner;
GRANT SELECT ON outbox TO hostler_api;

CREATE SEQUENCE outbox_epochs;
GRANT USAGE ON SEQUENCE outbox_epochs TO hostler_runner;

-- Queues a mail in the caller's transaction. secret: what only the mail may say, sealed outside of the database
-- as kind mail with no organization (lib/config/secret_box.h, secret_json), or null. mail_recipient_key:
-- users.email_key of the recipient, when that is not the address itself. subject: what the mail is about
-- (outbox.subject_id). ends_at: when its code or link ends; else what the fields say (minutes, days, expires_at). It is
-- not sent later than that. For definer functions only.
CREATE OR REPLACE FUNCTION mail_queue(mail_template text, mail_recipient text, mail_locale text, mail_fields jsonb,
    secret jsonb DEFAULT NULL, mail_recipient_key text DEFAULT NULL, subject uuid DEFAULT NULL,
    ends_at timestamptz DEFAULT NULL) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    queued uuid;
BEGIN
    IF secret IS NOT NULL THEN
        PERFORM secret_insert(NULL, 'mail', secret);
    END IF;
    INSERT INTO outbox (kind, template, recipient, recipient_key, locale, fields, secret_id, needs_secret, subject_id,
        expires_at)
    VALUES ('mail', mail_template, mail_recipient, coalesce(mail_recipient_key, mail_recipient), mail_locale,
            mail_fields, (secret ->> 'id')::uuid, secret IS NOT NULL, subject,
            coalesce(ends_at, mail_end(mail_fields, clock_timestamp())))
    RETURNING id INTO queued;
    RETURN queued;
END
$$;

-- Seconds until the try after this many failed ones; null: no further one. Webhooks by contract section 8. Mails are
-- tried soon at first, because people wait for them, and then every four hours; outbox_failed() ends that.
CREATE OR REPLACE FUNCTION outbox_delay_seconds(kind text, failed integer) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE kind
        WHEN 'webhook' THEN (ARRAY[5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400])[failed]
        ELSE (ARRAY[5, 30, 120, 600, 1800, 3600, 7200, 14400])[least(failed, 8)] END
$$;

-- Content that only a mail had is deleted when nobody will send it again.
CREATE OR REPLACE FUNCTION outbox_forget_secret(message uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    sealed_id uuid;
BEGIN
    SELECT secret_id INTO sealed_id FROM outbox WHERE id = message AND kind = 'mail' AND secret_id IS NOT NULL;
    IF sealed_id IS NOT NULL THEN
        UPDATE outbox SET secret_id = NULL WHERE id = message;
        DELETE FROM secrets WHERE id = sealed_id;
    END IF;
END
$$;

-- An attempt went well. False for a message that was lost to another daemon, cancelled or dropped. Endpoints are
-- locked before their messages, here and everywhere.
CREATE OR REPLACE FUNCTION outbox_delivered(daemon uuid, message uuid, message_epoch bigint, status_code integer)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    o outbox;
BEGIN
    SELECT * INTO o FROM outbox WHERE id = message AND owner_id = daemon AND epoch = message_epoch;
    IF o.id IS NULL THEN
        RETURN false;
    END IF;
    UPDATE webhook_endpoints SET failing_since = NULL WHERE id = o.endpoint_id AND failing_since IS NOT NULL;
    UPDATE outbox SET status = 'delivered', attempts = attempts + 1, next_attempt_at = NULL, owner_id = NULL,
        lease_until = NULL, last_status_code = status_code, last_error = NULL, last_fault = NULL,
        delivered_at = clock_timestamp()
    WHERE id = message AND owner_id = daemon AND epoch = message_epoch;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM outbox_forget_secret(message);
    RETURN true;
END
$$;

-- When a mail is tried again whose try failed; null: it is given up, because nobody took it for so long, or because
-- what it says is over. Its last try comes at the end of that time.
CREATE OR REPLACE FUNCTION mail_next_attempt(o outbox, mail_retry_seconds integer) RETURNS timestamptz
LANGUAGE sql VOLATILE AS $$
    SELECT CASE WHEN o.expires_at <= clock_timestamp() OR ends_at <= clock_timestamp() THEN NULL
           ELSE least(ends_at, o.expires_at, clock_timestamp() + make_interval(secs =>
                    outbox_delay_seconds('mail', o.attempts - o.attempts_before + 1) * (0.8 + 0.4 * random()))) END
    FROM (SELECT coalesce(o.first_failed_at, clock_timestamp()) + make_interval(secs => mail_retry_seconds)
          AS ends_at) AS retry
$$;

-- A try of a mail failed. is_final: no other try can end better; fault: see outbox.last_fault. A mail that is over is
-- expired and says what kept it back; one that is given up keeps its secret as long as that is good for anything.
CREATE OR REPLACE FUNCTION mail_failed(o outbox, error text, is_final boolean, fault text, mail_retry_seconds integer)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    next_try timestamptz := CASE WHEN NOT is_final THEN mail_next_attempt(o, mail_retry_seconds) END;
    is_over boolean := coalesce(o.expires_at <= clock_timestamp(), false);
BEGIN
    UPDATE outbox SET status = CASE WHEN next_try IS NULL THEN 'failed' ELSE 'pending' END, attempts = attempts + 1,
        next_attempt_at = next_try, owner_id = NULL, lease_until = NULL, is_expired = is_over,
        first_failed_at = coalesce(first_failed_at, clock_timestamp()), last_fault = fault,
        last_error = left(CASE WHEN is_over AND last_error IS NOT NULL AND last_error <> error
                               THEN error || '; the try before: ' || last_error ELSE error END, 500)
    WHERE id = o.id;
    IF is_over THEN
        PERFORM outbox_forget_secret(o.id);
    END IF;
END
$$;

-- An attempt failed: it is made again by the schedule, not before retry_after_ms, unless is_final. is_gone: the
-- receiver said 410. An endpoint that is gone, or that only failed for five days, is switched off. fault and
-- mail_retry_seconds are for mails (mail_failed).
CREATE OR REPLACE FUNCTION outbox_failed(daemon uuid, message uuid, message_epoch bigint, status_code integer,
    error text, retry_after_ms bigint, is_final boolean, is_gone boolean, fault text DEFAULT NULL,
    mail_retry_seconds integer DEFAULT 172800) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    o outbox;
    e webhook_endpoints;
    delay interval;
BEGIN
    SELECT * INTO o FROM outbox WHERE id = message AND owner_id = daemon AND epoch = message_epoch;
    IF o.id IS NULL THEN
        RETURN false;
    END IF;
    SELECT * INTO e FROM webhook_endpoints WHERE id = o.endpoint_id FOR NO KEY UPDATE;
    SELECT * INTO o FROM outbox WHERE id = message AND owner_id = daemon AND epoch = message_epoch FOR NO KEY UPDATE;
    IF o.id IS NULL THEN
        RETURN false;
    END IF;
    IF o.kind = 'mail' THEN
        PERFORM mail_failed(o, error, is_final, fault, mail_retry_seconds);
        RETURN true;
    END IF;
    delay := make_interval(secs => outbox_delay_seconds(o.kind, o.attempts - o.attempts_before + 1)
                                   * (0.8 + 0.4 * random()));
    IF is_final OR is_gone OR (e.id IS NOT NULL AND NOT e.enabled) THEN
        delay := NULL;
    END IF;
    UPDATE outbox SET status = CASE WHEN delay IS NULL THEN 'failed' ELSE 'pending' END, attempts = attempts + 1,
        next_attempt_at = clock_timestamp()
            + CASE WHEN delay IS NULL THEN NULL
                   ELSE greatest(delay, make_interval(secs => coalesce(retry_after_ms, 0) / 1000.0)) END,
        is_put_off = delay IS NOT NULL, owner_id = NULL, lease_until = NULL,
        last_status_code = status_code, last_error = left(error, 500)
    WHERE id = message;
    IF e.id IS NOT NULL AND e.enabled THEN
        PERFORM webhook_note_failure(e, is_gone);
    END IF;
    RETURN true;
END
$$;

-- Maintenance: what given up mails alone said and is over, and messages that are long over. Answers how many, of
-- whichever is more.
CREATE OR REPLACE FUNCTION outbox_prune(at_most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    WITH over AS (
        SELECT id, secret_id FROM outbox
        WHERE status = 'failed' AND secret_id IS NOT NULL AND expires_at < now() - interval '1 minute'
        ORDER BY expires_at LIMIT at_most FOR UPDATE SKIP LOCKED),
    forgotten AS (UPDATE outbox o SET secret_id = NULL FROM over WHERE o.id = over.id
                  AND o.created_at >= now() - interval '30 days'),
    useless AS (DELETE FROM secrets WHERE id IN (SELECT secret_id FROM over)),
    gone AS (
        DELETE FROM outbox WHERE id = ANY (ARRAY(
            SELECT id FROM outbox WHERE status <> 'pending' AND created_at < now() - interval '30 days'
            ORDER BY created_at LIMIT at_most FOR UPDATE SKIP LOCKED))
        RETURNING secret_id),
    closed AS (DELETE FROM secrets WHERE id = ANY (ARRAY(SELECT secret_id FROM gone WHERE secret_id IS NOT NULL)))
    SELECT greatest((SELECT count(*) FROM gone), (SELECT count(*) FROM over))
$$;

-- State for operators: a mail whose code or link is over is expired, also while it waits for its turn.
CREATE OR REPLACE FUNCTION outbox_shown_status(o outbox) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN (o.is_expired AND o.status = 'failed')
                     OR (o.status = 'pending' AND o.kind = 'mail' AND o.expires_at <= clock_timestamp())
           THEN 'expired' ELSE o.status END
$$;

-- A mail says itself how long it holds: for so many minutes or days, or until a time.
CREATE OR REPLACE FUNCTION mail_end(fields jsonb, queued_at timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce((fields ->> 'expires_at')::timestamptz,
                    queued_at + (fields ->> 'minutes')::double precision * interval '1 minute',
                    queued_at + (fields ->> 'days')::double precision * interval '1 day')
$$;
REVOKE EXECUTE ON FUNCTION mail_queue, outbox_forget_secret, mail_end, mail_next_attempt, mail_failed,
    outbox_shown_status
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION outbox_delay_seconds, outbox_delivered, outbox_failed, outbox_prune FROM hostler_api;
