-- What a person answers when the server of a remote tool asks (kind elicitation). Such a server asks with a flat form:
-- its schema's properties are texts, numbers, booleans, choices and lists of choices. Called under the run's lock.

-- What is wrong with one value; null: nothing. Keywords that forms do not have prove nothing.
CREATE OR REPLACE FUNCTION elicited_fault(schema jsonb, value jsonb) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = public, pg_catalog AS $$
    SELECT CASE
        WHEN schema ? 'enum' AND NOT (schema -> 'enum') @> jsonb_build_array(value) THEN 'must be one of the choices'
        WHEN jsonb_typeof(schema -> 'oneOf') = 'array' AND NOT EXISTS (
            SELECT FROM jsonb_array_elements(schema -> 'oneOf') AS o (item) WHERE o.item -> 'const' = value)
            THEN 'must be one of the choices'
        WHEN schema ->> 'type' = 'integer' AND jsonb_typeof(value) = 'number'
            THEN CASE WHEN value::text::numeric % 1 <> 0 THEN 'must be a whole number'
                      ELSE elicited_bounds(schema, value) END
        WHEN schema ->> 'type' = 'integer' THEN 'must be a whole number'
        WHEN schema ->> 'type' IN ('string', 'number', 'boolean', 'array', 'object')
             AND jsonb_typeof(value) <> schema ->> 'type' THEN 'must be of type ' || (schema ->> 'type')
        WHEN jsonb_typeof(value) = 'array' AND EXISTS (
            SELECT FROM jsonb_array_elements(value) AS v (item)
            WHERE (jsonb_typeof(schema #> '{items,enum}') = 'array'
                   AND NOT (schema #> '{items,enum}') @> jsonb_build_array(v.item))
               OR (jsonb_typeof(schema #> '{items,anyOf}') = 'array' AND NOT EXISTS (
                   SELECT FROM jsonb_array_elements(schema #> '{items,anyOf}') AS o (item)
                   WHERE o.item -> 'const' = v.item)))
            THEN 'must hold choices only'
        ELSE elicited_bounds(schema, value) END
$$;

CREATE OR REPLACE FUNCTION elicited_bounds(schema jsonb, value jsonb) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = public, pg_catalog AS $$
    SELECT CASE
        WHEN measured.size < (CASE WHEN jsonb_typeof(schema -> measured.low) = 'number'
                                   THEN (schema ->> measured.low)::numeric END)
            THEN measured.low || ' is ' || (schema ->> measured.low)
        WHEN measured.size > (CASE WHEN jsonb_typeof(schema -> measured.high) = 'number'
                                   THEN (schema ->> measured.high)::numeric END)
            THEN measured.high || ' is ' || (schema ->> measured.high) END
    FROM (SELECT CASE jsonb_typeof(value) WHEN 'number' THEN value::text::numeric
                 WHEN 'string' THEN length(value #>> '{}') WHEN 'array' THEN jsonb_array_length(value) END AS size,
              CASE jsonb_typeof(value) WHEN 'number' THEN 'minimum' WHEN 'string' THEN 'minLength'
                   ELSE 'minItems' END AS low,
              CASE jsonb_typeof(value) WHEN 'number' THEN 'maximum' WHEN 'string' THEN 'maxLength'
                   ELSE 'maxItems' END AS high) AS measured
$$;

-- The answer as the server gets it: what was left out has the default that the form shows. Raises what is wrong.
CREATE OR REPLACE FUNCTION elicited_answer(schema jsonb, content text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = public, pg_catalog AS $$
DECLARE
    answer jsonb;
    filled jsonb;
    wrong_field text;
    wrong text;
BEGIN
    BEGIN
        answer := content::jsonb;
    EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
        answer := NULL;
    END;
    IF jsonb_typeof(answer) IS DISTINCT FROM 'object'
       OR coalesce(answer ->> 'action', '') NOT IN ('accept', 'decline', 'cancel')
       OR jsonb_typeof(coalesce(answer -> 'content', '{}')) <> 'object' THEN
        PERFORM fail('validation.error', 'elicitation_malformed');
    ELSIF answer ->> 'action' <> 'accept' THEN
        RETURN jsonb_build_object('action', answer -> 'action');
    END IF;
    filled := (SELECT coalesce(jsonb_object_agg(p.name, p.schema -> 'default')
                                   FILTER (WHERE p.schema ? 'default'), '{}')
               FROM jsonb_each(coalesce(schema -> 'properties', '{}')) AS p (name, schema))
              || coalesce(answer -> 'content', '{}');
    SELECT q.name, 'is needed' INTO wrong_field, wrong
    FROM jsonb_array_elements_text(coalesce(schema -> 'required', '[]')) AS q (name) WHERE NOT filled ? q.name LIMIT 1;
    IF wrong IS NULL THEN
        SELECT p.name, elicited_fault(p.schema, filled -> p.name) INTO wrong_field, wrong
        FROM jsonb_each(coalesce(schema -> 'properties', '{}')) AS p (name, schema)
        WHERE filled ? p.name AND elicited_fault(p.schema, filled -> p.name) IS NOT NULL LIMIT 1;
    END IF;
    IF wrong IS NOT NULL THEN
        PERFORM fail('validation.error', 'elicitation_unfit', jsonb_build_object('name', wrong_field, 'fault', wrong));
    END IF;
    RETURN jsonb_build_object('action', 'accept', 'content', filled);
END
$$;

-- POST /v1/runs/{run_id}/input of a run that waits with such a question. The answer stands with the call, so that
-- whoever makes it again has it.
CREATE OR REPLACE FUNCTION run_elicited(r runs, content text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_catalog AS $$
DECLARE
    answer jsonb := elicited_answer(r.input_request -> 'schema', content);
BEGIN
    UPDATE run_asked_calls a
    SET remote_state = jsonb_set(a.remote_state::jsonb, ARRAY['answers', r.input_request ->> 'key'], answer)
    WHERE a.run_id = r.id AND a.tool_call_id = r.input_request ->> 'tool_call_id';
    PERFORM run_go_on(r);
END
$$;

REVOKE EXECUTE ON FUNCTION run_elicited FROM hostler_api, hostler_runner;
