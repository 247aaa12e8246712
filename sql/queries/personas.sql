-- Personas of the platform and of organizations. For writes the scope is part of the request's context.

-- name: persona_page
-- A page of the personas of a scope.
-- $1 of_org boolean, $2 limit integer, $3 before uuid or null
SELECT id, item FROM persona_page($1, $2::integer + 1, $3) ORDER BY id DESC;

-- name: persona_create
-- $1 wanted jsonb, $2 limit_personas bigint
SELECT persona_create($1, $2) AS item;

-- name: persona_update
-- $1 persona_id uuid, $2 changes jsonb
SELECT persona_update($1, $2) AS item;

-- name: persona_delete
-- Soft.
-- $1 persona_id uuid
SELECT persona_delete($1);

-- name: persona_guard
-- Raises what keeps the caller from the persona.
-- $1 persona_id uuid
SELECT (persona_of_scope($1, false)).id;
