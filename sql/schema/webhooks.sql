-- Addresses of organizations that get messages about their runs.

CREATE TABLE webhook_endpoints (
    id uuid PRIMARY KEY DEFAULT public.uuidv7(),
    org_id uuid NOT NULL REFERENCES orgs ON DELETE CASCADE,
    url text NOT NULL,
    events text[] NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    secret_id uuid CHECK (secret_id IS NOT NULL OR deleted_at IS NOT NULL),
    failing_since timestamptz,  -- nothing but failures since then; null: the last attempt went well, or there was none
    created_by_user_id uuid DEFAULT current_user_id(),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    cancel_before timestamptz,  -- switched off then; webhook_cancel() has still to cancel what waited, nothing is sent
    deleted_at timestamptz,  -- gone but for messages that webhook_prune() has still to take away
    FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id)
);
CREATE UNIQUE INDEX webhook_endpoints_org ON webhook_endpoints (org_id, id);
CREATE INDEX webhook_endpoints_secret ON webhook_endpoints (secret_id);
CREATE INDEX webhook_endpoints_deleted ON webhook_endpoints (id) WHERE deleted_at IS NOT NULL;
CREATE INDEX webhook_endpoints_cancelled ON webhook_endpoints (id) WHERE cancel_before IS NOT NULL;
SELECT make_tenant_table('webhook_endpoints');
GRANT SELECT ON webhook_endpoints TO hostler_api, hostler_runner;

-- After a rotation the secret before signs too, each to its own end.
CREATE TABLE webhook_old_secrets (
    secret_id uuid PRIMARY KEY,
    org_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    until timestamptz NOT NULL,
    FOREIGN KEY (org_id, endpoint_id) REFERENCES webhook_endpoints (org_id, id) ON DELETE CASCADE,
    FOREIGN KEY (org_id, secret_id) REFERENCES secrets (org_id, id)
);
CREATE INDEX webhook_old_secrets_endpoint ON webhook_old_secrets (endpoint_id, until);
CREATE INDEX webhook_old_secrets_until ON webhook_old_secrets (until);
SELECT make_tenant_table('webhook_old_secrets');
GRANT SELECT ON webhook_old_secrets TO hostler_runner;
ALTER TABLE outbox ADD FOREIGN KEY (org_id, endpoint_id) REFERENCES webhook_endpoints (org_id, id) ON DELETE CASCADE;

CREATE OR REPLACE FUNCTION webhook_json(e webhook_endpoints) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', e.id, 'org_id', e.org_id, 'url', e.url, 'events', e.events, 'enabled', e.enabled,
        'created_at', rfc3339(e.created_at))
$$;

CREATE OR REPLACE FUNCTION webhook_delivery_json(o outbox) RETURNS json
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_object('id', o.id, 'event_type', o.event_type, 'status', o.status, 'attempts', o.attempts,
        'next_attempt_at', rfc3339(o.next_attempt_at), 'last_status_code', o.last_status_code,
        'last_error', o.last_error, 'created_at', rfc3339(o.created_at), 'delivered_at', rfc3339(o.delivered_at))
$$;

CREATE OR REPLACE FUNCTION webhook_state(e webhook_endpoints) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT jsonb_build_object('url', e.url, 'events', e.events, 'enabled', e.enabled)
$$;

-- Writes the messages of an event of a run as it is now, in the event's transaction: one for each endpoint of the
-- organization that wants it. The key lock makes an endpoint that is being deleted none, instead of an error.
CREATE OR REPLACE FUNCTION webhook_queue(r runs, event text, happened_at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    message text;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.org_id = r.org_id AND e.enabled AND event = ANY (e.events))
    THEN
        RETURN;
    END IF;
    message := json_build_object('type', event, 'timestamp', rfc3339(happened_at), 'data', json_build_object(
        'run_id', r.id, 'org_id', r.org_id, 'thread_id', r.thread_id, 'status', r.status, 'model', r.model,
        'end_user', r.end_user, 'metadata', r.metadata,
        'usage', json_build_object('total_input_tokens', r.total_input_tokens,
            'total_output_tokens', r.total_output_tokens, 'cache_hit_rate', run_cache_hit_rate(r),
            'duration_ms', run_duration_ms(r)),
        'cost', json_build_object('total_cost_usd', run_cost_usd(r), 'credits_used', r.credits_used),
        'error', CASE WHEN r.status = 'failed' THEN
            json_build_object('code', r.error_code, 'message', r.error_message) END,
        'last_seq', r.last_seq))::text;
    INSERT INTO outbox (org_id, kind, endpoint_id, event_type, body, trace_id)
    SELECT e.org_id, 'webhook', e.id, event, message, r.trace_id
    FROM (SELECT id, org_id FROM webhook_endpoints
          WHERE org_id = r.org_id AND enabled AND event = ANY (events) ORDER BY id FOR KEY SHARE) AS e;
END
$$;

CREATE OR REPLACE FUNCTION webhook_secret_insert(secret jsonb) RETURNS uuid
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    SELECT secret_insert(current_org(), 'webhook', secret)
$$;

-- The endpoint, when it is the organization's. lock: held against changes until the transaction ends.
CREATE OR REPLACE FUNCTION webhook_of_org(endpoint uuid, lock boolean) RETURNS webhook_endpoints
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    e webhook_endpoints;
BEGIN
    IF lock THEN
        PERFORM 1 FROM webhook_endpoints WHERE id = endpoint AND org_id = current_org() FOR NO KEY UPDATE;
    END IF;
    SELECT * INTO e FROM webhook_endpoints
    WHERE id = endpoint AND org_id = current_org() AND deleted_at IS NULL;
    IF e.id IS NULL THEN
        PERFORM fail_missing('webhooks.not_found', 'webhook_endpoints', endpoint);
    END IF;
    RETURN e;
END
$$;

-- POST /v1/webhook-endpoints.
CREATE OR REPLACE FUNCTION webhook_create(new_url text, new_events text[], secret jsonb,
    limit_webhook_endpoints bigint) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    created webhook_endpoints;
BEGIN
    PERFORM limit_check('limit.webhook_endpoints', limit_webhook_endpoints);
    INSERT INTO webhook_endpoints (org_id, url, events, secret_id)
    VALUES (current_org(), new_url, new_events, webhook_secret_insert(secret)) RETURNING * INTO created;
    PERFORM audit('webhooks.create', 'webhook_endpoint', created.id::text, created.org_id, NULL,
                  webhook_state(created));
    RETURN webhook_json(created);
END
$$;

-- Cancels pending messages of an endpoint that was switched off, so many at most. An attempt under way ends by itself,
-- and messages that somebody requested since (webhook_redeliver) are sent. The endpoint is locked by the caller.
CREATE OR REPLACE FUNCTION webhook_cancel_page(endpoint uuid, off_at timestamptz, at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    cancelled integer;
BEGIN
    UPDATE outbox SET status = 'cancelled', next_attempt_at = NULL, is_put_off = false, owner_id = NULL,
        lease_until = NULL
    WHERE id = ANY (ARRAY(
        SELECT o.id FROM outbox o
        WHERE o.is_put_off IN (false, true) AND o.endpoint_id = endpoint AND o.kind = 'webhook'
              AND o.status = 'pending' AND (o.owner_id IS NULL OR o.lease_until < clock_timestamp())
              AND o.created_at <= off_at AND NOT (o.attempts = o.attempts_before AND o.next_attempt_at > off_at)
        LIMIT at_most FOR UPDATE));
    GET DIAGNOSTICS cancelled = ROW_COUNT;
    UPDATE webhook_endpoints SET cancel_before = CASE WHEN cancelled = at_most THEN off_at END
    WHERE id = endpoint AND (cancel_before IS NOT NULL OR cancelled = at_most);
    RETURN cancelled;
END
$$;

-- An endpoint is switched off: nothing is sent from now on. What waits is cancelled, at once or, when a thousand
-- messages or more wait, by maintenance.
CREATE OR REPLACE FUNCTION webhook_cancel_pending(endpoint uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    off_at constant timestamptz := clock_timestamp();
    at_most constant integer := 1000;
BEGIN
    IF (SELECT count(*) FROM (
            SELECT FROM outbox o WHERE o.is_put_off IN (false, true) AND o.endpoint_id = endpoint
                  AND o.kind = 'webhook' AND o.status = 'pending' LIMIT at_most) AS few) = at_most THEN
        UPDATE webhook_endpoints SET cancel_before = off_at WHERE id = endpoint;
    ELSE
        PERFORM webhook_cancel_page(endpoint, off_at, at_most);
    END IF;
END
$$;

-- Maintenance: the next messages of an endpoint that was switched off with many waiting. Answers how many.
CREATE OR REPLACE FUNCTION webhook_cancel(at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    e webhook_endpoints;
BEGIN
    SELECT * INTO e FROM webhook_endpoints WHERE cancel_before IS NOT NULL
    ORDER BY id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    RETURN CASE WHEN e.id IS NULL THEN 0 ELSE webhook_cancel_page(e.id, e.cancel_before, at_most) END;
END
$$;

-- PATCH: changes holds only what is to change.
CREATE OR REPLACE FUNCTION webhook_update(endpoint uuid, changes jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state webhook_endpoints := webhook_of_org(endpoint, true);
    new_state webhook_endpoints := jsonb_populate_record(old_state, changes);
BEGIN
    UPDATE webhook_endpoints SET url = new_state.url, events = new_state.events, enabled = new_state.enabled,
        failing_since = CASE WHEN old_state.enabled AND old_state.url = new_state.url THEN failing_since END
    WHERE id = old_state.id;
    IF new_state.url <> old_state.url THEN
        -- Messages on their way to the previous address are due again, at this one. Answers there do not count here, a
        -- 410 of a host that moved away least of all.
        UPDATE outbox SET owner_id = NULL, lease_until = NULL
        WHERE owner_id IS NOT NULL AND endpoint_id = old_state.id AND kind = 'webhook';
    END IF;
    IF NOT new_state.enabled THEN
        PERFORM webhook_cancel_pending(old_state.id);
    END IF;
    PERFORM audit('webhooks.update', 'webhook_endpoint', old_state.id::text, old_state.org_id, webhook_state(old_state),
                  webhook_state(new_state));
    RETURN webhook_json(new_state);
END
$$;

CREATE OR REPLACE FUNCTION webhook_secrets_end(ended uuid[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    DELETE FROM webhook_old_secrets WHERE secret_id = ANY (ended);
    DELETE FROM secrets WHERE id = ANY (ended);
$$;

-- Old signing secrets that are over, at most so many; answers how many.
CREATE OR REPLACE FUNCTION webhook_secrets_prune(at_most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    ended uuid[] := ARRAY(SELECT secret_id FROM webhook_old_secrets WHERE until <= statement_timestamp()
                          ORDER BY until LIMIT at_most FOR UPDATE SKIP LOCKED);
BEGIN
    PERFORM webhook_secrets_end(ended);
    RETURN cardinality(ended);
END
$$;

-- Takes messages of an endpoint away, so many at most. Answers how many.
CREATE OR REPLACE FUNCTION webhook_messages_delete(endpoint uuid, at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    gone integer;
BEGIN
    DELETE FROM outbox WHERE id = ANY (ARRAY(
        SELECT o.id FROM outbox o WHERE o.endpoint_id = endpoint ORDER BY o.id LIMIT at_most));
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END
$$;

-- Messages that are too many for one call are left to maintenance: of 300,000 messages each call would give up, while
-- ends of runs in the organization wait for it.
CREATE OR REPLACE FUNCTION webhook_delete(endpoint uuid) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    messages_max constant integer := 1000;
    messages bigint;
    old_state webhook_endpoints := webhook_of_org(endpoint, true);
BEGIN
    PERFORM webhook_secrets_end(ARRAY(SELECT o.secret_id FROM webhook_old_secrets o
                                      WHERE o.endpoint_id = old_state.id));
    messages := (SELECT count(*) FROM (
        SELECT FROM outbox o WHERE o.endpoint_id = old_state.id LIMIT messages_max) AS few);
    IF messages < messages_max THEN
        PERFORM webhook_messages_delete(old_state.id, messages_max);
        DELETE FROM webhook_endpoints WHERE id = old_state.id;
    ELSE
        UPDATE webhook_endpoints SET deleted_at = clock_timestamp(), enabled = false, secret_id = NULL
        WHERE id = old_state.id;
    END IF;
    DELETE FROM secrets WHERE id = old_state.secret_id;
    PERFORM audit('webhooks.delete', 'webhook_endpoint', old_state.id::text, old_state.org_id,
                  webhook_state(old_state));
    RETURN '{"ok": true}';
END
$$;

-- Maintenance: messages of a deleted endpoint, and the endpoint behind the last of them. Whatever came to it meanwhile
-- goes with it. Answers how many messages.
CREATE OR REPLACE FUNCTION webhook_prune(at_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    endpoint uuid;
    gone integer;
BEGIN
    SELECT e.id INTO endpoint FROM webhook_endpoints e WHERE e.deleted_at IS NOT NULL
    ORDER BY e.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF endpoint IS NULL THEN
        RETURN 0;
    END IF;
    gone := webhook_messages_delete(endpoint, at_most);
    IF gone < at_most THEN
        DELETE FROM webhook_endpoints WHERE id = endpoint;
    END IF;
    RETURN gone;
END
$$;

-- A new signing secret; the one before signs too for 24 hours.
CREATE OR REPLACE FUNCTION webhook_rotate(endpoint uuid, secret jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    old_state webhook_endpoints := webhook_of_org(endpoint, true);
BEGIN
    PERFORM old_secrets_check(ARRAY(SELECT o.until FROM webhook_old_secrets o
                                    WHERE o.endpoint_id = old_state.id AND o.until > clock_timestamp()));
    UPDATE webhook_endpoints SET secret_id = webhook_secret_insert(secret) WHERE id = old_state.id;
    INSERT INTO webhook_old_secrets (secret_id, org_id, endpoint_id, until)
    VALUES (old_state.secret_id, old_state.org_id, old_state.id, clock_timestamp() + interval '24 hours');
    PERFORM audit('webhooks.secret_rotated', 'webhook_endpoint', old_state.id::text, old_state.org_id);
END
$$;

-- GET …/deliveries, newest first.
CREATE OR REPLACE FUNCTION webhook_delivery_page(endpoint uuid, page_limit integer, before uuid)
RETURNS TABLE (id uuid, item json)
LANGUAGE plpgsql STABLE SET search_path = public, pg_catalog AS $$
BEGIN
    PERFORM webhook_of_org(endpoint, false);
    RETURN QUERY SELECT o.id, webhook_delivery_json(o) FROM outbox o
        WHERE o.endpoint_id = endpoint AND o.org_id = current_org() AND (before IS NULL OR o.id < before)
        ORDER BY o.id DESC LIMIT page_limit;
END
$$;

-- :redeliver: due now, under its old id; the schedule starts again. If an attempt is under way, it is the first. Sent
-- also to an endpoint that is switched off, once.
CREATE OR REPLACE FUNCTION webhook_redeliver(endpoint uuid, delivery uuid) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    e webhook_endpoints := webhook_of_org(endpoint, true);
    o outbox;
BEGIN
    SELECT * INTO o FROM outbox WHERE id = delivery AND endpoint_id = e.id FOR NO KEY UPDATE;
    IF o.id IS NULL THEN
        PERFORM fail('webhooks.not_found', 'delivery_unknown');
    END IF;
    IF o.lease_until >= clock_timestamp() THEN
        UPDATE outbox SET attempts_before = attempts WHERE id = o.id RETURNING * INTO o;
    ELSE
        UPDATE outbox SET status = 'pending', next_attempt_at = clock_timestamp(), attempts_before = attempts,
            is_put_off = false, delivered_at = NULL, owner_id = NULL, lease_until = NULL
        WHERE id = o.id RETURNING * INTO o;
    END IF;
    PERFORM audit('webhooks.redeliver', 'webhook_delivery', o.id::text, e.org_id);
    RETURN webhook_delivery_json(o);
END
$$;

-- :test: a webhook.test event for this endpoint alone, whatever it subscribed to.
CREATE OR REPLACE FUNCTION webhook_test(endpoint uuid) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    e webhook_endpoints := webhook_of_org(endpoint, true);
    o outbox;
BEGIN
    INSERT INTO outbox (org_id, kind, endpoint_id, event_type, trace_id, body)
    VALUES (e.org_id, 'webhook', e.id, 'webhook.test', coalesce(current_request() ->> 'trace_id', ''),
            json_build_object('type', 'webhook.test', 'timestamp', rfc3339(clock_timestamp()),
                'data', json_build_object('endpoint_id', e.id, 'org_id', e.org_id))::text)
    RETURNING * INTO o;
    PERFORM audit('webhooks.test', 'webhook_endpoint', e.id::text, e.org_id);
    RETURN webhook_delivery_json(o);
END
$$;

-- The endpoint is locked by the caller.
CREATE OR REPLACE FUNCTION webhook_note_failure(e webhook_endpoints, is_gone boolean) RETURNS void
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
REVOKE EXECUTE ON FUNCTION webhook_queue, webhook_cancel_page, webhook_cancel_pending, webhook_secret_insert,
    webhook_note_failure, webhook_messages_delete, webhook_secrets_end
    FROM hostler_api, hostler_runner;
REVOKE EXECUTE ON FUNCTION webhook_cancel, webhook_prune, webhook_secrets_prune FROM hostler_api;
REVOKE EXECUTE ON FUNCTION webhook_of_org, webhook_create, webhook_update, webhook_delete, webhook_rotate,
    webhook_redeliver, webhook_test
    FROM hostler_runner;
