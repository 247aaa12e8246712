// What is appended, taken and settled; see runner/event_log.h.
#include "runner/event_log.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <unordered_map>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/sse_frame.h"
#include "queries/daemon.h"

namespace hostler::runner {
namespace {

constexpr size_t delta_bytes_max = 64 * 1024;
// Of the fifteen seconds that the daemon has for its end.
constexpr int64_t held_patience_ms = 5000;

std::string delta_json(const PendingEvent& event) {
  JsonWriter json;
  json.begin_object().member("content", event.data);
  if (!event.channel.empty()) json.member("channel", event.channel);
  json.end_object();
  return json.take();
}

}  // namespace

EventLog::EventLog(Loop& loop, Database& db, EventFeed& feed, std::string daemon_id,
                   std::function<void(const RunPtr&)> on_lost)
    : loop_(loop),
      db_(db),
      feed_(feed),
      daemon_id_(std::move(daemon_id)),
      on_lost_(std::move(on_lost)),
      events_(loop),
      steps_(loop) {}

void EventLog::mark_dirty(const RunPtr& run) {
  ++run->writes;
  if (!run->is_in_flight) enqueue(run);
}

// Deltas that would have to wait for other runs' steps go ahead of their own.
void EventLog::enqueue(const RunPtr& run) {
  bool must_wait = steps_.is_writing || !steps_.queue.empty();
  bool goes_ahead = must_wait && !run->pending.empty() && run->pending.front().is_delta;
  Lane& lane = run->has_steps() && !goes_ahead ? steps_ : events_;
  if (run->queued_in == &lane) return;
  run->queued_in = &lane;
  lane.queue.push_back(run);
  wake(lane);
}

// Not at once: what is appended in one go (an event, and the step that it tells of) must commit
// together, and a signal resumes its waiter here and now.
void EventLog::wake(Lane& lane) {
  if (lane.is_wake_due) return;
  lane.is_wake_due = true;
  loop_.defer([&lane] {
    lane.is_wake_due = false;
    lane.wake.notify();
  });
}

void EventLog::append(const RunPtr& run, std::string_view type, std::string data_json) {
  if (run->is_lost) return;
  run->pending.push_back({++run->last_seq, std::string(type), std::move(data_json), false, {}});
  mark_dirty(run);
}

void EventLog::append_delta(const RunPtr& run, std::string_view channel, std::string_view text) {
  if (run->is_lost || text.empty()) return;
  if (!run->pending.empty()) {
    PendingEvent& last = run->pending.back();
    bool joins = last.is_delta && last.channel == channel && last.data.size() < delta_bytes_max;
    if (joins) {
      last.data += text;
      return;  // it is dirty already
    }
  }
  run->pending.push_back(
      {++run->last_seq, "message.delta", std::string(text), true, std::string(channel)});
  mark_dirty(run);
}

void EventLog::commit_turn(const RunPtr& run, TurnRecord turn) {
  if (run->is_lost) return;
  run->pending_turns.push_back(std::move(turn));
  mark_dirty(run);
}

void EventLog::commit_tool(const RunPtr& run, ToolRecord tool, std::string data_json) {
  if (run->is_lost) return;
  append(run, "tool.result", std::move(data_json));
  tool.seq = run->last_seq;
  run->pending_tools.push_back(std::move(tool));
  mark_dirty(run);
}

void EventLog::wait(const RunPtr& run, std::string data_json, WaitRecord record) {
  if (run->is_lost) return;
  assert(!run->is_ending);
  run->is_ending = true;
  append(run, "run.waiting_for_input", std::move(data_json));
  run->pending_wait = std::make_unique<WaitRecord>(std::move(record));
  mark_dirty(run);
}

void EventLog::end(const RunPtr& run, std::string_view type, std::string data_json, Ending ending) {
  if (run->is_lost) return;
  assert(!run->is_ending);
  run->is_ending = true;
  append(run, type, std::move(data_json));
  run->pending_ending = std::make_unique<Ending>(std::move(ending));
  mark_dirty(run);
}

Task<bool> EventLog::committed(RunPtr run) {
  int64_t wanted = run->writes;
  while (!run->is_lost && run->committed_writes < wanted) {
    co_await run->written.wait();
  }
  co_return !run->is_lost;
}

bool EventLog::is_idle(const Lane& lane) const {
  return !lane.is_writing && lane.queue.empty() && (lane.held.empty() || leaves_held_);
}

bool EventLog::is_idle() const { return is_idle(events_) && is_idle(steps_); }

Task<void> EventLog::drained() {
  Timer patience(loop_, [this] {
    leaves_held_ = true;
    idle_.notify();
  });
  patience.restart(held_patience_ms);
  while (!is_idle()) co_await idle_.wait();
}

Task<void> EventLog::write_lane(Lane& lane) {
  for (;;) {
    while (lane.queue.empty() && !lane.is_retry_due) co_await lane.wake.wait();
    lane.is_writing = true;
    if (lane.is_retry_due) co_await retry_held(lane);
    Flight flight = take_flight(lane);
    if (!flight.parts.empty()) co_await write(lane, std::move(flight));
    lane.is_writing = false;
    if (is_idle()) idle_.notify();
  }
}

EventLog::Flight EventLog::take_flight(Lane& lane) {
  Flight flight;
  size_t events = 0;
  size_t steps = 0;
  size_t bytes = 0;
  while (!lane.queue.empty() && events < events_max && steps < steps_max && bytes < bytes_max &&
         flight.parts.size() < runs_max) {
    RunPtr run = std::move(lane.queue.front());
    lane.queue.pop_front();
    if (run->queued_in != &lane) continue;  // the other lane's by now
    run->queued_in = nullptr;
    bool goes_ahead = &lane == &events_ && run->has_steps();
    Part part = take_part(std::move(run), goes_ahead);
    events += part.events.size();
    steps += part.steps();
    bytes += part.bytes();
    flight.parts.push_back(std::move(part));
  }
  return flight;
}

// Of a run whose steps wait for their lane the deltas alone.
EventLog::Part EventLog::take_part(RunPtr run, bool goes_ahead) {
  Part part;
  part.writes = goes_ahead ? run->committed_writes : run->writes;
  if (goes_ahead) {
    auto end = std::find_if_not(run->pending.begin(), run->pending.end(),
                                [](const PendingEvent& event) { return event.is_delta; });
    part.events.assign(std::make_move_iterator(run->pending.begin()), std::make_move_iterator(end));
    run->pending.erase(run->pending.begin(), end);
  } else {
    part.events = std::exchange(run->pending, {});
    part.turns = std::exchange(run->pending_turns, {});
    part.tools = std::exchange(run->pending_tools, {});
    part.wait = std::move(run->pending_wait);
    part.ending = std::move(run->pending_ending);
  }
  for (PendingEvent& event : part.events) {
    if (event.is_delta) event.data = delta_json(event);
  }
  run->is_in_flight = true;
  part.run = std::move(run);
  return part;
}

// The run's part is on disk, or the run is lost: what was appended meanwhile may be taken.
void EventLog::land(const RunPtr& run) {
  run->is_in_flight = false;
  if (run->has_pending()) enqueue(run);
}

void EventLog::settle(Flight& flight, const Results& results) {
  ++flushes_;
  const Result* appended = &results.at(flight.append_index);
  std::unordered_map<std::string_view, int> held;
  for (int i = 0; i < appended->size(); ++i) held.emplace((*appended)[i].text("id"), i);

  std::vector<CommittedEvents> published;
  size_t next_step = flight.steps_index;
  for (Part& part : flight.parts) {
    size_t first_step = std::exchange(next_step, next_step + part.steps());
    for (size_t i = 0; i < part.turns.size(); ++i) {
      part.run->credits_exhausted = !results.at(first_step + i).front().boolean("may_go_on");
    }
    auto place = held.find(part.run->id);
    if (!part.events.empty() && place == held.end()) {
      lose(part.run);
      continue;
    }
    std::string created_at;
    if (place != held.end()) created_at = (*appended)[place->second].text("created_at");
    settle_part(part, created_at, published);
  }
  if (!published.empty()) feed_.publish(std::move(published));
  for (Part& part : flight.parts) land(part.run);
  // Only now may the runs go on: they may append, end, or be destroyed.
  for (Part& part : flight.parts) part.run->written.notify();
}

void EventLog::settle_part(Part& part, const std::string& created_at,
                           std::vector<CommittedEvents>& published) {
  ActiveRun& run = *part.run;
  run.committed_writes = part.writes;
  if (part.ending || part.wait) run.has_ended = true;
  count(part);
  if (part.events.empty()) return;
  run.committed_seq = part.events.back().seq;
  events_written_ += static_cast<int64_t>(part.events.size());
  if (part.is_repeated) {
    // What is on disk may carry the time of the first attempt: followers read it there.
    feed_.changed_elsewhere({run.id});
    return;
  }
  CommittedEvents committed;
  committed.run_id = run.id;
  committed.first_seq = part.events.front().seq;
  committed.last_seq = run.committed_seq;
  committed.is_final = part.ending != nullptr;
  // Who follows from now on reads the table; frames that nobody wants are not made.
  if (!feed_.has_followers(run.id)) return;
  for (const PendingEvent& event : part.events) {
    append_frame(committed.frames, event.seq, event.type, event.data, created_at);
  }
  published.push_back(std::move(committed));
}

void EventLog::count(const Part& part) const {
  if (metrics == nullptr) return;
  for (const TurnRecord& turn : part.turns) metrics->count_turn(turn);
  for (const ToolRecord& tool : part.tools) metrics->count_tool(tool);
  if (part.wait) metrics->count_wait();
  if (part.ending) metrics->count_ending(*part.ending);
}

void EventLog::lose(const RunPtr& run) {
  if (run->is_lost) return;
  run->is_lost = true;
  run->pending.clear();
  run->pending_turns.clear();
  run->pending_tools.clear();
  run->pending_wait.reset();
  run->pending_ending.reset();
  feed_.changed_elsewhere({run->id});
  loop_.defer([this, lost = run] { on_lost_(lost); });
}

}  // namespace hostler::runner
