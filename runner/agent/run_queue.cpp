// See runner/agent/run_queue.h.
#include "runner/agent/run_queue.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <map>
#include <utility>

#include "lib/log.h"
#include "queries/daemon.h"
#include "queries/daemons.h"
#include "runner/agent/claim_row.h"
#include "runner/agent/daemon_clock.h"

namespace hostler::runner {
namespace {

// A daemon counts as alive for 30 s after its heartbeat (daemons_alive): several fit into that.
constexpr int64_t heartbeat_most_ms = 5'000;
constexpr int64_t silence_max_ms = 25'000;
constexpr int64_t others_notice_ms = 12'000;  // two of their looks, each with a statement's time
constexpr int claim_max = 64;                 // runs in one statement
constexpr int64_t poll_ms = 1000;
// The longest message in a claim's answer, which may hold 32 times as much of each of claim_max
// runs: 16 MiB. A history with a longer one is read by itself.
constexpr int64_t claimed_message_bytes = 8 * 1024;

// While Postgres is away the connection tells; a statement that it refuses is tried again as well.
void log_refused(const char* event, const postgres::BatchOutcome& outcome) {
  if (!outcome.error || outcome.is_unknown()) return;
  log_error(event, {{"cause", outcome.error->cause}});
}

}  // namespace

RunQueue::RunQueue(AgentServices& services, loop::TaskSet& tasks, std::string daemon_id,
                   RunQueueOptions options, std::function<int()> streams)
    : services_(services),
      tasks_(tasks),
      daemon_id_(std::move(daemon_id)),
      options_(std::move(options)),
      streams_(std::move(streams)),
      lost_(poll_ms),
      trials_(services, daemon_id_,
              {[this](const RunPtr& run) { return goes_on(run); },
               [this](const RunPtr& run) { begin(run); }}),
      heartbeat_at_ms_(services.loop.now_ms()),
      known_from_ms_(heartbeat_at_ms_ + others_notice_ms) {}

void RunQueue::look_for_runs() {
  runs_wait_ = true;
  look_whether_runs_wait();
}

void RunQueue::look_whether_runs_wait() {
  claim_again_ = true;
  runs_notified_.notify();
}

void RunQueue::hear_of_run() {
  if (free_slots() > 0) {
    look_for_runs();
  } else if (!is_stopping_ && !is_passing_on_) {
    is_passing_on_ = true;
    tasks_.add(pass_on());
  }
}

// Other daemons poll every second for runs whose notification was lost.
Task<void> RunQueue::pass_on() {
  postgres::Batch batch;
  batch.add(query::DaemonPassOn{.daemon_id = daemon_id_});
  co_await ask(std::move(batch));
  is_passing_on_ = false;
}

void RunQueue::look_for_cancels() {
  cancels_again_ = true;
  cancels_notified_.notify();
}

// Notifications come as fast as the platform starts runs: they bring claims, and never put off the
// poll.
Task<void> RunQueue::claim_forever() {
  int64_t poll_due_ms = services_.loop.now_ms() + poll_ms;
  while (!is_stopping_) {
    // Without a free slot nothing can be taken; a run that ends notifies.
    int64_t wait_ms = free_slots() > 0 ? poll_due_ms - services_.loop.now_ms() : poll_ms;
    if (!claim_again_ && wait_ms > 0) {
      co_await runs_notified_.wait_for(services_.loop, wait_ms);
    }
    claim_again_ = false;
    if (services_.loop.now_ms() >= poll_due_ms) {
      co_await free_lost();
      poll_due_ms = services_.loop.now_ms() + poll_ms;
    }
    bool may_wait = co_await may_runs_wait();
    if (!may_wait) continue;
    bool is_full = co_await claim_fresh();
    if (is_full) claim_again_ = runs_wait_ = true;
  }
}

int RunQueue::free_slots() const {
  return std::min(claim_max, options_.slots - static_cast<int>(active_.size()));
}

// Answer of the first statement, or nothing if it is not known or the daemon stops.
Task<std::optional<postgres::Result>> RunQueue::ask(postgres::Batch batch) {
  ++asking_;
  postgres::BatchOutcome outcome = co_await services_.db.attempt_pipelined(std::move(batch));
  --asking_;
  answered_.notify();
  log_refused("run_queue_refused", outcome);
  if (outcome.error || is_stopping_) co_return std::nullopt;
  co_return outcome.results.at(0);
}

// A claim that finds nothing costs several times as much as the look whether it would.
Task<bool> RunQueue::may_runs_wait() {
  if (std::exchange(runs_wait_, false)) co_return true;
  if (free_slots() <= 0 || is_stopping_) co_return false;
  postgres::Batch batch;
  batch.add(query::RunsWait{});
  std::optional<postgres::Result> answer = co_await ask(std::move(batch));
  co_return answer && answer->front().boolean("runs_wait");
}

// Runs of dead daemons are free for all, at once.
Task<void> RunQueue::free_lost() {
  postgres::Batch look;
  look.add(query::RunOwners{.daemon_id = daemon_id_});
  std::optional<postgres::Result> rows = co_await ask(std::move(look));
  if (!rows) {
    lost_.looked_in_vain();
    co_return;
  }
  std::vector<RunOwner> owners;
  for (int i = 0; i < rows->size(); ++i) {
    postgres::Row row = (*rows)[i];
    RunOwner& owner = owners.emplace_back(RunOwner{std::string(row.text("owner_id")), {}});
    if (!row.is_null("heartbeats")) owner.heartbeats = row.integer("heartbeats");
  }
  int64_t lease_ms = services_.settings.current()->integer("run.lease_seconds") * 1000;
  for (const RunOwner& owner : lost_.look(owners, services_.loop.now_ms(), lease_ms)) {
    postgres::Batch free;
    free.add(query::RunFree{.lost_id = owner.daemon_id, .heartbeats = owner.heartbeats});
    std::optional<postgres::Result> freed = co_await ask(std::move(free));
    if (!freed || freed->empty()) continue;
    log_warning("daemon_lost",
                {{"daemon_id", owner.daemon_id}, {"runs", std::to_string(freed->size())}});
    look_for_runs();
  }
}

// True: as many came as were asked for, or more waited than there was room for.
Task<bool> RunQueue::claim_fresh() {
  int free = free_slots();
  if (free <= 0 || is_stopping_) co_return false;
  postgres::Batch batch;
  batch.add(fair_claim(free));
  std::optional<postgres::Result> answer = co_await ask(std::move(batch));
  if (!answer) co_return false;
  const postgres::Result& claimed = *answer;
  std::map<int64_t, postgres::Row> in_order;
  for (int i = 0; i < claimed.size(); ++i) {
    postgres::Row row = claimed[i];
    if (row.integer("served_nth") > 0) in_order.emplace(row.integer("served_nth"), row);
    RunPtr run = prepare(row);
    run->claimed_row = ClaimedRow{claimed, i};
    adopt(run);
  }
  for (const auto& [nth, row] : in_order)
    round_robin_.took(row.text("org_id"), row.text("created_by_user_id"));
  round_robin_.claim_ended();
  co_return !in_order.empty() || claimed.size() == free;
}

postgres::BoundStatement RunQueue::fair_claim(int free) const {
  std::shared_ptr<const config::Settings> settings = services_.settings.current();
  RoundRobin::Served served = round_robin_.served(), round = round_robin_.round();
  return query::RunClaim{.daemon_id = daemon_id_,
                         .limit = free,
                         .message_bytes = claimed_message_bytes,
                         .after_org_id = round_robin_.after_org_id(),
                         .org_ids = served.org_ids,
                         .user_ids = served.user_ids,
                         .limit_agent_turns = settings->integer("limit.agent_turns"),
                         .limit_tool_calls = settings->integer("limit.tool_calls"),
                         .limit_run_seconds = settings->integer("limit.run_seconds"),
                         .round_org_ids = round.org_ids,
                         .round_user_ids = round.user_ids};
}

RunPtr RunQueue::prepare(const postgres::Row& row) {
  RunPtr run = std::make_shared<ActiveRun>(services_.events.open(claim_of(row)));
  if (row.boolean("is_cancelled")) run->cancel_reason = row.text("cancel_reason");
  return run;
}

void RunQueue::adopt(const RunPtr& run) {
  const std::string& run_id = run->claim.id;
  // If its old coroutine still lives, that one is lost; one that ended just now still has its name.
  auto found = active_.find(run_id);
  if (found != active_.end()) {
    found->second->writer->abandon();
    active_.erase(found);
  }
  tasks_.erase(run_id);
  active_.emplace(run_id, run);
  ++claimed_;
  Trials::is_needed_for(run) ? trials_.add(run) : begin(run);
}

void RunQueue::begin(const RunPtr& run) { tasks_.add(run->claim.id, supervise(run)); }

bool RunQueue::goes_on(const RunPtr& run) const {
  auto found = active_.find(run->claim.id);
  return found != active_.end() && found->second == run && !run->cancel_reason;
}

Task<void> RunQueue::supervise(RunPtr run) {
  bool has_ended = co_await supervise_run(services_, run);
  conclude(run, has_ended);
}

// The run ended or was lost: a slot is free, and its thread may have a next run. A broken run is
// abandoned: on_fenced() gets it, a heartbeat hands it back, and crash_count limits its restarts.
void RunQueue::conclude(const RunPtr& run, bool has_ended) {
  if (!has_ended) {
    services_.events.fence(run->writer);
    return;
  }
  if (free_slots() <= 0) runs_wait_ = true;  // for this slot, as like as not
  auto found = active_.find(run->claim.id);
  if (found != active_.end() && found->second == run) active_.erase(found);
  options_.on_ended();
  trials_.run_ended();
  look_whether_runs_wait();
}

void RunQueue::on_fenced(const RunWriterPtr& writer) {
  const Claim& fenced = writer->claim();
  auto found = active_.find(fenced.id);
  if (found == active_.end() || found->second->writer != writer) return;
  ++fenced_;
  log_warning("run_fenced", {{"run_id", fenced.id}, {"trace_id", fenced.trace_id}});
  tasks_.erase(fenced.id);
  active_.erase(found);
  look_for_runs();
}

// The first report goes out at once: new runs are announced to daemons that reported room.
Task<void> RunQueue::heartbeat_forever() {
  while (!is_stopping_) {
    co_await heartbeat_once();
    int64_t lease_s = services_.settings.current()->integer("run.lease_seconds");
    int64_t wait_ms = std::clamp<int64_t>(lease_s * 1000 / 3, 200, heartbeat_most_ms);
    // Behind the good-bye a heartbeat would call the daemon alive again.
    co_await loop::sleep_ms(services_.loop, wait_ms);
  }
}

std::map<std::string, int64_t> RunQueue::executed() const {
  std::map<std::string, int64_t> epochs;
  for (const auto& [run_id, run] : active_) epochs.emplace(run_id, run->claim.epoch);
  return epochs;
}

Task<void> RunQueue::heartbeat_once() {
  // Only what was ours before the statement can be missing from its answer.
  std::map<std::string, int64_t> executed_then = executed();
  postgres::Batch batch;
  batch.add(
      query::DaemonHeartbeat{.daemon_id = daemon_id_,
                             .runs = std::ssize(active_),
                             .streams = streams_(),
                             .room = std::max<int64_t>(options_.slots - std::ssize(active_), 0)});
  batch.add(query::DaemonsAlive{.daemon_id = daemon_id_});
  batch.add(query::RunOwned{
      .daemon_id = daemon_id_, .after_id = owned_.after(), .limit = OwnedRuns::page_max});
  batch.add(daemon_clock(daemon_id_));
  ++asking_;
  postgres::BatchOutcome outcome = co_await services_.db.attempt_pipelined(std::move(batch));
  --asking_;
  answered_.notify();
  log_refused("heartbeat_refused", outcome);
  if (outcome.error) co_return;
  int64_t now_ms = services_.loop.now_ms();
  const postgres::Result& heartbeat = outcome.results.at(0);
  bool was_unknown = heartbeat.empty() || heartbeat.front().boolean("was_stopped") ||
                     now_ms - heartbeat_at_ms_ > silence_max_ms;
  if (was_unknown) known_from_ms_ = now_ms + others_notice_ms;
  heartbeat_at_ms_ = now_ms;
  services_.events.set_others_alive(outcome.results.at(1).front().integer("others") > 0);
  // Others freed what was ours: all of it is looked at, at once.
  if (was_unknown) {
    co_await look_at_all_owned();
  } else {
    co_await take_owned(outcome.results.at(2), std::move(executed_then));
  }
}

Task<void> RunQueue::look_at_all_owned() {
  owned_.begin_anew();
  do {
    std::map<std::string, int64_t> executed_then = executed();
    postgres::Batch batch;
    batch.add(query::RunOwned{
        .daemon_id = daemon_id_, .after_id = owned_.after(), .limit = OwnedRuns::page_max});
    std::optional<postgres::Result> page = co_await ask(std::move(batch));
    if (!page) co_return;
    co_await take_owned(*page, std::move(executed_then));
  } while (!owned_.is_at_begin());
}

Task<void> RunQueue::take_owned(postgres::Result page,
                                std::map<std::string, int64_t> executed_then) {
  std::vector<OwnedRun> owned;
  for (int i = 0; i < page.size(); ++i) {
    owned.push_back({std::string(page[i].text("id")), page[i].integer("epoch")});
  }
  for (const std::string& run_id : owned_.take(owned, executed_then)) {
    auto found = active_.find(run_id);
    if (found == active_.end() || found->second->claim.epoch != executed_then.at(run_id)) continue;
    // A run whose outcome is being written is no loss.
    RunWriterPtr writer = found->second->writer;
    if (writer->is_ending() || writer->is_fenced()) continue;
    writer->abandon();
    on_fenced(writer);
  }
  std::vector<OwnedRun> orphans = owned_.orphans();
  std::erase_if(orphans, [this](const OwnedRun& run) { return active_.contains(run.run_id); });
  if (!orphans.empty()) co_await release(std::move(orphans));
}

Task<void> RunQueue::release(std::vector<OwnedRun> orphans) {
  std::vector<std::string> run_ids;
  std::vector<int64_t> epochs;
  for (const OwnedRun& run : orphans) {
    run_ids.push_back(run.run_id);
    epochs.push_back(run.epoch);
  }
  log_warning("runs_not_executed", {{"runs", std::to_string(run_ids.size())}});
  postgres::Batch batch;
  batch.add(query::RunRelease{.daemon_id = daemon_id_, .run_ids = run_ids, .epochs = epochs});
  std::optional<postgres::Result> released = co_await ask(std::move(batch));
  if (released) look_for_runs();
}

bool RunQueue::is_known_to_others() const {
  int64_t now_ms = services_.loop.now_ms();
  return now_ms >= known_from_ms_ && now_ms - heartbeat_at_ms_ <= silence_max_ms;
}

Task<void> RunQueue::watch_cancels_forever() {
  while (!is_stopping_) {
    if (!cancels_again_) {
      co_await cancels_notified_.wait_for(services_.loop, poll_ms);
    }
    cancels_again_ = false;
    if (!active_.empty()) co_await cancel_requested();
  }
}

Task<void> RunQueue::cancel_requested() {
  postgres::Batch batch;
  batch.add(query::RunCancelRequests{.daemon_id = daemon_id_});
  postgres::BatchOutcome outcome = co_await services_.db.attempt_pipelined(std::move(batch));
  if (outcome.error) co_return;
  const postgres::Result& asked = outcome.results.at(0);
  for (int i = 0; i < asked.size(); ++i) {
    auto found = active_.find(std::string(asked[i].text("id")));
    if (found == active_.end()) continue;
    RunPtr run = found->second;
    if (run->cancel_reason || run->writer->is_ending()) continue;
    run->cancel_reason = asked[i].text("cancel_reason");
    // Destroying the task closes the model's connection; what was streamed is in the run.
    tasks_.erase(run->claim.id);
    tasks_.add(run->claim.id, cancel(run));
  }
}

Task<void> RunQueue::cancel(RunPtr run) {
  bool has_ended = co_await end_cancelled(services_, run);
  conclude(run, has_ended);
}

Task<void> RunQueue::stop() {
  is_stopping_ = true;
  // An outcome that is on its way to the disk is awaited with the rest.
  for (auto& [run_id, run] : active_) tasks_.erase(run_id);
  active_.clear();
  co_await services_.events.drained();
  while (asking_ > 0) co_await answered_.wait();
}

}  // namespace hostler::runner
