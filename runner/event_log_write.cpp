// How flights of the event log reach the disk, also past rows that somebody else holds; see
// runner/event_log.h.
#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_set>

#include "lib/log.h"
#include "queries/daemon.h"
#include "runner/event_log.h"

namespace hostler::runner {
namespace {

constexpr int64_t retry_delay_ms = 200;
// Between the tries of what others hold up; doubled while none gets its rows. Each costs the lane
// one lock_timeout_ms.
constexpr int64_t pause_least_ms = 100;
constexpr int64_t pause_most_ms = 500;
// NOTIFY takes less than 8000 bytes; 37 an id.
constexpr size_t bell_runs_max = 200;
constexpr int bell_tries_max = 20;

}  // namespace

EventLog::Lane::Lane(Loop& loop)
    : retry(loop,
            [this] {
              is_retry_due = true;
              wake.notify();
            }),
      pause_ms(pause_least_ms) {}

size_t EventLog::Part::bytes() const {
  size_t sum = ending ? ending->answer.size() : 0;
  for (const PendingEvent& event : events) sum += event.data.size();
  for (const TurnRecord& turn : turns) sum += turn.text.size() + turn.tool_calls_json.size();
  for (const ToolRecord& tool : tools) sum += tool.result.size();
  return sum;
}

// A flight that is refused is parted until it commits or is one run; what is left of it goes first.
Task<void> EventLog::write(Lane& lane, Flight whole) {
  // Rows are locked in the order of their ids, as by whoever else locks several.
  std::sort(whole.parts.begin(), whole.parts.end(),
            [](const Part& a, const Part& b) { return a.run->id < b.run->id; });
  std::deque<Flight> flights;
  flights.push_back(std::move(whole));
  while (!flights.empty()) {
    Flight flight = std::move(flights.front());
    flights.pop_front();
    Batch batch = batch_of(flight);
    BatchOutcome outcome = co_await db_.attempt(std::move(batch));
    if (!outcome.error) {
      settle(flight, outcome.results);
      co_await ring_others(flight);
      continue;
    }
    bool is_absence = outcome.is_unknown() && outcome.refusal == Refusal::none;
    if (is_absence) {
      // Nothing is lost while Postgres is away: the runs wait for their commit.
      for (Part& part : flight.parts) part.is_repeated = true;
      flights.push_front(std::move(flight));
      co_await sleep_ms(loop_, retry_delay_ms);
      continue;
    }
    note_refused(flight, outcome);
    size_t parts = flight.parts.size();
    bool may_sift = outcome.refusal == Refusal::held_up && !flight.is_sifted && parts > 1;
    if (may_sift) co_await sift(lane, flight);
    if (flight.parts.size() < parts) {
      if (!flight.parts.empty()) flights.push_front(std::move(flight));
    } else if (parts > 1) {
      flights.push_front(second_half_of(flight));
      flights.push_front(std::move(flight));
    } else if (outcome.refusal != Refusal::none) {
      set_aside(lane, std::move(flight.parts.front()));
    } else {
      lose(flight.parts.front().run);
      land(flight.parts.front().run);
    }
  }
}

void EventLog::note_refused(const Flight& flight, const BatchOutcome& outcome) {
  std::string runs = std::to_string(flight.parts.size());
  if (outcome.refusal == Refusal::none) {
    log_error("event_flush_failed", {{"runs", runs}, {"cause", outcome.error->cause}});
    return;
  }
  ++flushes_refused_;
  if (flight.is_retry) return;  // it was told already
  log_warning("event_flush_refused", {{"runs", runs}, {"cause", outcome.error->cause}});
}

EventLog::Flight EventLog::second_half_of(Flight& flight) {
  Flight half;
  half.is_sifted = flight.is_sifted;
  half.is_retry = flight.is_retry;
  auto middle = flight.parts.begin() + static_cast<std::ptrdiff_t>(flight.parts.size() / 2);
  half.parts.assign(std::make_move_iterator(middle), std::make_move_iterator(flight.parts.end()));
  flight.parts.erase(middle, flight.parts.end());
  return half;
}

// Leaves those behind whose rows somebody holds now. It waits for none of them, so one question
// tells for all.
Task<void> EventLog::sift(Lane& lane, Flight& flight) {
  flight.is_sifted = true;
  std::vector<std::string> written;
  std::vector<std::string> paid;
  std::vector<std::string> ended;
  for (const Part& part : flight.parts) {
    written.push_back(part.run->id);
    if (part.is_paid()) paid.push_back(part.run->id);
    if (part.ends_work()) ended.push_back(part.run->id);
  }
  Batch batch;
  batch.add(query::runs_held_up, Params().uuids(written).uuids(paid).uuids(ended));
  BatchOutcome outcome = co_await db_.attempt(std::move(batch));
  if (outcome.error) co_return;
  const Result& rows = outcome.results.at(0);
  std::unordered_set<std::string_view> held;
  for (int i = 0; i < rows.size(); ++i) held.insert(rows[i].text("id"));
  std::vector<Part> free;
  for (Part& part : flight.parts) {
    if (held.contains(part.run->id)) {
      set_aside(lane, std::move(part));
    } else {
      free.push_back(std::move(part));
    }
  }
  flight.parts = std::move(free);
}

// Its run stays in flight: what is appended meanwhile waits behind it.
void EventLog::set_aside(Lane& lane, Part part) {
  lane.held.push_back(std::move(part));
  if (!lane.retry.pending()) lane.retry.restart(lane.pause_ms);
}

// Writes those whose rows are free by now. While there are none, the runs of one organization after
// the other wait for theirs: a row that many want is never free, but given to those who wait.
Task<void> EventLog::retry_held(Lane& lane) {
  size_t held = lane.held.size();
  Flight flight = take_held(lane);
  co_await sift(lane, flight);
  if (flight.parts.empty()) flight = take_longest_held(lane);
  co_await write(lane, std::move(flight));
  bool is_going_on = lane.held.size() < held;
  lane.pause_ms = is_going_on ? pause_least_ms : std::min(2 * lane.pause_ms, pause_most_ms);
  lane.is_retry_due = false;
  lane.retry.cancel();
  if (!lane.held.empty()) lane.retry.restart(lane.pause_ms);
}

EventLog::Flight EventLog::take_held(Lane& lane) {
  Flight flight;
  flight.is_retry = true;
  size_t steps = 0;
  size_t bytes = 0;
  while (!lane.held.empty() && steps < steps_max && bytes < bytes_max &&
         flight.parts.size() < runs_max) {
    steps += lane.held.front().steps();
    bytes += lane.held.front().bytes();
    flight.parts.push_back(std::move(lane.held.front()));
    lane.held.pop_front();
  }
  return flight;
}

EventLog::Flight EventLog::take_longest_held(Lane& lane) {
  Flight flight;
  flight.is_retry = true;
  std::string org_id = lane.held.front().run->org_id;
  std::deque<Part> others;
  for (Part& part : lane.held) {
    bool is_taken = part.run->org_id == org_id && flight.parts.size() < steps_max;
    if (is_taken) {
      flight.parts.push_back(std::move(part));
    } else {
      others.push_back(std::move(part));
    }
  }
  lane.held = std::move(others);
  return flight;
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
  // NOTIFY takes a lock of the whole database. A bell that was lost is made good by the sweeps of
  // the other daemons.
  for (int tried = 0; tried < bell_tries_max; ++tried) {
    Batch again = bell;
    BatchOutcome outcome = co_await db_.attempt(std::move(again));
    if (outcome.refusal != Refusal::held_up) co_return;
  }
}

}  // namespace hostler::runner
