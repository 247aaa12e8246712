// Single writer of one run's events and steps, given out by the event log. Appended values wait
// here until a lane of the log takes them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/loop/task.h"
#include "lib/loop/wait.h"
#include "lib/postgres/database.h"
#include "runner/models/run_failure.h"
#include "runner/steps/claim.h"
#include "runner/steps/run_steps.h"

namespace hostler::runner {

class EventLog;
class LogLane;
class RunWriter;

struct RunEvent {
  int64_t seq;
  std::string type;
  std::string data;  // JSON text
};

// Values of one run that go to Postgres together.
struct LogEntry {
  std::shared_ptr<RunWriter> writer;
  std::vector<RunEvent> events;
  RunSteps steps;
  int64_t writes = 0;        // the writer's count when the entry was taken
  bool is_repeated = false;  // an answer was lost: it may be on disk, with another time

  size_t bytes() const;  // of what is to be stored
  // Likewise, as the run's account counts them.
  int64_t event_bytes() const;
  int64_t result_bytes() const;
};

class RunWriter final : public std::enable_shared_from_this<RunWriter> {
 public:
  RunWriter(Claim claim, EventLog& log);
  ~RunWriter();
  RunWriter(const RunWriter&) = delete;
  RunWriter& operator=(const RunWriter&) = delete;

  const Claim& claim() const { return claim_; }
  EventLog& log() const { return log_; }

  // The events get their numbers now and reach the disk with the next flush. A step and what was
  // appended without a suspension before it commit in one transaction, but for deltas, which may
  // go ahead.
  void append(std::string_view type, std::string data_json);
  // Deltas of one channel that gather between two flushes become one event.
  void append_delta(std::string_view channel, std::string_view text);
  void commit_turn(TurnRecord turn);
  // The run falls back to this route: later turns are priced by it.
  void change_route(std::string route_id);
  // The result, and its tool.result event.
  void commit_tool(ToolRecord tool, std::string data_json);
  // The run waits for a human: this is its last event, and no daemon owns it until an answer.
  void wait(std::string data_json, WaitRecord record);
  void end(std::string_view type, std::string data_json, Outcome outcome);

  // Maximum size of the run's events (limit.run_event_bytes); 0: any number. Nothing is refused
  // here: callers that append ask whether the run is full, and end it.
  void limit_output(int64_t bytes_max) { output_bytes_max_ = bytes_max; }
  // Besides what is appended here: what had no room.
  void count_output(int64_t bytes) { output_bytes_ += bytes; }
  // Tool values of the run that were stored since it was claimed, besides their results.
  void count_stored(int64_t bytes) { result_bytes_ += bytes; }
  bool is_full() const { return output_bytes_max_ > 0 && output_bytes_ > output_bytes_max_; }
  // Whether an event of this size would still fit.
  bool has_room(size_t bytes) const;
  // How a run ends that is full, or would be. what: in words, without a full stop.
  RunFailure output_failure(
      std::string_view what = "The run's events hold as much as they may") const;

  // Returns when everything appended so far is on disk; false when the run was fenced.
  Task<bool> committed();
  // Appended values wait for a flush.
  bool is_behind() const { return is_in_flight_ || queued_in_ != nullptr; }
  // Returns with the next flush that concerns the run, or when that takes its time.
  Task<void> caught_up();
  // Another daemon has the run: nothing further is appended. Where on_fenced is to be called too,
  // use EventLog::fence.
  void abandon() { is_fenced_ = true; }

  int64_t last_seq() const { return last_seq_; }            // given to the newest event
  int64_t committed_seq() const { return committed_seq_; }  // on disk
  // Size of events, results of tools and the output that are on disk, since the run began.
  int64_t event_bytes() const { return event_bytes_; }
  int64_t result_bytes() const { return result_bytes_; }
  bool is_on_disk() const { return committed_writes_ == writes_; }
  bool is_fenced() const { return is_fenced_; }  // nothing is written any more
  bool is_ending() const { return is_ending_; }  // its outcome, or its wait, was appended
  bool has_ended() const { return has_ended_; }  // that is on disk: the daemon does not own it
  // The last turn took what there was: no other may follow.
  bool has_exhausted_credits() const { return has_exhausted_credits_; }
  // Since the last turn was stored; nothing: none was.
  const std::optional<RunFunds>& funds() const { return funds_; }
  loop::Signal& written() { return written_; }  // after each flush that concerns it
  // The server that has all that is on disk (server_number); 0: not known.
  int64_t server() const { return server_; }

  // The log's half: EventLog and LogLane alone.

  bool has_steps() const { return !steps_.empty(); }
  bool has_pending() const { return !events_.empty() || has_steps(); }
  bool begins_with_delta() const;
  // Asks the lane to take what is pending. False: it was asked already.
  bool queue_in(const LogLane& lane);
  // The lane takes it now. False: it is for the other lane.
  bool leave_queue(const LogLane& lane);
  // Returns the pending values, or only the deltas that come first. Nothing more is taken until it
  // has landed.
  LogEntry take();
  LogEntry take_deltas();
  // The entry is on disk.
  void apply_results(const LogEntry& entry);
  void set_server(int64_t server) { server_ = server; }
  void set_credits_exhausted(bool are_exhausted) { has_exhausted_credits_ = are_exhausted; }
  void set_funds(RunFunds funds) { funds_ = funds; }
  // It is on disk, or the run is fenced: what was appended meanwhile may be taken.
  void land();
  void drop();  // what is pending, for good

 private:
  struct JsonEvent {
    std::string type;
    std::string data;
  };
  // The text that gathers until the next flush.
  struct TextDelta {
    std::string channel;  // empty or "thinking"
    std::string text;
  };
  struct PendingEvent {
    int64_t seq;
    std::variant<JsonEvent, TextDelta> body;
  };

  RunEvent finished(PendingEvent event);
  void mark_dirty();
  void count_pending(size_t bytes);

  const Claim claim_;
  EventLog& log_;
  int64_t last_seq_;
  int64_t committed_seq_;
  int64_t server_ = 0;
  int64_t event_bytes_;
  int64_t result_bytes_;
  int64_t output_bytes_;
  int64_t output_bytes_max_ = 0;
  int64_t pending_bytes_ = 0;    // of events_, as the log counts them
  int64_t in_flight_bytes_ = 0;  // of what a lane has taken
  int64_t writes_ = 0;           // appended: events, turns, the outcome
  int64_t committed_writes_ = 0;
  std::vector<PendingEvent> events_;
  RunSteps steps_;
  const LogLane* queued_in_ = nullptr;
  bool is_in_flight_ = false;  // a lane writes for it; what is appended waits until it is done
  bool is_fenced_ = false;
  bool is_ending_ = false;
  bool has_ended_ = false;
  bool has_exhausted_credits_ = false;
  std::optional<RunFunds> funds_;
  loop::Signal written_;
};

using RunWriterPtr = std::shared_ptr<RunWriter>;

}  // namespace hostler::runner
