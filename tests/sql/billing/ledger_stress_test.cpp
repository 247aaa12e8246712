// Random operations on credits against a model in memory that knows the rules and nothing of SQL:
// adjustments, runs with turns and tools, cancels, redemptions, grants, bulk changes. Connections
// are cut before a COMMIT arrives and between a commit and its answer; whoever was cut off asks
// again, with the same Idempotency-Key or for the same turn. Exact to the last row of the ledger.
// LEDGER_STRESS_OPERATIONS (5000; nightly 100000) and LEDGER_STRESS_SEED (random, printed).
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

#include "lib/crypto.h"
#include "lib/error.h"
#include "lib/json.h"
#include "queries/access.h"
#include "queries/credits.h"
#include "queries/idempotency.h"
#include "queries/plans.h"
#include "queries/runs.h"
#include "tests/sql/billing/ledger_model.h"
#include "tests/support/clients/retrying_client.h"
#include "tests/support/rows/run_money.h"

namespace hostler {
namespace {

using namespace testing_support;

constexpr int orgs = 5;
constexpr int threads_each = 4;

int64_t from_environment(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoll(text, nullptr, 10);
}

class LedgerStress : public testing::Test {
 protected:
  LedgerStress() {
    for (int i = 0; i < orgs; ++i) {
      fixtures_.push_back(std::make_unique<RunFixture>(database_));
      set_balance(superuser_, fixtures_[at(i)]->org_id, 200);
      model_[i].post(1'000'000);
      model_[i].post(200 - 1'000'000);
      for (int j = 0; j < threads_each; ++j) threads_[i].push_back(fixtures_[at(i)]->new_thread());
    }
    daemon_id_ = fixtures_[0]->new_daemon("storm");
  }

  static size_t at(int i) { return static_cast<size_t>(i); }
  int64_t pick(int64_t min, int64_t max) {
    return std::uniform_int_distribution<int64_t>(min, max)(random_);
  }
  int pick_org() { return static_cast<int>(pick(0, orgs - 1)); }
  ModelRun* pick_run(const std::function<bool(const ModelRun&)>& wanted) {
    std::vector<ModelRun*> found;
    for (auto& [id, run] : runs_) {
      if (wanted(run)) found.push_back(&run);
    }
    return found.empty() ? nullptr : found[at(static_cast<int>(pick(0, std::ssize(found) - 1)))];
  }

  Fate next_fate() {
    if (pick(0, 49) != 0) return Fate::answered;
    return pick(0, 1) == 0 ? Fate::cut_before : Fate::cut_after;
  }

  // The answer of a call that was made before under this key, or nothing.
  std::optional<std::string> begin_idempotent(const std::string& call) {
    postgres::Result begun =
        api_.session().run(query::IdempotencyBegin{.call_hash = call, .body_hash = sha256("body")});
    next_secret_id_ = begun.front().text("new_secret_id");
    if (begun.front().is_null("secret_id")) return std::nullopt;
    return begun.front().bytes("sealed");
  }
  void keep_answer(const std::string& call, const std::string& answer) {
    std::string secret =
        fmt::format(R"({{"id": "{}", "key_version": 1, "wrapped_key": "eA==", "sealed": "{}"}})",
                    next_secret_id_, to_base64(answer));
    api_.session().run(query::IdempotencyKeep{
        .call_hash = call, .body_hash = sha256("body"), .secret = secret, .limit_stored_bytes = 0});
  }

  // A call as the organization's owner or as administrator, with an Idempotency-Key, repeated until
  // it is answered. The code it was refused with, or count_; the client may go away before the end.
  ErrorCode act(int org, bool is_admin, const postgres::BoundStatement& statement,
                std::string* answer = nullptr) {
    is_fenced_ = pick(0, 19) == 0;
    const RunFixture& fixture = *fixtures_[at(org)];
    std::string call = sha256(fmt::format("call {}", ++calls_));
    try {
      api_.commit([&](bool is_repeat) {
        api_.session().run(query::SetRequestContext{
            .org_id = fixture.org_id,
            .user_id = fixture.owner_id,
            .context = is_admin ? R"({"platform_admin": true})" : R"({"trace_id": "x"})"});
        std::optional<std::string> kept = begin_idempotent(call);
        EXPECT_EQ(kept.has_value(), is_repeat);
        std::string stated = kept.value_or("");
        if (!kept) {
          stated = api_.session().run(statement).text();
          keep_answer(call, stated);
        }
        if (answer != nullptr) *answer = stated;
        return !is_fenced_;
      });
    } catch (const Error& error) {
      return error.code;
    }
    return ErrorCode::count_;
  }

  void adjust() {
    int org = pick_org();
    int64_t amount = pick(-150, 250);
    if (amount == 0) return;
    bool fits = amount > 0 || model_[org].balance + amount >= 0;
    ErrorCode code =
        act(org, true,
            query::CreditAdjust{
                .org_id = fixtures_[at(org)]->org_id, .amount = amount, .note = std::nullopt});
    ASSERT_EQ(code, fits ? ErrorCode::count_ : ErrorCode::credits_insufficient);
    if (fits && !is_fenced_) model_[org].post(amount);
  }

  void change_all() {
    bool is_reset = pick(0, 5) == 0;
    int64_t amount = pick(0, 1) == 0 ? pick(1, 40) : pick(-60, -1);
    postgres::BoundStatement change = query::CreditResetAll{.note = std::nullopt};
    if (!is_reset) change = query::CreditBulkAdjust{.amount = amount, .note = std::nullopt};
    ASSERT_EQ(act(0, true, change), ErrorCode::count_);
    if (is_fenced_) return;
    for (auto& [number, org] : model_) {
      is_reset ? org.reset() : org.post_bulk(amount);
    }
  }

  void redeem() {
    int org = pick_org();
    int64_t value = pick(1, 90);
    std::string made;
    std::string wanted =
        fmt::format(R"({{"count": 1, "type": "credits", "value": "{}", "value_type": "integer", )"
                    R"("max_uses": 1}})",
                    value);
    ASSERT_EQ(act(org, true, query::RedemptionCodeBatch{.wanted = wanted}, &made),
              ErrorCode::count_);
    if (is_fenced_) return;
    std::optional<Json> codes = parse_json_or_nothing(made);
    std::string code((*codes->as_array())[0].text_or("code"));
    bool is_redeemed = false;
    for (int attempt = 0; attempt < 2; ++attempt) {
      ErrorCode refusal = act(org, false, query::RedemptionRedeem{.code = code});
      ASSERT_EQ(refusal,
                is_redeemed ? ErrorCode::redemption_codes_already_redeemed : ErrorCode::count_);
      if (!is_redeemed && !is_fenced_) {
        model_[org].post(value);
        is_redeemed = true;
      }
    }
  }

  // A subscription that is over: its months are granted at once.
  void grant() {
    int org = pick_org();
    int64_t months = pick(1, 4);
    postgres::BoundStatement subscribe =
        query::SubscriptionCreate{.org_id = fixtures_[at(org)]->org_id,
                                  .plan_id = plan_id_,
                                  .period_start = "2024-01-31T00:00:00Z",
                                  .period_end = fmt::format("2024-0{}-15T00:00:00Z", months + 1)};
    ASSERT_EQ(act(org, true, subscribe), ErrorCode::count_);
    if (is_fenced_) return;
    for (; months_granted_[org] < months; ++months_granted_[org]) model_[org].post(7);
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
    // An interrupted run returns its hold.
    int64_t freed = 0;
    for (const auto& [id, run] : runs_) {
      bool is_freed = strategy == "interrupt" && run.org == org && run.thread == thread;
      if (is_freed) freed += run.held;
    }
    if (model_[org].balance - model_[org].held + freed < model_run_hold) {
      expected = ErrorCode::credits_insufficient;
    }
    if (is_busy && strategy == "reject") expected = ErrorCode::runs_thread_busy;
    std::string made;
    postgres::BoundStatement create = RunFixture::run_of(threads_[org][at(thread)], strategy);
    ASSERT_EQ(act(org, false, create, &made), expected) << strategy;
    if (expected != ErrorCode::count_ || is_fenced_) return;
    std::string id(parse_json_or_nothing(made)->text_or("run_id"));
    std::vector<std::string> others;
    for (auto& [other, run] : runs_) {
      if (run.org == org && run.thread == thread) others.push_back(other);
    }
    model_[org].held += model_run_hold;
    ModelRun created{.id = id, .org = org, .thread = thread, .held = model_run_hold};
    created.is_queued = is_busy;
    runs_.emplace(id, std::move(created));
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
    ASSERT_EQ(act(run->org, false, query::RunCancel{.run_id = run->id}), ErrorCode::count_);
    if (!is_fenced_) cancelled(run->id);
  }

  void claim() {
    for (OwnedRun& owned : claim_all(runner_.session(), daemon_id_)) {
      ModelRun& run = runs_.at(owned.run_id);
      ASSERT_FALSE(run.is_queued || run.owned);
      run.owned = std::move(owned);
    }
  }

  void take_turn() {
    ModelRun* run = pick_run([](const ModelRun& r) { return r.owned && !r.is_exhausted; });
    if (run == nullptr) return;
    int64_t credits = pick(0, 3) == 0 ? pick(0, 60) : pick(0, 8);
    bool is_lost = pick(0, 15) == 0;
    bool is_last = pick(0, 2) == 0;
    std::string status = run->is_cancel_requested ? "cancelled" : "completed";
    ModelRun charged = *run;
    ModelOrg org = model_[run->org];
    org.charge(charged, credits);
    bool is_kept = runner_.commit([&](bool is_repeat) {
      postgres::DbSession& session = runner_.session();
      lock_run(session, *run->owned);
      TurnAnswer answer = commit_turn(session, *run->owned, run->turns + 1, credits, !is_last);
      bool is_gone = is_repeat && is_last;
      EXPECT_EQ(answer.held, !is_gone);
      EXPECT_EQ(answer.may_go_on, !is_gone && !charged.is_exhausted);
      if (is_lost && !is_repeat) return false;
      if (is_last) {
        EXPECT_EQ(finish_run(session, *run->owned, status), !is_repeat);
      }
      return true;
    });
    if (!is_kept) return;
    model_[run->org] = std::move(org);
    *run = std::move(charged);
    ++run->turns;
    if (is_last) forget(std::string(run->id));
  }

  // Behind a commit that nobody heard of it is not sent again, or it would hold twice.
  void admit_tool() {
    ModelRun* run = pick_run([](const ModelRun& r) { return r.owned.has_value(); });
    if (run == nullptr) return;
    int64_t cost = pick(0, 4) == 0 ? 0 : pick(1, 25);
    bool is_admitted = model_[run->org].admit(*run, cost);
    runner_.commit([&](bool is_repeat) {
      if (is_repeat && is_admitted) run->tools.pop_back();
      if (is_repeat) return true;
      EXPECT_EQ(admit_tool_call(runner_.session(), *run->owned, cost),
                is_admitted ? "admitted" : "credits");
      return true;
    });
  }

  void commit_tool() {
    ModelRun* run = pick_run([](const ModelRun& r) { return r.owned && !r.tools.empty(); });
    if (run == nullptr) return;
    int64_t cost = run->tools.back();
    std::string call_id = fmt::format("call {}", ++run->calls);
    runner_.commit([&](bool) {
      lock_run(runner_.session(), *run->owned);
      EXPECT_TRUE(commit_tool_call(runner_.session(), *run->owned, call_id, cost));
      return true;
    });
    model_[run->org].pay_tool(*run, cost);
    run->tools.pop_back();
  }

  void end_exhausted() {
    ModelRun* run = pick_run([](const ModelRun& r) { return r.owned && r.is_exhausted; });
    if (run == nullptr) return;
    runner_.commit([&](bool is_repeat) {
      lock_run(runner_.session(), *run->owned);
      EXPECT_EQ(finish_run(runner_.session(), *run->owned, "failed"), !is_repeat);
      return true;
    });
    forget(std::string(run->id));
  }

  void check_accounts() {
    for (int i = 0; i < orgs; ++i) {
      ASSERT_EQ(account_of(*fixtures_[at(i)]),
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
    if (dice < 82) return take_turn();
    if (dice < 89) return admit_tool();
    if (dice < 95) return commit_tool();
    end_exhausted();
  }

  int64_t seed_ = from_environment("LEDGER_STRESS_SEED", std::random_device{}());
  std::mt19937_64 random_{static_cast<uint64_t>(seed_)};
  TestDatabase database_;
  postgres::DbSession superuser_ = database_.as_superuser();
  FaultyProxy proxy_{database_.socket()};
  RetryingClient api_{proxy_, database_.api_url(), [this] { return next_fate(); }};
  RetryingClient runner_{proxy_, database_.runner_url(), [this] { return next_fate(); }};
  std::vector<std::unique_ptr<RunFixture>> fixtures_;
  std::map<int, std::vector<std::string>> threads_;
  std::map<int, ModelOrg> model_;
  std::map<int, int64_t> months_granted_;  // once, whichever subscription did
  std::map<std::string, ModelRun> runs_;
  std::string plan_id_ = monthly_plan(superuser_, 7);
  std::string daemon_id_;
  std::string next_secret_id_;
  int64_t calls_ = 0;
  bool is_fenced_ = false;
};

TEST_F(LedgerStress, LeavesEveryAccountAsTheModelSays) {
  int64_t operations = from_environment("LEDGER_STRESS_OPERATIONS", 5'000);
  SCOPED_TRACE(fmt::format("LEDGER_STRESS_SEED={}", seed_));
  fmt::print("LEDGER_STRESS_SEED={}\n", seed_);
  for (int64_t i = 0; i < operations; ++i) {
    SCOPED_TRACE(fmt::format("operation {}", i));
    operate();
    if (i % 500 == 0) check_accounts();
    if (HasFatalFailure()) return;
  }
  check_accounts();
  int before = api_.cuts_before() + runner_.cuts_before();
  int behind = api_.cuts_after() + runner_.cuts_after();
  fmt::print("{} connections were cut before a commit, {} behind one\n", before, behind);
  EXPECT_GT(before, 0);
  EXPECT_GT(behind, 0);
  EXPECT_EQ(proxy_.faults(), before + behind);
  EXPECT_EQ(ledger_fault(superuser_), "");
  for (int i = 0; i < orgs; ++i) {
    std::string ledger;
    for (int64_t amount : model_[i].ledger) ledger += fmt::format("{},", amount);
    EXPECT_EQ(ledger_of(*fixtures_[at(i)]), ledger);
  }
}

}  // namespace
}  // namespace hostler
