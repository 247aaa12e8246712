-- Exports of a user's or an organization's data.

-- name: export_create
-- $1 of_org boolean (the organization acted in; else the caller)
SELECT export_create($1) AS item;

-- name: export_show
-- $1 export_id uuid
SELECT export_show($1) AS item;

-- name: export_content
-- How many pieces it has, and the first one.
-- $1 export_id uuid
SELECT pieces, content FROM export_content($1);

-- name: export_piece
-- A further piece; no row when the right to it has ended.
-- $1 export_id uuid, $2 user_id uuid, $3 nth integer
SELECT content FROM export_piece($1, $2, $3) AS content;
