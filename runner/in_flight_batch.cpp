// See runner/in_flight_batch.h.
#include "runner/in_flight_batch.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "queries/daemon.h"

namespace hostler::runner {
namespace {

constexpr size_t events_max = 5000;
// Takes some tenths of a second; a run that has more by itself goes all the same.
constexpr size_t bytes_max = 4 * 1024 * 1024;

void add_turn(const TurnRecord& turn, int64_t last_seq, Params params, Batch& batch) {
  params.integer(turn.turn).text(turn.text).text(turn.tool_calls_json).integer(last_seq);
  params.integer(turn.usage.input_tokens).integer(turn.usage.output_tokens);
  params.integer(turn.usage.cache_read_tokens).integer(turn.usage.cache_write_tokens);
  params.boolean(turn.usage.measured).boolean(turn.is_finished);
  params.integer(turn.credits_per_usd).integer(turn.run_hold);
  batch.add(query::run_turn_commit, std::move(params));
}

void add_tool(const ToolRecord& tool, Params params, Batch& batch) {
  params.integer(tool.turn).text(tool.call.id).text(tool.call.name);
  if (tool.error_code.empty()) {
    params.text(tool.result).null().null();
  } else {
    params.null().text(tool.error_code).text(tool.error_message);
  }
  params.integer(tool.duration_ms).integer(tool.seq);
  batch.add(query::run_tool_commit, std::move(params));
}

void add_ending(const Ending& ending, int64_t last_seq, Params params, Batch& batch) {
  params.text(ending.status).integer(last_seq);
  if (ending.code.empty()) {
    params.null().null();
  } else {
    params.text(ending.code).text(ending.message);
  }
  params.text(ending.answer).boolean(ending.is_incomplete);
  batch.add(query::run_finish, std::move(params));
}

void add_steps(const std::string& daemon_id, LogEntry& entry, Batch& batch) {
  const Claim& claim = entry.writer->claim();
  int64_t last_seq = entry.events.empty() ? entry.writer->committed_seq() : entry.events.back().seq;
  auto owned = [&] {
    Params params;
    params.text(daemon_id).text(claim.id).integer(claim.epoch);
    return params;
  };
  for (const TurnRecord& turn : entry.steps.turns) {
    add_turn(turn, last_seq, owned(), batch);
    entry.last_turn = batch.last_answer();
  }
  for (const ToolRecord& tool : entry.steps.tools) add_tool(tool, owned(), batch);
  if (const std::optional<WaitRecord>& wait = entry.steps.wait) {
    Params params = owned();
    params.integer(last_seq).text(wait->request_json).integer(wait->wait_seconds);
    batch.add(query::run_wait, std::move(params));
  }
  if (entry.steps.ending) add_ending(*entry.steps.ending, last_seq, owned(), batch);
}

}  // namespace

void InFlightBatch::add(LogEntry entry) {
  events_ += entry.events.size();
  steps_ += entry.steps.size();
  bytes_ += entry.bytes();
  entries.push_back(std::move(entry));
}

bool InFlightBatch::has_room() const {
  return events_ < events_max && steps_ < steps_max && bytes_ < bytes_max &&
         entries.size() < runs_max;
}

void InFlightBatch::sort() {
  std::sort(entries.begin(), entries.end(), [](const LogEntry& a, const LogEntry& b) {
    return a.writer->claim().id < b.writer->claim().id;
  });
}

InFlightBatch InFlightBatch::take_second_half() {
  InFlightBatch half;
  half.is_sifted = is_sifted;
  half.is_retry = is_retry;
  auto middle = entries.begin() + static_cast<std::ptrdiff_t>(entries.size() / 2);
  half.entries.assign(std::make_move_iterator(middle), std::make_move_iterator(entries.end()));
  entries.erase(middle, entries.end());
  return half;
}

std::vector<LogEntry> InFlightBatch::take_out(const std::unordered_set<std::string_view>& run_ids) {
  auto is_named = [&run_ids](const LogEntry& entry) {
    return run_ids.contains(entry.writer->claim().id);
  };
  auto named = std::stable_partition(entries.begin(), entries.end(), std::not_fn(is_named));
  std::vector<LogEntry> taken(std::make_move_iterator(named),
                              std::make_move_iterator(entries.end()));
  entries.erase(named, entries.end());
  return taken;
}

// Order matters: threads are locked before runs and these before accounts, each in the order of
// their ids; events are written while the run is still owned.
Batch InFlightBatch::statements(const std::string& daemon_id) {
  std::vector<std::string> threads;
  std::vector<std::string> payers;
  for (const LogEntry& entry : entries) {
    const Claim& claim = entry.writer->claim();
    if (entry.steps.ends_work()) threads.push_back(claim.thread_id);
    if (entry.steps.is_paid()) payers.push_back(claim.org_id);
  }
  Batch batch;
  if (!threads.empty()) batch.add(query::thread_lock, Params().uuids(threads));
  add_events(daemon_id, batch);
  appended_ = batch.last_answer();
  if (!payers.empty()) batch.add(query::account_lock, Params().uuids(payers));
  for (LogEntry& entry : entries) add_steps(daemon_id, entry, batch);
  return batch;
}

void InFlightBatch::add_events(const std::string& daemon_id, Batch& batch) const {
  std::vector<std::string> run_ids;
  std::vector<int64_t> epochs;
  std::vector<int64_t> places;
  std::vector<int64_t> seqs;
  std::vector<std::string> types;
  std::vector<std::string> data;
  for (const LogEntry& entry : entries) {
    if (entry.events.empty()) continue;
    run_ids.push_back(entry.writer->claim().id);
    epochs.push_back(entry.writer->claim().epoch);
    for (const RunEvent& event : entry.events) {
      places.push_back(static_cast<int64_t>(run_ids.size()));
      seqs.push_back(event.seq);
      types.push_back(event.type);
      data.push_back(event.data);
    }
  }
  Params params;
  params.text(daemon_id).uuids(run_ids).integers(epochs);
  params.integers(places).integers(seqs).texts(types).jsons(data);
  bool is_repeated = std::any_of(entries.begin(), entries.end(),
                                 [](const LogEntry& entry) { return entry.is_repeated; });
  batch.add(is_repeated ? query::event_append_again : query::event_append, std::move(params));
}

Params InFlightBatch::rows_wanted() const {
  std::vector<std::string> written;
  std::vector<std::string> paid;
  std::vector<std::string> ended;
  for (const LogEntry& entry : entries) {
    const std::string& run_id = entry.writer->claim().id;
    written.push_back(run_id);
    if (entry.steps.is_paid()) paid.push_back(run_id);
    if (entry.steps.ends_work()) ended.push_back(run_id);
  }
  Params params;
  params.uuids(written).uuids(paid).uuids(ended);
  return params;
}

std::unordered_map<std::string_view, std::string_view> InFlightBatch::stored_at(
    const Results& results) const {
  const Result& rows = appended_.value().in(results);
  std::unordered_map<std::string_view, std::string_view> times;
  for (int i = 0; i < rows.size(); ++i) {
    times.emplace(rows[i].text("id"), rows[i].text("created_at"));
  }
  return times;
}

}  // namespace hostler::runner
