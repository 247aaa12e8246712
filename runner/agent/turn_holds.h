// Takes what turns may cost at most before their models are asked: one statement for all runs that
// ask while the last one is under way. A turn that lacks room only because of what other turns hold
// waits here; who waits for the same budget goes on in rounds over their creators.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/config/live_settings.h"
#include "lib/loop/fair_permits.h"
#include "lib/loop/loop.h"
#include "lib/loop/task.h"
#include "lib/loop/task_set.h"
#include "lib/loop/wait.h"
#include "lib/postgres/database.h"
#include "runner/agent/input_estimates.h"

namespace hostler::runner {

struct TurnHoldRequest {
  std::string run_id;
  int64_t epoch = 0;
  std::string user_id;  // who created the run
  std::string route_id;
  int64_t input_tokens = 0;   // expected
  int64_t output_tokens = 0;  // wanted
};

// A budget of which too little is left.
struct ExhaustedBudget {
  std::string id;
  std::string name;
  std::string renews_at;     // empty: never
  std::string decided_at;    // for the database
  bool lets_wait = false;    // instead of failing the run
  int64_t wait_seconds = 0;  // 0: it never renews
};

struct TurnHold {
  // held; waiting: for what other turns hold; exhausted, no_credits: nothing is left; lost: the run
  // is not this daemon's any more.
  enum class Outcome { held, waiting, exhausted, no_credits, lost };
  Outcome outcome = Outcome::lost;
  int64_t output_tokens = 0;  // that the model may be asked for
  bool is_lowered = false;    // they are fewer than wanted
  std::string lowered_by;     // the budget's name; empty: the balance
  std::string waits_for;
  ExhaustedBudget exhausted;
};

class TurnHolds {
 public:
  TurnHolds(loop::Loop& loop, postgres::Database& db, const config::LiveSettings& settings,
            std::string daemon_id);

  // Returns when the turn may begin, or never may. Asks again while Postgres is away.
  Task<TurnHold> take(TurnHoldRequest request);

  InputEstimates& estimates() { return estimates_; }
  const InputEstimates& estimates() const { return estimates_; }

 private:
  struct Pending {
    TurnHoldRequest request;
    std::optional<TurnHold> answer;
    std::exception_ptr failure;
    loop::Signal answered;
  };
  using PendingPtr = std::shared_ptr<Pending>;
  using Line = loop::FairPermits<std::string>;

  Task<TurnHold> ask(TurnHoldRequest request);
  void begin_asking();
  Task<void> ask_queued();
  // The request failed: every turn that waits for its answer gets the failure.
  void break_off(const std::exception_ptr& failure);
  Task<void> ask_for(std::vector<PendingPtr> batch);
  postgres::BoundStatement statement(const std::vector<PendingPtr>& batch) const;
  Line& line_of(const std::string& budget);

  loop::Loop& loop_;
  postgres::Database& db_;
  const config::LiveSettings& settings_;
  const std::string daemon_id_;
  std::vector<std::weak_ptr<Pending>> queue_;
  std::vector<PendingPtr> in_flight_;
  bool is_asking_ = false;
  std::map<std::string, std::unique_ptr<Line>> lines_;  // by what their turns wait for
  InputEstimates estimates_;
  loop::TaskSet tasks_;
};

}  // namespace hostler::runner
