// See runner/events/in_flight_batch.h.
#include "runner/events/in_flight_batch.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <sstream>
#include <utility>

#include "lib/search_words.h"
#include "queries/daemon.h"
#include "queries/fallbacks.h"
#include "queries/left_calls.h"

namespace hostler::runner {
namespace {

constexpr size_t events_max = 5000;
// Takes some tenths of a second. A run that alone has more is still written.
constexpr size_t bytes_max = 4 * 1024 * 1024;

using Text = std::optional<std::string_view>;

// Empty: null.
Text or_null(std::string_view text) { return text.empty() ? Text() : Text(text); }

// Owner of the run. Every statement names it, so that a daemon that lost the run changes no row.
struct Owner {
  std::string_view daemon_id;
  const Claim& claim;
};

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
                              .last_seq = tool.seq,
                              .cost = tool.cost};
}

postgres::BoundStatement wait(const Owner& owner, const WaitRecord& record, int64_t last_seq) {
  return query::RunWait{.daemon_id = owner.daemon_id,
                        .run_id = owner.claim.id,
                        .epoch = owner.claim.epoch,
                        .last_seq = last_seq,
                        .request = record.request_json,
                        .run_input_seconds = record.wait_seconds};
}

int64_t last_seq_of(const LogEntry& entry) {
  return entry.events.empty() ? entry.writer->committed_seq() : entry.events.back().seq;
}

postgres::BoundStatement output(const Owner& owner, const Outcome& outcome) {
  return query::RunOutput{.daemon_id = owner.daemon_id,
                          .run_id = owner.claim.id,
                          .epoch = owner.claim.epoch,
                          .output = outcome.output};
}

postgres::BoundStatement leave_calls(const Owner& owner, const Outcome& outcome) {
  return query::RunLeaveCalls{.daemon_id = owner.daemon_id,
                              .run_id = owner.claim.id,
                              .epoch = owner.claim.epoch,
                              .tool_call_ids = outcome.left_calls};
}

postgres::BoundStatement fall_back(const Owner& owner, const std::string& route_id) {
  return query::RunFallBack{.daemon_id = owner.daemon_id,
                            .run_id = owner.claim.id,
                            .epoch = owner.claim.epoch,
                            .route_id = route_id};
}

// Arguments of runs_commit for all charged runs.
class Commits {
 public:
  void add(const LogEntry& entry) {
    static const TurnRecord no_turn;
    static const Outcome no_outcome;
    run_ids_.push_back(entry.writer->claim().id);
    epochs_.push_back(entry.writer->claim().epoch);
    last_seqs_.push_back(last_seq_of(entry));
    event_bytes_.push_back(entry.writer->event_bytes() + entry.event_bytes());
    result_bytes_.push_back(entry.writer->result_bytes() + entry.result_bytes());
    add(entry.steps.turn ? *entry.steps.turn : no_turn);
    parts_.push_back(entry.steps.stores_turn() ? entry.steps.turn->parts_json : std::string());
    add(entry.steps.outcome ? *entry.steps.outcome : no_outcome);
  }
  bool empty() const { return run_ids_.empty(); }

  postgres::BoundStatement statement(const std::string& daemon_id) const {
    return query::RunsCommit{.daemon_id = daemon_id,
                             .run_ids = run_ids_,
                             .epochs = epochs_,
                             .last_seqs = last_seqs_,
                             .turns = turns_,
                             .parts = parts_,
                             .input_tokens = input_tokens_,
                             .output_tokens = output_tokens_,
                             .cache_read_tokens = cache_read_tokens_,
                             .cache_write_tokens = cache_write_tokens_,
                             .measured = measured_,
                             .credits_per_usd = credits_per_usd_,
                             .run_holds = run_holds_,
                             .statuses = statuses_,
                             .codes = codes_,
                             .messages = messages_,
                             .answers = answers_,
                             .words = words_,
                             .incomplete = incomplete_,
                             .event_bytes = event_bytes_,
                             .result_bytes = result_bytes_};
  }

 private:
  void add(const TurnRecord& turn) {
    turns_.push_back(turn.turn);
    input_tokens_.push_back(turn.usage.input_tokens);
    output_tokens_.push_back(turn.usage.output_tokens);
    cache_read_tokens_.push_back(turn.usage.cache_read_tokens);
    cache_write_tokens_.push_back(turn.usage.cache_write_tokens);
    measured_.push_back(turn.usage.measured);
    credits_per_usd_.push_back(turn.credits_per_usd);
    run_holds_.push_back(turn.run_hold);
  }
  void add(const Outcome& outcome) {
    statuses_.push_back(outcome.status);
    codes_.push_back(outcome.code);
    messages_.push_back(outcome.message);
    answers_.push_back(outcome.answer);
    words_.push_back(search_words(outcome.answer));
    incomplete_.push_back(outcome.is_incomplete);
  }

  std::vector<std::string> run_ids_;
  std::vector<int64_t> epochs_;
  std::vector<int64_t> last_seqs_;
  std::vector<int64_t> turns_;
  std::vector<std::string> parts_;
  std::vector<int64_t> input_tokens_;
  std::vector<int64_t> output_tokens_;
  std::vector<int64_t> cache_read_tokens_;
  std::vector<int64_t> cache_write_tokens_;
  std::vector<bool> measured_;
  std::vector<int64_t> credits_per_usd_;
  std::vector<int64_t> run_holds_;
  std::vector<std::string> statuses_;
  std::vector<std::string> codes_;
  std::vector<std::string> messages_;
  std::vector<std::string> answers_;
  std::vector<std::string> words_;
  std::vector<bool> incomplete_;
  std::vector<int64_t> event_bytes_;
  std::vector<int64_t> result_bytes_;
};

struct Events {
  std::vector<std::string> run_ids;
  std::vector<int64_t> epochs;
  std::vector<int64_t> positions;
  std::vector<int64_t> seqs;
  std::vector<std::string> types;
  std::vector<std::string> data;
};

Events events_of(const std::vector<LogEntry>& entries) {
  Events all;
  for (const LogEntry& entry : entries) {
    if (entry.events.empty()) continue;
    all.run_ids.push_back(entry.writer->claim().id);
    all.epochs.push_back(entry.writer->claim().epoch);
    for (const RunEvent& event : entry.events) {
      all.positions.push_back(std::ssize(all.run_ids));
      all.seqs.push_back(event.seq);
      all.types.push_back(event.type);
      all.data.push_back(event.data);
    }
  }
  return all;
}

// Which of the runs this server does not have up to what they write now.
postgres::BoundStatement disowning(const std::string& daemon_id,
                                   const std::vector<LogEntry>& entries) {
  std::vector<std::string> run_ids;
  std::vector<int64_t> epochs;
  std::vector<int64_t> first_seqs;
  for (const LogEntry& entry : entries) {
    run_ids.push_back(entry.writer->claim().id);
    epochs.push_back(entry.writer->claim().epoch);
    first_seqs.push_back(entry.writer->committed_seq() + 1);
  }
  return query::RunsDisown{
      .daemon_id = daemon_id, .run_ids = run_ids, .epochs = epochs, .first_seqs = first_seqs};
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
  for (const LogEntry& entry : entries) {
    if (entry.steps.ends_work()) threads.push_back(entry.writer->claim().thread_id);
  }
  postgres::Batch batch;
  if (!threads.empty()) batch.add(query::ThreadLock{.thread_ids = threads});
  add_events(daemon_id, batch);
  add_steps(daemon_id, batch);
  return batch;
}

// Where a tool's call is paid for, all accounts of the batch are locked first, in the order of
// their ids; turns and outcomes lock theirs in one statement.
void InFlightBatch::add_account_lock(postgres::Batch& batch) const {
  std::vector<std::string> org_ids;
  bool has_tool_costs = false;
  for (const LogEntry& entry : entries) {
    bool has_costs = entry.steps.has_tool_costs();
    has_tool_costs |= has_costs;
    if (has_costs || entry.steps.is_paid()) org_ids.push_back(entry.writer->claim().org_id);
  }
  if (has_tool_costs) batch.add(query::AccountLock{.org_ids = org_ids});
}

// Routes come first, because the turn is priced by them. Tools, outputs and left calls come before
// the commits, because an end takes the run from its daemon. Waits
// come last, because webhooks about them count the turn.
void InFlightBatch::add_steps(const std::string& daemon_id, postgres::Batch& batch) {
  committed_.reset();  // of what a larger batch asked, before it was parted
  add_account_lock(batch);
  Commits commits;
  for (const LogEntry& entry : entries) {
    Owner owner{daemon_id, entry.writer->claim()};
    const std::string& route_id = entry.steps.route_id;
    if (!route_id.empty()) batch.add(fall_back(owner, route_id));
    for (const ToolRecord& tool : entry.steps.tools) batch.add(tool_commit(owner, tool));
    const std::optional<Outcome>& outcome = entry.steps.outcome;
    if (outcome && !outcome->output.empty()) batch.add(output(owner, *outcome));
    if (outcome && !outcome->left_calls.empty()) batch.add(leave_calls(owner, *outcome));
    if (entry.steps.is_paid()) commits.add(entry);
  }
  if (commits.empty()) return;
  batch.add(commits.statement(daemon_id));
  committed_ = batch.last_answer();
  for (const LogEntry& entry : entries) {
    if (!entry.steps.wait) continue;
    Owner owner{daemon_id, entry.writer->claim()};
    batch.add(wait(owner, *entry.steps.wait, last_seq_of(entry)));
  }
}

// The server that has what all of them wrote before; 0 when they do not agree, an answer was lost,
// or there is an entry without events, for which nobody would ask.
int64_t InFlightBatch::server_of_all() const {
  int64_t server = entries.empty() ? 0 : entries.front().writer->server();
  bool is_common = std::all_of(entries.begin(), entries.end(), [server](const LogEntry& entry) {
    return entry.writer->server() == server && !entry.is_repeated && !entry.events.empty();
  });
  return is_common ? server : 0;
}

void InFlightBatch::add_events(const std::string& daemon_id, postgres::Batch& batch) {
  server_ = server_of_all();
  disowned_.reset();
  if (server_ == 0) {
    batch.add(disowning(daemon_id, entries));
    disowned_ = batch.last_answer();
  }
  Events events = events_of(entries);
  if (server_ == 0) {
    batch.add(query::EventAppendAgain{.daemon_id = daemon_id,
                                      .run_ids = events.run_ids,
                                      .epochs = events.epochs,
                                      .positions = events.positions,
                                      .seqs = events.seqs,
                                      .types = events.types,
                                      .data = events.data});
  } else {
    batch.add(query::EventAppend{.daemon_id = daemon_id,
                                 .run_ids = events.run_ids,
                                 .epochs = events.epochs,
                                 .positions = events.positions,
                                 .seqs = events.seqs,
                                 .types = events.types,
                                 .data = events.data,
                                 .server = server_});
  }
  appended_ = batch.last_answer();
}

int64_t InFlightBatch::server(const postgres::Results& results) const {
  if (server_ != 0) return server_;
  const postgres::Result& rows = appended_.value().in(results);
  return rows.empty() ? 0 : rows.front().integer("server");
}

std::unordered_set<std::string_view> InFlightBatch::disowned_runs(
    const postgres::Results& results) const {
  std::unordered_set<std::string_view> run_ids;
  if (!disowned_) return run_ids;
  const postgres::Result& rows = disowned_->in(results);
  for (int i = 0; i < rows.size(); ++i) run_ids.insert(rows[i].text("id"));
  return run_ids;
}

postgres::BoundStatement InFlightBatch::locked_rows_query() const {
  std::vector<std::string> written;
  std::vector<std::string> paid;
  std::vector<std::string> ended;
  for (const LogEntry& entry : entries) {
    const std::string& run_id = entry.writer->claim().id;
    written.push_back(run_id);
    if (entry.steps.is_paid() || entry.steps.has_tool_costs()) paid.push_back(run_id);
    if (entry.steps.ends_work()) ended.push_back(run_id);
  }
  return query::RunsBlocked{.run_ids = written, .paid_ids = paid, .ended_ids = ended};
}

std::unordered_map<std::string_view, RunFunds> InFlightBatch::solvent_runs(
    const postgres::Results& results) const {
  std::unordered_map<std::string_view, RunFunds> funds;
  if (!committed_) return funds;
  const postgres::Result& rows = committed_->in(results);
  for (int i = 0; i < rows.size(); ++i) {
    if (!rows[i].boolean("may_go_on")) continue;
    funds.emplace(rows[i].text("id"),
                  RunFunds{rows[i].boolean("is_budgeted"), rows[i].integer("unheld_max")});
  }
  return funds;
}

// Runs are named by their positions among those that have events, from 1.
InFlightBatch::Stored InFlightBatch::stored(const postgres::Results& results) const {
  const postgres::Row& row = appended_.value().in(results).front();
  Stored stored{row.text("created_at"), {}};
  std::istringstream positions(std::string(row.text("lost_positions")));
  size_t lost = 0;
  if (!(positions >> lost)) return stored;
  size_t position = 0;
  for (const LogEntry& entry : entries) {
    if (entry.events.empty() || ++position != lost) continue;
    stored.lost_runs.insert(entry.writer->claim().id);
    if (!(positions >> lost)) break;
  }
  return stored;
}

}  // namespace hostler::runner
