// Required values of balances, holds and the ledger, by the rules alone: the model in memory that
// the ledger's stress test compares with. Knows nothing of SQL and asks nobody.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/rows/run_money.h"

namespace hostler {

constexpr int64_t model_run_hold = 10;

struct ModelRun {
  std::string id;
  int org = 0;
  int thread = 0;
  int64_t held = 0;
  std::vector<int64_t> tools{};  // what each call that was admitted, and has no result yet, costs
  int calls = 0;
  bool is_queued = false;
  int turns = 0;
  bool is_exhausted = false;
  bool is_cancel_requested = false;
  std::optional<testing_support::OwnedRun> owned{};
};

struct ModelOrg {
  int64_t balance = 0;
  int64_t held = 0;
  std::vector<int64_t> ledger;

  void post(int64_t amount) {
    balance += amount;
    ledger.push_back(amount);
  }

  // An adjustment of all: not below zero.
  void post_bulk(int64_t amount) {
    int64_t change = amount > 0 ? amount : std::max(amount, -std::max<int64_t>(balance, 0));
    if (change != 0) post(change);
  }
  void reset() {
    if (balance != 0) post(-balance);
  }

  // A turn's price: from the run's hold, then from what is available; a hold that is used up is
  // raised again, and none is kept that the balance does not cover.
  void charge(ModelRun& run, int64_t credits) {
    if (credits > 0) post(-credits);
    int64_t hold = std::max<int64_t>(run.held - credits, 0);
    if (hold == 0) hold = model_run_hold;
    int64_t others = held - run.held;
    hold = std::clamp<int64_t>(balance - others, 0, hold);
    held = others + hold;
    run.held = hold;
    run.is_exhausted = hold == 0;
  }

  // A call of a tool on the platform's account: what it costs is held until its result, or the
  // run's end; a turn in between takes from that hold too.
  bool admit(ModelRun& run, int64_t cost) {
    if (cost > 0 && balance - held < cost) return false;
    held += cost;
    run.held += cost;
    run.tools.push_back(cost);
    return true;
  }
  void pay_tool(ModelRun& run, int64_t cost) {
    int64_t released = std::min(cost, run.held);
    if (cost > 0) post(-cost);
    held -= released;
    run.held -= released;
  }
};

}  // namespace hostler
