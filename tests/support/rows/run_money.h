// Turns and endings as the daemon commits them, and what the product says of its own ledger. For
// tests below the API; the model of a RunFixture costs one credit for 1000 input tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/rows/run_fixture.h"

namespace hostler::testing_support {

struct OwnedRun {
  std::string daemon_id;
  std::string org_id;
  std::string thread_id;
  std::string run_id;
  int64_t epoch = 0;
};

struct TurnAnswer {
  bool held = false;
  bool may_go_on = false;
};

// One statement in the session's open transaction.
TurnAnswer commit_turn(postgres::DbSession& session, const OwnedRun& run, int turn, int64_t credits,
                       bool is_finished = true);
bool finish_run(postgres::DbSession& session, const OwnedRun& run, const std::string& status);
// Locks thread, run and account, in the order in which the daemon does.
void lock_run(postgres::DbSession& session, const OwnedRun& run);

// Returns the admission of a tool call on the platform's account; calls_max: a day, 0: any number.
// The result of such a call, in turn 1; false for a run that was lost.
std::string admit_tool_call(postgres::DbSession& session, const OwnedRun& run, int64_t cost,
                            int64_t calls_max = 0);
bool commit_tool_call(postgres::DbSession& session, const OwnedRun& run, const std::string& call_id,
                      int64_t cost);

// Claims all that can be claimed; the daemon's runs.
std::vector<OwnedRun> claim_all(postgres::DbSession& session, const std::string& daemon_id);

void set_balance(postgres::DbSession& superuser, const std::string& org_id, int64_t balance);
// A new plan that grants so many credits a month; its id.
std::string monthly_plan(postgres::DbSession& superuser, int64_t credits);
// The amounts of the ledger in its order, each with a comma.
std::string ledger_of(const RunFixture& fixture);
// "balance held" of the account.
std::string account_of(const RunFixture& fixture);
// The first row that is wrong, as hostlerctl ledger verify finds it; none: empty.
std::string ledger_fault(postgres::DbSession& superuser);

}  // namespace hostler::testing_support
