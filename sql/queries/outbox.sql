-- Mails and webhook deliveries: claimed, attempted, written off. As hostler_runner; the last ones as hostlerctl.

-- name: outbox_claim_mails
-- Takes mails that are due: login codes, which people wait for, before all others, then what is longest due. Need not
-- be durable, a lost claim lapses. is_over: what it says does not hold any more.
-- $1 daemon_id uuid, $2 limit bigint, $3 lease_seconds integer, $4 others_limit bigint
WITH codes AS (
    SELECT id FROM outbox
    WHERE kind = 'mail' AND status = 'pending' AND template = 'login_code' AND next_attempt_at <= statement_timestamp()
          AND (owner_id IS NULL OR lease_until < clock_timestamp())
    ORDER BY next_attempt_at LIMIT $2 FOR UPDATE SKIP LOCKED),
others AS (
    SELECT id FROM outbox
    WHERE kind = 'mail' AND status = 'pending' AND template <> 'login_code' AND next_attempt_at <= statement_timestamp()
          AND (owner_id IS NULL OR lease_until < clock_timestamp())
    ORDER BY next_attempt_at LIMIT least($4, $2 - (SELECT count(*) FROM codes)) FOR UPDATE SKIP LOCKED)
UPDATE outbox o SET owner_id = $1, epoch = nextval('outbox_epochs'),
    lease_until = clock_timestamp() + make_interval(secs => $3::integer)
FROM (SELECT set_config('synchronous_commit', 'off', true)) AS asynchronous
WHERE o.id = ANY (ARRAY(SELECT id FROM codes UNION ALL SELECT id FROM others))
RETURNING o.id, o.epoch, o.template, o.recipient, o.locale, o.fields, o.secret_id, o.needs_secret,
    coalesce(o.expires_at <= clock_timestamp(), false) AS is_over,
    (SELECT s.key_version FROM secrets s WHERE s.id = o.secret_id) AS key_version,
    (SELECT s.wrapped_key FROM secrets s WHERE s.id = o.secret_id) AS wrapped_key,
    (SELECT s.sealed FROM secrets s WHERE s.id = o.secret_id) AS sealed;

-- name: outbox_claim_lock
-- One daemon at a time claims webhooks, so that the bounds on what is under way are exact. What follows goes along
-- indexes: a plan from when there was nothing would read the whole table until Postgres looks at it again.
SELECT set_config('synchronous_commit', 'off', true), set_config('enable_seqscan', 'off', true),
    pg_advisory_xact_lock(hashtextextended('hostler webhooks', 0));

-- name: outbox_wake
-- Webhook messages that were put off and are due now.
UPDATE outbox SET is_put_off = false WHERE id = ANY (ARRAY(
    SELECT id FROM outbox
    WHERE kind = 'webhook' AND status = 'pending' AND is_put_off AND next_attempt_at <= statement_timestamp()
    ORDER BY next_attempt_at LIMIT 1000 FOR UPDATE SKIP LOCKED));

-- name: outbox_claim_webhooks
-- Called after outbox_claim_lock. Takes webhook messages that are due, at most so many under way for each endpoint, for
-- each organization, and for each user who made endpoints, in whatever organizations; Of each endpoint the longest due
-- come first, and endpoints with the fewest messages under way first. It looks at the endpoints_max next ones after
-- one, by their ids. So the wait for the lock is milliseconds, however many have something.
-- $1 daemon_id uuid, $2 limit bigint, $3 lease_seconds integer, $4 endpoint_max bigint, $5 org_max bigint,
-- $6 after_endpoint_id uuid, $7 endpoints_max bigint
WITH RECURSIVE endpoints AS (  -- those with messages that are not put off, one look into the index each
    (SELECT endpoint_id, org_id FROM outbox
     WHERE kind = 'webhook' AND status = 'pending' AND NOT is_put_off AND endpoint_id > $6
     ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT further.endpoint_id, further.org_id FROM endpoints e CROSS JOIN LATERAL (
        SELECT o.endpoint_id, o.org_id FROM outbox o
        WHERE o.kind = 'webhook' AND o.status = 'pending' AND NOT o.is_put_off AND o.endpoint_id > e.endpoint_id
        ORDER BY o.endpoint_id LIMIT 1) AS further),
busy AS (
    SELECT endpoint_id, org_id, count(*) AS under_way FROM outbox
    WHERE owner_id IS NOT NULL AND kind = 'webhook' AND lease_until >= clock_timestamp()
    GROUP BY endpoint_id, org_id),
busy_orgs AS (SELECT org_id, sum(under_way) AS under_way FROM busy GROUP BY org_id),
busy_users AS (
    SELECT w.created_by_user_id AS user_id, sum(b.under_way) AS under_way FROM busy b
    JOIN webhook_endpoints w ON w.id = b.endpoint_id GROUP BY w.created_by_user_id),
due AS (
    SELECT o.id, e.org_id, coalesce(there.created_by_user_id, e.org_id) AS user_id, o.next_attempt_at,
        coalesce(b.under_way, 0) + row_number() OVER (PARTITION BY e.endpoint_id ORDER BY o.next_attempt_at) AS nth
    FROM (SELECT endpoint_id, org_id FROM endpoints LIMIT $7) AS e
    JOIN webhook_endpoints there
        ON there.id = e.endpoint_id AND there.deleted_at IS NULL AND there.cancel_before IS NULL
    LEFT JOIN busy b ON b.endpoint_id = e.endpoint_id CROSS JOIN LATERAL (
        SELECT p.id, p.next_attempt_at FROM outbox p
        WHERE p.endpoint_id = e.endpoint_id AND p.kind = 'webhook' AND p.status = 'pending' AND NOT p.is_put_off
              AND p.next_attempt_at <= statement_timestamp()
              AND (p.owner_id IS NULL OR p.lease_until < clock_timestamp())
        ORDER BY p.next_attempt_at LIMIT greatest($4 - coalesce(b.under_way, 0), 0)) AS o),
chosen AS (
    SELECT d.id, d.nth, d.next_attempt_at FROM (
        SELECT id, org_id, user_id, nth, next_attempt_at,
            row_number() OVER (PARTITION BY org_id ORDER BY nth, next_attempt_at) AS nth_of_org,
            row_number() OVER (PARTITION BY user_id ORDER BY nth, next_attempt_at) AS nth_of_user FROM due) AS d
    LEFT JOIN busy_orgs b ON b.org_id = d.org_id
    LEFT JOIN busy_users u ON u.user_id = d.user_id
    WHERE d.nth_of_org + coalesce(b.under_way, 0) <= $5::bigint
          AND d.nth_of_user + coalesce(u.under_way, 0) <= $5::bigint
    ORDER BY d.nth, d.next_attempt_at LIMIT $2),
locked AS (SELECT id FROM outbox WHERE id IN (SELECT id FROM chosen) FOR UPDATE SKIP LOCKED),
claimed AS (
    UPDATE outbox o SET owner_id = $1, epoch = nextval('outbox_epochs'),
        lease_until = clock_timestamp() + make_interval(secs => $3::integer)
    FROM locked
    WHERE o.id = locked.id AND o.status = 'pending' AND (o.owner_id IS NULL OR o.lease_until < clock_timestamp())
    RETURNING o.id, o.org_id, o.epoch, o.endpoint_id, o.event_type, o.body, o.trace_id)
SELECT c.id, c.org_id, c.epoch, c.endpoint_id, c.event_type, c.body, c.trace_id, w.url,
    extract(epoch FROM clock_timestamp())::bigint AS now_seconds,
    s.id AS secret_id, s.key_version, s.wrapped_key, s.sealed,
    (SELECT json_agg(json_build_object('id', p.id, 'key_version', p.key_version,
            'wrapped_key', encode(p.wrapped_key, 'hex'), 'sealed', encode(p.sealed, 'hex')) ORDER BY o.until DESC)
     FROM webhook_old_secrets o JOIN secrets p ON p.id = o.secret_id
     WHERE o.endpoint_id = w.id AND o.until > clock_timestamp()) AS old_secrets
FROM claimed c
JOIN webhook_endpoints w ON w.id = c.endpoint_id
LEFT JOIN secrets s ON s.id = w.secret_id;

-- name: outbox_delivered
-- $1 daemon_id uuid, $2 message_id uuid, $3 epoch bigint, $4 status_code integer or null
SELECT outbox_delivered($1, $2, $3, $4) AS locked;

-- name: outbox_failed
-- $1 daemon_id uuid, $2 message_id uuid, $3 epoch bigint, $4 status_code integer or null, $5 error text,
-- $6 retry_after_ms bigint or null, $7 is_final boolean, $8 is_gone boolean, $9 fault text or null,
-- $10 mail_retry_seconds integer
SELECT outbox_failed($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS locked;

-- name: email_config_load
-- What administrators stored, for the daemon; no row when nothing is.
SELECT c.sender, c.smtp_host, c.smtp_port, c.smtp_user, c.smtp_tls_mode, s.id AS secret_id, s.key_version,
    s.wrapped_key, s.sealed
FROM email_config c LEFT JOIN secrets s ON s.id = c.secret_id;

-- name: outbox_notify
-- Tells the daemons that something is due; one that is lost is made good by their polls.
SELECT set_config('synchronous_commit', 'off', true), pg_notify('hostler_outbox', '');

-- name: outbox_list
-- What is not delivered, longest waiting first.
-- $1 status text or null, $2 kind text or null, $3 limit bigint
SELECT o.id, o.kind, outbox_shown_status(o) AS status, o.attempts, o.owner_id IS NOT NULL AS is_under_way,
    o.last_status_code, o.last_error, rfc3339(o.created_at) AS created_at,
    rfc3339(o.next_attempt_at) AS next_attempt_at, rfc3339(o.expires_at) AS expires_at,
    coalesce(o.template, o.event_type) AS what, coalesce(o.recipient, w.url) AS destination
FROM outbox o LEFT JOIN webhook_endpoints w ON w.id = o.endpoint_id
WHERE CASE WHEN $1::text IS NULL THEN o.status IN ('pending', 'failed') ELSE outbox_shown_status(o) = $1::text END
      AND ($2::text IS NULL OR o.kind = $2)
ORDER BY o.id LIMIT $3;

-- name: outbox_retriable
-- What outbox_retry has to look at: one message, or every one that failed or expired (no id), some at a time.
-- $1 message_id uuid or null, $2 after_id uuid, $3 limit bigint
SELECT o.id, o.template, o.subject_id FROM outbox o
WHERE o.id > $2::uuid AND (o.id = $1 OR ($1 IS NULL AND (o.status = 'failed'
          OR (o.status = 'pending' AND o.kind = 'mail' AND o.expires_at <= clock_timestamp()))))
ORDER BY o.id LIMIT $3;

-- name: outbox_retry
-- Makes one message due, with what is in fresh where it needs that; outcome is due, renewed or refused with a reason.
-- $1 message_id uuid, $2 fresh jsonb or null, $3 auth_email_token_seconds integer, $4 auth_otp_seconds integer
SELECT outcome, reason FROM outbox_retry($1, $2, $3, $4);

-- name: outbox_drop
-- Takes a message that is not delivered away, with what only it said.
-- $1 message_id uuid
WITH dropped AS (DELETE FROM outbox WHERE id = $1 AND status <> 'delivered' RETURNING id, secret_id),
forgotten AS (DELETE FROM secrets WHERE id IN (SELECT secret_id FROM dropped))
SELECT count(*) AS dropped FROM dropped;
