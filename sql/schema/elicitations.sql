-- Answers of a person when the server of a remote tool asks (kind elicitation). Such a server asks with a flat form:
-- its schema's properties are texts, numbers, booleans, choices and lists of choices. Called under the run's lock.

-- Fault of one value, in words that say how to fix it, or null. Keywords that forms do not have prove nothing.
CREATE OR REPLACE FUNCTION elicited_fault(schema jsonb, value jsonb) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = public, pg_catalog AS $$
    SELECT CASE
        WHEN schema ? 'enum' AND NOT (schema -> 'enum') @> jsonb_build_array(value)
            THEN 'must be one of ' || elicited_choices(schema -> 'enum')
        WHEN jsonb_typeof(schema -> 'oneOf') = 'array' AND NOT EXISTS (
            SELECT FROM jsonb_array_elements(schema -> 'oneOf') AS o (item) WHERE o.item -> 'const' = value)
            THEN 'must be one of ' || elicited_choices(schema -> 'oneOf')
        WHEN schema ->> 'type' = 'integer' AND jsonb_typeof(value) = 'number'
            THEN CASE WHEN value::text::numeric % 1 <> 0 THEN 'must be a whole number'
                      ELSE elicited_bounds(schema, value) END
        WHEN schema ->> 'type' = 'integer' THEN 'must be a whole number'
        WHEN schema ->> 'type' IN ('string', 'number', 'boolean', 'array', 'object')
             AND jsonb_typeof(value) <> schema ->> 'type'
            THEN CASE schema ->> 'type' WHEN 'string' THEN 'must be a text' WHEN 'number' THEN 'must be a number'
                 WHEN 'boolean' THEN 'must be true or false' WHEN 'array' THEN 'must be a list'
                 ELSE 'must be an object' END
        WHEN jsonb_typeof(value) = 'array' AND EXISTS (
            SELECT FROM jsonb_array_elements(value) AS v (item)
            WHERE (jsonb_typeof(schema #> '{items,enum}') = 'array'
                   AND NOT (schema #> '{items,enum}') @> jsonb_build_array(v.item))
               OR (jsonb_typeof(schema #> '{items,anyOf}') = 'array' AND NOT EXISTS (
                   SELECT FROM jsonb_array_elements(schema #> '{items,anyOf}') AS o (item)
                   WHERE o.item -> 'const' = v.item)))
            THEN 'must hold only ' || elicited_choices(coalesce(schema #> '{items,enum}', schema #> '{items,anyOf}'))
        ELSE elicited_bounds(schema, value) END
$$;

-- The values of an enum, or the consts of a oneOf or anyOf, as JSON; of very many the first.
CREATE OR REPLACE FUNCTION elicited_choices(choices jsonb) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = public, pg_catalog AS $$
    SELECT coalesce(string_agg(CASE WHEN o.nth > 20 THEN '…' ELSE left(coalesce(o.item -> 'const', o.item)::text, 100)
                               END, ', ' ORDER BY o.nth), 'the choices')
    FROM jsonb_array_elements(CASE WHEN jsonb_typeof(choices) = 'array' THEN choices ELSE '[]' END)
        WITH ORDINALITY AS o (item, nth)
    WHERE o.nth <= 21
$$;

CREATE OR REPLACE FUNCTION elicited_bounds(schema jsonb, value jsonb) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = public, pg_catalog AS $$
    SELECT CASE
        WHEN m.size < m.low THEN m.verb || ' at least ' || m.low || CASE WHEN m.low = 1 THEN m.one ELSE m.many END
        WHEN m.size > m.high THEN m.verb || ' at most ' || m.high || CASE WHEN m.high = 1 THEN m.one ELSE m.many END
        END
    FROM (SELECT k.size, k.verb, k.one, k.many,
              CASE WHEN jsonb_typeof(schema -> k.low) = 'number' THEN (schema ->> k.low)::numeric END AS low,
              CASE WHEN jsonb_typeof(schema -> k.high) = 'number' THEN (schema ->> k.high)::numeric END AS high
          FROM (VALUES ('number', CASE WHEN jsonb_typeof(value) = 'number' THEN value::text::numeric END,
                        'minimum', 'maximum', 'must be', '', ''),
                       ('string', length(value #>> '{}'), 'minLength', 'maxLength', 'must have', ' character',
                        ' characters'),
                       ('array', CASE WHEN jsonb_typeof(value) = 'array' THEN jsonb_array_length(value) END,
                        'minItems', 'maxItems', 'must have', ' item', ' items'))
              AS k (kind, size, low, high, verb, one, many)
          WHERE k.kind = jsonb_typeof(value)) AS m
$$;

-- All that is wrong with the fields that were given and those that are lacking, sixteen at most; null: nothing. filled:
-- what was given, and the defaults of what was not.
CREATE OR REPLACE FUNCTION elicited_faults(schema jsonb, given jsonb, filled jsonb) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = public, pg_catalog AS $$
    SELECT string_agg('content.' || left(w.name, 100) || ' ' || w.fault, '; ' ORDER BY w.nth, w.name)
    FROM (SELECT every.nth, every.name, every.fault
          FROM (SELECT 1 AS nth, q.name, 'is required' AS fault
                FROM jsonb_array_elements_text(coalesce(schema -> 'required', '[]')) AS q (name)
                WHERE NOT filled ? q.name
                UNION ALL
                SELECT 2, p.name, elicited_fault(p.schema, filled -> p.name)
                FROM jsonb_each(coalesce(schema -> 'properties', '{}')) AS p (name, schema) WHERE filled ? p.name
                UNION ALL
                -- The server would pass over it, unless its form names no fields or takes further ones.
                SELECT 3, g.name, 'is no field of the form' FROM jsonb_object_keys(given) AS g (name)
                WHERE coalesce(schema -> 'properties', '{}') <> '{}' AND NOT (schema -> 'properties') ? g.name
                      AND coalesce(schema -> 'additionalProperties', 'false') = 'false') AS every
          WHERE every.fault IS NOT NULL ORDER BY every.nth, every.name LIMIT 16) AS w
$$;

-- A member that stands twice in an object of JSON, which jsonb would forget.
CREATE OR REPLACE FUNCTION doubled_member(object json) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = public, pg_catalog AS $$
    SELECT k.name FROM json_object_keys(object) AS k (name) GROUP BY k.name HAVING count(*) > 1 ORDER BY k.name LIMIT 1
$$;

-- The answer as the server gets it: what was left out has the default that the form shows. Raises what is wrong.
CREATE OR REPLACE FUNCTION elicited_answer(schema jsonb, content text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = public, pg_catalog AS $$
DECLARE
    answer jsonb;
    given jsonb;
    filled jsonb;
    wrong text;
BEGIN
    BEGIN
        answer := content::jsonb;
    EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
        answer := NULL;
    END;
    IF jsonb_typeof(answer) IS DISTINCT FROM 'object' THEN
        PERFORM fail('validation.error', 'elicitation_malformed');
    ELSIF has_long_numbers(content) THEN
        PERFORM fail('validation.error', 'elicitation_exponent');
    END IF;
    wrong := (SELECT min(k.name) FROM jsonb_object_keys(answer) AS k (name) WHERE k.name NOT IN ('action', 'content'));
    IF wrong IS NOT NULL THEN
        PERFORM fail('validation.error', 'elicitation_lacks_member', jsonb_build_object('name', left(wrong, 100)));
    END IF;
    wrong := doubled_member(content::json);
    IF wrong IS NULL AND jsonb_typeof(answer -> 'content') = 'object' THEN
        wrong := 'content.' || doubled_member(content::json -> 'content');
    END IF;
    IF wrong IS NOT NULL THEN
        PERFORM fail('validation.error', 'elicitation_doubled', jsonb_build_object('name', left(wrong, 100)));
    ELSIF coalesce(answer ->> 'action', '') NOT IN ('accept', 'decline', 'cancel')
          OR jsonb_typeof(coalesce(answer -> 'content', '{}')) <> 'object' THEN
        PERFORM fail('validation.error', 'elicitation_malformed');
    ELSIF answer ->> 'action' <> 'accept' THEN
        RETURN jsonb_build_object('action', answer -> 'action');
    END IF;
    given := coalesce(answer -> 'content', '{}');
    filled := (SELECT coalesce(jsonb_object_agg(p.name, p.schema -> 'default')
                                   FILTER (WHERE p.schema ? 'default'), '{}')
               FROM jsonb_each(coalesce(schema -> 'properties', '{}')) AS p (name, schema)) || given;
    wrong := elicited_faults(schema, given, filled);
    IF wrong IS NOT NULL THEN
        PERFORM fail('validation.error', 'elicitation_unfit', jsonb_build_object('faults', wrong));
    END IF;
    RETURN jsonb_build_object('action', 'accept', 'content', filled);
END
$$;

-- POST /v1/runs/{run_id}/input of a run that waits with such a question. The answer is stored with the call, so that a
-- repeat of the call has it.
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
