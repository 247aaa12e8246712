-- Chats of the AI SDK's useChat, as the API answers them. See sql/schema/ui_chats.sql.

-- name: ui_chat_retry
-- $1 chat text, $2 message_id text or null, $3 question text or null, $4 content text or null, $5 words text,
-- $6 end_user text or null, $7 route_id uuid or null, $8 persona_id text or null, $9 metadata json,
-- $10 tools json or null, $11 limit_concurrent_runs bigint, $12 limit_concurrent_runs_per_user bigint,
-- $13 limit_queued_runs bigint, $14 limit_stored_bytes bigint, $15 credit_run_hold bigint,
-- $16 limit_waiting_runs bigint
SELECT item, stopped
FROM ui_chat_again($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16);

-- name: ui_chat_answer
-- $1 chat text, $2 results json, $3 approvals json, $4 limit_input_bytes bigint
SELECT ui_chat_answer($1, $2, $3, $4) AS item;

-- name: ui_chat_active_run
-- The run that the chat is at, if there is one.
-- $1 chat text
SELECT active_run_id AS run_id FROM threads WHERE id = thread_named($1) AND active_run_id IS NOT NULL;

-- name: ui_chat_stop
-- $1 chat text
SELECT ui_chat_stop($1) AS stopped;

-- name: ui_chat_messages
-- $1 chat text, $2 limit integer, $3 before uuid or null
SELECT id, role, content, rfc3339(made_at) AS made_at, has_more, facts, is_checked, usage, seq, type,
    data, rfc3339(created_at) AS created_at
FROM ui_chat_messages($1, $2, $3);
