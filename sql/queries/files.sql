-- Uploaded files. Those of clients begin behind access.authenticate in the same batch; file_check_… are the daemon's.

-- name: file_admit
-- $1 bytes bigint, $2 limit_file_bytes bigint
SELECT file_admit($1, $2);

-- name: file_begin
-- $1 wanted json
SELECT file_begin($1) AS id;

-- name: file_add_piece
-- $1 file_id uuid, $2 nth integer, $3 content bytea
SELECT file_add_piece($1, $2, $3);

-- name: file_finish
-- $1 file_id uuid, $2 limit_stored_bytes bigint, $3 limit_upload_bytes_per_day bigint
SELECT item.* FROM file_finish($1, $2, $3) AS f, file_item(f) AS item;

-- name: file_page
-- A page of the caller's files, newest first.
-- $1 limit integer, $2 before uuid or null
SELECT item.* FROM files f, file_item(f) AS item
WHERE f.org_id = current_org() AND f.created_by_user_id = current_user_id() AND f.deleted_at IS NULL
      AND f.id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
ORDER BY f.id DESC LIMIT $1::integer + 1;

-- name: file_page_of_end_user
-- The same of those that are for one end user.
-- $1 end_user text, $2 limit integer, $3 before uuid or null
SELECT item.* FROM files f, file_item(f) AS item
WHERE f.org_id = current_org() AND f.created_by_user_id = current_user_id() AND f.deleted_at IS NULL
      AND f.end_user = $1 AND f.id < coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
ORDER BY f.id DESC LIMIT $2::integer + 1;

-- name: file_show
-- $1 file_id uuid
SELECT item.* FROM file_of_caller($1) AS f, file_item(f) AS item;

-- name: file_content
-- Describes its bytes.
-- $1 file_id uuid
SELECT name, mime_type, bytes, sha256, pieces FROM file_content($1);

-- name: file_piece
-- Bytes of a piece; no row when the right to it has ended.
-- $1 file_id uuid, $2 user_id uuid, $3 nth integer, $4 skipped integer, $5 taken integer
SELECT content FROM file_piece($1, $2, $3, $4, $5) AS content;

-- name: file_delete
-- $1 file_id uuid
SELECT file_delete($1);

-- name: file_checks_wake
-- Wakes daemons.
SELECT set_config('synchronous_commit', 'off', true), pg_notify('hostler_files', '');

-- name: file_check_claim
-- $1 after_org_id uuid, $2 after_user_id uuid
SELECT id, org_id, user_id, mime_type, bytes, pieces, checks FROM file_check_claim($1, $2);

-- name: file_check_piece
-- $1 file_id uuid, $2 nth integer
SELECT content FROM file_check_piece($1, $2) AS content;

-- name: file_check_finish
-- $1 file_id uuid, $2 check_number integer, $3 width integer, $4 height integer, $5 mime_type text, $6 image bytea
SELECT file_check_finish($1, $2, $3, $4, $5, $6) AS is_stored;

-- name: file_check_refuse
-- $1 file_id uuid, $2 check_number integer, $3 code text
SELECT file_check_refuse($1, $2, $3);

-- name: file_check_postpone
-- $1 file_id uuid, $2 check_number integer, $3 pause_ms integer
SELECT file_check_postpone($1, $2, $3);

-- name: file_check_again
-- $1 file_id uuid, $2 check_number integer
SELECT file_check_again($1, $2);

-- name: files_sent
-- What is known of files that a request to a model needs; no row for one that is gone.
-- $1 org_id uuid, $2 file_ids uuid[]
SELECT id, state, refusal, name, width, height, derived_bytes FROM files_sent($1, $2);

-- name: file_derived
-- The bytes that a model gets of it, in base64; no row when it is gone.
-- $1 org_id uuid, $2 file_id uuid
SELECT derived_type, base64 FROM file_derived($1, $2);
