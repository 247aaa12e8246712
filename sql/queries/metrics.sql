-- Facts for Prometheus that no daemon knows by itself. As hostler_runner.

-- name: metrics_facts
-- Metrics of the whole installation. Everything is counted on a partial index. runs_crashed: three crashes without a
-- step are to end a run (runs_after_crash), at once; these have not ended. runs_left_queued: of threads in which
-- nothing runs whose end would let them begin; no daemon claims them.
SELECT (SELECT count(*) FROM runs WHERE status = 'running' AND NOT queued AND owner_id IS NULL) AS runs_unclaimed,
       owned.claimed AS runs_claimed, owned.lapsed AS runs_lapsed,
       (SELECT count(*) FROM runs WHERE queued) AS runs_queued,
       (SELECT count(*) FROM runs WHERE ended_at IS NULL AND NOT queued AND crash_count >= 3) AS runs_crashed,
       (SELECT count(*) FROM runs q WHERE q.queued AND NOT EXISTS (
            SELECT FROM runs a WHERE a.thread_id = q.thread_id AND a.ended_at IS NULL AND NOT a.queued))
           AS runs_left_queued,
       (SELECT count(*) FROM runs WHERE status = 'waiting_for_input') AS runs_waiting,
       (SELECT count(*) FROM outbox WHERE status = 'pending' AND kind = 'mail') AS mails_pending,
       (SELECT count(*) FROM outbox WHERE status = 'pending' AND kind = 'webhook') AS webhooks_pending,
       (SELECT count(*) FROM outbox WHERE status = 'failed') AS outbox_failed,
       tried.mails_tried, tried.mails_without_login, tried.mails_without_smtputf8, tried.mail_failing_us,
       (SELECT greatest(0, extract(epoch FROM clock_timestamp() - min(next_attempt_at)) * 1e6)::bigint FROM outbox
        WHERE status = 'pending' AND kind = 'mail') AS mail_lag_us,
       (SELECT greatest(0, extract(epoch FROM clock_timestamp() - min(next_attempt_at)) * 1e6)::bigint FROM outbox
        WHERE status = 'pending' AND kind = 'webhook') AS webhook_lag_us,
       (SELECT greatest(0, extract(epoch FROM now() - min(due_at)) * 1e6)::bigint FROM mcp_tasks) AS mcp_task_lag_us,
       (SELECT greatest(0, extract(epoch FROM clock_timestamp() - min(listing_due_at)) * 1e6)::bigint FROM mcp_servers
        WHERE deleted_at IS NULL AND is_active) AS mcp_listing_lag_us,
       (SELECT count(*) FROM llm_models WHERE breaker_state <> 'closed' AND deleted_at IS NULL AND org_id IS NULL)
           AS platform_models_left_out,
       (SELECT count(*) FROM llm_models WHERE breaker_state <> 'closed' AND deleted_at IS NULL AND org_id IS NOT NULL)
           AS org_models_left_out,
       (SELECT count(*) FROM daemons
        WHERE stopped_at IS NULL AND heartbeat_at > clock_timestamp() - interval '30 seconds') AS daemons,
       (SELECT count(*) FROM pg_stat_activity WHERE usesysid IS NOT NULL AND datid IS NOT NULL) AS connections,
       current_setting('max_connections')::integer AS connections_max, pg_database_size(current_database()) AS bytes,
       (SELECT maintenance_clock_holds(c.accepted_at, clock_timestamp())::integer FROM maintenance_clock c)
           AS maintenance_clock_held,
       month_partitions_ahead('run_events') AS event_months_ahead,
       month_partitions_ahead('audit_logs') AS audit_months_ahead, (extract(epoch FROM now()) * 1e6)::bigint AS now_us
FROM (SELECT count(*) AS claimed, count(*) FILTER (WHERE d.id IS NULL) AS lapsed
      FROM runs r LEFT JOIN daemons d ON d.id = r.owner_id AND d.stopped_at IS NULL
          AND d.heartbeat_at > clock_timestamp() - interval '30 seconds'
      WHERE r.owner_id IS NOT NULL) AS owned,
     (SELECT count(*) FILTER (WHERE last_fault IS DISTINCT FROM 'without_login'
                              AND last_fault IS DISTINCT FROM 'without_smtputf8') AS mails_tried,
          count(*) FILTER (WHERE last_fault = 'without_login') AS mails_without_login,
          count(*) FILTER (WHERE last_fault = 'without_smtputf8') AS mails_without_smtputf8,
          coalesce(extract(epoch FROM clock_timestamp() - min(first_failed_at)) * 1e6, 0)::bigint AS mail_failing_us
      FROM outbox WHERE status = 'pending' AND kind = 'mail' AND first_failed_at IS NOT NULL) AS tried;
