-- Why: daemons claim what the outbox holds and write what became of it. Locks: none, everything is new.

-- Seconds until the try after this many failed ones; null: there is none. Webhooks by contract section 8; mails within
-- a day, soon at first, since people wait for them.
CREATE FUNCTION outbox_delay_seconds(kind text, failed integer) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE kind
        WHEN 'webhook' THEN (ARRAY[5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400])[failed]
        ELSE (ARRAY[5, 30, 120, 600, 1800, 3600, 7200, 14400, 28800, 28800])[failed] END
$$;

-- What only a mail said is gone when nobody will send it again.
CREATE FUNCTION outbox_forget_secret(message uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    said uuid;
BEGIN
    SELECT secret_id INTO said FROM outbox WHERE id = message AND kind = 'mail' AND secret_id IS NOT NULL;
    IF said IS NOT NULL THEN
        UPDATE outbox SET secret_id = NULL WHERE id = message;
        DELETE FROM secrets WHERE id = said;
    END IF;
END
$$;

-- An attempt went well. False for a message that was lost to another daemon, cancelled or dropped. Endpoints are
-- locked before their messages, here and everywhere.
CREATE FUNCTION outbox_delivered(daemon uuid, message uuid, message_epoch bigint, status_code integer) RETURNS boolean
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
        lease_until = NULL, last_status_code = status_code, last_error = NULL, delivered_at = clock_timestamp()
    WHERE id = message AND owner_id = daemon AND epoch = message_epoch;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM outbox_forget_secret(message);
    RETURN true;
END
$$;

-- An attempt failed: it is made again by the schedule, not before retry_after_ms, unless is_final. is_gone: the
-- receiver said 410. An endpoint that is gone, or that only failed for five days, is switched off.
CREATE FUNCTION outbox_failed(daemon uuid, message uuid, message_epoch bigint, status_code integer, error text,
                              retry_after_ms bigint, is_final boolean, is_gone boolean) RETURNS boolean
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
    delay := make_interval(secs => outbox_delay_seconds(o.kind, o.attempts - o.attempts_before + 1)
                                   * (0.8 + 0.4 * random()));
    IF is_final OR is_gone OR (e.id IS NOT NULL AND NOT e.enabled) THEN
        delay := NULL;
    END IF;
    UPDATE outbox SET status = CASE WHEN delay IS NULL THEN 'failed' ELSE 'pending' END, attempts = attempts + 1,
        next_attempt_at = clock_timestamp()
            + CASE WHEN delay IS NULL THEN NULL
                   ELSE greatest(delay, make_interval(secs => coalesce(retry_after_ms, 0) / 1000.0)) END,
        owner_id = NULL, lease_until = NULL, last_status_code = status_code, last_error = left(error, 500)
    WHERE id = message;
    IF delay IS NULL THEN
        PERFORM outbox_forget_secret(message);
    END IF;
    IF e.id IS NOT NULL AND e.enabled THEN
        PERFORM webhook_note_failure(e, is_gone);
    END IF;
    RETURN true;
END
$$;

-- The endpoint is locked by the caller.
CREATE FUNCTION webhook_note_failure(e webhook_endpoints, is_gone boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    why text := CASE WHEN is_gone THEN 'the receiver answered 410'
                     WHEN e.failing_since < clock_timestamp() - interval '5 days' THEN 'five days of failures' END;
BEGIN
    IF why IS NULL THEN
        UPDATE webhook_endpoints SET failing_since = clock_timestamp() WHERE id = e.id AND failing_since IS NULL;
        RETURN;
    END IF;
    UPDATE webhook_endpoints SET enabled = false, failing_since = NULL WHERE id = e.id;
    PERFORM webhook_cancel_pending(e.id);
    PERFORM audit('webhooks.disabled', 'webhook_endpoint', e.id::text, e.org_id, webhook_state(e),
                  webhook_state(e) || jsonb_build_object('enabled', false, 'reason', why));
END
$$;

-- Upkeep: messages that are long over. Answers how many.
CREATE FUNCTION outbox_prune(at_most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    WITH gone AS (
        DELETE FROM outbox WHERE id = ANY (ARRAY(
            SELECT id FROM outbox WHERE status <> 'pending' AND created_at < now() - interval '30 days'
            ORDER BY created_at LIMIT at_most FOR UPDATE SKIP LOCKED))
        RETURNING secret_id),
    closed AS (DELETE FROM secrets WHERE id = ANY (ARRAY(SELECT secret_id FROM gone WHERE secret_id IS NOT NULL)))
    SELECT count(*) FROM gone
$$;
REVOKE EXECUTE ON FUNCTION outbox_forget_secret, webhook_note_failure FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION outbox_delay_seconds, outbox_delivered, outbox_failed, outbox_prune FROM hostler_api;
