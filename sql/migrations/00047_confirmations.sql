-- Why: the answer to a confirmation is read once, by the API, and its decision is stored with it: two readers of one
-- text can disagree, and a call that was denied would be made. Locks: run_inputs, exclusively, for an instant: columns
-- without a rewrite, and a check of new rows only.

-- What the API read of the answer. arguments: those that were edited, as the tool gets them. Answers of before have no
-- decision, which approves nothing.
ALTER TABLE run_inputs
    ADD COLUMN decision text, ADD COLUMN arguments json, ADD COLUMN reason text,
    ADD CONSTRAINT run_inputs_decision CHECK (
        CASE kind WHEN 'tool_confirmation' THEN coalesce(decision IN ('approve', 'deny'), false)
                  ELSE decision IS NULL AND reason IS NULL END
        AND (arguments IS NULL OR coalesce(decision = 'approve' AND json_typeof(arguments) = 'object', false)))
        NOT VALID;

-- What was answered by a word and is still to be executed, decided as its run would have been told.
UPDATE run_inputs AS i SET decision = lower(btrim(i.content, E' \t\r\n'))
FROM runs r
WHERE r.id = i.run_id AND r.ended_at IS NULL AND NOT r.queued AND i.kind = 'tool_confirmation'
      AND lower(btrim(i.content, E' \t\r\n')) IN ('approve', 'deny');

DROP FUNCTION run_input(uuid, text, bigint);
DROP FUNCTION json_object_or_null(text);

-- POST /v1/runs/{run_id}/input: by the creator, while the run waits; of any number of answers one wins. bytes_setting:
-- limit.input_bytes of the settings. decision, arguments and reason: what the API read, should a confirmation be asked
-- for; without a decision, fault says why the content is none. A question takes any content.
CREATE FUNCTION run_input(run uuid, content text, bytes_setting bigint, decision text, arguments json, reason text,
                          fault text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    r runs := run_of_creator(run);
    bytes_max bigint := entitlement_integer(r.org_id, 'limit.input_bytes', bytes_setting);
    decides boolean;
BEGIN
    IF octet_length(content) > bytes_max THEN
        PERFORM fail('validation.error', format('must have at most %s bytes', bytes_max),
                     '{"field": "content", "fault": "too_long"}');
    END IF;
    SELECT * INTO STRICT r FROM runs WHERE id = run FOR NO KEY UPDATE;
    IF r.status <> 'waiting_for_input' THEN
        PERFORM fail('runs.not_waiting', format('The run is %s.', r.status));
    END IF;
    decides := r.input_request ->> 'kind' = 'tool_confirmation';
    IF decides AND decision IS NULL THEN
        PERFORM fail('validation.error', format(
            '%s; answer approve, deny, or {"decision": "approve" or "deny", "arguments": {…}, "reason": "…"}', fault),
            '{"field": "content", "fault": "bad_format"}');
    END IF;
    INSERT INTO run_inputs (run_id, request_id, org_id, turn, tool_call_id, kind, content, decision, arguments, reason)
    SELECT run, (r.input_request ->> 'request_id')::uuid, r.org_id, (r.input_request ->> 'turn')::integer,
           r.input_request ->> 'tool_call_id', r.input_request ->> 'kind', run_input.content,
           CASE WHEN decides THEN run_input.decision END, CASE WHEN decides THEN run_input.arguments END,
           CASE WHEN decides THEN run_input.reason END;
    INSERT INTO run_events (run_id, seq, type, data)
    VALUES (run, r.last_seq + 1, 'run.input_provided',
            json_build_object('request_id', r.input_request ->> 'request_id'));
    UPDATE runs SET status = 'running', last_seq = r.last_seq + 1, input_request = NULL, input_deadline = NULL,
        active_since = clock_timestamp(), after_input = true
    WHERE id = run;
END
$$;
