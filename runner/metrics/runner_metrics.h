// The metrics of the daemon, one row each. What runs do is counted when it is on disk; the rest is
// read when somebody asks. Served by main() on the socket metrics.runner_socket.
#pragma once

#include <cstdint>
#include <string>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/metrics.h"
#include "lib/postgres/database.h"
#include "runner/egress/tunnel.h"
#include "runner/steps/run_steps.h"

namespace hostler::runner {

// Counted by the daemon since its start; runs and streams are what it has now.
struct RunnerCounts {
  int64_t started_us = 0;  // wall clock
  int64_t runs = 0;
  int64_t slots = 0;          // runs it takes at most
  int64_t is_maintainer = 0;  // 1: it is
  int64_t streams = 0;
  int64_t streams_opened = 0;
  int64_t streams_refused = 0;
  int64_t streams_cut_off = 0;        // their clients did not read
  int64_t peers_refused = 0;          // connections to stream.listen_tcp
  int64_t denials_dropped = 0;        // refused streams that the audit log does not name
  int64_t stream_runs_gone_back = 0;  // followed ones whose newest events another server lacked
  int64_t runs_claimed = 0;
  int64_t runs_fenced = 0;  // to another daemon
  int64_t model_adaptations = 0;
  int64_t events = 0;
  int64_t flushes = 0;
  int64_t flushes_refused = 0;  // for a lock or for their time
  int64_t runs_blocked = 0;     // now
  int64_t event_bytes_pending = 0;
  int64_t deliveries = 0;                    // of the outbox, under way now
  int64_t delivered = 0;                     // webhooks and mails
  int64_t deliveries_failed = 0;             // attempts, not messages
  int64_t sso_calls = 0;                     // to OpenID providers, and checks of their tokens
  int64_t sso_faults = 0;                    // those among them that came to nothing
  int64_t mcp_streams = 0;                   // that are held while a person is asked
  int64_t input_estimate_ratio = 1'000'000;  // in millionths
  int64_t access_log_lines = 0;
  int64_t access_log_skipped = 0;
  int64_t access_log_unread_bytes = 0;
  int64_t access_log_lag_us = 0;
};

class RunnerMetrics {
 public:
  RunnerMetrics();
  void count_turn(const TurnRecord& turn);
  // Further requests that turns made, because a provider refused a member of one.
  int64_t model_adaptations() const { return model_adaptations_; }
  void count_tool(const ToolRecord& tool);
  void count_wait();
  void count_fall_back();
  void count_outcome(const Outcome& outcome);
  void count_egress(EgressResult result);
  // job: its index in maintenance_jobs().
  void count_maintenance(size_t job, int64_t took_ms);  // a round of it
  void count_maintenance_failure(size_t job);
  // Asks for what no daemon knows by itself, for ever. While the database is away the old numbers
  // stay, with their time.
  Task<void> ask_forever(loop::Loop& loop, postgres::Database& db);
  std::string prometheus_text(const RunnerCounts& counts);

 private:
  // Facts about the whole installation from query::metrics_facts. Every daemon reports the same.
  void take_facts(const postgres::Row& facts);

  Metrics metrics_;
  int64_t model_adaptations_ = 0;
};

}  // namespace hostler::runner
