// See runner/agent/turn_holds.h.
#include "runner/agent/turn_holds.h"

#include <algorithm>
#include <utility>

#include "lib/log.h"
#include "queries/daemon.h"

namespace hostler::runner {
namespace {

// Each holds its account for as long as all of them take.
constexpr size_t batch_max = 64;
constexpr int64_t retry_ms = 200;
// Between two looks whether there is room now, of the turn that is next.
constexpr int64_t pause_min_ms = 50;
constexpr int64_t pause_max_ms = 500;

TurnHold::Outcome outcome_of(std::string_view name) {
  if (name == "held") return TurnHold::Outcome::held;
  if (name == "wait") return TurnHold::Outcome::waiting;
  return name == "credits" ? TurnHold::Outcome::no_credits : TurnHold::Outcome::exhausted;
}

TurnHold hold_of(const postgres::Row& row) {
  TurnHold hold;
  hold.outcome = outcome_of(row.text("outcome"));
  hold.output_tokens = row.integer("output_tokens");
  hold.is_lowered = row.boolean("is_lowered");
  hold.lowered_by = row.text_or_null("lowered_by").value_or("");
  hold.waits_for = row.text_or_null("waits_for").value_or("");
  hold.exhausted.id = row.text_or_null("budget_id").value_or("");
  hold.exhausted.name = row.text_or_null("budget_name").value_or("");
  hold.exhausted.renews_at = row.text_or_null("renews_at").value_or("");
  hold.exhausted.decided_at = row.text_or_null("decided_at").value_or("");
  hold.exhausted.lets_wait = row.boolean("may_wait");
  if (!row.is_null("wait_seconds")) hold.exhausted.wait_seconds = row.integer("wait_seconds");
  return hold;
}

}  // namespace

TurnHolds::TurnHolds(loop::Loop& loop, postgres::Database& db, const config::LiveSettings& settings,
                     std::string daemon_id)
    : loop_(loop),
      db_(db),
      settings_(settings),
      daemon_id_(std::move(daemon_id)),
      tasks_(loop, [this](const std::string&, std::exception_ptr failure) { break_off(failure); }) {
}

// The turn that waits longest asks again, and the next one after it got its hold. So freed room is
// used at once, and a hundred waiting turns cost as much as one.
Task<TurnHold> TurnHolds::take(TurnHoldRequest request) {
  TurnHold hold = co_await ask(request);
  while (hold.outcome == TurnHold::Outcome::waiting) {
    std::string budget = hold.waits_for;
    Line::Permit first = co_await line_of(budget).take(request.user_id);
    for (int64_t pause_ms = pause_min_ms;; pause_ms = std::min(2 * pause_ms, pause_max_ms)) {
      TurnHold next = co_await ask(request);
      hold = std::move(next);
      if (hold.outcome != TurnHold::Outcome::waiting || hold.waits_for != budget) break;
      co_await loop::sleep_ms(loop_, pause_ms);
    }
  }
  co_return hold;
}

TurnHolds::Line& TurnHolds::line_of(const std::string& budget) {
  std::erase_if(lines_, [](const auto& line) {
    return line.second->held() == 0 && line.second->waiting() == 0;
  });
  std::unique_ptr<Line>& line = lines_[budget];
  if (!line) line = std::make_unique<Line>(loop_, loop::PermitShares{1, 1});
  return *line;
}

Task<TurnHold> TurnHolds::ask(TurnHoldRequest request) {
  PendingPtr pending = std::make_shared<Pending>();
  pending->request = std::move(request);
  queue_.push_back(pending);
  begin_asking();
  while (!pending->answer && !pending->failure) co_await pending->answered.wait();
  if (pending->failure) std::rethrow_exception(pending->failure);
  co_return *std::move(pending->answer);
}

void TurnHolds::begin_asking() {
  if (!std::exchange(is_asking_, true)) tasks_.add(ask_queued());
}

void TurnHolds::break_off(const std::exception_ptr& failure) {
  log_error("turn_holds_failed", {{"cause", loop::cause_of(failure)}});
  is_asking_ = false;
  std::vector<PendingPtr> lost = std::exchange(in_flight_, {});
  for (const PendingPtr& pending : lost) {
    if (!pending->answer) pending->failure = failure;
  }
  if (!queue_.empty()) begin_asking();
  for (const PendingPtr& pending : lost) pending->answered.notify();
}

Task<void> TurnHolds::ask_queued() {
  // Requests of this turn of the loop go together.
  co_await loop::sleep_ms(loop_, 0);
  while (!queue_.empty()) {
    std::vector<PendingPtr> batch;
    size_t taken = 0;
    for (; taken < queue_.size() && batch.size() < batch_max; ++taken) {
      // A run that was cancelled meanwhile waits no more.
      if (PendingPtr pending = queue_[taken].lock()) batch.push_back(std::move(pending));
    }
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(taken));
    in_flight_ = batch;
    if (!batch.empty()) co_await ask_for(std::move(batch));
    in_flight_.clear();
  }
  is_asking_ = false;
}

// A batch that is refused is asked for one by one.
Task<void> TurnHolds::ask_for(std::vector<PendingPtr> batch) {
  std::sort(batch.begin(), batch.end(), [](const PendingPtr& a, const PendingPtr& b) {
    return a->request.run_id < b->request.run_id;
  });
  for (;;) {
    postgres::Batch statements;
    statements.add(statement(batch));
    postgres::BatchOutcome outcome = co_await db_.attempt(std::move(statements));
    if (!outcome.error) {
      std::map<std::string, TurnHold, std::less<>> answers;
      const postgres::Result& rows = outcome.results.at(0);
      for (int i = 0; i < rows.size(); ++i) {
        answers.emplace(std::string(rows[i].text("run_id")), hold_of(rows[i]));
      }
      for (const PendingPtr& pending : batch) {
        auto found = answers.find(pending->request.run_id);
        pending->answer = found == answers.end() ? TurnHold() : found->second;
      }
      break;
    }
    bool is_absence = outcome.is_unknown() && outcome.refusal == postgres::Refusal::none;
    if (is_absence || outcome.refusal != postgres::Refusal::none) {
      co_await loop::sleep_ms(loop_, retry_ms);
      continue;
    }
    log_error("turn_holds_refused", {{"cause", outcome.error->cause}});
    if (batch.size() == 1) {
      batch.front()->failure = std::make_exception_ptr(*outcome.error);
      break;
    }
    for (PendingPtr& pending : batch) {
      std::vector<PendingPtr> one{std::move(pending)};
      co_await ask_for(std::move(one));
    }
    co_return;
  }
  for (const PendingPtr& pending : batch) pending->answered.notify();
}

postgres::BoundStatement TurnHolds::statement(const std::vector<PendingPtr>& batch) const {
  std::vector<std::string> run_ids;
  std::vector<int64_t> epochs;
  std::vector<std::string> route_ids;
  std::vector<int64_t> input_tokens;
  std::vector<int64_t> output_tokens;
  for (const PendingPtr& pending : batch) {
    run_ids.push_back(pending->request.run_id);
    epochs.push_back(pending->request.epoch);
    route_ids.push_back(pending->request.route_id);
    input_tokens.push_back(pending->request.input_tokens);
    output_tokens.push_back(pending->request.output_tokens);
  }
  std::shared_ptr<const config::Settings> settings = settings_.current();
  return query::TurnsHold{.daemon_id = daemon_id_,
                          .run_ids = run_ids,
                          .epochs = epochs,
                          .route_ids = route_ids,
                          .input_tokens = input_tokens,
                          .output_tokens = output_tokens,
                          .budget_min_output_tokens = settings->integer("budget.min_output_tokens"),
                          .credits_per_usd = settings->integer("credit.per_usd")};
}

}  // namespace hostler::runner
