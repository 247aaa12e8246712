// Writes the events of all runs of this daemon, in two lanes: bare events, and those with turns,
// usage and endings that ride in the same commit and take a hundred times as long. In each lane one
// batch is in flight, what gathers meanwhile is the next one (no timer); a run is in one at a time.
// After the commit the events go to the feed. The single writer of every run that this daemon owns.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/event_feed.h"
#include "lib/loop/db.h"
#include "lib/loop/task.h"
#include "lib/loop/wait.h"
#include "runner/active_run.h"
#include "runner/runner_metrics.h"

namespace hostler::runner {

using RunPtr = std::shared_ptr<ActiveRun>;

class EventLog {
 public:
  // on_lost hears of a run that this daemon turned out not to own any more (from the loop, never
  // from within a call of append).
  EventLog(Loop& loop, Database& db, EventFeed& feed, std::string daemon_id,
           std::function<void(const RunPtr&)> on_lost);

  // The events get their numbers now and reach the disk with the next flush. A step and what was
  // appended without a suspension before it commit in one transaction, but for deltas, which may
  // go ahead.
  void append(const RunPtr& run, std::string_view type, std::string data_json);
  // Deltas of one channel that gather between two flushes become one event.
  void append_delta(const RunPtr& run, std::string_view channel, std::string_view text);
  void commit_turn(const RunPtr& run, TurnRecord turn);
  // The result, and its tool.result event.
  void commit_tool(const RunPtr& run, ToolRecord tool, std::string data_json);
  // The run waits for a human: its last event, and it is nobody's until it is answered.
  void wait(const RunPtr& run, std::string data_json, WaitRecord record);
  void end(const RunPtr& run, std::string_view type, std::string data_json, Ending ending);

  // Nothing more is written for the run; on_lost hears of it.
  void lose(const RunPtr& run);

  // Returns when everything appended for the run so far is on disk; false when the run was lost.
  Task<bool> committed(RunPtr run);
  // Returns when nothing waits to be written.
  Task<void> drained();

  // The flushing coroutines; put each into the daemon's task set once. They want two connections.
  Task<void> write_events() { return write_lane(events_); }
  Task<void> write_steps() { return write_lane(steps_); }

  int64_t events_written() const { return events_written_; }
  int64_t flushes() const { return flushes_; }

 private:
  // One batch on its way: what was taken from each run.
  struct Part {
    RunPtr run;
    std::vector<PendingEvent> events;
    std::vector<TurnRecord> turns;
    std::vector<ToolRecord> tools;
    std::unique_ptr<WaitRecord> wait;
    std::unique_ptr<Ending> ending;
    int64_t writes = 0;  // the run's count when the part was taken

    size_t steps() const { return turns.size() + tools.size() + (wait ? 1 : 0) + (ending ? 1 : 0); }
  };
  struct Flight {
    std::vector<Part> parts;
    size_t append_index = 0;   // of the batch's statements: the one that appends the events,
    size_t steps_index = 0;    // and the first of the steps
    bool is_repeated = false;  // its first answer was lost: what is on disk may have another time
  };

  struct Lane {
    std::deque<RunPtr> queue;  // those count whose queued_in says so
    Signal wake;
    bool is_writing = false;
    bool is_wake_due = false;
  };

  void mark_dirty(const RunPtr& run);
  void enqueue(const RunPtr& run);
  void wake(Lane& lane);
  bool is_idle() const;
  Task<void> write_lane(Lane& lane);
  Flight take_flight(Lane& lane);
  static Part take_part(RunPtr run, bool goes_ahead);
  void land(const RunPtr& run);
  Batch batch_of(Flight& flight) const;
  void add_events(const Flight& flight, Batch& batch) const;
  void add_steps(const Part& part, Batch& batch) const;
  Task<void> write(Flight flight);
  Task<void> write_one_by_one(Flight flight);
  void settle(Flight& flight, const Results& results);
  void settle_part(Part& part, const std::string& created_at, bool is_repeated,
                   std::vector<CommittedEvents>& published);
  void count(const Part& part) const;
  Task<void> ring_others(const Flight& flight);

  Loop& loop_;
  Database& db_;
  EventFeed& feed_;
  std::string daemon_id_;
  std::function<void(const RunPtr&)> on_lost_;
  Lane events_;
  Lane steps_;
  Signal idle_;
  int64_t events_written_ = 0;
  int64_t flushes_ = 0;

 public:
  // Set by the run queue: other daemons live, so their followers must hear of new events.
  bool others_alive = true;  // until it is known
  // Set by the daemon: what is on disk is counted there.
  RunnerMetrics* metrics = nullptr;
};

}  // namespace hostler::runner
