// Writes the events of all runs of this daemon, in two lanes: bare events, and those with turns,
// usage and outcomes; a run is in one at a time. After the commit the events go to the bus. Each
// run appends through a writer of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/events/event_bus.h"
#include "lib/loop/task.h"
#include "lib/loop/wait.h"
#include "lib/postgres/database.h"
#include "runner/events/log_lane.h"
#include "runner/events/run_writer.h"
#include "runner/metrics/runner_metrics.h"

namespace hostler::runner {

class EventLog final : LaneOwner {
 public:
  // Limit of the wait for a lock that the database gets, so that a locked row delays the other runs
  // of a batch no longer.
  static constexpr int64_t lock_timeout_ms = 100;
  // Limit of bytes that all runs together have appended and that are not on disk. Beyond it no more
  // is read from their models. Postgres takes that in seconds. While it is away, this is the
  // daemon's memory.
  static constexpr int64_t pending_bytes_max = int64_t{64} << 20;

  // Metrics count stored events. on_fenced gets a run that this daemon turned out to have lost
  // (from the loop, never from within a call of append).
  EventLog(loop::Loop& loop, postgres::Database& db, events::EventBus& bus, RunnerMetrics& metrics,
           std::string daemon_id, std::function<void(const RunWriterPtr&)> on_fenced);

  // The writer of a run that was claimed; the log outlives it.
  RunWriterPtr open(Claim claim);
  // Writes nothing more for the run. on_fenced gets it.
  void fence(const RunWriterPtr& writer);

  // Returns when nothing waits to be written, or nothing but what others hold up: that is waited
  // for at most five seconds.
  Task<void> drained();

  // The flushing coroutines; put each into the daemon's task set once. They want two connections.
  Task<void> write_events() { return events_.write_forever(); }
  Task<void> write_steps() { return steps_.write_forever(); }

  loop::Loop& loop() const { return loop_; }
  bool is_full() const { return pending_bytes_ > pending_bytes_max; }
  Task<void> has_room();  // returns when the log is not full
  int64_t pending_bytes() const { return pending_bytes_; }

  // Whether other daemons live and are notified of new events. True until it is known.
  void set_others_alive(bool are_alive) { others_alive_ = are_alive; }

  int64_t events_written() const { return events_written_; }
  int64_t flushes() const { return flushes_; }
  int64_t flushes_refused() const { return events_.batches_refused() + steps_.batches_refused(); }
  int64_t runs_blocked() const { return events_.runs_blocked() + steps_.runs_blocked(); }

  // The runs that such a notification names.
  static std::vector<std::string> announced_runs(std::string_view payload);

  // Called by writers alone: this one has something to be written.
  void enqueue(RunWriterPtr writer);
  // Called by writers alone: so many bytes more wait, or fewer.
  void count_pending(int64_t bytes);

 private:
  void committed(InFlightBatch& batch, const postgres::Results& results) override;
  Task<void> announce(const InFlightBatch& batch) override;
  void refused(const RunWriterPtr& writer) override;
  void came_to_rest() override;

  void apply_results(const LogEntry& entry, std::string_view created_at,
                     std::vector<events::SharedBatch>& published);
  void tell_of_waits(const InFlightBatch& batch);
  void count(const RunSteps& steps) const;
  bool is_idle(const LogLane& lane) const;
  bool is_idle() const { return is_idle(events_) && is_idle(steps_); }

  loop::Loop& loop_;
  postgres::Database& db_;
  events::EventBus& bus_;
  RunnerMetrics& metrics_;
  std::string daemon_id_;
  std::function<void(const RunWriterPtr&)> on_fenced_;
  LogLane events_;
  LogLane steps_;
  loop::Signal idle_;
  loop::Signal room_;
  int64_t pending_bytes_ = 0;
  int64_t server_ = 0;  // that took the last flush
  int64_t events_written_ = 0;
  int64_t flushes_ = 0;
  bool others_alive_ = true;
  bool leaves_blocked_ = false;  // at the end: what others hold up is not waited for
};

}  // namespace hostler::runner
