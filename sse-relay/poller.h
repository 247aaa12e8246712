// Periodic questions of the relay to Postgres for many clients at once: the new events of runs that
// other daemons execute, and whether everybody may still follow. Nothing here throws while Postgres
// is away.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/events/event_bus.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "lib/postgres/database.h"
#include "sse-relay/stream_client.h"
#include "sse-relay/stream_options.h"
#include "sse-relay/subscriptions.h"

namespace hostler::relay {

using StreamClients = std::vector<std::unique_ptr<StreamClient>>;

class Poller {
 public:
  // All outlive it. The list may change at any time.
  Poller(const StreamOptions& options, loop::Loop& loop, postgres::Database& db,
         const events::EventBus& bus, Subscriptions& subscriptions, const StreamClients& clients);
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  void start();
  // Runs have to be read: one call for all runs of this turn.
  void read_soon();
  // Begins what is due.
  void tick();

  // Followed runs whose newest events another server lacked. From any thread.
  int64_t runs_gone_back() const { return runs_gone_back_.load(); }

 private:
  Task<void> read_due_forever();
  Task<void> recheck();
  Task<void> look_what_is_stored();
  void poll_idle_runs();

  const StreamOptions& options_;
  loop::Loop& loop_;
  postgres::Database& db_;
  const events::EventBus& bus_;
  Subscriptions& subscriptions_;
  const StreamClients& clients_;
  loop::Signal read_due_;
  bool is_read_announced_ = false;
  std::atomic<int64_t> runs_gone_back_ = 0;
  int64_t rechecked_ms_ = 0;
  int64_t looked_in_session_ = 0;  // of the database's: what it has was looked at
  int64_t looked_ms_ = 0;          // at runs nothing was heard of
  loop::TaskSet tasks_;            // first to go: looks at everything above
};

}  // namespace hostler::relay
