// See runner/agent/run_queue.h.
#include "runner/agent/run_queue.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <map>
#include <utility>

#include "lib/log.h"
#include "queries/daemon.h"
#include "runner/agent/claim_row.h"

namespace hostler::runner {
namespace {

// A daemon counts as alive for 30 s after its heartbeat (daemons_alive): several fit into that.
constexpr int64_t heartbeat_most_ms = 5'000;
constexpr int64_t silence_max_ms = 25'000;
// Two looks of the others, each with the time of a statement.
constexpr int64_t others_notice_ms = 12'000;
constexpr int claim_max = 64;  // runs in one statement
constexpr int64_t poll_ms = 1000;
// The longest message in a claim's answer, which may hold 32 of each of claim_max runs: 16 MiB. A
// history with a longer one is read by itself.
constexpr int64_t claimed_message_bytes = 8 * 1024;
constexpr int free_renewals = 3;
constexpr int64_t free_renewals_pause_ms = 30;

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

// Others sweep every second what nobody was told of.
Task<void> RunQueue::pass_on() {
  postgres::Batch batch;
  batch.add(query::DaemonPassOn{.daemon_id = daemon_id_});
  ++asking_;
  postgres::BatchOutcome outcome = co_await services_.db.attempt_pipelined(std::move(batch));
  --asking_;
  answered_.notify();
  log_refused("run_not_passed_on", outcome);
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
    if (free_slots() > 0 && services_.loop.now_ms() >= poll_due_ms) {
      bool is_full = co_await take_over();
      poll_due_ms = services_.loop.now_ms() + (is_full ? 0 : poll_ms);
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

// What the queue answered; nothing when that is not known, or the daemon stops.
Task<postgres::Result> RunQueue::ask(postgres::BoundStatement statement) {
  postgres::Batch batch;
  batch.add(std::move(statement));
  ++asking_;
  postgres::BatchOutcome outcome = co_await services_.db.attempt_pipelined(std::move(batch));
  --asking_;
  answered_.notify();
  log_refused("runs_not_claimed", outcome);
  if (outcome.error || is_stopping_) co_return postgres::Result();
  co_return outcome.results.at(0);
}

// A claim that finds nothing costs several times as much as the look whether it would.
Task<bool> RunQueue::may_runs_wait() {
  if (std::exchange(runs_wait_, false)) co_return true;
  if (free_slots() <= 0 || is_stopping_) co_return false;
  postgres::BoundStatement look = query::RunsWait{};
  postgres::Result answer = co_await ask(std::move(look));
  co_return !answer.empty() && answer.front().boolean("runs_wait");
}

// True: as many came as were asked for, so there may be more.
Task<bool> RunQueue::take_over() {
  int free = free_slots();
  if (free <= 0 || is_stopping_) co_return false;
  int64_t lease_s = services_.settings.current()->integer("run.lease_seconds");
  postgres::BoundStatement claim =
      query::RunTakeOver{.daemon_id = daemon_id_, .limit = free, .run_lease_seconds = lease_s};
  postgres::Result claimed = co_await ask(std::move(claim));
  for (int i = 0; i < claimed.size(); ++i) begin(prepare(claimed[i]));
  co_return claimed.size() == free;
}

// Likewise, and when more waited than there was room for.
Task<bool> RunQueue::claim_fresh() {
  int free = free_slots();
  if (free <= 0 || is_stopping_) co_return false;
  postgres::BoundStatement claim = fair_claim(free);
  postgres::Result claimed = co_await ask(std::move(claim));
  std::map<int64_t, postgres::Row> in_order;
  for (int i = 0; i < claimed.size(); ++i) {
    postgres::Row row = claimed[i];
    if (row.integer("served_nth") > 0) in_order.emplace(row.integer("served_nth"), row);
    RunPtr run = prepare(row);
    if (!row.is_null("history")) run->claimed_row = ClaimedRow{claimed, i};
    begin(run);
  }
  for (const auto& [nth, row] : in_order) {
    round_robin_.took(row.text("org_id"), row.text("created_by_user_id"));
  }
  if (in_order.empty()) round_robin_.nobody_waits();
  co_return !in_order.empty() || claimed.size() == free;
}

postgres::BoundStatement RunQueue::fair_claim(int free) const {
  std::shared_ptr<const config::Settings> settings = services_.settings.current();
  RoundRobin::Served served = round_robin_.served();
  return query::RunClaim{.daemon_id = daemon_id_,
                         .limit = free,
                         .run_lease_seconds = settings->integer("run.lease_seconds"),
                         .message_bytes = claimed_message_bytes,
                         .after_org_id = round_robin_.after_org_id(),
                         .org_ids = served.org_ids,
                         .user_ids = served.user_ids,
                         .limit_agent_turns = settings->integer("limit.agent_turns"),
                         .limit_tool_calls = settings->integer("limit.tool_calls"),
                         .limit_run_seconds = settings->integer("limit.run_seconds")};
}

RunPtr RunQueue::prepare(const postgres::Row& row) {
  RunPtr run = std::make_shared<ActiveRun>(services_.events.open(claim_of(row)));
  if (row.boolean("is_cancelled")) run->cancel_reason = row.text("cancel_reason");
  return run;
}

void RunQueue::begin(const RunPtr& run) {
  const std::string& run_id = run->claim.id;
  // A run that is claimed anew while its old coroutine still lives: the old one is lost. One that
  // ended in this turn of the loop still has its name.
  auto found = active_.find(run_id);
  if (found != active_.end()) {
    found->second->writer->abandon();
    active_.erase(found);
  }
  tasks_.erase(run_id);
  abandoned_.erase(run_id);
  active_.emplace(run_id, run);
  ++claimed_;
  tasks_.add(run_id, supervise(run));
}

Task<void> RunQueue::supervise(RunPtr run) {
  bool has_ended = co_await supervise_run(services_, run);
  conclude(run, has_ended);
}

// The run ended or was lost: a slot is free, and its thread may have a next run. One that broke is
// given up: on_fenced() hears of it, its lease lapses, and crash_count decides how often it may.
void RunQueue::conclude(const RunPtr& run, bool has_ended) {
  if (!has_ended) {
    services_.events.fence(run->writer);
    return;
  }
  if (free_slots() <= 0) runs_wait_ = true;  // for this slot, as like as not
  auto found = active_.find(run->claim.id);
  if (found != active_.end() && found->second == run) active_.erase(found);
  options_.on_ended();
  look_whether_runs_wait();
}

void RunQueue::on_fenced(const RunWriterPtr& writer) {
  const Claim& fenced = writer->claim();
  auto found = active_.find(fenced.id);
  if (found != active_.end() && found->second->writer != writer) return;
  // Ours still when what it wrote was refused: nobody works at it, so its lease is to lapse.
  abandoned_.insert(fenced.id);
  if (found == active_.end()) return;
  ++fenced_;
  log_warning("run_fenced", {{"run_id", fenced.id}, {"trace_id", fenced.trace_id}});
  tasks_.erase(fenced.id);
  active_.erase(found);
  look_for_runs();
}

// At once for the first time: new runs are told to those who said that they have room.
Task<void> RunQueue::renew_forever() {
  while (!is_stopping_) {
    co_await renew_once();
    int64_t lease_s = services_.settings.current()->integer("run.lease_seconds");
    int64_t wait_ms = std::clamp<int64_t>(lease_s * 1000 / 3, 200, heartbeat_most_ms);
    // Behind the good-bye a heartbeat would call the daemon alive again.
    co_await loop::sleep_ms(services_.loop, wait_ms);
  }
}

postgres::Batch RunQueue::renewal_of(postgres::BoundStatement renew) {
  postgres::Batch batch;
  batch.add(std::move(renew));
  batch.add(
      query::DaemonHeartbeat{.daemon_id = daemon_id_,
                             .runs = std::ssize(active_),
                             .streams = streams_(),
                             .room = std::max<int64_t>(options_.slots - std::ssize(active_), 0)});
  batch.add(query::DaemonsAlive{.daemon_id = daemon_id_});
  return batch;
}

// One row that somebody holds must not cost the other runs their leases. These are renewed several
// times, so that those are met that were just being written to.
Task<postgres::BatchOutcome> RunQueue::renew_leases(std::vector<std::string> abandoned) {
  int64_t lease_s = services_.settings.current()->integer("run.lease_seconds");
  postgres::Batch all = renewal_of(query::RunRenew{
      .daemon_id = daemon_id_, .run_lease_seconds = lease_s, .abandoned = abandoned});
  postgres::BatchOutcome outcome = co_await services_.db.attempt_pipelined(std::move(all));
  if (outcome.refusal != postgres::Refusal::blocked) co_return outcome;
  for (int tried = 0; tried < free_renewals; ++tried) {
    if (tried > 0) co_await loop::sleep_ms(services_.loop, free_renewals_pause_ms);
    postgres::Batch free = renewal_of(query::RunRenewFree{
        .daemon_id = daemon_id_, .run_lease_seconds = lease_s, .abandoned = abandoned});
    outcome = co_await services_.db.attempt_pipelined(std::move(free));
    if (outcome.error) break;
  }
  co_return outcome;
}

Task<void> RunQueue::renew_once() {
  // Only what was ours before the statement can be missing from its answer.
  std::unordered_map<std::string, RunPtr> before = active_;
  std::vector<std::string> abandoned(abandoned_.begin(), abandoned_.end());
  ++asking_;
  postgres::BatchOutcome outcome = co_await renew_leases(abandoned);
  --asking_;
  answered_.notify();
  log_refused("leases_not_renewed", outcome);
  if (outcome.error) co_return;
  int64_t now_ms = services_.loop.now_ms();
  const postgres::Result& heartbeat = outcome.results.at(1);
  bool was_unknown = heartbeat.empty() || heartbeat.front().boolean("was_stopped") ||
                     now_ms - heartbeat_at_ms_ > silence_max_ms;
  if (was_unknown) known_from_ms_ = now_ms + others_notice_ms;
  heartbeat_at_ms_ = now_ms;
  services_.events.set_others_alive(outcome.results.at(2).front().integer("others") > 0);
  std::unordered_map<std::string, int64_t> orphans =
      take_renewed(outcome.results.at(0), std::move(before), abandoned);
  co_await release_orphans(std::move(orphans));
}

// What is still ours, and what is not any more. Answers what is ours and nobody executes.
std::unordered_map<std::string, int64_t> RunQueue::take_renewed(
    const postgres::Result& renewed, std::unordered_map<std::string, RunPtr> before,
    const std::vector<std::string>& abandoned) {
  std::unordered_set<std::string> owned;
  std::unordered_map<std::string, int64_t> orphans;
  for (int i = 0; i < renewed.size(); ++i) {
    std::string run_id(renewed[i].text("id"));
    int64_t epoch = renewed[i].integer("epoch");
    if (!abandoned.empty()) owned.insert(run_id);
    auto found = before.find(run_id);
    bool is_ours = found != before.end() && found->second->claim.epoch == epoch;
    bool is_known = is_ours || active_.contains(run_id) || abandoned_.contains(run_id);
    if (!is_known) orphans.emplace(run_id, epoch);
    if (is_ours) before.erase(found);
  }
  for (const std::string& run_id : abandoned) {
    if (!owned.contains(run_id)) abandoned_.erase(run_id);
  }
  for (auto& [run_id, run] : before) {
    // A run whose outcome is being written is no loss.
    RunWriterPtr writer = run->writer;
    if (writer->is_ending() || writer->is_fenced()) continue;
    auto found = active_.find(run_id);
    if (found == active_.end() || found->second != run) continue;
    writer->abandon();
    on_fenced(writer);
  }
  return orphans;
}

// A claim whose answer was lost left runs that are ours and that nobody executes: those that are
// seen twice are given back. (Once may be an outcome or a claim's answer on its way.)
Task<void> RunQueue::release_orphans(std::unordered_map<std::string, int64_t> orphans) {
  std::vector<std::string> run_ids;
  std::vector<int64_t> epochs;
  for (const auto& [run_id, epoch] : orphans) {
    auto found = orphans_.find(run_id);
    if (found == orphans_.end() || found->second != epoch) continue;
    run_ids.push_back(run_id);
    epochs.push_back(epoch);
  }
  orphans_ = std::move(orphans);
  if (run_ids.empty()) co_return;
  log_warning("runs_not_executed", {{"runs", std::to_string(run_ids.size())}});
  postgres::Batch batch;
  batch.add(query::RunRelease{.daemon_id = daemon_id_, .run_ids = run_ids, .epochs = epochs});
  postgres::BatchOutcome outcome = co_await services_.db.attempt_pipelined(std::move(batch));
  if (!outcome.error) look_for_runs();
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
  for (auto& [run_id, run] : active_) {
    // An outcome that is on its way to the disk is awaited with the rest.
    tasks_.erase(run_id);
  }
  active_.clear();
  co_await services_.events.drained();
  while (asking_ > 0) co_await answered_.wait();
}

}  // namespace hostler::runner
