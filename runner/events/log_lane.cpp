// See runner/events/log_lane.h.
#include "runner/events/log_lane.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "lib/log.h"
#include "queries/daemon.h"

namespace hostler::runner {
namespace {

constexpr int64_t retry_delay_ms = 200;
// Between the tries of what others hold up; doubled while none gets its rows. Each costs the lane
// one lock_timeout_ms.
constexpr int64_t pause_min_ms = 100;
constexpr int64_t pause_max_ms = 500;

}  // namespace

LogLane::LogLane(Kind kind, loop::Loop& loop, postgres::Database& db, const std::string& daemon_id,
                 LaneOwner& owner)
    : kind_(kind),
      loop_(loop),
      db_(db),
      daemon_id_(daemon_id),
      owner_(owner),
      retry_(loop,
             [this] {
               is_retry_due_ = true;
               wake_.notify();
             }),
      pause_ms_(pause_min_ms) {}

void LogLane::enqueue(RunWriterPtr writer) {
  if (!writer->queue_in(*this)) return;
  queue_.push_back(std::move(writer));
  wake();
}

// Not at once, because values that are appended together (an event, and its step) must commit
// together, and a signal resumes its waiter immediately.
void LogLane::wake() {
  if (is_wake_due_) return;
  is_wake_due_ = true;
  loop_.defer([this] {
    is_wake_due_ = false;
    wake_.notify();
  });
}

Task<void> LogLane::write_forever() {
  for (;;) {
    while (queue_.empty() && !is_retry_due_) co_await wake_.wait();
    is_writing_ = true;
    if (is_retry_due_) co_await retry_blocked();
    InFlightBatch batch = take();
    if (!batch.empty()) co_await write(std::move(batch));
    is_writing_ = false;
    owner_.came_to_rest();
  }
}

InFlightBatch LogLane::take() {
  InFlightBatch batch;
  while (!queue_.empty() && batch.has_room()) {
    RunWriterPtr writer = std::move(queue_.front());
    queue_.pop_front();
    if (!writer->leave_queue(*this)) continue;  // the other lane's by now
    // The new owner of the run reports its unwritten events again.
    if (writer->is_fenced()) {
      writer->drop();
      continue;
    }
    // Takes only the deltas of a run whose steps wait for their lane.
    bool goes_ahead = kind_ == Kind::events && writer->has_steps();
    batch.add(goes_ahead ? writer->take_deltas() : writer->take());
  }
  return batch;
}

// A batch that is refused is parted until it commits or is one run; what is left of it goes first.
Task<void> LogLane::write(InFlightBatch whole) {
  whole.sort();
  std::deque<InFlightBatch> batches;
  batches.push_back(std::move(whole));
  while (!batches.empty()) {
    InFlightBatch batch = std::move(batches.front());
    batches.pop_front();
    postgres::Batch statements = batch.statements(daemon_id_);
    postgres::BatchOutcome outcome = co_await db_.attempt(std::move(statements));
    if (!outcome.error) {
      owner_.committed(batch, outcome.results);
      co_await owner_.announce(batch);
      continue;
    }
    bool is_absence = outcome.is_unknown() && outcome.refusal == postgres::Refusal::none;
    if (is_absence) {
      // While Postgres is away, nothing is lost: the runs wait for their commit.
      for (LogEntry& entry : batch.entries) entry.is_repeated = true;
      batches.push_front(std::move(batch));
      co_await loop::sleep_ms(loop_, retry_delay_ms);
      continue;
    }
    note_refused(batch, outcome);
    size_t entries = batch.entries.size();
    bool may_sift =
        outcome.refusal == postgres::Refusal::blocked && !batch.is_sifted && entries > 1;
    if (may_sift) co_await sift(batch);
    if (batch.entries.size() < entries) {
      if (!batch.empty()) batches.push_front(std::move(batch));
    } else if (entries > 1) {
      batches.push_front(batch.take_second_half());
      batches.push_front(std::move(batch));
    } else if (outcome.refusal != postgres::Refusal::none) {
      hold_back(std::move(batch.entries.front()));
    } else {
      owner_.refused(batch.entries.front().writer);
    }
  }
}

void LogLane::note_refused(const InFlightBatch& batch, const postgres::BatchOutcome& outcome) {
  std::string runs = std::to_string(batch.entries.size());
  if (outcome.refusal == postgres::Refusal::none) {
    log_error("event_flush_failed", {{"runs", runs}, {"cause", outcome.error->cause}});
    return;
  }
  ++batches_refused_;
  if (batch.is_retry) return;  // it was told already
  log_warning("event_flush_refused", {{"runs", runs}, {"cause", outcome.error->cause}});
}

// Leaves those behind whose rows somebody holds now. It waits for none of them, so one question
// tells for all.
Task<void> LogLane::sift(InFlightBatch& batch) {
  batch.is_sifted = true;
  postgres::Batch question;
  question.add(batch.locked_rows_query());
  postgres::BatchOutcome outcome = co_await db_.attempt(std::move(question));
  if (outcome.error) co_return;
  const postgres::Result& rows = outcome.results.at(0);
  std::unordered_set<std::string_view> blocked;
  for (int i = 0; i < rows.size(); ++i) blocked.insert(rows[i].text("id"));
  for (LogEntry& entry : batch.take_out(blocked)) hold_back(std::move(entry));
}

// Its run stays in flight. Later events wait for it.
void LogLane::hold_back(LogEntry entry) {
  blocked_.push_back(std::move(entry));
  if (!retry_.pending()) retry_.restart(pause_ms_);
}

// Writes runs whose rows are free by now. While none is, the runs of one organization wait for
// theirs one after the other. A row that many want is never free, but given to waiting statements.
Task<void> LogLane::retry_blocked() {
  size_t blocked = blocked_.size();
  InFlightBatch batch = take_blocked();
  co_await sift(batch);
  if (batch.empty()) batch = take_longest_blocked();
  co_await write(std::move(batch));
  bool is_going_on = blocked_.size() < blocked;
  pause_ms_ = is_going_on ? pause_min_ms : std::min(2 * pause_ms_, pause_max_ms);
  is_retry_due_ = false;
  retry_.cancel();
  if (!blocked_.empty()) retry_.restart(pause_ms_);
}

InFlightBatch LogLane::take_blocked() {
  InFlightBatch batch;
  batch.is_retry = true;
  while (!blocked_.empty() && batch.has_room()) {
    batch.add(std::move(blocked_.front()));
    blocked_.pop_front();
  }
  return batch;
}

InFlightBatch LogLane::take_longest_blocked() {
  InFlightBatch batch;
  batch.is_retry = true;
  std::string org_id = blocked_.front().writer->claim().org_id;
  std::deque<LogEntry> others;
  for (LogEntry& entry : blocked_) {
    bool is_taken =
        entry.writer->claim().org_id == org_id && batch.entries.size() < InFlightBatch::steps_max;
    if (is_taken) {
      batch.add(std::move(entry));
    } else {
      others.push_back(std::move(entry));
    }
  }
  blocked_ = std::move(others);
  return batch;
}

}  // namespace hostler::runner
