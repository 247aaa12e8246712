-- Names that callers may use as the model of OpenAI's API: personas and routes.

-- name: openai_model_list
-- Those of the organization and of the platform, without pages, as that API has it.
SELECT openai_model_list() AS item;

-- name: openai_model_show
-- One of the two is given.
-- $1 persona_id text or null, $2 route_id uuid or null
SELECT openai_model_show($1, $2) AS item;
