// The daemon as a whole: makes its parts, joins them, begins and ends them in their order. Built by
// main(), which also owns the stream server and the bus.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/client/gateway.h"
#include "lib/config/secret_box.h"
#include "lib/config/stored_settings.h"
#include "lib/http/client.h"
#include "lib/loop/loop.h"
#include "lib/loop/task_set.h"
#include "lib/postgres/database.h"
#include "lib/time_text.h"
#include "runner/access_log/tailer.h"
#include "runner/agent/model_health.h"
#include "runner/agent/run_queue.h"
#include "runner/agent/turn_holds.h"
#include "runner/delivery/outbox.h"
#include "runner/egress/egress_proxy.h"
#include "runner/events/event_log.h"
#include "runner/files/file_checks.h"
#include "runner/full_streams.h"
#include "runner/maintenance/maintainer.h"
#include "runner/maintenance/maintenance.h"
#include "runner/mcp/listing_job.h"
#include "runner/metrics/runner_metrics.h"
#include "runner/model_tests.h"
#include "runner/notifications.h"
#include "runner/oauth/connection_maintenance.h"
#include "runner/registration.h"
#include "runner/sso_calls.h"
#include "runner/tools/task_polls.h"
#include "runner/tools/tool_box.h"

namespace hostler::runner {

struct DaemonOptions {
  DaemonIdentity identity;
  int slots = 2000;
  client::RiskyNetworks risky_networks;
};

// Serves the streams in a thread of its own. This thread asks and notifies it.
struct StreamSide {
  std::function<void(RunnerCounts&)> count;  // fills the members of streams
  std::function<void(std::vector<std::string> cors_origins)> allow_origins;
  std::function<void(const config::Settings&)> use_limits;
  std::function<void(const client::Gateway&)> use_gateway;
  std::function<std::string(int64_t for_ms)> full_holders;  // see FullStreams
};

class Daemon {
 public:
  Daemon(loop::Loop& loop, const config::Settings& start, config::SecretBox secrets,
         events::EventBus& bus, DaemonOptions options, StreamSide stream_side);
  ~Daemon();

  // Connects, registers, begins to claim. Waits as long as it takes for Postgres and its schema.
  void start();
  // Hands everything back; calls done when that is committed, or given up after the limit.
  void drain(std::function<void()> done);

  size_t runs() const { return queue_ ? queue_->active() : 0; }
  std::string metrics_text();

 private:
  Task<void> begin();
  void make_parts();
  void make_maintenance();
  void begin_tasks();
  void apply(const config::Settings& now);
  int streams() const;
  void begin_access_log();
  void begin_egress();
  void listen();
  void look_at_remote_calls();
  void hear_of_control(std::string_view run_id);
  Task<void> leave(std::function<void()> done);
  Task<bool> hand_back();
  void on_listening();

  loop::Loop& loop_;
  DaemonOptions options_;
  events::EventBus& bus_;
  StreamSide stream_side_;
  postgres::Database db_;         // claims, leases, look-ups
  postgres::Database events_db_;  // the event log's own
  Notifications notifications_;
  Registration registration_;
  http::HttpClient http_;
  config::SecretBox secrets_;
  config::StoredSettings settings_;
  std::shared_ptr<const client::Gateway> gateway_;
  RunnerMetrics metrics_;
  std::string id_;
  int64_t started_us_ = unix_now_ms() * 1000;
  std::unique_ptr<EventLog> events_;
  std::unique_ptr<ToolBox> tools_;
  LongTurns long_turns_;
  std::unique_ptr<TurnHolds> turn_holds_;
  ModelHealth model_health_;
  std::unique_ptr<AgentServices> agent_services_;
  std::unique_ptr<RunQueue> queue_;
  std::unique_ptr<FullStreams> full_streams_;
  std::unique_ptr<AccessLogTailer> access_log_;
  std::unique_ptr<Outbox> outbox_;
  std::unique_ptr<Maintainer> maintainer_;
  std::unique_ptr<ConnectionMaintenance> connections_;
  std::unique_ptr<ListingJob> listings_;
  std::unique_ptr<TaskPolls> task_polls_;
  std::unique_ptr<ModelTests> model_tests_;
  std::unique_ptr<FileChecks> file_checks_;
  std::unique_ptr<SsoCalls> sso_calls_;
  std::unique_ptr<Maintenance> maintenance_;
  std::unique_ptr<EgressProxy> egress_proxy_;
  loop::TaskSet tasks_;  // last: its coroutines use all of the above
};

}  // namespace hostler::runner
