// Random operations on credits against a model in memory that knows the rules and nothing of SQL:
// adjustments, runs with turns, cancels, redemptions, grants, bulk changes; commits that are lost
// before they happen, and answers that are lost behind them. Exact to the last row of the ledger.
//
// LEDGER_STORM_OPERATIONS (20000; nightly 100000) and LEDGER_STORM_SEED (random, printed).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "lib/error.h"
#include "lib/json.h"
#include "queries/access.h"
#include "queries/credits.h"
#include "queries/plans.h"
#include "queries/runs.h"
#include "tests/support/run_money.h"

namespace hostler {
namespace {

using namespace testing_support;

constexpr int orgs = 5;
constexpr int threads_each = 4;
constexpr int64_t run_hold = 10;

struct ModelRun {
  std::string id;
  int org;
  int thread;
  int64_t held;
  bool is_queued;
  int turns = 0;
  bool is_exhausted = false;
  bool is_cancel_requested = false;
  std::optional<OwnedRun> owned;
};

struct ModelOrg {
  int64_t balance = 0;
  int64_t held = 0;
  std::vector<int64_t> ledger;

  void post(int64_t amount) {
    balance += amount;
    ledger.push_back(amount);
  }
};

int64_t from_environment(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoll(text, nullptr, 10);
}

class LedgerStorm : public testing::Test {
 protected:
  LedgerStorm() {
    for (DbSession* session : {&api_, &runner_}) session->run_text("SET synchronous_commit = off");
    for (int i = 0; i < orgs; ++i) {
      worlds_.push_back(std::make_unique<RunWorld>(database_));
      set_balance(superuser_, worlds_[at(i)]->org_id, 200);
      model_[i].post(1'000'000);
      model_[i].post(200 - 1'000'000);
      for (int j = 0; j < threads_each; ++j) threads_[i].push_back(worlds_[at(i)]->new_thread());
    }
    plan_id_ = superuser_
                   .run_text(
                       "WITH p AS (INSERT INTO plans (name, display_name) VALUES ('p', 'P') "
                       "RETURNING id) INSERT INTO plan_entitlements (plan_id, key, value, "
                       "value_type) SELECT id, 'credits.monthly_grant', '7', 'integer' FROM "
                       "p RETURNING plan_id")
                   .text();
    daemon_id_ = worlds_[0]->new_daemon("storm");
  }

  static size_t at(int i) { return static_cast<size_t>(i); }
  int64_t pick(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  int pick_org() { return static_cast<int>(pick(0, orgs - 1)); }
  ModelRun* pick_run(const std::function<bool(const ModelRun&)>& wanted) {
    std::vector<ModelRun*> found;
    for (auto& [id, run] : runs_) {
      if (wanted(run)) found.push_back(&run);
    }
    return found.empty() ? nullptr : found[at(static_cast<int>(pick(0, std::ssize(found) - 1)))];
  }

  // A statement as the organization's owner or as administrator. The code it was refused with, or
  // count_; commits, unless the connection is "lost" before that.
  ErrorCode act(int org, bool is_admin, const Statement& statement, const Params& params,
                Result* answer = nullptr) {
    is_lost_ = pick(0, 19) == 0;
    const RunWorld& world = *worlds_[at(org)];
    api_.begin();
    try {
      api_.run(query::enter,
               Params()
                   .text(world.org_id)
                   .text(world.owner_id)
                   .text(is_admin ? R"({"platform_admin": true})" : R"({"trace_id": "x"})"));
      Result result = api_.run(statement, params);
      if (answer != nullptr) *answer = std::move(result);
    } catch (const Error& error) {
      api_.rollback();
      return error.code;
    }
    if (is_lost_) {
      api_.rollback();
    } else {
      api_.commit();
    }
    return ErrorCode::count_;
  }

  void adjust() {
    int org = pick_org();
    int64_t amount = pick(-150, 250);
    if (amount == 0) return;
    bool fits = amount > 0 || model_[org].balance + amount >= 0;
    ErrorCode code = act(org, true, query::credit_adjust,
                         Params().text(worlds_[at(org)]->org_id).integer(amount).null());
    ASSERT_EQ(code, fits ? ErrorCode::count_ : ErrorCode::credits_insufficient);
    if (fits && !is_lost_) model_[org].post(amount);
  }

  void change_all() {
    bool is_reset = pick(0, 5) == 0;
    int64_t amount = pick(0, 1) == 0 ? pick(1, 40) : pick(-60, -1);
    const Statement& statement = is_reset ? query::credit_reset_all : query::credit_bulk_adjust;
    Params params;
    if (!is_reset) params.integer(amount);
    ASSERT_EQ(act(0, true, statement, params.null()), ErrorCode::count_);
    if (is_lost_) return;
    for (auto& [number, org] : model_) {
      int64_t change = is_reset     ? -org.balance
                       : amount > 0 ? amount
                                    : std::max(amount, -std::max<int64_t>(org.balance, 0));
      if (change != 0) org.post(change);
    }
  }

  void redeem() {
    int org = pick_org();
    int64_t value = pick(1, 90);
    Result made;
    std::string wanted =
        fmt::format(R"({{"count": 1, "type": "credits", "value": "{}", "value_type": "integer", )"
                    R"("max_uses": 1}})",
                    value);
    ASSERT_EQ(act(org, true, query::redemption_code_batch, Params().text(wanted), &made),
              ErrorCode::count_);
    if (is_lost_) return;
    std::optional<Json> codes = parse_json_or_nothing(made.text());
    std::string code((*codes->as_array())[0].text_or("code"));
    bool is_redeemed = false;
    for (int attempt = 0; attempt < 2; ++attempt) {
      ErrorCode refusal = act(org, false, query::redemption_redeem, Params().text(code));
      ASSERT_EQ(refusal,
                is_redeemed ? ErrorCode::redemption_codes_already_redeemed : ErrorCode::count_);
      if (!is_redeemed && !is_lost_) {
        model_[org].post(value);
        is_redeemed = true;
      }
    }
  }

  // A subscription that is over: its months are granted at once.
  void grant() {
    int org = pick_org();
    int64_t months = pick(1, 4);
    Params params;
    params.text(worlds_[at(org)]->org_id).text(plan_id_).text("2024-01-31T00:00:00Z");
    params.text(fmt::format("2024-0{}-15T00:00:00Z", months + 1));
    ASSERT_EQ(act(org, true, query::subscription_create, params), ErrorCode::count_);
    if (is_lost_) return;
    for (int64_t i = 0; i < months; ++i) model_[org].post(7);
  }

  ModelRun* active_of(int org, int thread) {
    return pick_run([&](const ModelRun& run) {
      return run.org == org && run.thread == thread && !run.is_queued;
    });
  }

  void forget(const std::string& run_id) {
    ModelRun ended = runs_.at(run_id);
    model_[ended.org].held -= ended.held;
    runs_.erase(run_id);
    if (ended.is_queued) return;
    // The oldest of the queue is next: ids are times.
    for (auto& [id, run] : runs_) {
      if (run.org != ended.org || run.thread != ended.thread || !run.is_queued) continue;
      run.is_queued = false;
      break;
    }
  }

  void create_run() {
    int org = pick_org();
    int thread = static_cast<int>(pick(0, threads_each - 1));
    static const char* const strategies[] = {"reject", "enqueue", "interrupt"};
    std::string strategy = strategies[pick(0, 2)];
    bool is_busy = active_of(org, thread) != nullptr;
    ErrorCode expected = ErrorCode::count_;
    if (model_[org].balance - model_[org].held < run_hold) {
      expected = ErrorCode::credits_insufficient;
    }
    if (is_busy && strategy == "reject") expected = ErrorCode::runs_thread_busy;
    Params params;
    params.text(threads_[org][at(thread)]).null().null().text(strategy);
    params.text(RunWorld::run_limits());
    Result made;
    ASSERT_EQ(act(org, false, query::run_create, params, &made), expected) << strategy;
    if (expected != ErrorCode::count_ || is_lost_) return;
    std::string id(parse_json_or_nothing(made.front().text("item"))->text_or("run_id"));
    std::vector<std::string> others;
    for (auto& [other, run] : runs_) {
      if (run.org == org && run.thread == thread) others.push_back(other);
    }
    model_[org].held += run_hold;
    runs_.emplace(id, ModelRun{id, org, thread, run_hold, is_busy, 0, false, false, std::nullopt});
    if (strategy != "interrupt") return;
    std::sort(others.begin(), others.end(), [&](const std::string& a, const std::string& b) {
      return std::pair(!runs_.at(a).is_queued, a) < std::pair(!runs_.at(b).is_queued, b);
    });
    for (const std::string& other : others) cancelled(other);
  }

  void cancelled(const std::string& run_id) {
    if (runs_.at(run_id).owned) {
      runs_.at(run_id).is_cancel_requested = true;
    } else {
      forget(run_id);
    }
  }

  void cancel_run() {
    ModelRun* run = pick_run([](const ModelRun&) { return true; });
    if (run == nullptr) return;
    ASSERT_EQ(act(run->org, false, query::run_cancel, Params().text(run->id)), ErrorCode::count_);
    if (!is_lost_) cancelled(run->id);
  }

  void claim() {
    for (OwnedRun& owned : claim_all(runner_, daemon_id_)) {
      ModelRun& run = runs_.at(owned.run_id);
      ASSERT_FALSE(run.is_queued || run.owned);
      run.owned = std::move(owned);
    }
  }

  void charge(ModelRun& run, int64_t credits) {
    ModelOrg& org = model_[run.org];
    if (credits > 0) org.post(-credits);
    int64_t hold = std::max<int64_t>(run.held - credits, 0);
    if (hold == 0) hold = run_hold;
    int64_t others = org.held - run.held;
    hold = std::clamp<int64_t>(org.balance - others, 0, hold);
    org.held = others + hold;
    run.held = hold;
    run.is_exhausted = hold == 0;
  }

  void take_turn() {
    ModelRun* run = pick_run([](const ModelRun& r) { return r.owned && !r.is_exhausted; });
    if (run == nullptr) return;
    int64_t credits = pick(0, 3) == 0 ? pick(0, 60) : pick(0, 8);
    bool is_lost = pick(0, 15) == 0;
    bool is_last = pick(0, 2) == 0;
    std::string status = run->is_cancel_requested ? "cancelled" : "completed";
    int sendings = pick(0, 7) == 0 ? 2 : 1;  // an answer that was lost is asked for again
    for (int i = 0; i < sendings; ++i) {
      runner_.begin();
      lock_run(runner_, *run->owned);
      TurnAnswer answer = commit_turn(runner_, *run->owned, run->turns + 1, credits, !is_last);
      if (is_lost) {
        runner_.rollback();
        return;
      }
      if (i == 0) charge(*run, credits);
      bool is_gone = i > 0 && is_last;
      ASSERT_EQ(answer.held, !is_gone);
      ASSERT_EQ(answer.may_go_on, !is_gone && !run->is_exhausted);
      if (is_last) {
        ASSERT_EQ(finish_run(runner_, *run->owned, status), i == 0);
      }
      runner_.commit();
    }
    ++run->turns;
    if (is_last) forget(std::string(run->id));
  }

  void end_exhausted() {
    ModelRun* run = pick_run([](const ModelRun& r) { return r.owned && r.is_exhausted; });
    if (run == nullptr) return;
    runner_.begin();
    lock_run(runner_, *run->owned);
    ASSERT_TRUE(finish_run(runner_, *run->owned, "failed"));
    runner_.commit();
    forget(std::string(run->id));
  }

  void check_accounts() {
    for (int i = 0; i < orgs; ++i) {
      ASSERT_EQ(account_of(*worlds_[at(i)]),
                fmt::format("{} {}", model_[i].balance, model_[i].held));
    }
  }

  void operate() {
    int64_t dice = pick(0, 99);
    if (dice < 12) return adjust();
    if (dice < 14) return change_all();
    if (dice < 18) return redeem();
    if (dice < 20) return grant();
    if (dice < 42) return create_run();
    if (dice < 50) return cancel_run();
    if (dice < 62) return claim();
    if (dice < 94) return take_turn();
    end_exhausted();
  }

  int64_t seed_ = from_environment("LEDGER_STORM_SEED", std::random_device{}());
  std::mt19937_64 random_{static_cast<uint64_t>(seed_)};
  TestDatabase database_;
  DbSession superuser_ = database_.as_superuser();
  DbSession api_ = database_.as_api();
  DbSession runner_ = database_.as_runner();
  std::vector<std::unique_ptr<RunWorld>> worlds_;
  std::map<int, std::vector<std::string>> threads_;
  std::map<int, ModelOrg> model_;
  std::map<std::string, ModelRun> runs_;
  std::string plan_id_;
  std::string daemon_id_;
  bool is_lost_ = false;
};

TEST_F(LedgerStorm, LeavesEveryAccountAsTheModelSays) {
  int64_t operations = from_environment("LEDGER_STORM_OPERATIONS", 20'000);
  SCOPED_TRACE(fmt::format("LEDGER_STORM_SEED={}", seed_));
  fmt::print("LEDGER_STORM_SEED={}\n", seed_);
  for (int64_t i = 0; i < operations; ++i) {
    SCOPED_TRACE(fmt::format("operation {}", i));
    operate();
    if (i % 500 == 0) check_accounts();
    if (HasFatalFailure()) return;
  }
  check_accounts();
  EXPECT_EQ(ledger_fault(superuser_), "");
  for (int i = 0; i < orgs; ++i) {
    std::string ledger;
    for (int64_t amount : model_[i].ledger) ledger += fmt::format("{},", amount);
    EXPECT_EQ(worlds_[at(i)]->column(fmt::format(
                  "SELECT string_agg(amount || ',', '' ORDER BY number) FROM credit_transactions "
                  "WHERE org_id = '{}'",
                  worlds_[at(i)]->org_id)),
              ledger);
  }
}

}  // namespace
}  // namespace hostler
