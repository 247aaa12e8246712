-- The daemon's periodic jobs (runner/maintenance/jobs.cpp), each a transaction of its own. Each answers more: whether
-- it is to be asked again at once; and fault: what went wrong with a part that it left out, else null.

-- name: event_partitions
-- Partitions of events ahead of time.
SELECT false AS more, NULL AS fault FROM run_events_make_partitions();

-- name: access_log_partitions
-- Partitions of the access log ahead of time.
SELECT false AS more, NULL AS fault FROM access_log_make_partitions();

-- name: subscription_maintenance
-- Grants what is due, marks what has run out.
-- $1 at_most integer
SELECT granted, more, fault FROM subscription_maintenance($1);

-- name: run_expire_inputs
-- Ends runs that nobody answered in time.
-- $1 at_most integer
SELECT ended, more, fault FROM run_expire_inputs($1);

-- name: platform_roll_up
-- Folds what was counted into days.
SELECT false AS more, NULL AS fault FROM platform_roll_up();

-- name: search_merge
-- Merges new words of messages and titles into the search. At once again while many come: a search reads what is not
-- merged one by one.
SELECT search_merge() > 32 AS more, NULL AS fault;

-- name: mcp_authorizations_prune
-- Authorizations of MCP servers that are long over.
-- $1 at_most integer
SELECT mcp_authorizations_prune($1) = $1 AS more, NULL AS fault;

-- name: model_tests_prune
-- Tests of models that nobody waits for any more.
-- $1 at_most integer
SELECT model_tests_prune($1) = $1 AS more, NULL AS fault;

-- name: sso_prune
-- Flows of logins with providers, calls of daemons and logout tokens that are over.
-- $1 at_most integer
SELECT sso_prune($1) = $1 AS more, NULL AS fault;

-- name: auth_prune
-- Counters, tokens and sessions that are long over.
-- $1 at_most integer
SELECT auth_prune($1) = $1 AS more, NULL AS fault;

-- name: outbox_prune
-- Messages that are long over.
-- $1 at_most integer
SELECT outbox_prune($1) = $1 AS more, NULL AS fault;

-- name: webhook_secrets_prune
-- Signing secrets of endpoints and of tools, whose day after a rotation is over.
-- $1 at_most integer
SELECT greatest(webhook_secrets_prune($1), tool_secrets_prune($1)) = $1 AS more, NULL AS fault;

-- name: ending_continue
-- The next page of what is left to do after a user, a membership or an MCP server ended.
-- $1 at_most integer
SELECT more, fault FROM ending_continue($1);

-- name: webhook_prune
-- Messages of endpoints that were deleted, and these.
-- $1 at_most integer
SELECT webhook_prune($1) = $1 AS more, NULL AS fault;

-- name: webhook_cancel
-- Messages of endpoints that were switched off.
-- $1 at_most integer
SELECT webhook_cancel($1) = $1 AS more, NULL AS fault;

-- name: credit_bulk_page
-- The next accounts of a change of all of them.
-- $1 at_most integer
SELECT credit_bulk_page($1) = $1 AS more, NULL AS fault;

-- name: turn_holds_expire
-- Ends holds of turns whose daemon does not have the run any more.
-- $1 at_most integer
SELECT turn_holds_expire($1) = $1 AS more, NULL AS fault;

-- name: budget_renewals
-- Lets runs go on whose budget has a new window.
-- $1 at_most integer
SELECT budget_renewals($1) = $1 AS more, NULL AS fault;

-- name: budget_alerts_send
-- Tells webhooks, owners and administrators that a share of a budget is spent.
-- $1 at_most integer
SELECT budget_alerts_send($1) > 0 AS more, NULL AS fault;

-- name: budgets_prune
-- Windows of budgets that were deleted, and windows that ended long ago.
-- $1 at_most integer
SELECT budgets_prune($1) = $1 AS more, NULL AS fault;

-- name: idempotency_prune
-- Answers that are older than a day.
-- $1 at_most integer
SELECT idempotency_prune($1) = $1 AS more, NULL AS fault;

-- name: access_log_files_prune
-- Files of nginx that were read long ago.
-- $1 at_most integer
SELECT access_log_files_prune($1) = $1 AS more, NULL AS fault;

-- name: access_log_prune
-- The oldest day of the access log, when it is beyond retention.
-- $1 access_log_retention_days integer
SELECT access_log_prune($1) > 0 AS more, NULL AS fault;

-- name: run_events_prune
-- The oldest month of events, when it is beyond retention.
-- $1 run_events_retention_days integer
SELECT dropped, dropped > 0 AS more, NULL AS fault FROM run_events_prune($1) AS dropped;

-- name: run_events_free
-- Gives accounts back what the events of dropped months took.
-- $1 at_most integer
SELECT run_events_free($1) = $1 AS more, NULL AS fault;

-- name: chat_runs_forget
-- Removes histories and texts of runs whose callers want nothing kept, 10 minutes after their ends.
-- $1 at_most integer
SELECT chat_runs_forget($1) = $1 AS more, NULL AS fault;

-- name: threads_empty
-- What was said in threads that were deleted, 10 minutes behind the ends of their runs.
-- $1 at_most integer
SELECT threads_empty($1) AS more, NULL AS fault;

-- name: responses_empty
-- What was said in responses that were deleted, 10 minutes behind the ends of their runs.
-- $1 at_most integer
SELECT responses_empty($1) AS more, NULL AS fault;

-- name: erasures_page
-- What users, organizations and end users left who are deleted.
-- $1 at_most integer
SELECT more, fault FROM erasures_page($1);

-- name: files_prune
-- Removes a file that is gone or that nobody has used for so long.
-- $1 files_unused_days integer
SELECT files_prune($1) AS more, NULL AS fault;

-- name: exports_page
-- A piece of an export that runs.
-- $1 at_most integer
SELECT exports_page($1) AS more, NULL AS fault;

-- name: exports_prune
-- Exports that are over.
-- $1 at_most integer
SELECT exports_prune($1) = $1 AS more, NULL AS fault;

-- name: privacy_journal_prune
-- Deletions that no backup can be older than.
-- $1 at_most integer
SELECT privacy_journal_prune($1) = $1 AS more, NULL AS fault;

-- name: audit_partitions
-- Partitions of the audit log ahead of time.
SELECT false AS more, NULL AS fault FROM audit_logs_make_partitions();

-- name: audit_prune
-- The oldest month of the audit log, when it is beyond retention.
-- $1 audit_retention_days integer (0: it is kept for ever)
SELECT dropped, dropped > 0 AS more, NULL AS fault FROM audit_logs_prune($1) AS dropped;

-- name: maintainer_look
-- Who is the maintainer, and how many heartbeats it had; no daemon when the place is free.
SELECT m.epoch, d.id AS daemon_id, coalesce(d.heartbeats, 0) AS heartbeats
FROM maintainer m LEFT JOIN daemons d ON d.id = m.daemon_id AND d.stopped_at IS NULL;

-- name: maintainer_take
-- Takes the place of whom maintainer_look saw there; no row when it is another's.
-- $1 daemon_id uuid, $2 epoch bigint (that was seen), $3 jobs text[], $4 periods_ms bigint[]
SELECT epoch FROM maintainer_take($1, $2, $3, $4) AS epoch;

-- name: maintenance_clock_pass
-- Whether jobs that delete or end what is over may go by the database's clock.
SELECT maintenance_clock_pass() AS may_go_on;

-- name: maintenance_clock_check
-- In each page of such a job: fails when the clock is not accepted any more.
SELECT maintenance_clock_check();

-- name: maintenance_done
-- The last statement of each page of a job: fails when the daemon is not the maintainer any more.
-- $1 daemon_id uuid, $2 epoch bigint, $3 job text
SELECT maintenance_done($1, $2, $3);

-- name: maintenance_fault
-- What went wrong with a job, for people. Need not be durable.
-- $1 daemon_id uuid, $2 epoch bigint, $3 job text, $4 fault text
UPDATE maintenance_jobs AS j SET fault_at = clock_timestamp(), fault = left($4, 500), faults = j.faults + 1
FROM (SELECT set_config('synchronous_commit', 'off', true)) AS asynchronous
WHERE j.job = $3 AND maintainer_is($1, $2);
