-- Counts of tries that live for a while: how often something may be tried within a time.

-- Counters that live for a while: kind is the action ("auth.check"), subject the actor.
CREATE TABLE attempts (
    kind text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX attempts_subject ON attempts (kind, subject, at);
CREATE INDEX attempts_at ON attempts (at);

CREATE OR REPLACE FUNCTION fail_for_now(code text, free_at timestamptz) RETURNS void
LANGUAGE sql AS $$
    SELECT fail(code, 'not_yet', jsonb_build_object(
        'retry_after_s', greatest(1, ceil(extract(epoch FROM free_at - clock_timestamp()))::integer)))
$$;

-- Counts one attempt; raises `code` when the subject had `quota` of them within the time, exactly, however many come
-- at once.
CREATE OR REPLACE FUNCTION attempt_or_fail(what text, whose text, quota integer, period interval, code text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    oldest timestamptz;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(what || ' ' || whose, 0));
    DELETE FROM attempts WHERE kind = what AND subject = whose AND at <= clock_timestamp() - period;
    SELECT at INTO oldest FROM attempts WHERE kind = what AND subject = whose ORDER BY at DESC OFFSET quota - 1 LIMIT 1;
    IF oldest IS NOT NULL THEN
        PERFORM fail_for_now(code, oldest + period);
    END IF;
    INSERT INTO attempts (kind, subject) VALUES (what, whose);
END
$$;

-- Raises `code` when the subject had `quota` attempts of a kind within the time; counts nothing.
CREATE OR REPLACE FUNCTION attempt_guard(what text, whose text, quota integer, period interval, code text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    oldest timestamptz;
BEGIN
    SELECT at INTO oldest FROM attempts WHERE kind = what AND subject = whose AND at > clock_timestamp() - period
    ORDER BY at DESC OFFSET quota - 1 LIMIT 1;
    IF oldest IS NOT NULL THEN
        PERFORM fail_for_now(code, oldest + period);
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION attempt_or_fail, attempt_guard FROM hostler_api, hostler_runner;
