-- Operators send again what failed (hostlerctl outbox retry). A mail that needs a secret and has none, or whose code or
-- link is over, gets a new one, if what caused it still stands. Nothing else is sent without what only it could say.

-- Why nobody needs this mail any more; null: its cause stands, or has no end.
CREATE OR REPLACE FUNCTION mail_cause_fault(o outbox) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    u users;
    i org_invitations;
BEGIN
    IF o.subject_id IS NULL THEN
        RETURN NULL;
    ELSIF o.template = 'invitation' THEN
        SELECT * INTO i FROM org_invitations WHERE id = o.subject_id;
        RETURN CASE WHEN i.id IS NULL THEN 'the invitation is gone'
                    WHEN i.accepted_at IS NOT NULL THEN 'the invitation was accepted'
                    WHEN i.revoked_at IS NOT NULL THEN 'the invitation was revoked'
                    WHEN NOT invitation_serves(i) THEN 'the invitation is over: invite again' END;
    END IF;
    SELECT * INTO u FROM users WHERE id = o.subject_id AND status <> 'deleted';
    IF u.id IS NULL THEN
        RETURN 'the user is deleted';
    ELSIF o.template = 'login_code' THEN
        RETURN CASE WHEN u.email_key <> o.recipient_key THEN 'the user has another address now'
                    WHEN EXISTS (SELECT FROM outbox n WHERE n.kind = 'mail' AND n.template = 'login_code'
                                 AND n.recipient_key = o.recipient_key AND n.id > o.id)
                        THEN 'a newer code was asked for'
                    WHEN NOT EXISTS (SELECT FROM login_codes c WHERE c.email_key = o.recipient_key
                                     AND c.user_id = u.id AND c.expires_at > clock_timestamp())
                        THEN 'its code is over or was used: the user asks for another' END;
    ELSIF o.template = 'verify_email' THEN
        RETURN CASE WHEN u.email_key <> o.recipient_key THEN 'the user has another address now'
                    WHEN u.email_verified_at IS NOT NULL THEN 'the address is verified already' END;
    ELSIF o.template = 'change_email' THEN
        RETURN CASE WHEN NOT EXISTS (SELECT FROM email_tokens t WHERE t.user_id = u.id AND t.is_change
                                     AND t.email_key = o.recipient_key)
                        THEN 'the change was made, replaced or is long over: the user asks again'
                    WHEN email_is_taken(o.recipient_key, u.id) THEN 'somebody else has the address now' END;
    ELSIF o.template = 'email_changed' THEN
        RETURN CASE WHEN NOT EXISTS (SELECT FROM email_reverts r WHERE r.user_id = u.id
                                     AND r.email_key = o.recipient_key AND r.expires_at > clock_timestamp())
                        THEN 'the way back was used or is over' END;
    END IF;
    RETURN NULL;
END
$$;

-- Puts a new code or token in the place of the old one; answers until when it holds. fresh: {token_hash (hex),
-- code_hmac (hex), secret (as mail_queue() takes it)}; the caller holds the mail and what it is about.
CREATE OR REPLACE FUNCTION mail_cause_renew(o outbox, fresh jsonb, auth_email_token_seconds integer,
    auth_otp_seconds integer) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    new_hash bytea := decode(fresh ->> 'token_hash', 'hex');
    ends_at timestamptz;
BEGIN
    IF o.template = 'invitation' THEN
        UPDATE org_invitations SET mail_token_hash = new_hash WHERE id = o.subject_id RETURNING expires_at INTO ends_at;
    ELSIF o.template = 'login_code' THEN
        UPDATE login_codes SET hmac = decode(fresh ->> 'code_hmac', 'hex'), guesses = '{0,0,0}',
            expires_at = clock_timestamp() + make_interval(secs => auth_otp_seconds)
        WHERE email_key = o.recipient_key AND user_id = o.subject_id RETURNING expires_at INTO ends_at;
    ELSIF o.template = 'verify_email' THEN
        INSERT INTO email_tokens (hash, user_id, email, email_key, is_change, expires_at)
        SELECT new_hash, u.id, u.email, u.email_key, false,
            clock_timestamp() + make_interval(secs => auth_email_token_seconds)
        FROM users u WHERE u.id = o.subject_id RETURNING expires_at INTO ends_at;
    ELSIF o.template = 'change_email' THEN
        UPDATE email_tokens SET hash = new_hash,
            expires_at = clock_timestamp() + make_interval(secs => auth_email_token_seconds)
        WHERE hash = (SELECT hash FROM email_tokens WHERE user_id = o.subject_id AND is_change
                      AND email_key = o.recipient_key
                      ORDER BY expires_at DESC LIMIT 1)
        RETURNING expires_at INTO ends_at;
    ELSIF o.template = 'email_changed' THEN
        UPDATE email_reverts SET hash = new_hash
        WHERE hash = (SELECT hash FROM email_reverts WHERE user_id = o.subject_id AND email_key = o.recipient_key
                      AND expires_at > clock_timestamp() ORDER BY expires_at DESC LIMIT 1)
        RETURNING expires_at INTO ends_at;
    END IF;
    RETURN ends_at;
END
$$;

-- Makes the message due now, for as many tries as a new one has.
CREATE OR REPLACE FUNCTION outbox_make_due(message uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
    UPDATE outbox SET status = 'pending', next_attempt_at = clock_timestamp(), attempts_before = attempts,
        is_put_off = false, owner_id = NULL, lease_until = NULL, first_failed_at = NULL, is_expired = false
    WHERE id = message
$$;

-- Retries one message that is not delivered or under way. outcome: due (as it is), renewed (with what is in fresh; null
-- when the key file cannot be read) or refused, with the reason. What the mail is about is locked before the mail, as
-- by whatever ends it.
CREATE OR REPLACE FUNCTION outbox_retry(message uuid, fresh jsonb, auth_email_token_seconds integer,
    auth_otp_seconds integer, OUT outcome text, OUT reason text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    o outbox;
    has_all boolean;
    ends_at timestamptz;
BEGIN
    SELECT * INTO o FROM outbox WHERE id = message;
    PERFORM FROM users WHERE id = o.subject_id FOR NO KEY UPDATE;
    PERFORM FROM org_invitations WHERE id = o.subject_id FOR NO KEY UPDATE;
    SELECT * INTO o FROM outbox
    WHERE id = message AND status IN ('pending', 'failed', 'cancelled')
          AND (owner_id IS NULL OR lease_until < clock_timestamp())
          AND recipient IS DISTINCT FROM ''  -- of who is deleted
    FOR NO KEY UPDATE;
    outcome := 'refused';
    IF o.id IS NULL THEN
        reason := 'the message does not exist, or is delivered or under way';
        RETURN;
    END IF;
    has_all := coalesce(o.expires_at > clock_timestamp(), true)
        AND (NOT o.needs_secret OR EXISTS (SELECT FROM secrets WHERE id = o.secret_id));
    reason := mail_cause_fault(o);
    IF reason IS NULL AND NOT has_all AND (o.subject_id IS NULL OR NOT o.needs_secret) THEN
        reason := 'what it says is over, or gone, and nothing is known of its cause';
    ELSIF reason IS NULL AND NOT has_all AND fresh IS NULL THEN
        reason := 'its code or link is over or gone, and a new one needs the key file, which cannot be read';
    END IF;
    IF reason IS NOT NULL THEN
        RETURN;
    ELSIF NOT has_all THEN
        PERFORM outbox_forget_secret(o.id);
        PERFORM secret_insert(NULL, 'mail', fresh -> 'secret');
        ends_at := mail_cause_renew(o, fresh, auth_email_token_seconds, auth_otp_seconds);
        UPDATE outbox SET secret_id = (fresh -> 'secret' ->> 'id')::uuid, expires_at = ends_at WHERE id = o.id;
    END IF;
    PERFORM outbox_make_due(o.id);
    outcome := CASE WHEN has_all THEN 'due' ELSE 'renewed' END;
END
$$;
REVOKE EXECUTE ON FUNCTION mail_cause_fault, mail_cause_renew, outbox_make_due, outbox_retry
    FROM hostler_api, hostler_runner;
