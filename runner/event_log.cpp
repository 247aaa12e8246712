// The group commit; see runner/event_log.h.
#include "runner/event_log.h"

#include <cassert>
#include <unordered_map>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/sse_frame.h"
#include "queries/daemon.h"

namespace hostler::runner {
namespace {

// Bounds of one batch: what is more waits for the next.
constexpr size_t batch_events_max = 5000;
constexpr size_t batch_runs_max = 1000;
constexpr size_t delta_bytes_max = 64 * 1024;
constexpr int64_t retry_delay_ms = 200;
// NOTIFY takes less than 8000 bytes; 37 an id.
constexpr size_t bell_runs_max = 200;

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
      on_lost_(std::move(on_lost)) {}

void EventLog::mark_dirty(const RunPtr& run) {
  ++run->writes;
  if (run->is_dirty) return;
  run->is_dirty = true;
  dirty_.push_back(run);
  // Not at once: what is appended in one go (an event, and the step that it tells of) must commit
  // together, and a signal resumes its waiter here and now.
  if (is_wake_due_) return;
  is_wake_due_ = true;
  loop_.defer([this] {
    is_wake_due_ = false;
    wake_.notify();
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

Task<void> EventLog::drained() {
  while (is_writing_ || !dirty_.empty()) co_await idle_.wait();
}

Task<void> EventLog::run() {
  for (;;) {
    while (dirty_.empty()) co_await wake_.wait();
    is_writing_ = true;
    Flight flight = take_flight();
    co_await write(std::move(flight));
    is_writing_ = false;
    if (dirty_.empty()) idle_.notify();
  }
}

EventLog::Flight EventLog::take_flight() {
  Flight flight;
  size_t events = 0;
  while (!dirty_.empty() && events < batch_events_max && flight.parts.size() < batch_runs_max) {
    RunPtr run = std::move(dirty_.front());
    dirty_.pop_front();
    run->is_dirty = false;
    events += run->pending.size();
    Part part;
    part.events = std::exchange(run->pending, {});
    part.turns = std::exchange(run->pending_turns, {});
    part.tools = std::exchange(run->pending_tools, {});
    part.wait = std::move(run->pending_wait);
    part.ending = std::move(run->pending_ending);
    part.writes = run->writes;
    for (PendingEvent& event : part.events) {
      if (event.is_delta) event.data = delta_json(event);
    }
    part.run = std::move(run);
    flight.parts.push_back(std::move(part));
  }
  return flight;
}

// Order matters: threads are locked before runs and these before accounts, each in the order of
// their ids; events are written while the run is still owned. Answers behind what the steps stand.
Batch EventLog::batch_of(Flight& flight) const {
  std::vector<std::string> threads;
  std::vector<std::string> payers;
  for (const Part& part : flight.parts) {
    bool ends = part.ending || part.wait;
    if (ends) threads.push_back(part.run->thread_id);
    if (ends || !part.turns.empty()) payers.push_back(part.run->org_id);
  }
  Batch batch;
  if (!threads.empty()) batch.add(query::thread_lock, Params().uuids(threads));
  flight.append_index = threads.empty() ? 0 : 1;
  add_events(flight, batch);
  if (!payers.empty()) batch.add(query::account_lock, Params().uuids(payers));
  flight.steps_index = flight.append_index + (payers.empty() ? 1 : 2);
  for (const Part& part : flight.parts) add_steps(part, batch);
  return batch;
}

void EventLog::add_events(const Flight& flight, Batch& batch) const {
  std::vector<std::string> run_ids;
  std::vector<int64_t> epochs;
  std::vector<int64_t> places;
  std::vector<int64_t> seqs;
  std::vector<std::string> types;
  std::vector<std::string> data;
  for (const Part& part : flight.parts) {
    if (part.events.empty()) continue;
    run_ids.push_back(part.run->id);
    epochs.push_back(part.run->epoch);
    for (const PendingEvent& event : part.events) {
      places.push_back(static_cast<int64_t>(run_ids.size()));
      seqs.push_back(event.seq);
      types.push_back(event.type);
      data.push_back(event.data);
    }
  }
  Params params;
  params.text(daemon_id_).uuids(run_ids).integers(epochs);
  params.integers(places).integers(seqs).texts(types).jsons(data);
  batch.add(flight.is_repeated ? query::event_append_again : query::event_append,
            std::move(params));
}

void EventLog::add_steps(const Part& part, Batch& batch) const {
  const ActiveRun& run = *part.run;
  auto owned = [&] {
    Params params;
    params.text(daemon_id_).text(run.id).integer(run.epoch);
    return params;
  };
  int64_t last_seq = part.events.empty() ? run.committed_seq : part.events.back().seq;
  for (const TurnRecord& turn : part.turns) {
    Params params = owned();
    params.integer(turn.turn).text(turn.text).text(turn.tool_calls_json).integer(last_seq);
    params.integer(turn.usage.input_tokens).integer(turn.usage.output_tokens);
    params.integer(turn.usage.cache_read_tokens).integer(turn.usage.cache_write_tokens);
    params.boolean(turn.usage.measured).boolean(turn.is_finished);
    params.integer(turn.credits_per_usd).integer(turn.run_hold);
    batch.add(query::run_turn_commit, std::move(params));
  }
  for (const ToolRecord& tool : part.tools) {
    Params params = owned();
    params.integer(tool.turn).text(tool.call.id).text(tool.call.name);
    if (tool.error_code.empty()) {
      params.text(tool.result).null().null();
    } else {
      params.null().text(tool.error_code).text(tool.error_message);
    }
    params.integer(tool.duration_ms).integer(tool.seq);
    batch.add(query::run_tool_commit, std::move(params));
  }
  if (part.wait) {
    Params params = owned();
    params.integer(last_seq).text(part.wait->request_json).integer(part.wait->wait_seconds);
    batch.add(query::run_wait, std::move(params));
  }
  if (part.ending) {
    const Ending& ending = *part.ending;
    Params params = owned();
    params.text(ending.status).integer(last_seq);
    if (ending.code.empty()) {
      params.null().null();
    } else {
      params.text(ending.code).text(ending.message);
    }
    params.text(ending.answer).boolean(ending.is_incomplete);
    batch.add(query::run_finish, std::move(params));
  }
}

Task<void> EventLog::write(Flight flight) {
  for (;;) {
    Batch batch = batch_of(flight);
    BatchOutcome outcome = co_await db_.attempt(std::move(batch));
    if (!outcome.error) {
      settle(flight, outcome.results);
      co_await ring_others(flight);
      co_return;
    }
    if (!outcome.is_unknown()) {
      log_error("event_flush_failed", {{"cause", outcome.error->cause}});
      if (flight.parts.size() > 1) {
        co_await write_one_by_one(std::move(flight));
      } else {
        lose(flight.parts.front().run);
      }
      co_return;
    }
    // Nothing is lost while Postgres is away: the runs wait for their commit.
    flight.is_repeated = true;
    co_await sleep_ms(loop_, retry_delay_ms);
  }
}

// One bad run must not stop the others.
Task<void> EventLog::write_one_by_one(Flight flight) {
  for (Part& part : flight.parts) {
    Flight single;
    single.is_repeated = flight.is_repeated;
    single.parts.push_back(std::move(part));
    co_await write(std::move(single));
  }
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
    settle_part(part, created_at, flight.is_repeated, published);
  }
  if (!published.empty()) feed_.publish(std::move(published));
  // Only now may the runs go on: they may append, end, or be destroyed.
  for (Part& part : flight.parts) part.run->written.notify();
}

void EventLog::settle_part(Part& part, const std::string& created_at, bool is_repeated,
                           std::vector<CommittedEvents>& published) {
  ActiveRun& run = *part.run;
  run.committed_writes = part.writes;
  if (part.ending || part.wait) run.has_ended = true;
  count(part);
  if (part.events.empty()) return;
  run.committed_seq = part.events.back().seq;
  events_written_ += static_cast<int64_t>(part.events.size());
  if (is_repeated) {
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

Task<void> EventLog::ring_others(const Flight& flight) {
  if (!others_alive) co_return;
  // As many bells as it takes, in one round trip: a payload holds 8000 bytes.
  std::vector<std::string> payloads;
  size_t count = 0;
  for (const Part& part : flight.parts) {
    if (part.events.empty()) continue;
    if (count++ % bell_runs_max == 0) {
      payloads.push_back(part.run->id);
    } else {
      payloads.back() += ' ' + part.run->id;
    }
  }
  if (payloads.empty()) co_return;
  Batch bell;
  for (const std::string& payload : payloads) {
    bell.add(query::event_bell, Params().text(payload));
  }
  // A bell that was lost is made good by the sweeps of the other daemons.
  co_await db_.attempt(std::move(bell));
}

}  // namespace hostler::runner
