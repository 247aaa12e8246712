// Writes the events of all runs of this daemon, in two lanes: bare events, and those with turns,
// usage and endings that ride in the same commit and take a hundred times as long. In each lane one
// batch is in flight, what gathers meanwhile is the next one (no timer); a run is in one at a time.
// After the commit the events go to the feed. The single writer of every run that this daemon owns.
//
// Nobody waits long for a row that somebody else holds: a flight that meets one leaves the parts
// that want it behind, and these are tried again by themselves until they get it.
#pragma once

#include <deque>
#include <functional>
#include <iterator>
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
  // What the database must be told to wait for a lock, so that one that is held delays the other
  // runs of a flight by no more.
  static constexpr int64_t lock_timeout_ms = 100;

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
  // Returns when nothing waits to be written, or nothing but what others hold up: that is waited
  // for at most five seconds.
  Task<void> drained();

  // The flushing coroutines; put each into the daemon's task set once. They want two connections.
  Task<void> write_events() { return write_lane(events_); }
  Task<void> write_steps() { return write_lane(steps_); }

  int64_t events_written() const { return events_written_; }
  int64_t flushes() const { return flushes_; }
  int64_t flushes_refused() const { return flushes_refused_; }
  int64_t runs_held_up() const { return std::ssize(events_.held) + std::ssize(steps_.held); }

 private:
  // What a flight takes from a run.
  struct Part {
    RunPtr run;
    std::vector<PendingEvent> events;
    std::vector<TurnRecord> turns;
    std::vector<ToolRecord> tools;
    std::unique_ptr<WaitRecord> wait;
    std::unique_ptr<Ending> ending;
    int64_t writes = 0;        // the run's count when the part was taken
    bool is_repeated = false;  // an answer was lost: what is on disk may have another time

    size_t steps() const { return turns.size() + tools.size() + (wait ? 1 : 0) + (ending ? 1 : 0); }
    size_t bytes() const;                              // of what is to be stored
    bool ends_work() const { return wait || ending; }  // the thread's next run may begin
    bool is_paid() const { return ends_work() || !turns.empty(); }
  };
  // One batch on its way.
  struct Flight {
    std::vector<Part> parts;
    size_t append_index = 0;  // of the batch's statements: the one that appends the events,
    size_t steps_index = 0;   // and the first of the steps
    bool is_sifted = false;   // whose rows somebody held was left behind
    bool is_retry = false;
  };

  // Bounds of one flight: what is more waits for the next.
  static constexpr size_t events_max = 5000;
  static constexpr size_t runs_max = 1000;
  // Each takes about two milliseconds, and the runs behind it wait for the commit of all.
  static constexpr size_t steps_max = 32;
  // Takes some tenths of a second; a run that has more by itself goes all the same.
  static constexpr size_t bytes_max = 4 * 1024 * 1024;

  struct Lane {
    explicit Lane(Loop& loop);
    std::deque<RunPtr> queue;  // those count whose queued_in says so
    Signal wake;
    bool is_writing = false;
    bool is_wake_due = false;
    // Somebody else held a row of theirs, the longest ago first.
    std::deque<Part> held;
    Timer retry;  // runs while there are any and no retry is due
    bool is_retry_due = false;
    int64_t pause_ms;
  };

  void mark_dirty(const RunPtr& run);
  void enqueue(const RunPtr& run);
  void wake(Lane& lane);
  bool is_idle() const;
  bool is_idle(const Lane& lane) const;
  Task<void> write_lane(Lane& lane);
  Flight take_flight(Lane& lane);
  static Part take_part(RunPtr run, bool goes_ahead);
  void land(const RunPtr& run);
  Task<void> write(Lane& lane, Flight flight);
  void note_refused(const Flight& flight, const BatchOutcome& outcome);
  static Flight second_half_of(Flight& flight);
  Task<void> sift(Lane& lane, Flight& flight);
  Task<void> retry_held(Lane& lane);
  static Flight take_held(Lane& lane);
  static Flight take_longest_held(Lane& lane);
  static void set_aside(Lane& lane, Part part);
  Batch batch_of(Flight& flight) const;
  void add_events(const Flight& flight, Batch& batch) const;
  void add_steps(const Part& part, Batch& batch) const;
  void settle(Flight& flight, const Results& results);
  void settle_part(Part& part, const std::string& created_at,
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
  int64_t flushes_refused_ = 0;
  bool leaves_held_ = false;  // at the end: what others hold up is not waited for

 public:
  // Set by the run queue: other daemons live, so their followers must hear of new events.
  bool others_alive = true;  // until it is known
  // Set by the daemon: what is on disk is counted there.
  RunnerMetrics* metrics = nullptr;
};

}  // namespace hostler::runner
