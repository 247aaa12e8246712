// One lane of the event log: one batch is in flight, what gathers meanwhile is the next one (no
// timer).
//
// Nobody waits long for a row that somebody else holds: a batch that meets one leaves the entries
// that want it behind, and these are tried again by themselves until they get it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/wait.h"
#include "lib/postgres/database.h"
#include "runner/events/in_flight_batch.h"
#include "runner/events/run_writer.h"

namespace hostler::runner {

// The log that a lane is of: hears what became of the batches.
class LaneOwner {
 public:
  virtual void committed(InFlightBatch& batch, const postgres::Results& results) = 0;
  // Awaited before the next batch.
  virtual Task<void> announce(const InFlightBatch& batch) = 0;
  // Postgres will never take what this run wrote.
  virtual void refused(const RunWriterPtr& writer) = 0;
  virtual void came_to_rest() = 0;

 protected:
  ~LaneOwner() = default;
};

class LogLane {
 public:
  // Bare events; or those with steps that ride in the same commit and take a hundred times as long.
  enum class Kind { events, steps };
  LogLane(Kind kind, loop::Loop& loop, postgres::Database& db, const std::string& daemon_id,
          LaneOwner& owner);
  LogLane(const LogLane&) = delete;
  LogLane& operator=(const LogLane&) = delete;

  void enqueue(RunWriterPtr writer);
  // For ever; wants a connection.
  Task<void> write_forever();

  // Something that is appended now has to wait.
  bool is_busy() const { return is_writing_ || !queue_.empty(); }
  bool holds_nothing() const { return blocked_.empty(); }
  int64_t batches_refused() const { return batches_refused_; }
  int64_t runs_blocked() const { return static_cast<int64_t>(blocked_.size()); }

 private:
  void wake();
  InFlightBatch take();
  Task<void> write(InFlightBatch whole);
  void note_refused(const InFlightBatch& batch, const postgres::BatchOutcome& outcome);
  Task<void> sift(InFlightBatch& batch);
  void hold_back(LogEntry entry);
  Task<void> retry_blocked();
  InFlightBatch take_blocked();
  InFlightBatch take_longest_blocked();

  const Kind kind_;
  loop::Loop& loop_;
  postgres::Database& db_;
  const std::string& daemon_id_;
  LaneOwner& owner_;
  std::deque<RunWriterPtr> queue_;  // those count that say that they are queued here
  loop::Signal wake_;
  bool is_writing_ = false;
  bool is_wake_due_ = false;
  std::deque<LogEntry> blocked_;  // somebody else held a row of theirs, the longest ago first
  loop::Timer retry_;             // runs while there are any and no retry is due
  bool is_retry_due_ = false;
  int64_t pause_ms_;
  int64_t batches_refused_ = 0;
};

}  // namespace hostler::runner
