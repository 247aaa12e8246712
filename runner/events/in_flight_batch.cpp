// See runner/events/in_flight_batch.h.
#include "runner/events/in_flight_batch.h"

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

using Text = std::optional<std::string_view>;

// Empty: null.
Text or_null(std::string_view text) { return text.empty() ? Text() : Text(text); }

// Who owns the run: every statement names it, so that a daemon that lost it changes no row.
struct Owner {
  std::string_view daemon_id;
  const Claim& claim;
};

postgres::BoundStatement turn_commit(const Owner& owner, const TurnRecord& turn, int64_t last_seq) {
  return query::RunTurnCommit{.daemon_id = owner.daemon_id,
                              .run_id = owner.claim.id,
                              .epoch = owner.claim.epoch,
                              .turn = turn.turn,
                              .text = turn.text,
                              .tool_calls = turn.tool_calls_json,
                              .last_seq = last_seq,
                              .input_tokens = turn.usage.input_tokens,
                              .output_tokens = turn.usage.output_tokens,
                              .cache_read_tokens = turn.usage.cache_read_tokens,
                              .cache_write_tokens = turn.usage.cache_write_tokens,
                              .measured = turn.usage.measured,
                              .finished = turn.is_finished,
                              .credit_per_usd = turn.credits_per_usd,
                              .credit_run_hold = turn.run_hold};
}

postgres::BoundStatement tool_commit(const Owner& owner, const ToolRecord& tool) {
  bool failed = !tool.error_code.empty();
  return query::RunToolCommit{.daemon_id = owner.daemon_id,
                              .run_id = owner.claim.id,
                              .epoch = owner.claim.epoch,
                              .turn = tool.turn,
                              .tool_call_id = tool.call.id,
                              .tool_name = tool.call.name,
                              .result = failed ? Text() : Text(tool.result),
                              .error_code = or_null(tool.error_code),
                              .error_message = failed ? Text(tool.error_message) : Text(),
                              .duration_ms = tool.duration_ms,
                              .last_seq = tool.seq};
}

postgres::BoundStatement finish(const Owner& owner, const Outcome& outcome, int64_t last_seq) {
  bool failed = !outcome.code.empty();
  return query::RunFinish{.daemon_id = owner.daemon_id,
                          .run_id = owner.claim.id,
                          .epoch = owner.claim.epoch,
                          .status = outcome.status,
                          .last_seq = last_seq,
                          .code = or_null(outcome.code),
                          .message = failed ? Text(outcome.message) : Text(),
                          .answer = outcome.answer,
                          .incomplete = outcome.is_incomplete};
}

void add_steps(const std::string& daemon_id, LogEntry& entry, postgres::Batch& batch) {
  const Claim& claim = entry.writer->claim();
  Owner owner{daemon_id, claim};
  int64_t last_seq = entry.events.empty() ? entry.writer->committed_seq() : entry.events.back().seq;
  for (const TurnRecord& turn : entry.steps.turns) {
    batch.add(turn_commit(owner, turn, last_seq));
    entry.last_turn = batch.last_answer();
  }
  for (const ToolRecord& tool : entry.steps.tools) batch.add(tool_commit(owner, tool));
  if (const std::optional<WaitRecord>& wait = entry.steps.wait) {
    batch.add(query::RunWait{.daemon_id = daemon_id,
                             .run_id = claim.id,
                             .epoch = claim.epoch,
                             .last_seq = last_seq,
                             .request = wait->request_json,
                             .run_input_seconds = wait->wait_seconds});
  }
  if (entry.steps.outcome) batch.add(finish(owner, *entry.steps.outcome, last_seq));
}

template <class Append>
postgres::BoundStatement appending(const std::string& daemon_id,
                                   const std::vector<LogEntry>& entries) {
  std::vector<std::string> run_ids;
  std::vector<int64_t> epochs;
  std::vector<int64_t> positions;
  std::vector<int64_t> seqs;
  std::vector<std::string> types;
  std::vector<std::string> data;
  for (const LogEntry& entry : entries) {
    if (entry.events.empty()) continue;
    run_ids.push_back(entry.writer->claim().id);
    epochs.push_back(entry.writer->claim().epoch);
    for (const RunEvent& event : entry.events) {
      positions.push_back(static_cast<int64_t>(run_ids.size()));
      seqs.push_back(event.seq);
      types.push_back(event.type);
      data.push_back(event.data);
    }
  }
  return Append{.daemon_id = daemon_id,
                .run_ids = run_ids,
                .epochs = epochs,
                .positions = positions,
                .seqs = seqs,
                .types = types,
                .data = data};
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
postgres::Batch InFlightBatch::statements(const std::string& daemon_id) {
  std::vector<std::string> threads;
  std::vector<std::string> payers;
  for (const LogEntry& entry : entries) {
    const Claim& claim = entry.writer->claim();
    if (entry.steps.ends_work()) threads.push_back(claim.thread_id);
    if (entry.steps.is_paid()) payers.push_back(claim.org_id);
  }
  postgres::Batch batch;
  if (!threads.empty()) batch.add(query::ThreadLock{.thread_ids = threads});
  add_events(daemon_id, batch);
  appended_ = batch.last_answer();
  if (!payers.empty()) batch.add(query::AccountLock{.org_ids = payers});
  for (LogEntry& entry : entries) add_steps(daemon_id, entry, batch);
  return batch;
}

void InFlightBatch::add_events(const std::string& daemon_id, postgres::Batch& batch) const {
  bool is_repeated = std::any_of(entries.begin(), entries.end(),
                                 [](const LogEntry& entry) { return entry.is_repeated; });
  batch.add(is_repeated ? appending<query::EventAppendAgain>(daemon_id, entries)
                        : appending<query::EventAppend>(daemon_id, entries));
}

postgres::BoundStatement InFlightBatch::held_rows_question() const {
  std::vector<std::string> written;
  std::vector<std::string> paid;
  std::vector<std::string> ended;
  for (const LogEntry& entry : entries) {
    const std::string& run_id = entry.writer->claim().id;
    written.push_back(run_id);
    if (entry.steps.is_paid()) paid.push_back(run_id);
    if (entry.steps.ends_work()) ended.push_back(run_id);
  }
  return query::RunsHeldUp{.run_ids = written, .paid_ids = paid, .ended_ids = ended};
}

std::unordered_map<std::string_view, std::string_view> InFlightBatch::stored_at(
    const postgres::Results& results) const {
  const postgres::Result& rows = appended_.value().in(results);
  std::unordered_map<std::string_view, std::string_view> times;
  for (int i = 0; i < rows.size(); ++i) {
    times.emplace(rows[i].text("id"), rows[i].text("created_at"));
  }
  return times;
}

}  // namespace hostler::runner
