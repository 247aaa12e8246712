// See runner/events/event_log.h.
#include "runner/events/event_log.h"

#include <memory>
#include <utility>

#include "queries/daemon.h"

namespace hostler::runner {
namespace {

// Part of the fifteen seconds that the daemon has for its end.
constexpr int64_t blocked_patience_ms = 5000;
// NOTIFY takes less than 8000 bytes; 37 an id.
constexpr size_t notified_runs_max = 200;
constexpr int notify_tries_max = 20;

}  // namespace

EventLog::EventLog(loop::Loop& loop, postgres::Database& db, events::EventBus& bus,
                   RunnerMetrics& metrics, std::string daemon_id,
                   std::function<void(const RunWriterPtr&)> on_fenced)
    : loop_(loop),
      db_(db),
      bus_(bus),
      metrics_(metrics),
      daemon_id_(std::move(daemon_id)),
      on_fenced_(std::move(on_fenced)),
      events_(LogLane::Kind::events, loop, db, daemon_id_, *this),
      steps_(LogLane::Kind::steps, loop, db, daemon_id_, *this) {}

RunWriterPtr EventLog::open(Claim claim) {
  auto writer = std::make_shared<RunWriter>(std::move(claim), *this);
  // Whichever server answered the claim has all that was written of the run before it.
  writer->set_server(server_);
  return writer;
}

// Deltas that would have to wait for other runs' steps go ahead of their own.
void EventLog::enqueue(RunWriterPtr writer) {
  bool goes_ahead = steps_.is_busy() && writer->begins_with_delta();
  LogLane& lane = writer->has_steps() && !goes_ahead ? steps_ : events_;
  lane.enqueue(std::move(writer));
}

void EventLog::count_pending(int64_t bytes) {
  bool was_full = is_full();
  pending_bytes_ += bytes;
  if (was_full && !is_full()) room_.notify();
}

Task<void> EventLog::has_room() {
  while (is_full()) co_await room_.wait();
}

bool EventLog::is_idle(const LogLane& lane) const {
  return !lane.is_busy() && (lane.holds_nothing() || leaves_blocked_);
}

void EventLog::came_to_rest() {
  if (is_idle()) idle_.notify();
}

Task<void> EventLog::drained() {
  loop::Timer patience(loop_, [this] {
    leaves_blocked_ = true;
    idle_.notify();
  });
  patience.restart(blocked_patience_ms);
  while (!is_idle()) co_await idle_.wait();
}

void EventLog::committed(InFlightBatch& batch, const postgres::Results& results) {
  ++flushes_;
  InFlightBatch::Stored stored = batch.stored(results);
  std::unordered_map<std::string_view, RunFunds> solvent = batch.solvent_runs(results);
  std::unordered_set<std::string_view> disowned = batch.disowned_runs(results);
  int64_t server = batch.server(results);
  if (server != 0) server_ = server;
  std::vector<events::SharedBatch> published;
  for (const LogEntry& entry : batch.entries) {
    const std::string& run_id = entry.writer->claim().id;
    if (entry.steps.turn) {
      auto funds = solvent.find(run_id);
      entry.writer->set_credits_exhausted(funds == solvent.end());
      if (funds != solvent.end()) entry.writer->set_funds(funds->second);
    }
    bool is_ours = !disowned.contains(run_id) && !stored.lost_runs.contains(run_id);
    if (is_ours) {
      entry.writer->set_server(server);
      apply_results(entry, stored.at, published);
    } else {
      fence(entry.writer);
    }
  }
  if (!published.empty()) bus_.publish(std::move(published));
  tell_of_waits(batch);
  std::vector<RunWriterPtr> landed;
  for (const LogEntry& entry : batch.entries) {
    entry.writer->land();
    landed.push_back(entry.writer);
  }
  // Only now may the runs go on: they may append, end, or be destroyed. Behind the next flush: what
  // they read and append goes on while Postgres has that.
  loop_.defer([landed = std::move(landed)] {
    for (const RunWriterPtr& writer : landed) writer->written().notify();
  });
}

void EventLog::apply_results(const LogEntry& entry, std::string_view created_at,
                             std::vector<events::SharedBatch>& published) {
  entry.writer->apply_results(entry);
  count(entry.steps);
  if (entry.events.empty()) return;
  events_written_ += static_cast<int64_t>(entry.events.size());
  const std::string& run_id = entry.writer->claim().id;
  if (entry.is_repeated) {
    // Stored events may have the time of the first attempt. Subscribers read it there.
    bus_.changed_elsewhere({run_id});
    return;
  }
  // Subscribers that come from now on read the table. Batches that nobody wants are not made.
  if (!bus_.has_subscribers(run_id)) return;
  auto events = std::make_shared<events::EventBatch>(run_id);
  for (const RunEvent& event : entry.events) {
    events->append(event.seq, event.type, event.data, created_at);
  }
  published.push_back(std::move(events));
}

// A cancel that came before the wait ended the run in the same transaction: that event is in the
// table alone.
void EventLog::tell_of_waits(const InFlightBatch& batch) {
  std::vector<std::string> run_ids;
  for (const LogEntry& entry : batch.entries) {
    if (entry.steps.wait) run_ids.push_back(entry.writer->claim().id);
  }
  if (!run_ids.empty()) bus_.changed_elsewhere(std::move(run_ids));
}

void EventLog::count(const RunSteps& steps) const {
  if (steps.turn) metrics_.count_turn(*steps.turn);
  for (const ToolRecord& tool : steps.tools) metrics_.count_tool(tool);
  if (!steps.route_id.empty()) metrics_.count_fall_back();
  if (steps.wait) metrics_.count_wait();
  if (steps.outcome) metrics_.count_outcome(*steps.outcome);
}

void EventLog::refused(const RunWriterPtr& writer) {
  fence(writer);
  writer->land();
}

void EventLog::fence(const RunWriterPtr& writer) {
  if (writer->is_fenced()) return;
  writer->abandon();
  writer->drop();
  bus_.changed_elsewhere({writer->claim().id});
  loop_.defer([this, writer] { on_fenced_(writer); });
}

Task<void> EventLog::announce(const InFlightBatch& batch) {
  if (!others_alive_) co_return;
  // Sends as many notifications as needed in one round trip, because a payload has at most 8000
  // bytes.
  std::vector<std::string> payloads;
  size_t count = 0;
  for (const LogEntry& entry : batch.entries) {
    if (entry.events.empty()) continue;
    const std::string& run_id = entry.writer->claim().id;
    if (count++ % notified_runs_max == 0) {
      payloads.push_back(run_id);
    } else {
      payloads.back() += ' ' + run_id;
    }
  }
  if (payloads.empty()) co_return;
  postgres::Batch notifications;
  for (const std::string& payload : payloads) {
    notifications.add(query::EventNotify{.run_ids = payload});
  }
  // NOTIFY takes a lock of the whole database. One that is lost is made good by the polls of the
  // other daemons.
  for (int tried = 0; tried < notify_tries_max; ++tried) {
    postgres::Batch again = notifications;
    postgres::BatchOutcome outcome = co_await db_.attempt(std::move(again));
    if (outcome.refusal != postgres::Refusal::blocked) co_return;
  }
}

std::vector<std::string> EventLog::announced_runs(std::string_view payload) {
  std::vector<std::string> run_ids;
  while (!payload.empty()) {
    size_t end = payload.find(' ');
    run_ids.emplace_back(payload.substr(0, end));
    payload.remove_prefix(end == std::string_view::npos ? payload.size() : end + 1);
  }
  return run_ids;
}

}  // namespace hostler::runner
